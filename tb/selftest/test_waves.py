# SPDX-License-Identifier: Apache-2.0
"""What GTKWave shows agrees with the register map and with the sources of the bench."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from scripts.gen_filters import FOLDER, RDL, differences
from tb.runner.builds import load_builds
from tb.runner.common import RunnerError
from tb.runner.results import Failure
from tb.waves.save_file import OBJECTS, check_objects, object_argument, save_file, write_save_file
from tb.waves.stories import ROWS, STORIES, gtkw, sucl, write_stories

ROOT = Path(__file__).resolve().parents[2]
SAVE_FILE = ROOT / FOLDER / "carillon.gtkw"
FAILED = Failure("Mismatch", "CQ 11: armed SOLICITED, model ANY (CQ-12): more", 1452, 5816000)
DECODERS = sorted((ROOT / "tb" / "hdl").glob("wave_*.v"))


@pytest.mark.parametrize(
    "path, old, new",
    [
        (FOLDER / "cause.flt", "11 BAD_INDEX", "12 BAD_INDEX"),
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


def test_save_file() -> None:
    """Every decoded signal exists; the files are where a start from the project's folder looks."""
    lines = SAVE_FILE.read_text().splitlines()
    known = {str(p.relative_to(ROOT)) for p in (ROOT / FOLDER).glob("*.flt")}
    assert filters(lines) == known - {"tb/waves/stage.flt"}
    check_signals(lines)


def filters(lines: list[str]) -> set[str]:
    return {line.split(" ", 1)[1] for line in lines if line.startswith("^1 ")}


@pytest.mark.parametrize("name", sorted(set(OBJECTS.values())))
def test_signals_of_an_object(name: str) -> None:
    """They exist, and fit on a screen."""
    lines = (ROOT / FOLDER / name).read_text().splitlines()
    assert all((ROOT / path).is_file() for path in filters(lines))
    assert 20 < sum(line[0] in "+-" for line in lines) < 35
    check_signals(lines, 20)
    instances = set(re.findall(r"u_wave\.obj\.(\w+)\.", "\n".join(lines)))
    objects = (ROOT / "tb" / "hdl" / "wave_object.v").read_text()
    assert instances and all(re.search(rf"wave_\w+ {one} \(", objects) for one in instances)


def check_signals(lines: list[str], least: int = 130) -> None:
    signals = [re.sub(r"^\+\{[^}]*\} ", "", line) for line in lines]
    decoded = [signal for signal in signals if signal.startswith("tb_top.u_wave.")]
    pins = [signal for signal in signals if signal.startswith("tb_top.dut.")]
    assert len(decoded) == len(set(decoded)) and len(decoded) + len(pins) > least
    top = "".join((ROOT / "hdl" / name).read_text() for name in ("cde_cpl_top.v", "cde_top.v"))
    decoders = "".join(path.read_text() for path in DECODERS)
    for found, source in ((decoded, decoders), (pins, top)):
        for signal in found:
            name, _, bits = signal.split(".")[-1].partition("[")
            high = bits.partition(":")[0]
            vector = r"\[[\w-]+:0\]\s+(\w+, )*" if bits else r"(wire|reg)\s+(\w+, )*"
            assert re.search(rf"{vector}{name}\b", source), signal
            assert not bits or high.isdigit(), signal


@pytest.mark.parametrize(
    "obj, number, argument, file",
    [
        ("CQ", 11, "+wave_cq=11", "object_cq"),
        ("QP", 3, "+wave_qp=3", "object_qp"),
        ("SRQ", 0, "+wave_srq=0", "object_srq"),
        ("region", 5, "+wave_key=5", "object_key"),
        ("window", 5, "+wave_key=2053", "object_key"),
    ],
)
def test_a_failing_object_is_on_top(
    tmp_path: Path, obj: str, number: int, argument: str, file: str
) -> None:
    failure = replace(FAILED, obj=obj, number=number)
    assert object_argument(failure) == argument
    path = write_save_file(tmp_path / "a.fst", failure, full=False)
    text, rows = path.read_text(), (ROOT / FOLDER / f"{file}.gtkw").read_text()
    assert path.name == "a.gtkw"
    assert text.index("-CQ 11: armed SOLICITED, model ANY (CQ-12)\n") < text.index(rows)
    assert text.index(rows) < text.index("-All interfaces") < text.index("-Doorbell pages")
    marker, start = re.findall(r"^\*-[\d.]+ (\d+) -1|^\[timestart\] (\d+)", text, re.M)[::-1]
    assert int(marker[0]) == 5816000
    assert 5816000 - 40 * 4000 < int(start[1]) < 5816000


@pytest.mark.parametrize("obj, number", [("", None), ("CQ", None), ("doorbell page", 3)])
def test_a_failure_of_no_object(obj: str, number: int | None) -> None:
    failure = replace(FAILED, obj=obj, number=number)
    text = save_file(failure, full=False)
    assert " 5816000 -1" in text and "-All interfaces" not in text and ".obj." not in text
    assert text.endswith(SAVE_FILE.read_text()[-1000:])
    assert save_file(None, full=False) == SAVE_FILE.read_text()
    assert object_argument(failure) == object_argument(None) == ""


@pytest.mark.parametrize(("top", "full"), [("cde_top", True), ("cde_cpl_top", False)])
def test_pins_are_ports_of_the_top_level(top: str, full: bool) -> None:
    pins = set(re.findall(r"tb_top\.dut\.(\w+)", save_file(None, full)))
    source = (ROOT / "hdl" / f"{top}.v").read_text()
    ports = set(re.findall(r"^ *(?:input|output) .*?(\w+),?$", source, re.M))
    assert len(pins) > 25 and pins <= ports, pins - ports


NUMBERS = {"cq": 11, "qp": 3, "srq": 1, "key": 5}


@pytest.mark.parametrize("name", sorted(STORIES))
def test_a_story(name: str) -> None:
    """Its signals exist, its names are in files, it fits on a screen."""
    text = gtkw(STORIES[name], NUMBERS, 4000, 400_000, -1)
    lines = text.splitlines()
    assert sum(line[0] in "+-" or line == "tb_top.clk" for line in lines) <= ROWS
    assert all((ROOT / path).is_file() for path in filters(lines)) and "{" not in text.replace(
        "+{", ""
    )
    check_signals([line.replace("[0].", ".") for line in lines if "slot[" not in line], 10)
    shown = [
        line for line in sucl(STORIES[name], NUMBERS, 4000).splitlines() if "divider" not in line
    ]
    assert all(len(line.split(" ")) == 2 for line in shown) and shown[-1] == "cursor_set 4000"


def test_stories_of_a_failure(tmp_path: Path) -> None:
    """The mismatch is marked and on the screen; the completion core has two stories."""
    views = write_stories(tmp_path / "T-b-s7.fst", NUMBERS, 9_000_000, 5_816_000, full=False)
    assert [path.name for path in views] == ["T-b-s7-arm.gtkw", "T-b-s7-axi.gtkw"]
    text = views[0].read_text()
    assert "-arm and callback of CQ 11\n" in text and " 5816000 -1" in text
    assert 0 < int(re.findall(r"timestart\] (\d+)", text)[0]) < 5_816_000
    assert views[0].with_suffix(".sucl").read_text().endswith("cursor_set 5816000\n")


@pytest.mark.parametrize(
    "build, obj, number, has",
    [
        ("default", "QP", 3, "CQ 0 to 63$"),
        ("small", "CQ", 4, "CQ 0 to 3$"),
        ("engine_small", "window", 4, "CQ 0 to 3, QP 0 to 3, SRQ 0 to 1, WINDOW 0 to 3$"),
        ("interop", "CQ", 0, "none of these$"),
    ],
)
def test_an_object_that_the_build_does_not_have(
    build: str, obj: str, number: int, has: str
) -> None:
    config = load_builds()[build]
    with pytest.raises(RunnerError, match=f"^{obj.upper()}={number}: build {build} has {has}"):
        check_objects(config, {obj: number})
    if build.startswith(("small", "engine")):
        check_objects(config, {obj: number - 1})
