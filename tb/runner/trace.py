# SPDX-License-Identifier: Apache-2.0
"""Traceability of a whole regression, both ways: requirements to tests, bins, planted faults and
proofs, and each of these back to requirements; and that every bin of functional coverage was hit.

From the results of a run and what the repository has: docs/testplan.yaml, planted faults,
formal/*/proofs.yaml. Every gap fails.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tb.env.coverage.bins import BINS
from tb.runner.common import SIM_BUILD, relative, write_whole
from tb.runner.discover import Module, all_tests
from tb.runner.negatives import Fault, load_faults
from tb.runner.proofs import Proof, load_proofs
from tb.runner.testplan import SCOPE, Row, find_gaps, load_plan

Results = Mapping[str, Sequence[bool]]


def trace_gaps(
    rows: Sequence[Row],
    results: Results,
    hits: Mapping[str, int],
    faults: Sequence[Fault],
    proofs: Sequence[Proof] = (),
    bins: Mapping[str, Sequence[str]] = BINS,
    scope: Iterable[str] = SCOPE,
    *,
    every_test: bool = True,
    complete: bool = True,
) -> list[str]:
    """What a run of the regression leaves open, in sentences. Without ``every_test``: of a tier
    that leaves out tests; without ``complete``: of one that need not show every requirement.
    """
    scope = list(scope)
    # A test that ran and failed makes the regression fail; here a requirement must be shown.
    passed = {test for test, runs in results.items() if runs and all(runs)}
    shown = {name for row in rows if passed & {*row.tests} for name in row.requirements}
    lost = {test for test, runs in results.items() if not all(runs)}
    gaps = [
        f"requirement {name}: no test of its rows has passed"
        for name in scope
        if complete and name not in shown
    ]
    gaps += [
        f"row {row.id}: {test} has not passed"
        for row in rows
        for test in row.tests
        if test in lost or (every_test and test not in passed)
    ]
    gaps += [f"bin {name!r} was not hit" for name in bins if complete and not hits.get(name)]
    named = {f"bin {name!r}": own for name, own in bins.items()}
    named |= {f"fault {fault.id}": fault.requirements for fault in faults}
    named |= {f"proof {proof.id}": proof.requirements for proof in proofs}
    for what, own in named.items():
        gaps += [] if own else [f"{what} names no requirement"]
        gaps += [f"{what}: no such requirement: {name}" for name in own if name not in scope]
    return gaps


def matrix(
    rows: Sequence[Row],
    results: Results,
    hits: Mapping[str, int],
    faults: Sequence[Fault],
    proofs: Sequence[Proof],
) -> dict[str, object]:
    """Requirement to rows, tests (runs passed, runs), bins (hits), faults, proofs (what a pass
    says); and each one back.
    """
    forward: dict[str, object] = {}
    backward: dict[str, set[str]] = {}
    for name in SCOPE:
        own = [row for row in rows if name in row.requirements]
        tests = dict.fromkeys(test for row in own for test in row.tests)
        for test in tests:
            backward.setdefault(test, set()).add(name)
        forward[name] = {
            "rows": [row.id for row in own],
            "tests": {t: [sum(results.get(t, ())), len(results.get(t, ()))] for t in tests},
            "bins": {b: hits.get(b, 0) for b, named in BINS.items() if name in named},
            "faults": [fault.id for fault in faults if name in fault.requirements],
            "proofs": {proof.id: proof.goal for proof in proofs if name in proof.requirements},
        }
    return {
        "requirements": forward,
        "tests": {test: sorted(names) for test, names in sorted(backward.items())},
        "bins": {name: list(named) for name, named in BINS.items()},
        "faults": {fault.id: list(fault.requirements) for fault in faults},
        "proofs": {proof.id: list(proof.requirements) for proof in proofs},
    }


def run_trace(
    results: Results,
    hits: Mapping[str, int],
    modules: Sequence[Module],
    *,
    every_test: bool,
    complete: bool,
    folder: Path = SIM_BUILD,
) -> tuple[str, list[str]]:
    """Writes traceability.json; returns one line on it, and the gaps. ``results``: outcome of each
    run of each test; ``hits``: of each bin.
    """
    rows, faults, proofs = load_plan(), load_faults(), load_proofs()
    tests = all_tests(modules)
    gaps = find_gaps(rows, tests)
    gaps += trace_gaps(
        rows, results, hits, faults, proofs, every_test=every_test, complete=complete
    )
    out = folder / "traceability.json"
    data = {"gaps": gaps, **matrix(rows, results, hits, faults, proofs)}
    write_whole(out, json.dumps(data, indent=1) + "\n")
    text = (
        f"traceability: {len(SCOPE)} requirements, {len(tests)} tests, "
        f"{sum(hits.get(name, 0) > 0 for name in BINS)} of {len(BINS)} bins hit, "
        f"{len(faults)} planted faults, {len(proofs)} proofs: {len(gaps)} gap(s); {relative(out)}"
    )
    return text, gaps
