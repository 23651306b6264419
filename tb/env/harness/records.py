# SPDX-License-Identifier: Apache-2.0
"""What the monitors report: one immutable record per handshake seen at a pin of the engine.

Every record carries ``cycle``, the clock cycle (int, 0 at the first edge after reset) in which
valid and ready were both high (trace: in which valid was high). The recorder delivers records in
the order of their cycles; records of one cycle come in the order of the classes below. Field
layouts: docs/interfaces.md.
"""

from __future__ import annotations

from typing import NamedTuple


class Trace(NamedTuple):
    """One lane of the trace port."""

    cycle: int
    lane: int
    op: int
    cq: int  # lanes 3, 4 and 7 to 9: the QP; lanes 5 and 6: the QP or SRQ
    event: bool
    event_status: int
    operand: int  # 32 bits
    old: int  # 96 bits
    new: int  # 96 bits


class MemResponse(NamedTuple):
    """Handshake on m_axi_b."""

    cycle: int
    axi_id: int
    resp: int


class MemWrite(NamedTuple):
    """A write whose address and data were both accepted on m_axi (cycle: the later of the two)."""

    cycle: int
    axi_id: int
    addr: int
    strb: int  # 64 bits
    data: int  # 512 bits; 0 in bytes without strobe, which say nothing


class Completion(NamedTuple):
    """Handshake on s_axis_cpl."""

    cycle: int
    keep: int  # 2 bits
    silent: int  # 2 bits (tuser)
    dest: tuple[int, int]
    data: tuple[int, int]  # 256 bits each


class DoorbellRequest(NamedTuple):
    """A write on s_axi whose address and last data beat were both accepted (cycle: the later)."""

    cycle: int
    axi_id: int
    addr: int
    length: int  # awlen
    size: int  # awsize
    strb: int  # of the first beat
    data: int  # of the first beat, 512 bits


class Asked(NamedTuple):
    """What a driver was asked to write: number of the write since the reset, from 1 on; number of
    the reset; address; which of the 512 bits of its first beat, and their values.
    """

    serial: int
    life: int
    addr: int
    mask: int
    data: int


class DoorbellResponse(NamedTuple):
    """Handshake on s_axi_b."""

    cycle: int
    axi_id: int
    resp: int
    cause: int  # buser


class CreditRequest(NamedTuple):
    """Handshake on s_axis_rsv."""

    cycle: int
    data: int


class CreditAnswer(NamedTuple):
    """Handshake on m_axis_rsv."""

    cycle: int
    granted: bool


class Interrupt(NamedTuple):
    """Handshake on m_axis_irq."""

    cycle: int
    vector: int


class WorkBeat(NamedTuple):
    """Handshake on m_axis_work: one indicated request."""

    cycle: int
    qp: int
    last: bool  # end of its batch
    user: int  # 64 bits
    data: int  # 512 bits


class DoneReport(NamedTuple):
    """Handshake on s_axis_done."""

    cycle: int
    data: int  # 64 bits


class ConnReport(NamedTuple):
    """Handshake on s_axis_conn."""

    cycle: int
    data: int  # 32 bits


class TermRequest(NamedTuple):
    """Handshake on m_axis_term."""

    cycle: int
    data: int  # 32 bits


class RecvRequest(NamedTuple):
    """Handshake on s_axis_rreq: a message for a QP has arrived."""

    cycle: int
    data: int  # 128 bits


class ScatterAnswer(NamedTuple):
    """Handshake on m_axis_scatter: the answer to a receive request."""

    cycle: int
    qp: int  # tdest
    user: int  # 32 bits
    data: int  # 384 bits


class RecvDone(NamedTuple):
    """Handshake on s_axis_rdone: a taken buffer is reported."""

    cycle: int
    data: int  # 64 bits


class AccessCheck(NamedTuple):
    """Handshake on s_axis_check: may the peer of a QP access this memory?"""

    cycle: int
    data: int  # 192 bits


class AccessVerdict(NamedTuple):
    """Handshake on m_axis_verdict: the answer to a check."""

    cycle: int
    data: int  # 32 bits


class Command(NamedTuple):
    """A mailbox command that the control agent ran to its end.

    ``start`` is the cycle from which the CMD write was on offer: no effect is earlier, however long
    its answer stalls. ``cycle`` is that of the read that showed it done.
    """

    cycle: int
    start: int
    code: int
    args: tuple[int, ...]  # ARG0..ARG7
    result: int
    outs: tuple[int, ...]  # OUT0..OUT7


class Access(NamedTuple):
    """A finished access to a control register, which the control agent tells apart from the
    records; ``data``: 32 bits, written or read."""

    cycle: int
    write: bool
    offset: int
    data: int
    resp: int


Record = (
    Trace
    | MemResponse
    | MemWrite
    | Completion
    | DoorbellRequest
    | DoorbellResponse
    | CreditRequest
    | CreditAnswer
    | Interrupt
    | WorkBeat
    | DoneReport
    | ConnReport
    | TermRequest
    | RecvRequest
    | ScatterAnswer
    | RecvDone
    | AccessCheck
    | AccessVerdict
    | Command
)
