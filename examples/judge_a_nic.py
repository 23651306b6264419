# SPDX-License-Identifier: Apache-2.0
"""Scoreboard and coverage on a NIC that is not ours, with cocotbext-axi as its host."""

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiMasterWrite, AxiRamWrite, AxiWriteBus

from carillon import ArmType, Params
from carillon.bench import CB_RETURN, CQ_DB, Cmd, Coverage, PageReg, Pins, Reg, Scoreboard

EQ_RING, CQ_RING, OWN_PAGE = 0x1000, 0x2000, 0x1000  # of page 1
NO_RESERVATION = 1 << 8


async def command(csr, code, *args):
    """Runs a mailbox command and returns its results; the scoreboard wants them read."""
    for number, value in enumerate(args):
        await csr.write_dword(Reg.ARG0 + 4 * number, value)
    await csr.write_dword(Reg.CMD, code)
    while await csr.read_dword(Reg.CMD_STATUS) & 1:
        pass
    return await csr.read_dwords(Reg.OUT0, 8)


@cocotb.test()
async def packets(dut):
    cocotb.start_soon(Clock(dut.aclk, 4, "ns").start())
    dut.rx_valid.value, dut.aresetn.value = 0, 0
    csr = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "csr"), dut.aclk, dut.aresetn, False)
    host = AxiWriteBus.from_prefix(dut, "host")
    bells = AxiMasterWrite(host, dut.aclk, dut.aresetn, False)
    ram = AxiRamWrite(AxiWriteBus.from_prefix(dut, "dma"), dut.aclk, dut.aresetn, False, size=65536)

    params = Params(num_cq=8, num_eq=2, num_pages=4, num_qp=0, num_srq=0, num_mr=0, num_mw=0)
    board, coverage = Scoreboard(params), Coverage(params)
    pins = Pins(dut.engine, board, coverage)
    await ClockCycles(dut.aclk, 4)
    dut.aresetn.value = 1

    await command(csr, Cmd.CREATE_EQ, 0, EQ_RING, 0, 4 | 7 << 16, 1)
    await command(csr, Cmd.CREATE_CQ, 2, CQ_RING, 0, 4 | NO_RESERVATION, 1, 0)
    for number in range(1, 6):
        arm = CQ_DB.pack(cq=2, cons=number - 1, arm=1, arm_type=ArmType.ANY)
        await bells.write(OWN_PAGE + PageReg.CQ_DB, arm.to_bytes(8, "little"), size=3)
        assert dut.rx_ready.value == 1
        dut.rx_valid.value, dut.rx_queue.value, dut.rx_bytes.value = 1, 2, 64 * number
        await RisingEdge(dut.aclk)
        dut.rx_valid.value = 0
        await RisingEdge(dut.irq)
        assert int.from_bytes(ram.read(CQ_RING + 32 * number - 16, 4), "little") == 64 * number
        back = CB_RETURN.pack(cq=2)
        await bells.write(OWN_PAGE + PageReg.CB_RETURN, back.to_bytes(8, "little"), size=3)
    await ClockCycles(dut.aclk, 100)
    board.finish(now=pins.cycle)
    cocotb.log.info("judged %d records, hit %d bins", board.judged, len(coverage.counts))
