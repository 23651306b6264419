# SPDX-License-Identifier: Apache-2.0
"""Commands that name a queue pair: arguments, and the checks that need no step.

Source: ``docs/posting.md`` ("Commands, added"), rule ISO-02.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from models.codes import Command, CommandResult, QpState
from models.host.control import Args
from models.params import Params
from models.post.qp import QpConfig, QpModel

_ALL: Final = 0xFFFF_FFFF

#: Argument registers that a command uses, with the bits that may be set in them.
USED_BITS: Final[Mapping[Command, Mapping[int, int]]] = {
    Command.CREATE_QP: dict.fromkeys(range(6), _ALL),
    Command.MODIFY_QP: {0: _ALL, 5: _ALL},
    Command.CONNECT_QP: {0: _ALL, 1: 0xFF_FFFF},
    Command.SET_QP_STATE: {0: _ALL, 1: 0xF},
    Command.FLUSH_QP: {0: _ALL},
    Command.QUERY_QP: {0: _ALL},
    Command.DESTROY_QP: {0: _ALL},
}

#: Owner page of a CQ number that exists and is not being destroyed, else None.
CqPage = Callable[[int], int | None]


def make_qp_args(number: int, config: QpConfig | None = None, word: int = 0) -> Args:
    """Argument registers: those of CREATE_QP and MODIFY_QP, or ``word`` as ARG1."""
    if config is None:
        return Args((number, word, 0, 0, 0, 0, 0, 0))
    c = config
    return Args(
        (
            number,
            c.context & _ALL,
            c.context >> 32,
            c.send_cq | c.recv_cq << 16,
            c.page | c.depth << 16,
            c.watermark | c.age << 16,
            0,
            0,
        )
    )


def config_of(args: Args) -> QpConfig:
    """What the arguments of CREATE_QP and MODIFY_QP say."""
    w = args.words
    return QpConfig(
        context=w[1] | w[2] << 32,
        send_cq=w[3] & 0xFFFF,
        recv_cq=w[3] >> 16,
        page=w[4] & 0xFFFF,
        depth=w[4] >> 16,
        watermark=w[5] & 0xFFFF,
        age=w[5] >> 16,
    )


def decode_command(code: int, args: Args, params: Params) -> Command | CommandResult:
    """The part of the checks that needs no state (CMD_UNKNOWN to CMD_BAD_OBJECT)."""
    if code not in USED_BITS:
        return CommandResult.CMD_UNKNOWN
    command = Command(code)
    if any(args.words[i] & ~mask for i, mask in USED_BITS[command].items()):
        return CommandResult.CMD_RESERVED
    return command if args.number < params.num_qp else CommandResult.CMD_BAD_OBJECT


def check_create(args: Args, qp: QpModel, cq_page: CqPage) -> CommandResult:
    """The result of CREATE_QP after :func:`decode_command`."""
    config, params = config_of(args), qp.params
    if qp.state is not QpState.FREE:
        return CommandResult.CMD_EXISTS
    if not 1 <= config.depth <= 1 << params.sq_log2:
        return CommandResult.CMD_BAD_SIZE
    pages = [cq_page(cq) for cq in (config.send_cq, config.recv_cq)]
    if None in pages:
        return CommandResult.CMD_NO_CQ
    if config.page >= params.num_pages or pages != [config.page] * 2:
        return CommandResult.CMD_BAD_PAGE
    return CommandResult.OK
