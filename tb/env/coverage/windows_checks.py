# SPDX-License-Identifier: Apache-2.0
"""Functional coverage of checks of remote accesses: verdicts, rights, edges of ranges."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from models.codes import QpState, Verdict
from models.keys.window_types import CheckRequest
from models.layouts import WINDOW_BIT
from models.params import Params
from tb.env.coverage.receive import ReceiveCoverage
from tb.env.coverage.windows_bins import CLOSED, KINDS, RIGHTS, WINDOW_BINS
from tb.env.harness.records import AccessCheck, AccessVerdict, Trace

_TOP = 1 << 64


@dataclass(frozen=True)
class Memory:
    """What coverage remembers of a key: its range, its rights, and of a window its region."""

    base: int
    length: int
    rights: int = 0
    region: int = 0

    @property
    def end(self) -> int:
        """The address behind the last byte."""
        return self.base + self.length


@dataclass
class Asked:
    """A check without a verdict, with the states that its QP had."""

    request: CheckRequest
    states: set[QpState] = field(default_factory=set)


class AccessCoverage(ReceiveCoverage):
    """Situations of checks."""

    def __init__(self, params: Params) -> None:
        super().__init__(params)
        self._by_type[AccessCheck] = self._checked
        self._by_type[AccessVerdict] = self._judged

    def _begin(self) -> None:
        super()._begin()
        self._asked: deque[Asked] = deque()
        self._memory: dict[int, Memory] = {}  # by key
        self._objects: dict[int, int] = {}  # bits 11:0 of a key: state
        self._closed: set[int] = set()  # keys of windows that were closed
        self._removed = False
        self._refused_one: set[int] = set()  # QPs with a refused check, until they connect
        self._guards: dict[int, bool] = {}

    def _checked(self, record: AccessCheck) -> None:
        asked = Asked(CheckRequest.decode(record.data))
        qp = asked.request.qp
        if qp < self.params.num_qp:
            asked.states.add(self._qps[qp].state)
            if asked.states == {QpState.DISCONNECT_PENDING}:
                self._hit("check/in DISCONNECT_PENDING")
        self._asked.append(asked)

    def _after_state(self, record: Trace) -> None:
        super()._after_state(record)
        if record.cq >= self.params.num_qp:
            return
        state = self._qps[record.cq].state
        if state is QpState.CONNECTED:
            self._refused_one.discard(record.cq)
        for asked in self._asked:
            if asked.request.qp == record.cq:
                asked.states.add(state)

    def _judged(self, record: AccessVerdict) -> None:
        if not self._asked:
            return
        asked = self._asked.popleft()
        request, code = asked.request, record.data >> 16
        kind = KINDS.get(request.kind)
        if code == Verdict.REFUSED:
            if kind is not None:
                self._hit(f"verdict/REFUSED, {kind}")
            self._refused(asked)
            return
        if code > Verdict.REFUSED or kind is None:
            return
        window = bool(request.key & WINDOW_BIT)
        thing = "window" if window else "region"
        self._hit(f"verdict/{Verdict(code).name}, {kind}, {thing}")
        if request.qp in self._refused_one:
            self._hit("check/behind a refused one")
        if code != Verdict.GRANTED:
            self._refused_one.add(request.qp)
        if not request.length:
            self._no_byte(request, thing)
            return
        if code == Verdict.BAD_KEY:
            self._bad_key(request.key, thing)
            return
        memory = self._memory.get(request.key)
        if memory is None:
            return
        if code == Verdict.WRONG_QP:
            if not window:
                self._hit("check/region of another zone")
            return
        self._right(request, memory, code, thing)
        if code != Verdict.NO_RIGHT:
            self._range(request, memory, thing)

    def _refused(self, asked: Asked) -> None:
        request = asked.request
        if self._removed:
            self._hit("removal/check refused")
        if request.qp >= self.params.num_qp:
            self._hit("check/refused, QP out of range")
        elif request.kind not in KINDS:
            self._hit(f"check/refused, kind {request.kind}")
        elif request.reserved:
            self._hit("check/refused, reserved bits")
        else:
            closed = {state.name for state in asked.states} & set(CLOSED)
            for name in closed:
                self._hit(f"check/refused, {name}")
            if not closed and not self._guards.get(request.qp, True):
                self._hit("check/refused, not guarded")

    def _no_byte(self, request: CheckRequest, thing: str) -> None:
        state = self._objects.get(request.key & 0xFFF, 0)
        if not state >> 32 & 1 or state & 0xFFFF_FFFF != request.key:
            self._hit("check/0 bytes, key not valid")
            return
        if thing == "window" and state >> 48 & 0xFFFF != request.qp:
            self._hit("check/0 bytes, of another QP")
        if not state >> 64 & 2 * request.kind:
            self._hit("check/0 bytes, right missing")
        memory = self._memory.get(request.key)
        if memory is not None:
            inside = memory.base <= request.address < memory.end
            self._hit(f"range/length 0 {'inside' if inside else 'outside'}, {thing}")

    def _bad_key(self, key: int, thing: str) -> None:
        state = self._objects.get(key & 0xFFF, 0)
        if state >> 32 & 1 and state & 0xFFFF_FFFF != key and key in self._memory:
            self._hit(f"check/old key of a valid {thing}")
        if key in self._closed:
            self._hit("check/closed window")

    def _right(self, request: CheckRequest, memory: Memory, code: int, thing: str) -> None:
        kind = KINDS[request.kind]
        self._hit(f"right/{thing} allows {RIGHTS[memory.rights & 6]}, {kind}")
        if thing == "region":
            return
        region = self._objects.get(memory.region, 0) >> 64 & 7
        needed = 2 * request.kind
        if code == Verdict.NO_RIGHT and region & needed:
            self._hit("right/region has it, window has not")
        elif code != Verdict.NO_RIGHT and not region & needed:
            self._hit("right/window has it, region has not")

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
            if hit:
                self._hit(f"range/{edge}, {thing}")

    def _if_known(self, name: str) -> None:
        """A hit, if there is such a bin."""
        if name in WINDOW_BINS:
            self._hit(name)
