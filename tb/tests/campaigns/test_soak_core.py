# SPDX-License-Identifier: Apache-2.0
"""Dense random traffic on the completion core, in phases with different emphasis and a reset
between them. Seeds from ``LONG_SEED`` on run long: chunks of ``make soak``.
"""

from __future__ import annotations

import random
from typing import Any

import pyuvm

from tb.env.host.consumer import Habits
from tb.tests.common.soaking import SoakTest

BUILD = ["default", "small"]


@pyuvm.test()
class CoreSoakTest(SoakTest):
    """Completions at up to the full rate, arms of every type, callbacks that return late."""

    cycles = 1500, 40_000

    def phase(self, rng: random.Random) -> tuple[str, dict[str, Any]]:
        assert self.env.config is not None
        if rng.random() < 0.3:
            self.stall(rng)
        self.env.mem.latency(*rng.choice(((0, 0), (5, 60), (20, 250))), self.env.seed)
        habits = Habits(0.9, 0.6, rng.choice((0.05, 0.5)), 400)
        sizes = {"log2_min": 5, "log2_max": 9, "habits": habits, "chunk": 128}
        return "mixed_traffic", sizes | {
            "rate": rng.choice((0.5, 0.9, 0.95)),
            "pairs": rng.choice((0.1, 0.6, 0.9)),
            "queues": rng.choice((4, 16, self.env.config.num_cq)),
            "unreserved": rng.choice((0.1, 0.7)),
        }
