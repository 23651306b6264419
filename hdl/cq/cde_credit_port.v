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
    input  wire              other_taken,    // it takes other_count credits of that CQ in this cycle
    input  wire [1:0]        other_count,
    input  wire              ahead,          // it does so, goes first, and that CQ is this port's, too

    output wire              c_any,          // a request is decided, or credits are cleared, in this cycle
    output wire              taken,          // credits of taken_cq are taken in this cycle
    output wire [CQ_W-1:0]   taken_cq,
    output wire [1:0]        taken_count,
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
    reg  [IDX_W-1:0] space, total;
    reg              many, open, limited, c_dead;       // open: without a limit
    reg              behind;                            // the request before is of this CQ
    reg  [1:0]       own, other;                        // taken by the requests before, not in space yet

    // What is left of the bound: five to a sum and carries, then one addition for the number and one for whether it is
    // 8 or more. A resize may put the bound below the total for a while: hence its sign.
    wire [IDX_W-1:0] bound = r_limit[`CDE_LIMIT_CREDITS +: IDX_W], less1 = ~r_total_now, less2 = ~r_other_now;
    wire [IDX_W-1:0] sum1 = r_silent ^ r_cons ^ bound, carry1 = (r_silent & r_cons) | ((r_silent | r_cons) & bound);
    wire [IDX_W-1:0] more1 = {carry1[IDX_W-2:0], 1'b1};
    wire [IDX_W-1:0] sum2 = sum1 ^ more1 ^ less1, carry2 = (sum1 & more1) | ((sum1 | more1) & less1);
    wire [IDX_W-1:0] more2 = {carry2[IDX_W-2:0], 1'b1};
    wire [IDX_W-1:0] sum3 = sum2 ^ more2 ^ less2, carry3 = (sum2 & more2) | ((sum2 | more2) & less2);
    wire [IDX_W-1:0] more3 = {carry3[IDX_W-2:0], 1'b0}, minus8 = {{(IDX_W-3){1'b1}}, 3'd0};
    wire [IDX_W-1:0] sum4 = sum3 ^ more3 ^ minus8, carry4 = (sum3 & more3) | ((sum3 | more3) & minus8);
    wire [IDX_W-1:0] beyond = sum4 + {carry4[IDX_W-2:0], 1'b0};
    wire             unused_high = &{1'b0, carry1[IDX_W-1], carry2[IDX_W-1], carry3[IDX_W-1], carry4[IDX_W-1],
                                     beyond[IDX_W-2:0], space};

    always @(posedge clk) begin
        space <= sum3 + more3;
        many <= !beyond[IDX_W-1];
        total <= r_total_now;
        open <= r_limit[`CDE_LIMIT_EXISTS] && !dead && r_limit[`CDE_LIMIT_UNRESERVED];
        limited <= r_limit[`CDE_LIMIT_EXISTS] && !dead && !r_limit[`CDE_LIMIT_UNRESERVED];
        c_dead <= dead;
        behind <= c_any && c_cq == r_cq;
        own <= c_count & {2{taken && c_cq == r_cq}};
        other <= other_count & {2{other_taken && other_c_cq == r_cq}};
    end

    // Whether the other port takes is known late in the cycle: both answers stand ready, for each number of credits
    // that the requests before may have taken, 0 to 4.
    wire [4:0] took = {own[1] && other[1], (own[1] && other[0]) || (own[0] && other[1]),
                       ((own[1] ^ other[1]) && !own[0] && !other[0]) || (own[0] && other[0]),
                       (own[0] ^ other[0]) && !own[1] && !other[1], own == 2'd0 && other == 2'd0};
    wire [3:0] left = {1'b0, space[2:0]}, alone = {2'd0, c_count}, both = alone + {2'd0, other_count};
    wire [4:0] room_first = {left >= alone + 4'd4, left >= alone + 4'd3, left >= alone + 4'd2, left >= alone + 4'd1,
                             left >= alone};
    wire [4:0] room_behind = {left >= both + 4'd4, left >= both + 4'd3, left >= both + 4'd2, left >= both + 4'd1,
                              left >= both};
    wire       none = space[IDX_W-1];
    wire       fits_first = !none && (many || (took & room_first) != 5'd0);
    wire       fits_behind = !none && (many || (took & room_behind) != 5'd0);
    wire       fits = ahead ? fits_behind : fits_first;

    assign gr_room = open || (limited && fits);
    assign gr_dead = c_dead;
    assign taken = c_valid && limited && fits && gr_take;
    assign taken_cq = c_cq;
    assign taken_count = c_count;

    // ---------------------------------------------------------------- stage D: what was taken is written
    wire [IDX_W-1:0] total_now = behind ? granted_total : total;

    always @(posedge clk) begin
        granted_we <= c_any && !rst;
        granted_cq <= c_cq;
        granted_total <= c_clear ? {IDX_W{1'b0}} : taken ? total_now + {{(IDX_W-2){1'b0}}, c_count} : total_now;
    end

endmodule

`default_nettype wire
