# SPDX-License-Identifier: Apache-2.0
"""Functional coverage: counts which situations a run has met, from the same records that the
scoreboard judges. Plain counters; the bins are in coverage_bins.py.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Callable, Iterable, Set
from pathlib import Path
from typing import Any

from models import codes
from models.codes import CQ_COMMANDS, Cause, CqStatus, TraceOp
from models.host.control import Args
from models.layouts import CB_RETURN, PAGE_BYTES
from models.params import Params
from tb.env.coverage.bins import ARM_NAMES, BINS, COMMAND_BINS, INPUTS
from tb.env.coverage.memory import CqMemory, moderation_case, weaker
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

_ALL = 0xFFFF
_RECEIVES = (0x0001, 0x8001)
_ERRORS = ("OKAY", "EXOKAY", "SLVERR", "DECERR")
_ATTEMPTS = ("", "once", "twice", "three times")


class Coverage:
    """Subscriber of the records. ``counts``: hits of each bin."""

    def __init__(self, params: Params) -> None:
        self.params = params
        self.counts: Counter[str] = Counter()
        self._half = 1 << params.idx_w - 1
        self._mask = (1 << params.idx_w) - 1
        self._begin()
        self._by_op: dict[int, Callable[[Trace, CqMemory], None]] = {
            TraceOp.PUBLISH: self._publish,
            TraceOp.CQ_ERROR: self._cq_error,
            TraceOp.EVENT_FAILED: self._event_failed,
            TraceOp.EVENT_DONE: self._event_done,
            TraceOp.DOORBELL: self._doorbell,
            TraceOp.CB_RETURN: self._return,
            TraceOp.MODERATION: self._moderation,
            TraceOp.CREATE: self._create,
            TraceOp.DESTROY: self._destroy,
            TraceOp.PLACE: self._place,
            TraceOp.OVERFLOW: self._overflow,
            TraceOp.RESIZE: self._resize,
            TraceOp.STOP: self._stop,
        }
        self._by_type: dict[type, Callable[[Any], None]] = {
            Trace: self._trace,
            MemResponse: self._mem_response,
            MemWrite: self._mem_write,
            Completion: self._completion,
            DoorbellRequest: self._request,
            DoorbellResponse: self._response,
            CreditRequest: self._credit_request,
            CreditAnswer: self._credit_answer,
            Interrupt: self._interrupt,
            Command: self._command,
        }

    def _begin(self) -> None:
        p = self.params
        self._cqs = [CqMemory() for _ in range(p.num_cq)]
        self._requests: deque[int] = deque()
        self._wanted: deque[int] = deque()
        self._acked = [0] * p.num_eq
        #: Unanswered memory writes by AXI ID.
        self._open: Counter[int] = Counter()
        self._vectors: dict[int, int] = {}
        self._published: Trace | None = None

    def reset(self) -> None:
        """The engine was reset."""
        self._begin()

    def __call__(self, records: Iterable[Record]) -> None:
        """Counts a block of records."""
        by_type = self._by_type
        for record in records:
            by_type[type(record)](record)

    def waited(self, blocked: Set[str], withheld: Set[str]) -> None:
        """Channels on which a stall kept somebody waiting: the engine, ``blocked`` by a low
        ready at an output for some cycles; an item ``withheld`` at an input (tb.env.harness).
        """
        for channel in blocked - INPUTS | withheld & INPUTS:
            self._hit(f"stall/{channel}")

    def _hit(self, name: str) -> None:
        self.counts[name] += 1

    # -- trace -------------------------------------------------------------------------------------

    def _trace(self, record: Trace) -> None:
        if record.cq >= self.params.num_cq:
            return
        cq = self._cqs[record.cq]
        handler = self._by_op.get(record.op)
        if handler is not None:
            handler(record, cq)
        if record.lane == 1:
            self._published = record
        elif record.lane == 2:
            self._same_cycle(record)
        if record.event:
            cq.snap = record.new >> 16 & _ALL
            cq.callback_type = record.old >> 5 & 3 if record.old >> 4 & 1 else cq.callback_type
            if record.old >> 4 & 1 == 0:
                cq.callback_type = record.operand >> 17 & 3
            if cq.gave_up:
                self._hit("eqe error/new callback after giving up")
                cq.gave_up = False
        if record.lane:
            cq.state = record.new
            self._index(record)

    def _index(self, record: Trace) -> None:
        old, new = record.old, record.new
        if not new & 3 or not old & 3:
            return
        if (new >> 16 & _ALL) < (old >> 16 & _ALL):
            self._hit("index/prod wraps")
            if old >> 4 & 1:
                self._hit("index/wraps while armed")
        if (new >> 32 & _ALL) < (old >> 32 & _ALL):
            self._hit("index/cons wraps")

    def _same_cycle(self, record: Trace) -> None:
        other = self._published
        if other is None or other.cycle != record.cycle:
            return
        if other.event and record.event and other.cq != record.cq:
            self._hit("same cycle/two callbacks")
        if other.cq != record.cq:
            return
        if other.op == TraceOp.PUBLISH:
            if record.op == TraceOp.DOORBELL:
                self._hit("same cycle/publish and doorbell")
            elif record.op == TraceOp.CB_RETURN:
                self._hit("same cycle/publish and return")
        if other.event and record.op == TraceOp.DOORBELL and record.operand >> 16 & 1:
            self._hit("same cycle/callback and arm")

    def _publish(self, record: Trace, cq: CqMemory) -> None:  # noqa: ARG002
        old = record.old
        count, classes = record.operand & 3, record.operand >> 2
        prod, cons = old >> 16 & _ALL, old >> 32 & _ALL
        armed, kind, due = old >> 4 & 1, old >> 5 & 3, old >> 8 & 1
        early = cons - prod & self._mask
        if 0 < early < self._half:
            self._hit("ack/of a consumed entry")
            if armed:
                self._hit("ack/of a consumed entry while armed")
        if not armed:
            self._hit("callback/none without an arm")
        elif not due and not old >> 7 & 1:
            solicited = classes & ((1 << count) - 1)
            name = ARM_NAMES.get(kind, "")
            if record.event:
                what = "the solicited class" if solicited else "a success"
                if name != "ERRORS":
                    self._hit(f"callback/{name} by {what}")
            elif name == "SOLICITED" and not solicited:
                self._hit("callback/SOLICITED not by a success")
            elif name == "ERRORS":
                self._hit("callback/ERRORS not by a completion")

    def _moderation(self, record: Trace, cq: CqMemory) -> None:
        old = record.old
        case = moderation_case(cq.count, cq.interval, 1 << cq.log2)
        counted = max(old >> 80 & _ALL, (old >> 16) - (old >> 32) & self._mask)
        by_count = case == "count only" or (case == "both" and counted >= cq.count)
        self._hit(f"moderation/released by {'count' if by_count else 'interval'}")

    def _cq_error(self, record: Trace, cq: CqMemory) -> None:  # noqa: ARG002
        old, status = record.old, record.operand & 3
        armed = "armed" if old >> 4 & 1 else "not armed"
        if status == CqStatus.BUFFER_OVERFLOW:
            self._hit(f"overflow/{armed}")
            if old >> 7 & 1:
                self._hit("overflow/while a callback runs")
        else:
            self._hit(f"cqe error/{armed}")
            if old >> 2 & 3 == CqStatus.BUFFER_OVERFLOW:
                self._hit("cqe error/after an overflow")
        self._released_by_error(record)

    def _released_by_error(self, record: Trace) -> None:
        old = record.old
        if old >> 8 & 1 and not old >> 9 & 1 and (record.event or record.new >> 9 & 1):
            self._hit("moderation/released by an error")

    def _event_failed(self, record: Trace, cq: CqMemory) -> None:
        cq.attempts += 1
        if record.operand & 1:
            self._hit("eqe error/given up")
            cq.attempts = 0
            cq.gave_up = True
        self._released_by_error(record)

    def _event_done(self, record: Trace, cq: CqMemory) -> None:
        if 0 < cq.attempts < len(_ATTEMPTS):
            self._hit(f"eqe error/{_ATTEMPTS[cq.attempts]}")
        cq.attempts = 0
        if record.event:
            self._hit("deferred/called by the acknowledgement")
            self._deferred(record)

    def _return(self, record: Trace, cq: CqMemory) -> None:  # noqa: ARG002
        self._hit("doorbell/callback return")
        if record.event:
            self._hit("deferred/called by the return")
            self._deferred(record)

    def _deferred(self, record: Trace) -> None:
        if record.new >> 16 & _ALL == record.new >> 32 & _ALL:
            self._hit("deferred/called on an empty queue")

    def _doorbell(self, record: Trace, cq: CqMemory) -> None:
        old, mask = record.old, self._mask
        index = record.operand & _ALL
        prod, cons = old >> 16 & _ALL, old >> 32 & _ALL
        due, busy = old >> 8 & 1, old >> 7 & 1 or old >> 10 & 1
        present = prod - index & mask
        if present & self._half:
            self._hit("ack/consumed before")
        moved = index != cons
        if due and moved and not present:
            self._hit("deferred/drained while due" if busy else "moderation/drained while waiting")
        if not record.operand >> 16 & 1:
            return
        kind = record.operand >> 17 & 3
        name = ARM_NAMES.get(kind, "")
        mark = old >> 48 & _ALL
        if (mark - index & mask) & self._half:
            mark = index
        fresh = prod - mark & mask
        new = 0 < fresh < self._half
        empty = present == 0 or bool(present & self._half)
        presence = "empty" if empty else "new" if new else "old"
        standing = "due" if due else "busy" if busy else "idle"
        self._hit(f"arm/{name}, {standing}, {presence}")
        if busy:
            self._hit("arm/in the callback")
        self._arm_rules(record, cq, name, presence, mark)

    def _arm_rules(self, record: Trace, cq: CqMemory, name: str, presence: str, mark: int) -> None:
        old = record.old
        armed = old >> 4 & 1
        fired = record.event or (record.new >> 8 & 1 and not old >> 8 & 1)
        if armed:
            first = old >> 5 & 3
            self._hit(f"merge/{ARM_NAMES.get(first, '')} then {name}")
            if record.operand & _ALL == old >> 32 & _ALL and first == record.operand >> 17 & 3:
                self._hit("arm/repeated")
            if old >> 8 & 1:
                self._hit("deferred/arm merged while due")
            elif fired:
                self._hit("cq14/merge fires now")
        elif cq.callback_type >= 0 and weaker(record.operand >> 17 & 3, cq.callback_type):
            self._hit("cq13/weaker arm after a call")
        if presence == "new":
            solicited = old >> 64 & _ALL
            newer = solicited - mark & self._mask
            what = "solicited" if 0 < newer < self._half else "success"
            self._hit(f"cq09/{'typed' if cq.typed else 'literal'}, {name}, new {what}")
        elif presence == "old":
            self._hit("cq10/rearm" if cq.rearm else "cq10/default")
        else:
            polled = (record.old >> 16 & _ALL) != cq.snap
            self._hit("cq10a/polled before the arm" if polled else "cq10a/nothing ever")

    def _create(self, record: Trace, cq: CqMemory) -> None:
        if cq.destroyed:
            self._hit("destroy/created again")
        cq = self._cqs[record.cq] = CqMemory()  # its size comes with the command's record
        cq.typed, cq.rearm = bool(record.operand & 1), bool(record.operand >> 1 & 1)

    def _stop(self, record: Trace, cq: CqMemory) -> None:  # noqa: ARG002
        cq.stopped = True
        if cq.state >> 4 & 1:
            self._hit("destroy/armed")
        if cq.state >> 8 & 1:
            self._hit("destroy/due")

    def _destroy(self, record: Trace, cq: CqMemory) -> None:
        if record.operand & 1:
            self._hit("destroy/at once" if cq.stopped else "destroy/after pending")
            cq.destroyed = True
        elif record.new >> 7 & 1 or record.new >> 10 & 1:
            self._hit("destroy/pending by a callback")
        else:
            self._hit("destroy/pending by writes")
        cq.stopped = False

    # -- lane 0 ------------------------------------------------------------------------------------

    def _alloc(self, record: Trace) -> None:
        if (record.new & _ALL) < (record.old & _ALL):
            self._hit("index/alloc wraps")

    def _place(self, record: Trace, cq: CqMemory) -> None:
        self._alloc(record)
        if record.operand >> 2 & 3:
            self._hit("credit/given back")
        if cq.log2:
            passes = ((record.new & _ALL) - 1 - cq.origin & self._mask) >> cq.log2
            if passes in (1, 2):
                self._hit("ring/second pass" if passes == 1 else "ring/third pass")

    def _overflow(self, record: Trace, cq: CqMemory) -> None:  # noqa: ARG002
        self._alloc(record)
        placed = "one" if record.operand else "nothing"
        self._hit(f"overflow/{placed} placed before")

    def _resize(self, record: Trace, cq: CqMemory) -> None:
        index = record.operand & _ALL
        used = index - cq.origin & self._mask
        if used and not used & ((1 << cq.log2) - 1):
            self._hit("resize/at the wrap")
        if cq.state >> 4 & 1:
            self._hit("resize/armed")
        if cq.state >> 16 & _ALL != cq.state >> 32 & _ALL:
            self._hit("resize/with entries present")
        cq.resizes += 1
        if cq.resizes > 1:
            self._hit("resize/twice")
        cq.origin = index

    # -- memory, interrupts ------------------------------------------------------------------------

    def _mem_write(self, record: MemWrite) -> None:
        self._open[record.axi_id] += 1
        if record.axi_id < self.params.num_cq:
            low, high = record.strb & 0xFFFF_FFFF, record.strb >> 32
            self._hit(
                "beat/pair" if low and high else "beat/lower half" if low else "beat/upper half"
            )
        elif record.strb:
            lane = (record.strb & -record.strb).bit_length() - 1
            if not record.data >> 8 * lane + 127 & 1:
                self._hit("eq ring/second pass")

    def _mem_response(self, record: MemResponse) -> None:
        if self._open[record.axi_id]:
            self._open[record.axi_id] -= 1
            if record.resp:
                self._hit(f"write error/{_ERRORS[record.resp]}")
        eq = record.axi_id - self.params.num_cq
        if 0 <= eq < self.params.num_eq and record.resp == 0:
            self._acked[eq] += 1

    def _interrupt(self, record: Interrupt) -> None:
        eq = self._vectors.get(record.vector)
        if eq is not None and self._acked[eq]:
            self._hit("interrupt/one for one" if self._acked[eq] == 1 else "interrupt/merged")
            self._acked[eq] = 0

    # -- completions, credits, doorbells -----------------------------------------------------------

    def _completion(self, record: Completion) -> None:
        keep = record.keep
        if keep == 3:
            same = record.dest[0] == record.dest[1]
            self._hit(f"completion/two of {'one queue' if same else 'two queues'}")
        elif keep == 2:
            self._hit("completion/second lane alone")
        elif keep == 0:
            self._hit("completion/empty beat")
        for lane in (0, 1):
            if keep >> lane & 1:
                self._lane(record.dest[lane], record.data[lane])

    def _lane(self, dest: int, data: int) -> None:
        if dest >= self.params.num_cq:
            self._hit("completion/queue out of range")
            return
        state = self._cqs[dest].state
        if state & 3 != 1:
            self._hit("completion/queue missing")
        elif state >> 2 & 3:
            self._hit("completion/queue in error")
        kind, solicited = data >> 192 & _ALL, data >> 240 & 1
        if kind == 0x8001:
            self._hit("completion/receive and invalidate")
        if solicited:
            no = "" if kind in _RECEIVES else " flag on no receive"
            self._hit(f"completion/solicited{no}")
        if data >> 232 & 0xFF:
            self._hit("completion/failed")

    def _credit_request(self, record: CreditRequest) -> None:
        wanted = record.data >> 16 & 3
        bad = wanted not in (1, 2) or record.data >> 18 or record.data & _ALL >= self.params.num_cq
        if bad:
            self._hit("credit/malformed")
        self._wanted.append(0 if bad else wanted)

    def _credit_answer(self, record: CreditAnswer) -> None:
        wanted = self._wanted.popleft() if self._wanted else 0
        if wanted:
            if not record.granted:
                self._hit("credit/refused")
            else:
                self._hit("credit/granted" if wanted == 1 else "credit/granted two")

    def _request(self, record: DoorbellRequest) -> None:
        self._requests.append(record.addr % PAGE_BYTES)

    def _response(self, record: DoorbellResponse) -> None:
        offset = self._requests.popleft() if self._requests else 0
        if record.cause not in codes.DOORBELL_CAUSES:
            return
        cause = Cause(record.cause)
        self._hit(f"cause/{cause.name}")
        if cause is Cause.NOT_OWNER:
            self._hit(f"foreign page/{'CB_RETURN' if offset == CB_RETURN else 'CQ_DB'}")

    # -- commands ----------------------------------------------------------------------------------

    def _command(self, record: Command) -> None:
        name = COMMAND_BINS.get((record.code, record.result))
        if name is None:
            if record.code not in CQ_COMMANDS:
                self._hit("command/UNKNOWN")
            return
        self._hit(name)
        if record.result:
            return
        args = Args(record.args)
        number = args.number
        if record.code in (codes.Command.CREATE_EQ, codes.Command.MODIFY_EQ):
            self._vectors[args.vector] = number
        elif record.code == codes.Command.RESIZE_EQ:
            self._hit("eq ring/resized")
        elif record.code == codes.Command.CREATE_CQ:
            self._cqs[number].log2 = args.log2
            self._settings(args, self._cqs[number])
        elif record.code == codes.Command.RESIZE_CQ:
            cq = self._cqs[number]
            if args.log2 != cq.log2:
                self._hit("resize/up" if args.log2 > cq.log2 else "resize/down")
            cq.log2 = args.log2
        elif record.code == codes.Command.MODIFY_CQ:
            cq = self._cqs[number]
            config = args.config
            cq.typed, cq.rearm = config.typed, config.rearm
            if cq.state >> 8 & 1 and not cq.state >> 9 & 1:
                self._hit("moderation/changed while waiting")
            self._settings(args, cq)

    def _settings(self, args: Args, cq: CqMemory) -> None:
        cq.count, cq.interval = args.config.mod_count, args.config.mod_interval
        self._hit(f"moderation/{moderation_case(cq.count, cq.interval, 1 << cq.log2)}")

    # -- results -----------------------------------------------------------------------------------

    def write(self, path: Path) -> None:
        """Adds the counts to those of the file: a job may run several tests."""
        counts = Counter(self.counts)
        if path.is_file():
            counts.update(json.loads(path.read_text()))
        unknown = counts.keys() - BINS.keys()
        assert not unknown, f"hits of bins that do not exist: {sorted(unknown)}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(dict(sorted(counts.items())), indent=1) + "\n")
