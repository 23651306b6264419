# SPDX-License-Identifier: Apache-2.0
"""Workers through a batch system: a real Slurm of one node (scripts/slurm_local.sh), workers that
are killed, launchers that fail or wait.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tb.runner import cluster
from tb.runner.builds import get_build, load_builds
from tb.runner.common import ROOT, RunnerError
from tb.runner.discover import find_modules, select_jobs
from tb.runner.mutate_prove import limited
from tb.runner.regress import run_job
from tb.runner.simulator import no_build

SCRIPT = ROOT / "scripts" / "slurm_local.sh"
CPUS = 4
#: Seeds that nothing else uses: each job has a folder of its own.
SEEDS = (910_001, 910_002, 910_003)
ITEMS = """\
import os, signal, time
from pathlib import Path
import pytest

@pytest.mark.parametrize("number", range(4))
def test_item(number):
    with Path("BEGUN").open("a") as out:
        out.write(f"{Path(__file__).stem}[{number}] {os.environ['SLURM_JOB_ID']}\\n")
    time.sleep(0.2)
    if number == 1 and __file__.endswith("a.py"):
        os.kill(os.getpid(), signal.SIGKILL)
"""


def why_not() -> str:
    """Why there can be no Slurm here; "" if there can."""
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    programs = ("munged", "slurmctld", "slurmd", "srun")
    if missing := [name for name in programs if not shutil.which(name, path=path)]:
        return f"no {', '.join(missing)} (apt-get install slurm-wlm munge)"
    return "a Slurm of one node needs root" if os.geteuid() else ""


def script(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(SCRIPT), *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, **env},
    )


def free_port() -> int:
    """The first of two."""
    for port in range(20_000, 30_000, 2):
        with socket.socket() as first, socket.socket() as second:
            try:
                first.bind(("127.0.0.1", port))
                second.bind(("127.0.0.1", port + 1))
                return port
            except OSError:
                continue
    raise AssertionError("no free port")


def processes_with(word: str) -> list[str]:
    """Names of the processes whose environment has this word, except this one."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "environ").read_bytes().split(b"\0")
            if word.encode() in words and int(place.name) != os.getpid():
                found.append((place / "comm").read_text().strip())
        except OSError:
            continue
    return found


@pytest.fixture(scope="module")
def slurm() -> Iterator[Path]:
    """The folder of a running Slurm, which the environment names. Its path is short: it holds a
    socket."""
    if why := why_not():
        pytest.skip(f"not tried: {why}")
    with tempfile.TemporaryDirectory(prefix="slurm") as name, pytest.MonkeyPatch.context() as patch:
        folder, conf = Path(name) / "it", f"SLURM_CONF={name}/it/slurm.conf"
        settings = {"CPUS": str(CPUS), "PORT": str(free_port())}
        try:
            done = script("start", str(folder), **settings)
            assert done.returncode == 0, done.stderr
            patch.setenv("SLURM_CONF", f"{folder}/slurm.conf")
            yield folder
        finally:
            done = script("stop", str(folder), **settings)
        assert (done.returncode, done.stdout) == (0, "slurm_local: stopped\n"), done.stderr
        assert processes_with(conf) == []


# -- the script ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words, env, why",
    [
        ((), {}, "usage: "),
        (("restart",), {}, "restart: choose start, stop or status"),
        (("start",), {"CPUS": "²"}, "CPUS=²: must be a whole number"),
        (("start",), {"PORT": "80"}, "PORT=80: must be from 1024"),
        (("start", "/tmp/" + "x" * 120), {}, "/tmp/x+: too long"),
        (("start", "/tmp/a b"), {}, "/tmp/a b: only letters"),
        (("start",), {"PORT": "taken"}, "port [0-9]+ is in use: set PORT"),
        (("start",), {"PATH": "bare"}, "no srun: apt-get install slurm-wlm munge"),
    ],
)
def test_mistakes_are_told_in_one_line(
    tmp_path: Path, words: tuple[str, ...], env: dict[str, str], why: str
) -> None:
    if words[:1] == ("start",) and (reason := why_not()):
        pytest.skip(f"not tried: {reason}")
    with socket.create_server(("127.0.0.1", 0)) as taken, tempfile.TemporaryDirectory() as name:
        if env.get("PORT") == "taken":
            env = {"PORT": str(taken.getsockname()[1])}
        if env.get("PATH") == "bare":
            for program in ("bash", "dirname", "realpath", "id", "cat"):
                (tmp_path / program).symlink_to(shutil.which(program) or "")
            env = {"PATH": str(tmp_path)}
        words = (*words, f"{name}/slurm") if words == ("start",) else words
        done = script(*words, **env)
        assert not (Path(name) / "slurm" / "run").exists()
    assert done.returncode == 2
    assert re.fullmatch(rf"slurm_local: {why}.*\n", done.stderr), done.stderr


def test_others_than_root() -> None:
    command = [str(SCRIPT), "start", "/tmp/no-slurm"]
    if os.geteuid() == 0:
        command = ["setpriv", "--reuid=65534", "--clear-groups", *command]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "must be root" in done.stderr


def test_start_again(slurm: Path) -> None:
    done = script("start", str(slurm))
    assert (done.returncode, done.stdout.partition(";")[0]) == (0, "slurm_local: runs already")
    done = script("status", str(slurm))
    assert done.returncode == 0
    assert f"0/{CPUS}/0/{CPUS} CPUs" in done.stdout or "mixed" in done.stdout
    done = script("status", str(slurm / "other"))
    assert (done.returncode, done.stdout.count("does not run")) == (3, 3)


# -- pytest's workers ------------------------------------------------------------------------------


def run_pytest(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Without results of its own, for it may run in the middle of a run that keeps some."""
    command = [sys.executable, "-m", "pytest", "-p", "no:carillon-recorder", *words]
    command += ["--junitxml", str(folder / "junit.xml"), "--basetemp", str(folder / "temp")]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def run_items(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A project of two files with four items each, of which one kills its worker."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    for name in ("test_a.py", "test_b.py"):
        (folder / name).write_text(ITEMS.replace("BEGUN", str(folder / "begun")))
    config = ["-c", str(folder / "pytest.ini"), "-p", "tb.runner.plugin", str(folder)]
    return run_pytest(folder, *config, *words)


def outcomes(folder: Path) -> dict[str, str]:
    """By file and name of the item; each is there once."""
    cases = list(ET.parse(folder / "junit.xml").getroot().iter("testcase"))
    found = {}
    for case in cases:
        # The report of a worker that has died names the item in another way.
        file = re.search(r"test_\w+", f"{case.get('classname')} {case.get('name')}")
        assert file
        name = f"{file[0]}[{str(case.get('name')).partition('[')[2]}"
        found[name] = next((child.get("message", child.tag) for child in case), "passed")
    assert len(found) == len(cases), "an item is counted twice"
    return found


@pytest.mark.usefixtures("slurm")
def test_a_killed_worker_is_replaced(tmp_path: Path) -> None:
    done = run_items(tmp_path, "--cluster", "srun -n1 -c2", "--jobs", str(CPUS // 2))
    assert done.returncode == 1, done.stdout + done.stderr
    found = outcomes(tmp_path)
    begun = [line.split() for line in (tmp_path / "begun").read_text().splitlines()]
    names = [f"test_{file}[{number}]" for file in "ab" for number in range(4)]
    assert sorted(found) == sorted(name for name, _ in begun) == names, "lost, or run twice"
    dead = "test_a[1]"
    assert [name for name, said in found.items() if said != "passed"] == [dead]
    assert "crashed while running" in found[dead]
    assert "replacing crashed worker" in done.stdout
    jobs = [job for _, job in begun]
    last = max(i for i, job in enumerate(jobs) if job == dict(begun)[dead])
    assert begun[last][0] == dead, "a dead worker runs no more"
    assert 2 <= len(set(jobs)) <= 3


@pytest.mark.usefixtures("slurm")
@pytest.mark.parametrize(
    "launcher, jobs, why",
    [
        ("nosuch -n1", 2, "no such command"),
        ("srun -n1 -p none", 2, "started no worker; what it said is above"),
        (f"srun -n1 -c{CPUS - 1}", 2, r"1 of 2 worker\(s\) started within 6 s: ask for fewer"),
    ],
)
def test_a_launcher_that_fails_or_waits(tmp_path: Path, launcher: str, jobs: int, why: str) -> None:
    start = time.monotonic()
    options = ["--cluster", launcher, "--jobs", str(jobs), "--cluster-wait", "6"]
    done = run_items(tmp_path, *options)
    said = done.stdout + done.stderr
    assert done.returncode == pytest.ExitCode.USAGE_ERROR, said
    assert re.findall("^ERROR: .*", said, re.M) == re.findall(
        f"^ERROR: CLUSTER={launcher}: {why}.*", said, re.M
    ), said
    assert said.count("ERROR: ") == 1 and "Traceback" not in said
    assert not (tmp_path / "begun").exists()
    while subprocess.run(["squeue", "-h"], capture_output=True, check=True).stdout:
        assert time.monotonic() < start + 30, "a job is left in the queue"
        time.sleep(0.2)


def need_build() -> None:
    """Skips where building would take minutes."""
    if no_build(get_build(load_builds(), "default", "verilator"), "verilator"):
        pytest.skip("not tried: no build default of Verilator (make sim TEST=test_smoke makes it)")


@pytest.mark.usefixtures("slurm")
def test_simulations(tmp_path: Path) -> None:
    need_build()
    [module] = [m.module for m in find_modules() if m.short == "test_smoke"]
    options = [f"{module.replace('.', '/')}.py", "--test", "test_smoke.SmokeTest"]
    options += ["--build", "default", "--sim", "verilator", "--waves", "0"]
    options += ["--seeds", f"{SEEDS[0]},{SEEDS[1]}"]
    done = run_pytest(tmp_path, *options, "--cluster", "srun -n1 -c1", "--jobs", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    names = [f"test_smoke[default-verilator-{seed}]" for seed in SEEDS[:2]]
    assert outcomes(tmp_path) == dict.fromkeys(names, "passed")


# -- workers of campaigns --------------------------------------------------------------------------


@pytest.fixture(params=["", "srun -n1 -c1"])
def launcher(request: pytest.FixtureRequest) -> str:
    if request.param:
        request.getfixturevalue("slurm")
    return str(request.param)


def test_calls_on_workers(launcher: str, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    dies_once = f"test -e {mark} || {{ touch {mark}; kill -9 $PPID; sleep 9; }}; echo said"
    with closing(cluster.Workers(launcher, 2, 60)) as workers:
        assert workers.count == 2
        assert workers.call(1, os.getpid) != os.getpid()
        said, cpu_s = workers.call(1, limited, ["sh", "-c", "while :; do :; done"], 1.0, tmp_path)
        assert (said, cpu_s > 0.5) == ("", True)
        assert workers.call(2, subprocess.getoutput, dies_once) == "said", "called again"
        with pytest.raises(RunnerError, match="No such file"):
            workers.call(1, os.listdir, tmp_path / "none")
        with pytest.raises(RunnerError, match="ZeroDivisionError"):
            workers.call(1, divmod, 1, 0)
        with pytest.raises(cluster.WorkerDiedError):
            workers.call(1, subprocess.getoutput, "kill -9 $PPID")
        assert workers.call(1, os.getpid)


def test_the_end_leaves_nothing(launcher: str, tmp_path: Path) -> None:
    """Work that is under way when a campaign is stopped."""
    said: list[BaseException] = []
    word = f"TRACE={tmp_path}"

    def work() -> None:
        try:
            workers.call(1, limited, ["env", word, "sleep", "1000"], 60.0, tmp_path)
        except RunnerError as error:
            said.append(error)

    with closing(cluster.Workers(launcher, 1, 60)) as workers:
        thread = threading.Thread(target=work)
        thread.start()
        while "sleep" not in processes_with(word):
            assert thread.is_alive()
            time.sleep(0.1)
    thread.join(5)
    assert [str(error) for error in said] == ["the workers were ended"]
    assert processes_with(word) == []


def test_a_simulation_of_a_campaign(launcher: str) -> None:
    need_build()
    job = select_jobs(find_modules(), ["test_smoke.SmokeTest"], SEEDS[2:], "verilator", "default")
    config = get_build(load_builds(), "default", "verilator")
    with closing(cluster.Workers(launcher, 1, 60)) as workers:
        result = workers.call(1, run_job, job[0], config)
    assert result.verdict.ok, result.verdict.message
    assert result.cpu_s > 0 and result.bins
