# SPDX-License-Identifier: Apache-2.0
"""The bins of the functional coverage that posting has, and the requirements that each is about.

A name is ``group/case``. Those of one request type come from its file in models/verbs.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final

from models.codes import POST_CAUSES, QpState, StateBy
from models.verbs import VERBS
from tb.env.coverage.named_bins import Bins, command_bins, listed

#: Results that a command of queue pairs can have, OK apart.
QP_RESULTS: Final = {
    "CREATE_QP": "BAD_OBJECT EXISTS BAD_SIZE NO_CQ BAD_PAGE",
    "MODIFY_QP": "BAD_OBJECT NO_OBJECT",
    "CONNECT_QP": "RESERVED BAD_OBJECT NO_OBJECT BAD_STATE",
    "SET_QP_STATE": "RESERVED BAD_OBJECT NO_OBJECT BAD_STATE BUSY",
    "FLUSH_QP": "BAD_OBJECT NO_OBJECT BAD_STATE",
    "QUERY_QP": "BAD_OBJECT NO_OBJECT",
    "DESTROY_QP": "BAD_OBJECT NO_OBJECT PENDING",
}

#: Bins of these commands, by code and result.
QP_COMMAND_BINS: Final = command_bins(QP_RESULTS) | command_bins({"DESTROY_CQ": "IN_USE"}, ok=False)

#: What changed the state of a queue pair, by the reason in QP_STATE.
REASONS: Final[dict[int, str]] = dict(zip(StateBy, ("command", "event", "report"), strict=True))

#: Channels of the transport's side that can stall.
TRANSPORT_CHANNELS: Final = ("WORK", "DONE", "CONN", "TERM")

#: Causes that exist in this version.
CAUSES: Final = POST_CAUSES

_CAUSE_OF: Final = {
    "OK": ("DF-06",),
    "NOT_OWNER": ("ISO-01", "DF-14"),
    "DEVICE_REMOVED": ("MW-09", "DF-14"),
    "QUEUE_FULL": ("DF-08", "DF-14"),
    "CQ_ERROR": ("CQ-17", "DF-14"),
    "NO_CREDIT": ("CQ-17", "DF-14"),
}

_FIXED: Final = listed("""
portal (DF-10): receive | shared receive
chain (DF-06): 1 | 2 | 3 | 4 or more
chain (DF-04): failure with 0 held | failure with 2 held | failure with 3 or more held
chain (DF-04, DF-07): failure with 1 held
release (DF-06): post without DEFER
release (DF-04, DF-07): inline failure | failure of a post with DEFER
release (DF-08): queue full of held requests
release (DF-01): watermark | age
held (DF-11): canceled by the end of the connection
held (DF-01): watermark changed | age limit changed
batch (DF-06): 1 | 2 | 3 or more
batch (DF-06, ISO-04): more than a burst
batch (DF-06, DF-09): behind another one
burst (ISO-04): batches of two QPs interleave | ends in a batch | longer, nobody else waits
fence (DF-13): waits | nothing to wait for
fence (DF-13, DF-12): local request waits
fence (DF-13, ISO-04): another QP goes on
retire (DF-03, DF-12): reported | local
retire (DF-11): skipped
retire (DF-15): failed | canceled
retire (DF-15, DF-12): canceled, local
retire (DF-03): silent success | silent, not successful
retire (CQ-17, DF-15): CQ in error
report (DF-03): success
report (DF-15): failure | second failure
report (DF-11, DF-15): behind the connection
report (ISO-03): malformed | nothing outstanding | out of order | of a QP that does not exist
event (DF-11): disconnects
event (ISO-03): ignored | no QP | malformed
terminate (DF-15): ERROR
terminate (DF-11): DISCONNECTED
index (DF-09): post index wraps
index (DF-09, ISO-03): tag wraps
index (ISO-03): goes on after re-creation
late (DF-11): beat behind the end of its connection
same cycle (DF-12): post and retirement of one QP
same cycle (ISO-04): posting and retirement of two QPs
order (DF-12): reports of two QPs in another order
transition (DF-11): waits for its last requests | DESTROYING to FREE
""")

#: Changes of state, and what makes them.
TRANSITIONS: Final[Bins] = {
    "FREE to IDLE": ("command",),
    "IDLE to CONNECTED": ("command",),
    "CONNECTED to DISCONNECT_PENDING": ("command",),
    "CONNECTED to DISCONNECTED": ("command", "event"),
    "CONNECTED to ERROR": ("command", "report"),
    "DISCONNECT_PENDING to DISCONNECTED": ("command", "event"),
    "DISCONNECT_PENDING to ERROR": ("command", "report"),
    "DISCONNECTED to IDLE": ("command",),
    "ERROR to IDLE": ("command",),
}

_LIVES: Final = tuple(s.name for s in QpState if s not in (QpState.FREE, QpState.DESTROYING))


def _generated() -> Iterator[tuple[str, tuple[str, ...]]]:
    for verb in VERBS.values():
        outcomes = ["success", "canceled", "refused"]
        outcomes += [] if verb.local else ["failed"]
        for defer, outcome in product(("plain", "DEFER"), outcomes):
            requirement = "DF-02" if outcome == "refused" else "DF-03"
            yield f"outcome/{verb.name}, {defer}, {outcome}", (requirement,)
        for name in verb.all_bins():
            yield f"verb/{name}", ("DF-14",) if "refused" in name else ("DF-03",)
    for cause in CAUSES:
        yield f"post cause/{cause.name}", _CAUSE_OF.get(cause.name, ("DF-14",))
    for state in QpState:
        yield f"post in state/{state.name}", ("DF-14",)
    for name, reasons in TRANSITIONS.items():
        for reason in reasons:
            yield f"transition/{name} by {reason}", ("DF-15" if "ERROR" in name else "DF-11",)
    for name in _LIVES:
        yield f"transition/{name} to gone", ("DF-11",)
    for name in QP_COMMAND_BINS.values():
        yield name, ("ISO-02",)
    for channel in TRANSPORT_CHANNELS:
        yield f"stall/{channel}", ("ISO-04",)


#: Requirements of each bin.
POST_BINS: Final[Bins] = {**_FIXED, **dict(_generated())}
