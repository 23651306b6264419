# SPDX-License-Identifier: Apache-2.0
"""Sizes of one engine: the parameters of ``cde_top`` that its behaviour depends on."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Params:
    """``idx_w``: bits of an index. ``mod_tick``: clock cycles of one moderation unit.

    ``sq_log2``: log2 of the slots of a send queue; ``burst``: most work beats of one queue pair
    while another one waits. ``rq_log2``, ``srq_log2``: log2 of the slots of a queue pair's own and
    of a shared receive queue; ``rx_log2``: log2 of the buffers that a queue pair has in flight.
    ``num_mr``, ``num_mw``: memory regions and windows, up to 2048 each.
    """

    num_cq: int = 64
    num_eq: int = 16
    num_pages: int = 64
    idx_w: int = 16
    mod_tick: int = 256
    num_qp: int = 64
    sq_log2: int = 5
    burst: int = 8
    num_srq: int = 16
    rq_log2: int = 4
    srq_log2: int = 6
    rx_log2: int = 4
    num_mr: int = 64
    num_mw: int = 64

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, int) or value < 0:
                raise ValueError(f"Params({field.name}={value!r}): a number from 0 on")

    @property
    def max_log2(self) -> int:
        """log2 of the largest ring."""
        return self.idx_w - 2

    def index(self, number: int) -> int:
        """An entry number as an index of ``idx_w`` bits."""
        return number % (1 << self.idx_w)
