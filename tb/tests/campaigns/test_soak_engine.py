# SPDX-License-Identifier: Apache-2.0
"""Random lives of everything on the full engine: posts, receives, shared queues, windows, remote
accesses, ends of connections, failing writes, removal of the device, in phases with different
emphasis and a reset between them. Seeds from ``LONG_SEED`` on run long: chunks of ``make soak``.
"""

from __future__ import annotations

import random
from typing import Any

import pyuvm

from tb.env.defs import CqeStatus
from tb.tests.common.soaking import SoakTest

BUILD = ["engine", "engine_small", "engine_deep"]

_LIFE = 8000  # cycles of a phase of these
_STATUSES = (CqeStatus.TRANSPORT_ERROR, 0x03, 0x7F, 0xFF)
_AFTER = (CqeStatus.CANCELED, CqeStatus.SUCCESS, 0x33)


class _EngineSoakTest(SoakTest):
    def troubles(self, rng: random.Random) -> None:
        """The transport fails at times; at times channels stall and memory is slow."""
        transport = self.env.transport
        transport.error_rate = transport.receiver.error_rate = rng.choice((0.0, 0.003, 0.01))
        transport.error_status = rng.choice(_STATUSES)
        transport.receiver.error_status = rng.choice(_STATUSES)
        transport.after_error = rng.choice(((CqeStatus.CANCELED,), _AFTER))
        transport.latency = rng.choice(((1, 20), (1, 200), (200, 300)))
        if rng.random() < 0.3:
            self.stall(rng)
            self.env.mem.latency(5, 200, rng.getrandbits(31))

    @property
    def little(self) -> bool:
        """Small queues need consumers that look often."""
        assert self.env.config is not None
        return self.env.config.num_qp < 16

    def life(self, rng: random.Random) -> dict[str, Any]:
        """Options of everything that can happen during posts."""
        return {
            "actions": rng.choice((0.0, 0.01, 0.03)),
            "garbage": rng.choice((0.0, 0.1, 0.3)),
            "cq_failures": rng.choice((0.0, 0.0, 0.03)),
            "chunk": 24 if self.little else 64,
            "duration": min(self.cycles[self.long], _LIFE),
        }


@pyuvm.test()
class PostSoakTest(_EngineSoakTest):
    """Posts, at the full rate and with everything that can happen to them, in turn."""

    cycles = 1500, 24_000

    def phase(self, rng: random.Random) -> tuple[str, dict[str, Any]]:
        if self.number % 2 == 0:
            self.env.transport.loopback(latency=rng.choice((1, 2, 30)))
            sizes = {"log2_min": 8, "log2_max": 10, "chunk": 24 if self.little else 48}
            full = {"rate": 1.0, "chains": 0.2, "bad": 0.01, "foreign": 0.01, "silent": 0.05}
            return "post_life", sizes | full
        self.troubles(rng)
        kinds = {"rate": rng.choice((0.3, 0.6, 0.9)), "chains": rng.choice((0.2, 0.9))}
        kinds |= {"bad": rng.choice((0.03, 0.15)), "log2_min": rng.choice((1, 6)), "lost": 0.1}
        return "post_life", kinds | self.life(rng)


@pyuvm.test()
class ReceiveSoakTest(_EngineSoakTest):
    """Receives and messages with posts, with changes of SRQs, regions and ports."""

    cycles = 1500, 20_000

    def phase(self, rng: random.Random) -> tuple[str, dict[str, Any]]:
        self.troubles(rng)
        if self.number % 2:
            self.env.transport.receiver.latency = (1, 2)
            rates = {"recv_rate": 0.7, "message_rate": 0.4, "patient": 0.1, "rate": 0.1}
            rates |= {"bad_receives": 0.02, "unusual": 0.05, "too_long": 0.002, "exact": 0.05}
            rates |= {"sends": 0.1, "lost": 0.05, "heal": 1, "log2_min": 7, "log2_max": 9}
            rates |= {"duration": self.cycles[self.long], "cq_failures": 0.0}
            return "receive_traffic", self.life(rng) | rates
        rates = {"recv_rate": 0.3, "message_rate": 0.2, "shared": rng.choice((0.3, 0.6, 0.95))}
        return "receive_life", self.life(rng) | rates


@pyuvm.test()
class WindowSoakTest(_EngineSoakTest):
    """Windows, regions, remote accesses; the device is removed in some phases."""

    #: The connections of all QPs take thousands of cycles before anything can be posted.
    cycles = 12_000, 24_000
    phases = 2, 6

    def phase(self, rng: random.Random) -> tuple[str, dict[str, Any]]:
        if rng.random() < 0.3:
            self.stall(rng)
        self.env.transport.latency = rng.choice(((1, 30), (1, 60), (1, 200)))
        kinds: dict[str, Any] = {"guarded": rng.choice((0.5, 0.85, 1.0)), "pairs": 8}
        kinds |= {"removal": rng.random() < 0.25}
        if self.number % 3 == 0:
            kinds |= {"troubled": 0.1, "accesses": 24, "threads": 12, "length": 64, "most": 40}
            return "window_life", kinds
        kinds |= {"troubled": rng.choice((0.1, 0.5, 0.9)), "accesses": rng.choice((6, 16))}
        kinds |= {"threads": rng.choice((3, 6)), "length": rng.choice((3, 6))}
        return "window_life", kinds | {"rebirths": rng.choice((0.1, 0.6))}
