# SPDX-License-Identifier: Apache-2.0
"""Mutation testing of the design (docs/mutation.md): many mutants in one netlist, each of which
meets the bench of its leaf, tests, and proofs of equivalence.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

from rich.progress import Progress

from tb.runner import mutate_netlist as netlist
from tb.runner.builds import get_build, load_builds
from tb.runner.cluster import Workers
from tb.runner.common import (
    SIM_BUILD,
    RunnerError,
    bench_files,
    digest,
    hdl_files,
    locked,
    nearest,
    relative,
)
from tb.runner.discover import find_modules
from tb.runner.mutate_netlist import Mutation
from tb.runner.mutate_plan import (
    EQUIVALENT,
    KILLED,
    Alone,
    Fate,
    Order,
    Step,
    load_plan,
    make_steps,
)
from tb.runner.mutate_prove import outer_modules, split
from tb.runner.mutate_report import read_fates, report, write_fate, write_report
from tb.runner.mutate_worker import Setup, attempt
from tb.runner.simulator import build
from tb.runner.tiers import Costs

FOLDER = SIM_BUILD / "mutate"
OUT = SIM_BUILD / "mutation.json"


class Campaign:
    """The mutants of one seed and count."""

    def __init__(self, count: int, seed: int, module: str, proof_s: float) -> None:
        self.plan = load_plan()
        builds = load_builds()
        designs = self.plan.designs.items()
        self.tops = {top: get_build(builds, d.build, "verilator") for top, d in designs}
        sources = [*hdl_files("*.v*"), Path(netlist.__file__)]
        self.key = digest(sources, sorted(designs), sorted(self.tops.items()))
        self.modules = find_modules()
        self.steps = make_steps(self.plan, self.modules)
        self.tests = digest(bench_files(), self.key, self.steps)
        """Changes with anything that a run depends on."""
        self.count, self.seed, self.module, self.proof_s = count, seed, module, proof_s
        # No character that would be one of a pattern of files.
        name = re.sub(r"\W", "+", f"{seed}_{count}_{module}" if module else f"{seed}_{count}")
        self.folder, self.results = FOLDER / name, FOLDER / f"{name}.jsonl"
        self.alone = self.folder / "alone" / self.tests[:16]
        self.fates: dict[int, Fate] = {}
        self.mutations: list[Mutation] = []
        self.reaching: dict[str, set[int]] = {}

    def prepare(self) -> None:
        """Mutants and netlist; earlier results that still hold: what was killed or proved, the
        rest if all tests are the same.
        """
        stored, base = self.folder / "mutants.json", self.folder / "base.il"
        data = json.loads(stored.read_text()) if stored.is_file() else {}
        if data.get("key") != self.key:
            print("makes the netlist: minutes", flush=True)
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir()
            self.results.unlink(missing_ok=True)
            cells = netlist.elaborate(self.tops, base)
            chosen = netlist.choose(base, cells, self.count, self.seed, self.module)
            netlist.plant(base, chosen, self.folder)
            alive = netlist.reaching(self.tops, self.folder)
            data = {
                "key": self.key,
                "mutants": [asdict(m) for m in chosen],
                "reaching": {top: sorted(numbers) for top, numbers in alive.items()},
            }
            stored.write_text(json.dumps(data))
        self.mutations = [Mutation(**{**m, "src": tuple(m["src"])}) for m in data["mutants"]]
        self.reaching = {top: set(numbers) for top, numbers in data["reaching"].items()}
        print(f"{len(self.mutations)} mutant(s)", flush=True)
        for number, fate, tests in read_fates(self.results):
            if fate.status in (KILLED, EQUIVALENT) or tests == self.tests:
                self.fates[number] = fate
        with self.results.open("w") as out:
            for number, fate in self.fates.items():
                write_fate(out, number, fate, self.tests)
        if self.fates:
            print(f"{len(self.fates)} result(s) of an earlier run hold", flush=True)

    def build(self) -> None:
        """The netlist with the bench, for each top level."""
        builds = {}
        for top, config in self.tops.items():
            print(f"builds the netlist of {top}", flush=True)
            builds[top] = netlist.netlist_build(config, top, self.folder)
            build(builds[top], "verilator")
        Setup(builds, self.mutations, self.alone, self.proof_s).write(self.folder)
        Alone(self.alone).again()

    def order(self) -> Order:
        """By what a run of each test costs on one of its own builds."""
        costs, builds = Costs(), {module.short: module.builds for module in self.modules}

        def cost(step: Step) -> float:
            names = (f"{step.job.name}[{b}-verilator-1]" for b in builds[step.job.short])
            return next((c for name in names if (c := costs.of(name)) is not None), 1.0)

        around = outer_modules(split((self.folder / "base.il").read_text()))
        return Order({step: cost(step) for step in self.steps}, self.plan.first, around)

    def run(self, workers: Workers, count: int) -> None:
        """All mutants that are left, in parallel; fills ``fates``. They come in random order: what
        a run that is cut short has done is a fair sample.
        """
        order, lock = self.order(), threading.Lock()
        left = [n for n in range(1, len(self.mutations) + 1) if n not in self.fates]
        random.Random(self.seed).shuffle(left)

        def decide(number: int) -> None:
            mutation = self.mutations[number - 1]
            with lock:
                tops = [top for top, alive in self.reaching.items() if number in alive]
                steps = order.of(mutation, tops)
            fate = workers.call(2, attempt, self.folder, number, steps)
            with lock:
                self.fates[number] = fate
                write_fate(out, number, fate, self.tests)
                if fate.status == KILLED:
                    order.learn(mutation, fate.by)
                killed = sum(f.status == KILLED for f in self.fates.values())
            progress.update(task, advance=1, description=f"{killed} of {len(self.fates)} killed")

        with Progress() as progress, self.results.open("a") as out:
            task = progress.add_task("mutants", total=len(left))
            pool = ThreadPoolExecutor(max_workers=count)
            try:
                for future in as_completed([pool.submit(decide, number) for number in left]):
                    future.result()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)


def run_mutate(
    count: int,
    seed: int,
    module: str,
    seconds: float,
    launcher: str,
    jobs: int | None,
    wait_s: int | None,
) -> int:
    """Returns the number of mutants that survived or stayed undecided. Interrupted, it prints what
    is done, and leaves the results of the last run as they are.
    """
    if module and not any(path.match(f"{module}.v") for path in hdl_files()):
        known = nearest(module, (path.stem for path in hdl_files()))
        raise RunnerError(f"MODULE={module}: no such module{known}")
    campaign = Campaign(count, seed, module, seconds)
    start, stopped = time.monotonic(), None
    with locked(FOLDER):
        try:
            campaign.prepare()
            if len(campaign.fates) < len(campaign.mutations):
                campaign.build()
                with closing(Workers(launcher, jobs, wait_s)) as workers:
                    campaign.run(workers, workers.count)
        except KeyboardInterrupt as error:
            stopped = error
    results = [(campaign.mutations[n - 1], campaign.fates[n]) for n in sorted(campaign.fates)]
    if results or not stopped:
        print(report(results), flush=True)
    if stopped:
        print(f"the same command goes on from here; {relative(OUT)} stays as it was", flush=True)
        raise stopped
    write_report(results, OUT, {"seed": seed, "count": count, "module": module})
    bad = Alone(campaign.alone).failing()
    lines = [
        *(f"fails without a mutant, left out: {name}: {text}" for name, text in bad.items()),
        f"{time.monotonic() - start:.0f} s; written to {relative(OUT)}",
    ]
    print("\n".join(lines), flush=True)
    left = sum(fate.status not in (KILLED, EQUIVALENT) for _, fate in results)
    return left + len(bad)
