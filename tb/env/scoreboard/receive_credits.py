# SPDX-License-Identifier: Apache-2.0
"""Credits of an engine that receives: posts on an own receive queue hold one of the receive CQ,
and so do buffers that are taken from an SRQ (CQ-17).

Steps of different lanes do not come in the order in which the engine gave their credits: what is
on its way on another lane may hold one already.
"""

from __future__ import annotations

from models.codes import Cause
from tb.env.scoreboard.base import Context
from tb.env.scoreboard.reserve import PostCredits

#: Lanes whose steps reserve.
POST_LANE, TAKE_LANE, RECEIVE_LANE = 3, 5, 6


class ReceiveCredits(PostCredits):
    """What posts, receive posts and takes can get of a CQ."""

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        zero = [0] * ctx.params.num_cq
        #: On their way, by lane and CQ.
        self.lanes = {POST_LANE: self.on_the_way, TAKE_LANE: [*zero], RECEIVE_LANE: [*zero]}

    def outcomes(self, cq: int, since: int, wanted: int = 1, lane: int = POST_LANE) -> set[Cause]:
        """What a step can have been told, in the states since serial ``since``."""
        found = super().outcomes(cq, since, wanted)
        others = sum(count[cq] for number, count in self.lanes.items() if number != lane)
        if others and Cause.OK in found:
            granted = self.ctx.engine.producers[cq].granted
            least = granted + others + wanted
            if any(m.error != 1 and m.space < least for m in self.moments(cq, since)):
                found.add(Cause.NO_CREDIT)
        return found

    def in_flight(self, cq: int) -> int:
        """Credits that writes and requests without a step may hold already."""
        return sum(count[cq] for count in self.lanes.values())
