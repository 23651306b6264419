# SPDX-License-Identifier: Apache-2.0
"""The whole engine in one object: what its parts do to each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from models.arm.arm import CqConfig
from models.codes import (
    Access,
    ArmType,
    Cause,
    Command,
    CommandResult,
    PostFlag,
    QpState,
    Rights,
    ScatterCode,
    Verdict,
)
from models.cq.entries import Cqe
from models.host.control import make_args
from models.keys.region import RegionConfig
from models.keys.window_control import make_window_args
from models.keys.window_types import CheckRequest
from models.layouts import PAGE_BYTES, PAGE_STATUS, SRQ_PORTAL
from models.nic import HostError, Nic
from models.params import Params
from models.post.post import Post, Segment, slots_of
from models.post.qp import QpConfig
from models.post.qp_control import make_qp_args
from models.receive.receive_control import make_region_args, make_srq_args
from models.receive.receive_post import RecvPost
from models.receive.receive_types import RecvConfig, RecvRequest, SrqConfig
from models.tests.keys.window_helpers import bind_post, local
from models.tests.post.posting_helpers import deferred, request

BASE, LENGTH = 0x1_0000, 0x1000


def nic(log2: int = 4, **receive: int | None) -> Nic:
    """CQ 0 and queue pair 0, guarded, with four receives of its own or those of an SRQ."""
    engine = Nic()
    engine.create_cq(0, log2)
    if receive.get("srq") is not None:
        engine.demand(Command.CREATE_SRQ, make_srq_args(0, SrqConfig(4, vector=9)))
    else:
        receive["depth"] = 4
    config = replace(RecvConfig(guarded=True), **receive)  # type: ignore[arg-type]
    engine.create_qp(0, QpConfig(depth=8), config)
    return engine


def contexts(engine: Nic) -> list[int]:
    """The contexts of what is polled."""
    return [result.request_context for result in engine.poll(0)]


def test_a_post_takes_a_credit_and_its_completion_gives_it_back() -> None:
    """CQ-17, DF-03, DF-14."""
    engine = nic(log2=1)
    silent = PostFlag.SILENT_SUCCESS
    assert [engine.post(0, request("Send", silent)) for _ in range(3)] == [0, 0, Cause.NO_CREDIT]
    engine.done(0)
    engine.done(0)
    assert contexts(engine) == []
    assert engine.post(0, request("Send", context=5)) is Cause.OK
    engine.done(0)
    assert contexts(engine) == [5]
    assert engine.core.producers[0].credits_held == 0


def test_a_failed_post_takes_none() -> None:
    engine = nic(log2=1)
    for _ in range(3):
        assert engine.post(0, request("Send", PostFlag.RDMA_READ_SINK)) is Cause.BAD_FLAGS
    assert engine.write(0, request().encode(), size=3) is Cause.BAD_SIZE
    assert engine.core.producers[0].credits_held == 0
    assert engine.read(PAGE_STATUS) == Cause.BAD_SIZE | 4 << 32


@pytest.mark.parametrize("srq", [None, 0])
def test_receives(srq: int | None) -> None:
    """SRQ-05, SRQ-06, SRQ-14, SRQ-16, SRQ-18 through the pins."""
    engine = nic(srq=srq)

    def post(context: int) -> Cause:
        if srq is None:
            return engine.post_receive(0, RecvPost(context=context))
        return engine.write(SRQ_PORTAL, RecvPost(0, context=context).encode())

    assert engine.message(RecvRequest(0)).code is ScatterCode.NOT_READY
    assert [post(n) for n in range(4)] == [Cause.OK] * 4
    assert post(4) is Cause.QUEUE_FULL
    answer = engine.message(RecvRequest(0))
    engine.message_done(0, answer.tag)
    assert contexts(engine) == [0]
    if srq is not None:
        engine.demand(Command.SET_SRQ_WATERMARK, make_srq_args(0, word=3))
        assert 9 not in engine.interrupts
    answer = engine.message(RecvRequest(0, 1))
    assert answer.code is ScatterCode.LENGTH_ERROR
    assert [step.new for step in engine.terms] == [QpState.ERROR]
    engine.message_done(0, answer.tag)
    assert (9 in engine.interrupts) is (srq is not None)
    assert contexts(engine) == ([1, 2, 3] if srq is None else [1])
    held = engine.core.producers[0].credits_held
    assert held == 0


def test_windows() -> None:
    """MW-02, MW-10, CQ-05: a window from its creation to a refused access."""
    engine = nic()
    region = RegionConfig(BASE, LENGTH, 0, Rights.LOCAL_WRITE)
    key = engine.demand(Command.REGISTER_MR, make_region_args(0, region)).out[0]
    token = engine.demand(Command.CREATE_MW, make_window_args(0)).out[0]
    assert engine.post(0, bind_post(token, key, BASE, 16)) is Cause.OK
    token += 0x1000
    assert engine.check(CheckRequest(0, Access.READ, token, BASE, 16)).code is Verdict.GRANTED
    assert engine.post(0, local("Invalidate", token)) is Cause.OK
    assert [result.status for result in engine.poll(0)] == [0, 0]
    assert engine.check(CheckRequest(0, Access.READ, token, BASE, 0)).code is Verdict.GRANTED
    assert engine.check(CheckRequest(0, Access.READ, token, BASE, 1)).code is Verdict.BAD_KEY
    assert engine.posting.qps[0].state is QpState.ERROR
    assert len(engine.terms) == 1


def test_removal() -> None:
    """MW-09: held, available and outstanding complete once; new objects are refused."""
    engine = nic()
    assert engine.post(0, request(context=1)) is Cause.OK
    assert engine.post(0, deferred()) is Cause.OK
    assert engine.post_receive(0, RecvPost(context=3)) is Cause.OK
    engine.demand(Command.REMOVE_DEVICE, make_window_args())
    assert contexts(engine) == [3]
    engine.done(0)
    assert contexts(engine) == [1, 0]
    assert engine.post(0, request()) is Cause.DEVICE_REMOVED
    for code in (Command.CREATE_CQ, Command.CREATE_SRQ):
        assert engine.command(code, make_args(1)).result is CommandResult.CMD_DEVICE_REMOVED
    assert engine.command(Command.DESTROY_QP, make_qp_args(0)).result is CommandResult.OK


def test_destruction() -> None:
    """CQ-20: a CQ that a queue pair names stays."""
    engine = nic()
    assert engine.command(Command.DESTROY_CQ, make_args(0)).result is CommandResult.CMD_IN_USE
    engine.demand(Command.DESTROY_QP, make_qp_args(0))
    engine.demand(Command.DESTROY_CQ, make_args(0))
    engine.demand(Command.DESTROY_EQ, make_args(0))
    engine.create_cq(0)
    engine.arm(0)
    engine.place(0, Cqe())
    assert len(engine.events()) == 1


def test_time() -> None:
    """CQ-21, DF-01: moderation and the age limit wait for their time."""
    engine = nic()
    tick = engine.params.mod_tick
    engine.create_cq(1, config=CqConfig(mod_count=0xFFFF, mod_interval=2))
    engine.arm(1)
    engine.place(1, Cqe())
    engine.create_qp(1, QpConfig(depth=2, age=2))
    assert engine.post(1, deferred()) is Cause.OK
    engine.wait(2 * tick)
    assert engine.events() == []
    assert not engine.work
    engine.wait(1)
    assert [event.cq for event in engine.events()] == [1]
    assert [beat.qp for beat in engine.work] == [1]


def test_resize() -> None:
    """CQ-19: the reader follows to the new ring; the arm stays."""
    engine = Nic()
    engine.create_cq(0, 1)
    engine.arm(0, ArmType.SOLICITED)
    for context in range(12):
        if context == 2:
            args = make_args(0, base=1 << 50, log2=4)
            engine.demand(Command.RESIZE_CQ, args)
        engine.place(0, Cqe(context))
    assert contexts(engine) == list(range(12))
    engine.place(0, Cqe(status=3))
    assert len(engine.events()) == 1


def test_the_completion_core_alone() -> None:
    """``cde_cpl_top``: no queue pairs, no portals, none of their commands."""
    core = Nic(Params(num_qp=0))
    with pytest.raises(HostError, match="BAD_OBJECT"):
        core.create_cq(3, eq=core.params.num_eq)
    for call in (core.arm, core.poll, core.events, core.callback_return):
        with pytest.raises(HostError, match=r"[CE]Q 5: it was not created"):
            call(5)
    with pytest.raises(HostError, match="QP 0: the engine has 0"):
        core.post(0, request())
    core.create_cq(3, 1)
    core.arm(3)
    core.place(3, Cqe(7))
    assert [event.cq for event in core.events()] == [3]
    core.place(3, Cqe(8))
    with pytest.raises(HostError, match="credit"):
        core.place(3, Cqe(9))
    assert core.command(Command.CREATE_QP, make_qp_args(0)).result is CommandResult.CMD_UNKNOWN
    assert core.write(PAGE_BYTES, request().encode()) is not Cause.OK
    assert [r.request_context for r in core.poll(3)] == [7, 8]


def test_inline_data_and_segments_reach_the_transport() -> None:
    engine = nic()
    slots = slots_of([Segment(BASE, 8, 1)])
    assert (
        engine.post(0, replace(request("Send", context=6), num_segments=1, slots=slots)) is Cause.OK
    )
    (beat,) = engine.work
    assert beat.post.segments == [Segment(BASE, 8, 1)]
    engine.done(0)
    assert [(r.request_context, r.nbytes) for r in engine.poll(0)] == [(6, 8)]
    with pytest.raises(HostError, match="no request"):
        engine.done(0)
    for call in (
        lambda: engine.done(0, 256),
        lambda: engine.disconnected(-1),
        lambda: engine.message_done(0, 1 << 16),
        lambda: Nic(Params(num_qp=-1)),
        lambda: engine.wait(-1),
        lambda: engine.post(0, Post(300)),
    ):
        with pytest.raises((HostError, ValueError), match=r"-1|256|300|65536"):
            call()
    with pytest.raises(HostError, match="refused: nothing of QP 0 is outstanding with tag 99"):
        engine.message_done(0, 99)
    engine.disconnected(0)
    assert engine.posting.qps[0].state is QpState.DISCONNECTED
    with pytest.raises(HostError, match="refused: QP 1 does not exist"):
        engine.disconnected(1)


def test_values_of_another_type() -> None:
    engine: Any = nic()
    for call, values, told in (
        ("command", (Command.CREATE_EQ, [1, 2, 3]), "make_args"),
        ("write", (3, b"a"), r"Post\.encode\(\)"),
        ("create_cq", ("a",), "CQ 'a': the engine has"),
        ("create_qp", ("a",), "QP 'a': the engine has"),
    ):
        with pytest.raises(HostError, match=told):
            getattr(engine, call)(*values)
