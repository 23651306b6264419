# SPDX-License-Identifier: Apache-2.0
"""Functional coverage of arms, callbacks, moderation, events and consumer indices."""

from __future__ import annotations

from collections import Counter

from models import codes
from models.arm.arm import CqConfig
from models.codes import CqStatus, TraceOp
from models.host.control import Args
from tb.env import defs
from tb.env.coverage.bins import ARM_NAMES
from tb.env.coverage.group import Group
from tb.env.defs import STATE, TRC_DOORBELL
from tb.env.harness.records import Command, Trace
from tb.env.scoreboard.scoreboard import Scoreboard

_ALL = 0xFFFF
_fields = [field.get for field in STATE.fields.values()]
_life, _status, _armed, _arm_type, _called, _due, _released, _pending = _fields[:8]
_prod, _cons, _mark, _sol, _mod_count = _fields[8:]
_ATTEMPTS = ("", "once", "twice", "three times")
#: Arm types from the weakest on, by code.
_RANK = {0: 0, 2: 1, 1: 2}


def moderation_case(config: CqConfig) -> str:
    """The case of CQ-21 that accepted settings are."""
    count, interval = config.mod_count, config.mod_interval
    if interval == 0:
        return "off by interval 0"
    if count <= 1:
        return f"off by count {count}"
    if interval == _ALL:
        return "count only"
    if count == _ALL:
        return "interval only, all-ones"
    return "interval only, above the depth" if count > config.entries else "both"


class _Call:
    """The latest callback of a CQ: its index, type of its arm, failures of its entry so far, and
    whether it was given up.
    """

    def __init__(self) -> None:
        self.snap = 0
        self.arm_type = -1
        self.attempts = 0
        self.gave_up = False


class ArmCoverage(Group):
    """Situations of callbacks, events and doorbells."""

    def __init__(self, counts: Counter[str], board: Scoreboard) -> None:
        super().__init__(counts, board)
        self._calls = [_Call() for _ in range(self.params.num_cq)]
        self._published: Trace | None = None
        looks = {
            (1, TraceOp.PUBLISH): self.publish,
            (1, TraceOp.CQ_ERROR): self.cq_error,
            (1, TraceOp.EVENT_FAILED): self.event_failed,
            (2, TraceOp.EVENT_DONE): self.event_done,
            (2, TraceOp.DOORBELL): self.doorbell,
            (2, TraceOp.CB_RETURN): self.returned,
            (2, TraceOp.MODERATION): self.moderation,
            (2, TraceOp.CREATE): self.create,
        }
        self.steps = {
            **{key: (look, self.stepped) for key, look in looks.items()},
            (2, TraceOp.DESTROY): (self.stepped,),
        }
        self.commands = {
            codes.Command.CREATE_CQ: self.settings,
            codes.Command.MODIFY_CQ: self.settings,
        }

    def stepped(self, record: Trace) -> None:
        """After each step."""
        if record.lane == 1:
            self._published = record
        else:
            self._same_cycle(record)
        if record.event:
            call = self._calls[record.cq]
            call.snap = _prod(record.new)
            armed, asked = _armed(record.old), TRC_DOORBELL["arm_type"].get(record.operand)
            call.arm_type = _arm_type(record.old) if armed else asked
            self.hit_if(call.gave_up, "eqe error/new callback after giving up")
            call.gave_up = False
        self._index(record)

    def _index(self, record: Trace) -> None:
        old, new = record.old, record.new
        if not _life(new) or not _life(old):
            return
        if _prod(new) < _prod(old):
            self.hit("index/prod wraps")
            self.hit_if(_armed(old), "index/wraps while armed")
        self.hit_if(_cons(new) < _cons(old), "index/cons wraps")

    def _same_cycle(self, record: Trace) -> None:
        other = self._published
        if other is None or other.cycle != record.cycle:
            return
        same = other.cq == record.cq
        published = same and other.op == TraceOp.PUBLISH
        bell = record.op == TraceOp.DOORBELL
        arms = bell and TRC_DOORBELL["arm"].get(record.operand)
        cases = {
            "two callbacks": not same and other.event and record.event,
            "publish and doorbell": published and bell,
            "publish and return": published and record.op == TraceOp.CB_RETURN,
            "callback and arm": same and other.event and arms,
        }
        self.hit_each("same cycle", cases)

    def create(self, record: Trace) -> None:
        self._calls[record.cq] = _Call()

    # -- callbacks ---------------------------------------------------------------------------------

    def publish(self, record: Trace) -> None:
        old = record.old
        count, classes, _ = defs.TRC_PUBLISH.unpack(record.operand).values()
        armed = _armed(old)
        if 0 < (_cons(old) - _prod(old) & self.mask) < self.half:
            self.hit("ack/of a consumed entry")
            self.hit_if(armed, "ack/of a consumed entry while armed")
        if not armed:
            self.hit("callback/none without an arm")
        elif not _due(old) and not _called(old):
            solicited = classes & ((1 << count) - 1)
            name = ARM_NAMES[_arm_type(old)]
            what = "the solicited class" if solicited else "a success"
            if record.event:
                self.hit_if(name != "ERRORS", f"callback/{name} by {what}")
            elif name == "SOLICITED" and not solicited:
                self.hit("callback/SOLICITED not by a success")
            elif name == "ERRORS":
                self.hit("callback/ERRORS not by a completion")

    def moderation(self, record: Trace) -> None:
        old, config = record.old, self.ctx.engine.cqs[record.cq].config
        case = moderation_case(config)
        counted = max(_mod_count(old), _prod(old) - _cons(old) & self.mask)
        by_count = case == "count only" or (case == "both" and counted >= config.mod_count)
        self.hit(f"moderation/released by {'count' if by_count else 'interval'}")

    def cq_error(self, record: Trace) -> None:
        old, status = record.old, defs.TRC_CQ_ERROR["status"].get(record.operand)
        overflow = status == CqStatus.BUFFER_OVERFLOW
        group, armed = "overflow" if overflow else "cqe error", _armed(old)
        cases = {
            "armed": armed,
            "not armed": not armed,
            "while a callback runs": overflow and _called(old),
            "after an overflow": not overflow and _status(old) == CqStatus.BUFFER_OVERFLOW,
        }
        self.hit_each(group, cases)
        self._released_by_error(record)

    def _released_by_error(self, record: Trace) -> None:
        old = record.old
        if _due(old) and not _released(old) and (record.event or _released(record.new)):
            self.hit("moderation/released by an error")

    def event_failed(self, record: Trace) -> None:
        call = self._calls[record.cq]
        call.attempts += 1
        if defs.TRC_EVENT_FAILED["give_up"].get(record.operand):
            self.hit("eqe error/given up")
            call.attempts, call.gave_up = 0, True
        self._released_by_error(record)

    def event_done(self, record: Trace) -> None:
        call = self._calls[record.cq]
        if 0 < call.attempts < len(_ATTEMPTS):
            self.hit(f"eqe error/{_ATTEMPTS[call.attempts]}")
        call.attempts = 0
        self._deferred(record, "acknowledgement")

    def returned(self, record: Trace) -> None:
        self.hit("doorbell/callback return")
        self._deferred(record, "return")

    def _deferred(self, record: Trace, by: str) -> None:
        if record.event:
            self.hit(f"deferred/called by the {by}")
            empty = _prod(record.new) == _cons(record.new)
            self.hit_if(empty, "deferred/called on an empty queue")

    # -- doorbells ---------------------------------------------------------------------------------

    def doorbell(self, record: Trace) -> None:
        old, mask = record.old, self.mask
        index, arms, kind = TRC_DOORBELL.unpack(record.operand).values()
        prod, due, busy = _prod(old), _due(old), _called(old) or _pending(old)
        present = prod - index & mask
        self.hit_if(present & self.half, "ack/consumed before")
        if due and index != _cons(old) and not present:
            self.hit("deferred/drained while due" if busy else "moderation/drained while waiting")
        if not arms:
            return
        name = ARM_NAMES[kind]
        mark = _mark(old)
        if (mark - index & mask) & self.half:
            mark = index
        new = 0 < (prod - mark & mask) < self.half
        empty = present == 0 or bool(present & self.half)
        presence = "empty" if empty else "new" if new else "old"
        standing = "due" if due else "busy" if busy else "idle"
        self.hit(f"arm/{name}, {standing}, {presence}")
        self.hit_if(busy, "arm/in the callback")
        self._merges(record, name)
        config = self.ctx.engine.cqs[record.cq].config
        if presence == "new":
            newer = 0 < (_sol(old) - mark & mask) < self.half
            reading = "typed" if config.typed else "literal"
            self.hit(f"cq09/{reading}, {name}, new {'solicited' if newer else 'success'}")
        elif presence == "old":
            self.hit("cq10/rearm" if config.rearm else "cq10/default")
        else:
            polled = prod != self._calls[record.cq].snap
            self.hit("cq10a/polled before the arm" if polled else "cq10a/nothing ever")

    def _merges(self, record: Trace, name: str) -> None:
        """What an arm meets."""
        old, (index, _, kind) = record.old, TRC_DOORBELL.unpack(record.operand).values()
        called = self._calls[record.cq].arm_type
        if _armed(old):
            first = _arm_type(old)
            self.hit(f"merge/{ARM_NAMES[first]} then {name}")
            self.hit_if(index == _cons(old) and first == kind, "arm/repeated")
            if _due(old):
                self.hit("deferred/arm merged while due")
            elif record.event or _due(record.new):
                self.hit("cq14/merge fires now")
        elif called >= 0 and _RANK[kind] < _RANK.get(called, 0):
            self.hit("cq13/weaker arm after a call")

    # -- commands ----------------------------------------------------------------------------------

    def settings(self, record: Command) -> None:
        """CREATE_CQ, MODIFY_CQ."""
        number = Args(record.args).number
        state = self.ctx.state[number]
        waits = record.code == codes.Command.MODIFY_CQ and _due(state) and not _released(state)
        self.hit_if(waits, "moderation/changed while waiting")
        self.hit(f"moderation/{moderation_case(self.ctx.engine.cqs[number].config)}")
