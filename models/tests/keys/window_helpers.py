# SPDX-License-Identifier: Apache-2.0
"""Short ways to bring keys, windows and the queue pairs that use them into a situation."""

from __future__ import annotations

from models.codes import ALLOW_REMOTE_WRITE, Access, Command, CommandResult, PostFlag, Rights
from models.keys.region import RegionConfig
from models.keys.window import WindowModel
from models.keys.window_control import make_window_args
from models.keys.window_types import CheckRequest
from models.params import Params
from models.post.post import Post, Segment, slots_of
from models.post.qp import QpConfig
from models.post.qp_control import make_qp_args
from models.receive.receive_control import make_create_args, make_region_args, make_srq_args
from models.receive.receive_post import RecvPost
from models.receive.receive_types import RecvConfig, RecvRequest, SrqConfig, TakeResult
from models.tests.broken.parts import WHOLE, Parts
from models.verbs import BY_NAME

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
    num_mw=4,
)
PAGE, ZONE = 1, 5
A, B, OTHER = 0, 1, 2  #: queue pairs; OTHER has another zone
OK = CommandResult.OK
BASE, LENGTH = 0x1_0000, 0x1000
#: Region 0: local write; 1: another zone; 2: no right at all; 3: allocated.
REGION, FOREIGN, BARE, FAST = 0x1000, 0x1001, 0x1002, 0x1003
#: Windows 0 and 1, 2: another zone.
WINDOW, SECOND, STRANGE = 0x1800, 0x1801, 0x1802
NEXT = 0x1000  #: from a key to the next one of its object
CONTEXT = 0xFEDC_BA98_7654_3210
READ, WRITE = PostFlag.ALLOW_REMOTE_READ, ALLOW_REMOTE_WRITE
PEER_LOW = 0x123456


def engine(
    parts: Parts = WHOLE,
    *,
    two: bool = False,
    shared: bool = False,
    depth: int = 4,
    guarded: bool = True,
) -> WindowModel:
    """Regions, windows and queue pairs, as above; connected. ``guarded``: queue pair A; the others
    are.
    """
    keys = parts.keys(SMALL)
    pages = parts.posting(
        SMALL, lambda cq: PAGE if cq < SMALL.num_cq else None, keys=keys, qp=parts.qp
    )
    model = parts.windows(parts.receive(posting=pages, rq=parts.rq, srq=parts.srq))
    for number, zone, rights in (
        (0, ZONE, Rights.LOCAL_WRITE),
        (1, ZONE + 1, 7),
        (2, ZONE, 0),
    ):
        args = make_region_args(number, RegionConfig(BASE, LENGTH, zone, rights))
        assert model.command(Command.REGISTER_MR, args).out[0] == number | 0x1000
    args = make_window_args(3, ZONE)
    assert model.command(Command.ALLOC_MR, args).out[0] == FAST
    for number, zone in ((0, ZONE), (1, ZONE), (2, ZONE + 1)):
        args = make_window_args(number, zone, CONTEXT + number)
        assert model.command(Command.CREATE_MW, args).out[0] == 0x1800 | number
    if shared:
        args = make_srq_args(0, SrqConfig(4, ZONE, PAGE))
        assert model.command(Command.CREATE_SRQ, args).result is OK
    for number, zone in ((A, ZONE), (B, ZONE), (OTHER, ZONE + 1)):
        own, srq = 0 if shared else depth, 0 if shared else None
        receive = RecvConfig(zone, own, srq, two=two, guarded=guarded or number != A)
        create(model, number, receive)
        connect(model, number)
    return model


def create(model: WindowModel, number: int, receive: RecvConfig) -> None:
    """CREATE_QP on page 1 with CQs 2 and 3."""
    args = make_create_args(number, QpConfig(0xC0DE << 48 | number, 2, 3, PAGE, 4), receive)
    assert model.command(Command.CREATE_QP, args).result is OK


def connect(model: WindowModel, number: int) -> None:
    """CONNECT_QP."""
    args = make_qp_args(number, word=PEER_LOW)
    assert model.command(Command.CONNECT_QP, args).result is OK


def local(
    name: str,
    target: int = 0,
    segment: Segment | None = None,
    flags: int = 0,
    context: int = 0,
) -> Post:
    """A post with at most one segment and a target."""
    segments = [] if segment is None else [segment]
    slots = slots_of(segments, Segment(0, 0, target))
    opcode = BY_NAME[name].opcode
    return Post(opcode, len(segments), int(flags), context=context, slots=slots)


def bind_post(
    target: int = WINDOW,
    key: int = REGION,
    address: int = BASE,
    length: int = LENGTH,
    flags: int = READ,
) -> Post:
    """A Bind."""
    return local("Bind", target, Segment(address, length, key), flags)


def run(model: WindowModel, qp: int, *posts: Post) -> list[int]:
    """Posts that are indicated and retire; the statuses. Failures end the connection."""
    q, statuses = model.posting.qps[qp], []
    for post in posts:
        assert q.post(post).cause == 0
    while q.next_indication() is not None:
        beat = model.posting.indicate(qp)
        if not beat.local:
            q.report(beat.tag, 0)
        settle(model, qp)
    while q.retirable:
        statuses.append(model.posting.retire(qp).status)
        settle(model, qp)
    return statuses


def settle(model: WindowModel, qp: int) -> None:
    """The state ERROR that is still to come comes."""
    q, rq = model.posting.qps[qp], model.receive.rqs[qp]
    if q.ending == q.connections:
        q.fail()
    if rq.overlong == q.connections:
        rq.fail_length()


def bound(model: WindowModel, qp: int = A, flags: int = READ | WRITE, target: int = WINDOW) -> int:
    """A window is bound to all of region 0; its key."""
    assert run(model, qp, bind_post(target, flags=flags)) == [0]
    return target + NEXT


def verdict(
    model: WindowModel,
    qp: int,
    key: int,
    address: int = BASE,
    length: int = 1,
    kind: int = Access.READ,
) -> int:
    """The code for one access; what it does to the queue pair is left out."""
    request = CheckRequest(qp, kind, key, address, length)
    code = model.check_beat(request.encode()).code
    if qp < len(model.posting.qps):
        model.posting.qps[qp].ending = None
    return code


def post_buffer(model: WindowModel, qp: int = A, context: int = 7, length: int = 16) -> None:
    """A buffer in region 0, on the queue that the queue pair uses."""
    segments = [Segment(BASE, length, REGION)]
    post = RecvPost(qp, 1, context, slots_of(segments))
    rq = model.receive.rqs[qp]
    result = rq.srq.post(post) if rq.srq else rq.post(post)
    assert result.cause == 0


def arrive(
    model: WindowModel, qp: int, token: int, length: int = 8, solicited: bool = False
) -> TakeResult:
    """A SendAndInvalidate arrives."""
    beat = RecvRequest(qp, length, solicited, True, token).encode()
    answer = model.receive.request_beat(beat).answer
    assert answer is not None
    return answer
