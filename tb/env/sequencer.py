# SPDX-License-Identifier: Apache-2.0
"""The virtual sequencer: scenarios run on it, and send items through the agents' sequencers."""

from __future__ import annotations

from pyuvm import uvm_sequencer

from tb.env.agents.base import BfmItem


class VirtualSequencer(uvm_sequencer):
    """Handles of the agents' sequencers, by the names that items give (``BfmItem.interface``)."""

    interfaces: dict[str, uvm_sequencer]

    def of(self, item: BfmItem) -> uvm_sequencer:
        """The sequencer of an item's interface."""
        return self.interfaces[item.interface]
