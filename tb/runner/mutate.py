# SPDX-License-Identifier: Apache-2.0
"""Mutation testing of the design (docs/mutation.md): many mutants in one netlist, each run against
a ladder of tests until one fails; proofs of equivalence for those that no test kills.
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import asdict
from functools import cache
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tb.runner import mutate_netlist as netlist
from tb.runner.builds import BuildConfig, get_build, load_builds
from tb.runner.common import ROOT, SIM_BUILD, cpu_count, locked, relative
from tb.runner.discover import find_modules
from tb.runner.mutate_ladder import (
    EQUIVALENT,
    KILLED,
    SURVIVED,
    UNDECIDED,
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
#: What is said of a mutant that a run which was cut short leaves behind.
OPEN = "passed the quick rungs; the rest has not been run"


def _digest(files: Sequence[Path], *more: object) -> str:
    digest = hashlib.sha256(repr(more).encode())
    for path in files:
        digest.update(f"\n{relative(path)}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def design_key(plan: Plan, tops: Mapping[str, BuildConfig]) -> str:
    """Changes with the netlist."""
    files = sorted((ROOT / "hdl").glob("*.v")) + sorted((ROOT / "hdl").glob("*.vh"))
    return _digest([*files, Path(netlist.__file__)], plan.designs, sorted(tops.items()))


@cache
def tests_key() -> str:
    """Changes with the tests and what they use."""
    files = [p for place in ("tb", "models") for p in sorted((ROOT / place).rglob("*.py"))]
    files = [p for p in files if not {"unit", "runner", "bench"} & set(p.parts)]
    return _digest([*files, *sorted((ROOT / "tb" / "hdl").glob("*.v"))])


def bench_key(plan: Plan) -> str:
    """Changes with the ladder as well."""
    return _digest([], tests_key(), plan.rungs, plan.without)


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
        self.baseline = self.folder / "baseline.jsonl"
        self.first: dict[Step, Future[bool]] = {}
        self.bad: dict[Step, str] = {}
        self.lock = threading.Lock()

    # -- the netlist and its simulators --

    def prepare(self, jobs: int) -> dict[str, NetlistBuild]:
        """Mutants, netlist, simulators; earlier results that still hold."""
        start = time.monotonic()
        stored = self.folder / "mutants.json"
        key = design_key(self.plan, self.tops)
        data = json.loads(stored.read_text()) if stored.is_file() else {}
        if data.get("key") != key:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.results.unlink(missing_ok=True)
            cells = netlist.elaborate(self.tops, self.folder)
            chosen = netlist.choose(cells, self.count, self.seed, self.module, self.folder)
            netlist.plant(chosen, self.folder)
            netlist.write_wrappers(self.tops, self.folder)
            alive = netlist.reaching(self.tops, len(chosen), self.folder)
            data = {
                "key": key,
                "modules": len(cells),
                "mutants": [asdict(m) for m in chosen],
                "reaching": {top: sorted(numbers) for top, numbers in alive.items()},
            }
            stored.write_text(json.dumps(data))
        self.mutations = [Mutation(**{**m, "src": tuple(m["src"])}) for m in data["mutants"]]
        self.reaching = {top: set(numbers) for top, numbers in data["reaching"].items()}
        print(
            f"{len(self.mutations)} mutant(s) in {data['modules']} elaborated modules, "
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

    def read_baseline(self) -> None:
        """Runs without a mutant that an earlier run with the same netlist and tests has made."""
        key = tests_key()
        lines = self.baseline.read_text().splitlines() if self.baseline.is_file() else []
        known = {(s.top, s.test, s.seed): s for s in self.steps}
        for line in lines:
            try:
                stored, top, test, seed, cost, hit = json.loads(line)
            except ValueError:  # cut short
                continue
            if stored == key and (step := known.get((top, test, seed))):
                self.cost[step], self.hit[step] = cost, int(hit, 16)

    def without_mutant(self, step: Step) -> bool:
        """Whether the step passes without a mutant (otherwise a failure would say nothing); runs
        it at the first call, which also tells its time and which mutants it can notice.
        """
        with self.lock:
            mine = step not in self.first
            first = self.first.setdefault(step, Future())
        if not mine:
            return first.result()
        try:
            if step not in self.cost:
                run = Run(0, step.test, step.seed, _BASELINE_S)
                answer = self.hosts[step.top].run(run)
                if answer.passed:
                    self.cost[step], self.hit[step] = answer.seconds, answer.hit
                    entry = (step.top, step.test, step.seed, answer.seconds, f"{answer.hit:x}")
                    with self.lock, self.baseline.open("a") as out:
                        out.write(json.dumps([tests_key(), *entry]) + "\n")
                else:
                    self.bad[step] = answer.message
            first.set_result(step not in self.bad)
        except BaseException as error:
            first.set_exception(error)
            raise
        return first.result()

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

    def attempt(self, number: int, ladder: Ladder, prover: Prover, quick: Fate | None) -> Fate:
        """Climbs the quick rungs (``quick``: None), or goes on from there with a proof and the
        slow rungs.
        """
        mutation = self.mutations[number - 1]
        tops = [top for top, alive in self.reaching.items() if number in alive]
        start = time.monotonic()

        def run(step: Step) -> tuple[bool, str] | None:
            if not self.without_mutant(step) or not self.hit[step] >> number & 1:
                return None
            limit = max(_FACTOR * self.cost[step], _LEAST_S)
            answer = self.hosts[step.top].run(Run(number, step.test, step.seed, limit))
            return answer.passed, answer.message

        def prove(mutation: Mutation) -> Proof:
            if not tops:
                return Proof(EQUIVALENT, _NO_PATH)
            if quick is None:
                return Proof(UNDECIDED, OPEN)
            return prover(mutation, f"m{number}")

        steps = [
            s for s in self.steps if s.top in tops and (s.rung < ladder.rest) == (quick is None)
        ]
        earlier = quick or Fate(mutation, SURVIVED)
        fate = climb(mutation, steps, ladder, run, prove, earlier.runs)
        fate.seconds = round(earlier.seconds + time.monotonic() - start, 2)
        return fate

    def run(self, jobs: int) -> None:
        """All mutants, in parallel; fills ``fates``. All climb the quick rungs before one climbs
        the slow ones: a run that is cut short says something of each mutant.
        """
        rest = next(n for n, rung in enumerate(self.plan.rungs) if not rung.tests)
        ladder = Ladder(self.cost, rest)
        prover = Prover(self.folder / "base.il", self.folder / "prove", self.seconds)
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
                for name, known in (("quick rungs", False), ("proofs, slow rungs", True)):
                    # A run that is cut short has mutants of all modules.
                    numbers = range(1, len(self.mutations) + 1)
                    todo = [n for n in numbers if self.is_open(n) and (n in self.fates) == known]
                    random.Random(self.seed).shuffle(todo)
                    waiting = {
                        pool.submit(self.attempt, n, ladder, prover, self.fates.get(n)): n
                        for n in todo
                    }
                    task = progress.add_task(name, total=len(waiting), state="")
                    for future in as_completed(waiting):
                        number = waiting[future]
                        fate = self.fates[number] = future.result()
                        write_fate(out, fate, bench)
                        killed = sum(f.status == KILLED for f in self.fates.values())
                        progress.update(task, advance=1, state=f"{killed} killed")
                        if not self.is_open(number) and fate.status not in (KILLED, EQUIVALENT):
                            m = fate.mutation
                            progress.console.print(
                                f"{fate.status}: {m.line}: {m.what}; {fate.by}",
                                markup=False,
                                highlight=False,
                                soft_wrap=True,
                            )
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        pool.shutdown()

    def is_open(self, number: int) -> bool:
        """Whether the mutant has not met the whole ladder."""
        fate = self.fates.get(number)
        return fate is None or fate.by.endswith(OPEN)


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
        if any(map(campaign.is_open, range(1, len(campaign.mutations) + 1))):
            campaign.start_hosts(builds, stack)
            campaign.read_baseline()
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
    print(
        f"without a mutant: {len(campaign.cost)} of the ladder's {len(campaign.steps)} runs pass, "
        f"{sum(campaign.cost.values()):.0f} s of processor time"
    )
    for step, message in campaign.bad.items():
        print(f"fails without a mutant, left out: {step.top}: {step.name}: {message}")
    left += len(campaign.bad)
    print(f"{time.monotonic() - start:.0f} s; written to {relative(OUT)}", flush=True)
    return left
