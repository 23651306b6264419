# SPDX-License-Identifier: Apache-2.0
"""Base of all tests: brings the engine up, runs the scenario, drains, and refuses to pass without
having checked.
"""

from __future__ import annotations

import gc
import random

import cocotb
from cocotb.triggers import Timer
from pyuvm import ConfigDB, uvm_test

from tb.env.config import RUN, Config, RunConfig
from tb.env.env import CarillonEnv
from tb.env.harness.harness import PERIOD, Harness
from tb.env.harness.streams import stream
from tb.env.scoreboard.checking import Checking


class CarillonTest(uvm_test):
    """Derive, write ``async def scenario(self)``, and mark the class with ``@pyuvm.test()``."""

    #: A scenario that runs longer than this fails.
    max_cycles = 2_000_000
    #: Quiet cycles that end the drain.
    drain_quiet = 64
    #: What the scoreboard must not miss at the end: see ``ALLOWANCES`` of the scoreboard.
    allow: tuple[str, ...] = ()

    def build_phase(self) -> None:
        gc.freeze()  # what was imported stays: no collection need look at it
        ConfigDB().set(None, "*", RUN, RunConfig.of_environment())
        self.env = CarillonEnv("env", self)
        self.checking = Checking("checking", self)

    def connect_phase(self) -> None:
        self.checking.connect(self.env)

    async def scenario(self) -> None:
        """What the test does."""
        raise NotImplementedError

    def connect_checkers(self) -> None:
        """Attaches what judges the records: ``self.env.add_subscriber(...)``. Called before the
        reset.
        """

    def check_not_vacuous(self) -> None:
        """Fails a test in which nothing happened. Tests ask for more of their own."""
        assert self.env.records, (
            "nothing to judge at any pin: was a sequence made and not run? "
            "`await find(...)(self.env).run()`"
        )

    def rng(self, name: str) -> random.Random:
        """The random stream ``name`` of this run's seed."""
        return stream(self.env.seed, name)

    @property
    def harness(self) -> Harness:
        """Time and raw access to the harness."""
        return self.env.harness

    @property
    def config(self) -> Config:
        """The engine's parameters, as it told them after the reset."""
        assert self.env.config is not None
        return self.env.config

    async def run_phase(self) -> None:
        self.raise_objection()
        watchdog = cocotb.start_soon(self._watch())
        try:
            self.connect_checkers()
            await self.env.bring_up()
            await self.scenario()
            await self.env.drain(self.drain_quiet)
            if grace := self.checking.grace():
                await self.env.harness.cycles(grace)
                await self.env.drain(self.drain_quiet)
            self.check_not_vacuous()
            await self.checking.finish(self.allow)
        except BaseException as error:
            error.add_note(
                f"{type(self).__name__}: cycle {self.harness.cycle}, seed {self.env.seed}"
            )
            if isinstance(error, Exception):
                await self.harness.failed(error)
            raise
        watchdog.cancel()
        self.env.stop()
        self.drop_objection()

    async def _watch(self) -> None:
        await Timer(self.max_cycles * PERIOD, unit="ps")
        board = self.checking.board
        waiting = "; ".join(board.under_way()[:5]) if board else ""
        error = AssertionError(
            f"{type(self).__name__}: no end after {self.max_cycles} cycles, seed {self.env.seed}; "
            f"under way: {waiting or 'nothing that the scoreboard knows of'}"
        )
        await self.harness.failed(error)
        raise error
