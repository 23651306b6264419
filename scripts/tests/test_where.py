# SPDX-License-Identifier: Apache-2.0
"""docs/where.md: it is current, each rule has its files, and what is missing is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import gen_where
from scripts.gen_where import PAGE, cell, main, named, page, read
from tb.runner.testplan import SCOPE


def test_page_is_current_and_whole() -> None:
    text, wrong = page()
    assert wrong == []
    assert text == PAGE.read_text(), "docs/where.md is out of date; cure: make defs"
    assert all(text.count(f"**{rule}** ") == 1 for rule in SCOPE)
    assert max(map(len, text.splitlines())) <= 120


def test_out_of_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gen_where, "PAGE", tmp_path / "where.md")
    monkeypatch.setattr(gen_where, "page", lambda: ("text\n", []))
    assert main(["--check"]) == 1 and "cure: make defs" in capsys.readouterr().err
    assert main([]) == 0 and "written: " in capsys.readouterr().out
    assert main(["--check"]) == 0
    monkeypatch.setattr(gen_where, "page", lambda: ("text\n", ["CQ-01 has no RTL"]))
    assert main(["--check"]) == 1 and capsys.readouterr().err == "CQ-01 has no RTL\n"


def test_what_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {path: names - {"MW-10e"} for path, names in read().items()}
    files["hdl/arm/cde_irq.v"] |= {"CQ-99", "CQ-16b"}
    monkeypatch.setattr(gen_where, "read", lambda: files)
    said = gen_where.rules()
    monkeypatch.setattr(gen_where, "rules", lambda: {k: v for k, v in said.items() if k != "DF-01"})
    wrong = page()[1]
    assert {"MW-10e has no RTL", "MW-10e has no model", "MW-10e has no checks"} <= {*wrong}
    assert "tb/runner/testplan.py: DF-01 is not in docs/specification.md" in wrong
    for name in ("CQ-99", "CQ-16b"):
        assert f"hdl/arm/cde_irq.v: {name} is not in docs/specification.md" in wrong
    assert not any(text.startswith("CQ-") for text in wrong)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("// a (CQ-15a, MW-10c).", {"CQ-15a", "MW-10c"}),
        ("CQ-02 to CQ-04, DF-01", {"CQ-02", "CQ-03", "CQ-04", "DF-01"}),
        ("CQ-10 to 11", {"CQ-10", "CQ-10a", "CQ-11", "CQ-11a"}),
        ("# MW-01\n    # to MW-02", {"MW-01", "MW-02"}),
        ("CQ-01 to SRQ-03, CQ-123", {"CQ-01", "SRQ-03"}),
    ],
)
def test_names(text: str, names: set[str]) -> None:
    assert named(text) == names


def test_cells() -> None:
    places = ["cq/a", "arm/b", "arm/a"]
    assert cell("RTL", places, "arm") == "RTL `a`, `b`, `cq/a`"
    assert cell("tests", places, "arm") == "tests `a`, `b`, 1 more"
    assert cell("tests", places, "host") == "tests `arm/a`, `arm/b`, `cq/a`"
    assert cell("proofs", [], "arm") == "proofs none"
