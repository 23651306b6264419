# SPDX-License-Identifier: Apache-2.0
"""Folders, environment and small helpers that every command of the runner shares."""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SIM_BUILD = ROOT / "sim_build"
HDL = ROOT / "hdl"
#: Folders with headers of the design, from ROOT.
INCLUDES = ("hdl", *sorted({f"hdl/{path.parent.name}" for path in HDL.glob("*/*.vh")}))


def hdl_files(pattern: str = "*.v") -> list[Path]:
    """Files of the design, in order of their names."""
    return sorted(HDL.rglob(pattern), key=lambda path: path.name)


class RunnerError(Exception):
    """A problem that ends the command; its text names cause and cure."""


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
    os.environ.setdefault("OBJCACHE", "ccache")
    # Without these ccache refuses every compilation that uses Verilator's precompiled header.
    os.environ.setdefault("CCACHE_SLOPPINESS", "pch_defines,time_macros")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep two runners out of one folder; the second waits."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def relative(path: Path) -> str:
    """A path as a user in the project's folder would type it."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def cpu_count() -> int:
    return len(os.sched_getaffinity(0))
