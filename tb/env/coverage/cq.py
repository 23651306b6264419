# SPDX-License-Identifier: Apache-2.0
"""Functional coverage of completion queues: slots, credits, completions, sizes, destruction."""

from __future__ import annotations

from collections import Counter, deque

from models import codes
from models.codes import TraceOp
from models.cq.queue import Ring
from models.host.control import Args
from tb.env import defs
from tb.env.coverage.group import Group
from tb.env.defs import CQE, PSTATE, RSV, STATE, CqeFlag, CqeType, Life
from tb.env.harness.records import Command, Completion, CreditAnswer, CreditRequest, Trace
from tb.env.scoreboard.scoreboard import Scoreboard

_RECEIVES = (CqeType.RECEIVE, CqeType.RECEIVE_AND_INVALIDATE)
_alloc = PSTATE["alloc"].get
_life, _armed, _called, _due, _pending, _prod, _cons = (
    STATE[name].get
    for name in ("life", "armed", "in_callback", "due", "event_pending", "prod", "cons")
)


class CqCoverage(Group):
    """Situations of completion queues."""

    def __init__(self, counts: Counter[str], board: Scoreboard) -> None:
        super().__init__(counts, board)
        self._wanted: deque[int] = deque()
        self._rings: dict[int, Ring] = {}
        self._resized: set[int] = set()
        self._stopped: set[int] = set()
        self._destroyed: set[int] = set()
        self.steps = {
            (0, TraceOp.START): (self.start,),
            (0, TraceOp.PLACE): (self.place,),
            (0, TraceOp.OVERFLOW): (self.overflow,),
            (0, TraceOp.RESIZE): (self.resize,),
            (0, TraceOp.STOP): (self.stop,),
            (2, TraceOp.CREATE): (self.create,),
            (2, TraceOp.DESTROY): (self.destroy,),
        }
        self.pins = {
            Completion: self.completion,
            CreditRequest: self.credit_request,
            CreditAnswer: self.credit_answer,
        }
        self.commands = {codes.Command.RESIZE_CQ: self.resized}

    # -- life --------------------------------------------------------------------------------------

    def create(self, record: Trace) -> None:
        self.hit_if(record.cq in self._destroyed, "destroy/created again")
        self._destroyed.discard(record.cq)
        self._resized.discard(record.cq)

    def start(self, record: Trace) -> None:
        self._rings[record.cq] = self.ctx.engine.producers[record.cq].ring

    def stop(self, record: Trace) -> None:
        state = self.ctx.state[record.cq]
        self._stopped.add(record.cq)
        self.hit_each("destroy", {"armed": _armed(state), "due": _due(state)})

    def destroy(self, record: Trace) -> None:
        at_once = record.cq in self._stopped
        self._stopped.discard(record.cq)
        if defs.TRC_DESTROY["freed"].get(record.operand):
            self.hit("destroy/at once" if at_once else "destroy/after pending")
            self._destroyed.add(record.cq)
        else:
            by_callback = _called(record.new) or _pending(record.new)
            self.hit(f"destroy/pending by {'a callback' if by_callback else 'writes'}")

    def resize(self, record: Trace) -> None:
        cq, state = record.cq, self.ctx.state[record.cq]
        old, new = self._rings[cq], self.ctx.engine.producers[cq].ring
        used = new.origin - old.origin
        cases = {
            "at the wrap": used and not used % old.entries,
            "armed": _armed(state),
            "with entries present": _prod(state) != _cons(state),
            "twice": cq in self._resized,
        }
        self.hit_each("resize", cases)
        self._rings[cq] = new
        self._resized.add(cq)

    def resized(self, record: Command) -> None:
        """RESIZE_CQ has ended."""
        old, new = self.ctx.old_log2[record.args[0]], Args(record.args).log2
        self.hit_each("resize", {"up": new > old, "down": new < old})

    # -- slots -------------------------------------------------------------------------------------

    def _wraps(self, record: Trace) -> None:
        self.hit_if(_alloc(record.new) < _alloc(record.old), "index/alloc wraps")

    def place(self, record: Trace) -> None:
        self._wraps(record)
        self.hit_if(defs.TRC_PLACE["returned"].get(record.operand), "credit/given back")
        ring = self.ctx.engine.producers[record.cq].ring
        passes = (_alloc(record.new) - 1 - ring.origin & self.mask) >> ring.log2
        if passes in (1, 2):
            self.hit("ring/second pass" if passes == 1 else "ring/third pass")

    def overflow(self, record: Trace) -> None:
        self._wraps(record)
        placed = "one" if defs.TRC_OVERFLOW["placed"].get(record.operand) else "nothing"
        self.hit(f"overflow/{placed} placed before")

    # -- completions, credits ----------------------------------------------------------------------

    def completion(self, record: Completion) -> None:
        keep = record.keep
        if keep == 3:
            same = record.dest[0] == record.dest[1]
            self.hit(f"completion/two of {'one queue' if same else 'two queues'}")
        elif keep != 1:
            self.hit("completion/second lane alone" if keep else "completion/empty beat")
        for lane in (0, 1):
            if keep >> lane & 1:
                self._lane(record.dest[lane], record.data[lane])

    def _lane(self, dest: int, data: int) -> None:
        if dest >= self.params.num_cq:
            self.hit("completion/queue out of range")
            return
        if _life(self.ctx.state[dest]) != Life.READY:
            self.hit("completion/queue missing")
        elif self.in_error(dest):
            self.hit("completion/queue in error")
        kind = CQE["type"].get(data)
        self.hit_if(kind == CqeType.RECEIVE_AND_INVALIDATE, "completion/receive and invalidate")
        if CQE["flags"].get(data) & CqeFlag.SOLICITED:
            no = "" if kind in _RECEIVES else " flag on no receive"
            self.hit(f"completion/solicited{no}")
        self.hit_if(CQE["status"].get(data), "completion/failed")

    def credit_request(self, record: CreditRequest) -> None:
        cq, wanted = RSV.unpack(record.data).values()
        bad = wanted not in (1, 2) or record.data & RSV.reserved or cq >= self.params.num_cq
        self.hit_if(bad, "credit/malformed")
        self._wanted.append(0 if bad else wanted)

    def credit_answer(self, record: CreditAnswer) -> None:
        wanted = self._wanted.popleft()
        granted = "granted" if wanted == 1 else "granted two"
        self.hit_if(wanted, f"credit/{granted if record.granted else 'refused'}")
