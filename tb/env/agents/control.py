# SPDX-License-Identifier: Apache-2.0
"""Agent of the control port (s_axil): register accesses and mailbox commands.

cocotb-bus has an AXI4-Lite master, but it works with signals cycle by cycle, waits for one access
before it begins the next, and so can neither pipeline accesses nor place one in a given cycle. The
harness's queues do both without a Python step per cycle, so cocotb-bus is not used here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import cocotb
from cocotb.task import Task
from cocotb.triggers import Lock

from tb.env.agents.base import BfmAgent, BfmItem, ItemDriver, Pending
from tb.env.defs import CMD_STATUS, Cmd, Reg, Result
from tb.env.harness.decode import ControlRead, ControlWrite
from tb.env.harness.harness import Channel
from tb.env.harness.records import Access, Command

OKAY = 0
_POLLS = 100_000


class RegisterRead(NamedTuple):
    """Answer to a register read."""

    resp: int
    data: int


class CommandError(AssertionError):
    """A mailbox command ended with another result than OK."""

    def __init__(self, command: Command) -> None:
        self.command = command
        try:
            result = Result(command.result).name
            code = Cmd(command.code).name
        except ValueError:
            result, code = hex(command.result), hex(command.code)
        args = ", ".join(f"{arg:#x}" for arg in command.args)
        super().__init__(f"{code}({args}) ended with {result}")


def ok(command: Command, *allowed: Result) -> Command:
    """The command. Raises ``CommandError`` if its result is neither OK nor allowed."""
    if command.result not in (Result.OK, *allowed):
        raise CommandError(command)
    return command


@dataclass(eq=False)
class _Run:
    """A command on its way: what its record needs."""

    code: int
    args: tuple[int, ...]
    start: int
    done_at: int | None = None
    result: int = 0
    outs: list[int] = field(default_factory=list)
    expected: int = 0


class CommandItem(BfmItem):
    """A mailbox command; ``answer`` is its record to come. ``at``: earliest cycle of the CMD
    write.
    """

    interface = "control"
    answer: Task[Command]

    def __init__(self, name: str = "command", code: int = 0, *args: int, at: int = 0) -> None:
        super().__init__(name)
        self.code = code
        self.args = args
        self.at = at

    def drive(self, agent: ControlAgent) -> None:
        """Starts the command, or queues it behind others."""
        self.answer = cocotb.start_soon(agent.command(self.code, *self.args, at=self.at))
        agent.started(self.answer)


class ControlAgent(BfmAgent):
    """Accesses in request order; commands one at a time."""

    driver_type = ItemDriver
    reports = (Command,)
    channels = tuple(Channel[f"CTL_{name}"] for name in ("AW", "W", "AR", "B", "R"))

    def build_phase(self) -> None:
        super().build_phase()
        self._writes: deque[tuple[int, int, Pending[int]]] = deque()
        self._reads: deque[tuple[int, _Run | None, Pending[RegisterRead]]] = deque()
        self._commands: list[Task[Command]] = []  # of items
        #: Gets each finished access.
        self.observers: list[Callable[[Access], None]] = []
        self._mailbox = Lock()
        self._args = [0] * 8
        self._run: _Run | None = None
        #: Accesses answered with an error since the reset.
        self.refused = 0
        #: Commands whose record is complete, for the environment to put in order.
        self.finished: list[Command] = []

    # -- registers ---------------------------------------------------------------------------------

    def post_write(self, offset: int, data: int, strb: int = 0xF, at: int = 0) -> Pending[int]:
        """Queues a register write; its answer is the response code."""
        answer: Pending[int] = Pending()
        self._writes.append((offset, data, answer))
        self.harness.submit(Channel.CTL_AW, [offset], at)
        self.harness.submit(Channel.CTL_W, [data | strb << 32], at)
        return answer

    def post_read(self, offset: int, at: int = 0) -> Pending[RegisterRead]:
        """Queues a register read."""
        return self._post_read(offset, None, at)

    async def write(self, offset: int, data: int, strb: int = 0xF) -> int:
        """Writes a register; returns the response code."""
        return await self.post_write(offset, data, strb)

    async def read(self, offset: int) -> RegisterRead:
        """Reads a register."""
        return await self.post_read(offset)

    async def value(self, offset: int) -> int:
        """Reads a register that must answer OKAY."""
        answer = await self.post_read(offset)
        assert answer.resp == OKAY, f"control read of {offset:#x}: response {answer.resp}"
        return answer.data

    def _post_read(self, offset: int, run: _Run | None, at: int = 0) -> Pending[RegisterRead]:
        answer: Pending[RegisterRead] = Pending()
        self._reads.append((offset, run, answer))
        self.harness.submit(Channel.CTL_AR, [offset], at)
        return answer

    # -- commands ----------------------------------------------------------------------------------

    def started(self, command: Task[Command]) -> None:
        """The command of an item, which a reset ends."""
        self._commands = [task for task in self._commands if not task.done()]
        self._commands.append(command)

    async def command(self, code: int, *args: int, at: int = 0) -> Command:
        """Runs a mailbox command to its end, whatever the result. ARG registers not given keep
        their values. ``at``: earliest cycle of the CMD write.
        """
        async with self._mailbox:
            answers = [
                self.post_write(Reg.ARG0 + 4 * number, value) for number, value in enumerate(args)
            ]
            await self.begin(code, at)
            for number, answer in enumerate(answers):
                assert answer.result == OKAY, f"ARG{number}: response {answer.result}"
            for _ in range(_POLLS):
                _, command = await self.look()
                if command is not None:
                    return command
            raise AssertionError(f"command {code:#x} does not end")

    async def begin(self, code: int, at: int = 0) -> None:
        """Writes CMD alone, for who holds the mailbox and has written the arguments by itself."""
        start = max(at, self.harness.cycle)
        resp = await self.post_write(Reg.CMD, code, at=at)
        assert resp == OKAY, f"CMD: response {resp}"
        self._run = _Run(code, tuple(self._args), start)

    async def look(self) -> tuple[int, Command | None]:
        """Reads CMD_STATUS, and the results with it; returns the status, and the command that
        :meth:`begin` began if it is done.
        """
        run = self._run
        status = self._post_read(Reg.CMD_STATUS, run)
        reads = [self._post_read(Reg.OUT0 + 4 * number, run) for number in range(8)]
        await reads[-1]
        word = (await status).data
        if run is None or run.done_at is None:
            return word, None
        self._run = None
        return word, _record(run)

    @property
    def mailbox(self) -> Lock:
        """Held by who uses the argument registers: commands, and tests that write there."""
        return self._mailbox

    @property
    def commanding(self) -> bool:
        """A command is under way, or its record is not complete."""
        return self._mailbox.locked()

    @property
    def hold_after(self) -> int | None:
        """Records of later cycles must wait: the record of a command that ended then is not
        complete.
        """
        return self._run.done_at if self._run is not None and len(self._run.outs) < 8 else None

    # -- from the recorder -------------------------------------------------------------------------

    def responded(self, record: ControlWrite) -> None:
        """A handshake on s_axil_b."""
        if not self._writes:
            raise AssertionError(f"s_axil_b without a write: {record}")
        offset, data, answer = self._writes.popleft()
        if record.resp == OKAY and Reg.ARG0 <= offset <= Reg.ARG7:
            self._args[(offset - Reg.ARG0) // 4] = data
        self._observed(Access(record.cycle, True, offset, data, record.resp))
        answer.finish(record.resp, record.cycle)

    def read_data(self, record: ControlRead) -> None:
        """A handshake on s_axil_r."""
        if not self._reads:
            raise AssertionError(f"s_axil_r without a read: {record}")
        offset, run, answer = self._reads.popleft()
        self._observed(Access(record.cycle, False, offset, record.data, record.resp))
        if run is not None:
            self._progress(run, record)
        answer.finish(RegisterRead(record.resp, record.data), record.cycle)

    def _observed(self, access: Access) -> None:
        self.refused += access.resp != OKAY
        for observer in self.observers:
            observer(access)

    def _progress(self, run: _Run, record: ControlRead) -> None:
        if run.expected == 0:
            status = CMD_STATUS.unpack(record.data)
            if status["done"] and not status["busy"]:
                run.done_at = record.cycle
                run.result = status["result"]
        elif run.done_at is not None:
            run.outs.append(record.data)
            if len(run.outs) == 8:
                self.finished.append(_record(run))
        run.expected = (run.expected + 1) % 9

    def clear(self) -> None:
        super().clear()
        for task in self._commands:
            if not task.done():
                task.cancel()
        self._commands.clear()
        self._writes.clear()
        self._reads.clear()
        self._args = [0] * 8
        self._run = None
        self.refused = 0

    @property
    def idle(self) -> bool:
        return not self._writes and not self._reads


def _record(run: _Run) -> Command:
    assert run.done_at is not None
    return Command(run.done_at, run.start, run.code, run.args, run.result, tuple(run.outs))
