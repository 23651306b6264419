# SPDX-License-Identifier: Apache-2.0
"""Completion queues with one rule taken out: arm, callbacks, moderation, errors of a queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from models.arm.arm import CqModel, Step
from models.codes import ArmType, Cause, CqStatus, Life
from models.tests.broken.cq import GrantsTooMuch
from models.tests.broken.parts import Parts


class CallsUnarmed(CqModel):
    """A completion calls back although nothing is armed."""

    def _notifies(self, solicited: bool) -> bool:
        return self.arm is None or super()._notifies(solicited)


class ClearsAtReturn(CqModel):
    """The arm is cleared when the callback returns, not when it is called."""

    def _disarm(self) -> None:
        pass

    def callback_return(self) -> Step:
        if self.running:
            self.arm = None
            self._forget_due()
        return super().callback_return()


class LooksOnce(CqModel):
    """Only the first completion after an arm is looked at."""

    looked = False

    @property
    def extra(self) -> tuple[object, ...]:
        """State that the model has not."""
        return (self.looked,)

    def _reset(self) -> None:
        super()._reset()
        self.looked = False

    def _arm(self, arm: ArmType) -> None:
        self.looked = False
        super()._arm(arm)

    def _notifies(self, solicited: bool) -> bool:
        looked, self.looked = self.looked, True
        return not looked and super()._notifies(solicited)


class IgnoresNew(CqModel):
    """An arm ignores new completions that are already present."""

    def _satisfied_now(self, arm: ArmType) -> bool:
        return super()._satisfied_now(arm) and not self.new


class RearmsAlways(CqModel):
    """The re-arm bit is ignored: old completions always satisfy an arm."""

    def _satisfied_now(self, arm: ArmType) -> bool:
        return (bool(self.entries) and not self.new) or super()._satisfied_now(arm)


class StickyFlag(CqModel):
    """An arm looks at a flag "something came since the last callback"."""

    @property
    def extra(self) -> tuple[object, ...]:
        """State that the model has not."""
        return (self.prod > self.snap,)

    def _satisfied_now(self, arm: ArmType) -> bool:
        return self.prod > self.snap or super()._satisfied_now(arm)


class Overlaps(CqModel):
    """A due callback is called although one is in progress."""

    @property
    def busy(self) -> bool:
        return False


class ClearsWhenDue(CqModel):
    """The arm is cleared when the callback becomes due."""

    def _becomes_due(self, counted: int) -> None:
        before = self.due
        super()._becomes_due(counted)
        if not before:
            self._disarm()


class MergesByCode(CqModel):
    """Arm types merge by the larger public code."""

    def _merged(self, first: ArmType | None, second: ArmType) -> ArmType:
        return second if first is None else ArmType(max(first, second))


class RemembersTheLastType(CqModel):
    """An arm merges with the type of the arm satisfied before it."""

    last_type: ArmType | None = None

    @property
    def extra(self) -> tuple[object, ...]:
        """State that the model has not."""
        return (self.last_type,)

    def _reset(self) -> None:
        super()._reset()
        self.last_type = None

    def _merged(self, first: ArmType | None, second: ArmType) -> ArmType:
        return super()._merged(self.last_type if first is None else first, second)

    def _disarm(self) -> None:
        self.last_type = self.last_type if self.arm is None else self.arm
        super()._disarm()


class MergesBlindly(CqModel):
    """An arm that merges does not look at what is present."""

    def _arm(self, arm: ArmType) -> None:
        if self.arm is None:
            super()._arm(arm)
        else:
            self.arm = self._merged(self.arm, arm)


class ForgetsWhileBusy(CqModel):
    """A callback that becomes due while one is in progress is forgotten."""

    def _becomes_due(self, counted: int) -> None:
        if not self.busy:
            super()._becomes_due(counted)


class OverflowsSilently(CqModel):
    """An overflow tells nobody."""

    def cq_error(self, status: CqStatus) -> Step:
        return Step() if status is CqStatus.BUFFER_OVERFLOW else super().cq_error(status)


class IgnoresFailedWrites(CqModel):
    """A failed write is ignored."""

    def cq_error(self, status: CqStatus) -> Step:
        return Step() if status is CqStatus.INTERNAL_ERROR else super().cq_error(status)

    def event_failed(self, final: bool) -> Step:
        del final
        return Step()


class LeavesItsState(CqModel):
    """A destroyed queue leaves its arm and indices to its successor."""

    def _reset(self) -> None:
        if "prod" not in vars(self):
            super()._reset()

    def _cancel(self) -> None:
        pass


class NeverWaits(CqModel):
    """Moderation is ignored."""

    def _unmoderated(self) -> bool:
        return True


class TakesAnyIndex(CqModel):
    """Every consumer index is accepted, and consumed entries still trigger."""

    def index_legal(self, index: int) -> bool:
        del index
        return True

    def _consumed_early(self, index: int) -> bool:
        del index
        return False


class WakesAlways(CqModel):
    """UNSIGNALLED is ignored: every completion satisfies an arm (SRQ-07)."""

    def publish(self, classes: Sequence[bool], unsignalled: Sequence[bool] = ()) -> Step:
        del unsignalled
        return super().publish(classes)


#: Variants by the rule that they lack.
BROKEN: Final[Mapping[str, Parts]] = {
    "CQ-06": Parts(cq=CallsUnarmed),
    "CQ-07": Parts(cq=ClearsAtReturn),
    "CQ-08": Parts(cq=LooksOnce),
    "CQ-09": Parts(cq=IgnoresNew),
    "CQ-10": Parts(cq=RearmsAlways),
    "CQ-10a": Parts(cq=StickyFlag),
    "CQ-11": Parts(cq=Overlaps),
    "CQ-11a": Parts(cq=ClearsWhenDue),
    "CQ-12": Parts(cq=MergesByCode),
    "CQ-13": Parts(cq=RemembersTheLastType),
    "CQ-14": Parts(cq=MergesBlindly),
    "CQ-16": Parts(cq=ForgetsWhileBusy),
    "CQ-17": Parts(cq=OverflowsSilently, producer=GrantsTooMuch),
    "CQ-18": Parts(cq=IgnoresFailedWrites),
    "CQ-20": Parts(cq=LeavesItsState),
    "CQ-21": Parts(cq=NeverWaits),
    "CQ-22": Parts(cq=TakesAnyIndex),
}


# -- mistakes that are no missing rule, for the walk -----------------------------------------------


class DropsWhenDrained(CqModel):
    """A waiting callback is cancelled when the consumer empties the queue."""

    def doorbell(self, index: int, arm: ArmType | None = None) -> Step:
        step = super().doorbell(index, arm)
        if step.cause is Cause.OK and not self.entries:
            self._forget_due()
        return step


class CallsPerArm(CqModel):
    """Each arm of a merged group gets a callback of its own."""

    def callback_return(self) -> Step:
        again = self.arm is not None and self.due
        step = super().callback_return()
        if again and step.calls:
            self.arm = ArmType.ANY
        return step


class CountsWritten(CqModel):
    """The callback covers entries whose write is not acknowledged."""

    def _settle(self) -> Step:
        step = super()._settle()
        return Step(step.cause, [c._replace(snap=self.written) for c in step.calls])


class ForgetsAtReturn(CqModel):
    """The return of a callback forgets the one that waits."""

    def callback_return(self) -> Step:
        self._forget_due()
        return super().callback_return()


class PublishesAfterHole(CqModel):
    """After a failed write, later entries are still published."""

    @property
    def publishing(self) -> bool:
        return super().publishing or self.frozen


class CallsAfterDestroy(CqModel):
    """Destroy does not take back a callback that waits."""

    def destroy(self, idle: bool = True) -> Step:
        arm, due, released = self.arm, self.due, self.released
        step = super().destroy(idle)
        if self.life is Life.DESTROYING:
            self.arm, self.due, self.released = arm, due, released
        return step


class ComparesNoIndex(CqModel):
    """The consumer index is not compared with what was written."""

    def index_legal(self, index: int) -> bool:
        del index
        return True
