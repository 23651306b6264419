# SPDX-License-Identifier: Apache-2.0
"""Device removal (MW-09), at every cycle of a busy scenario and in every state: nothing but cleanup
succeeds any more; what is outstanding completes once; reset alone ends it.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyuvm

from models.post.post import Segment
from models.verbs import VERBS
from tb.env.defs import (
    QSTATE,
    TRC_POST,
    WORK_USER,
    Cause,
    Cmd,
    CqeStatus,
    Opcode,
    QpState,
    Result,
    Right,
    TraceOp,
    Verdict,
)
from tb.env.host.qp import Qp
from tb.env.host.regions import Region
from tb.tests.common.engine import BAD_KEY, BAD_TOKEN, GENERATION, GRANTED, READ, ZONE, EngineTest
from tb.tests.common.posting import CANCELED, FAILED, OK
from tb.tests.common.receiving import REFUSED, TAKEN

BUILD = ["engine", "engine_small"]

LEAD = 200
#: Commands that a removed device refuses, and those of cleanup and queries.
REFUSED_COMMANDS = (
    *(Cmd.CREATE_EQ, Cmd.MODIFY_EQ, Cmd.RESIZE_EQ, Cmd.CREATE_CQ, Cmd.MODIFY_CQ, Cmd.RESIZE_CQ),
    *(Cmd.CREATE_QP, Cmd.MODIFY_QP, Cmd.CONNECT_QP, Cmd.CREATE_SRQ, Cmd.RESIZE_SRQ),
    *(Cmd.SET_SRQ_WATERMARK, Cmd.REGISTER_MR, Cmd.ALLOC_MR, Cmd.CREATE_MW, Cmd.REMOVE_DEVICE),
)
REMOVED = Cause.DEVICE_REMOVED


class RemovalTest(EngineTest):
    async def remove_device(self) -> None:
        await self.env.host.remove_device()
        await self.rest(32)


@pyuvm.test()
class RemovedCommandsTest(RemovalTest):
    """Every command on a removed device, with and without its objects; posts of every kind; a
    page that is not the owner's comes first; a doorbell, polls and callbacks as before.
    """

    async def scenario(self) -> None:
        host = self.env.host
        srq = await host.create_srq(size=4, zone=ZONE)
        qp = await self.guarded()
        user = await self.qp(srq=srq, zone=ZONE, share=qp)
        region, window, fast = await self.memory(64), await self.window(), await self.allocated(64)
        await self.bind(window, qp, region)
        await self.fast_register(fast, qp)
        assert await qp.cq.arm() == (0, 0)
        posts = await self.accept(qp, [self.write_post(qp)])
        await self.remove_device()
        await self.refuses(qp)
        post = qp.make(Opcode.SEND, length=4)
        assert await qp.post(post, page=qp.page ^ 1) == Cause.NOT_OWNER
        for queue in (qp, srq):
            result = await queue.post_recv([region.segment(0, 8)])
            assert result.cause == REMOVED, result
        # Numbers of no command, the likes of those that are refused now.
        for number in set(range(256)) - {int(command) for command in Cmd}:
            assert await self.result(number, 0) == Result.UNKNOWN
        # Queries.
        assert (await window.query()).valid and (await region.query()).valid
        assert (await qp.query()).state == QpState.ERROR == (await user.query()).state
        assert (await srq.status()) is not None
        await qp.cq.query()
        await host.query_eq(qp.cq.eq)
        # Outstanding: once, when the transport has reported it.
        assert qp.cq.get_cq_results() == []
        self.report(qp, CANCELED)
        await self.demand_results(qp, posts, CANCELED)
        await qp.cq.wait_callbacks(1)
        assert await qp.cq.callback_return() == (0, 0)
        # Cleanup.
        assert await self.result(Cmd.DEREGISTER_MR, region.number) == Result.BUSY
        assert await self.result(Cmd.DESTROY_QP, qp.number) == Result.IN_USE
        await window.close()
        await region.deregister()
        await fast.deregister()
        assert await self.result(Cmd.SET_QP_STATE, user.number, QpState.IDLE) == Result.OK
        await user.destroy()
        await qp.destroy()
        assert await self.result(Cmd.DESTROY_SRQ, srq.number) == Result.OK
        await qp.cq.destroy()
        await host.destroy_eq(qp.cq.eq)
        for code in (Cmd.QUERY_QP, Cmd.QUERY_CQ, Cmd.QUERY_EQ, Cmd.QUERY_SRQ, Cmd.QUERY_MR):
            assert await self.result(code, 0) == Result.NO_OBJECT, code.name
        assert await self.result(Cmd.CREATE_MW, 0) == Result.DEVICE_REMOVED

    async def refuses(self, qp: Qp) -> None:
        """Commands and posts of every kind, requests, checks."""
        host = self.env.host
        for code in REFUSED_COMMANDS:
            assert await self.result(code, 0, *[0] * 7) == Result.DEVICE_REMOVED, code.name
            # Before all else: reserved bits, numbers out of range.
            args = [0xFFFF_FFFF] * 8
            assert await self.result(code, *args) == Result.DEVICE_REMOVED, code.name
        assert await self.result(0x4B, 0) == Result.UNKNOWN
        for opcode in (*VERBS, 0, 0xFF):
            post = qp.make(opcode, length=8, target=Segment(0, 0, 1))
            assert await qp.post(post) == REMOVED, opcode
        await host.read_log()
        assert await self.code(qp) == REFUSED
        assert await self.check(qp, READ, 0, 0, 8) == Verdict.REFUSED


@pyuvm.test()
class RemovedStatesTest(RemovalTest):
    """QPs in every state: CONNECTED and DISCONNECT_PENDING go to ERROR, each with one terminate
    request, all that there are; the others stay as they are, and can be flushed if they could be.
    After a reset everything works again.
    """

    async def scenario(self) -> None:
        qps = await self.sharing(self.config.num_qp, recv_depth=0)
        await self.ends(dict.fromkeys(qps, QpState.ERROR), qps)
        await self.start_over()
        first = await self.guarded()
        pending, over = [await self.guarded(share=first) for _ in range(2)]
        await pending.set_state(QpState.DISCONNECT_PENDING)
        await over.set_state(QpState.DISCONNECTED)
        idle = await self.idle_qp(guarded=True, share=first, zone=ZONE, recv_depth=4)
        states = dict.fromkeys((first, pending), QpState.ERROR)
        states |= {over: QpState.DISCONNECTED, idle: QpState.IDLE}
        await self.ends(states, [first, pending])
        await self.start_over()
        # One that has been in use, and does nothing.
        qp, idle = await self.guarded(), await self.idle_qp(guarded=True, zone=ZONE)
        post = self.write_post(qp)
        await self.accept(qp, [post])
        await self.rest()
        self.report(qp)
        await self.demand_results(qp, [post], OK)
        await qp.flush()
        await self.ends({qp: QpState.ERROR, idle: QpState.IDLE}, [])
        await qp.flush()
        await self.demand_state(qp, QpState.ERROR)
        for one in (qp, idle):
            await one.destroy()
        await self.start_over()
        qp, region, window = await self.guarded(), await self.memory(64), await self.window()
        await self.bind(window, qp, region)
        await self.demand_verdict(qp, GRANTED, READ, window.key, region.base, 8)

    async def ends(self, states: dict[Qp, QpState], ended: Sequence[Qp]) -> None:
        """Removal: QPs are in these states then, and these connections have ended."""
        await self.rest()
        mark = self.mark
        await self.remove_device()
        terms = sorted(self.terms(mark))
        wanted = [(qp.number, int(QpState.ERROR)) for qp in ended]
        assert terms == wanted, f"connections that ended: {terms}"
        for qp, state in states.items():
            await self.demand_state(qp, state)
            assert await qp.post(qp.make(Opcode.SEND, length=4)) == REMOVED


@pyuvm.test()
class ReapTest(RemovalTest):
    """ISO-01, MW-09: reaping is cleanup, and still the owner's alone."""

    async def scenario(self) -> None:
        srq = await self.env.host.create_srq(size=4, zone=ZONE)
        srq.auto_reap = False
        qp = await self.guarded(srq=srq)
        await self.post_buffers(srq, await self.memory(64), 3)
        await self.take(qp, 1, 1)
        self.settle(qp, OK, OK)
        await self.rest()
        await self.remove_device()
        index = (await srq.status()).completed
        assert await srq.reap(index - 1) == (0, 0)
        for page in range(1, min(self.config.num_pages, 4)):
            assert await srq.reap(index, page=page) == (2, Cause.NOT_OWNER)
        assert await srq.reap(index) == (0, 0)
        assert (await srq.status()).reaped == index


@pyuvm.test()
class RemovedSweepTest(RemovalTest):
    """REMOVE_DEVICE at every cycle of a busy scenario: remote and local posts, held ones, buffers,
    messages, checks, a Read that invalidates. Everything completes once; nothing is left. DF-04: a
    post that fails DEVICE_REMOVED while the connection of its QP has not ended yet releases what
    the QP holds.
    """

    async def scenario(self) -> None:
        released = 0
        for offset in range(61):
            released += await self.trial(offset)
            await self.start_over()
        assert released

    async def trial(self, offset: int) -> int:
        """Returns how many posts failed and released others."""
        recv_cq = await self.queue(reservation=True)
        # Its connection ends last.
        qp = await self.guarded(recv_cq=recv_cq, number=self.config.num_qp - 1)
        other = await self.guarded(share=qp, recv_cq=recv_cq)
        region, window = await self.memory(256), await self.window()
        key = await self.bind(window, qp, region, rights=Right.REMOTE_READ)
        cookies = await self.post_buffers(qp, region, 2)
        last = qp.make_recv([region.segment(0, 32)])
        spare = await self.window()
        posts = [
            spare.make_bind(qp, region),
            qp.make(Opcode.INVALIDATE, token=spare.key + GENERATION),
            self.write_post(qp, defer=True),
            self.write_post(qp, defer=True),
        ]
        await self.rest(32)
        mark, start = self.mark, self.harness.cycle + LEAD
        task = self.command_at(start + offset, Cmd.REMOVE_DEVICE, 0, *[0] * 7)
        answers = [qp.queue(post, at=start + 20 + 4 * n) for n, post in enumerate(posts)]
        late = qp.queue_recv(last, at=start + 40)
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
        cookies += [last.context] * ((await late).cause == Cause.NONE)
        away_cause = (await away).cause
        codes = [(await answer).code for answer in asked]
        verdicts = [(await answer).code for answer in checks]
        self.demand_answers(codes, verdicts)
        await self.rest()
        ends = sorted(set(self.terms(mark)))
        assert ends == [(q.number, int(QpState.ERROR)) for q in (other, qp)], ends
        assert len(self.terms(mark)) == 2
        (removed,) = self.key_steps(TraceOp.REMOVED, mark)
        # All is told; then everything has completed, once.
        for _ in range(2):
            for q in (qp, other):
                beats = self.beats(q, mark)
                done = self.reports[q.number]
                for _ in [b for b in beats if not WORK_USER["local"].get(b.user)][done:]:
                    self.report(q, CANCELED)
            await self.rest()
        taken = sum(code in (TAKEN, BAD_TOKEN) for code in codes)
        if taken:
            self.settle(qp, *[FAILED] * taken)
        await self.rest()
        mine = [r for r in qp.cq.get_cq_results_ex() if r.qp_context == qp.context]
        accepted = [p for p, cause in zip(posts, causes, strict=True) if cause == Cause.NONE]
        assert [r.request_context for r in mine] == [p.context for p in accepted], (offset, mine)
        assert all(r.status in (0, CANCELED) for r in mine), mine
        status = await other.query()
        assert (status.tail, status.retired) == (int(away_cause == Cause.NONE),) * 2, status
        found = qp.recv_cq.get_cq_results_ex()
        assert [r.request_context for r in found] == cookies, (offset, found)
        assert all(r.status for r in found), found
        assert {r.status for r in found[taken:]} <= {CqeStatus.CANCELED}
        assert removed.cq == 0xFFFF
        await self.clean(qp, other, region)
        released = 0
        for step in self.steps(qp, TraceOp.POST, mark):
            failed = TRC_POST["cause"].get(step.operand) == REMOVED
            if failed and QSTATE["state"].get(step.old) == QpState.CONNECTED:
                old, new = (QSTATE["released"].get(state) for state in (step.old, step.new))
                released += new != old
        return released

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
