# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of docs/soak_and_faults.md from what `make soak` and `make faults` left.

Run ``python -m scripts.campaign_tables`` after them. The tables stand between marks
``<!-- soak -->`` ... ``<!-- end -->`` and ``<!-- faults -->`` ... ``<!-- end -->``.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "soak_and_faults.md"
BUILD = ROOT / "sim_build"


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; cells are escaped."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
    )


def soak_table(data: dict[str, Any]) -> str:
    """Result of a soak, from the content of soak.json."""
    text = (
        f"Measured: {data['completions']:,} completions, {data['mismatches']} mismatches, "
        f"{len(data['chunks'])} chunks, {data['completions_per_s']:,.0f} completions/s of wall "
        f"time, {data['records']:,} records judged (seed {data['seed']}).\n\n"
    )
    rows = [(name, f"{count:,}") for name, count in data["builds"].items()]
    rows += [(name, f"{count:,}") for name, count in data["tests"].items()]
    return text + markdown(("build or test", "completions"), rows)


def faults_table(data: list[dict[str, Any]]) -> str:
    """Result of the faults, from the content of faults.json."""
    rows = [
        (
            row["fault"],
            row["expected containment"],
            row["observed"],
            "passed" if row["pass"] else "FAILED",
        )
        for row in data
    ]
    return markdown(("fault", "expected containment", "observed", "result"), rows)


def put(page: str, mark: str, table: str) -> str:
    """The page with the text between the marks replaced."""
    pattern = rf"(<!-- {mark} -->\n).*?(<!-- end -->)"
    found, count = re.subn(pattern, lambda m: f"{m[1]}{table}\n{m[2]}", page, flags=re.S)
    if count != 1:
        raise ValueError(f"the page must have one place for {mark}")
    return found


def main() -> int:
    page = PAGE.read_text()
    for mark, make in (("soak", soak_table), ("faults", faults_table)):
        path = BUILD / f"{mark}.json"
        if path.is_file():
            page = put(page, mark, make(json.loads(path.read_text())))
        else:
            print(f"no {path.relative_to(ROOT)}: run make {mark}", file=sys.stderr)
    PAGE.write_text(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
