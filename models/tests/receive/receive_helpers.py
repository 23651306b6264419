# SPDX-License-Identifier: Apache-2.0
"""Short ways to bring receive queues into a situation."""

from __future__ import annotations

from collections.abc import Sequence

from models.codes import Cause, Command, CommandResult, LogCause, QpState, Rights
from models.keys.region import RegionConfig
from models.layouts import PAGE_BYTES, SRQ_DB
from models.params import Params
from models.post.post import Segment, slots_of
from models.post.posting import PostingModel
from models.post.qp import QpConfig
from models.post.qp_control import make_qp_args
from models.receive.receive import ReceiveModel, pack_reap
from models.receive.receive_control import make_create_args, make_region_args, make_srq_args
from models.receive.receive_post import RecvPost
from models.receive.receive_types import (
    ReceiveCompletion,
    RecvConfig,
    RecvPostResult,
    RecvRequest,
    SrqConfig,
    TakeResult,
)
from models.tests.broken.parts import WHOLE, Parts

SMALL = Params(
    num_cq=4,
    num_pages=4,
    idx_w=4,
    mod_tick=8,
    num_qp=4,
    sq_log2=3,
    num_srq=2,
    rq_log2=2,
    srq_log2=2,
    rx_log2=2,
    num_mr=4,
)
STROBES = (1 << 64) - 1
PAGE, ZONE = 1, 5
#: Number of the queue pair with a queue of its own, and of those that share SRQ 0.
OWN, FIRST, SECOND = 0, 1, 2
GOOD_KEY, ZONE_KEY, READ_KEY = 0x1000, 0x1001, 0x1002
BASE, LENGTH = 0x10000, 0x1000
CONTEXT = 0xFEDC_BA98_7654_3210
OK = CommandResult.OK


def posting(parts: Parts = WHOLE, params: Params = SMALL) -> PostingModel:
    """Queue pairs, none created, and CQs that are all on page 1."""
    return parts.posting(params, lambda cq: PAGE if cq < params.num_cq else None, qp=parts.qp)


def receiving(parts: Parts = WHOLE, *, flag: int = 0, size: int = 4) -> ReceiveModel:
    """Three regions, an SRQ, one queue pair with a queue of its own and two with the SRQ."""
    model = parts.receive(posting=posting(parts), rq=parts.rq, srq=parts.srq)
    for number, zone, rights in (
        (0, ZONE, Rights.LOCAL_WRITE),
        (1, ZONE + 1, Rights.LOCAL_WRITE),
        (2, ZONE, Rights.REMOTE_READ),
    ):
        args = make_region_args(number, RegionConfig(BASE, LENGTH, zone, rights))
        assert model.command(Command.REGISTER_MR, args).out[0] == number | 0x1000
    args = make_srq_args(0, SrqConfig(size, ZONE, PAGE, 9))
    assert model.command(Command.CREATE_SRQ, args).result is OK
    for number in (OWN, FIRST, SECOND):
        receive = RecvConfig(ZONE, 4) if number == OWN else RecvConfig(ZONE, 0, 0)
        create(model, number, RecvConfig(receive.zone, receive.depth, receive.srq, flag))
        connect(model, number)
    return model


def create(model: ReceiveModel, number: int, receive: RecvConfig) -> None:
    """CREATE_QP on page 1 with CQs 2 and 3."""
    config = QpConfig(0xC0DE << 48 | number, 2, 3, PAGE, 4)
    args = make_create_args(number, config, receive)
    assert model.command(Command.CREATE_QP, args).result is OK


def connect(model: ReceiveModel, number: int) -> None:
    """CONNECT_QP."""
    args = make_qp_args(number, word=0x123456)
    assert model.command(Command.CONNECT_QP, args).result is OK


def buffer(*lengths: int, number: int = 0, context: int = CONTEXT, key: int = GOOD_KEY) -> RecvPost:
    """A post with segments of these lengths, one after the other."""
    address, segments = BASE, []
    for length in lengths:
        segments.append(Segment(address, length, key))
        address += length
    return RecvPost(number, len(lengths), context, slots_of(segments))


def post(
    model: ReceiveModel, post: RecvPost, *, own: bool = False, page: int = PAGE, credit: bool = True
) -> RecvPostResult:
    """One good write to a receive portal."""
    addr = page * PAGE_BYTES + (0x040 if own else 0x080)
    result = model.write(addr, 0, 6, STROBES, post.encode(), credit=credit)
    assert result is not None
    return result


def take(
    model: ReceiveModel, qp: int, length: int = 0, credit: bool = True, cq_error: bool = False
) -> TakeResult:
    """A message of this length arrives."""
    beat = RecvRequest(qp, length).encode()
    answer = model.request_beat(beat, credit=credit, cq_error=cq_error).answer
    assert answer is not None
    return answer


def finish(model: ReceiveModel, qp: int, status: int = 0) -> list[ReceiveCompletion]:
    """Everything in flight is reported, everything flushed that can be, and completes."""
    rq = model.rqs[qp]
    for taken in [t for t in rq.flight if t.status is None]:
        assert rq.report(model.params.index(taken.number), status)[0] is LogCause.OK
    while rq.flushable:
        rq.flush_take()
    completions = []
    while rq.completable:
        completions.append(model.complete(qp))
    return completions


def reap(model: ReceiveModel, index: int, srq: int = 0, page: int = PAGE) -> Cause:
    """A write to SRQ_DB."""
    addr = page * PAGE_BYTES + SRQ_DB
    lane = addr % 64
    cause = model.reap(addr, 0, 3, 0xFF << lane, pack_reap(srq, index) << 8 * lane)
    assert cause is not None
    return cause


def contexts(completions: Sequence[ReceiveCompletion]) -> list[int]:
    """Their cookies."""
    return [c.cqe.request_context for c in completions]


def reach(model: ReceiveModel, number: int, state: QpState) -> None:
    """Brings a connected queue pair into a state; DESTROYING needs a receive not completed."""
    qp, rq = model.posting.qps[number], model.rqs[number]
    if state is QpState.DISCONNECT_PENDING:
        qp.set_state(3)
    elif state is QpState.DISCONNECTED:
        qp.disconnected()
    elif state is QpState.ERROR:
        qp.flush()
    elif state in (QpState.FREE, QpState.DESTROYING):
        qp.destroy(receiving=rq.busy or state is QpState.DESTROYING)
    elif state is QpState.IDLE:
        qp.flush()
        qp.set_state(1, receiving=rq.busy)
    assert qp.state is state
