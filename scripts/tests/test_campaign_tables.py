# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/soak_and_faults.md."""

from __future__ import annotations

import pytest

from scripts.campaign_tables import PAGE, faults_table, put, soak_table

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


def test_soak_table() -> None:
    text = soak_table(SOAK)
    assert "1,200 completions, 0 mismatches, 2 chunks, 100 completions/s" in text
    assert "| engine | 200 |" in text


def test_faults_table_shows_failures() -> None:
    lines = faults_table([FAULT, FAULT | {"pass": True}]).splitlines()
    assert lines[2:] == [
        "| a\\|b | none | none | FAILED |",
        "| a\\|b | none | none | passed |",
    ]


def test_marks() -> None:
    page = "a\n<!-- soak -->\nold\n<!-- end -->\nb\n<!-- faults -->\n<!-- end -->\n"
    assert put(page, "soak", "new").startswith("a\n<!-- soak -->\nnew\n<!-- end -->\nb\n<!-- fau")
    with pytest.raises(ValueError, match="one place"):
        put("none", "soak", "new")
    for mark in ("soak", "faults"):
        put(PAGE.read_text(), mark, "x")
