# SPDX-License-Identifier: Apache-2.0
"""Replays recorded runs on mutants without the bench: a program of the netlist that gets recorded
inputs and compares the outputs (mutate_replay.cpp), one process for each job. Many mutants can
share a replay: each is simulated only while its state is another than that of the design.

The bench is deterministic and touches ports only. If the outputs of a mutant are those of the
recorded run in each cycle, so are the bench's next inputs: the test would pass as it did then.
"""

from __future__ import annotations

import atexit
import json
import subprocess
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from tb.runner import cluster
from tb.runner.builds import BuildConfig
from tb.runner.common import RunnerError, cpu_count, relative
from tb.runner.mutate_wrap import REPLAY, Interface, interface
from tb.runner.simulator import MAKE_VARIABLES, first_build_error

_SOURCE = Path(__file__).with_suffix(".cpp")


@dataclass(frozen=True)
class Replay:
    """What became of a recorded run on a mutant."""

    cycles: int
    output: str
    """The first output that differs; empty: none does."""
    seconds: float = 0.0
    """Processor time."""
    told: frozenset[int] = frozenset()
    """Of `Replayer.watch`: the mutants that it can tell (`mutate_local`)."""
    outputs: Mapping[int, str] = field(default_factory=dict)
    """Of `Replayer.group`: mutants that reach an output, and the first one that differs."""
    shares: Mapping[int, float] = field(default_factory=dict)
    """Of `Replayer.group`: processor time by mutant, in seconds."""


def build_replay(
    config: BuildConfig, top: str, folder: Path, jobs: int | None = None, netlist: str = "netlist"
) -> Path:
    """Builds the program for a top level (its netlist is in ``folder``) unless it is there;
    returns it.
    """
    design = _interface(top, folder)
    place = folder / f"build-{netlist}-{top}"
    program = place / f"V{REPLAY}"
    stamp = place / "done"
    if stamp.is_file() and program.is_file():
        return program
    place.mkdir(parents=True, exist_ok=True)
    words = f"-DINPUT_WORDS={design.input_words} -DOUTPUT_WORDS={design.output_words}"
    verilate = [
        *("verilator", "--cc", "--exe", "-O3", "--no-assert", "--x-initial", "fast", "--quiet"),
        *("--x-assign", "fast", "-Wno-fatal", "-Wno-lint", "--top-module", REPLAY),
        *("-DEDGE=edge", "--prefix", f"V{REPLAY}", "-Mdir", str(place), "-CFLAGS", words),
        *config.build_args,
        *(str(folder / f"{netlist}.v"), str(folder / f"{REPLAY}-{top}.v"), str(_SOURCE)),
    ]
    make = ["make", "-C", str(place), "-f", f"V{REPLAY}.mk", "-j", str(jobs or cpu_count())]
    log = place / "build.log"
    with log.open("w") as out:
        for command in (verilate, [*make, *MAKE_VARIABLES]):
            done = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=False)
            if done.returncode:
                error = first_build_error(log.read_text(errors="replace"))
                raise RunnerError(f"replay of {top}: {error}; log: {relative(log)}")
    stamp.touch()
    return program


def _interface(top: str, folder: Path) -> Interface:
    return interface(top, json.loads((folder / "ports.json").read_text()))


class _Processes:
    """Of one program, as many as are asked at a time; safe among threads."""

    def __init__(self, program: Path) -> None:
        self._program = program
        self._idle: list[subprocess.Popen[str]] = []
        self._all: list[subprocess.Popen[str]] = []
        self._lock = threading.Lock()

    def close(self) -> None:
        """Ends all."""
        for process in self._all:
            process.kill()
            process.wait()

    def _take(self) -> subprocess.Popen[str]:
        with self._lock:
            if self._idle:
                return self._idle.pop()
            process = subprocess.Popen(
                [str(self._program)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                bufsize=1,
                start_new_session=True,
            )
            self._all.append(process)
            return process

    def ask(self, line: str) -> str:
        """The line that answers this one; raises OSError, or returns less, if a process ends."""
        process = self._take()
        assert process.stdin and process.stdout
        process.stdin.write(line + "\n")
        answer = process.stdout.readline()
        if answer:  # else it has ended
            with self._lock:
                self._idle.append(process)
        return answer


_far: dict[Path, _Processes] = {}


def _ask_far(program: Path, line: str) -> str:
    """In a worker of a cluster: its process starts with the first replay."""
    if program not in _far:
        _far[program] = _Processes(program)
        atexit.register(_far[program].close)
    return _far[program].ask(line)


class Replayer:
    """Replays for one top level, in processes here or in workers of a cluster; a context manager,
    safe among threads.
    """

    def __init__(self, program: Path, top: str, folder: Path) -> None:
        self._program = program
        self._processes = _Processes(program)
        self._design = _interface(top, folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._processes.close()

    def run(self, mutant: int, recording: Path) -> Replay:
        """Replays a recording; ``mutant`` 0: none."""
        return self._ask(recording, "run", mutant, recording)[0]

    def watch(self, recording: Path, told: Path) -> Replay:
        """Replays without a mutant on a netlist with comparisons. ``told``: the file to be written
        with what `group` needs.
        """
        found, words = self._ask(recording, "watch", recording, told)
        return replace(found, told=frozenset(map(int, words)))

    def group(self, recording: Path, told: Path, mutants: Iterable[int]) -> Replay:
        """Replays without a mutant, and each mutant where it is told to differ."""
        numbers = ",".join(map(str, sorted(mutants)))
        found, words = self._ask(recording, "group", recording, told, numbers)
        values = [[int(number) for number in word.split(":")] for word in words]
        whole = found.cycles + sum(cycles for _, _, cycles in values)
        return replace(
            found,
            outputs={n: self._design.output_at(bit) for n, bit, _ in values if bit >= 0},
            shares={n: found.seconds * cycles / whole for n, _, cycles in values},
        )

    def _ask(self, recording: Path, *request: object) -> tuple[Replay, list[str]]:
        line = "\t".join(map(str, request))
        try:
            if cluster.active():
                answer = cluster.call(_ask_far, self._program, line)
            else:
                answer = self._processes.ask(line)
            cycles, first, micros, *words = answer.split()
        except (OSError, ValueError) as error:
            raise RunnerError(f"the replay of {recording.name} ended: {error}") from None
        output = "" if int(first) < 0 else self._design.output_at(int(first))
        return Replay(int(cycles), output, int(micros) / 1e6), words
