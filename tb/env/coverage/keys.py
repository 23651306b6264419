# SPDX-License-Identifier: Apache-2.0
"""Functional coverage of keys, of requests that change them, and of device removal; of checks of
remote accesses: verdicts, rights, edges of ranges.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import NamedTuple

from models import codes
from models.codes import Cause, PostFlag, QpState, ScatterCode, Status, TraceOp, Verdict
from models.keys.window_types import CheckRequest
from models.layouts import WINDOW_BIT
from models.post.post import Post
from models.verbs import VERBS
from tb.env import defs
from tb.env.coverage.bins import CLEANUP, CLOSED, KINDS, NEAR, RACE, RIGHTS
from tb.env.coverage.group import EngineGroup
from tb.env.defs import KEY, KSTATE, TRC_BIND, TRC_INVALIDATE, VERDICT, Right
from tb.env.harness import records as beats
from tb.env.harness.records import Command, DoorbellResponse, Trace
from tb.env.scoreboard.post.context import OPEN
from tb.env.scoreboard.scoreboard import Scoreboard

_OBJECT = KEY["number"].mask | KEY["window"].mask
_KEY, _VALID, _EXISTS, _ALLOCATED = (
    KSTATE[name].mask for name in ("key", "valid", "exists", "allocated")
)
_windows, _qp = KSTATE["windows"].get, KSTATE["qp"].get
_status = TRC_BIND["status"].get  # of requests that change keys
_CLOSING = (int(codes.Command.DEREGISTER_MR), int(codes.Command.CLOSE_MW))
_TOP = 1 << 64
_NEVER = -(1 << 32)
#: Answers of a removed device, by offset of the write.
_REFUSED = {0x000: "post", 0x040: "receive post", 0x080: "shared receive post"}


class _Invalidation(NamedTuple):
    cycle: int
    way: str


class _Memory(NamedTuple):
    """What a valid key gives access to: its range and its rights."""

    base: int
    length: int
    rights: int

    @property
    def end(self) -> int:
        """The address after the last byte."""
        return self.base + self.length


def _thing(key: int) -> str:
    return "window" if key & WINDOW_BIT else "region"


class KeyCoverage(EngineGroup):
    """Situations of keys, of requests that change them, of checks, and of removal."""

    def __init__(self, counts: Counter[str], board: Scoreboard) -> None:
        super().__init__(counts, board)
        self._bound_to: dict[int, int] = {}  # window: the QP that it was bound to last
        self._lives: set[int] = set()  # windows that were created
        self._had_windows: set[int] = set()  # regions
        self._given: set[int] = set()  # keys that were valid, of what still exists or is a window
        self._closed: set[int] = set()  # keys of windows that were closed
        self._local = -1  # QP of the latest local request
        self._invalidations: dict[int, _Invalidation] = {}  # by key
        self._checks: dict[int, deque[int]] = {}  # cycles of the latest two, by key
        self._refused_one: set[int] = set()  # QPs with a refused check in this connection
        self.steps = {
            (3, TraceOp.QP_STATE): (self.state,),
            (4, TraceOp.RETIRE): (self.retire,),
            (7, TraceOp.RECEIVE): (self.received,),
            (8, TraceOp.BIND): (self.local_step, self.bind),
            (8, TraceOp.FAST_REGISTER): (self.local_step, self.fast_register),
            (8, TraceOp.INVALIDATE): (self.invalidate,),
            (8, TraceOp.KEY_COMMAND): (self.key_command,),
            (8, TraceOp.REMOVED): (self.removal,),
            (9, TraceOp.CHECK): (self.check,),
        }
        self.pins = {
            beats.WorkBeat: self.work,
            beats.ScatterAnswer: self.answered,
            beats.AccessCheck: self.checked,
            beats.AccessVerdict: self.verdict,
        }
        self.answers = dict.fromkeys(_REFUSED, self.response)
        self.commands = dict.fromkeys(CLEANUP, self.cleanup)

    def _memory(self, key: int) -> _Memory | None:
        """What a key gives access to, if it is valid."""
        if (window := self.table.valid_window(key)) is not None:
            return _Memory(window.base, window.length, window.rights)
        if (region := self.table.find(key)) is not None:
            return _Memory(region.config.base, region.config.length, int(region.config.rights))
        return None

    def _guarded(self, qp: int) -> bool:
        """Tokens that reach a QP are looked at, as far as there is one."""
        return qp >= self.params.num_qp or self.qps[qp].guarded

    # -- requests ----------------------------------------------------------------------------------

    def _request_status(self, verb: str, status: int) -> None:
        self.hit_if_known(f"request/{verb}, {Status(status).name}")

    def local_step(self, record: Trace) -> None:
        """A request that changes keys is executed."""
        self.hit_if(self._local == record.cq, "request/two of one QP in a row")
        self._local = record.cq
        fenced = self.checks.keys.latest.post.has(PostFlag.READ_FENCE)
        self.hit_if(fenced, "request/after a fence")

    def work(self, record: beats.WorkBeat) -> None:
        """A request is indicated."""
        if not defs.WORK_USER["local"].get(record.user):
            self._local = -1

    def fast_register(self, record: Trace) -> None:
        status = _status(record.operand)
        self._request_status("FastRegister", status)
        if not status:
            self._given.add(record.new & _KEY)

    def bind(self, record: Trace) -> None:
        status, post = _status(record.operand), self.checks.keys.latest.post
        self._request_status("Bind", status)
        if status == Status.BAD_MEMORY:
            self._bad_memory(post)
        if status:
            return
        segment, number = post.segments[0], record.new & _OBJECT
        region = self.table.region(segment.key)
        assert region is not None
        last = self._bound_to.get(number)
        config = region.config
        cases = {
            "the same QP as before": last == record.cq,
            "another QP than before": last not in (None, record.cq),
            "one byte": segment.length == 1,
            "all of its region": (config.base, config.length) == (segment.address, segment.length),
            "to a region by FastRegister": region.allocated,
            "two windows of one region": region.windows > 1,
        }
        self.hit_each("bind", cases)
        self._bound_to[number] = record.cq
        self._had_windows.add(segment.key & _OBJECT)
        self._given.add(record.new & _KEY)

    def _bad_memory(self, post: Post) -> None:
        if not post.segments:
            self.hit("bind memory/no segment")
            return
        segment = post.segments[0]
        memory = self._memory(segment.key)
        self.hit_if(not segment.length, "bind memory/length 0")
        if memory is None:
            self.hit("bind memory/key not valid")
            return
        first, end = segment.address, segment.address + segment.length
        write = post.has(PostFlag.REMOTE_WRITE_BIT) and not memory.rights & Right.LOCAL_WRITE
        cases = {
            "one byte before": first == memory.base - 1,
            "one byte beyond": first >= memory.base and end == memory.end + 1,
            "write without local write": write,
        }
        self.hit_each("bind memory", cases)

    def retire(self, record: Trace) -> None:
        self.hit_if(self.table.removed, "removal/completion after it")
        changes_keys = VERBS[self.checks.retire.latest.post.opcode].changes_keys
        skipped = defs.TRC_RETIRE["skipped"].get(record.operand)
        self.hit_if(changes_keys and skipped, "request/skipped, of keys")

    # -- invalidation ------------------------------------------------------------------------------

    def invalidate(self, record: Trace) -> None:
        status, peer, read = TRC_INVALIDATE.unpack(record.operand).values()
        way = "peer" if peer else "Read" if read else "request"
        state = record.old
        if way != "peer":
            self._request_status("Invalidate" if way == "request" else "Read", status)
        if way == "request":
            self.local_step(record)
        if not state & _EXISTS:
            self.hit(f"invalidate/{way}, no object")
            return
        key = state & _KEY
        thing = _thing(key)
        if not status:
            self.hit(f"invalidate/{way}, {thing}, valid")
        elif not state & _VALID:
            self.hit(f"invalidate/{way}, {thing}, invalid")
        elif thing == "region" and not state & _ALLOCATED:
            self.hit("invalidate/region by a command")
        elif _qp(state) != record.cq:
            self.hit(f"invalidate/{way}, {thing}, of another QP")
        elif thing == "region" and _windows(state):
            self.hit("invalidate/region with windows")
        else:
            self.hit(f"invalidate/{way}, {thing}, old key")
        self._race(record, way, key, not status)

    def _race(self, record: Trace, way: str, key: int, okay: bool) -> None:
        """A key is valid no more once: what comes close to that."""
        if okay:
            self._invalidations[key] = _Invalidation(record.cycle, way)
            # Of checks the one of this cycle, told already, and the latest one before it.
            *before, last_check = self._checks.get(key, (_NEVER,))
            for cycle in (last_check, *(before if last_check == record.cycle else ())):
                self._near(cycle - record.cycle, way)
        elif (last := self._invalidations.get(key)) and record.cycle - last.cycle <= RACE:
            self.hit_if_known(f"race/{last.way} then {way}, {_thing(key)}")

    def _near(self, cycles: int, way: str) -> None:
        if cycles in NEAR:
            self.hit(f"race/check {NEAR[cycles]} invalidation by {way}")

    # -- messages ----------------------------------------------------------------------------------

    def answered(self, record: beats.ScatterAnswer) -> None:
        """A message was answered."""
        request = self.checks.takes.answered.request
        code = ScatterCode(defs.SCATTER_USER["code"].get(record.user))
        refused = code is ScatterCode.REFUSED
        self.hit_if(self.table.removed and refused, "removal/request refused")
        if not request.invalidate:
            return
        if self._guarded(request.qp):
            self.hit(f"token/{code.name}")
        elif code is ScatterCode.SCATTER:
            self.hit("token/of a QP that is not guarded")

    def received(self, record: Trace) -> None:
        config, taken = self.rqs[record.cq].config, self.checks.receives.latest
        self.hit_if(self.table.removed, "removal/receive completion after it")
        request = taken.request
        if request is None or not config.guarded:
            return
        status = defs.TRC_RECEIVE["status"].get(record.operand)
        if not request.invalidate:
            self.hit_if(config.two, "completion/two, no token")
            return
        good = {0: "valid", int(Status.INVALID_TOKEN): "bad token"}.get(status)
        if good is not None:
            mode, queue = "two" if config.two else "one", "own" if taken.srq is None else "SRQ"
            mark = "solicited" if request.solicited else "plain"
            self.hit(f"completion/{mode}, {queue}, {mark}, {good}")
            window = request.token & WINDOW_BIT and taken.key
            if config.two and not status and window and not window.context:
                self.hit("completion/context 0")

    # -- commands ----------------------------------------------------------------------------------

    def key_command(self, record: Trace) -> None:
        state = record.old if record.operand in _CLOSING else record.new
        number, valid = state & _OBJECT, state & _VALID
        if record.operand == codes.Command.CREATE_MW:
            self.hit_if(number in self._lives, "close/created again")
            self._lives.add(number)
            self._bound_to.pop(number, None)
        elif record.operand == codes.Command.CLOSE_MW:
            never = number not in self._bound_to
            self.hit(f"close/{'valid' if valid else 'never bound' if never else 'invalidated'}")
            self._closed.add(state & _KEY)
        elif record.operand == codes.Command.REGISTER_MR:
            self._given.add(state & _KEY)
        elif record.operand == codes.Command.DEREGISTER_MR:
            keys = {key for key in self._given if key & _OBJECT == number}
            if not state & _ALLOCATED:
                self.hit("deregister/by a command")
            elif valid:
                self.hit("deregister/valid by FastRegister")
            else:
                self.hit(f"deregister/{'invalidated' if keys else 'never valid'}")
            self.hit_if(number in self._had_windows, "deregister/after its windows")
            self._had_windows.discard(number)
            self._given -= keys

    def cleanup(self, record: Command) -> None:
        """A command that a removed device executes."""
        self.hit_if(self.table.removed, f"removal/{CLEANUP[record.code]} works")

    # -- removal -----------------------------------------------------------------------------------

    def removal(self, _: Trace) -> None:
        open_ = [qp for qp in self.qps if qp.state in OPEN]
        requests = [request for qp in open_ for request in qp.requests]
        index = self.params.index
        cases = {
            "held post": any(qp.held for qp in open_),
            "released post": any(
                qp.state is QpState.CONNECTED and self.taken(qp.number) != index(qp.released)
                for qp in open_
            ),
            "indicated request": any(r.tag is not None and r.status is None for r in requests),
            "buffer available": any(queue.buffers for queue in (*self.rqs, *self.srqs)),
            "buffer in flight": any(rq.in_flight for rq in self.rqs),
            "request without an answer": bool(self.checks.takes.requests),
            "check without a verdict": bool(self.checks.access.requests),
            "valid window": any(w is not None and w.valid for w in self.table.windows),
            "QP in DISCONNECT_PENDING": any(qp.state is QpState.DISCONNECT_PENDING for qp in open_),
            "two or more QPs connected": len(open_) > 1,
        }
        self.hit_each("removal", cases)
        self.hit_if(not any(cases.values()) and not open_, "removal/nothing")

    def response(self, record: DoorbellResponse, offset: int) -> None:
        """An answer to a write to this offset."""
        removed = record.cause == Cause.DEVICE_REMOVED
        self.hit_if(removed, f"removal/{_REFUSED[offset]} refused")

    # -- checks of accesses ------------------------------------------------------------------------

    def state(self, record: Trace) -> None:
        if self.qps[record.cq].state is QpState.CONNECTED:
            self._refused_one.discard(record.cq)

    def checked(self, _: object) -> None:
        """A check has come."""
        qp = self.checks.access.requests[-1].request.qp
        pending = qp < self.params.num_qp and self.qps[qp].state is QpState.DISCONNECT_PENDING
        self.hit_if(pending, "check/in DISCONNECT_PENDING")

    def verdict(self, record: beats.AccessVerdict) -> None:
        """A verdict that no key has decided."""
        if record.data >> VERDICT["code"].lsb != Verdict.REFUSED:
            return
        waiting = self.checks.access.answered
        request = waiting.request
        kind = KINDS.get(request.kind)
        self.hit_if(kind, f"verdict/REFUSED, {kind}")
        self.hit_if(self.table.removed, "removal/check refused")
        if request.qp >= self.params.num_qp:
            self.hit("check/refused, QP out of range")
        elif kind is None:
            self.hit(f"check/refused, kind {request.kind}")
        elif request.reserved:
            self.hit("check/refused, reserved bits")
        elif closed := self.states(request.qp, waiting.cycle) & set(CLOSED):
            for state in closed:
                self.hit(f"check/refused, {state.name}")
        elif not self._guarded(request.qp):
            self.hit("check/refused, not guarded")

    def check(self, record: Trace) -> None:
        """CHECK: by its key."""
        request, code = self.checks.access.decided.request, self.checks.access.decided.code
        assert code is not None
        if record.old & _EXISTS:
            key = record.old & _KEY
            self._checks.setdefault(key, deque(maxlen=2)).append(record.cycle)
            if last := self._invalidations.get(key):
                self._near(record.cycle - last.cycle, last.way)
        kind, thing = KINDS[request.kind], _thing(request.key)
        self.hit(f"verdict/{Verdict(code).name}, {kind}, {thing}")
        self.hit_if(request.qp in self._refused_one, "check/after a refused one")
        if code != Verdict.GRANTED:
            self._refused_one.add(request.qp)
        memory = self._memory(request.key)
        if not request.length:
            self._no_byte(request, memory, thing)
        elif memory is None:
            self._bad_key(request.key, thing)
        elif code == Verdict.WRONG_QP:
            self.hit_if(thing == "region", "check/region of another zone")
        else:
            self._right(request, memory, code, thing)
            if code != Verdict.NO_RIGHT:
                self._range(request, memory, thing)

    def _no_byte(self, request: CheckRequest, memory: _Memory | None, thing: str) -> None:
        if memory is None:
            self.hit("check/0 bytes, key not valid")
            return
        another = thing == "window" and self.table.state(request.key).qp != request.qp
        self.hit_if(another, "check/0 bytes, of another QP")
        self.hit_if(not memory.rights & 2 * request.kind, "check/0 bytes, right missing")
        inside = memory.base <= request.address < memory.end
        self.hit(f"range/length 0 {'inside' if inside else 'outside'}, {thing}")

    def _bad_key(self, key: int, thing: str) -> None:
        old = self.table.state(key).valid and key in self._given
        self.hit_if(old, f"check/old key of a valid {thing}")
        self.hit_if(key in self._closed, "check/closed window")

    def _right(self, request: CheckRequest, memory: _Memory, code: int, thing: str) -> None:
        kind = KINDS[request.kind]
        self.hit(f"right/{thing} allows {RIGHTS[memory.rights & ~Right.LOCAL_WRITE]}, {kind}")
        if thing == "window":
            region = self.table.regions[self.table.state(request.key).region]
            has = region is not None and region.config.rights & 2 * request.kind
            missing = code == Verdict.NO_RIGHT
            self.hit_if(has and missing, "right/region has it, window has not")
            self.hit_if(not has and not missing, "right/window has it, region has not")

    def _range(self, request: CheckRequest, memory: _Memory, thing: str) -> None:
        first, length = request.address, request.length
        end = first + length
        inside = memory.base <= first < memory.end
        cases = {
            "first byte": first == memory.base and end <= memory.end,
            "last byte": inside and end == memory.end,
            "all bytes": (first, length) == (memory.base, memory.length),
            "one before": first == memory.base - 1,
            "one beyond": first < memory.end and end == memory.end + 1,
            "far away": end < memory.base or memory.end < first,
            "wraps": end > _TOP,
            "ends at 2^64": inside and end == memory.end == _TOP,
        }
        self.hit_each("range", cases, f", {thing}")
