# SPDX-License-Identifier: Apache-2.0
"""Device removal (MW-09): what is refused, what goes on, and that everything comes to an end."""

from __future__ import annotations

import itertools

import pytest

from models.codes import Cause, Command, CommandResult, ModelError, QpState, ScatterCode, StateBy
from models.host.control import USED_BITS as CQ_BITS
from models.host.control import Args
from models.keys.window import WindowModel
from models.keys.window_control import make_window_args
from models.post.post import Post
from models.post.qp_control import make_qp_args
from models.receive.receive import pack_reap
from models.receive.receive_control import make_region_args
from models.receive.receive_post import RecvPost
from models.tests.helpers import small_engine
from models.tests.keys.window_helpers import (
    OK,
    PAGE,
    A,
    B,
    arrive,
    bind_post,
    bound,
    engine,
    local,
    post_buffer,
    verdict,
)
from models.tests.post.posting_helpers import deferred, request
from models.tests.receive.receive_helpers import reach

REMOVED = CommandResult.CMD_DEVICE_REMOVED
DEVICE_REMOVED = 0x17
CANCELED = 1


def remove(model: WindowModel) -> None:
    """REMOVE_DEVICE."""
    reply = model.command(Command.REMOVE_DEVICE, Args((0,) * 8))
    assert reply.result is OK
    assert reply.key is not None
    assert (reply.key.op, reply.key.operand, reply.key.qp) == (0x75, 0, 0xFFFF)
    assert reply.key.before.encode() == reply.key.after.encode() == 0


#: Every command of cde_top: refused after removal, or not.
COMMANDS = {
    0x20: True,
    0x21: True,
    0x22: True,
    0x23: False,
    0x24: False,
    0x25: False,
    0x26: False,
    0x30: True,
    0x31: True,
    0x32: True,
    0x33: False,
    0x34: False,
    0x40: True,
    0x41: False,
    0x42: False,
    0x43: True,
    0x48: True,
    0x49: False,
    0x4A: False,
    0x4F: True,
}
CQ_COMMANDS = {
    0x01: True,
    0x02: True,
    0x03: True,
    0x04: False,
    0x05: False,
    0x10: True,
    0x11: True,
    0x12: True,
    0x13: False,
    0x14: False,
}


@pytest.mark.parametrize("code", range(0x18, 0x60))
@pytest.mark.parametrize("number", [0, 0xFFFF])
def test_commands(code: int, number: int) -> None:
    """CMD_DEVICE_REMOVED comes right after CMD_UNKNOWN, before CMD_RESERVED and all else."""
    fresh, model = engine(shared=True), engine(shared=True)
    remove(model)
    args = make_window_args(number)
    got, before = model.command(code, args).result, fresh.command(code, args).result
    if COMMANDS.get(code):
        assert got is REMOVED
        assert model.command(code, Args((number, *[0xFFFF_FFFF] * 7))).result is REMOVED
    else:
        assert got is before
        assert (got is CommandResult.CMD_UNKNOWN) is (code not in COMMANDS)


@pytest.mark.parametrize("code", CQ_COMMANDS)
def test_commands_of_completion_queues(code: int) -> None:
    assert {int(c) for c in CQ_BITS} == set(CQ_COMMANDS)
    fresh, removed = small_engine(), small_engine()
    removed.removed = True
    for number in (0, 1, 0xFFFF):
        args = Args((number, 0, 0, 1, 0, 0, 0, 0))
        if not set(CQ_BITS[code]) >= {3}:  # type: ignore[index]
            args = Args((number, 0, 0, 0, 0, 0, 0, 0))
        if code in (0x02, 0x11):
            args = Args((number, 0, 0, 0, 0, 0, 0, 0))
        got, was = removed.command(code, args).result, fresh.command(code, args).result
        assert got == (0x56 if CQ_COMMANDS[code] else was)
    reserved = Args((0, 0, 0, 1 << 7, 0, 0, 0, 0))
    if CQ_COMMANDS[code]:
        assert fresh.command(code, reserved).result == 0x41
        assert removed.command(code, reserved).result == 0x56


# -- posts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", QpState)
def test_posts(state: QpState) -> None:
    """DEVICE_REMOVED comes right after NOT_OWNER, at every portal."""
    model = engine()
    if state is not QpState.CONNECTED:
        reach(model.receive, A, state)
    remove(model)
    q, rq = model.posting.qps[A], model.receive.rqs[A]
    gone = state in (QpState.FREE, QpState.DESTROYING)
    bad = request("Send", reserved=1)
    for post in (request("Send"), bad, Post(0), local("Bind")):
        assert q.post(post, credit=False).cause == (0x0E if gone else DEVICE_REMOVED)
        assert q.post(post, PAGE + 1).cause == (0x0E if gone else 0x09)
    for receive in (RecvPost(), RecvPost(reserved=1), RecvPost(num_segments=9)):
        wanted = Cause.NO_QP if gone else Cause.DEVICE_REMOVED
        assert rq.post(receive).cause is wanted
        assert rq.post(receive, PAGE + 1).cause == (0x0E if gone else 0x09)
    assert q.requests == []
    assert rq.buffers == []


def test_posts_to_a_shared_queue_and_reaps() -> None:
    model = engine(shared=True)
    srq = model.receive.srqs[0]
    post_buffer(model)
    arrive(model, A, 0)
    model.receive.rqs[A].report(0, 0)
    model.receive.complete(A)
    remove(model)
    assert srq.post(RecvPost()).cause is Cause.DEVICE_REMOVED
    assert srq.post(RecvPost(), PAGE + 1).cause is Cause.NOT_OWNER
    lane = 0x10
    data = pack_reap(0, 1) << 8 * lane
    assert model.receive.reap(PAGE << 12 | 0x110, 0, 3, 0xFF << lane, data) == 0
    assert srq.reaped == 1


def test_a_failing_post_releases_what_is_held() -> None:
    """DF-04: it named a queue pair of its page."""
    model = engine()
    q = model.posting.qps[A]
    q.post(deferred())
    remove(model)
    assert q.post(request("Send"), PAGE + 1).released == range(0)
    assert q.post(request("Send")).released == range(1)


# -- what is under way ----------------------------------------------------------------------------


@pytest.mark.parametrize("state", QpState)
@pytest.mark.parametrize("shared", [False, True])
def test_everything_completes_once(state: QpState, shared: bool) -> None:
    """Held, released, indicated, reported; available, taken: each ends, nothing hangs."""
    model = engine(shared=shared)
    q, rq = model.posting.qps[A], model.receive.rqs[A]
    for n in range(3):
        post_buffer(model, context=n)
    answers = [arrive(model, A, bound(model)), arrive(model, A, 0)]
    assert [a.code for a in answers] == [ScatterCode.SCATTER, ScatterCode.BAD_TOKEN]
    q.post(request("Send"))
    q.post(request("Send"))
    tag = model.posting.indicate(A).tag
    for _ in range(2):
        q.post(deferred())
    if state is QpState.IDLE or (state is QpState.FREE):
        return  # neither has anything under way
    if state is not QpState.CONNECTED:
        reach(model.receive, A, state)
    remove(model)
    open_ = state in (QpState.CONNECTED, QpState.DISCONNECT_PENDING)
    assert (A in model.removable) is open_
    assert verdict(model, A, 0) == 5
    assert arrive(model, A, 0).code is ScatterCode.REFUSED
    assert model.receive.takes == 2
    if open_:
        step = model.end(A)
        assert (step.old, step.new, step.term, step.by) == (state, 5, True, StateBy.REPORT)
    with pytest.raises(ModelError):
        model.end(A)
    assert not q.retirable  # the transport may still use the consumer's memory
    assert not rq.flushable
    q.report(tag, 0)
    statuses = [model.posting.retire(A).status for _ in range(4)]
    assert statuses == [0, CANCELED, CANCELED, CANCELED]
    assert not q.requests
    for answer in answers:
        rq.report(answer.tag, 0)
    while rq.flushable:
        rq.flush_take()
    done = []
    while rq.completable:
        done.append(model.receive.complete(A).status)
    assert done == [0, 4] + ([] if shared else [CANCELED])
    assert model.command(Command.DESTROY_QP, make_qp_args(A)).result is OK
    assert q.state is QpState.FREE


def test_every_connection_ends() -> None:
    model = engine()
    model.posting.qps[B].set_state(3)
    assert not model.removable
    remove(model)
    assert list(model.removable) == [0, 1, 2]
    for qp in (2, 0, 1):
        assert model.end(qp).new is QpState.ERROR
    assert not model.removable
    assert model.command(Command.REMOVE_DEVICE, Args((0,) * 8)).result is REMOVED
    with pytest.raises(ModelError):
        model.table.remove()


def test_a_request_under_way_is_still_executed() -> None:
    """Between the removal and the step of its queue pair."""
    model = engine()
    q = model.posting.qps[A]
    for post in (bind_post(), request("Send"), request("Send")):
        q.post(post)
    remove(model)
    step = model.posting.indicate(A).step
    assert step is not None
    assert step.okay
    tag = model.posting.indicate(A).tag
    model.end(A)
    assert q.next_indication() is None
    q.report(tag, 0)
    assert [model.posting.retire(A).status for _ in range(3)] == [0, 0, CANCELED]


def test_cleanup() -> None:
    """Windows, regions and queue pairs go in any order that their use allows."""
    steps = {
        "window": (Command.CLOSE_MW, make_window_args(0)),
        "region": (Command.DEREGISTER_MR, make_region_args(0)),
        "qp": (Command.DESTROY_QP, make_qp_args(A)),
    }
    for order in itertools.permutations(steps):
        model = engine()
        key = bound(model)
        remove(model)
        for qp in (A, B, 2):
            model.end(qp)
        for name in order:
            uses = {"region": CommandResult.CMD_BUSY, "qp": CommandResult.CMD_IN_USE}
            open_ = order.index(name) < order.index("window")
            wanted = uses.get(name, OK) if open_ else OK
            assert model.command(*steps[name]).result is wanted
        assert not model.table.is_valid(key)
        assert model.command(Command.FLUSH_QP, make_qp_args(B)).result is OK
        idle = model.command(Command.SET_QP_STATE, make_qp_args(B, word=1))
        assert idle.result is OK
        assert model.command(Command.CONNECT_QP, make_qp_args(B)).result is REMOVED
