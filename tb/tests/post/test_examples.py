# SPDX-License-Identifier: Apache-2.0
"""The worked examples of docs/write_a_sequence.md, and a driver that corrupts what it is given."""

from __future__ import annotations

from dataclasses import replace

import pyuvm
from pyuvm import uvm_factory

from models.verb import Limits
from tb.env.agents import PageDriver, PageItem
from tb.env.base_test import CarillonTest
from tb.env.defs import Cause, PostFlag
from tb.env.host.qp import connect_pair
from tb.env.scoreboard.explain import Mismatch
from tb.sequences import CarillonSequence, find
from tb.sequences.verbs import VerbItem, items

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


class EveryItem(CarillonSequence):
    """A random item of each request type."""

    async def body(self) -> None:
        host = self.env.host
        cq = await host.create_cq(eq=await host.create_eq(log2=2), log2=3)
        first, second = await host.create_qp(cq=cq), await host.create_qp(cq=cq)
        await connect_pair(first, second)
        for item_type in items.values():
            item = item_type(qp=first)
            item.randomize(self.rng, Limits(flags=int(~(PostFlag.DEFER | PostFlag.SILENT_SUCCESS))))
            assert await (await self.do(item)).cause() == Cause.NONE
            (result,) = await cq.wait_results(1)
            assert (result.request_context, result.type) == (
                item.post.context,
                item.verb.result_type,
            )
            await cq.update_consumer_index()


@pyuvm.test()
class EveryItemTest(CarillonTest):
    """Each request type of ``models.verbs`` has an item."""

    async def scenario(self) -> None:
        await EveryItem(self.env).run()


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
