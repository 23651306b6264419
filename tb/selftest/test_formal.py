# SPDX-License-Identifier: Apache-2.0
"""The runner of proofs: its list, what it reads from sby's logs, and one small proof for real."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tb.runner import formal
from tb.runner.common import ROOT, RunnerError
from tb.runner.proofs import MODES, Plant, Proof, load_proofs

GOOD: dict[str, object] = {
    "files": ["formal/lib/f_fifo.v"],
    "breaks_with": [{"file": "hdl/lib/cde_fifo.v", "text": "a", "replacement": "b"}],
}
GOOD |= {"id": "one", "statement": "s", "requirements": ["CQ-06"], "module": "cde_fifo"}
GOOD |= {"top": "f_fifo", "mode": "pdr", "depth": 1}


def a_run(status: str = "PASS", failed: tuple[str, ...] = (), depth: int = 0) -> formal.Run:
    return formal.Run(status, ("p",), failed, None, depth, Path("log"), 1.0, 2.0)


def test_the_list_is_complete() -> None:
    proofs = load_proofs()
    assert all(proof.mode in MODES for proof in proofs)
    for proof in proofs:
        for fault in proof.breaks_with:
            count = (ROOT / fault.file).read_text().count(fault.text)
            assert count == 1, f"{proof.id}: {fault.text!r} occurs {count} times in {fault.file}"


def test_the_log_is_read() -> None:
    text = """engine_0.induction: cd p; yosys-smtbmc -i --noprogress -t 8 --append 0
engine_0.induction: ##   0:00:00  Trying induction in step 8..
engine_0.induction: ##   0:00:00  Trying induction in step 6..
summary: counterexample trace [basecase]: p/engine_0/trace.vcd
summary:   failed assertion f_top.dut.name at a.v:5.1-5.2 step 7
"""
    assert formal.read_log(text) == (("f_top.dut.name",), "p/engine_0/trace.vcd", 2)
    covered = "summary:   reached cover statement t.c at a.v:6.3 step 7\n"
    assert formal.read_log(covered + "  unreached cover statement t.d at b") == (("t.d",), "", 7)


def test_properties_are_found_in_the_design() -> None:
    cell = '  cell $check \\a.{0}\n    parameter \\FLAVOR "{1}"\n    connect \\A 1\n  end\n'
    design = cell.format("one", "assert") + cell.format("two", "cover")
    assert formal.read_properties(design, "assert") == ("a.one",)


def test_a_pass_without_properties_is_no_proof() -> None:
    assert formal.judge(a_run()) == ""
    assert "refuted: x" in formal.judge(a_run("FAIL", ("x",)))
    assert "no answer" in formal.judge(a_run("TIMEOUT"))
    assert "no property" in formal.judge(formal.Run("PASS", (), (), None, 0, Path("log"), 1.0, 1.0))


def test_a_fault_must_be_refuted_by_what_it_names() -> None:
    fault = Plant("f", "a", "b", "wanted")
    assert formal.judge_planted(fault, a_run("FAIL", ("top.wanted",))) == ""
    assert "not by wanted" in formal.judge_planted(fault, a_run("FAIL", ("top.other",)))
    assert "holds with the fault" in formal.judge_planted(fault, a_run())
    assert "no answer" in formal.judge_planted(fault, a_run("UNKNOWN"))


def test_results_of_two_runs_complete_each_other(tmp_path: Path) -> None:
    proof, path = load_proofs()[0], tmp_path / "formal.json"
    fault = (proof.breaks_with[0], a_run("FAIL", ("p",)), "")
    sound, planted = formal.Outcome(proof, a_run()), formal.Outcome(proof, None, (fault,))
    for outcomes in ((sound, planted), (planted, sound)):
        for outcome in outcomes:
            formal.note(outcome, path)
        (both,) = json.loads(path.read_text())
        assert both["status"] == "proven unbounded"
        assert both["planted"][0]["refuted_by"] == ["p"]


@pytest.mark.parametrize(
    ("limit", "depth", "status"), [(7, 8, "PASS"), (7, 1, "UNKNOWN"), (5, 8, "FAIL")]
)
@pytest.mark.parametrize("split", [False, True])
def test_inductions_prove_refute_and_get_stuck(
    tmp_path: Path, limit: int, depth: int, status: str, split: bool
) -> None:
    source = tmp_path / "count.v"
    source.write_text(
        "module count (input wire clk);\n reg [2:0] n = 0;\n always @(posedge clk)\n"
        "  n <= n == 5 ? 5 : n + 1;\n"
        f" always @(posedge clk) limit: assert (n < {limit});\nendmodule\n"
    )
    proof = Proof("tiny", "s", ("X",), "m", "count", ("count.v",), "prove", depth, split=split)
    run = formal.run_proof(proof, tmp_path, {"count.v": source})
    assert run.status == status, run.log.read_text()
    assert run.properties == ("limit",)
    if status == "PASS":
        assert run.depth == 2  # the value before the forbidden one has none before it
    else:
        assert split or run.failed == ("count.limit",)
        assert run.trace and run.trace.is_file()


@pytest.mark.parametrize("declared", ["", "(* hierconn *) wire nothing;"])
def test_an_undeclared_name_is_an_error(tmp_path: Path, declared: str) -> None:
    source = tmp_path / "typo.v"
    source.write_text(
        f"module typo (input wire clk);\n{declared}"
        " always @(posedge clk) name: assert (nothing == clk);\nendmodule\n"
    )
    proof = Proof("typo", "s", ("X",), "m", "typo", ("typo.v",), "bmc", 2)
    assert "undeclared" in formal.run_sby(proof, tmp_path, {"typo.v": source}).status


def test_a_fault_is_planted_in_a_copy(tmp_path: Path) -> None:
    proof = load_proofs()[0]
    fault = proof.breaks_with[0]
    copy = formal.plant(fault, proof, tmp_path)[fault.file]
    assert fault.replacement in copy.read_text()
    assert fault.text in (ROOT / fault.file).read_text()
    with pytest.raises(RunnerError, match="does not occur"):
        formal.plant(Plant(fault.file, "no such text", "x"), proof, tmp_path)
