# SPDX-License-Identifier: Apache-2.0
"""Turns the recorder's words (tb/hdl/bfm_record.v) into records."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from tb.env import defs
from tb.env.failure import ProtocolError
from tb.env.harness.records import (
    AccessCheck,
    AccessVerdict,
    Completion,
    ConnReport,
    CreditAnswer,
    CreditRequest,
    DoneReport,
    DoorbellRequest,
    DoorbellResponse,
    Interrupt,
    MemResponse,
    MemWrite,
    Record,
    RecvDone,
    RecvRequest,
    ScatterAnswer,
    TermRequest,
    Trace,
    WorkBeat,
)

ROW_WORDS = 64
ROW_BYTES = ROW_WORDS * 8
#: In front of the records of a block.
HEAD_WORDS = 3
BLOCK_MARK = 0xFF


@lru_cache(maxsize=1024)
def byte_mask(strb: int) -> int:
    """512 bits: all ones in each byte that the 64 strobes select."""
    return sum(0xFF << 8 * byte for byte in range(64) if strb >> byte & 1)


# Kinds, as in bfm_record.v.
TRACE, MEM_RESPONSE, MEM_WRITE, COMPLETION, DB_REQUEST, DB_RESPONSE = range(1, 7)
CREDIT_REQUEST, CREDIT_ANSWER, INTERRUPT, DB_READ, CTL_B, CTL_R, VIOLATION = range(7, 14)
WORK, DONE, CONN, TERM, RREQ, SCATTER, RDONE, CHECK, VERDICT = range(14, 23)

# Words 1 to 4 of a step are its lane: shifts are quicker than field names.
assert [(f.lsb, f.width) for f in defs.TRACE.fields.values()] == [
    *((0, 8), (8, 16), (24, 1), (25, 2), (32, 32), (64, 96), (160, 96))
]

_make = tuple.__new__  # a named tuple without the cost of its own constructor
_WORDS = struct.Struct(f"<{ROW_WORDS}Q")
_LOW_HALF = (1 << 256) - 1
_HALF_ZERO_ABOVE, _HALF_ZERO_BELOW, _HALVES_EQUAL = 1, 2, 3

_CHANNELS = (
    *("s_axi_b", "s_axi_r", "s_axil_b", "s_axil_r", "m_axis_rsv", "m_axis_irq"),
    *("m_axi_aw", "m_axi_w"),
)
_TRANSPORT_CHANNELS = ("m_axis_work", "m_axis_term", "m_axis_scatter", "m_axis_verdict")
_FAULTS = ("valid fell before ready", "payload changed before ready", "unknown (X) value")
_VIOLATIONS = (
    *(f"{channel}: {fault}" for channel in _CHANNELS for fault in _FAULTS),
    *("m_axi_aw: not one aligned 64-byte beat", "m_axi_w: no last beat"),
    *(f"{channel}: {fault}" for channel in _TRANSPORT_CHANNELS for fault in _FAULTS),
    "a ready or a trace lane: unknown (X) value",
    *(f"a {what} while memories are cleared" for what in ("ready", "valid")),
)


class DoorbellRead(NamedTuple):
    """Handshake on s_axi_r."""

    cycle: int
    axi_id: int
    resp: int
    last: bool
    data: int  # 512 bits


class ControlWrite(NamedTuple):
    """Handshake on s_axil_b."""

    cycle: int
    resp: int


class ControlRead(NamedTuple):
    """Handshake on s_axil_r."""

    cycle: int
    resp: int
    data: int


def violation_names(bits: int) -> list[str]:
    """What each bit of the harness's violation vector means."""
    return [name for bit, name in enumerate(_VIOLATIONS) if bits >> bit & 1]


#: Gets each record of a type, in order.
Hooks = Mapping[type, Callable[[Any], None]]
#: (address, strobes, 64 bytes) of each write that reaches memory. At an interrupt memory is exactly
#: as it was then.
MemoryHook = Callable[[int, int, bytes], None]

#: Kinds of a number alone: its words after the head.
_PLAIN: dict[int, tuple[Callable[[int, int], Record], int]] = {
    CREDIT_REQUEST: (CreditRequest, 1),
    DONE: (DoneReport, 1),
    CONN: (ConnReport, 1),
    TERM: (TermRequest, 1),
    RREQ: (RecvRequest, 2),
    RDONE: (RecvDone, 1),
    CHECK: (AccessCheck, 3),
    VERDICT: (AccessVerdict, 1),
}


class Decoder:
    """Decodes rows into records, and tells those who are interested."""

    def __init__(self, hooks: Hooks, memory: MemoryHook) -> None:
        self._hooks = dict(hooks)
        self._memory = memory

    def _tell(self, record: Any) -> None:
        hook = self._hooks.get(type(record))
        if hook is not None:
            hook(record)

    def row(self, raw: bytes, start: int, out: list[Record]) -> None:
        """Appends the records of one row (from word ``start`` on) to ``out``."""
        word = _WORDS.unpack(raw)
        number = int.from_bytes
        pos = start
        while pos < ROW_WORDS:
            head = word[pos]
            kind = head & 0xFF
            if kind == 0:
                break
            cycle = head >> 32
            if kind == TRACE:
                first, second, third = word[pos + 1], word[pos + 2], word[pos + 3]
                old, new = second | (third & 0xFFFFFFFF) << 64, third >> 32 | word[pos + 4] << 32
                lane, op, cq = head >> 8 & 0xF, first & 0xFF, first >> 8 & 0xFFFF
                event, status = bool(first & 0x1000000), first >> 25 & 3
                step = (cycle, lane, op, cq, event, status, first >> 32, old, new)
                out.append(_make(Trace, step))
                pos += 5
            elif kind == MEM_RESPONSE:
                out.append(_make(MemResponse, (cycle, head >> 8 & 0xFFFF, head >> 24 & 3)))
                pos += 1
            elif kind == MEM_WRITE:
                pos = self._mem_write(raw, word, pos, out)
            elif kind == COMPLETION:
                dest = word[pos + 1]
                at = (pos + 2) * 8
                short = head >> 12 & 1
                data = number(raw[at : at + (32 if short else 64)], "little")
                dests, lanes = (dest & 0xFFFF, dest >> 16 & 0xFFFF), (data & _LOW_HALF, data >> 256)
                beat = Completion(cycle, head >> 8 & 3, head >> 10 & 3, dests, lanes)
                out.append(beat)
                self._tell(beat)
                pos += 6 if short else 10
            elif kind == DB_REQUEST:
                if head >> 27 & 1:
                    data = word[pos + 3] << 64 * (head >> 28 & 7)
                    size = 4
                else:
                    size = 7 if head & 0x80000000 else 11
                    data = number(raw[(pos + 3) * 8 : (pos + size) * 8], "little")
                axi_id, length, beats = head >> 8 & 0xFF, head >> 16 & 0xFF, head >> 24 & 7
                addr, strb = word[pos + 1], word[pos + 2]
                request = DoorbellRequest(cycle, axi_id, addr, length, beats, strb, data)
                out.append(request)
                self._tell(request)
                pos += size
            elif kind == DB_RESPONSE:
                axi_id, resp, cause = head >> 8 & 0xFF, head >> 16 & 3, head >> 24 & 0xFF
                response = DoorbellResponse(cycle, axi_id, resp, cause)
                out.append(response)
                self._tell(response)
                pos += 1
            elif kind == CREDIT_ANSWER:
                granted = CreditAnswer(cycle, bool(head & 0x100))
                out.append(granted)
                self._tell(granted)
                pos += 1
            elif kind == INTERRUPT:
                interrupt = Interrupt(cycle, head >> 8 & 0xFFFF)
                out.append(interrupt)
                self._tell(interrupt)
                pos += 1
            elif kind == WORK:
                size = 6 if head >> 25 & 1 else 10
                data = number(raw[(pos + 2) * 8 : (pos + size) * 8], "little")
                work = WorkBeat(
                    cycle, head >> 8 & 0xFFFF, bool(head & 0x1000000), word[pos + 1], data
                )
                out.append(work)
                self._tell(work)
                pos += size
            elif kind in _PLAIN:
                make, size = _PLAIN[kind]
                pos += 1
                data = word[pos]
                if size > 1:
                    data = number(raw[pos * 8 : (pos + size) * 8], "little")
                plain = make(cycle, data)
                out.append(plain)
                self._tell(plain)
                pos += size
            else:
                pos = self._rare(raw, word, pos, out)

    def _mem_write(self, raw: bytes, word: tuple[int, ...], pos: int, out: list[Record]) -> int:
        head = word[pos]
        half = head >> 25 & 3
        at = (pos + 3) * 8
        if half == 0:
            line = raw[at : at + 64]
            size = 11
        else:
            part = raw[at : at + 32]
            size = 7
            if half == _HALVES_EQUAL:
                line = part + part
            elif half == _HALF_ZERO_ABOVE:
                line = part + bytes(32)
            else:
                line = bytes(32) + part
        addr, strb = word[pos + 1], word[pos + 2]
        if head >> 24 & 1:
            self._memory(addr, strb, line)
        data = int.from_bytes(line, "little") & byte_mask(strb)
        out.append(MemWrite(head >> 32, head >> 8 & 0xFFFF, addr, strb, data))
        return pos + size

    def _rare(self, raw: bytes, word: tuple[int, ...], pos: int, out: list[Record]) -> int:
        head = word[pos]
        kind, cycle = head & 0xFF, head >> 32
        if kind == CTL_B:
            self._tell(ControlWrite(cycle, head >> 8 & 3))
            return pos + 1
        if kind == CTL_R:
            self._tell(ControlRead(cycle, head >> 8 & 3, word[pos + 1]))
            return pos + 2
        if kind == SCATTER:
            size = 4 if head >> 24 & 1 else 8
            data = int.from_bytes(raw[(pos + 2) * 8 : (pos + size) * 8], "little")
            answer = ScatterAnswer(cycle, head >> 8 & 0xFFFF, word[pos + 1], data)
            out.append(answer)
            self._tell(answer)
            return pos + size
        if kind == DB_READ:
            short = head >> 19 & 1
            count = 1 if short else 8
            data = int.from_bytes(raw[(pos + 1) * 8 : (pos + 1 + count) * 8], "little")
            self._tell(
                DoorbellRead(cycle, head >> 8 & 0xFF, head >> 16 & 3, bool(head >> 18 & 1), data)
            )
            return pos + 1 + count
        if kind == VIOLATION:
            if head >> 8 & 1:
                raise ProtocolError(f"cycle {cycle}: a queue of the harness ran over", cycle)
            names = "; ".join(violation_names(word[pos + 1]))
            raise ProtocolError(f"cycle {cycle}: {names}", cycle)
        raise ProtocolError(f"the recorder delivered an unknown kind {kind}")
