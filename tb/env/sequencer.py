# SPDX-License-Identifier: Apache-2.0
"""The virtual sequencer: scenarios run on it, and send items through the agents' sequencers."""

from __future__ import annotations

from pyuvm import uvm_component, uvm_sequencer

from tb.env.agents import CompletionAgent, ControlAgent, CreditAgent, DoorbellAgent
from tb.env.agents.base import BfmItem


class VirtualSequencer(uvm_sequencer):
    """Handles of the agents' sequencers, by the names that items give (``BfmItem.interface``)."""

    def __init__(self, name: str, parent: uvm_component) -> None:
        super().__init__(name, parent)
        self.interfaces: dict[str, uvm_sequencer] = {}

    def connect(
        self,
        pages: DoorbellAgent,
        control: ControlAgent,
        completions: CompletionAgent,
        credit: CreditAgent,
    ) -> None:
        """The agents; in the full engine completions and credits have no pins."""
        self.interfaces = {
            "pages": pages.sequencer,
            "control": control.sequencer,
            "completions": completions.sequencer,
            "credits": credit.sequencer,
        }

    def of(self, item: BfmItem) -> uvm_sequencer:
        """The sequencer of an item's interface."""
        return self.interfaces[item.interface]
