# SPDX-License-Identifier: Apache-2.0
"""Makes streams of records as a right engine would leave them, step by step, for the tests of the
scoreboard and of the coverage.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Self

from models import codes
from models.arm.arm import CqConfig, Step
from models.codes import ArmType, CqStatus, Life, ResultType, TraceOp
from models.cq.core import CompletionCore
from models.cq.entries import Cqe
from models.cq.queue import CqProducer
from models.host.control import Args, make_args
from models.host.doorbell import pack_doorbell, pack_return
from models.layouts import CB_RETURN, CQ_DB, EQE_BYTES, LINE_BYTES, PAGE_BYTES
from models.params import Params
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

PARAMS = Params(num_cq=4, num_eq=2, num_pages=4, idx_w=6, mod_tick=8, num_qp=0)
PAGE, EQ, VECTOR = 1, 1, 7
ALL = (1 << 64) - 1


class Stream:
    """An ideal engine: each method lets something happen and adds its records."""

    def __init__(self, params: Params = PARAMS) -> None:
        self.params = params
        self.engine = CompletionCore(params)
        self.records: list[Record] = []
        self.cycle = 0
        self.next_base = 0x10000
        self.context = 0

    # -- basics ------------------------------------------------------------------------------------

    def tick(self, cycles: int = 3) -> int:
        """Time passes."""
        self.cycle += cycles
        return self.cycle

    def add(self, record: Record) -> None:
        """One more record."""
        self.records.append(record)

    def traced(
        self, op: TraceOp, cq: int, operand: int, run: Callable[[], Step | object]
    ) -> Step | object:
        """A step and its trace record, in the present cycle."""
        lane = 0 if op >= 0x20 else 1 if op < TraceOp.EVENT_DONE else 2
        self.engine.set_time(cq, self.cycle)
        old = self.state(cq, lane)
        step = run()
        calls = step.calls if isinstance(step, Step) else []
        status = calls[0].status if calls else 0
        self.add(
            Trace(self.cycle, lane, op, cq, bool(calls), status, operand, old, self.state(cq, lane))
        )
        return step

    def state(self, cq: int, lane: int) -> int:
        """A state as the trace port shows it."""
        value = self.engine.trace_state(cq, lane)
        if lane == 0:
            # Counts of a CQ wrap like its indices.
            used = (1 << self.params.idx_w) - 1 << 16
            value = value & 0xFFFF | value & used | value & 1 << 32
        if lane == 0 and self.engine.status(cq) is not CqStatus.OK:
            value |= 1 << 32
        return value

    def base(self) -> int:
        """Memory for a ring."""
        self.next_base += 0x1000
        return self.next_base

    # -- control -----------------------------------------------------------------------------------

    def command(
        self,
        code: int,
        words: tuple[int, ...],
        steps: Callable[[], int | None] | None = None,
        out: int = 0,
    ) -> None:
        """A command, executed by the model unless ``steps`` does it and tells the result."""
        outs = (out, *[0] * 7)
        start = self.tick()
        self.tick()
        if steps is not None:
            result = steps() or 0
        else:
            reply = self.engine.command(code, Args(words))
            result, outs = reply.result, reply.out
        self.add(Command(self.tick(5), start, code, words, result, outs))

    def create_eq(self) -> None:
        args = make_args(EQ, base=self.base(), log2=2, vector=VECTOR, page=PAGE)
        self.command(codes.Command.CREATE_EQ, args.words)

    def create_cq(
        self,
        cq: int = 0,
        log2: int = 2,
        reservation: bool = True,
        moderation: tuple[int, int] = (0, 0),
    ) -> None:
        """CREATE_CQ with its two steps."""
        config = CqConfig(1 << log2, False, False, *moderation)
        place = {"base": self.base(), "log2": log2, "page": PAGE, "eq": EQ}
        args = make_args(cq, **place, reservation=reservation, config=config)
        ring = args.ring(32)

        def steps() -> None:
            # The steps come as CREATE, START; the model wants them the other way round.
            self.engine.producers[cq] = CqProducer()
            self.engine.start(cq, ring, reservation)
            self.traced(TraceOp.CREATE, cq, 0, lambda: self.engine.create(cq, config, PAGE, EQ))
            self.tick(1)
            self.traced(TraceOp.START, cq, 0, lambda: None)

        self.command(codes.Command.CREATE_CQ, args.words, steps)

    def destroy_cq(self, cq: int = 0) -> bool:
        """One DESTROY_CQ; True if freed."""
        engine = self.engine

        def steps() -> int:
            if not engine.producers[cq].stopped:
                self.traced(TraceOp.STOP, cq, 0, lambda: engine.stop(cq))
                self.tick(1)
            freed = not engine.cqs[cq].busy and engine.idle(cq)
            self.traced(TraceOp.DESTROY, cq, freed, lambda: engine.destroy(cq))
            return 0 if freed else 0x4D

        self.command(codes.Command.DESTROY_CQ, make_args(cq).words, steps)
        return engine.cqs[cq].life is Life.FREE

    def resize_cq(self, cq: int = 0, log2: int = 3) -> None:
        """A successful RESIZE_CQ."""
        args = make_args(cq, base=self.base() * 16, log2=log2)
        index = self.params.index(self.engine.producers[cq].alloc)

        def steps() -> None:
            self.traced(TraceOp.RESIZE, cq, index, lambda: self.engine.resize(cq, args.ring(32)))

        self.command(codes.Command.RESIZE_CQ, args.words, steps, index)

    # -- credits, completions ----------------------------------------------------------------------

    def credit(self, cq: int = 0, wanted: int = 1) -> bool:
        """A credit request and its answer."""
        self.tick()
        self.add(CreditRequest(self.cycle, cq | wanted << 16))
        self.tick()
        granted = self.engine.reserve(cq, wanted)
        self.add(CreditAnswer(self.cycle, granted))
        return granted

    def cqe(self, kind: int = ResultType.SEND, solicited: bool = False, status: int = 0) -> bytes:
        """A completion with a context of its own."""
        self.context += 1
        return Cqe(self.context, type=kind, flags=int(solicited), status=status).pack()

    def arrive(self, cq: int, *cqes: bytes, silent: int = 0) -> None:
        """Lanes at the completion port."""
        self.tick()
        data = [int.from_bytes(c, "little") for c in cqes] + [0, 0]
        keep = (1 << len(cqes)) - 1
        self.add(Completion(self.cycle, keep, silent, (cq, cq), (data[0], data[1])))

    def place(self, cq: int, *cqes: bytes, back: int = 0) -> None:
        self.tick()
        operand = len(cqes) | back << 2
        self.traced(TraceOp.PLACE, cq, operand, lambda: self.engine.place(cq, cqes, back))

    def write(self, cq: int = 0) -> None:
        """The next entry is written."""
        self.tick()
        entry = self.engine.producers[cq].placed[self.engine.cqs[cq].written]
        lane = entry.address % LINE_BYTES
        line = bytes(lane) + entry.data + bytes(LINE_BYTES - lane - len(entry.data))
        address, strb = entry.address - lane, 0xFFFF_FFFF << lane
        self.engine.cqe_beat(cq, address, line, strb)
        self.add(MemWrite(self.cycle, cq, address, strb, int.from_bytes(line, "little")))

    def answer(self, cq: int = 0, resp: int = 0) -> int:
        """The oldest write of a CQ is answered."""
        self.tick()
        self.add(MemResponse(self.cycle, cq, resp))
        return self.engine.cqe_response(cq, resp == 0)

    def publish(self, cq: int) -> None:
        """PUBLISH of one entry in the present cycle."""
        entry = self.engine.producers[cq].placed[self.engine.cqs[cq].prod]
        operand = 1 | entry.solicited << 2 | entry.unsignalled << 4
        self.traced(TraceOp.PUBLISH, cq, operand, lambda: self.engine.publish(cq, 1))

    def placed(self, cq: int = 0) -> bytes:
        """A completion from its credit to its place in the queue."""
        assert self.credit(cq)
        cqe = self.cqe()
        self.arrive(cq, cqe)
        self.place(cq, cqe)
        return cqe

    def answered_write(self, cq: int = 0) -> None:
        """The oldest write is answered, and its entry published."""
        self.answer(cq)
        self.tick()
        self.publish(cq)

    def written(self, cq: int = 0) -> None:
        """The next entry is written, answered and published."""
        self.write(cq)
        self.answered_write(cq)

    def complete(self, cq: int = 0, *cqes: bytes, credit: bool = True) -> None:
        """Completions from credit to publication."""
        cqes = cqes or (self.cqe(),)
        if credit:
            assert self.credit(cq, len(cqes))
        self.arrive(cq, *cqes)
        self.place(cq, *cqes)
        for _ in cqes:
            self.write(cq)
        for _ in cqes:
            self.answered_write(cq)

    def cq_error(self, status: CqStatus, count: int = 0, cq: int = 0) -> None:
        """CQ_ERROR; ``count``: entries whose write has failed."""
        self.tick()
        operand = status | count << 2
        run = partial(self.engine.cq_error, cq, status, count)
        self.traced(TraceOp.CQ_ERROR, cq, operand, run)

    def overflow(self, cq: int = 0) -> None:
        self.tick()
        self.traced(TraceOp.OVERFLOW, cq, 0, lambda: self.engine.overflow(cq))

    def look(self, cq: int = 0) -> None:
        """MODERATION in the present cycle."""
        self.traced(TraceOp.MODERATION, cq, 0, lambda: self.engine.moderation(cq))

    # -- events ------------------------------------------------------------------------------------

    def event(self, *cqs: int) -> None:
        """The event entries of some callbacks (default: that of CQ 0) are written by one beat."""
        self.tick()
        entries = self.engine.eqs[EQ].expected(cqs or (0,), self.engine.status)
        lane = entries[0][0] % LINE_BYTES
        address, strb = entries[0][0] - lane, (1 << EQE_BYTES * len(entries)) - 1 << lane
        used = b"".join(entry for _, entry in entries)
        data = (used * LINE_BYTES)[-lane % len(used) :][:LINE_BYTES]
        self.engine.eqe_beat(EQ, address, data, strb)
        line = int.from_bytes(data, "little")
        self.add(MemWrite(self.cycle, self.params.num_cq + EQ, address, strb, line))

    def share(self, *cqs: int) -> None:
        """CQs are armed, get a completion each, and call by one write."""
        for cq in cqs:
            self.doorbell(cq, ArmType.ANY)
            self.complete(cq)
        self.event(*cqs)

    def event_answer(self, resp: int = 0) -> None:
        """The oldest event write is answered, with the steps that follow."""
        self.tick()
        self.add(MemResponse(self.cycle, self.params.num_cq + EQ, resp))
        for event in self.engine.eqe_response(EQ, resp == 0):
            self.tick()
            cq, end = event.cq, event.attempt == 4
            done, failed = self.engine.event_done, self.engine.event_failed
            if resp == 0:
                self.traced(TraceOp.EVENT_DONE, cq, 0, partial(done, cq))
            else:
                self.traced(TraceOp.EVENT_FAILED, cq, end, partial(failed, cq, end))

    def interrupt(self, vector: int = VECTOR) -> None:
        """The vector is raised."""
        self.tick()
        self.add(Interrupt(self.cycle, vector))

    def call(self, cq: int = 0, vector: int = VECTOR) -> None:
        """Everything from a callback's entry to its interrupt."""
        self.event(cq)
        self.event_answer()
        self.interrupt(vector)

    # -- doorbells ---------------------------------------------------------------------------------

    def request(self, offset: int, word: int, page: int = PAGE) -> None:
        """A write is taken."""
        self.tick()
        addr = page * PAGE_BYTES + offset
        lane = addr % LINE_BYTES
        data = word << 8 * lane
        self.add(DoorbellRequest(self.cycle, 5, addr, 0, 3, 0xFF << lane, data))

    def respond(self, cause: int = 0) -> None:
        """The oldest write is answered."""
        self.tick()
        self.add(DoorbellResponse(self.cycle, 5, 2 if cause else 0, cause))

    def ring(self, cq: int, index: int, arm: ArmType | None = None) -> None:
        """The step of a doorbell, in the present cycle."""
        operand = index if arm is None else index | 1 << 16 | arm << 17
        self.traced(TraceOp.DOORBELL, cq, operand, lambda: self.engine.doorbell(cq, index, arm))

    def doorbell(self, cq: int = 0, arm: ArmType | None = None, polled: int = 0) -> None:
        """An accepted doorbell: consumes ``polled`` entries."""
        index = self.params.index(self.engine.cqs[cq].cons + polled)
        self.request(CQ_DB, pack_doorbell(cq, index, arm))
        self.tick()
        self.ring(cq, index, arm)
        self.respond()

    def returns(self, cq: int = 0) -> None:
        """An accepted callback return."""
        self.request(CB_RETURN, pack_return(cq))
        self.tick()
        self.traced(TraceOp.CB_RETURN, cq, 0, lambda: self.engine.cb_return(cq))
        self.respond()

    # -- whole scenarios ---------------------------------------------------------------------------

    def ready(self, cqs: int = 1, **options: object) -> Self:
        """An EQ and some CQs."""
        self.create_eq()
        for cq in range(cqs):
            self.create_cq(cq, **options)  # type: ignore[arg-type]
        return self

    def called(self) -> Self:
        """A CQ that is armed, gets a completion, and calls."""
        self.due().call()
        return self

    def due(self, **options: object) -> Self:
        """A CQ that is armed and gets a completion."""
        self.ready(**options)  # type: ignore[arg-type]
        self.doorbell(0, ArmType.ANY)
        self.complete()
        return self

    def shared_events(self) -> Self:
        """Event entries of several CQs are written together; the last of these writes fails, and
        each of its entries is repeated alone.
        """
        self.ready(4)
        self.complete(0, self.cqe(), self.cqe())
        self.doorbell(polled=2)
        for written in ((0, 1), (3, 2), (2, 0, 3, 1), (1,)):
            self.share(*written)
            self.event_answer()
            self.interrupt()
            for cq in written:
                self.doorbell(cq, polled=1)
                self.returns(cq)
        self.share(0, 3, 2)
        self.event_answer(resp=2)
        for cq in (3, 0, 2):
            self.event(cq)
        for _ in range(3):
            self.event_answer()
            self.interrupt()
        return self
