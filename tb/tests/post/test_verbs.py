# SPDX-License-Identifier: Apache-2.0
"""Everything that is told apart of each request type, whichever there are: what its posts may be,
why they are refused, how requests end.
"""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product

import pyuvm

from models import codes
from models.post.post import Post
from models.verb import VERB_CAUSES, Limits, Verb
from models.verbs import VERBS
from tb.env.defs import Cause, CqStatus, PostFlag
from tb.env.host.qp import Qp
from tb.sequences.bad_posts import OWN_CAUSES, bad_bits
from tb.tests.common.engine import EngineTest
from tb.tests.common.posting import CANCELED, FAILED, OK

BUILD = ["engine_small"]

SILENT, DEFER = PostFlag.SILENT_SUCCESS, PostFlag.DEFER
FLAGS = tuple(map(int, (0, DEFER, SILENT, SILENT | DEFER)))
REMOTE = tuple(code for code, verb in VERBS.items() if not verb.local)


def legal_posts(rng: random.Random, verb: Verb, qp: int) -> list[Post]:
    """Random posts that have each number of segments, kind of length and flag of the type."""
    groups = ("segments.", "length.", "inline.", "flag.")
    left = {name for name in verb.all_bins() if name.partition(".")[2].startswith(groups)}
    posts: list[Post] = []
    while left:
        post = verb.fields(rng, Limits(qp))
        if left & set(verb.bins(post)):
            posts.append(post)
            left -= set(verb.bins(post))
    return posts


@pyuvm.test()
class RefusedVerbTest(EngineTest):
    """DF-14: a post of each verb is refused with each cause that its type or its QP has, with and
    without DEFER.
    """

    async def scenario(self) -> None:
        rng = self.rng("posts")
        full = await self.qp(depth=1, log2=1)
        poor = await self.qp(share=full)
        held = await self.accept(full, [self.write_post(full)])
        more = await self.accept(poor, [self.write_post(poor)])
        broken, idle = await self.qp(), await self.idle_qp()
        await self.accept(broken, [self.write_post(broken)])
        await self.rest()
        self.env.mem.fail(cq=broken.cq.number)
        self.report(broken)
        await self.rest()
        assert (await broken.cq.query()).status == CqStatus.INTERNAL_ERROR
        refuses = {
            Cause.NOT_CONNECTED: idle,
            Cause.QUEUE_FULL: full,
            Cause.CQ_ERROR: broken,
            Cause.NO_CREDIT: poor,
        }
        for verb, cause, flag in product(VERBS.values(), VERB_CAUSES, (0, int(DEFER))):
            qp = refuses.get(Cause(cause), idle)
            post = verb.least(flag, qp.number)
            # One of two faults of one kind is drawn.
            for _ in range(4 if cause in OWN_CAUSES else 1):
                bad = bad_bits(rng, cause, post) if cause in OWN_CAUSES else post
                assert await qp.post(bad) == cause, bad
        for qp, posts in (full, held), (poor, more):
            self.report(qp)
            await self.demand_results(qp, posts, OK)


@pyuvm.test()
class VerbEndsTest(EngineTest):
    """DF-03, DF-12: posts of each verb with all that may differ, and each end of its requests, held
    or not, silent or not.
    """

    async def scenario(self) -> None:
        rng, qp = self.rng("posts"), await self.qp()
        for verb in VERBS.values():
            for post in legal_posts(rng, verb, qp.number):
                await self.succeed(qp, post)
            for flags in FLAGS:
                post = verb.least(flags, qp.number)
                await self.succeed(qp, post)
                # The first one fails, or the engine would have executed it.
                first = self.write_post(qp) if verb.local else post
                posts = [first, replace(post, context=1), self.write_post(qp)]
                await self.report_all(qp, posts, FAILED)
                await self.demand_results(qp, posts, FAILED, CANCELED, CANCELED)
                await self.reconnect(qp)
        # What changes no keys does not do so on a guarded queue pair either.
        guarded = await self.qp(guarded=True)
        for verb in VERBS.values():
            if not verb.changes_keys:
                await self.succeed(guarded, verb.least(0, guarded.number))

    async def report_all(self, qp: Qp, posts: list[Post], status: int) -> None:
        """Posts these; the first remote one ends with ``status``."""
        await self.accept(qp, posts)
        await self.rest()
        remote = sum(post.opcode in REMOTE for post in posts)
        self.report(qp, status, *[0] * (remote - 1))

    async def succeed(self, qp: Qp, post: Post) -> None:
        """It succeeds, and one more that is not held."""
        posts = [post, self.write_post(qp)]
        await self.report_all(qp, posts, OK)
        told = [each for each in posts if not each.has(codes.PostFlag.SILENT_SUCCESS)]
        await self.demand_results(qp, told, OK)
