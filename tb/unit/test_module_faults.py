# SPDX-License-Identifier: Apache-2.0
"""Faults that the benches of modules (tb/modules) must find, one rule of a module or more each."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb.unit.icarus import with_fault
from tb.unit.test_module_benches import DUTS, simulate


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
        ("verb_exact", "| `CDE_POSTFLAG_RDMA_READ_SINK", "", "cause"),
        ("verb_exact", "{4'b1100, 2'd0, 8'd0, COMMON,", "{4'b1100, 2'd1, 8'd0, COMMON,", "cause"),
        ("verb_exact", "2'd3, 8'd48", "2'd3, 8'd49", "cause"),
        ("verb_exact", "segments > 8'd1 ?", "segments[7:1] != 7'd0 && segments != 8'd3 ?", "bytes"),
        ("verb_exact", "sum > 34'h0_8000_0000", "sum >= 34'h0_8000_0000", "cause"),
        ("verb_exact", "sum > 34'h0_8000_0000", "sum[31:0] > 32'h8000_0000", "cause"),
        ("verb_exact", "|| (flags[5] && !flags[4])", "", "cause"),
        ("verb_exact", "is_inline ? 8'd0 :", "is_inline ? 8'd1 :", "cause"),
        ("verb_exact", "inline_bytes != 8'd0 || too_long", "too_long", "cause"),
        ("verb_exact", "!counts ? 32'd0 :", "", "bytes"),
        ("verb_exact", "post[63:56] != 8'd0", "post[62:56] != 7'd0", "cause"),
        ("check_exact", "a_kind == 2'd3;", "1'b0;", "reported"),
        ("check_exact", "s_axis_check_tdata[31:18] != 14'd0", "1'b0", "reported"),
        ("check_exact", "change_we && change_at == b_at ? change_word : ", "", "report"),
        ("check_exact", "!c_far && word[K_VALID]", "word[K_VALID]", "report"),
        ("check_exact", "word[K_VALID] && word", "word", "report"),
        ("check_exact", "== c_key[31:12];", "== c_key[31:12] || &c_key[12:12];", "report"),
        ("check_exact", "word[K_ZONE +: 16] == zone;", "1'b1;", "report"),
        (
            "check_exact",
            "c_kind == 2'd1 ? word[K_RIGHTS + 1]",
            "c_kind == 2'd1 ? word[K_RIGHTS]",
            "w",
        ),
        ("check_exact", "c_bytes == 32'd0 ||", "", "report"),
        ("check_exact", "{33'd0, c_bytes} <= {17'd0", "{33'd0, c_bytes} < {17'd0", "report"),
        ("check_exact", "c_bad || removed ||", "c_bad ||", "reported"),
        ("check_exact", "!guarded || !qp_up[c_qp]", "!guarded", "reported"),
        ("check_exact", "c_valid && !refused && code !=", "c_valid && code !=", "end of a"),
        ("check_exact", "out_level <= 4'd4", "out_level <= 4'd5", "room"),
        ("check_exact", "!c_far && word[K_EXISTS];", "word[K_EXISTS];", "trace"),
        ("check_exact", "rst ? 2'b00 : {take, b_valid}", "{take, b_valid}", "count"),
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
