# SPDX-License-Identifier: Apache-2.0
"""Every transition of the deferral model's graphs, driven into the RTL (docs/tours.md)."""

from __future__ import annotations

import pyuvm

from tb.tours.drive_deferral import DeferralTour
from tb.tours.pairs import PairTest

BUILD = "engine_small"


@pyuvm.test()
class DeferralFencesTour(DeferralTour):
    """Sends, Reads and fenced Sends: DF-01 to DF-09, DF-11 to DF-15."""

    graphs = ("deferral: fences",)


@pyuvm.test()
class DeferralLocalTour(DeferralTour):
    """Remote, local and silent requests (DF-03, DF-12), also after Reads (DF-13)."""

    graphs = ("deferral: local", "deferral: fenced local")


@pyuvm.test()
class DeferralChainsTour(DeferralTour):
    """Chains up to a full queue (DF-08), the watermark (DF-01); every command in every state."""

    graphs = ("deferral: four slots", "deferral: watermark", "deferral: commands")


@pyuvm.test()
class DeferralStallsTour(DeferralTour):
    """A work port that stands still: what is offered when the connection ends (DF-11)."""

    graphs = ("deferral: stalls", "deferral: stalls, local")


@pyuvm.test()
class DeferralPairsTest(PairTest, DeferralTour):
    """Posts, reports and the end of the connection that meet."""

    graphs = ("deferral: commands",)
