# SPDX-License-Identifier: Apache-2.0
"""Every transition of the receive queues' reachable graphs, driven into the RTL (docs/tours.md)."""

from __future__ import annotations

import pyuvm

from tb.tours.drive_srq import SrqTour
from tb.tours.pairs import PairTest

BUILD = "engine_small"


@pyuvm.test()
class SrqMessagesTour(SrqTour):
    """Posts, messages, reports, reaping of two queue pairs (SRQ-02, SRQ-10, SRQ-15, SRQ-18), of
    which one ends in every state (SRQ-12 to SRQ-14).
    """

    graphs = ("srq: messages", "srq: connections")


@pyuvm.test()
class SrqWatermarkTour(SrqTour):
    """The low watermark (SRQ-16), also with an interrupt port that stands still."""

    graphs = ("srq: watermark", "srq: stalled event")


@pyuvm.test()
class SrqSizesTour(SrqTour):
    """Resize, above and below outstanding and watermark (SRQ-17)."""

    graphs = ("srq: sizes",)


@pyuvm.test()
class SrqLivesTour(SrqTour):
    """Queue pair and queue are destroyed and created in every state, also while an event waits
    (SRQ-17).
    """

    graphs = ("srq: lives", "srq: event and life")


@pyuvm.test()
class SrqTwoLivesTour(SrqTour):
    """The same, used by a second queue pair."""

    graphs = ("srq: two lives",)


@pyuvm.test()
class OwnQueueTour(SrqTour):
    """A queue pair's own queue: posts, messages, flush (SRQ-19)."""

    graphs = ("srq: own queue",)


@pyuvm.test()
class SrqPairsTest(PairTest, SrqTour):
    """Posts, messages, reports and reaping that meet."""

    graphs = ("srq: connections",)
