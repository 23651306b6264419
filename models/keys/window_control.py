# SPDX-License-Identifier: Apache-2.0
"""Commands of windows and of device removal: arguments, and the checks that need no step.

Source: ``docs/windows.md`` ("Commands, added", "Device removal"), rules MW-01, MW-09, MW-11.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from models.codes import Command, CommandResult
from models.host import control
from models.host.control import Args
from models.params import Params

_ALL: Final = 0xFFFF_FFFF

#: Argument registers that a command uses, with the bits that may be set in them.
USED_BITS: Final[Mapping[Command, Mapping[int, int]]] = {
    Command.ALLOC_MR: {0: _ALL, 5: 0xFFFF},
    Command.CREATE_MW: {0: _ALL, 1: _ALL, 2: _ALL, 5: 0xFFFF},
    Command.CLOSE_MW: {0: _ALL},
    Command.QUERY_MW: {0: _ALL},
    Command.REMOVE_DEVICE: {},
}

#: Commands that a removed device refuses (MW-09); every other one works as before.
REMOVED_COMMANDS: Final = control.REMOVED_COMMANDS | {
    Command.CREATE_QP,
    Command.MODIFY_QP,
    Command.CONNECT_QP,
    Command.CREATE_SRQ,
    Command.RESIZE_SRQ,
    Command.SET_SRQ_WATERMARK,
    Command.REGISTER_MR,
    Command.ALLOC_MR,
    Command.CREATE_MW,
    Command.REMOVE_DEVICE,
}

#: Commands with a step of lane 8: they change a region or window.
KEY_COMMANDS: Final = frozenset(
    {
        Command.REGISTER_MR,
        Command.DEREGISTER_MR,
        Command.ALLOC_MR,
        Command.CREATE_MW,
        Command.CLOSE_MW,
    }
)


def make_window_args(number: int = 0, zone: int = 0, context: int = 0) -> Args:
    """Argument registers of the commands of windows and of ALLOC_MR (``context`` 0)."""
    return Args((number, context & _ALL, context >> 32, 0, 0, zone, 0, 0))


def check_removed(code: int) -> CommandResult:
    """What a removed device answers, or OK: the command works as before (MW-09)."""
    if code in control.REMOVED_COMMANDS:
        return CommandResult.CMD_UNKNOWN  # of :class:`models.cq.core.CompletionCore`
    return CommandResult.CMD_DEVICE_REMOVED if code in REMOVED_COMMANDS else CommandResult.OK


def decode_window(code: int, args: Args, params: Params) -> CommandResult:
    """The part of the checks that needs no state (CMD_UNKNOWN to CMD_BAD_OBJECT), or OK."""
    if code not in USED_BITS:
        return CommandResult.CMD_UNKNOWN
    command = Command(code)
    if any(args.words[i] & ~mask for i, mask in USED_BITS[command].items()):
        return CommandResult.CMD_RESERVED
    limit = params.num_mr if command is Command.ALLOC_MR else params.num_mw
    if command is not Command.REMOVE_DEVICE and args.number >= limit:
        return CommandResult.CMD_BAD_OBJECT
    return CommandResult.OK
