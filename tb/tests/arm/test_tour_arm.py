# SPDX-License-Identifier: Apache-2.0
"""Every transition of the arm model's reachable graphs, driven into the RTL (docs/tours.md)."""

from __future__ import annotations

import pyuvm

from tb.tours.drive_arm import ArmTour
from tb.tours.pairs import PairTest

BUILD = "engine_small"


@pyuvm.test()
class ArmLiteralTour(ArmTour):
    """The default reading: CQ-06 to CQ-14, CQ-22."""

    graphs = ("arm: literal",)


@pyuvm.test()
class ArmReadingsTour(ArmTour):
    """The typed reading of CQ-09; re-arm (CQ-10); failed and unsignalled completions (CQ-08,
    SRQ-07).
    """

    graphs = ("arm: typed", "arm: re-arm", "arm: classes")


@pyuvm.test()
class ArmEndsTour(ArmTour):
    """Writes that fail (CQ-08, CQ-18), and the end of a queue in every state (CQ-20)."""

    graphs = ("arm: errors", "arm: lives")


@pyuvm.test()
class ArmPairsTest(PairTest, ArmTour):
    """Doorbells, completions and answers of memory that meet."""

    graphs = ("arm: lives",)
