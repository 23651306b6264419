# SPDX-License-Identifier: Apache-2.0
"""Make tb/waves/*.flt, which let GTKWave show names instead of codes, from hdl/carillon.rdl.

``--check`` writes nothing and fails when a file differs. A signal of tb/hdl/wave_*.v has one
bit more than its code: set when there is nothing to show.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from scripts.rdlmap import Map, read_map

ROOT = Path(__file__).resolve().parents[1]
RDL = Path("hdl/carillon.rdl")
FOLDER = Path("tb/waves")
CURE = "make defs"

#: Enumeration and file.
CODES = {
    "arm_type_e": "arm_type",
    "cq_status_e": "cq_status",
    "life_e": "life",
    "cause_e": "cause",
    "command_e": "command",
    "result_e": "result",
    "trace_op_e": "trace_op",
    "opcode_e": "opcode",
    "qp_state_e": "qp_state",
    "cqe_status_e": "cqe_status",
    "scatter_e": "scatter",
    "verdict_e": "verdict",
}
PAGE_OFFSET_BITS = 12
#: How the code of no cause is read in an answer.
ACCEPTED = "accepted"
#: Stages of transactions and objects: tb/hdl/wave_story.v.
STAGES = {
    0: "-",
    1: "posted",
    2: "held",
    3: "released",
    4: "work",
    5: "done",
    6: "retired",
    7: "entry",
    8: "callback",
    9: "taken",
    10: "answered",
    11: "reported",
    12: "complete",
    16: "armed",
    17: "due",
    18: "event",
    19: "running",
    24: "invalid",
    25: "valid",
}


def text(width: int, names: dict[int, str]) -> str:
    """A filter file: decimal value, name. Spaces would end a name."""
    return "".join(f"{value} {name}\n" for value, name in names.items()) + f"{1 << width} -\n"


def filters(rmap: Map) -> dict[str, str]:
    """Contents of all files, by name."""
    found = {
        f"{CODES[code.spec.rdl]}.flt": text(
            code.width, {member.value: member.rdl_name for member in code.members}
        )
        for code in rmap.codes
        if code.spec.rdl in CODES
    }
    found["cause.flt"] = found["cause.flt"].replace("0 NONE", f"0 {ACCEPTED}", 1)
    found["stage.flt"] = "".join(f"{value} {name}\n" for value, name in STAGES.items())
    registers = {register.offset: register.name for register in rmap.page}
    found["page_register.flt"] = text(PAGE_OFFSET_BITS, registers)
    # The doorbell's field is wider than the code, so that a wrong arm type shows as its number.
    (field,) = (f for r in rmap.page if r.name == "CQ_DB" for f in r.fields if f.name == "arm_type")
    (arms,) = (code for code in rmap.codes if code.spec.rdl == "arm_type_e")
    found["arm_request.flt"] = text(field.width, {m.value: m.rdl_name for m in arms.members})
    return found


def differences(root: Path) -> list[str]:
    """Files of ``root`` that are not what its register map gives."""
    wanted = filters(read_map(root / RDL))
    present = {path.name: path.read_text() for path in sorted((root / FOLDER).glob("*.flt"))}
    return sorted(
        name for name in wanted.keys() | present.keys() if wanted.get(name) != present.get(name)
    )


def main(root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only")
    if parser.parse_args().check:
        wrong = differences(root)
        for name in wrong:
            print(f"{FOLDER / name} disagrees with {RDL}; run {CURE}", file=sys.stderr)
        return 1 if wrong else 0
    for name, content in filters(read_map(root / RDL)).items():
        (root / FOLDER / name).write_text(content)
    print(f"written: {FOLDER}/*.flt")
    return 0


if __name__ == "__main__":
    sys.exit(main())
