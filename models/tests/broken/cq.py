# SPDX-License-Identifier: Apache-2.0
"""Completion rings with one rule taken out: credits, resize, polls, publication."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from models.codes import ResultType
from models.cq.core import CompletionCore
from models.cq.queue import CqProducer, NdResult, NdResultEx, PlacedEntry, RingReader
from models.tests.broken.parts import Parts


class GrantsTooMuch(CqProducer):
    """Reservation grants more credits than the ring has entries."""

    def _has_room(self, wanted: int, cons: int) -> bool:
        del wanted, cons
        return True


class ShrinksAlways(CqProducer):
    """A resize to fewer entries than are present is accepted."""

    def too_small(self, log2: int, cons: int) -> bool:
        del log2, cons
        return False


class SkipsInvalidations(RingReader):
    """The plain poll skips ReceiveAndInvalidate completions."""

    def get_results(self, limit: int) -> list[NdResult]:
        return [
            NdResult(r.status, r.nbytes, r.qp_context, r.request_context)
            for r in self.get_results_ex(limit)
            if r.type != ResultType.RECEIVE_AND_INVALIDATE
        ]


class HidesTheToken(RingReader):
    """The extended poll hides the token."""

    def get_results_ex(self, limit: int) -> list[NdResultEx]:
        return [replace(result, token=0) for result in super().get_results_ex(limit)]


class PublishesAtOnce(CompletionCore):
    """A completion is published before its write is acknowledged."""

    def _take_answers(self, cq: int, count: int, okay: bool) -> list[PlacedEntry]:
        del okay
        return self.producers[cq].acknowledge(self.cqs[cq].prod, count)


#: Variants by the rule that they lack; CQ-17 is in ``arm.py``.
BROKEN: Final[Mapping[str, Parts]] = {
    "CQ-02": Parts(reader=SkipsInvalidations),
    "CQ-04": Parts(reader=HidesTheToken),
    "CQ-15": Parts(core=PublishesAtOnce),
    "CQ-19": Parts(producer=ShrinksAlways),
}
