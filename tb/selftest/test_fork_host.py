# SPDX-License-Identifier: Apache-2.0
"""A server that runs jobs in forks: each is a process of its own, and however it ends is told."""

from __future__ import annotations

import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tb.runner.common import ROOT, RunnerError
from tb.runner.fork_host import JobHosts
from tb.runner.simulator import TimedOutError, kill_all

#: What a simulator does: the entry point, and then, in each fork, the run.
PROGRAM = "from tb.runner.fork_server import serve_jobs\nserve_jobs()\nimport os, sys, time\n"
BODY = "exec(os.environ['RUN'])"


def execute(
    hosts: JobHosts, folder: Path, run: str, limit_s: float | None = 60.0, program: str = BODY
) -> tuple[int, str]:
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-c", PROGRAM + program]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "RUN": run}
    with (folder / "sim.log").open("w") as log:
        code = hosts.execute(command, folder, env, log, limit_s)
    return code, (folder / "sim.log").read_text()


def hosts(tmp_path: Path, *modules: str) -> JobHosts:
    return JobHosts(modules or ("json",), tmp_path / "hosts")


def test_a_run_has_its_own_folder_environment_and_log(tmp_path: Path) -> None:
    with hosts(tmp_path) as jobs:
        for name in ("one", "two"):
            run = f"os.environ['X'] = os.environ.get('X', '') + '{name}'; print(os.environ['X'])"
            code, log = execute(jobs, tmp_path / name, run + "; open('here', 'w')")
            assert (code, log) == (0, name + "\n")
            assert (tmp_path / name / "here").exists()


def test_runs_of_one_command_share_a_server(tmp_path: Path) -> None:
    with hosts(tmp_path) as jobs:
        parents = [execute(jobs, tmp_path, "print(os.getppid())")[1] for _ in range(2)]
        assert parents[0] == parents[1]
        _, other = execute(jobs, tmp_path, "print(os.getppid())", program=BODY + "\n")
        assert other != parents[0]
    assert sorted(path.name for path in (tmp_path / "hosts").iterdir()) == ["0", "1"]


def test_the_bench_is_imported_once_before(tmp_path: Path) -> None:
    with hosts(tmp_path, "tb.runner.builds", "no_such_module") as jobs:
        _, log = execute(jobs, tmp_path, "print('tb.runner.builds' in sys.modules)")
        assert log == "True\n"
        code, log = execute(jobs, tmp_path, "import no_such_module")
    assert code == 1
    assert "No module named 'no_such_module'" in log


@pytest.mark.parametrize(
    ("run", "code"),
    [
        ("sys.exit(3)", 3),
        ("raise ValueError", 1),
        (f"os.kill(os.getpid(), {int(signal.SIGSEGV)})", -signal.SIGSEGV),
    ],
)
def test_how_a_run_ends_is_told_and_hurts_no_other(tmp_path: Path, run: str, code: int) -> None:
    with hosts(tmp_path) as jobs:
        assert execute(jobs, tmp_path, run)[0] == code
        assert execute(jobs, tmp_path, "print(1)") == (0, "1\n")


def test_a_run_that_hangs_is_ended(tmp_path: Path) -> None:
    with hosts(tmp_path) as jobs:
        with pytest.raises(TimedOutError):
            execute(jobs, tmp_path, "print('before', flush=True); time.sleep(100)", limit_s=0.5)
        assert (tmp_path / "sim.log").read_text() == "before\n"
        assert execute(jobs, tmp_path, "print(1)", limit_s=None) == (0, "1\n")


def test_many_at_once(tmp_path: Path) -> None:
    with hosts(tmp_path) as jobs, ThreadPoolExecutor(8) as pool:
        codes = pool.map(
            lambda n: execute(jobs, tmp_path / str(n), f"print({n}); sys.exit({n})"), range(40)
        )
        assert list(codes) == [(n, f"{n}\n") for n in range(40)]


def test_a_server_that_does_not_start_or_ends_names_its_log(tmp_path: Path) -> None:
    with hosts(tmp_path) as jobs:
        with pytest.raises(RunnerError, match=r"the simulator ended; its log: .*host\.log"):
            jobs.execute(
                [sys.executable, "-c", "print('no')"], tmp_path, {}, (tmp_path / "l").open("w"), 1
            )
        assert (tmp_path / "hosts" / "0" / "host.log").read_text() == "no\n"
        with pytest.raises(RunnerError, match="the simulator ended"):
            execute(jobs, tmp_path, "os.kill(os.getppid(), 9); time.sleep(1)")


def test_ctrl_c_ends_the_servers(tmp_path: Path) -> None:
    with hosts(tmp_path) as jobs, ThreadPoolExecutor(1) as pool:
        server = int(execute(jobs, tmp_path, "print(os.getppid())")[1])
        running = pool.submit(execute, jobs, tmp_path, "print(1, flush=True); time.sleep(100)")
        while (tmp_path / "sim.log").read_text() != "1\n":
            pass
        kill_all()
        with pytest.raises(RunnerError):
            running.result()
    with pytest.raises(ProcessLookupError):
        os.kill(server, 0)
