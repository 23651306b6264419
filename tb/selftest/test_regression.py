# SPDX-License-Identifier: Apache-2.0
"""The regression tool on pytest: what a command line selects, how items are handed out, and that
no result is lost, counted twice or taken for a whole one.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from tb.runner import recorder, regress
from tb.runner.builds import BuildConfig
from tb.runner.common import ROOT, RunnerError, write_whole
from tb.runner.discover import Module
from tb.runner.items import job_of, subject_of
from tb.runner.plugin import _check_names, _Scheduler
from tb.runner.recorder import tier_of
from tb.runner.selection import Selection, choose_tier, choose_workers, read_selection
from tb.runner.simulator import execute
from tb.runner.store import Item, Run, revision, save
from tb.runner.tiers import Costs, check_tiers

NODE = "tb/tests/arm/test_arm.py::ArmTypeTest[default-verilator-1]"
DEFAULTS = {
    **dict.fromkeys(("test", "seed", "seeds", "sim", "build", "tier", "cpu_limit", "jobs"), ""),
    **dict.fromkeys(("cluster", "cluster_wait", "only", "waves"), ""),
}


class FakeConfig:
    """As much of pytest's configuration as the options need."""

    def __init__(self, args: str = "", **options: Any) -> None:
        source = pytest.Config.ArgsSource
        self.args_source = source.ARGS if args else source.TESTPATHS
        self.args = args.split()
        named = {f"carillon_{key}": options.pop(key, value) for key, value in DEFAULTS.items()}
        plain = {"lf": False, "keyword": "", "markexpr": "", "code_coverage": False}
        self.option = Namespace(**named, **plain | options, numprocesses=None, dist="no", tx=[])
        self.option.maxworkerrestart = None

    def getoption(self, name: str) -> Any:
        return getattr(self.option, name)


@pytest.mark.parametrize(
    "options, why",
    [
        ({"seed": "²"}, "SEED=²: must be a whole number from 1 to 2147483647"),
        ({"seed": "2147483648"}, "SEED=2147483648: must be"),
        ({"seed": "0"}, "SEED=0: must be"),
        ({"seeds": "1-100000000000"}, "SEEDS=1-100000000000: write"),
        ({"seed": "1", "seeds": "3"}, "SEED=1 and SEEDS=3: give one"),
        ({"cpu_limit": "-1"}, "TIMEOUT=-1: must be"),
        ({"sim": "vcs"}, "SIM=vcs: choose"),
        ({"jobs": "²"}, "JOBS=²: must be"),
        ({"jobs": "9" * 5000}, r"JOBS=9{20}\.\.\.: must be"),
        ({"cluster": "srn -n1", "jobs": "2"}, "CLUSTER=srn -n1: no such command"),
        ({"cluster": "env 'a"}, "CLUSTER=env 'a: No closing quotation"),
        ({"cluster": "env A=//"}, "CLUSTER=env A=//: must not contain //"),
        ({"cluster_wait": "0"}, "CLUSTER_WAIT=0: must be"),
        ({"tier": "quik"}, "tier quik: choose"),
    ],
)
def test_mistakes_are_told_in_one_line(options: dict[str, str], why: str) -> None:
    config: Any = FakeConfig(**options)
    with pytest.raises(RunnerError, match=f"^(--)?{why}.{{0,200}}$"):
        choose_tier(config, read_selection(config))
        choose_workers(config)


@pytest.mark.parametrize(
    "args, options, marks, tier",
    [
        ("", {}, "quick", "test"),
        ("", {"keyword": "Arm"}, "", "partial"),
        ("", {"tier": "nightly"}, "", "nightly"),
        ("tb/tests", {"tier": "quick"}, "quick", "quick"),
        ("tb/tests/", {"tier": "full"}, "full or quick", "full"),
        ("tb/tests", {}, "", "full"),
        ("tb/tests", {"tier": "quick", "seed": "7"}, "", "partial"),
        ("tb/tests", {"tier": "quick", "lf": True}, "", "partial"),
        ("tb/tests", {"tier": "quick", "markexpr": "full and not quick"}, None, "partial"),
        ("tb/tests", {"code_coverage": True}, "", "partial"),
        (NODE, {}, "", "partial"),
    ],
)
def test_tiers_are_marks(args: str, options: Any, marks: str | None, tier: str) -> None:
    config: Any = FakeConfig(args, **options)
    selection = read_selection(config)
    choose_tier(config, selection)
    if marks is not None:
        assert config.option.markexpr == marks
    assert tier_of(config, selection) == tier


@pytest.mark.parametrize(
    "args, names, why",
    [
        ("formal", "arm_trace,arm_trce", r"PROOF=arm_trce: no such name \(nearest: .*; formal has"),
        ("tb/faults", "nope", "FAULT=nope: no such name; tb/faults has all"),
        ("tb/tests/campaigns/faults.yaml", "nope", "FAULT=nope: .*; tb/tests/campaigns/"),
        ("", "nope", "--only=nope: no such name; formal, tb/faults, "),
    ],
)
def test_a_name_that_only_does_not_know(args: str, names: str, why: str) -> None:
    config: Any = FakeConfig(args, only=names)
    with pytest.raises(RunnerError, match=f"^{why}"):
        _check_names(config)


def test_a_batch_system_starts_the_workers() -> None:
    config: Any = FakeConfig(jobs="64", cluster="env -u NAME 'A=a b'")
    choose_workers(config)
    python = Path(sys.prefix) / "bin" / "python"
    words = f"env -u NAME 'A=a b' {python}"
    assert config.option.tx == [f"64*popen//python={words}"]
    assert (config.option.dist, config.option.numprocesses) == ("load", None)


def test_ids() -> None:
    job = job_of(NODE)
    assert job and job.id == "test_arm.ArmTypeTest[default-verilator-1]"
    module = Module("tb.tests.arm.test_arm", "test_arm", ("ArmTypeTest",))
    assert job_of(NODE, module) == job
    assert job_of(NODE, replace(module, tests=("Other",))) is None
    assert job_of("tb/selftest/test_x.py::test_y[a-b]") is None
    assert subject_of("tb/tests/keys/test_x.py") == "keys" != subject_of("tb/selftest/test_x.py")


def test_items_are_collected_without_a_simulator(tmp_path: Path) -> None:
    def pytest_says(*words: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "pytest", "--collect-only"]
        done = subprocess.run(
            [*command, *words], cwd=ROOT, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout + done.stderr

    code, said = pytest_says("--test", "test_smoke", "--seeds", "5,2000000000")
    assert code == 0 and "faults.yaml" not in said, said
    assert "::SmokeTest[default-verilator-5]\n" in said
    assert "::SmokeTest[default-verilator-2000000000]\n" in said
    code, said = pytest_says("tb/selftest/test_add_a_verb.py", "-m", "quick")
    assert "::test_model\n" in said and "::test_lint\n" not in said, said
    failed = dict.fromkeys((NODE, "tb/selftest/test_house.py::test_over_the_target_is_told"), True)
    write_whole(tmp_path / "v" / "cache" / "lastfailed", json.dumps(failed))
    paths = ("tb/selftest/test_house.py", "tb/tests/arm", "-o", f"cache_dir={tmp_path}")
    _, said = pytest_says("--lf", *paths)
    assert all(f"{name}\n" in said for name in failed), said
    code, said = pytest_says("--test", "tst_smoke")
    assert code == pytest.ExitCode.USAGE_ERROR
    assert said.strip().startswith("ERROR: TEST=tst_smoke: no such test (nearest: test_smoke")
    assert len(said.strip().splitlines()) == 1


# -- handing out -----------------------------------------------------------------------------------


class Node:
    """A worker that takes items and ends none."""

    shutting_down = False
    gateway = Namespace(id="gw")

    def __init__(self) -> None:
        self.sent: list[int] = []

    def send_runtest_some(self, indices: list[int]) -> None:
        self.sent += indices

    def shutdown(self) -> None:
        self.shutting_down = True


def handing_out(ids: list[str], workers: int) -> tuple[_Scheduler, Callable[[], Node]]:
    """A scheduler, and what adds a worker to it."""
    config: Any = FakeConfig()
    config.option.tx = ["popen"] * workers
    config.getvalue = config.getoption
    scheduler = _Scheduler(config, None)

    def add() -> Node:
        node = Node()
        scheduler.add_node(node)
        scheduler.add_node_collection(node, ids)
        return node

    return scheduler, add


def test_longest_first_and_a_crashed_item_is_not_begun_again() -> None:
    ids = [f"tb/tests/test_t.py::T[default-verilator-{n}]" for n in range(1, 9)]
    ids += [f"models/tests/test_m.py::test_{n}" for n in range(4)]
    scheduler, add = handing_out(ids, 2)
    first, second = add(), add()
    scheduler.schedule()
    assert (first.sent, second.sent) == ([0, 2], [1, 3])
    scheduler.mark_test_complete(first, 0, 0.1)
    assert first.sent == [0, 2, 4]
    assert scheduler.remove_node(first) == ids[2]
    nodes = [second, add()]
    scheduler.schedule()
    for _ in ids:
        for node in nodes:
            work = scheduler.assigned_work[node]
            left = [i for i in node.sent if not work[scheduler._split_scope(ids[i])][ids[i]]]
            if left:
                scheduler.mark_test_complete(node, left[0], 0.1)
    ran = nodes[0].sent + nodes[1].sent
    assert sorted([0, 2, *ran]) == list(range(len(ids))), "nothing lost, nothing twice"
    python = [node for node in nodes if set(node.sent) & {8, 9, 10, 11}]
    assert len(python) == 1, "tests of one file may share what they make"


def test_a_worker_in_the_place_of_the_only_one_goes_on() -> None:
    """It begins an item when it knows the next one."""
    ids = [f"tb/tests/test_t.py::T[default-verilator-{n}]" for n in range(1, 6)]
    scheduler, add = handing_out(ids, 1)
    first = add()
    scheduler.schedule()
    assert len(first.sent) == 2 and scheduler.remove_node(first) == ids[0]
    second = add()
    scheduler.schedule()
    assert len(second.sent) == 2


# -- keeping results -------------------------------------------------------------------------------

RUN = Run(
    "2026-01-01T00:00:00+00:00", "pytest", "full", True, "", False, 2, 2, 9.0, 5.0, 1, 1, 0, 0
)
ITEM = Item(NODE, "sim", "passed", "arm", "test_arm.ArmTypeTest", "default", "verilator", 1)


def test_a_partial_run_leaves_the_whole_one(tmp_path: Path) -> None:
    history = tmp_path / "history"
    history.mkdir()
    base = sqlite3.connect(history / "history.db")
    names = [field.name for field in fields(Run) if field.name != "interrupted"]  # an old one
    base.execute(f"CREATE TABLE runs(id INTEGER PRIMARY KEY, {', '.join(names)})")
    whole = save(RUN, [ITEM], {"cpu_s": 9.0}, tmp_path, history)
    before = whole.read_text()
    partial = replace(RUN, whole=False, tier="partial", interrupted=True)
    other = save(partial, [replace(ITEM, outcome="failed")], {}, tmp_path, history)
    assert (whole.name, other.name) == ("regression.json", "partial.json")
    assert whole.read_text() == before
    assert [Item(**item) for item in json.loads(before)["items"]] == [ITEM]
    assert json.loads(before)["metrics"] == {"cpu_s": 9.0}
    runs = base.execute("SELECT id, tier, whole, interrupted FROM runs").fetchall()
    assert runs == [(1, "full", 1, 0), (2, "partial", 0, 1)]
    items = base.execute("SELECT run, seed, outcome FROM items").fetchall()
    assert items == [(1, 1, "passed"), (2, 1, "failed")]


def test_an_interrupted_run_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """What had not ended is no result; one message says where it stood."""
    saved: list[Any] = []
    monkeypatch.setattr(recorder, "save", lambda *told: saved.append(told) or ROOT / "a.json")  # type: ignore[func-returns-value]
    config: Any = FakeConfig(NODE, fulltrace=False, record_costs=False)
    memo = Namespace(reprcrash=Namespace(message="common.py:58"))
    plugins = {"terminalreporter": Namespace(_keyboardinterrupt_memo=memo)}
    config.pluginmanager = Namespace(get_plugin=plugins.get)
    config.invocation_params = Namespace(args=["tb/tests", "--seed", "", "--jobs", "1"])
    told = recorder.Recorder(config, Selection())
    told._expect(["a.py::a", "a.py::b", "a.py::c"])
    for words in ("a call passed", "b call failed", "c setup passed"):
        name, when, outcome = words.split()
        report: Any = pytest.TestReport(f"a.py::{name}", ("", 0, ""), {}, outcome, None, when)  # type: ignore[arg-type]
        told.pytest_runtest_logreport(report)
    with pytest.raises(KeyboardInterrupt) as caught:
        raise KeyboardInterrupt("SIGTERM")
    told.pytest_keyboard_interrupt(caught)
    told.pytest_sessionfinish(Namespace())  # type: ignore[arg-type]
    (run, items, _) = saved[0]
    assert (run.interrupted, run.whole, run.command) == (True, False, "pytest tb/tests --jobs 1")
    assert [item.outcome for item in items] == ["passed", "failed"]
    assert memo.reprcrash.message == "interrupted (SIGTERM)"
    assert told._words[0].startswith("2 of 3 items have ended: 1 passed, 1 failed, 0 skipped; ")
    assert "FAILED=1" in told._words[1]


def test_new_files_that_runs_read_are_changes(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*.pyc\n")
    commit = "-c user.name=a -c user.email=a commit -m a"
    for words in ("init", "add .gitignore", commit):
        subprocess.run(["git", *words.split()], cwd=tmp_path, check=True, capture_output=True)
    for file, dirty in (("a", False), ("tb/b.pyc", False), ("docs/a.md", False), ("tb/a.py", True)):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).touch()
        assert revision(tmp_path)[1] == dirty, file


def test_what_cannot_be_written_leaves_what_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "regression.json"
    write_whole(path, "old")

    def full(self: Path, text: str) -> int:
        self.touch()
        raise OSError(28, "No space left on device", text[:1])

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(RunnerError, match=r"could not be written: .*No space left"):
        save(RUN, [ITEM], {}, tmp_path, tmp_path / "history")
    monkeypatch.undo()
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir() if p.is_file()] == ["regression.json"]


def test_costs(tmp_path: Path) -> None:
    costs = Costs(tmp_path / "costs.json")
    costs.record({"test_a.A[b-verilator-1]": 1.234, "models/tests/test_x.py": 2}, whole=True)
    costs = Costs(tmp_path / "costs.json")
    assert costs.of("test_a.A[b-verilator-1]") == costs.of("test_a.A[b-verilator-7]") == 1.23
    assert costs.of("test_a.B[b-verilator-1]") is None
    costs.record({"test_a.B[b-verilator-1]": 3}, whole=False)
    assert len(json.loads((tmp_path / "costs.json").read_text())) == 3
    (tmp_path / "costs.json").write_text("[]")
    with pytest.raises(RunnerError, match=r"costs\.json"):
        Costs(tmp_path / "costs.json")


def test_tiers(tmp_path: Path) -> None:
    path = tmp_path / "tiers.yaml"
    path.write_text("quick:\n  - test_a.A[b-verilator-1]\n")
    with pytest.raises(RunnerError, match="no such job: test_a"):
        check_tiers(["test_a.B[b-verilator-1]"], path)


# -- builds and processes --------------------------------------------------------------------------


def test_an_interrupted_build_leaves_nothing_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command in the middle of a build is killed with all that it has started."""
    mark = tmp_path / "mark"

    def build(*_: object) -> bool:
        script = f"sleep 1000 & echo $! > {mark}; wait"
        with (tmp_path / "log").open("w") as log:
            execute(["bash", "-c", script], tmp_path, os.environ, log, None)
        return True

    def told(_: str) -> None:
        if mark.is_file() and mark.read_text().strip():
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(regress, "build", build)
    monkeypatch.setattr(regress, "_TELL_S", 0.1)
    # What runs in the background of a shell ignores the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            regress.make_builds([(BuildConfig(name="a"), "verilator")], told=told)
    finally:
        signal.signal(signal.SIGINT, before)
    status = Path(f"/proc/{mark.read_text().strip()}/stat")
    deadline = time.monotonic() + 30
    while status.exists() and " Z " not in status.read_text():
        assert time.monotonic() < deadline, "still running"
        time.sleep(0.05)


def test_a_failed_build_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def build(config: BuildConfig, *_: object) -> bool:
        if config.name == "bad":
            raise RunnerError("syntax error")
        return True

    monkeypatch.setattr(regress, "build", build)
    lines: list[str] = []
    wanted = [(BuildConfig(name=name), "verilator") for name in ("bad", "good")]
    errors = regress.make_builds(wanted, told=lines.append)
    assert errors == {("verilator", "bad"): "syntax error"}
    assert any("good (verilator): built" in line for line in lines)
