# SPDX-License-Identifier: Apache-2.0
"""The control registers bit for bit: argument registers in any order, results and status after
commands, an empty log, every offset.
"""

from __future__ import annotations

from collections.abc import Sequence

import cocotb
import pyuvm

from tb.env import defs
from tb.env.defs import CMD_STATUS, VERSION_VALUE, Cause, Cmd, Kind, Reg, Result
from tb.env.host.driver import LogEntry
from tb.tests.common.directed import SLVERR, DirectedTest

BUILD = ["default", "engine"]

WORDS = 8
BITS = 32
M32 = (1 << BITS) - 1
#: Layouts of the registers that tell what there is.
CAPABILITIES = {reg: getattr(defs, reg.name) for reg in Reg if reg.name.startswith("CAP")}
#: Random writes: each is a chance of one half for a bit that depends on another one.
RANDOM = 160
#: Entries of the log: each of its places is used.
LOG = 16
#: A code that no command has.
UNKNOWN = 0xFF
#: CMD_STATUS.
BUSY, DONE = CMD_STATUS["busy"].mask, CMD_STATUS["done"].mask


class RegisterTest(DirectedTest):
    """``words``: what ARG0 to ARG7 hold."""

    allow = ("no_traffic",)

    async def write(self, number: int, value: int) -> None:
        """One argument register; all of them are read back."""
        assert await self.env.control.write(Reg.ARG0 + 4 * number, value) == 0
        self.words[number] = value
        await self.demand(f"ARG{number} was written")

    async def demand(self, when: str) -> None:
        """All argument registers hold what was written last."""
        found = await self.values(Reg.ARG0)
        assert found == self.words, f"{when}: {show(found)}, not {show(self.words)}"

    async def values(self, first: int) -> list[int]:
        """Eight registers from this offset on."""
        reads = [self.env.control.post_read(first + 4 * number) for number in range(WORDS)]
        answers = [await read for read in reads]
        assert all(answer.resp == 0 for answer in answers), answers
        return [answer.data for answer in answers]


def show(words: list[int]) -> str:
    """Registers in hexadecimal digits."""
    return " ".join(f"{word:08x}" for word in words)


@pyuvm.test()
class ArgumentRegistersTest(RegisterTest):
    """ISO-02: each bit of ARG0 to ARG7 is 0 and 1 with all values of the others, in any order of
    the writes; nothing but a write of its own changes a register.
    """

    async def scenario(self) -> None:
        rng, control = self.rng("arguments"), self.env.control
        async with control.mailbox:
            # As the queries of before the test have left them.
            self.words = await self.values(Reg.ARG0)
            # One bit alone among zeros, one zero alone among ones.
            for ground in (0, M32):
                for number in rng.sample(range(WORDS), WORDS):
                    await self.write(number, ground)
                for number in rng.sample(range(WORDS), WORDS):
                    for bit in rng.sample(range(BITS), BITS):
                        await self.write(number, ground ^ 1 << bit)
                    await self.write(number, ground)
            for _ in range(RANDOM):
                await self.write(rng.randrange(WORDS), rng.getrandbits(BITS))
            await self.others()
        # A command gets them as they are.
        answer = await self.env.host.command(UNKNOWN)
        assert list(answer.args) == self.words

    async def others(self) -> None:
        """Writes that are refused or go elsewhere, and commands, change none of them."""
        control, rng = self.env.control, self.rng("others")
        for number in range(WORDS):
            offset = Reg.ARG0 + 4 * number
            for strb in (0, 1, 7, 0xE, rng.randrange(15)):
                assert await control.write(offset, ~self.words[number] & M32, strb) == SLVERR
            assert await control.write(offset + 0x80, rng.getrandbits(BITS)) == SLVERR
            await self.demand(f"ARG{number} was refused")
        for offset, value in ((Reg.LOG_POP, 1), (Reg.MEM_INJECT, 0x0FFF_FFFF), (Reg.CMD, UNKNOWN)):
            assert await control.write(offset, value) == 0
            await self.demand(f"{offset.name} was written")


@pyuvm.test()
class ResultRegistersTest(RegisterTest):
    """ISO-02: CMD_STATUS tells the latest result in all its bits, OUT0 to OUT7 stay until the next
    command whatever is written and read meanwhile; an empty log is 0, also after its last entry.
    """

    async def scenario(self) -> None:
        host, config, rng = self.env.host, self.config, self.rng("results")
        kinds = ((1, 0x5555, 2), (config.num_eq - 1, 0xAAAA, config.max_log2))
        pages = rng.choices(range(config.num_pages), k=2)
        eqs = [
            await host.create_eq(number, page=page, vector=vector, log2=log2)
            for page, (number, vector, log2) in zip(pages, kinds, strict=True)
        ]
        for eq in (*eqs, *reversed(eqs)):
            outs = [1 | eq.log2 << 8 | eq.vector << 16, 0, 0, eq.page, *[0] * 4]
            for code, number, result in (
                (Cmd.QUERY_EQ, eq.number, Result.OK),
                (Cmd.QUERY_EQ, 0, Result.NO_OBJECT),
                (Cmd.QUERY_EQ, config.num_eq, Result.BAD_OBJECT),
                (Cmd.QUERY_CQ, 0, Result.NO_OBJECT),
                (UNKNOWN, eq.number, Result.UNKNOWN),
                (Cmd.QUERY_EQ, eq.number, Result.OK),
            ):
                answer = await host.command(code, number)
                wanted = outs if result is Result.OK else [0] * WORDS
                assert (answer.result, list(answer.outs)) == (result, wanted), answer
                await self.stay(result, wanted)
        await self.log()

    async def stay(self, result: Result, outs: list[int]) -> None:
        """Status and results after a command, and again after other accesses."""
        control = self.env.control
        async with control.mailbox:
            for value in (M32, 0, 0):
                status = await control.value(Reg.CMD_STATUS)
                wanted = CMD_STATUS.pack(done=1, result=result)
                assert status == wanted, f"status {status:#x}, not {wanted:#x}"
                found = await self.values(Reg.OUT0)
                assert found == outs, f"{show(found)}, not {show(outs)}"
                for number in range(WORDS):
                    assert await control.write(Reg.ARG0 + 4 * number, value) == 0
                    assert await control.write(Reg.OUT0 + 4 * number, ~value & M32) == SLVERR

    async def log(self) -> None:
        """0 before the first entry, after the last one, and after one more removal."""
        env, control = self.env, self.env.control
        for _ in range(LOG + 2):
            assert [await control.value(reg) for reg in (Reg.LOG0, Reg.LOG1)] == [0, 0]
            assert await control.write(Reg.LOG_POP, 1) == 0
            env.mem.stray(0)
            await env.drain()
            first, second = [await control.value(reg) for reg in (Reg.LOG0, Reg.LOG1)]
            assert (first, second) == (0x0428, 1 << 31), (hex(first), hex(second))
            env.host.logged.append(LogEntry(Cause.STRAY_B, Kind.PORT, 0, 0))
            assert await control.write(Reg.LOG_POP, 1) == 0


@pyuvm.test()
class EveryOffsetTest(RegisterTest):
    """ISO-02: after the reset every register that counts or holds something is 0, and all bits of
    the capabilities that tell nothing. Then each word of
    the 4 KiB is written and read: where no register is, or one that is read or written only, the
    answer is SLVERR, and no register changes. So it is of each byte after the first one of a word.
    """

    async def scenario(self) -> None:
        rng, control = self.rng("offsets"), self.env.control
        written = {Reg.CMD, Reg.LOG_POP, Reg.MEM_INJECT}
        arguments = {Reg.ARG0 + 4 * number for number in range(WORDS)}
        told = {Reg.ID, Reg.VERSION, *CAPABILITIES}
        for reg, layout in CAPABILITIES.items():
            assert not await control.value(reg) & layout.reserved, reg.name
        assert await control.value(Reg.VERSION) == VERSION_VALUE
        for reg in sorted(set(Reg) - written - told):
            assert await control.value(reg) == 0, f"{reg.name} after the reset"
        async with control.mailbox:
            self.words = await self.values(Reg.ARG0)
            before = (await self.env.host.counters())["CTRL_REFUSED"]
            refused = 0
            for offset in range(0, 4096, 4):
                if offset not in written | arguments:
                    assert await control.write(offset, rng.getrandbits(BITS)) == SLVERR, hex(offset)
                    refused += 1
                if offset % 64 == 60:
                    await self.demand(f"all up to {offset:#x} were written")
            for offset in rng.sample(range(0, 4096, 4), 1024):
                answer = await control.post_read(offset)
                there = offset in arguments or offset in set(Reg) - written
                assert (answer.resp == 0) is there, (hex(offset), answer)
                refused += not there
            for offset in sorted({*Reg} | arguments):
                for byte in range(1, 4):
                    answer = await control.post_read(offset + byte)
                    assert (answer.resp, answer.data) == (SLVERR, 0), (hex(offset + byte), answer)
                    assert await control.write(offset + byte, 1) == SLVERR, hex(offset + byte)
                    refused += 2
            await self.demand("bytes within words were written")
            assert (await self.env.host.counters())["CTRL_REFUSED"] - before == refused
        await self.env.host.command(UNKNOWN)


@pyuvm.test()
class CommandUnderWayTest(RegisterTest):
    """ISO-02: while a command runs, from the write after that of CMD on, arguments and commands
    are refused; it goes by the arguments that it found. In each cycle it runs or is done: a status
    without either would tell a host that no command was ever written.
    """

    async def scenario(self) -> None:
        eq = await self.env.host.create_eq(1, page=0, vector=5, log2=2)
        late = [(Reg.ARG0, 0), (Reg.CMD, UNKNOWN), (Reg.ARG0, 0)]
        for first in (0, 1):
            refused = await self.under_way(eq.number, late[first:], 0)
            assert refused == [SLVERR] * len(refused)
        for offset in range(4):
            assert await self.under_way(eq.number, [], offset) == []

    async def under_way(self, eq: int, late: Sequence[tuple[int, int]], offset: int) -> list[int]:
        """QUERY_EQ with these writes after it and reads of its status around it; returns the
        responses of the writes.
        """
        control = self.env.control
        start = self.harness.cycle + 40
        run = cocotb.start_soon(control.command(Cmd.QUERY_EQ, eq, at=start))
        await self.harness.cycles(2)
        writes = [control.post_write(*write) for write in late]
        first = start - 12 + offset
        reads = [control.post_read(Reg.CMD_STATUS, at=first) for _ in range(20)]
        answer = await run
        assert (answer.result, answer.args[0]) == (Result.OK, eq), answer
        assert await control.value(Reg.ARG0) == eq
        states = [(await read).data & (BUSY | DONE) for read in reads]
        steps = [state for n, state in enumerate(states) if not n or state != states[n - 1]]
        assert steps == [DONE, BUSY, DONE], f"offset {offset}: {states}"
        return [await write for write in writes]
