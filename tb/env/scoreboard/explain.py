# SPDX-License-Identifier: Apache-2.0
"""How a contradiction is told: the object, the field, what the engine and the model have by name,
and the rule.

A trace state is 96 bits whose layout depends on the lane (docs/interfaces.md, "Trace port").
Messages decode it by the register description; nothing is judged by that.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from functools import partial
from typing import NamedTuple

from models.codes import ArmType, CqStatus, Life, QpState, TraceOp
from tb.env import defs
from tb.env.harness.records import Trace


class Mismatch(AssertionError):  # noqa: N818
    """The engine did something that it must not do, or did not do what it must.

    ``obj``, ``number``: kind and number of the object ("CQ", 11), or "" and None. ``field``,
    ``got``, ``want``: what differs, the engine's value and the model's, as text; "" where the
    message is not about one value. ``rule``: requirements, with commas. ``cycle``: of the record
    that was judged. The first line of the message is complete in itself.
    """

    def __init__(
        self,
        text: str,
        *,
        obj: str = "",
        number: int | None = None,
        field: str = "",
        got: str = "",
        want: str = "",
        rule: str = "",
        cycle: int = -1,
    ) -> None:
        super().__init__(text)
        self.obj = obj
        self.number = number
        self.field = field
        self.got = got
        self.want = want
        self.rule = rule
        self.cycle = cycle


class Difference(NamedTuple):
    """A field, and what the engine and the model have in it."""

    field: str
    got: str
    want: str

    def __str__(self) -> str:
        return f"{self.field} {self.got}, model {self.want}"


def explain(obj: str, field: str, got: object, want: object, rule: str = "") -> str:
    """One line: ``CQ 11: armed SOLICITED, model ANY (CQ-12)``."""
    named = Difference(field, shown(got), shown(want))
    return ": ".join(part for part in (obj, str(named)) if part) + (f" ({rule})" if rule else "")


def shown(value: object) -> str:
    """A value in words: codes by name, other numbers as they are."""
    if isinstance(value, IntEnum):
        return value.name
    if isinstance(value, (set, frozenset)):
        return " or ".join(sorted(shown(one) for one in value)) or "nothing"
    return str(value)


def name_of(kind: type[IntEnum], code: int) -> str:
    """A code by name, as far as it has one."""
    try:
        return kind(code).name
    except ValueError:
        return f"{code:#x}"


def coded(field: str, kind: type[IntEnum], got: int, *want: int, none: str = "") -> Difference:
    """A code that is not one of those wanted, by name; ``none``: what is told if nothing is."""
    names = " or ".join(name_of(kind, code) for code in sorted(want))
    return Difference(field, name_of(kind, got), names or none)


# -- trace states ----------------------------------------------------------------------------------

#: Layouts of the states of each lane, as the register description has them.
_LAYOUTS = {
    0: defs.PSTATE,
    1: defs.STATE,
    2: defs.STATE,
    3: defs.QSTATE,
    4: defs.RSTATE,
    5: defs.TSTATE,
    6: defs.BSTATE,
    7: defs.CSTATE,
    8: defs.KSTATE,
    9: defs.KSTATE,
}
_BITS = (1 << 96) - 1
_ENUMS: dict[str, type[IntEnum]] = {"life": Life, "status": CqStatus, "state": QpState}


class Field(NamedTuple):
    """Some bits of a state, and how their value is told."""

    name: str
    mask: int
    text: Callable[[int], str]

    def of(self, state: int) -> str:
        """The value by name."""
        low = (self.mask & -self.mask).bit_length() - 1
        return self.text((state & self.mask) >> low)


def _arm(value: int) -> str:
    """The arm flag and, above it, the arm type, which says nothing without the flag."""
    kind = name_of(ArmType, value >> 1)
    return kind if value & 1 else "none" if not value >> 1 else f"none (type {kind})"


def _flag(value: int) -> str:
    return "yes" if value else "no"


def _text_of(name: str, width: int) -> Callable[[int], str]:
    if name in _ENUMS:
        return partial(name_of, _ENUMS[name])
    return _flag if width == 1 else hex if width > 16 else str


def _fields(layout: defs.Layout) -> tuple[Field, ...]:
    found = [Field(f.name, f.mask, _text_of(f.name, f.width)) for f in layout.fields.values()]
    if "arm_type" in layout.fields:
        arm = Field("armed", layout["armed"].mask | layout["arm_type"].mask, _arm)
        found = [arm if f.name == "armed" else f for f in found if f.name != "arm_type"]
    return (*found, Field("reserved", layout.reserved & _BITS, hex))


#: Fields of the states of each lane; together they are all 96 bits.
FIELDS = {lane: _fields(layout) for lane, layout in _LAYOUTS.items()}


def op_name(op: int) -> str:
    """Name of a trace operation."""
    return name_of(TraceOp, op)


def describe(lane: int, state: int) -> str:
    """A trace state in words; flags that are not set and reserved bits that are 0 are left out."""
    parts = []
    for field in FIELDS.get(lane, ()):
        text, there = field.of(state), state & field.mask
        if field.name in ("life", "state"):
            parts.append(text)
        elif field.text is _flag:
            parts += [field.name] if there else []
        elif there or field.name != "reserved":
            parts.append(f"{field.name} {text}")
    return ", ".join(parts)


def describe_step(step: Trace) -> str:
    """One line for one trace record."""
    text = f"{step.cycle:>8} {op_name(step.op)}"
    if step.lane > 4:
        text += f" {step.cq}"
    text += f" {step.operand:#x}"
    if step.event:
        text += f" CALLBACK(status {step.event_status})"
    return f"{text}: {describe(step.lane, step.new)}"


def differences(lane: int, got: int, want: int, hidden: int = 0) -> list[Difference]:
    """The fields of two states that are not equal; bits of ``hidden`` do not count."""
    wrong = (got ^ want) & ~hidden
    return [
        Difference(field.name, field.of(got), field.of(want))
        for field in FIELDS.get(lane, ())
        if wrong & field.mask
    ]


# -- rules -----------------------------------------------------------------------------------------

#: The rule that a field of a step of the arm pipelines follows from, by operation; None: all others
#: of the field.
_RULES: dict[tuple[str, int | None], str] = {
    ("armed", TraceOp.DOORBELL): "CQ-12",
    ("armed", None): "CQ-07, CQ-13",
    ("callback", TraceOp.PUBLISH): "CQ-06, CQ-08",
    ("callback", TraceOp.DOORBELL): "CQ-09, CQ-10, CQ-14",
    ("callback", TraceOp.CB_RETURN): "CQ-11",
    ("callback", TraceOp.EVENT_DONE): "CQ-11",
    ("callback", TraceOp.EVENT_FAILED): "CQ-18",
    ("callback", TraceOp.CQ_ERROR): "CQ-08, CQ-18",
    ("callback", TraceOp.MODERATION): "CQ-21",
    ("due", None): "CQ-11",
    ("in_callback", None): "CQ-11",
    ("event_pending", None): "CQ-11",
    ("released", None): "CQ-21",
    ("mod_count", None): "CQ-21",
    ("status", None): "CQ-17, CQ-18",
    ("life", None): "CQ-20",
    ("prod", None): "CQ-15",
    ("cons", None): "CQ-22",
    ("mark", None): "CQ-10",
    ("sol", None): "CQ-09",
    ("alloc", None): "CQ-17",
    ("used", None): "CQ-17",
    ("closed", None): "CQ-17, CQ-20",
}


def rule_of(field: str, op: int) -> str:
    """The rule of a field in a step of lanes 0 to 2."""
    return _RULES.get((field, op)) or _RULES.get((field, None), "")
