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


class Ruled:
    """Base of the model classes: knows which rules are in force.

    Raises ``ValueError`` for a rule that is not in :data:`RULES`.
    """

    def __init__(self, without: Iterable[str] = ()) -> None:
        self.without = frozenset(without)
        unknown = self.without - RULES.keys()
        if unknown:
            raise ValueError(f"no such rule: {sorted(unknown)}")

    def has(self, rule: str) -> bool:
        """True if the rule is in force."""
        return rule not in self.without
