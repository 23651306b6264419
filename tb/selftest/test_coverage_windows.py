# SPDX-License-Identifier: Apache-2.0
"""Every bin of keys can be hit, by what it says, and is not hit by nothing."""

from __future__ import annotations

from itertools import chain, product

import pytest

from models import codes
from models.codes import ALLOW_REMOTE_WRITE, PostFlag, QpState, ScatterCode, TraceOp, Verdict
from models.keys.window_types import CheckRequest
from models.post.post import Post, Segment, slots_of
from models.receive.receive_types import RecvRequest
from tb.env.coverage import keys_bins
from tb.env.harness import records as rec
from tb.env.harness.records import RecvRequest as RequestBeat
from tb.selftest.bin_cases import (
    BinCases,
    Cases,
    Records,
    command_cases,
    count_bins,
    created,
    receives,
    state,
    take,
)
from tb.selftest.engine_streams import PARAMS, EngineStream

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
) -> rec.Trace:
    return rec.Trace(cycle, 9 if op == CHECK else 8, op, qp, False, 0, operand, old, new)


def beat(post: Post, local: bool = True) -> rec.WorkBeat:
    return rec.WorkBeat(6, post.qp, True, local << 56, post.encode())


def bind_post(
    address: int = BASE, length: int = LENGTH, flags: int = 8, key: int = REGION, segments: int = 1
) -> Post:
    slots = slots_of([Segment(address, length, key)], Segment(0, 0, WINDOW))
    return Post(1, segments, flags, 0, slots=slots)


def registered(
    base: int = BASE, length: int = LENGTH, rights: int = 7, key: int = REGION
) -> Records:
    """REGISTER_MR."""
    low = (1 << 32) - 1
    args = (key & 0x7FF, base & low, base >> 32, length & low, length >> 32, rights << 16, 0, 0)
    made = step(COMMAND, codes.Command.REGISTER_MR, 0, shown(key, rights=rights), 0xFFFF)
    return [made, rec.Command(5, 1, codes.Command.REGISTER_MR, args, 0, (key, *(0,) * 7))]


def bound(
    base: int = BASE, length: int = LENGTH, rights: int = 6, region: int = 7, qp: int = 0
) -> Records:
    """A window is bound to a region; a little of it unless all is asked for."""
    old, new = shown(WINDOW, False), shown(WINDOW + NEXT, rights=rights, qp=qp)
    post = bind_post(base, length)
    made = step(BIND, 0, old, new, qp)
    beat_ = rec.WorkBeat(6, qp, True, 1 << 56, post.encode())
    return [*registered(0, TOP, region), made, beat_]


def memory(thing: str, base: int = BASE, length: int = LENGTH, rights: int = 6) -> Records:
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
) -> Records:
    """A check and its verdict."""
    request = CheckRequest(qp, kind, key, address, length, reserved)
    return [rec.AccessCheck(7, request.encode()), rec.AccessVerdict(8, qp | code << 16)]


def edge(name: str, thing: str) -> Records:
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


def check_cases() -> Cases:
    for code, (kind, word), thing in product(Verdict, keys_bins.KINDS.items(), keys_bins.OBJECTS):
        if code is not Verdict.REFUSED:
            yield f"verdict/{code.name}, {word}, {thing}", asked(KEYS[thing], code, kind)
    for kind, word in keys_bins.KINDS.items():
        yield f"verdict/REFUSED, {word}", asked(kind=kind, code=5)
    for name in keys_bins.CLOSED:
        yield f"check/refused, {name}", [state(0, QpState[name]), *asked(code=5)]
    connected: Records = [state(0, QpState.CONNECTED)]
    yield "check/refused, not guarded", [*created(), *connected, *asked(code=5)]
    yield "check/refused, QP out of range", asked(code=5, qp=9)
    for kind in keys_bins.BAD_KINDS:
        yield f"check/refused, kind {kind}", asked(code=5, kind=kind)
    yield "check/refused, reserved bits", asked(code=5, reserved=1 << 20)
    yield "check/0 bytes, key not valid", asked(length=0)
    window = WINDOW + NEXT
    yield "check/0 bytes, of another QP", [*bound(), *asked(window, length=0, qp=1)]
    yield "check/0 bytes, right missing", [*bound(rights=4), *asked(window, length=0)]
    yield "check/in DISCONNECT_PENDING", [state(0, QpState.DISCONNECT_PENDING), *asked()]
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
    for name, thing in product(keys_bins.EDGES, keys_bins.OBJECTS):
        yield f"range/{name}, {thing}", edge(name, thing)
    for thing, (rights, words), (kind, word) in product(
        keys_bins.OBJECTS, keys_bins.RIGHTS.items(), keys_bins.KINDS.items()
    ):
        code = Verdict.GRANTED if rights & 2 * kind else Verdict.NO_RIGHT
        records = [*memory(thing, rights=rights), *asked(KEYS[thing], code, kind)]
        yield f"right/{thing} allows {words}, {word}", records
    window = WINDOW + NEXT
    yield "right/window has it, region has not", [*bound(rights=2, region=1), *asked(window)]
    yield "right/region has it, window has not", [*bound(rights=4), *asked(window, 3)]
    for (near, words), way in product(keys_bins.NEAR.items(), keys_bins.WAYS):
        gone = step(INVALIDATE, BITS[way], shown(window), shown(window, False), cycle=50)
        look = step(CHECK, 0, shown(window), shown(window), cycle=50 + near)
        both: Records = [look, gone] if near <= 0 else [gone, look]
        yield f"race/check {words} invalidation by {way}", both


def key_cases() -> Cases:
    for verb, statuses in keys_bins.STATUSES.items():
        op = {"Bind": BIND, "FastRegister": FAST}.get(verb, INVALIDATE)
        bits = BITS["Read"] if verb == "Read" else 0
        for status in statuses:
            yield f"request/{verb}, {status.name}", [step(op, bits | status)]
    local: Records = [step(BIND), step(BIND)]
    yield "request/two of one QP in a row", local
    fenced = bind_post(flags=PostFlag.READ_FENCE)
    yield "request/behind a fence", [step(BIND), beat(fenced)]
    write = rec.DoorbellRequest(1, 0, 0, 0, 6, TOP - 1, bind_post().encode())
    posted = rec.Trace(2, 3, TraceOp.POST, 0, False, 0, 0x0100 | 8 << 16, 2, 2 | 1 << 16 | 1 << 32)
    skipped = rec.Trace(3, 4, TraceOp.RETIRE, 0, False, 0, 0x201, 0, 1)
    yield "request/skipped, of keys", [state(0, 2), write, posted, skipped]
    for way, thing in product(keys_bins.WAYS, keys_bins.OBJECTS):
        bits, key = BITS[way], KEYS[thing]
        allocated = thing == "region"
        valid, invalid = shown(key, True, allocated), shown(key, False, allocated)
        name = f"invalidate/{way}, {thing}"
        yield f"{name}, valid", [step(INVALIDATE, bits, valid, invalid)]
        states = {"of another QP": (valid, 1), "invalid": (invalid, 0), "old key": (valid, 0)}
        for why in keys_bins.INVALID:
            now, qp = states[why]
            yield f"{name}, {why}", [step(INVALIDATE, bits | 4, now, now, qp)]
    for way in keys_bins.WAYS:
        yield f"invalidate/{way}, no object", [step(INVALIDATE, BITS[way] | 4)]
    plain, busy = shown(REGION), shown(REGION, True, True, 1)
    yield "invalidate/region by a command", [step(INVALIDATE, 4, plain, plain)]
    yield "invalidate/region with windows", [step(INVALIDATE, 4, busy, busy)]
    for name in (
        bin_ for bin_ in keys_bins.WINDOW_BINS if bin_.startswith("race/") and " then " in bin_
    ):
        ways, thing = name[5:].split(", ")
        first, second = ways.split(" then ")
        key, allocated = KEYS[thing], thing == "region"
        valid, invalid = shown(key, True, allocated), shown(key, False, allocated)
        one = step(INVALIDATE, BITS[first], valid, invalid, cycle=50)
        two = step(INVALIDATE, BITS[second] | 4, invalid, invalid, cycle=70)
        yield name, [one, two]
    yield from bind_cases()


def bind_cases() -> Cases:
    old = shown(WINDOW + NEXT, False)
    again: Records = [step(BIND, 0, old, shown(WINDOW + 2 * NEXT)), beat(bind_post())]
    yield "bind/the same QP as before", [*bound(), *again]
    yield "bind/another QP than before", [*bound(qp=1), *again]
    other: Records = [step(BIND, 0, 0, shown(WINDOW + 1 + NEXT)), beat(bind_post())]
    yield "bind/two windows of one region", [*bound(), *other]
    fast = shown(REGION + NEXT, True, True)
    given: Records = [
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
) -> Records:
    """A message from its take to its completion."""
    request = RecvRequest(0, 0, solicited, invalidate, token)
    return [
        take(0),
        RequestBeat(3, request.encode()),
        rec.ScatterAnswer(4, 0, code, 0),
        receives(status),
    ]


def message_cases() -> Cases:
    for two, srq, solicited, bad in product((False, True), (None, 0), (True, False), (False, True)):
        words = "two" if two else "one", "own" if srq is None else "SRQ"
        marks = "solicited" if solicited else "plain", "bad token" if bad else "valid"
        code, status = (4, 4) if bad else (0, 0)
        records = created(guarded=True, srq=srq, two=two)
        records += message(True, code, status, solicited, WINDOW)
        yield f"completion/{', '.join((*words, *marks))}", records
    yield "completion/two, no token", [*created(guarded=True, two=True), *message(False, 0, 0)]
    made = rec.Command(1, 1, CREATE, (0,) * 8, 0, (WINDOW, *(0,) * 7))
    ends = [*created(guarded=True, two=True), *message(True, 0, 0, token=WINDOW)]
    yield "completion/context 0", [made, *ends]
    for token in keys_bins.TOKENS:
        yield f"token/{token}", [*created(guarded=True), *message(True, ScatterCode[token], 0)[1:3]]
    yield "token/of a QP that is not guarded", [*created(), *message(True, 0, 0)]
    for srq, queue in ((None, "own"), (0, "SRQ")):
        yield f"answer/BAD_TOKEN, {queue}", [*created(guarded=True, srq=srq), *message(True, 4, 4)]


def life_cases() -> Cases:
    yield from command_cases(keys_bins.WINDOW_COMMAND_BINS)
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
    given: Records = [
        step(FAST, 0, shown(REGION, False, True), fast),
        beat(Post(2, 1, 0, 0, slots=slots_of([Segment(BASE, LENGTH, 0)]))),
        step(COMMAND, DEREGISTER, shown(REGION + NEXT, False, True)),
    ]
    yield "deregister/invalidated", given
    yield "deregister/after its windows", [*bound(), step(COMMAND, DEREGISTER, shown(REGION))]


def posted(flags: int, released: int) -> Records:
    """An accepted Send."""
    post = Post(5, 0, flags, 0)
    write = rec.DoorbellRequest(1, 0, 0, 0, 6, TOP - 1, post.encode())
    new = 2 | 1 << 16 | released << 32
    return [write, rec.Trace(2, 3, TraceOp.POST, 0, False, 0, 5 << 8 | flags << 16, 2, new)]


def removal_cases() -> Cases:
    gone = step(REMOVED, qp=0xFFFF)
    up: Records = [state(0, QpState.CONNECTED)]
    yield "removal/nothing", [gone]
    yield "removal/held post", [*up, *posted(PostFlag.DEFER, 0), gone]
    yield "removal/released post", [*up, *posted(0, 1), gone]
    yield "removal/indicated request", [*up, *posted(0, 1), beat(Post(5), False), gone]
    write = rec.DoorbellRequest(1, 0, 0x40, 0, 6, TOP - 1, 0)
    buffer = rec.Trace(2, 6, 0x58, 0, False, 0, 0, 0, 1)
    yield "removal/buffer available", [write, buffer, gone]
    yield "removal/buffer in flight", [message(False, 0, 0)[0], gone]
    yield "removal/request without an answer", [RequestBeat(3, 0), gone]
    yield "removal/check without a verdict", [asked()[0], gone]
    yield "removal/valid window", [*bound(), gone]
    yield "removal/QP in DISCONNECT_PENDING", [state(0, QpState.DISCONNECT_PENDING), gone]
    two: Records = [*up, state(0, QpState.CONNECTED, qp=1), gone]
    yield "removal/two or more QPs connected", two
    for offset, name in ((0, "post"), (0x40, "receive post"), (0x80, "shared receive post")):
        written = rec.DoorbellRequest(6, 0, offset, 0, 6, TOP - 1, 0)
        refused: Records = [gone, written, rec.DoorbellResponse(8, 0, 2, 0x17)]
        yield f"removal/{name} refused", refused
    yield "removal/request refused", [gone, RequestBeat(6, 0), rec.ScatterAnswer(8, 0, 3, 0)]
    yield "removal/check refused", [gone, *asked(code=5)]
    retired = rec.Trace(8, 4, TraceOp.RETIRE, 0, False, 0, 1, 0, 1)
    yield "removal/completion behind it", [gone, retired]
    yield (
        "removal/receive completion behind it",
        [*created(guarded=True), gone, *message(False, 0, 1)],
    )
    for code, name in keys_bins.CLEANUP.items():
        yield f"removal/{name} works", [gone, rec.Command(9, 6, code, (0,) * 8, 0, (0,) * 8)]


CASES = dict(chain(check_cases(), key_cases(), message_cases(), life_cases(), removal_cases()))


class TestWindowBins(BinCases):
    params = PARAMS
    cases = CASES
    bins = keys_bins.WINDOW_BINS
    channels = keys_bins.WINDOW_CHANNELS
    stallable = "WINDOW_STALLABLE"
    alike = (("bind/all of its region", "bind/to a region by FastRegister"),)


def test_bins_are_not_hit() -> None:
    """By a stream in which nothing of the kind happens."""
    stream = EngineStream().guards()
    stream.receive()
    stream.whole()
    hits = count_bins(stream.records, PARAMS).keys() & keys_bins.WINDOW_BINS.keys()
    assert [name for name in hits if not name.startswith("command/")] == []


@pytest.mark.parametrize("near", [-3, 3])
def test_far_check_is_no_race(near: int) -> None:
    key = shown(WINDOW + NEXT)
    gone = step(INVALIDATE, 0, key, shown(WINDOW + NEXT, False), cycle=50)
    look = step(CHECK, 0, key, key, cycle=50 + near)
    records: Records = [look, gone] if near < 0 else [gone, look]
    assert not [name for name in count_bins(records, PARAMS) if name.startswith("race/")]


def test_late_invalidation_is_no_race() -> None:
    valid, invalid = shown(WINDOW + NEXT), shown(WINDOW + NEXT, False)
    one = step(INVALIDATE, 0, valid, invalid, cycle=50)
    two = step(INVALIDATE, BITS["peer"] | 4, invalid, invalid, cycle=71)
    assert not [name for name in count_bins([one, two], PARAMS) if name.startswith("race/")]
