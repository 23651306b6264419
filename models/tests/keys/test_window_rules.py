# SPDX-License-Identifier: Apache-2.0
"""One check per rule of keys and windows: it holds with the rule, and fails without it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from models.codes import (
    Access,
    Command,
    CommandResult,
    ModelError,
    QpState,
    ResultType,
    ScatterCode,
)
from models.host.control import Args
from models.keys.region import RegionConfig
from models.keys.window import WindowModel
from models.post.post import Segment
from models.post.qp_control import make_qp_args
from models.receive.receive import pack_rdone
from models.receive.receive_control import make_region_args
from models.tests.broken.keys import BROKEN
from models.tests.broken.parts import WHOLE, Parts
from models.tests.helpers import small_engine
from models.tests.keys.window_helpers import (
    BARE,
    BASE,
    CONTEXT,
    FAST,
    LENGTH,
    NEXT,
    OK,
    READ,
    REGION,
    WINDOW,
    WRITE,
    A,
    B,
    arrive,
    bind_post,
    bound,
    engine,
    local,
    post_buffer,
    run,
    settle,
    verdict,
)
from models.tests.post.posting_helpers import request

CHECKS: dict[str, Callable[[Parts], None]] = {}
GRANTED, BAD_KEY, WRONG_QP, NO_RIGHT, BAD_RANGE, REFUSED = range(6)
INVALID = 4


def check(rule: str) -> Callable[[Callable[[Parts], None]], Callable[[Parts], None]]:
    """Registers a check of a rule; it takes the classes to check."""

    def register(function: Callable[[Parts], None]) -> Callable[[Parts], None]:
        assert rule not in CHECKS
        CHECKS[rule] = function
        return function

    return register


@pytest.mark.parametrize("rule", BROKEN)
def test_rule_holds(rule: str) -> None:
    CHECKS[rule](WHOLE)


@pytest.mark.parametrize("rule", BROKEN)
def test_check_fails_without_the_rule(rule: str) -> None:
    with pytest.raises((AssertionError, ModelError)):
        CHECKS[rule](BROKEN[rule])


def received(parts: Parts, two: bool = False, status: int = 0) -> WindowModel:
    """A window bound to A, and a buffer, and the peer's SendAndInvalidate."""
    model = engine(parts, two=two)
    key = bound(model)
    post_buffer(model)
    assert arrive(model, A, key).code is ScatterCode.SCATTER
    model.receive.done_beat(pack_rdone(A, 0, status))
    return model


@check("CQ-03")
def _invalid_when_visible(parts: Parts) -> None:
    model = received(parts)
    cqe = model.receive.complete(A).cqe
    assert cqe.type == ResultType.RECEIVE_AND_INVALIDATE
    assert verdict(model, A, cqe.token) == BAD_KEY


@check("CQ-03a")
def _no_access_after_an_invalidation(parts: Parts) -> None:
    model = engine(parts)
    assert verdict(model, A, WINDOW) == BAD_KEY
    key = bound(model)
    assert run(model, A, local("Invalidate", key)) == [0]
    assert verdict(model, A, key) == BAD_KEY


@check("CQ-05")
def _a_later_invalidate_fails(parts: Parts) -> None:
    model = received(parts)
    assert run(model, A, local("Invalidate", WINDOW + NEXT)) == [INVALID]
    assert model.posting.qps[A].state is QpState.ERROR


@check("CQ-17")
def _two_results_two_credits(parts: Parts) -> None:
    model = engine(parts, two=True)
    cqs = small_engine(log2=2)
    grants = sum(cqs.reserve(0, model.receive.rqs[A].credits) for _ in range(4))
    assert 2 * grants <= cqs.producers[0].ring.entries


@check("DF-15")
def _a_failure_ends_the_connection(parts: Parts) -> None:
    model = engine(parts)
    assert run(model, A, local("Invalidate", 0)) == [INVALID]
    assert model.posting.qps[A].state is QpState.ERROR
    assert model.posting.qps[A].post(request("Send")).cause != 0


@check("DF-15a")
def _nothing_after_a_failure(parts: Parts) -> None:
    model = engine(parts)
    q = model.posting.qps[A]
    for post in (local("Invalidate", 0), request("Send")):
        q.post(post)
    model.posting.indicate(A)
    assert q.next_indication() is None


@check("MW-01")
def _a_window_begins_invalid(parts: Parts) -> None:
    model = engine(parts)
    for kind in Access:
        assert verdict(model, A, WINDOW, kind=kind) == BAD_KEY


@check("MW-02")
def _the_rights_of_the_window(parts: Parts) -> None:
    model = engine(parts)
    key = bound(model, flags=READ)
    assert verdict(model, A, key) == GRANTED
    assert verdict(model, A, key, kind=Access.WRITE) == NO_RIGHT


@check("MW-02a")
def _remote_write_needs_local_write(parts: Parts) -> None:
    assert run(engine(parts), A, bind_post(key=BARE, flags=WRITE)) == [6]


@check("MW-03")
def _bound_to_one(parts: Parts) -> None:
    model = engine(parts)
    key = bound(model)
    assert run(model, B, bind_post(key)) == [5]
    assert verdict(model, A, key) == GRANTED


@check("MW-05")
def _one_of_two_invalidations(parts: Parts) -> None:
    for local_first in (True, False):
        model = engine(parts)
        key = bound(model)
        post_buffer(model)
        model.posting.qps[A].post(local("Invalidate", key))
        done = []
        for turn in (local_first, not local_first):
            if turn:
                model.posting.indicate(A)
                done.append(model.posting.retire(A).status == 0)
            else:
                done.append(arrive(model, A, key).code is ScatterCode.SCATTER)
        settle(model, A)
        assert done == [True, False]
        assert model.posting.qps[A].state is QpState.ERROR


@check("MW-07")
def _the_invalidate_result_first(parts: Parts) -> None:
    done = received(parts, two=True).receive.complete(A)
    types = [cqe.type for cqe in done.cqes]
    assert types == [ResultType.INVALIDATE, ResultType.RECEIVE]


@check("MW-07a")
def _the_invalidate_result_of_a_failing_receive(parts: Parts) -> None:
    model = received(parts, two=True, status=9)
    assert [cqe.status for cqe in model.receive.complete(A).cqes] == [0, 9]


@check("MW-08")
def _the_context_of_the_window(parts: Parts) -> None:
    done = received(parts, two=True).receive.complete(A)
    assert [cqe.request_context for cqe in done.cqes] == [CONTEXT, 7]


@check("MW-09")
def _removal(parts: Parts) -> None:
    model = engine(parts)
    assert model.command(Command.REMOVE_DEVICE, Args((0,) * 8)).result is OK
    assert model.posting.qps[A].post(request("Send")).cause == 0x17
    assert model.receive.rqs[A].may_take is False
    config = make_region_args(3, RegionConfig(BASE, 1))
    removed = CommandResult.CMD_DEVICE_REMOVED
    assert model.command(Command.REGISTER_MR, config).result is removed
    assert verdict(model, A, REGION) == REFUSED


@check("MW-10")
def _the_queue_pair_of_the_window(parts: Parts) -> None:
    model = engine(parts)
    key = bound(model)
    assert [verdict(model, qp, key) for qp in (A, B)] == [GRANTED, WRONG_QP]


@check("MW-10a")
def _every_byte(parts: Parts) -> None:
    model = engine(parts)
    key = bound(model)
    assert verdict(model, A, key, BASE, LENGTH) == GRANTED
    assert verdict(model, A, key, BASE, LENGTH + 1) == BAD_RANGE


@check("MW-10b")
def _no_wrap(parts: Parts) -> None:
    model = engine(parts)
    keys = model.table
    args = make_region_args(3, RegionConfig((1 << 64) - 8, 8, 5, 3))
    keys.deregister(3)
    key = model.command(Command.REGISTER_MR, args).out[0]
    assert verdict(model, A, key, (1 << 64) - 8, 8) == GRANTED
    assert verdict(model, A, key, (1 << 64) - 8, 9) == BAD_RANGE


@check("MW-10c")
def _a_queue_pair_with_keys_stays(parts: Parts) -> None:
    model = engine(parts)
    bound(model)
    args = make_qp_args(A)
    assert model.command(Command.DESTROY_QP, args).result is CommandResult.CMD_IN_USE


@check("MW-10d")
def _not_guarded(parts: Parts) -> None:
    model = engine(parts, guarded=False)
    assert run(model, A, local("Invalidate", 0)) == [0]
    post_buffer(model)
    assert arrive(model, A, WINDOW).code is ScatterCode.SCATTER
    assert verdict(model, A, WINDOW) == REFUSED


@check("MW-10f")
def _no_byte_no_key(parts: Parts) -> None:
    model = engine(parts)
    key = bound(model, flags=READ)
    for token in (key, WINDOW, 0, 0xFFFF_FFFF):
        for qp in (A, B):
            assert verdict(model, qp, token, 0, 0, kind=Access.WRITE) == GRANTED
            assert model.posting.qps[qp].state is QpState.CONNECTED
    model.posting.qps[A].flush()
    assert verdict(model, A, key, BASE, 0) == REFUSED


@check("MW-11")
def _a_region_in_use_stays(parts: Parts) -> None:
    model = engine(parts)
    bound(model)
    args = make_region_args(0)
    assert model.command(Command.DEREGISTER_MR, args).result is CommandResult.CMD_BUSY


@check("MW-11a")
def _a_new_key(parts: Parts) -> None:
    model = engine(parts)
    assert run(model, A, local("FastRegister", FAST, Segment(BASE, 8), READ)) == [0]
    assert verdict(model, A, FAST) == BAD_KEY
    assert verdict(model, A, FAST + NEXT) == GRANTED


@check("MW-12")
def _a_bad_token_ends_the_connection(parts: Parts) -> None:
    model = engine(parts)
    post_buffer(model)
    assert arrive(model, A, WINDOW).code is ScatterCode.BAD_TOKEN
    settle(model, A)
    assert model.posting.qps[A].state is QpState.ERROR
