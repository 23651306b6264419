# SPDX-License-Identifier: Apache-2.0
"""What the driver and its objects need of each other and of the environment.

Objects (queues, regions, windows) know their driver by these protocols only, each extended in the
file of the object by the table of its kind, so that imports go one way: from the driver to the
objects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from tb.env.agents.control import ControlAgent
from tb.env.agents.doorbell import DoorbellAgent
from tb.env.config import Config
from tb.env.harness.harness import Harness
from tb.env.harness.records import Command
from tb.env.host.memory import HostMemory


class Peers(Protocol):
    """The transport, as far as the driver speaks to it."""

    def connected(self, qp: int) -> None:
        """A queue pair was connected."""


class Environment(Protocol):
    """The environment of a driver."""

    seed: int
    config: Config | None
    memory: HostMemory
    harness: Harness
    doorbells: DoorbellAgent
    control: ControlAgent
    #: How a CQ stands, in words.
    tell_cq: Callable[[int], str]

    @property
    def transport(self) -> Peers:
        """Is told of connections."""

    async def sync(self) -> None:
        """Returns when all records up to now are delivered."""


class Host(Protocol):
    """The driver of an object."""

    @property
    def env(self) -> Environment:
        """Pins and memory."""

    async def command(self, code: int, *args: int) -> Command:
        """A mailbox command as it is, whatever its result."""
