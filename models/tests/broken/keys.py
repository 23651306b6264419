# SPDX-License-Identifier: Apache-2.0
"""Keys and windows with one rule taken out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from models.codes import By, CommandResult, Rights, Status, Verdict
from models.cq.entries import Cqe
from models.keys.keys import KeyTable
from models.keys.region import Region, RegionTable
from models.keys.window_types import KeyStep, Window
from models.layouts import WINDOW_BIT
from models.post.post import Segment
from models.post.qp import QpModel
from models.post.qp_types import StateStep
from models.receive.receive_qp import ReceiveQp
from models.receive.receive_types import ReceiveCompletion, Taken
from models.tests.broken.parts import Parts


class LeavesThePeersKey(KeyTable):
    """The peer's invalidation is answered, but the key stays valid."""

    def invalidate(self, qp: int, token: int, by: By = By.REQUEST) -> KeyStep:
        objects = list(self.windows), list(self.regions)
        step = super().invalidate(qp, token, by)
        if by is By.PEER:
            self.windows, self.regions = objects
        return step


class LooksAtTheGeneration(KeyTable):
    """A check looks at the generation only: an invalidated window is still accessible."""

    def verdicts(
        self, qp: int, zone: int, kind: int, key: int, address: int, length: int
    ) -> Iterator[Verdict]:
        windows, window = list(self.windows), self.window(key)
        if window is not None:
            self.windows[key & WINDOW_BIT - 1] = replace(window, valid=True)
        found = list(super().verdicts(qp, zone, kind, key, address, length))
        self.windows = windows
        yield from found


class InvalidatesAgain(KeyTable):
    """An Invalidate of a key that was valid succeeds."""

    def invalidate(self, qp: int, token: int, by: By = By.REQUEST) -> KeyStep:
        step = super().invalidate(qp, token, by)
        thing = self.window(token) or self.region(token)
        was = by is not By.PEER and thing is not None and not thing.valid and thing.qp == qp
        return replace(step, code=Status.SUCCESS) if was else step


class OneCredit(ReceiveQp):
    """A receive with two results reserves one credit."""

    @property
    def credits(self) -> int:
        return 1


class GoesOnAfterFailures(QpModel):
    """A local request or a check that fails does not end the connection."""

    def must_fail(self) -> None:
        pass


class GoesOnAfterTokens(ReceiveQp):
    """A token that is refused does not end the connection."""

    def _end_connection(self) -> None:
        pass


class IndicatesAfterFailures(QpModel):
    """What comes after a local request that failed is indicated."""

    @property
    def halting(self) -> bool:
        return False


class BornValid(KeyTable):
    """A created window is valid."""

    def create(self, number: int, zone: int = 0, context: int = 0) -> int:
        key = super().create(number, zone, context)
        rights = Rights.REMOTE_READ | Rights.REMOTE_WRITE
        whole = replace(self._window(number), valid=True, length=1 << 64, rights=rights)
        self.windows[number] = whole
        return key


class RightsOfTheRegion(KeyTable):
    """The rights of the region decide, not those of the window."""

    def bind(
        self, qp: int, zone: int, target: int, segment: Segment | None, rights: int
    ) -> KeyStep:
        region = None if segment is None else self.find(segment.key)
        rights = rights if region is None else int(region.config.rights)
        return super().bind(qp, zone, target, segment, rights)


class WritesBareMemory(KeyTable):
    """Remote write is given on memory without local write."""

    def _bindable(self, zone: int, segment: Segment, rights: int) -> bool:
        return super()._bindable(zone, segment, rights & ~Rights.REMOTE_WRITE)


class BindsAgain(KeyTable):
    """A bound window can be bound again."""

    def bind_faults(
        self, zone: int, target: int, segment: Segment | None, rights: int
    ) -> Iterator[Status]:
        faults = super().bind_faults(zone, target, segment, rights)
        return (fault for fault in faults if fault is not Status.ALREADY_VALID)


class BothInvalidate(KeyTable):
    """Of two invalidations of one window both succeed."""

    def invalidate(self, qp: int, token: int, by: By = By.REQUEST) -> KeyStep:
        step, window = super().invalidate(qp, token, by), self.window(token)
        again = window is not None and window.qp == qp
        return replace(step, code=Status.SUCCESS) if again else step


class ReceiveResultFirst(ReceiveQp):
    """The receive result comes before the invalidate result."""

    def complete(self) -> ReceiveCompletion:
        done = super().complete()
        return done if done.first is None else replace(done, cqe=done.first, first=done.cqe)


class OneResultOfAFailure(ReceiveQp):
    """The invalidate result is missing if the receive fails."""

    def complete(self) -> ReceiveCompletion:
        done = super().complete()
        return replace(done, first=None) if done.status else done


class ContextOfTheReceive(ReceiveQp):
    """The invalidate result has the context of the receive."""

    def _invalidate_result(self, taken: Taken) -> Cqe | None:
        result = super()._invalidate_result(taken)
        context = taken.buffer.post.context
        return result if result is None else result._replace(request_context=context)


class NeverRemoved(KeyTable):
    """Removal is ignored."""

    def remove(self) -> KeyStep:
        step = super().remove()
        self.removed = False
        return step


class AnyAccessor(KeyTable):
    """A window is accessible through every queue pair."""

    def verdicts(
        self, qp: int, zone: int, kind: int, key: int, address: int, length: int
    ) -> Iterator[Verdict]:
        found = super().verdicts(qp, zone, kind, key, address, length)
        return (verdict for verdict in found if verdict is not Verdict.WRONG_QP)


class ChecksTheFirstByte(KeyTable):
    """Only the first byte of an access is checked."""

    def verdicts(
        self, qp: int, zone: int, kind: int, key: int, address: int, length: int
    ) -> Iterator[Verdict]:
        return super().verdicts(qp, zone, kind, key, address, min(length, 1))


class WrapsTheAddress(KeyTable):
    """The address of the last byte wraps."""

    def verdicts(
        self, qp: int, zone: int, kind: int, key: int, address: int, length: int
    ) -> Iterator[Verdict]:
        length = 1 if address + length > 1 << 64 else length
        return super().verdicts(qp, zone, kind, key, address, length)


class ChecksNoByte(KeyTable):
    """An access of 0 bytes is checked like any other."""

    def _touches(self, length: int) -> bool:
        del length
        return True


class DiesWithKeys(QpModel):
    """A queue pair is destroyed while keys are valid on it."""

    @property
    def keyed(self) -> bool:
        return False


class AlwaysGuarded(QpModel):
    """A queue pair that is not guarded uses keys, too."""

    @property
    def uses_keys(self) -> bool:
        return True


class DeregistersInUse(KeyTable):
    """A region with windows bound to it can be deregistered."""

    def deregister(self, number: int) -> CommandResult:
        return RegionTable.deregister(self, number)


class KeepsTheOldKey(KeyTable):
    """FastRegister leaves the old key in force."""

    def fast_register(
        self, qp: int, zone: int, target: int, segment: Segment | None, rights: int
    ) -> KeyStep:
        step = super().fast_register(qp, zone, target, segment, rights)
        if not step.okay:
            return step
        number = target & WINDOW_BIT - 1
        self.regions[number] = replace(self._region(number), key=target)
        return replace(step, new_key=target)


class DeliversBadTokens(ReceiveQp):
    """A SendAndInvalidate with a bad token is delivered as a Send."""

    def _bad_token(self, step: KeyStep) -> bool:
        del step
        return False


#: Variants by the rule that they lack.
BROKEN: Final[Mapping[str, Parts]] = {
    "CQ-03": Parts(keys=LeavesThePeersKey),
    "CQ-03a": Parts(keys=LooksAtTheGeneration),
    "CQ-05": Parts(keys=InvalidatesAgain),
    "CQ-17": Parts(rq=OneCredit),
    "DF-15": Parts(qp=GoesOnAfterFailures, rq=GoesOnAfterTokens),
    "DF-15a": Parts(qp=IndicatesAfterFailures),
    "MW-01": Parts(keys=BornValid),
    "MW-02": Parts(keys=RightsOfTheRegion),
    "MW-02a": Parts(keys=WritesBareMemory),
    "MW-03": Parts(keys=BindsAgain),
    "MW-05": Parts(keys=BothInvalidate),
    "MW-07": Parts(rq=ReceiveResultFirst),
    "MW-07a": Parts(rq=OneResultOfAFailure),
    "MW-08": Parts(rq=ContextOfTheReceive),
    "MW-09": Parts(keys=NeverRemoved),
    "MW-10": Parts(keys=AnyAccessor),
    "MW-10a": Parts(keys=ChecksTheFirstByte),
    "MW-10b": Parts(keys=WrapsTheAddress),
    "MW-10c": Parts(qp=DiesWithKeys),
    "MW-10d": Parts(qp=AlwaysGuarded),
    "MW-10f": Parts(keys=ChecksNoByte),
    "MW-11": Parts(keys=DeregistersInUse),
    "MW-11a": Parts(keys=KeepsTheOldKey),
    "MW-12": Parts(rq=DeliversBadTokens),
}


# -- mistakes that are no missing rule, for the walk -----------------------------------------------


class KeepsCounting(KeyTable):
    """An invalidation leaves the window counted at its region."""

    def _invalidate(self, token: int) -> None:
        regions = list(self.regions)
        super()._invalidate(token)
        if token & WINDOW_BIT:
            self.regions = regions


class CloseForgets(KeyTable):
    """A window that is closed while it is valid stays counted."""

    def close(self, number: int) -> CommandResult:
        self.windows[number] = None
        return CommandResult.OK


class StartsAgain(KeyTable):
    """A creation starts with the first generation."""

    def create(self, number: int, zone: int = 0, context: int = 0) -> int:
        self.window_serials[number] -= 1
        return super().create(number, zone, context)


class OldKeys(KeyTable):
    """Only the object's number counts, not the generation."""

    def window(self, key: int) -> Window | None:
        number = key & 0x7FF
        known = key & WINDOW_BIT and number < self.params.num_mw
        return self.windows[number] if known else None


class SameKey(KeyTable):
    """Bind gives no new key."""

    def bind(
        self, qp: int, zone: int, target: int, segment: Segment | None, rights: int
    ) -> KeyStep:
        step = super().bind(qp, zone, target, segment, rights)
        window = self.windows[0]
        if step.okay and window is not None:
            self.windows[0] = replace(window, key=target)
            return replace(step, new_key=target)
        return step


class AnyQueuePair(KeyTable):
    """Every queue pair can invalidate a window."""

    def invalidate(self, qp: int, token: int, by: By = By.REQUEST) -> KeyStep:
        window = self.window(token)
        return super().invalidate(qp if window is None else window.qp, token, by)


class ThePeerLoses(KeyTable):
    """Of two invalidations that meet neither succeeds if the peer's comes first."""

    def invalidate(self, qp: int, token: int, by: By = By.REQUEST) -> KeyStep:
        step = super().invalidate(qp, token, by)
        if by is By.PEER and step.okay:
            return replace(step, code=Status.INVALID_TOKEN)
        return step


class BindsToNothing(KeyTable):
    """A window can be bound to a region that is not valid."""

    def find(self, key: int) -> Region | None:
        return self.region(key)


class NeverEnds(QpModel):
    """A failure is reported, and the connection goes on."""

    def fail(self) -> StateStep | None:
        self.ending = None
        return None


class RunsWhatIsSkipped(QpModel):
    """Requests are executed when they are posted, not in their place."""

    def _skip(self) -> None:
        super()._skip()
        for request in self.requests:
            if request.skipped and self.keys is not None:
                request.verb.execute(self.keys, self.number, self.zone, request.post)
