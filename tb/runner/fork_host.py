# SPDX-License-Identifier: Apache-2.0
"""Starts a simulator that runs each simulation in a fork of itself, and talks to it
(tb/runner/fork_server.py).
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Self, TextIO

from tb.compiled import VARIABLE as COMPILED
from tb.runner.common import RunnerError, relative
from tb.runner.simulator import Ended, forget, kill_group, remember

#: Environment variables of tb/runner/fork_server.py, which only a simulator imports.
REQUESTS, ANSWERS, MODULES = "CARILLON_FORK_IN", "CARILLON_FORK_OUT", "CARILLON_FORK_MODULES"
_START_S = 300.0
_USERS = (
    "tb.runner.fork_server:serve_jobs",
    # As without PYGPI_USERS.
    "cocotb.logging:_configure",
    "cocotb._init:init_package_from_simulation",
    "cocotb.regression:_run_regression",
)


class ForkHost:
    """A simulator process that runs simulations in forks of itself.

    ``command`` and ``env`` are those of an ordinary run, but PYGPI_USERS must name an entry point
    that serves; its own output goes to host.log in ``folder``. Raises RunnerError if it does not
    start or ends before it should; the log says why.
    """

    def __init__(self, command: Sequence[str], env: Mapping[str, str], folder: Path) -> None:
        self._where = relative(folder / "host.log")
        self._number = 0
        self._waiting: dict[int, Future[dict[str, Any]]] = {}
        self._lock = threading.Lock()
        self._ended = ""
        self._buffer = b""
        folder.mkdir(parents=True, exist_ok=True)
        theirs_in, self._to = os.pipe()
        self._from, theirs_out = os.pipe()
        with (folder / "host.log").open("w") as log:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env={**env, REQUESTS: str(theirs_in), ANSWERS: str(theirs_out)},
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=(theirs_in, theirs_out),
                start_new_session=True,
            )
        remember(self._process)
        os.close(theirs_in)
        os.close(theirs_out)
        try:
            #: What the server said when it was ready.
            self.ready: list[str] = self._line(_START_S)["ready"]
        except BaseException:
            self.close()
            os.close(self._from)
            raise
        threading.Thread(target=self._read, daemon=True).start()

    def close(self) -> None:
        """Ends it, with what still runs in it."""
        os.close(self._to)
        kill_group(self._process)
        self._process.wait()
        forget(self._process)

    @property
    def busy(self) -> bool:
        """Whether a simulation runs in it."""
        return bool(self._waiting)

    @property
    def ended(self) -> bool:
        """Whether it has ended before it should."""
        return bool(self._ended)

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Has it run one simulation and waits for the answer; may be called by several threads."""
        future: Future[dict[str, Any]] = Future()
        with self._lock:
            if self._ended:
                raise RunnerError(self._ended)
            self._number += 1
            self._waiting[self._number] = future
            line = json.dumps({**request, "id": self._number}) + "\n"
            os.write(self._to, line.encode())
        return future.result()

    def _line(self, timeout_s: float | None) -> dict[str, Any]:
        while b"\n" not in self._buffer:
            if not select.select([self._from], [], [], timeout_s)[0]:
                raise RunnerError(f"no answer from the simulator; its log: {self._where}")
            data = os.read(self._from, 65536)
            if not data:
                raise RunnerError(f"the simulator ended; its log: {self._where}")
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\n", 1)
        found: dict[str, Any] = json.loads(line)
        return found

    def _read(self) -> None:
        """Hands the answers to those who wait for them."""
        try:
            while True:
                line = self._line(None)
                with self._lock:
                    future = self._waiting.pop(line["id"])
                future.set_result(line)
        except (RunnerError, OSError) as error:
            with self._lock:
                self._ended = str(error)
                for future in self._waiting.values():
                    future.set_exception(RunnerError(self._ended))
        finally:
            os.close(self._from)


class JobHosts:
    """Runs compiled simulations in forks of servers, one for each command: a build and one of its
    few initial states. Servers start when they are needed; those that were not used for longest
    end when there are more than ``most``.
    """

    def __init__(self, folder: Path, most: int = 12) -> None:
        self._folder = folder
        self._most = most
        self._hosts: dict[tuple[str, ...], tuple[threading.Lock, list[ForkHost]]] = {}
        self._started = 0
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends all servers."""
        for _lock, started in self._hosts.values():
            for host in started:
                host.close()
        self._hosts.clear()

    def _host(self, command: Sequence[str], env: Mapping[str, str]) -> ForkHost:
        key = (*command, env.get(COMPILED, ""))
        with self._lock:
            lock, started = self._hosts.pop(key, (threading.Lock(), []))
            self._hosts[key] = lock, started
            idle = [k for k, (_, some) in self._hosts.items() if some and not some[0].busy]
            for old in idle[: max(0, len(self._hosts) - self._most)]:
                if old != key:
                    self._hosts.pop(old)[1][0].close()
            self._started += not started
            folder = self._folder / str(self._started)
        with lock:
            if started and started[0].ended:
                started.pop().close()
            if not started:
                env = {**env, "PYGPI_USERS": ",".join(_USERS)}
                started.append(ForkHost(command, env, folder))
            return started[0]

    def execute(
        self,
        command: Sequence[str],
        cwd: str | os.PathLike[str],
        env: Mapping[str, str],
        log: TextIO,
        cpu_s: float | None,
    ) -> Ended:
        """As ``simulator.execute``."""
        answer = self._host(command, env).ask(
            {
                "cwd": str(cwd),
                "env": dict(env),
                "module": env["COCOTB_TEST_MODULES"],
                "log": log.name,
                "cpu_s": cpu_s,
            }
        )
        return Ended(int(answer["status"]), float(answer["seconds"]), bool(answer["timeout"]))
