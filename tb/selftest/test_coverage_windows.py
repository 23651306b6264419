# SPDX-License-Identifier: Apache-2.0
"""Every bin of keys can be hit, by what it says, and is not hit by nothing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from models import codes
from models.codes import ALLOW_REMOTE_WRITE, PostFlag, QpState, ScatterCode, TraceOp, Verdict
from models.keys.window_types import CheckRequest
from models.post.post import Post, Segment, slots_of
from models.receive.receive_types import RecvRequest
from tb.env.coverage.keys_bins import (
    BAD_KINDS,
    CLEANUP,
    CLOSED,
    EDGES,
    INVALID,
    KINDS,
    NEAR,
    OBJECTS,
    RIGHTS,
    STATUSES,
    TOKENS,
    WAYS,
    WINDOW_BINS,
    WINDOW_CHANNELS,
    WINDOW_COMMAND_BINS,
)
from tb.env.harness.records import (
    AccessCheck,
    AccessVerdict,
    Command,
    DoorbellRequest,
    DoorbellResponse,
    Record,
    ScatterAnswer,
    Trace,
    WorkBeat,
)
from tb.env.harness.records import RecvRequest as RequestBeat
from tb.selftest.bin_cases import BinCases, count_bins
from tb.selftest.engine_streams import PARAMS, RECEIVE, TAKE, EngineStream

BIND, FAST, INVALIDATE = TraceOp.BIND, TraceOp.FAST_REGISTER, TraceOp.INVALIDATE
CHECK, COMMAND, REMOVED = TraceOp.CHECK, TraceOp.KEY_COMMAND, TraceOp.REMOVED
REGION, WINDOW, NEXT = 0x1000, 0x1800, 0x1000
KEYS = {"region": REGION, "window": WINDOW + NEXT}
BITS = {"request": 0, "peer": 1 << 8, "Read": 1 << 9}
BASE, LENGTH, TOP = 0x10000, 0x1000, 1 << 64
CREATE, CLOSE = int(codes.Command.CREATE_MW), int(codes.Command.CLOSE_MW)
DEREGISTER = int(codes.Command.DEREGISTER_MR)


def shown(
    key: int,
    valid: bool = True,
    allocated: bool = False,
    windows: int = 0,
    qp: int = 0,
    rights: int = 2,
    region: int = 0,
) -> int:
    """A state of lane 8."""
    flags = valid | 2 | allocated << 2 | windows << 3
    return key | flags << 32 | qp << 48 | rights << 64 | region << 67


def step(
    op: int, operand: int = 0, old: int = 0, new: int = 0, qp: int = 0, cycle: int = 5
) -> Trace:
    return Trace(cycle, 9 if op == CHECK else 8, op, qp, False, 0, operand, old, new)


def state(new: int, old: int = 0, qp: int = 0, by: int = 0) -> Trace:
    return Trace(4, 3, TraceOp.QP_STATE, qp, False, 0, by, old, new)


def beat(post: Post, local: bool = True) -> WorkBeat:
    return WorkBeat(6, post.qp, True, local << 56, post.encode())


def bind_post(
    address: int = BASE, length: int = LENGTH, flags: int = 8, key: int = REGION, segments: int = 1
) -> Post:
    slots = slots_of([Segment(address, length, key)], Segment(0, 0, WINDOW))
    return Post(1, segments, flags, 0, slots=slots)


def registered(
    base: int = BASE, length: int = LENGTH, rights: int = 7, key: int = REGION
) -> list[Record]:
    """REGISTER_MR."""
    low = (1 << 32) - 1
    args = (key & 0x7FF, base & low, base >> 32, length & low, length >> 32, rights << 16, 0, 0)
    made = step(COMMAND, codes.Command.REGISTER_MR, 0, shown(key, rights=rights), 0xFFFF)
    return [made, Command(5, 1, codes.Command.REGISTER_MR, args, 0, (key, *(0,) * 7))]


def bound(
    base: int = BASE, length: int = LENGTH, rights: int = 6, region: int = 7, qp: int = 0
) -> list[Record]:
    """A window is bound to a region; a little of it unless all is asked for."""
    old, new = shown(WINDOW, False), shown(WINDOW + NEXT, rights=rights, qp=qp)
    post = bind_post(base, length)
    made = step(BIND, 0, old, new, qp)
    beat_ = WorkBeat(6, qp, True, 1 << 56, post.encode())
    return [*registered(0, TOP, region), made, beat_]


def memory(thing: str, base: int = BASE, length: int = LENGTH, rights: int = 6) -> list[Record]:
    """A key of each kind of object."""
    if thing == "window":
        return bound(base, length, rights, rights | 1)
    return registered(base, length, rights)


def asked(
    key: int = REGION,
    code: int = 0,
    kind: int = 1,
    address: int = BASE,
    length: int = 4,
    qp: int = 0,
    reserved: int = 0,
) -> list[Record]:
    """A check and its verdict."""
    request = CheckRequest(qp, kind, key, address, length, reserved)
    return [AccessCheck(7, request.encode()), AccessVerdict(8, qp | code << 16)]


def created(
    srq: int | None = None, two: bool = False, guarded: bool = True, qp: int = 0
) -> list[Record]:
    """CREATE_QP."""
    words = (0 if srq is None else srq | 1 << 16) | two << 17 | guarded << 18
    return [Command(1, 1, codes.Command.CREATE_QP, (qp, *(0,) * 6, words), 0, (0,) * 8)]


def edge(name: str, thing: str) -> list[Record]:
    base = TOP - LENGTH if name == "ends at 2^64" else BASE
    end = base + LENGTH
    address, length = {
        "first byte": (base, 4),
        "last byte": (end - 4, 4),
        "all bytes": (base, LENGTH),
        "one before": (base - 1, 4),
        "one beyond": (end - 3, 4),
        "far away": (end + 77, 4),
        "wraps": (TOP - 1, 2),
        "length 0 inside": (base, 0),
        "length 0 outside": (0, 0),
        "ends at 2^64": (end - 4, 4),
    }[name]
    bad = length and not (base <= address and address + length <= end)
    code = Verdict.BAD_RANGE if bad else Verdict.GRANTED
    return [*memory(thing, base), *asked(KEYS[thing], code, address=address, length=length)]


def check_cases() -> Iterator[tuple[str, list[Record]]]:
    for code, (kind, word), thing in product(Verdict, KINDS.items(), OBJECTS):
        if code is not Verdict.REFUSED:
            yield f"verdict/{code.name}, {word}, {thing}", asked(KEYS[thing], code, kind)
    for kind, word in KINDS.items():
        yield f"verdict/REFUSED, {word}", asked(kind=kind, code=5)
    for name in CLOSED:
        yield f"check/refused, {name}", [state(QpState[name]), *asked(code=5)]
    connected: list[Record] = [state(QpState.CONNECTED)]
    yield "check/refused, not guarded", [*created(guarded=False), *connected, *asked(code=5)]
    yield "check/refused, QP out of range", asked(code=5, qp=9)
    for kind in BAD_KINDS:
        yield f"check/refused, kind {kind}", asked(code=5, kind=kind)
    yield "check/refused, reserved bits", asked(code=5, reserved=1 << 20)
    yield "check/0 bytes, key not valid", asked(length=0)
    window = WINDOW + NEXT
    yield "check/0 bytes, of another QP", [*bound(), *asked(window, length=0, qp=1)]
    yield "check/0 bytes, right missing", [*bound(rights=4), *asked(window, length=0)]
    yield "check/in DISCONNECT_PENDING", [state(QpState.DISCONNECT_PENDING), *asked()]
    rebound = [*bound(), *asked(WINDOW + NEXT)]
    again = step(BIND, 0, shown(WINDOW + NEXT, False), shown(WINDOW + 2 * NEXT))
    yield "check/old key of a valid window", [*rebound, again, *asked(WINDOW + NEXT, 1)]
    newer = step(FAST, 0, shown(REGION, False, True), shown(REGION + NEXT, True, True))
    old_region = [*registered(), newer, *asked(REGION, 1)]
    yield "check/old key of a valid region", old_region
    closed = step(COMMAND, CLOSE, shown(WINDOW + NEXT), 0, 0xFFFF)
    yield "check/closed window", [*bound(), closed, *asked(WINDOW + NEXT, 1)]
    yield "check/region of another zone", [*registered(), *asked(REGION, 2)]
    yield "check/behind a refused one", [*asked(code=1), *asked(code=1)]
    for name, thing in product(EDGES, OBJECTS):
        yield f"range/{name}, {thing}", edge(name, thing)
    for thing, (rights, words), (kind, word) in product(OBJECTS, RIGHTS.items(), KINDS.items()):
        code = Verdict.GRANTED if rights & 2 * kind else Verdict.NO_RIGHT
        records = [*memory(thing, rights=rights), *asked(KEYS[thing], code, kind)]
        yield f"right/{thing} allows {words}, {word}", records
    window = WINDOW + NEXT
    yield "right/window has it, region has not", [*bound(rights=2, region=1), *asked(window)]
    yield "right/region has it, window has not", [*bound(rights=4), *asked(window, 3)]
    for (near, words), way in product(NEAR.items(), WAYS):
        gone = step(INVALIDATE, BITS[way], shown(window), shown(window, False), cycle=50)
        look = step(CHECK, 0, shown(window), shown(window), cycle=50 + near)
        both: list[Record] = [look, gone] if near <= 0 else [gone, look]
        yield f"race/check {words} invalidation by {way}", both


def key_cases() -> Iterator[tuple[str, list[Record]]]:
    for verb, statuses in STATUSES.items():
        op = {"Bind": BIND, "FastRegister": FAST}.get(verb, INVALIDATE)
        bits = BITS["Read"] if verb == "Read" else 0
        for status in statuses:
            yield f"request/{verb}, {status.name}", [step(op, bits | status)]
    local: list[Record] = [step(BIND), step(BIND)]
    yield "request/two of one QP in a row", local
    fenced = bind_post(flags=PostFlag.READ_FENCE)
    yield "request/behind a fence", [step(BIND), beat(fenced)]
    write = DoorbellRequest(1, 0, 0, 0, 6, TOP - 1, bind_post().encode())
    posted = Trace(2, 3, TraceOp.POST, 0, False, 0, 0x0100 | 8 << 16, 2, 2 | 1 << 16 | 1 << 32)
    skipped = Trace(3, 4, TraceOp.RETIRE, 0, False, 0, 0x201, 0, 1)
    yield "request/skipped, of keys", [state(2), write, posted, skipped]
    for way, thing in product(WAYS, OBJECTS):
        bits, key = BITS[way], KEYS[thing]
        allocated = thing == "region"
        valid, invalid = shown(key, True, allocated), shown(key, False, allocated)
        name = f"invalidate/{way}, {thing}"
        yield f"{name}, valid", [step(INVALIDATE, bits, valid, invalid)]
        states = {"of another QP": (valid, 1), "invalid": (invalid, 0), "old key": (valid, 0)}
        for why in INVALID:
            now, qp = states[why]
            yield f"{name}, {why}", [step(INVALIDATE, bits | 4, now, now, qp)]
    for way in WAYS:
        yield f"invalidate/{way}, no object", [step(INVALIDATE, BITS[way] | 4)]
    plain, busy = shown(REGION), shown(REGION, True, True, 1)
    yield "invalidate/region by a command", [step(INVALIDATE, 4, plain, plain)]
    yield "invalidate/region with windows", [step(INVALIDATE, 4, busy, busy)]
    for name in (bin_ for bin_ in WINDOW_BINS if bin_.startswith("race/") and " then " in bin_):
        ways, thing = name[5:].split(", ")
        first, second = ways.split(" then ")
        key, allocated = KEYS[thing], thing == "region"
        valid, invalid = shown(key, True, allocated), shown(key, False, allocated)
        one = step(INVALIDATE, BITS[first], valid, invalid, cycle=50)
        two = step(INVALIDATE, BITS[second] | 4, invalid, invalid, cycle=70)
        yield name, [one, two]
    yield from bind_cases()


def bind_cases() -> Iterator[tuple[str, list[Record]]]:
    old = shown(WINDOW + NEXT, False)
    again: list[Record] = [step(BIND, 0, old, shown(WINDOW + 2 * NEXT)), beat(bind_post())]
    yield "bind/the same QP as before", [*bound(), *again]
    yield "bind/another QP than before", [*bound(qp=1), *again]
    other: list[Record] = [step(BIND, 0, 0, shown(WINDOW + 1 + NEXT)), beat(bind_post())]
    yield "bind/two windows of one region", [*bound(), *other]
    fast = shown(REGION + NEXT, True, True)
    given: list[Record] = [
        step(FAST, 0, shown(REGION, False, True), fast),
        beat(Post(2, 1, 0, 0, slots=slots_of([Segment(BASE, LENGTH, 0)]))),
        step(BIND, 0, 0, shown(WINDOW + NEXT)),
        beat(bind_post(key=REGION + NEXT)),
    ]
    yield "bind/to a region by FastRegister", given
    yield "bind/all of its region", given
    yield "bind/one byte", bound(length=1)
    bad = step(BIND, 6)
    for name, post in {
        "no segment": bind_post(segments=0),
        "length 0": bind_post(length=0),
        "key not valid": bind_post(key=0x77),
        "one byte before": bind_post(BASE - 1),
        "one byte beyond": bind_post(length=LENGTH + 1),
        "write without local write": bind_post(flags=ALLOW_REMOTE_WRITE),
    }.items():
        yield f"bind memory/{name}", [*registered(rights=2), bad, beat(post)]


def message(
    invalidate: bool, code: int, status: int, solicited: bool = False, token: int = 0
) -> list[Record]:
    """A message from its take to its completion."""
    request = RecvRequest(0, 0, solicited, invalidate, token)
    return [
        Trace(2, 5, TAKE, 0, False, 0, 0, 0, 1),
        RequestBeat(3, request.encode()),
        ScatterAnswer(4, 0, code, 0),
        Trace(9, 7, RECEIVE, 0, False, 0, status, 0, 1),
    ]


def message_cases() -> Iterator[tuple[str, list[Record]]]:
    for two, srq, solicited, bad in product((False, True), (None, 0), (True, False), (False, True)):
        words = "two" if two else "one", "own" if srq is None else "SRQ"
        marks = "solicited" if solicited else "plain", "bad token" if bad else "valid"
        code, status = (4, 4) if bad else (0, 0)
        records = [*created(srq, two), *message(True, code, status, solicited, WINDOW)]
        yield f"completion/{', '.join((*words, *marks))}", records
    yield "completion/two, no token", [*created(two=True), *message(False, 0, 0)]
    made = Command(1, 1, CREATE, (0,) * 8, 0, (WINDOW, *(0,) * 7))
    nothing: list[Record] = [made, *created(two=True), *message(True, 0, 0, token=WINDOW)]
    yield "completion/context 0", nothing
    for token in TOKENS:
        yield f"token/{token}", [*created(), *message(True, ScatterCode[token], 0)[1:3]]
    yield "token/of a QP that is not guarded", [*created(guarded=False), *message(True, 0, 0)]
    for srq, queue in ((None, "own"), (0, "SRQ")):
        yield f"answer/BAD_TOKEN, {queue}", [*created(srq), *message(True, 4, 4)]


def command_cases() -> Iterator[tuple[str, list[Record]]]:
    for (code, result), name in WINDOW_COMMAND_BINS.items():
        yield name, [Command(9, 5, code, (0,) * 8, result, (0,) * 8)]
    new, gone = shown(WINDOW, False), 0
    make, close = step(COMMAND, CREATE, 0, new, 0xFFFF), step(COMMAND, CLOSE, new, gone, 0xFFFF)
    yield "close/never bound", [make, close]
    yield "close/created again", [make, close, make]
    valid = step(COMMAND, CLOSE, shown(WINDOW + NEXT), 0, 0xFFFF)
    yield "close/valid", [*bound(), valid]
    yield "close/invalidated", [*bound(), step(COMMAND, CLOSE, shown(WINDOW + NEXT, False))]
    yield "deregister/by a command", [step(COMMAND, DEREGISTER, shown(REGION))]
    yield "deregister/never valid", [step(COMMAND, DEREGISTER, shown(REGION, False, True))]
    fast = shown(REGION + NEXT, True, True)
    yield "deregister/valid by FastRegister", [step(COMMAND, DEREGISTER, fast)]
    given: list[Record] = [
        step(FAST, 0, shown(REGION, False, True), fast),
        beat(Post(2, 1, 0, 0, slots=slots_of([Segment(BASE, LENGTH, 0)]))),
        step(COMMAND, DEREGISTER, shown(REGION + NEXT, False, True)),
    ]
    yield "deregister/invalidated", given
    yield "deregister/after its windows", [*bound(), step(COMMAND, DEREGISTER, shown(REGION))]


def posted(flags: int, released: int) -> list[Record]:
    """An accepted Send."""
    post = Post(5, 0, flags, 0)
    write = DoorbellRequest(1, 0, 0, 0, 6, TOP - 1, post.encode())
    new = 2 | 1 << 16 | released << 32
    return [write, Trace(2, 3, TraceOp.POST, 0, False, 0, 5 << 8 | flags << 16, 2, new)]


def removal_cases() -> Iterator[tuple[str, list[Record]]]:
    gone = step(REMOVED, qp=0xFFFF)
    up: list[Record] = [state(QpState.CONNECTED)]
    yield "removal/nothing", [gone]
    yield "removal/held post", [*up, *posted(PostFlag.DEFER, 0), gone]
    yield "removal/released post", [*up, *posted(0, 1), gone]
    yield "removal/indicated request", [*up, *posted(0, 1), beat(Post(5), False), gone]
    write = DoorbellRequest(1, 0, 0x40, 0, 6, TOP - 1, 0)
    buffer = Trace(2, 6, 0x58, 0, False, 0, 0, 0, 1)
    yield "removal/buffer available", [write, buffer, gone]
    yield "removal/buffer in flight", [message(False, 0, 0)[0], gone]
    yield "removal/request without an answer", [RequestBeat(3, 0), gone]
    yield "removal/check without a verdict", [asked()[0], gone]
    yield "removal/valid window", [*bound(), gone]
    yield "removal/QP in DISCONNECT_PENDING", [state(QpState.DISCONNECT_PENDING), gone]
    two: list[Record] = [*up, state(QpState.CONNECTED, qp=1), gone]
    yield "removal/two or more QPs connected", two
    for offset, name in ((0, "post"), (0x40, "receive post"), (0x80, "shared receive post")):
        written = DoorbellRequest(6, 0, offset, 0, 6, TOP - 1, 0)
        refused: list[Record] = [gone, written, DoorbellResponse(8, 0, 2, 0x17)]
        yield f"removal/{name} refused", refused
    yield "removal/request refused", [gone, RequestBeat(6, 0), ScatterAnswer(8, 0, 3, 0)]
    yield "removal/check refused", [gone, *asked(code=5)]
    retired = Trace(8, 4, TraceOp.RETIRE, 0, False, 0, 1, 0, 1)
    yield "removal/completion behind it", [gone, retired]
    yield "removal/receive completion behind it", [*created(), gone, *message(False, 0, 1)]
    for code, name in CLEANUP.items():
        yield f"removal/{name} works", [gone, Command(9, 6, code, (0,) * 8, 0, (0,) * 8)]


CASES: dict[str, list[Record]] = {
    **dict(check_cases()),
    **dict(key_cases()),
    **dict(message_cases()),
    **dict(command_cases()),
    **dict(removal_cases()),
}


class TestWindowBins(BinCases):
    params = PARAMS
    cases = CASES
    bins = WINDOW_BINS
    channels = WINDOW_CHANNELS
    stallable = "WINDOW_STALLABLE"
    alike = (("bind/all of its region", "bind/to a region by FastRegister"),)


def test_bins_are_not_hit() -> None:
    """By a stream in which nothing of the kind happens."""
    stream = EngineStream().guards()
    stream.receive()
    stream.whole()
    hits = count_bins(stream.records, PARAMS).keys() & WINDOW_BINS.keys()
    assert [name for name in hits if not name.startswith("command/")] == []


@pytest.mark.parametrize("near", [-3, 3])
def test_far_check_is_no_race(near: int) -> None:
    key = shown(WINDOW + NEXT)
    gone = step(INVALIDATE, 0, key, shown(WINDOW + NEXT, False), cycle=50)
    look = step(CHECK, 0, key, key, cycle=50 + near)
    records: list[Record] = [look, gone] if near < 0 else [gone, look]
    assert not [name for name in count_bins(records, PARAMS) if name.startswith("race/")]


def test_late_invalidation_is_no_race() -> None:
    valid, invalid = shown(WINDOW + NEXT), shown(WINDOW + NEXT, False)
    one = step(INVALIDATE, 0, valid, invalid, cycle=50)
    two = step(INVALIDATE, BITS["peer"] | 4, invalid, invalid, cycle=71)
    assert not [name for name in count_bins([one, two], PARAMS) if name.startswith("race/")]
