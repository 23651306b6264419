# SPDX-License-Identifier: Apache-2.0
"""Agents that only listen: interrupts (the sink can be stalled) and the trace port."""

from __future__ import annotations

from tb.env.agents.base import BfmAgent
from tb.env.harness.harness import Channel
from tb.env.harness.records import Interrupt, Trace


class InterruptAgent(BfmAgent):
    """Takes interrupt vectors."""

    reports = (Interrupt,)
    channels = (Channel.IRQ,)


class TraceAgent(BfmAgent):
    """Reports the engine's atomic steps."""

    reports = (Trace,)
