# SPDX-License-Identifier: Apache-2.0
"""States of queue pairs that receive: what failing receives end, and when a queue pair with
receives may become idle or free (SRQ-13, SRQ-14, SRQ-18).
"""

from __future__ import annotations

from enum import IntEnum

from models.codes import Command, CommandResult, QpState
from models.host.control import Args
from models.post.qp import QpModel, StateStep
from models.receive.receive_control import check_create_qp, decode_receive
from tb.env.harness.records import Trace
from tb.env.scoreboard.dispatch import DispatchChecks
from tb.env.scoreboard.qp import QpChecks
from tb.env.scoreboard.receive_context import ReceiveContext
from tb.env.scoreboard.receive_done import ReceiveDoneChecks
from tb.env.scoreboard.receive_post import ReceivePostChecks
from tb.env.scoreboard.retire import RetireChecks
from tb.env.scoreboard.take import TakeChecks


class ReceiveQpChecks(QpChecks):
    """QP_STATE steps of an engine that receives."""

    def __init__(
        self,
        rc: ReceiveContext,
        posts: ReceivePostChecks,
        dispatch: DispatchChecks,
        retire: RetireChecks,
        takes: TakeChecks,
        receives: ReceiveDoneChecks,
    ) -> None:
        super().__init__(rc.qpc, posts, dispatch, retire)
        self.rc = rc
        self.takes = takes
        self.receives = receives

    def state_step(self, record: Trace) -> None:
        """QP_STATE."""
        super().state_step(record)
        self.takes.changed_qp(record.cq)
        self.receives.changed_qp(record.cq)

    def _by_report(self, record: Trace, model: QpModel) -> StateStep | None:
        rq = self.rc.rqs[record.cq]
        if record.cq in self.receives.failing:
            return model.receive_failed()
        if rq.length_pending:
            return rq.fail_length()
        if record.cq not in self.retire.failing and self.takes.may_be_too_long(record.cq):
            rq.overlong = rq.qp.connections
            return rq.fail_length()
        return super()._by_report(record, model)

    def _run(self, code: int, args: Args, model: QpModel, record: Trace) -> StateStep | None:
        new = record.new & 0xF
        left = new in (QpState.IDLE, QpState.FREE) and code != Command.CREATE_QP
        if left and self.rc.rqs[record.cq].busy:
            self.qpc.fail(record.cq, "SRQ-14: empty, but it has receives not completed", record)
        return super()._run(code, args, model, record)

    def _may_create(self, args: Args, model: QpModel) -> IntEnum:
        result = decode_receive(
            Command.CREATE_QP, args, self.rc.params, self.rc.windows is not None
        )
        if result is not CommandResult.OK:
            return result
        return check_create_qp(args, model, self.qpc.model.cq_page, self.rc.srqs)
