# SPDX-License-Identifier: Apache-2.0
"""Mailbox commands of shared receive queues, and the receive side of CREATE_QP (SRQ-15 to SRQ-17,
ISO-02).

DESTROY_SRQ leaves no step; the others have at most one. Results that depend on traffic must be
right in a state that the object had while the command ran.
"""

from __future__ import annotations

from collections.abc import Iterator

from models import codes
from models.codes import CommandResult, ModelError
from models.host.control import Args
from models.receive.receive_control import (
    check_srq,
    decode_receive,
    receive_config_of,
    srq_config_of,
)
from tb.env import defs
from tb.env.defs import BSTATE, TRC_RECV_SIZE, TRC_WATERMARK, TSTATE
from tb.env.harness.records import Command, Trace
from tb.env.scoreboard.context import Left, args_of, steps_left
from tb.env.scoreboard.host.commands import CommandCheck
from tb.env.scoreboard.post.context import LAG
from tb.env.scoreboard.receive.context import ReceiveContext, SrqView
from tb.env.scoreboard.receive.posts import ReceivePostChecks
from tb.env.scoreboard.receive.takes import TakeChecks

_TAIL = TSTATE["tail"]
_OF_QP = TSTATE["taken"].mask | TSTATE["reported"].mask


class SrqCommands(CommandCheck):
    """Commands of shared receive queues, and the receive side of CREATE_QP."""

    rules = "SRQ-16, SRQ-17, ISO-02"

    def __init__(
        self, rc: ReceiveContext, posts: ReceivePostChecks, takes: TakeChecks, sizes: list[Trace]
    ) -> None:
        """``sizes``: gets the step of CREATE_QP, whose check it is."""
        super().__init__(rc.ctx, lambda record: [("SRQ", record.args[0])])
        self.rc = rc
        self.qpc = rc.qpc
        self.posts = posts
        self.takes = takes
        self.sizes = sizes

    # -- steps -------------------------------------------------------------------------------------

    def size_step(self, record: Trace) -> None:
        """RECV_SIZE."""
        start, shared = TRC_RECV_SIZE.unpack(record.operand).values()
        if not start and not shared:
            self.fail(f"RECV_SIZE with operand {record.operand:#x}")
        code = codes.Command.RESIZE_SRQ if not start else codes.Command.CREATE_QP
        code = codes.Command.CREATE_SRQ if start and shared else code
        seen = self.seen if shared else self.sizes
        args = args_of(self.ctx.step_of(record, seen, code))
        if shared:
            self._size_srq(record, code, args)
        else:
            self._size_qp(record, args)

    def _size_qp(self, record: Trace, args: Args) -> None:
        """The receive side of CREATE_QP; its other step may come before or after it."""
        rc, qp = self.rc, record.cq
        config = receive_config_of(args)
        rq = rc.rqs[qp]
        if config.srq is not None and config.srq >= len(rc.srqs):
            self.fail(f"created, the model refuses it: there is no SRQ {config.srq}")
        try:
            rq.create(config, None if config.srq is None else rc.srqs[config.srq])
        except ModelError as error:
            self.fail(f"created, the model refuses it: {error}")
        rc.compare("after", record)
        rc.history[qp].append(record)

    def _size_srq(self, record: Trace, code: int, args: Args) -> None:
        rc, number = self.rc, record.cq
        srq = rc.srqs[number]
        if code == codes.Command.RESIZE_SRQ:
            srq.reaped_seen = srq.reaped
            rc.compare("before", record, True)
        self.must_pass(self._expected(code, args))
        if code == codes.Command.RESIZE_SRQ:
            srq.resize(args.words[1])
        else:
            srq.create(srq_config_of(args), BSTATE["tail"].get(record.new))
            rc.completions[number].clear()
        rc.compare("after", record, True)
        rc.shared[number].append(record)
        rc.note(number)
        self.posts.changed_srq(number)

    def watermark_step(self, record: Trace) -> None:
        """WATERMARK."""
        rc, number, operand = self.rc, record.cq, record.operand
        srq = rc.srqs[number]
        command = self.ctx.step_of(record, self.seen, codes.Command.SET_SRQ_WATERMARK)
        threshold, event = TRC_WATERMARK.unpack(operand).values()
        if threshold != command.args[1] or not srq.exists:
            self.fail(f"WATERMARK with operand {operand:#x}")
        before = srq.tail_seen
        rc.compare("before", record, True, _TAIL.mask | _OF_QP)
        new, tails = _TAIL.get(record.new), rc.srq_tails[number]
        known = rc.known(record, "tail", new, before, srq.tail, tails)
        if not rc.between(_TAIL.get(record.old), before, known):
            self.fail("the step knew of other posts before it")
        if threshold and srq.waiting:
            self.fail("armed while an event waits")
        step = srq.watermark(threshold, tail_seen=rc.params.index(known))
        if step.event != bool(event):
            self.fail(f"event {event}, expected {int(step.event)}")
        rc.compare("after", record, True, _OF_QP)
        if step.event:
            self.takes.raised(number)
        rc.shared[number].append(record)
        rc.note(number)

    # -- commands ----------------------------------------------------------------------------------

    def command(self, record: Command) -> None:
        args, code = args_of(record), codes.Command(record.code)
        result = decode_receive(code, args, self.rc.params, True)
        if result is not CommandResult.OK:
            self.must_answer(record, {result})
        else:
            self._srq(record, code, args)

    def left(self) -> Iterator[Left]:
        yield from steps_left(self.seen)
        yield from steps_left(self.sizes)

    def _expected(self, code: int, args: Args) -> CommandResult:
        """The result in the present state."""
        rc, number = self.rc, args.number
        result = decode_receive(code, args, rc.params)
        if result is not CommandResult.OK:
            return result
        srq, users = rc.srqs[number], rc.model.users(number)
        return check_srq(code, args, srq, users)

    def _srq(self, record: Command, code: codes.Command, args: Args) -> None:
        rc, number = self.rc, args.number
        srq = rc.srqs[number]
        if self.seen:
            tail = BSTATE["tail"].get(self.seen[0].new)
            if code is codes.Command.CREATE_SRQ and record.outs[0] != tail:
                self.wrong(record, f"start index {record.outs[0]}, {tail}")
            return
        allowed = self._srq_results(record, code, args)
        stepping = code in (codes.Command.CREATE_SRQ, codes.Command.RESIZE_SRQ)
        if stepping or (code is codes.Command.SET_SRQ_WATERMARK and args.words[1]):
            allowed.discard(CommandResult.OK)
        self.must_answer(record, allowed)
        if record.result:
            return
        if code is codes.Command.QUERY_SRQ:
            self._query_srq(record, number)
        elif code is codes.Command.DESTROY_SRQ:
            try:
                rc.given_back += len(srq.destroy())
            except ModelError as error:
                self.wrong(record, str(error))
            self.posts.changed_srq(number)

    def _srq_results(self, record: Command, code: codes.Command, args: Args) -> set[CommandResult]:
        """Results that were right at some time while the command ran."""
        number = args.number
        srq, start = self.rc.srqs[number], self.ctx.window_start(record) - LAG
        allowed = {self._expected(code, args)}
        views = self.rc.views(number, start) if srq.exists else []
        if code is codes.Command.RESIZE_SRQ and CommandResult.OK in allowed:
            needs = [max(view.outstanding, view.watermark) for view in views]
            if needs and max(needs) > args.words[1]:
                allowed.add(CommandResult.CMD_TOO_SMALL)
        waits = {view.waits for view in views}
        if code is codes.Command.DESTROY_SRQ and allowed == {CommandResult.OK} and waits == {True}:
            allowed = {CommandResult.CMD_BUSY}
        if code in (codes.Command.SET_SRQ_WATERMARK, codes.Command.DESTROY_SRQ):
            moving = {CommandResult.OK, CommandResult.CMD_BUSY}
            by_event = code is codes.Command.DESTROY_SRQ or args.words[1]
            if by_event and len(waits) == 2 and not allowed.isdisjoint(moving):
                allowed |= moving
        return allowed

    def _query_srq(self, record: Command, number: int) -> None:
        rc, outs = self.rc, record.outs
        c = rc.srqs[number].config
        views = rc.views(number, self.ctx.window_start(record) - LAG)
        layouts = (defs.SRQ_BUFFERS, defs.SRQ_ENDS, defs.SRQ_DONE, defs.SRQ_STATE)
        words = zip(layouts, outs[:4], strict=True)
        *shown, used = (value for layout, word in words for value in layout.unpack(word).values())
        for i, (name, value) in enumerate(zip(views[0]._fields, shown, strict=True)):
            right = {int(view[i]) for view in views}
            if not i:
                right |= self._available(views, shown[2])
            if value not in right:
                self.wrong(record, f"{name} {value}, expected one of {sorted(right)}")
        fixed = (outs[3] & defs.SRQ_STATE.reserved, used, *outs[4:])
        size = defs.SRQ_SIZE.pack(size=c.size, zone=c.zone)
        owner = defs.SRQ_OWNER.pack(page=c.page, vector=c.vector)
        want = (0, rc.model.users(number), size, owner, 0, 0)
        if fixed != want:
            self.wrong(record, f"OUT3[31:2], OUT4 to OUT7 {fixed}, expected {want}")

    def _available(self, views: list[SrqView], tail: int) -> set[int]:
        """Buffers after the head of that moment or an earlier one: the tail is read later
        (receive.md). The latest view comes first.
        """
        mask = (1 << self.rc.params.idx_w) - 1
        latest = next((i for i, view in enumerate(views) if view.tail == tail), len(views))
        heads = {view.tail - view.available for view in views[latest:]}
        return {tail - head & mask for head in heads}
