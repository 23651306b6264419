# SPDX-License-Identifier: Apache-2.0
"""The model's state as the trace port shows it (96 bits of "state before" and "state after").

Source: ``docs/interfaces.md``, "Trace port". This encoding clamps and wraps where the model does
neither; it is the only place that does.
"""

from __future__ import annotations

from models.arm.arm import CqModel
from models.cq.queue import CqProducer
from models.params import Params


def encode_cq(cq: CqModel, params: Params) -> int:
    """State of lanes 1 and 2: publication, errors, doorbells, control, moderation."""
    mark = max(cq.cons, cq.snap)
    solicited = max([mark, *(e.index + 1 for e in cq.entries if e.solicited)])
    return (
        cq.life
        | cq.status << 2
        | (cq.arm is not None) << 4
        | (cq.arm or 0) << 5
        | cq.running << 7
        | cq.due << 8
        | cq.released << 9
        | cq.event_open << 10
        | params.index(cq.prod) << 16
        | params.index(cq.cons) << 32
        | params.index(mark) << 48
        | params.index(solicited) << 64
        | cq.due_count << 80
    )


#: Bits of QUERY_CQ's OUT0 that say how the queue stands.
QUERIED = 0x3FF


def queried(state: int) -> int:
    """These bits, of a state of lanes 1 and 2."""
    return state & 0x1FF | (state >> 10 & 1) << 9


def encode_producer(producer: CqProducer, params: Params) -> int:
    """State of lane 0: allocation, credits, refusal."""
    return params.index(producer.alloc) | params.index(producer.used) << 16 | producer.refuses << 32
