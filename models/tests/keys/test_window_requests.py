# SPDX-License-Identifier: Apache-2.0
"""Bind, FastRegister, Invalidate and Read among the other requests of a queue pair."""

from __future__ import annotations

import pytest

from models.codes import By, Cause, ModelError, PostFlag, QpState, ResultType, StateBy, TraceOp
from models.keys.window import WindowModel
from models.keys.window_types import CheckRequest
from models.post.post import Post, Segment, slots_of
from models.receive.receive import ReceiveModel
from models.receive.receive_post import RecvPost
from models.tests.keys.window_helpers import (
    BASE,
    CONTEXT,
    FAST,
    NEXT,
    READ,
    REGION,
    SECOND,
    WINDOW,
    WRITE,
    A,
    B,
    bind_post,
    bound,
    connect,
    engine,
    local,
    run,
    settle,
    verdict,
)
from models.tests.post.posting_helpers import connected, request
from models.verbs import BY_NAME

CANCELED, INVALID, ALREADY = 1, 4, 5
LOCAL = PostFlag.RDMA_READ_LOCAL_INVALIDATE
SILENT = PostFlag.SILENT_SUCCESS


def read(key: int, flags: int = LOCAL, segments: int = 1) -> Post:
    """A Read into memory of a key; the second segment has another one."""
    where = [Segment(BASE, 4, key), Segment(BASE, 4, REGION)][:segments]
    return Post(BY_NAME["Read"].opcode, segments, int(flags), slots=slots_of(where, Segment()))


# -- at indication -------------------------------------------------------------------------------


def test_nothing_before_the_indication() -> None:
    """A post changes no key; its indication does; its retirement does not again."""
    model = engine()
    q = model.posting.qps[A]
    q.post(bind_post())
    assert verdict(model, A, WINDOW + NEXT) != 0
    beat = model.posting.indicate(A)
    assert (beat.local, beat.tag) == (True, 0)
    assert beat.step is not None
    assert (beat.step.op, beat.step.new_key, beat.step.qp) == (0x70, WINDOW + NEXT, A)
    assert verdict(model, A, WINDOW + NEXT) == 0
    done = model.posting.retire(A)
    assert (done.status, done.cqe.type, done.cqe.token, done.cqe.nbytes) == (0, 8, 0, 0)
    assert (done.step, done.cqe.flags) == (None, 0)
    assert verdict(model, A, WINDOW + NEXT) == 0


def test_in_post_order() -> None:
    """DF-12: Bind, Invalidate and Bind again, one after the other and after a Send."""
    model = engine()
    posts = [
        bind_post(),
        local("Invalidate", WINDOW + NEXT),
        request("Send"),
        bind_post(WINDOW + NEXT),
    ]
    assert run(model, A, *posts) == [0] * 4
    assert verdict(model, A, WINDOW + 2 * NEXT) == 0


def test_a_fence_holds_a_local_request() -> None:
    model = engine()
    key = bound(model)
    q = model.posting.qps[A]
    q.post(read(REGION, 0))
    q.post(local("Invalidate", key, flags=PostFlag.READ_FENCE))
    tag = model.posting.indicate(A).tag
    with pytest.raises(ModelError):
        model.posting.indicate(A)
    assert verdict(model, A, key) == 0
    q.report(tag, 0)
    model.posting.retire(A)
    model.posting.indicate(A)
    assert verdict(model, A, key) != 0


@pytest.mark.parametrize("flags", [0, SILENT])
@pytest.mark.parametrize(
    ("post", "kind", "status"),
    [
        (bind_post(WINDOW + NEXT), ResultType.BIND, INVALID),
        (bind_post(length=0), ResultType.BIND, 6),
        (local("FastRegister", FAST), ResultType.FAST_REGISTER, 6),
        (local("Invalidate", WINDOW), ResultType.INVALIDATE, INVALID),
    ],
)
def test_a_failure_completes_and_ends(post: Post, kind: int, status: int, flags: int) -> None:
    """CQ-05, DF-15: accepted inline, completed with the status, the rest CANCELED."""
    model = engine()
    q = model.posting.qps[A]
    failing = Post(post.opcode, post.num_segments, flags | post.flags, slots=post.slots)
    for each in (request("Send"), failing, request("Send"), bind_post()):
        assert q.post(each).cause == 0
    tag = model.posting.indicate(A).tag
    beat = model.posting.indicate(A)
    assert beat.step is not None
    assert beat.step.code == status
    step = q.fail()
    assert step is not None
    assert (step.old, step.new, step.by, step.term) == (2, 5, StateBy.REPORT, True)
    assert q.next_indication() is None
    q.report(tag, 0)
    ends = [model.posting.retire(A) for _ in range(4)]
    assert [e.status for e in ends] == [0, status, CANCELED, CANCELED]
    assert [e.skipped for e in ends] == [False, False, True, True]
    assert not any(e.silent for e in ends)
    assert (ends[1].cqe.type, ends[1].cqe.status, ends[1].cqe.nbytes) == (kind, status, 0)
    assert model.table.windows[0] is not None
    assert not model.table.windows[0].valid  # the skipped Bind changed nothing
    assert q.post(bind_post()).cause == 0x13


@pytest.mark.parametrize("name", ["Send", "Invalidate"])
def test_nothing_after_a_failure(name: str) -> None:
    """DF-15a: the queue pair has left CONNECTED before its next indication; others go on."""
    model = engine()
    for qp in (A, B):
        for post in (local("Invalidate", 0), local(name)):
            model.posting.qps[qp].post(post)
    model.posting.indicate(A)
    q = model.posting.qps[A]
    assert (q.state, q.next_indication()) == (QpState.CONNECTED, None)
    for late in (False, True):
        with pytest.raises(ModelError, match="DF-15a"):
            q.indicate(late)
    assert model.posting.indicate(B).step is not None
    q.flush()  # another end of the connection comes first
    assert q.late is None
    assert q.fail() is None
    assert [model.posting.retire(A).status for _ in range(2)] == [INVALID, CANCELED]
    q.set_state(QpState.IDLE)
    connect(model, A)
    q.post(bind_post())
    assert q.next_indication() is not None


def test_other_failures_let_the_next_one_go() -> None:
    """A failing check or Read ends the connection, too; what goes before the step is good."""
    model = engine()
    q = model.posting.qps[A]
    for post in (read(0), bind_post(), request("Send")):
        q.post(post)
    q.report(model.posting.indicate(A).tag, 0)
    assert model.posting.retire(A).status == INVALID
    step = model.posting.indicate(A).step
    assert step is not None
    assert step.okay
    assert model.check_beat(CheckRequest(A, 1, length=1).encode()).code == 1
    assert not model.posting.indicate(A).local


def test_a_silent_success_gives_no_entry() -> None:
    model = engine()
    q = model.posting.qps[A]
    q.post(bind_post(flags=READ | SILENT))
    model.posting.indicate(A)
    assert model.posting.retire(A).silent


def test_a_request_that_was_executed_can_be_canceled() -> None:
    """An earlier failure cancels the completion; the keys have changed all the same."""
    model = engine()
    q = model.posting.qps[A]
    q.post(request("Send"))
    q.post(bind_post())
    tag = model.posting.indicate(A).tag
    model.posting.indicate(A)
    q.report(tag, 9)
    assert [model.posting.retire(A).status for _ in range(2)] == [9, CANCELED]
    assert model.table.is_valid(WINDOW + NEXT)


def test_offered_before_the_end() -> None:
    """A local request whose beat was offered when the connection was left is executed."""
    model = engine()
    q = model.posting.qps[A]
    q.post(bind_post())
    q.flush()
    beat = model.posting.indicate(A, late=True)
    assert beat.step is not None
    assert beat.step.okay
    assert [model.posting.retire(A).status] == [0]
    assert q.ending is None
    model = engine()
    q = model.posting.qps[A]
    q.post(local("Invalidate", 0))
    q.flush()
    model.posting.indicate(A, late=True)
    assert q.fail() is None  # it is over already
    assert model.posting.retire(A).status == INVALID


def test_without_a_key_table_local_requests_succeed() -> None:
    q = connected()
    q.post(bind_post(0xDEAD_BEEF))
    beat = q.indicate()
    assert (beat.local, beat.step) == (True, None)
    assert q.retire().status == 0
    with pytest.raises(ModelError):
        WindowModel(ReceiveModel())


# -- queue pairs that are not guarded ------------------------------------------------------------


@pytest.mark.parametrize(
    "post",
    [
        bind_post(),
        bind_post(0xDEAD_BEEF, length=0),
        local("FastRegister", FAST, Segment(BASE, 1)),
        local("FastRegister", 0),
        local("Invalidate", 0),
        local("Invalidate", WINDOW + NEXT),
        read(WINDOW + NEXT),
        read(0),
    ],
)
def test_not_guarded(post: Post) -> None:
    """Good or bad, a request succeeds and changes no key; no step, no failure."""
    model = engine(guarded=False)
    key = bound(model, B)
    assert key == WINDOW + NEXT
    q, keys = model.posting.qps[A], model.table
    before = list(keys.windows), list(keys.regions)
    q.post(post)
    beat = model.posting.indicate(A)
    if not beat.local:
        q.report(beat.tag, 0)
    done = model.posting.retire(A)
    assert (beat.step, done.step, done.status) == (None, None, 0)
    assert (keys.windows, keys.regions, keys.invalidated) == (*before, 0)
    assert q.ending is None
    with pytest.raises(ModelError):
        q.give(keys.invalidate(A, 0))


# -- steps that the caller makes -------------------------------------------------------------------


def test_given_steps() -> None:
    """A bench makes each step where the trace has it, and gives it to the request."""
    model = engine()
    q, keys = model.posting.qps[A], model.table
    for post in (request("Send"), bind_post(), read(WINDOW + NEXT)):
        q.post(post)
    q.give(keys.bind(A, 5, WINDOW, Segment(BASE, 0x1000, REGION), 2))
    assert q.report(model.posting.indicate(A).tag, 0)[1] is None  # the Send takes no step
    assert model.posting.indicate(A).step is not None
    q.report(model.posting.indicate(A).tag, 0)
    for _ in range(2):
        assert model.posting.retire(A).step is None
    q.give(keys.invalidate(A, WINDOW + NEXT, By.READ))
    with pytest.raises(ModelError):
        q.give(keys.invalidate(A, 0))
    done = model.posting.retire(A)
    assert (done.status, done.cqe.nbytes) == (0, 4)
    assert done.step is not None
    assert done.step.operand == 1 << 9


def test_a_step_that_does_not_fit() -> None:
    for post in (bind_post(SECOND), local("Invalidate", WINDOW)):
        model = engine()
        q, keys = model.posting.qps[A], model.table
        q.post(post)
        q.give(keys.bind(B if post.opcode == 3 else A, 5, WINDOW, None, 0))
        with pytest.raises(ModelError):
            model.posting.indicate(A)


# -- Read with local invalidate -------------------------------------------------------------------


def test_a_read_invalidates_when_it_retires() -> None:
    model = engine()
    key = bound(model)
    q = model.posting.qps[A]
    q.post(read(key, segments=2))
    tag = model.posting.indicate(A).tag
    assert verdict(model, A, key) == 0
    q.report(tag, 0)
    assert verdict(model, A, key) == 0
    done = model.posting.retire(A)
    assert (done.status, done.cqe.type, done.cqe.nbytes, done.cqe.token) == (0, 0x20, 8, 0)
    assert done.step is not None
    assert (done.step.op, done.step.operand) == (TraceOp.INVALIDATE, 1 << 9)
    assert (done.step.before.valid, done.step.after.valid) == (True, False)
    assert verdict(model, A, key) != 0


@pytest.mark.parametrize(
    ("key", "segments", "flags", "status", "valid"),
    [
        (WINDOW + NEXT, 1, 0, 0, True),  # without the flag
        (WINDOW + NEXT, 1, LOCAL | SILENT, 0, False),
        (SECOND, 1, LOCAL, INVALID, True),
        (SECOND, 1, LOCAL | SILENT, INVALID, True),
        (REGION, 1, LOCAL, INVALID, True),  # not by FastRegister
        (WINDOW + NEXT, 0, LOCAL, INVALID, True),  # there is no first segment
    ],
)
def test_reads(key: int, segments: int, flags: int, status: int, valid: bool) -> None:
    model = engine()
    mine = bound(model)
    q = model.posting.qps[A]
    q.post(read(key, flags, segments))
    q.post(request("Send"))
    tags = [model.posting.indicate(A).tag for _ in range(2)]
    for tag in tags:
        q.report(tag, 0)
    ends = [model.posting.retire(A) for _ in range(2)]
    assert [e.status for e in ends] == [status, CANCELED if status else 0]
    assert ends[0].silent is (status == 0 and bool(flags & SILENT))
    assert ends[0].cqe.nbytes == (0 if status else 4 * segments)
    settle(model, A)
    assert q.state is (QpState.ERROR if status else QpState.CONNECTED)
    assert model.table.is_valid(mine) is valid


@pytest.mark.parametrize("first", [0, 9])
def test_a_failed_read_invalidates_nothing(first: int) -> None:
    """Neither one that the transport reports as failed, nor one after a failure."""
    model = engine()
    key = bound(model)
    q = model.posting.qps[A]
    q.post(request("Send"))
    q.post(read(key))
    tags = [model.posting.indicate(A).tag for _ in range(2)]
    q.report(tags[0], first)
    q.report(tags[1], 0 if first else 9)
    ends = [model.posting.retire(A) for _ in range(2)]
    assert [e.status for e in ends] == ([9, CANCELED] if first else [0, 9])
    assert ends[1].step is None
    assert model.table.is_valid(key)


def test_a_read_of_a_region() -> None:
    """The sink of a Read: FastRegister, Read, gone."""
    model = engine()
    sink = local("FastRegister", FAST, Segment(BASE, 64), PostFlag.RDMA_READ_SINK)
    assert run(model, A, sink, read(FAST + NEXT)) == [0, 0]
    assert not model.table.is_valid(FAST + NEXT)


# -- regions in receive posts ---------------------------------------------------------------------


def test_receive_posts_know_valid_regions_only() -> None:
    model = engine()

    def cause(key: int) -> Cause:
        slots = slots_of([Segment(BASE, 1, key)])
        return model.receive.rqs[A].post(RecvPost(A, 1, 0, slots)).cause

    assert cause(FAST) is Cause.BAD_REGION
    assert cause(bound(model)) is Cause.BAD_REGION  # a window is no region
    for n, flags, wanted in (
        (0, PostFlag.RDMA_READ_SINK, Cause.OK),
        (1, READ, Cause.NO_LOCAL_WRITE),
        (2, WRITE, Cause.OK),
    ):
        key = FAST + (n + 1) * NEXT
        assert run(model, A, local("FastRegister", key - NEXT, Segment(BASE, 9), flags)) == [0]
        assert cause(key) is wanted
        assert cause(key - NEXT) is Cause.BAD_REGION
        assert run(model, A, local("Invalidate", key)) == [0]
        assert cause(key) is Cause.BAD_REGION


# -- windows and queue pairs -----------------------------------------------------------------------


def test_one_queue_pair_at_a_time() -> None:
    """MW-03: bound to one; bound elsewhere after the invalidation; a bound one is not bound."""
    model = engine()
    key = bound(model)
    assert [verdict(model, qp, key) for qp in (A, B)] == [0, 2]
    assert run(model, B, bind_post(key)) == [ALREADY]
    assert model.posting.qps[B].state is QpState.ERROR
    assert verdict(model, A, key) == 0
    model = engine()
    key = bound(model)
    assert run(model, A, local("Invalidate", key)) == [0]
    assert run(model, B, bind_post(key)) == [0]
    assert [verdict(model, qp, key + NEXT) for qp in (A, B)] == [2, 0]
    assert [verdict(model, qp, key) for qp in (A, B)] == [1, 1]


def test_the_context_stays_with_the_window() -> None:
    model = engine()
    key = bound(model, B)
    window = model.table.valid_window(key)
    assert window is not None
    assert window.context == CONTEXT
