# SPDX-License-Identifier: Apache-2.0
"""Mutation testing of the design (docs/mutation.md): many mutants in one netlist, each run against
a ladder of tests until one fails; proofs of equivalence for those that no test kills.
"""

from __future__ import annotations

import json
import random
import shutil
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tb.runner import mutate_local as local
from tb.runner import mutate_netlist as netlist
from tb.runner import mutate_wrap as wrap
from tb.runner.builds import BuildConfig, get_build, load_builds
from tb.runner.common import ROOT, SIM_BUILD, cpu_count, locked, relative
from tb.runner.discover import find_modules
from tb.runner.mutate_baseline import Baseline, digest
from tb.runner.mutate_ladder import (
    EQUIVALENT,
    KILLED,
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
from tb.runner.mutate_netlist import Mutation
from tb.runner.mutate_prove import Prover, outer_modules
from tb.runner.mutate_replay import Replayer, build_replay
from tb.runner.mutate_report import read_fates, report, write_fate, write_report
from tb.runner.mutate_sim import Host, Run, build_netlist, netlist_build

FOLDER = SIM_BUILD / "mutate"
OUT = SIM_BUILD / "mutation.json"

#: A mutant may take this many times as long as the test without it, at least so many seconds.
_FACTOR, _LEAST_S = 5.0, 3.0
#: One attempt after the other, each of what is left. By the second one the ladder knows what kills.
_ATTEMPTS = (
    Limits(tests_s=30.0, replays_s=12.0, last=False, early_s=4.0),
    Limits(tests_s=60.0, replays_s=40.0),
)
_NO_PATH = "no path to an output of any top level"
_HERE = Path(__file__).parent
#: The netlist without mutants, for all campaigns on the same design.
_BASE = FOLDER / "design" / "base.il"


def design_key(plan: Plan, tops: Mapping[str, BuildConfig]) -> str:
    """Changes with the design as it is simulated without a mutant."""
    files = sorted((ROOT / "hdl").glob("*.v")) + sorted((ROOT / "hdl").glob("*.vh"))
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
        self.watchers: dict[str, Replayer] = {}
        """Without a mutant: which ones a run can tell."""
        self.around: dict[str, set[str]] = {}
        self.ladder = Ladder(self.base.cost, self.plan.first, self.around)

    # -- the netlist and its simulators --

    def prepare(self, jobs: int) -> None:
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
            local.plant(_BASE, chosen, self.folder, jobs)
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
            watcher = build_replay(config, top, self.folder, jobs, "local")
            print(f"builds of the netlist of {top}: {time.monotonic() - start:.0f} s", flush=True)
            tests = {s.test.rpartition(".")[0] for s in self.base.steps if s.top == top}
            host = Host(found, sorted(tests), self.folder / f"work-{top}")
            self.hosts[top] = stack.enter_context(host)
            self.replayers[top] = stack.enter_context(Replayer(program, top, self.folder))
            self.watchers[top] = stack.enter_context(Replayer(watcher, top, self.folder))
        start = time.monotonic()
        base = self.base
        with Progress(*_COLUMNS[:3]) as progress:
            task = progress.add_task("without a mutant", total=len(base.steps))
            base.record(self.hosts, jobs, lambda: progress.advance(task))
            for step, message in base.bad.items():
                progress.console.print(
                    f"fails without a mutant: {step.top}: {step.name}: {message}", markup=False
                )
            task = progress.add_task("replays without a mutant", total=len(base.cost))
            stored = self.folder / "hit.jsonl"
            base.check(self.watchers, stored, jobs, lambda: progress.advance(task))
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

    def attempt(self, number: int, prover: Prover, limits: Limits) -> Fate:
        """The whole ladder."""
        mutation = self.mutations[number - 1]
        tops = [top for top, alive in self.reaching.items() if number in alive]

        def replay(step: Step) -> Outcome:
            if step in self.base.inexact:
                return Outcome("not replayed")
            found = self.replayers[step.top].run(number, self.base.path(step))
            return Outcome(found.output, found.seconds)

        def run(step: Step) -> Outcome:
            limit = max(_FACTOR * self.base.cost[step], _LEAST_S)
            answer = self.hosts[step.top].run(Run(number, step.test, step.seed, limit))
            return Outcome("" if answer.passed else answer.message or "failed", answer.seconds)

        def prove(mutation: Mutation, seconds: float) -> Proof:
            return prover(mutation, f"m{number}", seconds) if tops else Proof(EQUIVALENT, _NO_PATH)

        steps = [s for s in self.base.steps if s.top in tops and self.base.can_tell(s, number)]
        means = Means(replay, run, prove, self.base.content.__getitem__)
        return climb(mutation, steps, self.ladder, means, limits, self.before.get(number))

    def run(self, jobs: int) -> None:
        """All mutants that are left, in parallel; fills ``fates``. Their order is random: what a
        run that is cut short has done is a fair sample.
        """
        prover = Prover(_BASE, self.folder / "prove", self.seconds)
        if self.fates:
            print(f"{len(self.fates)} result(s) of an earlier run hold", flush=True)
        order = list(range(1, len(self.mutations) + 1))
        random.Random(self.seed).shuffle(order)
        for limits in _ATTEMPTS:
            todo = to_do(order, limits, self.fates, self.before)
            with ThreadPoolExecutor(max_workers=jobs) as pool:
                try:
                    self._attempts(pool, todo, prover, limits)
                except BaseException:
                    pool.shutdown(wait=False, cancel_futures=True)
                    raise

    def _attempts(
        self, pool: ThreadPoolExecutor, todo: Sequence[int], prover: Prover, limits: Limits
    ) -> None:
        with Progress(*_COLUMNS) as progress, self.results.open("a") as out:
            waiting = {pool.submit(self.attempt, n, prover, limits): n for n in todo}
            what = "mutants, all tests" if limits.last else "mutants, short tests"
            task = progress.add_task(what, total=len(waiting), state="")
            for future in as_completed(waiting):
                number, fate = waiting[future], future.result()
                again = fate.left and not limits.last
                (self.before if again else self.fates)[number] = fate
                write_fate(out, fate, "" if again else self.base.key)
                killed = sum(f.status == KILLED for f in self.fates.values())
                progress.update(task, advance=1, state=f"{killed} killed")
                if not again and fate.status not in (KILLED, EQUIVALENT):
                    m = fate.mutation
                    progress.console.print(
                        f"{fate.status}: {m.line}: {m.what}; {fate.by}",
                        markup=False,
                        highlight=False,
                        soft_wrap=True,
                    )


def to_do(
    order: Sequence[int], limits: Limits, decided: Mapping[int, Fate], before: Mapping[int, Fate]
) -> list[int]:
    """Mutants that an attempt takes up. What an earlier run left has had all but the last."""
    return [n for n in order if n not in decided and (limits.last or n not in before)]


_COLUMNS = (
    TextColumn("{task.description}"),
    BarColumn(),
    MofNCompleteColumn(),
    TextColumn("{task.fields[state]}"),
    TimeRemainingColumn(),
)


def run_mutate(
    count: int, seed: int, module: str, jobs: int | None = None, seconds: float = 20.0
) -> int:
    """Returns the number of mutants that survived, stayed undecided or were not run."""
    jobs = jobs or cpu_count()
    OUT.unlink(missing_ok=True)
    campaign = Campaign(count, seed, module, seconds)
    start = time.monotonic()
    with locked(FOLDER), ExitStack() as stack:
        try:
            campaign.prepare(jobs)
            if len(campaign.fates) < len(campaign.mutations):
                campaign.start(jobs, stack)
            campaign.run(jobs)
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
    for step in sorted(campaign.base.inexact, key=lambda s: s.name):
        print(f"cannot be replayed, run instead: {step.top}: {step.name}")
    left += len(campaign.base.bad)
    print(f"{time.monotonic() - start:.0f} s; written to {relative(OUT)}", flush=True)
    return left
