# SPDX-License-Identifier: Apache-2.0
"""The worked examples of docs/write_a_sequence.md, and a driver that corrupts what it is given."""

from __future__ import annotations

from dataclasses import replace

import pyuvm
from pyuvm import uvm_factory

from tb.env.agents.doorbell import PageDriver, PageItem
from tb.env.base_test import CarillonTest
from tb.env.scoreboard.explain import Mismatch
from tb.sequences import find
from tb.sequences.verbs import VerbItem

BUILD = ["engine_small"]


class ExampleTest(CarillonTest):
    """Runs the sequence ``sequence``."""

    sequence = ""

    async def scenario(self) -> None:
        await find(self.sequence)(self.env).run()


@pyuvm.test()
class OnePostTest(ExampleTest):
    """One Send, its inline result, its completion."""

    sequence = "one_post"


@pyuvm.test()
class DeferredChainTest(ExampleTest):
    """A chain with DEFER, and one whose last request fails inline."""

    sequence = "deferred_chain"


@pyuvm.test()
class ModeratedQueuesTest(ExampleTest):
    """Three moderated CQs while every channel stalls."""

    sequence = "moderated_queues"


class CorruptingDriver(PageDriver):
    """Inverts a bit of the context of each post, which stays legal."""

    def drive(self, item: PageItem) -> None:
        assert isinstance(item, VerbItem)
        item.post = replace(item.post, context=item.post.context ^ 1)
        super().drive(item)


@pyuvm.test(expect_error=Mismatch)
class CorruptingDriverTest(OnePostTest):
    """The scoreboard fails when the driver does not write what the sequence asked for. The driver
    is exchanged by a factory override alone.
    """

    def build_phase(self) -> None:
        uvm_factory().set_type_override_by_type(PageDriver, CorruptingDriver)
        super().build_phase()
