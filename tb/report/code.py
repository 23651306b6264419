# SPDX-License-Identifier: Apache-2.0
"""Code coverage on the source of hdl/: a table of files, and a page for each with every line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import VerilogLexer

from tb.report.inputs import Loaded, strings

KINDS = ("line", "branch")
STATES = ("hit", "waived", "missing")
_POINT = re.compile(r"(?P<file>.+?):(?P<line>\d{1,9}) (?P<kind>line|branch)(?: (?P<name>.*))?")


@dataclass
class Line:
    """A source line. ``code``: highlighted. ``state``: the worst of its line and branch points."""

    number: int
    code: Markup
    points: Counter[str] = field(default_factory=Counter)
    tests: set[str] = field(default_factory=set)
    branches: list[tuple[str, str, int]] = field(default_factory=list)
    """(side, state, number of tests)."""
    notes: list[tuple[str, str]] = field(default_factory=list)
    """(state, words) of what was not hit."""
    set_id: int = 0
    """The number of its set of tests; 0 is none."""

    @property
    def state(self) -> str:
        states = [*self.points, *(state for _, state, _ in self.branches)]
        states += [state for state, _ in self.notes if state == "missing"]
        for state in ("missing", "hit", "waived"):
            if state in states:
                # A line that was hit, but not on all sides.
                return "part" if state == "missing" and "hit" in states else state
        return ""


@dataclass
class File:
    """A file of the design. ``counts``: points by kind and state."""

    name: str
    page: str
    counts: dict[str, Counter[str]]
    lines: list[Line] = field(default_factory=list)
    sets: list[list[str]] = field(default_factory=list)
    stale: bool = False

    def total(self, state: str) -> int:
        return sum(own[state] for own in self.counts.values())

    def percent(self, kind: str) -> str:
        return percent(self.counts.get(kind, Counter()))


def percent(count: Counter[str]) -> str:
    """Of what has to be hit. 100 only when nothing is missing."""
    wanted = count["hit"] + count["missing"]
    if not wanted:
        return "-"
    return f"{1000 * count['hit'] // wanted / 10:.1f}" if count["missing"] else "100"


def source_lines(text: str) -> list[Markup]:
    """Each line as HTML; none is left out, so that numbers agree."""
    # The lexer's own clean-up would drop lines and change others.
    lexer = VerilogLexer(stripnl=False, ensurenl=False)
    text = text.replace("\r\n", "\n").replace("\r", "\n").expandtabs(4)
    found = highlight(text, lexer, HtmlFormatter(nowrap=True)).split("\n")
    wanted = text.count("\n") + 1
    if len(found) < wanted or any(found[wanted:]):
        found = [str(escape(line)) for line in text.split("\n")]
    lines = [Markup(line) for line in found[:wanted]]
    return lines[:-1] if text.endswith("\n") else lines


def _mark(
    files: Mapping[str, File], text: str, state: str, tests: Sequence[str] = (), reason: str = ""
) -> None:
    """Note the state of a point at its line. A point of a line that is not there is left out."""
    match = _POINT.fullmatch(text)
    lines = files[match["file"]].lines if match and match["file"] in files else []
    if not match or not 0 < int(match["line"]) <= len(lines):
        return
    line, name = lines[int(match["line"]) - 1], match["name"] or ""
    line.tests.update(tests)
    if match["kind"] == "branch":
        # A column tells sides of one name apart; it says nothing to a reader.
        side = re.sub(r" \d+$", "", name)
        line.branches.append((side, state, len(tests)))
    elif match["kind"] == "line":
        line.points[state] += 1
    # What a line's colour and the signs of its branches do not say.
    if reason:
        line.notes.append((state, f"{match['kind']} {name}".strip() + f": {reason}"))


def read_code(loaded: Loaded, sources: Mapping[str, Path]) -> list[File]:
    """All files that have points, or are there."""
    data = loaded.data
    files: dict[str, File] = {}
    for name, counts in data["counts"].items():
        page = re.sub(r"[^\w.-]", "-", name)
        file = files[name] = File(
            name, f"code/{page}.html", {k: Counter(own) for k, own in counts.items()}
        )
        if path := sources.get(name):
            found = source_lines(path.read_text(encoding="utf-8", errors="replace"))
            file.lines = [Line(n, code) for n, code in enumerate(found, 1)]
            changed = datetime.fromtimestamp(path.stat().st_mtime, UTC)
            file.stale = loaded.time is not None and changed > loaded.time
    for text, tests in (data.get("tests") or {}).items():
        _mark(files, text, "hit", strings(tests))
    for text in strings(data.get("missing")):
        _mark(files, text, "missing")
    for reason, texts in (data.get("waived") or {}).items():
        for text in strings(texts):
            _mark(files, text, "waived", reason=reason)
    for file in files.values():
        known: dict[frozenset[str], int] = {}
        for line in file.lines:
            if line.tests:
                line.set_id = known.setdefault(frozenset(line.tests), len(known) + 1)
        file.sets = [sorted(own) for own in known]
    return list(files.values())


def by_module(tests: Sequence[str]) -> dict[str, list[str]]:
    """Names of tests without their module, by module."""
    found: dict[str, list[str]] = {}
    for test in tests:
        module, _, name = test.rpartition(".")
        found.setdefault(module, []).append(name)
    return found


def style(dark: bool) -> str:
    """Colours of the source."""
    formatter = HtmlFormatter(style="github-dark" if dark else "xcode")
    return "\n".join(
        line
        for line in formatter.get_style_defs(".src").splitlines()
        if line.startswith(".src .") and "background" not in line
    )


def code_page(loaded: Loaded, sources: Mapping[str, Path]) -> dict[str, Any]:
    files = read_code(loaded, sources)
    whole = {kind: sum((f.counts.get(kind, Counter()) for f in files), Counter()) for kind in KINDS}
    missing = sum(count["missing"] for count in whole.values())
    shown = "lines {}, branches {} %".format(*(percent(whole[k]) for k in KINDS))
    if missing:
        tile = ("bad", f"{missing:,}", f"points missing; {shown}")
    elif any(count["hit"] for count in whole.values()):
        tile = ("good", "100 %", f"{shown}, {sum(c['hit'] for c in whole.values()):,} points hit")
    else:
        tile = ("warn", "0", "points: nothing was measured")
    files.sort(key=lambda file: (-file.total("missing"), file.name))
    return {
        "tile": tile,
        "files": files,
        "anchors": [("file", file.name) for file in files],
        "whole": whole,
        "missing": strings(loaded.data.get("missing")),
        "waived": {r: strings(t) for r, t in (loaded.data.get("waived") or {}).items()},
    }
