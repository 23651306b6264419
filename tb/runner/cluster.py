# SPDX-License-Identifier: Apache-2.0
"""Starts worker processes through a batch system: CLUSTER='srun -n1 -c1' (docs/regression.md).

Workers are execnet's, as those of pytest-xdist are: a Python interpreter that a launcher starts
anywhere, which talks through its standard input and output. Simulations, proofs and lint under
pytest use pytest-xdist itself; campaigns (mutants, soak) call functions on `Workers`, on this
machine, too.
"""

from __future__ import annotations

import os
import pickle
import queue
import shlex
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import execnet

from tb.runner.common import ROOT, RunnerError, cpu_count, prepare_environment
from tb.runner.simulator import kill_all

#: Workers of a cluster unless JOBS says how many.
COUNT = 2
#: Starts workers on this machine. Ctrl-C on the terminal reaches the campaign alone: it ends them.
_HERE = "setsid"
#: Seconds of wall time that a batch system has to start all workers, unless CLUSTER_WAIT says more.
WAIT_S = 120
#: How long a worker may take to end when it is told to.
_END_S = 12.0
#: For launchers: their standard output must carry what the worker writes, at once, and no more.
_LAUNCHERS = {
    "SLURM_UNBUFFEREDIO": "1",  # srun would keep what is not a whole line
    "BSUB_QUIET": "1",  # bsub would tell of its job
}
_SERVE = """
import sys
sys.path.insert(0, channel.receive())
from tb.runner.cluster import serve
serve(channel)
"""

R = TypeVar("R")


class WorkerDiedError(RunnerError):
    """A worker has ended before it had an answer."""


def spec_of(launcher: str) -> str:
    """The words that start a worker, as execnet and pytest-xdist read them; raises RunnerError if
    they cannot be such words.
    """
    try:
        words = shlex.split(launcher)
    except ValueError as error:
        raise RunnerError(f"CLUSTER={launcher}: {error}") from None
    if not words or shutil.which(words[0]) is None:
        raise RunnerError(f"CLUSTER={launcher}: no such command")
    # Not what the link points to: the environment is found by the path of its interpreter.
    command = shlex.join([*words, str(Path(sys.prefix) / "bin" / "python")])
    if "//" in command:
        raise RunnerError(f"CLUSTER={launcher}: must not contain //")
    return f"popen//python={command}"


class _Start(threading.Thread):
    """The start of one worker, which takes until the batch system has a slot."""

    def __init__(
        self, make: Callable[[execnet.XSpec], execnet.Gateway], spec: execnet.XSpec, wait_s: float
    ) -> None:
        super().__init__(daemon=True)
        self._make, self._spec = make, spec
        self._end = time.monotonic() + wait_s
        self.gateway: execnet.Gateway | None = None
        self.start()

    def run(self) -> None:
        with suppress(EOFError, OSError, AssertionError):
            gateway = self._make(self._spec)
            # A launcher that has ended leaves a gateway without anything at its other end.
            gateway.remote_status()
            self.gateway = gateway

    def wait(self) -> execnet.Gateway | None:
        """The worker; None if there is none in time."""
        self.join(max(0.0, self._end - time.monotonic()))
        return self.gateway

    def give_up(self) -> None:
        """Ends a launcher that still waits: it withdraws what it has asked for."""
        children = Path(f"/proc/self/task/{self.native_id}/children")
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(OSError):
                for pid in children.read_text().split():
                    os.kill(int(pid), number)
            self.join(5.0)


class Starter:
    """Takes the place of ``makegateway`` of a group, which starts one worker after the other, and
    would wait for ever for a slot.
    """

    def __init__(self, group: execnet.Group, launcher: str, wait_s: float) -> None:
        self._make = group.makegateway
        self._launcher, self._wait_s = launcher, wait_s
        self._begun: dict[str, _Start] = {}
        os.environ.update(_LAUNCHERS)

    def begin(self, specs: Sequence[execnet.XSpec]) -> None:
        """Starts workers side by side, to be asked for one after the other."""
        for spec in specs:
            self._begun[str(spec.id)] = _Start(self._make, spec, self._wait_s)

    def __call__(self, spec: execnet.XSpec) -> execnet.Gateway:
        """The worker, as soon as it runs; one that was not begun is in place of one that has died.
        Raises RunnerError if the launcher fails or waits for too long; then none that waits is
        left.
        """
        if str(spec.id) not in self._begun:
            self._begun = {name: s for name, s in self._begun.items() if s.is_alive()}
            self.begin([spec])
        start = self._begun[str(spec.id)]
        try:
            if gateway := start.wait():
                return gateway
            raise RunnerError(self._problem(start))
        except BaseException:
            self.give_up()
            raise

    def give_up(self) -> None:
        """Ends the launchers that still wait."""
        for start in list(self._begun.values()):
            if start.is_alive():
                threading.Thread(target=start.give_up).start()

    def _problem(self, start: _Start) -> str:
        if not start.is_alive():
            return f"CLUSTER={self._launcher}: started no worker; what it said is above"
        ready = sum(s.gateway is not None for s in self._begun.values())
        return (
            f"CLUSTER={self._launcher}: {ready} of {len(self._begun)} worker(s) started within "
            f"{self._wait_s:.0f} s: ask for fewer (JOBS), or wait longer (CLUSTER_WAIT)"
        )


# -- workers of campaigns --------------------------------------------------------------------------


class Workers:
    """Processes that call functions; safe among threads."""

    def __init__(self, launcher: str, jobs: int | None, wait_s: int | None) -> None:
        launcher = launcher.strip()
        self.count = jobs or (COUNT if launcher else cpu_count())
        self._group = execnet.Group(execmodel="main_thread_only")
        self._spec = spec_of(launcher or _HERE)
        self._starter = Starter(self._group, launcher or _HERE, wait_s or WAIT_S)
        self._lock = threading.Lock()
        self._idle: queue.Queue[execnet.Channel | None] = queue.Queue()
        self._closed = False
        specs = [self._new_spec() for _ in range(self.count)]
        self._starter.begin(specs)
        try:
            for spec in specs:
                self._idle.put(self._open(spec))
        except BaseException:
            self.close()
            raise

    def _new_spec(self) -> execnet.XSpec:
        spec = execnet.XSpec(self._spec)
        self._group.allocate_id(spec)
        return spec

    def _open(self, spec: execnet.XSpec) -> execnet.Channel:
        channel = self._starter(spec).remote_exec(_SERVE)
        channel.send(str(ROOT))
        return channel

    def close(self) -> None:
        """Ends all workers with what they run; calls that wait for an answer raise RunnerError."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._idle.put(None)
        self._starter.give_up()
        self._group.terminate(_END_S)

    def call(self, tries: int, function: Callable[..., R], *args: object) -> R:
        """What ``function`` returns on a worker. One that dies is replaced, and the call is made
        ``tries`` times at most. Raises WorkerDiedError if it died each time, RunnerError with the
        text of an exception.
        """
        channel = self._idle.get()
        try:
            for _ in range(tries):
                if self._closed or channel is None:
                    raise RunnerError("the workers were ended")
                ok = None
                with suppress(EOFError, OSError, channel.RemoteError):
                    channel.send(pickle.dumps((function, args)))
                    ok, value = pickle.loads(channel.receive())
                if self._closed:  # what was killed is no answer
                    raise RunnerError("the workers were ended")
                if ok is None:
                    channel = self._open(self._new_spec())
                    continue
                if not ok:
                    raise RunnerError(value)
                answer: R = value
                return answer
            raise WorkerDiedError(f"a worker ended while it ran {function.__name__}")
        finally:
            self._idle.put(channel)


def serve(channel: execnet.Channel) -> None:
    """Runs in a worker: calls what it is sent. When the other end closes, the call ends at once."""
    prepare_environment()
    calls: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    busy, main = threading.Event(), threading.get_ident()

    def received(data: bytes | None) -> None:
        calls.put(data)
        if data is None and busy.is_set():
            kill_all()
            signal.pthread_kill(main, signal.SIGINT)

    channel.setcallback(received, endmarker=None)
    while data := calls.get():
        busy.set()
        try:
            function, args = pickle.loads(data)
            answer = True, function(*args)
        except (RunnerError, OSError) as error:
            answer = False, str(error)
        except Exception:
            answer = False, traceback.format_exc()
        busy.clear()
        with suppress(OSError):
            channel.send(pickle.dumps(answer))
