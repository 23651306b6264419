# SPDX-License-Identifier: Apache-2.0
"""Words of the full engine's memories, in the order of the maintenance bus: data bits and check
bits (hdl/lib/cde_mem.vh, hdl/lib/cde_ecc.vh).
"""

from __future__ import annotations

from tb.env.env import Config

#: Data and check bits of a full lane.
LANE, CHECKS = 29, 7
#: Check bits, as a mask, in which each data bit of a lane counts.
COLUMNS = [rows for rows in range(1 << CHECKS) if rows.bit_count() == 3]


def check_bit(width: int, bit: int) -> int:
    """The number of a check bit in which data bit ``bit`` counts, in a word of ``width`` data bits:
    with both of them wrong the word is lost, and none of its other data bits is wrong.
    """
    lane, column = divmod(bit, LANE)
    return width + CHECKS * lane + COLUMNS[column].bit_length() - 1


def _bits(count: int) -> int:
    """Of a number below ``count``."""
    return max(1, (count - 1).bit_length())


class MemoryWords:
    """``widths``: data bits of a word, by number of the memory."""

    def __init__(self, config: Config) -> None:
        cq, qp, srq = _bits(config.num_cq), _bits(config.num_qp), _bits(config.num_srq)
        eq, page = _bits(config.num_eq), _bits(config.num_pages)
        key = 154 + qp + _bits(config.num_mr)
        idx, sends, receives = config.idx_w, config.sq_log2, config.rq_log2
        settings = 20 + idx + eq + page
        self.widths = (
            *(40 + eq + page, 40, 40),  # mailbox, pages
            *(settings, settings, idx, 4 + 4 * idx, 10, 17 + 3 * idx),  # arm state
            *(61 + 4 * idx, idx, idx, idx),  # contexts of CQs
            *(idx, idx, idx, idx, idx + 2),  # credits, both ports
            *(idx, idx, idx, idx, idx + 2),
            *(33 + sends + page + cq, 22 + 2 * idx, idx),  # posts
            *(sends + 1, sends + 1, 514, 1, 2 * idx + sends + 1, sends + 1, 24, 1),  # dispatch
            *(idx, idx, sends + 1),  # done
            *(sends + 1, sends + 1, 148, 9, cq + 65, 3 * idx, idx + 8),  # retirement
            # control of QPs
            *(144 + srq + receives + sends + page + 2 * cq, idx, 1 + page, qp + 2),
            *(18 + page + cq, 3 * idx, idx, idx),  # receive posts
            *(srq + cq + 3, idx, idx + 17, idx, idx, 448, 448),  # taking
            *(idx, idx, srq + 198, cq + 66, idx),  # receive done
            *(idx, idx, idx, 1),  # control of receives
            *(16, key, 171, 64, key, key, key),  # keys
            *(key, 17),  # checks
        )

    def lanes(self, memory: int) -> range:
        """Each has a code of its own."""
        return range(-(-self.widths[memory] // LANE))

    def data_bits(self, memory: int, lane: int) -> int:
        """Data bits of a lane."""
        return min(self.widths[memory] - LANE * lane, LANE)

    def check_bits(self, memory: int, lane: int) -> range:
        """Numbers of a lane's check bits in the stored word."""
        last = COLUMNS[self.data_bits(memory, lane) - 1]
        first = self.widths[memory] + CHECKS * lane
        return range(first, first + last.bit_length())
