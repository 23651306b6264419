# SPDX-License-Identifier: Apache-2.0
"""The scoreboard: judges every record of a run against the reference model and the pins.

It replays the trace port into the model and compares state and callback of each step, and it checks
the pins on their own, so that an engine whose trace port tells a nicer story than its pins is
caught. It raises :class:`Mismatch` at the first contradiction. Which check judges which record, and
for which design, is one table (table.py).

::

    board = Scoreboard(Params(...), seed)
    board(records)          # each block of records, in order
    ...
    board.finish()          # at the end of the test, when all is quiet
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from models.codes import ModelError, TraceOp
from models.layouts import NO_QP
from models.params import Params
from tb.env import defs
from tb.env.defs import TRC_RECV_POST, Cause, Reg
from tb.env.harness.records import Asked, Command, Record, Trace
from tb.env.scoreboard.context import (
    ANY_QP,
    CQ,
    QP,
    QUEUE,
    SRQ,
    Context,
    Left,
    LogEntry,
    NeedCommandError,
)
from tb.env.scoreboard.explain import Mismatch, describe, differences, op_name
from tb.env.scoreboard.table import EngineChecks, checks_of

__all__ = ["ALLOWANCES", "Mismatch", "Scoreboard"]

#: How long a record may wait for the record of the command that explains it, in clock cycles.
PATIENCE = 20_000

#: Bits of the operand that no field of a step's operation has.
_RESERVED = {
    int(op): layout.reserved if layout is not None else (1 << 32) - 1
    for op, layout in ((op, getattr(defs, f"TRC_{op.name}", None)) for op in TraceOp)
}

#: Steps that can make a callback.
_CALLING = frozenset(
    {
        *(TraceOp.PUBLISH, TraceOp.CQ_ERROR, TraceOp.EVENT_FAILED, TraceOp.EVENT_DONE),
        *(TraceOp.DOORBELL, TraceOp.CB_RETURN, TraceOp.MODERATION),
    }
)

#: Cycles between two looks at bounds that nothing has met.
_LOOK = 32

#: What a test can declare to :meth:`Scoreboard.finish`.
ALLOWANCES = {
    "memory": "writes or their answers are held back",
    "interrupts": "the interrupt port is held",
    "doorbells": "answers to doorbells are held back",
    "credits": "credit answers are held back",
    "held": "requests are held at the end: a chain has no end yet",
    "work": "work beats are held back",
    "reports": "the transport does not report everything",
    "terms": "terminate requests are held back",
    "scatter": "answers to receive requests are held back",
    "receives": "the transport does not report every buffer that was taken",
    "verdicts": "verdicts are held back",
    "no_completions": "the test sends no completion",
    "no_doorbells": "the test writes no doorbell",
    "no_posts": "the test posts nothing that is accepted",
    "no_receives": "the test posts no receive that is accepted",
    "no_traffic": "the test touches registers only: neither completions, doorbells nor steps",
}


class Scoreboard:
    """Give it every block of records, in order, then call :meth:`finish`."""

    def __init__(
        self,
        params: Params,
        seed: int = 0,
        commanding: Callable[[], bool] | None = None,
        asked: dict[int, Asked] | None = None,
    ) -> None:
        """``commanding``: tells whether a mailbox command is under way. Without it a record that
        only a command could explain is judged late, at PATIENCE or at the end of the test.
        ``asked``: the writes to doorbell pages that sequences asked for, by number since the reset;
        those seen are taken out.
        """
        self._asked = asked
        self.params = params
        self.seed = seed
        self._commanding = commanding
        #: What the host did not read, so that records are withheld; empty if nothing.
        self.unread: Callable[[], str] = str
        #: Gets each record just after it was judged: the coverage.
        self.observe: Callable[[Record], None] | None = None
        #: Records judged of each type, over all lives of the engine.
        self._kinds: Counter[type] = Counter()
        self._limits = {CQ: params.num_cq, QP: params.num_qp, SRQ: params.num_srq}
        self._begin()

    def _begin(self) -> None:
        self.ctx = Context(self.params, self.seed, self._asked)
        self.checks = checks_of(self.ctx)
        #: What judges a record of each type, and the rules that it goes by.
        self._runs: dict[type, tuple[str, Callable[[Any], None]]] = {
            kind: (check.rules, run) for kind, (check, run) in self.checks.by_type.items()
        }
        self._runs[Trace] = "", self._step
        self._steps, self._settle = self.checks.by_step, self.checks.settle
        self._waiting: list[Record] = []
        self._looked = 0
        others = len(self.checks.first_lanes)
        self._place = [others] * 16
        for place, lane in enumerate(self.checks.first_lanes):
            self._place[lane] = place

    # -- records -----------------------------------------------------------------------------------

    def __call__(self, records: list[Record]) -> None:
        """Judges a block of records, those of a cycle in the order in which they happened."""
        waiting = self._waiting
        if self.checks.first_lanes:
            records = sorted(records, key=self._order)
        self.ctx.commands.extend(record for record in records if type(record) is Command)
        waiting += records
        self._run()
        if waiting:
            idle = self._commanding is not None and not self._commanding()
            if idle or waiting[-1].cycle - waiting[0].cycle > PATIENCE:
                self._resign()

    def _order(self, record: Record) -> tuple[int, int]:
        return record.cycle, self._place[record.lane if type(record) is Trace else -1]

    def _run(self) -> None:
        waiting, ctx, runs = self._waiting, self.ctx, self._runs
        judged = 0
        try:
            for record in waiting:
                if record.cycle < ctx.cycle:
                    ctx.fail(f"records out of order: {record}")
                ctx.cycle = record.cycle
                kind = type(record)
                if kind not in runs:
                    ctx.fail(f"the engine has no such port: {record}")
                ctx.rules, run = runs[kind]
                ctx.objs = ()
                run(record)
                judged += 1
                if self.observe is not None:
                    self.observe(record)
        except NeedCommandError:
            pass  # goes on when the command's record is there
        finally:
            self._kinds.update(map(type, waiting[:judged]))
            del waiting[:judged]

    def _step(self, record: Trace) -> None:
        cycle, ctx = record.cycle, self.ctx
        if cycle - self._looked >= _LOOK:
            self._look()
        if self._settle is not None:
            self._settle(cycle)
        row = self._steps.get((record.lane, record.op))
        if row is None:
            ctx.fail(f"trace: operation {record.op:#x} on lane {record.lane}")
        kind, number = row.of, record.cq
        if kind is QUEUE:
            kind = SRQ if TRC_RECV_POST["shared"].get(record.operand) else QP
        elif kind is ANY_QP:
            kind = QP
        if number >= self._limits[kind] and not (row.of is ANY_QP and number == NO_QP):
            ctx.fail(f"trace: step of {kind} {number}, which is out of range")
        ctx.step, ctx.objs = record, ((kind, None if number == NO_QP else number),)
        if (record.event or record.event_status) and record.op not in _CALLING:
            ctx.fail("callback in a step that makes none", rule="CQ-06")
        ctx.rules = row.check.rules
        if record.operand & _RESERVED[record.op]:
            ctx.fail(f"{op_name(record.op)} with operand {record.operand:#x}")
        try:
            for run in row.run:
                run(record)
        except ModelError as error:
            ctx.fail(str(error))
        ctx.step, ctx.objs = None, ()

    def _look(self) -> None:
        """Bounds of time."""
        for check in self.checks.all:
            self.ctx.rules = check.rules
            check.tick()
        self._looked = self.ctx.cycle

    def _resign(self) -> None:
        """What a command was to explain stays unexplained."""
        self.ctx.resigned = True
        self._run()
        self.ctx.resigned = False

    @property
    def judged(self) -> int:
        """Records judged, over all lives of the engine."""
        return self._kinds.total()

    def reset(self) -> None:
        """The engine was reset: everything under way is forgotten, numbers judged are kept."""
        before = self.checks
        self._begin()
        self.checks.carry(before)

    # -- end of the test ---------------------------------------------------------------------------

    def finish(self, allow: Iterable[str] = (), now: int | None = None) -> None:
        """The test is over and all is quiet: nothing may be left.

        ``allow``: exceptions that the test declares, of ``ALLOWANCES``. ``now``: the cycle,
        :meth:`grace` cycles or more after the last record; default: that of the last record.
        """
        allowed = set(allow)
        if unknown := allowed - ALLOWANCES.keys():
            raise ValueError(f"unknown allowance {sorted(unknown)}")
        ctx = self.ctx
        ctx.rules = ""
        if unread := self.unread():
            ctx.fail(unread)
        if self._waiting:
            self._resign()
        ctx.cycle = max(ctx.cycle, now or 0)
        ctx.resigned = True
        self._look()
        ctx.resigned = False
        for check in self.checks.all:
            ctx.rules = check.rules
            by_excuse: dict[str, list[Left]] = {}
            for left in check.left():
                by_excuse.setdefault(left.held, []).append(left)
            for excuse, found in by_excuse.items():
                if excuse not in allowed:
                    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
                    first = found[0]
                    ctx.fail(f"at the end: {first.text} {first.number}{more}", ("CQ", first.cq))
        # What is left may be why nothing of a kind was seen, and says more.
        ctx.rules = ""
        self._vacuous(allowed)

    def under_way(self) -> list[str]:
        """What would be left if the test were over now, one of each kind: what a test that does not
        end may wait for.
        """
        found = {left.text: left for check in self.checks.all for left in check.left()}
        return [f"{text} {left.number}" for text, left in found.items()]

    def _vacuous(self, allowed: set[str]) -> None:
        if "no_traffic" in allowed:
            return
        for seen in self.checks.seen(self._kinds):
            if not seen.number and allowed.isdisjoint(seen.excuses):
                meant = f'if meant, `allow = ("{seen.excuses[0]}",)` in the test class'
                self.ctx.fail(f"vacuous: not one {seen.what}; {meant}")

    def grace(self, now: int) -> int:
        """Cycles that the engine still has for what it does by itself: callbacks that moderation no
        longer delays, releases by age.
        """
        return max(self.checks.steps.grace(now), self.checks.deadline() - now, 0)

    def tell_cq(self, cq: int) -> str:
        """How a CQ stands, in words: as its latest step showed it (armed, due, indices), as the
        model has it if that differs, and its moderation.
        """
        ctx = self.ctx
        q = ctx.engine.cqs[cq]
        config = q.config
        text = describe(2, ctx.state[cq])
        for one in differences(2, ctx.state[cq], ctx.encode(cq)):
            text += f"; {one}"
        text += f"; moderation: count {config.mod_count}, interval {config.mod_interval} units"
        if q.due:
            text += f", due since cycle {q.due_time}"
        return text + f"; ring of {config.entries} entries"

    # -- what tests compare with -------------------------------------------------------------------

    @property
    def engine_checks(self) -> EngineChecks:
        """The checks, of a full engine; AssertionError for the completion core."""
        assert isinstance(self.checks, EngineChecks), "checks of the completion core"
        return self.checks

    def counters(self) -> dict[Reg, int]:
        """What counters must show when all is quiet, as far as they are certain."""
        return {reg: n for check in self.checks.all for reg, n in check.counters().items()}

    @property
    def logs(self) -> set[Cause]:
        """Causes of which :meth:`log` is certain."""
        return self.checks.certain()

    def log(self) -> list[LogEntry]:
        """What was done wrong and must be in the error log: cause, kind, object, detail."""
        return self.ctx.log

    def log_maybe(self) -> list[LogEntry]:
        """Entries that may be there as well: the order of events does not show at the ports."""
        return self.checks.maybe()

    def strange(self, entries: Iterable[LogEntry]) -> list[int]:
        """CQs of which an entry of the error log tells a dropped completion with an index where
        they cannot stand.
        """
        drops = [(cq, index) for cause, _, cq, index in entries if cause == Cause.CPL_CQ_ERROR]
        return [cq for cq, index in drops if not self.checks.completions.dropped(cq, index)]
