// SPDX-License-Identifier: Apache-2.0
// cde_credit_port: one of the two ports of cde_credit.
//
// Purpose: counts what this port grants of each CQ, and judges its requests by the sum of what both ports have granted.
// Ports:   requests (rq_*), verdicts (gr_*); clearing and settings by control; copies of consumer index and silent
//          completions; the other port's counter, its requests and whether it grants them; this port's counter and
//          requests.
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
    input  wire              other_taken,    // it takes credits of that CQ in this cycle
    input  wire [CQ_W+1:0]   other_s,        // its s_request
    input  wire [CQ_W+1:0]   other_r,
    input  wire              ahead,          // it takes credits in this cycle and goes first

    output wire              c_any,          // a request is decided, or credits are cleared, in this cycle
    output wire              taken,          // credits of taken_cq are taken in this cycle
    output wire [CQ_W-1:0]   taken_cq,
    output wire [CQ_W+1:0]   s_request,      // {credits, CQ}, decided in two cycles
    output wire [CQ_W+1:0]   r_request,      // in the next one
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
    assign s_request = {s_count, s_cq};
    assign r_request = {r_count, r_cq};

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
    reg  [IDX_W-1:0] total;
    reg              open, c_dead;                      // open: without a limit
    reg              many, few;                         // within the limit: 16 or more were left, 0 or more
    reg              behind;                            // the request before is of this CQ
    reg              own_took, other_took;              // the requests of the cycle before: not in what is left
    wire             limits = r_limit[`CDE_LIMIT_EXISTS] && !dead && !r_limit[`CDE_LIMIT_UNRESERVED];

    // What was left of the bound before the totals that are being written: five to a sum and carries, then one addition
    // for its sign and one for whether it is 16 or more. A resize may put the bound below the total for a while: hence
    // the sign. Those totals take 4 at most, so what is left now, no less than -4 or else of no interest and no more
    // than 15, is told by its lowest five bits.
    localparam LOW_W = IDX_W < 5 ? IDX_W : 5;
    wire [IDX_W-1:0] bound = r_limit[`CDE_LIMIT_CREDITS +: IDX_W], less1 = ~r_total, less2 = ~r_other;
    wire [IDX_W-1:0] sum1 = r_silent ^ r_cons ^ bound, carry1 = (r_silent & r_cons) | ((r_silent | r_cons) & bound);
    wire [IDX_W-1:0] more1 = {carry1[IDX_W-2:0], 1'b1};
    wire [IDX_W-1:0] sum2 = sum1 ^ more1 ^ less1, carry2 = (sum1 & more1) | ((sum1 | more1) & less1);
    wire [IDX_W-1:0] more2 = {carry2[IDX_W-2:0], 1'b1};
    wire [IDX_W-1:0] sum3 = sum2 ^ more2 ^ less2, carry3 = (sum2 & more2) | ((sum2 | more2) & less2);
    wire [IDX_W-1:0] more3 = {carry3[IDX_W-2:0], 1'b0}, minus16 = {IDX_W{1'b1}} << 4;
    wire [IDX_W-1:0] space = sum3 + more3;
    wire [IDX_W-1:0] sum4 = sum3 ^ more3 ^ minus16, carry4 = (sum3 & more3) | ((sum3 | more3) & minus16);
    wire [IDX_W-1:0] beyond = sum4 + {carry4[IDX_W-2:0], 1'b0};
    wire [LOW_W-1:0] left = r_silent[LOW_W-1:0] + r_cons[LOW_W-1:0] + bound[LOW_W-1:0] - r_total_now[LOW_W-1:0] -
                            r_other_now[LOW_W-1:0];
    wire             unused_high = &{1'b0, carry1[IDX_W-1], carry2[IDX_W-1], carry3[IDX_W-1], carry4[IDX_W-1],
                                     beyond[IDX_W-2:0], space, r_other_now};

    // Whether the requests ahead take is known late in their cycle, so an answer stands ready for each case: bit 0 of
    // its number, the request before takes; bit 1, the other port's of that cycle does; bit 2, the other port's of this
    // one. First what is needed then, if they are of this CQ; with what is left, whether it is there.
    wire [1:0]   own_count = r_count & {2{r_cq == s_cq}};
    wire [1:0]   other_count = other_r[CQ_W +: 2] & {2{other_r[CQ_W-1:0] == s_cq}};
    wire [1:0]   first_count = other_s[CQ_W +: 2] & {2{other_s[CQ_W-1:0] == s_cq}};
    reg  [4*8-1:0] need;
    reg  [7:0]   fit;
    integer      n;

    always @(posedge clk) begin
        for (n = 0; n < 8; n = n + 1) begin
            need[4*n +: 4] <= {2'd0, s_count} + {2'd0, n[0] ? own_count : 2'd0} +
                {2'd0, n[1] ? other_count : 2'd0} + {2'd0, n[2] ? first_count : 2'd0};
            fit[n] <= !left[LOW_W-1] && {{(5-LOW_W){1'b0}}, left[LOW_W-2:0]} >= need[4*n +: 4];
        end
        few <= limits && !space[IDX_W-1];
        many <= IDX_W > 4 && limits && !space[IDX_W-1] && !beyond[IDX_W-1];
        total <= r_total_now;
        open <= r_limit[`CDE_LIMIT_EXISTS] && !dead && r_limit[`CDE_LIMIT_UNRESERVED];
        c_dead <= dead;
        behind <= c_any && c_cq == r_cq;
        own_took <= taken;
        other_took <= other_taken;
    end

    wire       fits_first = fit[{1'b0, other_took, own_took}], fits_behind = fit[{1'b1, other_took, own_took}];
    wire       fits = ahead ? fits_behind : fits_first;

    assign gr_room = open || many || (few && fits);
    assign gr_dead = c_dead;
    assign taken = c_valid && (many || (few && fits)) && gr_take;
    assign taken_cq = c_cq;

    // ---------------------------------------------------------------- stage D: what was taken is written
    wire [IDX_W-1:0] total_now = behind ? granted_total : total;

    always @(posedge clk) begin
        granted_we <= c_any && !rst;
        granted_cq <= c_cq;
        granted_total <= c_clear ? {IDX_W{1'b0}} : taken ? total_now + {{(IDX_W-2){1'b0}}, c_count} : total_now;
    end

`ifdef FORMAL
    // What is left, and what the requests ahead have taken or may take of it, for proofs.
    reg  [IDX_W-1:0] f_space;
    reg  [5:0]       f_counts, f_taken;      // of the other port in this cycle, in the one before; of this port
    reg              f_limited;
    wire [1:0]       f_own = f_taken[1:0] & {2{own_took}}, f_other = f_taken[3:2] & {2{other_took}};
    wire [1:0]       f_first = f_taken[5:4];

    always @(posedge clk) begin
        {f_space, f_limited} <= {r_silent + r_cons + bound - r_total_now - r_other_now, limits};
        {f_counts, f_taken} <= {first_count, other_count, own_count, f_counts};
    end
`endif

endmodule

`default_nettype wire
