# SPDX-License-Identifier: Apache-2.0
"""The scoreboard: judges every record of a run against the reference model and the pins.

It replays the trace port into ``models.cq.core`` and compares state and callback of each step, and
it checks the pins on their own, so that an engine whose trace port tells a nicer story than its
pins is caught. It raises :class:`ScoreboardError` at the first contradiction.

::

    board = Scoreboard(Params(...), seed)
    env.add_subscriber(board, "scoreboard", board.checked)
    ...
    board.finish()          # at the end of the test, when all is quiet
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from models.arm.arm import moderation_mode
from models.params import Params
from tb.env.defs import Cause, Reg
from tb.env.harness.records import (
    Command,
    Completion,
    CreditAnswer,
    CreditRequest,
    DoorbellRequest,
    DoorbellResponse,
    Interrupt,
    MemResponse,
    MemWrite,
    Record,
    Trace,
)
from tb.env.host.outputs import stray_outputs
from tb.env.scoreboard.base import Context, NeedCommandError, ScoreboardError, look_patience
from tb.env.scoreboard.completions import CompletionChecks
from tb.env.scoreboard.control import ControlChecks
from tb.env.scoreboard.credits import CreditChecks
from tb.env.scoreboard.doorbells import DoorbellChecks
from tb.env.scoreboard.memory import MemoryChecks
from tb.env.scoreboard.steps import StepChecks

__all__ = ["ALLOWANCES", "Scoreboard", "ScoreboardError"]

#: How long a record may wait for the record of the command that explains it, in clock cycles.
PATIENCE = 20_000

#: What a test can declare to :meth:`Scoreboard.finish`.
ALLOWANCES = {
    "memory": "writes or their answers are held back",
    "interrupts": "the interrupt port is held",
    "doorbells": "answers to doorbells are held back",
    "credits": "credit answers are held back",
    "no_completions": "the test sends no completion",
    "no_doorbells": "the test writes no doorbell",
    "no_traffic": "the test touches registers only: neither completions, doorbells nor steps",
}


class Scoreboard:
    """Give it every block of records, in order, then call :meth:`finish`."""

    #: What a test can declare to :meth:`finish`.
    allowances: ClassVar[dict[str, str]] = ALLOWANCES

    def __init__(
        self, params: Params, seed: int = 0, commanding: Callable[[], bool] | None = None
    ) -> None:
        """``commanding``: tells whether a mailbox command is under way. Without it a record that
        only a command could explain is judged late, at PATIENCE or at the end of the test.
        """
        self.seed = seed
        self._commanding = commanding
        self.params = params
        #: Records judged, over all lives of the engine.
        self.judged = 0
        self._kinds: dict[type, int] = {}
        self._begin()

    def _begin(self) -> None:
        self.ctx = Context(self.params, self.seed)
        self._make_checks(self.ctx)
        self._waiting: deque[Record] = deque()
        self._known: deque[Command] = self.ctx.commands
        self._by_type = self._handlers()

    def _make_checks(self, ctx: Context) -> None:
        self.doorbells = DoorbellChecks(ctx)
        self.credits = CreditChecks(ctx)
        self.completions = CompletionChecks(ctx, self.credits)
        self.memory = MemoryChecks(ctx, self.doorbells, self.completions)
        self.control = ControlChecks(
            ctx, self.completions, self.credits, self.doorbells, self.memory
        )
        self.steps = StepChecks(
            ctx, self.completions, self.credits, self.doorbells, self.memory, self.control
        )

    def _handlers(self) -> dict[type, Callable[[Any], None]]:
        return {
            Trace: self.steps.trace,
            MemResponse: self.memory.response,
            MemWrite: self.memory.write,
            Completion: self.completions.completion,
            DoorbellRequest: self.doorbells.request,
            DoorbellResponse: self.doorbells.response,
            CreditRequest: self.credits.request,
            CreditAnswer: self.credits.answer,
            Interrupt: self.memory.interrupt,
            Command: self._command,
        }

    # -- records -----------------------------------------------------------------------------------

    def __call__(self, records: list[Record]) -> None:
        """Judges a block of records."""
        waiting = self._waiting
        for record in records:
            if type(record) is Command:
                self._known.append(record)
        waiting.extend(records)
        self._run()
        if waiting:
            idle = self._commanding is not None and not self._commanding()
            if idle or waiting[-1].cycle - waiting[0].cycle > PATIENCE:
                self._resign()

    def _run(self) -> None:
        waiting, ctx, by_type, kinds = self._waiting, self.ctx, self._by_type, self._kinds
        try:
            while waiting:
                record = waiting[0]
                if record.cycle < ctx.cycle:
                    ctx.fail(f"records out of order: {record}")
                ctx.cycle = record.cycle
                kind = type(record)
                by_type[kind](record)
                waiting.popleft()
                kinds[kind] = kinds.get(kind, 0) + 1
                self.judged += 1
        except NeedCommandError:
            pass  # goes on when the command's record is there

    def _command(self, record: Command) -> None:
        self._known.popleft()
        self.control.command(record)
        if stray := stray_outputs(record):
            self.ctx.fail(stray)

    def _resign(self) -> None:
        """What a command was to explain stays unexplained."""
        self.ctx.resigned = True
        self._run()
        self.ctx.resigned = False

    def checked(self) -> int:
        """Records judged so far."""
        return self.judged

    def reset(self) -> None:
        """The engine was reset: everything under way is forgotten, numbers judged are kept."""
        self._begin()

    # -- end of the test ---------------------------------------------------------------------------

    def finish(self, allow: Iterable[str] = (), now: int | None = None) -> None:
        """The test is over and all is quiet: nothing may be left.

        ``allow``: exceptions that the test declares, of :attr:`allowances`. ``now``: the cycle,
        :meth:`grace` cycles or more behind the last record; default: that of the last record.
        """
        allowed = set(allow)
        if unknown := allowed - self.allowances.keys():
            raise ValueError(f"unknown allowance {sorted(unknown)}")
        if self._waiting:
            self._resign()
        self._vacuous(allowed)
        for name, left in self._left(self.ctx.cycle if now is None else now).items():
            if left and name not in allowed:
                number, text, cq = left[0]
                more = f" (and {len(left) - 1} more)" if len(left) > 1 else ""
                self.ctx.fail(f"at the end: {text} {number}{more}", cq)

    def _vacuous(self, allowed: set[str]) -> None:
        if "no_traffic" in allowed:
            return
        kinds = self._kinds
        for kind, name in (
            (Trace, "no_traffic"),
            (Completion, "no_completions"),
            (DoorbellRequest, "no_doorbells"),
        ):
            if not kinds.get(kind) and name not in allowed:
                self.ctx.fail(f"vacuous: not one {kind.__name__} record; allow {name!r} if meant")

    def _left(self, now: int) -> dict[str, list[tuple[int, str, int | None]]]:
        """What is under way, by what could hold it back."""
        engine, memory = self.ctx.engine, self.memory
        held: list[tuple[int, str, int | None]] = []
        other: list[tuple[int, str, int | None]] = []
        for cq in range(self.params.num_cq):
            lanes = self.completions.lost(cq)
            if lanes:
                other.append((lanes[0].cycle, "lost: the completion of cycle", cq))
            q, producer = engine.cqs[cq], engine.producers[cq]
            if producer.exists and q.written < producer.alloc:
                held.append((q.written, "never written: entry", cq))
            if memory.beats[cq]:
                held.append((len(memory.beats[cq]), "writes without an answer:", cq))
            if memory.answers[cq]:
                other.append((len(memory.answers[cq]), "answers without a step:", cq))
            if self.completions.overflows[cq]:
                held.append((self.completions.overflows[cq], "overflows not told:", cq))
            if q.due and not q.busy and self._overdue(cq, now):
                other.append((q.due_time, "callback due since cycle", cq))
        for eq in engine.eqs:
            held += [(cq, "no event entry for the callback of CQ", cq) for cq in eq.waiting]
            held += [(e.cq, "event entry not answered, of CQ", e.cq) for e in eq.writing]
            held += [(e.cq, "event entry not written again, of CQ", e.cq) for e in eq.retries]
            other += [(cq, "no step for the event answer of CQ", cq) for cq in eq.outcomes]
        bells = [d.request.cycle for d in self.doorbells.waiting]
        asked = [r.cycle for r in self.credits.waiting]
        steps = [step.cycle for step in self.control.seen]
        return {
            "memory": held,
            "": other
            + [(c, "the command has not ended of the step of cycle", None) for c in steps],
            "interrupts": [(eq, "no interrupt of EQ", None) for eq in sorted(memory.owed)],
            "doorbells": [(c, "no answer to the doorbell of cycle", None) for c in bells],
            "credits": [(c, "no answer to the credit request of cycle", None) for c in asked],
        }

    def counters(self) -> dict[Reg, int]:
        """What the counters of memory and interrupts must show when all is quiet, by the pins; of
        entries, by the steps.
        """
        memory = self.memory
        return {
            Reg.CNT_CPL_PLACED: self.completions.placed,
            Reg.CNT_CQE_WRITES: memory.writes - memory.events,
            Reg.CNT_EVENTS: memory.events,
            Reg.CNT_IRQS: memory.interrupts,
            Reg.CNT_WRITE_ERRORS: memory.errors,
            Reg.CNT_STRAY_B: memory.strays,
        }

    @property
    def logs(self) -> set[Cause]:
        """Causes of which :meth:`log` is certain."""
        return {
            Cause.CQ_OVERFLOW,
            Cause.CQE_WRITE_ERROR,
            Cause.EQE_WRITE_ERROR,
            Cause.EQ_FAILED,
            Cause.STRAY_B,
        }

    def log(self) -> list[tuple[int, int, int, int]]:
        """What overflows and answers of memory have left in the error log: cause, kind, object,
        detail.
        """
        return [*self.completions.log, *self.memory.log]

    def strange(self, entries: Iterable[tuple[int, int, int, int]]) -> list[int]:
        """CQs of which an entry of the error log tells a dropped completion with an index where
        they cannot stand.
        """
        drops = [(cq, index) for cause, _, cq, index in entries if cause == Cause.CPL_CQ_ERROR]
        return [cq for cq, index in drops if not self.completions.dropped(cq, index)]

    def log_maybe(self) -> list[tuple[int, int, int, int]]:
        """Entries that may be there as well: the order of events does not show at the ports."""
        return []

    def grace(self, now: int) -> int:
        """Cycles that the engine still has for callbacks that moderation no longer delays."""
        cqs = self.ctx.engine.cqs
        ripe = [cq for cq, q in enumerate(cqs) if q.due and not q.busy and self._ripe(cq, now)]
        return self._patience() if ripe else 0

    def _patience(self) -> int:
        """The bound that docs/interfaces.md gives for the look at a callback that waits."""
        waiting = sum(q.due and not q.released for q in self.ctx.engine.cqs)
        return look_patience(self.params.num_cq, waiting)

    def _ripe(self, cq: int, now: int) -> bool:
        """Nothing but the engine's look delays the callback."""
        q = self.ctx.engine.cqs[cq]
        config = q.config
        mode = moderation_mode(config.mod_count, config.mod_interval, config.entries)
        if mode is None or q.released or not (mode.count or mode.interval) or q.count_reached:
            return True
        # Intervals end with a unit.
        return mode.interval and now - q.due_time > (config.mod_interval + 2) * q.mod_tick

    def _overdue(self, cq: int, now: int) -> bool:
        if not self._ripe(cq, now):
            return False
        history = self.ctx.history[cq]
        latest = max(history[-1].cycle if history else 0, self.ctx.last_command)
        return now - latest > self._patience()
