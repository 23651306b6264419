# SPDX-License-Identifier: Apache-2.0
"""Functional coverage of completion queues, callbacks, events and doorbells."""

from __future__ import annotations

from collections import Counter, deque

from models import codes
from models.codes import CQ_COMMANDS, DOORBELL_CAUSES, Cause, CqStatus, TraceOp
from models.host.control import Args
from models.layouts import CB_RETURN
from tb.env import defs
from tb.env.coverage.bins import ARM_NAMES
from tb.env.coverage.memory import CqMemory, Group, Situation, moderation_case, weaker
from tb.env.defs import CQE, PSTATE, RSV, STATE, TRC_DOORBELL, CqeFlag, CqeType, Life
from tb.env.harness import records as beats

_RECEIVES = (CqeType.RECEIVE, CqeType.RECEIVE_AND_INVALIDATE)
_alloc = PSTATE["alloc"].get
_fields = [field.get for field in STATE.fields.values()]
_life, _status, _armed, _arm_type, _called, _due, _released, _pending = _fields[:8]
_prod, _cons, _mark, _sol, _mod_count = _fields[8:]
_ERRORS = ("OKAY", "EXOKAY", "SLVERR", "DECERR")
_ATTEMPTS = ("", "once", "twice", "three times")


class CqCoverage(Group):
    """Situations of completion queues, callbacks, events and doorbells."""

    def __init__(self, situation: Situation) -> None:
        super().__init__(situation)
        self._wanted: deque[int] = deque()
        self._acked = [0] * situation.params.num_eq
        #: Unanswered memory writes by AXI ID.
        self._open: Counter[int] = Counter()
        self._published: beats.Trace | None = None

    # -- trace -------------------------------------------------------------------------------------

    def stepped(self, record: beats.Trace, cq: CqMemory) -> None:
        """After each step."""
        if record.lane == 1:
            self._published = record
        elif record.lane == 2:
            self._same_cycle(record)
        if record.event:
            cq.snap = _prod(record.new)
            armed, asked = _armed(record.old), TRC_DOORBELL["arm_type"].get(record.operand)
            cq.callback_type = _arm_type(record.old) if armed else asked
            if cq.gave_up:
                self.m.hit("eqe error/new callback after giving up")
                cq.gave_up = False
        if record.lane:
            cq.state = record.new
            self._index(record)

    def _index(self, record: beats.Trace) -> None:
        old, new = record.old, record.new
        if not _life(new) or not _life(old):
            return
        if _prod(new) < _prod(old):
            self.m.hit("index/prod wraps")
            self.m.hit_if(_armed(old), "index/wraps while armed")
        self.m.hit_if(_cons(new) < _cons(old), "index/cons wraps")

    def _same_cycle(self, record: beats.Trace) -> None:
        other = self._published
        if other is None or other.cycle != record.cycle:
            return
        if other.event and record.event and other.cq != record.cq:
            self.m.hit("same cycle/two callbacks")
        if other.cq != record.cq:
            return
        if other.op == TraceOp.PUBLISH:
            if record.op == TraceOp.DOORBELL:
                self.m.hit("same cycle/publish and doorbell")
            elif record.op == TraceOp.CB_RETURN:
                self.m.hit("same cycle/publish and return")
        arms = record.op == TraceOp.DOORBELL and TRC_DOORBELL["arm"].get(record.operand)
        self.m.hit_if(other.event and arms, "same cycle/callback and arm")

    def publish(self, record: beats.Trace, cq: CqMemory) -> None:  # noqa: ARG002
        old = record.old
        count, classes, _ = defs.TRC_PUBLISH.unpack(record.operand).values()
        prod, cons = _prod(old), _cons(old)
        armed, kind, due = _armed(old), _arm_type(old), _due(old)
        early = cons - prod & self.m.mask
        if 0 < early < self.m.half:
            self.m.hit("ack/of a consumed entry")
            self.m.hit_if(armed, "ack/of a consumed entry while armed")
        if not armed:
            self.m.hit("callback/none without an arm")
        elif not due and not _called(old):
            solicited = classes & ((1 << count) - 1)
            name = ARM_NAMES.get(kind, "")
            if record.event:
                what = "the solicited class" if solicited else "a success"
                self.m.hit_if(name != "ERRORS", f"callback/{name} by {what}")
            elif name == "SOLICITED" and not solicited:
                self.m.hit("callback/SOLICITED not by a success")
            elif name == "ERRORS":
                self.m.hit("callback/ERRORS not by a completion")

    def moderation(self, record: beats.Trace, cq: CqMemory) -> None:
        old = record.old
        case = moderation_case(cq.count, cq.interval, 1 << cq.log2)
        counted = max(_mod_count(old), _prod(old) - _cons(old) & self.m.mask)
        by_count = case == "count only" or (case == "both" and counted >= cq.count)
        self.m.hit(f"moderation/released by {'count' if by_count else 'interval'}")

    def cq_error(self, record: beats.Trace, cq: CqMemory) -> None:  # noqa: ARG002
        old, status = record.old, defs.TRC_CQ_ERROR["status"].get(record.operand)
        armed = "armed" if _armed(old) else "not armed"
        if status == CqStatus.BUFFER_OVERFLOW:
            self.m.hit(f"overflow/{armed}")
            self.m.hit_if(_called(old), "overflow/while a callback runs")
        else:
            self.m.hit(f"cqe error/{armed}")
            self.m.hit_if(_status(old) == CqStatus.BUFFER_OVERFLOW, "cqe error/after an overflow")
        self._released_by_error(record)

    def _released_by_error(self, record: beats.Trace) -> None:
        old = record.old
        if _due(old) and not _released(old) and (record.event or _released(record.new)):
            self.m.hit("moderation/released by an error")

    def event_failed(self, record: beats.Trace, cq: CqMemory) -> None:
        cq.attempts += 1
        if defs.TRC_EVENT_FAILED["give_up"].get(record.operand):
            self.m.hit("eqe error/given up")
            cq.attempts = 0
            cq.gave_up = True
        self._released_by_error(record)

    def event_done(self, record: beats.Trace, cq: CqMemory) -> None:
        if 0 < cq.attempts < len(_ATTEMPTS):
            self.m.hit(f"eqe error/{_ATTEMPTS[cq.attempts]}")
        cq.attempts = 0
        if record.event:
            self.m.hit("deferred/called by the acknowledgement")
            self._deferred(record)

    def returned(self, record: beats.Trace, cq: CqMemory) -> None:  # noqa: ARG002
        self.m.hit("doorbell/callback return")
        if record.event:
            self.m.hit("deferred/called by the return")
            self._deferred(record)

    def _deferred(self, record: beats.Trace) -> None:
        self.m.hit_if(_prod(record.new) == _cons(record.new), "deferred/called on an empty queue")

    def doorbell(self, record: beats.Trace, cq: CqMemory) -> None:
        old, mask = record.old, self.m.mask
        index, arms, kind = TRC_DOORBELL.unpack(record.operand).values()
        prod, cons = _prod(old), _cons(old)
        due, busy = _due(old), _called(old) or _pending(old)
        present = prod - index & mask
        self.m.hit_if(present & self.m.half, "ack/consumed before")
        moved = index != cons
        if due and moved and not present:
            self.m.hit("deferred/drained while due" if busy else "moderation/drained while waiting")
        if not arms:
            return
        name = ARM_NAMES.get(kind, "")
        mark = _mark(old)
        if (mark - index & mask) & self.m.half:
            mark = index
        fresh = prod - mark & mask
        new = 0 < fresh < self.m.half
        empty = present == 0 or bool(present & self.m.half)
        presence = "empty" if empty else "new" if new else "old"
        standing = "due" if due else "busy" if busy else "idle"
        self.m.hit(f"arm/{name}, {standing}, {presence}")
        self.m.hit_if(busy, "arm/in the callback")
        self._arm_rules(record, cq, name, presence, mark)

    def _arm_rules(
        self, record: beats.Trace, cq: CqMemory, name: str, presence: str, mark: int
    ) -> None:
        old = record.old
        index, _, kind = TRC_DOORBELL.unpack(record.operand).values()
        fired = record.event or (_due(record.new) and not _due(old))
        if _armed(old):
            first = _arm_type(old)
            self.m.hit(f"merge/{ARM_NAMES.get(first, '')} then {name}")
            self.m.hit_if(index == _cons(old) and first == kind, "arm/repeated")
            if _due(old):
                self.m.hit("deferred/arm merged while due")
            elif fired:
                self.m.hit("cq14/merge fires now")
        elif cq.callback_type >= 0 and weaker(kind, cq.callback_type):
            self.m.hit("cq13/weaker arm after a call")
        if presence == "new":
            solicited = _sol(old)
            newer = solicited - mark & self.m.mask
            what = "solicited" if 0 < newer < self.m.half else "success"
            self.m.hit(f"cq09/{'typed' if cq.typed else 'literal'}, {name}, new {what}")
        elif presence == "old":
            self.m.hit("cq10/rearm" if cq.rearm else "cq10/default")
        else:
            polled = _prod(record.old) != cq.snap
            self.m.hit("cq10a/polled before the arm" if polled else "cq10a/nothing ever")

    def create(self, record: beats.Trace, cq: CqMemory) -> None:
        self.m.hit_if(cq.destroyed, "destroy/created again")
        cq = self.m.cqs[record.cq] = CqMemory()  # its size comes with the command's record
        cq.typed, cq.rearm = map(bool, defs.TRC_CREATE.unpack(record.operand).values())

    def stop(self, record: beats.Trace, cq: CqMemory) -> None:  # noqa: ARG002
        cq.stopped = True
        self.m.hit_if(_armed(cq.state), "destroy/armed")
        self.m.hit_if(_due(cq.state), "destroy/due")

    def destroy(self, record: beats.Trace, cq: CqMemory) -> None:
        if defs.TRC_DESTROY["freed"].get(record.operand):
            self.m.hit("destroy/at once" if cq.stopped else "destroy/after pending")
            cq.destroyed = True
        elif _called(record.new) or _pending(record.new):
            self.m.hit("destroy/pending by a callback")
        else:
            self.m.hit("destroy/pending by writes")
        cq.stopped = False

    # -- lane 0 ------------------------------------------------------------------------------------

    def _alloc(self, record: beats.Trace) -> None:
        self.m.hit_if(_alloc(record.new) < _alloc(record.old), "index/alloc wraps")

    def place(self, record: beats.Trace, cq: CqMemory) -> None:
        self._alloc(record)
        self.m.hit_if(defs.TRC_PLACE["returned"].get(record.operand), "credit/given back")
        if cq.log2:
            passes = (_alloc(record.new) - 1 - cq.origin & self.m.mask) >> cq.log2
            if passes in (1, 2):
                self.m.hit("ring/second pass" if passes == 1 else "ring/third pass")

    def overflow(self, record: beats.Trace, cq: CqMemory) -> None:  # noqa: ARG002
        self._alloc(record)
        placed = "one" if defs.TRC_OVERFLOW["placed"].get(record.operand) else "nothing"
        self.m.hit(f"overflow/{placed} placed before")

    def resize(self, record: beats.Trace, cq: CqMemory) -> None:
        index = defs.TRC_RESIZE["index"].get(record.operand)
        used = index - cq.origin & self.m.mask
        self.m.hit_if(used and not used & ((1 << cq.log2) - 1), "resize/at the wrap")
        self.m.hit_if(_armed(cq.state), "resize/armed")
        self.m.hit_if(_prod(cq.state) != _cons(cq.state), "resize/with entries present")
        cq.resizes += 1
        self.m.hit_if(cq.resizes > 1, "resize/twice")
        cq.origin = index

    # -- memory, interrupts ------------------------------------------------------------------------

    def mem_write(self, record: beats.MemWrite) -> None:
        self._open[record.axi_id] += 1
        if record.axi_id < self.m.params.num_cq:
            low, high = record.strb & 0xFFFF_FFFF, record.strb >> 32
            self.m.hit(
                "beat/pair" if low and high else "beat/lower half" if low else "beat/upper half"
            )
        elif record.strb:
            lane = (record.strb & -record.strb).bit_length() - 1
            self.m.hit_if(not defs.EQE["phase"].get(record.data >> 8 * lane), "eq ring/second pass")

    def mem_response(self, record: beats.MemResponse) -> None:
        if self._open[record.axi_id]:
            self._open[record.axi_id] -= 1
            self.m.hit_if(record.resp, f"write error/{_ERRORS[record.resp]}")
        eq = record.axi_id - self.m.params.num_cq
        if 0 <= eq < self.m.params.num_eq and record.resp == 0:
            self._acked[eq] += 1

    def interrupt(self, record: beats.Interrupt) -> None:
        eq = self.m.vectors.get(record.vector)
        if eq is not None and self._acked[eq]:
            self.m.hit("interrupt/one for one" if self._acked[eq] == 1 else "interrupt/merged")
            self._acked[eq] = 0

    # -- completions, credits, doorbells -----------------------------------------------------------

    def completion(self, record: beats.Completion) -> None:
        keep = record.keep
        if keep == 3:
            same = record.dest[0] == record.dest[1]
            self.m.hit(f"completion/two of {'one queue' if same else 'two queues'}")
        elif keep == 2:
            self.m.hit("completion/second lane alone")
        elif keep == 0:
            self.m.hit("completion/empty beat")
        for lane in (0, 1):
            if keep >> lane & 1:
                self._lane(record.dest[lane], record.data[lane])

    def _lane(self, dest: int, data: int) -> None:
        if dest >= self.m.params.num_cq:
            self.m.hit("completion/queue out of range")
            return
        state = self.m.cqs[dest].state
        if _life(state) != Life.READY:
            self.m.hit("completion/queue missing")
        elif _status(state):
            self.m.hit("completion/queue in error")
        kind = CQE["type"].get(data)
        self.m.hit_if(kind == CqeType.RECEIVE_AND_INVALIDATE, "completion/receive and invalidate")
        if CQE["flags"].get(data) & CqeFlag.SOLICITED:
            no = "" if kind in _RECEIVES else " flag on no receive"
            self.m.hit(f"completion/solicited{no}")
        self.m.hit_if(CQE["status"].get(data), "completion/failed")

    def credit_request(self, record: beats.CreditRequest) -> None:
        cq, wanted = RSV.unpack(record.data).values()
        bad = wanted not in (1, 2) or record.data & RSV.reserved or cq >= self.m.params.num_cq
        self.m.hit_if(bad, "credit/malformed")
        self._wanted.append(0 if bad else wanted)

    def credit_answer(self, record: beats.CreditAnswer) -> None:
        wanted = self._wanted.popleft() if self._wanted else 0
        granted = "granted" if wanted == 1 else "granted two"
        self.m.hit_if(wanted, f"credit/{granted if record.granted else 'refused'}")

    def response(self, record: beats.DoorbellResponse, offset: int) -> None:
        """An answer to a write to this offset."""
        if record.cause not in DOORBELL_CAUSES:
            return
        cause = Cause(record.cause)
        self.m.hit(f"cause/{cause.name}")
        if cause is Cause.NOT_OWNER:
            self.m.hit(f"foreign page/{'CB_RETURN' if offset == CB_RETURN else 'CQ_DB'}")

    # -- commands ----------------------------------------------------------------------------------

    def command(self, record: beats.Command) -> None:
        if record.result or record.code not in CQ_COMMANDS:
            return
        args = Args(record.args)
        number = args.number
        if record.code in (codes.Command.CREATE_EQ, codes.Command.MODIFY_EQ):
            self.m.vectors[args.vector] = number
        elif record.code == codes.Command.RESIZE_EQ:
            self.m.hit("eq ring/resized")
        elif record.code == codes.Command.CREATE_CQ:
            self.m.cqs[number].log2 = args.log2
            self._settings(args, self.m.cqs[number])
        elif record.code == codes.Command.RESIZE_CQ:
            cq = self.m.cqs[number]
            if args.log2 != cq.log2:
                self.m.hit("resize/up" if args.log2 > cq.log2 else "resize/down")
            cq.log2 = args.log2
        elif record.code == codes.Command.MODIFY_CQ:
            cq = self.m.cqs[number]
            config = args.config
            cq.typed, cq.rearm = config.typed, config.rearm
            if _due(cq.state) and not _released(cq.state):
                self.m.hit("moderation/changed while waiting")
            self._settings(args, cq)

    def _settings(self, args: Args, cq: CqMemory) -> None:
        cq.count, cq.interval = args.config.mod_count, args.config.mod_interval
        self.m.hit(f"moderation/{moderation_case(cq.count, cq.interval, 1 << cq.log2)}")
