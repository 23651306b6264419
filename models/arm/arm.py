# SPDX-License-Identifier: Apache-2.0
"""The completion queue as its consumer sees it: arm state, callbacks, moderation.

Source: NDKPI completion handling, "Rules for Notification Callbacks", and rules CQ-06 to CQ-22 of
``docs/specification.md``. The representation follows the words of the source, not the hardware:
indices never wrap, and the entries present are a list that can be looked through.

Every public method is one atomic step of the queue and returns a :class:`Step`: the cause of a
refusal, if any, and the callbacks called by this step (at most one).

::

    cq = CqModel()
    cq.create(CqConfig(entries=8))
    cq.doorbell(0, ArmType.ANY)            # arm
    cq.wrote(1)                            # one entry handed to memory
    cq.publish([False]).calls              # [Callback(status=OK, snap=1)]
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from models.codes import ArmType, Cause, CqStatus, Life, ModelError
from models.layouts import MOD_OTHER_ONLY

_ERRORS, _ANY, _SOLICITED = ArmType.ERRORS, ArmType.ANY, ArmType.SOLICITED

#: CQ-12, the table of the source: MERGE[first arm][second arm].
MERGE: Final[dict[ArmType, dict[ArmType, ArmType]]] = {
    _ANY: {_ANY: _ANY, _ERRORS: _ANY, _SOLICITED: _ANY},
    _ERRORS: {_ANY: _ANY, _ERRORS: _ERRORS, _SOLICITED: _SOLICITED},
    _SOLICITED: {_ANY: _ANY, _ERRORS: _SOLICITED, _SOLICITED: _SOLICITED},
}


class Callback(NamedTuple):
    """One call of the notification callback.

    ``status`` is the queue's status at the call; ``snap`` is the number of completions published
    by then since creation (unbounded; the EQE carries it modulo 2^IDX_W).
    """

    status: CqStatus
    snap: int


@dataclass(slots=True)
class Entry:
    """A published, unconsumed completion: its number since creation, and its class."""

    index: int
    solicited: bool


@dataclass(slots=True)
class Step:
    """Outcome of one step: ``cause`` is OK or why it was refused (then nothing changed)."""

    cause: Cause = Cause.OK
    calls: list[Callback] = field(default_factory=list)


@dataclass(frozen=True)
class CqConfig:
    """Settings of one completion queue.

    ``entries``: ring size, a power of two. ``typed``: typed reading of CQ-09. ``rearm``: an arm
    over old completions is satisfied (CQ-10). ``mod_count``, ``mod_interval``: 16 bits each, the
    interval in units of MOD_TICK clock cycles (CQ-21).
    """

    entries: int = 2
    typed: bool = False
    rearm: bool = False
    mod_count: int = 0
    mod_interval: int = 0


@dataclass(frozen=True)
class Moderation:
    """Which of the two conditions of CQ-21 are in use; neither means off."""

    count: bool
    interval: bool


def moderation_mode(count: int, interval: int, entries: int) -> Moderation | None:
    """CQ-21: the meaning of the two 16-bit settings; None if they are to be refused."""
    if interval == 0 or count in (0, 1):
        return Moderation(False, False)
    count_only = interval == MOD_OTHER_ONLY
    interval_only = count == MOD_OTHER_ONLY or count > entries
    if count_only and interval_only:
        return None
    return Moderation(count=not interval_only, interval=not count_only)


class CqModel:
    """One completion queue.

    ``index_bits``: width of the consumer index in a doorbell. ``mod_tick``: clock cycles of one
    moderation interval unit. ``now`` is the time in clock cycles; set it before a step (only
    moderation intervals depend on it). Raises :class:`ModelError` on steps that cannot happen.
    """

    def __init__(self, index_bits: int = 16, mod_tick: int = 256) -> None:
        self.index_bits = index_bits
        self.mod_tick = mod_tick
        self.now = 0
        self.life = Life.FREE
        self.config = CqConfig()
        self._reset()

    def _reset(self) -> None:
        self.status = CqStatus.OK
        self.prod = 0  #: completions published since creation
        self.cons = 0  #: completions consumed since creation; up to `written` (CQ-22)
        self.snap = 0  #: `prod` at the last call
        self.written = 0  #: completions handed to memory since creation
        self.entries: deque[Entry] = deque()
        self.arm: ArmType | None = None
        self.running = False  #: a callback is in progress
        self.event_open = False  #: the latest event entry is not yet acknowledged
        self.due = False
        self.released = False  #: moderation no longer delays the due callback
        self.due_count = 0  #: completions that count for moderation since it became due
        self.most = 0  #: largest number of completions present since it became due
        self.due_time = 0
        self.frozen = False  #: nothing is published any more (CQ-18)

    def assign(self, other: CqModel) -> None:
        """Takes over the state of another CQ, but its entries."""
        self.now, self.life, self.config = other.now, other.life, other.config
        self.status, self.prod, self.cons = other.status, other.prod, other.cons
        self.snap, self.written, self.arm = other.snap, other.written, other.arm
        self.running, self.event_open = other.running, other.event_open
        self.due, self.released, self.frozen = other.due, other.released, other.frozen
        self.due_count, self.most, self.due_time = other.due_count, other.most, other.due_time

    # -- what is present ---------------------------------------------------------------------

    @property
    def present(self) -> int:
        """Number of published completions not yet consumed."""
        return len(self.entries)

    @property
    def new(self) -> list[Entry]:
        """Present completions that were published after the last callback was called."""
        return [e for e in self.entries if e.index >= self.snap]

    @property
    def busy(self) -> bool:
        """CQ-11: a callback is in progress, or its event entry is not yet acknowledged."""
        return self.running or self.event_open

    @property
    def publishing(self) -> bool:
        """True while acknowledged entries are published."""
        return self.life is Life.READY and not self.frozen

    # -- life --------------------------------------------------------------------------------

    def create(self, config: CqConfig) -> Step:
        """Creation: everything starts from reset values (CQ-20)."""
        if self.life is not Life.FREE:
            raise ModelError("create of a queue that exists")
        self._reset()
        self.life = Life.READY
        self.config = config
        return Step()

    def modify(self, *, typed: bool, rearm: bool, mod_count: int, mod_interval: int) -> Step:
        """New settings; a waiting callback is judged by them from its next step on (CQ-21)."""
        self._must_be_ready()
        self.config = replace(
            self.config, typed=typed, rearm=rearm, mod_count=mod_count, mod_interval=mod_interval
        )
        return Step()

    def resize(self, entries: int) -> Step:
        """CQ-19: order, arm and contents are kept; only the number of entries changes."""
        self._must_be_ready()
        self.config = replace(self.config, entries=entries)
        return Step()

    def destroy(self, idle: bool = True) -> Step:
        """One DESTROY command (CQ-20); ``idle``: no entry write of the queue is unanswered.

        From the first one on there is no callback and no entry. The queue is free (``life``) once
        no callback is in progress, its event entry is acknowledged and it is idle; until then the
        command is to be repeated.
        """
        if self.life is Life.FREE:
            raise ModelError("destroy of a queue that does not exist")
        if self.life is Life.READY:
            self.life = Life.DESTROYING
            self._cancel()
        if idle and not self.running and not self.event_open:
            self.life = Life.FREE
            self._reset()
        return Step()

    def _cancel(self) -> None:
        """CQ-20: from the first DESTROY on there is no callback."""
        self.arm = None
        self._forget_due()

    # -- completions -------------------------------------------------------------------------

    def wrote(self, count: int = 1) -> None:
        """``count`` more entries were handed to memory; the host may see them from now on."""
        if self.life is Life.FREE:
            raise ModelError("a write of a queue that does not exist")
        self.written += count

    def publish(self, classes: Sequence[bool], unsignalled: Sequence[bool] = ()) -> Step:
        """The writes of the next ``len(classes)`` entries were acknowledged (CQ-08, CQ-15).

        ``classes``: for each entry whether it is of the solicited class; ``unsignalled``: whether
        it satisfies no standing arm (SRQ-07), False if left out. It is present and new all the
        same.
        """
        if not self.publishing:
            raise ModelError("publication on a queue that publishes nothing")
        if self.prod + len(classes) > self.written:
            raise ModelError("publication of an entry that was not written")
        counted = 0
        for number, solicited in enumerate(classes):
            quiet = number < len(unsignalled) and unsignalled[number]
            index = self.prod
            self.prod += 1
            if self._consumed_early(index):
                continue
            self.entries.append(Entry(index, solicited))
            counted += 1
            if not quiet and self._notifies(solicited):
                self._becomes_due(0)
        if self.due:
            self._count(counted)
        return self._settle()

    def _consumed_early(self, index: int) -> bool:
        """CQ-22: an entry consumed before its acknowledgement triggers nothing."""
        return index < self.cons

    def _notifies(self, solicited: bool) -> bool:
        """CQ-06, CQ-08: does a completion of this class satisfy the current arm, if any?"""
        if self.arm is ArmType.ANY:
            return True
        return self.arm is ArmType.SOLICITED and solicited

    # -- errors of the queue -----------------------------------------------------------------

    def cq_error(self, status: CqStatus) -> Step:
        """Overflow (CQ-17) or a failed write of an entry (CQ-18).

        The first status is kept. After a failed write nothing is published: there is a hole.
        """
        if self.life is Life.FREE:
            raise ModelError("error of a queue that does not exist")
        if status is CqStatus.OK:
            raise ModelError("an error without a status")
        if status is CqStatus.INTERNAL_ERROR:
            self.frozen = True
        return self._error(status)

    def event_failed(self, final: bool) -> Step:
        """The write of this queue's event entry failed (CQ-18); ``final``: given up.

        It is written again until then. Only the host ends a callback.
        """
        if self.life is Life.FREE:
            raise ModelError("failed event of a queue that does not exist")
        if not self.event_open:
            raise ModelError("failed event without an event entry under way")
        self.frozen = True
        if final:
            self.event_open = False
        return self._error(CqStatus.INTERNAL_ERROR)

    def event_done(self) -> Step:
        """The write of this queue's event entry was acknowledged: the next one may be called."""
        if not self.event_open:
            raise ModelError("acknowledged event without an event entry under way")
        self.event_open = False
        return self._settle()

    def _error(self, status: CqStatus) -> Step:
        if self.status is CqStatus.OK:
            self.status = status
        if self.arm is not None:  # CQ-08: every arm type reacts to errors of the queue
            self._becomes_due(0)
        return self._settle()

    # -- the consumer ------------------------------------------------------------------------

    def doorbell(self, index: int, arm: ArmType | None = None) -> Step:
        """Consumer index (modulo 2^index_bits) with an optional arm (CQ-22).

        The index is taken first, then the arm. Causes: NO_CQ, CQ_DESTROYING, BAD_INDEX.
        """
        if self.life is Life.FREE:
            return Step(Cause.NO_CQ)
        if self.life is Life.DESTROYING:
            return Step(Cause.CQ_DESTROYING)
        if not self.index_legal(index):
            return Step(Cause.BAD_INDEX)
        self.cons = self._number(index)
        while self.entries and self.entries[0].index < self.cons:
            self.entries.popleft()
        if arm is not None:
            self._arm(arm)
        return self._settle()

    def _number(self, index: int) -> int:
        return self.cons + (index - self.cons) % (1 << self.index_bits)

    def index_legal(self, index: int) -> bool:
        """CQ-22: from the consumer index up to the last entry written."""
        return self._number(index) <= self.written

    def _arm(self, arm: ArmType) -> None:
        """CQ-14: every arm is evaluated, one that merges too, by the merged type."""
        self.arm = self._merged(self.arm, arm)
        if self._satisfied_now(self.arm):
            self._becomes_due(len(self.new))

    def _merged(self, first: ArmType | None, second: ArmType) -> ArmType:
        """CQ-12; with no arm set, the second starts from nothing (CQ-13)."""
        return second if first is None else MERGE[first][second]

    def _satisfied_now(self, arm: ArmType) -> bool:
        """Is an arm of this type satisfied by what is present already?"""
        if not self.entries:
            return False  # CQ-10a
        new = self.new
        if not new:
            return self.config.rearm  # CQ-10
        if not self.config.typed:
            return True  # CQ-09
        if arm is ArmType.ANY:
            return True
        return arm is ArmType.SOLICITED and any(e.solicited for e in new)

    def callback_return(self) -> Step:
        """The callback in progress has returned (CQ-11). Causes: NO_CQ, NO_CALLBACK."""
        if self.life is Life.FREE:
            return Step(Cause.NO_CQ)
        if not self.running:
            return Step(Cause.NO_CALLBACK)
        self.running = False
        return self._settle()

    # -- moderation --------------------------------------------------------------------------

    def moderation(self) -> Step:
        """The moderation timer looks at the queue at time ``now`` (CQ-21).

        Only a look releases a moderated callback; what it looks for may have been so at any time
        since the callback became due; the setting is the latest one.
        """
        if self.due and (self.count_reached or self.interval_over):
            self.released = True
        return self._settle()

    @property
    def interval_over(self) -> bool:
        """More than the set number of units have passed since the callback became due."""
        mode = self._mode()
        elapsed = self.now - self.due_time
        return mode.interval and elapsed > self.config.mod_interval * self.mod_tick

    def _mode(self) -> Moderation:
        cfg = self.config
        mode = moderation_mode(cfg.mod_count, cfg.mod_interval, cfg.entries)
        if mode is None:
            raise ModelError("moderation settings that the engine refuses")
        return mode

    def _unmoderated(self) -> bool:
        # An error of the queue ends the waiting, and nothing waits while the queue is in error:
        # the count may never be reached then.
        if self.status is not CqStatus.OK:
            return True
        mode = self._mode()
        return not mode.count and not mode.interval

    @property
    def count_reached(self) -> bool:
        """The set number of completions was published, or present, since it became due."""
        return self._mode().count and max(self.due_count, self.most) >= self.config.mod_count

    # -- callbacks ---------------------------------------------------------------------------

    def _becomes_due(self, counted: int) -> None:
        if self.due:
            return  # CQ-06, CQ-11a: one call covers everything that armed it
        self.due = True
        self.due_count = self.most = 0
        self._count(counted)
        self.due_time = self.now

    def _count(self, completions: int) -> None:
        self.due_count = min(self.due_count + completions, (1 << self.index_bits) - 1)

    def _forget_due(self) -> None:
        self.due = self.released = False
        self.due_count = self.most = 0

    def _disarm(self) -> None:
        self.arm = None

    def _settle(self) -> Step:
        """Call what is due, if nothing holds it back (CQ-07, CQ-11)."""
        if not self.due:
            return Step()
        self.most = max(self.most, self.present)
        if self._unmoderated():
            self.released = True
        if not self.released or self.busy:
            return Step()  # CQ-11, CQ-16: it stays due
        self._forget_due()
        self._disarm()  # CQ-07, CQ-11a: clearing and calling are one step
        self.running = self.event_open = True
        self.snap = self.prod  # CQ-11a: taken at the call
        return Step(calls=[Callback(self.status, self.snap)])

    def _must_be_ready(self) -> None:
        if self.life is not Life.READY:
            raise ModelError("the queue does not exist or is being destroyed")
