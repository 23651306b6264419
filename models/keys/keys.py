# SPDX-License-Identifier: Apache-2.0
"""Keys of regions and memory windows: who may use which bytes, from when, and until when.

Sources: ``docs/windows.md``; ``INDAdapter::CreateMemoryWindow``; rules MW-01 to MW-05, MW-08 to
MW-12, CQ-03, CQ-05. A key is ``[10:0]`` number, ``[11]`` kind (1: window), ``[31:12]`` generation.
Each step is atomic and answers a :class:`KeyStep`; a step that fails changes nothing. The table
says nothing about queue pairs but their number and zone: which of them use keys, and what a failure
does to one, is in :mod:`models.keys.qp_keys`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from models.codes import Access, By, CommandResult, ModelError, Rights, Status, TraceOp, Verdict
from models.keys.region import Region, RegionConfig, RegionTable
from models.keys.window_types import KeyState, KeyStep, Window
from models.layouts import KEY_REGION_BITS, LAST_GENERATION, NO_QP, WINDOW_BIT
from models.params import Params
from models.post.post import Segment

_NUMBER = (1 << KEY_REGION_BITS) - 1
_U32 = (1 << 32) - 1
_REMOTE = Rights.REMOTE_READ | Rights.REMOTE_WRITE
_NEEDED = {Access.READ: Rights.REMOTE_READ, Access.WRITE: Rights.REMOTE_WRITE}


class KeyTable(RegionTable):
    """All regions and windows of an engine, by number; giving it to a model turns windows on."""

    def __init__(self, params: Params | None = None) -> None:
        super().__init__(params)
        self.windows: list[Window | None] = [None] * self.params.num_mw
        self.window_serials = [0] * self.params.num_mw  #: generation of each number's latest key
        self.invalidated = 0  #: CNT_INVALIDATED

    # -- looking -----------------------------------------------------------------------------

    def window(self, key: int) -> Window | None:
        """The window whose present key this is, valid or not; None if there is none."""
        number = (key & _NUMBER) - WINDOW_BIT
        window = self.windows[number] if 0 <= number < self.params.num_mw else None
        return window if window is not None and window.key == key else None

    def valid_window(self, key: int) -> Window | None:
        """The window that a valid key names."""
        window = self.window(key)
        return window if window is not None and window.valid else None

    def region(self, key: int) -> Region | None:
        """The region whose present key this is, valid or not; None if there is none."""
        number = key & _NUMBER
        region = self.regions[number] if number < self.params.num_mr else None
        return region if region is not None and region.key == key else None

    def is_valid(self, key: int) -> bool:
        """True if the key is valid."""
        return self.find(key) is not None or self.valid_window(key) is not None

    def keys_on(self, qp: int) -> tuple[int, ...]:
        """Keys that are valid on a queue pair: windows bound to it, regions that it registered with
        FastRegister.
        """
        windows = [w.key for w in self.windows if w is not None and w.valid and w.qp == qp]
        regions = [r for r in self.regions if r is not None and r.valid and r.allocated]
        return (*windows, *(r.key for r in regions if r.qp == qp))

    def state(self, key: int) -> KeyState:
        """What lane 8 shows of the object that the key's number names, whatever its generation."""
        number = key & _NUMBER
        if number >= WINDOW_BIT:
            number -= WINDOW_BIT
            window = self.windows[number] if number < self.params.num_mw else None
            if window is None:
                return KeyState()
            w = window
            used = w.length > 0
            return KeyState(w.key, w.valid, True, False, 0, w.qp, w.rights, w.region, used)
        region = self.regions[number] if number < self.params.num_mr else None
        if region is None:
            return KeyState()
        r, rights = region, int(region.config.rights)
        used = r.config.length > 0
        return KeyState(r.key, r.valid, True, r.allocated, r.windows, r.qp, rights, used=used)

    def query(self, number: int) -> tuple[int, ...]:
        """OUT0 to OUT7 of QUERY_MR, of a region that exists."""
        out = super().query(number)
        region = self.regions[number]
        assert region is not None
        flags = region.valid | region.allocated << 1 | region.windows << 2
        return (*out[:6], region.qp | flags << 16, 0)

    def query_window(self, number: int) -> tuple[int, ...]:
        """OUT0 to OUT7 of QUERY_MW, of a window that exists."""
        w = self._window(number)
        words = (w.base & _U32, w.base >> 32, w.length & _U32, w.length >> 32)
        return (w.key, *words, w.zone | w.rights << 16, w.qp | w.valid << 16, w.region)

    # -- commands ----------------------------------------------------------------------------

    def check_allocate(self, number: int) -> CommandResult:
        """The result of ALLOC_MR for a number in range; changes nothing."""
        if self.regions[number] is not None:
            return CommandResult.CMD_EXISTS
        exhausted = self.serials[number] == LAST_GENERATION
        return CommandResult.CMD_NO_KEYS if exhausted else CommandResult.OK

    def allocate(self, number: int, zone: int) -> int:
        """ALLOC_MR: a region without memory, which FastRegister makes valid; its first key."""
        if self.check_allocate(number) is not CommandResult.OK:
            raise ModelError(f"region {number}: allocated, but {self.check_allocate(number).name}")
        key = self._next_region_key(number)
        config = RegionConfig(0, 0, zone, 0)
        self.regions[number] = Region(key, config, valid=False, allocated=True)
        return key

    def deregister(self, number: int) -> CommandResult:
        """DEREGISTER_MR of a number in range; refused while windows are bound to it (MW-11)."""
        region = self.regions[number]
        if region is not None and region.windows:
            return CommandResult.CMD_BUSY
        return super().deregister(number)

    def check_create(self, number: int) -> CommandResult:
        """The result of CREATE_MW for a number in range; changes nothing."""
        if self.windows[number] is not None:
            return CommandResult.CMD_EXISTS
        exhausted = self.window_serials[number] == LAST_GENERATION
        return CommandResult.CMD_NO_KEYS if exhausted else CommandResult.OK

    def create(self, number: int, zone: int = 0, context: int = 0) -> int:
        """CREATE_MW: a window that is not valid (MW-01); its first key."""
        if self.check_create(number) is not CommandResult.OK:
            raise ModelError(f"window {number}: created, but {self.check_create(number).name}")
        window = Window(self._next_window_key(number), context, zone)
        self.windows[number] = window
        return window.key

    def close(self, number: int) -> CommandResult:
        """CLOSE_MW of a number in range; a valid window becomes invalid."""
        window = self.windows[number]
        if window is None:
            return CommandResult.CMD_NO_OBJECT
        self._count(window, -1)
        self.windows[number] = None
        return CommandResult.OK

    # -- requests ----------------------------------------------------------------------------

    def bind_faults(
        self, zone: int, target: int, segment: Segment | None, rights: int
    ) -> Iterator[Status]:
        """All faults of a Bind, in order of precedence; arguments as for :meth:`bind`."""
        window = self.window(target)
        if window is None or window.zone != zone:
            yield Status.INVALID_TOKEN
        if window is not None and window.valid:
            yield Status.ALREADY_VALID
        if segment is None or not self._bindable(zone, segment, rights):
            yield Status.BAD_MEMORY
        if window is not None and self._exhausted(window.key):
            yield Status.NO_KEYS

    def bind(
        self, qp: int, zone: int, target: int, segment: Segment | None, rights: int
    ) -> KeyStep:
        """BIND: the window ``target`` becomes valid on this queue pair, with a new key.

        ``zone``: of the queue pair; ``segment``: range inside a region, and the region's key;
        ``rights``: 3 bits; local write gives a window nothing.
        """
        before = self.state(target) if target & WINDOW_BIT else KeyState()
        fault = next(self.bind_faults(zone, target, segment, rights), Status.SUCCESS)
        new_key = None
        if fault is Status.SUCCESS:
            number = target & _NUMBER ^ WINDOW_BIT
            old = self._window(number)
            assert segment is not None
            self._count(old, -1)
            new_key = self._next_window_key(number)
            region = segment.key & _NUMBER
            new = replace(
                old,
                key=new_key,
                valid=True,
                qp=qp,
                base=segment.address,
                length=segment.length,
                rights=rights & _REMOTE,
                region=region,
            )
            self.windows[number] = new
            self._count(new, +1)
        after = self.state(target) if target & WINDOW_BIT else KeyState()
        operand = fault | (target & WINDOW_BIT - 1) << 16
        step = KeyStep(TraceOp.BIND, target, fault, operand, before, after, qp, new_key)
        return replace(step, window=bool(target & WINDOW_BIT))

    def register_faults(self, zone: int, target: int, segment: Segment | None) -> Iterator[Status]:
        """All faults of a FastRegister, in order; arguments as for :meth:`fast_register`."""
        region = self.region(target)
        if region is None or not region.allocated or region.config.zone != zone:
            yield Status.INVALID_TOKEN
        if region is not None and region.valid:
            yield Status.ALREADY_VALID
        if segment is None or not 1 <= segment.length <= (1 << 64) - segment.address:
            yield Status.BAD_MEMORY
        if region is not None and self._exhausted(region.key):
            yield Status.NO_KEYS

    def fast_register(
        self, qp: int, zone: int, target: int, segment: Segment | None, rights: int
    ) -> KeyStep:
        """FAST_REGISTER: the allocated region ``target`` becomes valid, with a new key (MW-11).

        ``segment``: address and length of its memory (the key is ignored); ``rights``: 3 bits.
        """
        before = KeyState() if target & WINDOW_BIT else self.state(target)
        fault = next(self.register_faults(zone, target, segment), Status.SUCCESS)
        new_key = None
        if fault is Status.SUCCESS:
            assert segment is not None
            number = target & _NUMBER
            new_key = self._next_region_key(number)
            config = RegionConfig(segment.address, segment.length, zone, rights)
            self.regions[number] = Region(new_key, config, allocated=True, qp=qp)
        after = KeyState() if target & WINDOW_BIT else self.state(target)
        op = TraceOp.FAST_REGISTER
        return KeyStep(op, target, fault, fault, before, after, qp, new_key)

    def invalidate(self, qp: int, token: int, by: By = By.REQUEST) -> KeyStep:
        """INVALIDATE: a window bound to this queue pair, or a region that it registered with
        FastRegister and to which no window is bound, is valid no more (MW-05, MW-12).
        """
        before = self.state(token)
        window, region = self.valid_window(token), self.find(token)
        fault, context = Status.INVALID_TOKEN, 0
        if window is not None and window.qp == qp:
            fault, context = Status.SUCCESS, window.context
        elif region is not None and region.allocated and region.qp == qp and not region.windows:
            fault = Status.SUCCESS
        if fault is Status.SUCCESS:
            self.invalidated += 1
            self._invalidate(token)
        operand = fault | (by is By.PEER) << 8 | (by is By.READ) << 9
        op, after = TraceOp.INVALIDATE, self.state(token)
        step = KeyStep(op, token, fault, operand, before, after, qp, context=context)
        return replace(step, window=window is not None)

    def _invalidate(self, token: int) -> None:
        number = token & _NUMBER
        if number >= WINDOW_BIT:
            old = self._window(number ^ WINDOW_BIT)
            self._count(old, -1)
            self.windows[number ^ WINDOW_BIT] = replace(old, valid=False)
        else:
            self.regions[number] = replace(self._region(number), valid=False)

    # -- remote accesses ---------------------------------------------------------------------

    def verdicts(
        self, qp: int, zone: int, kind: int, key: int, address: int, length: int
    ) -> Iterator[Verdict]:
        """All reasons to refuse an access, in order of precedence; arguments as for
        :meth:`check`.
        """
        if not self._touches(length):
            return
        window, region = self.valid_window(key), self.find(key)
        if window is None and region is None:
            yield Verdict.BAD_KEY
            return
        if window is not None:
            wrong, rights = window.qp != qp, window.rights
            base, end = window.base, window.base + window.length
        else:
            assert region is not None
            wrong, rights = region.config.zone != zone, int(region.config.rights)
            base, end = region.config.base, region.config.end
        if wrong:
            yield Verdict.WRONG_QP
        if not rights & _NEEDED[Access(kind)]:
            yield Verdict.NO_RIGHT
        last = address + length - 1  # beyond 64 bits if it wraps: outside, then
        if not (base <= address and last < end):
            yield Verdict.BAD_RANGE

    def _touches(self, length: int) -> bool:
        """MW-10: an access of 0 bytes touches no byte, and needs neither key, right nor range."""
        return length > 0

    def check(self, qp: int, zone: int, kind: int, key: int, address: int, length: int) -> KeyStep:
        """CHECK: may the peer of this queue pair read or write these bytes (MW-10)?

        ``zone``: of the queue pair; ``kind``: an :class:`Access`; ``address``: 64 bits;
        ``length``: bytes, 32 bits. Never REFUSED: that is the queue pair's.
        """
        found = next(self.verdicts(qp, zone, kind, key, address, length), Verdict.GRANTED)
        state = replace(self.state(key), windows=0)
        operand = found | kind << 16
        step = KeyStep(TraceOp.CHECK, key, found, operand, state, state, qp)
        return replace(step, window=bool(key & WINDOW_BIT))

    # -- removal -----------------------------------------------------------------------------

    def remove(self) -> KeyStep:
        """REMOVED: the device is removed (MW-09), until reset."""
        if self.removed:
            raise ModelError("MW-09: the device is removed a second time")
        self.removed = True
        return KeyStep(TraceOp.REMOVED, 0, 0, 0, KeyState(), KeyState(), NO_QP)

    # -- helpers -----------------------------------------------------------------------------

    def _window(self, number: int) -> Window:
        window = self.windows[number]
        if window is None:
            raise ModelError(f"window {number} does not exist")
        return window

    def _region(self, number: int) -> Region:
        region = self.regions[number]
        if region is None:
            raise ModelError(f"region {number} does not exist")
        return region

    def _bindable(self, zone: int, segment: Segment, rights: int) -> bool:
        region = self.find(segment.key)
        if region is None or region.config.zone != zone or not segment.length:
            return False
        write = rights & Rights.REMOTE_WRITE
        local = region.config.rights & Rights.LOCAL_WRITE  # MW-02
        return region.config.covers(segment) and not (write and not local)

    def _exhausted(self, key: int) -> bool:
        return key >> KEY_REGION_BITS == LAST_GENERATION

    def _next_region_key(self, number: int) -> int:
        self.serials[number] += 1
        return number | self.serials[number] << KEY_REGION_BITS

    def _next_window_key(self, number: int) -> int:
        self.window_serials[number] += 1
        return number | WINDOW_BIT | self.window_serials[number] << KEY_REGION_BITS

    def _count(self, window: Window, change: int) -> None:
        """A valid window comes to its region or goes from it."""
        region = self.regions[window.region]
        if window.valid and region is not None:
            self.regions[window.region] = replace(region, windows=region.windows + change)
