# SPDX-License-Identifier: Apache-2.0
"""The bins of the functional coverage, and the requirements that each of them is about.

A name is ``group/case``. Every bin is reachable: the quick tier hits each one (tb/tiers.yaml).
Those of one request type come from its file in models/verbs, those of wrong bits from lib.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Final

from models import codes
from models.codes import (
    DOORBELL_CAUSES,
    POST_CAUSES,
    Access,
    ArmType,
    Command,
    CommandResult,
    QpState,
    RecvFlag,
    StateBy,
    Verdict,
)
from models.host import control
from models.keys.window_control import REMOVED_COMMANDS
from models.verbs import VERBS
from tb.env.coverage.lib import UPSET_BINS
from tb.env.defs import CHECK

#: The requirements that each bin is about.
Bins = dict[str, tuple[str, ...]]

# -- commands --------------------------------------------------------------------------------------


def command_bins(results: Mapping[str, str], ok: bool = True) -> dict[tuple[int, int], str]:
    """Bins of commands, by code and result. ``results``: words of the results of each besides OK,
    which has a bin if ``ok``.
    """
    return {
        (Command[name].value, CommandResult[word if word == "OK" else f"CMD_{word}"].value): (
            f"command/{name} {word}"
        )
        for name, words in results.items()
        for word in (*(("OK",) if ok else ()), *words.split())
    }


#: Bins of the commands of the completion core.
COMMAND_BINS: Final = command_bins(
    {
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
)
#: Those of queue pairs, of receiving, of keys and removal.
QP_COMMAND_BINS: Final = command_bins(
    {
        "CREATE_QP": "BAD_OBJECT EXISTS BAD_SIZE NO_CQ BAD_PAGE",
        "MODIFY_QP": "BAD_OBJECT NO_OBJECT",
        "CONNECT_QP": "RESERVED BAD_OBJECT NO_OBJECT BAD_STATE",
        "SET_QP_STATE": "RESERVED BAD_OBJECT NO_OBJECT BAD_STATE BUSY",
        "FLUSH_QP": "BAD_OBJECT NO_OBJECT BAD_STATE",
        "QUERY_QP": "BAD_OBJECT NO_OBJECT",
        "DESTROY_QP": "BAD_OBJECT NO_OBJECT PENDING",
    }
) | command_bins({"DESTROY_CQ": "IN_USE"}, ok=False)
RECEIVE_COMMAND_BINS: Final = command_bins(
    {
        "CREATE_SRQ": "BAD_OBJECT EXISTS BAD_SIZE BAD_PAGE",
        "RESIZE_SRQ": "RESERVED BAD_OBJECT NO_OBJECT BAD_SIZE TOO_SMALL",
        "SET_SRQ_WATERMARK": "RESERVED BAD_OBJECT NO_OBJECT BAD_SIZE BUSY",
        "QUERY_SRQ": "BAD_OBJECT NO_OBJECT",
        "DESTROY_SRQ": "BAD_OBJECT NO_OBJECT IN_USE BUSY",
        "REGISTER_MR": "RESERVED BAD_OBJECT EXISTS BAD_FLAG BAD_RANGE NO_KEYS",
        "DEREGISTER_MR": "BAD_OBJECT NO_OBJECT",
        "QUERY_MR": "BAD_OBJECT NO_OBJECT",
    }
) | command_bins({"CREATE_QP": "RESERVED NO_SRQ BAD_FLAG"}, ok=False)
WINDOW_COMMAND_BINS: Final[dict[tuple[int, int], str]] = {
    **command_bins(
        {
            "ALLOC_MR": "RESERVED BAD_OBJECT EXISTS NO_KEYS",
            "CREATE_MW": "RESERVED BAD_OBJECT EXISTS NO_KEYS",
            "CLOSE_MW": "BAD_OBJECT NO_OBJECT",
            "QUERY_MW": "BAD_OBJECT NO_OBJECT",
            "REMOVE_DEVICE": "",
        }
    ),
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

# -- channels, names -------------------------------------------------------------------------------

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

#: Channels of the transport's side, of the receive path, of the checks that can stall.
TRANSPORT_CHANNELS: Final = ("WORK", "DONE", "CONN", "TERM")
RECEIVE_CHANNELS: Final = ("RREQ", "SCATTER", "RDONE")
WINDOW_CHANNELS: Final = ("CHECK", "VERDICT")

ARM_NAMES: Final = {int(arm): arm.name for arm in ArmType}
#: How a receive CQ is armed.
ARMS: Final = ("ANY", "SOLICITED", "not")
#: What changed the state of a queue pair, by the reason in QP_STATE.
REASONS: Final[dict[int, str]] = dict(zip(StateBy, ("command", "event", "report"), strict=True))
#: States in which a message or a check is refused.
CLOSED: Final = tuple(
    s for s in QpState if s not in (QpState.CONNECTED, QpState.DISCONNECT_PENDING)
)
KINDS: Final = {int(kind): kind.name.lower() for kind in Access}
RIGHTS: Final = {0: "nothing", 2: "read", 4: "write", 6: "read and write"}
NEAR: Final = {
    -2: "2 cycles before",
    -1: "1 cycle before",
    0: "in the cycle of",
    1: "1 cycle after",
    2: "2 cycles after",
}
#: Local and peer invalidation of one key are a race within so many cycles.
RACE: Final = 20
#: Causes that a post to a portal of receive queues, to one of SRQs, and a write to SRQ_DB have.
_OWN, _SHARED, _REAP = (
    [cause.name for cause in causes if cause.name not in f"BAD_OFFSET {others}".split()]
    for causes, others in (
        (codes.RECEIVE_CAUSES, "BAD_SRQ NO_SRQ"),
        (codes.RECEIVE_CAUSES, "BAD_QP NO_QP BAD_STATE CQ_ERROR NO_CREDIT"),
        (codes.REAP_CAUSES, ""),
    )
)

#: What ``{name}`` stands for in a case: each of these.
_SETS: Final[dict[str, Iterable[str]]] = {
    "channel": CHANNELS,
    "control": [channel for channel in CHANNELS if channel.startswith("CTL")],
    "transport": (*TRANSPORT_CHANNELS, *RECEIVE_CHANNELS),
    "check": WINDOW_CHANNELS,
    "doorbell": [cause.name for cause in DOORBELL_CAUSES],
    "post": [cause.name for cause in POST_CAUSES],
    "own": _OWN,
    "shared": _SHARED,
    "reap": _REAP,
    "arm": ARM_NAMES.values(),
    "standing": ("idle", "busy", "due"),
    "reading": ("literal", "typed"),
    "kind": ("success", "solicited"),
    "armed": ARMS,
    "flag": [flag.name for flag in RecvFlag],
    "mark": ("solicited", "plain"),
    "queue": ("own", "SRQ"),
    "reason": REASONS.values(),
    "mode": ("one", "two"),
    "token": ("valid", "bad token"),
    "count": ("0", "1", "2 or more"),
    "state": [state.name for state in QpState],
    "closed": [state.name for state in CLOSED],
    "life": [s.name for s in QpState if s not in (QpState.FREE, QpState.DESTROYING)],
    "verdict": [code.name for code in Verdict if code is not Verdict.REFUSED],
    "access": KINDS.values(),
    "malformed": [str(n) for n in range(1 << CHECK["kind"].width) if n not in KINDS],
    "thing": ("region", "window"),
    "edge": (
        *("first byte", "last byte", "all bytes", "one before", "one beyond", "far away"),
        *("wraps", "length 0 inside", "length 0 outside", "ends at 2^64"),
    ),
    "rights": RIGHTS.values(),
    "way": ("request", "peer", "Read"),
    "near": NEAR.values(),
    "cleanup": CLEANUP.values(),
}


def listed(text: str) -> Bins:
    """Bins of lines ``group (requirements): case | case``; ``{name}`` in a case: see ``_SETS``.
    Of a bin that is there twice the last line counts.
    """
    found: Bins = {}
    for line in filter(None, text.splitlines()):
        head, _, cases = line.partition("): ")
        group, _, requirements = head.partition(" (")
        for case in cases.split(" | "):
            fixed, names = re.split(r"{\w+}", case), re.findall(r"{(\w+)}", case)
            for words in product(*(_SETS[name] for name in names)):
                name = "".join(a + b for a, b in zip(fixed, (*words, ""), strict=True))
                found[f"{group}/{name}"] = tuple(requirements.split(", "))
    return found


_FIXED: Final = listed("""
stall (CQ-16): {channel}
stall (ISO-02): {control}
stall (ISO-04): {transport}
stall (SRQ-09): SCATTER
stall (MW-10, ISO-04): {check}
cause (ISO-02): {doorbell}
cause (CQ-22): OK
cause (ISO-01): NOT_OWNER
cause (CQ-22, ISO-02): BAD_INDEX
cause (CQ-20, ISO-02): CQ_DESTROYING
cause (CQ-11, ISO-02): NO_CALLBACK
post cause (DF-14): {post}
post cause (DF-06): OK
post cause (ISO-01, DF-14): NOT_OWNER
post cause (MW-09, DF-14): DEVICE_REMOVED
post cause (DF-08, DF-14): QUEUE_FULL
post cause (CQ-17, DF-14): CQ_ERROR | NO_CREDIT
receive cause (SRQ-15): own, {own} | shared, {shared}
receive cause (ISO-01, SRQ-15): own, NOT_OWNER | shared, NOT_OWNER
receive cause (CQ-17, SRQ-15): own, CQ_ERROR | own, NO_CREDIT
receive cause (ISO-02): own, BURST | own, BAD_SIZE | own, BAD_PAGE
receive cause (ISO-02): shared, BURST | shared, BAD_SIZE | shared, BAD_PAGE
reap cause (SRQ-17): {reap}
reap cause (ISO-01): NOT_OWNER
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
beat (CQ-16): one event | two events | three events | four events
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
write error (CQ-18): SLVERR | DECERR | EXOKAY | several events
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
arm (CQ-10a, CQ-06): {arm}, {standing}, empty
arm (CQ-10, CQ-06): {arm}, {standing}, old
arm (CQ-09, CQ-06): {arm}, {standing}, new
merge (CQ-12): {arm} then {arm}
cq09 (CQ-09): {reading}, {arm}, new {kind}
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
batch (DF-06, DF-09): after another one
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
report (DF-11, DF-15): after the connection
report (ISO-03): malformed | nothing outstanding | out of order | of a QP that does not exist
event (DF-11): disconnects
event (ISO-03): ignored | no QP | malformed
terminate (DF-15): ERROR
terminate (DF-11): DISCONNECTED
index (DF-09): post index wraps
index (DF-09, ISO-03): tag wraps
index (ISO-03): goes on after re-creation
late (DF-11): beat after the end of its connection
same cycle (DF-12): post and retirement of one QP
same cycle (ISO-04): posting and retirement of two QPs
order (DF-12): reports of two QPs in another order
transition (DF-11): waits for its last requests | DESTROYING to FREE
post in state (DF-14): {state}
transition (DF-11): {life} to gone
transition (DF-11): FREE to IDLE by command | IDLE to CONNECTED by command
transition (DF-11): DISCONNECTED to IDLE by command | CONNECTED to DISCONNECT_PENDING by command
transition (DF-11): CONNECTED to DISCONNECTED by command | CONNECTED to DISCONNECTED by event
transition (DF-11): DISCONNECT_PENDING to DISCONNECTED by command
transition (DF-11): DISCONNECT_PENDING to DISCONNECTED by event
transition (DF-15): ERROR to IDLE by command
transition (DF-15): CONNECTED to ERROR by command | CONNECTED to ERROR by report
transition (DF-15): DISCONNECT_PENDING to ERROR by command | DISCONNECT_PENDING to ERROR by report
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
message (SRQ-18): after a length error
message (SRQ-05): invalidate
unsignalled (SRQ-07): armed ANY | armed SOLICITED | not armed | with one that signals
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
receive report (SRQ-14): canceled | after the connection | fully received after the connection
receive report (SRQ-18): failed | of a length error, success | of a length error, other
receive report (ISO-03): malformed | nothing in flight | out of order
receive (SRQ-10): after a failed one
receive (SRQ-04): context 0 | context twice
receive index (SRQ-10, ISO-03): tag wraps
receive index (SRQ-17): SRQ tail wraps
receive index (ISO-03): tag goes on after re-creation
segments (SRQ-01): own, 0 | shared, 0
segments (SRQ-03): own, 1 | own, 2 | own, 3 | shared, 1 | shared, 2 | shared, 3
answer (SRQ-13): REFUSED, {queue}
answer (SRQ-18): SCATTER, {queue} | NOT_READY, {queue} | LENGTH_ERROR, {queue}
refused (SRQ-13): {closed}
receive post in state (SRQ-19): {state}
flag (SRQ-07): {flag}, {mark}, {armed} armed
disconnect (SRQ-14): {reason}, {count} in flight, {queue}
flush (SRQ-14, SRQ-19): {count} available
flush (SRQ-14, SRQ-10): waits for a report
request (DF-11, DF-12): skipped, of keys
request (DF-12, DF-13): after a fence
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
check (MW-10): after a refused one
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
removal (MW-09): check refused | completion after it | receive completion after it
verdict (MW-10): {verdict}, {access}, {thing} | REFUSED, {access}
check (MW-10): refused, kind {malformed} | refused, {closed}
range (MW-10): {edge}, {thing}
right (MW-02, MW-10): {thing} allows {rights}, {access}
invalidate (MW-03, MW-05, MW-12): {way}, {thing}, valid
invalidate (CQ-05, MW-05, MW-12): {way}, {thing}, of another QP | {way}, {thing}, invalid
invalidate (CQ-05, MW-05, MW-12): {way}, {thing}, old key
invalidate (CQ-05, MW-12): {way}, no object
race (MW-05): request then peer, {thing} | peer then request, {thing}
race (MW-05): Read then peer, region | peer then Read, region
race (CQ-03, MW-10): check {near} invalidation by {way}
token (MW-12, CQ-03): SCATTER | NOT_READY | LENGTH_ERROR | REFUSED | BAD_TOKEN
completion (MW-07, MW-08, CQ-02, CQ-04): {mode}, {queue}, {mark}, {token}
removal (MW-09): nothing | held post | released post | indicated request | buffer available
removal (MW-09): buffer in flight | request without an answer | check without a verdict
removal (MW-09): valid window | QP in DISCONNECT_PENDING | two or more QPs connected
removal (MW-09): {cleanup} works
""")

_COMMAND_OF: Final = {
    "RESIZE_CQ": "CQ-19",
    "DESTROY_CQ": "CQ-20",
    "CREATE_CQ": "CQ-20",
    "MODIFY_CQ": "CQ-21",
}


def _requests() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Bins of request types."""
    for verb in VERBS.values():
        outcomes = ["success", "canceled", "refused"]
        outcomes += [] if verb.local else ["failed"]
        for defer, outcome in product(("plain", "DEFER"), outcomes):
            requirement = "DF-02" if outcome == "refused" else "DF-03"
            yield f"outcome/{verb.name}, {defer}, {outcome}", (requirement,)
        for name in verb.all_bins():
            yield f"verb/{name}", ("DF-14",) if "refused" in name else ("DF-03",)
        rule = {"Bind": "MW-02", "FastRegister": "MW-11"}.get(verb.name, "MW-05")
        for status in verb.statuses:
            yield f"request/{verb.name}, {status.name}", (rule, "DF-12")


def _codes() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Bins of results of commands."""
    for name in COMMAND_BINS.values():
        command, result = name.removeprefix("command/").split()
        own = result in ("OK", "TOO_SMALL", "CQ_ERROR", "PENDING", "BAD_MODERATION")
        yield name, (_COMMAND_OF.get(command, "ISO-02") if own else "ISO-02",)
    for name in QP_COMMAND_BINS.values():
        yield name, ("ISO-02",)
    for name in RECEIVE_COMMAND_BINS.values():
        yield name, ("SRQ-16" if "WATERMARK" in name else "SRQ-17" if "SRQ" in name else "ISO-02",)
    for name in WINDOW_COMMAND_BINS.values():
        yield name, ("MW-09" if "removed" in name else "MW-11" if "MR" in name else "MW-01",)


#: Requirements of each bin.
BINS: Final[Bins] = {**_FIXED, **dict(_requests()), **dict(_codes()), **UPSET_BINS}
