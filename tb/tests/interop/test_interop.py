# SPDX-License-Identifier: Apache-2.0
"""cde_top at its pins between bus functional models of others. What memory and the streams must
hold is written out here, from docs/interfaces.md, posting.md, receive.md and windows.md.
"""

from __future__ import annotations

import cocotb

from tb.env.defs import ArmType, Cause, Cmd, Opcode, PageReg, PostFlag, Reg, Result
from tb.tests.interop.foreign import Beat, Bench, cqe, eqe, post, slot

BUILD = "interop"

EQ, CQ, RCQ, VECTOR = 1, 1, 2, 0x21
EQ_RING, CQ_RING, RCQ_RING = 0x1_0000_2000, 0x1_0000_4000, 0x1_0000_6000
DEFER, SILENT, INLINE = PostFlag.DEFER, PostFlag.SILENT_SUCCESS, PostFlag.INLINE
PEER = 0xABCDEF
ZONE = 7
REGION = 0x2_0000_0000
GUARDED = 1 << 18
READ, SEND, WRITE = 0x0020, 0x0002, 0x0040  # result types
RECEIVE = 0x0001


def context_of(qp: int) -> int:
    return 0xC0DE_0000_0000_0000 | qp


async def create_qp(bench: Bench, qp: int, cq: int = CQ, receives: int = 4, more: int = 0) -> None:
    """A connected QP of page 0 with four slots to send; ``more``: ARG7."""
    low, high = context_of(qp) & 0xFFFFFFFF, context_of(qp) >> 32
    queues, depths = cq | RCQ << 16, ZONE | receives << 16
    await bench.do(Cmd.CREATE_QP, a0=qp, a1=low, a2=high, a3=queues, a4=4 << 16, a6=depths, a7=more)
    await bench.do(Cmd.CONNECT_QP, a0=qp, a1=PEER)


async def set_up(
    dut: object, log2: int = 3, eq_log2: int = 2, qps: tuple[int, ...] = (2,)
) -> Bench:
    """An EQ, a CQ to send with 2^log2 entries and one to receive with 8, and QPs."""
    bench = Bench(dut)
    await bench.reset()
    await bench.create_eq(EQ, EQ_RING, eq_log2, VECTOR)
    await bench.create_cq(CQ, CQ_RING, log2, EQ)
    await bench.create_cq(RCQ, RCQ_RING, 3, EQ)
    for qp in qps:
        await create_qp(bench, qp)
    return bench


async def complete(bench: Bench, number: int, status: int = 0, qp: int = 2) -> None:
    """A Send with context ``number``, the QP's post and request of that number, is reported."""
    assert await bench.post(opcode=Opcode.SEND, qp=qp, context=number) == 0
    index = number % 32
    (beat,) = await bench.batch()
    assert beat == Beat(post(opcode=5, qp=qp, context=number), qp, index, index, PEER)
    bench.report(qp, index, status)


@cocotb.test()
@cocotb.parametrize(cocotb_bus=[False, True])
async def bring_up(dut: object, cocotb_bus: bool) -> None:
    """From reset to the first completion by register writes alone, refusals on the way."""
    bench = Bench(dut, cocotb_bus)
    await bench.reset()
    for register, value in (
        (Reg.ID, 0x43415249),
        (Reg.VERSION, 0x00010000),
        (Reg.CAP0, 4 | 2 << 16),
        (Reg.CAP1, 5 | 3 << 8 | 2 << 16),
        (Reg.CAP2, 4 | 4 << 16),
        (Reg.CAP3, 4 | 2 << 16 | 2 << 24),
        (Reg.CAP4, 2 | 2 << 16 | 2 << 24),
        (Reg.CAP5, 4 | 1 << 16),
        (Reg.CAP6, 4),
    ):
        assert await bench.read(register) == value, register.name
    # No register, one to read only, one to write only.
    assert (await bench.control.read(0x3FC))[0] == 2
    assert await bench.control.write(Reg.ID, [0]) == 2
    assert (await bench.control.read(Reg.CMD))[0] == 2
    assert await bench.read(Reg.CNT_CTRL_REFUSED) == 3
    eq = {0: EQ, 1: 0x2000, 2: 1, 3: 2 | VECTOR << 16}
    cq = {0: CQ, 1: 0x4000, 2: 1, 3: 3, 4: EQ << 16}
    qp = {0: 2, 1: 2, 2: 0xC0DE_0000, 3: CQ | CQ << 16, 4: 4 << 16, 5: 0, 6: ZONE | 4 << 16}
    for command, args, result in (
        (0x7F, {}, Result.UNKNOWN),
        (Cmd.CREATE_CQ, cq, Result.NO_EQ),
        (Cmd.CREATE_EQ, eq | {0: 2}, Result.BAD_OBJECT),
        (Cmd.CREATE_EQ, eq | {4: 2}, Result.BAD_PAGE),
        (Cmd.CREATE_EQ, eq, Result.OK),
        (Cmd.CREATE_EQ, eq, Result.EXISTS),
        (Cmd.CREATE_CQ, cq | {3: 4}, Result.BAD_SIZE),
        (Cmd.CREATE_CQ, cq | {1: 0x4040}, Result.BAD_ALIGN),
        (Cmd.CREATE_QP, qp, Result.NO_CQ),
        (Cmd.CREATE_CQ, cq, Result.OK),
        (Cmd.CREATE_QP, qp, Result.OK),
        (Cmd.CONNECT_QP, {0: 2, 1: PEER}, Result.OK),
        (Cmd.CONNECT_QP, {0: 2, 1: PEER}, Result.BAD_STATE),
    ):
        assert (await bench.command(command, args))[0] == result, (command, args)
    out = await bench.do(Cmd.QUERY_QP, a0=2)
    assert out == (2 | PEER << 8, 0, 0, CQ | CQ << 16, 4 << 16, 0, ZONE | 4 << 16, 0)
    data = {"opcode": 5, "flags": INLINE, "qp": 2, "inline_bytes": 5, "context": 1 << 63 | 5}
    data["slot0"] = int.from_bytes(b"hello", "little")
    assert await bench.post(**data) == 0
    assert await bench.batch() == [Beat(post(**data), 2, 0, 0, PEER)]
    bench.report(2, 0)
    await bench.entry(CQ_RING, cqe(1 << 63 | 5, context_of(2), SEND, 2, nbytes=5))
    assert await bench.doorbell(CQ, 1) == 0
    await bench.rest()
    assert await bench.read(Reg.CNT_CPL_PLACED) == 1


@cocotb.test()
async def deferred_chain(dut: object) -> None:
    """Two QPs hold; one is released by its plain post, as one batch in post order, the other by a
    post that fails and completes never; one that fails for another page or a receive releases
    nothing."""
    bench = await set_up(dut, qps=(2, 3))
    chain: tuple[dict[str, int], ...] = (
        {"opcode": Opcode.WRITE, "flags": DEFER, "segments": 1, "slot0": slot(64, 300)},
        {"opcode": Opcode.READ, "flags": DEFER, "segments": 2, "slot0": slot(0, 7)},
        {"opcode": Opcode.SEND, "flags": DEFER | SILENT},
        {"opcode": Opcode.SEND, "segments": 1, "slot0": slot(1 << 63, 9)},
    )
    posts = {
        qp: [{**fields, "qp": qp, "context": qp << 8 | n} for n, fields in enumerate(chain)]
        for qp in (2, 3)
    }
    for number in range(3):
        for qp in (3, 2):
            assert await bench.post(**posts[qp][number]) == 0
    assert await bench.post(page=1, opcode=Opcode.SEND, qp=3) == Cause.NOT_OWNER
    assert await bench.post(portal=PageReg.RECV, qp=3, segments=4) == Cause.TOO_MANY_SEGMENTS
    await bench.rest()
    wanted = {
        qp: [Beat(post(**fields), qp, n, n, PEER) for n, fields in enumerate(posts[qp])]
        for qp in (2, 3)
    }
    assert await bench.post(**posts[2][3]) == 0
    assert await bench.batch() == wanted[2]
    assert await bench.post(opcode=0x7F, qp=3) == Cause.BAD_OPCODE
    assert await bench.batch() == wanted[3][:3]
    await bench.rest()
    assert await bench.post(**posts[3][3]) == 0
    assert await bench.batch() == wanted[3][3:]
    await bench.rest()
    for tag in range(4):
        bench.report(2, tag)
    for place, (number, kind, nbytes) in enumerate(((0, WRITE, 300), (1, READ, 7), (3, SEND, 9))):
        data = cqe(2 << 8 | number, context_of(2), kind, 2, nbytes)
        await bench.entry(CQ_RING + 32 * place, data)
    # The second of the other QP fails: what comes later is canceled, the silent one shows, too.
    for tag, status in enumerate((0, 2, 0, 0)):
        bench.report(3, tag, status)
    for number, (kind, nbytes, status) in enumerate(
        ((WRITE, 300, 0), (READ, 0, 2), (SEND, 0, 1), (SEND, 0, 1))
    ):
        data = cqe(3 << 8 | number, context_of(3), kind, 3, nbytes, status)
        await bench.entry(CQ_RING + 32 * (3 + number), data)
    assert await bench.word("term") == 3 | 5 << 16
    assert await bench.post(**posts[3][3]) == Cause.NOT_CONNECTED
    await bench.rest()


@cocotb.test()
async def arm_event_return(dut: object) -> None:
    """Arm, EQE, interrupt, return, arm again: one callback for each arm, none during one. Rings of
    four and two entries go round: slots and phase bits."""
    bench = await set_up(dut, log2=2, eq_log2=1)

    async def place(number: int, status: int = 0) -> None:
        await complete(bench, number, status)
        data = cqe(number, context_of(2), SEND, 2, status=status, phase=1 - number // 4 % 2)
        await bench.entry(CQ_RING + 32 * (number % 4), data)

    async def called(number: int, snap: int) -> None:
        event = eqe(CQ, snap, phase=1 - number // 2 % 2)
        await bench.entry(EQ_RING + 16 * (number % 2), event)
        assert await bench.word("irq") == VECTOR

    # Not armed: no callback.
    await place(0)
    await bench.rest()
    # Armed over what is consumed: the next one calls, and only that one.
    assert await bench.doorbell(CQ, 1, ArmType.ANY) == 0
    await bench.rest()
    await place(1)
    await called(0, snap=2)
    await place(2)
    await bench.rest()
    # Armed in the callback over a new one: due at once, called when the callback has returned.
    assert await bench.doorbell(CQ, 2, ArmType.ANY) == 0
    await bench.rest()
    assert await bench.callback_return(CQ) == 0
    await called(1, snap=3)
    assert await bench.callback_return(CQ) == 0
    assert await bench.callback_return(CQ) == Cause.NO_CALLBACK
    # Solicited: a good Send is not of that class, a failed one is.
    assert await bench.doorbell(CQ, 3, ArmType.SOLICITED) == 0
    await place(3)
    await bench.rest()
    await place(4, status=2)
    await called(2, snap=5)
    assert await bench.word("term") == 2 | 5 << 16
    assert await bench.callback_return(CQ, page=1) == Cause.NOT_OWNER
    assert await bench.callback_return(CQ) == 0
    await bench.rest()


#: (lengths of the segments, length of the message, bytes to fill in each, code, status)
MESSAGES = (
    ((100, 20, 50), 110, (100, 10, 0), 0, 0),
    ((64,), 64, (64,), 0, 0),
    ((), 0, (), 0, 0),
    ((10, 0, 30), 40, (10, 0, 30), 0, 0),
    ((16,), 17, None, 2, 3),
)


@cocotb.test()
async def receive_scatter(dut: object) -> None:
    """Buffers of a QP's own queue (page 0) and of an SRQ, scattered, completed and reaped."""
    bench = await set_up(dut)
    mr = {"a0": 1, "a1": REGION & 0xFFFFFFFF, "a2": REGION >> 32, "a3": 0x1000}
    assert (await bench.do(Cmd.REGISTER_MR, **mr, a5=ZONE | 1 << 16))[0] == 0x1001
    assert (await bench.do(Cmd.CREATE_SRQ, a0=1, a1=4 | ZONE << 16, a2=0x33 << 16))[0] == 0
    await create_qp(bench, 3, receives=0, more=1 | 1 << 16)

    async def answered(qp: int, request: int, user: int, data: bytes = bytes(48)) -> None:
        bench.send("rreq", qp | request)
        frame = await bench.receive("scatter")
        assert (frame.tdest[0], frame.tuser[0], bytes(frame.tdata)) == (qp, user, data)

    # No buffer; not connected; a bit that must be 0.
    await answered(2, 1 << 32, user=1)
    await answered(0, 1 << 32, user=3)
    await answered(2, 1 << 32 | 1 << 18, user=3)
    wrong = {"qp": 2, "segments": 1, "slot0": slot(REGION, 8, key=0x2001)}
    assert await bench.post(portal=PageReg.RECV, **wrong) == Cause.BAD_REGION
    outside = {"qp": 1, "segments": 1, "slot0": slot(REGION + 0xFFF, 2, key=0x1001)}
    assert await bench.post(portal=PageReg.SRQ_RECV, **outside) == Cause.BAD_RANGE
    place = 0
    for qp, queue, portal in ((3, 1, PageReg.SRQ_RECV), (2, 2, PageReg.RECV)):
        for tag, (lengths, length, filled, code, status) in enumerate(MESSAGES):
            segments = [slot(REGION + 256 * n, size, 0x1001) for n, size in enumerate(lengths)]
            fields = {f"slot{n}": segment for n, segment in enumerate(segments)}
            buffer = {"qp": queue, "segments": len(lengths), "context": place << 32 | qp}
            assert await bench.post(portal=portal, **buffer, **fields) == 0
            solicited = tag % 2
            scatter = b"".join(
                slot(REGION + 256 * n, size, 0x1001).to_bytes(16, "little")
                for n, size in enumerate(filled or ())
            )
            user = code | (qp == 3) << 8 | tag << 16
            await answered(qp, solicited << 16 | length << 32, user, scatter.ljust(48, b"\0"))
            if code == 2:
                assert await bench.word("term") == qp | 5 << 16
            bench.report(qp, tag, name="rdone")
            phase = 1 - place // 8 % 2
            nbytes = 0 if status else length
            rest = (RECEIVE, qp, nbytes, status, solicited, phase)
            data = cqe(buffer["context"], context_of(qp), *rest)
            await bench.entry(RCQ_RING + 32 * (place % 8), data)
            place += 1
            assert await bench.doorbell(RCQ, place) == 0
            if qp == 3:
                reaped = (tag + 2 | 1 << 32).to_bytes(8, "little")
                assert await bench.page_write(0, PageReg.SRQ_DB, reaped) == Cause.BAD_INDEX
                reaped = (tag + 1 | 1 << 32).to_bytes(8, "little")
                assert await bench.page_write(0, PageReg.SRQ_DB, reaped) == 0
        await answered(qp, 1 << 32, user=3)
    # The low watermark of the empty SRQ: its event comes at once.
    await bench.do(Cmd.SET_SRQ_WATERMARK, a0=1, a1=1)
    assert await bench.word("irq") == 0x33
    await bench.rest()


@cocotb.test()
async def connection_ends(dut: object) -> None:
    """The transport ends a connection, a refused access another: all that is held or available
    completes once, CANCELED."""
    bench = await set_up(dut)
    await create_qp(bench, 3, more=GUARDED)
    mr = {"a0": 1, "a1": REGION & 0xFFFFFFFF, "a2": REGION >> 32, "a3": 0x1000}
    await bench.do(Cmd.REGISTER_MR, **mr, a5=ZONE | 2 << 16)
    for qp in (2, 3):
        for number in range(2):
            held = {"opcode": 5, "flags": DEFER | SILENT, "qp": qp, "context": qp << 8 | number}
            assert await bench.post(**held) == 0
        assert await bench.post(portal=PageReg.RECV, qp=qp, context=qp) == 0
    bench.send("conn", 2 | 9 << 16)  # no such event
    bench.send("conn", 2 | 1 << 16)
    assert await bench.word("term") == 2 | 4 << 16

    async def flushed(qp: int, place: int) -> None:
        for number in range(2):
            data = cqe(qp << 8 | number, context_of(qp), SEND, qp, status=1)
            await bench.entry(CQ_RING + 32 * (2 * place + number), data)
        data = cqe(qp, context_of(qp), RECEIVE, qp, status=1)
        await bench.entry(RCQ_RING + 32 * place, data)

    await flushed(2, place=0)
    # (kind, address, length, code): all granted but the last two.
    for kind, address, length, code in (
        (1, REGION, 0x1000, 0),
        (1, REGION + 0xFFF, 1, 0),
        (0, REGION, 1, 5),
        (2, REGION, 1, 3),
    ):
        bench.send("check", 3 | kind << 16 | 0x1001 << 32 | address << 64 | length << 128)
        assert await bench.word("verdict") == 3 | code << 16
    assert await bench.word("term") == 3 | 5 << 16
    await flushed(3, place=1)
    await bench.rest()
    # The log, oldest first: cause, kind of object, object.
    for cause, kind, number in ((0x30, 5, 2), (0x36, 5, 3), (0x36, 5, 3)):
        assert await bench.read(Reg.LOG0) == cause | kind << 8 | number << 16
        assert await bench.control.write(Reg.LOG_POP, [1]) == 0
    assert await bench.read(Reg.LOG1) >> 31 == 0


@cocotb.test()
async def memory_errors(dut: object) -> None:
    """Memory refuses a CQE, then the EQE of another CQ: each ends its own CQ, whose consumer is
    called; the EQE is written again with the status."""
    bench = await set_up(dut)
    await create_qp(bench, 3, cq=RCQ)
    bench.ram.failing = {CQ_RING: 1, EQ_RING + 16: 2}
    for cq in (CQ, RCQ):
        assert await bench.doorbell(cq, 0, ArmType.ANY) == 0
    await complete(bench, 0)
    await bench.entry(EQ_RING, eqe(CQ, 0, status=2))
    assert await bench.word("irq") == VECTOR
    assert await bench.post(opcode=5, qp=2) == Cause.CQ_ERROR
    await complete(bench, 0, qp=3)
    await bench.entry(RCQ_RING, cqe(0, context_of(3), SEND, 3))
    await bench.entry(EQ_RING + 16, eqe(RCQ, 1, status=2))
    assert await bench.word("irq") == VECTOR
    await bench.rest()
    # The log: cause, object, index.
    for cause, kind, number, index in (
        (0x25, 1, CQ, 0),
        (0x15, 5, 2, 0),
        (0x26, 1, RCQ, 1),
        (0x26, 1, RCQ, 1),
    ):
        assert await bench.read(Reg.LOG1) == index | 1 << 31
        assert await bench.read(Reg.LOG0) == cause | kind << 8 | number << 16
        assert await bench.control.write(Reg.LOG_POP, [1]) == 0
    assert await bench.read(Reg.CNT_WRITE_ERRORS) == 3
    assert await bench.read(Reg.CNT_EVENTS) == 4
    # INJECT = 0: neither a memory nor a counter takes an inverted bit.
    for target in (0, 255):
        assert await bench.control.write(Reg.MEM_INJECT, [target]) == 2
    assert await bench.read(Reg.CNT_CPL_PLACED) == 2
