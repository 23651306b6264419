# SPDX-License-Identifier: Apache-2.0
"""Makes pytest the regression tool: collects simulations, proofs, lint and planted faults, builds
what they need, runs them and keeps their results (docs/regression.md).
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from tb.runner.builds import get_build, load_builds
from tb.runner.cluster import Starter
from tb.runner.code_report import discard
from tb.runner.common import (
    RunnerError,
    cpu_used,
    interruptible,
    locked,
    nearest,
    prepare_environment,
    relative,
)
from tb.runner.discover import Job, find_modules
from tb.runner.faults import load_rows
from tb.runner.items import (
    WORKER,
    CheckFile,
    CheckItem,
    Worker,
    file_of,
    is_sim_file,
    job_of,
    only,
    sim_file,
    subject_of,
)
from tb.runner.negatives import load_faults
from tb.runner.proofs import load_proofs
from tb.runner.recorder import Recorder
from tb.runner.regress import make_builds
from tb.runner.selection import (
    add_options,
    choose_tier,
    choose_workers,
    read_selection,
    start_limit,
)
from tb.runner.simulator import kill_all
from tb.runner.store import HISTORY
from tb.runner.tiers import TIERS, Costs

_MARKS = (
    "quick: what `make sim` and `make test` run: tb/tiers.yaml, quick proofs, lint, and Python "
    "tests without a mark",
    "full: every test, seed, build and simulator that the tests declare; every proof",
    "nightly: proofs and tests with planted faults, besides all others",
)
_LOCKS: pytest.StashKey[ExitStack] = pytest.StashKey()


def is_worker(config: pytest.Config) -> bool:
    """Whether this process was started by pytest-xdist."""
    return hasattr(config, "workerinput")


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


@contextmanager
def _one_line() -> Generator[None, None, None]:
    """A mistake on the command line is told in one line."""
    try:
        yield
    except RunnerError as error:
        raise pytest.UsageError(str(error)) from None


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Before pytest-xdist looks at its options."""
    with _one_line():
        selection = read_selection(config)
        choose_tier(config, selection)
        if not is_worker(config):
            selection.check()
            _check_names(config)
            choose_workers(config)


def pytest_configure(config: pytest.Config) -> None:
    for mark in _MARKS:
        config.addinivalue_line("markers", mark)
    if config.option.help or config.option.version:
        return
    prepare_environment()
    with _one_line():
        selection = read_selection(config)
        name = config.workerinput["workerid"] if is_worker(config) else "main"  # type: ignore[attr-defined]
        config.stash[WORKER] = Worker(selection, f"{name}-{os.getpid()}")
    interruptible()
    if is_worker(config):
        return
    config.stash[_LOCKS] = ExitStack()
    if not config.option.collectonly:
        recorder = Recorder(config, selection)
        config.pluginmanager.register(recorder, "carillon-recorder")
        if recorder.tier != "partial":
            waits = "another whole run works in this checkout: waiting for its end"
            config.stash[_LOCKS].enter_context(locked(HISTORY, waits))


def pytest_unconfigure(config: pytest.Config) -> None:
    if worker := config.stash.get(WORKER, None):
        worker.hosts.close()
    kill_all()
    if locks := config.stash.get(_LOCKS, None):
        locks.close()


# -- collection ------------------------------------------------------------------------------------


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    with _one_line():
        return file_of(file_path, parent)


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> Any:
    if not is_sim_file(module_path):
        return None
    return CheckFile.from_parent(parent, path=module_path, make=sim_file)


def _group(item: pytest.Item) -> str:
    """What runs on one worker, and has one recorded cost: tests of a file may share what they
    make.
    """
    return item.group if isinstance(item, CheckItem) else item.nodeid.partition("::")[0]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Longest first; what has no recorded cost may be longest."""
    for item in items:
        later = any(item.get_closest_marker(tier) for tier in TIERS[1:])
        if not isinstance(item, CheckItem) and not later:
            item.add_marker("quick")
            item.add_marker("full")
    _keep_only(config, items)
    with _one_line():
        costs = Costs()
    keys = {group: costs.of(group) for group in map(_group, items)}
    items.sort(key=lambda item: -c if (c := keys[_group(item)]) is not None else float("-inf"))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> Generator[None]:
    """With --lfnf=none exactly what failed last runs, if that is nothing, too: pytest itself runs
    everything where no item that failed last is selected.
    """
    options = session.config.option
    if getattr(options, "lf", False) and options.last_failed_no_failures == "none":
        failed = session.config.cache.get("cache/lastfailed", {}) if session.config.cache else {}
        session.items[:] = [item for item in session.items if item.nodeid in failed]
    return (yield)


def _check_names(config: pytest.Config) -> None:
    """What --only names is a proof, a planted or an external fault, whichever the paths have."""
    if not only(config):
        return
    kinds: dict[str, tuple[str, Callable[[], Iterable[Any]]]] = {
        "formal": ("PROOF", load_proofs),
        "tb/faults": ("FAULT", load_faults),
        "tb/tests/campaigns/faults.yaml": ("FAULT", lambda: load_rows(find_modules())),
    }
    chosen = [path for path in kinds if path in config.args] or list(kinds)
    variable = kinds[chosen[0]][0] if len(chosen) == 1 else "--only"
    known = [one.id for path in chosen for one in kinds[path][1]()]
    for pattern in only(config):
        if not fnmatch.filter(known, pattern):
            text = f"no such name{nearest(pattern, known)}; {', '.join(chosen)} has all"
            raise RunnerError(f"{variable}={pattern}: {text}")


def _keep_only(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Proofs and planted faults by name; external faults are chosen by their file."""
    patterns = only(config)
    if not patterns or any(isinstance(i, CheckItem) and i.facts["kind"] == "fault" for i in items):
        return
    chosen = [
        item
        for item in items
        if any(fnmatch.fnmatchcase(item.name.partition("[")[0], p) for p in patterns)
    ]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen


# -- builds ----------------------------------------------------------------------------------------


def _build(config: pytest.Config, nodeids: Iterable[str]) -> None:
    """Makes every build that these items need, before they run."""
    jobs: list[Job] = [job for nodeid in nodeids if (job := job_of(nodeid))]
    if not jobs or config.option.collectonly:
        return
    terminal = config.pluginmanager.get_plugin("terminalreporter")

    def told(line: str) -> None:
        if terminal:
            terminal.ensure_newline()
            terminal.write_line(line)
            terminal.flush()

    builds, selection = load_builds(), config.stash[WORKER].selection
    if selection.coverage:
        discard(jobs, whole=not selection.patterns and not selection.build)
    with _one_line():
        wanted = [
            (selection.config(get_build(builds, name, sim)), sim)
            for sim, name in dict.fromkeys((job.sim, job.build) for job in jobs)
        ]
    for error in make_builds(wanted, told=told).values():
        told(error)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Without pytest-xdist; with it the first collection of a worker says what is needed."""
    if session.config.option.dist == "no" and not is_worker(session.config):
        _build(session.config, (item.nodeid for item in session.items))


class _Distributed:
    """Hooks of pytest-xdist in the controlling process."""

    def __init__(self) -> None:
        self._ready = False

    def pytest_xdist_setupnodes(self, config: pytest.Config, specs: Sequence[Any]) -> None:
        """Workers of a cluster start side by side, within a limit."""
        launcher = config.getoption("carillon_cluster").strip()
        if not launcher:
            return
        session: Any = config.pluginmanager.get_plugin("dsession")
        group = session.nodemanager.group
        starter = Starter(group, launcher, start_limit(config))

        def make(spec: Any) -> Any:
            with _one_line():
                return starter(spec)

        group.makegateway = make
        starter.begin(specs)

    def pytest_xdist_node_collection_finished(self, node: Any, ids: Sequence[str]) -> None:
        if not self._ready:
            self._ready = True
            _build(node.config, ids)

    @pytest.hookimpl(tryfirst=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        return _Scheduler(config, log) if config.getvalue("dist") == "load" else None


def pytest_plugin_registered(plugin: Any, manager: pytest.PytestPluginManager) -> None:
    if type(plugin).__name__ == "DSession" and not manager.has_plugin("carillon-distributed"):
        manager.register(_Distributed(), "carillon-distributed")
        # "bringing up nodes...", again and again, is all that it says with -q.
        plugin.trdist.ensure_show_status = lambda: None


class _Scheduler(LoadScopeScheduling):  # type: ignore[misc]
    """Hands out items in their order, one at a time; Python tests of a file go to one worker."""

    def __init__(self, config: pytest.Config, log: Any) -> None:
        super().__init__(config, log)
        self.config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        path, _, rest = nodeid.partition("::")
        single = job_of(nodeid) or not path.endswith(".py")
        return nodeid if single or not rest else path

    def schedule(self) -> None:
        """A worker begins an item when it knows the next one: one that takes the place of another
        needs two, as all have at the start.
        """
        started = self.collection is not None
        super().schedule()
        for node in self.nodes if started else ():
            if self._pending_of(self.assigned_work[node]) == 1:
                self._reschedule(node)

    def remove_node(self, node: Any) -> str | None:
        """The item that a crashed worker had begun is not begun again by another one."""
        units = self.assigned_work[node]
        begun = next((i for unit in units.values() for i, done in unit.items() if not done), None)
        # Units without anything left to do would be handed out, too.
        units = {
            scope: {nodeid: done for nodeid, done in unit.items() if not done and nodeid != begun}
            for scope, unit in units.items()
        }
        self.assigned_work[node] = {scope: unit for scope, unit in units.items() if unit}
        super().remove_node(node)
        return begun


# -- reports ---------------------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, object, object]:
    del nextitem
    if not isinstance(item, CheckItem):
        facts = {"kind": "python", "subject": subject_of(relative(item.path))}
        item.stash[_FACTS] = {**facts, "reproduce": f".venv/bin/pytest '{item.nodeid}'"}
    item.stash[_BEGUN] = cpu_used()
    return (yield)


_FACTS: pytest.StashKey[dict[str, Any]] = pytest.StashKey()
_BEGUN: pytest.StashKey[float] = pytest.StashKey()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attributes of a report travel with it from worker to controlling process."""
    report = yield
    facts = item.facts if isinstance(item, CheckItem) else item.stash[_FACTS]
    if call.when == "call" and "cpu_s" not in facts:
        facts["cpu_s"] = cpu_used() - item.stash[_BEGUN]
    if call.excinfo is not None and report.failed and "cause" not in facts:
        facts["cause"] = call.excinfo.exconly(tryshort=True).partition("\n")[0]
    report.carillon = {**facts, "group": _group(item)}  # type: ignore[attr-defined]
    return report


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    config = session.config
    if is_worker(config):
        config.stash[WORKER].hosts.close()
        config.workeroutput["cpu_s"] = cpu_used()  # type: ignore[attr-defined]
