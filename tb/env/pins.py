# SPDX-License-Identifier: Apache-2.0
"""Records of an engine inside a top that is not ours: sampled at its pins, with any simulator.

It only listens, and works for ``cde_top`` and ``cde_cpl_top``. It is far slower than the harness's
recorder, for Python runs in every clock cycle; a bench of one's own needs no Verilog of ours.

The host runs a command as a driver does: ``ARG``, ``CMD``, ``CMD_STATUS`` until it is done. Then it
reads ``OUT0`` to ``OUT7``, for they are judged, too: with the next command, and with the end of the
test, comes an error if it has not.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from tb.env.defs import CMD_STATUS, RSV_ANSWER, TRACE, Cmd, Reg
from tb.env.harness import records as beats
from tb.env.harness.decode import byte_mask
from tb.env.harness.records import Command, Record
from tb.env.scoreboard.scoreboard import Scoreboard

_GRANTED = RSV_ANSWER["granted"].mask
_HALF = (1 << 256) - 1
_X_TO_0 = str.maketrans("XZUWxzuw-", "000000000")

#: Ports of one beat: the record, and the signals in the order of its fields.
_STREAMS: dict[str, tuple[Callable[..., Record], tuple[str, ...]]] = {
    "s_axis_cpl": (lambda *beat: _completion(*beat), ("tkeep", "tuser", "tdest", "tdata")),
    "s_axi_b": (beats.DoorbellResponse, ("id", "resp", "user")),
    "s_axis_rsv": (beats.CreditRequest, ("tdata",)),
    "m_axis_rsv": (lambda at, data: beats.CreditAnswer(at, bool(data & _GRANTED)), ("tdata",)),
    "m_axis_irq": (beats.Interrupt, ("tdata",)),
    "m_axis_work": (beats.WorkBeat, ("tdest", "tlast", "tuser", "tdata")),
    "s_axis_done": (beats.DoneReport, ("tdata",)),
    "s_axis_conn": (beats.ConnReport, ("tdata",)),
    "m_axis_term": (beats.TermRequest, ("tdata",)),
    "s_axis_rreq": (beats.RecvRequest, ("tdata",)),
    "m_axis_scatter": (beats.ScatterAnswer, ("tdest", "tuser", "tdata")),
    "s_axis_rdone": (beats.RecvDone, ("tdata",)),
    "s_axis_check": (beats.AccessCheck, ("tdata",)),
    "m_axis_verdict": (beats.AccessVerdict, ("tdata",)),
}


def _completion(cycle: int, keep: int, silent: int, dest: int, data: int) -> Record:
    dests, lanes = (dest & 0xFFFF, dest >> 16), (data & _HALF, data >> 256)
    return beats.Completion(cycle, keep, silent, dests, lanes)


class Pins:
    """Listens to ``engine``, the handle of a ``cde_top`` or ``cde_cpl_top``, from now on.

    ``take`` gets the records of each cycle in which something happened; an exception in it ends
    the test.
    """

    def __init__(self, engine: Any, *take: Callable[[list[Record]], None]) -> None:
        self._engine = engine
        self._take = take
        self._streams = [name for name in _STREAMS if hasattr(engine, _valid(name))]
        self.cycle = -1
        self._clear()
        for board in take:
            if isinstance(board, Scoreboard):
                board.unread = self.unread
        cocotb.start_soon(self._watch())

    def _clear(self) -> None:
        self._mem: tuple[deque[Any], deque[Any]] = deque(), deque()
        self._pages: tuple[deque[Any], deque[Any]] = deque(), deque()
        self._beat: tuple[int, int] | None = None
        self._accesses: dict[str, deque[int]] = {"aw": deque(), "w": deque(), "ar": deque()}
        self._args = [0] * 8
        self._outs: list[int] = []
        self._command: tuple[int, int] | None = None  # code; cycle of the CMD write's response
        self._done: tuple[int, int] | None = None  # cycle; result
        self._held: list[Record] = []

    def unread(self) -> str:
        """What the host has not read of the latest command, and the cure; empty if nothing."""
        if self._command is None:
            return ""
        code, start = self._command
        name = Cmd(code).name if code in set(Cmd) else f"{code:#x}"
        missing = "CMD_STATUS to its end"
        if self._done is not None:
            missing = ", ".join(f"OUT{n}" for n in range(len(self._outs), 8))
        return (
            f"command {name} of cycle {start}: the host did not read {missing}, and what came "
            "after is not judged; read CMD_STATUS until it is done, then OUT0 to OUT7 in this order"
        )

    def _get(self, name: str) -> int:
        """A signal's value, unknown bits read as 0: they stand in lanes that say nothing."""
        return int(str(getattr(self._engine, name).value).translate(_X_TO_0), 2)

    def _fires(self, port: str) -> bool:
        valid = _valid(port)
        return bool(self._get(valid) and self._get(valid.removesuffix("valid") + "ready"))

    async def _watch(self) -> None:
        # What stands in the middle of a cycle is what its clock edge samples.
        edge = FallingEdge(self._engine.clk)
        while True:
            await edge
            if str(self._engine.rst.value) != "0":
                self.cycle = -1
                self._clear()
                continue
            self.cycle += 1
            self._held += [*self._steps(), *self._memory(), *self._doorbells(), *self._beats()]
            self._control()
            if self._held and self._done is None:
                records, self._held = self._held, []
                for take in self._take:
                    take(records)

    def _steps(self) -> list[Record]:
        lanes, found = self._get("trace_valid"), []
        data = self._get("trace_data") if lanes else 0
        for lane in range(lanes.bit_length()):
            if lanes >> lane & 1:
                fields = TRACE.unpack(data >> TRACE.width * lane & _HALF)
                op, cq, event, *rest = fields.values()
                found.append(beats.Trace(self.cycle, lane, op, cq, bool(event), *rest))
        return list(found)

    def _memory(self) -> list[Record]:
        get, (addresses, data), found = self._get, self._mem, []
        if self._fires("m_axi_b"):
            found.append(beats.MemResponse(self.cycle, get("m_axi_bid"), get("m_axi_bresp")))
        if self._fires("m_axi_aw"):
            addresses.append((get("m_axi_awid"), get("m_axi_awaddr")))
        if self._fires("m_axi_w"):
            strb = get("m_axi_wstrb")
            data.append((strb, get("m_axi_wdata") & byte_mask(strb)))
        if addresses and data:
            write = beats.MemWrite(self.cycle, *addresses.popleft(), *data.popleft())
            return [*found, write]
        return list(found)

    def _doorbells(self) -> list[Record]:
        get, (addresses, data) = self._get, self._pages
        if self._fires("s_axi_aw"):
            addresses.append(tuple(get(f"s_axi_aw{x}") for x in ("id", "addr", "len", "size")))
        if self._fires("s_axi_w"):
            self._beat = self._beat or (get("s_axi_wstrb"), get("s_axi_wdata"))
            if get("s_axi_wlast"):
                data.append(self._beat)
                self._beat = None
        if addresses and data:
            return [beats.DoorbellRequest(self.cycle, *addresses.popleft(), *data.popleft())]
        return []

    def _beats(self) -> list[Record]:
        found = []
        for port in self._streams:
            if self._fires(port):
                record, signals = _STREAMS[port]
                names = (f"{port}_{name}" if name[0] == "t" else port + name for name in signals)
                found.append(record(self.cycle, *map(self._get, names)))
        return found

    # -- commands ----------------------------------------------------------------------------------

    def _control(self) -> None:
        get, accesses = self._get, self._accesses
        for channel, name in (("aw", "awaddr"), ("w", "wdata"), ("ar", "araddr")):
            if self._fires(f"s_axil_{channel}"):
                accesses[channel].append(get(f"s_axil_{name}"))
        if self._fires("s_axil_b"):
            offset, data = accesses["aw"].popleft(), accesses["w"].popleft()
            if get("s_axil_bresp") == 0:
                self._written(offset, data)
        if self._fires("s_axil_r"):
            self._was_read(accesses["ar"].popleft(), get("s_axil_rdata"))

    def _written(self, offset: int, data: int) -> None:
        if Reg.ARG0 <= offset <= Reg.ARG7:
            self._args[(offset - Reg.ARG0) // 4] = data
        elif offset == Reg.CMD:
            assert self._command is None, self.unread()
            self._command, self._outs = (data, self.cycle), []

    def _was_read(self, offset: int, data: int) -> None:
        if self._command is None:
            return
        status = CMD_STATUS.unpack(data)
        if offset == Reg.CMD_STATUS and self._done is None and status["done"]:
            self._done = self.cycle, status["result"]
        elif self._done is not None and offset == Reg.OUT0 + 4 * len(self._outs):
            self._outs.append(data)
        if self._done is not None and len(self._outs) == 8:
            (code, start), (cycle, result) = self._command, self._done
            record = Command(cycle, start, code, tuple(self._args), result, tuple(self._outs))
            self._held.insert(bisect_right(self._held, cycle, key=lambda r: r.cycle), record)
            self._command = self._done = None


def _valid(port: str) -> str:
    return f"{port}_tvalid" if "_axis_" in port else f"{port}valid"
