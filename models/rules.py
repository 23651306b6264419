# SPDX-License-Identifier: Apache-2.0
"""The rules that can be taken out of the model one at a time.

A check is worth something only if it fails when the rule it checks is missing. Every class of the
model takes ``without={"CQ-14"}``; each rule below has a test that passes with it and fails without
it. The text says what the model does *instead* when the rule is removed; all of these are mistakes
that real engines make.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

RULES: Final[Mapping[str, str]] = {
    "CQ-02": "the plain poll skips ReceiveAndInvalidate completions",
    "CQ-04": "the extended poll hides the token",
    "CQ-06": "a completion calls back although nothing is armed",
    "CQ-07": "the arm is cleared when the callback returns, not when it is called",
    "CQ-08": "only the first completion after an arm is looked at",
    "CQ-09": "an arm ignores new completions that are already present",
    "CQ-10": "the re-arm bit is ignored: old completions always satisfy an arm",
    "CQ-10a": "an arm looks at a sticky 'something came since the last callback' flag",
    "CQ-11": "a due callback is called although one is in progress",
    "CQ-11a": "the arm is cleared when the callback becomes due",
    "CQ-12": "arm types merge by the larger public code",
    "CQ-13": "an arm merges with the type of the arm satisfied before it",
    "CQ-14": "an arm that merges does not look at what is present",
    "CQ-15": "a completion is published before its write is acknowledged",
    "CQ-16": "a callback that becomes due while one is in progress is forgotten",
    "CQ-17": "reservation grants more credits than the ring has entries; overflow tells nobody",
    "CQ-18": "a failed write is ignored",
    "CQ-19": "a resize to fewer entries than are present is accepted",
    "CQ-20": "a destroyed queue leaves its arm and indices to its successor",
    "CQ-21": "moderation is ignored",
    "CQ-22": "every consumer index is accepted, and consumed entries still trigger",
    "ISO-01": "a doorbell through another owner's page is accepted",
    "ISO-02": "reserved bits of a doorbell are ignored",
}


#: The rules of posting. CQ-17, ISO-01 and ISO-02 have a side of their own there.
POSTING_RULES: Final[Mapping[str, str]] = {
    "CQ-17": "a post without a credit is accepted",
    "DF-01": "the watermark and the age limit are ignored",
    "DF-02": "a post that fails inline is queued and completes",
    "DF-03": "SILENT_SUCCESS hides failed completions, too",
    "DF-04": "an inline failure releases nothing",
    "DF-06": "every released request is a batch of its own",
    "DF-07": "an inline failure drops what is held",
    "DF-08": "a post that finds the send queue full releases nothing",
    "DF-09": "a release starts again at the oldest request that has not retired",
    "DF-10": "a write to a receive portal is a failed initiator post",
    "DF-11": "what is held when the connection ends stays held",
    "DF-12": "a request retires as soon as it is done",
    "DF-13": "the fence is ignored",
    "DF-14": "of several causes the one with the lowest code is given",
    "DF-15": "a failed completion has no effect on the queue pair",
    "ISO-01": "a post through another page is accepted",
    "ISO-02": "reserved bits of a post are ignored",
    "ISO-03": "a done report with a wrong tag is taken for the oldest request",
}

#: The rules of receiving. CQ-17, DF-10, DF-12, ISO-01 to ISO-03 have a side of their own there.
RECEIVE_RULES: Final[Mapping[str, str]] = {
    "CQ-17": "a receive is posted, or a shared buffer taken, without a credit",
    "DF-10": "a receive post that fails is a failed initiator post",
    "DF-12": "of several reported receives the newest completes first",
    "ISO-01": "a receive post or a reap through another page is accepted",
    "ISO-02": "reserved bits of a receive post or of SRQ_DB are ignored",
    "ISO-03": "a report with a wrong tag is taken for the oldest buffer in flight",
    "SRQ-01": "a post without segments is refused",
    "SRQ-02": "only the queue pair that took first from a shared queue may take from it",
    "SRQ-03": "segments are filled from the last to the first",
    "SRQ-04": "the context comes back with 32 bits",
    "SRQ-05": "the completion goes to the send CQ",
    "SRQ-06": "a flush completes the oldest buffer, the others vanish",
    "SRQ-07": "UNSIGNALLED is ignored: every completion satisfies an arm",
    "SRQ-10": "flushed buffers complete ahead of those in flight",
    "SRQ-12": "a shared queue takes no post while its watermark event waits",
    "SRQ-13": "every queue pair that exists takes buffers",
    "SRQ-14": "a queue pair whose connection ended flushes the shared queue, too",
    "SRQ-15": "of several causes the one with the lowest code is given",
    "SRQ-16": "the watermark stays armed after its event",
    "SRQ-17": "a resize below what is outstanding is accepted",
    "SRQ-18": "a message that is too long is cut",
    "SRQ-19": "the segments of a queue pair's own receives are not checked",
}

#: The rules of keys and windows. CQ-17 and DF-15 have a side of their own there.
WINDOW_RULES: Final[Mapping[str, str]] = {
    "CQ-03": "the peer's invalidation is answered, but the key stays valid",
    "CQ-03a": "a check looks at the generation only: an invalidated window is still accessible",
    "CQ-05": "an Invalidate of a key that was valid succeeds",
    "CQ-17": "a receive with two results reserves one credit",
    "DF-15": "a local request, a check or a token that fails does not end the connection",
    "DF-15a": "what stands behind a local request that failed is indicated",
    "MW-01": "a created window is valid",
    "MW-02": "the rights of the region decide, not those of the window",
    "MW-02a": "remote write is given on memory without local write",
    "MW-03": "a bound window can be bound again",
    "MW-05": "of two invalidations of one window both succeed",
    "MW-07": "the receive result comes before the invalidate result",
    "MW-07a": "the invalidate result is missing if the receive fails",
    "MW-08": "the invalidate result has the context of the receive",
    "MW-09": "removal is ignored",
    "MW-10": "a window is accessible through every queue pair",
    "MW-10a": "only the first byte of an access is checked",
    "MW-10b": "the address of the last byte wraps",
    "MW-10c": "a queue pair is destroyed while keys are valid on it",
    "MW-10d": "a queue pair that is not guarded uses keys, too",
    "MW-11": "a region with windows bound to it can be deregistered",
    "MW-11a": "FastRegister leaves the old key in force",
    "MW-12": "a SendAndInvalidate with a bad token is delivered as a Send",
}


class Ruled:
    """Base of the model classes: knows which rules are in force.

    Raises ``ValueError`` for a rule that is in none of the tables.
    """

    def __init__(self, without: Iterable[str] = ()) -> None:
        self.without = frozenset(without)
        tables = (RULES, POSTING_RULES, RECEIVE_RULES, WINDOW_RULES)
        known = {rule for table in tables for rule in table}
        unknown = self.without - known
        if unknown:
            raise ValueError(f"no such rule: {sorted(unknown)}")

    def has(self, rule: str) -> bool:
        """True if the rule is in force."""
        return rule not in self.without
