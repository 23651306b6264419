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

    graph = "window: keys"


@pyuvm.test()
class WindowAccessesTour(WindowTour):
    """Accesses of peers in every state (MW-10), and the entries of NetworkDirect 1 (MW-07)."""

    graph = "window: accesses"
    windows = 1
    nd1 = True


@pyuvm.test()
class AllocatedRegionTour(WindowTour):
    """A region by FastRegister, and a window on it (MW-11)."""

    graph = "window: allocated region"
    windows = 1


@pyuvm.test()
class WindowLivesTour(WindowTour):
    """Queue pairs are destroyed and created, with and without keys (MW-11)."""

    graph = "window: lives"
    windows = 1


@pyuvm.test()
class RemovalTour(WindowTour):
    """The device is removed in every state (MW-09)."""

    graph = "window: removal"


@pyuvm.test()
class WindowPairsTest(PairTest, WindowTour):
    """Requests that change keys, and accesses, that meet."""

    graph = "window: accesses"
    windows = 1
    nd1 = True
