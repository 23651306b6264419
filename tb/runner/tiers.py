# SPDX-License-Identifier: Apache-2.0
"""What is known of jobs: the tier `quick` (tb/tiers.yaml) and recorded cost (tb/costs.json)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tb.runner.common import ROOT, RunnerError, relative, write_whole
from tb.runner.listed import parse, read_yaml

TIERS_YAML = ROOT / "tb" / "tiers.yaml"
COSTS_JSON = ROOT / "tb" / "costs.json"
#: Tiers, each of which contains those before it.
TIERS = ("quick", "full", "nightly")


@dataclass(frozen=True)
class Tiers:
    """What tb/tiers.yaml says, of jobs as test_x.TestX[build-simulator-seed]."""

    quick: frozenset[str]
    nightly: frozenset[str]
    """Those that only this tier has: they add nothing to the others."""
    complete: bool
    """Whether the tier `quick` has to hit every bin of functional coverage."""


@dataclass(frozen=True)
class _File:
    quick: tuple[str, ...]
    nightly: tuple[str, ...] = ()
    complete: bool = False


@cache
def read_tiers(path: Path = TIERS_YAML) -> Tiers:
    data = parse(_File, read_yaml(path), relative(path))
    found = Tiers(frozenset(data.quick), frozenset(data.nightly), data.complete)
    if both := sorted(found.quick & found.nightly):
        raise RunnerError(f"{relative(path)}: both quick and nightly: {', '.join(both[:5])}")
    return found


def check_tiers(known: Iterable[str], path: Path = TIERS_YAML) -> None:
    """A job of the tier that is not there would be left out in silence."""
    found = read_tiers(path)
    if odd := sorted((found.quick | found.nightly) - set(known)):
        raise RunnerError(f"{relative(path)}: no such job: {', '.join(odd[:5])}")


class Costs:
    """Processor seconds of items, as some earlier run has recorded them."""

    def __init__(self, path: Path = COSTS_JSON) -> None:
        self._path = path
        self._costs: dict[str, float] = {}
        if path.is_file():
            try:
                self._costs = {str(k): float(v) for k, v in json.loads(path.read_text()).items()}
            except (ValueError, AttributeError, TypeError) as error:
                raise RunnerError(f"{relative(path)}: {error}") from None

    def of(self, key: str) -> float | None:
        """Of an item with this name (a job's id, a file of Python tests); None if not recorded,
        unless another seed of the same test and build is.
        """
        if (cost := self._costs.get(key)) is not None or not key.endswith("]"):
            return cost
        return self._costs.get(f"{key.rpartition('-')[0]}-1]")

    def record(self, found: dict[str, float], *, whole: bool) -> None:
        """Writes what a run has found; ``whole``: forgets items that it did not have."""
        costs = {} if whole else dict(self._costs)
        costs |= {key: round(value, 2) for key, value in found.items()}
        lines = [f" {json.dumps(key)}: {value}" for key, value in sorted(costs.items())]
        write_whole(self._path, "{\n" + ",\n".join(lines) + "\n}\n")
