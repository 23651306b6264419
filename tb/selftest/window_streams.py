# SPDX-License-Identifier: Apache-2.0
"""Streams of records as a right engine would leave them that has memory windows: requests and
messages that change keys, checks of remote accesses, commands, device removal.
"""

from __future__ import annotations

from typing import Any, Self

from models import codes
from models.codes import (
    WINDOW_COMMANDS,
    Access,
    Cause,
    CommandResult,
    PostFlag,
    ScatterCode,
    TraceOp,
    Verdict,
)
from models.host.control import Args
from models.keys.keys import KeyTable
from models.keys.window import WindowModel
from models.keys.window_control import make_window_args
from models.keys.window_types import CheckRequest, CheckResult, KeyStep
from models.params import Params
from models.post.post import Post, Segment, slots_of
from models.post.posting import PostingModel
from models.post.qp import QpConfig, Retirement
from models.post.qp_types import StateStep
from models.receive.receive import ReceiveModel, RecvReply
from models.receive.receive_control import make_create_args
from models.receive.receive_post import RecvPost
from models.receive.receive_types import RecvConfig, RecvRequest, TakeResult
from tb.env.harness.records import AccessCheck, AccessVerdict, Command, Trace, WorkBeat
from tb.selftest.post_streams import BIND, INVALIDATE, PARAMS, READ
from tb.selftest.receive_streams import BASE, FIRST, LENGTH, OWN, SECOND, ZONE, ReceiveStream
from tb.selftest.streams import PAGE

FAST_REGISTER = 2
CONTEXT = 0xFEDC_BA98_7654_3210
READ_FLAG = PostFlag.ALLOW_REMOTE_READ
READ_RIGHT, WRITE_RIGHT = Access.READ, Access.WRITE
OTHER = 3  #: the QP that is not guarded
#: Region 1 is allocated.
FAST = 1
_KEY_CODES = (
    *(codes.Command.REGISTER_MR, codes.Command.DEREGISTER_MR, codes.Command.QUERY_MR),
    *WINDOW_COMMANDS,
)


class WindowStream(ReceiveStream):
    """An ideal engine with memory windows: each method lets something happen and adds its
    records.
    """

    def __init__(self, params: Params = PARAMS) -> None:
        super().__init__(params)
        self.posting = PostingModel(params, self._page_of, keys=KeyTable(params))
        self.receiving = ReceiveModel(posting=self.posting)
        self.windows = WindowModel(self.receiving)
        self.table = self.windows.table
        self.tokens: dict[int, int] = {}

    def key_lane(self, step: KeyStep) -> None:
        """A step of lane 8 or 9 in the present cycle."""
        lane = 9 if step.op is TraceOp.CHECK else 8
        old, new = step.before.encode(), step.after.encode()
        self.lane(lane, step.op, step.qp, step.operand, old, new)

    # -- commands ----------------------------------------------------------------------------------

    def recv_command(self, code: int, args: Args, post: RecvPost | None = None) -> RecvReply:
        """A command with its steps."""
        if code not in _KEY_CODES:
            return super().recv_command(code, args, post)
        start = self.tick()
        self.tick()
        reply = self.windows.command(code, args)
        if reply.key is not None:
            self.key_lane(reply.key)
        self.add(Command(self.tick(5), start, code, args.words, reply.result, reply.out))
        return reply

    def key_command(self, code: int, number: int = 0, zone: int = 0, context: int = 0) -> RecvReply:
        """A command of windows, or ALLOC_MR."""
        return self.recv_command(code, make_window_args(number, zone, context))

    def window(self, number: int = 0, zone: int = ZONE, context: int = CONTEXT) -> int:
        """CREATE_MW; returns the key."""
        reply = self.key_command(codes.Command.CREATE_MW, number, zone, context)
        self.tokens[number] = reply.out[0]
        return reply.out[0]

    def allocate(self, number: int = FAST, zone: int = ZONE) -> int:
        """ALLOC_MR; returns the key."""
        self.keys[number] = self.key_command(codes.Command.ALLOC_MR, number, zone).out[0]
        return self.keys[number]

    def create_guarded(
        self,
        qp: int,
        srq: int | None = None,
        cq: int = 0,
        two: bool = False,
        guarded: bool = True,
        zone: int = ZONE,
    ) -> None:
        """CREATE_QP with a receive queue of its own, or with an SRQ."""
        config = QpConfig(0xABC0 + qp, cq, cq, PAGE, 8)
        receive = RecvConfig(zone, 4 if srq is None else 0, srq, two=two, guarded=guarded)
        self.recv_command(codes.Command.CREATE_QP, make_create_args(qp, config, receive))

    def remove(self) -> None:
        """REMOVE_DEVICE, and the ends of the connections."""
        self.key_command(codes.Command.REMOVE_DEVICE)
        for qp in self.windows.removable:
            self._fails(qp, lambda q: self.windows.end(q))

    # -- failures ----------------------------------------------------------------------------------

    def _fails(self, qp: int, run: object) -> None:
        self.tick(2)
        model = self.posting.qps[qp]
        model.see(None)
        old = model.trace_state(3)
        step: StateStep | None = run(qp)  # type: ignore[operator]
        if step is not None:
            self._state(qp, old, step)
            self.term(qp, step.term_state)

    def fails(self, qp: int) -> None:
        """The connection ends by a request or a check."""
        self._fails(qp, lambda q: self.posting.qps[q].fail())

    # -- requests ----------------------------------------------------------------------------------

    def bind_post(
        self,
        qp: int = OWN,
        window: int = 0,
        flags: int = READ_FLAG,
        segment: Segment | None = None,
        **fields: int,
    ) -> Post:
        """A Bind of the present key of a window to all of region 0."""
        found = self.table.windows[window]
        token = found.key if found is not None else 0x1800 | window
        token = fields.pop("token", token)
        segment = segment or Segment(BASE, LENGTH, self.keys.get(0, 0))
        slots = slots_of([segment], Segment(0, 0, token))
        return self.make(BIND, flags, qp, slots=slots, **fields)

    def fast_post(
        self, qp: int = OWN, region: int = FAST, flags: int = READ_FLAG, **fields: int
    ) -> Post:
        """A FastRegister of the present key of a region."""
        token = fields.pop("token", self.keys[region])
        length = fields.pop("length", LENGTH)
        slots = slots_of([Segment(BASE, length, 0)], Segment(0, 0, token))
        return self.make(FAST_REGISTER, flags, qp, slots=slots, **fields)

    def invalidate_post(self, token: int, qp: int = OWN, flags: int = 0) -> Post:
        """An Invalidate."""
        slots = slots_of([], Segment(0, 0, token))
        return self.make(INVALIDATE, flags, qp, slots=slots)

    def read_post(self, token: int, qp: int = OWN, flags: int = 0) -> Post:
        """A Read with RDMA_READ_LOCAL_INVALIDATE."""
        flags |= PostFlag.RDMA_READ_LOCAL_INVALIDATE
        return self.make(READ, flags, qp, slots=slots_of([Segment(BASE, 8, token)]))

    def work(self, qp: int = 0, late: bool = False) -> int:
        """The next work beat of a QP, behind its execution; returns its tag."""
        self.tick()
        found = self.posting.indicate(qp, late)
        if found.step is not None:
            self.key_lane(found.step)
            self.tick(1)
        self.add(WorkBeat(self.cycle, qp, found.last, found.tuser, found.post.encode()))
        if found.step is not None and not found.step.okay:
            self.fails(qp)
        return found.tag

    def executes(self, post: Post) -> int:
        """A local request from its post to its retirement; returns its status."""
        assert self.post(post) is Cause.OK
        self.work(post.qp)
        status = self.retire(post.qp).status
        cq = self.posting.qps[post.qp].config.send_cq
        self.doorbell(cq, polled=self.engine.cqs[cq].prod - self.engine.cqs[cq].cons)
        return status

    def bind(self, qp: int = OWN, window: int = 0, flags: int = READ_FLAG, **more: Any) -> int:
        """A Bind; returns its status."""
        status = self.executes(self.bind_post(qp, window, flags, **more))
        found = self.table.windows[window]
        self.tokens[window] = found.key if found is not None else 0
        return status

    def fast_register(self, qp: int = OWN, region: int = FAST, **more: int) -> int:
        """A FastRegister; returns its status."""
        status = self.executes(self.fast_post(qp, region, **more))
        found = self.table.regions[region]
        self.keys[region] = found.key if found is not None else 0
        return status

    def invalidate(self, token: int, qp: int = OWN) -> int:
        """An Invalidate; returns its status."""
        return self.executes(self.invalidate_post(token, qp))

    def read(self, token: int, qp: int = OWN, status: int = 0) -> Retirement:
        """A Read that invalidates, to its retirement."""
        assert self.post(self.read_post(token, qp)) is Cause.OK
        self.done(qp, self.work(qp), status)
        return self.retire(qp)

    def retire(self, qp: int = 0, write: bool = True) -> Retirement:
        """The oldest request retires, and its completion is published."""
        self.tick()
        model = self.posting.qps[qp]
        old = model.trace_state(4)
        end = model.retire()
        if end.step is not None:
            self.key_lane(end.step)
        operand = end.status | end.silent << 8 | end.skipped << 9 | end.cq << 16
        new = model.trace_state(4)
        self.add(Trace(self.cycle, 4, TraceOp.RETIRE, qp, False, 0, operand, old, new))
        if write:
            self.complete_cq(end.cq, end.cqe, end.silent)
        if end.step is not None and not end.step.okay and model.ending == model.connections:
            self.fails(qp)
        return end

    # -- messages ----------------------------------------------------------------------------------

    def take(self, request: RecvRequest, credit: bool | None = None) -> TakeResult:
        """The step of a message, if it has one, and that of its token, in the present cycle."""
        result = super().take(request, credit)
        if result.key is not None:
            self.key_lane(result.key)
        return result

    def answers(self, request: RecvRequest, result: TakeResult) -> None:
        """The answer is taken, and what it does to the state follows."""
        super().answers(request, result)
        if result.code is ScatterCode.BAD_TOKEN:
            self.ends(request.qp)

    # -- checks ------------------------------------------------------------------------------------

    def asks(self, request: CheckRequest) -> None:
        """A check is taken."""
        self.tick()
        self.add(AccessCheck(self.cycle, request.encode()))

    def decides(self, request: CheckRequest) -> CheckResult:
        """Its step in the present cycle, if it has one."""
        result = self.windows.check_beat(request.encode())
        if result.step is not None:
            self.key_lane(result.step)
        return result

    def judged(self, result: CheckResult) -> None:
        """The verdict is taken, and what it does to the state follows."""
        self.tick(1)
        self.add(AccessVerdict(self.cycle, result.tdata))
        if result.code not in (Verdict.GRANTED, Verdict.REFUSED):
            self.fails(result.qp)

    def check(
        self,
        key: int,
        qp: int = OWN,
        kind: int = Access.READ,
        address: int = BASE,
        length: int = 8,
        reserved: int = 0,
    ) -> int:
        """A check from its arrival to its verdict; returns the code."""
        request = CheckRequest(qp, kind, key, address, length, reserved)
        self.asks(request)
        self.tick(1)
        result = self.decides(request)
        self.judged(result)
        return result.code

    # -- whole scenarios ---------------------------------------------------------------------------

    def guards(self, two: bool = False, rights: int = 3) -> Self:
        """Regions, windows, an SRQ; guarded QPs: one with its own queue, two with the SRQ; and one
        QP that is not guarded.
        """
        self.ready(2, log2=4)
        self.register(0, rights=int(rights))
        self.allocate(FAST)
        for number in range(2):
            self.window(number)
        self.create_srq(0)
        for qp in (OWN, FIRST, SECOND):
            self.create_guarded(qp, None if qp == OWN else 0, qp % 2, two)
            self.connect(qp)
        self.create_guarded(OTHER, None, 0, guarded=False)
        self.connect(OTHER)
        return self

    def bound(self) -> Self:
        """Window 0 is valid on the QP with its own queue."""
        self.guards()
        assert self.bind() == 0
        return self

    def message_with(self, token: int, qp: int = OWN, length: int = 10) -> TakeResult:
        """A message that invalidates a token; with a buffer for it."""
        shared = self.receiving.rqs[qp].srq is not None
        assert self.receive(self.buffer(0 if shared else qp), shared) is Cause.OK
        return self.message(qp, length, invalidate=True, token=token, solicited=True)

    def all_windows(self, two: bool = False) -> Self:
        """A bit of everything that works."""
        self.guards(two)
        assert self.check(self.tokens[0]) == Verdict.BAD_KEY
        self.again(OWN)
        assert self.bind() == 0
        token = self.tokens[0]
        self.key_command(codes.Command.QUERY_MW)
        assert self.check(token) == Verdict.GRANTED
        assert self.check(token, OTHER) == Verdict.REFUSED
        assert self.check(token, FIRST) == Verdict.WRONG_QP
        assert self.mr_command(codes.Command.DEREGISTER_MR).result is CommandResult.CMD_BUSY
        result = self.message_with(token)
        assert result.code is ScatterCode.SCATTER
        self.report(OWN, result.tag)
        self.completes(OWN)
        self.doorbell(0, polled=2 if two else 1)
        assert self.fast_register() == 0
        self.mr_command(codes.Command.QUERY_MR, FAST)
        assert self.check(self.keys[FAST], kind=Access.WRITE) == Verdict.NO_RIGHT
        self.again(OWN)
        assert self.invalidate(self.keys[FAST]) == 0
        assert self.fast_register() == 0
        assert self.read(self.keys[FAST]).status == 0
        assert self.bind(SECOND, 1) == 0
        assert self.invalidate(self.tokens[1], SECOND) == 0
        assert self.message_with(self.tokens[1], SECOND).code is ScatterCode.BAD_TOKEN
        self.report(SECOND, 0, 1)
        self.completes(SECOND)
        assert self.invalidate(token) == 4
        assert self.executes(self.invalidate_post(77, OTHER)) == 0
        self.doorbell(0, polled=0)
        self.again(OWN)
        assert self.bind() == 0
        assert self.plain(codes.Command.QUERY_QP)[0] & 0xF == 2
        self.plain(codes.Command.DESTROY_QP)
        assert self.key_command(codes.Command.CLOSE_MW).result is CommandResult.OK
        assert self.mr_command(codes.Command.DEREGISTER_MR).result is CommandResult.OK
        self.remove()
        self.key_command(codes.Command.CREATE_MW, 3)
        assert self.post(self.make(qp=OWN)) is Cause.DEVICE_REMOVED
        assert self.check(token) == Verdict.REFUSED
        self.flush(OWN)
        self.plain(codes.Command.DESTROY_QP)
        return self

    def again(self, qp: int) -> None:
        """A QP whose connection has ended is connected again."""
        model = self.posting.qps[qp]
        while model.retirable:
            self.retire(qp)
        self.flush(qp)
        self.set_state(qp, 1)
        self.connect(qp)
