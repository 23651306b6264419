# SPDX-License-Identifier: Apache-2.0
"""The bins of the functional coverage, and the requirements that each of them is about.

A name is ``group/case``. Every bin is reachable: tb/selftest/test_coverage.py hits each one.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final

from models.codes import DOORBELL_CAUSES, ArmType, Command, CommandResult
from tb.env.coverage.keys_bins import WINDOW_BINS
from tb.env.coverage.post_bins import POST_BINS
from tb.env.coverage.receive_bins import RECEIVE_BINS
from tb.env.coverage.upsets import UPSET_BINS

ARM_NAMES: Final = {int(arm): arm.name for arm in ArmType}
STANDINGS: Final = ("idle", "busy", "due")
PRESENCE: Final = ("empty", "old", "new")

#: Results that a command can have.
RESULTS: Final[dict[str, tuple[str, ...]]] = {
    "CREATE_EQ": ("RESERVED", "BAD_OBJECT", "EXISTS", "BAD_SIZE", "BAD_ALIGN", "BAD_PAGE"),
    "MODIFY_EQ": ("RESERVED", "BAD_OBJECT", "NO_OBJECT"),
    "RESIZE_EQ": ("RESERVED", "BAD_OBJECT", "NO_OBJECT", "BAD_SIZE", "BAD_ALIGN", "EQ_FULL"),
    "QUERY_EQ": ("BAD_OBJECT", "NO_OBJECT"),
    "DESTROY_EQ": ("BAD_OBJECT", "NO_OBJECT", "IN_USE"),
    "CREATE_CQ": (
        *("RESERVED", "BAD_OBJECT", "EXISTS", "BAD_SIZE", "BAD_ALIGN", "BAD_PAGE", "NO_EQ"),
        *("EQ_FULL", "BAD_MODERATION"),
    ),
    "MODIFY_CQ": ("RESERVED", "BAD_OBJECT", "NO_OBJECT", "BAD_MODERATION"),
    "RESIZE_CQ": (
        *("RESERVED", "BAD_OBJECT", "NO_OBJECT", "BAD_SIZE", "BAD_ALIGN", "BAD_MODERATION"),
        *("TOO_SMALL", "CQ_ERROR"),
    ),
    "QUERY_CQ": ("BAD_OBJECT", "NO_OBJECT"),
    "DESTROY_CQ": ("BAD_OBJECT", "NO_OBJECT", "PENDING"),
}

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

_FIXED: Final[dict[str, tuple[str, ...]]] = {
    "cq10/default": ("CQ-10",),
    "cq10/rearm": ("CQ-10",),
    "cq10a/nothing ever": ("CQ-10a",),
    "cq10a/polled before the arm": ("CQ-10a",),
    "cq13/weaker arm after a call": ("CQ-13",),
    "cq14/merge fires now": ("CQ-14",),
    "arm/repeated": ("CQ-12", "CQ-22"),
    "arm/in the callback": ("CQ-07",),
    "callback/ANY by a success": ("CQ-08",),
    "callback/ANY by the solicited class": ("CQ-08",),
    "callback/SOLICITED by the solicited class": ("CQ-08",),
    "callback/SOLICITED not by a success": ("CQ-08",),
    "callback/ERRORS not by a completion": ("CQ-08",),
    "callback/none without an arm": ("CQ-06",),
    "deferred/called by the return": ("CQ-11", "CQ-11a"),
    "deferred/called by the acknowledgement": ("CQ-11", "CQ-11a"),
    "deferred/drained while due": ("CQ-11",),
    "deferred/called on an empty queue": ("CQ-11",),
    "deferred/arm merged while due": ("CQ-11a", "CQ-12"),
    "ack/consumed before": ("CQ-22",),
    "ack/of a consumed entry": ("CQ-22",),
    "ack/of a consumed entry while armed": ("CQ-22",),
    "beat/lower half": ("CQ-15",),
    "beat/upper half": ("CQ-15",),
    "beat/pair": ("CQ-15",),
    "ring/second pass": ("CQ-19", "CQ-22"),
    "ring/third pass": ("CQ-19", "CQ-22"),
    "eq ring/second pass": ("CQ-16",),
    "eq ring/resized": ("CQ-16", "CQ-19"),
    "index/prod wraps": ("CQ-22",),
    "index/cons wraps": ("CQ-22",),
    "index/alloc wraps": ("CQ-22",),
    "index/wraps while armed": ("CQ-22",),
    "same cycle/publish and doorbell": ("CQ-07", "CQ-15"),
    "same cycle/publish and return": ("CQ-11", "CQ-15"),
    "same cycle/callback and arm": ("CQ-07",),
    "same cycle/two callbacks": ("CQ-01", "CQ-16"),
    "moderation/count only": ("CQ-21",),
    "moderation/interval only, all-ones": ("CQ-21",),
    "moderation/interval only, above the depth": ("CQ-21",),
    "moderation/both": ("CQ-21",),
    "moderation/off by interval 0": ("CQ-21",),
    "moderation/off by count 0": ("CQ-21",),
    "moderation/off by count 1": ("CQ-21",),
    "moderation/released by count": ("CQ-21",),
    "moderation/released by interval": ("CQ-21",),
    "moderation/released by an error": ("CQ-21",),
    "moderation/changed while waiting": ("CQ-21",),
    "moderation/drained while waiting": ("CQ-21",),
    "credit/granted": ("CQ-17",),
    "credit/granted two": ("CQ-17",),
    "credit/refused": ("CQ-17",),
    "credit/malformed": ("CQ-17", "ISO-03"),
    "credit/given back": ("CQ-17",),
    "completion/two of one queue": ("CQ-01",),
    "completion/two of two queues": ("CQ-01",),
    "completion/second lane alone": ("CQ-01",),
    "completion/empty beat": ("ISO-03",),
    "completion/queue out of range": ("ISO-03",),
    "completion/queue missing": ("ISO-03", "CQ-20"),
    "completion/queue in error": ("CQ-17", "CQ-18"),
    "completion/receive and invalidate": ("CQ-02", "CQ-03", "CQ-04", "CQ-08"),
    "completion/solicited": ("CQ-08",),
    "completion/solicited flag on no receive": ("CQ-08",),
    "completion/failed": ("CQ-08",),
    "overflow/nothing placed before": ("CQ-17",),
    "overflow/one placed before": ("CQ-17",),
    "overflow/armed": ("CQ-17", "CQ-08"),
    "overflow/not armed": ("CQ-17",),
    "overflow/while a callback runs": ("CQ-17", "CQ-11"),
    "write error/SLVERR": ("CQ-18",),
    "write error/DECERR": ("CQ-18",),
    "write error/EXOKAY": ("CQ-18",),
    "cqe error/armed": ("CQ-18", "CQ-08"),
    "cqe error/not armed": ("CQ-18",),
    "cqe error/after an overflow": ("CQ-17", "CQ-18"),
    "eqe error/once": ("CQ-18", "CQ-16"),
    "eqe error/twice": ("CQ-18", "CQ-16"),
    "eqe error/three times": ("CQ-18", "CQ-16"),
    "eqe error/given up": ("CQ-18",),
    "eqe error/new callback after giving up": ("CQ-18",),
    "resize/up": ("CQ-19",),
    "resize/down": ("CQ-19",),
    "resize/at the wrap": ("CQ-19",),
    "resize/armed": ("CQ-19",),
    "resize/with entries present": ("CQ-19",),
    "resize/twice": ("CQ-19",),
    "destroy/at once": ("CQ-20",),
    "destroy/pending by a callback": ("CQ-20",),
    "destroy/pending by writes": ("CQ-20",),
    "destroy/after pending": ("CQ-20",),
    "destroy/armed": ("CQ-20",),
    "destroy/due": ("CQ-20",),
    "destroy/created again": ("CQ-20",),
    "interrupt/one for one": ("CQ-16",),
    "interrupt/merged": ("CQ-16",),
    "foreign page/CQ_DB": ("ISO-01",),
    "foreign page/CB_RETURN": ("ISO-01",),
    "doorbell/callback return": ("CQ-11",),
    "command/UNKNOWN": ("ISO-02",),
}


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
    for name, refusals in RESULTS.items():
        subject = {
            "RESIZE_CQ": "CQ-19",
            "DESTROY_CQ": "CQ-20",
            "CREATE_CQ": "CQ-20",
            "MODIFY_CQ": "CQ-21",
        }.get(name, "ISO-02")
        yield f"command/{name} OK", (subject,)
        for result in refusals:
            own = result in ("TOO_SMALL", "CQ_ERROR", "PENDING", "BAD_MODERATION")
            yield f"command/{name} {result}", (subject if own else "ISO-02",)
    for channel in CHANNELS:
        requirement = "ISO-02" if channel.startswith("CTL") else "CQ-16"
        yield f"stall/{channel}", (requirement,)


#: Bins of completion queues.
CQ_BINS: Final[dict[str, tuple[str, ...]]] = {**_FIXED, **dict(_generated())}

#: Requirements of each bin.
BINS: Final[dict[str, tuple[str, ...]]] = {
    **CQ_BINS,
    **POST_BINS,
    **RECEIVE_BINS,
    **WINDOW_BINS,
    **UPSET_BINS,
}

#: Bins of commands, by code and result.
COMMAND_BINS: Final = {
    (int(Command[name]), int(CommandResult[result if result == "OK" else f"CMD_{result}"])): (
        f"command/{name} {result}"
    )
    for name, refusals in RESULTS.items()
    for result in ("OK", *refusals)
}
