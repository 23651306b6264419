# SPDX-License-Identifier: Apache-2.0
"""The benches of modules (tb/modules): each passes on the design and finds faults of every kind,
and they serve mutants of a netlist. The bench of the memories has tests of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tb.runner import mutate_modules
from tb.runner.common import RunnerError
from tb.runner.mutate_modules import (
    ALL,
    BENCHES,
    BUS,
    MEMORY,
    ModuleBenches,
    contained,
    for_icarus,
    parts,
    wires,
)
from tb.unit.icarus import HDL, build, run
from tb.unit.icarus import MEMORY as PARTS

#: Of each bench: the module, and its parameters by those of the bench.
_QUEUES = "#(.NUM_CQ(1 << CQ_W), .CQ_W(CQ_W), .IDX_W(IDX_W))"
_WRITES = "#(.ID_W(ID_W), .MAX_WRITES(1 << MAX_LOG2), .MAX_LOG2(MAX_LOG2), .W(W), .INIT_W(INIT_W))"
_CONTROL = (
    ".NUM_CQ(1 << CQ_W), .CQ_W(CQ_W), .NUM_EQ(1 << EQ_W), .EQ_W(EQ_W), .NUM_PAGES(1 << PAGE_W),"
    " .PAGE_W(PAGE_W), .IDX_W(IDX_W), .MEMORIES(20)"
)
DUTS = {
    "node_exact": ("cde_mem_node", "#(.AW(AW))"),
    "fifo_exact": ("cde_fifo", "#(.W(W), .DEPTH_LOG2(LOG2), .BYPASS(BYPASS))"),
    "turn_exact": ("cde_turn", "#(.NUM_QP(1 << QP_W), .QP_W(QP_W))"),
    "look_exact": ("cde_arm_look", "#(.NUM_CQ(1 << CQ_W), .CQ_W(CQ_W))"),
    "counters_exact": ("cde_counters", ""),
    "credit_exact": ("cde_credit", _QUEUES),
    "count_exact": ("cde_arm_count", "#(.IDX_W(IDX_W), .X_BITS(X_W))"),
    "age_exact": ("cde_arm_age", "#(.CQ_W(CQ_W), .IDX_W(IDX_W), .Z_BITS(Z_W))"),
    "track_exact": ("cde_track", _WRITES),
    "answer_exact": (
        "cde_answer",
        "#(.CQ_W(CQ_W), .IDX_W(IDX_W), .EQ_W(EQ_W), .REC_W(REC_W), .RETRY_W(RETRY_W))",
    ),
    "eqs_exact": (
        "cde_eqs",
        "#(.NUM_EQ(1 << EQ_W), .EQ_W(EQ_W), .PAGE_W(PAGE_W), .CQ_W(CQ_W))",
    ),
    "done_exact": (
        "cde_done",
        "#(.NUM_QP(1 << QP_W), .QP_W(QP_W), .IDX_W(IDX_W), .SQ_LOG2(SQ_LOG2))",
    ),
    "rsv_exact": ("cde_rsv", "#(.CQ_W(CQ_W))"),
    "pack_exact": ("cde_pack", "#(.CQ_W(CQ_W), .IDX_W(IDX_W), .ENT_W(ENT_W))"),
    "issue_exact": (
        "cde_issue",
        "#(.CQ_W(CQ_W), .IDX_W(IDX_W), .M_ID_W(M_ID_W), .EQ_W(EQ_W), .MAX_WRITES(1 << MAX_LOG2),"
        " .MAX_LOG2(MAX_LOG2), .INIT_W(INIT_W), .EQ_REC_W(EQ_REC_W), .REC_W(EQ_REC_W + 1))",
    ),
    "event_exact": (
        "cde_event",
        "#(.NUM_EQ(1 << EQ_W), .EQ_W(EQ_W), .CQ_W(CQ_W), .IDX_W(IDX_W), .RETRY_W(RETRY_W),"
        " .EV_W(EV_W), .EQ_REC_W(RETRY_W + EQ_W + CQ_W))",
    ),
    "irq_exact": ("cde_irq", "#(.NUM_EQ(1 << EQ_W), .EQ_W(EQ_W))"),
    "errlog_exact": ("cde_errlog", "#(.DEPTH_LOG2(DEPTH_LOG2))"),
    "cq_exact": (
        "cde_cq",
        "#(.NUM_CQ(1 << CQ_W), .CQ_W(CQ_W), .IDX_W(IDX_W), .ENT_W(ENT_W))",
    ),
    "slot_exact": ("cde_slot", "#(.CQ_W(CQ_W), .IDX_W(IDX_W), .ENT_W(ENT_W), .LEVEL_W(LEVEL_W))"),
    "doorbell_exact": (
        "cde_doorbell",
        "#(.CQ_W(CQ_W), .IDX_W(IDX_W), .PAGE_W(PAGE_W), .ID_W(ID_W), .ADDR_W(ADDR_W),"
        " .POSTS(FULL), .RECEIVES(FULL))",
    ),
    "ctrl_exact": ("cde_ctrl", "#(.MEMORIES(40))"),
    "verb_exact": ("cde_verb", ""),
    "key_ctrl_exact": (
        "cde_key_ctrl",
        "#(.QP_W(QP_W), .NUM_MR(NUM_MR), .NUM_MW(NUM_MW), .MR_W(MR_W))",
    ),
    "keys_exact": (
        "cde_keys",
        "#(.NUM_QP(1 << QP_W), .QP_W(QP_W), .NUM_MR(1 << N_W), .NUM_MW(1 << N_W), .MR_W(N_W),"
        " .N_W(N_W))",
    ),
    "check_exact": (
        "cde_check",
        "#(.NUM_QP(1 << QP_W), .QP_W(QP_W), .NUM_MR(1 << MR_W), .MR_W(MR_W), .NUM_MW(NUM_MW),"
        " .N_W(N_W))",
    ),
    "rpost_exact": (
        "cde_rpost",
        "#(.NUM_QP(1 << QP_W), .QP_W(QP_W), .NUM_SRQ(1 << SRQ_W), .SRQ_W(SRQ_W), .CQ_W(CQ_W),"
        " .PAGE_W(PAGE_W), .IDX_W(IDX_W))",
    ),
    "take_exact": (
        "cde_take",
        "#(.NUM_QP(1 << QP_W), .QP_W(QP_W), .NUM_SRQ(1 << SRQ_W), .SRQ_W(SRQ_W), .CQ_W(CQ_W),"
        " .IDX_W(IDX_W), .RQ_LOG2(RQ_LOG2), .SRQ_LOG2(SRQ_LOG2), .RX_LOG2(RX_LOG2))",
    ),
    "post_exact": (
        "cde_post",
        "#(.NUM_QP(1 << QP_W), .QP_W(QP_W), .CQ_W(CQ_W), .PAGE_W(PAGE_W), .IDX_W(IDX_W),"
        " .SQ_LOG2(SQ_LOG2), .MOD_TICK(TICK))",
    ),
    "dispatch_exact": (
        "cde_dispatch",
        "#(.NUM_QP(1 << QP_W), .QP_W(QP_W), .IDX_W(IDX_W), .SQ_LOG2(SQ_LOG2), .BURST(BURST))",
    ),
    "retire_exact": (
        "cde_retire",
        "#(.NUM_QP(1 << QP_W), .QP_W(QP_W), .CQ_W(CQ_W), .IDX_W(IDX_W), .SQ_LOG2(SQ_LOG2),"
        " .BURST(BURST))",
    ),
    "rdone_exact": (
        "cde_rdone",
        "#(.QP_W(QP_W), .SRQ_W(SRQ_W), .CQ_W(CQ_W), .IDX_W(IDX_W), .RX_LOG2(RX_LOG2))",
    ),
    "qp_ctrl_exact": (
        "cde_qp_ctrl",
        "#(.NUM_QP(1 << QP_W), .QP_W(QP_W), .SRQ_W(SRQ_W), .CQ_W(CQ_W), .NUM_PAGES(1 << PAGE_W),"
        " .PAGE_W(PAGE_W), .IDX_W(IDX_W), .SQ_LOG2(SQ_LOG2), .RQ_LOG2(RQ_LOG2))",
    ),
    "srq_ctrl_exact": (
        "cde_srq_ctrl",
        "#(.NUM_SRQ(1 << SRQ_W), .SRQ_W(SRQ_W), .QP_W(QP_W), .NUM_PAGES(1 << PAGE_W),"
        " .PAGE_W(PAGE_W), .IDX_W(IDX_W), .SRQ_LOG2(SRQ_LOG2))",
    ),
    "pages_exact": ("cde_pages", "#(.PAGE_W(PAGE_W), .ID_W(ID_W), .ADDR_W(ADDR_W))"),
    "flags_exact": ("cde_arm_flags", "#(.Y_BITS(Y_W))"),
    "mbox_exact": (
        "cde_mbox",
        "#(.NUM_CQ(1 << CQ_W), .CQ_W(CQ_W), .NUM_EQ(1 << EQ_W), .EQ_W(EQ_W),"
        " .NUM_PAGES(1 << PAGE_W), .PAGE_W(PAGE_W), .IDX_W(IDX_W))",
    ),
    **dict.fromkeys(
        ("arm_order_exact", "arm_setting_exact"),
        (
            "cde_arm",
            "#(.NUM_CQ(1 << CQ_W), .CQ_W(CQ_W), .EQ_W(EQ_W), .PAGE_W(PAGE_W), .IDX_W(IDX_W),"
            " .RETRY_W(RETRY_W), .EV_W(EV_W))",
        ),
    ),
    "control_exact": ("cde_control", f"#({_CONTROL}, .POSTS(POSTS))"),
    "report_exact": ("cde_control", f"#({_CONTROL})"),
    "removal_exact": ("cde_windows", "#(.NUM_QP(1 << QP_W), .QP_W(QP_W))"),
}
#: Modules inside.
INSIDE = {
    "credit_exact": ("cde_credit_port", *PARTS),
    "age_exact": PARTS,
    "done_exact": PARTS,
    "rsv_exact": ("cde_fifo",),
    "issue_exact": ("cde_track",),
    "event_exact": ("cde_fifo",),
    "errlog_exact": ("cde_fifo",),
    "cq_exact": ("cde_slot", "cde_fifo", *PARTS),
    "slot_exact": ("cde_fifo",),
    "doorbell_exact": ("cde_fifo",),
    "ctrl_exact": ("cde_fifo",),
    "keys_exact": PARTS,
    "check_exact": ("cde_fifo", *PARTS),
    "rpost_exact": PARTS,
    "take_exact": ("cde_fifo", *PARTS),
    "rdone_exact": ("cde_fifo", *PARTS),
    "qp_ctrl_exact": ("cde_fifo", *PARTS),
    "srq_ctrl_exact": ("cde_turn",),
    **dict.fromkeys(
        ("arm_order_exact", "arm_setting_exact"),
        (
            *("cde_arm_count", "cde_arm_flags", "cde_arm_age", "cde_arm_look", "cde_arm_trace"),
            *PARTS,
        ),
    ),
    "mbox_exact": ("cde_eqs", *PARTS),
    **dict.fromkeys(
        ("control_exact", "report_exact"),
        ("cde_ctrl", "cde_mbox", "cde_eqs", "cde_errlog", "cde_counters", "cde_fifo", *PARTS),
    ),
    "pages_exact": ("cde_fifo", *PARTS),
    "post_exact": ("cde_verb", *PARTS),
    "dispatch_exact": ("cde_turn", *PARTS),
    "retire_exact": ("cde_turn", *PARTS),
    "removal_exact": ("cde_key_ctrl", "cde_keys", "cde_check", "cde_fifo", *PARTS),
}


def simulate(
    folder: Path, bench: str, values: Mapping[str, int] | None = None, hdl: Path = HDL
) -> str:
    """What the bench prints, with these of its parameters."""
    module, parameters = DUTS[bench]
    defines = [f"DUT={module} {parameters}"]
    modules = [module, *INSIDE.get(bench, ())]
    return run(build(BENCHES / f"{bench}.v", folder, modules, defines, values, hdl))


@pytest.mark.parametrize(
    ("bench", "values"),
    [
        *(("node_exact", {"AW": width}) for width in (1, 2, 7)),
        *(
            ("fifo_exact", {"W": width, "LOG2": log2, "BYPASS": bypass})
            for width, log2 in ((1, 1), (70, 2), (9, 5))
            for bypass in (0, 1)
        ),
        *(("turn_exact", {"QP_W": width}) for width in (1, 2, 6, 7)),
        *(("look_exact", {"CQ_W": width}) for width in (1, 3, 6)),
        ("counters_exact", {}),
        *(("credit_exact", {"CQ_W": cq, "IDX_W": idx}) for cq, idx in ((1, 6), (2, 12), (6, 16))),
        *(("count_exact", {"IDX_W": idx}) for idx in (4, 12, 16)),
        *(("age_exact", {"CQ_W": cq, "IDX_W": idx}) for cq, idx in ((1, 6), (2, 12), (6, 16))),
        ("track_exact", {"ID_W": 2, "MAX_LOG2": 3, "W": 40, "INIT_W": 3}),
        ("track_exact", {"ID_W": 7, "MAX_LOG2": 4, "W": 90, "INIT_W": 8}),
        *(
            ("answer_exact", {"CQ_W": cq, "EQ_W": eq, "RETRY_W": 65 + 2 * idx})
            for cq, eq, idx in ((1, 1, 5), (2, 4, 12), (6, 2, 16))
        ),
        ("eqs_exact", {"EQ_W": 1, "PAGE_W": 2, "CQ_W": 3}),
        ("eqs_exact", {"EQ_W": 4, "PAGE_W": 6, "CQ_W": 6}),
        ("done_exact", {"QP_W": 1, "IDX_W": 5, "SQ_LOG2": 2}),
        ("done_exact", {"QP_W": 6, "IDX_W": 12, "SQ_LOG2": 5}),
        *(("rsv_exact", {"CQ_W": width}) for width in (1, 6)),
        ("pack_exact", {"CQ_W": 2, "IDX_W": 5}),
        ("pack_exact", {"CQ_W": 6, "IDX_W": 16}),
        ("issue_exact", {"CQ_W": 2, "EQ_W": 1, "IDX_W": 5, "MAX_LOG2": 3, "INIT_W": 4}),
        ("issue_exact", {"CQ_W": 6, "EQ_W": 4, "IDX_W": 16, "MAX_LOG2": 4, "INIT_W": 8}),
        *(
            ("event_exact", {"CQ_W": cq, "EQ_W": eq, "IDX_W": idx})
            for cq, eq, idx in ((1, 2, 4), (3, 1, 5), (6, 4, 16))
        ),
        *(("irq_exact", {"EQ_W": width}) for width in (1, 2, 4)),
        *(("errlog_exact", {"DEPTH_LOG2": log2}) for log2 in (1, 4)),
        *(
            (
                "doorbell_exact",
                {"CQ_W": cq, "IDX_W": idx, "PAGE_W": page, "ADDR_W": 32, "FULL": full},
            )
            for cq, idx, page, full in ((2, 5, 1, 0), (6, 12, 6, 1), (12, 16, 12, 1), (6, 16, 6, 0))
        ),
        ("ctrl_exact", {}),
        ("verb_exact", {}),
        *(
            ("key_ctrl_exact", {"QP_W": qp, "MR_W": mr, "MW_W": mw})
            for qp, mr, mw in ((1, 1, 3), (2, 2, 2), (6, 11, 6))
        ),
        *(("keys_exact", {"QP_W": qp, "N_W": n}) for qp, n in ((1, 1), (2, 2), (4, 3))),
        *(
            ("check_exact", {"QP_W": qp, "MR_W": mr, "N_W": n, "NUM_MW": windows})
            for qp, mr, n, windows in ((1, 2, 2, 4), (2, 1, 3, 8), (6, 6, 6, 16))
        ),
        *(
            ("rpost_exact", {"QP_W": qp, "SRQ_W": srq, "IDX_W": idx})
            for qp, srq, idx in ((1, 1, 6), (2, 1, 5), (4, 2, 12))
        ),
        *(
            ("take_exact", {"QP_W": qp, "SRQ_W": srq, "IDX_W": idx, "RX_LOG2": flights})
            for qp, srq, idx, flights in ((2, 1, 5, 1), (3, 2, 12, 2), (2, 1, 16, 3))
        ),
        *(
            ("rdone_exact", {"QP_W": qp, "SRQ_W": srq, "IDX_W": idx, "RX_LOG2": flights})
            for qp, srq, idx, flights in ((1, 1, 6, 1), (3, 2, 5, 2), (6, 4, 16, 3))
        ),
        *(
            (
                "qp_ctrl_exact",
                {
                    "QP_W": qp,
                    "SRQ_W": srq,
                    "CQ_W": cq,
                    "PAGE_W": page,
                    "IDX_W": idx,
                    "SQ_LOG2": send,
                    "RQ_LOG2": receive,
                },
            )
            for qp, srq, cq, page, idx, send, receive in (
                (1, 1, 1, 1, 5, 1, 1),
                (2, 1, 6, 6, 12, 2, 2),
                (6, 4, 6, 6, 16, 5, 4),
            )
        ),
        *(
            ("pages_exact", {"PAGE_W": page, "ID_W": log2, "ADDR_W": address})
            for page, log2, address in ((1, 1, 28), (6, 8, 32), (12, 4, 40))
        ),
        ("flags_exact", {}),
        *(
            (bench, {"CQ_W": cq, "EQ_W": eq, "PAGE_W": page, "IDX_W": idx})
            for bench in ("arm_order_exact", "arm_setting_exact")
            for cq, eq, page, idx in ((1, 1, 1, 5), (6, 4, 6, 16))
        ),
        *(
            ("mbox_exact", {"CQ_W": cq, "EQ_W": eq, "PAGE_W": page, "IDX_W": idx})
            for cq, eq, page, idx in ((1, 1, 1, 6), (2, 4, 6, 12), (6, 2, 6, 16))
        ),
        *(
            ("control_exact", {"CQ_W": cq, "EQ_W": eq, "PAGE_W": page, "IDX_W": idx, "POSTS": side})
            for cq, eq, page, idx, side in ((1, 1, 1, 5, 0), (6, 4, 6, 16, 1))
        ),
        ("report_exact", {}),
        ("report_exact", {"CQ_W": 6, "EQ_W": 4, "PAGE_W": 6, "IDX_W": 16}),
        *(
            ("srq_ctrl_exact", {"SRQ_W": srq, "QP_W": qp, "IDX_W": idx, "SRQ_LOG2": log2})
            for srq, qp, idx, log2 in ((1, 1, 5, 2), (2, 2, 16, 4), (4, 6, 12, 6))
        ),
        *(
            ("post_exact", {"QP_W": qp, "SQ_LOG2": log2, "IDX_W": idx, "TICK": tick})
            for qp, log2, idx, tick in ((1, 3, 6, 2), (2, 2, 5, 4), (4, 4, 12, 256))
        ),
        *(
            (bench, {"QP_W": qp, "SQ_LOG2": log2, "IDX_W": idx, "BURST": burst})
            for bench in ("dispatch_exact", "retire_exact")
            for qp, log2, idx, burst in ((1, 3, 6, 1), (2, 2, 5, 16), (4, 4, 12, 8))
        ),
        *(("removal_exact", {"QP_W": width}) for width in (2, 6)),
        *(("cq_exact", {"CQ_W": cq, "IDX_W": idx}) for cq, idx in ((1, 5), (2, 12), (4, 16))),
        *(("slot_exact", {"IDX_W": idx, "LEVEL_W": log2}) for idx, log2 in ((6, 3), (16, 4))),
    ],
)
def test_design(tmp_path: Path, bench: str, values: dict[str, int]) -> None:
    assert simulate(tmp_path, bench, values).endswith("passed\n")


# -- a netlist -------------------------------------------------------------------------------------


def netlist(tmp_path: Path, flips: str = "1'b0", bypass: int = 1) -> Path:
    """A memory and a FIFO as Yosys writes them, whose mutant 1 inverts a bit that is read, mutant 2
    with one seed.
    """
    text = f"""
module cde_ram__1(clk, mem_i, mem_o, we, waddr, wdata, raddr, rdata, mutsel);
  input clk;
  input [41:0] mem_i;
  output [41:0] mem_o;
  input we;
  input [1:0] waddr;
  input [3:0] wdata;
  input [1:0] raddr;
  output [3:0] rdata;
  input [1:0] mutsel;
  reg [7:0] mem [3:0];
  // fwd_q
  wire [3:0] word;
  wire late = mutsel == 2'd2 && $test$plusargs("seed=3");
  assign rdata = word ^ {{3'd0, mutsel == 2'd1 || late || {flips}}};
  cde_part__1 part (
    .a(we)
  );
  cde_ram #(.W(4), .AW(2)) inner (.clk(clk), .mem_i(mem_i), .mem_o(mem_o), .we(we), .waddr(waddr),
                                  .wdata(wdata), .raddr(raddr), .rdata(word));
endmodule
module cde_fifo__3(clk, rst, push_valid, push_ready, push_data, pop_valid, pop_ready, pop_data,
                   level, mutsel);
  input clk;
  input rst;
  input push_valid;
  output push_ready;
  input [3:0] push_data;
  output pop_valid;
  input pop_ready;
  output [3:0] pop_data;
  output [2:0] level;
  input [1:0] mutsel;
  wire [3:0] word;
  function [0:0] \\$procmux$7 ;
    input [0:0] a;
    \\$procmux$7  = a;
  endfunction
  assign pop_data = word ^ {{3'd0, \\$procmux$7 (mutsel == 2'd1)}};
  cde_fifo #(.W(4), .DEPTH_LOG2(2), .BYPASS({bypass})) inner (.clk(clk), .rst(rst),
    .push_valid(push_valid), .push_ready(push_ready), .push_data(push_data),
    .pop_valid(pop_valid), .pop_ready(pop_ready), .pop_data(word), .level(level));
endmodule
module cde_part__1(a);
  input a;
endmodule
module cde_other__1(a);
  input a;
endmodule
"""
    sources = "".join((HDL / f"{name}.v").read_text() for name in (*PARTS, "cde_fifo"))
    path = tmp_path / "netlist.v"
    path.write_text(text + sources)
    return path


@pytest.mark.parametrize("bypass", [0, 1])
def test_mutants_of_a_netlist(tmp_path: Path, bypass: int) -> None:
    benches = ModuleBenches(netlist(tmp_path, bypass=bypass), tmp_path / "work")
    assert benches.has("cde_ram__1") and benches.has("cde_part__1") and benches.has("cde_fifo__3")
    assert not benches.has("cde_other__1")
    name, found = benches.run(1, "cde_ram__1")
    assert name == "memory_exact" and "word of port 0" in found.message
    name, found = benches.run(1, "cde_fifo__3")
    assert name == "fifo_exact" and "word" in found.message
    name, passed = benches.run(2, "cde_part__1")
    assert (name, passed.message) == ("", "") and passed.seconds > 0


def test_more_seeds_for_a_mutant(tmp_path: Path) -> None:
    benches = ModuleBenches(netlist(tmp_path), tmp_path / "work")
    messages = [benches.run(2, "cde_ram__1", seed)[1].message for seed in (1, 2)]
    assert messages == ["", ""]
    name, found = benches.run(2, "cde_ram__1", 3)
    assert name == "memory_exact seed 3" and "word of port 0" in found.message


@pytest.mark.parametrize(
    ("flips", "seed", "how"), [("we", 1, "wrong"), ('$test$plusargs("seed=2")', 2, "seed 2: wrong")]
)
def test_bench_that_fails_without_a_mutant_is_left_out(
    tmp_path: Path, flips: str, seed: int, how: str
) -> None:
    benches = ModuleBenches(netlist(tmp_path, flips), tmp_path / "work")
    for _ in range(2):
        assert benches.run(1, "cde_ram__1", seed)[0] == ""
        (problem,) = benches.left_out.values()
        assert f"fails without a mutant: {how}: word of port 0" in problem


def test_netlist_that_does_not_compile(tmp_path: Path) -> None:
    benches = ModuleBenches(netlist(tmp_path, "nothing_of_this_name"), tmp_path / "work")
    assert benches.run(1, "cde_ram__1")[0] == ""
    (problem,) = benches.left_out.values()
    assert "nothing_of_this_name" in problem


def test_bench_that_does_not_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    benches = ModuleBenches(netlist(tmp_path), tmp_path / "work")
    assert benches.run(2, "cde_ram__1")[1].message == ""
    monkeypatch.setattr(mutate_modules, "_TIMEOUT_S", 0.01)
    assert benches.run(2, "cde_ram__1")[1].message == "does not end"


def test_settings(tmp_path: Path) -> None:
    modules = parts(netlist(tmp_path).read_text())
    (found,) = MEMORY.settings("cde_ram__1", modules["cde_ram__1"])
    wanted = [f"-P{MEMORY.name}.{value}" for value in ("W=4", "AW=2", "ECC=1", "FORWARD=1")]
    assert set(found) >= {"-DMUTANTS=2", "-DDUT=cde_ram__1", *wanted}
    plain = modules["cde_ram__1"].replace("[7:0] mem", "[3:0] mem").replace("fwd_q", "")
    (found,) = MEMORY.settings("cde_ram__1", plain)
    assert set(found) >= {f"-P{MEMORY.name}.ECC=0", f"-P{MEMORY.name}.FORWARD=0"}
    for bench in ALL:
        with pytest.raises(RunnerError, match=f"of the form that {bench.name} knows"):
            bench.settings("cde_ram__1", modules["cde_other__1"])
    (fifo,) = (bench for bench in ALL if bench.name == "fifo_exact")
    choices = fifo.settings("cde_fifo__3", modules["cde_fifo__3"])
    assert [choice[-1] for choice in choices] == ["-Pfifo_exact.BYPASS=0", "-Pfifo_exact.BYPASS=1"]
    assert set(choices[0]) >= {"-Pfifo_exact.W=4", "-Pfifo_exact.LOG2=2"}


def test_wires_of_which_a_mutant_stands_for_one_bit() -> None:
    text = "  wire \\level[0] ;\n  wire [4:2] \\level[4:2] ;\n  wire [6:0] other;\n  wire one;\n"
    assert [wires(text, name) for name in ("level", "other", "one", "none")] == [5, 7, 1, 0]


def test_smallest_memory_is_taken() -> None:
    small = "  cde_part__1 part (\n"
    modules = {"cde_ram__1": small + 9 * " ", "cde_ram__2": small, "cde_part__1": ""}
    found = contained(modules, MEMORY)
    assert found["cde_part__1"] == "cde_ram__2" and found["cde_ram__1"] == "cde_ram__1"


def test_names_for_icarus() -> None:
    text = "  function [1:0] \\$procmux$1 ;\nassign \\$procmux$1_Y  = \\$procmux$1 (\\$eq$2 );\n"
    wanted = text.replace("\\$procmux$1 ", "\\function_$procmux$1 ")
    assert for_icarus(text) == wanted


@pytest.mark.parametrize("name", ["\\$0$EN[3:0]$7 ", "en"])
def test_copies_of_a_bit(name: str) -> None:
    """They are left out where nobody looks at them."""
    line = f"  assign {name}[3:1]  = {{ {name}[0], {name}[0], {name}[0] }};\n"
    head = f"module a(b);\n  wire [3:0] {name};\n  assign {name}[0] = b;\n"
    other = f"  assign c = {name}[0];\n  assign \\x{name.strip()} = d;\nendmodule\n"
    looked = f"  assign c = {name}[2];\nendmodule\n"
    whole = f"  assign c = {name} ;\nendmodule\n"
    text = head + line + other
    for_all = head + line + looked + head + line + whole
    assert for_icarus(text + for_all) == head + other + for_all


def test_every_bench_has_a_test() -> None:
    """Here, or in a file of its own."""
    names = {MEMORY.name, BUS.name, *DUTS}
    assert {bench.name for bench in ALL} == {path.stem for path in BENCHES.glob("*.v")} == names
