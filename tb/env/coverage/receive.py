# SPDX-License-Identifier: Apache-2.0
"""Functional coverage of messages, their buffers and completions."""

from __future__ import annotations

from models import codes
from models.codes import QpState, RecvFlag, ScatterCode
from models.host.control import Args
from models.receive.receive_control import receive_config_of, srq_config_of
from models.receive.receive_post import RecvPost, fill
from models.receive.receive_types import RecvRequest
from tb.env import defs
from tb.env.coverage.bins import ARMS, CLOSED, REASONS
from tb.env.coverage.memory import CqMemory, Group, QpMemory, Receiver, Situation, TakenBuffer
from tb.env.defs import QP_CQS, QP_OWNER, RDONE, STATE, TRC_PUBLISH, TRC_RECEIVE, ArmType
from tb.env.harness.records import Command, RecvDone, ScatterAnswer, Trace
from tb.env.harness.records import RecvRequest as RequestBeat

_ARMED: dict[int, str] = {ArmType.ANY: ARMS[0], ArmType.SOLICITED: ARMS[1]}
_LAST_CODE = max(ScatterCode)
_OPEN = (QpState.CONNECTED, QpState.DISCONNECT_PENDING)
_FLUSHING = (QpState.DISCONNECTED, QpState.ERROR, QpState.DESTROYING)


class ReceiveCoverage(Group):
    """Situations of messages, their buffers and completions."""

    def __init__(self, situation: Situation) -> None:
        super().__init__(situation)
        self._old_state = QpState.FREE
        self._changed = (-1, 0)
        #: The latest message that was answered, the latest buffer that was completed.
        self.latest_answered: RecvRequest | None = None
        self.latest_completed: TakenBuffer | None = None

    def took(self, record: Trace) -> None:
        """TAKE, after its other bins: within a cycle the lanes come by their numbers."""
        self.m.takes[record.cq] = record
        if self._changed == (record.cycle, record.cq):
            self.m.hit("same cycle/take and change of state")

    # -- transport ---------------------------------------------------------------------------------

    def arrived(self, record: RequestBeat) -> None:
        request = RecvRequest.decode(record.data)
        states: set[QpState] = set()
        if request.qp < self.m.params.num_qp:
            states.add(self.m.qps[request.qp].state)
            self.m.hit_if(states == {QpState.DISCONNECT_PENDING}, "message/in DISCONNECT_PENDING")
        self.m.hit_if(request.invalidate, "message/invalidate")
        self.m.messages.append((request, states))

    def answered(self, record: ScatterAnswer) -> None:
        self.latest_answered = None
        if not self.m.messages:
            return
        request, states = self.m.messages.popleft()
        self.latest_answered = request
        code = defs.SCATTER_USER["code"].get(record.user)
        if code > _LAST_CODE:
            return
        known = request.qp < self.m.params.num_qp
        receiver = self.m.receivers[request.qp] if known else Receiver()
        kind = "own" if receiver.config.srq is None else "SRQ"
        self.m.hit(f"answer/{ScatterCode(code).name}, {kind}")
        if code == ScatterCode.REFUSED:
            if request.malformed or not known:
                self.m.hit("refused/malformed")
            else:
                for state in (states | {self.m.qps[request.qp].state}) & set(CLOSED):
                    self.m.hit(f"refused/{state.name}")
        elif code != ScatterCode.NOT_READY and receiver.unanswered:
            taken = receiver.unanswered.popleft()
            self.m.hit_if(receiver.too_long, "message/after a length error")
            taken.request, taken.too_long = request, code == ScatterCode.LENGTH_ERROR
            self._filled(taken.post, request.length, taken.too_long)
            receiver.too_long = receiver.too_long or taken.too_long

    def _filled(self, post: RecvPost, length: int, too_long: bool) -> None:
        """How a message lies in its buffer."""
        lengths = [segment.length for segment in post.segments]
        if not lengths:
            word = "does not fit into a buffer" if too_long else "buffer"
            self.m.hit(f"scatter/{word} without segments")
        if too_long:
            self.m.hit_if(lengths and length == sum(lengths) + 1, "scatter/one byte too many")
            return
        if not length:
            self.m.hit("scatter/empty message")
            return
        filled = fill(post.segments, length)
        if sum(filled) != length:
            return
        last = max(i for i, part in enumerate(filled) if part)
        partial = filled[last] < lengths[last]
        self.m.hit(f"scatter/{'partial in' if partial else 'ends with'} segment {last + 1}")
        self.m.hit_if(length == sum(lengths), "scatter/fills the buffer")
        if len(lengths) == 3 and filled[0] and not lengths[1] and filled[2]:
            self.m.hit("scatter/zero-length segment in the middle")

    def reported(self, record: RecvDone) -> None:
        number, tag, status = RDONE.unpack(record.data).values()
        if number >= self.m.params.num_qp or record.data & RDONE.reserved:
            self.m.hit("receive report/malformed")
            return
        taken = next((t for t in self.m.receivers[number].taken if not t.reported), None)
        if taken is None:
            self.m.hit("receive report/nothing in flight")
            return
        if taken.tag != tag:
            self.m.hit("receive report/out of order")
            return
        taken.reported = True
        word = {0: "success", 1: "canceled"}.get(status, "failed")
        self.m.hit(f"receive report/{word}")
        if taken.too_long:
            self.m.hit(f"receive report/of a length error, {'other' if status else 'success'}")
        if self.m.qps[number].state not in _OPEN:
            self.m.hit("receive report/after the connection")
            if not status and not taken.too_long:
                self.m.hit("receive report/fully received after the connection")
        if number in self.m.taken_order:
            if self.m.taken_order[0] != number:
                self.m.hit("receive report/two QPs in another order")
            self.m.taken_order.remove(number)

    def receive(self, record: Trace) -> None:
        receiver = self.m.receivers[record.cq]
        status, shared, _, cq = TRC_RECEIVE.unpack(record.operand).values()
        self.latest_completed = None
        if not receiver.taken:
            return
        taken = self.latest_completed = receiver.taken.popleft()
        if shared and receiver.config.srq is not None:
            srq = self.m.srqs[receiver.config.srq]
            srq.flight = max(srq.flight - 1, 0)
        self.m.hit_if(not taken.post.context, "receive/context 0")
        self.m.hit_if(receiver.failed and not status, "receive/after a failed one")
        receiver.failed = receiver.failed or bool(status)
        if any(step.cq == record.cq for step in self.m.takes_in(record.cycle)):
            self.m.hit("same cycle/take and completion of one QP")
        if taken.request is not None:
            self._signals(cq, receiver, taken.request, status)

    def _signals(self, cq: int, receiver: Receiver, request: RecvRequest, status: int) -> None:
        flag = receiver.config.flag
        if status:
            if flag == RecvFlag.SOLICITED_WAIT:
                self.m.hit("flag/failed receive under SOLICITED_WAIT")
            return
        if flag in set(RecvFlag) and cq < self.m.params.num_cq:
            arm = self._arm(self.m.cqs[cq].state)
            solicited = "solicited" if request.solicited else "plain"
            if arm is not None:
                self.m.hit(f"flag/{RecvFlag(flag).name}, {solicited}, {arm} armed")

    @staticmethod
    def _arm(state: int) -> str | None:
        """How a CQ is armed; None: for errors only."""
        if not STATE["armed"].get(state):
            return ARMS[2]
        return _ARMED.get(STATE["arm_type"].get(state))

    def publish(self, record: Trace, _: CqMemory) -> None:
        """Entries that do not signal."""
        fields = TRC_PUBLISH.unpack(record.operand)
        if not fields["unsignalled"]:
            return
        arm = self._arm(record.old)
        if arm is not None:
            self.m.hit(f"unsignalled/{arm + ' armed' if arm == 'not' else 'armed ' + arm}")
        if fields["count"] == 2 and fields["unsignalled"] != 3:
            self.m.hit("unsignalled/with one that signals")

    # -- states and commands -----------------------------------------------------------------------

    def before_state(self, _: Trace, qp: QpMemory) -> None:
        """Ahead of QP_STATE."""
        self._old_state = qp.state

    def state(self, record: Trace, _: QpMemory) -> None:
        """QP_STATE, after its other bins."""
        self._changed = record.cycle, record.cq
        old, new = self._old_state, self.m.qps[record.cq].state
        receiver = self.m.receivers[record.cq]
        for message, states in self.m.messages:
            if message.qp == record.cq:
                states.add(new)
        if any(step.cq == record.cq for step in self.m.takes_in(record.cycle)):
            self.m.hit("same cycle/take and change of state")
        flight = sum(not taken.reported for taken in receiver.taken)
        if new is QpState.CONNECTED:
            receiver.failed = receiver.too_long = False
        if old in _OPEN and new not in _OPEN:
            reason = REASONS.get(defs.TRC_QP_STATE["reason"].get(record.operand))
            count = "2 or more" if flight > 1 else flight
            kind = "own" if receiver.config.srq is None else "SRQ"
            if reason is not None:
                self.m.hit(f"disconnect/{reason}, {count} in flight, {kind}")
        left = new in _FLUSHING and old not in _FLUSHING
        if left and receiver.config.srq is None:
            available = len(receiver.buffers)
            self.m.hit(f"flush/{'2 or more' if available > 1 else available} available")
            self.m.hit_if(available and flight, "flush/waits for a report")

    def created(self, record: Command) -> None:
        """CREATE_QP."""
        if record.code == codes.Command.CREATE_QP and not record.result:
            receiver = self.m.receivers[record.args[0]]
            receiver.config = receive_config_of(Args(record.args))
            receiver.recv_cq = QP_CQS["recv"].get(record.args[3])
            self.m.owners[False, record.args[0]] = QP_OWNER["page"].get(record.args[4])

    def command(self, record: Command) -> None:
        """A command of SRQs or regions."""
        if record.result:
            return
        number, code = record.args[0], codes.Command(record.code)
        if code is codes.Command.CREATE_SRQ:
            self.m.srqs[number].vector = srq_config_of(Args(record.args)).vector
            self.m.owners[True, number] = defs.SRQ_OWNER["page"].get(record.args[2])
        elif code is codes.Command.SET_SRQ_WATERMARK:
            if not record.args[1]:
                self.m.hit("watermark/T = 0")
                self.m.hit_if(self.m.srqs[number].armed, "watermark/T = 0 while armed")
        elif code is codes.Command.DESTROY_SRQ:
            if self.m.srqs[number].buffers:
                self.m.hit("srq/destroyed with buffers")
                self.m.srqs[number].buffers.clear()
        elif code is codes.Command.REGISTER_MR:
            self.m.keys[record.outs[0]] = number
        elif code is codes.Command.DEREGISTER_MR:
            gone = {key for key, region in self.m.keys.items() if region == number}
            self.m.old_keys |= gone
            self.m.keys = {key: n for key, n in self.m.keys.items() if key not in gone}
