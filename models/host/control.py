# SPDX-License-Identifier: Apache-2.0
"""Commands of the control mailbox: decoding, and the result of each in the order of the checks.

Source: ``docs/interfaces.md`` ("Commands"), rules CQ-19 to CQ-21 and ISO-02.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from models.arm.arm import CqConfig, CqModel, moderation_mode
from models.arm.events import EqModel
from models.codes import Command, CommandResult, CqStatus, Life
from models.cq.queue import CqProducer, Ring
from models.layouts import CQE_BYTES, EQE_BYTES
from models.params import Params

_ALL: Final = 0xFFFF_FFFF
_RING: Final[Mapping[int, int]] = {0: _ALL, 1: _ALL, 2: _ALL, 3: 0x1F}

#: Argument registers that a command uses, with the bits that may be set in them.
USED_BITS: Final[Mapping[Command, Mapping[int, int]]] = {
    Command.CREATE_EQ: {**_RING, 3: 0xFFFF_001F, 4: 0xFFFF},
    Command.MODIFY_EQ: {0: _ALL, 3: 0xFFFF_0000},
    Command.RESIZE_EQ: _RING,
    Command.QUERY_EQ: {0: _ALL},
    Command.DESTROY_EQ: {0: _ALL},
    Command.CREATE_CQ: {**_RING, 3: 0x71F, 4: _ALL, 5: _ALL},
    Command.MODIFY_CQ: {0: _ALL, 3: 0x600, 5: _ALL},
    Command.RESIZE_CQ: _RING,
    Command.QUERY_CQ: {0: _ALL},
    Command.DESTROY_CQ: {0: _ALL},
}

#: Commands that a removed device refuses (MW-09).
REMOVED_COMMANDS: Final = frozenset(
    {
        Command.CREATE_EQ,
        Command.MODIFY_EQ,
        Command.RESIZE_EQ,
        Command.CREATE_CQ,
        Command.MODIFY_CQ,
        Command.RESIZE_CQ,
    }
)


@dataclass(frozen=True)
class Args:
    """The eight argument registers (32 bits each) by meaning; a command uses some of them."""

    words: tuple[int, ...]

    @property
    def number(self) -> int:
        """ARG0: object number."""
        return self.words[0]

    @property
    def log2(self) -> int:
        """ARG3[4:0]: log2 of the entries."""
        return self.words[3] & 0x1F

    def ring(self, entry_bytes: int) -> Ring:
        """ARG1 to ARG3: the ring."""
        return Ring(self.words[1] | self.words[2] << 32, self.log2, 0, entry_bytes)

    @property
    def vector(self) -> int:
        """ARG3[31:16]: interrupt vector."""
        return self.words[3] >> 16

    @property
    def reservation(self) -> bool:
        """ARG3[8] says *no* reservation."""
        return not self.words[3] >> 8 & 1

    @property
    def page(self) -> int:
        """ARG4[15:0]: owner page."""
        return self.words[4] & 0xFFFF

    @property
    def eq(self) -> int:
        """ARG4[31:16]: event queue."""
        return self.words[4] >> 16

    @property
    def config(self) -> CqConfig:
        """ARG3 and ARG5: settings of a completion queue."""
        return CqConfig(
            entries=1 << self.log2,
            typed=bool(self.words[3] >> 9 & 1),
            rearm=bool(self.words[3] >> 10 & 1),
            mod_count=self.words[5] & 0xFFFF,
            mod_interval=self.words[5] >> 16,
        )


def make_args(
    number: int,
    *,
    base: int = 0,
    log2: int = 0,
    vector: int = 0,
    page: int = 0,
    eq: int = 0,
    reservation: bool = True,
    config: CqConfig | None = None,
) -> Args:
    """Argument registers for any command; fields that a command does not have are to be left out.

    ``config.entries`` is ignored: the size of a ring is ``log2``.
    """
    cfg = config or CqConfig()
    arg3 = log2 | vector << 16 | (not reservation) << 8 | cfg.typed << 9 | cfg.rearm << 10
    arg5 = cfg.mod_count | cfg.mod_interval << 16
    return Args((number, base & _ALL, base >> 32, arg3, page | eq << 16, arg5, 0, 0))


class Objects(Protocol):
    """What the results depend on; :class:`models.cq.core.CompletionCore` is one."""

    params: Params

    @property
    def cqs(self) -> Sequence[CqModel]:
        """The completion queues, by number."""

    @property
    def producers(self) -> Sequence[CqProducer]:
        """Their producer sides."""

    @property
    def eqs(self) -> Sequence[EqModel]:
        """The event queues, by number."""

    def idle(self, cq: int) -> bool:
        """No entry write of the queue is unanswered."""


def check_command(code: int, args: Args, objects: Objects, removed: bool = False) -> CommandResult:
    """The result that a command has in this state; changes nothing.

    ``removed``: the device is removed (``docs/windows.md``): creations and changes are refused.

    Checks are made in the order of the result codes, except that CMD_CQ_ERROR and then
    CMD_TOO_SMALL come last, and CMD_DEVICE_REMOVED right after CMD_UNKNOWN.
    """
    if code not in USED_BITS:
        return CommandResult.CMD_UNKNOWN
    command = Command(code)
    if removed and command in REMOVED_COMMANDS:
        return CommandResult.CMD_DEVICE_REMOVED
    if any(args.words[i] & ~mask for i, mask in USED_BITS[command].items()):
        return CommandResult.CMD_RESERVED
    is_cq = command >= Command.CREATE_CQ
    if args.number >= (objects.params.num_cq if is_cq else objects.params.num_eq):
        return CommandResult.CMD_BAD_OBJECT
    if is_cq:
        return _check_cq(command, args, objects)
    return _check_eq(command, args, objects)


def _check_ring(args: Args, entry_bytes: int, params: Params) -> CommandResult:
    if not 1 <= args.log2 <= params.max_log2:
        return CommandResult.CMD_BAD_SIZE
    if not args.ring(entry_bytes).aligned:
        return CommandResult.CMD_BAD_ALIGN
    return CommandResult.OK


def _check_eq(command: Command, args: Args, objects: Objects) -> CommandResult:
    eq = objects.eqs[args.number]
    if command is Command.CREATE_EQ:
        if eq.exists:
            return CommandResult.CMD_EXISTS
    elif not eq.exists:
        return CommandResult.CMD_NO_OBJECT
    if command in (Command.CREATE_EQ, Command.RESIZE_EQ):
        result = _check_ring(args, EQE_BYTES, objects.params)
        if result is not CommandResult.OK:
            return result
    if command is Command.CREATE_EQ and args.page >= objects.params.num_pages:
        return CommandResult.CMD_BAD_PAGE
    if command is Command.RESIZE_EQ and eq.attached > 1 << args.log2:
        return CommandResult.CMD_EQ_FULL
    if command is Command.DESTROY_EQ and eq.attached:
        return CommandResult.CMD_IN_USE
    return CommandResult.OK


def _check_cq(command: Command, args: Args, objects: Objects) -> CommandResult:
    cq = objects.cqs[args.number]
    if command is Command.CREATE_CQ:
        return _check_create_cq(args, objects)
    if cq.life is Life.FREE:
        return CommandResult.CMD_NO_OBJECT
    if command is Command.DESTROY_CQ:
        pending = cq.busy or not objects.idle(args.number)
        return CommandResult.CMD_PENDING if pending else CommandResult.OK
    if command is Command.QUERY_CQ:
        return CommandResult.OK
    if cq.life is Life.DESTROYING:
        return CommandResult.CMD_NO_OBJECT
    if command is Command.MODIFY_CQ:
        return _check_moderation(args.config, cq.config.entries)
    result = _check_ring(args, CQE_BYTES, objects.params)
    if result is CommandResult.OK:
        result = _check_moderation(cq.config, 1 << args.log2)
    if result is not CommandResult.OK:
        return result
    if cq.status is not CqStatus.OK:
        return CommandResult.CMD_CQ_ERROR
    if objects.producers[args.number].too_small(args.log2, cq.cons):
        return CommandResult.CMD_TOO_SMALL
    return CommandResult.OK


def _check_create_cq(args: Args, objects: Objects) -> CommandResult:
    if objects.cqs[args.number].life is not Life.FREE:
        return CommandResult.CMD_EXISTS
    result = _check_ring(args, CQE_BYTES, objects.params)
    if result is not CommandResult.OK:
        return result
    if args.page >= objects.params.num_pages:
        return CommandResult.CMD_BAD_PAGE
    eq = objects.eqs[args.eq] if args.eq < objects.params.num_eq else None
    if eq is None or not eq.exists:
        return CommandResult.CMD_NO_EQ
    if eq.page != args.page:
        return CommandResult.CMD_BAD_PAGE
    if eq.attached >= eq.ring.entries:
        return CommandResult.CMD_EQ_FULL
    return _check_moderation(args.config, 1 << args.log2)


def _check_moderation(config: CqConfig, entries: int) -> CommandResult:
    """CQ-21: both settings saying "the other one only" are refused, after a resize, too."""
    mode = moderation_mode(config.mod_count, config.mod_interval, entries)
    return CommandResult.OK if mode else CommandResult.CMD_BAD_MODERATION
