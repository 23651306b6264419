# SPDX-License-Identifier: Apache-2.0
"""One queue pair: what it holds, releases, indicates and retires.

Sources: ``docs/posting.md``; the deferred processing scheme of NDKPI, rules DF-01 to DF-15, and
CQ-17. Numbers of requests and tags are unbounded here; ``Params.index`` makes an index of one.
Every method is one atomic step, and raises :class:`ModelError`, with the rule's ID in its text,
if the step cannot happen now.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from models.codes import (
    FOREIGN_CAUSES,
    Cause,
    CommandResult,
    LogCause,
    ModelError,
    PostFlag,
    QpState,
    StateBy,
    Status,
)
from models.cq.entries import Cqe
from models.keys.keys import KeyTable
from models.keys.qp_keys import KeyUser
from models.params import Params
from models.post.post import Post
from models.post.post_check import static_faults
from models.post.qp_types import Indication, PostResult, QpConfig, Request, Retirement, StateStep
from models.verbs import VERBS

__all__ = [
    "Indication",
    "PostResult",
    "QpConfig",
    "QpModel",
    "Request",
    "Retirement",
    "StateStep",
]

_OPEN = (QpState.CONNECTED, QpState.DISCONNECT_PENDING)


class QpModel(KeyUser):
    """One queue pair number, over all its lives; ``keys``: see :class:`KeyUser`."""

    def __init__(
        self,
        number: int = 0,
        params: Params | None = None,
        keys: KeyTable | None = None,
    ) -> None:
        super().__init__(number, keys)
        self.params = params or Params()
        self.state = QpState.FREE
        self.config = QpConfig()
        self.peer = 0
        self.requests: list[Request] = []  #: accepted and not retired, in post order
        self.tail = 0  #: accepted
        self.released = 0  #: no longer held
        self.indicated = 0  #: number of the next request to be indicated
        self.retired = 0
        self.seen = 0  #: retired, as posts and commands know it
        self.tags = 0  #: remote requests indicated
        self.failed = False  #: a request of this connection retired with an error
        self.limited = 0  #: clock cycle since which the age limit applies
        self.late: int | None = None  #: skipped, unless its beat was offered before the skip

    # -- looking -----------------------------------------------------------------------------

    @property
    def held(self) -> int:
        """Number of requests held."""
        return self.tail - self.released

    @property
    def outstanding(self) -> int:
        """Number of requests accepted and not retired."""
        return self.tail - self.retired

    def trace_state(self, lane: int = 3) -> int:
        """The 96-bit state in the trace port's encoding; lane 3 (posting) or 4 (retirement)."""
        mask = (1 << self.params.idx_w) - 1
        if lane == 4:
            return self.retired & mask | self.failed << 16
        words = self.tail & mask, self.released & mask, self.seen & mask
        return self.state | words[0] << 16 | words[1] << 32 | words[2] << 48

    def query(self) -> tuple[int, ...]:
        """OUT0 to OUT7 of QUERY_QP, of an existing queue pair."""
        index, c = self.params.index, self.config
        return (
            self.state | self.peer << 8,
            index(self.tail) | index(self.released) << 16,
            index(self.indicated) | index(self.seen) << 16,
            c.send_cq | c.recv_cq << 16,
            c.page | c.depth << 16,
            c.watermark | c.age << 16,
            0,
            0,
        )

    # -- posts -------------------------------------------------------------------------------

    def see(self, retired_seen: int | None) -> None:
        """The index of the oldest request not retired as posts and commands know it from now on.

        None: the newest. Retirements become known in order, and only after they happened.
        """
        if retired_seen is None:
            self.seen = self.retired
            return
        seen = self.tail - self.params.index(self.tail - retired_seen)
        if retired_seen != self.params.index(seen) or not self.seen <= seen <= self.retired:
            raise ModelError(
                f"DF-12: QP {self.number}: retired is {retired_seen}, between "
                f"{self.params.index(self.seen)} and {self.params.index(self.retired)} expected"
            )
        self.seen = seen

    def faults(
        self, post: Post, page: int, *, credit: bool = True, cq_error: bool = False
    ) -> Iterator[Cause]:
        """All faults of a post from NO_QP on, in order of precedence."""
        if self.state in (QpState.FREE, QpState.DESTROYING):
            yield Cause.NO_QP
        if page != self.config.page:
            yield Cause.NOT_OWNER
        if self.removed:
            yield Cause.DEVICE_REMOVED
        yield from static_faults(post)
        if self.state is not QpState.CONNECTED:
            yield Cause.NOT_CONNECTED
        if self.tail - self.seen >= self.config.depth:
            yield Cause.QUEUE_FULL
        if cq_error:
            yield Cause.CQ_ERROR
        if not credit:
            yield Cause.NO_CREDIT

    def check(self, post: Post, page: int, *, credit: bool = True, cq_error: bool = False) -> Cause:
        """Why a post fails inline, or OK (DF-14); changes nothing.

        ``credit``: the send CQ has an entry for it; ``cq_error``: the send CQ is in error.
        """
        return next(self.faults(post, page, credit=credit, cq_error=cq_error), Cause.OK)

    def post(
        self,
        post: Post,
        page: int | None = None,
        *,
        retired_seen: int | None = None,
        credit: bool = True,
        cq_error: bool = False,
        now: int = 0,
    ) -> PostResult:
        """POST: accepted or not, and what it releases (DF-01, DF-04, DF-06).

        ``page``: of the write, the owner's if left out; ``retired_seen``: see :meth:`see`;
        ``now``: clock cycle; the rest as for :meth:`check`.
        """
        page = self.config.page if page is None else page
        cause = self.check(post, page, credit=credit, cq_error=cq_error)
        if cause in FOREIGN_CAUSES:
            return PostResult(cause)
        known = self.seen
        self.see(retired_seen)
        if self.seen != known:  # there may be room now
            cause = self.check(post, page, credit=credit, cq_error=cq_error)
        if cause is not Cause.OK:
            return PostResult(cause, None, self._fail(post, cause, now))
        number = self._accept(post, now)
        released = range(0)
        if not post.has(PostFlag.DEFER) or self._watermark_reached():
            released = self._release()
        return PostResult(cause, number, released)

    def _watermark_reached(self) -> bool:
        """DF-01: as many requests are held as the watermark allows; 0 is off."""
        return 0 < self.config.watermark <= self.held

    def _fail(self, post: Post, cause: Cause, now: int) -> range:
        """DF-04: an inline failure, whatever its cause (DF-08: a full queue, too), releases what is
        held (DF-07); the post itself leaves nothing (DF-02).
        """
        del post, cause, now
        return self._release()

    def _accept(self, post: Post, now: int) -> int:
        self.requests.append(Request(self.tail, post, VERBS[post.opcode], now))
        self.tail += 1
        return self.tail - 1

    def _release(self) -> range:
        """Everything held becomes one batch (DF-06)."""
        released = range(self.released, self.tail)
        self.released = self.tail
        for request in self.requests:
            if request.number in released:
                request.last = request.number == released[-1]
        return released

    def age(self, now: int | None = None) -> range:
        """AGE: the oldest held request is too old (DF-01); the numbers released.

        With ``now``, in clock cycles, it must be more than the limit after that request's post.
        """
        limit = self.config.age
        if not self.held or not limit:
            raise ModelError(f"DF-01: QP {self.number}: release by age, nothing can be too old")
        if now is not None:
            waited = now - next(r.time for r in self.requests if r.number >= self.released)
            if waited <= limit * self.params.mod_tick:
                raise ModelError(f"DF-01: QP {self.number}: released by age after {waited} cycles")
        return self._release()

    def age_over(self, now: int) -> bool:
        """The oldest held request is too old in clock cycle ``now`` (DF-01)."""
        limit = self.config.age * self.params.mod_tick
        oldest = next((r.time for r in self.requests if r.number >= self.released), now)
        return 0 < limit < now - oldest

    @property
    def age_deadline(self) -> int | None:
        """Latest cycle of the release by age; None if nothing held is bound to become too old."""
        limit, tick = self.config.age, self.params.mod_tick
        if not self.held or not limit:
            return None
        oldest = next(r.time for r in self.requests if r.number >= self.released)
        return max(oldest + limit * tick, self.limited) + tick + 64 * self.params.num_qp

    # -- indication --------------------------------------------------------------------------

    def next_indication(self) -> Request | None:
        """What would be indicated next, or None; changes nothing."""
        request = self._next()
        return None if request is None or self._fenced(request) else request

    def indicate(self, late: bool = False) -> Indication:
        """The next request is offered on ``m_axis_work`` (DF-09, DF-13); a local one is executed.

        After a local request that failed nothing is (DF-15a): the state ERROR comes first.

        ``late``: its beat was offered before the connection was left; possible once for each
        connection, for a request that would have been next. A local request that fails ends the
        connection by :meth:`fail`.
        """
        if self.halting:
            raise ModelError(
                f"DF-15a: QP {self.number}: indication of {self.indicated} after a local request "
                "that failed"
            )
        request = self._next_late() if late else self._next()
        if request is None:
            raise ModelError(
                f"DF-09: QP {self.number}: indication of {self.indicated}, which is held, skipped "
                "or missing"
            )
        if self._fenced(request):
            raise ModelError(f"DF-13: QP {self.number}: {request.number} does not wait for a Read")
        indication = self._indication(request)
        request.indicated, request.skipped = True, False
        self.indicated = request.number + 1
        if not request.verb.local:
            request.tag = self.tags
            self.tags += 1
            return indication
        request.status, step = self.execute(request)
        return replace(indication, step=step)

    def _next(self) -> Request | None:
        if self.state is not QpState.CONNECTED or self.halting:
            return None
        return next(
            (r for r in self.requests if not r.indicated and r.number < self.released), None
        )

    def _next_late(self) -> Request | None:
        number, self.late = self.late, None
        return next((r for r in self.requests if r.number == number), None)

    def _fenced(self, request: Request) -> bool:
        """DF-13: it starts after every earlier Read has completed."""
        if not request.post.has(PostFlag.READ_FENCE):
            return False
        return any(r.verb.is_read and r.number < request.number for r in self.requests)

    def _indication(self, request: Request) -> Indication:
        index, local = self.params.index, request.verb.local
        tag = 0 if local else index(self.tags)
        return Indication(
            self.number,
            request.number,
            index(request.number),
            tag,
            local,
            request.last,
            request.post,
            self.peer,
        )

    # -- reports and retirement --------------------------------------------------------------

    def report(self, tag: int, status: int) -> tuple[LogCause, StateStep | None]:
        """A done report (16-bit tag, 8-bit status): refused (ISO-03), or taken.

        A failure ends the connection (DF-15): the change of state, if it makes one.
        """
        oldest = next((r for r in self.requests if r.tag is not None and r.status is None), None)
        if oldest is None or oldest.tag is None:
            return LogCause.DONE_UNEXPECTED, None
        if tag != self.params.index(oldest.tag):
            return LogCause.DONE_UNEXPECTED, None
        oldest.status = status
        return LogCause.OK, None if status == Status.SUCCESS else self.receive_failed()

    @property
    def retirable(self) -> bool:
        """True if the oldest request can retire."""
        return bool(self.requests) and self.requests[0].done

    def retire(self) -> Retirement:
        """RETIRE: the oldest request's completion is handed to its CQ (DF-03, DF-12, DF-15).

        A Read whose invalidation fails ends the connection by :meth:`fail`.
        """
        if not self.requests:
            raise ModelError(f"DF-03: QP {self.number}: nothing is left to retire")
        request = self._first()
        if not request.done:
            why = "is not reported" if request.indicated else "is not indicated"
            raise ModelError(f"DF-12: QP {self.number}: {request.number} retires, but {why}")
        status, step = self.finish(request, self._status(request))
        self.failed = self.failed or status != Status.SUCCESS
        self.requests.remove(request)
        self.retired += 1
        self.indicated = max(self.indicated, self.retired)
        self.late = None if request.skipped else self.late
        post, completion = request.post, request.verb.completion(request.post, status)
        return Retirement(
            number=request.number,
            index=self.params.index(request.number),
            status=status,
            silent=self._is_silent(post, status),
            skipped=request.skipped,
            cq=self.config.send_cq,
            cqe=Cqe(
                request_context=post.context,
                qp_context=self.config.context,
                nbytes=completion.nbytes,
                type=completion.type,
                qp=self.number,
                status=status,
            ),
            post=post,
            step=step,
        )

    def _first(self) -> Request:
        """DF-12: requests retire in post order."""
        return self.requests[0]

    def _status(self, request: Request) -> int:
        """DF-15: everything after the first failure of a connection is canceled."""
        if self.failed or request.status is None:
            return int(Status.CANCELED)
        return request.status

    def _is_silent(self, post: Post, status: int) -> bool:
        """DF-03: a silent request leaves no completion if it succeeds."""
        return post.has(PostFlag.SILENT_SUCCESS) and status == Status.SUCCESS

    # -- states ------------------------------------------------------------------------------

    def _go(self, new: QpState, by: StateBy) -> StateStep:
        old = self.state
        if old is QpState.CONNECTED and new is not QpState.CONNECTED:
            self._skip()
        self.state = new
        return StateStep(old, new, by, old in _OPEN and new not in _OPEN)

    def _skip(self) -> None:
        """The connection is left: what was not indicated never will be (DF-11)."""
        offered = self.next_indication()
        self.late = offered.number if offered is not None else None
        for request in self.requests:
            if not request.indicated:
                request.skipped = True
        self.released = self.tail

    def create(self, config: QpConfig) -> StateStep:
        """CREATE_QP; post indices and tags go on from the number's former life."""
        if self.state is not QpState.FREE:
            raise ModelError(f"QP {self.number}: create of a queue pair that exists")
        self.config, self.peer, self.failed = config, 0, False
        return self._go(QpState.IDLE, StateBy.COMMAND)

    def modify(self, watermark: int, age: int, now: int = 0) -> None:
        """MODIFY_QP, in clock cycle ``now``: an age limit that it changes is another one for what
        is held, too.
        """
        if age != self.config.age:
            self.limited = now
        self.config = replace(self.config, watermark=watermark, age=age)

    def connect(self, peer: int) -> tuple[CommandResult, StateStep | None]:
        """CONNECT_QP; ``peer``: 24 bits."""
        if self.state is not QpState.IDLE:
            return CommandResult.CMD_BAD_STATE, None
        self.peer, self.failed, self.late = peer, False, None
        self.connections += 1
        return CommandResult.OK, self._go(QpState.CONNECTED, StateBy.COMMAND)

    def set_state(
        self, new: int, *, retired_seen: int | None = None, receiving: bool = False
    ) -> tuple[CommandResult, StateStep | None]:
        """SET_QP_STATE; ``new``: 4 bits; ``retired_seen``: see :meth:`see`; ``receiving``: the
        queue pair has receives that have not completed.
        """
        self.see(retired_seen)
        old = self.state
        from_states: dict[int, tuple[QpState, ...]] = {
            QpState.IDLE: (QpState.DISCONNECTED, QpState.ERROR),
            QpState.DISCONNECT_PENDING: (QpState.CONNECTED,),
            QpState.DISCONNECTED: _OPEN,
        }
        if old not in from_states.get(new, ()):
            return CommandResult.CMD_BAD_STATE, None
        if new == QpState.IDLE and (self.tail != self.seen or receiving):
            return CommandResult.CMD_BUSY, None
        return CommandResult.OK, self._go(QpState(new), StateBy.COMMAND)

    def flush(self) -> tuple[CommandResult, StateStep | None]:
        """FLUSH_QP (DF-11)."""
        if self.state in (QpState.ERROR, QpState.DISCONNECTED):
            return CommandResult.OK, None
        if self.state not in _OPEN:
            return CommandResult.CMD_BAD_STATE, None
        return CommandResult.OK, self._go(QpState.ERROR, StateBy.COMMAND)

    def destroy(
        self,
        *,
        retired_seen: int | None = None,
        receiving: bool = False,
        keyed: bool | None = None,
    ) -> tuple[CommandResult, StateStep | None]:
        """One DESTROY_QP; the number is FREE again when everything has retired.

        Refused while keys are valid on it, DESTROYING or not. ``receiving``: see
        :meth:`set_state`; ``keyed``: as the command knows it, as it is if left out.
        """
        self.see(retired_seen)
        if self.state is QpState.FREE:
            return CommandResult.CMD_NO_OBJECT, None
        if keyed is False and self.keyed:
            raise ModelError(f"MW-10c: QP {self.number} is destroyed, but keys are valid on it")
        if self.keyed if keyed is None else keyed:
            return CommandResult.CMD_IN_USE, None
        if self.tail != self.seen or receiving:
            if self.state is QpState.DESTROYING:
                return CommandResult.CMD_PENDING, None
            return CommandResult.CMD_PENDING, self._go(QpState.DESTROYING, StateBy.COMMAND)
        return CommandResult.OK, self._go(QpState.FREE, StateBy.COMMAND)

    def receive_failed(self) -> StateStep | None:
        """A request (DF-15) or receive (SRQ-18) failed, or the device was removed (MW-09): the
        connection ends; the change of state, if it makes one.
        """
        return self._go(QpState.ERROR, StateBy.REPORT) if self.state in _OPEN else None

    def fail(self) -> StateStep | None:
        """The state ERROR that follows :meth:`must_fail`; None if the connection was left."""
        if self.ending != self.connections:
            raise ModelError(f"DF-15: QP {self.number}: no request, check or token failed")
        self.ending = None
        return self.receive_failed()

    def disconnected(self) -> tuple[LogCause, StateStep | None]:
        """The transport says that the connection has ended."""
        if self.state is QpState.FREE:
            return LogCause.CONN_NO_QP, None
        if self.state not in _OPEN:
            return LogCause.OK, None
        return LogCause.OK, self._go(QpState.DISCONNECTED, StateBy.CONN)
