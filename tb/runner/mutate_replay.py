# SPDX-License-Identifier: Apache-2.0
"""Replays recorded runs on mutants without the bench: a program of the netlist that gets recorded
inputs and compares the outputs (mutate_replay.cpp), one process for each job.

The bench is deterministic and touches ports only. If the outputs of a mutant are those of the
recorded run in each cycle, so are the bench's next inputs: the test would pass as it did then.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path

from tb.runner import cluster
from tb.runner.builds import BuildConfig
from tb.runner.common import RunnerError, relative
from tb.runner.mutate_wrap import REPLAY, Interface
from tb.runner.simulator import MAKE_VARIABLES, execute, first_build_error

_SOURCE = Path(__file__).with_suffix(".cpp")


@dataclass(frozen=True)
class Replay:
    """What became of a recorded run on a mutant."""

    cycles: int
    output: str
    """The first output that differs; empty: none does."""
    seconds: float
    """Processor time."""


def build_replay(config: BuildConfig, design: Interface, folder: Path, jobs: int) -> Path:
    """Builds the program for a top level (its netlist is in ``folder``) unless it is there;
    returns it.
    """
    place = folder / f"build-replay-{design.top}"
    program, log = place / f"V{REPLAY}", place / "build.log"
    if program.is_file():
        return program
    place.mkdir(parents=True, exist_ok=True)
    words = f"-DINPUT_WORDS={design.input_words} -DOUTPUT_WORDS={design.output_words}"
    command = [
        *("verilator", "--cc", "--exe", "--build", "-j", str(jobs), "-O3", "--no-assert"),
        *("--x-initial", "fast", "--x-assign", "fast", "-Wno-fatal", "-Wno-lint", "--quiet"),
        *("-DEDGE=edge", "--top-module", REPLAY, "--prefix", f"V{REPLAY}", "-Mdir", str(place)),
        *("-CFLAGS", words, *(word for flag in MAKE_VARIABLES for word in ("-MAKEFLAGS", flag))),
        *config.build_args,
        *(str(folder / "netlist.v"), str(folder / f"{REPLAY}-{design.top}.v"), str(_SOURCE)),
    ]
    with log.open("w") as out:
        ended = execute(command, folder, os.environ, out, None)
    if ended.status:
        program.unlink(missing_ok=True)
        error = first_build_error(log.read_text(errors="replace"))
        raise RunnerError(f"replay of {design.top}: {error}; log: {relative(log)}")
    return program


_processes: dict[Path, list[subprocess.Popen[str]]] = {}
_idle: dict[Path, list[subprocess.Popen[str]]] = {}
_lock = threading.Lock()


def close() -> None:
    """Ends all programs of this process."""
    for process in (p for some in _processes.values() for p in some):
        process.kill()
        process.wait()
    _processes.clear()
    _idle.clear()


atexit.register(close)


def _ask(program: Path, line: str) -> str:
    """The line that answers this one, from a process that has nothing else to do."""
    with _lock:
        idle = _idle.setdefault(program, [])
        process = idle.pop() if idle else None
    if not process:
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            [str(program)], stdin=pipe, stdout=pipe, text=True, bufsize=1, start_new_session=True
        )
        _processes.setdefault(program, []).append(process)
    assert process.stdin and process.stdout
    process.stdin.write(line + "\n")
    answer = process.stdout.readline()
    idle.append(process)
    return answer


@dataclass(frozen=True)
class Replayer:
    """Replays for one top level, here or in workers of a cluster; safe among threads."""

    program: Path
    design: Interface

    def run(self, mutant: int, recording: Path) -> Replay:
        """Replays a recording; ``mutant`` 0: none."""
        try:
            answer = cluster.call(_ask, self.program, f"{mutant}\t{recording}")
            cycles, first, micros = map(int, answer.split())
        except (OSError, ValueError) as error:
            raise RunnerError(f"the replay of {recording.name} ended: {error}") from None
        output = "" if first < 0 else self.design.output_at(first)
        return Replay(cycles, output, micros / 1e6)
