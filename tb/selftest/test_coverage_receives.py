# SPDX-License-Identifier: Apache-2.0
"""Every bin of receives can be hit, by what it says, and is not hit by nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from models import codes
from models.codes import ArmType, Cause, QpState, RecvFlag, StateBy
from models.post.post import Segment, slots_of
from models.receive.receive_post import RecvPost
from models.receive.receive_types import RecvRequest
from tb.env.coverage import receive_bins
from tb.env.harness import records as rec
from tb.env.harness.records import RecvRequest as RequestBeat
from tb.selftest.bin_cases import (
    BinCases,
    Cases,
    Records,
    at,
    command_cases,
    count_bins,
    created,
    state,
    take,
)
from tb.selftest.engine_streams import (
    BASE,
    FIRST,
    OWN,
    PARAMS,
    RECEIVE,
    RECV_POST,
    SECOND,
    TAKE,
    EngineStream,
)
from tb.selftest.streams import VECTOR

FULL = (1 << 64) - 1


def posted(shared: bool, cause: int, post: RecvPost | None = None, tail: int = 0) -> Records:
    """A post with any cause, without regard to what is possible."""
    post = post or RecvPost(num_segments=1)
    write = rec.DoorbellRequest(1, 0, 0x80 if shared else 0x40, 0, 6, FULL, post.encode())
    new = tail + (not cause) & 63
    operand = cause | shared << 8
    step = rec.Trace(2, 6, RECV_POST, post.number, False, 0, operand, tail, new)
    return [write, step, rec.DoorbellResponse(3, 0, 2 if cause else 0, cause)]


def small_cases() -> Cases:
    for kind, causes in receive_bins.RECEIVE_CAUSES.items():
        for cause in causes:
            yield f"receive cause/{kind}, {cause.name}", posted(kind == "shared", cause)
        for number in range(4):
            post = RecvPost(num_segments=number)
            yield f"segments/{kind}, {number}", posted(kind == "shared", 0, post)
    for reap in receive_bins.REAP_CAUSES:
        write = rec.DoorbellRequest(1, 0, 0x110, 0, 3, 0xFF << 16, 0)
        yield f"reap cause/{reap.name}", [write, rec.DoorbellResponse(3, 0, 2, reap)]
    yield from command_cases(receive_bins.RECEIVE_COMMAND_BINS)
    for now in QpState:
        records = posted(False, Cause.BAD_STATE)
        if now in (QpState.FREE, QpState.DESTROYING):
            records = posted(False, Cause.NO_QP)
            del records[1]
        yield f"receive post in state/{now.name}", [*at(now), *records]
    for now in receive_bins.CLOSED:
        request = RequestBeat(5, RecvRequest(0).encode())
        yield f"refused/{now.name}", [*at(now), request, rec.ScatterAnswer(6, 0, 3, 0)]
    yield "refused/malformed", [RequestBeat(5, 1 << 20), rec.ScatterAnswer(6, 0, 3, 0)]
    for shared in (False, True):
        for code, name in enumerate(("SCATTER", "NOT_READY", "LENGTH_ERROR", "REFUSED")):
            records = [RequestBeat(5, 0), rec.ScatterAnswer(6, 0, code, 0)]
            kind = "SRQ" if shared else "own"
            yield f"answer/{name}, {kind}", [*created(srq=0 if shared else None), *records]
    for by, reason in zip(StateBy, receive_bins.REASONS, strict=True):
        for count, word in enumerate(receive_bins.COUNTS):
            for shared in (False, True):
                takes = [take(tag, shared) for tag in range(count)]
                records = [*created(srq=0 if shared else None), *at(QpState.CONNECTED), *takes]
                name = f"disconnect/{reason}, {word} in flight, {'SRQ' if shared else 'own'}"
                yield name, [*records, state(2, QpState.ERROR, by)]
    for count, word in enumerate(receive_bins.COUNTS):
        posts = [r for n in range(count) for r in posted(False, 0, tail=n)]
        flush = [*posts, *at(QpState.CONNECTED), state(2, QpState.ERROR)]
        yield f"flush/{word} available", flush
    done = rec.RecvDone(5, 0)
    yield "receive report/malformed", [rec.RecvDone(5, 1 << 40)]
    yield "receive report/nothing in flight", [done]
    yield "receive report/out of order", [take(0), rec.RecvDone(5, 1 << 16)]
    yield "receive report/success", [take(0), done]
    yield "receive report/canceled", [take(0), rec.RecvDone(5, 1 << 32)]
    yield "receive report/failed", [take(0), rec.RecvDone(5, 5 << 32)]
    yield "receive report/behind the connection", [take(0), done]
    yield "receive report/fully received behind the connection", [take(0), done]
    two: Records = [take(0), take(0, qp=1), rec.RecvDone(5, 1)]
    yield "receive report/two QPs in another order", two
    yield "receive index/tag wraps", [take(63)]
    yield "receive index/SRQ tail wraps", posted(True, 0, tail=63)
    size = rec.Trace(1, 6, 0x5A, 0, False, 0, 1, 0, 3)
    yield "receive index/tag goes on after re-creation", [size, size]
    yield "srq/post while nobody uses it", posted(True, 0)
    own_post = posted(False, 0)[:2]
    same = rec.Trace(2, 5, TAKE, 0, False, 0, 0, 0, 1)
    yield "same cycle/post and take, own", [own_post[0], same, own_post[1]]
    empty = same._replace(operand=0x11)
    shared_post = posted(True, 0)[:2]
    yield "same cycle/post and take, SRQ", [shared_post[0], empty, shared_post[1]]
    yield "same cycle/post and take, empty SRQ", [shared_post[0], empty, shared_post[1]]
    full = posted(True, Cause.QUEUE_FULL)[:2]
    yield "same cycle/post and take, full SRQ", [full[0], same._replace(operand=0x10), full[1]]
    reaps = rec.Trace(2, 6, 0x59, 0, False, 0, 1, 4, 4 | 1 << 16)
    yield "same cycle/reap and take", [same._replace(operand=0x10), reaps]
    ends = rec.Trace(2, 7, RECEIVE, 0, False, 0, 0, 0, 1)
    yield "same cycle/take and completion of one QP", [take(0), same._replace(old=1, new=2), ends]
    yield (
        "same cycle/take and change of state",
        [*at(QpState.CONNECTED), same, state(2, 5, cycle=2)],
    )
    yield "receive/behind a failed one", [take(0), take(1), ends._replace(operand=5), ends]
    yield "receive/context 0", [take(0), ends]
    yield "receive/context twice", [*posted(False, 0), *posted(False, 0)]
    for flag in RecvFlag:
        for solicited in (True, False):
            for arm in receive_bins.ARMS:
                word = "solicited" if solicited else "plain"
                yield f"flag/{flag.name}, {word}, {arm} armed", flagged(flag, solicited, arm)
    failed = flagged(RecvFlag.SOLICITED_WAIT, True, "not")
    yield "flag/failed receive under SOLICITED_WAIT", [*failed[:-1], ends._replace(operand=5)]
    quiet = rec.Trace(1, 1, 1, 0, False, 0, 0x11, 1, 1 | 1 << 16)
    yield "unsignalled/not armed", [quiet]
    yield "unsignalled/armed ANY", [quiet._replace(old=1 | 16 | 1 << 5)]
    yield "unsignalled/armed SOLICITED", [quiet._replace(old=1 | 16 | 2 << 5)]
    yield "unsignalled/beside one that signals", [quiet._replace(operand=0x22)]
    none = rec.Trace(2, 5, TAKE, 0, False, 0, 1, 0, 0)
    yield "not ready/empty, own", [none]
    yield "not ready/empty, SRQ", [none._replace(operand=0x11)]
    busy = 3 | 1 << 16 | 5 << 32 | 1 << 48
    yield "not ready/in flight, own", [none._replace(new=busy)]
    yield "not ready/in flight, SRQ", [none._replace(operand=0x11, new=busy)]
    idle = none._replace(operand=0x11, new=5 << 32)
    yield "not ready/no credit", [idle]
    yield "not ready/CQ in error", [rec.Trace(1, 1, 2, 0, False, 0, 6, 1, 1 | 2 << 2), idle]
    yield "not ready/the next message takes", [none, take(0)]
    pending = [*at(QpState.DISCONNECT_PENDING), RequestBeat(5, 0)]
    yield "message/in DISCONNECT_PENDING", pending
    yield "message/invalidate", [RequestBeat(5, 1 << 17)]


def flagged(flag: int, solicited: bool, arm: str) -> Records:
    """A successful receive under a flag, while its CQ is armed."""
    armed = {"ANY": 16 | 1 << 5, "SOLICITED": 16 | 2 << 5, "not": 0}[arm]
    return [
        *created(flag=flag),
        rec.Trace(1, 2, 0x10, 0, False, 0, 0, 1, 1 | armed),
        take(0),
        RequestBeat(3, solicited << 16),
        rec.ScatterAnswer(4, 0, 0, 0),
        rec.Trace(5, 7, RECEIVE, 0, False, 0, 0, 0, 1),
    ]


# -- streams of a right engine -------------------------------------------------------------------


def filled(lengths: tuple[int, ...], length: int, then: int | None = None) -> Records:
    stream = EngineStream().receivers()
    stream.receive(stream.buffer(OWN, lengths))
    result = stream.message(OWN, length)
    if then is not None:
        stream.report(OWN, result.tag, then)
    return stream.records


def behind_length_error() -> Records:
    stream = EngineStream().receivers()
    for _ in range(2):
        stream.receive(stream.buffer(OWN, (1,)))
    first, second = RecvRequest(OWN, 2), RecvRequest(OWN, 1)
    stream.arrives(first)
    stream.arrives(second)
    result = stream.take(first)
    stream.tick(1)
    stream.add(rec.ScatterAnswer(stream.cycle, OWN, result.tuser, result.tdata))
    then = stream.take(second)
    stream.answers(second, then)
    return stream.records


def keyed(how: str) -> Records:
    stream = EngineStream().receivers()
    old = stream.keys[0]
    stream.receive(stream.buffer(OWN))
    if how == "unknown":
        stream.receive(bad_key(stream, 0x7777))
    elif how == "empty":
        stream.receive(bad_key(stream, 0x7777, 0))
    elif how == "second":
        stream.receive(stream.buffer(OWN, (1, 1), slots=slots_of(
            [Segment(BASE, 1, old), Segment(BASE, 1, 0x7777)])))  # fmt: skip
    else:
        stream.key_command(codes.Command.DEREGISTER_MR)
        if how == "again":
            stream.register(0)
        if how == "taken":
            stream.message(OWN)
        else:
            stream.receive(bad_key(stream, old))
    return stream.records


def bad_key(stream: EngineStream, key: int, length: int = 8) -> RecvPost:
    return stream.buffer(OWN, (length,), slots=slots_of([Segment(BASE, length, key)]))


def watermark(how: str) -> Records:
    stream = EngineStream().receivers()
    for _ in range(4):
        stream.receive(shared=True)
    threshold = {"leaves": 3, "late": 3}.get(how, 4)
    set_ = codes.Command.SET_SRQ_WATERMARK
    if how == "at once":
        stream.message(FIRST)
    if how in ("zero", "armed zero"):
        if how == "armed zero":
            stream.srq_command(set_, 0, 4)
        stream.srq_command(set_, 0, 0)
        return stream.records
    stream.srq_command(set_, 0, threshold)
    if how == "changed":
        stream.srq_command(set_, 0, 3)
    if how in ("leaves", "take", "again"):
        stream.message(FIRST)
    if how == "again":
        stream.raised()
        stream.srq_command(set_, 0, 2)
    return stream.records


def vectors() -> Records:
    stream = EngineStream().receivers()
    stream.create_srq(1, vector=VECTOR)
    stream.srq_command(codes.Command.SET_SRQ_WATERMARK, 1, 1)
    stream.srq_command(codes.Command.SET_SRQ_WATERMARK, 0, 1)
    stream.raised(1)
    return stream.records


def turns(cqs: int = 2) -> Records:
    stream = EngineStream().receivers(cqs)
    for _ in range(2):
        stream.receive(shared=True)
    stream.message(FIRST)
    stream.message(SECOND)
    return stream.records


def sized(size: int, posts: int = 0, flight: bool = False) -> Records:
    stream = EngineStream().receivers()
    for _ in range(posts):
        stream.receive(shared=True)
    if flight:
        stream.message(FIRST)
    stream.srq_command(codes.Command.RESIZE_SRQ, 0, size)
    return stream.records


def reaped(by: int, size: int = 8) -> Records:
    stream = EngineStream().receivers(size=size)
    for _ in range(2):
        stream.receive(shared=True)
    for _ in range(2):
        stream.whole(FIRST)
    stream.reap(0, by)
    return stream.records


def destroyed(again: bool) -> Records:
    stream = EngineStream()
    stream.register()
    stream.create_srq()
    stream.receive(shared=True)
    stream.srq_command(codes.Command.DESTROY_SRQ)
    if again:
        stream.create_srq()
    return stream.records


def waiting_flush() -> Records:
    stream = EngineStream().receivers()
    for _ in range(2):
        stream.receive()
    stream.message(OWN)
    stream.plain(codes.Command.FLUSH_QP)
    return stream.records


STREAMS: dict[str, Callable[[], Records]] = {
    "mr/key of an earlier registration": lambda: keyed("again"),
    "mr/key of a region that is gone": lambda: keyed("gone"),
    "mr/key that nobody was given": lambda: keyed("unknown"),
    "mr/segment without bytes is not checked": lambda: keyed("empty"),
    "mr/second segment fails": lambda: keyed("second"),
    "mr/buffer outlives its region": lambda: keyed("taken"),
    "scatter/empty message": lambda: filled((4, 4, 4), 0),
    "scatter/buffer without segments": lambda: filled((), 0),
    **{f"scatter/ends with segment {n}": partial(filled, (4,) * 3, 4 * n) for n in (1, 2, 3)},
    **{f"scatter/partial in segment {n}": partial(filled, (4,) * 3, 4 * n - 1) for n in (1, 2, 3)},
    "scatter/zero-length segment in the middle": lambda: filled((4, 0, 4), 5),
    "scatter/fills the buffer": lambda: filled((4,), 4),
    "scatter/one byte too many": lambda: filled((4, 4), 9),
    "scatter/does not fit into a buffer without segments": lambda: filled((), 1),
    "receive report/of a length error, success": lambda: filled((4, 4), 9, 0),
    "receive report/of a length error, other": lambda: filled((4, 4), 9, 3),
    "message/behind a length error": behind_length_error,
    "watermark/on a take": lambda: watermark("take"),
    "watermark/at once": lambda: watermark("at once"),
    "watermark/T = 0": lambda: watermark("zero"),
    "watermark/T = 0 while armed": lambda: watermark("armed zero"),
    "watermark/again": lambda: watermark("again"),
    "watermark/changed while armed": lambda: watermark("changed"),
    "watermark/take that leaves T": lambda: watermark("leaves"),
    "watermark/vector of an EQ": vectors,
    "watermark/of two SRQs at once": vectors,
    "srq/taken by another QP": turns,
    "srq/taken by a QP with another CQ": turns,
    "srq/destroyed with buffers": lambda: destroyed(False),
    "srq/created again": lambda: destroyed(True),
    "srq resize/up": lambda: sized(8),
    "srq resize/down": lambda: sized(2),
    "srq resize/to what is outstanding": lambda: sized(2, 2),
    "srq resize/with buffers in flight": lambda: sized(8, 2, True),
    "reap/nothing": lambda: reaped(0),
    "reap/one": lambda: reaped(1),
    "reap/several": lambda: reaped(2),
    "reap/makes room in a full SRQ": lambda: reaped(1, 2),
    "flush/waits for a report": waiting_flush,
}


def cases() -> dict[str, Records]:
    found = dict(small_cases())
    return found | {name: ordered(make()) for name, make in STREAMS.items()}


def ordered(records: Records) -> Records:
    """A stream as the lanes of the trace give it: by cycle, receives first."""
    return sorted(records, key=lambda r: (r.cycle, not (type(r) is rec.Trace and r.lane >= 5)))


CASES = cases()
#: Right streams in which a group's own event is missing; of the others one receive is enough.
QUIET: dict[str, Callable[[], Records]] = {
    "scatter": lambda: EngineStream().receivers().records,
    "watermark": lambda: watermark("late"),
    "srq resize": lambda: sized(4),
    "reap": lambda: sized(4, 1),
    "flag": lambda: filled((4,), 4, 0),
}
OTHERS = (
    *("mr", "srq", "unsignalled", "not ready", "refused", "same cycle", "receive report"),
    *("disconnect", "flush", "receive index", "message", "receive", "reap cause"),
)


class TestReceiveBins(BinCases):
    params = PARAMS
    cases = CASES
    bins = receive_bins.RECEIVE_BINS
    channels = receive_bins.RECEIVE_CHANNELS
    stallable = "RECEIVE_STALLABLE"
    apart = (
        *("receive cause", "reap cause", "segments", "answer", "refused", "flag", "disconnect"),
        *("flush", "not ready", "srq resize", "mr", "unsignalled"),
        *("receive post in state", "command"),
    )


def test_bins_are_not_hit() -> None:
    quiet = {**dict.fromkeys(OTHERS, lambda: filled((4,), 4)), **QUIET}
    for group, make in quiet.items():
        hits = count_bins(ordered(make()), PARAMS)
        assert [name for name in hits if name.startswith(f"{group}/")] == []


def test_armed_for_errors_is_no_flag_case() -> None:
    records = flagged(RecvFlag.DEFAULT, True, "not")
    armed = records[1]
    assert isinstance(armed, rec.Trace)
    records[1] = armed._replace(new=1 | 16 | ArmType.ERRORS << 5)
    assert not [name for name in count_bins(records, PARAMS) if name.startswith("flag/")]
