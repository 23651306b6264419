# SPDX-License-Identifier: Apache-2.0
"""The rows of the recorder's latest block: in the memory of the process where the simulator shares
it (tb/hdl/records.cpp), else one signal after another.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from tb.env.harness.decode import ROW_BYTES

ROWS = 16
_X_TO_0 = str.maketrans("XZUWxzuw-", "000000000")

#: Reads the row of this number, as bytes.
ReadRow = Callable[[int], bytes]


def number_of(handle: Any) -> int:
    """A signal's value, unknown bits read as 0."""
    return int(str(handle.value).translate(_X_TO_0), 2)


def rows_of(recorder: Any) -> ReadRow:
    """How the rows of this instance of bfm_record are read."""
    try:
        shared = (ctypes.c_ubyte * (ROWS * ROW_BYTES)).in_dll(ctypes.CDLL(None), "carillon_rows")
    except ValueError:
        return _signals(recorder)
    view = memoryview(shared).cast("B")
    return lambda number: bytes(view[number * ROW_BYTES : (number + 1) * ROW_BYTES])


def _signals(recorder: Any) -> ReadRow:
    rows = [recorder.rows[number] for number in range(ROWS)]
    # Unknown are bits of lanes that are not selected; those that matter are checked in the harness.
    return lambda number: number_of(rows[number]).to_bytes(ROW_BYTES, "little")
