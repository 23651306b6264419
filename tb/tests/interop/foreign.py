# SPDX-License-Identifier: Apache-2.0
"""cde_top between bus functional models of others: cocotbext-axi on every port, or cocotb-bus on
the control port, each channel with a pause generator. Nothing of this project's bench or model but
the generated codes and layouts (`tb/env/defs.py`).
"""

from __future__ import annotations

import logging
import os
import struct
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

import cocotb
from cocotb.clock import Clock
from cocotb.handle import Immediate
from cocotb.triggers import ClockCycles, with_timeout
from cocotb_bus.drivers.amba import AXI4LiteMaster, AXIProtocolError
from cocotbext.axi import (
    AxiBus,
    AxiLiteBus,
    AxiLiteMaster,
    AxiMaster,
    AxiRamWrite,
    AxiResp,
    AxiStreamBus,
    AxiStreamFrame,
    AxiStreamSink,
    AxiStreamSource,
    AxiWriteBus,
)
from cocotbext.axi.memory import Memory

from tb.env.defs import POST, Cmd, PageReg, Reg, Result

SOURCES = ("done", "conn", "rreq", "rdone", "check")
SINKS = ("work", "term", "scatter", "verdict", "irq")
MEMORY = 2**62  # bytes; the models' own default, 2^64, does not fit len()
PERIOD_NS = 4
LIMIT = 4000  # cycles that anything may take
REST = 250  # cycles after which what has not come does not come


def cqe(
    context: int,
    qp_context: int,
    kind: int,
    qp: int,
    nbytes: int = 0,
    status: int = 0,
    flags: int = 0,
    phase: int = 1,
) -> bytes:
    """A CQE, 32 bytes, as docs/interfaces.md gives it; token 0."""
    upper = struct.pack("<HIH", kind, qp | status << 24, flags | phase << 15)
    return struct.pack("<QQII", context, qp_context, nbytes, 0) + upper


def eqe(cq: int, snap: int, status: int = 0, phase: int = 1) -> bytes:
    """An EQE, 16 bytes: a completion queue notification."""
    return struct.pack("<HBBIQ", cq, 1, status, snap, phase << 63)


def pauses(rng: Random) -> Iterator[bool]:
    """Endless: short pauses of one density, now and then a long one."""
    density = rng.choice((0.1, 0.3, 0.6))
    while True:
        yield rng.random() < density
        if rng.random() < 0.004:
            yield from [True] * rng.randrange(8, 40)


class FailingRam(AxiRamWrite):
    """Answers writes to some addresses with SLVERR, and does not do them."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        #: Address of a byte: how many writes to it fail.
        self.failing: dict[int, int] = {}
        super().__init__(*args, **kwargs)

    async def _write(self, address: int, data: bytes) -> None:
        for at in range(address, address + len(data)):
            if self.failing.get(at, 0):
                self.failing[at] -= 1
                raise OSError
        await super()._write(address, data)


class Beat(NamedTuple):
    """One beat of m_axis_work: 64 bytes, TDEST, and the fields of TUSER."""

    post: bytes
    qp: int
    tag: int
    number: int
    peer: int


class CocotbextControl:
    """Control registers through cocotbext-axi: (response, data)."""

    def __init__(self, dut: Any) -> None:
        self.master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)

    def channels(self) -> list[Any]:
        write, read = self.master.write_if, self.master.read_if
        return [
            *(write.aw_channel, write.w_channel, write.b_channel),
            *(read.ar_channel, read.r_channel),
        ]

    async def write(self, offset: int, words: Sequence[int]) -> int:
        answer = await self.master.write(offset, struct.pack(f"<{len(words)}I", *words))
        return int(answer.resp)

    async def read(self, offset: int) -> tuple[int, int]:
        answer = await self.master.read(offset, 4)
        return int(answer.resp), int.from_bytes(answer.data, "little")


class CocotbBusControl:
    """The same through cocotb-bus, whose master pauses by latencies."""

    def __init__(self, dut: Any, rng: Random) -> None:
        self.master = AXI4LiteMaster(dut, "s_axil", dut.clk)
        dut.s_axil_awprot.value = dut.s_axil_arprot.value = 0  # it has no such pins
        self.rng = rng

    def channels(self) -> list[Any]:
        return []

    async def write(self, offset: int, words: Sequence[int]) -> int:
        for number, word in enumerate(words):
            address, data = self.rng.randrange(4), self.rng.randrange(4)
            try:
                await self.master.write(
                    offset + 4 * number, word, address_latency=address, data_latency=data
                )
            except AXIProtocolError as error:
                return int(error.xresp)
        return 0

    async def read(self, offset: int) -> tuple[int, int]:
        try:
            return 0, int(await self.master.read(offset))
        except AXIProtocolError as error:
            return int(error.xresp), 0


class Bench:
    """The engine's surroundings. ``image`` is what host memory has to hold, byte by byte."""

    def __init__(self, dut: Any, cocotb_bus: bool = False) -> None:
        logging.getLogger(f"cocotb.{dut._name}").setLevel(logging.WARNING)
        # The seed of the run, not cocotb's, which depends on the test's name.
        self.seed = int(os.environ.get("COCOTB_RANDOM_SEED", cocotb.RANDOM_SEED))
        self.dut = dut
        dut.rst.value = Immediate(1)  # before the models look at its edges
        Clock(dut.clk, PERIOD_NS, unit="ns").start()
        self.pages = AxiMaster(AxiBus.from_prefix(dut, "s_axi"), dut.clk, dut.rst)
        self.control = (
            CocotbBusControl(dut, self.stream("latency")) if cocotb_bus else CocotbextControl(dut)
        )
        # The engine only writes: AxiRam's half for that.
        bus = AxiWriteBus.from_prefix(dut, "m_axi")
        self.ram = FailingRam(bus, dut.clk, dut.rst, size=MEMORY)
        self.image = Memory(MEMORY)
        self.sources = {
            name: AxiStreamSource(AxiStreamBus.from_prefix(dut, f"s_axis_{name}"), dut.clk, dut.rst)
            for name in SOURCES
        }
        self.sinks = {
            name: AxiStreamSink(AxiStreamBus.from_prefix(dut, f"m_axis_{name}"), dut.clk, dut.rst)
            for name in SINKS
        }
        write, read = self.pages.write_if, self.pages.read_if
        channels = [
            *(write.aw_channel, write.w_channel, write.b_channel),
            *(read.ar_channel, read.r_channel, *self.control.channels()),
            *(self.ram.aw_channel, self.ram.w_channel, self.ram.b_channel),
            *(*self.sources.values(), *self.sinks.values()),
        ]
        for number, channel in enumerate(channels):
            channel.set_pause_generator(pauses(self.stream(f"pause {number}")))
        self.sizes = self.stream("size")

    def stream(self, name: str) -> Random:
        return Random(f"{self.seed}/{name}")

    async def reset(self) -> None:
        await ClockCycles(self.dut.clk, 3)
        self.dut.rst.value = 0

    # -- control ---------------------------------------------------------------------------------

    async def read(self, register: Reg) -> int:
        resp, value = await self.control.read(register)
        assert resp == 0, register
        return value

    async def command(self, command: int, args: dict[int, int]) -> tuple[int, tuple[int, ...]]:
        """Writes all of ARG0 to ARG7 (those not named: 0), starts the command, waits for it; its
        result, and OUT0 to OUT7.
        """
        words = [args.get(number, 0) for number in range(8)]
        assert await self.control.write(Reg.ARG0, words) == 0
        assert await self.control.write(Reg.CMD, [command]) == 0
        for _ in range(LIMIT):
            status = await self.read(Reg.CMD_STATUS)
            if status & 2:
                break
        assert status & 0xFF == 2, "busy"
        out = [await self.read(Reg(Reg.OUT0 + 4 * number)) for number in range(8)]
        return status >> 8, tuple(out)

    async def do(self, command: Cmd, **args: int) -> tuple[int, ...]:
        """A command that succeeds, with arguments named a0 to a7; its OUT words."""
        result, out = await self.command(command, {int(k[1:]): v for k, v in args.items()})
        assert result == Result.OK, (command.name, hex(result))
        return out

    async def create_eq(self, eq: int, base: int, log2: int, vector: int, page: int = 0) -> None:
        low, high = base & 0xFFFFFFFF, base >> 32
        await self.do(Cmd.CREATE_EQ, a0=eq, a1=low, a2=high, a3=log2 | vector << 16, a4=page)

    async def create_cq(self, cq: int, base: int, log2: int, eq: int, page: int = 0) -> None:
        low, high = base & 0xFFFFFFFF, base >> 32
        await self.do(Cmd.CREATE_CQ, a0=cq, a1=low, a2=high, a3=log2, a4=page | eq << 16)

    # -- doorbell pages --------------------------------------------------------------------------

    async def page_write(self, page: int, offset: int, data: bytes) -> int:
        """The cause: 0, or what SLVERR came with. 8 bytes go in any size of beat that is legal."""
        size = 6 if len(data) == 64 else self.sizes.randrange(3, 7)
        answer = await with_timeout(
            self.pages.write(page * 4096 + offset, data, size=size), LIMIT * PERIOD_NS, "ns"
        )
        (cause,) = answer.user
        assert (answer.resp == AxiResp.SLVERR) == (cause != 0)
        return int(cause)

    async def post(self, page: int = 0, portal: int = PageReg.SEND, **fields: int) -> int:
        return await self.page_write(page, portal, post(**fields))

    async def doorbell(self, cq: int, index: int, arm: int | None = None, page: int = 0) -> int:
        """Consumer index, and an arm of this type."""
        word = index | cq << 32 | (0 if arm is None else 1 << 63 | arm << 48)
        return await self.page_write(page, PageReg.CQ_DB, word.to_bytes(8, "little"))

    async def callback_return(self, cq: int, page: int = 0) -> int:
        return await self.page_write(page, PageReg.CB_RETURN, (cq << 32).to_bytes(8, "little"))

    # -- streams ---------------------------------------------------------------------------------

    def send(self, name: str, word: int) -> None:
        source = self.sources[name]
        source.send_nowait(AxiStreamFrame(word.to_bytes(source.width // 8, "little")))

    def report(self, qp: int, tag: int, status: int = 0, name: str = "done") -> None:
        """A done report, or with ``name`` rdone one of a receive."""
        self.send(name, qp | tag << 16 | status << 32)

    async def receive(self, name: str) -> AxiStreamFrame:
        frame = self.sinks[name].recv(compact=False)
        return await with_timeout(frame, LIMIT * PERIOD_NS, "ns")

    async def word(self, name: str) -> int:
        """TDATA of the next beat, of a stream without TLAST."""
        return int.from_bytes((await self.receive(name)).tdata, "little")

    async def batch(self) -> list[Beat]:
        """The next batch of work, up to TLAST."""
        frame = await self.receive("work")
        beats = []
        for start in range(0, len(frame.tdata), 64):
            user = frame.tuser[start]
            assert user >> 56 == 0
            fields = (user & 0xFFFF, user >> 16 & 0xFFFF, user >> 32)
            beats.append(Beat(bytes(frame.tdata[start : start + 64]), frame.tdest[start], *fields))
        return beats

    # -- host memory -----------------------------------------------------------------------------

    async def entry(self, address: int, data: bytes) -> None:
        """Waits until memory holds these bytes there."""
        self.image.write(address, data)
        for _ in range(LIMIT // 4):
            if self.ram.read(address, len(data)) == data:
                return
            await ClockCycles(self.dut.clk, 4)
        found = self.ram.read(address, len(data))
        raise AssertionError(f"{address:#x}: {found.hex()}, not {data.hex()}")

    async def rest(self) -> None:
        """Nothing more comes, and memory holds what it should and not a byte else."""
        await ClockCycles(self.dut.clk, REST)
        assert [name for name, sink in self.sinks.items() if not sink.empty()] == []
        assert [name for name, source in self.sources.items() if not source.idle()] == []
        for base in sorted(self.ram.mem.segs.keys() | self.image.mem.segs.keys()):
            found, wanted = self.ram.read(base, 4096), self.image.read(base, 4096)
            for start in range(0, 4096, 16):
                part = slice(start, start + 16)
                assert found[part] == wanted[part], f"{base + start:#x}: {found[part].hex()}"


def post(**fields: int) -> bytes:
    """64 bytes for a portal, with the fields of a post; ``raw``: bits to add."""
    raw = fields.pop("raw", 0)
    return (POST.pack(**fields) | raw).to_bytes(64, "little")


def slot(address: int, length: int, key: int = 0) -> int:
    """A segment, 128 bits."""
    return address | length << 64 | key << 96
