# SPDX-License-Identifier: Apache-2.0
"""Every transition of the windows' reachable graphs, driven into the RTL (docs/tours.md)."""

from __future__ import annotations

import pyuvm

from tb.tours.drive_window import WindowTour
from tb.tours.pairs import PairTest

BUILD = "engine_small"


@pyuvm.test()
class WindowKeysTour(WindowTour):
    """Two windows, one region, two queue pairs: MW-01 to MW-05, MW-11, MW-12."""

    graphs = ("window: keys",)


@pyuvm.test()
class WindowAccessesTour(WindowTour):
    """Accesses of peers in every state (MW-10) and entries of NetworkDirect 1 (MW-07); a region by
    FastRegister with a window, and lives of queue pairs with keys (MW-11).
    """

    graphs = ("window: accesses", "window: allocated region", "window: lives")


@pyuvm.test()
class RemovalTour(WindowTour):
    """The device is removed in every state (MW-09)."""

    graphs = ("window: removal",)


@pyuvm.test()
class WindowPairsTest(PairTest, WindowTour):
    """Requests that change keys, and accesses, that meet."""

    graphs = ("window: accesses",)
