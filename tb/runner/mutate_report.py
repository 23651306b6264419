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
from tb.runner.mutate_ladder import EQUIVALENT, KILLED, SPENT, SURVIVED, UNDECIDED, Fate, summary
from tb.runner.mutate_netlist import Mutation
from tb.runner.regress import table


def write_fate(out: TextIO, fate: Fate, key: str) -> None:
    """One line; ``key`` tells which bench it was."""
    out.write(json.dumps({**asdict(fate), "key": key}) + "\n")
    out.flush()


def read_fates(path: Path) -> Iterator[tuple[Fate, str]]:
    """Each result and its key. A last line that was cut short is left out."""
    if not path.is_file():
        return
    for line in path.read_text().splitlines():
        try:
            data = json.loads(line)
        except json.JSONDecodeError:
            continue
        key = data.pop("key")
        mutation = data.pop("mutation")
        mutation["src"] = tuple(mutation["src"])
        if data.get("proof"):
            data["proof"] = tuple(data["proof"])
        yield Fate(Mutation(**mutation), **data), key


def _rate(count: Mapping[str, int]) -> str:
    """Killed, of those that are not known to be equivalent."""
    whole = sum(count.values()) - count.get(EQUIVALENT, 0)
    return f"{100 * count.get(KILLED, 0) / whole:.1f} %" if whole else "-"


def report(fates: Sequence[Fate]) -> str:
    """Kill rate by module, then each mutant that is neither killed nor equivalent."""
    states = (KILLED, EQUIVALENT, UNDECIDED, SURVIVED)
    by_module: dict[str, Counter[str]] = {}
    for fate in fates:
        by_module.setdefault(fate.mutation.source_module, Counter())[fate.status] += 1
    by_module = dict(sorted(by_module.items()))
    by_module["all"] = sum(by_module.values(), Counter())
    rows = [
        (name, str(sum(count.values())), *(str(count[s]) for s in states), _rate(count))
        for name, count in by_module.items()
    ]
    text = table(("module", "mutants", *states, "kill rate"), rows, right=range(1, 7))
    killers = Counter(fate.by.split()[0] for fate in fates if fate.status == KILLED)
    if killers:
        text += "\n\nkilled by: " + ", ".join(f"{t} {n}" for t, n in killers.most_common(10))
    proofs = Counter(fate.by for fate in fates if fate.status == EQUIVALENT)
    if proofs:
        text += "\nequivalent by: " + ", ".join(f"{how} {n}" for how, n in proofs.most_common())
    for state in (SURVIVED, UNDECIDED):
        for fate in fates:
            if fate.status == state:
                m = fate.mutation
                text += f"\n\n{state}: {m.source_module} {m.line}\n  {m.what}\n  {fate.by}"
    rules = sum(len(subject.BROKEN) for subject in (arm, cq, host, keys, post, receive))
    text += f"\n\nrules of the model: {rules}; `make model` takes each one out in turn"
    rate = _rate(by_module["all"])
    spent: Counter[str] = Counter()
    for fate in fates:
        spent.update(fate.seconds)
    text += "\nprocessor time: " + ", ".join(f"{what} {s:.0f} s" for what, s in spent.items())
    numbers = ", ".join(f"{n} {s}" for s, n in summary(fates).items() if s != "total")
    return f"{text}\n\nmutants: {len(fates)}: {numbers}; kill rate {rate}"


def _entry(fate: Fate) -> dict[str, Any]:
    m = fate.mutation
    return {
        "module": m.source_module,
        "source": m.line,
        "mutation": m.what,
        "command": m.command(None, 0),
        "by": fate.by,
    }


def write_report(fates: Sequence[Fate], path: Path, options: Mapping[str, Any]) -> None:
    """sim_build/mutation.json."""
    modules: dict[str, Counter[str]] = {}
    for fate in fates:
        modules.setdefault(fate.mutation.source_module, Counter())[fate.status] += 1
    data = {
        **summary(fates),
        **options,
        "seconds": {what: sum(f.seconds.get(what, 0.0) for f in fates) for what in SPENT},
        "modules": {name: dict(count) for name, count in sorted(modules.items())},
        "survivors": [_entry(f) for f in fates if f.status == SURVIVED],
        "undecided_mutants": [_entry(f) for f in fates if f.status == UNDECIDED],
        "equivalent_mutants": [_entry(f) for f in fates if f.status == EQUIVALENT],
    }
    path.write_text(json.dumps(data, indent=1) + "\n")
