// SPDX-License-Identifier: Apache-2.0
// cde_credit_port: one of the two ports of cde_credit.
//
// Purpose: counts what this port grants of each CQ, and judges its requests by the sum of what both ports have granted.
// Ports:   requests (rq_*), verdicts (gr_*); clearing and settings by control; copies of consumer index and silent completions; the other
//          port's counter, and what it takes in the same cycle; this port's counter.
// Latency: request in cycle t, verdict and its taking in t+2. One request per cycle; none in a cycle with clear.
`default_nettype none
`include "cde_cq_records.vh"
`include "cde_mem.vh"

module cde_credit_port #(
    parameter NUM_CQ = 64,
    parameter CQ_W = 6,
    parameter IDX_W = 16,
    parameter ECC = 1
) (
    input  wire              clk,
    input  wire [`CDE_MEM_W-1:0] mem_i,
    output wire [`CDE_MEM_W-1:0] mem_o,
    input  wire              rst,

    input  wire              rq_valid,
    input  wire [CQ_W-1:0]   rq_cq,
    input  wire [1:0]        rq_count,
    output wire              gr_room,
    output wire              gr_dead,
    input  wire              gr_take,

    input  wire              limit_we,
    input  wire [CQ_W-1:0]   limit_cq,
    input  wire [`CDE_LIMIT_W-1:0]  limit_data,
    input  wire              clear,
    input  wire [CQ_W-1:0]   clear_cq,

    input  wire              cons_we,
    input  wire [CQ_W-1:0]   cons_cq,
    input  wire [IDX_W-1:0]  cons_index,
    input  wire              silent_we,
    input  wire [CQ_W-1:0]   silent_cq,
    input  wire [IDX_W-1:0]  silent_total,
    input  wire [NUM_CQ-1:0] dead,

    // The other port
    input  wire              other_we,
    input  wire [CQ_W-1:0]   other_cq,
    input  wire [IDX_W-1:0]  other_total,
    input  wire              ahead,          // it goes first, and takes credits of this CQ in this cycle
    input  wire [1:0]        ahead_count,

    output wire              taken,          // credits of granted_cq are taken in this cycle
    output wire [1:0]        taken_count,
    output wire              granted_we,
    output wire [CQ_W-1:0]   granted_cq,
    output wire [IDX_W-1:0]  granted_total
);

    wire [`CDE_MEM_W-1:0] mem1, mem2, mem3, mem4;

    wire [CQ_W-1:0] a_cq = rq_valid ? rq_cq : clear_cq;

    reg             r_valid, c_valid;
    reg             r_clear, c_clear;
    reg [CQ_W-1:0]  r_cq, c_cq;
    reg [1:0]       r_count, c_count;
    reg             c_dead;

    always @(posedge clk) begin
        r_valid <= rq_valid && !rst;
        r_clear <= clear && !rst;
        r_cq <= a_cq;
        r_count <= rq_count;
        {c_valid, c_clear} <= rst ? 2'b00 : {r_valid, r_clear};
        {c_cq, c_count} <= {r_cq, r_count};
        c_dead <= dead[r_cq];
    end

    // ---------------------------------------------------------------- stage R: memories are read
    wire [IDX_W-1:0] r_total;
    wire [IDX_W-1:0] r_other;
    wire [IDX_W-1:0] r_cons;
    wire [IDX_W-1:0] r_silent;
    wire [`CDE_LIMIT_W-1:0] r_limit;

    cde_ram #(.W(IDX_W), .AW(CQ_W), .ECC(ECC)) total_ram (
        .clk(clk), .mem_i(mem_i), .mem_o(mem1), .we(granted_we), .waddr(granted_cq), .wdata(granted_total), .raddr(a_cq), .rdata(r_total)
    );

    cde_ram #(.W(IDX_W), .AW(CQ_W), .ECC(ECC)) other_ram (
        .clk(clk), .mem_i(mem1), .mem_o(mem2), .we(other_we), .waddr(other_cq), .wdata(other_total), .raddr(a_cq), .rdata(r_other)
    );

    cde_ram #(.W(IDX_W), .AW(CQ_W), .ECC(ECC)) cons_ram (
        .clk(clk), .mem_i(mem2), .mem_o(mem3), .we(cons_we), .waddr(cons_cq), .wdata(cons_index), .raddr(a_cq), .rdata(r_cons)
    );

    cde_ram #(.W(IDX_W), .AW(CQ_W), .ECC(ECC)) silent_ram (
        .clk(clk), .mem_i(mem3), .mem_o(mem4), .we(silent_we), .waddr(silent_cq), .wdata(silent_total), .raddr(a_cq), .rdata(r_silent)
    );

    cde_ram #(.W(`CDE_LIMIT_W), .AW(CQ_W), .ECC(ECC)) limit_ram (
        .clk(clk), .mem_i(mem4), .mem_o(mem_o), .we(limit_we), .waddr(limit_cq), .wdata(limit_data), .raddr(a_cq), .rdata(r_limit)
    );

    // ---------------------------------------------------------------- stage C: grant
    // Credits granted when the ring is full. A resize may put the bound below the total for a while: hence the sign.
    reg  [IDX_W-1:0] total;
    reg  [IDX_W-1:0] other;
    reg  [IDX_W-1:0] bound;
    reg  [1:0]       mode;
    wire             exists = mode[1], unreserved = mode[0];

    always @(posedge clk) begin
        total <= granted_we && granted_cq == r_cq ? granted_total : r_total;
        other <= other_we && other_cq == r_cq ? other_total : r_other;
        bound <= r_silent + r_cons + r_limit[`CDE_LIMIT_CREDITS +: IDX_W];
        mode <= {r_limit[`CDE_LIMIT_EXISTS], r_limit[`CDE_LIMIT_UNRESERVED]};
    end

    wire [IDX_W-1:0] wish = {{(IDX_W-2){1'b0}}, c_count};
    wire [IDX_W-1:0] room = bound - total - other - wish;
    // Whether the other port takes is known late in the cycle: both answers stand ready.
    wire [IDX_W-1:0] room_behind = room - {{(IDX_W-2){1'b0}}, ahead_count};
    wire             fits = !(ahead ? room_behind[IDX_W-1] : room[IDX_W-1]);

    assign gr_room = exists && !c_dead && (unreserved || fits);
    assign gr_dead = c_dead;
    assign taken = c_valid && gr_room && gr_take && !unreserved;
    assign taken_count = c_count;

    assign granted_we = c_clear || taken;
    assign granted_cq = c_cq;
    assign granted_total = c_clear ? {IDX_W{1'b0}} : total + wish;

endmodule

`default_nettype wire
