# SPDX-License-Identifier: Apache-2.0
"""What the objects that the driver makes have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from tb.env.agents.control import CommandError, ok
from tb.env.defs import Cmd, Result
from tb.env.harness.records import Command
from tb.env.scoreboard.explain import Mismatch

#: Most repetitions of a command that is pending or refused for a while.
ATTEMPTS = 1000


@dataclass(eq=False)
class HostObject:
    """An object as the host sees it. Commands raise ``CommandError`` if not OK. ``kind``: in which
    dictionary of the driver it is.
    """

    kind: ClassVar[str]

    host: Any
    number: int

    async def command(self, code: Cmd, *args: int, allowed: Result = Result.OK) -> Command:
        """A command on it, which ends with OK or the result that is allowed."""
        return ok(await self.host.command(code, self.number, *map(int, args)), allowed)

    async def end(self, code: Cmd, wait: bool = True) -> Result:
        """The command that destroys it, repeated while it is pending (``wait``); returns the last
        result.
        """
        for _ in range(ATTEMPTS):
            command = await self.command(code, allowed=Result.PENDING)
            if command.result == Result.OK:
                objects = getattr(self.host, self.kind)
                if objects.get(self.number) is self:
                    del objects[self.number]
                return Result.OK
            if not wait:
                return Result.PENDING
        raise CommandError(command)

    async def until(
        self, what: str, found: Callable[[], int], count: int, limit_cycles: int
    ) -> None:
        """Waits until ``count`` of something are found; fails after ``limit_cycles``."""
        env = self.host.env
        end = env.harness.cycle + limit_cycles
        while (there := found()) < count:
            if env.harness.cycle >= end:
                kind = self.kind.removesuffix("s").upper()
                text = (
                    f"{kind} {self.number}: {there} of {count} {what} after {limit_cycles} cycles"
                )
                if kind == "CQ":
                    text += f"; {env.tell_cq(self.number)}"
                raise Mismatch(text, obj=kind, number=self.number, cycle=env.harness.cycle)
            await env.harness.cycles(16)
            await env.sync()
