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
    MEMORY,
    ModuleBenches,
    contained,
    for_icarus,
    parts,
)
from tb.unit.icarus import HDL, build, run, with_fault
from tb.unit.icarus import MEMORY as PARTS

#: Of each bench: the module, and its parameters by those of the bench.
_QUEUES = "#(.NUM_CQ(1 << CQ_W), .CQ_W(CQ_W), .IDX_W(IDX_W))"
_WRITES = "#(.ID_W(ID_W), .MAX_WRITES(1 << MAX_LOG2), .MAX_LOG2(MAX_LOG2), .W(W), .INIT_W(INIT_W))"
DUTS = {
    "node_exact": ("cde_mem_node", "#(.AW(AW))"),
    "fifo_exact": ("cde_fifo", "#(.W(W), .DEPTH_LOG2(LOG2), .BYPASS(BYPASS))"),
    "turn_exact": ("cde_turn", "#(.NUM_QP(1 << QP_W), .QP_W(QP_W))"),
    "look_exact": ("cde_arm_look", "#(.NUM_CQ(1 << CQ_W), .CQ_W(CQ_W))"),
    "counters_exact": ("cde_counters", ""),
    "credit_exact": ("cde_credit", _QUEUES),
    "age_exact": ("cde_arm_age", "#(.CQ_W(CQ_W), .IDX_W(IDX_W), .Z_BITS(Z_W))"),
    "track_exact": ("cde_track", _WRITES),
    "answer_exact": (
        "cde_answer",
        "#(.CQ_W(CQ_W), .IDX_W(IDX_W), .EQ_W(EQ_W), .REC_W(REC_W), .RETRY_W(RETRY_W))",
    ),
    "irq_exact": ("cde_irq", "#(.NUM_EQ(1 << EQ_W), .EQ_W(EQ_W))"),
    "errlog_exact": ("cde_errlog", "#(.DEPTH_LOG2(DEPTH_LOG2))"),
    "slot_exact": ("cde_slot", "#(.CQ_W(CQ_W), .IDX_W(IDX_W), .ENT_W(ENT_W), .LEVEL_W(LEVEL_W))"),
    "doorbell_exact": (
        "cde_doorbell",
        "#(.CQ_W(CQ_W), .IDX_W(IDX_W), .PAGE_W(PAGE_W), .ID_W(ID_W), .ADDR_W(ADDR_W),"
        " .POSTS(FULL), .RECEIVES(FULL))",
    ),
    "dispatch_exact": (
        "cde_dispatch",
        "#(.NUM_QP(1 << QP_W), .QP_W(QP_W), .IDX_W(IDX_W), .SQ_LOG2(SQ_LOG2), .BURST(BURST))",
    ),
    "removal_exact": ("cde_windows", "#(.NUM_QP(1 << QP_W), .QP_W(QP_W))"),
}
#: Modules inside.
INSIDE = {
    "credit_exact": ("cde_credit_port", *PARTS),
    "age_exact": PARTS,
    "errlog_exact": ("cde_fifo",),
    "slot_exact": ("cde_fifo",),
    "doorbell_exact": ("cde_fifo",),
    "dispatch_exact": ("cde_turn", *PARTS),
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
        *(("age_exact", {"CQ_W": cq, "IDX_W": idx}) for cq, idx in ((1, 6), (2, 12), (6, 16))),
        ("track_exact", {"ID_W": 2, "MAX_LOG2": 3, "W": 40, "INIT_W": 3}),
        ("track_exact", {"ID_W": 7, "MAX_LOG2": 4, "W": 90, "INIT_W": 8}),
        *(
            ("answer_exact", {"CQ_W": cq, "EQ_W": eq, "RETRY_W": 64 + 2 * idx})
            for cq, eq, idx in ((1, 1, 5), (2, 4, 12), (6, 2, 16))
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
        *(
            ("dispatch_exact", {"QP_W": qp, "SQ_LOG2": log2, "IDX_W": idx, "BURST": burst})
            for qp, log2, idx, burst in ((1, 3, 6, 1), (2, 2, 5, 2), (4, 4, 12, 8))
        ),
        *(("removal_exact", {"QP_W": width}) for width in (2, 6)),
        *(("slot_exact", {"IDX_W": idx, "LEVEL_W": log2}) for idx, log2 in ((6, 3), (16, 4))),
    ],
)
def test_design(tmp_path: Path, bench: str, values: dict[str, int]) -> None:
    assert simulate(tmp_path, bench, values).endswith("passed\n")


@pytest.mark.parametrize(
    ("bench", "text", "replacement", "message"),
    [
        ("node_exact", "if (start) clear_addr <= {AW{1'b0}};", "", "walk"),
        ("node_exact", "clear_addr + 1'b1;", "clear_addr - 1'b1;", "walk"),
        ("node_exact", "if (clear) clear_addr <=", "clear_addr <=", "walk"),
        ("node_exact", "assign clear = mem_i", "assign clear = !mem_i", "walk"),
        ("node_exact", "if (start || clear) begin", "if (start) begin", "report"),
        ("node_exact", "in_bad && (bad || wait_bad)", "in_bad && bad", "report"),
        ("node_exact", "bad || wait_bad;", "wait_bad;", "report"),
        ("node_exact", "HOPS +: 8] + 8'd1", "HOPS +: 8]", "what is reported"),
        ("node_exact", ": lost || wait_lost", ": lost", "what is reported"),
        ("fifo_exact", "assign push_ready = !level[DEPTH_LOG2];", "assign push_ready = 1'b1;", "p"),
        ("fifo_exact", "push && !(load && !stored)", "push", "pop_valid"),
        ("fifo_exact", "q_data <= stored ? mem", "q_data <= !stored ? mem", "word"),
        ("fifo_exact", "if (push && !pop) level", "if (push) level", "level"),
        ("fifo_exact", "rd_ptr <= {(DEPTH_LOG2 + 1){1'b0}};", "", "pop_valid"),
        ("fifo_exact", "q_valid <= stored || push;", "q_valid <= stored;", "pop_valid"),
        ("turn_exact", "if (ask2) asked[ask2_qp] <= 1'b1;", "", "pending"),
        ("turn_exact", "served ? served_qp : latest;", "latest;", "QP that is offered"),
        ("turn_exact", "latest <= from;", "latest <= turn_qp;", "QP that is offered"),
        ("turn_exact", "asked[pick] <= 1'b0;", "", "offer"),
        ("turn_exact", "turn_valid || asked != {NUM_QP{1'b0}};", "turn_valid;", "pending"),
        ("look_exact", "DEPTH = 3'd6;", "DEPTH = 3'd5;", "CQ"),
        ("look_exact", "if (ended) ripe <= 1'b0;", "", "request"),
        ("look_exact", "ripe && !ended && ripe_now", "ripe && ripe_now", "request"),
        ("look_exact", "ripe && !ended && ripe_now", "ripe && !ended", "request"),
        ("look_exact", "STEP: state <= SEEK;", "STEP: state <= ASK;", "CQ"),
        ("look_exact", "second && ripe;", "second;", "second look"),
        ("counters_exact", "flip_counter == i[9:0]", "flip_counter[5:0] == i[5:0]", "counter"),
        ("counters_exact", "flip ? 32'd1 << flip_bit", "flip ? 32'd1 << flip_bit[4:0]", "counter"),
        ("counters_exact", "j == LOST ? lost", "j == LOST ? {1'b0, lost[2:0]}", "counter 11"),
        ("counters_exact", "recv_step[2*j +: 2]", "recv_step[2*j +: 1]", "counter"),
        ("counters_exact", "cause_valid && cause == j[7:0]", "cause == j[7:0]", "counter"),
        ("counters_exact", "cause == j[7:0]", "cause[4:0] == j[4:0]", "counter"),
        ("counters_exact", "rst ? 32'd0 :", "rst && i != 47 ? 32'd0 :", "counter 47"),
        ("credit_exact", "ahead(taken && granted_cq == granted2_cq)", "ahead(taken)", "verdict"),
        ("age_exact", "l_mcnt >= limit", "l_mcnt > limit", "ripe"),
        ("age_exact", "!l_present[IDX_W-1] && l_present", "l_present", "ripe"),
        ("age_exact", "age > {2'b00", "age >= {2'b00", "ripe"),
        ("age_exact", "p_sum[IDX_W] ? {IDX_W{1'b1}} : ", "", "publication leaves"),
        ("age_exact", "fresh[IDX_W-1] ? ZERO : ", "", "doorbell leaves"),
        ("age_exact", "d_look && waited[", "waited[", "doorbell leaves"),
        ("age_exact", "p_cq == d_cq_read ? p_z_next", "0 ? p_z_next", "doorbell finds"),
        ("age_exact", "d_cq == p_cq_read ? d_z_next", "0 ? d_z_next", "publication finds"),
        ("track_exact", "!init && room != {(MAX_LOG2 + 1){1'b0}}", "!init", "room"),
        ("track_exact", "!init && room", "room", "walk"),
        ("track_exact", "l_id == b_id ? l_next :", "0 ? l_next :", "record"),
        ("track_exact", "l_error <= b_resp != 2'b00", "l_error <= b_resp[1]", "error"),
        ("track_exact", "stray <= b_valid && !b_known", "stray <= b_valid && !head[b_id]", "stray"),
        ("track_exact", "l_valid <= b_valid && b_known", "l_valid <= b_valid", "answer"),
        ("answer_exact", "!init && !(ovf_valid && !ovf_ready)", "!init", "readiness for answers"),
        ("answer_exact", "!(ovf_valid && !ovf_ready)", "!ovf_valid", "readiness for answers"),
        ("answer_exact", "ovf_valid && !ans_valid;", "ovf_valid;", "hand of the overflow"),
        ("answer_exact", "ans_valid ? cq : ovf_cq", "cq", "CQ of the overflow"),
        ("answer_exact", "event_write && (!ans_error || give_up)", "event_write", "interrupt"),
        ("answer_exact", "irq_lap <= pub_retry[RETRY_W-3];", "", "EQ of the interrupt"),
        ("answer_exact", "give_up ? `CDE_CAUSE_EQ_FAILED :", "", "what is reported"),
        ("answer_exact", "((ans_valid && ans_error) || stray)", "(ans_valid && ans_error)", "rep"),
        ("answer_exact", "give_up ? pub_retry", "!give_up ? pub_retry", "what is reported"),
        ("answer_exact", "`CDE_CQST_INTERNAL_ERROR :", "2'd0 :", "failed CQE write"),
        ("irq_exact", "if (m_axis_irq_tready) m_axis_irq_tvalid", "m_axis_irq_tvalid", "beat"),
        ("irq_exact", "i[EQ_W-1:0] > last", "i[EQ_W-1:0] >= last", "vector"),
        ("irq_exact", "!(wanted && last_other)", "!last_other", "others"),
        ("irq_exact", "m_axis_irq_tready && last_other", "last_other", "beat that left"),
        ("irq_exact", "if (set) pending", "if (set && !load) pending", "beat"),
        ("errlog_exact", "err_valid & (~held | leaves);", "err_valid & ~held;", "lost"),
        ("errlog_exact", "err_valid & (~held | leaves);", "err_valid;", "lost"),
        ("errlog_exact", "held & (~held + 11'd1);", "held;", "entry"),
        ("errlog_exact", "room ? pick", "1'b1 ? pick", "lost"),
        ("errlog_exact", "miss = err_valid & ~accept", "miss = err_valid & held", "lost"),
        ("errlog_exact", "{3'd0, miss[7]}", "{3'd0, miss[6]}", "lost"),
        ("errlog_exact", "(held & ~leaves) | accept;", "held | accept;", "entry"),
        ("errlog_exact", "held <= 11'd0;", "", "valid"),
        ("slot_exact", "|| kind == 15'h0010", "", "entry"),
        ("slot_exact", "s_put0 ? s_data[254:0] : ", "", "entry"),
        ("slot_exact", "alloc + ONE - origin", "alloc - origin", "entry"),
        ("slot_exact", "s_used_next - s_alloc_next", "s_used_next", "silent"),
        ("slot_exact", "s_step <= step && !rst", "s_step <= step", "step"),
        ("slot_exact", "s_push <= push && !rst", "s_push <= push", "handshake"),
        ("dispatch_exact", "l_valid ? l_qp : fetch_qp", "l_valid ? fetch_qp : l_qp", "offer"),
        ("dispatch_exact", "(launch || l_valid || fetch)", "(l_valid || fetch)", "offer"),
        ("doorbell_exact", "aw_room && !init;", "aw_room;", "room"),
        ("doorbell_exact", "b_level <= 5'd10", "b_level <= 5'd11", "doorbell"),
        ("doorbell_exact", "aw_addr[5:3], 3'd0}", "aw_addr[5:4], 4'd0}", "cause"),
        ("doorbell_exact", "!= 8'd0 || !size_ok", "> 8'd1 || !size_ok", "post"),
        ("doorbell_exact", "in_burst || aw_len != 8'd0) cause", "aw_len != 8'd0) cause", "cause"),
        ("doorbell_exact", "offset[5:0] == 6'd0;", "offset[5:1] == 5'd0;", "cause"),
        ("doorbell_exact", "aw_size >= 3'd3 &&", "", "cause"),
        ("doorbell_exact", "aw_addr[2:0] == 3'd0 &&", "", "cause"),
        ("doorbell_exact", "64'hff << lane", "64'hff << {lane[5:4], 4'd0}", "cause"),
        ("doorbell_exact", "{(ADDR_W - 12){1'b0}};", "{(ADDR_W - 12){1'b0}} || page[31];", "cause"),
        ("doorbell_exact", "word[62:52] != 11'd0", "word[61:52] != 10'd0", "cause"),
        ("doorbell_exact", "(!arm && arm_type != 4'd0)", "1'b0", "cause"),
        ("doorbell_exact", "arm_type > 4'd2", "arm_type > 4'd3", "cause"),
        ("doorbell_exact", "(cq >> CQ_W) != 16'd0", "cq[CQ_W]", "cause"),
        ("doorbell_exact", "is_recv || is_srq_db}", "is_recv}", "kind of a post"),
        ("doorbell_exact", "if (take) in_burst <= 1'b0;", "", "cause"),
        ("doorbell_exact", "page[27:12], is_post", "page[27:12] & {16{page_known}}, is_post", "of"),
        ("doorbell_exact", "b_cause == 8'h00 ?", "!b_cause[0] ?", "response"),
        ("doorbell_exact", "if (rst) in_burst <= 1'b0;", "", "cause"),
        ("dispatch_exact", "launch ? cand_qp : l_valid", "l_valid", "offer"),
        ("dispatch_exact", "turn_valid && turn_qp != fetch_qp", "turn_valid", "offer"),
        ("dispatch_exact", "(f_valid && f_qp == cand_qp)", "1'b0", "indicat"),
        ("dispatch_exact", "rel_valid && !(launch && !turn_valid)", "rel_valid", "offer"),
        (
            "dispatch_exact",
            "rel_valid && !(launch && !turn_valid)",
            "rel_valid && !launch",
            "offer",
        ),
        ("dispatch_exact", "fetch_left == 8'd0 && others", "fetch_left == 8'd0", "offer"),
        ("dispatch_exact", "if (rel_we && acc_qp == (advance", "if (0 && (advance", "offer"),
        ("dispatch_exact", "g_valid && g_blocked && g_qp == fetch_qp", "1'b0", "indicat"),
        ("dispatch_exact", "stop[g_qp] && !g_offered", "stop[g_qp]", "offer"),
        ("dispatch_exact", "!skip && !g_offered && fenced", "1'b0", "offer"),
        ("dispatch_exact", "(g_sent || (m_axis_work_tvalid", "((m_axis_work_tvalid", "offer"),
        ("dispatch_exact", "executes && !skip ? loc_status", "executes ? loc_status", "status"),
        ("dispatch_exact", "g_local || skip ? g_tags", "g_local ? g_tags", "tags"),
        ("dispatch_exact", "g_read ? g_reads + ONE", "g_read ? g_reads", "offer"),
        ("removal_exact", "if (&walk) walks <= 1'b0;", "", "end of a connection"),
        ("removal_exact", "(&walk)", "(&walk[QP_W-1:1])", "end of a connection"),
        ("removal_exact", "walk + 1'b1;", "walk - 1'b1;", "end of a connection"),
        ("removal_exact", "(walks && qp_up[walk])", "walks", "end of a connection"),
        ("removal_exact", "removed || removes;", "removed;", "device"),
        ("removal_exact", "removed <= 1'b0;", "", "device"),
    ],
)
def test_faults_are_found(
    tmp_path: Path, bench: str, text: str, replacement: str, message: str
) -> None:
    copy = with_fault(tmp_path, DUTS[bench][0], text, replacement)
    printed = simulate(tmp_path, bench, hdl=copy)
    assert printed.startswith("wrong: ") and message in printed, printed[:300]


@pytest.mark.parametrize(
    ("text", "replacement", "message"),
    [
        ("room - {{(IDX_W-2){1'b0}}, ahead_count};", "room;", "verdict of port 1"),
        ("other_we && other_cq == r_cq ? other_total : ", "", "verdict"),
        ("!c_dead && (mode", "(mode", "verdict"),
        ("dead[r_cq]", "dead[a_cq]", "error"),
        ("gr_take && !mode[0]", "gr_take", "taking"),
        ("c_clear ? {IDX_W{1'b0}} : total", "total", "total"),
        ("granted_cq = c_cq", "granted_cq = r_cq", "CQ"),
        ("r_clear <= clear && !rst", "r_clear <= clear && rq_valid", "taking"),
        ("assign taken_count = c_count;", "assign taken_count = r_count;", "verdict"),
        # Totals over all of their values
        (": total + wish;", ": total + wish + &total[IDX_W-1 -: 4];", "total"),
    ],
)
def test_faults_of_credits_are_found(
    tmp_path: Path, text: str, replacement: str, message: str
) -> None:
    copy = with_fault(tmp_path, "cde_credit_port", text, replacement)
    printed = simulate(tmp_path, "credit_exact", {"IDX_W": 12}, copy)
    assert printed.startswith("wrong: ") and message in printed, printed[:300]


def test_fault_of_a_large_group(tmp_path: Path) -> None:
    """More QPs than one group of cde_turn has."""
    copy = with_fault(tmp_path, "cde_turn", "{group, after", "{next_group, after")
    assert "QP that is offered" in simulate(tmp_path, "turn_exact", {"QP_W": 7}, copy)


# -- a netlist -------------------------------------------------------------------------------------


def netlist(tmp_path: Path, flips: str = "1'b0", bypass: int = 1) -> Path:
    """A memory and a FIFO as Yosys writes them, whose mutant 1 inverts a bit that is read."""
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
  assign rdata = word ^ {{3'd0, mutsel == 2'd1 || {flips}}};
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


def test_failure_without_a_mutant_is_an_error(tmp_path: Path) -> None:
    benches = ModuleBenches(netlist(tmp_path, "we"), tmp_path / "work")
    with pytest.raises(RunnerError, match="fails without a mutant: wrong: word of port 0"):
        benches.run(1, "cde_ram__1")


def test_netlist_that_does_not_compile(tmp_path: Path) -> None:
    benches = ModuleBenches(netlist(tmp_path, "nothing_of_this_name"), tmp_path / "work")
    with pytest.raises(RunnerError, match="nothing_of_this_name"):
        benches.run(1, "cde_ram__1")


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


def test_smallest_memory_is_taken() -> None:
    small = "  cde_part__1 part (\n"
    modules = {"cde_ram__1": small + 9 * " ", "cde_ram__2": small, "cde_part__1": ""}
    found = contained(modules, MEMORY)
    assert found["cde_part__1"] == "cde_ram__2" and found["cde_ram__1"] == "cde_ram__1"


def test_names_for_icarus() -> None:
    text = "  function [1:0] \\$procmux$1 ;\nassign \\$procmux$1_Y  = \\$procmux$1 (\\$eq$2 );\n"
    wanted = text.replace("\\$procmux$1 ", "\\function_$procmux$1 ")
    assert for_icarus(text) == wanted


def test_every_bench_has_a_test() -> None:
    assert {bench.name for bench in ALL} == {MEMORY.name, *DUTS}
    assert {path.stem for path in BENCHES.glob("*.v")} == {MEMORY.name, *DUTS}
