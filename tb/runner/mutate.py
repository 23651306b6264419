# SPDX-License-Identifier: Apache-2.0
"""Mutation testing of the design (docs/mutation.md): many mutants in one netlist, each run against
a ladder of short tests; then each test against all that are left; proofs of equivalence for those
that none kills.
"""

from __future__ import annotations

import json
import random
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tb.runner import mutate_local as local
from tb.runner import mutate_netlist as netlist
from tb.runner import mutate_wrap as wrap
from tb.runner.builds import BuildConfig, get_build, load_builds
from tb.runner.common import SIM_BUILD, cpu_count, digest, hdl_files, locked, relative
from tb.runner.discover import find_modules
from tb.runner.mutate_baseline import Baseline, T, in_parallel
from tb.runner.mutate_ladder import (
    EQUIVALENT,
    KILLED,
    UNDECIDED,
    Fate,
    Ladder,
    Limits,
    Means,
    Outcome,
    Plan,
    Proof,
    Step,
    climb,
    load_plan,
    make_steps,
)
from tb.runner.mutate_modules import SEEDS, ModuleBenches
from tb.runner.mutate_netlist import Mutation
from tb.runner.mutate_prove import Prover, outer_modules
from tb.runner.mutate_replay import Replay, Replayer, build_replay
from tb.runner.mutate_report import read_fates, report, write_fate, write_report
from tb.runner.mutate_rest import Means as RestMeans
from tb.runner.mutate_rest import Rest, Watcher, conclude
from tb.runner.mutate_sim import Host, Run, build_netlist, netlist_build

FOLDER = SIM_BUILD / "mutate"
OUT = SIM_BUILD / "mutation.json"

#: A mutant may take this many times as long as the test without it, at least so many seconds.
_FACTOR, _LEAST_S = 5.0, 3.0
#: Of the ladder. What it leaves meets all tests at once, which costs each less.
_LIMITS = Limits(tests_s=20.0, replays_s=4.0, proof_s=4.0)
_NO_PATH = "no path to an output of any top level"
_HERE = Path(__file__).parent
#: The netlist without mutants, for all campaigns on the same design.
_BASE = FOLDER / "design" / "base.il"


def design_key(plan: Plan, tops: Mapping[str, BuildConfig]) -> str:
    """Changes with the design as it is simulated without a mutant."""
    files = hdl_files() + hdl_files("*.vh")
    files += [_HERE / "mutate_wrap.py", _HERE / "mutate_record.cpp"]
    return digest(files, plan.designs, sorted(tops.items()))


class Campaign:
    """The mutants of one seed and count."""

    def __init__(self, count: int, seed: int, module: str, seconds: float) -> None:
        self.plan = load_plan()
        builds = load_builds()
        self.tops = {d.top: get_build(builds, d.build, "verilator") for d in self.plan.designs}
        self.key = design_key(self.plan, self.tops)
        steps = make_steps(self.plan, find_modules())
        self.base = Baseline(FOLDER / "recordings", steps, self.key)
        self.count, self.seed, self.module = count, seed, module
        suffix = f"_{module}".replace("*", "+") if module else ""
        self.folder = FOLDER / f"{seed}_{count}{suffix}"
        self.results = FOLDER / f"{seed}_{count}{suffix}.jsonl"
        self.seconds = seconds
        self.fates: dict[int, Fate] = {}
        self.before: dict[int, Fate] = {}
        """Results of an earlier run that do not hold as a whole."""
        self.mutations: list[Mutation] = []
        self.reaching: dict[str, set[int]] = {}
        self.hosts: dict[str, Host] = {}
        self.replayers: dict[str, Replayer] = {}
        self.inexact: set[Step] = set()
        self.benches_left_out: dict[str, str] = {}
        self.around: dict[str, set[str]] = {}
        self.ladder = Ladder(self.base.cost, self.plan.first, self.around)

    # -- the netlist and its simulators --

    def prepare(self) -> None:
        """Mutants and netlist; earlier results that still hold."""
        start = time.monotonic()
        stored = self.folder / "mutants.json"
        sources = [Path(netlist.__file__), Path(local.__file__), _HERE / "mutate_replay.cpp"]
        key = digest(sources, self.key)
        data = json.loads(stored.read_text()) if stored.is_file() else {}
        if data.get("key") != key:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.results.unlink(missing_ok=True)
            cells = netlist.elaborate(self.tops, _BASE.parent, key)
            chosen = netlist.choose(_BASE, cells, self.count, self.seed, self.module, self.folder)
            netlist.plant(_BASE, chosen, self.folder)
            wrap.write_wrappers(self.tops, self.folder)
            alive = netlist.reaching(self.tops, len(chosen), self.folder)
            data = {
                "key": key,
                "modules": len(cells),
                "mutants": [asdict(m) for m in chosen],
                "reaching": {top: sorted(numbers) for top, numbers in alive.items()},
            }
            stored.write_text(json.dumps(data))
        self.around.update(outer_modules(_BASE.read_text()))
        self.mutations = [Mutation(**{**m, "src": tuple(m["src"])}) for m in data["mutants"]]
        self.reaching = {top: set(numbers) for top, numbers in data["reaching"].items()}
        print(
            f"{len(self.mutations)} mutant(s) in {data['modules']} elaborated modules, "
            f"{time.monotonic() - start:.0f} s",
            flush=True,
        )
        self.restore()

    def start(self, jobs: int, stack: ExitStack) -> None:
        """Builds the netlist and starts its programs; recordings."""
        for top, config in self.tops.items():
            start = time.monotonic()
            found = netlist_build(config, top, self.folder)
            build_netlist(found, jobs)
            program = build_replay(config, top, self.folder, jobs)
            print(f"builds of the netlist of {top}: {time.monotonic() - start:.0f} s", flush=True)
            tests = {s.test.rpartition(".")[0] for s in self.base.steps if s.top == top}
            host = Host(found, sorted(tests), self.folder / f"work-{top}")
            self.hosts[top] = stack.enter_context(host)
            self.replayers[top] = stack.enter_context(Replayer(program, top, self.folder))
        start = time.monotonic()
        base = self.base
        with Progress(*_COLUMNS[:3]) as progress:
            task = progress.add_task("without a mutant", total=len(base.steps))
            base.record(self.hosts, jobs, lambda: progress.advance(task))
            for step, message in base.bad.items():
                progress.console.print(
                    f"fails without a mutant: {step.top}: {step.name}: {message}", markup=False
                )
        print(
            f"without a mutant: {len(base.cost)} of {len(base.steps)} runs pass, "
            f"{sum(base.cost.values()):.0f} s of processor time; "
            f"{time.monotonic() - start:.0f} s",
            flush=True,
        )

    # -- the mutants --

    def restore(self) -> None:
        """Results of an interrupted or earlier run: those that hold (what was killed or proved; the
        rest only if the tests are the same and none was left out), and what the others have passed.
        """
        by_key = {m.key: number for number, m in enumerate(self.mutations, 1)}
        for fate, key in read_fates(self.results):
            if number := by_key.get(fate.mutation.key):
                same = key == self.base.key and not fate.left
                holds = fate.status in (KILLED, EQUIVALENT) or same
                self.before[number] = fate
                if holds:
                    self.fates[number] = fate
        with self.results.open("w") as out:
            for fate in self.fates.values():
                write_fate(out, fate, self.base.key)
            for number, fate in self.before.items():
                if number not in self.fates:
                    write_fate(out, fate, "")
        known = {(s.name, top): s for s in self.base.steps for top in (s.top,)}
        for number, fate in self.fates.items():
            for top, alive in self.reaching.items():
                if fate.status == KILLED and number in alive and (fate.by, top) in known:
                    self.ladder.learn(fate.mutation, known[fate.by, top])

    def run_test(self, number: int, step: Step) -> Outcome:
        """On a mutant."""
        limit = max(_FACTOR * self.base.cost[step], _LEAST_S)
        answer = self.hosts[step.top].run(Run(number, step.test, step.seed, limit))
        return Outcome("" if answer.passed else answer.message or "failed", answer.seconds)

    def attempt(self, number: int, prover: Prover) -> Fate:
        """The ladder."""
        mutation = self.mutations[number - 1]
        tops = [top for top, alive in self.reaching.items() if number in alive]

        def replay(step: Step) -> Outcome:
            found = self.replayers[step.top].run(number, self.base.path(step))
            return Outcome(found.output, found.seconds)

        def prove(mutation: Mutation, seconds: float) -> Proof:
            return prover(mutation, f"m{number}", seconds) if tops else Proof(EQUIVALENT, _NO_PATH)

        steps = [s for s in self.base.steps if s.top in tops and s in self.base.cost]
        base = self.base
        means = Means(
            replay,
            lambda step: self.run_test(number, step),
            prove,
            base.content.__getitem__,
            base.name,
        )
        return climb(mutation, steps, self.ladder, means, _LIMITS)

    def watcher(self, wanted: Sequence[int], jobs: int, stack: ExitStack) -> Watcher:
        """Programs that tell which mutants a run can tell; at least of those that are wanted."""
        start = time.monotonic()
        known = self.folder / "watched.json"
        watched = json.loads(known.read_text()) if known.is_file() else []
        told = self.folder / "told"
        if not set(wanted) <= set(watched):
            known.unlink(missing_ok=True)
            for place in (told, *self.folder.glob("build-local-*")):
                shutil.rmtree(place, ignore_errors=True)
            chosen = {number: self.mutations[number - 1] for number in wanted}
            local.plant(_BASE, chosen, self.folder, jobs)
            known.write_text(json.dumps(sorted(wanted)))
        programs = {}
        for top, config in self.tops.items():
            program = build_replay(config, top, self.folder, jobs, "local")
            programs[top] = stack.enter_context(Replayer(program, top, self.folder))
        print(f"comparisons of {len(wanted)} mutants: {time.monotonic() - start:.0f} s", flush=True)

        def watch(step: Step, path: Path) -> Replay:
            return programs[step.top].watch(self.base.path(step), path)

        return Watcher(told, self.base.path, watch)

    def run(self, jobs: int, stack: ExitStack) -> None:
        """All mutants that are left, in parallel; fills ``fates``. Their order is random: what a
        run that is cut short has done is a fair sample.
        """
        prover = Prover(_BASE, self.folder / "prove", self.seconds)
        benches = ModuleBenches(self.folder / "netlist.v", self.folder / "modules")
        self.benches_left_out = benches.left_out
        if self.fates:
            print(f"{len(self.fates)} result(s) of an earlier run hold", flush=True)
        order = list(range(1, len(self.mutations) + 1))
        random.Random(self.seed).shuffle(order)
        lock = threading.Lock()
        with Progress(*_COLUMNS) as progress, self.results.open("a") as out:

            def each(what: str, do: Callable[[T], object], items: Sequence[T]) -> None:
                task = progress.add_task(what, total=len(items), state="")
                for _ in in_parallel(do, items, jobs):
                    with lock:
                        killed = sum(f.status == KILLED for f in self.fates.values())
                    progress.update(task, advance=1, state=f"{killed} killed")

            def decide(number: int, fate: Fate) -> None:
                with lock:
                    self.fates[number] = fate
                    write_fate(out, fate, self.base.key)

            def bench_kills(number: int, fate: Fate, seeds: Sequence[int]) -> bool:
                for seed in seeds:
                    bench, found = benches.run(number, fate.mutation.module, seed)
                    fate.spend("tests", found.seconds)
                    if found.message:
                        fate.kill(bench, found.message)
                        return True
                return False

            def meet_bench(number: int) -> None:
                fate = self.fates.get(number) or self.before.get(number)
                fate = fate or Fate(self.mutations[number - 1], UNDECIDED)
                if bench_kills(number, fate, SEEDS[:1]):
                    decide(number, fate)

            def first(number: int) -> None:
                fate = self.attempt(number, prover)
                if fate.status != UNDECIDED:
                    decide(number, fate)
                    return
                with lock:
                    self.before[number] = fate
                    write_fate(out, fate, "")

            def last(number: int) -> None:
                fate = left[number]
                conclude(fate, lambda mutation: prover(mutation, f"m{number}"))
                if fate.status != EQUIVALENT and benches.has(fate.mutation.module):
                    bench_kills(number, fate, SEEDS[1:])
                decide(number, fate)

            each("benches of modules", meet_bench, self.with_bench(benches, order))
            todo = [n for n in order if n not in self.fates and n not in self.before]
            each("mutants, short tests", first, todo)
            left = {n: self.before[n] for n in order if n not in self.fates}
            if not left:
                return
            watcher = self.watcher(list(left), jobs, stack)
            rest = self.rest(left, watcher)
            self.inexact = rest.inexact

            def meet(step: Step) -> None:
                for number in rest.meet(step):
                    decide(number, left[number])

            each("all tests", meet, rest.order(self.base.cost))
            each("proofs", last, [n for n in left if n not in self.fates])

    def with_bench(self, benches: ModuleBenches, order: Sequence[int]) -> list[int]:
        """Mutants of modules with a bench that are neither killed nor equivalent so far."""
        done = {n for n, fate in self.fates.items() if fate.status in (KILLED, EQUIVALENT)}
        return [n for n in order if n not in done and benches.has(self.mutations[n - 1].module)]

    def rest(self, left: Mapping[int, Fate], watcher: Watcher) -> Rest:
        """What meets the mutants that the ladder left."""

        def replay(step: Step, numbers: Iterable[int]) -> Replay:
            path = self.base.path(step)
            return self.replayers[step.top].group(path, watcher.told(step), numbers)

        base = self.base
        means = RestMeans(watcher, replay, self.run_test, base.content.__getitem__, base.name)
        return Rest(left, self.reaching, self.ladder, means, self.folder / "met.jsonl")


_COLUMNS = (
    TextColumn("{task.description}"),
    BarColumn(),
    MofNCompleteColumn(),
    TextColumn("{task.fields[state]}"),
    TimeRemainingColumn(),
)


def run_mutate(
    count: int, seed: int, module: str, jobs: int | None = None, seconds: float = 60.0
) -> int:
    """Returns the number of mutants that survived, stayed undecided or were not run."""
    jobs = jobs or cpu_count()
    OUT.unlink(missing_ok=True)
    campaign = Campaign(count, seed, module, seconds)
    start = time.monotonic()
    with locked(FOLDER), ExitStack() as stack:
        try:
            campaign.prepare()
            if len(campaign.fates) < len(campaign.mutations):
                campaign.start(jobs, stack)
            campaign.run(jobs, stack)
        except KeyboardInterrupt:
            print("interrupted; the same command goes on from here", flush=True)
    known = {**campaign.before, **campaign.fates}
    fates = [known[n] for n in sorted(known)]
    missing = len(campaign.mutations) - len(fates)
    print(report(fates), flush=True)
    options = {"seed": seed, "count": count, "module": module, "not_run": missing}
    write_report(fates, OUT, options)
    left = missing + sum(fate.status not in (KILLED, EQUIVALENT) for fate in fates)
    if missing:
        print(f"{missing} mutant(s) not run")
    for step, message in campaign.base.bad.items():
        print(f"fails without a mutant, left out: {step.top}: {step.name}: {message}")
    for step in sorted(campaign.inexact, key=lambda s: s.name):
        print(f"cannot be replayed, run instead: {step.top}: {step.name}")
    for problem in campaign.benches_left_out.values():
        print(f"bench left out: {problem}")
    left += len(campaign.base.bad) + len(campaign.benches_left_out)
    print(f"{time.monotonic() - start:.0f} s; written to {relative(OUT)}", flush=True)
    return left
