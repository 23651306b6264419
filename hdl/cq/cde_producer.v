// SPDX-License-Identifier: Apache-2.0
// cde_producer: producer side of every CQ, and the credits that bound it.
//
// Purpose: groups slot allocation (cde_cq) and credits (cde_credit): what is granted there is what may be used here,
//          and what is used up without an entry is seen there again.
// Ports:   s_axis_cpl; control steps (op_*, limit_*, clear_*); credit requests and verdicts (rq_*, gr_*, rq2_*, gr2_*);
//          consumer index, error state; entries out (ent_*); error reports; trace lane 0.
// Latency: see the blocks.
`default_nettype none
`include "cde_cq_records.vh"
`include "cde_mem.vh"

module cde_producer #(
    parameter CQ_W = 6,
    parameter IDX_W = 16,
    parameter ENT_W = `CDE_ENTRY_W,
    parameter [0:0] PORT2 = 1'b1,          // there is a second port of credits
    parameter ECC = 1
) (
    input  wire              clk,
    input  wire [`CDE_MEM_W-1:0] mem_i,
    output wire [`CDE_MEM_W-1:0] mem_o,
    input  wire              rst,
    input  wire              init,

    input  wire [511:0]      s_axis_cpl_tdata,
    input  wire [31:0]       s_axis_cpl_tdest,
    input  wire [1:0]        s_axis_cpl_tkeep,
    input  wire [1:0]        s_axis_cpl_tuser,
    input  wire              s_axis_cpl_tvalid,
    output wire              s_axis_cpl_tready,

    // Credits
    input  wire              rq_valid,
    output reg               rq_hold,
    input  wire [CQ_W-1:0]   rq_cq,
    input  wire [1:0]        rq_count,
    output wire              gr_room,
    output wire              gr_dead,
    input  wire              gr_take,
    input  wire              rq2_valid,
    input  wire [CQ_W-1:0]   rq2_cq,
    input  wire [1:0]        rq2_count,
    output wire              gr2_room,
    output wire              gr2_dead,
    input  wire              gr2_take,

    // Control steps
    input  wire              op_valid,
    output wire              op_ready,
    input  wire [7:0]        op_code,
    input  wire [CQ_W-1:0]   op_cq,
    input  wire [63:6]       op_base,
    input  wire [4:0]        op_log2,
    input  wire              op_unreserved,
    output wire              res_valid,
    output wire [7:0]        res_result,
    output wire [IDX_W-1:0]  res_index,
    output wire [IDX_W-1:0]  res_held,
    input  wire              limit_we,
    input  wire [CQ_W-1:0]   limit_cq,
    input  wire [`CDE_LIMIT_W-1:0]  limit_data,
    input  wire              clear_valid,
    output wire              clear_ready,
    input  wire [CQ_W-1:0]   clear_cq,

    // Consumer index; which CQ goes into its error state, and which one leaves it
    input  wire              cons_we,
    input  wire [CQ_W-1:0]   cons_cq,
    input  wire [IDX_W-1:0]  cons_index,
    input  wire              dies,
    input  wire [CQ_W-1:0]   dies_cq,
    input  wire              revives,
    input  wire [CQ_W-1:0]   revives_cq,

    output wire              ent_valid,
    input  wire              ent_ready,
    output wire [ENT_W-1:0]  ent_data,

    output wire              err_valid,
    output wire [7:0]        err_cause,
    output wire [15:0]       err_cq,
    output wire [15:0]       err_index,
    output wire [1:0]        count_placed,
    output wire [1:0]        count_refused,
    output wire [1:0]        count_dropped,

    output wire              trace_valid,
    output wire [255:0]      trace_data
);

    wire [`CDE_MEM_W-1:0] mem1;

    wire             granted_we, granted2_we, silent_we;
    wire [CQ_W-1:0]  granted_cq, granted2_cq, silent_cq;
    wire [IDX_W-1:0] granted_total, granted2_total, silent_total;

    wire             dead, credit_dead, credit2_dead;       // whether the CQ is in its error state
    wire [CQ_W-1:0]  state_cq, credit_cq, credit2_cq;

    // A CQ's credits are cleared when there are no requests: none comes until it is done, a cycle later.
    initial rq_hold = 1'b1;
    always @(posedge clk) rq_hold <= clear_valid || init || rst;

    cde_cq #(
        .CQ_W(CQ_W), .IDX_W(IDX_W), .PORT2(PORT2), .ECC(ECC)
    ) cq_i (
        .clk(clk), .mem_i(mem_i), .mem_o(mem1), .rst(rst), .init(init), .s_axis_cpl_tdata(s_axis_cpl_tdata),
        .s_axis_cpl_tdest(s_axis_cpl_tdest), .s_axis_cpl_tkeep(s_axis_cpl_tkeep), .s_axis_cpl_tuser(s_axis_cpl_tuser),
        .s_axis_cpl_tvalid(s_axis_cpl_tvalid), .s_axis_cpl_tready(s_axis_cpl_tready), .op_valid(op_valid),
        .op_ready(op_ready),
        .op_code(op_code), .op_cq(op_cq), .op_base(op_base), .op_log2(op_log2), .op_unreserved(op_unreserved),
        .res_valid(res_valid), .res_result(res_result), .res_index(res_index), .res_held(res_held), .cons_we(cons_we),
        .cons_cq(cons_cq), .cons_index(cons_index), .granted_we(granted_we), .granted_cq(granted_cq),
        .granted_total(granted_total), .granted2_we(granted2_we), .granted2_cq(granted2_cq),
        .granted2_total(granted2_total),
        .state_cq(state_cq), .dead(dead), .silent_we(silent_we), .silent_cq(silent_cq), .silent_total(silent_total),
        .ent_valid(ent_valid),
        .ent_ready(ent_ready), .ent_data(ent_data), .err_valid(err_valid), .err_cause(err_cause), .err_cq(err_cq),
        .err_index(err_index), .count_placed(count_placed), .count_refused(count_refused),
        .count_dropped(count_dropped),
        .trace_valid(trace_valid), .trace_data(trace_data)
    );

    cde_credit #(
        .CQ_W(CQ_W), .IDX_W(IDX_W), .PORT2(PORT2), .ECC(ECC)
    ) credit_i (
        .clk(clk), .mem_i(mem1), .mem_o(mem_o), .rst(rst), .init(init), .rq_valid(rq_valid), .rq_cq(rq_cq),
        .rq_count(rq_count),
        .gr_room(gr_room), .gr_dead(gr_dead), .gr_take(gr_take), .rq2_valid(rq2_valid), .rq2_cq(rq2_cq),
        .rq2_count(rq2_count),
        .gr2_room(gr2_room), .gr2_dead(gr2_dead), .gr2_take(gr2_take), .limit_we(limit_we), .limit_cq(limit_cq),
        .limit_data(limit_data), .clear_valid(clear_valid), .clear_ready(clear_ready), .clear_cq(clear_cq),
        .cons_we(cons_we),
        .cons_cq(cons_cq), .cons_index(cons_index), .silent_we(silent_we), .silent_cq(silent_cq),
        .silent_total(silent_total),
        .state_cq(credit_cq), .dead(credit_dead), .state2_cq(credit2_cq), .dead2(credit2_dead),
        .granted_we(granted_we), .granted_cq(granted_cq), .granted_total(granted_total), .granted2_we(granted2_we),
        .granted2_cq(granted2_cq), .granted2_total(granted2_total)
    );

    cde_flags #(.AW(CQ_W), .R(3)) dead_i (
        .clk(clk), .mem_i(mem_i), .we0(dies), .waddr0(dies_cq), .wdata0(1'b1), .we1(revives), .waddr1(revives_cq),
        .wdata1(1'b0), .raddr({credit2_cq, credit_cq, state_cq}), .rdata({credit2_dead, credit_dead, dead})
    );

endmodule

`default_nettype wire
