# SPDX-License-Identifier: Apache-2.0
"""``docs/add_a_verb.md``, word for word: both of its verbs are added to a copy of the project,
which is made, read by lint, tested and simulated with the project's own commands.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tb.runner.common import ROOT

PAGE = ROOT / "docs" / "add_a_verb.md"
#: Name of the file, where in it, and the block; a block ends the line above it.
_STEP = re.compile(
    r"^(New file )?`([^`\n]+)`(, at the end(?: of `([^`\n]+)`)?)?:\n\n```\w*\n(.*?)^```$",
    re.S | re.M,
)
VERBS = ("Nop", "FetchAndAdd")

#: Tests in Python that go through all verbs, or compare pages, plan and generated files.
PYTHON_TESTS = (
    *(f"models/tests/{name}.py" for name in ("post/test_posts", "post/test_qp", "test_nic")),
    *(f"tb/selftest/test_{name}.py" for name in ("coverage", "defs", "waves", "testplan")),
)
#: All opcodes that are none, legal and illegal posts of all verbs; random ones, of guarded queue
#: pairs, too.
SIMULATIONS = (
    *("test_verbs", "test_posting_input.FieldsTest", "test_posting_input.LengthTest"),
    *("test_post_smoke.PostSmokeTest", "test_post_traffic.PostTrafficTest"),
    "test_windows_life.WindowTroublesTest",
)
BUILD = "engine_small"


class Step(NamedTuple):
    """A block of the page: a new file, or lines at the end of a part of one, or of all of it."""

    new: bool
    file: str
    part: str
    text: str

    def apply(self, root: Path) -> None:
        path = root / self.file
        if self.new:
            assert not path.exists(), f"{self.file} is there already"
            path.write_text(self.text)
            return
        lines = path.read_text().splitlines(keepends=True)
        end = len(lines)
        if self.part:
            (start,) = (n for n, line in enumerate(lines) if line.startswith(self.part))
            ends = (n for n in range(start, len(lines)) if lines[n].strip() in ("", "};"))
            end = next(ends)
        path.write_text("".join([*lines[:end], self.text, *lines[end:]]))


def steps_of(page: str) -> list[Step]:
    """All steps of the page, in order."""
    found = [
        Step(bool(new), file, part or "", text) for new, file, _, part, text in _STEP.findall(page)
    ]
    assert 2 * len(found) == page.count("\n```"), "a block of the page is not a step"
    return found


def run(copy: Path, *command: str) -> str:
    """What a Python of its own says in the copy."""
    tools = (copy / "scripts" / "bin", Path(sys.executable).parent)
    # The copy's run is not part of this one.
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    env["PATH"] = os.pathsep.join([*map(str, tools), os.environ["PATH"]])
    done = subprocess.run(
        [sys.executable, *command], cwd=copy, env=env, capture_output=True, text=True, check=False
    )
    assert not done.returncode, (done.stdout + done.stderr)[-8000:]
    return done.stdout


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project with two verbs more, as the page adds them."""
    root = tmp_path_factory.mktemp("project")
    ignored = shutil.ignore_patterns("__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache")
    # What a checkout has, without what was made in it.
    made = {".git", ".venv", ".venv-docs", ".regression", ".hypothesis", "sim_build"}
    for name in {path.name for path in ROOT.iterdir()} - made:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, root / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, root / name)
    (root / ".venv").symlink_to(sys.prefix)
    for step in steps_of(PAGE.read_text()):
        step.apply(root)
    recipe = (root / "Makefile").read_text().partition("\ndefs:")[2].partition("\n\n")[0]
    for module in re.findall(r"-m (scripts\.\w+)", recipe):
        run(root, "-m", module)
    return root


def test_model(copy: Path) -> None:
    """With both verbs, posts of all of them."""
    run(copy, "-m", "pytest", PYTHON_TESTS[0], "-n", "0")


@pytest.mark.full
def test_lint(copy: Path) -> None:
    """The new files, the generated ones, and the RTL with its new table."""
    run(copy, "-m", "pytest", "pyproject.toml", "-k", "ruff or date or slang or cde_verb")


@pytest.mark.full
def test_python_tests(copy: Path) -> None:
    run(copy, "-m", "pytest", *PYTHON_TESTS)


@pytest.mark.full
def test_simulations(copy: Path) -> None:
    """They pass, and hit every bin of the new verbs."""
    select = ("--test", ",".join(SIMULATIONS), "--build", BUILD, "--seed", "1", "--waves", "0")
    run(copy, "-m", "pytest", "tb/tests", *select)
    hit: set[str] = set()
    for counts in (copy / "sim_build" / "jobs").rglob("coverage.json"):
        hit.update(name for name, count in json.loads(counts.read_text()).items() if count)
    says = "from tb.env.coverage.bins import BINS; print(*BINS, sep='\\n')"
    bins = run(copy, "-c", says).splitlines()
    for verb in VERBS:
        own = {name for name in bins if name.startswith((f"verb/{verb}.", f"outcome/{verb},"))}
        assert len(own) > 20 and not own - hit, own - hit
