# SPDX-License-Identifier: Apache-2.0
"""Mailbox commands: each is judged by the check of its code, at its end and in its place in the
stream. Its steps came before it, waited for its record, and were judged with it.

Words that are no output of a command read 0 (interfaces.md, posting.md, receive.md, windows.md).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import NoReturn

from models.codes import CommandResult
from tb.env.defs import Cmd, Result
from tb.env.harness.records import Command, Trace
from tb.env.scoreboard.context import Check, Context, Left, Object, call_of, steps_left
from tb.env.scoreboard.explain import Difference, coded

#: Of each command that has outputs, how many words from OUT0 on.
_WORDS: dict[int, int] = {
    Cmd.RESIZE_EQ: 1,
    Cmd.QUERY_EQ: 4,
    Cmd.RESIZE_CQ: 1,
    Cmd.QUERY_CQ: 6,
    Cmd.QUERY_QP: 8,
    Cmd.CREATE_SRQ: 1,
    Cmd.QUERY_SRQ: 6,
    Cmd.REGISTER_MR: 1,
    Cmd.ALLOC_MR: 1,
    Cmd.CREATE_MW: 1,
    Cmd.QUERY_MR: 7,
    Cmd.QUERY_MW: 8,
}


def stray_outputs(record: Command) -> str:
    """What is wrong with words that are not outputs of this command, or of one that was refused:
    they read 0. Empty if nothing is.
    """
    words = _WORDS.get(record.code, 0) if record.result == Result.OK else 0
    stray = [f"OUT{n} {value:#x}" for n, value in enumerate(record.outs) if n >= words and value]
    if not stray:
        return ""
    return f"command {record.code:#x}, result {record.result:#x}: {', '.join(stray)}, expected 0"


class CommandCheck(Check):
    """The rules of some commands. ``seen``: steps of the one in flight; ``of``: tells the objects
    that a command is about.
    """

    def __init__(self, ctx: Context, of: Callable[[Command], list[Object]]) -> None:
        super().__init__(ctx)
        self._of = of
        self.seen: list[Trace] = []

    @abstractmethod
    def command(self, record: Command) -> None:
        """A command that ended, at its place in the stream."""

    def left(self) -> Iterator[Left]:
        """Steps whose command has not ended."""
        return steps_left(self.seen)

    def must_pass(self, result: IntEnum) -> None:
        """``result``: what the model says to a command that is executed now."""
        if result != CommandResult.OK:
            self.fail(f"executed, the model refuses it: {result.name}")

    def must_answer(self, record: Command, allowed: set[CommandResult]) -> None:
        """The result is one of these."""
        if record.result not in allowed:
            diff = coded("result", CommandResult, record.result, *allowed, none="a step")
            text = f"answered {record.result:#x}, right would be: {diff.want}"
            self.wrong(record, text, diff)

    def wrong(self, record: Command, text: str, diff: Difference | None = None) -> NoReturn:
        """Something about a command is wrong."""
        self.fail(f"{call_of(record)}: {text}", *self._of(record), diff=diff)


class Commands(Check):
    """All commands."""

    rules = "ISO-02"

    def __init__(self, ctx: Context, others: CommandCheck) -> None:
        """``others``: the check of codes that ``by_code`` does not name."""
        super().__init__(ctx)
        self._others = others
        self.by_code: dict[int, CommandCheck] = {}
        #: Tells whether the device refuses a command whatever its check would say, and judges that;
        #: the second argument tells whether the command has left a step.
        self.closed: Callable[[Command, bool], bool] = lambda _command, _stepped: False

    def command(self, record: Command) -> None:
        """A command that ended."""
        ctx = self.ctx
        ctx.commands.popleft()
        checks = {*self.by_code.values(), self._others}
        check = self.by_code.get(record.code, self._others)
        ctx.rules = check.rules
        if not self.closed(record, any(each.seen for each in checks)):
            check.command(record)
        for each in checks:
            each.seen.clear()
        ctx.finished.append(record)
        ctx.last_command = record.cycle
        if stray := stray_outputs(record):
            self.fail(stray)
