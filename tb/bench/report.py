# SPDX-License-Identifier: Apache-2.0
"""Where measurements go: the file that CARILLON_BENCH_OUT names, shared by all tests of a bench."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import cocotb

#: Comparison and goal; third, where a goal is known to be missed, the bound that must hold: what is
#: reached, a little lower for rounding.
Goal = tuple[str, float] | tuple[str, float, float]


def _update(section: str, name: str, value: Any) -> None:
    target = os.environ.get("CARILLON_BENCH_OUT")
    if not target:
        return
    path = Path(target)
    data: dict[str, dict[str, Any]] = {"metrics": {}, "goals": {}, "config": {}}
    if path.is_file():
        data = json.loads(path.read_text())
    data[section][name] = value
    path.write_text(json.dumps(data, indent=1))


def metric(name: str, value: float, goal: Goal | None = None) -> None:
    """Reports a measurement and, if there is one, its goal, which `make bench` judges."""
    cocotb.log.info("%s = %s", name, value)
    _update("metrics", name, value)
    if goal is not None:
        _update("goals", name, [*goal[:2], goal[-1]])


def config(name: str, value: Any) -> None:
    """Reports a circumstance of the measurements."""
    _update("config", name, value)
