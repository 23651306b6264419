# SPDX-License-Identifier: Apache-2.0
"""A recorded run is judged again as it was; one that was tampered with is not."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tb.env.harness.records import MemWrite
from tb.env.scoreboard.explain import Mismatch
from tb.replay.__main__ import main
from tb.replay.file import Block, End, FileError, Header, Life, Writer, read
from tb.replay.judge import Judge, judge_file
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


LIFE = '["life", 0, {}]'


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('["life", 0', "not JSON"),
        ("7", "not a list that begins with one of life, block, asked, access, end, waited"),
        ('[["life"]]', "not a list that begins with one of life"),
        ('["nonsense", 1]', "not a list that begins with one of life"),
        ('["block"]', "`block` has the values commanding, stalled, order, fields"),
        ('["life", 0, {"x": 1}]', "a value of `life` is of another kind than docs/replay.md"),
        ('["block", false, {}, [0], {"X": [[1]]}]', "no kind of record is named 'X'; there are T"),
        ('["block", false, {}, [0], {"MemWrite": [[1]]}]', "MemWrite has the fields cycle, "),
        ('["block", false, {}, [3], {}]', "a value of `block` is of another kind than docs"),
    ],
)
def test_a_bad_line_is_told_in_words(tmp_path: Path, line: str, problem: str) -> None:
    head = '{"format": "carillon-records", "version": 3}'
    (tmp_path / "run.gz").write_bytes(gzip.compress(f"{head}\n{LIFE}\n{line}\n".encode()))
    with pytest.raises(FileError) as told:
        judge_file(tmp_path / "run.gz")
    assert str(told.value).startswith(f"{tmp_path}/run.gz, line 3: {problem}")


def test_seeds_of_the_bench_are_long(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--seed", "5"]) == 2
    assert "SEED=5: must be a whole number from 1000 to" in capsys.readouterr().out
