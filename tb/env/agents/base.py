# SPDX-License-Identifier: Apache-2.0
"""What the agents share: the monitor, the driver over a harness queue, and answers to wait for; and
the virtual sequencer: scenarios run on it, and send items through the agents' sequencers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from cocotb.triggers import Event
from pyuvm import (
    uvm_agent,
    uvm_analysis_port,
    uvm_driver,
    uvm_monitor,
    uvm_sequence_item,
    uvm_sequencer,
)

from tb.env.harness.harness import QUEUE_DEPTH, Channel, Harness
from tb.env.harness.records import Record

T = TypeVar("T")

#: (channel, words, earliest cycle, gap) of one item.
Item = tuple[int, Sequence[int], int, int]


class Pending(Generic[T]):
    """An answer that will come: ``await`` it, or look at ``done`` and ``result``."""

    __slots__ = ("_event", "cycle", "done", "result")

    def __init__(self) -> None:
        self.done = False
        self.cycle = -1
        self.result: T | None = None
        self._event: Event | None = None

    def finish(self, result: T, cycle: int) -> None:
        """The answer came in clock cycle ``cycle``."""
        self.result = result
        self.cycle = cycle
        self.done = True
        if self._event is not None:
            self._event.set()

    def __await__(self) -> Generator[Any, Any, T]:
        if not self.done:
            if self._event is None:
                self._event = Event()
            yield from self._event.wait().__await__()
        assert self.result is not None
        return self.result


class Monitor(uvm_monitor):
    """Hands on the records of its agent's interface, block by block, to who listens to ``ap``."""

    def build_phase(self) -> None:
        self.ap = uvm_analysis_port("ap", self)

    def write(self, records: list[Record]) -> None:
        """Takes a block of records of all interfaces."""
        if not self.ap.subscribers:
            return
        if found := [record for record in records if isinstance(record, self.parent.reports)]:
            self.ap.write(found)


class NotSent(Pending[Any]):
    """The answer of an item that was not sent."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, Any, Any]:
        raise AssertionError("the item was not sent: `await self.do(item)` first")


class QueueDriver(uvm_driver):
    """Feeds items to harness queues and keeps back what they cannot hold.

    The unit is a group of items (an address and its data beats, say) that counts as ``weight`` in
    its queues until :meth:`taken` is told that one group is through.
    """

    limit = QUEUE_DEPTH - 160

    def build_phase(self) -> None:
        super().build_phase()
        self.harness: Harness | None = None
        #: The build has no such port: says so, and which builds have it.
        self.absent = ""
        self._waiting: deque[tuple[int, Sequence[Item]]] = deque()
        self._inside: deque[int] = deque()
        self._level = 0

    def send(self, items: Sequence[Item], weight: int = 1) -> None:
        """Queues items; they count as ``weight``."""
        if self.absent:
            raise LookupError(self.absent)
        if self._waiting or self._level + weight > self.limit:
            self._waiting.append((weight, items))
        else:
            self._submit(weight, items)

    def taken(self) -> None:
        """The oldest group has left its queues."""
        self._level -= self._inside.popleft()
        while self._waiting and self._level + self._waiting[0][0] <= self.limit:
            self._submit(*self._waiting.popleft())

    @property
    def outstanding(self) -> int:
        """Groups not yet through."""
        return len(self._inside) + len(self._waiting)

    def clear(self) -> None:
        """After a reset: nothing is queued."""
        self._waiting.clear()
        self._inside.clear()
        self._level = 0

    def _submit(self, weight: int, items: Sequence[Item]) -> None:
        assert self.harness is not None
        self._inside.append(weight)
        self._level += weight
        for channel, words, at, gap in items:
            self.harness.submit(channel, words, at, gap)


class BfmItem(uvm_sequence_item):
    """An item of an agent with a sequencer."""

    #: Name of its sequencer in the virtual sequencer.
    interface: ClassVar[str] = ""
    answer: Any = NotSent()

    def drive(self, agent: Any) -> None:
        """Queues it, and sets its ``answer`` if there will be one."""
        raise NotImplementedError

    def asked(self, _agent: Any) -> Any:
        """What it asks for, as a record that does not change with it."""
        return self


class ItemDriver(QueueDriver):
    """Takes items from a sequencer as well. An item is done when it is in the harness's queue, so
    that items follow each other in every cycle; its ``answer`` comes later.

    ``ap`` writes what was asked of it, before an item is driven.
    """

    def build_phase(self) -> None:
        super().build_phase()
        self.ap = uvm_analysis_port("ap", self)

    async def run_phase(self) -> None:
        while True:
            item = await self.seq_item_port.get_next_item()
            self.ap.write(item.asked(self.get_parent()))
            self.drive(item)
            self.seq_item_port.item_done()

    def drive(self, item: Any) -> None:
        """Queues one item."""
        item.drive(self.get_parent())


class BfmAgent(uvm_agent):
    """An agent whose driver and monitor are models in the harness. Its driver comes from the
    factory; with an ``ItemDriver`` it has a sequencer, too.
    """

    driver_type: ClassVar[type[QueueDriver]] = QueueDriver

    #: Record types that its monitor reports.
    reports: ClassVar[tuple[type, ...]] = ()
    #: Channels with random stalls.
    channels: tuple[Channel, ...] = ()

    def build_phase(self) -> None:
        super().build_phase()
        self.monitor = Monitor("monitor", self)
        self.driver = self.driver_type.create("driver", self)
        if issubclass(self.driver_type, ItemDriver):
            self.sequencer = uvm_sequencer("sequencer", self)
        self.harness: Any = None

    def connect_phase(self) -> None:
        if issubclass(self.driver_type, ItemDriver):
            self.driver.seq_item_port.connect(self.sequencer.seq_item_export)

    def connect_harness(self, harness: Harness) -> None:
        """Once the harness exists."""
        self.harness = harness
        self.driver.harness = harness

    def stall(self, probability: float, seed: int | None = None) -> None:
        """Random stalls on all channels of this interface."""
        for channel in self.channels:
            self.harness.stall(channel, probability, seed=seed)

    def hold(self, on: bool = True) -> None:
        """Stalls all channels of this interface until ``hold(False)``."""
        for channel in self.channels:
            self.harness.hold(channel, on)

    def taken(self, _record: object = None) -> None:
        """The oldest group of items has left the queues."""
        self.driver.taken()

    def clear(self) -> None:
        """After a reset: nothing is under way."""
        self.driver.clear()

    @property
    def idle(self) -> bool:
        """Nothing queued and nothing unanswered."""
        return self.driver.outstanding == 0


class AskingAgent(BfmAgent):
    """Asks on the first of its channels; the answers come in order, on ``answers``."""

    answers: ClassVar[str]
    #: Items are still to come from who uses this agent.
    busy: Callable[[], bool] = staticmethod(lambda: False)

    def build_phase(self) -> None:
        super().build_phase()
        self._asked: deque[tuple[object, Pending[Any]]] = deque()

    def ask(
        self, words: list[int], at_cycle: int | None = None, gap: int = 0, note: object = None
    ) -> Pending[Any]:
        """Queues an item; returns its answer to come. ``note`` comes back from :meth:`told`."""
        answer: Pending[Any] = Pending()
        self.driver.send([(self.channels[0], words, at_cycle or 0, gap)])
        self._asked.append((note, answer))
        return answer

    def told(self, answer: Any, cycle: int) -> object:
        """The oldest answer has come; returns the note of its item."""
        if not self._asked:
            raise AssertionError(f"{self.answers} without a request: {answer}, cycle {cycle}")
        note, pending = self._asked.popleft()
        pending.finish(answer, cycle)
        return note

    def clear(self) -> None:
        super().clear()
        self._asked.clear()

    @property
    def idle(self) -> bool:
        return not self._asked and not self.busy()


class VirtualSequencer(uvm_sequencer):
    """Handles of the agents' sequencers, by the names that items give (``BfmItem.interface``)."""

    interfaces: dict[str, uvm_sequencer]

    def of(self, item: BfmItem) -> uvm_sequencer:
        """The sequencer of an item's interface."""
        return self.interfaces[item.interface]
