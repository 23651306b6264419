# SPDX-License-Identifier: Apache-2.0
"""Bins of the functional coverage count what they say and nothing else. That each of them can be
hit is shown by the simulations of the quick tier (tb/tiers.yaml).
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import product
from pathlib import Path

import pytest
import yaml

from models.codes import Access, TraceOp, Verdict
from models.keys.window_types import CheckRequest
from models.params import Params
from models.post.post import Post
from models.post.qp_types import Indication
from tb.env.coverage.bins import (
    BINS,
    CHANNELS,
    INPUTS,
    RECEIVE_CHANNELS,
    TRANSPORT_CHANNELS,
    WINDOW_CHANNELS,
)
from tb.env.coverage.coverage import Coverage
from tb.env.harness import harness
from tb.env.harness import records as rec
from tb.env.harness.records import Record
from tb.env.scoreboard.scoreboard import Scoreboard
from tb.runner.common import ROOT
from tb.selftest.right_streams import STREAMS, completions
from tb.selftest.streams import Stream
from tb.selftest.work_streams import PARAMS

#: How often the right streams together hit each case of each group.
HITS = yaml.safe_load((ROOT / "tb" / "selftest" / "stream_bins.yaml").read_text())


def count_bins(stream: Stream, times: int = 1) -> Counter[str]:
    """Those of a stream that a right engine has left, so many lives long."""
    board = Scoreboard(stream.params, commanding=lambda: False)
    coverage = Coverage(board)
    for life in range(times):
        if life:
            board.reset()
            coverage.reset()
        board(stream.records)
    return coverage.counts


def test_bins_of_right_streams() -> None:
    """Those that are listed, so often, and no other one."""
    found = sum((count_bins(make()) for make in STREAMS.values()), Counter[str]())
    assert found == {
        f"{group}/{case}": n for group, cases in HITS.items() for case, n in cases.items()
    }


# -- what comes close and is not meant -------------------------------------------------------------


def step(lane: int, op: TraceOp, cycle: int, old: int, new: int, operand: int = 0) -> rec.Trace:
    return rec.Trace(cycle, lane, op, 0, False, 0, operand, old, new)


WRITE = rec.MemWrite(0, 0, 0, 0xFFFF_FFFF, 0)
#: A window's key, valid and not.
KEY = 0x2800
VALID, INVALID = KEY | 3 << 32, KEY | 2 << 32
GONE = step(8, TraceOp.INVALIDATE, 50, VALID, INVALID)
CLOSE: dict[str, tuple[str, list[Record]]] = {
    "stray responses": (
        "write error",
        [
            rec.MemResponse(1, 0, 2),
            *(WRITE, rec.MemResponse(2, 0, 0)),
            rec.MemResponse(3, 0, 3),
        ],
    ),
    "check long before": ("race", [step(9, TraceOp.CHECK, 47, VALID, VALID), GONE]),
    "check long after": ("race", [GONE, step(9, TraceOp.CHECK, 53, VALID, VALID)]),
    "entry consumed before, and no arm": (
        "ack/of a consumed entry while armed",
        [step(1, TraceOp.PUBLISH, 1, 1 | 1 << 32, 1 | 1 << 16 | 1 << 32, 1)],
    ),
    "resize of an empty queue": (
        "resize/with",
        [step(0, TraceOp.START, 0, 0, 0), step(0, TraceOp.RESIZE, 1, 1, 1, 1)],
    ),
    "late invalidation": (
        "race",
        [GONE, step(8, TraceOp.INVALIDATE, 71, INVALID, INVALID, 1 << 8 | 4)],
    ),
}


def unjudged(params: Params) -> Coverage:
    """With a scoreboard that judges nothing: of any local request and of any check it knows one."""
    board = Scoreboard(params)
    checks = board.engine_checks
    checks.keys.latest = Indication(0, 0, 0, 0, True, True, Post(0, 0, 0, 0), 0)
    checks.access.check(rec.AccessCheck(0, CheckRequest(0, Access.READ).encode()))
    checks.access.decided = checks.access.requests[0]
    checks.access.decided.code = Verdict.BAD_KEY
    return Coverage(board)


@pytest.mark.parametrize("case", CLOSE)
def test_what_comes_close(case: str) -> None:
    group, records = CLOSE[case]
    coverage = unjudged(PARAMS)
    for record in records:
        coverage.sample(record)
    assert not [name for name in coverage.counts if name.startswith(group)]


# -- stalls ----------------------------------------------------------------------------------------


def test_a_stall_counts_when_somebody_waited() -> None:
    """Outputs: the engine waited for ready. Inputs: an item of the harness waited."""
    for name in (name for name in BINS if name.startswith("stall/")):
        channel = name.split("/")[1]
        for blocked, withheld in product((False, True), repeat=2):
            coverage = unjudged(PARAMS)
            coverage.waited({channel} if blocked else set(), {channel} if withheld else set())
            hit = withheld if channel in INPUTS else blocked
            assert coverage.counts == ({name: 1} if hit else {})


def test_channels_are_the_harness_s() -> None:
    """Of the inputs: each channel of a source of the harness, and no other one."""
    text = "".join(path.read_text() for path in (ROOT / "tb" / "hdl").glob("tb_*.v"))
    sources = set(re.findall(r"bfm_source #\(\.CH\(CH_(\w+)\)", text))
    assert sources | {"MEM_B"} == INPUTS
    for channels, names in (
        (harness.STALLABLE, CHANNELS),
        (harness.TRANSPORT_STALLABLE, TRANSPORT_CHANNELS),
        (harness.RECEIVE_STALLABLE, RECEIVE_CHANNELS),
        (harness.WINDOW_STALLABLE, WINDOW_CHANNELS),
    ):
        assert [channel.name for channel in channels] == list(names)


# -- lives and files -------------------------------------------------------------------------------


def test_a_reset_forgets_what_was_under_way() -> None:
    stream = completions()
    once = count_bins(stream)
    assert {name: 2 * hits for name, hits in once.items()} == count_bins(stream, 2)


def test_file_adds_up(tmp_path: Path) -> None:
    path = tmp_path / "coverage" / "job.json"
    coverage = unjudged(PARAMS)
    coverage.sample(WRITE)
    coverage.write(path, coverage.counts)
    coverage.write(path, coverage.counts)
    assert path.read_text() == '{\n "beat/lower half": 2\n}\n'
    coverage.counts["no such bin"] = 1
    with pytest.raises(AssertionError, match="no such bin"):
        coverage.write(path, coverage.counts)
