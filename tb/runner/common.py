# SPDX-License-Identifier: Apache-2.0
"""Folders, environment and small helpers that every command of the runner shares."""

from __future__ import annotations

import difflib
import fcntl
import hashlib
import json
import os
import shutil
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SIM_BUILD = ROOT / "sim_build"
HDL = ROOT / "hdl"
#: Folders with headers of the design, from ROOT.
INCLUDES = ("hdl", *sorted({f"hdl/{path.parent.name}" for path in HDL.glob("*/*.vh")}))


def hdl_files(pattern: str = "*.v") -> list[Path]:
    """Files of the design, in order of their names."""
    return sorted(HDL.rglob(pattern), key=lambda path: path.name)


def bench_files() -> list[Path]:
    """What simulations are made of, but for the design."""
    files = [p for place in ("tb", "models") for p in sorted((ROOT / place).rglob("*.py"))]
    unused = {"selftest", "runner", "bench", "waves"}
    files = [p for p in files if not unused & set(p.relative_to(ROOT).parts)]
    return [*files, ROOT / "tb" / "builds.yaml", *sorted((ROOT / "tb" / "hdl").iterdir())]


class RunnerError(Exception):
    """A problem that ends the command with its text, which names cause and cure."""


def prepare_environment() -> None:
    """Make this process, and all that it starts, see the project's tools and packages."""
    wanted = [str(ROOT / "scripts" / "bin"), str(Path(sys.executable).parent)]
    path = [p for p in os.environ.get("PATH", "").split(os.pathsep) if p not in wanted]
    os.environ["PATH"] = os.pathsep.join(wanted + path)
    # cocotb hands sys.path to the simulator, whose working folder is another one.
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    for name in (
        # A make that started this process would pass its own options on to Verilator's makefile.
        *("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES"),
        # cocotb reads these instead of what the runner asks for.
        *("WAVES", "GUI", "COCOTB_TEST_FILTER", "COCOTB_RANDOM_SEED", "COCOTB_TESTCASE"),
    ):
        os.environ.pop(name, None)
    # What a user's shell sets for other programs must not reach the simulators' interpreters.
    for name in [name for name in os.environ if name.startswith("PYTHON")]:
        del os.environ[name]
    sys.dont_write_bytecode = False
    os.environ.setdefault("OBJCACHE", "ccache")
    # Without these ccache refuses every compilation that uses Verilator's precompiled header.
    os.environ.setdefault("CCACHE_SLOPPINESS", "pch_defines,time_macros")


def _interrupt(number: int, _frame: object) -> None:
    # Make passes TERM on: one to the whole process group comes twice, and must end things once.
    for again in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(again, signal.SIG_IGN)
    raise KeyboardInterrupt(signal.Signals(number).name)


def interruptible() -> None:
    """SIGTERM and SIGHUP end this process as Ctrl-C does, with what it has started."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        with suppress(ValueError):  # not in the main thread
            signal.signal(number, _interrupt)


@contextmanager
def locked(folder: Path, waits: str = "") -> Iterator[None]:
    """Keep two runners out of one folder; the second waits, and prints ``waits`` if it has to."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if waits:
                print(waits, flush=True)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def empty(folder: Path) -> None:
    """Removes what a locked folder holds, but not its lock."""
    for old in folder.iterdir():
        if old.name != ".lock":
            shutil.rmtree(old) if old.is_dir() else old.unlink()


def write_whole(path: Path, text: str) -> None:
    """Writes a file that nobody ever sees by half."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def merge_entries(
    path: Path, key: str, found: Iterable[dict[str, Any]], known: Iterable[str]
) -> None:
    """Writes a list of entries. Those of an earlier run stay, unless they are found anew or their
    names are not known any more.
    """
    entries = {}
    with suppress(OSError, ValueError, KeyError, TypeError):
        entries = {entry[key]: entry for entry in json.loads(path.read_text())}
    entries |= {entry[key]: entry for entry in found}
    kept = [entries[name] for name in known if name in entries]
    write_whole(path, json.dumps(kept, indent=1) + "\n")


def replace_once(path: Path, text: str, replacement: str, where: str) -> str:
    """What a file becomes by the replacement of a text that must occur once in it."""
    source = path.read_text() if path.is_file() else ""
    if (count := source.count(text)) != 1:
        found = "does not occur" if not count else f"occurs {count} times, not once,"
        raise RunnerError(f"{where}: this {found} in {relative(path)}:\n{text}")
    return source.replace(text, replacement)


def relative(path: Path) -> str:
    """A path as a user in the project's folder would type it."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def digest(files: Iterable[Path], *more: object) -> str:
    """Changes with the files (their names and contents) and the rest."""
    found = hashlib.sha256(repr(more).encode())
    for path in files:
        found.update(f"\n{relative(path)}\n".encode() + path.read_bytes())
    return found.hexdigest()


def nearest(name: str, names: Iterable[str]) -> str:
    """The end of an error message: which of the names may have been meant."""
    by_case = {known.lower(): known for known in names}
    found = difflib.get_close_matches(name.lower(), by_case, 4, 0.5)
    return f" (nearest: {', '.join(by_case[key] for key in found)})" if found else ""


def whole_number(name: str, text: str, highest: int = 2**31 - 1, lowest: int = 1) -> int | None:
    """A number as make passes it; None for an unset variable, which is an empty word."""
    if not text:
        return None
    shown = text if len(text) <= 20 else f"{text[:20]}..."
    if not (
        text.isascii() and text.isdigit() and len(text) <= 20 and lowest <= int(text) <= highest
    ):
        raise RunnerError(f"{name}={shown}: must be a whole number from {lowest} to {highest}")
    return int(text)


def cpu_count() -> int:
    return len(os.sched_getaffinity(0))


def cpu_used() -> float:
    """Seconds of this process, and of those that it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
