# SPDX-License-Identifier: Apache-2.0
"""A recorded run is judged again as it was; one that was tampered with is not."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tb.env.harness.records import MemWrite
from tb.env.scoreboard.explain import Mismatch
from tb.replay.file import Block, End, FileError, Header, Life, Writer, read
from tb.replay.judge import Judge, judge_file
from tb.replay.speed import GOALS, Measured, show, summary
from tb.selftest.streams import PARAMS, Stream


def _records(path: Path) -> Path:
    """An ideal engine takes one completion."""
    stream = Stream().ready()
    stream.complete()
    writer = Writer(path, Header(3, "ideal"))
    writer.write(Life(0, PARAMS))
    writer.write(Block(False, {}, stream.records))
    writer.write(End(("no_doorbells",), stream.records[-1].cycle + 1000))
    writer.close()
    return path


def test_is_judged_again(tmp_path: Path) -> None:
    judge, _ = judge_file(_records(tmp_path / "run.gz"))
    assert judge.board is not None and judge.facts.counts["completions"] == 1
    assert judge.counts["beat/lower half"] == 1


def test_wrong_record_is_found(tmp_path: Path) -> None:
    header, (life, block, _) = read(_records(tmp_path / "run.gz"))
    assert isinstance(block, Block)
    wrong = [r._replace(data=r.data ^ 1) if type(r) is MemWrite else r for r in block.records]
    judge = Judge(header.seed)
    judge.take(life)
    with pytest.raises(Mismatch, match="CQE write"):
        judge.take(block._replace(records=wrong))


@pytest.mark.parametrize("text", ["", "{}", '{"format": "carillon-records", "version": 0}', "\xe9"])
def test_other_files_are_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.gz").write_bytes(gzip.compress(text.encode()))
    with pytest.raises(FileError, match=r"run\.gz: (not a file of |carillon-)records"):
        judge_file(tmp_path / "run.gz")


def test_rates_of_a_mix() -> None:
    """Each run counts as often as its share says, the parts of its time alike."""
    runs = [
        Measured(kind, "t", "b", share, replay, 100 * share, 500, 2.0, {"simulator": 0.5, "x": 1.5})
        for kind in ("core", "engine")
        for replay in (False, True)
        for share in (1, 3)
    ]
    found = summary(runs, 7)
    assert set(GOALS) <= set(found["metrics"]) and found["split"]["core replay"]["x"] == 0.75
    assert found["metrics"]["core_replay_per_cpu_s"] == (100 + 3 * 300) / (2.0 + 3 * 2.0)
    assert found["design_and_recorder_alone"]["engine"] == 500.0 and show(runs, found)
