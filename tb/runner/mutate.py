# SPDX-License-Identifier: Apache-2.0
"""Mutation testing of the design (docs/mutation.md): many mutants in one netlist, each of which
meets recorded runs, the tests of those in which an output differs, and proofs of equivalence.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tb.runner import mutate_baseline as baseline
from tb.runner import mutate_netlist as netlist
from tb.runner import mutate_replay as replay
from tb.runner import mutate_wrap as wrap
from tb.runner.builds import BuildConfig, get_build, load_builds
from tb.runner.common import SIM_BUILD, cpu_count, digest, hdl_files, locked, relative
from tb.runner.discover import find_modules
from tb.runner.mutate_baseline import Baseline, in_parallel
from tb.runner.mutate_ladder import (
    EQUIVALENT,
    KILLED,
    Fate,
    Ladder,
    Limits,
    Means,
    Outcome,
    Proof,
    Step,
    climb,
    load_plan,
    make_steps,
)
from tb.runner.mutate_modules import SEEDS, ModuleBenches
from tb.runner.mutate_netlist import Mutation
from tb.runner.mutate_prove import Prover, outer_modules
from tb.runner.mutate_report import read_fates, report, write_fate, write_report
from tb.runner.simulator import build, kill_all

FOLDER = SIM_BUILD / "mutate"
OUT = SIM_BUILD / "mutation.json"

#: A mutant may take this many times as long as the test without it, at least so many seconds.
_FACTOR, _LEAST_S = 5.0, 3.0
#: Most mutants are killed or proved by little; the rest meets all there is.
_SHORT = Limits(tests_s=20.0, replays_s=4.0, proof_s=4.0)
_TESTS_S, _REPLAYS_S = 60.0, 120.0
_NO_PATH = "no path to an output of any top level"
_COLUMNS = (
    TextColumn("{task.description}"),
    BarColumn(),
    MofNCompleteColumn(),
    TextColumn("{task.fields[state]}"),
    TimeRemainingColumn(),
)


class Campaign:
    """The mutants of one seed and count."""

    def __init__(self, count: int, seed: int, module: str, seconds: float) -> None:
        self.plan = load_plan()
        builds = load_builds()
        designs = self.plan.designs.items()
        self.tops = {top: get_build(builds, d.build, "verilator") for top, d in designs}
        # The design as it is simulated without a mutant.
        here = Path(__file__).parent
        files = [*hdl_files(), *hdl_files("*.vh"), Path(wrap.__file__), here / "mutate_record.cpp"]
        self.key = digest(files, sorted(designs), sorted(self.tops.items()))
        steps = make_steps(self.plan, find_modules())
        self.base = Baseline(FOLDER / "recordings", steps, self.key)
        self.count, self.seed, self.module = count, seed, module
        # No character that would be one of a pattern of files.
        name = re.sub(r"\W", "+", f"{seed}_{count}_{module}" if module else f"{seed}_{count}")
        self.folder, self.results = FOLDER / name, FOLDER / f"{name}.jsonl"
        long = Limits(tests_s=_TESTS_S, replays_s=_REPLAYS_S, proof_s=seconds)
        self.stages = (_SHORT, long)
        self.fates: dict[int, Fate] = {}
        self.mutations: list[Mutation] = []
        self.reaching: dict[str, set[int]] = {}
        self.benches_left_out: dict[str, str] = {}

    def prepare(self) -> None:
        """Mutants and netlist; earlier results that still hold: what was killed or proved, the
        rest if all tests are the same.
        """
        stored, base = self.folder / "mutants.json", self.folder / "base.il"
        sources = [Path(netlist.__file__), Path(replay.__file__).with_suffix(".cpp")]
        key = digest(sources, self.key)
        data = json.loads(stored.read_text()) if stored.is_file() else {}
        if data.get("key") != key:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir()
            self.results.unlink(missing_ok=True)
            cells = netlist.elaborate(self.tops, base)
            chosen = netlist.choose(base, cells, self.count, self.seed, self.module)
            netlist.plant(base, chosen, self.folder)
            wrap.write_wrappers(self.tops, self.folder)
            alive = netlist.reaching(self.tops, self.folder)
            data = {
                "key": key,
                "mutants": [asdict(m) for m in chosen],
                "reaching": {top: sorted(numbers) for top, numbers in alive.items()},
            }
            stored.write_text(json.dumps(data))
        self.mutations = [Mutation(**{**m, "src": tuple(m["src"])}) for m in data["mutants"]]
        self.reaching = {top: set(numbers) for top, numbers in data["reaching"].items()}
        print(f"{len(self.mutations)} mutant(s)", flush=True)
        for number, fate, tests in read_fates(self.results):
            if fate.status in (KILLED, EQUIVALENT) or tests == self.base.key:
                self.fates[number] = fate
        with self.results.open("w") as out:
            for number, fate in self.fates.items():
                write_fate(out, number, fate, self.base.key)
        if self.fates:
            print(f"{len(self.fates)} result(s) of an earlier run hold", flush=True)

    def start(self, jobs: int) -> None:
        """Builds the netlist, records runs."""
        self.builds: dict[str, BuildConfig] = {}
        self.replayers: dict[str, replay.Replayer] = {}
        for top, config in self.tops.items():
            with _timed(f"builds of the netlist of {top}"):
                self.builds[top] = baseline.netlist_build(config, top, self.folder)
                build(self.builds[top], "verilator", processes=jobs)
                design = wrap.interface(top, self.folder)
                program = replay.build_replay(config, design, self.folder, jobs)
                self.replayers[top] = replay.Replayer(program, design)
        with _timed("runs without a mutant"), Progress(*_COLUMNS[:3]) as progress:
            task = progress.add_task("without a mutant", total=len(self.base.steps))
            self.base.record(self.builds, self.replayers, jobs, lambda: progress.advance(task))
        passed = [one.seconds for one in self.base.found.values()]
        text = f"{len(passed)} of {len(self.base.steps)} pass, {sum(passed):.0f} s"
        print(f"{text} of processor time", flush=True)

    def run(self, jobs: int) -> None:
        """All mutants that are left, in parallel; fills ``fates``. Their order is random: what a
        run that is cut short has done is a fair sample.
        """
        prover = Prover(self.folder / "base.il", self.folder / "prove")
        select = max(len(self.mutations).bit_length(), 1)
        benches = ModuleBenches(
            self.folder / "netlist.v", prover.modules, select, self.folder / "modules"
        )
        self.benches_left_out = benches.left_out
        cost = {step: one.seconds for step, one in self.base.found.items()}
        ladder = Ladder(cost, self.plan.first, outer_modules(prover.modules))
        order = [n for n in range(1, len(self.mutations) + 1) if n not in self.fates]
        random.Random(self.seed).shuffle(order)
        lock = threading.Lock()

        def decide(number: int) -> None:
            fate = self.attempt(number, ladder, prover, benches)
            with lock:
                self.fates[number] = fate
                write_fate(out, number, fate, self.base.key)
                killed = sum(f.status == KILLED for f in self.fates.values())
            progress.update(task, advance=1, state=f"{killed} killed")

        with Progress(*_COLUMNS) as progress, self.results.open("a") as out:
            task = progress.add_task("mutants", total=len(order), state="")
            try:
                for _ in in_parallel(decide, order, jobs):
                    pass
            finally:
                prover.ended = True

    def attempt(self, number: int, ladder: Ladder, prover: Prover, benches: ModuleBenches) -> Fate:
        """What becomes of a mutant: the bench of its leaf, the ladder, and for what is neither
        killed nor proved the bench of its leaf again, with more seeds.
        """
        mutation = self.mutations[number - 1]
        tops = [top for top, alive in self.reaching.items() if number in alive]
        found = self.base.found

        def replayed(step: Step) -> Outcome:
            if not found[step].exact:
                return Outcome("not replayed")
            told = self.replayers[step.top].run(number, self.base.path(step))
            return Outcome(told.output, told.seconds)

        def run(step: Step) -> Outcome:
            limit = max(_FACTOR * found[step].seconds, _LEAST_S)
            return baseline.run_test(step, self.builds[step.top], limit, number)

        def prove(seconds: float) -> Proof:
            return prover(mutation, f"m{number}", seconds) if tops else Proof(EQUIVALENT, _NO_PATH)

        fate = Fate(mutation)
        if self._bench_kills(fate, number, benches, SEEDS[:1]):
            return fate
        steps = [step for step in found if step.top in tops]
        fate = climb(mutation, steps, ladder, Means(replayed, run, prove), self.stages)
        if fate.status not in (KILLED, EQUIVALENT):
            self._bench_kills(fate, number, benches, SEEDS[1:])
        return fate

    def _bench_kills(
        self, fate: Fate, number: int, benches: ModuleBenches, seeds: Sequence[int]
    ) -> bool:
        for seed in seeds if benches.has(fate.mutation.module) else ():
            bench, outcome = benches.run(number, fate.mutation.module, seed)
            fate.spend("tests", outcome.seconds)
            if outcome.message:
                fate.kill(bench, outcome.message)
                return True
        return False


@contextmanager
def _timed(what: str) -> Iterator[None]:
    start = time.monotonic()
    yield
    print(f"{what}: {time.monotonic() - start:.0f} s", flush=True)


def run_mutate(
    count: int, seed: int, module: str, jobs: int | None = None, seconds: float = 60.0
) -> int:
    """Returns the number of mutants that survived, stayed undecided or were not run."""
    jobs = jobs or cpu_count()
    OUT.unlink(missing_ok=True)
    campaign = Campaign(count, seed, module, seconds)
    start = time.monotonic()
    with locked(FOLDER), ExitStack() as stack:
        stack.callback(kill_all)
        stack.callback(baseline.close)
        stack.callback(replay.close)
        try:
            with _timed("netlist"):
                campaign.prepare()
            if len(campaign.fates) < len(campaign.mutations):
                campaign.start(jobs)
                campaign.run(jobs)
        except KeyboardInterrupt:
            print("interrupted; the same command goes on from here", flush=True)
    fates = [campaign.fates[n] for n in sorted(campaign.fates)]
    missing = len(campaign.mutations) - len(fates)
    print(report(fates), flush=True)
    options = {"seed": seed, "count": count, "module": module, "not_run": missing}
    write_report(fates, OUT, options)
    base = campaign.base
    unlike = [step for step, found in base.found.items() if not found.exact]
    bad = [f"fails without a mutant, left out: {s.name}: {text}" for s, text in base.bad.items()]
    bad += [f"bench left out: {problem}" for problem in campaign.benches_left_out.values()]
    lines = [
        *([f"{missing} mutant(s) not run"] if missing else []),
        *(f"cannot be replayed, run instead: {step.top}: {step.name}" for step in unlike),
        *bad,
        f"{time.monotonic() - start:.0f} s; written to {relative(OUT)}",
    ]
    print("\n".join(lines), flush=True)
    left = sum(fate.status not in (KILLED, EQUIVALENT) for fate in fates)
    return missing + left + len(bad)
