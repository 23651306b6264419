# SPDX-License-Identifier: Apache-2.0
"""A server that runs jobs in forks: each is a process of its own, and however it ends is told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from tb.runner import limits
from tb.runner.common import ROOT, RunnerError
from tb.runner.fork_host import JobHosts
from tb.runner.simulator import kill_all

#: Where this file and the project are found.
PATHS = os.pathsep.join([str(ROOT), str(Path(__file__).parent)])
#: What a simulator does: the entry point, and then, in each fork, the run.
PROGRAM = "from tb.runner.fork_server import serve_jobs\nserve_jobs()\nimport os, sys, time\n"
BODY = "exec(os.environ['RUN'])"


def execute(
    hosts: JobHosts,
    folder: Path,
    run: str,
    limit_s: float | None = 60.0,
    program: str = BODY,
    module: str = "json",
) -> tuple[int | str, str]:
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-c", PROGRAM + program]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "RUN": run, "COCOTB_TEST_MODULES": module}
    with (folder / "sim.log").open("w") as log:
        ended = hosts.execute(command, folder, env, log, limit_s)
    status = "time limit" if ended.timeout else ended.status
    return status, (folder / "sim.log").read_text()


def hosts(tmp_path: Path) -> JobHosts:
    return JobHosts(tmp_path / "hosts", most=2)


def test_a_run_has_its_own_folder_environment_and_log(tmp_path: Path) -> None:
    with closing(hosts(tmp_path)) as jobs:
        for name in ("one", "two"):
            run = f"os.environ['X'] = os.environ.get('X', '') + '{name}'; print(os.environ['X'])"
            code, log = execute(jobs, tmp_path / name, run + "; open('here', 'w')")
            assert (code, log) == (0, name + "\n")
            assert (tmp_path / name / "here").exists()


def test_runs_of_one_command_share_a_server(tmp_path: Path) -> None:
    """One of too many ends: that which was not used for longest."""
    with closing(hosts(tmp_path)) as jobs:
        servers = [
            int(execute(jobs, tmp_path, "print(os.getppid())", program=BODY + "\n" * number)[1])
            for number in (0, 0, 1, 2)
        ]
        assert servers[0] == servers[1] and len(set(servers)) == 3
        with pytest.raises(ProcessLookupError):
            os.kill(servers[0], 0)
    assert sorted(path.name for path in (tmp_path / "hosts").iterdir()) == ["1", "2", "3"]


def test_a_module_is_imported_once_and_only_if_needed(tmp_path: Path) -> None:
    show = "import sys; print('tb.runner.builds' in sys.modules)"
    with closing(hosts(tmp_path)) as jobs:
        assert execute(jobs, tmp_path, show)[1] == "False\n"
        assert execute(jobs, tmp_path, show, module="tb.runner.builds")[1] == "True\n"
        assert execute(jobs, tmp_path, show)[1] == "True\n"
        run = "import no_such_module"
        code, log = execute(jobs, tmp_path, run, module="no_such_module")
    assert code == 1
    assert "No module named 'no_such_module'" in log


@pytest.mark.parametrize(
    ("run", "status"),
    [
        ("sys.exit(3)", 3),
        ("raise ValueError", 1),
        (f"os.kill(os.getpid(), {int(signal.SIGSEGV)})", -signal.SIGSEGV),
        # It uses up its processor time.
        ("while True: pass", "time limit"),
    ],
)
def test_how_a_run_ends_is_told_and_hurts_no_other(
    tmp_path: Path, run: str, status: int | str
) -> None:
    with closing(hosts(tmp_path)) as jobs:
        ended, log = execute(jobs, tmp_path, "print('before', flush=True)\n" + run, limit_s=1)
        assert ended == status and log.startswith("before\n")
        assert execute(jobs, tmp_path, "print(1)", limit_s=None) == (0, "1\n")


def test_only_a_run_that_uses_none_is_ended_by_the_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that waits for the processor, as on a busy machine, is not stopped by its limit."""
    with closing(hosts(tmp_path)) as jobs:
        assert execute(jobs, tmp_path, "time.sleep(2.5)", limit_s=1)[0] == 0
    program = "from tb.runner import limits\nlimits.IDLE_S = 0.5\n" + PROGRAM + BODY
    with closing(hosts(tmp_path)) as jobs:
        monkeypatch.setattr(sys.modules[__name__], "PROGRAM", program)
        start = time.monotonic()
        assert execute(jobs, tmp_path, "time.sleep(100)", program="")[0] == "time limit"
        assert time.monotonic() - start < 60


def test_a_server_that_does_not_start_or_ends_names_its_log(tmp_path: Path) -> None:
    command, env = [sys.executable, "-c", "print('no')"], {"COCOTB_TEST_MODULES": "json"}
    with closing(hosts(tmp_path)) as jobs:
        with pytest.raises(RunnerError, match=r"the simulator ended; its log: .*host\.log"):
            jobs.execute(command, tmp_path, env, (tmp_path / "l").open("w"), 1)
        assert (tmp_path / "hosts" / "1" / "host.log").read_text() == "no\n"
        with pytest.raises(RunnerError, match="the simulator ended"):
            execute(jobs, tmp_path, "os.kill(os.getppid(), 9); time.sleep(1)")


def test_ctrl_c_ends_the_servers(tmp_path: Path) -> None:
    with closing(hosts(tmp_path)) as jobs, ThreadPoolExecutor(1) as pool:
        server = int(execute(jobs, tmp_path, "print(os.getppid())")[1])
        running = pool.submit(execute, jobs, tmp_path, "print(1, flush=True); time.sleep(100)")
        while (tmp_path / "sim.log").read_text() != "1\n":
            pass
        kill_all()
        with pytest.raises(RunnerError):
            running.result()
    with pytest.raises(ProcessLookupError):
        os.kill(server, 0)


def test_a_killed_worker_leaves_nothing_running(tmp_path: Path) -> None:
    """Its servers see that the other end of their pipe is closed."""
    work = (
        "import sys; from pathlib import Path; from test_fork_host import *\n"
        f"folder = Path({str(tmp_path)!r})\n"
        "execute(hosts(folder), folder, 'print(os.getpid(), os.getppid(), flush=True);'"
        "'time.sleep(100)')"
    )
    worker = subprocess.Popen(
        [sys.executable, "-c", work], cwd=ROOT, env={**os.environ, "PYTHONPATH": PATHS}
    )
    log = tmp_path / "sim.log"
    while not log.is_file() or not log.read_text().endswith("\n"):
        time.sleep(0.05)
    worker.kill()
    worker.wait()
    deadline = time.monotonic() + 60
    left = list(map(int, log.read_text().split()))
    while left and time.monotonic() < deadline:
        left = [pid for pid in left if limits.ticks(pid)]
        time.sleep(0.05)
    assert not left
