# SPDX-License-Identifier: Apache-2.0
"""Every bin of the functional coverage can be hit, by what it says and not by its neighbour."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest

from models import codes
from models.arm.arm import CqConfig
from models.codes import DOORBELL_CAUSES, Cause, CommandResult, TraceOp
from models.host.control import make_args
from models.layouts import CB_RETURN, CQ_DB
from tb.env.coverage.bins import ARM_NAMES, BINS, CHANNELS, COMMAND_BINS, CQ_BINS, INPUTS
from tb.env.coverage.coverage import Coverage
from tb.env.harness import records as rec
from tb.selftest.bin_cases import BinCases, Records, count_bins
from tb.selftest.streams import PARAMS, VECTOR, Stream

ROOT = Path(__file__).resolve().parents[2]

READY = 1
RUNNING, DUE, RELEASED, OPEN = 1 << 7, 1 << 8, 1 << 9, 1 << 10
ERRORS, ANY, SOLICITED = 0, 1, 2
CQ_WRITE, EQ_WRITE = 0, PARAMS.num_cq + 1


def state(
    flags: int = 0,
    arm: int | None = None,
    prod: int = 0,
    cons: int = 0,
    mark: int = 0,
    sol: int = 0,
) -> int:
    """A state of lanes 1 and 2."""
    armed = 0 if arm is None else 1 << 4 | arm << 5
    mark, sol = max(mark, cons), max(sol, mark, cons)
    return READY | flags | armed | prod << 16 | cons << 32 | mark << 48 | sol << 64


def step(
    op: TraceOp, old: int, new: int, operand: int = 0, cycle: int = 10, cq: int = 0, event: int = 0
) -> rec.Trace:
    lane = 0 if op >= 0x20 else 1 if op < 0x10 else 2
    return rec.Trace(cycle, lane, op, cq, bool(event), 0, operand, old, new)


def bell(old: int, new: int, index: int = 0, arm: int | None = None, **more: int) -> rec.Trace:
    operand = index if arm is None else index | 1 << 16 | arm << 17
    return step(TraceOp.DOORBELL, old, new, operand, **more)


def create(operand: int = 0) -> rec.Trace:
    return step(TraceOp.CREATE, 0, READY, operand)


def command(code: int, result: int = 0, **fields: object) -> rec.Command:
    number = fields.pop("number", 0)
    words = make_args(number, **fields).words  # type: ignore[arg-type]
    return rec.Command(20, 15, code, words, result, (0,) * 8)


def settings(count: int, interval: int) -> Records:
    config = CqConfig(4, False, False, count, interval)
    return [command(codes.Command.CREATE_CQ, log2=2, config=config)]


def lanes(keep: int, *dests: int, data: int = 0) -> Records:
    dest = (*dests, 0, 0)[:2]
    return [rec.Completion(1, keep, 0, (dest[0], dest[1]), (data, data))]


def answered(cause: Cause, offset: int = CQ_DB) -> Records:
    request = rec.DoorbellRequest(1, 0, offset, 0, 3, 0xFF, 0)
    return [request, rec.DoorbellResponse(2, 0, 2, cause)]


def arm_cases() -> dict[str, Records]:
    """Arms by type, standing and what is present; merges; the reading of CQ-09."""
    cases: dict[str, Records] = {}
    standings = {"idle": 0, "busy": RUNNING, "due": RUNNING | DUE | RELEASED}
    presence = {
        "empty": {"prod": 5, "cons": 5},
        "old": {"prod": 5, "cons": 3, "mark": 5},
        "new": {"prod": 5, "cons": 3, "mark": 4},
    }
    for (arm, name), (standing, flags), (what, indices) in product(
        ARM_NAMES.items(), standings.items(), presence.items()
    ):
        before = state(flags, ANY if flags & DUE else None, **indices)
        cases[f"arm/{name}, {standing}, {what}"] = [bell(before, before, indices["cons"], arm)]
    for (first, one), (second, two) in product(ARM_NAMES.items(), repeat=2):
        before = state(0, first)
        cases[f"merge/{one} then {two}"] = [bell(before, before, 0, second)]
    for (typed, reading), (arm, name), (sol, kind) in product(
        enumerate(("literal", "typed")), ARM_NAMES.items(), ((0, "success"), (2, "solicited"))
    ):
        before = state(prod=2, sol=sol)
        cases[f"cq09/{reading}, {name}, new {kind}"] = [create(typed), bell(before, before, 0, arm)]
    return cases


def trace_cases() -> dict[str, Records]:
    """What shows in single steps."""
    empty, old = state(), state(prod=2, mark=2)
    due = state(RUNNING | DUE | RELEASED, ANY, prod=2)
    waiting = state(DUE, ANY, prod=2)
    publish, back = TraceOp.PUBLISH, TraceOp.CB_RETURN
    failed, done, error = TraceOp.EVENT_FAILED, TraceOp.EVENT_DONE, TraceOp.CQ_ERROR
    called = state(RUNNING | OPEN, prod=1)
    cases: dict[str, Records] = {
        "cq10/default": [create(), bell(old, old, 0, ANY)],
        "cq10/rearm": [create(2), bell(old, old, 0, ANY)],
        "cq10a/nothing ever": [create(), bell(empty, empty, 0, ANY)],
        "cq10a/polled before the arm": [
            create(),
            bell(state(prod=3), state(prod=3, cons=3), 3, ANY),
        ],
        "cq13/weaker arm after a call": [
            step(publish, state(0, ANY), called, 1, event=1),
            bell(empty, empty, 0, ERRORS),
        ],
        "cq14/merge fires now": [bell(state(0, SOLICITED, prod=1), called, 0, ANY, event=1)],
        "arm/repeated": [bell(state(0, ANY), state(0, ANY), 0, ANY)],
        "arm/in the callback": [bell(state(RUNNING), state(RUNNING, ANY), 0, ANY)],
        "callback/ANY by a success": [step(publish, state(0, ANY), called, 1, event=1)],
        "callback/ANY by the solicited class": [step(publish, state(0, ANY), called, 5, event=1)],
        "callback/SOLICITED by the solicited class": [
            step(publish, state(0, SOLICITED), called, 5, event=1)
        ],
        "callback/SOLICITED not by a success": [
            step(publish, state(0, SOLICITED), state(0, SOLICITED, prod=1), 1)
        ],
        "callback/ERRORS not by a completion": [
            step(publish, state(0, ERRORS), state(0, ERRORS, prod=1), 5)
        ],
        "callback/none without an arm": [step(publish, empty, state(prod=1), 1)],
        "deferred/called by the return": [step(back, due, called, event=1)],
        "deferred/called by the acknowledgement": [step(done, due, called, event=1)],
        "deferred/called on an empty queue": [
            step(back, due, state(RUNNING | OPEN, prod=2, cons=2), event=1)
        ],
        "deferred/drained while due": [bell(due, due, 2)],
        "deferred/arm merged while due": [bell(due, due, 0, ANY)],
        "ack/consumed before": [bell(empty, state(cons=1), 1)],
        "ack/of a consumed entry": [step(publish, state(cons=1), state(prod=1, cons=1), 1)],
        "ack/of a consumed entry while armed": [
            step(publish, state(0, ANY, cons=1), state(0, ANY, prod=1, cons=1), 1)
        ],
        "ring/second pass": [*settings(0, 0), step(TraceOp.PLACE, 4, 5, 1)],
        "ring/third pass": [*settings(0, 0), step(TraceOp.PLACE, 8, 9, 1)],
        "index/prod wraps": [step(publish, state(prod=63, cons=60), state(prod=0, cons=60), 1)],
        "index/cons wraps": [bell(state(prod=1, cons=63), state(prod=1, cons=1), 1)],
        "index/alloc wraps": [step(TraceOp.PLACE, 63, 0, 1)],
        "index/wraps while armed": [
            step(publish, state(0, ERRORS, prod=63), state(0, ERRORS, prod=0), 1)
        ],
        "same cycle/publish and doorbell": [step(publish, empty, old, 1), bell(old, old)],
        "same cycle/publish and return": [step(publish, empty, old, 1), step(back, old, old)],
        "same cycle/callback and arm": [
            step(publish, state(0, ANY), called, 1, event=1),
            bell(called, state(RUNNING | OPEN, ANY), 0, ANY),
        ],
        "same cycle/two callbacks": [
            step(publish, state(0, ANY), called, 1, event=1),
            bell(state(prod=1), called, 0, ANY, event=1, cq=1),
        ],
        "moderation/released by count": [
            *settings(2, 0xFFFF),
            step(TraceOp.MODERATION, waiting, called, event=1),
        ],
        "moderation/released by interval": [
            *settings(3, 5),
            step(TraceOp.MODERATION, waiting, waiting | RELEASED),
        ],
        "moderation/released by an error": [step(error, waiting, called, 2, event=1)],
        "moderation/changed while waiting": [
            step(publish, empty, waiting, 1),
            command(codes.Command.MODIFY_CQ),
        ],
        "moderation/drained while waiting": [bell(waiting, waiting, 2)],
        "credit/given back": [step(TraceOp.PLACE, 0, 1, 1 << 2)],
        "overflow/nothing placed before": [step(TraceOp.OVERFLOW, 0, 0, 0)],
        "overflow/one placed before": [step(TraceOp.OVERFLOW, 0, 1, 1)],
        "overflow/armed": [step(error, state(0, ANY), called, 1, event=1)],
        "overflow/not armed": [step(error, empty, empty | 4, 1)],
        "overflow/while a callback runs": [step(error, state(RUNNING), state(RUNNING | 4), 1)],
        "cqe error/armed": [step(error, state(0, ANY), called, 6, event=1)],
        "cqe error/not armed": [step(error, empty, empty | 8, 6)],
        "cqe error/after an overflow": [step(error, state(4), state(4), 6)],
        "eqe error/once": [step(failed, called, called), step(done, called, empty)],
        "eqe error/twice": [*[step(failed, called, called)] * 2, step(done, called, empty)],
        "eqe error/three times": [*[step(failed, called, called)] * 3, step(done, called, empty)],
        "eqe error/given up": [step(failed, called, empty, 1)],
        "eqe error/new callback after giving up": [
            step(failed, called, empty, 1),
            step(publish, state(0, ANY), called, 1, event=1),
        ],
        "doorbell/callback return": [step(back, called, empty)],
    }
    return cases


def life_cases() -> dict[str, Records]:
    """Commands, resize, destroy, moderation settings."""
    bell_any = bell(state(prod=1), state(0, ANY, prod=1), 0, ANY)
    stop, destroy = TraceOp.STOP, TraceOp.DESTROY
    freed = step(destroy, 2, 0, 1)
    made = settings(0, 0)
    cases: dict[str, Records] = {
        "resize/up": [*made, command(codes.Command.RESIZE_CQ, log2=3)],
        "resize/down": [*made, command(codes.Command.RESIZE_CQ, log2=1)],
        "resize/at the wrap": [*made, step(TraceOp.RESIZE, 4, 4, 4)],
        "resize/armed": [bell_any, step(TraceOp.RESIZE, 1, 1, 1)],
        "resize/with entries present": [bell_any, step(TraceOp.RESIZE, 1, 1, 1)],
        "resize/twice": [step(TraceOp.RESIZE, 1, 1, 1), step(TraceOp.RESIZE, 1, 1, 1)],
        "destroy/at once": [step(stop, 0, 0), freed],
        "destroy/after pending": [freed],
        "destroy/pending by a callback": [step(destroy, state(), 2 | RUNNING)],
        "destroy/pending by writes": [step(destroy, state(), 2)],
        "destroy/armed": [bell_any, step(stop, 0, 0)],
        "destroy/due": [bell(state(), state(DUE | RUNNING, ANY), 0, ANY), step(stop, 0, 0)],
        "destroy/created again": [freed, create()],
        "moderation/count only": settings(2, 0xFFFF),
        "moderation/interval only, all-ones": settings(0xFFFF, 5),
        "moderation/interval only, above the depth": settings(5, 5),
        "moderation/both": settings(4, 5),
        "moderation/off by interval 0": settings(4, 0),
        "moderation/off by count 0": settings(0, 5),
        "moderation/off by count 1": settings(1, 5),
        "eq ring/resized": [command(codes.Command.RESIZE_EQ)],
        "command/UNKNOWN": [command(0x77, CommandResult.CMD_UNKNOWN)],
    }
    for (code, result), name in COMMAND_BINS.items():
        cases[name] = [command(code, result)]
    return cases


def pin_cases() -> dict[str, Records]:
    """What shows at the other pins."""
    good, flag = 1, 1 << 240
    event = [rec.MemResponse(3, EQ_WRITE, 0)]
    eq = [command(codes.Command.CREATE_EQ, number=1, vector=VECTOR)]
    in_error = step(TraceOp.CQ_ERROR, state(), state(8), 6)
    request = rec.CreditRequest(1, 1 << 16)
    written = rec.MemWrite(0, 0, 0, 0xFFFF_FFFF, 0)
    cases: dict[str, Records] = {
        "beat/lower half": [rec.MemWrite(1, CQ_WRITE, 0, 0xFFFF_FFFF, 0)],
        "beat/upper half": [rec.MemWrite(1, CQ_WRITE, 0, 0xFFFF_FFFF << 32, 0)],
        "beat/pair": [rec.MemWrite(1, CQ_WRITE, 0, (1 << 64) - 1, 0)],
        "eq ring/second pass": [rec.MemWrite(1, EQ_WRITE, 0, 0xFFFF, 0)],
        "credit/granted": [request, rec.CreditAnswer(2, True)],
        "credit/granted two": [rec.CreditRequest(1, 2 << 16), rec.CreditAnswer(2, True)],
        "credit/refused": [request, rec.CreditAnswer(2, False)],
        "credit/malformed": [rec.CreditRequest(1, 3 << 16)],
        "completion/two of one queue": lanes(3, 1, 1),
        "completion/two of two queues": lanes(3, 1, 2),
        "completion/second lane alone": lanes(2, 0, 1),
        "completion/empty beat": lanes(0),
        "completion/queue out of range": lanes(1, 9),
        "completion/queue missing": lanes(1, 3),
        "completion/queue in error": [in_error, *lanes(1, 0)],
        "completion/receive and invalidate": lanes(1, data=0x8001 << 192),
        "completion/solicited": lanes(1, data=good << 192 | flag),
        "completion/solicited flag on no receive": lanes(1, data=2 << 192 | flag),
        "completion/failed": lanes(1, data=7 << 232),
        "write error/SLVERR": [written, rec.MemResponse(1, 0, 2)],
        "write error/DECERR": [written, rec.MemResponse(1, 0, 3)],
        "write error/EXOKAY": [written, rec.MemResponse(1, 0, 1)],
        "interrupt/one for one": [*eq, *event, rec.Interrupt(9, VECTOR)],
        "interrupt/merged": [*eq, *event, *event, rec.Interrupt(9, VECTOR)],
        "foreign page/CQ_DB": answered(Cause.NOT_OWNER),
        "foreign page/CB_RETURN": answered(Cause.NOT_OWNER, CB_RETURN),
    }
    cases |= {f"cause/{cause.name}": answered(cause) for cause in DOORBELL_CAUSES}
    return cases


CASES = {**arm_cases(), **trace_cases(), **life_cases(), **pin_cases()}
#: Cases that are examples of each other.
TOGETHER = {
    ("arm/ANY, busy, empty", "arm/in the callback"),
    ("resize/armed", "resize/with entries present"),
}


class TestCqBins(BinCases):
    params = PARAMS
    cases = CASES
    bins = CQ_BINS
    channels = CHANNELS
    stallable = "STALLABLE"
    alike = TOGETHER


def test_every_bin_has_a_requirement() -> None:
    assert all(requirements for requirements in BINS.values())


def test_stray_responses_are_no_write_errors() -> None:
    write = rec.MemWrite(0, 0, 0, 0xFFFF_FFFF, 0)
    stray = count_bins(
        [rec.MemResponse(1, 0, 2), write, rec.MemResponse(2, 0, 0), rec.MemResponse(3, 0, 3)],
        PARAMS,
    )
    assert not [name for name in stray if name.startswith("write error/")]


@pytest.mark.parametrize("name", sorted(name for name in BINS if name.startswith("stall/")))
def test_a_stall_counts_when_somebody_waited(name: str) -> None:
    """Outputs: the engine waited for ready. Inputs: an item of the harness waited."""
    channel = name.split("/")[1]
    for blocked in (False, True):
        for withheld in (False, True):
            coverage = Coverage(PARAMS)
            coverage.waited({channel} if blocked else set(), {channel} if withheld else set())
            hit = withheld if channel in INPUTS else blocked
            assert coverage.counts == ({name: 1} if hit else {})


def test_inputs_are_the_harness_s() -> None:
    """Each channel of a source of the harness, and no other one."""
    text = "".join(path.read_text() for path in (ROOT / "tb" / "hdl").glob("tb_*.v"))
    sources = set(re.findall(r"bfm_source #\(\.CH\(CH_(\w+)\)", text))
    assert sources | {"MEM_B"} == INPUTS


def test_right_stream_and_reset() -> None:
    stream = Stream().standard()
    coverage = Coverage(PARAMS)
    coverage(stream.records)
    for name in ("destroy/at once", "command/CREATE_CQ OK", "cause/OK", "interrupt/one for one"):
        assert coverage.counts[name], name
    before = dict(coverage.counts)
    coverage.reset()
    coverage(stream.records)
    assert {name: 2 * hits for name, hits in before.items()} == dict(coverage.counts)


def test_file_adds_up(tmp_path: Path) -> None:
    path = tmp_path / "coverage" / "job.json"
    coverage = Coverage(PARAMS)
    coverage(CASES["beat/pair"])
    coverage.write(path, coverage.counts)
    coverage.write(path, coverage.counts)
    assert path.read_text() == '{\n "beat/pair": 2\n}\n'
    coverage.counts["no such bin"] = 1
    with pytest.raises(AssertionError, match="no such bin"):
        coverage.write(path, coverage.counts)
