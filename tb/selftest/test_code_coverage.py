# SPDX-License-Identifier: Apache-2.0
"""Code coverage: Verilator's file is read right, merging loses nothing, and each gap is found."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tb.runner import code_report
from tb.runner.code_coverage import Coverage, Point, collect, hits_file, load, points_of
from tb.runner.code_report import Waiver, apply_waivers, label, load_waivers
from tb.runner.common import ROOT, RunnerError, hdl_files
from tb.runner.discover import Job

SOURCE = (
    "module cde_a;\n  always @(posedge clk)\n    if (go) q <= 1;\n    else q <= 0;\nendmodule\n"
)


def key(
    page: str, line: int, comment: str, lines: str = "", file: str = "cde_a.v", **more: str
) -> str:
    """A point as Verilator writes it; ``hdl`` stands for the folder of the design."""
    fields = {"f": f"hdl/{file}", "l": str(line), "n": "5", "page": f"v_{page}/cde_a__P1"}
    fields |= {"o": comment, "S": lines, "h": "tb_top.dut.a_i"} | more
    return "".join(f"\x01{name}\x02{value}" for name, value in fields.items() if value)


IF = key("branch", 3, "if", "3")
ELSE = key("branch", 3, "else", "4", n="6")
BLOCK = key("line", 2, "block", "2-3")
THEN = key("branch", 3, "cond_then", n="9")
OTHER = key("branch", 3, "cond_else", n="10")


def run(folder: Path, counts: dict[str, int], hdl: Path) -> tuple[Path, Path]:
    """What a run leaves, and the list of its points."""
    bits = sum(1 << number for number, count in enumerate(counts.values()) if count)
    (folder / "coverage.dat").write_bytes(bits.to_bytes((len(counts) + 7) // 8, "little"))
    lines = "".join(f"{name}\n" for name in counts).replace("\x02hdl/", f"\x02{hdl}/")
    points = folder / f"{hash(lines):x}.points"
    points.write_text(lines)
    return folder / "coverage.dat", points


def job(test: str, build: str = "b1", seed: int = 1) -> Job:
    return Job("tb.tests.test_a", "test_a", test, seed, build, "verilator")


def measured(tmp_path: Path, **runs: dict[str, int]) -> tuple[Coverage, Path]:
    """Coverage of jobs ``build__Test``, by way of the files; and the folder of the design."""
    hdl = tmp_path / "hdl"
    hdl.mkdir()
    (hdl / "cde_a.v").write_text(SOURCE)
    jobs = []
    for name, counts in runs.items():
        build, _, test = name.partition("__")
        jobs.append(job(test, build))
        file, points = run(tmp_path, counts, hdl)
        collect(jobs[-1], file, points, tmp_path / "store")
    return load(jobs, tmp_path / "store", hdl), hdl


# -- what a run leaves -----------------------------------------------------------------------------


def test_points() -> None:
    hdl = Path("hdl")
    assert points_of(BLOCK, hdl) == [Point("cde_a.v", 2, "line"), Point("cde_a.v", 3, "line")]
    assert points_of(ELSE, hdl) == [
        Point("cde_a.v", 3, "branch", "else", 6),
        Point("cde_a.v", 4, "line"),
    ]
    # The same in every instance and build; none of the bench.
    other = THEN.replace("__P1", "__P2").replace("a_i", "b_i")
    assert points_of(other, hdl) == points_of(THEN, hdl)
    assert points_of(IF, Path("elsewhere/hdl")) == []


# -- merging ---------------------------------------------------------------------------------------


def test_merge(tmp_path: Path) -> None:
    coverage, _ = measured(
        tmp_path,
        b1__One={IF: 1, ELSE: 0, THEN: 0},
        b1__Two={IF: 2, ELSE: 0, THEN: 0},
        b2__One={IF: 0, THEN: 1, OTHER: 0},
    )
    points = {str(point).partition(":")[2]: hit for point, hit in coverage.points().items()}
    hit = [name for name, hit in points.items() if hit]
    assert hit == ["3 branch cond_then", "3 branch if", "3 line"]
    # A point that one build alone has, and a branch that no job took.
    assert points.keys() - hit == {"3 branch cond_else", "3 branch else", "4 line"}
    assert coverage.tests_of(Point("cde_a.v", 3, "branch", "if", 5)) == ["test_a.One", "test_a.Two"]
    assert coverage.tests_of(Point("cde_a.v", 3, "branch", "cond_then", 9)) == ["test_a.One"]


def test_every_bit_of_a_job_is_kept(tmp_path: Path) -> None:
    """Many points, so that their bits fill several bytes."""
    names = [key("branch", 3, "if", n=str(bit)) for bit in range(37)]
    runs = {f"b1__T{n}": {k: int(k == name) for k in names} for n, name in enumerate(names)}
    coverage, _ = measured(tmp_path, **runs)
    for bit in range(37):
        assert coverage.tests_of(Point("cde_a.v", 3, "branch", "if", bit)) == [f"test_a.T{bit}"]


def test_what_cannot_be_merged(tmp_path: Path) -> None:
    """No coverage of a test, of a build; that of another design; bits for other points."""
    measured(tmp_path, b1__One={IF: 1})
    with pytest.raises(RunnerError, match=r"no code coverage of test_a\.Two"):
        load([job("One"), job("Two")], tmp_path / "store", tmp_path / "hdl")
    with pytest.raises(RunnerError, match=r"no code coverage of .*b2"):
        load([job("One", "b2")], tmp_path / "store", tmp_path / "hdl")
    file, points = run(tmp_path, {IF: 0, ELSE: 12}, tmp_path)
    file.write_bytes(b"12")
    with pytest.raises(RunnerError, match="not of the points in"):
        collect(job("One"), file, points, tmp_path / "store")


def test_nothing_of_another_design_is_kept(tmp_path: Path) -> None:
    measured(tmp_path, b1__One={IF: 1})
    collect(job("Two"), *run(tmp_path, {IF: 1, ELSE: 1}, tmp_path / "hdl"), tmp_path / "store")
    with pytest.raises(RunnerError, match=r"no code coverage of test_a\.One"):
        load([job("One"), job("Two")], tmp_path / "store", tmp_path / "hdl")


def test_part_of_the_tests_renews_its_own(tmp_path: Path) -> None:
    files = [hits_file(job(test), tmp_path) for test in ("t1", "t2")]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x")
    code_report.discard([job("t1")], whole=False, folder=tmp_path)
    assert [file.is_file() for file in files] == [False, True]
    code_report.discard([job("t1")], whole=True, folder=tmp_path)
    assert not files[1].is_file()


def test_job_that_stopped_leaves_nothing_of_an_earlier_run(tmp_path: Path) -> None:
    measured(tmp_path, b1__One={IF: 1})
    (tmp_path / "coverage.dat").unlink()
    collect(job("One"), tmp_path / "coverage.dat", tmp_path / "any", tmp_path / "store")
    assert not hits_file(job("One"), tmp_path / "store").exists()


# -- waivers ---------------------------------------------------------------------------------------


def waive(tmp_path: Path, *waivers: Waiver) -> tuple[list[str], list[str]]:
    coverage, hdl = measured(tmp_path, b1__One={IF: 1, ELSE: 0, THEN: 0, OTHER: 1})
    waived, gaps = apply_waivers(coverage.points(), waivers, hdl)
    return [str(point) for point in waived], gaps


def test_waiver(tmp_path: Path) -> None:
    waiver = Waiver("cde_a.v", "line", "else q <= 0;", "never")
    by_side = Waiver("cde_a.v", "branch", r"else: if \(go\).*", "never")
    rotten = Waiver("cde_a.v", "branch", "else: gone.*", "never")
    assert waive(tmp_path, waiver, by_side, rotten) == (
        ["cde_a.v:4 line", "cde_a.v:3 branch else"],
        [f"waiver matches nothing: {rotten}"],
    )


@pytest.mark.parametrize("points", ["cond_else: .*", "cond_.*"])
def test_waiver_of_a_point_that_was_hit(tmp_path: Path, points: str) -> None:
    _, gaps = waive(tmp_path, Waiver("cde_a.v", "branch", points, "never"))
    assert len(gaps) == 1
    assert gaps[0].startswith("waiver of a point that was hit (cde_a.v:3 branch cond_else")


def test_labels(tmp_path: Path) -> None:
    """Without line numbers."""
    _, hdl = measured(tmp_path, b1__One={IF: 1})
    assert label(Point("cde_a.v", 3, "branch", "if", 5), hdl) == "if: if (go) q <= 1;"
    assert label(Point("cde_a.v", 4, "line"), hdl) == "else q <= 0;"


def test_waivers_name_files_of_the_design() -> None:
    files = [path.name for path in hdl_files("*.v*")]
    for waiver in load_waivers():
        assert any(re.fullmatch(waiver.file, file) for file in files), waiver


# -- report ----------------------------------------------------------------------------------------


def judged(tmp_path: Path, counts: dict[str, int], *waivers: Waiver) -> list[str]:
    coverage, hdl = measured(tmp_path, b1__One=counts)
    verdicts = code_report.assess(coverage, waivers, hdl)
    return code_report.judge_coverage(coverage, verdicts, tmp_path / "out.json")


def test_missing_point_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gaps = judged(tmp_path, {IF: 1, ELSE: 0, THEN: 1})
    assert gaps == ["cde_a.v:3 branch else", "cde_a.v:4 line"]
    assert "missing: cde_a.v:3 branch else" in capsys.readouterr().out
    data = json.loads((tmp_path / "out.json").read_text())
    assert data["missing"] == gaps
    assert data["counts"]["cde_a.v"]["branch"] == {"hit": 2, "waived": 0, "missing": 1}
    assert data["tests"]["cde_a.v:3 branch if 5"] == ["test_a.One"]


ELSEWHERE = Waiver("cde_a.v", "branch", "cond_else: .*", "r")


def test_nothing_missing(tmp_path: Path) -> None:
    assert judged(tmp_path, {IF: 1, ELSE: 2, THEN: 1, OTHER: 0}, ELSEWHERE) == []
    data = json.loads((tmp_path / "out.json").read_text())
    assert data["waived"] == {"r": ["cde_a.v:3 branch cond_else"]}


# -- the counting itself ---------------------------------------------------------------------------

_PROGRAM = """
#include <cstdint>
#include <string>
class VerilatedCovContext;
#include "coverage_counts.h"
void write(VerilatedCovContext*, const std::string&)
    asm("__wrap__ZN19VerilatedCovContext5writeERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE");
int main() {
    uint32_t counts[70] = {};
    counts[0] = 1, counts[31] = 7, counts[69] = 0x80000000;
    for (int i = 0; i < 70; ++i)
        VL_COVER_INSERT(0, "", counts + i, "page", "v_branch/m", "lineno", i, "", "");
    write(nullptr, "coverage.dat");
}
"""


def test_counters_of_a_run(tmp_path: Path) -> None:
    """What a run writes says which points were hit."""
    for header in ("verilated.h", "verilated_cov.h"):
        (tmp_path / header).write_text("")
    (tmp_path / "t.cpp").write_text(_PROGRAM)
    command = ["g++", "-std=gnu++17", "-I.", f"-I{ROOT / 'tb' / 'hdl'}", "t.cpp", "-o", "t"]
    subprocess.run(command, cwd=tmp_path, check=True)
    points = tmp_path / "points"
    subprocess.run(["./t"], cwd=tmp_path, check=True, env={"CARILLON_COVERAGE_POINTS": str(points)})
    names = points.read_text().splitlines()
    assert names == [f"\x01page\x02v_branch/m\x01l\x02{i}" for i in range(70)]
    bits = int.from_bytes((tmp_path / "coverage.dat").read_bytes(), "little")
    assert [i for i in range(70) if bits >> i & 1] == [0, 31, 69]
