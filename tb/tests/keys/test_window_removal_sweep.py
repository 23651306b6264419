# SPDX-License-Identifier: Apache-2.0
"""Device removal (MW-09) at every cycle of a busy scenario."""

from __future__ import annotations

from collections.abc import Sequence

import pyuvm

from tb.env import defs
from tb.env.defs import Cause, Cmd, CqeStatus, Opcode, QpState, Result, Right, TraceOp, Verdict
from tb.env.host.qp import Qp
from tb.env.host.regions import Region
from tb.tests.common.posting import CANCELED, FAILED
from tb.tests.common.removing import LEAD, REMOVED, RemovalTest
from tb.tests.common.taking import REFUSED, TAKEN
from tb.tests.common.windowing import BAD_KEY, GRANTED, READ

BUILD = ["engine", "engine_small"]


@pyuvm.test()
class RemovedSweepTest(RemovalTest):
    """REMOVE_DEVICE at every cycle of a busy scenario: remote and local posts, a held one, buffers,
    messages, checks, a Read that invalidates. Everything completes once; nothing is left.
    """

    async def scenario(self) -> None:
        for offset in range(61):
            await self.trial(offset)
            await self.start_over()

    async def trial(self, offset: int) -> None:
        recv_cq = await self.queue(reservation=True)
        qp = await self.guarded(recv_cq=recv_cq)
        other = await self.guarded(share=qp, recv_cq=recv_cq)
        region, window = await self.memory(256), await self.window()
        key = await self.bind(window, qp, region, rights=Right.REMOTE_READ)
        recvs = [qp.make_recv([region.segment(0, 32)]) for _ in range(3)]
        for answer in qp.queue_recv_many(recvs[:2]):
            assert await answer == (0, 0)
        spare = await self.window()
        posts = [
            self.write_post(qp),
            spare.make_bind(qp, region),
            qp.make(Opcode.INVALIDATE, token=spare.key + (1 << 12)),
            self.write_post(qp, defer=True),
        ]
        await self.rest(32)
        mark, start = self.mark, self.harness.cycle + LEAD
        task = self.command_at(start + offset, Cmd.REMOVE_DEVICE, 0, *[0] * 7)
        answers = [qp.queue(post, at=start + 20 + 4 * n) for n, post in enumerate(posts)]
        late = qp.queue_recv(recvs[2], at=start + 40)
        away = qp.queue(self.write_post(other), at=start + 44)
        asked = self.ask(qp, 1, at=start + 30)
        asked.append(self.send_invalidate(qp, key, at=start + 36))
        checks = [
            self.post_check(qp, READ, key, region.base, 8, at=start + 10 if not n else None)
            for n in range(50)
        ]
        assert (await task).result == Result.OK
        causes = [(await answer).cause for answer in answers]
        assert set(causes) <= {Cause.NONE, REMOVED}, causes
        # Once refused, always refused.
        assert causes == sorted(causes), causes
        recv_causes = [Cause.NONE] * 2 + [(await late).cause]
        away_cause = (await away).cause
        codes = [(await answer).code for answer in asked]
        verdicts = [(await answer).code for answer in checks]
        self.demand_answers(codes, verdicts)
        await self.rest()
        ends = sorted(set(self.terms(mark)))
        assert ends == [(q.number, int(QpState.ERROR)) for q in (qp, other)], ends
        assert len(self.terms(mark)) == 2
        (removed,) = self.key_steps(TraceOp.REMOVED, mark)
        # All is told; then everything has completed, once.
        for _ in range(2):
            for q in (qp, other):
                beats = self.beats(q, mark)
                done = self.reports[q.number]
                for _ in [b for b in beats if not defs.WORK_USER["local"].get(b.user)][done:]:
                    self.report(q, CANCELED)
            await self.rest()
        taken = sum(code == TAKEN or code == 4 for code in codes)
        for _ in range(taken):
            self.settle(qp, FAILED)
        await self.rest()
        mine = [r for r in qp.cq.get_cq_results_ex() if r.qp_context == qp.context]
        accepted = [p for p, cause in zip(posts, causes, strict=True) if cause == Cause.NONE]
        assert [r.request_context for r in mine] == [p.context for p in accepted], (offset, mine)
        assert all(r.status in (0, CANCELED) for r in mine), mine
        status = await other.query()
        assert (status.tail, status.retired) == (int(away_cause == Cause.NONE),) * 2, status
        found = qp.recv_cq.get_cq_results_ex()
        want = [r.context for r, c in zip(recvs, recv_causes, strict=True) if c == Cause.NONE]
        assert [r.request_context for r in found] == want, (offset, found)
        assert all(r.status for r in found), found
        assert {r.status for r in found[taken:]} <= {CqeStatus.CANCELED}
        assert removed.cq == 0xFFFF
        await self.clean(qp, other, region)

    def demand_answers(self, codes: Sequence[int], verdicts: Sequence[Verdict]) -> None:
        """Granted, then perhaps an invalid key, then refused; never granted again."""
        order = {GRANTED: 0, BAD_KEY: 1, Verdict.REFUSED: 2}
        places = [order[code] for code in verdicts]
        assert places == sorted(places), verdicts
        assert codes[0] in (TAKEN, REFUSED) and codes[1] in (TAKEN, REFUSED), codes
        assert not (codes[0] == REFUSED and codes[1] == TAKEN), codes

    async def clean(self, qp: Qp, other: Qp, region: Region) -> None:
        host = self.env.host
        await qp.cq.update_consumer_index()
        await qp.recv_cq.update_consumer_index()
        for window in list(host.windows.values()):
            await window.close()
        await region.deregister()
        for q in (qp, other):
            await q.destroy()
        for cq in list(host.cqs.values()):
            await cq.destroy()
        for eq in list(host.eqs.values()):
            await host.destroy_eq(eq)
