# SPDX-License-Identifier: Apache-2.0
"""Each check of the scoreboard is shown to fail: a right stream of records, and one thing wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from models import codes
from models.codes import TraceOp
from models.host.doorbell import pack_doorbell
from models.layouts import CQ_DB, RECV_PORTAL, SRQ_DB
from tb.env.harness import records as rec
from tb.selftest.engine_streams import TAKE, EngineStream
from tb.selftest.mutations import (
    EVENT_ID,
    Records,
    change,
    drop,
    fails,
    index,
    judge,
    put,
    right,
    spoiled,
    swap,
)
from tb.selftest.streams import Stream

Spoil = Callable[[Records], object]
NO_TRAFFIC = ("no_completions", "no_doorbells")


def no_event(records: Records) -> None:
    drop(records, rec.MemWrite, axi_id=EVENT_ID)
    drop(records, rec.MemResponse, axi_id=EVENT_ID)


def early_step(records: Records) -> None:
    """The step of an event comes before its answer."""
    done = index(records, rec.Trace, op=TraceOp.EVENT_DONE)
    swap(records, index(records, rec.MemResponse, axi_id=EVENT_ID), done)


def at_offset(records: Records, offset: int, answer: bool = False) -> int:
    """Place of the first write to an offset of pages, or of the answer to it."""
    kind, places = rec.DoorbellRequest, list(enumerate(records))
    found = next(i for i, r in places if type(r) is kind and r.addr % 4096 == offset)
    return index(records[found:], rec.DoorbellResponse) + found if answer else found


def not_ready(records: Records) -> None:
    """Nothing is taken, in the step and in the answer, although a buffer is there."""
    change(records, rec.Trace, op=TAKE, cq=0, to={"operand": 1, "new": lambda v: v ^ 1})
    change(records, rec.ScatterAnswer, qp=0, to={"user": 1, "data": 0})


def too_far(records: Records) -> None:
    """More is reaped than was completed."""
    at = at_offset(records, SRQ_DB)
    put(records, at, data=records[at].data ^ 7 << 128)
    change(records, rec.Trace, op=TraceOp.REAP, to={"operand": 5})


def late_answer(records: Records) -> None:
    at = index(records, rec.RecvRequest)
    put(records, at, cycle=records[at - 1].cycle - 9)


def behind_the_next_beat(records: Records) -> None:
    """The step of a local request comes behind the next one's beat."""
    at = index(records, rec.WorkBeat)
    records.insert(at, records[at])
    drop(records, rec.Trace, op=TraceOp.BIND)


def result(code: codes.Command, to: int, number: int = 0) -> Spoil:
    """Another result of a command."""
    return lambda r: change(r, rec.Command, number, code=int(code), to={"result": to})


def out(code: codes.Command, number: int, bits: int) -> Spoil:
    """Another output of a command."""
    to = {"outs": lambda outs: (*outs[:number], outs[number] ^ bits, *outs[number + 1 :])}
    return lambda r: change(r, rec.Command, code=int(code), to=to)


def step(op: TraceOp, field: str, bits: int, number: int = 0, **which: int) -> Spoil:
    """One step with other bits."""
    return lambda r: change(r, rec.Trace, number, op=op, **which, to={field: lambda v: v ^ bits})


QUERY, QUERY_SRQ = codes.Command.QUERY_QP, codes.Command.QUERY_SRQ
REGISTER, INVALIDATE = codes.Command.REGISTER_MR, TraceOp.INVALIDATE
#: Of each stream: changes, and what is told of them.
MUTATIONS: dict[str, tuple[Callable[[], Stream], list[tuple[Spoil, str]]]] = {
    "core": (
        lambda: Stream().standard(),
        [
            (no_event, "without an answer to its event"),
            (early_step, "without an answer to its event"),
            (
                lambda r: change(r, rec.MemResponse, axi_id=EVENT_ID, to={"resp": 3}),
                "says otherwise",
            ),
            (
                lambda r: change(r, rec.DoorbellRequest, to={"addr": 2 * 4096 + CQ_DB}),
                "another owner",
            ),
            (result(codes.Command.CREATE_CQ, 0x49), "its command answered 0x49"),
            (lambda r: change(r, rec.Completion, to={"cycle": 0}), "out of order"),
        ],
    ),
    "posts": (
        lambda: EngineStream().all_verbs(),
        [
            (lambda r: change(r, rec.Trace, op=0x30, to={"new": lambda v: v + (1 << 48)}), "DF-12"),
            (step(TraceOp.QP_STATE, "new", 7), "does not take this step"),
            (result(codes.Command.CONNECT_QP, 0x50), "its command answered 0x50"),
            (result(codes.Command.DESTROY_QP, 0x4D), "its command answered"),
            (out(QUERY, 0, 1), "state, tail, released"),
            (out(QUERY, 0, 1 << 8), "OUT0"),
            (out(QUERY, 2, 32 << 16), "retired"),
            (out(QUERY, 2, 32), "indicated"),
            (lambda r: r.append(rec.Completion(r[-1].cycle, 1, 0, (0, 0), (0, 0))), "no such port"),
            (lambda r: r.append(rec.CreditAnswer(r[-1].cycle, True)), "no such port"),
        ],
    ),
    "receives": (
        lambda: EngineStream().all_receives(),
        [
            (
                lambda r: put(r, at_offset(r, RECV_PORTAL), addr=2 * 4096 + RECV_PORTAL),
                "step of a receive post through page 2",
            ),
            (too_far, "reaped, the model refuses it: BAD_INDEX"),
            (
                lambda r: put(r, at_offset(r, SRQ_DB, answer=True), cause=0x0B, resp=2),
                "refused with 0xb, but it has a step|cause 0xb, expected",
            ),
            (not_ready, "CQ-17: credit 0, the CQ 0 had: OK"),
            (step(TAKE, "operand", 1, operand=0x11), "TAKE with code 0, right would be: NOT_READY"),
            (step(TAKE, "operand", 1 << 5), "SRQ-14"),
            (step(TAKE, "old", 8 << 32), "other posts before"),
            (step(TAKE, "old", 2 << 48), "other reports before"),
            (step(TAKE, "operand", 1 << 6, operand=0x50), "watermark event 0, expected 1"),
            (step(TAKE, "operand", 1 << 6), "watermark event 1, expected 0"),
            (
                lambda r: change(r, rec.ScatterAnswer, to={"user": 3, "data": 0}),
                "REFUSED in a state that allows it",
            ),
            (lambda r: change(r, rec.ScatterAnswer, user=3, to={"user": 0x10003}), "user 0x10003"),
            (late_answer, "bound|out of order"),
            (step(TraceOp.WATERMARK, "operand", 1 << 16), "event 1, expected 0"),
            (out(codes.Command.CREATE_SRQ, 0, 1), "start index 1"),
            (out(QUERY_SRQ, 5, 1 << 16), "OUT4"),
            (out(REGISTER, 0, 1 << 12), "outputs"),
        ],
    ),
    "keys": (
        lambda: EngineStream().all_windows(),
        [
            (behind_the_next_beat, "DF-12: indicated, but the request of"),
            (
                step(INVALIDATE, "operand", 4, cq=0, operand=4),
                "MW-05: key .* is invalidated a second time",
            ),
            (
                lambda r: drop(r, rec.Trace, op=INVALIDATE, operand=1 << 9),
                "Read 4 retires, but its key was not invalidated",
            ),
            (
                lambda r: change(r, rec.AccessVerdict, data=0, to={"data": 5 << 16}),
                "a state that allows it",
            ),
            (
                lambda r: change(r, rec.AccessVerdict, data=5 << 16, to={"data": 0}),
                "code 0x0, right would be: REFUSED",
            ),
            (step(TraceOp.KEY_COMMAND, "cq", 0xFFFF), "REGISTER_MR: step of QP 0"),
            (result(REGISTER, 0x44), "command answered 0x44"),
            (out(codes.Command.CREATE_MW, 0, 0x1000), "outputs"),
            # The removal ends a connection.
            (step(TraceOp.QP_STATE, "operand", 2, -1, operand=2), "QP_STATE without a command"),
            (
                result(codes.Command.CREATE_MW, 0, 2),
                "MW-09: answered 0x0, right would be: CMD_DEVICE_REMOVED",
            ),
        ],
    ),
}


@pytest.mark.parametrize("stream", MUTATIONS)
def test_mutation_is_caught(stream: str) -> None:
    make, mutations = MUTATIONS[stream]
    made = make()
    for spoil, message in mutations:
        spoiled(made, message, spoil)


# -- vacuity, ends -------------------------------------------------------------------------------


def test_vacuous_runs() -> None:
    fails(Stream(), "vacuous: not one Trace")
    stream = Stream().ready()
    fails(stream, "not one Completion")
    fails(stream, "not one DoorbellRequest", ("no_completions",))
    right(stream, NO_TRAFFIC)
    judge([], ("no_traffic",))
    with pytest.raises(ValueError, match="unknown allowance"):
        judge([], ("nothing",))
    fails(EngineStream(), "vacuous: not one Trace")
    engine = EngineStream().connected()
    fails(engine, "vacuous: not one DoorbellRequest")
    engine.doorbell(0)
    fails(engine, "vacuous: not one accepted post")
    right(engine, ("no_posts", "no_receives"))
    fails(engine, "vacuous: not one accepted receive", ("no_posts",))
    engine.post(engine.make(flags=0x200))
    fails(engine, "vacuous: not one retired request")


@pytest.mark.parametrize(
    "build, message, allowance",
    [
        (lambda s: s.placed(), "never written", "memory"),
        (lambda s: (s.placed(), s.write()), "writes without an answer", "memory"),
        (lambda s: s.complete(), "no event entry", "memory"),
        (lambda s: (s.complete(), s.event()), "event entry not answered", "memory"),
        (
            lambda s: (s.complete(), s.event(), s.event_answer(resp=2)),
            *("event entry not written again", "memory"),
        ),
        (lambda s: (s.complete(), s.event(), s.event_answer()), "no interrupt of EQ", "interrupts"),
        (
            lambda s: (s.complete(), s.call(), s.request(CQ_DB, pack_doorbell(0, 0))),
            *("no answer to the doorbell", "doorbells"),
        ),
        (
            lambda s: (s.complete(), s.call(), s.add(rec.CreditRequest(s.tick(), 1 << 16))),
            *("no answer to the credit", "credits"),
        ),
        (lambda s: (s.credit(), s.arrive(0, s.cqe())), "lost: the completion", ""),
    ],
)
def test_what_is_left_at_the_end(
    build: Callable[[Stream], object], message: str, allowance: str
) -> None:
    stream = Stream().ready()
    stream.doorbell(0, codes.ArmType.ANY)
    build(stream)
    fails(stream, message)
    if allowance:
        right(stream, (allowance, "no_completions"))
