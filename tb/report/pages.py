# SPDX-License-Identifier: Apache-2.0
"""What each page shows. A builder gets the inputs and a way to make anchors; it may raise any of
``SHAPE_ERRORS``: its page then says that the file has another form than expected.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tb.report import plots
from tb.report.code import code_page
from tb.report.inputs import SHAPE_ERRORS, Inputs, Loaded, number, numbers, strings
from tb.report.runs import read_run

Content = dict[str, Any]
_PLACE = re.compile(r"([\w./-]+\.vh?):(\d{1,9})")
_GOOD, _BAD, _SKIP = "var(--good)", "var(--bad)", "var(--skip)"


def _tile(bad: int, total: int, what: str, good: str) -> tuple[str, str, str]:
    """(state, figure, words) of a check with ``bad`` failures."""
    if not total:
        return "warn", "0", f"{what}: nothing was looked at"
    return ("bad", f"{bad:,}", f"of {total:,} {what}") if bad else ("good", f"{total:,}", good)


def _index(loaded: Loaded, key: str) -> dict[str, Any]:
    """The entries of a list by name; none if it is not a list of such entries."""
    try:
        return {str(entry[key]): entry for entry in loaded.data or ()}
    except SHAPE_ERRORS:
        return {}


def whole_run(inputs: Inputs) -> Content:
    return read_run(inputs.files["regression"].data, inputs.root)


def partial_run(inputs: Inputs) -> Content:
    content = read_run(inputs.files["partial"].data, inputs.root)
    whole = inputs.files["regression"].time
    time = inputs.files["partial"].time
    # Links to tests lead to the whole run.
    return {**content, "anchors": [], "newer": whole is None or (time is not None and time > whole)}


def functional(inputs: Inputs) -> Content:
    """Bins by the part of their name ahead of the slash."""
    groups: dict[str, list[Content]] = {}
    for name, entry in inputs.files["coverage"].data.items():
        tests = Counter({str(t): int(number(n)) for t, n in (entry.get("tests") or {}).items()})
        bin_ = {
            "name": name,
            "hits": int(number(entry["hits"])),
            "requirements": strings(entry.get("requirements")),
            "tests": tests.most_common(12),
            "more": max(0, len(tests) - 12),
        }
        groups.setdefault(name.partition("/")[0], []).append(bin_)
    holes = [bin_ for own in groups.values() for bin_ in own if not bin_["hits"]]
    total = sum(map(len, groups.values()))
    tile = _tile(len(holes), total, "bins not hit", "bins, all hit")
    anchors = [("bin", bin_["name"]) for own in groups.values() for bin_ in own]
    return {"tile": tile, "groups": groups, "holes": holes, "anchors": anchors}


def requirements(inputs: Inputs) -> Content:
    data = inputs.files["traceability"].data
    proofs = _index(inputs.files["formal"], "property")
    faults = _index(inputs.files["negatives"], "id")
    rows = []
    for name, entry in data["requirements"].items():
        tests = {str(t): (int(passed), int(runs)) for t, (passed, runs) in entry["tests"].items()}
        failed = [test for test, (passed, runs) in tests.items() if passed < runs]
        failed += [p for p in entry["proofs"] if proofs.get(p, {}).get("problem")]
        failed += [f for f in entry["faults"] if faults.get(f, {}).get("problem")]
        # As the traceability check has it: a tier need not have every test of a requirement.
        open_ = not any(runs for _, runs in tests.values()) or not all(entry["bins"].values())
        rows.append(
            {
                **{key: entry[key] for key in ("bins", "faults", "proofs")},
                "name": name,
                "tests": tests,
                "state": "bad" if failed else "warn" if open_ else "good",
                "hit": sum(bool(hits) for hits in entry["bins"].values()),
                "plan": inputs.plan.get(name, []),
            }
        )
    rows.sort(key=lambda row: ("bad", "warn", "good").index(row["state"]))
    gaps = strings(data.get("gaps"))
    open_rows = sum(row["state"] != "good" for row in rows)
    tile = _tile(open_rows, len(rows), "requirements not shown", "requirements shown")
    if gaps and tile[0] == "good":
        tile = ("bad", f"{len(gaps):,}", "gaps of traceability")
    anchors = [("requirement", row["name"]) for row in rows]
    found = {"rows": rows, "gaps": gaps, "proof": proofs, "fault": faults}
    return {"tile": tile, "anchors": anchors, **found}


def code(inputs: Inputs) -> Content:
    return code_page(inputs.files["code_coverage"], inputs.source_files())


def mutants(inputs: Inputs) -> Content:
    data = inputs.files["mutation"].data
    sources = inputs.source_files()
    texts: dict[Path, list[str]] = {}

    def told(entry: Mapping[str, Any]) -> Content:
        """With the file, line and text of its place in the source."""
        match = _PLACE.search(str(entry.get("source") or ""))
        file, line = (match[1], int(match[2])) if match else ("", 0)
        if (path := sources.get(file.rpartition("/")[2])) and path not in texts:
            texts[path] = path.read_text(encoding="utf-8", errors="replace").splitlines()
        lines = texts.get(path, []) if path else []
        text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
        return {**entry, "text": text, "place": (file, line)}

    states = ("killed", "survived", "undecided", "equivalent")
    modules = {
        str(name): {s: int(number(count.get(s))) for s in states}
        for name, count in data["modules"].items()
    }
    whole = {s: sum(count[s] for count in modules.values()) for s in states}
    for count in (*modules.values(), whole):
        wanted = sum(count.values()) - count["equivalent"]
        count["rate"] = count["killed"] / wanted if wanted else 0.0  # type: ignore[assignment]
    order = sorted(modules, key=lambda n: (modules[n]["killed"] - sum(modules[n].values()), n))
    left = whole["survived"] + whole["undecided"]
    rate = f"{100 * whole['rate']:.1f} %"
    total = sum(whole[s] for s in states)
    tile = ("warn" if left or not total else "good", rate, f"killed; {left:,} of {total:,} left")
    series = {s: [modules[name][s] for name in order[:40]] for s in states}
    colours = (_GOOD, _BAD, "var(--warn)", _SKIP)
    label = "mutants by module"
    return {
        "tile": tile,
        "modules": {name: modules[name] for name in order},
        "whole": whole,
        "plot": plots.bars(order[:40], series, label, colours, True) if order else "",
        "survived": [told(entry) for entry in data.get("survivors") or ()],
        "undecided": [told(entry) for entry in data.get("undecided_mutants") or ()],
        "equivalent": [told(entry) for entry in data.get("equivalent_mutants") or ()],
        "options": {k: v for k, v in data.items() if not isinstance(v, dict | list)},
    }


def checks(
    source: str,
    is_bad: Callable[[Content], bool],
    bad: str,
    good: str,
    kind: str = "",
    key: str = "",
) -> Callable[[Inputs], Content]:
    """A builder for a list of entries that each hold or not, in words ``good`` and ``bad``.
    ``kind`` and ``key``: of their anchors.
    """

    def build(inputs: Inputs) -> Content:
        rows = [{**entry, "bad": is_bad(entry)} for entry in inputs.files[source].data]
        rows.sort(key=lambda row: not row["bad"])
        tile = _tile(sum(row["bad"] for row in rows), len(rows), bad, good)
        anchors = [(kind, str(row[key])) for row in rows if kind]
        return {"tile": tile, "rows": rows, "anchors": anchors}

    return build


def _refuted(entry: Content) -> bool:
    planted = any(fault["problem"] for fault in entry.get("planted") or ())
    failed = entry["status"] in ("FAILED", "ERROR", "TIMEOUT", "UNKNOWN")
    return bool(entry.get("problem") or planted or failed)


def _not_driven(entry: Content) -> bool:
    reachable = number(entry["transitions_reachable"])
    return not number(entry["transitions_driven"]) == reachable > 0


proofs = checks("formal", _refuted, "proofs do not hold", "proofs hold", "proof", "property")
planted = checks(
    "negatives",
    lambda entry: bool(entry["problem"]) or entry["status"] != "passed",
    "planted faults not found",
    "planted faults, all found",
    "fault",
    "id",
)
tours = checks("tours", _not_driven, "graphs not driven whole", "graphs, every transition driven")
outside = checks("faults", lambda e: not e["pass"], "faults not contained", "faults contained")


def soak(inputs: Inputs) -> Content:
    data = inputs.files["soak"].data
    wrong, done = int(number(data["mismatches"])), int(number(data["completions"]))
    tile = ("bad", f"{wrong:,}", "mismatches") if wrong else ("good", f"{done:,}", "completions")
    return {"tile": tile, "data": data, "failures": list(data.get("failures") or ())}


def rates(inputs: Inputs) -> Content:
    """Any file of numbers: flat, or with ``metrics`` and more."""
    history: dict[str, list[float]] = {}
    for row in (inputs.files["history"].data or {}).get("metrics", ()):
        history.setdefault(str(row["name"]), []).append(number(row["value"]))
    parts, count = [], 0
    for name in ("bench", "bench_tb", "synth", "regression"):
        loaded = inputs.files[name]
        data = loaded.data if isinstance(loaded.data, dict) else {}
        metrics = numbers(data.get("metrics", data))
        rest = {k: v for k, v in data.items() if k not in ("metrics", "items") and k not in metrics}
        courses = {
            n: plots.sparkline(history[n][-60:], f"course of {n}") for n in metrics if n in history
        }
        more = json.dumps(rest, indent=1, ensure_ascii=False)[:20_000] if rest else ""
        parts.append({"file": loaded, "metrics": metrics, "courses": courses, "more": more})
        # A run of the regression measures nothing but its own cost.
        count += len(metrics) if name != "regression" else 0
    tile = ("good" if inputs.files["bench"].ok else "warn", f"{count:,}", "numbers measured")
    return {"tile": tile, "parts_": parts}


def history(inputs: Inputs) -> Content:
    data = inputs.files["history"].data
    runs = data["runs"]
    labels = [f"{run['id']} ({str(run['started'])[5:10]})" for run in runs]
    tiers = list(dict.fromkeys(str(run["tier"]) for run in runs if run["whole"]))
    cost = {
        tier: [number(r["cpu_s"]) if r["whole"] and r["tier"] == tier else None for r in runs]
        for tier in tiers
    }
    failed = [number(run["failed"]) for run in runs]
    courses: dict[str, list[float]] = {}
    for row in data["metrics"]:
        courses.setdefault(str(row["name"]), []).append(number(row["value"]))
    shown = []
    if runs:
        bars = plots.bars(labels, {"failed": failed}, "failures of each run", (_BAD,))
        shown = [
            ("Processor seconds of whole runs", plots.lines(labels, cost, "cost of whole runs")),
            ("Failures of each run", bars),
        ]
    bad = int(number(runs[-1]["failed"])) if runs else 0
    recent = "run" if len(runs) == 1 else "runs"
    recent += f"; {bad:,} failures in the last" if bad else " recorded"
    return {
        "tile": ("bad" if bad else "good" if runs else "warn", f"{len(runs):,}", recent),
        "plots": shown,
        "runs": list(reversed(runs)),
        "failing": data["failing"],
        "courses": {n: (v, plots.sparkline(v[-60:], f"course of {n}")) for n, v in courses.items()},
    }


@dataclass(frozen=True)
class Page:
    """A page, and the file without which it has nothing to show."""

    name: str
    title: str
    build: Callable[[Inputs], Content]
    source: str
    short: str = ""
    """Its title in the list of pages."""
    template: str = ""


PAGES = (
    Page("tests", "Tests", whole_run, "regression", template="run"),
    Page("partial", "Partial run", partial_run, "partial", template="run"),
    Page("requirements", "Requirements", requirements, "traceability"),
    Page("functional", "Functional coverage", functional, "coverage", "Bins"),
    Page("code", "Code coverage", code, "code_coverage", "Code"),
    Page("mutants", "Mutants", mutants, "mutation"),
    Page("proofs", "Proofs", proofs, "formal"),
    Page("planted", "Planted faults", planted, "negatives", "Planted"),
    Page("tours", "Tours", tours, "tours"),
    Page("outside", "Faults around the engine", outside, "faults", "Outside"),
    Page("soak", "Soak", soak, "soak"),
    Page("rates", "Rates and area", rates, "", "Rates"),
    Page("history", "History", history, "history"),
)
