# SPDX-License-Identifier: Apache-2.0
"""Pages that show code: docs/driver.md with the loop that the regression runs and all commands with
all arguments; docs/write_a_sequence.md with the files that the regression runs, word for word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from models.host import control
from models.keys import window_control
from models.post import qp_control
from models.receive import receive_control
from models.verbs import BY_NAME
from tb.env.agents.doorbell import PageItem
from tb.env.base_test import CarillonTest
from tb.env.defs import QP_RECV, Cmd
from tb.runner.common import ROOT
from tb.runner.discover import read_module
from tb.sequences import find, names
from tb.sequences.verbs import items

PAGE = (ROOT / "docs/driver.md").read_text()
_COMMAND = re.compile(r"^0x([0-9A-F]{2}) (\w+)(.*(?:\n +.*)*)", re.M)
_REGISTER = re.compile(r"ARG(\d)((?:(?!ARG\d)[^;])*)")
_BITS = re.compile(r"\[(\d+)(?::(\d+))?\]")

#: Argument registers and the bits that may be set in them, by the models.
USED: dict[int, Mapping[int, int]] = {}
for module in (control, qp_control, receive_control, window_control):
    USED |= {int(code): bits for code, bits in module.USED_BITS.items()}
# Each model knows the bits of its subject.
USED[Cmd.CREATE_QP] = {**USED[Cmd.CREATE_QP], 7: (1 << 32) - 1 & ~QP_RECV.reserved}


def commands() -> Iterator[tuple[int, str, str]]:
    """Code, name and arguments, without results."""
    for code, name, text in _COMMAND.findall(PAGE):
        yield int(code, 16), name, text.partition("OUT")[0]


def named_bits(text: str) -> dict[int, int]:
    """The bits that are named of each argument register; all if none is."""
    found = {}
    for number, fields in _REGISTER.findall(text):
        mask = 0
        for high, low in _BITS.findall(fields):
            mask |= (2 << int(high)) - (1 << int(low or high))
        found[int(number)] = mask or (1 << 32) - 1
    return found


def test_the_page_shows_the_loop() -> None:
    loop = (ROOT / "sw/carillon_loop.c").read_text()
    (shown,) = re.findall(r"```c\n(.*?)```\n", PAGE, re.S)
    assert loop.endswith(shown) and loop.count("\n}\n") == shown.count("\n}\n") == 2
    assert len(PAGE.splitlines()) <= 150


def test_commands_and_arguments_are_those_of_the_models() -> None:
    assert [(code, name) for code, name, _ in commands()] == [(c.value, c.name) for c in Cmd]
    for code, name, text in commands():
        assert named_bits(text) == USED[code], name


# -- docs/write_a_sequence.md ----------------------------------------------------------------------


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


def test_mistakes_are_told_with_their_cure() -> None:
    env: Any = SimpleNamespace(seed=1, records=0)
    test: Any = SimpleNamespace(env=env)
    sequence = find("one_post")(env)
    for attempt, told in (
        (lambda: CarillonTest.check_not_vacuous(test), "was a sequence made and not run?"),
        (lambda: sequence.do(PageItem()).send(None), "one_post was .*: `await seq.run"),
        (PageItem().answer.__await__, "not sent: `await self.do\\(item\\)` first"),
    ):
        with pytest.raises(AssertionError, match=told):
            attempt()
