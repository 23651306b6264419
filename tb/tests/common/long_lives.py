# SPDX-License-Identifier: Apache-2.0
"""What the tests of long lives share."""

from __future__ import annotations

from tb.env.agents.base import Pending
from tb.env.agents.doorbell import WriteResult
from tb.env.base_test import CarillonTest


class LongLifeTest(CarillonTest):
    """Derive and write ``scenario``."""

    max_cycles = 4_000_000

    @property
    def mask(self) -> int:
        """Of an index."""
        return (1 << self.config.idx_w) - 1

    @property
    def lifetime(self) -> int:
        """Indices have wrapped and count anew."""
        return self.mask + 300

    def accepted(self, answers: list[Pending[WriteResult]]) -> None:
        """All of these writes are answered, and OKAY."""
        for answer in answers:
            assert answer.done and answer.result == (0, 0), answer.result
        answers.clear()
