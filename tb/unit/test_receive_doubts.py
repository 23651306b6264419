# SPDX-License-Identifier: Apache-2.0
"""Refusals because of a CQ that fails in the same cycle, and of one that does not."""

from __future__ import annotations

import pytest

from tb.env.receive_context import Doubts
from tb.env.records import Trace


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
