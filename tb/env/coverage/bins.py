# SPDX-License-Identifier: Apache-2.0
"""The bins of the functional coverage, and the requirements that each of them is about.

A name is ``group/case``. Every bin is reachable: the quick tier hits each one (tb/tiers.yaml).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final

from models.codes import DOORBELL_CAUSES, ArmType
from tb.env.coverage.keys_bins import WINDOW_BINS
from tb.env.coverage.named_bins import Bins, command_bins, listed
from tb.env.coverage.post_bins import POST_BINS
from tb.env.coverage.receive_bins import RECEIVE_BINS
from tb.env.coverage.upsets import UPSET_BINS

ARM_NAMES: Final = {int(arm): arm.name for arm in ArmType}
STANDINGS: Final = ("idle", "busy", "due")
PRESENCE: Final = ("empty", "old", "new")

#: Results that a command can have.
RESULTS: Final = {
    "CREATE_EQ": "RESERVED BAD_OBJECT EXISTS BAD_SIZE BAD_ALIGN BAD_PAGE",
    "MODIFY_EQ": "RESERVED BAD_OBJECT NO_OBJECT",
    "RESIZE_EQ": "RESERVED BAD_OBJECT NO_OBJECT BAD_SIZE BAD_ALIGN EQ_FULL",
    "QUERY_EQ": "BAD_OBJECT NO_OBJECT",
    "DESTROY_EQ": "BAD_OBJECT NO_OBJECT IN_USE",
    "CREATE_CQ": "RESERVED BAD_OBJECT EXISTS BAD_SIZE BAD_ALIGN BAD_PAGE NO_EQ EQ_FULL "
    "BAD_MODERATION",
    "MODIFY_CQ": "RESERVED BAD_OBJECT NO_OBJECT BAD_MODERATION",
    "RESIZE_CQ": "RESERVED BAD_OBJECT NO_OBJECT BAD_SIZE BAD_ALIGN BAD_MODERATION TOO_SMALL "
    "CQ_ERROR",
    "QUERY_CQ": "BAD_OBJECT NO_OBJECT",
    "DESTROY_CQ": "BAD_OBJECT NO_OBJECT PENDING",
}

#: Bins of commands, by code and result.
COMMAND_BINS: Final = command_bins(RESULTS)

_CAUSE_OF: Final = {
    "OK": ("CQ-22",),
    "NOT_OWNER": ("ISO-01",),
    "BAD_INDEX": ("CQ-22", "ISO-02"),
    "CQ_DESTROYING": ("CQ-20", "ISO-02"),
    "NO_CALLBACK": ("CQ-11", "ISO-02"),
}

#: Channels of the harness that can stall.
CHANNELS: Final = (
    *("AW", "W", "AR", "CTL_AW", "CTL_W", "CTL_AR", "CPL", "RSV"),
    *("B", "R", "CTL_B", "CTL_R", "ANS", "IRQ", "MEM_AW", "MEM_W", "MEM_B"),
)

#: Inputs of the engine: a stall of the harness keeps an offer back. All others are outputs: a stall
#: holds ready low while the engine offers something.
INPUTS: Final = frozenset(
    (
        *("AW", "W", "AR", "CTL_AW", "CTL_W", "CTL_AR", "CPL", "RSV", "MEM_B"),
        *("DONE", "CONN", "RREQ", "RDONE", "CHECK"),
    )
)

_FIXED: Final = listed("""
cq10 (CQ-10): default | rearm
cq10a (CQ-10a): nothing ever | polled before the arm
cq13 (CQ-13): weaker arm after a call
cq14 (CQ-14): merge fires now
arm (CQ-12, CQ-22): repeated
arm (CQ-07): in the callback
callback (CQ-08): ANY by a success | ANY by the solicited class | SOLICITED by the solicited class
callback (CQ-08): SOLICITED not by a success | ERRORS not by a completion
callback (CQ-06): none without an arm
deferred (CQ-11, CQ-11a): called by the return | called by the acknowledgement
deferred (CQ-11): drained while due | called on an empty queue
deferred (CQ-11a, CQ-12): arm merged while due
ack (CQ-22): consumed before | of a consumed entry | of a consumed entry while armed
beat (CQ-15): lower half | upper half | pair
ring (CQ-19, CQ-22): second pass | third pass
eq ring (CQ-16): second pass
eq ring (CQ-16, CQ-19): resized
index (CQ-22): prod wraps | cons wraps | alloc wraps | wraps while armed
same cycle (CQ-07, CQ-15): publish and doorbell
same cycle (CQ-11, CQ-15): publish and return
same cycle (CQ-07): callback and arm
same cycle (CQ-01, CQ-16): two callbacks
moderation (CQ-21): count only | interval only, all-ones | interval only, above the depth | both
moderation (CQ-21): off by interval 0 | off by count 0 | off by count 1 | released by count
moderation (CQ-21): released by interval | released by an error | changed while waiting
moderation (CQ-21): drained while waiting
credit (CQ-17): granted | granted two | refused | given back
credit (CQ-17, ISO-03): malformed
completion (CQ-01): two of one queue | two of two queues | second lane alone
completion (ISO-03): empty beat | queue out of range
completion (ISO-03, CQ-20): queue missing
completion (CQ-17, CQ-18): queue in error
completion (CQ-02, CQ-03, CQ-04, CQ-08): receive and invalidate
completion (CQ-08): solicited | solicited flag on no receive | failed
overflow (CQ-17): nothing placed before | one placed before | not armed
overflow (CQ-17, CQ-08): armed
overflow (CQ-17, CQ-11): while a callback runs
write error (CQ-18): SLVERR | DECERR | EXOKAY
cqe error (CQ-18, CQ-08): armed
cqe error (CQ-18): not armed
cqe error (CQ-17, CQ-18): after an overflow
eqe error (CQ-18, CQ-16): once | twice | three times
eqe error (CQ-18): given up | new callback after giving up
resize (CQ-19): up | down | at the wrap | armed | with entries present | twice
destroy (CQ-20): at once | pending by a callback | pending by writes | after pending | armed | due
destroy (CQ-20): created again
interrupt (CQ-16): one for one | merged
foreign page (ISO-01): CQ_DB | CB_RETURN
doorbell (CQ-11): callback return
command (ISO-02): UNKNOWN
""")


def _generated() -> Iterator[tuple[str, tuple[str, ...]]]:
    for arm, standing, presence in product(ARM_NAMES.values(), STANDINGS, PRESENCE):
        requirements = {"empty": "CQ-10a", "old": "CQ-10", "new": "CQ-09"}[presence]
        yield f"arm/{arm}, {standing}, {presence}", (requirements, "CQ-06")
    for first, second in product(ARM_NAMES.values(), repeat=2):
        yield f"merge/{first} then {second}", ("CQ-12",)
    for reading, arm, kind in product(
        ("literal", "typed"), ARM_NAMES.values(), ("success", "solicited")
    ):
        yield f"cq09/{reading}, {arm}, new {kind}", ("CQ-09",)
    for cause in DOORBELL_CAUSES:
        yield f"cause/{cause.name}", _CAUSE_OF.get(cause.name, ("ISO-02",))
    for name in COMMAND_BINS.values():
        command, result = name.removeprefix("command/").split()
        subject = {
            "RESIZE_CQ": "CQ-19",
            "DESTROY_CQ": "CQ-20",
            "CREATE_CQ": "CQ-20",
            "MODIFY_CQ": "CQ-21",
        }.get(command, "ISO-02")
        own = result in ("OK", "TOO_SMALL", "CQ_ERROR", "PENDING", "BAD_MODERATION")
        yield name, (subject if own else "ISO-02",)
    for channel in CHANNELS:
        requirement = "ISO-02" if channel.startswith("CTL") else "CQ-16"
        yield f"stall/{channel}", (requirement,)


#: Bins of completion queues.
CQ_BINS: Final[Bins] = {**_FIXED, **dict(_generated())}

#: Requirements of each bin.
BINS: Final[Bins] = {**CQ_BINS, **POST_BINS, **RECEIVE_BINS, **WINDOW_BINS, **UPSET_BINS}
