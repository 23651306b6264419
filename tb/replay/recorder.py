# SPDX-License-Identifier: Apache-2.0
"""The events of a test on their way to its judge, and to a file if one is asked for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pyuvm import uvm_subscriber

from tb.env.harness.records import Asked
from tb.replay.file import Event, Header, Waited, Writer
from tb.replay.judge import Judge

if TYPE_CHECKING:
    from tb.env.env import CarillonEnv

#: Environment variable: path of the file to write.
VARIABLE = "CARILLON_RECORDS_OUT"


class Recorder(uvm_subscriber):
    """Events are written before they are judged, so that a mismatch is in the file, too."""

    def __init__(self, env: CarillonEnv, covers: bool, counts: bool) -> None:
        """``covers``, ``counts``: see :class:`Judge`."""
        super().__init__("recorder", env)
        self._env = env
        self.judge = Judge(env.seed, covers, counts)
        self._writer: Writer | None = None
        if out := os.environ.get(VARIABLE):
            self._writer = Writer(out, Header(env.seed, type(env.get_parent()).__name__))
        env.control.observers.append(self.take)
        env.doorbells.driver.ap.connect(self.analysis_export)

    def take(self, event: Event) -> None:
        """One event."""
        if self._writer is not None:
            self._writer.write(event)
        self.judge.take(event)

    def write(self, asked: Asked) -> None:
        """A driver was asked to write."""
        self.take(asked)

    def close(self) -> None:
        """The test is over."""
        blocked, withheld = (
            tuple(sorted(channel.name for channel in channels))
            for channels in (self._env.harness.blocked, self._env.harness.withheld)
        )
        self.take(Waited(blocked, withheld))
        if self._writer is not None:
            self._writer.close()
