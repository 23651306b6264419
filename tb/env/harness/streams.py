# SPDX-License-Identifier: Apache-2.0
"""Random numbers: one independent stream per purpose, so that a change to one leaves the others
alone.
"""

from __future__ import annotations

import random


def stream(seed: int, name: str) -> random.Random:
    """The stream ``name`` of a seed; the same pair always gives the same numbers."""
    return random.Random(f"{seed}/{name}")
