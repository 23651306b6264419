# SPDX-License-Identifier: Apache-2.0
"""The first contact: set-up, the Makefile's prologue, clean. Tools and interpreters are stubs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAKE = shutil.which("make") or "/usr/bin/make"
#: What the scripts call besides the tools that they look for.
BASICS = (
    "awk bash cat cp cut dirname echo env find flock grep id make mkdir mktemp readlink rm sh "
    "sha256sum sleep"
)
#: A Python that says what the stub's head tells it to say, and notes what it is asked to install.
FAKE_PYTHON = """#!/bin/sh
if env | grep '^PYTHON[^=]'; then exit 9; fi >&2
case "$1 $2" in
"-m venv") mkdir -p "$3/bin" && cp '{path}' "$3/bin/python" ;;
"-m pip")
    echo "$*" >>"$CALLS"
    [ -z "$PIP_WAITS" ] || sleep "$PIP_WAITS"
    exit ${{PIP_STATUS:-0}} ;;
"-m "*) printf '%s\\n' "$@" ;;
"-c "*) exec '{real}' -I -c "{head}; exec(sys.argv[1])" "$2" ;;
"- ") exec '{real}' -I -c "{head}; exec(sys.stdin.read())" ;;
esac
"""
LACKS = {
    "venv": "import importlib.util; importlib.util.find_spec = lambda name: None",
    "libpython": "import sysconfig; sysconfig.get_config_var = lambda name: 'libnone.so'",
}


@dataclass
class Machine:
    """A checkout in a folder, and a PATH that holds stubs only."""

    tmp: Path
    folder: Path

    def tool(self, name: str, text: str = "exit 0") -> Path:
        path = self.tmp / "bin" / name
        path.write_text(text if text.startswith("#!") else f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    def python(self, name: str, version: str, prefix: str = "/usr", lacks: str = "") -> Path:
        path = self.tmp / "bin" / name
        head = f"import sys; sys.version_info = tuple(map(int, '{version}'.split('.')))"
        head += f"; sys.base_prefix = '{prefix}'; sys._base_executable = '{path}'"
        head = "; ".join([head, *(LACKS[lack] for lack in lacks.split())])
        return self.tool(name, FAKE_PYTHON.format(path=path, real=sys.executable, head=head))

    def start(self, *words: str, cwd: Path | None = None, **env: str) -> subprocess.Popen[str]:
        env = {"PATH": str(self.tmp / "bin"), "CALLS": str(self.tmp / "calls"), **env}
        command = [MAKE, *words]
        return subprocess.Popen(
            command,
            cwd=cwd or self.folder,
            env=env,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def make(self, *words: str, cwd: Path | None = None, **env: str) -> tuple[int, str, str]:
        process = self.start(*words, cwd=cwd, **env)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def calls(self) -> list[str]:
        """Each call of pip and apt-get since the last look."""
        path = self.tmp / "calls"
        lines = path.read_text().splitlines() if path.is_file() else []
        path.unlink(missing_ok=True)
        return lines


def machine_at(tmp: Path, name: str = "carillon") -> Machine:
    folder = tmp / name
    (folder / "scripts").mkdir(parents=True)
    (tmp / "bin").mkdir(exist_ok=True)
    for file in ("Makefile", "requirements.txt", "requirements-check.txt", "scripts/setup.sh"):
        shutil.copy(ROOT / file, folder / file)
    for basic in BASICS.split():
        real = shutil.which(basic)
        assert real, basic
        (tmp / "bin" / basic).unlink(missing_ok=True)
        (tmp / "bin" / basic).symlink_to(real)
    machine = Machine(tmp, folder)
    for tool in ("g++", "ccache", "iverilog"):
        machine.tool(tool)
    machine.python("python3", "3.12.1")
    (tmp / "bin" / "id").unlink()
    machine.tool("id", "echo 1000")
    machine.tool("apt-get", 'echo "apt-get $*" >>"$CALLS"')
    return machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return machine_at(tmp_path)


def pip(file: str) -> str:
    return f"-m pip install -q -r {file}"


SIM, CHECK = pip("requirements.txt"), pip("requirements-check.txt")


def test_each_target_installs_what_it_needs_once(machine: Machine) -> None:
    assert machine.make("list")[0] == 0
    assert machine.calls() == [SIM]
    assert machine.make("setup-sim") == (0, "", "") and machine.calls() == []
    assert machine.make("lint")[0] == 0
    assert machine.calls() == [CHECK]
    assert machine.make("setup-sim", "setup") == (0, "", "")
    with (machine.folder / "requirements-check.txt").open("a") as file:
        file.write("more==1\n")
    assert machine.make("setup-sim") == (0, "", "")
    assert machine.make("setup")[0] == 0 and machine.calls() == [CHECK]
    with (machine.folder / "requirements.txt").open("a") as file:
        file.write("more==1\n")
    assert machine.make("setup-sim")[0] == 0 and machine.calls() == [SIM]


TARGETS = {
    "sim": "sim tours negatives faults bench waves list figures",
    "all": "setup test formal mutate soak coverage model lint defs walk",
}


@pytest.mark.parametrize("group", TARGETS)
def test_set_up_of_each_target(machine: Machine, group: str) -> None:
    for target in TARGETS[group].split():
        assert machine.make("-n", target)[1].startswith(f"scripts/setup.sh {group}\n")


PYTHON_LACKS = "python3.12-venv libpython3.12"
TOOLS = "g++ ccache iverilog zlib1g-dev liblz4-dev"


@pytest.mark.parametrize(
    ("tools", "lacks", "packages"),
    [
        ("g++ ccache iverilog", "venv libpython", f"{TOOLS} {PYTHON_LACKS}"),
        ("ccache iverilog", "", "ccache iverilog"),
        ("", "libpython", "libpython3.12"),
        ("python3", "", "python3 python3-venv libpython3-dev"),
    ],
)
def test_one_complete_command_before_anything_is_installed(
    machine: Machine, tools: str, lacks: str, packages: str
) -> None:
    machine.python("python3", "3.12.1", lacks=lacks)
    for tool in tools.split():
        (machine.tmp / "bin" / tool).unlink()
    command = f"apt-get install -y --no-install-recommends {packages}\n"
    status, out, err = machine.make("setup-sim")
    assert (status, out) == (2, "")
    assert err.startswith("setup: missing Debian packages. Run: sudo apt-get update && sudo ")
    assert command in err and len(err.splitlines()) == 2  # the second is make's own
    assert not machine.calls() and not (machine.folder / ".venv").exists()
    # The same list, in one call, as root; a machine without apt-get gets the names.
    machine.tool("id", "echo 0")
    machine.make("setup-sim")
    wanted = f"apt-get install -y -qq --no-install-recommends {packages}"
    assert machine.calls()[:2] == ["apt-get update -qq", wanted]
    (machine.tmp / "bin" / "apt-get").unlink()
    shutil.rmtree(machine.folder / ".venv", ignore_errors=True)
    assert f"missing: {packages}. These are Debian" in machine.make("setup-sim")[2]


@pytest.mark.parametrize(
    ("version", "prefix", "lacks", "message"),
    [
        ("3.10.2", "/usr", "", "python3 is Python 3.10.2 of /usr; install 3.11 or newer"),
        ("3.12.1", "/opt/py", "venv", "has no venv module; name another Python"),
        ("3.12.1", "/opt/py", "libpython", "has no shared libpython"),
    ],
)
def test_a_python_that_debian_packages_do_not_cure(
    machine: Machine, version: str, prefix: str, lacks: str, message: str
) -> None:
    machine.python("python3", version, prefix, lacks)
    status, out, err = machine.make("setup-sim")
    assert (status, out) == (2, "") and message in err.splitlines()[0]
    assert not machine.calls()


def test_named_interpreter(machine: Machine) -> None:
    machine.python("python3.13", "3.13.0")
    machine.python("python3.10", "3.10.2")
    venv = machine.folder / ".venv" / "bin" / "python"
    for finished in (False, True):
        for name, message in (
            ("/nonexistent", "PYTHON=/nonexistent: no Python runs by this name"),
            ("/bin/true", "PYTHON=/bin/true: no Python runs by this name"),
            ("python3.10", "PYTHON=python3.10: is Python 3.10.2 of /usr; 3.11 or newer is needed"),
        ):
            status, _, err = machine.make("list", f"PYTHON={name}")
            assert status == 2 and err.splitlines()[0] == f"setup: {message}"
            assert venv.exists() == finished
        assert machine.make("setup-sim")[0] == 0
    machine.calls()
    assert machine.make("setup-sim", "PYTHON=python3") == (0, "", "")
    status, out, _ = machine.make("setup-sim", "PYTHON=python3.13")
    assert status == 0 and "making .venv with Python 3.13.0" in out
    assert "'3.13.0'" in venv.read_text() and machine.calls() == [SIM]
    # What was chosen once stays, and from the environment it counts as well.
    assert machine.make("setup-sim") == (0, "", "")
    assert "making .venv with Python 3.12.1" in machine.make("setup-sim", PYTHON="python3")[1]
    assert "PYTHON=path" in machine.make("help")[1]


def test_a_stop_throws_nothing_away(machine: Machine) -> None:
    status, _, err = machine.make("setup-sim", PIP_STATUS="1")
    assert status == 2 and "what is there stays" in err
    kept = machine.folder / ".venv" / "kept"
    kept.touch()
    status, out, _ = machine.make("setup-sim")
    assert status == 0 and "making .venv" not in out and kept.exists()
    # Nor is it taken for finished when a later installation stops.
    assert machine.make("setup", PIP_STATUS="1")[0] == 2
    machine.calls()
    assert machine.make("setup-sim")[0] == 0 and machine.calls() == [SIM] and kept.exists()


def test_interpreter_that_went_away(machine: Machine) -> None:
    assert machine.make("setup-sim")[0] == 0
    (machine.folder / ".venv" / "bin" / "python").unlink()
    status, out, _ = machine.make("setup-sim")
    assert status == 0 and "making .venv" in out


def test_linked_environment_is_left_alone(machine: Machine) -> None:
    shared = machine.tmp / "shared"
    (shared / "bin").mkdir(parents=True)
    shutil.copy(machine.tmp / "bin" / "python3", shared / "bin" / "python")
    (machine.folder / ".venv").symlink_to(shared)
    assert machine.make("setup") == (0, "", "") and not machine.calls()
    machine.python("python3.13", "3.13.0")
    assert machine.make("setup", "PYTHON=python3.13")[0] == 2
    assert machine.make("distclean")[0] == 0
    assert not (machine.folder / ".venv").is_symlink() and (shared / "bin" / "python").exists()


def test_two_makes_at_once(machine: Machine) -> None:
    first = machine.start("setup-sim", PIP_WAITS="0.7")
    # The second starts when the first is inside pip.
    end = time.monotonic() + 20
    while not (machine.tmp / "calls").exists() and time.monotonic() < end:
        time.sleep(0.01)
    status, out, err = machine.make("setup-sim")
    first.communicate()
    assert (first.returncode, status, err) == (0, 0, "")
    assert "waiting for another make" in out and machine.calls() == [SIM]


TOOL_TARGETS = ("sim", "lint", "setup", "list", "defs")


@pytest.mark.parametrize(
    "name", ["a b", "it's", 'q"q', "d$d", "x:y", "p(1)", "a;b", "é", "#1", "a\\b"]
)
def test_folder_that_simulators_cannot_stand(tmp_path: Path, name: str) -> None:
    machine = machine_at(tmp_path, f"{name}/c")
    for target in TOOL_TARGETS:
        status, out, err = machine.make(target)
        assert (status, out) == (2, "")
        lines = err.splitlines()
        assert (
            lines[0].startswith(f"setup: cannot work in '{machine.folder}': ") and len(lines) == 2
        )
    assert not machine.calls() and not (machine.folder / ".venv").exists()
    status, out, _ = machine.make("help")
    assert status == 0 and out.startswith("  make help ")


def test_folder_with_harmless_signs(tmp_path: Path) -> None:
    machine = machine_at(tmp_path, "A+b,c@d~e_f-g.h")
    assert machine.make("sim")[0] == 0


@pytest.mark.parametrize("name", ["plain", "a b", "it's", "$(HOME)", "-rf"])
def test_clean_acts_on_the_checkout_alone(tmp_path: Path, name: str) -> None:
    machine = machine_at(tmp_path, name)
    others = [tmp_path, *(tmp_path / word for word in ("a", "b"))]
    for folder in (*others, machine.folder):
        for made in ("sim_build", ".venv/lib/__pycache__", ".regression", "tb/__pycache__"):
            (folder / made).mkdir(parents=True, exist_ok=True)
    assert machine.make("clean") == (0, "", "")
    assert not (machine.folder / "sim_build").exists()
    assert not (machine.folder / "tb" / "__pycache__").exists()
    assert (machine.folder / ".regression").exists()
    assert (machine.folder / ".venv/lib/__pycache__").exists()
    # From another folder the relative paths would mean that folder.
    makefile = str(machine.folder / "Makefile")
    status, _, err = machine.make("-f", makefile, "distclean", cwd=tmp_path)
    assert status == 2 and "run make in the folder of this Makefile" in err
    assert machine.make("-C", str(machine.folder), "distclean", cwd=tmp_path)[0] == 0
    assert not (machine.folder / ".venv").exists() and not (machine.folder / ".regression").exists()
    for folder in others:
        for made in ("sim_build", ".venv/lib/__pycache__", ".regression", "tb/__pycache__"):
            assert (folder / made).exists()


def test_distclean_leaves_nothing_generated(machine: Machine) -> None:
    """Waves and results outside sim_build were put there by the user."""
    patterns = [line for line in (ROOT / ".gitignore").read_text().splitlines() if line[:1] != "#"]
    kept = {"*.fst", "*.vcd", "results.xml", "*.pyc"}
    for pattern in set(patterns) - kept:
        assert "*" not in pattern
        (machine.folder / pattern.strip("/") / "x").mkdir(parents=True)
    (machine.folder / "tb" / "env" / "__pycache__").mkdir(parents=True)
    assert machine.make("distclean") == (0, "", "")
    left = {str(path.relative_to(machine.folder)) for path in machine.folder.rglob("*")}
    files = {"Makefile", "requirements.txt", "requirements-check.txt", "scripts/setup.sh"}
    assert left == files | {"docs", "scripts", "tb", "tb/env"}


@pytest.mark.parametrize(
    "value", ["it's", "²", "9" * 5000, 'a"b', "a;touch x", "`id`", "two words", "*", "\\", "a\nb"]
)
def test_values_reach_the_runner_as_written(machine: Machine, value: str) -> None:
    assert machine.make("setup-sim")[0] == 0
    names = ("TEST", "SEED", "SEEDS", "SIM", "BUILD", "JOBS", "TIMEOUT")
    status, out, err = machine.make("sim", *(f"{name}={value}" for name in names))
    assert (status, err) == (0, "")
    assert out.count(f"\n{value}\n") == len(names)


def test_no_variable_of_the_interpreter_matters(machine: Machine) -> None:
    """The stub Python fails when it sees one."""
    names = ("PATH", "HOME", "SAFEPATH", "STARTUP", "NOUSERSITE", "OPTIMIZE", "INSPECT", "OTHER")
    variables = {f"PYTHON{name}": "/nonexistent" for name in names}
    for target in ("setup-sim", "setup", "sim", "defs", "figures", "lint"):
        status, _, err = machine.make(target, cwd=None, **variables)
        assert (status, err) == (0, "")
    # Without make as well, as .ci/run does where make is missing.
    shutil.rmtree(machine.folder / ".venv")
    done = subprocess.run(
        [str(machine.folder / "scripts/setup.sh")],
        env={"PATH": str(machine.tmp / "bin"), "CALLS": str(machine.tmp / "calls"), **variables},
        check=False,
    )
    assert done.returncode == 0
    status, _, err = machine.make("sim", "PYTHONHOME=/nonexistent")
    assert (status, err) == (0, "")


def pages_and_messages() -> list[tuple[Path, str]]:
    """Text files that users read or that print to them."""
    folders = (".ci", "docs", "formal", "hdl", "models", "scripts", "tb")
    found = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    found = [path for path in found if path.suffix in {".md", ".py", ".sh", ".yaml"}]
    found += [ROOT / "README.md", ROOT / "Makefile", ROOT / ".ci" / "run"]
    return [(path, path.read_text()) for path in found if path != Path(__file__)]


def test_commands_work_as_printed() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    wrong = []
    for path, text in pages_and_messages():
        name = path.relative_to(ROOT)
        wrong += [f"{name}: {m}" for m in re.findall(r"(?<![$/\w])python3? -m \w\S*", text)]
        # What stands in quotes or as code is to be typed; a format's field ends it.
        made = re.findall(r"""[`'"]make ([a-z][a-z-]*)(?![\w{])""", text)
        wrong += [f"{name}: make {target}" for target in made if target not in targets]
    assert not wrong
    assert {"defs", "figures", "walk"} <= targets


def find_python(minor: int) -> str:
    """Python 3.``minor`` where it runs on this machine, else nothing; pyenv's are not on PATH."""
    name = f"python3.{minor}"
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for path in (*sorted(pyenv.glob(f"3.{minor}.*/bin/{name}")), shutil.which(name)):
        if (
            path
            and subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0
        ):
            return str(path)
    return ""


OTHERS = {n: find_python(n) for n in (11, 12, 13) if n != sys.version_info.minor}


@pytest.mark.parametrize("minor", OTHERS)
def test_model_compiles_elsewhere(tmp_path: Path, minor: int) -> None:
    """Without a warning, too."""
    if not OTHERS[minor]:
        pytest.skip(f"no Python 3.{minor} on this machine")
    shutil.copytree(ROOT / "models", tmp_path, dirs_exist_ok=True)
    command = [OTHERS[minor], "-I", "-W", "error", "-m", "compileall", "-q", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.full
def test_set_up_with_another_interpreter(machine: Machine) -> None:
    """A real environment, without the network: nothing is listed to install."""
    found = {minor: path for minor, path in OTHERS.items() if path}
    if not found:
        pytest.skip(f"no Python of 3.{', 3.'.join(map(str, OTHERS))} on this machine")
    minor, python = max(found.items())
    for file in ("requirements.txt", "requirements-check.txt"):
        (machine.folder / file).write_text("# nothing\n")
    status, out, err = machine.make("setup-sim", f"PYTHON={python}")
    assert status == 0, err
    assert f"making .venv with Python 3.{minor}." in out
    made = machine.folder / ".venv" / "bin" / "python"
    done = subprocess.run([made, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"Python 3.{minor}.")
