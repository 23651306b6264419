# SPDX-License-Identifier: Apache-2.0
"""Recordings of small designs."""

from __future__ import annotations

import struct
from collections.abc import Sequence


def recording(rows: Sequence[Sequence[int]]) -> bytes:
    """As mutate_record.cpp writes it."""
    text = b""
    last = [0] * len(rows[0])
    for row in rows:
        changed = [n for n, value in enumerate(row) if value != last[n]]
        text += struct.pack("<H", len(changed))
        text += b"".join(struct.pack("<HHH", n, row[n] % 2**16, row[n] >> 16) for n in changed)
        last = list(row)
    return text
