# SPDX-License-Identifier: Apache-2.0
"""The floor plan: the tree keeps it, and bad trees are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scripts import house
from scripts.house import GENERATED, Wing, problems, table

#: Two lines wanted, 20 allowed, and one of slack.
WINGS = (Wing("env", 2, 20, ("tb/env/",), ("tb/env/x/",)), Wing("faults", 2, 3, ("tb/faults/",)))
#: The base of all tests, and of tests in another file.
TESTS = {
    "tb/env/base_test.py": "class CarillonTest(uvm_test): ...",
    "tb/tests/common/a.py": "from tb.env.base_test import CarillonTest\n"
    "class Root: ...\nclass Steps(Root): ...\nclass More(Root): ...\nclass Ladder(Steps): ...\n"
    "class Engine(Steps, More, CarillonTest): ...\nclass High(Ladder, CarillonTest): ...\n",
}
DERIVED = "from tb.tests.common.a import {}\nclass Engine(Engine): ...\nclass CTest(Engine): ...\n"
LONG_PY, LONG_V = "x = 1\n" * 501, "wire x;\n" * 401


@pytest.mark.parametrize(
    "tree, found",
    [
        ({"tb/env/a.py": "\n" * 21, "tb/env/x/a.py": "\n" * 9, "tb/tests/cq/a.py": "\n"}, []),
        (
            {"tb/env/a.py": "\n" * 11, "tb/env/b.v": "\n" * 11},
            ["env: 22 lines, ceiling 20 and 5 %: shorten what is in tb/env/, or raise the"],
        ),
        ({"models/arm/a.py": LONG_PY}, ["models/arm/a.py: 501 lines, limit 500"]),
        ({"hdl/cq/a.v": LONG_V}, ["hdl/cq/a.v: 401 lines, limit 400"]),
        (dict.fromkeys(GENERATED[:1], LONG_V), []),
        ({"a.md": "é" * 121, "sw/a.v": "é" * 121}, ["a.md:1: 121 columns", "sw/a.v:1: 121"]),
        ({"tb/tests/test_a.py": ""}, ["tb/tests/test_a.py: not in the folder of a subject"]),
        ({"tb/tests/new/test_a.py": ""}, ["tb/tests/new/test_a.py: not in the folder of a"]),
        ({"tb/tests/cq/more/test_a.py": ""}, ["tb/tests/cq/more/test_a.py: not in"]),
        ({"tb/tests/common/test_a.py": ""}, ["tb/tests/common/test_a.py: not in"]),
        ({"tb/tests/interop/test_a.py": "", "tb/tests/campaigns/test_b.py": ""}, []),
        ({"hdl/interop/a.v": "", "models/campaigns/a.py": ""}, ["hdl/interop/a", "models/camp"]),
        ({"hdl/cde_a.v": "", "hdl/cde_top.v": "", "hdl/lib/a.v": ""}, ["hdl/cde_a.v: not in"]),
        ({"models/odd/a.py": "", "formal/f_a.v": ""}, ["models/odd/a.py: not", "formal/f_a.v: n"]),
        ({"tb/tests/cq/test_a.py": "", "tb/tests/common/a.py": ""}, []),
        (
            {"tb/a.py": "from tb import b", "tb/b.py": "def f():\n    import tb.a"},
            ["circular imports: tb.a, tb.b"],
        ),
        (
            {"tb/a.py": "from . import b", "tb/b.py": "if TYPE_CHECKING:\n    from .c import x"}
            | {"tb/c.py": "from tb.a import y", "tb/d.py": "import tb.a"},
            ["circular imports: tb.a, tb.b, tb.c"],
        ),
        # A package and what it imports from its own modules.
        ({"tb/__init__.py": "from tb.a import x", "tb/a.py": "import models"}, []),
        (
            {"tb/__init__.py": "from .a import x", "tb/a.py": "from tb import y"},
            ["circular imports: tb, tb.a"],
        ),
        (
            {"tb/tests/cq/test_x.py": "", "tb/a.py": "from tb.tests.cq import test_x"},
            ["tb.a imports tb.tests.cq.test_x: move what they share to tb/tests/common"],
        ),
        (
            TESTS
            | {
                "tb/tests/cq/test_a.py": "from tb.tests.common import a as x\n"
                "class B(x.Engine): ...\nclass CTest(B): ...\nclass DTest(CTest): ...\n",
            },
            ["tb.tests.cq.test_a.DTest: 4 classes deep, limit 3: DTest < CTest < B < Engine < "],
        ),
        (TESTS | {"tb/tests/cq/test_a.py": DERIVED.format("Engine")}, []),
        (
            # A mix-in that derives from another one, and a class of another module by its name.
            TESTS | {"tb/tests/cq/test_a.py": DERIVED.format("High as Engine")},
            ["tb.tests.cq.test_a.CTest: 4 classes deep, limit 3: CTest < Engine < High < Ladder <"],
        ),
    ],
)
def test_trees(tree: dict[str, str], found: list[str]) -> None:
    told = problems(tree, WINGS)
    assert len(told) == len(found)
    assert all(line.startswith(start) for line, start in zip(told, found, strict=True)), told


@pytest.mark.parametrize(
    "text, told", [(b"x = (\n", "1: '(' was never closed"), (b"# \xff\n", " not UTF-8: ")]
)
def test_a_file_that_cannot_be_read(tmp_path: Path, text: bytes, told: str, capsys: Any) -> None:
    (tmp_path / "tb").mkdir()
    (tmp_path / "tb/a.py").write_bytes(text)
    assert house.main(tmp_path) == 1
    assert capsys.readouterr().out.splitlines()[-1].startswith(f"tb/a.py:{told}")


def test_over_the_target_is_told() -> None:
    for lines, mark in ((2, "20"), (3, "OVER"), (20, "OVER"), (21, "GROWN")):
        rows = list(table({"tb/env/a.py": "\n" * lines, "tb/faults/a.py": "\n"}, WINGS))[1:]
        assert [row.split()[-1] for row in rows] == [mark, "3"]
