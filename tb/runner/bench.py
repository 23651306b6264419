# SPDX-License-Identifier: Apache-2.0
"""Runs the speed measurements and compares them with their goals."""

from __future__ import annotations

import json
import operator
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tb.runner.common import ROOT, SIM_BUILD, RunnerError, relative, write_whole
from tb.runner.discover import Job, read_module
from tb.runner.regress import build_all, run_job, table

FOLDER = ROOT / "tb" / "bench"
_COMPARE = {">=": operator.ge, "<=": operator.le}


@dataclass(frozen=True)
class Metrics:
    """What the bench module wrote to CARILLON_BENCH_OUT."""

    metrics: dict[str, float]
    goals: dict[str, tuple[str, float, float]]
    """Comparison, goal, and the bound that must hold: the goal, or what is reached of it."""
    config: dict[str, Any]

    def state(self, name: str) -> str:
        kind, *limits = self.goals.get(name, ("", 0.0, 0.0))
        if not kind:
            return ""
        held = [_COMPARE[kind](self.metrics[name], limit) for limit in limits]
        side = "below" if kind == ">=" else "above"
        return "ok" if held[0] else f"{side} {'goal' if held[1] else 'bound'}"


def read_metrics(path: Path) -> Metrics:
    if not path.is_file():
        raise RunnerError("the bench measured nothing")
    return Metrics(**json.loads(path.read_text()))


def format_metrics(found: Metrics) -> str:
    rows = []
    for name, value in found.metrics.items():
        kind, *limits = found.goals.get(name, ("", 0.0, 0.0))
        cells = [f"{kind} {limit:,.6g}" if kind else "" for limit in limits]
        rows.append((name, f"{value:,.6g}", *cells, found.state(name)))
    text = table(("metric", "value", "goal", "bound", "result"), rows, right=(1,))
    return f"{text}\n\nconfiguration: " + ", ".join(f"{k}={v}" for k, v in found.config.items())


def run_bench() -> int:
    modules = [read_module(path) for path in sorted(FOLDER.glob("bench_*.py"))]
    jobs = [Job(m.module, m.short, "all", 1, m.builds[0], "verilator") for m in modules]
    SIM_BUILD.mkdir(exist_ok=True)
    raw, out = SIM_BUILD / "bench_raw.json", SIM_BUILD / "bench.json"
    for old in (raw, out):
        old.unlink(missing_ok=True)
    builds = build_all(jobs, fast=True)
    seconds = 0.0
    for module, job in zip(modules, jobs, strict=True):
        print(f"measuring: {', '.join(module.tests)}", flush=True)
        env = {"CARILLON_BENCH_OUT": str(raw)}
        pattern = rf"^{re.escape(module.module)}\."
        result = run_job(job, builds[job.build], extra_env=env, pattern=pattern)
        seconds += result.wall_s
        if not (verdict := result.verdict).ok:
            print(f"bench: {verdict.status}: {verdict.message}\n  log: {relative(result.log)}")
            return 1
    found = read_metrics(raw)
    write_whole(out, json.dumps(found.metrics, indent=1) + "\n")
    missed = Counter(found.state(name).rpartition(" ")[2] for name in found.metrics)
    print(
        f"\n{format_metrics(found)}\n\nbench: {len(found.metrics)} metric(s), missed: "
        f"{missed['goal']} goal(s) in bounds, {missed['bound']} bound(s); "
        f"{seconds:.1f} s; written to {relative(out)}"
    )
    return int(missed["bound"] > 0)
