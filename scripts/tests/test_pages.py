# SPDX-License-Identifier: Apache-2.0
"""The commands of the pages: each is one that there is, and is run, in a copy of the project."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tb.runner.common import ROOT
from tb.runner.discover import find_modules, select_jobs

PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
HOUR = ROOT / "docs/first_hour.md"
MAKEFILE = (ROOT / "Makefile").read_text()
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.S | re.M)
#: Values of a command that stand for others.
_OPEN = re.compile(r"\.\.\.|…|<|/path|test_x\b|ArmTwice")

#: Targets whose items the nightly tier has itself, with the same selection by default.
OF_THE_TIER = {"test", "sim", "tours", "negatives", "formal", "faults", "model", "lint"}
#: Targets that other tests run.
ELSEWHERE = {
    "docs": "scripts/tests/test_docs.py",
    "setup": "scripts/tests/test_setup.py",
    "distclean": "scripts/tests/test_setup.py",
}
#: What is run of a command that takes hours, or needs what another one left.
SHORT = {
    "coverage": ["make coverage TEST=test_smoke JOBS=1 | grep 'code coverage:'"],
    "mutate": ["make mutate COUNT=1 SEED=1 MODULE=cde_arbiter JOBS=1"],
    "replay": [],
    "soak": ["make soak N=2000 SEED=1 JOBS=1"],
    "synth": ["make synth QUICK=1"],
    "tiers": [],
}


def commands(page: Path) -> Iterator[str]:
    """Calls of make, in blocks and in the text."""
    text = page.read_text()
    for language, block in _FENCE.findall(text):
        if language in ("", "sh"):
            yield from re.findall(r"^make [^#\n]*[^#\s]", block, re.M)
    for span in re.findall(r"`(make [^`]+)`", _FENCE.sub("", text)):
        yield " ".join(span.split())


def all_commands() -> list[str]:
    return sorted({command for page in PAGES for command in commands(page)})


def words_of(command: str) -> tuple[list[str], dict[str, str]]:
    """Targets and variables of a call of make."""
    words = shlex.split(command)[1:]
    values = dict(word.split("=", 1) for word in words if "=" in word)
    return [word for word in words if "=" not in word], values


@pytest.mark.parametrize("command", all_commands())
def test_a_command_is_one_that_there_is(command: str) -> None:
    """Its targets, its variables, the tests that it selects."""
    targets, values = words_of(command)
    assert set(targets) <= set(re.findall(r"^([a-z-]+):", MAKEFILE, re.M))
    assert set(values) <= set(re.findall(r"\$\$?\{?\(?([A-Z_]+)\b", MAKEFILE)) | {"PYTHON"}
    tests = values.get("TEST", "")
    own = [name for page in PAGES for name in re.findall(r"^class (\w+)", page.read_text(), re.M)]
    if tests and not _OPEN.search(tests) and tests not in own:
        names = [name for name in tests.split(",") if name not in own]
        assert select_jobs(find_modules(), names, build=values.get("BUILD"))


def to_run() -> Iterator[str]:
    """Commands that neither the tier's own items nor other tests run, as short as they can be."""
    for command in all_commands():
        (target, *_), values = words_of(command)
        if target in OF_THE_TIER | ELSEWHERE.keys() or command in commands(HOUR):
            continue
        if target in SHORT:
            yield from SHORT[target]
        elif target == "record" and "FILE" in values:
            yield f"{command} && make replay FILE={values['FILE']}"
        elif not _OPEN.search(command) and (target not in ("waves", "record") or values):
            yield command


def test_every_target_is_run_somewhere() -> None:
    assert all((ROOT / test).is_file() for test in ELSEWHERE.values())
    targets = {target for command in all_commands() for target in words_of(command)[0][:1]}
    ran = {
        target for command in to_run() for target in words_of(re.split(r" [|&]", command)[0])[0][:1]
    }
    assert targets <= ran | OF_THE_TIER | ELSEWHERE.keys() | SHORT.keys() | {"report", "clean"}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout as one has it after the clone and the set-up."""
    root = tmp_path_factory.mktemp("checkout") / "carillon"
    made = shutil.ignore_patterns("sim_build", ".venv*", ".regression", "__pycache__", ".*_cache")
    shutil.copytree(ROOT, root, ignore=made, symlinks=True)
    (root / ".venv").symlink_to(sys.prefix)
    git = "git init -q; git add hdl; git -c user.name=a -c user.email=a@b commit -qm hdl"
    shutil.rmtree(root / ".git", ignore_errors=True)
    (root / ".git").unlink(missing_ok=True)
    subprocess.run(["bash", "-ec", git], cwd=root, check=True)
    return root


def run(command: str, folder: Path) -> tuple[int, str]:
    # The copy's run is not part of this one.
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    shell = ["bash", "-ec", command]
    done = subprocess.run(
        shell,
        cwd=folder,
        env=env,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return done.returncode, done.stdout


@pytest.mark.nightly
@pytest.mark.parametrize("command", sorted(set(to_run())))
def test_a_command_runs(command: str, copy: Path) -> None:
    status, said = run(command, copy)
    assert status == 0, said[-4000:]


@pytest.mark.nightly
def test_the_first_hour(copy: Path) -> None:
    """Each block is typed as it stands, and what the page shows is printed, numbers aside."""
    said = ""
    for language, block in _FENCE.findall(HOUR.read_text()):
        if language == "sh":
            # The clone is made, and `make sim` alone is the tier that runs this test.
            typed = re.sub(r"^(git clone.*|make sim)\n", "", block, flags=re.M)
            said = re.sub(r"\d+", "#", run(typed, copy)[1])
        else:
            lines = [line.strip() for line in said.splitlines()]
            for shown in re.sub(r"\d+", "#", block).splitlines():
                assert any(line.startswith(shown) for line in lines), (shown, said[-4000:])
