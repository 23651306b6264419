# SPDX-License-Identifier: Apache-2.0
"""Queue pairs are refused on completion queues that are gone, whatever the command that destroyed
one had in its other arguments.
"""

from __future__ import annotations

import pyuvm

from tb.env.defs import Cmd, Result
from tb.env.host.driver import CommandError
from tb.tests.common.posting import PostingTest

BUILD = "engine"


@pyuvm.test()
class GoneCqTest(PostingTest):
    """ISO-02: CREATE_QP on a CQ that was destroyed is answered NO_CQ; on the next CQ of that number
    only the page that it was created with counts.
    """

    allow = ("no_posts", "no_receives", "no_doorbells")

    async def scenario(self) -> None:
        host, rng = self.env.host, self.rng("numbers")
        for _ in range(12):
            page = rng.randrange(self.config.num_pages)
            eq = await host.create_eq(page=page)
            number = rng.randrange(self.config.num_cq)
            for gone in (False, True):
                cq = await host.create_cq(number, eq=eq)
                if gone:
                    args = [rng.getrandbits(32) for _ in range(5)]
                    answer = await host.command(Cmd.DESTROY_CQ, number, *args)
                    assert answer.result == Result.OK
                    del host.cqs[number]
                qp_page = page if gone else (page + 1) % self.config.num_pages
                try:
                    await host.create_qp(cq=cq, recv_cq=cq, page=qp_page)
                    raise AssertionError("a queue pair without a completion queue")
                except CommandError as error:
                    wanted = Result.NO_CQ if gone else Result.BAD_PAGE
                    assert error.command.result == wanted, error
                if not gone:
                    await cq.destroy()
            cq = await host.create_cq(number, eq=eq)
            qp = await host.create_qp(cq=cq, recv_cq=cq, page=page)
            await qp.destroy()
            await cq.destroy()
            await host.destroy_eq(eq)
