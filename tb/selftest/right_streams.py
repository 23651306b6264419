# SPDX-License-Identifier: Apache-2.0
"""Right streams of records that together have a bit of everything: of each subject one of what
works, and one of troubles: of what is refused or fails, and of what happens seldom.
"""

from __future__ import annotations

from collections.abc import Callable

from models import codes
from models.codes import (
    Access,
    ArmType,
    Cause,
    CommandResult,
    CqStatus,
    ResultType,
    ScatterCode,
    Verdict,
)
from models.host.control import Args, make_args
from models.host.doorbell import pack_doorbell, pack_return
from models.layouts import CB_RETURN, CQ_DB
from models.post.post import Segment, slots_of
from models.post.posting import pack_conn
from models.receive.receive_types import RecvRequest
from tb.env.defs import QP_STATE, QpState
from tb.env.harness.records import Command, CreditAnswer, CreditRequest
from tb.selftest.engine_streams import (
    BASE,
    FAST,
    FIRST,
    LENGTH,
    OTHER,
    OWN,
    SECOND,
    EngineStream,
)
from tb.selftest.streams import ALL, EQ, PAGE, VECTOR, Stream
from tb.selftest.work_streams import BIND, DEFER, FENCE, INVALIDATE, READ, SEND, SILENT, WRITE

#: Writes to pages that are refused: offset, word, page, cause.
REFUSED_WRITES = (
    (CQ_DB, 1 << 50, 1, Cause.RESERVED_BITS),
    (CQ_DB, 1 << 63 | 3 << 48, 1, Cause.BAD_ARM_TYPE),
    (CQ_DB, pack_doorbell(5, 0), 1, Cause.BAD_CQ),
    (CQ_DB, pack_doorbell(3, 0), 1, Cause.NO_CQ),
    (CQ_DB, pack_doorbell(0, 0), 2, Cause.NOT_OWNER),
    (CQ_DB, pack_doorbell(0, 9), 1, Cause.BAD_INDEX),
    (CB_RETURN, pack_return(0), 1, Cause.NO_CALLBACK),
    (0x400, 0, 1, Cause.BAD_OFFSET),
    (CQ_DB, 0, 4, Cause.BAD_PAGE),
)
#: Writes to a send portal that no post can be.
ODD_WRITES: tuple[tuple[Cause, dict[str, int]], ...] = (
    (Cause.BURST, {"length": 1}),
    (Cause.BAD_SIZE, {"strb": 0xFF}),
    (Cause.BAD_OFFSET, {"addr": PAGE * 4096 + 0xC0}),
    (Cause.BAD_PAGE, {"addr": 7 * 4096}),
)
#: Commands that a connected queue pair refuses.
REFUSED_OF_QP = (
    (codes.Command.CONNECT_QP, 3, CommandResult.CMD_BAD_STATE),
    (codes.Command.SET_QP_STATE, 2, CommandResult.CMD_BAD_STATE),
    (codes.Command.SET_QP_STATE, 16, CommandResult.CMD_RESERVED),
)


def raw(*words: int) -> Args:
    """Arguments as they stand in the registers."""
    return Args((*words, *[0] * (8 - len(words))))


#: Commands of receive queues that are refused after :meth:`EngineStream.receivers`.
REFUSED_OF_QUEUES = (
    (codes.Command.CREATE_SRQ, raw(0, 4, 1), CommandResult.CMD_EXISTS),
    (codes.Command.CREATE_SRQ, raw(2, 1, 1), CommandResult.CMD_BAD_OBJECT),
    (codes.Command.QUERY_SRQ, raw(2), CommandResult.CMD_BAD_OBJECT),
    (codes.Command.SET_SRQ_WATERMARK, raw(0, 5), CommandResult.CMD_BAD_SIZE),
    (codes.Command.DESTROY_SRQ, raw(0), CommandResult.CMD_IN_USE),
    (codes.Command.REGISTER_MR, raw(1, 0, 0, 0), CommandResult.CMD_BAD_RANGE),
    (codes.Command.REGISTER_MR, raw(0, 0, 0, 1), CommandResult.CMD_EXISTS),
    (codes.Command.QUERY_MR, raw(2), CommandResult.CMD_NO_OBJECT),
    (
        codes.Command.CREATE_QP,
        raw(3, 0, 0, 0, 1 | 4 << 16, 0, 5, 1 << 31),
        CommandResult.CMD_RESERVED,
    ),
)


def completions() -> Stream:
    """What works of completion queues, callbacks and doorbells."""
    s = Stream().ready(2)
    s.doorbell(0, ArmType.ANY)
    s.complete(0, s.cqe(ResultType.RECEIVE_AND_INVALIDATE, True), s.cqe())
    s.call(0)
    s.doorbell(0, ArmType.SOLICITED, 1)  # satisfied by the old rule only: stays armed
    s.returns(0)
    s.complete(1, s.cqe(status=3))
    s.complete(0, s.cqe(status=1))
    s.call(0)
    s.doorbell(0, polled=2)
    s.returns(0)
    s.doorbell(1, polled=1)
    assert s.destroy_cq(1)
    return s


def troubles_of_completions() -> Stream:
    """What is refused, fails, or happens seldom, of completion queues."""
    s = Stream()
    s.create_eq()
    s.create_cq(0)
    s.create_cq(1, log2=1, reservation=False)
    s.create_cq(2, moderation=(2, 0xFFFF))
    s.command(codes.Command.QUERY_EQ, make_args(EQ).words)
    s.complete(0, s.cqe(), s.cqe())
    s.doorbell(polled=2)
    assert s.credit(0, 2)
    cqe = s.cqe()
    s.arrive(0, s.cqe(), cqe, silent=1)
    s.place(0, cqe, back=1)
    s.written()
    for offset, word, page, cause in REFUSED_WRITES:
        s.request(offset, word, page)
        s.respond(cause)
    for data in (0, 3 << 16, 1 << 16 | 4, 1 << 18 | 1 << 16):
        s.add(CreditRequest(s.tick(), data))
        s.add(CreditAnswer(s.tick(), False))
    for cq in (3, 9):
        s.arrive(cq, s.cqe())
    assert [s.credit() for _ in range(4)] == [True] * 3 + [False]
    s.command(codes.Command.RESIZE_CQ, make_args(0, base=0x8000, log2=1).words)
    s.resize_cq(0)
    s.command(codes.Command.QUERY_CQ, make_args(0).words)
    # The event is written again, and after its answer the vector changes.
    s.doorbell(0, ArmType.SOLICITED)
    s.complete(0, s.cqe(status=9), credit=False)
    s.event()
    s.event_answer(resp=2)
    s.event()
    s.event_answer()
    s.command(codes.Command.MODIFY_EQ, make_args(EQ, vector=9).words)
    s.interrupt(9)
    assert not s.destroy_cq()
    s.returns()
    # Two entries make a callback due; the engine looks at it.
    s.doorbell(2, ArmType.ANY)
    s.complete(2, s.cqe(), s.cqe())
    s.look(2)
    for _ in range(4):
        s.event(2)
        s.event_answer(resp=2)
    s.interrupt(9)
    # An overflow.
    s.doorbell(1, ArmType.ERRORS)
    s.complete(1, s.cqe(), s.cqe(), credit=False)
    s.arrive(1, s.cqe())
    s.overflow(1)
    s.cq_error(CqStatus.BUFFER_OVERFLOW, cq=1)
    s.call(1, 9)
    return s


def posts() -> EngineStream:
    """What works of posts and their work."""
    s = EngineStream().connected(2, 2)
    for opcode in (BIND, INVALIDATE, READ, SEND, WRITE, 2, 6):
        assert s.post(s.make(opcode)) is Cause.OK
        s.run()
        s.doorbell(0, polled=1)
    for flags in (DEFER, DEFER | SILENT, FENCE):
        s.post(s.make(READ, flags, qp=1))
    s.work(1)
    s.work(1)
    s.done(1, 0)
    s.done(1, 1)
    s.retire(1)
    s.retire(1)
    s.run(1)
    assert s.post(s.make(99)) is Cause.BAD_OPCODE
    assert s.post(s.make(qp=3)) is Cause.NO_QP
    assert s.post(s.make(qp=1), 2) is Cause.NOT_OWNER
    s.post(s.make(WRITE, DEFER))
    s.post(s.make(WRITE, DEFER))
    assert s.post(s.make(num_segments=5)) is Cause.TOO_MANY_SEGMENTS
    s.run(0, [7])
    for _ in range(len(s.posting.qps[0].requests)):
        s.retire(0)
    s.plain(codes.Command.QUERY_QP)
    s.plain(codes.Command.DESTROY_QP)
    s.conn(1)
    s.plain(codes.Command.FLUSH_QP, 1)
    s.set_state(1, 1)
    s.connect(1)
    return s


def troubles_of_posts() -> EngineStream:
    """What is refused, fails, or happens seldom, of posts."""
    s = EngineStream().connected(2, 2, log2=2, age=2)
    s.post()
    s.run()
    s.doorbell(0, polled=1)
    for cause, odd in ODD_WRITES:
        assert s.post(s.make(), **odd) is cause
    assert s.post(s.make(qp=5)) is Cause.BAD_QP
    for _ in range(4):
        assert s.post() is Cause.OK
    assert s.post() is Cause.QUEUE_FULL
    s.run()
    assert s.post() is Cause.NO_CREDIT
    s.doorbell(0, polled=4)
    for code, word, result in REFUSED_OF_QP:
        assert s.plain(code, 0, word).result == result
    s.post(s.make(flags=DEFER))
    s.tick(2 * s.params.mod_tick + 1)
    s.age()
    s.run()
    # The connection ends: one request is held, and of one the beat is offered.
    for flags in (0, 0, DEFER):
        assert s.post(s.make(flags=flags)) is Cause.OK
    for data in (pack_conn(0), pack_conn(0), pack_conn(3), 1 << 31):
        s.conn(0, data)
    assert s.plain(codes.Command.FLUSH_QP).result == 0
    tag = s.work(late=True)
    assert s.plain(codes.Command.SET_QP_STATE, 0, 1).result == CommandResult.CMD_BUSY
    s.done(0, tag)
    for _ in range(3):
        s.retire()
    s.set_state(0, 1)
    # A queue pair goes as soon as its request has retired, and a CQ after it.
    s.post(s.make(qp=1))
    tag = s.work(1)
    for _ in range(2):
        assert s.plain(codes.Command.DESTROY_QP, 1).result == CommandResult.CMD_PENDING
        assert s.post(s.make(qp=1)) is Cause.NO_QP
    s.done(1, tag)
    s.place(1, s.retire(1, write=False).cqe.pack())
    words, start = make_args(0).words, s.tick()
    in_use = CommandResult.CMD_IN_USE
    s.add(Command(s.tick(), start, codes.Command.DESTROY_CQ, words, in_use, (0,) * 8))
    s.plain(codes.Command.DESTROY_QP, 1)
    # A write fails, and so does the CQ.
    s.write(1)
    s.answer(1, 2)
    s.cq_error(CqStatus.INTERNAL_ERROR, 1, 1)
    s.create_qp(1, 1)
    s.connect(1)
    assert s.post(s.make(qp=1)) is Cause.CQ_ERROR
    return s


def receives() -> EngineStream:
    """What works of receives, shared ones too."""
    s = EngineStream().receivers(flag=2)
    for lengths in ((64,), (16, 0, 16), (0,), ()):
        assert s.receive(s.buffer(OWN, lengths)) is Cause.OK
    assert s.receive() is Cause.QUEUE_FULL
    s.whole(OWN, 64, solicited=True)
    s.whole(OWN, 20)
    s.whole(OWN, 0, invalidate=True, token=77)
    s.doorbell(0, polled=3)
    for _ in range(4):
        assert s.receive(shared=True) is Cause.OK
    assert s.receive(shared=True) is Cause.QUEUE_FULL
    s.srq_command(codes.Command.SET_SRQ_WATERMARK, 0, 4)
    assert s.message(FIRST, 64).event
    s.raised()
    s.message(SECOND, 3)
    for qp in (SECOND, FIRST):
        s.report(qp, 0)
        s.completes(qp)
    assert s.reap(0, 2) == 0
    assert s.reap(0, 5) == 0x0B
    s.tick(400)
    s.srq_command(codes.Command.QUERY_SRQ, 0)
    s.srq_command(codes.Command.RESIZE_SRQ, 0, 5)
    assert s.message(FIRST, 100).code is ScatterCode.LENGTH_ERROR
    s.report(FIRST, 1)
    s.completes(FIRST)
    assert s.message(FIRST).code is ScatterCode.REFUSED
    assert s.message(SECOND, 1).code is ScatterCode.SCATTER
    assert s.message(SECOND, 1).code is ScatterCode.NOT_READY
    s.report(SECOND, 1, 9)
    s.completes(SECOND)
    s.plain(codes.Command.QUERY_QP, SECOND)
    s.receive(s.buffer(OWN, (8,)))
    s.plain(codes.Command.FLUSH_QP, OWN)
    s.flush(OWN)
    assert s.receive() is Cause.BAD_STATE
    for qp in (OWN, FIRST, SECOND):
        s.plain(codes.Command.DESTROY_QP, qp)
    assert s.reap(0, 4) == 0
    assert s.receive(shared=True) is Cause.OK
    s.srq_command(codes.Command.DESTROY_SRQ, 0)
    s.key_command(codes.Command.QUERY_MR)
    s.key_command(codes.Command.DEREGISTER_MR)
    return s


def troubles_of_receives() -> EngineStream:
    """What is refused, fails, or happens seldom, of receives."""
    s = EngineStream().receivers()
    s.create_srq(1, vector=VECTOR)
    for code, args, result in REFUSED_OF_QUEUES:
        assert s.execute(code, args).result is result
    own, bad = s.keys[0], slots_of([Segment(BASE, 8, 0x7777)])
    assert s.receive(s.buffer(slots=bad)) is Cause.BAD_REGION
    for lengths in ((4, 0, 4), (), (8, 8)):
        assert s.receive(s.buffer(OWN, lengths)) is Cause.OK
    # A region goes while a post waits.
    s.wrote_receive(post := s.buffer())
    s.key_command(codes.Command.DEREGISTER_MR)
    s.tick(1)
    s.respond(cause := s.took(post))
    assert cause is Cause.BAD_REGION
    assert s.register(0) != own
    # The vector of a CQ and a watermark of the same number.
    s.doorbell(0, ArmType.ANY)
    for word, result in ((1, CommandResult.OK), (2, CommandResult.CMD_BUSY)):
        assert s.srq_command(codes.Command.SET_SRQ_WATERMARK, 1, word).result is result
    s.whole(OWN, 5)
    s.call()
    s.raised(1)
    # A message does not fit, the one after it does; the flush waits for both.
    long, next_ = RecvRequest(OWN, 1), RecvRequest(OWN, 16)
    s.receive(s.buffer(OWN, (1,)))
    s.arrives(long)
    s.arrives(next_)
    taken = [s.take(long)]
    s.tick(1)
    taken.append(s.take(next_))
    s.answers(long, taken[0])
    s.answers(next_, taken[1])
    s.set_state(OWN, QpState.IDLE)
    for _ in range(2):
        s.plain(codes.Command.DESTROY_QP)
    for tag, status in ((1, 0), (2, 5)):
        s.report(OWN, tag, status)
        s.completes(OWN)
    s.flush(OWN)
    s.doorbell(0, polled=4)
    s.plain(codes.Command.DESTROY_QP)
    # A queue is destroyed while a post waits, with buffers in it, and used again.
    for _ in range(2):
        s.receive(shared=True)
    s.message(FIRST, 8)
    s.report(FIRST, 0, 2)
    s.tick(40)
    s.completes(FIRST)
    for qp in (FIRST, SECOND):
        s.plain(codes.Command.DESTROY_QP, qp)
    s.wrote_receive(s.buffer(0), True)
    start, words = s.tick(), (0,) * 8
    s.receiving.srqs[0].destroy()
    s.respond(Cause.NO_SRQ)
    s.add(Command(s.tick(), start, codes.Command.DESTROY_SRQ, words, 0, words))
    s.create_srq(0)
    return s


def keys(two: bool = False) -> EngineStream:
    """What works of keys, checks, and device removal; ``two``: a receive has two entries."""
    s = EngineStream().guards(two)
    assert s.check(s.tokens[0]) == codes.Verdict.BAD_KEY
    s.again(OWN)
    assert s.bind() == 0
    token = s.tokens[0]
    s.key_command(codes.Command.QUERY_MW)
    assert s.check(token) == codes.Verdict.GRANTED
    assert s.check(token, OTHER) == codes.Verdict.REFUSED
    assert s.check(token, FIRST) == codes.Verdict.WRONG_QP
    assert s.key_command(codes.Command.DEREGISTER_MR).result is CommandResult.CMD_BUSY
    result = s.message_with(token)
    assert result.code is ScatterCode.SCATTER
    s.report(OWN, result.tag)
    s.completes(OWN)
    s.doorbell(0, polled=2 if two else 1)
    assert s.fast_register() == 0
    s.key_command(codes.Command.QUERY_MR, FAST)
    assert s.check(s.keys[FAST], kind=Access.WRITE) == codes.Verdict.NO_RIGHT
    s.again(OWN)
    assert s.invalidate(s.keys[FAST]) == 0
    assert s.fast_register() == 0
    assert s.read(s.keys[FAST]).status == 0
    assert s.bind(SECOND, 1) == 0
    assert s.invalidate(s.tokens[1], SECOND) == 0
    assert s.message_with(s.tokens[1], SECOND).code is ScatterCode.BAD_TOKEN
    s.report(SECOND, 0, 1)
    s.completes(SECOND)
    assert s.invalidate(token) == 4
    assert s.executes(s.invalidate_post(77, OTHER)) == 0
    s.doorbell(0, polled=0)
    s.again(OWN)
    assert s.bind() == 0
    word = s.plain(codes.Command.QUERY_QP).out[0]
    assert QP_STATE["state"].get(word) == QpState.CONNECTED
    s.plain(codes.Command.DESTROY_QP)
    assert s.key_command(codes.Command.CLOSE_MW).result is CommandResult.OK
    assert s.key_command(codes.Command.DEREGISTER_MR).result is CommandResult.OK
    s.remove()
    s.key_command(codes.Command.CREATE_MW, 3)
    assert s.post(s.make(qp=OWN)) is Cause.DEVICE_REMOVED
    assert s.check(token) == codes.Verdict.REFUSED
    s.flush(OWN)
    s.plain(codes.Command.DESTROY_QP)
    return s


def troubles_of_keys() -> EngineStream:
    """What is refused, fails, or happens seldom, of keys."""
    s = EngineStream().bound()
    token = s.tokens[0]
    for number, code, result in (
        (0, codes.Command.CREATE_MW, CommandResult.CMD_EXISTS),
        (4, codes.Command.CREATE_MW, CommandResult.CMD_BAD_OBJECT),
        (3, codes.Command.CLOSE_MW, CommandResult.CMD_NO_OBJECT),
        (4, codes.Command.QUERY_MW, CommandResult.CMD_BAD_OBJECT),
        (0, codes.Command.ALLOC_MR, CommandResult.CMD_EXISTS),
    ):
        assert s.key_command(code, number).result is result
    for fields in (
        {"address": BASE + LENGTH - 8},
        {"address": 0, "length": 0},
        {"kind": 3},
        {"qp": 9},
        {"reserved": 1 << 160},
    ):
        s.check(token, **fields)
    for fails in ({"address": BASE + LENGTH - 7}, {"address": ALL}, {"kind": Access.WRITE}):
        assert s.check(token, **fails) not in (Verdict.GRANTED, Verdict.REFUSED)
        s.again(OWN)
    # Messages that invalidate nothing: none is there to take one, and it is too long.
    assert s.message(OWN, 1, invalidate=True, token=token).code is ScatterCode.NOT_READY
    assert s.message_with(token, OWN, 1000).code is ScatterCode.LENGTH_ERROR
    assert s.table.is_valid(token)
    s.report(OWN, 0, 1)
    s.completes(OWN)
    s.again(OWN)
    # A local request and a message invalidate the same key: one of them does.
    for peer_first in (True, False):
        s.receive(s.buffer(OWN))
        s.post(s.invalidate_post(token))
        request = RecvRequest(OWN, 1, invalidate=True, token=token)
        s.arrives(request)
        if not peer_first:
            s.work(OWN)
        else:
            s.tick(1)
        s.answers(request, taken := s.take(request))
        if peer_first:
            s.work(OWN)
        s.report(OWN, taken.tag, int(not peer_first))
        s.completes(OWN)
        assert s.retire(OWN).status == (4 if peer_first else 0)
        s.again(OWN)
        assert s.bind() == 0
        token = s.tokens[0]
    # Reads: of a key that is not theirs, and one that was not executed.
    s.fast_register(FIRST, FAST)
    assert s.read(s.keys[FAST], OWN).status == 4
    s.again(OWN)
    assert s.read(s.tokens[0], OWN, status=7).status == 7
    assert s.table.is_valid(s.tokens[0])
    return s


STREAMS: dict[str, Callable[[], Stream]] = {
    "completions": completions,
    "shared events": lambda: Stream().shared_events(),
    "posts": posts,
    "keys": keys,
    "receives": receives,
    "two entries": lambda: keys(two=True),
    "troubles of completions": troubles_of_completions,
    "troubles of posts": troubles_of_posts,
    "troubles of receives": troubles_of_receives,
    "troubles of keys": troubles_of_keys,
}
