# SPDX-License-Identifier: Apache-2.0
"""The environment: harness, agents, host memory and driver, and the way of the records between
them.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

import cocotb
from cocotb.triggers import Event
from pyuvm import uvm_analysis_port, uvm_env

from tb.env.agents.base import BfmAgent, VirtualSequencer
from tb.env.agents.completion import CompletionAgent, CreditAgent
from tb.env.agents.control import ControlAgent
from tb.env.agents.doorbell import DoorbellAgent
from tb.env.agents.keys import CheckAgent
from tb.env.agents.memory import InterruptAgent, MemoryAgent
from tb.env.agents.receive import RecvDoneAgent, RecvRequestAgent
from tb.env.agents.transport import ConnAgent, DoneAgent, TermAgent, WorkAgent
from tb.env.config import RUN, Config, RunConfig
from tb.env.defs import CAP0, CAP1, CAP2, CAP3, CAP4, CAP5, CAP6, ID_VALUE, Reg
from tb.env.harness import records as beats
from tb.env.harness.decode import ControlRead, ControlWrite, DoorbellRead, Hooks
from tb.env.harness.harness import (
    RECEIVE_STALLABLE,
    STALLABLE,
    TRANSPORT_STALLABLE,
    WINDOW_STALLABLE,
    Harness,
)
from tb.env.harness.records import Record
from tb.env.harness.streams import stream
from tb.env.host.driver import Adapter
from tb.env.host.memory import HostMemory
from tb.env.subscribers import BlockSubscriber, Take
from tb.env.transport.access import Responder
from tb.env.transport.receive import Receiver
from tb.env.transport.transport import Transport

#: Registers that tell the parameters, with these names.
_CAPS = {Reg[layout.name]: layout for layout in (CAP0, CAP1, CAP2, CAP3, CAP4, CAP5, CAP6)}

#: Builds of the completion core alone, and of the whole engine.
_BUILDS = ("default, small, largest", "engine, engine_small")

#: Clock cycles after which a drain gives up.
_NO_REST = 200_000


class CarillonEnv(uvm_env):
    """Everything around the engine. Tests use the agents, ``host`` (the driver) and ``memory``."""

    def build_phase(self) -> None:
        self.doorbells = DoorbellAgent("doorbells", self)
        self.control = ControlAgent("control", self)
        self.completions = CompletionAgent("completions", self)
        self.credits = CreditAgent("credits", self)
        self.mem = MemoryAgent("mem", self)
        self.interrupts = InterruptAgent("interrupts", self)
        self.agents: list[BfmAgent] = [
            self.doorbells,
            self.control,
            self.completions,
            self.credits,
            self.mem,
            self.interrupts,
        ]
        self.work = WorkAgent("work", self)
        self.done = DoneAgent("done", self)
        self.conn = ConnAgent("conn", self)
        self.term = TermAgent("term", self)
        self.rreq = RecvRequestAgent("rreq", self)
        self.rdone = RecvDoneAgent("rdone", self)
        self.check = CheckAgent("check", self)
        #: Scenarios (``CarillonSequence``) run on it.
        self.sequencer = VirtualSequencer("sequencer", self)
        #: Of the completion core, the transport's side, the receive path, the checks: those that
        #: there are.
        self._extra: tuple[tuple[BfmAgent, ...], ...] = (
            *((self.completions, self.credits), (self.work, self.done, self.conn, self.term)),
            *((self.rreq, self.rdone), (self.check,)),
        )
        run: RunConfig = self.cdb_get(RUN)
        self.seed = run.seed
        self.host = Adapter(self)
        self.memory = HostMemory(stream(self.seed, "memory"))
        receiver = Receiver(self.seed, self.rreq, self.rdone, self.memory)
        responder = Responder(self.check, self.memory)
        self.transport = Transport(self.seed, self.done, self.conn, receiver, responder)
        hooks: Hooks = {
            beats.Interrupt: self.host.on_interrupt,
            beats.Completion: self.completions.taken,
            beats.DoorbellRequest: self.doorbells.accepted,
            beats.DoorbellResponse: self.doorbells.responded,
            beats.CreditRequest: self.credits.taken,
            beats.CreditAnswer: self.credits.answered,
            DoorbellRead: self.doorbells.read_data,
            ControlWrite: self.control.responded,
            ControlRead: self.control.read_data,
            beats.WorkBeat: self.transport.work,
            beats.DoneReport: self.transport.done,
            beats.ConnReport: self.conn.taken,
            beats.TermRequest: self.transport.term,
            beats.RecvRequest: self.rreq.taken,
            beats.ScatterAnswer: receiver.answered,
            beats.RecvDone: receiver.done,
            beats.AccessCheck: self.check.taken,
            beats.AccessVerdict: responder.answered,
        }
        self.harness = Harness(cocotb.top, self._on_block, hooks, self.memory.write_line)
        self.config: Config | None = None
        #: Records delivered so far.
        self.records = 0
        #: Set (and to be cleared by who waits) after each block.
        self.news = Event()
        #: How a CQ stands, in words, for the message of a test that waits in vain.
        self.tell_cq: Callable[[int], str] = lambda _: "no scoreboard"
        #: Writes blocks of records, of all kinds, in order.
        self.ap = uvm_analysis_port("ap", self)
        self._held: list[Record] = []

    def connect_phase(self) -> None:
        self.sequencer.interfaces = {
            "pages": self.doorbells.sequencer,
            "control": self.control.sequencer,
            "completions": self.completions.sequencer,
            "credits": self.credits.sequencer,
        }
        for agent in chain(self.agents, *self._extra):
            agent.connect_harness(self.harness)

    # -- subscribers -------------------------------------------------------------------------------

    def add_subscriber(self, take: Take, name: str = "") -> None:
        """Connects a callable that gets each block of records; see :class:`BlockSubscriber`."""
        name = name or getattr(take, "__qualname__", "subscriber")
        self.connect_subscriber(BlockSubscriber(name, self, take))

    def connect_subscriber(self, subscriber: BlockSubscriber) -> None:
        """Connects a subscriber to ``ap``; those that are connected first are written first."""
        self.ap.connect(subscriber.analysis_export)

    # -- start and end -----------------------------------------------------------------------------

    async def bring_up(self) -> None:
        """Starts recorder and clock count, resets, waits until the engine answers and reads its
        parameters.
        """
        self.harness.start()
        # One clock edge and more, of registers and memories that begin at random or unknown.
        await self._reset(self.seed % 4)
        self.mem.clear_faults()
        self.mem.release_responses()

    async def reset(self, cycles: int = 4, cut: Callable[[], None] | None = None) -> None:
        """Resets the engine in the middle of a test, for so many cycles; everything under way is
        forgotten. ``cut`` ends the tasks of the test that are still at work, within the reset.
        """
        await self.sync()
        await self._reset(cycles, cut)

    async def _reset(self, cycles: int = 4, cut: Callable[[], None] | None = None) -> None:
        def forget() -> None:
            if cut is not None:
                cut()
            for agent in self.agents:
                agent.clear()
            self.transport.clear()
            self.host.forget()
            self._held.clear()

        # Within the reset: what is sent after it belongs to the new life.
        await self.harness.reset(cycles, forget)
        control = self.control
        ident = await control.value(Reg.ID)
        assert ident == ID_VALUE, f"ID register reads {ident:#x}"
        caps: dict[str, int] = {}
        for reg, layout in _CAPS.items():
            if reg != Reg.CAP6 or self.harness.windows:
                caps |= layout.unpack(await control.value(reg))
        self.config = Config(**caps)
        qps, srqs, windows = self.config.num_qp, self.config.num_srq, self.config.num_mw
        top, others = "cde_top" if qps else "cde_cpl_top", _BUILDS[not qps]
        absent = f"this build ({top}) has no such port; builds with it: {others}"
        for there, extra in zip((not qps, qps, srqs, windows), self._extra, strict=True):
            self.agents += [agent for agent in extra if there and agent not in self.agents]
            for agent in () if there else extra:
                agent.driver.absent = f"{agent.get_name()}: {absent} (docs/write_a_sequence.md)"
        self.mem.num_cq = self.config.num_cq

    async def sync(self) -> None:
        """Returns when all records up to now are delivered: memory and agents are up to date."""
        await self.harness.flush()

    async def drain(self, quiet: int = 64) -> None:
        """Waits until nothing has happened for ``quiet`` cycles more than memory takes for a
        response, and nothing is unanswered.
        """
        end = self.harness.cycle + _NO_REST
        while True:
            seen = self.records
            await self.harness.cycles(quiet + self.mem.slowest)
            await self.sync()
            if self.records == seen and all(agent.idle for agent in self.agents):
                self.mem.answered()
                return
            if self.harness.cycle > end:
                busy = [agent.get_name() for agent in self.agents if not agent.idle]
                raise AssertionError(f"no rest after {_NO_REST} cycles; unanswered: {busy}")

    def stall_all(self, probability: float) -> None:
        """Random stalls on every channel."""
        for agent in self.agents:
            agent.stall(probability, self.seed)

    def release_all(self) -> None:
        """Ends all stalls and holds."""
        for number in (*STALLABLE, *TRANSPORT_STALLABLE, *RECEIVE_STALLABLE, *WINDOW_STALLABLE):
            self.harness.configure(number, self.harness.setting(number) & ~0x1FF)
        self.mem.release_responses()

    # -- records -----------------------------------------------------------------------------------

    def _on_block(self, records: list[Record]) -> None:
        control = self.control
        if self._held or control.finished or control.hold_after is not None:
            records = self._in_order(records)
        if records:
            self.records += len(records)
            self.ap.write(records)
            for agent in self.agents:
                agent.monitor.write(records)
        self.news.set()

    def _in_order(self, records: list[Record]) -> list[Record]:
        """Puts finished commands in their place; keeps back what comes after an unfinished one."""
        waiting = self._held + records
        ready: list[Record] = []

        def take(until: int) -> None:
            count = next((i for i, r in enumerate(waiting) if r.cycle > until), len(waiting))
            ready.extend(waiting[:count])
            del waiting[:count]

        for command in self.control.finished:
            take(command.cycle)
            ready.append(command)
        self.control.finished.clear()
        hold = self.control.hold_after
        if hold is None:
            ready += waiting
            waiting = []
        else:
            take(hold)
        self._held = waiting
        return ready

    def stop(self) -> None:
        """End of the test."""
        self.harness.stop()
