# SPDX-License-Identifier: Apache-2.0
"""Every transition of the receive queues' reachable graphs, driven into the RTL (docs/tours.md)."""

from __future__ import annotations

import pyuvm

from tb.tours.drive_srq import SrqTour
from tb.tours.pairs import PairTest

BUILD = "engine_small"


@pyuvm.test()
class SrqMessagesTour(SrqTour):
    """Posts, messages, reports and reaping of two queue pairs (SRQ-02, SRQ-10, SRQ-15, SRQ-18)."""

    graph = "srq: messages"


@pyuvm.test()
class SrqConnectionsTour(SrqTour):
    """One of two connections ends, in every state (SRQ-12 to SRQ-14)."""

    graph = "srq: connections"


@pyuvm.test()
class SrqWatermarkTour(SrqTour):
    """The low watermark (SRQ-16)."""

    graph = "srq: watermark"
    first = 2


@pyuvm.test()
class SrqStalledEventTour(SrqTour):
    """The low watermark, with an interrupt port that stands still."""

    graph = "srq: stalled event"
    qps = 1
    first = 2


@pyuvm.test()
class SrqSizesTour(SrqTour):
    """Resize, above and below outstanding and watermark (SRQ-17)."""

    graph = "srq: sizes"
    qps = 1
    first = 2


@pyuvm.test()
class SrqLivesTour(SrqTour):
    """Queue pair and queue are destroyed and created in every state (SRQ-17)."""

    graph = "srq: lives"
    qps = 1


@pyuvm.test()
class SrqTwoLivesTour(SrqTour):
    """The same, used by a second queue pair."""

    graph = "srq: two lives"


@pyuvm.test()
class SrqEventAndLifeTour(SrqTour):
    """The same, while an event waits."""

    graph = "srq: event and life"
    qps = 1
    first = 1


@pyuvm.test()
class OwnQueueTour(SrqTour):
    """A queue pair's own queue: posts, messages, flush (SRQ-19)."""

    graph = "srq: own queue"
    shared = False
    qps = 1


@pyuvm.test()
class SrqPairsTest(PairTest, SrqTour):
    """Posts, messages, reports and reaping that meet."""

    graph = "srq: connections"
