# SPDX-License-Identifier: Apache-2.0
"""What GTKWave shows agrees with the register map and with the sources of the bench."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from scripts.gen_filters import FOLDER, RDL, differences
from tb.env import defs

ROOT = Path(__file__).resolve().parents[2]
SAVE_FILE = ROOT / FOLDER / "carillon.gtkw"
DECODERS = sorted((ROOT / "tb" / "hdl").glob("wave_*.v"))


def names(name: str) -> dict[int, str]:
    lines = (ROOT / FOLDER / f"{name}.flt").read_text().split("\n")
    return {int(value): text for value, text in (line.split(" ") for line in lines if line)}


def test_filters_agree_with_the_register_map() -> None:
    assert differences(ROOT) == []


@pytest.mark.parametrize(
    "path, old, new",
    [
        (FOLDER / "cause.flt", "11 BAD_INDEX", "12 BAD_INDEX"),
        (FOLDER / "cause.flt", "11 BAD_INDEX\n", ""),
        (RDL, "BAD_INDEX         = 8'h0B", "BAD_INDEX         = 8'h1F"),
        (RDL, "SOLICITED = 2'd2", "SOLICIT = 2'd2"),
    ],
)
def test_disagreement_is_found(tmp_path: Path, path: Path, old: str, new: str) -> None:
    shutil.copytree(ROOT / FOLDER, tmp_path / FOLDER)
    (tmp_path / RDL).parent.mkdir()
    shutil.copy(ROOT / RDL, tmp_path / RDL)
    assert differences(tmp_path) == []
    content = (tmp_path / path).read_text()
    assert old in content
    (tmp_path / path).write_text(content.replace(old, new))
    assert differences(tmp_path)


def test_names_of_the_bench() -> None:
    """The same codes as in Python, and a name for an empty field."""
    for name, code in (
        ("trace_op", defs.TraceOp),
        ("life", defs.Life),
        ("cause", defs.Cause),
        ("opcode", defs.Opcode),
        ("qp_state", defs.QpState),
        ("cqe_status", defs.CqeStatus),
    ):
        found = names(name)
        empty = [value for value, text in found.items() if text == "-"]
        assert [text for text in found.values() if text != "-"] == [member.name for member in code]
        assert len(empty) == 1 and empty[0] > max(code)


def test_save_file() -> None:
    """Every decoded signal exists; the files are where a start from the project's folder looks."""
    lines = SAVE_FILE.read_text().splitlines()
    files = {line.split(" ", 1)[1] for line in lines if line.startswith("^1 ")}
    assert files == {str(path.relative_to(ROOT)) for path in (ROOT / FOLDER).glob("*.flt")}
    signals = [re.sub(r"^\+\{[^}]*\} ", "", line) for line in lines]
    decoded = [signal for signal in signals if signal.startswith("tb_top.u_wave.")]
    pins = [signal for signal in signals if signal.startswith("tb_top.dut.")]
    assert len(decoded) == len(set(decoded)) > 100 and len(pins) > 30
    top = (ROOT / "hdl" / "cde_cpl_top.v").read_text()
    decoders = "".join(path.read_text() for path in DECODERS)
    for found, source in ((decoded, decoders), (pins, top)):
        for signal in found:
            name, _, bits = signal.split(".")[-1].partition("[")
            high = bits.partition(":")[0]
            vector = r"\[[\w-]+:0\]\s+(\w+, )*" if bits else r"(wire|reg)\s+(\w+, )*"
            assert re.search(rf"{vector}{name}\b", source), signal
            assert not bits or high.isdigit(), signal
