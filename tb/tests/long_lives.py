# SPDX-License-Identifier: Apache-2.0
"""What the tests of long lives share."""

from __future__ import annotations

from tb.env.agents.base import Pending
from tb.env.agents.doorbell import WriteResult
from tb.env.base_test import CarillonTest

#: Indices of 16 bits have wrapped and count anew.
LIFE = (1 << 16) + 300


class LongLifeTest(CarillonTest):
    """Derive and write ``scenario``."""

    max_cycles = 4_000_000

    def accepted(self, answers: list[Pending[WriteResult]]) -> None:
        """All of these writes are answered, and OKAY."""
        for answer in answers:
            assert answer.done and answer.result == (0, 0), answer.result
        answers.clear()
