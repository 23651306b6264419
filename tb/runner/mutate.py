# SPDX-License-Identifier: Apache-2.0
"""Mutation testing of the design (docs/mutation.md): many mutants in one netlist, each run against
a ladder of tests until one fails; proofs of equivalence for those that no test kills.
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tb.runner import mutate_netlist as netlist
from tb.runner.builds import BuildConfig, get_build, load_builds
from tb.runner.common import ROOT, SIM_BUILD, RunnerError, cpu_count, locked, relative
from tb.runner.discover import find_modules
from tb.runner.mutate_ladder import (
    EQUIVALENT,
    KILLED,
    Fate,
    Ladder,
    Plan,
    Proof,
    Step,
    climb,
    load_plan,
    make_steps,
)
from tb.runner.mutate_netlist import Mutation
from tb.runner.mutate_prove import Prover
from tb.runner.mutate_report import read_fates, report, write_fate, write_report
from tb.runner.mutate_sim import Host, NetlistBuild, Run, build_netlist, netlist_build

FOLDER = SIM_BUILD / "mutate"
OUT = SIM_BUILD / "mutation.json"

#: Processor time of the tests without a mutant; a mutant may take this many times as long as that.
_BASELINE_S, _FACTOR, _LEAST_S = 120.0, 5.0, 3.0
_NO_PATH = "no path to an output of any top level"


def _digest(files: Sequence[Path], *more: object) -> str:
    digest = hashlib.sha256(repr(more).encode())
    for path in files:
        digest.update(f"\n{relative(path)}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def design_key(plan: Plan, tops: Mapping[str, BuildConfig]) -> str:
    """Changes with the netlist."""
    files = sorted((ROOT / "hdl").glob("*.v")) + sorted((ROOT / "hdl").glob("*.vh"))
    return _digest([*files, Path(netlist.__file__)], plan.designs, sorted(tops.items()))


def bench_key(plan: Plan) -> str:
    """Changes with the ladder, the tests and what they use."""
    files = [p for place in ("tb", "models") for p in sorted((ROOT / place).rglob("*.py"))]
    files = [p for p in files if not {"unit", "runner", "bench"} & set(p.parts)]
    return _digest([*files, *sorted((ROOT / "tb" / "hdl").glob("*.v"))], plan.rungs, plan.without)


class Campaign:
    """The mutants of one seed and count."""

    def __init__(self, count: int, seed: int, module: str, seconds: float) -> None:
        self.plan = load_plan()
        self.modules = find_modules()
        self.steps = make_steps(self.plan, self.modules)
        builds = load_builds()
        self.tops = {d.top: get_build(builds, d.build, "verilator") for d in self.plan.designs}
        self.count, self.seed, self.module = count, seed, module
        suffix = f"_{module}".replace("*", "+") if module else ""
        self.folder = FOLDER / f"{seed}_{count}{suffix}"
        self.results = FOLDER / f"{seed}_{count}{suffix}.jsonl"
        self.seconds = seconds
        self.fates: dict[int, Fate] = {}
        self.mutations: list[Mutation] = []
        self.reaching: dict[str, set[int]] = {}
        self.cost: dict[Step, float] = {}
        self.hit: dict[Step, int] = {}
        self.hosts: dict[str, Host] = {}

    # -- the netlist and its simulators --

    def prepare(self, jobs: int) -> dict[str, NetlistBuild]:
        """Mutants, netlist, simulators; earlier results that still hold."""
        start = time.monotonic()
        stamp = self.folder / "design.key"
        key = design_key(self.plan, self.tops)
        if not stamp.is_file() or stamp.read_text() != key:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.results.unlink(missing_ok=True)
        cells = netlist.elaborate(self.tops, self.folder)
        self.mutations = netlist.choose(cells, self.count, self.seed, self.module, self.folder)
        netlist.plant(self.mutations, self.folder)
        netlist.write_wrappers(self.tops, self.folder)
        self.reaching = netlist.reaching(self.tops, len(self.mutations), self.folder)
        stamp.write_text(key)
        print(
            f"{len(self.mutations)} mutant(s) in {len(cells)} elaborated modules, "
            f"{time.monotonic() - start:.0f} s",
            flush=True,
        )
        found = {}
        for top, config in self.tops.items():
            start = time.monotonic()
            found[top] = netlist_build(config, top, self.folder)
            build_netlist(found[top], jobs)
            print(f"build of the netlist of {top}: {time.monotonic() - start:.0f} s", flush=True)
        return found

    def start_hosts(self, builds: Mapping[str, NetlistBuild], stack: ExitStack) -> None:
        for top, config in builds.items():
            tests = {step.test.rpartition(".")[0] for step in self.steps if step.top == top}
            host = Host(config, sorted(tests), self.folder / f"work-{top}")
            self.hosts[top] = stack.enter_context(host)

    def baseline(self, jobs: int) -> None:
        """Every step must pass without a mutant: otherwise a failure would say nothing. What
        passed in an earlier run with the same netlist and bench is known.
        """
        start = time.monotonic()
        stored, key = self.folder / "baseline.json", bench_key(self.plan)
        if stored.is_file():
            data = json.loads(stored.read_text())
            known = {(s.top, s.test, s.seed): s for s in self.steps}
            for top, test, seed, cost, hit in data["cost"] if data["key"] == key else ():
                if step := known.get((top, test, seed)):
                    self.cost[step], self.hit[step] = cost, int(hit, 16)
        todo = [step for step in self.steps if step not in self.cost]
        bad = []
        with ThreadPoolExecutor(max_workers=jobs) as pool:
            for step, answer in zip(
                todo,
                pool.map(
                    lambda s: self.hosts[s.top].run(Run(0, s.test, s.seed, _BASELINE_S)),
                    todo,
                ),
                strict=True,
            ):
                if answer.passed:
                    self.cost[step], self.hit[step] = answer.seconds, answer.hit
                else:
                    bad.append(f"{step.top}: {step.name}: {answer.message}")
        cost = [[s.top, s.test, s.seed, c, f"{self.hit[s]:x}"] for s, c in self.cost.items()]
        stored.write_text(json.dumps({"key": key, "cost": cost}))
        if bad:
            listed = "\n  ".join(bad)
            raise RunnerError(
                f"{len(bad)} of {len(self.steps)} runs fail without a mutant; correct them, or "
                f"name them in tb/mutate.yaml under `without`:\n  {listed}"
            )
        print(
            f"ladder: {len(self.steps)} runs pass without a mutant, {sum(self.cost.values()):.0f} "
            f"s of processor time, {time.monotonic() - start:.0f} s",
            flush=True,
        )

    # -- the mutants --

    def restore(self) -> None:
        """Results of an interrupted or earlier run that still hold: what was killed or proved; for
        the rest only if the tests are the same.
        """
        bench = bench_key(self.plan)
        by_key = {m.key: number for number, m in enumerate(self.mutations, 1)}
        for fate, key in read_fates(self.results):
            number = by_key.get(fate.mutation.key)
            if number and (fate.status in (KILLED, EQUIVALENT) or key == bench):
                self.fates[number] = fate
        with self.results.open("w") as out:
            for fate in self.fates.values():
                write_fate(out, fate, bench)

    def attempt(self, number: int, ladder: Ladder, prover: Prover) -> Fate:
        mutation = self.mutations[number - 1]
        tops = [top for top, alive in self.reaching.items() if number in alive]
        start = time.monotonic()

        def run(step: Step) -> tuple[bool, str]:
            limit = max(_FACTOR * self.cost[step], _LEAST_S)
            answer = self.hosts[step.top].run(Run(number, step.test, step.seed, limit))
            return answer.passed, answer.message

        def prove(mutation: Mutation) -> Proof:
            if not tops:
                return Proof(EQUIVALENT, _NO_PATH)
            return prover(mutation, f"m{number}")

        steps = [s for s in self.steps if s.top in tops and self.hit[s] >> number & 1]
        fate = climb(mutation, steps, ladder, run, prove)
        fate.seconds = round(time.monotonic() - start, 2)
        return fate

    def run(self, jobs: int) -> None:
        """All mutants, in parallel; fills ``fates``."""
        rest = 1 + next(n for n, rung in enumerate(self.plan.rungs) if not rung.tests)
        ladder = Ladder(self.cost, rest)
        prover = Prover(self.folder / "base.il", self.folder / "prove", self.seconds)
        todo = [n for n in range(1, len(self.mutations) + 1) if n not in self.fates]
        # A run that is cut short has mutants of all modules.
        random.Random(self.seed).shuffle(todo)
        if self.fates:
            print(f"{len(self.fates)} result(s) of an earlier run hold", flush=True)
        bench = bench_key(self.plan)
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[state]}"),
            TimeRemainingColumn(),
        )
        pool = ThreadPoolExecutor(max_workers=jobs)
        try:
            with Progress(*columns) as progress, self.results.open("a") as out:
                task = progress.add_task(
                    "mutants", total=len(self.mutations), completed=len(self.fates), state=""
                )
                waiting = {pool.submit(self.attempt, n, ladder, prover): n for n in todo}
                for future in as_completed(waiting):
                    fate = self.fates[waiting[future]] = future.result()
                    write_fate(out, fate, bench)
                    killed = sum(f.status == KILLED for f in self.fates.values())
                    progress.update(task, advance=1, state=f"{killed} killed")
                    if fate.status not in (KILLED, EQUIVALENT):
                        m = fate.mutation
                        progress.console.print(
                            f"{len(self.fates)}: {fate.status}: {m.line}: {m.what}; {fate.by}",
                            markup=False,
                            highlight=False,
                            soft_wrap=True,
                        )
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        pool.shutdown()


def run_mutate(
    count: int, seed: int, module: str, jobs: int | None = None, seconds: float = 60.0
) -> int:
    """Returns the number of mutants that survived, stayed undecided or were not run."""
    jobs = jobs or cpu_count()
    OUT.unlink(missing_ok=True)
    campaign = Campaign(count, seed, module, seconds)
    start = time.monotonic()
    with locked(FOLDER), ExitStack() as stack:
        builds = campaign.prepare(jobs)
        campaign.restore()
        if len(campaign.fates) < len(campaign.mutations):
            campaign.start_hosts(builds, stack)
            campaign.baseline(jobs)
        try:
            campaign.run(jobs)
        except KeyboardInterrupt:
            print("interrupted; the same command goes on from here", flush=True)
    fates = [campaign.fates[n] for n in sorted(campaign.fates)]
    missing = len(campaign.mutations) - len(fates)
    print(report(fates), flush=True)
    options = {"seed": seed, "count": count, "module": module, "not_run": missing}
    write_report(fates, OUT, options)
    left = missing + sum(fate.status not in (KILLED, EQUIVALENT) for fate in fates)
    if missing:
        print(f"{missing} mutant(s) not run")
    print(f"{time.monotonic() - start:.0f} s; written to {relative(OUT)}", flush=True)
    return left
