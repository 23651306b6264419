# SPDX-License-Identifier: Apache-2.0
"""Runs without a mutant: what crossed the ports in each, how long it took. Recordings serve every
set of mutants of the same design and tests.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import TypeVar

from tb.runner.common import ROOT, digest
from tb.runner.discover import short_name
from tb.runner.mutate_ladder import Step
from tb.runner.mutate_sim import Answer, Host, Run

#: Limit of the processor time of a test without a mutant.
_LIMIT_S = 120.0


def bench_files() -> list[Path]:
    """What all tests use; without what they do not meet here."""
    files = [p for place in ("tb", "models") for p in sorted((ROOT / place).rglob("*.py"))]
    unused = {"selftest", "runner", "bench", "waves", "tests"}
    files = [p for p in files if not unused & set(p.relative_to(ROOT).parts)]
    return [*files, *sorted((ROOT / "tb" / "hdl").glob("*.v"))]


def test_files(step: Step) -> list[Path]:
    """The file of a test, and those in tb/tests that it imports, and they."""
    left, found = [".".join(step.test.split(".")[:-1])], set()
    while left:
        path = (ROOT / Path(*left.pop().split("."))).with_suffix(".py")
        if path not in found:
            found.add(path)
            left += _IMPORT.findall(path.read_text())
    return sorted(found)


_IMPORT = re.compile(r"^from (tb\.tests(?:\.\w+)+) import ", re.M)


class Baseline:
    """The recordings of the steps. ``key``: of the design, as it is simulated."""

    def __init__(self, folder: Path, steps: Sequence[Step], key: str) -> None:
        self._folder = folder
        self._index = folder / "seconds.jsonl"
        shared = digest(bench_files(), key)
        own = {step: digest(test_files(step), shared) for step in steps}
        self.key = digest([], sorted(own.values()))
        """Changes with anything that a run depends on."""
        self._name = {
            step: f"{step.top}-{short_name(step.test)}-{step.seed}-{own[step][:16]}.rec"
            for step in steps
        }
        self.steps = list(steps)
        self.cost: dict[Step, float] = {}
        """Seconds of processor time of each step that passes."""
        self.content: dict[Step, str] = {}
        """Digest of what each recording has."""
        self.bad: dict[Step, str] = {}
        """Steps that fail without a mutant: a failure would say nothing."""

    def name(self, step: Step) -> str:
        """Of the recording: changes with the test and all it uses."""
        return self._name[step]

    def path(self, step: Step) -> Path:
        return self._folder / self._name[step]

    def record(self, hosts: Mapping[str, Host], jobs: int, tick: Callable[[], object]) -> None:
        """Makes the recordings that are not there, removes those of other designs and tests."""
        self._folder.mkdir(parents=True, exist_ok=True)
        names = set(self._name.values())
        for path in self._folder.glob("*.rec*"):
            if path.name not in names:
                path.unlink()
        lines = self._index.read_text().splitlines() if self._index.is_file() else []
        known = {name: cost for name, cost in map(json.loads, lines) if name in names}
        lock = threading.Lock()
        with self._index.open("w") as out:

            def keep(step: Step, cost: float) -> None:
                with lock:
                    self.cost[step] = cost
                    out.write(json.dumps([self._name[step], cost]) + "\n")
                    out.flush()

            def make(step: Step) -> None:
                answer = self._run(hosts[step.top], step)
                if answer.passed:
                    keep(step, answer.seconds)
                else:
                    self.bad[step] = answer.message

            missing = []
            for step in self.steps:
                name = self._name[step]
                if name in known and self.path(step).is_file():
                    keep(step, known[name])
                    tick()
                else:
                    missing.append(step)
            for _ in in_parallel(make, missing, jobs):
                tick()
        for step in self.cost:
            found = hashlib.sha256(f"{step.top}\n".encode() + self.path(step).read_bytes())
            self.content[step] = found.hexdigest()[:16]

    def _run(self, host: Host, step: Step) -> Answer:
        part = self.path(step).with_suffix(".rec.part")
        answer = host.run(Run(0, step.test, step.seed, _LIMIT_S, part))
        if answer.passed:
            part.rename(self.path(step))
        else:
            part.unlink(missing_ok=True)
        return answer


T = TypeVar("T")


def in_parallel(do: Callable[[T], object], items: Sequence[T], jobs: int) -> Iterator[None]:
    """Yields for each item that is done; what has not begun is left out at an interrupt."""
    pool = ThreadPoolExecutor(max_workers=jobs)
    try:
        for future in as_completed([pool.submit(do, item) for item in items]):
            future.result()
            yield
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
