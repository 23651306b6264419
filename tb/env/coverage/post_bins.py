# SPDX-License-Identifier: Apache-2.0
"""The bins of the functional coverage that posting has, and the requirements that each is about.

A name is ``group/case``. Those of one request type come from its file in models/verbs.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final

from models.codes import POST_CAUSES, Command, CommandResult, QpState, StateBy
from models.verbs import VERBS

#: Results that a command of queue pairs can have, OK apart.
QP_RESULTS: Final[dict[str, tuple[str, ...]]] = {
    "CREATE_QP": ("BAD_OBJECT", "EXISTS", "BAD_SIZE", "NO_CQ", "BAD_PAGE"),
    "MODIFY_QP": ("BAD_OBJECT", "NO_OBJECT"),
    "CONNECT_QP": ("RESERVED", "BAD_OBJECT", "NO_OBJECT", "BAD_STATE"),
    "SET_QP_STATE": ("RESERVED", "BAD_OBJECT", "NO_OBJECT", "BAD_STATE", "BUSY"),
    "FLUSH_QP": ("BAD_OBJECT", "NO_OBJECT", "BAD_STATE"),
    "QUERY_QP": ("BAD_OBJECT", "NO_OBJECT"),
    "DESTROY_QP": ("BAD_OBJECT", "NO_OBJECT", "PENDING"),
}

#: Bins of these commands, by code and result.
QP_COMMAND_BINS: Final[dict[tuple[int, int], str]] = {
    (int(Command[name]), int(CommandResult[result if result == "OK" else f"CMD_{result}"])): (
        f"command/{name} {result}"
    )
    for name, refusals in QP_RESULTS.items()
    for result in ("OK", *refusals)
} | {(int(Command.DESTROY_CQ), int(CommandResult.CMD_IN_USE)): "command/DESTROY_CQ IN_USE"}

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

_FIXED: Final[dict[str, tuple[str, ...]]] = {
    "portal/receive": ("DF-10",),
    "portal/shared receive": ("DF-10",),
    "chain/1": ("DF-06",),
    "chain/2": ("DF-06",),
    "chain/3": ("DF-06",),
    "chain/4 or more": ("DF-06",),
    "chain/failure with 0 held": ("DF-04",),
    "chain/failure with 1 held": ("DF-04", "DF-07"),
    "chain/failure with 2 held": ("DF-04",),
    "chain/failure with 3 or more held": ("DF-04",),
    "release/post without DEFER": ("DF-06",),
    "release/inline failure": ("DF-04", "DF-07"),
    "release/failure of a post with DEFER": ("DF-04", "DF-07"),
    "release/queue full of held requests": ("DF-08",),
    "release/watermark": ("DF-01",),
    "release/age": ("DF-01",),
    "held/canceled by the end of the connection": ("DF-11",),
    "held/watermark changed": ("DF-01",),
    "held/age limit changed": ("DF-01",),
    "batch/1": ("DF-06",),
    "batch/2": ("DF-06",),
    "batch/3 or more": ("DF-06",),
    "batch/more than a burst": ("DF-06", "ISO-04"),
    "batch/behind another one": ("DF-06", "DF-09"),
    "burst/batches of two QPs interleave": ("ISO-04",),
    "burst/ends in a batch": ("ISO-04",),
    "burst/longer, nobody else waits": ("ISO-04",),
    "fence/waits": ("DF-13",),
    "fence/nothing to wait for": ("DF-13",),
    "fence/local request waits": ("DF-13", "DF-12"),
    "fence/another QP goes on": ("DF-13", "ISO-04"),
    "retire/reported": ("DF-03", "DF-12"),
    "retire/local": ("DF-03", "DF-12"),
    "retire/skipped": ("DF-11",),
    "retire/failed": ("DF-15",),
    "retire/canceled": ("DF-15",),
    "retire/canceled, local": ("DF-15", "DF-12"),
    "retire/silent success": ("DF-03",),
    "retire/silent, not successful": ("DF-03",),
    "retire/CQ in error": ("CQ-17", "DF-15"),
    "report/success": ("DF-03",),
    "report/failure": ("DF-15",),
    "report/second failure": ("DF-15",),
    "report/behind the connection": ("DF-11", "DF-15"),
    "report/malformed": ("ISO-03",),
    "report/nothing outstanding": ("ISO-03",),
    "report/out of order": ("ISO-03",),
    "report/of a QP that does not exist": ("ISO-03",),
    "event/disconnects": ("DF-11",),
    "event/ignored": ("ISO-03",),
    "event/no QP": ("ISO-03",),
    "event/malformed": ("ISO-03",),
    "terminate/ERROR": ("DF-15",),
    "terminate/DISCONNECTED": ("DF-11",),
    "index/post index wraps": ("DF-09",),
    "index/tag wraps": ("DF-09", "ISO-03"),
    "index/goes on after re-creation": ("ISO-03",),
    "late/beat behind the end of its connection": ("DF-11",),
    "same cycle/post and retirement of one QP": ("DF-12",),
    "same cycle/posting and retirement of two QPs": ("ISO-04",),
    "order/reports of two QPs in another order": ("DF-12",),
    "transition/waits for its last requests": ("DF-11",),
    "transition/DESTROYING to FREE": ("DF-11",),
}

#: Changes of state, and what makes them.
TRANSITIONS: Final[dict[str, tuple[str, ...]]] = {
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
POST_BINS: Final[dict[str, tuple[str, ...]]] = {**_FIXED, **dict(_generated())}
