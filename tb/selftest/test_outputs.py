# SPDX-License-Identifier: Apache-2.0
"""Words that are not outputs of a command."""

from __future__ import annotations

import pytest

from tb.env.defs import Cmd, Result
from tb.env.harness.records import Command
from tb.env.host.outputs import stray_outputs


@pytest.mark.parametrize(
    ("code", "result", "word", "wrong"),
    [
        (Cmd.QUERY_CQ, Result.OK, 5, False),
        (Cmd.QUERY_CQ, Result.OK, 6, True),
        (Cmd.QUERY_CQ, Result.NO_OBJECT, 0, True),
        (Cmd.CREATE_SRQ, Result.OK, 0, False),
        (Cmd.REGISTER_MR, Result.OK, 0, False),
        (Cmd.REGISTER_MR, Result.OK, 1, True),
        (Cmd.QUERY_MW, Result.OK, 7, False),
        (Cmd.CLOSE_MW, Result.OK, 0, True),
        (Cmd.DESTROY_CQ, Result.PENDING, 0, True),
        (0xEE, Result.UNKNOWN, 7, True),
    ],
)
def test_words(code: int, result: int, word: int, wrong: bool) -> None:
    outs = tuple(9 * (n == word) for n in range(8))
    found = stray_outputs(Command(1, 1, code, (0,) * 8, result, outs))
    assert found == (f"command {code:#x}, result {result:#x}: OUT{word} 0x9, expected 0") * wrong
