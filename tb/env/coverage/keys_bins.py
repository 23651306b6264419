# SPDX-License-Identifier: Apache-2.0
"""The bins of the functional coverage that keys, checks and device removal have, and the
requirements that each is about.

A name is ``group/case``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final

from models.codes import Access, Command, CommandResult, QpState, Verdict
from models.host import control
from models.keys.window_control import REMOVED_COMMANDS
from models.verbs import VERBS
from tb.env.coverage.named_bins import Bins, command_bins, listed
from tb.env.defs import CHECK

#: Results that a command of keys can have, OK apart.
WINDOW_RESULTS: Final = {
    "ALLOC_MR": "RESERVED BAD_OBJECT EXISTS NO_KEYS",
    "CREATE_MW": "RESERVED BAD_OBJECT EXISTS NO_KEYS",
    "CLOSE_MW": "BAD_OBJECT NO_OBJECT",
    "QUERY_MW": "BAD_OBJECT NO_OBJECT",
    "REMOVE_DEVICE": "",
}

#: Bins of these commands, by code and result.
WINDOW_COMMAND_BINS: Final[dict[tuple[int, int], str]] = {
    **command_bins(WINDOW_RESULTS),
    **command_bins({"DEREGISTER_MR": "BUSY", "DESTROY_QP": "IN_USE"}, ok=False),
    **{
        (int(code), int(CommandResult.CMD_DEVICE_REMOVED)): f"removed command/{Command(code).name}"
        for code in sorted(REMOVED_COMMANDS | control.REMOVED_COMMANDS)
    },
}

#: Commands that a removed device executes, and what they are for.
CLEANUP: Final = {
    int(code): code.name
    for code in (
        *(Command.DESTROY_CQ, Command.DESTROY_EQ, Command.DESTROY_QP),
        *(Command.FLUSH_QP, Command.SET_QP_STATE, Command.DESTROY_SRQ),
        *(Command.DEREGISTER_MR, Command.CLOSE_MW, Command.QUERY_MW),
    )
}

#: Channels of the checks that can stall.
WINDOW_CHANNELS: Final = ("CHECK", "VERDICT")

OBJECTS: Final = ("region", "window")
KINDS: Final = {int(kind): kind.name.lower() for kind in Access}
#: What the field can hold besides.
BAD_KINDS: Final = tuple(n for n in range(1 << CHECK["kind"].width) if n not in KINDS)
WAYS: Final = ("request", "peer", "Read")
RIGHTS: Final = {0: "nothing", 2: "read", 4: "write", 6: "read and write"}
STATUSES: Final = {verb.name: verb.statuses for verb in VERBS.values() if verb.statuses}
EDGES: Final = (
    *("first byte", "last byte", "all bytes", "one before", "one beyond", "far away"),
    *("wraps", "length 0 inside", "length 0 outside", "ends at 2^64"),
)
INVALID: Final = ("of another QP", "invalid", "old key")
CLOSED: Final = tuple(
    s.name for s in QpState if s not in (QpState.CONNECTED, QpState.DISCONNECT_PENDING)
)
NEAR: Final = {
    -2: "2 cycles before",
    -1: "1 cycle before",
    0: "in the cycle of",
    1: "1 cycle behind",
    2: "2 cycles behind",
}
#: Local and peer invalidation of one key are a race within so many cycles.
RACE: Final = 20
TOKENS: Final = ("SCATTER", "NOT_READY", "LENGTH_ERROR", "REFUSED", "BAD_TOKEN")
WORK: Final = (
    *("nothing", "held post", "released post", "indicated request", "buffer available"),
    *("buffer in flight", "request without an answer", "check without a verdict"),
    *("valid window", "QP in DISCONNECT_PENDING", "two or more QPs connected"),
)

_FIXED: Final = listed("""
request (DF-11, DF-12): skipped, of keys
request (DF-12, DF-13): behind a fence
request (DF-12): two of one QP in a row
bind (MW-03): another QP than before | the same QP as before
bind (MW-11): two windows of one region
bind (MW-02, MW-11): to a region by FastRegister
bind (MW-02): all of its region | one byte
bind memory (MW-02): no segment | length 0 | key not valid | one byte before | one byte beyond
bind memory (MW-02): write without local write
invalidate (MW-12): region by a command
invalidate (MW-11): region with windows
right (MW-02, MW-10): window has it, region has not | region has it, window has not
check (MW-10): refused, not guarded | refused, QP out of range | refused, reserved bits
check (MW-10): in DISCONNECT_PENDING | 0 bytes, key not valid | 0 bytes, of another QP
check (MW-10): 0 bytes, right missing | closed window | region of another zone
check (MW-10): behind a refused one
check (MW-10, MW-11): old key of a valid window | old key of a valid region
close (MW-01): never bound | invalidated | created again
close (MW-01, MW-10): valid
deregister (MW-11): by a command | never valid | valid by FastRegister | invalidated
deregister (MW-11): after its windows
answer (MW-12): BAD_TOKEN, own | BAD_TOKEN, SRQ
token (CQ-02): of a QP that is not guarded
completion (MW-07, CQ-17): two, no token
completion (MW-08): context 0
removal (MW-09): post refused | receive post refused | shared receive post refused | request refused
removal (MW-09): check refused | completion behind it | receive completion behind it
""")


def _generated() -> Iterator[tuple[str, tuple[str, ...]]]:
    for verb, statuses in STATUSES.items():
        rule = {"Bind": "MW-02", "FastRegister": "MW-11"}.get(verb, "MW-05")
        for status in statuses:
            yield f"request/{verb}, {status.name}", (rule, "DF-12")
    for code, kind, thing in product(Verdict, KINDS.values(), OBJECTS):
        if code is not Verdict.REFUSED:
            yield f"verdict/{code.name}, {kind}, {thing}", ("MW-10",)
    for kind in KINDS.values():
        yield f"verdict/REFUSED, {kind}", ("MW-10",)
    for malformed in BAD_KINDS:
        yield f"check/refused, kind {malformed}", ("MW-10",)
    for state in CLOSED:
        yield f"check/refused, {state}", ("MW-10",)
    for edge, thing in product(EDGES, OBJECTS):
        yield f"range/{edge}, {thing}", ("MW-10",)
    for thing, rights, kind in product(OBJECTS, RIGHTS.values(), KINDS.values()):
        yield f"right/{thing} allows {rights}, {kind}", ("MW-02", "MW-10")
    for way, thing in product(WAYS, OBJECTS):
        yield f"invalidate/{way}, {thing}, valid", ("MW-03", "MW-05", "MW-12")
        for why in INVALID:
            yield f"invalidate/{way}, {thing}, {why}", ("CQ-05", "MW-05", "MW-12")
    for way in WAYS:
        yield f"invalidate/{way}, no object", ("CQ-05", "MW-12")
    for first, second, thing in (
        *(("request", "peer", t) for t in OBJECTS),
        *(("peer", "request", t) for t in OBJECTS),
        *(("Read", "peer", "region"), ("peer", "Read", "region")),
    ):
        yield f"race/{first} then {second}, {thing}", ("MW-05",)
    for near, way in product(NEAR.values(), WAYS):
        yield f"race/check {near} invalidation by {way}", ("CQ-03", "MW-10")
    for token in TOKENS:
        yield f"token/{token}", ("MW-12", "CQ-03")
    for mode, queue, mark, good in product(
        ("one", "two"), ("own", "SRQ"), ("solicited", "plain"), ("valid", "bad token")
    ):
        yield f"completion/{mode}, {queue}, {mark}, {good}", ("MW-07", "MW-08", "CQ-02", "CQ-04")
    for work in WORK:
        yield f"removal/{work}", ("MW-09",)
    for name in CLEANUP.values():
        yield f"removal/{name} works", ("MW-09",)
    for channel in WINDOW_CHANNELS:
        yield f"stall/{channel}", ("MW-10", "ISO-04")
    for name in WINDOW_COMMAND_BINS.values():
        yield name, ("MW-09" if "removed" in name else "MW-11" if "MR" in name else "MW-01",)


#: Requirements of each bin.
WINDOW_BINS: Final[Bins] = {**_FIXED, **dict(_generated())}
