// SPDX-License-Identifier: Apache-2.0
// cde_arm_age: stage Z of the arm pipeline; what a waiting callback has seen since it became due.
//
// Purpose: moderation by count and interval (CQ-21), and the mark max(cons, snap) for the trace. After the decision
//          about callbacks, so that its arithmetic is not in their way; the moderation look reads the outcome.
// Ports:   both operations as stage F decided them; old and new words; whether a look found its CQ ripe.
// Latency: word written in the cycle in which the operation is presented; ripe three cycles later.
`default_nettype none
`include "cde_arm_settings.vh"
`include "cde_mem.vh"

module cde_arm_age #(
    parameter CQ_W = 6,
    parameter IDX_W = 16,
    parameter Z_BITS = 65,
    parameter CF_BITS = 56,
    parameter ECC = 1
) (
    input  wire               clk,
    input  wire [`CDE_MEM_W-1:0] mem_i,
    output wire [`CDE_MEM_W-1:0] mem_o,
    input  wire [17:0]        now,

    // Addresses, three cycles ahead of the operations
    input  wire [CQ_W-1:0]    p_cq_ahead,
    input  wire [CQ_W-1:0]    d_cq_ahead,

    input  wire               p_valid,
    input  wire [CQ_W-1:0]    p_cq,
    input  wire               p_becomes_due,
    input  wire               p_due,         // callback due after the operation
    input  wire               p_call,
    input  wire [1:0]         p_live,
    input  wire [IDX_W-1:0]   p_call_mark,   // max(prod, cons)

    input  wire               chained,       // both operations are about one CQ: publication comes first
    input  wire               d_valid,
    input  wire [CQ_W-1:0]    d_cq,
    input  wire               d_doorbell,    // accepted
    input  wire               d_clear,       // created, freed
    input  wire               d_due,         // callback due after the operation
    input  wire               d_look,        // moderation look
    input  wire               d_becomes_due,
    input  wire               d_call,
    input  wire [IDX_W-1:0]   d_call_mark,
    input  wire [CF_BITS-1:0] d_settings,

    // One cycle ahead of the operations: what is compared with each other
    input  wire [IDX_W-1:0]   f_call_mark,   // of the publication
    input  wire [IDX_W-1:0]   f_index,       // of the doorbell
    input  wire [IDX_W-1:0]   f_prod,
    input  wire [IDX_W-1:0]   f_cons,        // before the doorbell

    output wire [Z_BITS-1:0]  p_z,
    output wire [Z_BITS-1:0]  p_z_next,
    output wire [Z_BITS-1:0]  d_z,
    output wire [Z_BITS-1:0]  d_z_next,
    output reg                d_ripe
);

`include "cde_arm_state.vh"

    localparam [IDX_W-1:0] ZERO = {IDX_W{1'b0}};

    // ---------------------------------------------------------------- memory
    wire [Z_W-1:0] d_z_mem;

    cde_ctx_2w #(.W(Z_W), .AW(CQ_W), .ECC(ECC), .STEPS(3), .MASK(32'h0f)) age_ram (
        .clk(clk), .mem_i(mem_i), .mem_o(mem_o),
        .we0(p_valid), .waddr0(p_cq), .wdata0(p_z_next),
        .we1(d_valid), .waddr1(d_cq), .wdata1(d_z_next), .late1(1'b0), .alt1({Z_W{1'b0}}),
        .raddr0(p_cq_ahead), .rdata0(p_z), .raddr1(d_cq_ahead), .rdata1(d_z_mem)
    );

    // ---------------------------------------------------------------- publication
    // What is not due has counted nothing.
    function [IDX_W-1:0] counted;
        input [IDX_W-1:0] mcnt;
        input [1:0]       live;
        reg               ends;
        begin
            ends = mcnt[IDX_W-1:1] == {(IDX_W-1){1'b1}} && (mcnt[0] ? live != 2'd0 : live == 2'd3);
            counted = ends ? {IDX_W{1'b1}} : mcnt + {{(IDX_W-2){1'b0}}, live == 2'd3, live[1] ^ live[0]};
        end
    endfunction

    assign p_z_next[Z_MARK +: IDX_W] = p_call ? p_call_mark : p_z[Z_MARK +: IDX_W];
    assign p_z_next[Z_MCNT +: IDX_W] = p_due ? counted(p_z[Z_MCNT +: IDX_W], p_live) : ZERO;
    assign p_z_next[Z_TDUE +: TICK_W] = p_becomes_due ? now : p_z[Z_TDUE +: TICK_W];
    assign p_z_next[Z_MOST +: IDX_W-1] = p_becomes_due ? {(IDX_W-1){1'b0}} : p_z[Z_MOST +: IDX_W-1];

    // ---------------------------------------------------------------- doorbell
    // Both operations of one CQ read the same word, so each is worked out from registers: no chain of one after the
    // other.
    wire             called = chained && p_call, became_due = chained && p_becomes_due;
    // Entries after the host's index or a mark; 0 if it is ahead
    function [IDX_W-1:0] after;
        input [IDX_W-1:0] difference;
        after = difference & {IDX_W{!difference[IDX_W-1]}};
    endfunction

    wire [IDX_W-1:0] ahead_call = f_call_mark - f_index;
    wire [IDX_W-1:0] found = f_prod - f_cons;
    reg  [IDX_W-1:0] d_index, d_prod, d_fresh_call, d_fresh_index;
    reg  [IDX_W-2:0] d_found;
    reg              d_behind_call, d_any;

    always @(posedge clk) begin
        d_index <= f_index;
        d_prod <= f_prod;
        d_behind_call <= ahead_call[IDX_W-1];
        d_fresh_call <= after(f_prod - f_call_mark);
        d_fresh_index <= after(f_prod - f_index);
        // Entries present before the operation; 0 if the host is ahead
        d_found <= found[IDX_W-1] ? {(IDX_W-1){1'b0}} : found[IDX_W-2:0];
        d_any <= !found[IDX_W-1] && found != ZERO;
    end

    assign d_z = chained ? p_z_next : d_z_mem;

    // The index raises the mark. What is new after it is worked out for each outcome.
    wire [IDX_W-1:0] mark = d_z_mem[Z_MARK +: IDX_W];
    wire [IDX_W-1:0] lead = mark - d_index;
    wire [IDX_W-1:0] fresh_mark = after(d_prod - mark);
    wire             raises = d_doorbell && (called ? d_behind_call : lead[IDX_W-1]);
    wire [IDX_W-1:0] fresh = raises ? d_fresh_index : called ? d_fresh_call : fresh_mark;

    assign d_z_next[Z_MARK +: IDX_W] = d_clear ? ZERO : d_call ? d_call_mark : raises ? d_index : called ? p_call_mark :
                                       mark;
    assign d_z_next[Z_MCNT +: IDX_W] = !d_due ? ZERO : d_becomes_due ? fresh :
                                       counted(d_z_mem[Z_MCNT +: IDX_W], p_live & {2{chained}});
    // A very old callback stays at half the range: looks come often enough that its age never wraps.
    wire [TICK_W-1:0] waited = now - d_z_mem[Z_TDUE +: TICK_W];
    assign d_z_next[Z_TDUE +: TICK_W] = d_becomes_due || became_due ? now :
                                        d_look && waited[TICK_W-1] ? {~now[TICK_W-1], now[TICK_W-2:0]}
                                                                   : d_z_mem[Z_TDUE +: TICK_W];
    // Only doorbells take entries away, so that what each finds, and what a look finds, has the largest number that was
    // present. It is kept as a number, not compared here: the setting may change until the look.
    wire more = (d_doorbell || d_look) && (became_due ? d_any : d_found > d_z_mem[Z_MOST +: IDX_W-1]);
    assign d_z_next[Z_MOST +: IDX_W-1] = d_becomes_due ? {(IDX_W-1){1'b0}} : more ? d_found :
                                         became_due ? {(IDX_W-1){1'b0}} : d_z_mem[Z_MOST +: IDX_W-1];

    // ---------------------------------------------------------------- look
    reg               l_due, r_due;
    reg [IDX_W-1:0]   l_mcnt;
    reg [TICK_W-1:0]  l_tdue, age;
    reg [IDX_W-2:0]   l_most;
    reg [CF_BITS-1:0] l_settings;
    reg [15:0]        r_interval;
    reg               r_by_count, r_int_en;
    wire              unused_settings = &{1'b0, l_settings};

    wire [IDX_W-1:0]  limit = l_settings[`CDE_CFG_COUNT +: IDX_W];
    wire              by_time = r_int_en && age > {2'b00, r_interval};

    always @(posedge clk) begin
        l_due <= d_due;
        l_mcnt <= d_z_next[Z_MCNT +: IDX_W];
        l_tdue <= d_z_next[Z_TDUE +: TICK_W];
        l_most <= d_z_next[Z_MOST +: IDX_W-1];
        l_settings <= d_settings;
        r_due <= l_due;
        r_by_count <= l_settings[`CDE_CFG_CNT_EN] && (l_mcnt >= limit || {1'b0, l_most} >= limit);
        r_int_en <= l_settings[`CDE_CFG_INT_EN];
        r_interval <= l_settings[`CDE_CFG_INTVL +: 16];
        age <= now - l_tdue;
        d_ripe <= r_due && (r_by_count || by_time);
    end

endmodule

`default_nettype wire
