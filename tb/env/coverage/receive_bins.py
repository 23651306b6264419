# SPDX-License-Identifier: Apache-2.0
"""The bins of the functional coverage that receives have, and the requirements that each is about.

A name is ``group/case``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final

from models import codes
from models.codes import Cause, Command, CommandResult, QpState, RecvFlag

#: Results that a command of receiving can have, OK apart.
RECEIVE_RESULTS: Final[dict[str, tuple[str, ...]]] = {
    "CREATE_SRQ": ("BAD_OBJECT", "EXISTS", "BAD_SIZE", "BAD_PAGE"),
    "RESIZE_SRQ": ("RESERVED", "BAD_OBJECT", "NO_OBJECT", "BAD_SIZE", "TOO_SMALL"),
    "SET_SRQ_WATERMARK": ("RESERVED", "BAD_OBJECT", "NO_OBJECT", "BAD_SIZE", "BUSY"),
    "QUERY_SRQ": ("BAD_OBJECT", "NO_OBJECT"),
    "DESTROY_SRQ": ("BAD_OBJECT", "NO_OBJECT", "IN_USE", "BUSY"),
    "REGISTER_MR": ("RESERVED", "BAD_OBJECT", "EXISTS", "BAD_FLAG", "BAD_RANGE", "NO_KEYS"),
    "DEREGISTER_MR": ("BAD_OBJECT", "NO_OBJECT"),
    "QUERY_MR": ("BAD_OBJECT", "NO_OBJECT"),
}

#: Results that receives add to CREATE_QP.
_CREATE_QP: Final = ("RESERVED", "NO_SRQ", "BAD_FLAG")

#: Bins of these commands, by code and result.
RECEIVE_COMMAND_BINS: Final[dict[tuple[int, int], str]] = {
    (int(Command[name]), int(CommandResult[word if word == "OK" else f"CMD_{word}"])): (
        f"command/{name} {word}"
    )
    for name, refusals in RECEIVE_RESULTS.items()
    for word in ("OK", *refusals)
} | {
    (int(Command.CREATE_QP), int(CommandResult[f"CMD_{word}"])): f"command/CREATE_QP {word}"
    for word in _CREATE_QP
}

_OWN_ONLY: Final = ("BAD_QP", "NO_QP", "BAD_STATE", "CQ_ERROR", "NO_CREDIT")
_SRQ_ONLY: Final = ("BAD_SRQ", "NO_SRQ")

#: Causes of a post to each portal.
RECEIVE_CAUSES: Final[dict[str, tuple[Cause, ...]]] = {
    "own": tuple(c for c in codes.RECEIVE_CAUSES if c.name not in (*_SRQ_ONLY, "BAD_OFFSET")),
    "shared": tuple(c for c in codes.RECEIVE_CAUSES if c.name not in (*_OWN_ONLY, "BAD_OFFSET")),
}

REAP_CAUSES: Final = tuple(c for c in codes.REAP_CAUSES if c is not Cause.BAD_OFFSET)

#: States in which a request is refused.
CLOSED: Final = tuple(
    s for s in QpState if s not in (QpState.CONNECTED, QpState.DISCONNECT_PENDING)
)

#: Channels of the receive path that can stall.
RECEIVE_CHANNELS: Final = ("RREQ", "SCATTER", "RDONE")

ARMS: Final = ("ANY", "SOLICITED", "not")
COUNTS: Final = ("0", "1", "2 or more")
REASONS: Final = ("command", "event", "report")

_FIXED: Final[dict[str, tuple[str, ...]]] = {
    "mr/key of an earlier registration": ("SRQ-15",),
    "mr/key of a region that is gone": ("SRQ-15",),
    "mr/key that nobody was given": ("SRQ-15",),
    "mr/segment without bytes is not checked": ("SRQ-15",),
    "mr/second segment fails": ("SRQ-15",),
    "mr/buffer outlives its region": ("SRQ-15",),
    "scatter/empty message": ("SRQ-03",),
    "scatter/buffer without segments": ("SRQ-01",),
    "scatter/ends with segment 1": ("SRQ-03",),
    "scatter/ends with segment 2": ("SRQ-03",),
    "scatter/ends with segment 3": ("SRQ-03",),
    "scatter/partial in segment 1": ("SRQ-03",),
    "scatter/partial in segment 2": ("SRQ-03",),
    "scatter/partial in segment 3": ("SRQ-03",),
    "scatter/zero-length segment in the middle": ("SRQ-03",),
    "scatter/fills the buffer": ("SRQ-03",),
    "scatter/one byte too many": ("SRQ-18",),
    "scatter/does not fit into a buffer without segments": ("SRQ-01", "SRQ-18"),
    "not ready/empty, own": ("SRQ-18", "SRQ-19"),
    "not ready/empty, SRQ": ("SRQ-18",),
    "not ready/in flight, own": ("SRQ-18", "SRQ-19"),
    "not ready/in flight, SRQ": ("SRQ-18",),
    "not ready/no credit": ("CQ-17",),
    "not ready/CQ in error": ("CQ-17",),
    "not ready/the next message takes": ("SRQ-18",),
    "refused/malformed": ("ISO-03",),
    "message/in DISCONNECT_PENDING": ("SRQ-13",),
    "message/behind a length error": ("SRQ-18",),
    "message/invalidate": ("SRQ-05",),
    "unsignalled/armed ANY": ("SRQ-07",),
    "unsignalled/armed SOLICITED": ("SRQ-07",),
    "unsignalled/not armed": ("SRQ-07",),
    "unsignalled/beside one that signals": ("SRQ-07",),
    "flag/failed receive under SOLICITED_WAIT": ("SRQ-07",),
    "watermark/on a take": ("SRQ-16",),
    "watermark/at once": ("SRQ-16",),
    "watermark/T = 0": ("SRQ-16",),
    "watermark/T = 0 while armed": ("SRQ-16",),
    "watermark/again": ("SRQ-16",),
    "watermark/changed while armed": ("SRQ-16",),
    "watermark/take that leaves T": ("SRQ-16",),
    "watermark/vector of an EQ": ("SRQ-16", "CQ-16"),
    "watermark/of two SRQs at once": ("SRQ-16",),
    "srq/taken by another QP": ("SRQ-02",),
    "srq/taken by a QP with another CQ": ("SRQ-02", "SRQ-05"),
    "srq/post while nobody uses it": ("SRQ-12",),
    "srq/destroyed with buffers": ("SRQ-17",),
    "srq/created again": ("SRQ-17",),
    "srq resize/up": ("SRQ-17",),
    "srq resize/down": ("SRQ-17",),
    "srq resize/to what is outstanding": ("SRQ-17",),
    "srq resize/with buffers in flight": ("SRQ-17",),
    "reap/nothing": ("SRQ-17",),
    "reap/one": ("SRQ-17",),
    "reap/several": ("SRQ-17",),
    "reap/makes room in a full SRQ": ("SRQ-17",),
    "same cycle/post and take, empty SRQ": ("SRQ-09", "SRQ-18"),
    "same cycle/post and take, full SRQ": ("SRQ-09", "SRQ-17"),
    "same cycle/post and take, SRQ": ("SRQ-09",),
    "same cycle/post and take, own": ("SRQ-09", "SRQ-19"),
    "same cycle/reap and take": ("SRQ-17",),
    "same cycle/take and completion of one QP": ("SRQ-10",),
    "same cycle/take and change of state": ("SRQ-13",),
    "receive report/success": ("SRQ-10",),
    "receive report/canceled": ("SRQ-14",),
    "receive report/failed": ("SRQ-18",),
    "receive report/of a length error, success": ("SRQ-18",),
    "receive report/of a length error, other": ("SRQ-18",),
    "receive report/behind the connection": ("SRQ-14",),
    "receive report/fully received behind the connection": ("SRQ-14",),
    "receive report/malformed": ("ISO-03",),
    "receive report/nothing in flight": ("ISO-03",),
    "receive report/out of order": ("ISO-03",),
    "receive report/two QPs in another order": ("SRQ-10",),
    "receive/behind a failed one": ("SRQ-10",),
    "receive/context 0": ("SRQ-04",),
    "receive/context twice": ("SRQ-04",),
    "receive index/tag wraps": ("SRQ-10", "ISO-03"),
    "receive index/SRQ tail wraps": ("SRQ-17",),
    "receive index/tag goes on after re-creation": ("ISO-03",),
}


def _cause_of(name: str) -> tuple[str, ...]:
    if name == "NOT_OWNER":
        return ("ISO-01", "SRQ-15")
    if name in ("CQ_ERROR", "NO_CREDIT"):
        return ("CQ-17", "SRQ-15")
    return ("ISO-02",) if name in ("BURST", "BAD_SIZE", "BAD_PAGE") else ("SRQ-15",)


def _generated() -> Iterator[tuple[str, tuple[str, ...]]]:
    for kind, causes in RECEIVE_CAUSES.items():
        for cause in causes:
            yield f"receive cause/{kind}, {cause.name}", _cause_of(cause.name)
        for number in range(4):
            yield f"segments/{kind}, {number}", ("SRQ-01" if number == 0 else "SRQ-03",)
    for reap in REAP_CAUSES:
        owner = reap is Cause.NOT_OWNER
        yield f"reap cause/{reap.name}", ("ISO-01" if owner else "SRQ-17",)
    for kind, name in product(("own", "SRQ"), ("SCATTER", "NOT_READY", "LENGTH_ERROR", "REFUSED")):
        yield f"answer/{name}, {kind}", ("SRQ-13" if name == "REFUSED" else "SRQ-18",)
    for closed in CLOSED:
        yield f"refused/{closed.name}", ("SRQ-13",)
    for state in QpState:
        yield f"receive post in state/{state.name}", ("SRQ-19",)
    for flag, solicited, arm in product(RecvFlag, ("solicited", "plain"), ARMS):
        yield f"flag/{flag.name}, {solicited}, {arm} armed", ("SRQ-07",)
    for reason, count, kind in product(REASONS, COUNTS, ("own", "SRQ")):
        yield f"disconnect/{reason}, {count} in flight, {kind}", ("SRQ-14",)
    for count in COUNTS:
        yield f"flush/{count} available", ("SRQ-14", "SRQ-19")
    for channel in RECEIVE_CHANNELS:
        yield f"stall/{channel}", ("SRQ-09" if channel == "SCATTER" else "ISO-04",)
    yield "flush/waits for a report", ("SRQ-14", "SRQ-10")
    for name in RECEIVE_COMMAND_BINS.values():
        yield name, ("SRQ-16" if "WATERMARK" in name else "SRQ-17" if "SRQ" in name else "ISO-02",)


#: Requirements of each bin.
RECEIVE_BINS: Final[dict[str, tuple[str, ...]]] = {**_FIXED, **dict(_generated())}
