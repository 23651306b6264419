# SPDX-License-Identifier: Apache-2.0
"""Compiled checks: imported if they are of the files as they are; they judge alike."""

from __future__ import annotations

import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from scripts import compile_checks
from scripts.compile_checks import build, main
from tb.compiled import (
    KEY,
    PLACES,
    ROOT,
    VARIABLE,
    Finder,
    current,
    install,
    key_of,
    sources,
    stamp,
)
from tb.env.harness.records import MemWrite
from tb.replay.file import Block, End, Header, Life, Writer
from tb.runner.common import RunnerError
from tb.selftest.streams import PARAMS, Stream


def tree(folder: Path) -> Path:
    """A checkout with one file of the model and its test."""
    for place in PLACES:
        path = folder / place
        (path if not path.suffix else path.parent).mkdir(parents=True, exist_ok=True)
        if path.suffix:
            path.touch()
    for name in ("models/arm/arm.py", "models/tests/arm/test_rules.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x = 1\n")
    return folder


def test_tests_and_names_stay_as_they_are() -> None:
    files = {file.as_posix() for file in sources()}
    assert {"models/arm/arm.py", "tb/env/scoreboard/scoreboard.py", "tb/replay/judge.py"} <= files
    assert not any("/tests/" in file or "__init__" in file for file in files)


def test_only_of_the_files_as_they_are(tmp_path: Path) -> None:
    root, out = tree(tmp_path / "root"), tmp_path / "out"
    assert not current(out, root)
    out.mkdir()
    (out / "shared.so").write_text("x")
    (out / KEY).write_text(stamp(out, key_of(root)))
    assert current(out, root)
    (out / "shared.so").write_text("")
    assert not current(out, root)
    (out / "shared.so").write_text("x")
    (root / "models/arm/arm.py").write_text("x = 2\n")
    before = list(sys.meta_path)
    assert not current(out, root) and not install(out, root) and sys.meta_path == before


def test_finder_knows_its_modules(tmp_path: Path) -> None:
    finder = Finder(tmp_path, [Path("models/arm/arm.py")])
    found = finder.find_spec("models.arm.arm")
    assert found is not None
    assert found.origin == str(tmp_path / f"models/arm/arm{EXTENSION_SUFFIXES[0]}")
    assert finder.find_spec("models.arm") is None


def judged(path: Path, stream: Stream, wrong: bool) -> subprocess.CompletedProcess[str]:
    """Replay of a stream in a process of its own, which imports what is compiled."""
    records = [
        record._replace(data=record.data ^ 1) if wrong and type(record) is MemWrite else record
        for record in stream.records
    ]
    writer = Writer(path, Header(3, "ideal"))
    writer.write(Life(0, PARAMS))
    writer.write(Block(False, {}, records))
    writer.write(End(("no_doorbells",), records[-1].cycle + 1000))
    writer.close()
    program = "import tb, tb.replay.judge as j; print(j.__file__); from tb.replay.__main__ import *"
    program += f"; import sys; sys.exit(main(['replay', {str(path)!r}]))"
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={VARIABLE: "1", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.nightly
def test_compiled_checks_judge_alike(tmp_path: Path) -> None:
    build()
    stream = Stream().ready()
    stream.complete()
    right = judged(tmp_path / "right.gz", stream, wrong=False)
    assert EXTENSION_SUFFIXES[0] in right.stdout and "no mismatch" in right.stdout, right
    wrong = judged(tmp_path / "wrong.gz", stream, wrong=True)
    assert wrong.returncode and "CQE write" in wrong.stdout + wrong.stderr, wrong


@pytest.mark.parametrize(("value", "lowest"), [("abc", 1), ("999", 1000)])
def test_a_mistake_is_told_before_it_compiles(
    monkeypatch: pytest.MonkeyPatch, value: str, lowest: int
) -> None:
    monkeypatch.setattr(compile_checks, "build", lambda: pytest.fail("compiles"))
    monkeypatch.setenv("SEED", value)
    with pytest.raises(RunnerError, match=f"SEED={value}: must be a whole number from {lowest} to"):
        main(["--try", "N", f"SEED:{lowest}"])
