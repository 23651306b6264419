// SPDX-License-Identifier: Apache-2.0
// cde_credit: grants CQ slots to work before it is admitted (CQ-17).
//
// Purpose: a grant counts against the CQ at once, so the sum of entries present, entries under way and credits held
//          never exceeds the number of entries. Two ports ask independently; of one cycle's requests the first port's
//          goes first. Grants of each port, uses and consumption are counters with one writer each; a late look is
//          always on the safe side.
// Ports:   requests (rq_*, rq2_*), verdicts (gr_*, gr2_*); settings and clearing by control; copies of consumer index
//          and silent completions; totals granted by each port.
// Latency: request in cycle t, verdict and its taking in t+4. One request per cycle and port; none in a cycle with
//          clear_valid.
`default_nettype none
`include "cde_cq_records.vh"
`include "cde_mem.vh"

module cde_credit #(
    parameter CQ_W = 6,
    parameter IDX_W = 16,
    parameter [0:0] PORT2 = 1'b1,          // there is a second port
    parameter ECC = 1
) (
    input  wire              clk,
    input  wire [`CDE_MEM_W-1:0] mem_i,
    output wire [`CDE_MEM_W-1:0] mem_o,
    input  wire              rst,
    input  wire              init,

    input  wire              rq_valid,
    input  wire [CQ_W-1:0]   rq_cq,
    input  wire [1:0]        rq_count,
    output wire              gr_room,        // the credits can be had
    output wire              gr_dead,        // the CQ is in error
    input  wire              gr_take,        // take them
    input  wire              rq2_valid,
    input  wire [CQ_W-1:0]   rq2_cq,
    input  wire [1:0]        rq2_count,
    output wire              gr2_room,
    output wire              gr2_dead,
    input  wire              gr2_take,

    // Settings
    input  wire              limit_we,
    input  wire [CQ_W-1:0]   limit_cq,
    input  wire [`CDE_LIMIT_W-1:0]  limit_data,
    // Clears the credits of a CQ that does not exist yet
    input  wire              clear_valid,
    output wire              clear_ready,
    input  wire [CQ_W-1:0]   clear_cq,

    input  wire              cons_we,
    input  wire [CQ_W-1:0]   cons_cq,
    input  wire [IDX_W-1:0]  cons_index,
    input  wire              silent_we,
    input  wire [CQ_W-1:0]   silent_cq,
    input  wire [IDX_W-1:0]  silent_total,
    output wire [CQ_W-1:0]   state_cq,
    input  wire              dead,           // state_cq is in its error state
    output wire [CQ_W-1:0]   state2_cq,
    input  wire              dead2,

    output wire              granted_we,
    output wire [CQ_W-1:0]   granted_cq,
    output wire [IDX_W-1:0]  granted_total,
    output wire              granted2_we,
    output wire [CQ_W-1:0]   granted2_cq,
    output wire [IDX_W-1:0]  granted2_total
);

    wire [`CDE_MEM_W-1:0] mem1;

    // The clearing step takes a slot of both ports, so it meets no request.
    assign clear_ready = !init && !rq_valid && !rq2_valid;
    wire clear = clear_valid && clear_ready;

    wire            taken, taken2, any, any2;
    wire [CQ_W-1:0] taken_cq, taken2_cq;
    wire [CQ_W+1:0] s_request, s2_request, r_request, r2_request;

    cde_credit_port #(
        .CQ_W(CQ_W), .IDX_W(IDX_W), .PORT2(PORT2), .ECC(ECC)
    ) port_i (
        .clk(clk), .mem_i(mem_i), .mem_o(mem1), .rst(rst), .rq_valid(rq_valid), .rq_cq(rq_cq), .rq_count(rq_count),
        .gr_room(gr_room), .gr_dead(gr_dead), .gr_take(gr_take), .limit_we(limit_we), .limit_cq(limit_cq),
        .limit_data(limit_data), .clear(clear), .clear_cq(clear_cq), .cons_we(cons_we), .cons_cq(cons_cq),
        .cons_index(cons_index), .silent_we(silent_we), .silent_cq(silent_cq), .silent_total(silent_total),
        .state_cq(state_cq), .dead(dead),
        .other_we(granted2_we), .other_cq(granted2_cq), .other_total(granted2_total), .other_c_any(any2),
        .other_c_cq(taken2_cq), .c_any(any),
        .other_taken(taken2), .other_s(s2_request), .other_r(r2_request), .ahead(1'b0), .taken(taken),
        .taken_cq(taken_cq), .s_request(s_request), .r_request(r_request), .granted_we(granted_we),
        .granted_cq(granted_cq), .granted_total(granted_total)
    );

    generate
        if (PORT2) begin : g_two
            cde_credit_port #(
                .CQ_W(CQ_W), .IDX_W(IDX_W), .ECC(ECC)
            ) port2_i (
                .clk(clk), .mem_i(mem1), .mem_o(mem_o), .rst(rst), .rq_valid(rq2_valid), .rq_cq(rq2_cq),
                .rq_count(rq2_count),
                .gr_room(gr2_room), .gr_dead(gr2_dead), .gr_take(gr2_take), .limit_we(limit_we), .limit_cq(limit_cq),
                .limit_data(limit_data), .clear(clear), .clear_cq(clear_cq), .cons_we(cons_we), .cons_cq(cons_cq),
                .cons_index(cons_index), .silent_we(silent_we), .silent_cq(silent_cq), .silent_total(silent_total),
                .state_cq(state2_cq), .dead(dead2),
                .other_we(granted_we), .other_cq(granted_cq), .other_total(granted_total), .other_c_any(any),
                .other_c_cq(taken_cq), .c_any(any2),
                .other_taken(taken), .other_s(s_request), .other_r(r_request), .ahead(taken), .taken(taken2),
                .taken_cq(taken2_cq), .s_request(s2_request), .r_request(r2_request), .granted_we(granted2_we),
                .granted_cq(granted2_cq), .granted_total(granted2_total)
            );
        end else begin : g_one
            wire unused_2 = &{1'b0, dead2, rq2_cq, rq2_count, gr2_take, taken_cq, taken, any, s_request, r_request};
            assign {gr2_room, gr2_dead, granted2_we, taken2, any2} = 5'd0;
            assign {state2_cq, granted2_cq, granted2_total, taken2_cq} = {(3 * CQ_W + IDX_W){1'b0}};
            assign {s2_request, r2_request} = {(2 * CQ_W + 4){1'b0}};
            assign mem_o = mem1;
        end
    endgenerate

endmodule

`default_nettype wire
