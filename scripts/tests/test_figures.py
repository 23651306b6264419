# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/proven.md and docs/soak_and_faults.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scripts import figures
from scripts.defdocs import cells_of, unwrap
from scripts.figures import DOCS, PAGES, put
from scripts.synth.__main__ import METRICS, MODULES
from tb.runner.discover import find_modules
from tb.runner.faults import load_rows
from tb.runner.proofs import load_proofs
from tb.runner.soak import DEFAULT_COMPLETIONS

SOAK = {
    "seed": 5,
    "completions": 1200,
    "mismatches": 0,
    "chunks": [0, 1],
    "completions_per_s": 99.6,
    "records": 7000,
    "builds": {"default": 1000, "engine": 200},
    "tests": {"test_m.One": 1200},
}
FAULT = {"fault": "a|b", "expected containment": "none", "observed": "none", "pass": False}
PROOF = {
    "property": "p",
    "module": "cde_m",
    "requirements": ["A-1", "A-2"],
    "status": "TIMEOUT",
    "assertions": ["x", "y"],
    "planted": [{"problem": ""}, {"problem": "holds with the fault"}],
    "parameters": {"W": 2},
}
TOUR = {
    "graph": "g",
    "states": 3,
    "transitions_reachable": 1200,
    "transitions_driven": 1190,
    "percent": 99.2,
}
MUTATION = {
    "seed": 7,
    "total": 12,
    "killed": 8,
    "equivalent": 2,
    "undecided": 1,
    "survived": 1,
    "modules": {"cde_m": {"killed": 8, "equivalent": 2}, "cde_n": {"undecided": 1, "survived": 1}},
}
CODE = {"counts": {"a.v": {"branch": {"hit": 3, "missing": 1}}, "b.v": {"branch": {"hit": 2}}}}
TRACE = {
    "requirements": {
        "A-1": {
            "tests": {"m.One": [2, 3]},
            "bins": {"g/c": 1},
            "faults": [],
            "proofs": {"p": "covered", "q": "proven unbounded", "r": "covered"},
        }
    }
}


def test_soak_table() -> None:
    text = figures.soak_table(SOAK)
    assert "1,200 completions, 0 mismatches, 2 chunks, 100 completions/s" in text
    assert "| engine | 200 |" in text


def test_faults_table_shows_failures() -> None:
    lines = figures.faults_table([FAULT, FAULT | {"pass": True}]).splitlines()
    assert lines[2:] == [
        "| FAILED | a\\|b | none | none |",
        "| passed | a\\|b | none | none |",
    ]


def test_synth_table_has_the_top_levels_that_were_measured() -> None:
    area = {"lut4": 1234, "ff": 5, "block_ram": 6, "distributed_ram": 7}
    row = {"median_mhz": 98.5, "mhz": {"1": 98.5}, "area": area}
    text = figures.synth_table({"rows": {"cde_ram": row, "cde_top": row}})
    assert text.splitlines()[2:] == [
        "| whole engine, `cde_top` | 98.5 MHz, 1 seed | 1,234 | 5 | 6 | 7 |"
    ]
    large = {"rows": {"cde_top": {"median_mhz": None, "mhz": {}, "area": area}}}
    assert "`cde_top` | not placed: too large | 1,234" in figures.synth_table(large)
    assert "cde_top" not in figures.module_table(large)


def test_module_table_has_the_path_of_the_slowest_seed() -> None:
    area = {"lut4": 1234, "ff": 5, "block_ram": 6}
    quick = {"start": "a", "end": "b", "levels": 3}
    paths = {"1": quick, "2": {"start": "c", "end": "d", "levels": 4}}
    row = {"median_mhz": 98.5, "mhz": {"1": 99.0, "2": 98.0}, "area": area, "paths": paths}
    text = figures.module_table({"rows": {"cde_ram": row}})
    assert text.splitlines()[2:] == ["| `cde_ram` | 98.5 | 1,234 | 5 | 6 | `c` to `d`, 4 levels |"]


def test_a_long_row_goes_on_below() -> None:
    words = "of `one piece of code` and [a link](page.md) " * 4
    lines = figures.wrapped(["first", words.strip(), "short", words.strip()])
    assert all(60 < len(line) <= figures.WIDTH and line.count("|") == 5 for line in lines[:-1])
    assert cells_of(unwrap("\n".join(lines))) == ["first", words.strip(), "short", words.strip()]


def test_formal_table_counts_what_a_proof_says() -> None:
    unbounded = PROOF | {"property": "q", "status": "proven unbounded", "parameters": {}}
    text = figures.formal_table([PROOF, unbounded])
    assert text.startswith("2 proofs: 1 TIMEOUT, 1 proven unbounded.")
    assert "| `p` | `cde_m` | A-1, A-2 | TIMEOUT | 2 | 1 of 2 | W 2 |" in text
    assert "| `q` | `cde_m` | A-1, A-2 | proven unbounded | 2 | 1 of 2 | as written |" in text


def test_tours_table_shows_what_is_missing() -> None:
    text = figures.tours_table([TOUR])
    assert text.startswith("1,190 of 1,200 transitions of 1 graphs driven.")
    assert "| g | 3 | 1,200 | 1,190 | 99.2 % |" in text


def test_mutation_table_takes_the_undecided_as_not_killed() -> None:
    text = figures.mutation_table(MUTATION)
    assert "| cde_m | 10 | 8 | 2 | 0 | 0 | 100.0 % |" in text
    assert "| cde_n | 2 | 0 | 0 | 1 | 1 | 0.0 % |" in text
    assert "| all | 12 | 8 | 2 | 1 | 1 | 80.0 % |" in text


def test_code_table_adds_files() -> None:
    lines = figures.code_table(CODE).splitlines()
    assert lines[-1] == "| branch | 6 | 5 | 0 | 1 |"


def test_requirement_table() -> None:
    lines = figures.requirement_table(TRACE).splitlines()
    assert lines[-1] == "| A-1 | covered: `p`, `r`; proven unbounded: `q` | 1 | 2 of 3 | 1 | 0 |"


def test_marks() -> None:
    page = "a\n<!-- soak -->\nold\n<!-- end -->\nb\n<!-- faults -->\n<!-- end -->\n"
    assert put(page, "soak", "new").startswith("a\n<!-- soak -->\nnew\n<!-- end -->\nb\n<!-- fau")
    with pytest.raises(ValueError, match="one place"):
        put("none", "soak", "new")
    for name, tables in PAGES.items():
        for mark in tables:
            put((DOCS / name).read_text(), mark, "x")


def test_pages_keep_what_was_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(figures, "DOCS", tmp_path)
    monkeypatch.setattr(figures, "BUILD", tmp_path)
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    page = "<!-- soak -->\nold\n<!-- end -->\n<!-- faults -->\nkept\n<!-- end -->\n"
    monkeypatch.setattr(figures, "PAGES", {"p.md": PAGES["soak_and_faults.md"]})
    (tmp_path / "p.md").write_text(page)
    whole = SOAK | {"completions": DEFAULT_COMPLETIONS}
    for found, data in (("old", SOAK), ("10,000,000 completions", whole)):
        (tmp_path / "soak.json").write_text(json.dumps(data))
        assert figures.main() == 0
        text, told = (tmp_path / "p.md").read_text(), capsys.readouterr().err
        assert found in text and "kept" in text and "faults stays as it is: no faults.json" in told
        part = "soak stays as it is: soak.json is of a part only; make soak makes it whole"
        assert (part in told) == (found == "old")


RUN = [{"property": proof.id, "status": proof.goal} for proof in load_proofs()]
FAULTS = [{"id": row.id} for row in load_rows(find_modules())]
ROWS = dict.fromkeys((*MODULES, *METRICS))
SHOWN = {"gaps": [], "requirements": {"A-1": {"tests": {"m.One": [0, 0], "m.Two": [1, 1]}}}}


@pytest.mark.parametrize(
    ("mark", "whole", "part"),
    [
        ("formal", RUN, RUN[:1]),
        ("formal", RUN, [*RUN[1:], RUN[0] | {"status": "not run"}]),
        ("mutation", MUTATION | {"module": ""}, MUTATION | {"module": "cde_m"}),
        ("code", CODE | {"whole": True}, CODE | {"whole": False}),
        ("code", CODE | {"whole": True}, CODE),
        ("requirements", SHOWN, SHOWN | {"gaps": ["row one: m.One has not passed"]}),
        ("requirements", SHOWN, {"gaps": [], "requirements": {"A": {"tests": {"m.One": [0, 3]}}}}),
        ("faults", FAULTS, FAULTS[1:]),
        ("modules", {"rows": ROWS}, {"rows": {"cde_ctx": None}}),
        ("synth", {"rows": ROWS}, {"rows": {"cde_top": None}}),
        ("synth", {"rows": ROWS}, {"prices": {}}),
    ],
)
def test_results_of_a_part_are_refused(mark: str, whole: Any, part: Any) -> None:
    _, is_whole = figures.WHOLE[mark]
    assert is_whole(whole) and not is_whole(part)
