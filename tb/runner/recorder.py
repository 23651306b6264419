# SPDX-License-Identifier: Apache-2.0
"""Takes the reports of a run in the controlling process: results, final checks, closing words."""

from __future__ import annotations

import shlex
import time
from collections import Counter, defaultdict
from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest

from tb.runner import finish, negatives
from tb.runner.common import RunnerError, cpu_count, cpu_used, merge_entries, relative
from tb.runner.items import WORKER, job_facts, job_of, only, subject_of
from tb.runner.progress import Progress
from tb.runner.regress import SimRun
from tb.runner.selection import Selection
from tb.runner.store import Item, Run, revision, save
from tb.runner.tiers import Costs
from tb.runner.waves import rerun_with_waves

_ITEM = {item.name for item in fields(Item)}


def tier_of(config: pytest.Config, selection: Selection) -> str:
    """Which whole run this is, or partial."""
    option = config.option
    options = (getattr(option, name, None) for name in ("lf", "deselect", "ignore"))
    narrowed = selection.narrows or selection.coverage or option.carillon_only
    if narrowed or option.keyword or any(options):
        return "partial"
    tiers: dict[str, str] = {}
    if config.args_source == pytest.Config.ArgsSource.TESTPATHS:
        tiers = {"quick": "test", "": "nightly"}
    elif [arg.rstrip("/") for arg in config.args] == ["tb/tests"]:
        tiers = {"quick": "quick", "full": "full", "full or quick": "full", "": "full"}
    return tiers.get(option.markexpr, "partial")


@dataclass
class _Entry:
    """What is known of an item."""

    outcome: str = ""
    """Empty: it has not ended."""
    wall_s: float = 0.0
    facts: dict[str, Any] = field(default_factory=dict)

    def item(self, nodeid: str) -> Item:
        values = {key: value for key, value in self.facts.items() if key in _ITEM}
        if self.outcome in ("failed", "error"):
            cause = values.setdefault("cause", "failed")
            values.setdefault("signature", cause)
        else:
            values |= {"cause": "", "signature": "", "waves": ""}
        values["cpu_s"] = round(values.get("cpu_s", 0.0), 3)
        wall_s = round(self.wall_s, 3)
        return Item(nodeid=nodeid, outcome=self.outcome, wall_s=wall_s, **values)


class Recorder:
    """A plugin of the controlling process."""

    def __init__(self, config: pytest.Config, selection: Selection) -> None:
        self.tier = tier_of(config, selection)
        self._config = config
        self._started = datetime.now(UTC).isoformat(timespec="seconds")
        self._start = time.monotonic()
        self._wanted: set[str] = set()
        self._ended = self._interrupted = False
        self._workers_cpu_s = 0.0
        self._reports: defaultdict[str, _Entry] = defaultdict(_Entry)
        """By node."""
        self._words: list[str] = []
        self.progress = Progress(config)

    # -- what is to run ----------------------------------------------------------------------------

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if session.items:
            self._expect([item.nodeid for item in session.items])

    @pytest.hookimpl(tryfirst=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: Sequence[str]) -> None:
        del node
        if not self._wanted:
            self._expect(ids)

    def _expect(self, ids: Sequence[str]) -> None:
        self._wanted = set(ids)
        self.progress.begin(ids)

    # -- what has run ------------------------------------------------------------------------------

    def pytest_testnodedown(self, node: Any, error: object) -> None:
        del error
        self._workers_cpu_s += getattr(node, "workeroutput", {}).get("cpu_s", 0.0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        entry = self._reports[report.nodeid]
        entry.wall_s += report.duration
        entry.facts |= getattr(report, "carillon", None) or self._lost(report)
        if report.failed:
            entry.outcome = "failed" if report.when not in ("setup", "teardown") else "error"
        elif report.skipped:
            entry.outcome = "skipped"
        elif report.when == "call":
            entry.outcome = entry.outcome or "passed"
        if report.when == "call" or not report.passed:
            self.progress.ended(report, entry.facts)

    def _lost(self, report: pytest.TestReport) -> dict[str, Any]:
        """Of an item whose worker has died: what its name tells."""
        facts: dict[str, Any] = {
            "kind": "python" if ".py::" in report.nodeid else "lint",
            "subject": subject_of(report.nodeid.partition("::")[0]),
            "cause": str(report.longrepr).partition("\n")[0],
        }
        if job := job_of(report.nodeid):
            facts |= {"kind": "sim", **job_facts(job)}
        return facts

    @property
    def _measures_all(self) -> bool:
        selection, option = self._config.stash[WORKER].selection, self._config.option
        return not (
            selection.patterns or selection.build or option.keyword or getattr(option, "lf", 0)
        )

    # -- the end -----------------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        result = yield
        left = [node for node in self._wanted if not self._reports[node].outcome]
        self._ended = not (session.shouldstop or session.shouldfail or left)
        self.progress.end()
        if self._ended:
            self._check_the_whole()
        self._trace_first_failure()
        return result

    def _check_the_whole(self) -> None:
        runs: dict[str, list[SimRun]] = {"sim": [], "fault": []}
        for nodeid, entry in self._reports.items():
            facts = entry.facts
            if (job := job_of(nodeid)) and entry.outcome != "skipped":
                counts = facts.get("bins") or facts.get("counts") or {}
                run = SimRun(job, entry.outcome == "passed", counts, facts.get("cause", ""))
                runs[facts["kind"]].append(run)
        if self._config.stash[WORKER].selection.coverage:
            checks = [finish.conclude_coverage(runs["sim"], whole=self._measures_all)]
        else:
            checks, self._words = finish.conclude(self.tier, runs["sim"])
        if runs["fault"]:
            more, report = finish.conclude_faults(runs["fault"], only(self._config))
            checks, self._words = checks + more, [*self._words, report]
        for check in checks:
            self._config.hook.pytest_runtest_logreport(
                report=pytest.TestReport(
                    nodeid=check.name,
                    location=(check.name, None, check.name),
                    keywords={},
                    outcome="failed" if check.problem else "passed",
                    longrepr=check.problem or None,
                    when="call",
                    duration=check.seconds,
                    carillon={
                        "kind": check.kind,
                        "cause": check.problem.partition("\n")[0],
                        "cpu_s": check.seconds,
                        "reproduce": check.reproduce,
                    },
                )
            )
        planted = [e.facts["planted"] for e in self._reports.values() if "planted" in e.facts]
        if planted:
            known = [fault.id for fault in negatives.load_faults()]
            merge_entries(negatives.OUT, "id", planted, known)

    def _trace_first_failure(self) -> None:
        waves = self._config.option.carillon_waves
        alone = sum(job_of(nodeid) is not None for nodeid in self._wanted) == 1
        if waves == "0" or (alone and not waves):
            return
        for nodeid, entry in self._reports.items():
            job = job_of(nodeid)
            if job and entry.outcome == "failed" and entry.facts.get("traceable"):
                selection = self._config.stash[WORKER].selection
                command, words = rerun_with_waves(job, selection, self.progress.line)
                entry.facts["waves"] = command or entry.facts["waves"]
                self._words += words
                return

    @pytest.hookimpl(trylast=True)
    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Workers that were started through a batch system do not see the signal."""
        terminal: Any = self._config.pluginmanager.get_plugin("terminalreporter")
        self._interrupted = excinfo.type is KeyboardInterrupt
        if self._interrupted and terminal and not self._config.option.fulltrace:
            # In place of the line of Python that was just run.
            name = str(excinfo.value) or "Ctrl-C"
            terminal._keyboardinterrupt_memo.reprcrash.message = f"interrupted ({name})"
        session: Any = self._config.pluginmanager.get_plugin("dsession")
        for gateway in session.nodemanager.group if session else ():
            with suppress(OSError, AttributeError):
                gateway._io.popen.terminate()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        # Before the workers are waited for: their time is in what they have sent.
        own = cpu_used()
        items = [entry.item(node) for node, entry in self._reports.items() if entry.outcome]
        if not items and not self._interrupted:
            return
        found = Counter(item.outcome.replace("error", "failed") for item in items)
        count = {outcome: found[outcome] for outcome in ("passed", "failed", "skipped")}
        cpu_s = round(own + self._workers_cpu_s, 1)
        wall_s = round(time.monotonic() - self._start, 1)
        hashed, dirty = revision()
        # Without the options that make passes empty.
        words = [*map(str, self._config.invocation_params.args), "-"]
        words = [word for word, value in pairwise(words) if word and value]
        run = Run(
            started=self._started,
            command=shlex.join(["pytest", *words]),
            tier=self.tier,
            whole=self._ended and self.tier != "partial",
            revision=hashed,
            dirty=dirty,
            cores=cpu_count(),
            jobs=max(1, len(self._config.option.tx or [])),
            cpu_s=cpu_s,
            wall_s=wall_s,
            items=len(items),
            **count,
            interrupted=not self._ended,
        )
        metrics = {"cpu_s": cpu_s, "wall_s": wall_s, "items": float(len(items)), **count}
        told = f"{len(items)} item(s)"
        if not self._ended:
            told = f"{len(items)} of {len(self._wanted)} items have ended: "
            told += ", ".join(f"{number} {what}" for what, number in count.items())
        told += f"; {cpu_s:,.0f} s of processor time in {wall_s:,.0f} s"
        try:
            if items:
                told += f"; results: {relative(save(run, items, metrics))}"
            self._words.append(told)
            if self._interrupted:
                failed = "; with FAILED=1 (--lf) only what has failed" if run.failed else ""
                self._words.append(f"the same command runs all items again{failed}")
            if self._config.option.record_costs:
                self._record_costs(whole=run.whole and self.tier in ("full", "nightly"))
        except (RunnerError, OSError) as error:
            self._words.append(f"ERROR: {error}")
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR

    def _record_costs(self, *, whole: bool) -> None:
        costs: dict[str, float] = defaultdict(float)
        for entry in self._reports.values():
            if entry.outcome == "passed" and (group := entry.facts.get("group")):
                costs[group] += entry.facts.get("cpu_s", 0.0)
        Costs().record(costs, whole=whole)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Generator[None, None, None]:
        """Of failures with one cause the first is shown in full, the others are named."""
        stats: dict[str, list[Any]] = terminalreporter.stats
        alike: dict[str, list[Any]] = {}
        for report in (failed := stats.get("failed", [])):
            facts = getattr(report, "carillon", None) or {}
            alike.setdefault(facts.get("signature") or report.nodeid, []).append(report)
        if failed:
            stats["failed"] = [reports[0] for reports in alike.values()]
        yield
        if failed:
            stats["failed"] = failed
        for key, (_, *others) in alike.items():
            if others:
                terminalreporter.write_line(f"{len(others)} more with the same cause: {key}")
            for report in others[:20]:
                terminalreporter.write_line(f"  {report.carillon['reproduce']}")
        for words in self._words:
            terminalreporter.write_line(words)
