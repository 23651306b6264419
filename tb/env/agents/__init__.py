# SPDX-License-Identifier: Apache-2.0
"""One agent per interface of the engine, each a thin class over the harness's queues."""

from tb.env.agents.access import CheckAgent, Judgement
from tb.env.agents.completion import CompletionAgent, CompletionItem, Cpl
from tb.env.agents.control import CommandError, CommandItem, ControlAgent
from tb.env.agents.credit import CreditAgent, CreditItem
from tb.env.agents.doorbell import DoorbellAgent, PageDriver, PageItem
from tb.env.agents.memory import InterruptAgent, MemoryAgent
from tb.env.agents.receive import Answer, RecvDoneAgent, RecvRequestAgent
from tb.env.agents.transport import ConnAgent, DoneAgent, TermAgent, WorkAgent

__all__ = [
    "Answer",
    "CheckAgent",
    "CommandError",
    "CommandItem",
    "CompletionAgent",
    "CompletionItem",
    "ConnAgent",
    "ControlAgent",
    "Cpl",
    "CreditAgent",
    "CreditItem",
    "DoneAgent",
    "DoorbellAgent",
    "InterruptAgent",
    "Judgement",
    "MemoryAgent",
    "PageDriver",
    "PageItem",
    "RecvDoneAgent",
    "RecvRequestAgent",
    "TermAgent",
    "WorkAgent",
]
