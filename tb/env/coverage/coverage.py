# SPDX-License-Identifier: Apache-2.0
"""Functional coverage: counts which situations a run has met, from the same records that the
scoreboard judges. Plain counters; the bins are in bins.py. Which group looks at which record, and
in which design, is one table.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Set
from pathlib import Path
from typing import Any, NamedTuple

from models.codes import CQ_COMMANDS, QP_COMMANDS, RECEIVE_COMMANDS, WINDOW_COMMANDS, TraceOp
from models.layouts import PAGE_BYTES, PORTALS_END, RECV_PORTAL, SRQ_DB, SRQ_PORTAL
from models.params import Params
from tb.env.coverage.bins import (
    BINS,
    COMMAND_BINS,
    INPUTS,
    QP_COMMAND_BINS,
    RECEIVE_COMMAND_BINS,
    WINDOW_COMMAND_BINS,
)
from tb.env.coverage.cq import CqCoverage
from tb.env.coverage.keys import AccessCoverage, KeyCoverage
from tb.env.coverage.memory import Situation
from tb.env.coverage.post import PostCoverage
from tb.env.coverage.queues import QueueCoverage
from tb.env.coverage.receive import ReceiveCoverage
from tb.env.defs import TRC_RECV_POST
from tb.env.harness import records as beats
from tb.env.harness.records import Command, DoorbellRequest, DoorbellResponse, Record, Trace

Run = Callable[..., None]

_PORTALS = range(0, PORTALS_END, 0x40)
_RECEIVE_PORTALS = (RECV_PORTAL, SRQ_PORTAL)


class Step(NamedTuple):
    """Who looks at a step. ``objects``: what is remembered of the objects that it may be of, by
    number; ``memory``: the look gets that of its object, too. Steps of other objects do not count.
    """

    objects: Sequence[Any]
    memory: bool
    run: tuple[Run, ...]


class Table:
    """Who looks at what: by record type, by lane and operation of a step, by offset of a write to a
    page, by code of a command; ``results``: bins of commands, by code and result.
    """

    def __init__(self, m: Situation) -> None:
        """The completion core."""
        self.cq = cq = CqCoverage(m)
        self.others: Run = cq.response
        self.requests: dict[int, Run] = {}
        self.responses: dict[int, Run] = {}
        self.each_response: tuple[Run, ...] = ()
        self.commands: dict[int, tuple[Run, ...]] = dict.fromkeys(CQ_COMMANDS, (cq.command,))
        self.each_command: tuple[Run, ...] = ()
        self.results: dict[tuple[int, int], str] = dict(COMMAND_BINS)
        self.types: dict[type, tuple[Run, ...]] = {
            beats.MemResponse: (cq.mem_response,),
            beats.MemWrite: (cq.mem_write,),
            beats.Completion: (cq.completion,),
            beats.CreditRequest: (cq.credit_request,),
            beats.CreditAnswer: (cq.credit_answer,),
            beats.Interrupt: (cq.interrupt,),
        }
        looks = {
            (0, TraceOp.PLACE): cq.place,
            (0, TraceOp.OVERFLOW): cq.overflow,
            (0, TraceOp.RESIZE): cq.resize,
            (0, TraceOp.STOP): cq.stop,
            (1, TraceOp.PUBLISH): cq.publish,
            (1, TraceOp.CQ_ERROR): cq.cq_error,
            (1, TraceOp.EVENT_FAILED): cq.event_failed,
            (1, TraceOp.EVENT_DONE): cq.event_done,
            (2, TraceOp.DOORBELL): cq.doorbell,
            (2, TraceOp.CB_RETURN): cq.returned,
            (2, TraceOp.MODERATION): cq.moderation,
            (2, TraceOp.CREATE): cq.create,
            (2, TraceOp.DESTROY): cq.destroy,
        }
        self.steps: dict[tuple[int, int], Step] = {
            key: Step(m.cqs, True, (look, cq.stepped)) for key, look in looks.items()
        }
        #: Steps that ``shared`` in their operand makes those of an SRQ.
        self.shared: dict[tuple[int, int], Step] = {}

    def add_engine(self, m: Situation) -> None:
        """What the full engine has besides the completion core."""
        cq, post, queues, receive = self.cq, PostCoverage(m), QueueCoverage(m), ReceiveCoverage(m)
        access, keys = AccessCoverage(m), KeyCoverage(m, receive)
        self.requests = {
            **dict.fromkeys(_PORTALS, post.request),
            **dict.fromkeys(_RECEIVE_PORTALS, queues.request),
        }
        self.responses = {
            **dict.fromkeys(_PORTALS, post.response),
            **dict.fromkeys(_RECEIVE_PORTALS, queues.response),
            SRQ_DB: queues.reaped,
        }
        self.each_response = (keys.response,)
        self.commands |= dict.fromkeys(QP_COMMANDS, (post.modified, receive.created))
        self.commands |= dict.fromkeys(RECEIVE_COMMANDS, (receive.command,))
        self.commands |= dict.fromkeys(WINDOW_COMMANDS, ())
        self.each_command = (keys.command,)
        self.results |= QP_COMMAND_BINS | RECEIVE_COMMAND_BINS | WINDOW_COMMAND_BINS

        def interrupt(record: beats.Interrupt) -> None:
            if not queues.interrupt(record):
                cq.interrupt(record)

        self.types |= {
            beats.Interrupt: (interrupt,),
            beats.WorkBeat: (post.work, keys.work),
            beats.DoneReport: (post.done,),
            beats.ConnReport: (post.conn,),
            beats.TermRequest: (post.term,),
            beats.RecvRequest: (receive.arrived,),
            beats.ScatterAnswer: (receive.answered, keys.answered),
            beats.RecvDone: (receive.reported,),
            beats.AccessCheck: (access.checked,),
            beats.AccessVerdict: (access.judged,),
        }
        publish = self.steps[1, TraceOp.PUBLISH]
        qp_state = (
            *(receive.before_state, post.begins, post.state, post.stepped),
            *(receive.state, access.state),
        )
        everything = range(1 << 16)
        self.steps |= {
            (1, TraceOp.PUBLISH): publish._replace(run=(receive.publish, *publish.run)),
            (3, TraceOp.POST): Step(m.qps, True, (post.begins, post.post, post.stepped)),
            (3, TraceOp.AGE): Step(m.qps, True, (post.begins, post.age, post.stepped)),
            (3, TraceOp.QP_STATE): Step(m.qps, True, qp_state),
            (4, TraceOp.RETIRE): Step(m.qps, True, (keys.retire, post.retire, post.together)),
            (5, TraceOp.TAKE): Step(m.qps, False, (queues.take, receive.took)),
            (5, TraceOp.WATERMARK): Step(m.srqs, False, (queues.watermark,)),
            (6, TraceOp.RECV_POST): Step(m.qps, False, (queues.receive_post,)),
            (6, TraceOp.REAP): Step(m.srqs, False, (queues.reap,)),
            (6, TraceOp.RECV_SIZE): Step(m.qps, False, (queues.size,)),
            (7, TraceOp.RECEIVE): Step(m.qps, False, (receive.receive, keys.received)),
            (8, TraceOp.BIND): Step(everything, False, (keys.given,)),
            (8, TraceOp.FAST_REGISTER): Step(everything, False, (keys.given,)),
            (8, TraceOp.INVALIDATE): Step(everything, False, (keys.invalidated,)),
            (8, TraceOp.KEY_COMMAND): Step(everything, False, (keys.key_command,)),
            (8, TraceOp.REMOVED): Step(everything, False, (keys.removal,)),
            (9, TraceOp.CHECK): Step(everything, False, (keys.check_step,)),
        }
        self.shared = {
            key: self.steps[key]._replace(objects=m.srqs)
            for key in ((6, TraceOp.RECV_POST), (6, TraceOp.RECV_SIZE))
        }


class Coverage:
    """Give it every block of records. ``counts``: hits of each bin."""

    def __init__(self, params: Params) -> None:
        self.params = params
        self.counts: Counter[str] = Counter()
        self.reset()

    def reset(self) -> None:
        """The engine was reset: what was under way is forgotten."""
        self._m = Situation(self.params, self.counts)
        self._table = table = Table(self._m)
        if self.params.num_qp:
            table.add_engine(self._m)
        table.types |= {
            Trace: (self._step,),
            Command: (self._command,),
            DoorbellRequest: (self._request,),
            DoorbellResponse: (self._response,),
        }

    def __call__(self, records: Iterable[Record]) -> None:
        """Counts a block of records."""
        types = self._table.types
        for record in records:
            for run in types[type(record)]:
                run(record)

    def _step(self, record: Trace) -> None:
        key = record.lane, record.op
        table = self._table
        row = table.shared.get(key)
        if row is None or not TRC_RECV_POST["shared"].get(record.operand):
            row = table.steps.get(key)
        if row is None or record.cq >= len(row.objects):
            return
        if not row.memory:
            for run in row.run:
                run(record)
            return
        memory = row.objects[record.cq]
        for run in row.run:
            run(record, memory)

    def _command(self, record: Command) -> None:
        table = self._table
        name = table.results.get((record.code, record.result))
        if name is not None:
            self._m.hit(name)
        elif record.code not in table.commands:
            self._m.hit("command/UNKNOWN")
        for run in (*table.each_command, *table.commands.get(record.code, ())):
            run(record)

    def _request(self, record: DoorbellRequest) -> None:
        offset = record.addr % PAGE_BYTES
        self._m.requests.append(offset)
        if (run := self._table.requests.get(offset)) is not None:
            run(record)

    def _response(self, record: DoorbellResponse) -> None:
        table, requests = self._table, self._m.requests
        offset = requests.popleft() if requests else -1
        for run in (table.responses.get(offset, table.others), *table.each_response):
            run(record, offset)

    def waited(self, blocked: Set[str], withheld: Set[str]) -> None:
        """Channels on which a stall kept somebody waiting: the engine, ``blocked`` by a low
        ready at an output for some cycles; an item ``withheld`` at an input (tb.env.harness).
        """
        for channel in blocked - INPUTS | withheld & INPUTS:
            self._m.hit(f"stall/{channel}")

    @staticmethod
    def write(path: Path, counts: Counter[str]) -> None:
        """Adds the counts to those of the file: a job may run several tests."""
        if path.is_file():
            counts = counts + Counter(json.loads(path.read_text()))
        unknown = counts.keys() - BINS.keys()
        assert not unknown, f"hits of bins that do not exist: {sorted(unknown)}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(dict(sorted(counts.items())), indent=1) + "\n")
