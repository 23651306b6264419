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
from tb.env.defs import CHECK

#: Results that a command of keys can have, OK apart.
WINDOW_RESULTS: Final[dict[str, tuple[str, ...]]] = {
    "ALLOC_MR": ("RESERVED", "BAD_OBJECT", "EXISTS", "NO_KEYS"),
    "CREATE_MW": ("RESERVED", "BAD_OBJECT", "EXISTS", "NO_KEYS"),
    "CLOSE_MW": ("BAD_OBJECT", "NO_OBJECT"),
    "QUERY_MW": ("BAD_OBJECT", "NO_OBJECT"),
    "REMOVE_DEVICE": (),
}


def _name(code: int) -> str:
    """Name of a command."""
    for codes in (Command, Command, Command, Command):
        if code in set(codes):
            return codes(code).name
    return f"{code:#x}"


#: Bins of these commands, by code and result.
WINDOW_COMMAND_BINS: Final[dict[tuple[int, int], str]] = {
    (int(Command[name]), int(CommandResult[word if word == "OK" else f"CMD_{word}"])): (
        f"command/{name} {word}"
    )
    for name, refusals in WINDOW_RESULTS.items()
    for word in ("OK", *refusals)
} | {
    (int(Command.DEREGISTER_MR), int(CommandResult.CMD_BUSY)): "command/DEREGISTER_MR BUSY",
    (int(Command.DESTROY_QP), int(CommandResult.CMD_IN_USE)): "command/DESTROY_QP IN_USE",
    **{
        (int(code), int(CommandResult.CMD_DEVICE_REMOVED)): f"removed command/{_name(code)}"
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

_FIXED: Final[dict[str, tuple[str, ...]]] = {
    "request/skipped, of keys": ("DF-11", "DF-12"),
    "request/behind a fence": ("DF-12", "DF-13"),
    "request/two of one QP in a row": ("DF-12",),
    "bind/another QP than before": ("MW-03",),
    "bind/the same QP as before": ("MW-03",),
    "bind/two windows of one region": ("MW-11",),
    "bind/to a region by FastRegister": ("MW-02", "MW-11"),
    "bind/all of its region": ("MW-02",),
    "bind/one byte": ("MW-02",),
    "bind memory/no segment": ("MW-02",),
    "bind memory/length 0": ("MW-02",),
    "bind memory/key not valid": ("MW-02",),
    "bind memory/one byte before": ("MW-02",),
    "bind memory/one byte beyond": ("MW-02",),
    "bind memory/write without local write": ("MW-02",),
    "invalidate/region by a command": ("MW-12",),
    "invalidate/region with windows": ("MW-11",),
    "right/window has it, region has not": ("MW-02", "MW-10"),
    "right/region has it, window has not": ("MW-02", "MW-10"),
    "check/refused, not guarded": ("MW-10",),
    "check/refused, QP out of range": ("MW-10",),
    "check/refused, reserved bits": ("MW-10",),
    "check/in DISCONNECT_PENDING": ("MW-10",),
    "check/0 bytes, key not valid": ("MW-10",),
    "check/0 bytes, of another QP": ("MW-10",),
    "check/0 bytes, right missing": ("MW-10",),
    "check/old key of a valid window": ("MW-10", "MW-11"),
    "check/old key of a valid region": ("MW-10", "MW-11"),
    "check/closed window": ("MW-10",),
    "check/region of another zone": ("MW-10",),
    "check/behind a refused one": ("MW-10",),
    "close/never bound": ("MW-01",),
    "close/valid": ("MW-01", "MW-10"),
    "close/invalidated": ("MW-01",),
    "close/created again": ("MW-01",),
    "deregister/by a command": ("MW-11",),
    "deregister/never valid": ("MW-11",),
    "deregister/valid by FastRegister": ("MW-11",),
    "deregister/invalidated": ("MW-11",),
    "deregister/after its windows": ("MW-11",),
    "answer/BAD_TOKEN, own": ("MW-12",),
    "answer/BAD_TOKEN, SRQ": ("MW-12",),
    "token/of a QP that is not guarded": ("CQ-02",),
    "completion/two, no token": ("MW-07", "CQ-17"),
    "completion/context 0": ("MW-08",),
    "removal/post refused": ("MW-09",),
    "removal/receive post refused": ("MW-09",),
    "removal/shared receive post refused": ("MW-09",),
    "removal/request refused": ("MW-09",),
    "removal/check refused": ("MW-09",),
    "removal/completion behind it": ("MW-09",),
    "removal/receive completion behind it": ("MW-09",),
}


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
WINDOW_BINS: Final[dict[str, tuple[str, ...]]] = {**_FIXED, **dict(_generated())}
