# SPDX-License-Identifier: Apache-2.0
"""Commands of receiving: arguments, and the checks that need no step.

Source: ``docs/receive.md`` ("Commands, added"), rules SRQ-16, SRQ-17 and ISO-02. CREATE_QP has two
argument registers more than :mod:`models.post.qp_control` knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from models.codes import Command, CommandResult, QpState, RecvFlag
from models.host.control import Args
from models.keys.region import RegionConfig
from models.params import Params
from models.post.qp import QpConfig, QpModel
from models.post.qp_control import CqPage, config_of, make_qp_args
from models.receive.receive_types import RecvConfig, SrqConfig
from models.receive.srq import SrqModel

_ALL: Final = 0xFFFF_FFFF
_USES_SRQ: Final = 1 << 16
_TWO: Final = 1 << 17
_GUARDED: Final = 1 << 18

#: Argument registers that a command uses, with the bits that may be set in them.
USED_BITS: Final[Mapping[int, Mapping[int, int]]] = {
    Command.CREATE_QP: {**dict.fromkeys(range(7), _ALL), 7: 0x1F01_FFFF},
    Command.CREATE_SRQ: {0: _ALL, 1: _ALL, 2: _ALL},
    Command.RESIZE_SRQ: {0: _ALL, 1: 0xFFFF},
    Command.SET_SRQ_WATERMARK: {0: _ALL, 1: 0xFFFF},
    Command.QUERY_SRQ: {0: _ALL},
    Command.DESTROY_SRQ: {0: _ALL},
    Command.REGISTER_MR: {**dict.fromkeys(range(4), _ALL), 4: 0xFFFF, 5: 0x7_FFFF},
    Command.DEREGISTER_MR: {0: _ALL},
    Command.QUERY_MR: {0: _ALL},
}


def _args(*words: int) -> Args:
    return Args((*words, *[0] * (8 - len(words))))


def make_create_args(number: int, config: QpConfig, receive: RecvConfig | None = None) -> Args:
    """Argument registers of CREATE_QP."""
    words = make_qp_args(number, config).words[:6]
    return Args((*words, *(receive or RecvConfig()).words))


def make_srq_args(number: int, config: SrqConfig | None = None, word: int = 0) -> Args:
    """Argument registers: those of CREATE_SRQ, or ``word`` as ARG1."""
    if config is None:
        return _args(number, word)
    c = config
    return _args(number, c.size | c.zone << 16, c.page | c.vector << 16)


def make_region_args(number: int, config: RegionConfig | None = None) -> Args:
    """Argument registers: those of REGISTER_MR, or the number alone."""
    if config is None:
        return _args(number)
    c = config
    low, high = c.base & _ALL, c.base >> 32
    rights = c.zone | c.rights << 16
    return _args(number, low, high, c.length & _ALL, c.length >> 32, rights)


def receive_config_of(args: Args) -> RecvConfig:
    """What ARG6 and ARG7 of CREATE_QP say."""
    zone_depth, uses = args.words[6:8]
    return RecvConfig(
        zone=zone_depth & 0xFFFF,
        depth=zone_depth >> 16,
        srq=uses & 0xFFFF if uses & _USES_SRQ else None,
        flag=uses >> 24 & 0x1F,
        two=bool(uses & _TWO),
        guarded=bool(uses & _GUARDED),
    )


def srq_config_of(args: Args) -> SrqConfig:
    """What the arguments of CREATE_SRQ say."""
    w = args.words
    return SrqConfig(w[1] & 0xFFFF, w[1] >> 16, w[2] & 0xFFFF, w[2] >> 16)


def region_config_of(args: Args) -> RegionConfig:
    """What the arguments of REGISTER_MR say."""
    w = args.words
    return RegionConfig(w[1] | w[2] << 32, w[3] | w[4] << 32, w[5] & 0xFFFF, w[5] >> 16 & 7)


def decode_receive(code: int, args: Args, params: Params, windows: bool = False) -> CommandResult:
    """The part of the checks that needs no state (CMD_UNKNOWN to CMD_BAD_OBJECT), or OK.

    ``windows``: the engine has memory windows, and CREATE_QP ``ARG7[18:17]`` a meaning.
    """
    bits = USED_BITS.get(code)
    if bits is None:
        return CommandResult.CMD_UNKNOWN
    if windows and code == Command.CREATE_QP:
        bits = {**bits, 7: bits[7] | _TWO | _GUARDED}
    if any(args.words[i] & ~mask for i, mask in bits.items()):
        return CommandResult.CMD_RESERVED
    # An SRQ number without its use is an unused field.
    if code == Command.CREATE_QP and args.words[7] & 0x1_FFFF in range(1, _USES_SRQ):
        return CommandResult.CMD_RESERVED
    limit = params.num_mr if code >= Command.REGISTER_MR else params.num_srq
    if code == Command.CREATE_QP:
        limit = params.num_qp
    return CommandResult.OK if args.number < limit else CommandResult.CMD_BAD_OBJECT


def check_create_qp(
    args: Args, qp: QpModel, cq_page: CqPage, srqs: Sequence[SrqModel]
) -> CommandResult:
    """The result of CREATE_QP after :func:`decode_receive`."""
    config, receive, params = config_of(args), receive_config_of(args), qp.params
    if qp.state is not QpState.FREE:
        return CommandResult.CMD_EXISTS
    most = 1 << params.rq_log2 if receive.srq is None else 0
    if not 1 <= config.depth <= 1 << params.sq_log2 or receive.depth > most:
        return CommandResult.CMD_BAD_SIZE
    pages = [cq_page(cq) for cq in (config.send_cq, config.recv_cq)]
    if None in pages:
        return CommandResult.CMD_NO_CQ
    if receive.srq is not None:
        if receive.srq >= params.num_srq or not srqs[receive.srq].exists:
            return CommandResult.CMD_NO_SRQ
        pages.append(srqs[receive.srq].config.page)
    if config.page >= params.num_pages or any(page != config.page for page in pages):
        return CommandResult.CMD_BAD_PAGE
    if receive.flag not in set(RecvFlag):
        return CommandResult.CMD_BAD_FLAG
    return CommandResult.OK


def check_srq(
    code: int, args: Args, srq: SrqModel, users: int, waiting: bool | None = None
) -> CommandResult:
    """The result of a command on an SRQ after :func:`decode_receive`.

    ``users``: queue pairs that use it; ``waiting``: see :meth:`SrqModel.check_watermark`.
    """
    params = srq.params
    if code == Command.CREATE_SRQ:
        config = srq_config_of(args)
        if srq.exists:
            return CommandResult.CMD_EXISTS
        if not 1 <= config.size <= 1 << params.srq_log2:
            return CommandResult.CMD_BAD_SIZE
        return CommandResult.OK if config.page < params.num_pages else CommandResult.CMD_BAD_PAGE
    if not srq.exists:
        return CommandResult.CMD_NO_OBJECT
    if code == Command.RESIZE_SRQ:
        return srq.check_resize(args.words[1])
    if code == Command.SET_SRQ_WATERMARK:
        return srq.check_watermark(args.words[1], waiting)
    if code == Command.DESTROY_SRQ and users:
        return CommandResult.CMD_IN_USE
    if code == Command.DESTROY_SRQ and (srq.waiting if waiting is None else waiting):
        return CommandResult.CMD_BUSY
    return CommandResult.OK
