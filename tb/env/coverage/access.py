# SPDX-License-Identifier: Apache-2.0
"""Functional coverage of checks of remote accesses: verdicts, rights, edges of ranges."""

from __future__ import annotations

from models.codes import QpState, Verdict
from models.keys.window_types import CheckRequest
from models.layouts import KEY_REGION_BITS, WINDOW_BIT
from tb.env.coverage.keys_bins import CLOSED, KINDS, RIGHTS
from tb.env.coverage.memory import Asked, Group, Memory, QpMemory, Situation
from tb.env.defs import KSTATE, VERDICT, Right
from tb.env.harness.records import AccessCheck, AccessVerdict, Trace

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
        self.m.hit_if(request.qp in self._refused_one, "check/behind a refused one")
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
            closed = {state.name for state in asked.states} & set(CLOSED)
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
