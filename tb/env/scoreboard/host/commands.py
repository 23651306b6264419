# SPDX-License-Identifier: Apache-2.0
"""Mailbox commands: each is judged by the check of its code, at its end and in its place in the
stream. Its steps came before it, waited for its record, and were judged with it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from tb.env.harness.records import Command, Trace
from tb.env.host.outputs import stray_outputs
from tb.env.scoreboard.context import Check, Context


def _open(_record: Command, _stepped: bool) -> bool:
    """The device is there."""
    return False


class CommandCheck(Protocol):
    """The rules of some commands. ``seen``: steps of the one in flight."""

    seen: list[Trace]

    @abstractmethod
    def command(self, record: Command) -> None:
        """A command that ended."""


class Commands(Check):
    """All commands."""

    rules = "ISO-02"

    def __init__(
        self,
        ctx: Context,
        by_code: Mapping[int, CommandCheck],
        others: CommandCheck,
        closed: Callable[[Command, bool], bool] = _open,
    ) -> None:
        """``by_code``: the check of each code; ``others``: that of all other codes. ``closed``:
        tells whether the device refuses a command whatever its check would say, and judges that;
        the second argument tells whether the command has left a step.
        """
        self.ctx = ctx
        self._by_code = by_code
        self._others = others
        self._closed = closed
        self._checks: Iterable[CommandCheck] = {*by_code.values(), others}
        self.commands = 0

    def command(self, record: Command) -> None:
        """A command that ended."""
        ctx = self.ctx
        ctx.commands.popleft()
        check = self._by_code.get(record.code, self._others)
        ctx.rules = getattr(check, "rules", self.rules)
        if not self._closed(record, any(each.seen for each in self._checks)):
            check.command(record)
        for each in self._checks:
            each.seen.clear()
        self.commands += 1
        ctx.finished.append(record)
        ctx.last_command = record.cycle
        if stray := stray_outputs(record):
            ctx.fail(stray)
