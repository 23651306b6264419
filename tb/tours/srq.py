# SPDX-License-Identifier: Apache-2.0
"""The world of receive queues: a shared one of two buffers and two queue pairs, or one queue pair
with a queue of its own, and a transport that reports when it is told to.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from models.codes import Cause, CommandResult, QpState
from models.keys.region import RegionTable
from models.params import Params
from models.post.post import Segment, slots_of
from models.post.qp import QpConfig, QpModel
from models.receive.receive_post import RecvPost
from models.receive.receive_qp import ReceiveQp
from models.receive.receive_types import RecvConfig, RecvRequest, SrqConfig
from models.receive.srq import SrqModel
from tb.tours.words import FOREIGN, NAMES, OPEN, qp_command, result_word

PARAMS = Params(num_qp=2, num_pages=2, num_srq=1, rq_log2=2, srq_log2=2, rx_log2=1)
SIZE = 2  #: of the queue, at first
#: Buffers have no bytes; the key of the bad one names no region.
BUFFER = RecvPost(0, 0, 0)
BAD = RecvPost(0, 1, 0, slots_of([Segment(0, 1, 0xFFFFF000)]))


@dataclass(frozen=True)
class Setup:
    """``shared``: an SRQ, or else one queue pair with a queue of its own; ``qps``: queue pairs;
    ``watermarks``: thresholds that are set; ``sizes``: to which the SRQ is resized; ``stalls``: the
    interrupt port can stand still; ``connections``: connections end and begin; ``lives``: queue
    pairs and queue are destroyed and created; ``wide``: messages that are too long, posts and
    reports that are refused; ``lead``: the second queue pair only receives. With ``watermarks`` the
    largest that fits is set at first.
    """

    shared: bool = True
    qps: int = 2
    watermarks: tuple[int, ...] = ()
    sizes: tuple[int, ...] = ()
    stalls: bool = False
    connections: bool = False
    lives: bool = False
    wide: bool = False
    lead: bool = False

    @property
    def first(self) -> int:
        """The watermark that is set at first; 0: none."""
        return max((t for t in self.watermarks if t <= SIZE), default=0)


def key_of(srq: SrqModel, rqs: Sequence[ReceiveQp], shared: bool, stalled: bool) -> Hashable:
    """The state of the queues at rest, without counters."""
    sides = []
    for rq in rqs:
        flight = tuple("long" if t.overlong else "taken" for t in rq.flight if t.status is None)
        sides.append((rq.qp.state.name, *flight, *["ready"] * (0 if shared else rq.available)))
    if not shared:
        return tuple(sides)
    if not srq.exists:
        return ("no SRQ", *["stalled"] * stalled, *sides)
    flags = [name for name, on in (("armed", srq.armed), ("waiting", srq.waiting)) if on]
    counts = (srq.available, srq.completed - srq.reaped, srq.config.size, srq.threshold)
    return (counts, *flags, *["stalled"] * stalled, *sides)


class SrqWorld:
    """The models of the queue and of its queue pairs."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.stalled = False
        regions = RegionTable(PARAMS)
        self.srq = SrqModel(0, PARAMS, regions)
        self.rqs = [ReceiveQp(QpModel(n, PARAMS), regions) for n in range(setup.qps)]
        self._create_srq()
        for n in range(setup.qps):
            self._create(n)
            self._command("connect", n)
        if setup.first:
            self._queue_command("watermark", str(setup.first))
            self._rest()

    def key(self) -> Hashable:
        """See :func:`key_of`."""
        return key_of(self.srq, self.rqs, self.setup.shared, self.stalled)

    # -- what can happen ---------------------------------------------------------------------------

    def actions(self) -> Iterator[str]:
        """Everything that host and transport can do."""
        wide = self.setup.wide
        yield "post"
        if wide:
            yield "post bad"
            yield "post foreign"
        if self.setup.shared:
            yield from self._of_queue()
        for n, rq in enumerate(self.rqs):
            name = NAMES[n]
            leads = n == 0 or not self.setup.lead
            yield f"take {name}"
            if wide and leads:
                yield f"long {name}"
                yield f"stray {name}"
            if any(t.status is None for t in rq.flight):
                yield f"report {name} 0"
                if leads:
                    yield f"report {name} 2"
            if leads:
                yield from (f"{command} {name}" for command in self._commands(rq.qp.state))

    def _of_queue(self) -> Iterator[str]:
        setup, srq = self.setup, self.srq
        for count in range(srq.completed - srq.reaped if srq.exists else 0):
            yield f"reap {count + 1}"
        if setup.wide:
            yield "reap beyond"
        for threshold in setup.watermarks:
            yield f"watermark {threshold}"
        for size in setup.sizes:
            yield f"resize {size}"
        if setup.stalls:
            yield "go" if self.stalled else "stall"
        if setup.lives:
            yield "free"
            yield "new"

    def _commands(self, state: QpState) -> Iterator[str]:
        if self.setup.connections:
            yield "event"
            if state is QpState.CONNECTED:
                yield "pending"
            if state in OPEN:
                yield "flush"
        if state is QpState.IDLE:
            yield "connect"
        if state in (QpState.DISCONNECTED, QpState.ERROR):
            yield "idle"
        if self.setup.lives:
            if state is not QpState.FREE:
                yield "destroy"
            elif self.srq.exists or not self.setup.shared:
                yield "create"

    # -- doing it ----------------------------------------------------------------------------------

    def act(self, action: str) -> str:
        """Does it, and what follows; returns the answer."""
        answer = self._do(*action.split())
        self._rest()
        return answer

    def _do(self, word: str, *rest: str) -> str:
        if word in ("stall", "go"):
            self.stalled = word == "stall"
            return ""
        if word == "post":
            return self._post(*rest)
        if word in ("reap", "watermark", "resize", "free", "new"):
            return self._queue_command(word, *rest)
        number = NAMES.index(rest[0])
        if word in ("take", "long", "report", "stray"):
            return self._transport(word, number, *rest[1:])
        return self._command(word, number)

    def _post(self, kind: str = "") -> str:
        post, page = BAD if kind == "bad" else BUFFER, FOREIGN if kind == "foreign" else 0
        got = self.srq.post(post, page) if self.setup.shared else self.rqs[0].post(post, page)
        return got.cause.name

    def _queue_command(self, word: str, what: str = "") -> str:
        srq = self.srq
        if word == "reap":
            count = srq.completed - srq.reaped + 1 if what == "beyond" else int(what)
            return Cause(srq.reap(PARAMS.index(srq.reaped + count))).name
        if word == "new":
            return self._create_srq()
        if not srq.exists:
            return "NO_OBJECT"
        if word == "watermark":
            result = srq.check_watermark(int(what))
            if result is CommandResult.OK:
                srq.watermark(int(what))
        elif word == "resize":
            result = srq.resize(int(what))
        else:
            return self._free()
        return result_word(result)

    def _free(self) -> str:
        if any(rq.qp.state is not QpState.FREE for rq in self.rqs):
            return "IN_USE"
        if self.srq.waiting:
            return "BUSY"
        self.srq.destroy()
        return "OK"

    def _create_srq(self) -> str:
        if self.srq.exists:
            return "EXISTS"
        self.srq.create(SrqConfig(SIZE))
        return "OK"

    def _transport(self, word: str, n: int, status: str = "") -> str:
        rq = self.rqs[n]
        if word == "stray":
            return ""
        if word == "report":
            oldest = next(t.number for t in rq.flight if t.status is None)
            rq.report(PARAMS.index(oldest), int(status))
            return ""
        answer = rq.take(RecvRequest(n, int(word == "long")))
        if rq.length_pending:
            rq.fail_length()
        return answer.code.name

    def _command(self, word: str, n: int) -> str:
        rq = self.rqs[n]
        if word == "event":
            rq.qp.disconnected()
            return ""
        if word == "create":
            return self._create(n)
        return qp_command(rq.qp, word, receiving=rq.busy)

    def _create(self, n: int) -> str:
        rq = self.rqs[n]
        rq.qp.create(QpConfig())
        if self.setup.shared:
            rq.create(RecvConfig(srq=0), self.srq)
        else:
            rq.create(RecvConfig(depth=SIZE))
        return "OK"

    def _rest(self) -> None:
        for rq in self.rqs:
            while rq.flushable or rq.completable:
                if rq.flushable:
                    rq.flush_take()
                else:
                    rq.complete()
        if self.srq.waiting and not self.stalled:
            self.srq.interrupt()
