# SPDX-License-Identifier: Apache-2.0
"""Mailbox commands: each is judged by the check of its code, at its end and in its place in the
stream. Its steps came before it, waited for its record, and were judged with it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NoReturn

from models.codes import CommandResult
from tb.env.harness.records import Command, Trace
from tb.env.host.outputs import stray_outputs
from tb.env.scoreboard.context import Check, Context, Left, Object, call_of, steps_left
from tb.env.scoreboard.explain import Difference, coded


class CommandCheck(Check):
    """The rules of some commands. ``seen``: steps of the one in flight; ``of``: tells the objects
    that a command is about.
    """

    def __init__(self, ctx: Context, of: Callable[[Command], list[Object]]) -> None:
        self.ctx = ctx
        self._of = of
        self.seen: list[Trace] = []

    @abstractmethod
    def command(self, record: Command) -> None:
        """A command that ended, at its place in the stream."""

    def left(self) -> Iterator[Left]:
        """Steps whose command has not ended."""
        return steps_left(self.seen)

    def must_answer(self, record: Command, allowed: set[CommandResult]) -> None:
        """The result is one of these."""
        if record.result not in allowed:
            diff = coded("result", CommandResult, record.result, *allowed, none="a step")
            text = f"answered {record.result:#x}, right would be: {diff.want}"
            self.wrong(record, text, diff)

    def wrong(self, record: Command, text: str, diff: Difference | None = None) -> NoReturn:
        """Something about a command is wrong."""
        self.ctx.fail(f"{call_of(record)}: {text}", objs=self._of(record), diff=diff)


class Commands(Check):
    """All commands."""

    rules = "ISO-02"

    def __init__(
        self,
        ctx: Context,
        by_code: Mapping[int, CommandCheck],
        others: CommandCheck,
        closed: Callable[[Command, bool], bool] = lambda _command, _stepped: False,
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

    def command(self, record: Command) -> None:
        """A command that ended."""
        ctx = self.ctx
        ctx.commands.popleft()
        check = self._by_code.get(record.code, self._others)
        ctx.rules = check.rules
        if not self._closed(record, any(each.seen for each in self._checks)):
            check.command(record)
        for each in self._checks:
            each.seen.clear()
        ctx.finished.append(record)
        ctx.last_command = record.cycle
        if stray := stray_outputs(record):
            ctx.fail(stray)
