# SPDX-License-Identifier: Apache-2.0
"""Random receive traffic with options."""

from __future__ import annotations

from typing import Any

from tb.env.base_test import CarillonTest
from tb.env.defs import Scatter
from tb.sequences import find


class ReceivingTest(CarillonTest):
    """``sequence``: its name."""

    sequence = "receive_traffic"

    async def traffic(self, **options: Any) -> Any:
        """Runs the sequence and compares the counters."""
        env, host = self.env, self.env.host
        assert env.config is not None
        if env.config.num_qp < 16:
            options.setdefault("chunk", 32)
        sequence: Any = find(self.sequence)(env, **options)
        await sequence.run()
        env.release_all()
        received = sequence.received
        answers = env.transport.receiver.answers
        not_ready = sum(answer.code == Scatter.NOT_READY for answer in answers)
        assert await host.counter("RECV_POSTS") == received.accepted() > 0
        assert await host.counter("TAKEN") == received.taken() > 0
        assert await host.counter("RECV_DONE") == received.taken()
        assert await host.counter("NOT_READY") == not_ready
        assert received.compared or not received.comparable(), "no payload was compared"
        causes = {cause.name: count for cause, count in received.causes.items()}
        self.logger.info("%s %s, compared %d", causes, dict(received.statuses), received.compared)
        return sequence
