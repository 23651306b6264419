# SPDX-License-Identifier: Apache-2.0
"""What the checks of keys share: the model, recent steps of each object, what queries can have
seen, connections that a failure is to end, how to fail.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from models.codes import By, Status, TraceOp, Verdict
from models.keys.keys import KeyTable
from models.keys.region import Region
from models.keys.window_types import KeyState, KeyStep
from models.layouts import WINDOW_BIT
from tb.env.defs import KEY, KSTATE, TRC_BIND, TRC_CHECK, TRC_INVALIDATE, Reg
from tb.env.harness.records import Trace
from tb.env.scoreboard.context import HISTORY, Check, Left, Object, Teller, latest
from tb.env.scoreboard.explain import Difference, describe, name_of
from tb.env.scoreboard.post.context import FAILURE, LAG
from tb.env.scoreboard.receive.context import ReceiveContext

#: Bits of a key that tell its object.
OBJECT = KEY["number"].mask | KEY["window"].mask

_WINDOWS, _EXISTS = KSTATE["windows"].mask, KSTATE["exists"].mask


def key_object(key: int | None) -> Object:
    """The region or window that a key, or its bits 11:0, name."""
    number = None if key is None else key & OBJECT
    if number is not None and number & WINDOW_BIT:
        return "window", number ^ WINDOW_BIT
    return "region", number


def _outcome(op: int, operand: int) -> str:
    """What a step on lane 8 or 9 comes to, by name."""
    if op == TraceOp.CHECK:
        return name_of(Verdict, TRC_CHECK["code"].get(operand))
    return name_of(Status, TRC_BIND["status"].get(operand))


class KeyContext(Check):
    """State shared by the checks of keys, and the ends of connections that they demand."""

    rules = "MW-09, MW-10"

    def __init__(self, rc: ReceiveContext) -> None:
        super().__init__(rc.ctx)
        self.rc = rc
        self.qpc = rc.qpc
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
        self.removed_at: int | None = None
        #: Keys that were invalidated.
        self._gone: set[int] = set()

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
                self.fail(text, key_object(number), *self.ctx.objs)
            self._gone.add(step.key)
        if (record.op, record.operand) != (step.op, step.operand):
            rule = {TraceOp.INVALIDATE: "MW-05: ", TraceOp.CHECK: "MW-10: "}.get(step.op, "")
            text = f"{rule}{TraceOp(record.op).name} with operand {record.operand:#x}, expected "
            text += f"{step.op.name} {step.operand:#x} (key {step.key:#x})"
            got, want = _outcome(record.op, record.operand), _outcome(step.op, step.operand)
            diff = Difference("outcome", got, want) if got != want else None
            self.fail(text, key_object(number), *self.ctx.objs, diff=diff)
        unknown = step.before.key != step.key and not record.old and not record.new
        if not unknown:
            self._compare("before", record, step.before, number)
            self._compare("after", record, step.after, number)
            last = self._shown.get(number, record.old)
            if last & record.old & _EXISTS and (last ^ record.old) & ~_WINDOWS:
                text = "the state before the step is not that after the one before it"
                self.fail(
                    f"{text}: {describe(record.lane, last)}", key_object(number), *self.ctx.objs
                )
            self._shown[number] = record.new
        self.history.setdefault(number, deque(maxlen=HISTORY)).append(record)
        self.steps += 1

    def invalidate(self, record: Trace, key: int, by: By) -> KeyStep:
        """INVALIDATE by a message or a Read, in the model and judged."""
        self.changing(key & OBJECT, *self.regions_of(key))
        old = self.regions()
        step = self.table.invalidate(record.cq, key, by)
        self.judge(record, step)
        self.note_regions(old)
        self.changed(key & OBJECT)
        return step

    def _compare(self, when: str, record: Trace, state: KeyState, number: int) -> None:
        """The number of windows does not show in checks."""
        zero = _WINDOWS if record.lane == 9 else 0
        want, defined = state.encode() & ~zero, state.defined | zero
        objs = key_object(number), *self.ctx.objs
        self.ctx.compare(when, record, want, ~defined, *objs)

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
        if told:
            self.qpc.qps[qp].must_fail()
        self.qpc.must_end(qp, FAILURE)

    def tick(self) -> None:
        cycle = self.ctx.cycle
        if self.removed_at is not None and cycle - self.removed_at > LAG + 16 * self.params.num_qp:
            open_ = self.model.removable
            if open_:
                text = f"MW-09: still connected, removed in cycle {self.removed_at}"
                self.fail(text, ("QP", open_[0]))

    def left(self) -> Iterator[Left]:
        """Connections that should have ended."""
        for qp in self.model.removable:
            yield Left("", qp, "removed, but still connected: QP")

    def counters(self) -> dict[Reg, int]:
        """Keys that were invalidated."""
        return {Reg.CNT_INVALIDATED: self.table.invalidated}
