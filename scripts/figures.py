# SPDX-License-Identifier: Apache-2.0
"""Writes the figures of the README, docs/proven.md and docs/soak_and_faults.md from what commands
left in sim_build/: make test, formal, tours, mutate, coverage, faults, soak, synth.

Run ``make figures`` after them. Each table stands between marks ``<!-- name -->`` and
``<!-- end -->``; one whose command left nothing, or results of a part only, stays as it is.
"""

from __future__ import annotations

import itertools
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from scripts.synth.__main__ import METRICS, MODULES
from tb.runner import faults, proofs, soak
from tb.runner.discover import find_modules

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
BUILD = ROOT / "sim_build"
#: Columns of a line of Markdown.
WIDTH = 120


def _pieces(cell: str) -> list[str]:
    """What may stand on a line of its own: words, spans of code and links as a whole."""
    return re.findall(r"(?:`[^`]*`|!?\[[^]]*\]\([^)]*\)|\S)+", cell)


def _fill(cell: str, width: int) -> list[str]:
    """The cell in lines of at most ``width`` characters, where its pieces allow."""
    lines = [""]
    for piece in _pieces(cell):
        longer = f"{lines[-1]} {piece}".strip()
        if lines[-1] and len(longer) > width:
            lines.append(piece)
        else:
            lines[-1] = longer
    return lines


def _narrowest(cell: str, count: int) -> list[str]:
    """The cell in at most ``count`` lines that are as short as possible."""
    return next(
        lines for width in range(1, len(cell) + 2) if len(lines := _fill(cell, width)) <= count
    )


def wrapped(cells: Sequence[str], width: int = WIDTH) -> list[str]:
    """A row of a table in lines of at most ``width`` columns, if its pieces allow: a line whose
    first cell is empty goes on with the row above it (the site joins them). The first cell is
    never broken.
    """
    most = max(len(_pieces(cell)) for cell in cells) or 1
    for count in range(1, most + 1):
        columns = [[cells[0]], *(_narrowest(cell, count) for cell in cells[1:])]
        if sum(max(map(len, column)) + 3 for column in columns) < width:
            break
    rows = itertools.zip_longest(*columns, fillvalue="")
    return [re.sub(r"\|  (?=\|)", "| ", f"| {' | '.join(row)} |") for row in rows]


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; cells are escaped."""
    lines = [wrapped([cell.replace("|", "\\|") for cell in row]) for row in rows]
    top = [f"| {' | '.join(header)} |", f"| {' | '.join(['---'] * len(header))} |"]
    return "\n".join([*top, *(line for row in lines for line in row)])


def soak_table(data: dict[str, Any]) -> str:
    """Result of a soak, from the content of soak.json."""
    text = (
        f"Measured: {data['completions']:,} completions, {data['mismatches']} mismatches, "
        f"{len(data['chunks'])} chunks, {data['completions_per_s']:,.0f} completions/s of wall "
        f"time,\n{data['records']:,} records judged (seed {data['seed']}).\n\n"
    )
    rows = [(name, f"{count:,}") for name, count in data["builds"].items()]
    rows += [(name, f"{count:,}") for name, count in data["tests"].items()]
    return text + markdown(("build or test", "completions"), rows)


def faults_table(data: list[dict[str, Any]]) -> str:
    """Result of the faults, from the content of faults.json."""
    rows = [
        (
            "passed" if row["pass"] else "FAILED",
            row["fault"],
            row["expected containment"],
            row["observed"],
        )
        for row in data
    ]
    return markdown(("result", "fault", "expected containment", "observed"), rows)


def formal_table(data: list[dict[str, Any]]) -> str:
    """Each proof with its status, from formal.json."""
    states = Counter(row["status"] for row in data)
    text = ", ".join(f"{count} {status}" for status, count in states.items())
    rows = [
        (
            f"`{row['property']}`",
            f"`{row['module']}`".replace(", ", "`, `"),
            ", ".join(row["requirements"]),
            row["status"],
            str(len(row["assertions"])),
            f"{sum(not p['problem'] for p in row['planted'])} of {len(row['planted'])}"
            if row["planted"]
            else "-"
            if row["mode"] == "cover"
            else "not run",
            ", ".join(f"{k} {v}" for k, v in row["parameters"].items()) or "as written",
        )
        for row in data
    ]
    header = ("proof", "of", "requirements", "status", "checks", "faults refuted", "parameters")
    return f"{len(data)} proofs: {text}.\n\n" + markdown(header, rows)


def tours_table(data: list[dict[str, Any]]) -> str:
    """Transitions driven and reachable of each graph, from tours.json."""
    reachable = sum(row["transitions_reachable"] for row in data)
    driven = sum(row["transitions_driven"] for row in data)
    text = f"{driven:,} of {reachable:,} transitions of {len(data)} graphs driven.\n\n"
    rows = [
        (
            row["graph"],
            f"{row['states']:,}",
            f"{row['transitions_reachable']:,}",
            f"{row['transitions_driven']:,}",
            f"{row['percent']:g} %",
        )
        for row in data
    ]
    return text + markdown(("graph", "states", "reachable", "driven", ""), rows)


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def mutation_table(data: dict[str, Any]) -> str:
    """Kill rate by module, from mutation.json; of what is not proved equivalent."""
    states = ("killed", "equivalent", "undecided", "survived")
    rows = []
    for name, count in [*data["modules"].items(), ("all", data)]:
        numbers = [int(count.get(state, 0)) for state in states]
        real = sum(numbers) - numbers[1]
        rows.append(
            (name, str(sum(numbers)), *map(str, numbers), _percent(numbers[0], real)),
        )
    text = f"Seed {data['seed']}, {data['total']:,} mutants.\n\n"
    return text + markdown(("module", "mutants", *states, "kill rate"), rows)


def code_table(data: dict[str, Any]) -> str:
    """Points of code coverage by kind, from code_coverage.json."""
    rows = []
    for kind in ("line", "branch"):
        total: Counter[str] = Counter()
        for counts in data["counts"].values():
            total.update(counts.get(kind, {}))
        whole = sum(total.values())
        numbers = [f"{total[state]:,}" for state in ("hit", "waived", "missing")]
        rows.append((kind, f"{whole:,}", *numbers))
    return markdown(("kind", "points", "hit", "waived", "missing"), rows)


def requirement_table(data: dict[str, Any]) -> str:
    """What stands for each requirement, from traceability.json."""
    rows = []
    for name, own in data["requirements"].items():
        passed = sum(runs[0] for runs in own["tests"].values())
        runs = sum(runs[1] for runs in own["tests"].values())
        goals: dict[str, list[str]] = {}
        for proof, goal in own["proofs"].items():
            goals.setdefault(goal, []).append(f"`{proof}`")
        proofs = "; ".join(f"{goal}: {', '.join(names)}" for goal, names in goals.items())
        rows.append(
            (
                name,
                proofs or "none",
                str(len(own["tests"])),
                f"{passed} of {runs}",
                str(len(own["bins"])),
                str(len(own["faults"])),
            )
        )
    header = ("requirement", "proofs", "tests", "runs passed", "bins", "planted faults")
    return markdown(header, rows)


def synth_table(data: dict[str, Any]) -> str:
    """Routed clock and area of the two top levels, from synth.json; the larger one may not fit."""
    rows = []
    for name, top in (("cde_cpl_top", "completion core"), ("cde_top", "whole engine")):
        if own := data["rows"].get(name):
            area = own["area"]
            sizes = [f"{area[kind]:,}" for kind in ("lut4", "ff", "block_ram", "distributed_ram")]
            seeds = len(own["mhz"])
            of = "1 seed" if seeds == 1 else f"median of {seeds} seeds"
            clock = f"{own['median_mhz']:g} MHz, {of}" if seeds else "not placed: too large"
            rows.append((f"{top}, `{name}`", clock, *sizes))
    header = ("design", "clock", "LUT4", "FF", "block RAM", "distributed RAM")
    return markdown(header, rows)


def module_table(data: dict[str, Any]) -> str:
    """Clock, area and what holds the clock of each module, from synth.json."""
    rows = []
    for name, own in data["rows"].items():
        if not own["mhz"]:
            continue
        seed = min(own["mhz"], key=own["mhz"].__getitem__)
        worst = own["paths"][seed]
        path = f"`{worst['start']}` to `{worst['end']}`, {worst['levels']} levels"
        area = own["area"]
        sizes = (f"{area[kind]:,}" for kind in ("lut4", "ff", "block_ram"))
        rows.append((f"`{name}`", f"{own['median_mhz']:g}", *sizes, path))
    return markdown(("module", "MHz", "LUT4", "FF", "block RAM", "longest path"), rows)


def area_table(section: str) -> Callable[[dict[str, Any]], str]:
    """Area of each row of a section that `make synth PRICES=1` wrote."""

    def table(data: dict[str, Any]) -> str:
        rows = data[section]
        kinds: dict[str, int] = next(iter(rows.values()), {})
        shown = [
            (name if "`" in name or " " in name else f"`{name}`", *(f"{n:,}" for n in row.values()))
            for name, row in rows.items()
        ]
        header = (
            kind.replace("_", " ").replace("lut", "LUT").replace("ff", "FF") for kind in kinds
        )
        return markdown(("", *header), shown)

    return table


#: Sections of synth.json that only PRICES=1 writes.
AREAS = ("prices", "parts", "ultrascale")


def _proved_all(data: list[dict[str, Any]]) -> bool:
    run = {row["property"] for row in data if row["status"] != "not run"}
    return run >= {proof.id for proof in proofs.load_proofs()}


def _shown_all(data: dict[str, Any]) -> bool:
    """A run that was broken off, or failed, shows some requirements by no test that has passed."""
    runs = [own["tests"].values() for own in data["requirements"].values()]
    return not data["gaps"] and all(any(passed for passed, _ in tests) for tests in runs)


def _all_faults(data: list[dict[str, Any]]) -> bool:
    return {row["id"] for row in data} >= {row.id for row in faults.load_rows(find_modules())}


#: mark -> (command that leaves whole results, whether these are whole)
WHOLE: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "formal": ("make formal", _proved_all),
    "mutation": ("make mutate", lambda data: not data["module"] and not data.get("not_run")),
    "code": ("make coverage", lambda data: data.get("whole", False)),
    "requirements": ("make test", _shown_all),
    "soak": ("make soak", lambda data: data["completions"] >= soak.DEFAULT_COMPLETIONS),
    "faults": ("make faults", _all_faults),
    "modules": ("make synth", lambda data: data.get("rows", {}).keys() >= {*MODULES, *METRICS}),
    "synth": ("make synth", lambda data: data.get("rows", {}).keys() >= METRICS.keys()),
}
#: page -> mark -> (file that a command left, table made of it)
PAGES: dict[str, dict[str, tuple[str, Callable[[Any], str]]]] = {
    "proven.md": {
        "formal": ("formal.json", formal_table),
        "tours": ("tours.json", tours_table),
        "mutation": ("mutation.json", mutation_table),
        "code": ("code_coverage.json", code_table),
        "requirements": ("traceability.json", requirement_table),
    },
    "soak_and_faults.md": {
        "soak": ("soak.json", soak_table),
        "faults": ("faults.json", faults_table),
    },
    "speed.md": {
        "modules": ("synth.json", module_table),
        **{name: ("synth.json", area_table(name)) for name in AREAS},
    },
    "../README.md": {"synth": ("synth.json", synth_table)},
}


def put(page: str, mark: str, table: str) -> str:
    """The page with the text between the marks replaced."""
    pattern = rf"(<!-- {mark} -->\n).*?(<!-- end -->)"
    found, count = re.subn(pattern, lambda m: f"{m[1]}{table}\n{m[2]}", page, flags=re.S)
    if count != 1:
        raise ValueError(f"the page must have one place for {mark}")
    return found


def main() -> int:
    for name, tables in PAGES.items():
        page = (DOCS / name).read_text()
        for mark, (file, make) in tables.items():
            path = BUILD / file
            data = json.loads(path.read_text()) if path.is_file() else {}
            command, whole = WHOLE.get(mark, ("", bool))
            if not data or (mark in AREAS and mark not in data):
                problem = f"no {path.relative_to(ROOT)}" + (f" of {mark}" if data else "")
            elif not whole(data):
                problem = f"{path.relative_to(ROOT)} is of a part only; {command} makes it whole"
            else:
                page, problem = put(page, mark, make(data)), ""
            if problem:
                print(f"{name}: {mark} stays as it is: {problem}", file=sys.stderr)
        (DOCS / name).write_text(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
