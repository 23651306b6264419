# SPDX-License-Identifier: Apache-2.0
"""Functional coverage of an engine that receives: what coverage_post.py counts, and the situations
of receives. Plain counters; the bins are in coverage_receive_bins.py.
"""

from __future__ import annotations

from models import codes
from models.codes import RECEIVE_COMMANDS, Cause, QpState, RecvFlag, ScatterCode, StateBy, TraceOp
from models.host.control import Args
from models.params import Params
from models.receive.receive_control import receive_config_of, srq_config_of
from models.receive.receive_post import RecvPost, fill
from models.receive.receive_types import RecvRequest
from tb.env.coverage.memory import CqMemory
from tb.env.coverage.post import _Qp
from tb.env.coverage.receive_bins import ARMS, CLOSED, RECEIVE_COMMAND_BINS
from tb.env.coverage.receive_queues import ReceiveQueueCoverage, Receiver
from tb.env.harness.records import (
    Command,
    RecvDone,
    ScatterAnswer,
    Trace,
)
from tb.env.harness.records import RecvRequest as RequestBeat

_ALL = 0xFFFF
_OPEN = (QpState.CONNECTED, QpState.DISCONNECT_PENDING)
_FLUSHING = (QpState.DISCONNECTED, QpState.ERROR, QpState.DESTROYING)
_REASONS = {StateBy.COMMAND: "command", StateBy.CONN: "event", StateBy.REPORT: "report"}
_SEGMENT_CAUSES = (
    *(Cause.BAD_REGION, Cause.BAD_ZONE),
    *(Cause.NO_LOCAL_WRITE, Cause.BAD_RANGE),
)


class ReceiveCoverage(ReceiveQueueCoverage):
    """Subscriber of the records of an engine that receives."""

    def __init__(self, params: Params) -> None:
        super().__init__(params)
        self._by_type |= {
            RequestBeat: self._arrived,
            ScatterAnswer: self._answered,
            RecvDone: self._reported,
        }
        self._by_receive_op[TraceOp.RECEIVE] = self._receive
        self._old_state = QpState.FREE
        self._changed = (-1, 0)

    def _trace(self, record: Trace) -> None:
        super()._trace(record)
        if record.lane == 3 and record.op == TraceOp.QP_STATE:
            self._after_state(record)
            self._changed = record.cycle, record.cq
        # Within a cycle the lanes come by their numbers.
        if record.op == TraceOp.TAKE and self._changed == (record.cycle, record.cq):
            self._hit("same cycle/take and change of state")

    # -- transport ---------------------------------------------------------------------------------

    def _arrived(self, record: RequestBeat) -> None:
        request = RecvRequest.decode(record.data)
        states: set[QpState] = set()
        if request.qp < self.params.num_qp:
            states.add(self._qps[request.qp].state)
            if states == {QpState.DISCONNECT_PENDING}:
                self._hit("message/in DISCONNECT_PENDING")
        if request.invalidate:
            self._hit("message/invalidate")
        self._messages.append((request, states))

    def _answered(self, record: ScatterAnswer) -> None:
        if not self._messages:
            return
        request, states = self._messages.popleft()
        code = record.user & 0xF
        if code > max(ScatterCode):
            return
        known = request.qp < self.params.num_qp
        receiver = self._receivers[request.qp] if known else Receiver()
        kind = "own" if receiver.config.srq is None else "SRQ"
        self._hit(f"answer/{ScatterCode(code).name}, {kind}")
        if code == ScatterCode.REFUSED:
            if request.malformed or not known:
                self._hit("refused/malformed")
            else:
                for state in (states | {self._qps[request.qp].state}) & set(CLOSED):
                    self._hit(f"refused/{state.name}")
        elif code != ScatterCode.NOT_READY and receiver.unanswered:
            taken = receiver.unanswered.popleft()
            if receiver.too_long:
                self._hit("message/behind a length error")
            taken.request, taken.too_long = request, code == ScatterCode.LENGTH_ERROR
            self._filled(taken.post, request.length, taken.too_long)
            receiver.too_long = receiver.too_long or taken.too_long

    def _filled(self, post: RecvPost, length: int, too_long: bool) -> None:
        """How a message lies in its buffer."""
        lengths = [segment.length for segment in post.segments]
        if not lengths:
            word = "does not fit into a buffer" if too_long else "buffer"
            self._hit(f"scatter/{word} without segments")
        if too_long:
            if lengths and length == sum(lengths) + 1:
                self._hit("scatter/one byte too many")
            return
        if not length:
            self._hit("scatter/empty message")
            return
        filled = fill(post.segments, length)
        if sum(filled) != length:
            return
        last = max(i for i, part in enumerate(filled) if part)
        partial = filled[last] < lengths[last]
        self._hit(f"scatter/{'partial in' if partial else 'ends with'} segment {last + 1}")
        if length == sum(lengths):
            self._hit("scatter/fills the buffer")
        if len(lengths) == 3 and filled[0] and not lengths[1] and filled[2]:
            self._hit("scatter/zero-length segment in the middle")

    def _reported(self, record: RecvDone) -> None:
        number, tag, status = record.data & _ALL, record.data >> 16 & _ALL, record.data >> 32
        if number >= self.params.num_qp or status >> 8:
            self._hit("receive report/malformed")
            return
        taken = next((t for t in self._receivers[number].taken if not t.reported), None)
        if taken is None:
            self._hit("receive report/nothing in flight")
            return
        if taken.tag != tag:
            self._hit("receive report/out of order")
            return
        taken.reported = True
        word = {0: "success", 1: "canceled"}.get(status, "failed")
        self._hit(f"receive report/{word}")
        if taken.too_long:
            self._hit(f"receive report/of a length error, {'other' if status else 'success'}")
        if self._qps[number].state not in _OPEN:
            self._hit("receive report/behind the connection")
            if not status and not taken.too_long:
                self._hit("receive report/fully received behind the connection")
        if number in self._taken_order:
            if self._taken_order[0] != number:
                self._hit("receive report/two QPs in another order")
            self._taken_order.remove(number)

    def _receive(self, record: Trace) -> None:
        receiver = self._receivers[record.cq]
        status = record.operand & 0xFF
        if not receiver.taken:
            return
        taken = receiver.taken.popleft()
        if record.operand >> 8 & 1 and receiver.config.srq is not None:
            srq = self._srqs[receiver.config.srq]
            srq.flight = max(srq.flight - 1, 0)
        if not taken.post.context:
            self._hit("receive/context 0")
        if receiver.failed and not status:
            self._hit("receive/behind a failed one")
        receiver.failed = receiver.failed or bool(status)
        if any(step.cq == record.cq for step in self._takes_in(record.cycle)):
            self._hit("same cycle/take and completion of one QP")
        if taken.request is not None:
            self._signals(record, receiver, taken.request, status)

    def _signals(
        self, record: Trace, receiver: Receiver, request: RecvRequest, status: int
    ) -> None:
        flag = receiver.config.flag
        if status:
            if flag == RecvFlag.SOLICITED_WAIT:
                self._hit("flag/failed receive under SOLICITED_WAIT")
            return
        cq = record.operand >> 16
        if flag in set(RecvFlag) and cq < self.params.num_cq:
            arm = self._arm(self._cqs[cq].state)
            solicited = "solicited" if request.solicited else "plain"
            if arm is not None:
                self._hit(f"flag/{RecvFlag(flag).name}, {solicited}, {arm} armed")

    @staticmethod
    def _arm(state: int) -> str | None:
        """How a CQ is armed; None: for errors only."""
        if not state >> 4 & 1:
            return ARMS[2]
        return {1: ARMS[0], 2: ARMS[1]}.get(state >> 5 & 3)

    def _publish(self, record: Trace, cq: CqMemory) -> None:
        super()._publish(record._replace(operand=record.operand & 0xF), cq)
        quiet = record.operand >> 4 & 3
        if not quiet:
            return
        arm = self._arm(record.old)
        if arm is not None:
            self._hit(f"unsignalled/{arm + ' armed' if arm == 'not' else 'armed ' + arm}")
        if record.operand & 3 == 2 and quiet != 3:
            self._hit("unsignalled/beside one that signals")

    # -- states and commands -----------------------------------------------------------------------

    def _state(self, record: Trace, qp: _Qp) -> None:
        self._old_state = qp.state
        super()._state(record, qp)

    def _after_state(self, record: Trace) -> None:
        if record.cq >= self.params.num_qp:
            return
        old, new = self._old_state, self._qps[record.cq].state
        receiver = self._receivers[record.cq]
        for message, states in self._messages:
            if message.qp == record.cq:
                states.add(new)
        if any(step.cq == record.cq for step in self._takes_in(record.cycle)):
            self._hit("same cycle/take and change of state")
        flight = sum(not taken.reported for taken in receiver.taken)
        if new is QpState.CONNECTED:
            receiver.failed = receiver.too_long = False
        if old in _OPEN and new not in _OPEN:
            reason = _REASONS.get(StateBy(record.operand & 3)) if record.operand < 3 else None
            count = "2 or more" if flight > 1 else flight
            kind = "own" if receiver.config.srq is None else "SRQ"
            if reason is not None:
                self._hit(f"disconnect/{reason}, {count} in flight, {kind}")
        left = new in _FLUSHING and old not in _FLUSHING
        if left and receiver.config.srq is None:
            available = len(receiver.buffers)
            self._hit(f"flush/{'2 or more' if available > 1 else available} available")
            if available and flight:
                self._hit("flush/waits for a report")

    def _command(self, record: Command) -> None:
        name = RECEIVE_COMMAND_BINS.get((record.code, record.result))
        receiving = record.code in RECEIVE_COMMANDS
        if name is not None:
            self._hit(name)
        if not receiving:
            if name is None:
                super()._command(record)
            if record.code == codes.Command.CREATE_QP and not record.result:
                receiver = self._receivers[record.args[0]]
                receiver.config = receive_config_of(Args(record.args))
                receiver.recv_cq = record.args[3] >> 16
                self._owners[False, record.args[0]] = record.args[4] & _ALL
            return
        if not record.result:
            self._receive_command(record, codes.Command(record.code))

    def _receive_command(self, record: Command, code: codes.Command) -> None:
        number = record.args[0]
        if code is codes.Command.CREATE_SRQ:
            self._srqs[number].vector = srq_config_of(Args(record.args)).vector
            self._owners[True, number] = record.args[2] & _ALL
        elif code is codes.Command.SET_SRQ_WATERMARK:
            if not record.args[1]:
                self._hit("watermark/T = 0")
                if self._srqs[number].armed:
                    self._hit("watermark/T = 0 while armed")
        elif code is codes.Command.DESTROY_SRQ:
            if self._srqs[number].buffers:
                self._hit("srq/destroyed with buffers")
                self._srqs[number].buffers.clear()
        elif code is codes.Command.REGISTER_MR:
            self._keys[record.outs[0]] = number
        elif code is codes.Command.DEREGISTER_MR:
            gone = {key for key, region in self._keys.items() if region == number}
            self._old_keys |= gone
            self._keys = {key: n for key, n in self._keys.items() if key not in gone}
