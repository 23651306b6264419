// SPDX-License-Identifier: Apache-2.0
// cde_windows: what guards memory.
//
// Purpose: groups the key table (cde_keys), the choice of its next step (cde_key_ctrl) and remote access checks
//          (cde_check); removes the device (MW-09). Every pin: docs/windows.md.
// Ports:   commands, local requests and invalidations of Reads from cde_posting, invalidations by peers and key lookups
//          from cde_receive; s_axis_check, m_axis_verdict; failures of QPs; error report, counter steps, trace lanes 8
//          and 9.
// Latency: see the blocks.
`default_nettype none
`include "cde_defs.vh"
`include "cde_key_records.vh"
`include "cde_mem.vh"

module cde_windows #(
    parameter NUM_QP = 64,
    parameter QP_W = 6,
    parameter NUM_MR = 64,
    parameter NUM_MW = 64,
    parameter N_W = 6,
    parameter ECC = 1
) (
    input  wire              clk,
    input  wire [`CDE_MEM_W-1:0] mem_i,
    output wire [`CDE_MEM_W-1:0] mem_o,
    input  wire              rst,
    input  wire              init,

    input  wire              qc_start,
    input  wire [7:0]        qc_command,
    input  wire [255:0]      qc_args,
    output wire              qc_mine,
    output wire              qc_done,
    output wire [7:0]        qc_result,
    output wire [255:0]      qc_outs,

    input  wire              loc_valid,
    input  wire [QP_W-1:0]   loc_qp,
    input  wire [511:0]      loc_post,
    output wire              loc_done,
    input  wire              ri_valid,
    input  wire [QP_W-1:0]   ri_qp,
    input  wire [31:0]       ri_key,
    output wire              ri_done,
    output wire [7:0]        done_status,

    input  wire              peer_valid,
    input  wire [QP_W-1:0]   peer_qp,
    input  wire [31:0]       peer_key,
    input  wire              peer_counts,
    output wire              peer_good,
    output wire [63:0]       peer_context,
    output wire              hold,           // let a step in between receive requests
    input  wire [95:0]       keys,
    output wire [3*`CDE_FOUND_W-1:0]  found,

    input  wire              set_we,
    input  wire [QP_W-1:0]   set_qp,
    input  wire [`CDE_QP_KEYS_W-1:0] set_zone,
    output wire              held,           // something is valid on set_qp
    input  wire [NUM_QP-1:0] qp_up,
    output wire              fail_valid,     // a local request has failed
    input  wire              fail_ready,
    output wire [QP_W-1:0]   fail_qp,
    output wire              bad_valid,      // the connection of bad_qp is to end
    output wire [QP_W-1:0]   bad_qp,
    output reg               removed,
    output reg               removing,       // the same, in the cycle of the step already: posts are decided after it

    input  wire [191:0]      s_axis_check_tdata,
    input  wire              s_axis_check_tvalid,
    output wire              s_axis_check_tready,
    output wire [31:0]       m_axis_verdict_tdata,
    output wire              m_axis_verdict_tvalid,
    input  wire              m_axis_verdict_tready,

    output reg               pe_valid,
    output wire [7:0]        pe_cause,
    output reg  [15:0]       pe_object,
    output reg  [15:0]       pe_index,
    output reg  [5:0]        step,           // checks, refused ones, keys invalidated
    output wire [1:0]        trace_valid,
    output wire [511:0]      trace_data
);

    wire [`CDE_MEM_W-1:0] mem1;

    localparam MR_W = $clog2(NUM_MR);

    wire op_valid, op_ready, opr_valid, change_we, removes, removes_next, invalidates, check_bad, err_valid;
    wire [3:0] op_code;
    wire [QP_W-1:0] op_qp, check_qp;
    wire [31:0] op_key, op_region;
    wire [63:0] op_base;
    wire [47:0] op_length;
    wire [15:0] op_zone, err_qp, err_code;
    wire [2:0] op_rights;
    wire [7:0] opr_status;
    wire [`CDE_KEY_WORD_W-1:0] opr_word, change_word;
    wire [11:0] opr_count;
    wire [N_W:0] change_at;
    wire [1:0] check_count;

    assign qc_mine = qc_command[7:4] == 4'h4 &&
                     (qc_command[3:0] <= 4'h3 || (qc_command[3:0] >= 4'h8 && qc_command[3:0] <= 4'hA) ||
                         qc_command[3:0] == 4'hF);

    cde_key_ctrl #(.QP_W(QP_W), .NUM_MR(NUM_MR), .NUM_MW(NUM_MW), .MR_W(MR_W)) key_ctrl_i (
        .clk(clk), .rst(rst), .qc_start(qc_start), .qc_command(qc_command), .qc_args(qc_args),
        .qc_done(qc_done),
        .qc_result(qc_result), .qc_outs(qc_outs), .loc_valid(loc_valid), .loc_qp(loc_qp), .loc_post(loc_post),
        .loc_done(loc_done), .ri_valid(ri_valid), .ri_qp(ri_qp), .ri_key(ri_key), .ri_done(ri_done),
        .done_status(done_status), .op_valid(op_valid), .op_ready(op_ready), .op_code(op_code), .op_qp(op_qp),
        .op_key(op_key),
        .op_region(op_region), .op_base(op_base), .op_length(op_length), .op_zone(op_zone), .op_rights(op_rights),
        .opr_valid(opr_valid), .opr_status(opr_status), .opr_word(opr_word), .opr_count(opr_count), .hold(hold),
        .fail_valid(fail_valid), .fail_ready(fail_ready), .fail_qp(fail_qp)
    );

    cde_keys #(.NUM_QP(NUM_QP), .QP_W(QP_W), .NUM_MR(NUM_MR), .NUM_MW(NUM_MW), .MR_W(MR_W), .N_W(N_W),
               .ECC(ECC)) keys_i (
        .clk(clk), .mem_i(mem_i), .mem_o(mem1), .rst(rst), .init(init), .peer_valid(peer_valid), .peer_qp(peer_qp),
        .peer_key(peer_key), .peer_counts(peer_counts), .peer_good(peer_good), .peer_context(peer_context),
        .op_valid(op_valid), .op_ready(op_ready), .op_code(op_code), .op_qp(op_qp), .op_key(op_key),
        .op_region(op_region),
        .op_base(op_base), .op_length(op_length), .op_zone(op_zone), .op_rights(op_rights), .opr_valid(opr_valid),
        .opr_status(opr_status), .opr_word(opr_word), .opr_count(opr_count), .set_we(set_we), .set_qp(set_qp),
        .set_zone(set_zone[`CDE_QP_KEYS_ZONE +: 16]), .look_qp(set_qp), .look_held(held), .keys(keys),
        .found(found), .removes(removes), .removes_next(removes_next), .invalidates(invalidates), .change_we(change_we),
        .change_at(change_at), .change_word(change_word), .trace_valid(trace_valid[0]), .trace_data(trace_data[255:0])
    );

    cde_check #(.NUM_QP(NUM_QP), .QP_W(QP_W), .NUM_MR(NUM_MR), .NUM_MW(NUM_MW), .MR_W(MR_W), .N_W(N_W),
                .ECC(ECC)) check_i (
        .clk(clk), .mem_i(mem1), .mem_o(mem_o), .rst(rst), .init(init), .s_axis_check_tdata(s_axis_check_tdata),
        .s_axis_check_tvalid(s_axis_check_tvalid),
        .s_axis_check_tready(s_axis_check_tready), .m_axis_verdict_tdata(m_axis_verdict_tdata),
        .m_axis_verdict_tvalid(m_axis_verdict_tvalid), .m_axis_verdict_tready(m_axis_verdict_tready),
        .change_we(change_we),
        .change_at(change_at), .change_word(change_word), .set_we(set_we), .set_qp(set_qp), .set_zone(set_zone),
        .qp_up(qp_up),
        .removed(removed), .bad_valid(check_bad), .bad_qp(check_qp), .err_valid(err_valid), .err_qp(err_qp),
        .err_code(err_code), .count(check_count), .trace_valid(trace_valid[1]), .trace_data(trace_data[511:256])
    );

    assign pe_cause = `CDE_CAUSE_CHECK_REFUSED;
    // What a check does to others than the transport, a cycle later
    reg  bad;
    reg  [QP_W-1:0] bad_check;
    always @(posedge clk) begin
        {bad, bad_check} <= {check_bad && !rst, check_qp};
        {pe_valid, pe_object, pe_index} <= {err_valid && !rst, err_qp, err_code};
        step <= {1'b0, invalidates, 1'b0, check_count[1], 1'b0, check_count[0]} & {6{!rst}};
    end

    // ---------------------------------------------------------------- removal: every connection ends, one QP a cycle
    reg  [QP_W-1:0] walk;
    reg             walks;

    assign bad_valid = bad || (walks && qp_up[walk]);
    assign bad_qp = bad ? bad_check : walk;

    always @(posedge clk) begin
        removing <= (removing || removes_next) && !rst;
        if (removes) begin
            removed <= 1'b1;
            walks <= 1'b1;
            walk <= {QP_W{1'b0}};
        end else if (walks && !bad) begin
            walk <= walk + 1'b1;
            if (&walk) walks <= 1'b0;
        end
        if (rst) begin
            removed <= 1'b0;
            walks <= 1'b0;
        end
    end

endmodule

`default_nettype wire
