# SPDX-License-Identifier: Apache-2.0
"""Every bin of posting can be hit, by what it says."""

from __future__ import annotations

import random
from collections.abc import Callable

from models import codes
from models.codes import ALLOW_REMOTE_WRITE, Cause, QpState, Status, TraceOp
from models.post.post import Post
from models.verb import VERB_CAUSES, Limits
from models.verbs import VERBS
from tb.env.coverage import post_bins
from tb.env.harness.records import (
    Command,
    ConnReport,
    DoneReport,
    DoorbellRequest,
    DoorbellResponse,
    TermRequest,
    Trace,
    WorkBeat,
)
from tb.selftest.bin_cases import BinCases, Cases, Records, at, command_cases, state
from tb.selftest.engine_streams import EngineStream
from tb.selftest.work_streams import BIND, DEFER, FENCE, PARAMS, READ, SEND, SILENT

FULL = (1 << 64) - 1


def posted(post: Post, cause: int, offset: int = 0) -> Records:
    """A post with any cause, without regard to what is possible."""
    request = DoorbellRequest(1, 0, offset, 0, 6, FULL, post.encode())
    operand = cause | post.opcode << 8 | post.flags << 16
    state = QpState.CONNECTED
    new = state | (1 << 16 | 1 << 32 if not cause else 0)
    step = Trace(2, 3, TraceOp.POST, post.qp, False, 0, operand, state, new)
    return [request, step, DoorbellResponse(3, 0, 2 if cause else 0, cause)]


def retired(post: Post, status: int, more: int = 0) -> Records:
    silent = post.flags & SILENT and not status
    operand = status | silent << 8 | more
    return [*posted(post, 0), Trace(4, 4, TraceOp.RETIRE, post.qp, False, 0, operand, 0, 1)]


def verb_cases() -> Cases:
    """Bins that come from models/verbs."""
    rng = random.Random(1)
    for verb in VERBS.values():
        for _ in range(400):
            need = rng.choice((0, DEFER, SILENT, int(ALLOW_REMOTE_WRITE)))
            post = verb.fields(rng, Limits(need=need))
            for name in verb.bins(post):
                yield f"verb/{name}", posted(post, 0)
            for cause in VERB_CAUSES:
                for name in verb.bins(post, cause):
                    yield f"verb/{name}", posted(post, cause)
            for status in (0, 1) if verb.local else (0, 1, 2):
                for name in verb.bins(post, status=status):
                    yield f"verb/{name}", retired(post, status)


def outcome_cases() -> Cases:
    for verb in VERBS.values():
        for flags, word in ((0, "plain"), (int(DEFER), "DEFER")):
            post = Post(verb.opcode, flags=flags)
            name = f"outcome/{verb.name}, {word}"
            yield f"{name}, refused", posted(post, Cause.QUEUE_FULL)
            yield f"{name}, success", retired(post, Status.SUCCESS)
            yield f"{name}, canceled", retired(post, Status.CANCELED)
            if not verb.local:
                yield f"{name}, failed", retired(post, 9)


def small_cases() -> Cases:
    """Answers, commands, states."""
    post = Post(SEND)
    for cause in post_bins.CAUSES:
        yield f"post cause/{cause.name}", posted(post, cause)
    yield "portal/receive", posted(post, Cause.BAD_OFFSET, 0x40)
    yield "portal/shared receive", posted(post, Cause.BAD_OFFSET, 0x80)
    yield from command_cases(post_bins.QP_COMMAND_BINS)
    for now in QpState:
        records = [*at(now), *posted(post, Cause.NOT_CONNECTED)]
        if now in (QpState.FREE, QpState.DESTROYING):
            records = [*at(now), *posted(post, Cause.NO_QP)]
            del records[-2]
        else:
            yield f"transition/{now.name} to gone", [*at(now), state(now, 0)]
        yield f"post in state/{now.name}", records
    for name, reasons in post_bins.TRANSITIONS.items():
        old, new = (QpState[word] for word in name.split(" to "))
        for reason in reasons:
            by = {"command": 0, "event": 1, "report": 2}[reason]
            yield f"transition/{name} by {reason}", [*at(old), state(old, new, by)]
    gone = QpState.DESTROYING
    yield "transition/DESTROYING to FREE", [*at(gone), state(gone, 0)]
    tail = 3 << 16 | 3 << 32
    waits = state(5 | tail, gone | tail)
    yield "transition/waits for its last requests", [*at(QpState.ERROR), waits]
    lives = [state(tail, 1 | tail), state(1 | tail, tail), state(0, 1)]
    yield "index/goes on after re-creation", list(lives)
    yield "event/malformed", [ConnReport(1, 7 << 16)]
    yield "event/no QP", [ConnReport(1, 1 << 16)]
    yield "event/disconnects", [*at(QpState.CONNECTED), ConnReport(1, 1 << 16)]
    yield "event/ignored", [*at(QpState.IDLE), ConnReport(1, 1 << 16)]
    yield "terminate/ERROR", [TermRequest(1, 5 << 16)]
    yield "terminate/DISCONNECTED", [TermRequest(1, 4 << 16)]
    yield "report/malformed", [DoneReport(1, 1 << 40)]
    yield "report/nothing outstanding", [*at(QpState.CONNECTED), DoneReport(1, 0)]
    yield "report/of a QP that does not exist", [DoneReport(1, 0)]

    def beat(qp: int = 0, tag: int = 0, last: bool = True, flags: int = 0) -> WorkBeat:
        return WorkBeat(1, qp, last, tag, Post(SEND, flags=flags, qp=qp).encode())

    open_ = [*at(QpState.CONNECTED)]
    yield "report/success", [*open_, beat(), DoneReport(2, 0)]
    yield "report/failure", [*open_, beat(), DoneReport(2, 3 << 32)]
    yield (
        "report/second failure",
        [*open_, beat(), beat(tag=1), DoneReport(2, 3 << 32), DoneReport(2, 3 << 32 | 1 << 16)],
    )
    yield "report/behind the connection", [beat(), DoneReport(2, 0)]
    yield "report/out of order", [*open_, beat(), DoneReport(2, 1 << 16)]
    yield "order/reports of two QPs in another order", [beat(), beat(1), DoneReport(2, 1)]
    yield "index/tag wraps", [beat(tag=63), beat(tag=0)]
    yield "late/beat behind the end of its connection", [beat()]
    yield "burst/longer, nobody else waits", [beat(), beat(), beat()]
    yield "burst/ends in a batch", [beat(last=False), beat(last=False), beat(1)]
    yield ("burst/batches of two QPs interleave", [beat(last=False), beat(1, last=False), beat()])
    local = Trace(4, 4, TraceOp.RETIRE, 0, False, 0, 0, 0, 1)
    step = posted(post, 0)[1]
    assert isinstance(step, Trace)
    same = [posted(post, 0)[0], step, local._replace(cycle=step.cycle)]
    yield "same cycle/post and retirement of one QP", same
    yield (
        "same cycle/posting and retirement of two QPs",
        [*same[:2], local._replace(cycle=step.cycle, cq=1)],
    )
    bad = Trace(1, 1, 2, 0, False, 0, 6, 1, 1 | 2 << 2)
    yield "retire/CQ in error", [bad, *retired(post, 0)]
    yield "retire/skipped", retired(post, 1, 1 << 9)
    yield "retire/failed", retired(post, 2)
    yield "retire/canceled", retired(post, 1)
    yield "retire/canceled, local", retired(Post(BIND), 1)
    yield "retire/reported", retired(post, 0)
    yield "retire/local", retired(Post(BIND), 0)
    yield "retire/silent success", retired(Post(SEND, flags=SILENT), 0)
    yield "retire/silent, not successful", retired(Post(SEND, flags=SILENT), 1)


def held(count: int, *then: Post, **options: int) -> Records:
    """Some held requests, and posts behind them; all on a QP that is connected."""
    stream = EngineStream().connected(**options)
    for post in (*[stream.make(flags=DEFER)] * count, *then):
        stream.post(post)
    return stream.records


def modified(word: int) -> Records:
    args = (0, 0, 0, 0, 0, word, 0, 0)
    return [*held(1), Command(9999, 9990, codes.Command.MODIFY_QP, args, 0, (0,) * 8)]


def ended(by_age: bool) -> Records:
    """A held request that is released by its age, or canceled with its connection."""
    stream = EngineStream().connected(age=by_age)
    stream.post(stream.make(flags=DEFER))
    stream.tick(20)
    stream.age() if by_age else stream.plain(codes.Command.FLUSH_QP)
    return stream.records


def fenced(opcode: int, read: bool = True, other: bool = False) -> Records:
    stream = EngineStream().connected(2, 2)
    if read:
        stream.post(stream.make(READ))
        stream.work()
    stream.post(stream.make(opcode, FENCE))
    if other:
        stream.post(stream.make(qp=1))
        stream.work(1)
    return stream.records


def wrapped() -> Records:
    stream = EngineStream().connected()
    for _ in range(65):
        stream.post(stream.make(BIND, SILENT))
        stream.run()
    return stream.records


PLAIN, BAD = Post(SEND, num_segments=1), Post(99)
STREAMS: dict[str, Callable[[], Records]] = {
    "chain/1": lambda: held(0, PLAIN),
    "chain/2": lambda: held(1, PLAIN),
    "chain/3": lambda: held(2, PLAIN),
    "chain/4 or more": lambda: held(3, PLAIN),
    "chain/failure with 0 held": lambda: held(0, BAD),
    "chain/failure with 1 held": lambda: held(1, BAD),
    "chain/failure with 2 held": lambda: held(2, BAD),
    "chain/failure with 3 or more held": lambda: held(3, BAD),
    "release/post without DEFER": lambda: held(0, PLAIN),
    "release/inline failure": lambda: held(1, BAD),
    "release/failure of a post with DEFER": lambda: held(1, Post(99, flags=DEFER)),
    "release/queue full of held requests": lambda: held(2, PLAIN, depth=2),
    "release/watermark": lambda: held(2, watermark=2),
    "release/age": lambda: ended(True),
    "held/canceled by the end of the connection": lambda: ended(False),
    "held/watermark changed": lambda: modified(3),
    "held/age limit changed": lambda: modified(3 << 16),
    "batch/1": lambda: held(0, PLAIN),
    "batch/2": lambda: held(1, PLAIN),
    "batch/3 or more": lambda: held(2, PLAIN),
    "batch/more than a burst": lambda: held(2, PLAIN),
    "batch/behind another one": lambda: held(0, PLAIN, PLAIN),
    "fence/waits": lambda: fenced(SEND),
    "fence/nothing to wait for": lambda: fenced(SEND, read=False),
    "fence/local request waits": lambda: fenced(BIND),
    "fence/another QP goes on": lambda: fenced(SEND, other=True),
    "index/post index wraps": wrapped,
}


def cases() -> dict[str, Records]:
    found: dict[str, Records] = {}
    for name, records in (*verb_cases(), *outcome_cases(), *small_cases()):
        found.setdefault(name, records)
    return found | {name: make() for name, make in STREAMS.items()}


class TestPostBins(BinCases):
    params = PARAMS
    cases = cases()
    bins = post_bins.POST_BINS
    channels = post_bins.TRANSPORT_CHANNELS
    stallable = "TRANSPORT_STALLABLE"
    apart = ("chain", "transition", "post cause", "post in state", "retire")
