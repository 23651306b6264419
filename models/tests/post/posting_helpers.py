# SPDX-License-Identifier: Apache-2.0
"""Short ways to bring queue pairs into a situation."""

from __future__ import annotations

from models.codes import Command, CommandResult, PostFlag
from models.layouts import PAGE_BYTES
from models.params import Params
from models.post.post import Post
from models.post.posting import PostingModel
from models.post.qp import PostResult, QpConfig, QpModel
from models.post.qp_control import make_qp_args
from models.tests.broken.parts import WHOLE, Parts
from models.verbs import BY_NAME

SMALL = Params(num_cq=4, num_pages=4, idx_w=4, mod_tick=8, num_qp=4, sq_log2=3)
STROBES = (1 << 64) - 1
PEER = 0x123456


def request(name: str = "Send", flags: int = 0, **fields: int) -> Post:
    """A legal post of a request type, without segments if nothing else is said."""
    return Post(BY_NAME[name].opcode, flags=flags, **fields)  # type: ignore[arg-type]


def deferred(name: str = "Send", flags: int = 0) -> Post:
    """A legal post with DEFER."""
    return request(name, flags | PostFlag.DEFER)


#: A post that fails inline and has DEFER.
BAD = request("Send", PostFlag.DEFER | PostFlag.RDMA_READ_SINK)


def connected(parts: Parts = WHOLE, *, depth: int = 8, watermark: int = 0, age: int = 0) -> QpModel:
    """Queue pair 1, created on page 1 and connected."""
    qp = parts.qp(1, SMALL)
    qp.create(QpConfig(0xC0DE, 2, 3, page=1, depth=depth, watermark=watermark, age=age))
    assert qp.connect(PEER)[0] is CommandResult.OK
    return qp


def small_model(parts: Parts = WHOLE) -> PostingModel:
    """Queue pairs 0 and 1 on page 1, connected, and CQs 0 to 3 on page 1."""
    model = parts.posting(SMALL, lambda cq: 1 if cq < SMALL.num_cq else None, qp=parts.qp)
    for number in (0, 1):
        args = make_qp_args(number, QpConfig(page=1, depth=4))
        assert model.command(Command.CREATE_QP, args).result is CommandResult.OK
        args = make_qp_args(number, word=PEER)
        assert model.command(Command.CONNECT_QP, args).result is CommandResult.OK
    return model


def write(model: PostingModel, post: Post, page: int = 1, offset: int = 0) -> PostResult:
    """One good write to a portal."""
    result = model.write(page * PAGE_BYTES + offset, 0, 6, STROBES, post.encode())
    assert result is not None
    return result


def finish(qp: QpModel, status: int = 0) -> list[int]:
    """Everything that can be indicated, reported and retired is; the statuses of the retired."""
    statuses = []
    while qp.next_indication() is not None or qp.retirable:
        if qp.next_indication() is not None:
            beat = qp.indicate()
            if not beat.local:
                qp.report(beat.tag, status)
        while qp.retirable:
            statuses.append(qp.retire().status)
    return statuses
