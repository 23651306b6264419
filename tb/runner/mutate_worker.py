# SPDX-License-Identifier: Apache-2.0
"""What becomes of one mutant, in a worker: the bench of its leaf, tests, proofs, more tests."""

from __future__ import annotations

import os
import pickle
import shutil
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from tb.runner.builds import BuildConfig
from tb.runner.common import SIM_BUILD
from tb.runner.fork_host import JobHosts
from tb.runner.mutate_modules import SEEDS, ModuleBenches
from tb.runner.mutate_netlist import MUTANT, Mutation
from tb.runner.mutate_plan import EQUIVALENT, Alone, Fate, Outcome, Step
from tb.runner.mutate_prove import Prover
from tb.runner.regress import COVERAGE, run_job
from tb.runner.results import TIMEOUT

#: A mutant may take this many times as long as the test without it, at least so many seconds.
_FACTOR, _LEAST_S = 5.0, 3.0
#: Limit of the processor time of a test without a mutant.
_ALONE_S = 120.0
#: Processor time (without a mutant) of tests that a mutant passes before its proofs, and after.
SHORT_S, LONG_S = 20.0, 300.0
NO_PATH = "no path to an output of any top level"
#: Nobody reads the logs.
_ENVIRONMENT = {"COCOTB_LOG_LEVEL": "WARNING", COVERAGE: ""}


@dataclass(frozen=True)
class Setup:
    """What all workers of a campaign know; a file in its folder."""

    builds: dict[str, BuildConfig]
    """Of the netlist, by top level."""
    mutations: list[Mutation]
    alone: Path
    proof_s: float
    """Limit of the proofs of one mutant."""

    def write(self, folder: Path) -> None:
        (folder / "setup.pickle").write_bytes(pickle.dumps(self))


class _Worker:
    def __init__(self, folder: Path) -> None:
        self.setup: Setup = pickle.loads((folder / "setup.pickle").read_bytes())
        self._hosts = JobHosts(SIM_BUILD / "hosts" / f"mutate-{os.getpid()}", most=6)
        self._alone = Alone(self.setup.alone)
        self._prover = Prover(folder / "base.il", folder / "prove")
        select = max(len(self.setup.mutations).bit_length(), 1)
        place = folder / "modules"
        modules = self._prover.modules
        self._benches = ModuleBenches(folder / "netlist.v", modules, select, self._alone, place)

    def attempt(self, number: int, steps: Sequence[Step]) -> Fate:
        mutation, fate = self.setup.mutations[number - 1], Fate()
        if self._meets_benches(fate, number, SEEDS[:1]):
            return fate
        if not steps:
            fate.status, fate.by = EQUIVALENT, NO_PATH
            return fate
        left = deque(steps)
        if self._meets_tests(fate, number, left, SHORT_S):
            return fate
        proof = self._prover(mutation, f"m{number}", self.setup.proof_s)
        fate.seconds += proof.seconds
        if proof.status != EQUIVALENT and (
            self._meets_tests(fate, number, left, LONG_S)
            or self._meets_benches(fate, number, SEEDS[1:])
        ):
            return fate
        rest = f", {len(left)} left out: limit" if left else ""
        fate.status, fate.by = proof.status, proof.how
        if proof.status != EQUIVALENT:
            fate.by = f"passes {fate.runs} tests{rest}; {proof.how}"
        return fate

    def _meets_benches(self, fate: Fate, number: int, seeds: Sequence[int]) -> bool:
        module = self.setup.mutations[number - 1].module
        found = (one for seed in seeds for one in self._benches.meet(number, module, seed))
        return any(fate.meets(*one) for one in found)

    def _meets_tests(self, fate: Fate, number: int, left: deque[Step], seconds: float) -> bool:
        """Takes steps from those that are left until one kills or ``seconds`` have passed."""
        while left and seconds > 0:
            step = left.popleft()
            name = f"{step.top} {step.name}"
            alone = self._alone.of(name, partial(self._run, step, number, 0, _ALONE_S))
            if alone.message:
                continue
            seconds -= alone.seconds
            limit = max(_FACTOR * alone.seconds, _LEAST_S)
            if fate.meets(step.name, self._run(step, number, number, limit)):
                return True
        return False

    def _run(self, step: Step, number: int, active: int, limit_s: float) -> Outcome:
        """A test that mutant ``number`` meets; ``active`` is 0 for a run without it."""
        config = replace(self.setup.builds[step.top], timeout_s=limit_s)
        job = replace(step.job, build=f"{step.job.build}-m{number}")
        env = {**_ENVIRONMENT, MUTANT: str(active)}
        result = run_job(job, config, extra_env=env, hosts=self._hosts.execute)
        shutil.rmtree(result.log.parent)
        verdict = result.verdict
        cause = "time limit" if verdict.status == TIMEOUT else verdict.cause[:300]
        return Outcome("" if verdict.ok else cause or "failed", result.cpu_s)


_worker = cache(_Worker)


def attempt(folder: Path, number: int, steps: Sequence[Step]) -> Fate:
    """Of the campaign in ``folder``. ``steps``: tests of the top levels that the mutant reaches, in
    their order.
    """
    return _worker(folder).attempt(number, steps)
