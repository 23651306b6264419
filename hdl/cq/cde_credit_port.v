// SPDX-License-Identifier: Apache-2.0
// cde_credit_port: one of the two ports of cde_credit.
//
// Purpose: counts what this port grants of each CQ, and judges its requests by the sum of what both ports have granted.
// Ports:   requests (rq_*), verdicts (gr_*); clearing and settings by control; copies of consumer index and silent
//          completions; the other port's counter, and what it takes in the same cycle; this port's counter.
// Latency: request in cycle t, verdict and its taking in t+4, in granted_total in t+5. One request per cycle; none in a
//          cycle with clear.
`default_nettype none
`include "cde_cq_records.vh"
`include "cde_mem.vh"

module cde_credit_port #(
    parameter CQ_W = 6,
    parameter IDX_W = 16,
    parameter [0:0] PORT2 = 1'b1,          // there is another port
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
    output wire [CQ_W-1:0]   state_cq,
    input  wire              dead,           // state_cq is in its error state

    // The other port
    input  wire              other_we,
    input  wire [CQ_W-1:0]   other_cq,
    input  wire [IDX_W-1:0]  other_total,
    input  wire              other_c_any,    // it decides a request, or clears, in this cycle
    input  wire [CQ_W-1:0]   other_c_cq,     // of this CQ
    input  wire              other_took,     // it took credits of other_cq in the cycle before
    input  wire [1:0]        other_count,
    input  wire              ahead,          // it goes first, and takes credits of this CQ in this cycle
    input  wire [1:0]        ahead_count,

    output wire              c_any,          // a request is decided, or credits are cleared, in this cycle
    output wire              taken,          // credits of taken_cq are taken in this cycle
    output wire [CQ_W-1:0]   taken_cq,
    output wire [1:0]        taken_count,
    output reg               took,           // credits of granted_cq were taken in the cycle before
    output reg  [1:0]        took_count,
    output reg               granted_we,
    output reg  [CQ_W-1:0]   granted_cq,
    output reg  [IDX_W-1:0]  granted_total
);

    wire [`CDE_MEM_W-1:0] mem1, mem2, mem3, mem4;

    wire [CQ_W-1:0] a_cq = rq_valid ? rq_cq : clear_cq;

    reg             b_valid, s_valid, r_valid, c_valid;
    reg             b_clear, s_clear, r_clear, c_clear;
    reg [CQ_W-1:0]  b_cq, s_cq, r_cq, c_cq;
    reg [1:0]       b_count, s_count, r_count, c_count;

    always @(posedge clk) begin
        {b_valid, s_valid, r_valid, c_valid} <= rst ? 4'd0 : {rq_valid, b_valid, s_valid, r_valid};
        {b_clear, s_clear, r_clear, c_clear} <= rst ? 4'd0 : {clear, b_clear, s_clear, r_clear};
        {b_cq, s_cq, r_cq, c_cq} <= {a_cq, b_cq, s_cq, r_cq};
        {b_count, s_count, r_count, c_count} <= {rq_count, b_count, s_count, r_count};
    end

    // ---------------------------------------------------------------- stages A to R: memories are read
    wire [IDX_W-1:0] r_total;
    wire [IDX_W-1:0] r_other;
    wire [IDX_W-1:0] r_cons;
    wire [IDX_W-1:0] r_silent;
    wire [`CDE_LIMIT_W-1:0] r_limit;

    cde_ctx #(.W(IDX_W), .AW(CQ_W), .ECC(ECC)) total_ram (
        .clk(clk), .mem_i(mem_i), .mem_o(mem1), .we(granted_we), .waddr(granted_cq), .wdata(granted_total),
        .raddr(a_cq), .rdata(r_total)
    );

    generate
        if (PORT2) begin : g_other
            cde_ctx #(.W(IDX_W), .AW(CQ_W), .ECC(ECC)) other_ram (
                .clk(clk), .mem_i(mem1), .mem_o(mem2), .we(other_we), .waddr(other_cq), .wdata(other_total),
                .raddr(a_cq), .rdata(r_other)
            );
        end else begin : g_alone
            wire unused_other = &{1'b0, other_we, other_cq, other_total};
            assign r_other = {IDX_W{1'b0}};
            assign mem2 = mem1;
        end
    endgenerate

    cde_ctx #(.W(IDX_W), .AW(CQ_W), .ECC(ECC)) cons_ram (
        .clk(clk), .mem_i(mem2), .mem_o(mem3), .we(cons_we), .waddr(cons_cq), .wdata(cons_index), .raddr(a_cq),
        .rdata(r_cons)
    );

    cde_ctx #(.W(IDX_W), .AW(CQ_W), .ECC(ECC)) silent_ram (
        .clk(clk), .mem_i(mem3), .mem_o(mem4), .we(silent_we), .waddr(silent_cq), .wdata(silent_total),
        .raddr(a_cq), .rdata(r_silent)
    );

    cde_ctx #(.W(`CDE_LIMIT_W), .AW(CQ_W), .ECC(ECC)) limit_ram (
        .clk(clk), .mem_i(mem4), .mem_o(mem_o), .we(limit_we), .waddr(limit_cq), .wdata(limit_data), .raddr(a_cq),
        .rdata(r_limit)
    );

    assign state_cq = r_cq;

    // Totals that are being written are not in what was read. Compared a cycle ahead.
    reg              same, same_other;
    wire [IDX_W-1:0] r_total_now = same ? granted_total : r_total;
    wire [IDX_W-1:0] r_other_now = same_other ? other_total : r_other;

    assign c_any = c_valid || c_clear;
    always @(posedge clk) begin
        same <= c_any && !rst && c_cq == s_cq;
        same_other <= other_c_any && !rst && other_c_cq == s_cq;
    end

    // ---------------------------------------------------------------- stage C: grant
    // A resize may put the bound below the total for a while: hence the sign of the space that is left.
    reg  [IDX_W-1:0] space, total;
    reg              exists, unreserved, c_dead;
    reg              behind, behind_other;              // the request before, of this port or the other, is of this CQ

    always @(posedge clk) begin
        space <= r_silent + r_cons + r_limit[`CDE_LIMIT_CREDITS +: IDX_W] - r_total_now - r_other_now;
        total <= r_total_now;
        exists <= r_limit[`CDE_LIMIT_EXISTS];
        unreserved <= r_limit[`CDE_LIMIT_UNRESERVED];
        c_dead <= dead;
        behind <= c_any && c_cq == r_cq;
        behind_other <= other_c_cq == r_cq;
    end

    // What the requests before have taken is not in the space yet.
    wire [2:0] need = {1'b0, c_count} + (behind && took ? {1'b0, took_count} : 3'd0) + (behind_other &&
        other_took ? {1'b0, other_count} : 3'd0);
    wire       none = space[IDX_W-1];
    wire       many = (space >> 3) != {IDX_W{1'b0}};
    // Whether the other port takes is known late in the cycle: both answers stand ready.
    wire       fits_first = !none && (many || space[2:0] >= need);
    wire       fits_behind = !none && (many || {1'b0, space[2:0]} >= {1'b0, need} + {2'd0, ahead_count});
    wire       fits = ahead ? fits_behind : fits_first;

    assign gr_room = exists && !c_dead && (unreserved || fits);
    assign gr_dead = c_dead;
    assign taken = c_valid && gr_room && gr_take && !unreserved;
    assign taken_cq = c_cq;
    assign taken_count = c_count;

    // ---------------------------------------------------------------- stage D: what was taken is written
    wire [IDX_W-1:0] total_now = behind ? granted_total : total;

    always @(posedge clk) begin
        granted_we <= c_any && !rst;
        granted_cq <= c_cq;
        granted_total <= c_clear ? {IDX_W{1'b0}} : taken ? total_now + {{(IDX_W-2){1'b0}}, c_count} : total_now;
        took <= taken && !rst;
        took_count <= c_count;
    end

endmodule

`default_nettype wire
