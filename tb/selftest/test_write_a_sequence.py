# SPDX-License-Identifier: Apache-2.0
"""docs/write_a_sequence.md shows the files that the regression runs, word for word."""

from __future__ import annotations

import re

from models.verbs import BY_NAME
from tb.runner.common import ROOT
from tb.runner.discover import read_module
from tb.sequences import names
from tb.sequences.verbs import items

EXAMPLES = ROOT / "tb/sequences/examples"
_BLOCK = re.compile(r"File `([\w/.]+)`, test `(\w+)`\.\n\n```python\n(.*?)```\n", re.S)


def test_the_page_shows_the_files() -> None:
    page = (ROOT / "docs/write_a_sequence.md").read_text()
    shown = {file: code for file, _, code in _BLOCK.findall(page)}
    files = sorted(path for path in EXAMPLES.glob("*.py") if path.name != "__init__.py")
    assert shown == {path.relative_to(ROOT).as_posix(): path.read_text() for path in files}
    assert page.count("```python") == len(shown) == 3
    tests = read_module(ROOT / "tb/tests/post/test_examples.py").tests
    assert {test for _, test, _ in _BLOCK.findall(page)} <= set(tests)


def test_every_example_is_found_by_its_name() -> None:
    assert {path.stem for path in EXAMPLES.glob("[!_]*.py")} <= set(names())


def test_every_request_type_has_its_item() -> None:
    assert {name: item.verb for name, item in items.items()} == dict(BY_NAME)
