# SPDX-License-Identifier: Apache-2.0
"""Results of mutants: the file that an interrupted run goes on from, the table, mutation.json."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from tb.runner.mutate_netlist import Mutation
from tb.runner.mutate_plan import EQUIVALENT, KILLED, STATES, SURVIVED, UNDECIDED, Fate
from tb.runner.regress import table

Results = Sequence[tuple[Mutation, Fate]]


def write_fate(out: TextIO, number: int, fate: Fate, tests: str) -> None:
    """One line; ``tests`` tells which tests there were."""
    out.write(json.dumps({"number": number, "tests": tests, **asdict(fate)}) + "\n")
    out.flush()


def read_fates(path: Path) -> Iterator[tuple[int, Fate, str]]:
    """Each result. A last line that was cut short is left out."""
    for line in path.read_text().splitlines() if path.is_file() else ():
        try:
            data = json.loads(line)
        except json.JSONDecodeError:
            continue
        number, tests = data.pop("number"), data.pop("tests")
        yield number, Fate(**data), tests


def _rate(count: Mapping[str, int]) -> str:
    """Killed, of those that are not known to be equivalent."""
    whole = sum(count.values()) - count.get(EQUIVALENT, 0)
    return f"{100 * count.get(KILLED, 0) / whole:.1f} %" if whole else "-"


def _by_module(results: Results) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for mutation, fate in results:
        found.setdefault(mutation.source_module, Counter())[fate.status] += 1
    return dict(sorted(found.items()))


def report(results: Results) -> str:
    """Kill rate by module, then each mutant that is neither killed nor equivalent."""
    whole = Counter(fate.status for _, fate in results)
    rows = [
        (name, str(sum(count.values())), *(str(count[s]) for s in STATES), _rate(count))
        for name, count in {**_by_module(results), "all": whole}.items()
    ]
    lines = [table(("module", "mutants", *STATES, "kill rate"), rows, right=range(1, 7))]
    for state in (SURVIVED, UNDECIDED):
        for m, fate in results:
            if fate.status == state:
                lines += ["", f"{state}: {m.source_module} {m.line}", f"  {m.what}", f"  {fate.by}"]
    numbers = ", ".join(f"{whole[state]} {state}" for state in STATES)
    lines += ["", f"mutants: {len(results)}: {numbers}; kill rate {_rate(whole)}"]
    return "\n".join(lines)


def _entries(results: Results, status: str) -> list[dict[str, Any]]:
    return [
        {
            "module": mutation.source_module,
            "source": mutation.line,
            "mutation": mutation.what,
            "command": mutation.command(),
            "by": fate.by,
        }
        for mutation, fate in results
        if fate.status == status
    ]


def write_report(results: Results, path: Path, options: Mapping[str, Any]) -> None:
    """sim_build/mutation.json."""
    whole = Counter(fate.status for _, fate in results)
    data = {
        "total": len(results),
        **{state: whole[state] for state in STATES},
        **options,
        "seconds": round(sum(fate.seconds for _, fate in results)),
        "modules": _by_module(results),
        "survivors": _entries(results, SURVIVED),
        "undecided_mutants": _entries(results, UNDECIDED),
        "equivalent_mutants": _entries(results, EQUIVALENT),
    }
    path.write_text(json.dumps(data, indent=1) + "\n")
