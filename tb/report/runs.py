# SPDX-License-Identifier: Apache-2.0
"""A run of the regression: what failed, grouped by cause, and the grid of tests and seeds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tb.report import plots
from tb.report.inputs import number, one_line

#: Passed items beyond this are counted, but not listed: a browser must be able to show the page.
MAX_LISTED = 20_000
#: Failures of one group that are listed with their commands.
MAX_OF_GROUP = 200
_EXCERPT_LINES = 30
_EXCERPT_BYTES = 16_384
_ANSI = re.compile(r"\x1b\[[0-9;]*m")

#: Outcomes, the worst first.
BAD = ("error", "failed")
OUTCOMES = (*BAD, "skipped", "passed")


@dataclass(frozen=True)
class Item:
    """One item of a run; names and units are those of the database of runs."""

    nodeid: str
    kind: str
    subject: str
    test: str
    build: str
    sim: str
    seed: str
    outcome: str
    cause: str
    signature: str
    cpu_s: float
    wall_s: float
    sim_ns: float
    log: str
    reproduce: str
    waves: str

    @property
    def bad(self) -> bool:
        return self.outcome in BAD

    @property
    def variant(self) -> str:
        """Build and simulator, where they are not the usual ones."""
        usual = ("", "default", "verilator")
        return " ".join(name for name in (self.build, self.sim) if name not in usual)


def read_item(data: Mapping[str, Any]) -> Item:
    text = {name: one_line(data.get(name)) for name in Item.__dataclass_fields__}
    times = {name: number(data.get(name)) for name in ("cpu_s", "wall_s", "sim_ns")}
    text["test"] = text["test"] or text["nodeid"].partition("[")[0] or "(no name)"
    outcome = text["outcome"].lower()
    # A word that is not known must not look like a pass.
    text["outcome"] = outcome if outcome in OUTCOMES else "error"
    if outcome not in OUTCOMES:
        text["cause"] = text["cause"] or f"unknown outcome {outcome!r}"
    return Item(**(text | times))  # type: ignore[arg-type]


@dataclass
class Group:
    """Failures of one cause. The cheapest one comes first: it is the one to repeat."""

    cause: str
    items: list[Item]
    log: str = ""
    """The end of the first one's log."""

    @property
    def first(self) -> Item:
        return self.items[0]

    @property
    def tests(self) -> list[str]:
        return sorted({item.test for item in self.items})


@dataclass
class Row:
    """All items of one test, in the order of builds and seeds."""

    name: str
    items: list[Item] = field(default_factory=list)

    @property
    def outcome(self) -> str:
        """The worst one."""
        return min((item.outcome for item in self.items), key=OUTCOMES.index)

    @property
    def cpu_s(self) -> float:
        return sum(item.cpu_s for item in self.items)

    @property
    def words(self) -> str:
        """What the filter looks at."""
        found = {w for i in self.items for w in (i.subject, i.build, i.sim, i.kind, i.outcome)}
        return " ".join([self.name, *sorted(filter(None, found))]).lower()


@dataclass
class Section:
    """Simulations of one subject, or items of another kind."""

    name: str
    rows: list[Row]

    @property
    def counts(self) -> Counter[str]:
        return Counter(item.outcome for row in self.rows for item in row.items)

    @property
    def bad(self) -> int:
        return sum(self.counts[outcome] for outcome in BAD)


def excerpt(path: Path) -> str:
    """The last lines of a log; nothing if it is not there."""
    try:
        with path.open("rb") as log:
            log.seek(max(0, path.stat().st_size - _EXCERPT_BYTES))
            text = log.read().decode(errors="replace")
    except (OSError, ValueError):
        return ""
    return "\n".join(_ANSI.sub("", text).splitlines()[-_EXCERPT_LINES:])


def groups(items: Iterable[Item], root: Path) -> list[Group]:
    """The failures by signature, the largest group first."""
    found: dict[str, list[Item]] = {}
    for item in items:
        if item.bad:
            key = item.signature or item.cause or item.nodeid
            found.setdefault(key, []).append(item)
    result = []
    for own in found.values():
        own.sort(key=lambda item: (item.cpu_s or item.wall_s, item.nodeid))
        cause = next((item.cause for item in own if item.cause), "no cause was recorded")
        log = excerpt(root / own[0].log) if own[0].log else ""
        result.append(Group(cause, own, log))
    return sorted(result, key=lambda group: (-len(group.items), group.cause))


def sections(items: Sequence[Item]) -> list[Section]:
    """Simulations by subject, then the other kinds; failures first everywhere."""
    found: dict[tuple[bool, str], dict[str, Row]] = {}
    for item in items:
        sim = item.kind in ("sim", "")
        name = (item.subject or "simulations") if sim else item.kind
        rows = found.setdefault((not sim, name), {})
        rows.setdefault(item.test, Row(item.test)).items.append(item)
    result = []
    for (_, name), by_test in sorted(found.items()):
        own = sorted(by_test.values(), key=lambda row: (OUTCOMES.index(row.outcome), row.name))
        for row in own:
            row.items.sort(key=lambda i: (i.variant, len(i.seed), i.seed, i.nodeid))
        result.append(Section(name, own))
    return sorted(result, key=lambda section: not section.bad)


def _slowest(items: Sequence[Item]) -> Any:
    cost: Counter[str] = Counter()
    for item in items:
        cost[item.test] += item.cpu_s or item.wall_s  # type: ignore[assignment]
    top = {name: round(seconds, 2) for name, seconds in cost.most_common(15) if seconds > 0}
    names = [name.rpartition("/")[2] for name in top]
    label = "processor seconds"
    return plots.bars(names, {label: [*top.values()]}, label, horizontal=True) if top else ""


def read_run(data: Mapping[str, Any], root: Path) -> dict[str, Any]:
    """Everything that the page of a run shows."""
    items = [read_item(entry) for entry in data["items"]]
    counts = Counter(item.outcome for item in items)
    bad = sum(counts[outcome] for outcome in BAD)
    info = {str(key): value for key, value in dict(data.get("run") or {}).items()}
    cut_short = bool(info.get("interrupted"))
    listed = [item for item in items if item.outcome != "passed"]
    room = max(0, MAX_LISTED - len(listed))
    passed = [item for item in items if item.outcome == "passed"]
    shown = sections(listed + passed[:room])
    first: dict[str, Row] = {}
    for row in (row for section in shown for row in section.rows):
        first.setdefault(row.name, row)
    if not items:
        tile = ("warn", "0", "items: nothing ran")
    elif bad:
        tile = ("bad", f"{bad:,}", f"of {len(items):,} items failed")
    elif cut_short:
        tile = ("warn", f"{len(items):,}", "items, none failed; the run was interrupted")
    else:
        skipped = f", {counts['skipped']:,} skipped" if counts["skipped"] else ""
        tile = ("good", f"{counts['passed']:,}", f"of {len(items):,} items passed{skipped}")
    return {
        "tile": tile,
        "run": info,
        "cut_short": cut_short,
        "groups": groups(items, root),
        "sections": shown,
        # Items of two kinds may have one name: links lead to the first of them.
        "first": first,
        "anchors": [("test", name) for name in first],
        "unlisted": len(passed) - len(passed[:room]),
        "slowest": _slowest(items),
        "max_of_group": MAX_OF_GROUP,
        # With collecting, building and the controlling process, as the terminal says.
        "cpu_s": number(info.get("cpu_s")) or sum(item.cpu_s for item in items),
    }
