# SPDX-License-Identifier: Apache-2.0
"""Every transition of the arm model's reachable graph, driven into the RTL (docs/tours.md)."""

from __future__ import annotations

import pyuvm

from tb.tours.drive_arm import ArmTour
from tb.tours.pairs import PairTest

BUILD = "engine_small"


@pyuvm.test()
class ArmLiteralTour(ArmTour):
    """The default reading: CQ-06 to CQ-14, CQ-22."""

    graph = "arm: literal"


@pyuvm.test()
class ArmTypedTour(ArmTour):
    """The typed reading of CQ-09."""

    graph = "arm: typed"
    typed = True


@pyuvm.test()
class ArmRearmTour(ArmTour):
    """CQ-10: an arm over old completions is satisfied."""

    graph = "arm: re-arm"
    rearm = True


@pyuvm.test()
class ArmClassesTour(ArmTour):
    """Failed and unsignalled completions (CQ-08, SRQ-07)."""

    graph = "arm: classes"


@pyuvm.test()
class ArmErrorsTour(ArmTour):
    """Writes that fail: every arm type reacts (CQ-08, CQ-18)."""

    graph = "arm: errors"


@pyuvm.test()
class ArmLivesTour(ArmTour):
    """The end of a queue in every state (CQ-20)."""

    graph = "arm: lives"


@pyuvm.test()
class ArmPairsTest(PairTest, ArmTour):
    """Doorbells, completions and answers of memory that meet."""

    graph = "arm: lives"
