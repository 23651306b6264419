# SPDX-License-Identifier: Apache-2.0
"""Every transition of the deferral model's reachable graph, driven into the RTL (docs/tours.md)."""

from __future__ import annotations

import pyuvm

from tb.tours.drive_deferral import DeferralTour
from tb.tours.pairs import PairTest

BUILD = "engine_small"


@pyuvm.test()
class DeferralFencesTour(DeferralTour):
    """Sends, Reads and fenced Sends: DF-01 to DF-09, DF-11 to DF-15."""

    graph = "deferral: fences"


@pyuvm.test()
class DeferralLocalTour(DeferralTour):
    """Remote, local and silent requests (DF-03, DF-12)."""

    graph = "deferral: local"


@pyuvm.test()
class DeferralFencedLocalTour(DeferralTour):
    """Local requests behind Reads (DF-12, DF-13)."""

    graph = "deferral: fenced local"


@pyuvm.test()
class DeferralFourSlotsTour(DeferralTour):
    """A send queue of four: chains, and a queue filled with held requests (DF-08)."""

    graph = "deferral: four slots"
    slots = 4


@pyuvm.test()
class DeferralWatermarkTour(DeferralTour):
    """Released by the watermark (DF-01)."""

    graph = "deferral: watermark"
    slots = 4
    watermark = 3


@pyuvm.test()
class DeferralCommandsTour(DeferralTour):
    """Every command in every state."""

    graph = "deferral: commands"


@pyuvm.test()
class DeferralStallsTour(DeferralTour):
    """A work port that stands still: what is offered when the connection ends (DF-11)."""

    graph = "deferral: stalls"
    slots = 3


@pyuvm.test()
class DeferralStalledLocalTour(DeferralTour):
    """The same with local requests."""

    graph = "deferral: stalls, local"


@pyuvm.test()
class DeferralPairsTest(PairTest, DeferralTour):
    """Posts, reports and the end of the connection that meet."""

    graph = "deferral: commands"
