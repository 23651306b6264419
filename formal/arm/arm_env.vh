// SPDX-License-Identifier: Apache-2.0
// Parameters, ports and surroundings of the proofs about cde_arm, included after the name of their module: free inputs
// once the memories are cleared, any operations of any CQs, in any order. With ARM_COPIES the writes of the doorbell
// pages come twice (db_1, db_2), for two copies of the pipeline, which the proof places itself, together with its own
// reset.

#(
    parameter NUM_CQ = 2,
    parameter CQ_W = 1,
    parameter IDX_W = 4
) (
    input wire               clk,
    input wire               pub_valid,
    input wire [7:0]         pub_op,
    input wire [CQ_W-1:0]    pub_cq,
    input wire [1:0]         pub_count,
    input wire [1:0]         pub_solicited,
    input wire [1:0]         pub_quiet,
    input wire [1:0]         pub_status,
    input wire               pub_give_up,
    input wire               db_valid,
    input wire [11:0]        db_page,
`ifdef ARM_COPIES
    input wire [12+CQ_W+7+IDX_W:0] db_1,    // {type 2, arm, index, CQ, cause 8, return}
    input wire [12+CQ_W+7+IDX_W:0] db_2,
`else
    input wire [7:0]         db_op,
    input wire [7:0]         db_cause,
    input wire [CQ_W-1:0]    db_cq,
    input wire [IDX_W-1:0]   db_index,
    input wire               db_arm,
    input wire [1:0]         db_type,
`endif
    input wire               ack_valid,
    input wire [CQ_W-1:0]    ack_cq,
    input wire               ct_valid,
    input wire [7:0]         ct_op,
    input wire [CQ_W-1:0]    ct_cq,
    input wire [IDX_W-1:0]   ct_index,
    input wire               cfg_we,
    input wire [CQ_W-1:0]    cfg_cq,
    input wire [39+IDX_W:0]  cfg_data,
    input wire               wr_we,
    input wire [CQ_W-1:0]    wr_cq,
    input wire [IDX_W-1:0]   wr_index
);

    localparam RETRY_W = 1;
    localparam EV_W = RETRY_W + 11 + IDX_W + CQ_W;

`ifndef ARM_COPIES
    // Reset, then the walk that clears the memories
    reg [CQ_W+1:0] age = 0;
    wire           rst = age == 0;
    wire           init = age != 0 && !age[CQ_W+1];
    always @(posedge clk) if (!age[CQ_W+1]) age <= age == NUM_CQ + 1 ? 1 << (CQ_W + 1) : age + 1'b1;
    wire            up = age[CQ_W+1];
    wire [`CDE_MEM_W-1:0] mem = {39'd0, init, rst};     // maintenance bus: reset and the walk, no injection
    wire [`CDE_MEM_W-1:0] unused_mem;

    wire               db_ready, ct_ready, ack_ready, cons_we, res_db_valid, res_ct_valid, ev_pub_valid, ev_db_valid;
    wire [7:0]         res_db_cause;
    wire [95:0]        res_ct_state;
    wire [CQ_W-1:0]    cons_cq;
    wire [IDX_W-1:0]   cons_index;
    wire               dies, revives;
    wire [CQ_W-1:0]    dies_cq, revives_cq;
    wire [EV_W-1:0]    ev_pub_data, ev_db_data;
    wire [1:0]         trace_valid;
    wire [511:0]       trace_data;
    wire               unused_hold;          // settings may change at any time

    cde_arm #(
        .CQ_W(CQ_W), .IDX_W(IDX_W), .MOD_TICK(2), .RETRY_W(RETRY_W), .EV_W(EV_W), .ECC(0)
    ) dut (
        .clk(clk), .mem_i(mem), .mem_o(unused_mem), .rst(rst), .init(init), .pub_valid(pub_valid), .pub_op(pub_op),
        .pub_cq(pub_cq), .pub_count(pub_count), .pub_solicited(pub_solicited), .pub_quiet(pub_quiet),
        .pub_status(pub_status),
        .pub_give_up(pub_give_up), .pub_retry(1'b0), .db_valid(db_valid), .db_ready(db_ready), .db_op(db_op),
        .db_cause(db_cause), .db_cq(db_cq), .db_page(db_page), .db_index(db_index), .db_arm(db_arm), .db_type(db_type),
        .ack_valid(ack_valid), .ack_ready(ack_ready), .ack_cq(ack_cq), .ct_valid(ct_valid), .ct_ready(ct_ready),
        .ct_op(ct_op), .ct_cq(ct_cq), .ct_index(ct_index), .res_db_valid(res_db_valid), .res_db_cause(res_db_cause),
        .res_ct_valid(res_ct_valid),
        .res_ct_state(res_ct_state),
        .cfg_we(cfg_we), .cfg_hold(unused_hold), .cfg_cq(cfg_cq), .cfg_data(cfg_data), .wr_we(wr_we), .wr_cq(wr_cq),
        .wr_index(wr_index),
        .cons_we(cons_we), .cons_cq(cons_cq), .cons_index(cons_index), .dies(dies), .dies_cq(dies_cq),
        .revives(revives), .revives_cq(revives_cq), .ev_pub_valid(ev_pub_valid),
        .ev_pub_data(ev_pub_data), .ev_db_valid(ev_db_valid), .ev_db_data(ev_db_data), .trace_valid(trace_valid),
        .trace_data(trace_data)
    );

    // While the memories are cleared nothing comes: memory answers nothing, ports are not ready.
    always @* if (!up) assume (!pub_valid && !db_valid && !ack_valid && !ct_valid && !cfg_we && !wr_we);
`endif
