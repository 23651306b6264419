# SPDX-License-Identifier: Apache-2.0
"""Results of mutants: the file that an interrupted run goes on from, the table, mutation.json."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from models.tests.broken import arm, cq, host, keys, post, receive
from tb.runner.mutate_ladder import EQUIVALENT, KILLED, STATES, SURVIVED, UNDECIDED, Fate, summary
from tb.runner.mutate_netlist import Mutation
from tb.runner.regress import table


def write_fate(out: TextIO, number: int, fate: Fate, tests: str) -> None:
    """One line; ``tests`` tells which tests there were."""
    out.write(json.dumps({"number": number, "tests": tests, "fate": asdict(fate)}) + "\n")
    out.flush()


def read_fates(path: Path) -> Iterator[tuple[int, Fate, str]]:
    """Each result. A last line that was cut short is left out."""
    for line in path.read_text().splitlines() if path.is_file() else ():
        try:
            data = json.loads(line)
        except json.JSONDecodeError:
            continue
        mutation = data["fate"].pop("mutation")
        mutation["src"] = tuple(mutation["src"])
        yield data["number"], Fate(Mutation(**mutation), **data["fate"]), data["tests"]


def _rate(count: Mapping[str, int]) -> str:
    """Killed, of those that are not known to be equivalent."""
    whole = sum(count.values()) - count.get(EQUIVALENT, 0)
    return f"{100 * count.get(KILLED, 0) / whole:.1f} %" if whole else "-"


def _by_module(fates: Sequence[Fate]) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for fate in fates:
        found.setdefault(fate.mutation.source_module, Counter())[fate.status] += 1
    return dict(sorted(found.items()))


def report(fates: Sequence[Fate]) -> str:
    """Kill rate by module, then each mutant that is neither killed nor equivalent."""
    whole = Counter(fate.status for fate in fates)
    rows = [
        (name, str(sum(count.values())), *(str(count[s]) for s in STATES), _rate(count))
        for name, count in {**_by_module(fates), "all": whole}.items()
    ]
    lines = [table(("module", "mutants", *STATES, "kill rate"), rows, right=range(1, 7)), ""]
    killers = Counter(fate.by.split()[0] for fate in fates if fate.status == KILLED)
    lines.append("killed by: " + ", ".join(f"{t} {n}" for t, n in killers.most_common(10)))
    proofs = Counter(fate.by for fate in fates if fate.status == EQUIVALENT)
    lines.append("equivalent by: " + ", ".join(f"{how} {n}" for how, n in proofs.most_common()))
    for state in (SURVIVED, UNDECIDED):
        for fate in (fate for fate in fates if fate.status == state):
            m = fate.mutation
            lines += ["", f"{state}: {m.source_module} {m.line}", f"  {m.what}", f"  {fate.by}"]
    rules = sum(len(subject.BROKEN) for subject in (arm, cq, host, keys, post, receive))
    spent = sum((Counter(fate.seconds) for fate in fates), Counter[str]())
    numbers = ", ".join(f"{n} {s}" for s, n in summary(fates).items() if s != "total")
    lines += [
        *("", f"rules of the model: {rules}; `make model` takes each one out in turn"),
        "processor time: " + ", ".join(f"{what} {s:.0f} s" for what, s in spent.items()),
        *("", f"mutants: {len(fates)}: {numbers}; kill rate {_rate(whole)}"),
    ]
    return "\n".join(lines)


def _entries(fates: Sequence[Fate], status: str) -> list[dict[str, Any]]:
    return [
        {
            "module": fate.mutation.source_module,
            "source": fate.mutation.line,
            "mutation": fate.mutation.what,
            "command": fate.mutation.command(),
            "by": fate.by,
        }
        for fate in fates
        if fate.status == status
    ]


def write_report(fates: Sequence[Fate], path: Path, options: Mapping[str, Any]) -> None:
    """sim_build/mutation.json."""
    data = {
        **summary(fates),
        **options,
        "seconds": sum((Counter(fate.seconds) for fate in fates), Counter[str]()),
        "modules": _by_module(fates),
        "survivors": _entries(fates, SURVIVED),
        "undecided_mutants": _entries(fates, UNDECIDED),
        "equivalent_mutants": _entries(fates, EQUIVALENT),
    }
    path.write_text(json.dumps(data, indent=1) + "\n")
