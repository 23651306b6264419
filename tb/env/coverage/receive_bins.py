# SPDX-License-Identifier: Apache-2.0
"""The bins of the functional coverage that receives have, and the requirements that each is about.

A name is ``group/case``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final

from models import codes
from models.codes import Cause, QpState, RecvFlag
from tb.env.coverage.named_bins import Bins, command_bins, listed

#: Results that a command of receiving can have, OK apart.
RECEIVE_RESULTS: Final = {
    "CREATE_SRQ": "BAD_OBJECT EXISTS BAD_SIZE BAD_PAGE",
    "RESIZE_SRQ": "RESERVED BAD_OBJECT NO_OBJECT BAD_SIZE TOO_SMALL",
    "SET_SRQ_WATERMARK": "RESERVED BAD_OBJECT NO_OBJECT BAD_SIZE BUSY",
    "QUERY_SRQ": "BAD_OBJECT NO_OBJECT",
    "DESTROY_SRQ": "BAD_OBJECT NO_OBJECT IN_USE BUSY",
    "REGISTER_MR": "RESERVED BAD_OBJECT EXISTS BAD_FLAG BAD_RANGE NO_KEYS",
    "DEREGISTER_MR": "BAD_OBJECT NO_OBJECT",
    "QUERY_MR": "BAD_OBJECT NO_OBJECT",
}

#: Bins of these commands, by code and result.
RECEIVE_COMMAND_BINS: Final = command_bins(RECEIVE_RESULTS) | command_bins(
    {"CREATE_QP": "RESERVED NO_SRQ BAD_FLAG"}, ok=False
)

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

_FIXED: Final = listed("""
mr (SRQ-15): key of an earlier registration | key of a region that is gone
mr (SRQ-15): key that nobody was given | segment without bytes is not checked | second segment fails
mr (SRQ-15): buffer outlives its region
scatter (SRQ-03): empty message | ends with segment 1 | ends with segment 2 | ends with segment 3
scatter (SRQ-03): partial in segment 1 | partial in segment 2 | partial in segment 3
scatter (SRQ-03): zero-length segment in the middle | fills the buffer
scatter (SRQ-01): buffer without segments
scatter (SRQ-18): one byte too many
scatter (SRQ-01, SRQ-18): does not fit into a buffer without segments
not ready (SRQ-18, SRQ-19): empty, own | in flight, own
not ready (SRQ-18): empty, SRQ | in flight, SRQ | the next message takes
not ready (CQ-17): no credit | CQ in error
refused (ISO-03): malformed
message (SRQ-13): in DISCONNECT_PENDING
message (SRQ-18): behind a length error
message (SRQ-05): invalidate
unsignalled (SRQ-07): armed ANY | armed SOLICITED | not armed | beside one that signals
flag (SRQ-07): failed receive under SOLICITED_WAIT
watermark (SRQ-16): on a take | at once | T = 0 | T = 0 while armed | again | changed while armed
watermark (SRQ-16): take that leaves T | of two SRQs at once
watermark (SRQ-16, CQ-16): vector of an EQ
srq (SRQ-02): taken by another QP
srq (SRQ-02, SRQ-05): taken by a QP with another CQ
srq (SRQ-12): post while nobody uses it
srq (SRQ-17): destroyed with buffers | created again
srq resize (SRQ-17): up | down | to what is outstanding | with buffers in flight
reap (SRQ-17): nothing | one | several | makes room in a full SRQ
same cycle (SRQ-09, SRQ-18): post and take, empty SRQ
same cycle (SRQ-09, SRQ-17): post and take, full SRQ
same cycle (SRQ-09): post and take, SRQ
same cycle (SRQ-09, SRQ-19): post and take, own
same cycle (SRQ-17): reap and take
same cycle (SRQ-10): take and completion of one QP
same cycle (SRQ-13): take and change of state
receive report (SRQ-10): success | two QPs in another order
receive report (SRQ-14): canceled | behind the connection | fully received behind the connection
receive report (SRQ-18): failed | of a length error, success | of a length error, other
receive report (ISO-03): malformed | nothing in flight | out of order
receive (SRQ-10): behind a failed one
receive (SRQ-04): context 0 | context twice
receive index (SRQ-10, ISO-03): tag wraps
receive index (SRQ-17): SRQ tail wraps
receive index (ISO-03): tag goes on after re-creation
""")


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
RECEIVE_BINS: Final[Bins] = {**_FIXED, **dict(_generated())}
