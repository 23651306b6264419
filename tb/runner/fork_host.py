# SPDX-License-Identifier: Apache-2.0
"""Starts a simulator that runs each simulation in a fork of itself, and talks to it
(tb/runner/fork_server.py).
"""

from __future__ import annotations

import json
import os
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
REQUESTS, ANSWERS = "CARILLON_FORK_IN", "CARILLON_FORK_OUT"
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

    ``command`` and ``env`` are those of an ordinary run; its own output goes to host.log in
    ``folder``. Raises RunnerError if it does not start or ends before it should; the log says why.
    """

    def __init__(self, command: Sequence[str], env: Mapping[str, str], folder: Path) -> None:
        self.ended = ""
        """Why it has ended before it should."""
        self._where = relative(folder / "host.log")
        self._number = 0
        ready: Future[dict[str, Any]] = Future()
        self._waiting = {0: ready}
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)
        theirs_in, self._to = os.pipe()
        answers, theirs_out = os.pipe()
        fds = {REQUESTS: str(theirs_in), ANSWERS: str(theirs_out)}
        with (folder / "host.log").open("w") as log:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env={**env, "PYGPI_USERS": ",".join(_USERS), **fds},
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=(theirs_in, theirs_out),
                start_new_session=True,
            )
        remember(self._process)
        os.close(theirs_in)
        os.close(theirs_out)
        threading.Thread(target=self._read, args=(os.fdopen(answers),), daemon=True).start()
        try:
            ready.result(_START_S)
        except TimeoutError:
            self.close()
            raise RunnerError(f"no answer from the simulator; its log: {self._where}") from None
        except BaseException:
            self.close()
            raise

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

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Has it run one simulation and waits for the answer; may be called by several threads."""
        future: Future[dict[str, Any]] = Future()
        with self._lock:
            if self.ended:
                raise RunnerError(self.ended)
            self._number += 1
            self._waiting[self._number] = future
            line = json.dumps({**request, "id": self._number}) + "\n"
            os.write(self._to, line.encode())
        return future.result()

    def _read(self, answers: TextIO) -> None:
        """Hands the answers to those who wait for them."""
        with answers:
            while (line := answers.readline()).endswith("\n"):
                answer = json.loads(line)
                with self._lock:
                    future = self._waiting.pop(answer["id"])
                future.set_result(answer)
        with self._lock:
            self.ended = f"the simulator ended; its log: {self._where}"
            for future in self._waiting.values():
                future.set_exception(RunnerError(self.ended))


class JobHosts:
    """Runs compiled simulations in forks of servers, one for each command: a build and one of its
    few initial states. Servers start when they are needed; those that were not used for longest
    end when there are more than ``most``.
    """

    def __init__(self, folder: Path, most: int = 12) -> None:
        self._folder = folder
        self._most = most
        self._hosts: dict[tuple[str, ...], ForkHost] = {}
        """The last one was used last."""
        self._started = 0
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends all servers."""
        for host in self._hosts.values():
            host.close()
        self._hosts.clear()

    def _host(self, command: Sequence[str], env: Mapping[str, str]) -> ForkHost:
        key = (*command, env.get(COMPILED, ""))
        with self._lock:
            host = self._hosts.pop(key, None)
            if host and host.ended:
                host.close()
                host = None
            if not host:
                self._started += 1
                host = ForkHost(command, env, self._folder / str(self._started))
            idle = [old for old, one in self._hosts.items() if not one.busy]
            for old in idle[: max(0, len(self._hosts) + 1 - self._most)]:
                self._hosts.pop(old).close()
            self._hosts[key] = host
            return host

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
