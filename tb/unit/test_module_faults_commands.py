# SPDX-License-Identifier: Apache-2.0
"""Faults that the benches of the modules behind the control mailbox must find, one rule of a module
or more each.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tb.unit.icarus import with_fault
from tb.unit.test_module_benches import DUTS, simulate


@pytest.mark.parametrize(
    ("bench", "text", "replacement", "message"),
    [
        ("qp_ctrl_exact", "conn_bad ? !conn_missed : conn_asks", "conn_bad || conn_asks", ""),
        ("qp_ctrl_exact", "conn_asks && !fails);", "conn_asks);", ""),
        ("qp_ctrl_exact", "conn_take ? 2'd3 :", "conn_take ? 2'd2 :", "step"),
        ("qp_ctrl_exact", "!conn_bad && conn_pause == 2'd0;", "!conn_bad;", "step"),
        ("qp_ctrl_exact", "conn_push_ready && !init;", "conn_push_ready;", "hand of an event"),
        ("qp_ctrl_exact", "(s_axis_conn_tvalid && !init)", "(s_axis_conn_tvalid)", ""),
        ("qp_ctrl_exact", "conn[31:24] != 8'd0 ||", "conn[31:25] != 7'd0 ||", ""),
        ("qp_ctrl_exact", "(conn[15:0] >> QP_W) != 16'd0 ||", "", ""),
        ("qp_ctrl_exact", "< NUM_QP && !rfail_pending);", "<= NUM_QP && !rfail_pending);", "step"),
        ("qp_ctrl_exact", "< NUM_QP && !rfail_pending);", "< NUM_QP);", "step"),
        ("qp_ctrl_exact", "!c_connect || state == LOOK || (", "!c_connect || (", "step"),
        ("qp_ctrl_exact", "c_destroy && state == ACT && keys_held", "c_destroy && keys_held", ""),
        ("qp_ctrl_exact", "(cmd_asks && cmd_may && !in_use);", "(cmd_asks && cmd_may);", "step"),
        ("qp_ctrl_exact", "&& !fails && !conn_asks;", "&& !fails;", "step"),
        ("qp_ctrl_exact", "rfail_ready = !fail_valid && ", "rfail_ready = ", "failure"),
        ("qp_ctrl_exact", "fails ? OP_FAIL : conn_asks ?", "conn_asks ?", "step"),
        ("qp_ctrl_exact", "kfail_valid ? kfail_qp :", "", "step"),
        ("qp_ctrl_exact", "|| c_modify || c_query ?", "|| c_modify ?", "step"),
        ("qp_ctrl_exact", "opr_code == OP_DESTROY ? `CDE_QPS_ERROR :", "", "terminate"),
        ("qp_ctrl_exact", "was_up && !is_up)", "was_up)", "terminate"),
        ("qp_ctrl_exact", "opr_old == `CDE_QPS_CONNECTED ||", "", "terminate"),
        ("qp_ctrl_exact", "opr_code != OP_FAIL && opr_code != OP_CONN;", "1'b1;", ""),
        ("qp_ctrl_exact", "c_connect ? arg1[23:0] : c_create ?", "c_create ?", "end of a"),
        ("qp_ctrl_exact", "c_create ? 24'd0 : info", "c_create ? arg1[23:0] : info", "end of a"),
        ("qp_ctrl_exact", "c_create || c_modify ? arg5", "c_create ? arg5", "posting"),
        ("qp_ctrl_exact", "!cmd_asks && qp_state == `CDE_QPS_IDLE", "!cmd_asks", "settings"),
        ("qp_ctrl_exact", "(settings || peer_we)", "(settings)", "end of a"),
        ("qp_ctrl_exact", "arg7[26:25], arg7[18:16]", "arg7[26:25], arg7[17:16], 1'b0", ""),
        ("qp_ctrl_exact", "c_create ? users + 1'b1 :", "c_create ? users :", "use of a CQ"),
        ("qp_ctrl_exact", "&& phase;", ";", ""),
        ("qp_ctrl_exact", "(c_create ? shared : kind[0])", "(shared)", "settings"),
        ("qp_ctrl_exact", "(c_connect && arg1[31:24] != 8'd0) ||", "", "step"),
        ("qp_ctrl_exact", "(c_set && arg1[31:4] != 28'd0) ||", "(c_set && arg1[30:4] != 0) ||", ""),
        ("qp_ctrl_exact", "(!shared && arg7[15:0] != 16'd0)", "1'b0", ""),
        ("qp_ctrl_exact", "(shared && arg6[31:16] != 16'd0)", "1'b0", ""),
        ("qp_ctrl_exact", "arg4[31:16]} == 32'd0 ||", "arg4[31:16]} == 32'd1 ||", ""),
        ("qp_ctrl_exact", "> RECV_SLOTS ||", ">= RECV_SLOTS ||", ""),
        ("qp_ctrl_exact", "arg4[31:16]} > SLOTS ||", "arg4[31:16]} >= SLOTS ||", ""),
        ("qp_ctrl_exact", "(ending && c_modify)", "ending", "step"),
        ("qp_ctrl_exact", "shared && !srqi_live", "!srqi_live", ""),
        ("qp_ctrl_exact", "(bad_page || elsewhere)", "(bad_page)", ""),
        ("qp_ctrl_exact", "no_cq <= no_cq || recv_cq", "no_cq <= recv_cq", ""),
        ("qp_ctrl_exact", "bad_page <= bad_page ||", "bad_page <=", ""),
        ("qp_ctrl_exact", "&& (c_destroy || c_set);", "&& c_destroy;", "hold"),
        ("qp_ctrl_exact", "state != IDLE && (c_destroy", "state != IDLE && known && (c_set", ""),
        ("qp_ctrl_exact", "cmd_asks <= known && !far;", "cmd_asks <= known;", "step"),
        ("qp_ctrl_exact", "qc_outs <= 256'd0;\n                peeked", "peeked", "end of a"),
        ("qp_ctrl_exact", "&& opr_result == `CDE_RES_OK) ?", ") ?", ""),
        ("qp_ctrl_exact", "index16(indicated)}", "16'd0}", "end of a"),
    ],
)
def test_faults_are_found(
    tmp_path: Path, bench: str, text: str, replacement: str, message: str
) -> None:
    copy = with_fault(tmp_path, DUTS[bench][0], text, replacement)
    printed = simulate(tmp_path, bench, hdl=copy)
    assert printed.startswith("wrong: ") and message in printed, printed[:300]
