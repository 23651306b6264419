# SPDX-License-Identifier: Apache-2.0
"""What the driver needs of the environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from tb.env.agents.control import ControlAgent
from tb.env.agents.doorbell import DoorbellAgent
from tb.env.config import Config
from tb.env.harness.harness import Harness
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
