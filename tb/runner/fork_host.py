# SPDX-License-Identifier: Apache-2.0
"""Starts a simulator that runs each simulation in a fork of itself, and talks to it
(tb/runner/fork_server.py).
"""

from __future__ import annotations

import json
import os
import select
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from tb.compiled import VARIABLE as COMPILED
from tb.runner.common import RunnerError, relative
from tb.runner.limits import Ended
from tb.runner.simulator import forget, kill_group, remember

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
        self._log = folder / "host.log"
        folder.mkdir(parents=True, exist_ok=True)
        theirs_in, self._to = os.pipe()
        answers, theirs_out = os.pipe()
        self._answers = os.fdopen(answers)
        fds = {REQUESTS: str(theirs_in), ANSWERS: str(theirs_out)}
        with self._log.open("w") as log:
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
        try:
            if not select.select([answers], [], [], _START_S)[0]:
                raise RunnerError(f"no answer from the simulator; its log: {relative(self._log)}")
            self._answer()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Ends it, with what still runs in it."""
        os.close(self._to)
        self._answers.close()
        kill_group(self._process)
        self._process.wait()
        forget(self._process)

    def ask(self, request: dict[str, Any]) -> Ended:
        """Has it run one simulation and waits for its end."""
        with suppress(BrokenPipeError):
            os.write(self._to, (json.dumps(request) + "\n").encode())
        return self._answer()

    def _answer(self) -> Ended:
        line = self._answers.readline()
        if not line.endswith("\n"):
            raise RunnerError(f"the simulator ended; its log: {relative(self._log)}")
        return Ended(*json.loads(line))


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

    def close(self) -> None:
        """Ends all servers."""
        while self._hosts:
            self._hosts.popitem()[1].close()

    def execute(
        self,
        command: Sequence[str],
        cwd: str | os.PathLike[str],
        env: Mapping[str, str],
        log: TextIO,
        cpu_s: float | None,
    ) -> Ended:
        """As ``simulator.execute``."""
        key = (*command, env.get(COMPILED, ""))
        host = self._hosts.pop(key, None)
        if not host:
            while len(self._hosts) >= self._most:
                self._hosts.pop(next(iter(self._hosts))).close()
            self._started += 1
            host = ForkHost(command, env, self._folder / str(self._started))
        request = {"cwd": str(cwd), "env": dict(env), "module": env["COCOTB_TEST_MODULES"]}
        try:
            ended = host.ask({**request, "log": log.name, "cpu_s": cpu_s})
        except BaseException:
            host.close()
            raise
        self._hosts[key] = host
        return ended
