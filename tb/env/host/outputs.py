# SPDX-License-Identifier: Apache-2.0
"""Which output words a command has (interfaces.md, posting.md, receive.md, windows.md)."""

from __future__ import annotations

from tb.env.defs import Cmd, Result
from tb.env.harness.records import Command

#: Of each command that has outputs, how many words from OUT0 on.
_WORDS: dict[int, int] = {
    Cmd.RESIZE_EQ: 1,
    Cmd.QUERY_EQ: 4,
    Cmd.RESIZE_CQ: 1,
    Cmd.QUERY_CQ: 6,
    Cmd.QUERY_QP: 8,
    Cmd.CREATE_SRQ: 1,
    Cmd.QUERY_SRQ: 6,
    Cmd.REGISTER_MR: 1,
    Cmd.ALLOC_MR: 1,
    Cmd.CREATE_MW: 1,
    Cmd.QUERY_MR: 7,
    Cmd.QUERY_MW: 8,
}


def stray_outputs(record: Command) -> str:
    """What is wrong with words that are not outputs of this command, or of one that was refused:
    they read 0. Empty if nothing is.
    """
    words = _WORDS.get(record.code, 0) if record.result == Result.OK else 0
    stray = [f"OUT{n} {value:#x}" for n, value in enumerate(record.outs) if n >= words and value]
    if not stray:
        return ""
    return f"command {record.code:#x}, result {record.result:#x}: {', '.join(stray)}, expected 0"
