# SPDX-License-Identifier: Apache-2.0
"""Commands of windows and of device removal: arguments, and the checks that need no step.

Source: ``docs/windows.md`` ("Commands, added", "Device removal"), rules MW-01, MW-09, MW-11.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from models.host import control
from models.host.control import Args
from models.params import Params
from models.qp_codes import QpCommand
from models.receive_codes import RecvCommand, RecvResult
from models.window_codes import WindowCommand

_ALL: Final = 0xFFFF_FFFF

#: Argument registers that a command uses, with the bits that may be set in them.
USED_BITS: Final[Mapping[WindowCommand, Mapping[int, int]]] = {
    WindowCommand.ALLOC_MR: {0: _ALL, 5: 0xFFFF},
    WindowCommand.CREATE_MW: {0: _ALL, 1: _ALL, 2: _ALL, 5: 0xFFFF},
    WindowCommand.CLOSE_MW: {0: _ALL},
    WindowCommand.QUERY_MW: {0: _ALL},
    WindowCommand.REMOVE_DEVICE: {},
}

#: Commands that a removed device refuses (MW-09); every other one works as before.
REMOVED_COMMANDS: Final = control.REMOVED_COMMANDS | {
    QpCommand.CREATE_QP,
    QpCommand.MODIFY_QP,
    QpCommand.CONNECT_QP,
    RecvCommand.CREATE_SRQ,
    RecvCommand.RESIZE_SRQ,
    RecvCommand.SET_SRQ_WATERMARK,
    RecvCommand.REGISTER_MR,
    WindowCommand.ALLOC_MR,
    WindowCommand.CREATE_MW,
    WindowCommand.REMOVE_DEVICE,
}

#: Commands with a step of lane 8: they change a region or window.
KEY_COMMANDS: Final = frozenset(
    {
        RecvCommand.REGISTER_MR,
        RecvCommand.DEREGISTER_MR,
        WindowCommand.ALLOC_MR,
        WindowCommand.CREATE_MW,
        WindowCommand.CLOSE_MW,
    }
)


def make_window_args(number: int = 0, zone: int = 0, context: int = 0) -> Args:
    """Argument registers of the commands of windows and of ALLOC_MR (``context`` 0)."""
    return Args((number, context & _ALL, context >> 32, 0, 0, zone, 0, 0))


def check_removed(code: int) -> RecvResult:
    """What a removed device answers, or OK: the command works as before (MW-09)."""
    if code in control.REMOVED_COMMANDS:
        return RecvResult.CMD_UNKNOWN  # of :class:`models.engine.Engine`
    return RecvResult.CMD_DEVICE_REMOVED if code in REMOVED_COMMANDS else RecvResult.OK


def decode_window(code: int, args: Args, params: Params) -> RecvResult:
    """The part of the checks that needs no state (CMD_UNKNOWN to CMD_BAD_OBJECT), or OK."""
    try:
        command = WindowCommand(code)
    except ValueError:
        return RecvResult.CMD_UNKNOWN
    if any(args.words[i] & ~mask for i, mask in USED_BITS[command].items()):
        return RecvResult.CMD_RESERVED
    limit = params.num_mr if command is WindowCommand.ALLOC_MR else params.num_mw
    if command is not WindowCommand.REMOVE_DEVICE and args.number >= limit:
        return RecvResult.CMD_BAD_OBJECT
    return RecvResult.OK
