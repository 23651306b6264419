# SPDX-License-Identifier: Apache-2.0
"""Read the register map, layouts and codes of hdl/carillon.rdl."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from systemrdl.compiler import RDLCompiler
from systemrdl.messages import RDLCompileError
from systemrdl.node import AddrmapNode, FieldNode, RegNode

RDL = Path("hdl/carillon.rdl")


class CodeSpec(NamedTuple):
    """How an enumeration of the register map appears in the generated files."""

    rdl: str
    bearer: str  # REGISTER.field whose width is the width of the code
    macro: str
    python: str
    strip: str  # start of the RDL names that the macros leave out
    doc: str

    @property
    def masks(self) -> bool:
        """The members are masks within the field, not codes."""
        return self.rdl.endswith("_flags_e")


# The bearer is named because one code may be carried by fields of several widths.
CODE_SPECS = (
    CodeSpec("arm_type_e", "STATE.arm_type", "ARM", "ArmType", "", "Arm types."),
    CodeSpec("cq_status_e", "STATE.status", "CQST", "CqStatus", "", "CQ status."),
    CodeSpec("life_e", "STATE.life", "LIFE", "Life", "", "Life of a CQ."),
    CodeSpec("cause_e", "LOG0.cause", "CAUSE", "Cause", "", "Causes of refusals and errors."),
    CodeSpec("kind_e", "LOG0.kind", "KIND", "Kind", "", "Kinds of objects in the error log."),
    CodeSpec("command_e", "CMD.command", "CMD", "Cmd", "", "Commands."),
    CodeSpec("result_e", "CMD_STATUS.result", "RES", "Result", "CMD_", "Results of commands."),
    CodeSpec("trace_op_e", "TRACE.op", "TRC", "TraceOp", "", "Trace operations."),
    CodeSpec("cqe_type_e", "CQE.type", "CQETYPE", "CqeType", "", "Result types of CQEs."),
    CodeSpec("cqe_status_e", "CQE.status", "CQESTATUS", "CqeStatus", "", "Status of CQEs."),
    CodeSpec("cqe_flags_e", "CQE.flags", "CQEFLAG", "CqeFlag", "", "Masks of the CQE flags."),
    CodeSpec("eqe_type_e", "EQE.type", "EQETYPE", "EqeType", "", "Types of EQEs."),
    CodeSpec("qp_state_e", "QSTATE.state", "QPS", "QpState", "", "States of a QP."),
    CodeSpec("opcode_e", "POST.opcode", "OPC", "Opcode", "", "Opcodes of posts."),
    CodeSpec("post_flags_e", "POST.flags", "POSTFLAG", "PostFlag", "", "Masks of the post flags."),
    CodeSpec("conn_event_e", "CONN.event", "CONNEVENT", "ConnEvent", "", "Connection events."),
    CodeSpec("scatter_e", "SCATTER_USER.code", "SCATTER", "Scatter", "", "Answers to requests."),
    CodeSpec("verdict_e", "VERDICT.code", "VERDICT", "Verdict", "", "Answers to checks."),
    CodeSpec("check_kind_e", "CHECK.kind", "CHECKKIND", "CheckKind", "", "Kinds of accesses."),
    CodeSpec("recv_flag_e", "QP_RECV.flag", "RECVFLAG", "RecvFlag", "", "Receive flags."),
    CodeSpec("region_flags_e", "MR.rights", "MRRIGHT", "Right", "", "Masks of the rights."),
)


class Field(NamedTuple):
    name: str
    lsb: int
    width: int


class Register(NamedTuple):
    name: str
    offset: int
    width: int
    desc: str
    access: str
    constant: int | None  # of a register that always reads the same
    fields: tuple[Field, ...]

    @property
    def has_layout(self) -> bool:
        """A register that is one number needs no field positions."""
        return len(self.fields) > 1 or self.fields[0].width < self.width


class Member(NamedTuple):
    rdl_name: str
    name: str
    value: int
    desc: str


class Code(NamedTuple):
    spec: CodeSpec
    width: int
    members: tuple[Member, ...]


class Map(NamedTuple):
    control: tuple[Register, ...]
    page: tuple[Register, ...]
    layouts: tuple[Register, ...]
    codes: tuple[Code, ...]


class DefsError(Exception):
    """The register map cannot be turned into definitions."""


def constant_name(words: str) -> str:
    """``SEND_AND_INVALIDATE`` for SendAndInvalidate, ``LOCAL_WRITE`` for local write."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])| ", "_", words).upper()


# ------------------------------------------------------------------------ reading the map


def read_field(node: FieldNode) -> Field:
    return Field(node.inst_name, node.low, node.width)


def read_register(node: RegNode, base: int) -> Register:
    index = "".join(str(i) for i in node.current_idx or ())
    fields = list(node.fields())
    readable = any(f.is_sw_readable for f in fields)
    writable = any(f.is_sw_writable for f in fields)
    hardware = any(f.is_hw_writable or f.is_hw_readable for f in fields)
    reset = fields[0].get_property("reset")
    return Register(
        name=node.inst_name + index,
        offset=node.absolute_address - base,
        width=node.size * 8,
        desc=node.get_property("desc") or "",
        access="r" * readable + "w" * writable,
        constant=reset if isinstance(reset, int) and not hardware and not writable else None,
        fields=tuple(read_field(f) for f in fields),
    )


def read_code(spec: CodeSpec, fields: dict[str, FieldNode]) -> Code:
    bearer = fields.get(spec.bearer)
    encode = bearer.get_property("encode") if bearer is not None else None
    if bearer is None or encode is None or encode.type_name != spec.rdl:
        raise DefsError(f"{RDL}: field {spec.bearer} does not encode {spec.rdl}")
    members = tuple(
        Member(m.name, m.name.removeprefix(spec.strip), m.value, m.rdl_desc or "") for m in encode
    )
    return Code(spec, bearer.width, members)


def read_map(path: Path) -> Map:
    compiler = RDLCompiler()
    try:
        compiler.compile_file(str(path))
        top = compiler.elaborate("carillon").top
    except RDLCompileError as error:
        raise DefsError(f"{RDL}: {error}") from error
    parts: dict[str, tuple[Register, ...]] = {}
    fields: dict[str, FieldNode] = {}
    for part in top.children():
        if not isinstance(part, AddrmapNode):
            raise DefsError(f"{RDL}: {part.get_path()} is no addrmap")
        nodes = list(part.registers(unroll=True))
        parts[part.inst_name] = tuple(read_register(n, part.absolute_address) for n in nodes)
        fields |= {f"{n.inst_name}.{f.inst_name}": f for n in nodes for f in n.fields()}
    used = {e.type_name for f in fields.values() if (e := f.get_property("encode")) is not None}
    if unknown := used - {spec.rdl for spec in CODE_SPECS}:
        raise DefsError(f"{RDL}: not in CODE_SPECS of scripts/gen_defs.py: {sorted(unknown)}")
    codes = tuple(read_code(spec, fields) for spec in CODE_SPECS)
    return Map(parts["control"], parts["page"], parts["layouts"], codes)
