# SPDX-License-Identifier: Apache-2.0
"""The commands of the pages: each is one that there is, and each is run, in a copy of the project."""

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
    "coverage": ["make coverage TEST=test_rsv* JOBS=1; test $? -le 2", "make coverage AGAIN=1; :"],
    "mutate": ["make mutate COUNT=1 SEED=1 MODULE=cde_arbiter JOBS=1"],
    "replay": [],
    "soak": ["make soak N=2000 SEED=1 JOBS=1"],
    "synth": ["make synth MODULE=cde_arbiter SEEDS=1"],
    "tiers": [],
    "walk": [],
    "bench": [],
}


def commands(page: Path) -> Iterator[str]:
    """Calls of make, in blocks and in the text."""
    text = page.read_text()
    for language, block in _FENCE.findall(text):
        if language in ("", "sh"):
            yield from re.findall(r"^make [^#\n]*[^#\s]", block, re.M)
    for span in re.findall(r"`(make [^`]+)`", _FENCE.sub("", text)):
        yield " ".join(span.split())
