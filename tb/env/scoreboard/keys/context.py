# SPDX-License-Identifier: Apache-2.0
"""What the checks of keys share: the model, recent steps of each object, what queries can have
seen, connections that a failure is to end, how to fail.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NoReturn

from models.codes import Status, TraceOp, Verdict
from models.keys.keys import KeyTable
from models.keys.region import Region
from models.keys.window_types import KeyState, KeyStep
from models.layouts import WINDOW_BIT
from tb.env.defs import KEY, KSTATE, TRC_BIND, TRC_CHECK, TRC_INVALIDATE, Reg
from tb.env.harness.records import Trace
from tb.env.scoreboard.context import HISTORY, Check, Left, Teller, latest
from tb.env.scoreboard.explain import Difference, describe, name_of, object_name
from tb.env.scoreboard.post.context import LAG, OPEN
from tb.env.scoreboard.receive.context import ReceiveContext

#: Bits of a key that tell its object.
OBJECT = KEY["number"].mask | KEY["window"].mask

_WINDOWS, _EXISTS = KSTATE["windows"].mask, KSTATE["exists"].mask


def _outcome(op: int, operand: int) -> str:
    """What a step on lane 8 or 9 comes to, by name."""
    if op == TraceOp.CHECK:
        return name_of(Verdict, TRC_CHECK["code"].get(operand))
    return name_of(Status, TRC_BIND["status"].get(operand))


class KeyContext(Check):
    """State shared by the checks of keys, and the ends of connections that they demand."""

    rules = "MW-09, MW-10"

    def __init__(self, rc: ReceiveContext) -> None:
        self.rc = rc
        self.qpc = rc.qpc
        self.ctx = rc.ctx
        self.params = rc.params
        self.model = rc.windows
        self.table: KeyTable = rc.windows.table
        for rq in rc.rqs:
            rq.defers = True
        self.ctx.tellers += [
            Teller("region", WINDOW_BIT, self._tell),
            Teller("window", WINDOW_BIT, lambda number: self._tell(number | WINDOW_BIT)),
            Teller("QP", self.params.num_qp, self._tell_qp),
        ]
        self.steps = 0
        #: Latest steps, by object (bits 11:0 of its keys), and the state that the last one showed.
        self.history: dict[int, deque[Trace]] = {}
        self._shown: dict[int, int] = {}
        #: Outputs of queries over time, by object: cycle, and outputs until then.
        self._views: dict[int, deque[tuple[int, tuple[int, ...]]]] = {}
        #: Latest cycle in which keys were valid on a QP, and in which none were.
        self._users: dict[int, set[int]] = {}
        self._used_until: dict[int, int] = {}
        self._free_until: dict[int, int] = {}
        #: QPs whose connection must end: since when.
        self.ending: dict[int, int] = {}
        self.removed_at: int | None = None
        #: Keys that were invalidated.
        self._gone: set[int] = set()

    # -- failing -----------------------------------------------------------------------------------

    def fail(
        self,
        text: str,
        number: int | None = None,
        qp: int | None = None,
        step: Trace | None = None,
        *,
        diff: Difference | None = None,
    ) -> NoReturn:
        """See ``Context.fail``; ``number``: bits 11:0 of the key of an object."""
        if number is not None and qp is not None:
            text = f"QP {qp}: {text}"
        self.ctx.fail(text, step=step, objs=self._of(number, qp), diff=diff)

    @staticmethod
    def _of(number: int | None, qp: int | None) -> list[tuple[str, int | None]]:
        objs: list[tuple[str, int | None]] = [] if number is None else [object_name(number)]
        return objs if qp is None else [*objs, ("QP", qp)]

    def fail_step(
        self, text: str, step: Trace, number: int | None = None, diff: Difference | None = None
    ) -> NoReturn:
        """The same for a step."""
        qp = step.cq if step.cq < self.params.num_qp else None
        self.fail(text, number, qp, step, diff=diff)

    def _tell(self, number: int) -> list[str]:
        state = describe(8, self.table.state(number).encode())
        return [f"  in the model: {state}", *latest(self.history.get(number, ()))]

    def _tell_qp(self, qp: int) -> list[str]:
        model, guarded = self.qpc.qps[qp], "guarded" if self.guarded(qp) else "not guarded"
        return [f"  QP {qp} {model.state.name}, {guarded}, zone {model.zone}"]

    # -- looking -----------------------------------------------------------------------------------

    def guarded(self, qp: int) -> bool:
        """Keys of this QP are looked at."""
        return self.qpc.qps[qp].guarded

    def in_use(self, qp: int, since: int) -> bool:
        """Keys may have been valid on a QP at some time from this cycle on."""
        return bool(self._users.get(qp)) or self._used_until.get(qp, -1) >= since

    def unused(self, qp: int, since: int) -> bool:
        """There may have been none."""
        return not self._users.get(qp) or self._free_until.get(qp, -1) >= since

    # -- steps -------------------------------------------------------------------------------------

    def judge(self, record: Trace, step: KeyStep) -> None:
        """A step of the trace against the model's, which was made already."""
        number = step.key & OBJECT
        if record.op == TraceOp.INVALIDATE and not TRC_INVALIDATE["status"].get(record.operand):
            if step.key in self._gone:
                text = f"MW-05: key {step.key:#x} is invalidated a second time"
                self.fail_step(text, record, number)
            self._gone.add(step.key)
        if (record.op, record.operand) != (step.op, step.operand):
            rule = {TraceOp.INVALIDATE: "MW-05: ", TraceOp.CHECK: "MW-10: "}.get(step.op, "")
            text = f"{rule}{TraceOp(record.op).name} with operand {record.operand:#x}, expected "
            text += f"{step.op.name} {step.operand:#x} (key {step.key:#x})"
            got, want = _outcome(record.op, record.operand), _outcome(step.op, step.operand)
            diff = Difference("outcome", got, want) if got != want else None
            self.fail_step(text, record, number, diff)
        unknown = step.before.key != step.key and not record.old and not record.new
        if not unknown:
            hidden = _WINDOWS if record.lane == 9 else 0
            self._compare("before", record.old, step.before, hidden, record, number)
            self._compare("after", record.new, step.after, hidden, record, number)
            last = self._shown.get(number, record.old)
            if last & record.old & _EXISTS and (last ^ record.old) & ~_WINDOWS:
                text = "the state before the step is not that behind the one before it"
                self.fail_step(f"{text}: {describe(record.lane, last)}", record, number)
            self._shown[number] = record.new
        self.history.setdefault(number, deque(maxlen=HISTORY)).append(record)
        self.steps += 1

    def _compare(
        self, when: str, bits: int, state: KeyState, hidden: int, record: Trace, number: int
    ) -> None:
        if bits & hidden or not state.agrees(bits | state.encode() & hidden):
            want = state.encode() & ~hidden
            told = f", which has {describe(record.lane, want)}"
            qp = record.cq if record.cq < self.params.num_qp else None
            self.ctx.differ(when, record, want, *self._of(number, qp), hidden=hidden, told=told)

    def query(self, number: int) -> tuple[int, ...] | None:
        """What a query of an object would tell; None if it does not exist."""
        table = self.table
        if number & WINDOW_BIT:
            found = table.windows[number ^ WINDOW_BIT]
            return None if found is None else table.query_window(number ^ WINDOW_BIT)
        return None if table.regions[number] is None else table.query(number)

    def changing(self, *numbers: int) -> None:
        """These objects are about to change: what queries could tell until now."""
        for number in set(numbers):
            outs = self.query(number) if self._exists(number) else None
            if outs is not None:
                views = self._views.setdefault(number, deque(maxlen=64))
                views.append((self.ctx.cycle, outs))

    def regions_of(self, key: int) -> list[int]:
        """The region to which a window is bound: its number of windows changes with it."""
        window = self.table.valid_window(key)
        return [] if window is None else [window.region]

    def regions(self) -> list[Region | None]:
        """The regions as they are."""
        return list(self.table.regions)

    def note_regions(self, old: list[Region | None]) -> None:
        """What posts can have seen of regions that a step has changed."""
        for number, (one, two) in enumerate(zip(old, self.table.regions, strict=True)):
            if one is not two:
                self.rc.region_changed(number, one)

    def _exists(self, number: int) -> bool:
        if number & WINDOW_BIT:
            return number ^ WINDOW_BIT < self.params.num_mw
        return number < self.params.num_mr

    def views(self, number: int, start: int) -> list[tuple[int, ...]]:
        """What queries could tell from this cycle on."""
        now = self.query(number)
        found = [] if now is None else [now]
        return found + [outs for at, outs in self._views.get(number, ()) if at >= start]

    def changed(self, number: int) -> None:
        """An object has changed: on which QP is its key valid now?"""
        state = self.table.state(number)
        owned = number & WINDOW_BIT or state.allocated
        user = state.qp if state.valid and owned else None
        for qp in {q for q, users in self._users.items() if number in users} - {user}:
            self._users[qp].discard(number)
            if not self._users[qp]:
                self._used_until[qp] = self.ctx.cycle
        if user is not None:
            users = self._users.setdefault(user, set())
            if not users:
                self._free_until[user] = self.ctx.cycle
            users.add(number)

    # -- connections -------------------------------------------------------------------------------

    def must_end(self, qp: int, told: bool = True) -> None:
        """A failure ends the connection of a QP; ``told``: the model has to be told so."""
        model = self.qpc.qps[qp]
        if told:
            model.must_fail()
        if model.state in OPEN:
            self.ending.setdefault(qp, self.ctx.cycle)

    def changed_qp(self, qp: int) -> None:
        """The state of a QP changed."""
        if self.qpc.qps[qp].state not in OPEN:
            self.ending.pop(qp, None)

    def tick(self) -> None:
        cycle = self.ctx.cycle
        for qp, since in self.ending.items():
            if cycle - since > LAG:
                self.fail(f"still connected, after the failure of cycle {since}", qp=qp)
        if self.removed_at is not None and cycle - self.removed_at > LAG + 16 * self.params.num_qp:
            open_ = self.model.removable
            if open_:
                text = f"MW-09: still connected, removed in cycle {self.removed_at}"
                self.fail(text, qp=open_[0])

    def left(self) -> Iterator[Left]:
        """Connections that should have ended."""
        for qp, since in self.ending.items():
            yield Left("", since, f"QP {qp}: no change of state for the failure of cycle")
        for qp in self.model.removable:
            yield Left("", qp, "removed, but still connected: QP")

    def counters(self) -> dict[Reg, int]:
        """Keys that were invalidated."""
        return {Reg.CNT_INVALIDATED: self.table.invalidated}
