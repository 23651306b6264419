# SPDX-License-Identifier: Apache-2.0
"""Queues of receive buffers, and the shared one (SRQ).

Sources: ``docs/receive.md``; ``dat_srq_post_recv``; the SRQ rules. Numbers of buffers are unbounded
here; ``Params.index`` makes an index of one. Every method that is a step of the trace is
atomic, and raises :class:`ModelError` if it cannot happen now.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from models.codes import Cause, CommandResult, ModelError
from models.keys.region import RegionTable
from models.params import Params
from models.post.post import NUM_SLOTS
from models.receive.receive_post import RecvPost
from models.receive.receive_types import Buffer, RecvPostResult, SrqConfig, WatermarkStep


class BufferQueue:
    """Buffers that wait to be taken, in post order; each is as it was posted, whatever the consumer
    does to its segments meanwhile (SRQ-08).

    ``regions``: by which segments are checked; one table for all queues of an engine.
    """

    def __init__(
        self,
        number: int = 0,
        params: Params | None = None,
        regions: RegionTable | None = None,
    ) -> None:
        self.number = number
        self.params = params or Params()
        self.regions = regions or RegionTable(self.params)
        self.buffers: list[Buffer] = []  #: available, in post order
        self.tail = 0  #: posted; number of the next buffer
        self.tail_seen = 0  #: posted, as takes know it

    @property
    def available(self) -> int:
        """Number of buffers that can be taken."""
        return len(self.buffers)

    @property
    def available_seen(self) -> int:
        """The same as takes know it: a post may not have become known yet."""
        return self.tail_seen - (self.tail - self.available)

    def newest(self, name: str, known: int, actual: int, index: int | None) -> int:
        """The number, between what was known and what is, that an index (None: newest) means."""
        if index is None:
            return actual
        number = actual - self.params.index(actual - index)
        if index != self.params.index(index) or not known <= number <= actual:
            low, high = self.params.index(known), self.params.index(actual)
            raise ModelError(f"{self.name}: {name} is {index}, between {low} and {high} expected")
        return number

    @property
    def name(self) -> str:
        """How messages call the queue."""
        return f"{type(self).__name__} {self.number}"

    def content_faults(self, post: RecvPost, page: int, owner: int, zone: int) -> Iterator[Cause]:
        """All faults from NOT_OWNER to BAD_RANGE, in order of precedence (SRQ-15)."""
        if page != owner:
            yield Cause.NOT_OWNER
        if self.regions.removed:
            yield Cause.DEVICE_REMOVED
        if post.reserved:
            yield Cause.RESERVED_BITS
        if post.num_segments > NUM_SLOTS:  # SRQ-01: 0 is a number like any other
            yield Cause.TOO_MANY_SEGMENTS
        yield from self.regions.all_faults(post.segments, zone)

    def first(self, faults: Iterable[Cause]) -> Cause:
        """The cause that is given of all faults, or OK."""
        return next(iter(faults), Cause.OK)

    def _append(self, post: RecvPost) -> RecvPostResult:
        number = self.tail
        self.buffers.append(Buffer(number, post))
        self.tail += 1
        return RecvPostResult(Cause.OK, number)


class SrqModel(BufferQueue):
    """One shared receive queue number, over all its lives."""

    def __init__(
        self,
        number: int = 0,
        params: Params | None = None,
        regions: RegionTable | None = None,
    ) -> None:
        super().__init__(number, params, regions)
        self.exists = False
        self.config = SrqConfig()
        self.completed = 0  #: completions of its buffers, of all queue pairs
        self.reaped = 0  #: of these, those that the consumer has removed from CQs
        self.reaped_seen = 0  #: the same as posts know it
        self.threshold = 0
        self.armed = False
        self.waiting = False  #: an event waits for the interrupt port

    # -- looking -----------------------------------------------------------------------------

    @property
    def head(self) -> int:
        """Number of the next buffer to be taken."""
        return self.tail - self.available

    @property
    def outstanding(self) -> int:
        """Buffers posted, or taken and not yet reaped (SRQ-17)."""
        return self.tail - self.reaped

    @property
    def in_flight(self) -> int:
        """Buffers taken and not completed."""
        return self.head - self.completed

    def query(self, users: int = 0) -> tuple[int, ...]:
        """OUT0 to OUT7 of QUERY_SRQ; ``users``: queue pairs that use it."""
        index, c = self.params.index, self.config
        return (
            self.available | self.outstanding << 16,
            index(self.tail) | index(self.reaped) << 16,
            index(self.completed) | self.threshold << 16,
            self.armed | self.waiting << 1 | users << 16,
            c.size | c.zone << 16,
            c.page | c.vector << 16,
            0,
            0,
        )

    def trace_state(self, lane: int = 6) -> int:
        """The 96-bit state in the trace port's encoding; lane 6, or lane 5 without a queue pair."""
        index = self.params.index
        if lane == 5:
            low = index(self.head) << 16 | index(self.tail_seen) << 32
            return low | self.threshold << 64 | self.armed << 80
        return index(self.tail) | index(self.reaped_seen) << 16 | self.config.size << 32

    # -- life --------------------------------------------------------------------------------

    def create(self, config: SrqConfig, start: int | None = None) -> int:
        """CREATE_SRQ (RECV_SIZE): empty, disarmed; returns the start index.

        ``start``: the index that the engine answered; left out, it is the former life's tail.
        """
        if self.exists:
            raise ModelError(f"SRQ {self.number}: create of a queue that exists")
        if start is not None:
            if start != self.params.index(start):
                raise ModelError(f"SRQ {self.number}: starts at {start}")
            self.tail += self.params.index(start - self.tail)
        self.exists, self.config = True, config
        self.completed = self.reaped = self.reaped_seen = self.tail_seen = self.tail
        self.threshold, self.armed = 0, False
        return self.params.index(self.tail)

    def check_resize(self, size: int) -> CommandResult:
        """The result of RESIZE_SRQ for an existing queue (SRQ-17); changes nothing."""
        if not 1 <= size <= 1 << self.params.srq_log2:
            return CommandResult.CMD_BAD_SIZE
        if size < max(self.outstanding, self.threshold):
            return CommandResult.CMD_TOO_SMALL
        return CommandResult.OK

    def resize(self, size: int) -> CommandResult:
        """RESIZE_SRQ (RECV_SIZE); no buffer is lost."""
        self._must_exist()
        result = self.check_resize(size)
        if result is CommandResult.OK:
            self.config = replace(self.config, size=size)
        return result

    def destroy(self) -> tuple[Buffer, ...]:
        """DESTROY_SRQ, when no queue pair uses it: the buffers that it gives back.

        An event that waits for the interrupt port is to be gone, too.
        """
        self._must_exist()
        if self.in_flight:
            raise ModelError(f"SRQ {self.number}: destroyed with buffers in flight")
        if self.waiting:
            raise ModelError(f"SRQ-16: SRQ {self.number}: destroyed while its event waits")
        given_back, self.buffers = tuple(self.buffers), []
        self.exists, self.armed, self.threshold = False, False, 0
        return given_back

    # -- the consumer ------------------------------------------------------------------------

    def faults(self, post: RecvPost, page: int) -> Iterator[Cause]:
        """All faults of a post from NO_SRQ on, in order: no state refuses one (SRQ-12)."""
        if not self.exists:
            yield Cause.NO_SRQ
        yield from self.content_faults(post, page, self.config.page, self.config.zone)
        if self.tail - self.reaped_seen >= self.config.size:
            yield Cause.QUEUE_FULL

    def post(
        self, post: RecvPost, page: int | None = None, *, reaped_seen: int | None = None
    ) -> RecvPostResult:
        """RECV_POST (SRQ-01, SRQ-12). ``page``: of the write, the owner's if left out;
        ``reaped_seen``: the reaped index as this step knows it, the newest if left out.
        """
        page = self.config.page if page is None else page
        if not self.exists or page != self.config.page:
            return RecvPostResult(self.first(self.faults(post, page)))
        self.reaped_seen = self.newest("reaped", self.reaped_seen, self.reaped, reaped_seen)
        cause = self.first(self.faults(post, page))
        return self._append(post) if cause is Cause.OK else RecvPostResult(cause)

    def reap_cause(
        self, index: int, page: int | None = None, completed: int | None = None
    ) -> Cause:
        """Why a reap is refused, from NO_SRQ on, or OK; changes nothing.

        ``index``: 16 bits; ``completed``: number of completions as the check knows it.
        """
        if not self.exists:
            return Cause.NO_SRQ
        if page not in (None, self.config.page):
            return Cause.NOT_OWNER
        limit = self.completed if completed is None else completed
        number = self.reaped + self.params.index(index - self.reaped)
        return Cause.OK if number <= limit else Cause.BAD_INDEX

    def reap(self, index: int, page: int | None = None, completed: int | None = None) -> Cause:
        """REAP: the consumer has removed completions up to this index from CQs."""
        cause = self.reap_cause(index, page, completed)
        if cause is Cause.OK:
            self.reaped += self.params.index(index - self.reaped)
        return cause

    def check_watermark(self, threshold: int, waiting: bool | None = None) -> CommandResult:
        """The result of SET_SRQ_WATERMARK for an existing queue; changes nothing.

        ``waiting``: whether an event waits for the interrupt port, as the command knows it.
        """
        if threshold > self.config.size:
            return CommandResult.CMD_BAD_SIZE
        if threshold and (self.waiting if waiting is None else waiting):
            return CommandResult.CMD_BUSY
        return CommandResult.OK

    def watermark(self, threshold: int, *, tail_seen: int | None = None) -> WatermarkStep:
        """WATERMARK: arms once; the event comes at once if too few are available (SRQ-16).

        ``threshold``: 16 bits, 0 changes nothing; ``tail_seen``: see :meth:`take`.
        """
        self._must_exist()
        if threshold > self.config.size:
            raise ModelError(f"SRQ-16: SRQ {self.number}: watermark above the size")
        self.tail_seen = self.newest("tail", self.tail_seen, self.tail, tail_seen)
        if not threshold:
            return WatermarkStep(0, False)
        self.threshold, self.armed = threshold, True
        return WatermarkStep(threshold, self._event())

    # -- taking ------------------------------------------------------------------------------

    def take(self, qp: int) -> tuple[Buffer, bool]:
        """Any queue pair that uses the queue takes the oldest buffer (SRQ-02): that buffer, and
        whether the watermark event comes.
        """
        del qp
        self._must_exist()
        if self.available_seen <= 0:
            raise ModelError(f"SRQ-18: SRQ {self.number}: a buffer is taken, none is available")
        buffer = self.buffers.pop(0)
        return buffer, self._event()

    def complete(self) -> None:
        """A buffer of the queue has completed."""
        self.completed += 1
        if self.completed > self.head:
            raise ModelError(f"SRQ-06: SRQ {self.number}: more completions than buffers taken")

    def interrupt(self) -> None:
        """The watermark's vector was raised on ``m_axis_irq``."""
        if not self.waiting:
            raise ModelError(f"SRQ-16: SRQ {self.number}: interrupt without an event")
        self.waiting = False

    def _event(self) -> bool:
        if not self.armed or self.available_seen >= self.threshold:
            return False
        self.armed, self.waiting = False, True
        return True

    def _must_exist(self) -> None:
        if not self.exists:
            raise ModelError(f"SRQ {self.number} does not exist")
