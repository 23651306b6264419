# SPDX-License-Identifier: Apache-2.0
"""What all parts of the scoreboard share: the model, the recent history, and how to fail."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, NoReturn, Protocol, TypeVar

from models import codes
from models.cq.core import CompletionCore
from models.host.control import Args
from models.layouts import NO_QP
from models.params import Params
from tb.env.defs import PSTATE, STATE, Reg
from tb.env.harness.records import Asked, Command, Trace
from tb.env.scoreboard.explain import (
    Difference,
    Mismatch,
    describe,
    describe_step,
    differences,
    explain,
    name_of,
    op_name,
    rule_of,
)

#: Steps remembered for each CQ, and how many of them a failure shows.
HISTORY = 64
SHOWN = 20

#: What is late at the pins shows on the trace port, or at the next look, so many cycles later.
SLACK = 16

#: What the error log has: cause, kind, object, detail.
LogEntry = tuple[int, int, int, int]

#: Kind and number of what a failure is about; None: nothing.
Object = tuple[str, int | None]

#: Places of the fields of lanes 1 and 2.
_AT = {name: field.lsb for name, field in STATE.fields.items()}

_RULE = re.compile(r"\b[A-Z]{2,3}-\d+[a-z]?\b")

#: Kinds of objects that a step is of: the number in ``Trace.cq`` is that of a CQ, a QP, an SRQ; an
#: SRQ or a QP, as bit 8 of the operand says; a QP, or none.
CQ, QP, SRQ, QUEUE, ANY_QP = "CQ", "QP", "SRQ", "QUEUE", "ANY_QP"


class Left(NamedTuple):
    """Something that is under way at the end of a test. ``held``: the allowance that excuses it,
    "" if nothing does; ``number``: what the text ends with.
    """

    held: str
    number: int
    text: str
    cq: int | None = None


class Teller(NamedTuple):
    """Tells how an object of a kind stands in the model; ``limit``: how many there are."""

    kind: str
    limit: int
    tell: Callable[[int], list[str]]


class NeedCommandError(Exception):
    """The judgement depends on the command in flight, whose record has not come yet."""


class Check:
    """One group of rules, with what it knows of the run. A check judges records; which ones, the
    table of the scoreboard says (scoreboard.py).
    """

    #: Requirements that its messages name, unless they name one themselves.
    rules = ""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.fail = ctx.fail

    def tick(self) -> None:
        """Time has passed: is something late?"""

    def left(self) -> Iterator[Left]:
        """What is under way, when all should be quiet."""
        return iter(())

    def counters(self) -> dict[Reg, int]:
        """What the counters must show when all is quiet."""
        return {}


class Waiting(Protocol):
    """A request without its answer. ``request``: has its QP."""

    cycle: int
    request: Any


W = TypeVar("W", bound=Waiting)


class AnswerCheck(Check, Generic[W]):
    """Answers in the order of their requests, one per cycle, each at most ``bound`` cycles after
    its request or the latest stall; ``missing``: how it is told that one is.
    """

    bound = 0
    missing = ""

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self.requests: deque[W] = deque()
        #: The request of the latest answer.
        self.answered: W
        #: Since then nothing has stalled the answers.
        self.free_since = 0
        self._latest = -1

    def look(self, waiting: W) -> None:
        """Notes what may be answered in the present state of its QP."""

    def changed_qp(self, qp: int) -> None:
        """The state of a QP changed."""
        for waiting in self.requests:
            if waiting.request.qp == qp:
                self.look(waiting)

    def removed(self) -> None:
        """The device is removed: what waits may be refused."""
        for waiting in self.requests:
            self.look(waiting)

    def next_of(self, record: object) -> W:
        """The request of the next answer."""
        if not self.requests:
            self.fail(f"answer without a request: {record}")
        self.answered = self.requests.popleft()
        return self.answered

    def timely(self, waiting: W) -> None:
        """The answer has come just now."""
        cycle, since = self.ctx.cycle, max(waiting.cycle, self.free_since)
        if cycle > max(since + self.bound, self._latest + 1):
            self.fail(f"{waiting}: taken in cycle {cycle}, {self.bound} is the bound")
        self._latest = cycle

    def stalled(self, cycle: int) -> None:
        """The answers were stalled up to this cycle."""
        self.free_since = max(self.free_since, cycle)

    def tick(self) -> None:
        if self.requests:
            waiting = self.requests[0]
            since = max(waiting.cycle, self.free_since, self._latest)
            if self.ctx.cycle - since > self.bound + SLACK:
                self.fail(f"{self.missing} of cycle {waiting.cycle}: {waiting}")


class Context:
    """State shared by the parts of the scoreboard."""

    def __init__(
        self, params: Params, seed: int = 0, asked: dict[int, Asked] | None = None
    ) -> None:
        self.params = params
        #: Writes to doorbell pages that sequences asked for and that were not seen yet, by number.
        self.asked = {} if asked is None else asked
        self.seed = seed
        self.engine = CompletionCore(params)
        self.cycle = 0
        #: Requirements of the check that is at work, the step that it judges, and what the record
        #: that it judges is of.
        self.rules = ""
        self.step: Trace | None = None
        self.objs: tuple[Object, ...] = ()
        self.history: list[deque[Trace]] = [deque(maxlen=HISTORY) for _ in range(params.num_cq)]
        #: Commands whose records came, but whose place in the stream is not reached yet.
        self.commands: deque[Command] = deque()
        self.last_command = -1
        #: Commands whose place is passed, newest last, for what was under way while they ran.
        self.finished: deque[Command] = deque(maxlen=8)
        #: log2 of the ring of a CQ before its latest resize.
        self.old_log2: dict[int, int] = {}
        #: No further record will come: what is not known now stays unknown.
        self.resigned = False
        #: State of lanes 1 and 2 of each CQ, as the trace port encodes it.
        self.state = [0] * params.num_cq
        #: Class of every entry of a CQ since its creation; index after the newest solicited one.
        self.classes: list[list[bool]] = [[] for _ in range(params.num_cq)]
        self.solicited = [0] * params.num_cq
        #: Cycle of the step that brought the CQ into its error state.
        self.failed_at = [-1] * params.num_cq
        #: What the error log must say.
        self.log: list[LogEntry] = []
        self._mask = (1 << params.idx_w) - 1
        self.tellers = [Teller("CQ", params.num_cq, self._tell_cq)]

    # -- failing -----------------------------------------------------------------------------------

    def fail(
        self,
        text: str,
        *objs: Object,
        diff: Difference | None = None,
        rule: str = "",
        more: Iterable[str] = (),
    ) -> NoReturn:
        """Raise :class:`Mismatch`, with everything that helps to find the cause.

        ``objs``: what it is about, the first of which is named; default: what the record that is
        judged is of. ``diff``: the value that is wrong. ``rule``: default: that of the check that
        is at work. ``more``: lines after the first one.
        """
        step = self.step
        there = [(kind, n) for kind, n in objs or self.objs if n is not None]
        kind, number = there[0] if there else ("", None)
        if not rule:
            found = _RULE.findall(text)
            rule = ", ".join(dict.fromkeys(found)) if found else self.rules
        parts = [f"{kind} {number}: "] if there else []
        if diff is not None:
            parts.append(explain("", *diff, rule) + ": ")
        parts.append(text)
        if diff is None and rule and not _RULE.search(text):
            parts.append(f" ({rule})")
        lines = [f"{''.join(parts)}; cycle {self.cycle}, seed {self.seed}", *more]
        if step is not None:
            lines += [f"  step of the engine on lane {step.lane}:", f"    {describe_step(step)}"]
            lines.append(f"    state before: {describe(step.lane, step.old)}")
        for teller in self.tellers:
            for obj, n in there:
                if obj == teller.kind and n < teller.limit:
                    lines += teller.tell(n)
        raise Mismatch(
            "\n".join(lines),
            obj=kind,
            number=number,
            rule=rule,
            cycle=self.cycle,
            **({} if diff is None else diff._asdict()),
        ) from None

    def compare(self, when: str, step: Trace, want: int, hidden: int = 0, *objs: Object) -> None:
        """The state ``when``, "before" or "after", a step must be ``want``; bits of ``hidden`` do
        not count. ``objs``: see :meth:`fail`.
        """
        got = step.old if when == "before" else step.new
        if not (got ^ want) & ~hidden:
            return
        found: Sequence[Difference | None] = differences(step.lane, got, want, hidden) or [None]
        first = found[0]
        rule = rule_of(first.field, step.op) if first is not None and step.lane <= 2 else ""
        text = f"state {when} the step differs from the model, which has "
        text += describe(step.lane, want)
        self.fail(text, *objs, diff=first, rule=rule, more=[f"  {one}" for one in found[1:]])

    def _tell_cq(self, cq: int) -> list[str]:
        return [
            f"  CQ {cq} in the model: {describe(2, self.encode(cq))}",
            f"    producer: {describe(0, self.producer_state(cq))}",
            *latest(self.history[cq]),
        ]

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
        low = q.life | q.status << _AT["status"] | q.running << _AT["in_callback"]
        if arm is not None:
            low |= 1 << _AT["armed"] | arm << _AT["arm_type"]
        return (
            low
            | q.due << _AT["due"]
            | q.released << _AT["released"]
            | q.event_open << _AT["event_pending"]
            | (prod & mask) << _AT["prod"]
            | (cons & mask) << _AT["cons"]
            | (mark & mask) << _AT["mark"]
            | (solicited & mask) << _AT["sol"]
            | q.due_count << _AT["mod_count"]
        )

    def producer_state(self, cq: int) -> int:
        """The model's state in the encoding of lane 0."""
        producer = self.engine.producers[cq]
        refuses = producer.refuses or self.engine.cqs[cq].status != 0
        alloc, used = producer.alloc & self._mask, producer.used & self._mask
        return PSTATE.pack(alloc=alloc, used=used, closed=bool(refuses))

    # -- commands ----------------------------------------------------------------------------------

    def command(self) -> Command | None:
        """The command in flight now, if any; raises NeedCommandError if that is not known yet."""
        if self.commands:
            command = self.commands[0]
            return command if command.start <= self.cycle else None
        if self.resigned:
            return None
        raise NeedCommandError

    def command_for(self, number: int, *which: int) -> Command | None:
        """The command in flight if it is one of ``which`` for this object."""
        command = self.command()
        if command is not None and command.code in which and command.args[0] == number:
            return command
        return None

    def step_of(
        self,
        record: Trace,
        seen: list[Trace],
        *which: int,
        results: Collection[int] = (0,),
        most: int = 1,
    ) -> Command:
        """The command in flight, one of ``which``, that a step belongs to. It ends with one of
        ``results`` and has ``most`` steps of this operation at most; ``seen``: its steps so far.
        """
        name, command = op_name(record.op), self.command()
        if (
            command is None
            or command.code not in which
            or record.cq not in (command.args[0], NO_QP)
        ):
            self.fail(f"{name} without a command")
        if command.result not in results:
            self.fail(f"{name}, but its command answered {command.result:#x}")
        if sum(step.op == record.op for step in seen) >= most:
            self.fail(f"one more {name} of one command")
        seen.append(record)
        return command

    def window_start(self, command: Command) -> int:
        """No effect of a command is earlier than this cycle."""
        return max(self.last_command, command.start)


def look_patience(num_cq: int, waiting: int) -> int:
    """Cycles within which the engine looks at a callback that waits for moderation while
    ``waiting`` others do (docs/interfaces.md).
    """
    return 2 * num_cq + 50 * waiting + 32


def latest(history: Iterable[Trace]) -> list[str]:
    """The latest steps of an object."""
    recent = [f"    {describe_step(step)}" for step in list(history)[-SHOWN:]]
    return ["  last steps:", *(recent or ["    none"])]


def steps_left(steps: Iterable[Trace]) -> Iterator[Left]:
    """Steps of a command that has not ended."""
    for step in steps:
        yield Left("", step.cycle, "the command has not ended of the step of cycle")


def call_of(command: Command) -> str:
    """A command with its arguments."""
    name = name_of(codes.Command, command.code)
    return f"{name}({', '.join(f'{arg:#x}' for arg in command.args)})"


def args_of(command: Command) -> Args:
    """The argument registers of a command."""
    return Args(command.args)
