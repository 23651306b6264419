# SPDX-License-Identifier: Apache-2.0
"""Memory regions: registration, keys, and the check of a posted segment.

Source: ``docs/receive.md`` ("Causes, in order of precedence", "Commands, added"); rule SRQ-15.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from models.codes import Cause, CommandResult, ModelError, Rights
from models.layouts import KEY_BITS, KEY_REGION_BITS
from models.params import Params
from models.post.post import Segment

_LAST_SERIAL = (1 << KEY_BITS - KEY_REGION_BITS) - 1
_U32 = (1 << 32) - 1


@dataclass(frozen=True)
class RegionConfig:
    """Arguments of REGISTER_MR. ``base``: byte address, 64 bits; ``length``: bytes, 48 bits;
    ``zone``: protection zone, 16 bits; ``rights``: 3 bits.
    """

    base: int
    length: int
    zone: int = 0
    rights: int = Rights.LOCAL_WRITE

    @property
    def end(self) -> int:
        """Address of the first byte after the region; up to 2^64."""
        return self.base + self.length

    def covers(self, segment: Segment) -> bool:
        """True if the segment (64-bit address, 32-bit length) does not leave the region."""
        return self.base <= segment.address and segment.address + segment.length <= self.end


@dataclass(frozen=True)
class Region:
    """A region and its present 32-bit key.

    ``allocated``: by ALLOC_MR, so that ``valid`` changes (FastRegister, Invalidate) and ``qp`` is
    the number of the queue pair that registered it; ``windows``: number of those bound to it.
    """

    key: int
    config: RegionConfig
    valid: bool = True
    allocated: bool = False
    qp: int = 0
    windows: int = 0


class RegionTable:
    """All regions of an engine, by number."""

    def __init__(self, params: Params | None = None) -> None:
        self.params = params or Params()
        self.regions: list[Region | None] = [None] * self.params.num_mr
        self.serials = [0] * self.params.num_mr  #: generation of each number's latest key
        self.removed = False  #: the device is removed (``docs/windows.md``)

    # -- commands ----------------------------------------------------------------------------

    def check_register(self, number: int, config: RegionConfig) -> CommandResult:
        """The result of REGISTER_MR for a number in range; changes nothing."""
        if self.regions[number] is not None:
            return CommandResult.CMD_EXISTS
        remote_only = config.rights & Rights.REMOTE_WRITE and not config.rights & Rights.LOCAL_WRITE
        if remote_only:
            return CommandResult.CMD_BAD_FLAG
        if config.length < 1 or config.end > 1 << 64:
            return CommandResult.CMD_BAD_RANGE
        if self.serials[number] == _LAST_SERIAL:
            return CommandResult.CMD_NO_KEYS
        return CommandResult.OK

    def register(self, number: int, config: RegionConfig) -> int:
        """REGISTER_MR; returns the key. Raises :class:`ModelError` if it is to be refused."""
        result = self.check_register(number, config)
        if result is not CommandResult.OK:
            raise ModelError(f"region {number}: registered, but {result.name}")
        self.serials[number] += 1
        key = number | self.serials[number] << KEY_REGION_BITS
        self.regions[number] = Region(key, config)
        return key

    def deregister(self, number: int) -> CommandResult:
        """DEREGISTER_MR of a number in range; what was posted with its key stays posted."""
        if self.regions[number] is None:
            return CommandResult.CMD_NO_OBJECT
        self.regions[number] = None
        return CommandResult.OK

    def query(self, number: int) -> tuple[int, ...]:
        """OUT0 to OUT7 of QUERY_MR, of a registered region."""
        region = self.regions[number]
        if region is None:
            raise ModelError(f"region {number}: query of a region that does not exist")
        c = region.config
        words = (c.base & _U32, c.base >> 32, c.length & _U32, c.length >> 32)
        return (region.key, *words, c.zone | c.rights << 16, 0, 0)

    # -- segments ----------------------------------------------------------------------------

    def find(self, key: int) -> Region | None:
        """The region that a 32-bit key names; None if it is no valid key of a region."""
        number = key & (1 << KEY_REGION_BITS) - 1
        region = self.regions[number] if number < self.params.num_mr else None
        if region is None or region.key != key or not region.valid:
            return None
        return region

    def faults(self, segment: Segment, zone: int) -> Iterator[Cause]:
        """All faults of one segment, in the order of the checks: region, zone, local write, range.

        The region of a segment with length 0 is not checked.
        """
        if segment.length == 0:
            return
        region = self.find(segment.key)
        if region is None:
            yield Cause.BAD_REGION
            return
        if region.config.zone != zone:
            yield Cause.BAD_ZONE
        if not region.config.rights & Rights.LOCAL_WRITE:
            yield Cause.NO_LOCAL_WRITE
        if not region.config.covers(segment):
            yield Cause.BAD_RANGE

    def all_faults(self, segments: Sequence[Segment], zone: int) -> Iterator[Cause]:
        """Faults of all segments in vector order; the first one is the cause (SRQ-15)."""
        for segment in segments:
            yield from self.faults(segment, zone)
