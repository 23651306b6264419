# SPDX-License-Identifier: Apache-2.0
"""What all parts of the scoreboard share: the model, the recent history, and how to fail."""

from __future__ import annotations

from collections import deque
from typing import NoReturn

from models import codes
from models.codes import Life, TraceOp
from models.cq.core import CompletionCore
from models.host.control import Args
from models.params import Params
from tb.env.harness.records import Command, Trace

#: Steps remembered for each CQ, and how many of them a failure shows.
HISTORY = 64
SHOWN = 20

#: A command begins before the handshake that ``Command.start`` tells: its answer may be stalled.
BEFORE_START = 256

_LANES = {0: "producer", 1: "publication", 2: "doorbell"}


class ScoreboardError(AssertionError):
    """The engine did something that it must not do, or did not do what it must."""


class NeedCommandError(Exception):
    """The judgement depends on the command in flight, whose record has not come yet."""


def op_name(op: int) -> str:
    """Name of a trace operation."""
    try:
        return TraceOp(op).name
    except ValueError:
        return f"op {op:#x}"


def describe(lane: int, state: int) -> str:
    """A trace state in words."""
    if lane == 0:
        return f"alloc {state & 0xFFFF}, used {state >> 16 & 0xFFFF}, refuses {state >> 32 & 1}" + (
            f", rest {state >> 33:#x}" if state >> 33 else ""
        )
    life = state & 3
    text = f"{Life(life).name if life < 3 else life}, status {state >> 2 & 3}"
    text += f", armed {state >> 5 & 3}" if state >> 4 & 1 else ", not armed"
    if state >> 5 & 3 and not state >> 4 & 1:
        text += f" (type {state >> 5 & 3})"
    for bit, name in ((7, "running"), (8, "due"), (9, "released"), (10, "event open")):
        if state >> bit & 1:
            text += f", {name}"
    names = ("prod", "cons", "mark", "solicited", "counted")
    text += "".join(f", {n} {state >> 16 * i + 16 & 0xFFFF}" for i, n in enumerate(names))
    return text + (f", rest {state >> 11 & 0x1F:#x}" if state >> 11 & 0x1F else "")


def describe_step(step: Trace) -> str:
    """One line for one trace record."""
    text = f"{step.cycle:>8} {op_name(step.op)} {step.operand:#x}"
    if step.event:
        text += f" CALLBACK(status {step.event_status})"
    return f"{text}: {describe(step.lane, step.new)}"


class Context:
    """State shared by the parts of the scoreboard."""

    def __init__(self, params: Params, seed: int = 0) -> None:
        self.params = params
        self.seed = seed
        self.engine = CompletionCore(params)
        self.cycle = 0
        self.history: list[deque[Trace]] = [deque(maxlen=HISTORY) for _ in range(params.num_cq)]
        #: Commands whose records came, but whose place in the stream is not reached yet.
        self.commands: deque[Command] = deque()
        self.last_command = -1
        #: Commands behind their place, newest last, for what was under way while they ran.
        self.finished: deque[Command] = deque(maxlen=8)
        #: log2 of the ring of a CQ before its latest resize.
        self.old_log2: dict[int, int] = {}
        #: No further record will come: what is not known now stays unknown.
        self.resigned = False
        #: State of lanes 1 and 2 of each CQ, as the trace port encodes it.
        self.state = [0] * params.num_cq
        #: Class of every entry of a CQ since its creation; index behind the newest solicited one.
        self.classes: list[list[bool]] = [[] for _ in range(params.num_cq)]
        self.solicited = [0] * params.num_cq
        #: Cycle of the step that brought the CQ into its error state.
        self.failed_at = [-1] * params.num_cq
        self._mask = (1 << params.idx_w) - 1

    # -- failing -----------------------------------------------------------------------------------

    def fail(self, text: str, cq: int | None = None, step: Trace | None = None) -> NoReturn:
        """Raise, with everything that helps to find the cause."""
        lines = [f"cycle {self.cycle}, seed {self.seed}: {text}"]
        if cq is not None and cq < self.params.num_cq:
            if step is not None:
                lines.append(f"  step of the engine on lane {_LANES.get(step.lane, step.lane)}:")
                lines.append(f"    {describe_step(step)}")
                lines.append(f"    state before: {describe(step.lane, step.old)}")
            lane = step.lane if step is not None else 2
            model = self.producer_state(cq) if lane == 0 else self.encode(cq)
            lines.append(f"  CQ {cq} in the model: {describe(lane, model)}")
            lines.append(f"  last steps of CQ {cq}:")
            recent = list(self.history[cq])[-SHOWN:]
            lines += [f"    {describe_step(s)}" for s in recent] or ["    none"]
        raise ScoreboardError("\n".join(lines)) from None

    # -- encoding ----------------------------------------------------------------------------------

    def encode(self, cq: int) -> int:
        """The model's state in the encoding of lanes 1 and 2.

        Equal to ``models.trace.encode_cq``, but without a walk over all entries present.
        """
        q = self.engine.cqs[cq]
        cons = q.cons
        prod = q.prod
        mark = cons if cons > q.snap else q.snap
        solicited = self.solicited[cq]
        if solicited < mark:
            solicited = mark
        mask = self._mask
        arm = q.arm
        low = q.life | q.status << 2 | q.running << 7 | q.due << 8
        if arm is not None:
            low |= 16 | arm << 5
        return (
            low
            | q.released << 9
            | q.event_open << 10
            | (prod & mask) << 16
            | (cons & mask) << 32
            | (mark & mask) << 48
            | (solicited & mask) << 64
            | q.due_count << 80
        )

    def producer_state(self, cq: int) -> int:
        """The model's state in the encoding of lane 0."""
        producer = self.engine.producers[cq]
        refuses = producer.refuses or self.engine.cqs[cq].status != 0
        return (
            producer.alloc & self._mask | (producer.used & self._mask) << 16 | bool(refuses) << 32
        )

    # -- commands ----------------------------------------------------------------------------------

    def command(self) -> Command | None:
        """The command in flight now, if any; raises NeedCommandError if that is not known yet."""
        if self.commands:
            command = self.commands[0]
            return command if command.start - BEFORE_START <= self.cycle else None
        if self.resigned:
            return None
        raise NeedCommandError

    def command_for(self, cq: int, *codes: codes.Command) -> Command | None:
        """The command in flight if it is one of ``codes`` for this CQ."""
        command = self.command()
        if command is not None and command.code in codes and command.args[0] == cq:
            return command
        return None

    def window_start(self, command: Command) -> int:
        """No effect of a command is earlier than this cycle."""
        return max(self.last_command, command.start - BEFORE_START)


def look_patience(num_cq: int, waiting: int) -> int:
    """Cycles within which the engine looks at a callback that waits for moderation, beside
    ``waiting`` others (docs/interfaces.md).
    """
    return 2 * num_cq + 48 * waiting


def args_of(command: Command) -> Args:
    """The argument registers of a command."""
    return Args(command.args)
