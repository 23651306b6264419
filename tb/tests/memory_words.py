# SPDX-License-Identifier: Apache-2.0
"""Words of the full engine's memories, in the order of the maintenance bus: data bits and check
bits (hdl/cde_mem.vh, hdl/cde_ecc.vh).
"""

from __future__ import annotations

from tb.env.env import Config

LANE = 64


def _bits(count: int) -> int:
    """Of a number below ``count``."""
    return max(1, (count - 1).bit_length())


class MemoryWords:
    """``widths``: data bits of a word, by number of the memory."""

    def __init__(self, config: Config) -> None:
        cq, qp, srq = _bits(config.num_cq), _bits(config.num_qp), _bits(config.num_srq)
        idx = config.idx_w
        self.widths = (
            *(60, 40, 40),  # mailbox, pages
            *(40 + idx, 40 + idx, idx, 4 + 4 * idx, 10, 18 + 2 * idx),  # arm state
            *(66 + 3 * idx, idx, idx, idx),  # contexts of CQs
            *(idx, idx, idx, idx, idx + 2),  # credits, both ports
            *(idx, idx, idx, idx, idx + 2),
            *(44 + idx + cq, 24 + 2 * idx, idx),  # posts
            *(idx, idx, 514, 1, 2 * idx, idx, 24, 1),  # dispatch
            *(idx, idx, idx),  # done
            *(idx, idx, 2 * idx, idx, 148, 9, cq + 65, 2 * idx, idx, idx + 8),  # retirement
            *(248, idx, 13, qp + 2),  # control of QPs
            *(30 + cq, 3 * idx, idx, idx),  # receive posts
            *(srq + cq + 3, idx, idx + 17, idx, idx, 448, 448),  # taking
            *(idx, idx, srq + 198, cq + 66, idx),  # receive done
            *(idx, idx, idx, 1),  # control of receives
            *(16, 181, 181, 64, 181, 181, 181),  # keys
            *(181, 17),  # checks
        )

    def lanes(self, memory: int) -> range:
        """Each has a code of its own."""
        return range(-(-self.widths[memory] // LANE))

    def data_bits(self, memory: int, lane: int) -> int:
        """Data bits of a lane."""
        return min(self.widths[memory] - LANE * lane, LANE)

    def check_bits(self, memory: int, lane: int) -> range:
        """Numbers of a lane's check bits in the stored word: a Hamming code and the parity."""
        rows = next(
            rows for rows in range(2, 8) if self.data_bits(memory, lane) < (1 << rows) - rows
        )
        first = self.widths[memory] + 8 * lane
        return range(first, first + rows + 1)
