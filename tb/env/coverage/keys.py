# SPDX-License-Identifier: Apache-2.0
"""Functional coverage of keys, of requests that change them, and of device removal; of checks of
remote accesses: verdicts, rights, edges of ranges.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from models import codes
from models.codes import (
    KEY_STATUSES,
    Cause,
    PostFlag,
    QpState,
    ScatterCode,
    Status,
    TraceOp,
    Verdict,
)
from models.keys.window_types import CheckRequest
from models.layouts import KEY_REGION_BITS, WINDOW_BIT
from models.post.post import Post
from models.verbs import VERBS
from tb.env import defs
from tb.env.coverage.bins import CLEANUP, CLOSED, KINDS, NEAR, RACE, RIGHTS
from tb.env.coverage.memory import Asked, Group, Memory, QpMemory, Situation
from tb.env.coverage.receive import ReceiveCoverage
from tb.env.defs import KEY, KSTATE, TRC_BIND, TRC_INVALIDATE, VERDICT, Right
from tb.env.harness.records import (
    AccessCheck,
    AccessVerdict,
    Command,
    DoorbellResponse,
    ScatterAnswer,
    Trace,
    WorkBeat,
)

_OBJECT = KEY["number"].mask | KEY["window"].mask
_KEY, _VALID, _EXISTS, _ALLOCATED = (
    KSTATE[name].mask for name in ("key", "valid", "exists", "allocated")
)
_windows, _qp, _rights, _region = (
    KSTATE[name].get for name in ("windows", "qp", "rights", "region")
)
_status = TRC_BIND["status"].get  # of requests that change keys
_CLOSING = (int(codes.Command.DEREGISTER_MR), int(codes.Command.CLOSE_MW))
_OPEN = (QpState.CONNECTED, QpState.DISCONNECT_PENDING)
_VERB = {TraceOp.BIND: "Bind", TraceOp.FAST_REGISTER: "FastRegister"}


class _Invalidation(NamedTuple):
    cycle: int
    way: str
    okay: bool


class KeyCoverage(Group):
    """Situations of keys, of requests that change them, and of removal."""

    def __init__(self, situation: Situation, receive: ReceiveCoverage) -> None:
        super().__init__(situation)
        self._receive = receive
        num_qp = situation.params.num_qp
        #: Steps of local requests whose beats have not come, and the other way round.
        self._executed: list[deque[Trace]] = [deque() for _ in range(num_qp)]
        self._beats: list[deque[Post]] = [deque() for _ in range(num_qp)]
        self._bound_to: dict[int, int] = {}  # window: the QP that it was bound to last
        self._lives: set[int] = set()  # windows that were created
        self._had_windows: set[int] = set()  # regions
        self._local = -1  # QP of the latest local request
        self._latest_invalidation: dict[int, _Invalidation] = {}  # by key
        self._latest_check: dict[int, int] = {}  # by key: cycle
        self._window_contexts: dict[int, int] = {}

    def _shows(self, record: Trace) -> None:
        """The state of an object is known."""
        for state in (record.old, record.new):
            if state & _EXISTS:
                self.m.objects[state & _OBJECT] = state

    # -- requests ----------------------------------------------------------------------------------

    def _request_status(self, verb: str, status: int) -> None:
        if status in KEY_STATUSES:
            self.m.hit_if_known(f"request/{verb}, {Status(status).name}")

    def given(self, record: Trace) -> None:
        """BIND, FAST_REGISTER."""
        self._request_status(_VERB[TraceOp(record.op)], _status(record.operand))
        self._shows(record)
        self._local_step(record)

    def _local_step(self, record: Trace) -> None:
        if record.cq >= self.m.params.num_qp:
            return
        self.m.hit_if(self._local == record.cq, "request/two of one QP in a row")
        self._local = record.cq
        self._executed[record.cq].append(record)
        self._meet(record.cq)

    def work(self, record: WorkBeat) -> None:
        """A request is indicated."""
        if record.qp >= self.m.params.num_qp:
            return
        if not defs.WORK_USER["local"].get(record.user):
            self._local = -1
            return
        if self.m.guards.get(record.qp, True):
            self._beats[record.qp].append(Post.decode(record.data))
            self._meet(record.qp)

    def _meet(self, qp: int) -> None:
        """A local request has both its step and its beat."""
        if not self._executed[qp] or not self._beats[qp]:
            return
        step, post = self._executed[qp].popleft(), self._beats[qp].popleft()
        self.m.hit_if(post.has(PostFlag.READ_FENCE), "request/after a fence")
        status = _status(step.operand)
        if step.op == TraceOp.BIND:
            self._bound(step, post, status)
        elif step.op == TraceOp.FAST_REGISTER and not status and post.segments:
            segment = post.segments[0]
            memory = Memory(segment.address, segment.length, _rights(step.new))
            self.m.memory[step.new & _KEY] = memory

    def _bound(self, step: Trace, post: Post, status: int) -> None:
        segment = post.segments[0] if post.segments else None
        if status == Status.BAD_MEMORY:
            self._bad_memory(post)
        if status or segment is None:
            return
        number, region = step.new & _OBJECT, segment.key & _OBJECT
        rights = _rights(step.new)
        memory = self.m.memory.get(segment.key)
        self.m.memory[step.new & _KEY] = Memory(segment.address, segment.length, rights, region)
        last = self._bound_to.get(number)
        if last is not None:
            self.m.hit(f"bind/{'the same' if last == step.cq else 'another'} QP "
                      f"{'as' if last == step.cq else 'than'} before")  # fmt: skip
        self._bound_to[number] = step.cq
        self._had_windows.add(region)
        self.m.hit_if(segment.length == 1, "bind/one byte")
        if memory is not None and (memory.base, memory.length) == (segment.address, segment.length):
            self.m.hit("bind/all of its region")
        state = self.m.objects.get(region, 0)
        self.m.hit_if(state & _ALLOCATED, "bind/to a region by FastRegister")
        others = [
            s for n, s in self.m.objects.items()
            if n & WINDOW_BIT and n != number and s & _VALID and _region(s) == region
        ]  # fmt: skip
        self.m.hit_if(others, "bind/two windows of one region")

    def _bad_memory(self, post: Post) -> None:
        if not post.segments:
            self.m.hit("bind memory/no segment")
            return
        segment = post.segments[0]
        state = self.m.objects.get(segment.key & _OBJECT, 0)
        memory = self.m.memory.get(segment.key)
        valid = state & _VALID and state & _KEY == segment.key
        self.m.hit_if(not segment.length, "bind memory/length 0")
        if not valid:
            self.m.hit("bind memory/key not valid")
            return
        if memory is None:
            return
        end = segment.address + segment.length
        self.m.hit_if(segment.address == memory.base - 1, "bind memory/one byte before")
        if segment.address >= memory.base and end == memory.end + 1:
            self.m.hit("bind memory/one byte beyond")
        if post.has(PostFlag.REMOTE_WRITE_BIT) and not _rights(state) & Right.LOCAL_WRITE:
            self.m.hit("bind memory/write without local write")

    def retire(self, record: Trace, qp: QpMemory) -> None:
        """RETIRE, before its other bins."""
        post = qp.requests[0][0] if qp.requests else None
        self.m.hit_if(self.m.removed, "removal/completion after it")
        skipped = defs.TRC_RETIRE["skipped"].get(record.operand)
        if post is not None and VERBS[post.opcode].changes_keys and skipped:
            self.m.hit("request/skipped, of keys")

    # -- invalidation ------------------------------------------------------------------------------

    def invalidated(self, record: Trace) -> None:
        status, peer, read = TRC_INVALIDATE.unpack(record.operand).values()
        way = "peer" if peer else "Read" if read else "request"
        state = record.old
        if way != "peer":
            self._request_status("Invalidate" if way == "request" else "Read", status)
        if way == "request":
            self._local_step(record)
        if not state & _EXISTS:
            self.m.hit(f"invalidate/{way}, no object")
            return
        number, key = state & _OBJECT, state & _KEY
        thing = "window" if number & WINDOW_BIT else "region"
        if not status:
            self.m.hit(f"invalidate/{way}, {thing}, valid")
        elif not state & _VALID:
            self.m.hit(f"invalidate/{way}, {thing}, invalid")
        elif thing == "region" and not state & _ALLOCATED:
            self.m.hit("invalidate/region by a command")
        elif _qp(state) != record.cq:
            self.m.hit(f"invalidate/{way}, {thing}, of another QP")
        elif thing == "region" and _windows(state):
            self.m.hit("invalidate/region with windows")
        else:
            self.m.hit(f"invalidate/{way}, {thing}, old key")
        self._race(record, way, key, thing, not status)
        self._shows(record)

    def _race(self, record: Trace, way: str, key: int, thing: str, okay: bool) -> None:
        last = self._latest_invalidation.get(key)
        if last is not None and last.okay and not okay and record.cycle - last.cycle <= RACE:
            self.m.hit_if_known(f"race/{last.way} then {way}, {thing}")
        if last is None or not last.okay:
            self._latest_invalidation[key] = _Invalidation(record.cycle, way, okay)
        if okay and key in self._latest_check:
            self._near(self._latest_check[key] - record.cycle, way)

    def check_step(self, record: Trace) -> None:
        if not record.old & _EXISTS:
            return
        key = record.old & _KEY
        self._latest_check[key] = record.cycle
        last = self._latest_invalidation.get(key)
        if last is not None and last.okay:
            self._near(record.cycle - last.cycle, last.way)

    def _near(self, cycles: int, way: str) -> None:
        if cycles in NEAR:
            self.m.hit(f"race/check {NEAR[cycles]} invalidation by {way}")

    # -- messages ----------------------------------------------------------------------------------

    def answered(self, record: ScatterAnswer) -> None:
        """A message was answered."""
        request = self._receive.latest_answered
        code = defs.SCATTER_USER["code"].get(record.user)
        if request is None or code > max(ScatterCode):
            return
        self.m.hit_if(self.m.removed and code == ScatterCode.REFUSED, "removal/request refused")
        if not request.invalidate:
            return
        if self.m.guards.get(request.qp, True):
            self.m.hit(f"token/{ScatterCode(code).name}")
        elif code == ScatterCode.SCATTER:
            self.m.hit("token/of a QP that is not guarded")

    def received(self, record: Trace) -> None:
        """RECEIVE."""
        receiver = self.m.receivers[record.cq]
        taken = self._receive.latest_completed
        self.m.hit_if(self.m.removed, "removal/receive completion after it")
        request = None if taken is None else taken.request
        if request is None or not self.m.guards.get(record.cq, True):
            return
        two, status = receiver.config.two, defs.TRC_RECEIVE["status"].get(record.operand)
        if not request.invalidate:
            self.m.hit_if(two, "completion/two, no token")
            return
        good = {0: "valid", int(Status.INVALID_TOKEN): "bad token"}.get(status)
        if good is not None:
            mode, queue = "two" if two else "one", "own" if receiver.config.srq is None else "SRQ"
            mark = "solicited" if request.solicited else "plain"
            self.m.hit(f"completion/{mode}, {queue}, {mark}, {good}")
            if two and not status and not self._window_contexts.get(request.token & _OBJECT, 1):
                self.m.hit("completion/context 0")

    # -- commands ----------------------------------------------------------------------------------

    def key_command(self, record: Trace) -> None:
        state = record.old if record.operand in _CLOSING else record.new
        number = state & _OBJECT
        if record.operand == codes.Command.CREATE_MW:
            self.m.hit_if(number in self._lives, "close/created again")
            self._lives.add(number)
            self._bound_to.pop(number, None)
        elif record.operand == codes.Command.CLOSE_MW:
            valid = state & _VALID
            never = number not in self._bound_to
            self.m.hit(f"close/{'valid' if valid else 'never bound' if never else 'invalidated'}")
            self.m.closed.add(state & _KEY)
        elif record.operand == codes.Command.DEREGISTER_MR:
            self._deregistered(state)
        self._shows(record)
        if record.operand in _CLOSING:
            self.m.objects.pop(number, None)

    def _deregistered(self, state: int) -> None:
        number = state & _OBJECT
        if not state & _ALLOCATED:
            self.m.hit("deregister/by a command")
        elif state & _VALID:
            self.m.hit("deregister/valid by FastRegister")
        else:
            known = any(key & _OBJECT == number for key in self.m.memory)
            self.m.hit(f"deregister/{'invalidated' if known else 'never valid'}")
        self.m.hit_if(number in self._had_windows, "deregister/after its windows")
        self._had_windows.discard(number)
        self.m.memory = {k: m for k, m in self.m.memory.items() if k & _OBJECT != number}

    def command(self, record: Command) -> None:
        """Any command."""
        if self.m.removed and not record.result and record.code in CLEANUP:
            self.m.hit(f"removal/{CLEANUP[record.code]} works")
        if record.result:
            return
        args = record.args
        if record.code == codes.Command.CREATE_MW:
            self._window_contexts[args[0] | WINDOW_BIT] = args[1] | args[2] << 32
        elif record.code == codes.Command.CREATE_QP:
            self.m.guards[args[0]] = bool(defs.QP_RECV["guarded"].get(args[7]))
        elif record.code == codes.Command.REGISTER_MR:
            base, length = args[1] | args[2] << 32, args[3] | args[4] << 32
            self.m.memory[record.outs[0]] = Memory(base, length, defs.MR["rights"].get(args[5]))

    # -- removal -----------------------------------------------------------------------------------

    def removal(self, _: Trace) -> None:
        self.m.removed = True
        open_ = [qp for qp in self.m.qps if qp.state in _OPEN]
        found = {
            "held post": any(held for qp in open_ for _, held in qp.requests),
            "released post": any(qp.released != qp.indicated for qp in open_),
            "indicated request": any(qp.tags for qp in open_),
            "buffer available": any(r.buffers for r in self.m.receivers)
            or any(srq.buffers for srq in self.m.srqs),
            "buffer in flight": any(not t.reported for r in self.m.receivers for t in r.taken),
            "request without an answer": bool(self.m.messages),
            "check without a verdict": bool(self.m.asked),
            "valid window": any(
                n & WINDOW_BIT and state & _VALID for n, state in self.m.objects.items()
            ),
            "QP in DISCONNECT_PENDING": any(qp.state is QpState.DISCONNECT_PENDING for qp in open_),
            "two or more QPs connected": len(open_) > 1,
        }
        found["nothing"] = not any(found.values()) and not open_
        for name, hit in found.items():
            self.m.hit_if(hit, f"removal/{name}")

    def response(self, record: DoorbellResponse, offset: int) -> None:
        """An answer to a write to this offset."""
        name = {0x000: "post", 0x040: "receive post", 0x080: "shared receive post"}.get(offset)
        removed = record.cause == Cause.DEVICE_REMOVED
        if removed and name is not None:
            self.m.hit(f"removal/{name} refused")


_TOP = 1 << 64
_OBJECT = (1 << KEY_REGION_BITS) - 1
_key, _valid, _qp, _rights = (KSTATE[name].get for name in ("key", "valid", "qp", "rights"))


class AccessCoverage(Group):
    """Situations of checks."""

    def __init__(self, situation: Situation) -> None:
        super().__init__(situation)
        self._refused_one: set[int] = set()  # QPs with a refused check, until they connect

    def checked(self, record: AccessCheck) -> None:
        asked = Asked(CheckRequest.decode(record.data))
        qp = asked.request.qp
        if qp < self.m.params.num_qp:
            asked.states.add(self.m.qps[qp].state)
            if asked.states == {QpState.DISCONNECT_PENDING}:
                self.m.hit("check/in DISCONNECT_PENDING")
        self.m.asked.append(asked)

    def state(self, record: Trace, _: QpMemory) -> None:
        """QP_STATE, after its other bins."""
        state = self.m.qps[record.cq].state
        if state is QpState.CONNECTED:
            self._refused_one.discard(record.cq)
        for asked in self.m.asked:
            if asked.request.qp == record.cq:
                asked.states.add(state)

    def judged(self, record: AccessVerdict) -> None:
        if not self.m.asked:
            return
        asked = self.m.asked.popleft()
        request, code = asked.request, record.data >> VERDICT["code"].lsb
        kind = KINDS.get(request.kind)
        if code == Verdict.REFUSED:
            if kind is not None:
                self.m.hit(f"verdict/REFUSED, {kind}")
            self._refused(asked)
            return
        if code > Verdict.REFUSED or kind is None:
            return
        window = bool(request.key & WINDOW_BIT)
        thing = "window" if window else "region"
        self.m.hit(f"verdict/{Verdict(code).name}, {kind}, {thing}")
        self.m.hit_if(request.qp in self._refused_one, "check/after a refused one")
        if code != Verdict.GRANTED:
            self._refused_one.add(request.qp)
        if not request.length:
            self._no_byte(request, thing)
            return
        if code == Verdict.BAD_KEY:
            self._bad_key(request.key, thing)
            return
        memory = self.m.memory.get(request.key)
        if memory is None:
            return
        if code == Verdict.WRONG_QP:
            self.m.hit_if(not window, "check/region of another zone")
            return
        self._right(request, memory, code, thing)
        if code != Verdict.NO_RIGHT:
            self._range(request, memory, thing)

    def _refused(self, asked: Asked) -> None:
        request = asked.request
        self.m.hit_if(self.m.removed, "removal/check refused")
        if request.qp >= self.m.params.num_qp:
            self.m.hit("check/refused, QP out of range")
        elif request.kind not in KINDS:
            self.m.hit(f"check/refused, kind {request.kind}")
        elif request.reserved:
            self.m.hit("check/refused, reserved bits")
        else:
            closed = {state.name for state in asked.states & set(CLOSED)}
            for name in closed:
                self.m.hit(f"check/refused, {name}")
            if not closed and not self.m.guards.get(request.qp, True):
                self.m.hit("check/refused, not guarded")

    def _no_byte(self, request: CheckRequest, thing: str) -> None:
        state = self.m.objects.get(request.key & _OBJECT, 0)
        if not _valid(state) or _key(state) != request.key:
            self.m.hit("check/0 bytes, key not valid")
            return
        if thing == "window" and _qp(state) != request.qp:
            self.m.hit("check/0 bytes, of another QP")
        self.m.hit_if(not _rights(state) & 2 * request.kind, "check/0 bytes, right missing")
        memory = self.m.memory.get(request.key)
        if memory is not None:
            inside = memory.base <= request.address < memory.end
            self.m.hit(f"range/length 0 {'inside' if inside else 'outside'}, {thing}")

    def _bad_key(self, key: int, thing: str) -> None:
        state = self.m.objects.get(key & _OBJECT, 0)
        if _valid(state) and _key(state) != key and key in self.m.memory:
            self.m.hit(f"check/old key of a valid {thing}")
        self.m.hit_if(key in self.m.closed, "check/closed window")

    def _right(self, request: CheckRequest, memory: Memory, code: int, thing: str) -> None:
        kind = KINDS[request.kind]
        self.m.hit(f"right/{thing} allows {RIGHTS[memory.rights & ~Right.LOCAL_WRITE]}, {kind}")
        if thing == "region":
            return
        region = _rights(self.m.objects.get(memory.region, 0))
        needed = 2 * request.kind
        if code == Verdict.NO_RIGHT and region & needed:
            self.m.hit("right/region has it, window has not")
        elif code != Verdict.NO_RIGHT and not region & needed:
            self.m.hit("right/window has it, region has not")

    def _range(self, request: CheckRequest, memory: Memory, thing: str) -> None:
        first, length = request.address, request.length
        end = first + length
        inside = memory.base <= first < memory.end
        for edge, hit in (
            ("first byte", first == memory.base and end <= memory.end),
            ("last byte", inside and end == memory.end),
            ("all bytes", (first, length) == (memory.base, memory.length)),
            ("one before", first == memory.base - 1),
            ("one beyond", first < memory.end and end == memory.end + 1),
            ("far away", end < memory.base or memory.end < first),
            ("wraps", end > _TOP),
            ("ends at 2^64", inside and end == memory.end == _TOP),
        ):
            self.m.hit_if(hit, f"range/{edge}, {thing}")
