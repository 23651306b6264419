# SPDX-License-Identifier: Apache-2.0
"""What the scoreboard of receives learns late: why a post was refused, which message was too
long.
"""

from __future__ import annotations

import pytest

from tb.env.harness.records import Trace
from tb.env.scoreboard.receive.context import Doubts, Endings


def step(cycle: int) -> Trace:
    return Trace(cycle, 6, 0, 3, False, 0, 0, 0, 0)


def test_failure_in_the_same_cycle_explains_a_refusal() -> None:
    doubts = Doubts()
    doubts.add(step(10), 2, "refused")
    assert doubts.settle(10) is None  # its lane may still come
    doubts.cq_failed(2, 10)
    assert doubts.settle(11) is None


@pytest.mark.parametrize(("cq", "cycle"), [(2, 9), (2, 11), (1, 10)])
def test_another_failure_explains_nothing(cq: int, cycle: int) -> None:
    doubts = Doubts()
    doubts.add(step(10), 2, "refused")
    doubts.cq_failed(cq, cycle)
    doubt = doubts.settle(11)
    assert doubt is not None and (doubt.cq, doubt.text) == (2, "refused")


def test_one_of_the_open_steps_must_be_of_a_message_that_is_too_long() -> None:
    endings = Endings()
    endings.ended(3, 1, 8)
    assert endings.answered(3, 1, 6, False) and endings.answered(3, 1, 7, True)
    # It is explained.
    assert endings.answered(3, 1, 8, False)


def test_connection_that_no_message_has_ended() -> None:
    endings = Endings()
    endings.ended(3, 2, 8)
    assert endings.answered(2, 2, 8, False)  # another QP
    assert endings.answered(3, 1, 5, True)  # an earlier connection explains nothing
    assert endings.answered(3, 2, 7, False)
    assert not endings.answered(3, 2, 8, False)
