// SPDX-License-Identifier: Apache-2.0
// cde_arm_age: stage Z of the arm pipeline; what a waiting callback has seen since it became due.
//
// Purpose: moderation by count and interval (CQ-21), and the mark max(cons, snap) for the trace. After the decision about callbacks, so that its arithmetic is not in
//          their way; the moderation look reads the outcome.
// Ports:   both operations as stage F decided them; old and new words; whether a look found its CQ ripe.
// Latency: word written one cycle after the operation is presented; ripe one cycle later.
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

    // Addresses, two cycles ahead of the operations
    input  wire [CQ_W-1:0]    p_cq_ahead,
    input  wire [CQ_W-1:0]    d_cq_ahead,

    input  wire               p_valid,
    input  wire [CQ_W-1:0]    p_cq,
    input  wire               p_becomes_due,
    input  wire               p_was_due,
    input  wire               p_call,
    input  wire [1:0]         p_live,
    input  wire [IDX_W-1:0]   p_call_mark,   // max(prod, cons)

    input  wire               d_valid,
    input  wire [CQ_W-1:0]    d_cq,
    input  wire               d_doorbell,    // accepted
    input  wire               d_clear,       // created, freed
    input  wire               d_forget,      // being destroyed
    input  wire               d_due,         // callback due after the operation
    input  wire               d_look,        // moderation look
    input  wire               d_becomes_due,
    input  wire               d_call,
    input  wire [IDX_W-1:0]   d_index,
    input  wire [IDX_W-1:0]   d_call_mark,
    input  wire [IDX_W-1:0]   d_prod,
    input  wire [IDX_W-1:0]   d_cons,        // before the operation
    input  wire [CF_BITS-1:0] d_settings,

    output wire [Z_BITS-1:0]  p_z,
    output wire [Z_BITS-1:0]  p_z_next,
    output wire [Z_BITS-1:0]  d_z,
    output wire [Z_BITS-1:0]  d_z_next,
    output reg                d_ripe
);

`include "cde_arm_state.vh"

    localparam [IDX_W-1:0] ZERO = {IDX_W{1'b0}};

    // ---------------------------------------------------------------- memory, read one cycle ahead
    wire [Z_W-1:0] p_z_read;
    wire [Z_W-1:0] d_z_read;
    reg  [Z_W-1:0] p_z_q;
    reg  [Z_W-1:0] d_z_q;

    cde_ram_2w #(.W(Z_W), .AW(CQ_W), .ECC(ECC)) age_ram (
        .clk(clk), .mem_i(mem_i), .mem_o(mem_o),
        .we0(p_valid), .waddr0(p_cq), .wdata0(p_z_next),
        .we1(d_valid), .waddr1(d_cq), .wdata1(d_z_next),
        .raddr0(p_cq_ahead), .rdata0(p_z_read), .raddr1(d_cq_ahead), .rdata1(d_z_read)
    );

    reg [CQ_W-1:0] p_cq_read;
    reg [CQ_W-1:0] d_cq_read;

    always @(posedge clk) begin
        p_cq_read <= p_cq_ahead;
        d_cq_read <= d_cq_ahead;
        p_z_q <= d_valid && d_cq == p_cq_read ? d_z_next : p_valid && p_cq == p_cq_read ? p_z_next : p_z_read;
        d_z_q <= d_valid && d_cq == d_cq_read ? d_z_next : p_valid && p_cq == d_cq_read ? p_z_next : d_z_read;
    end

    // ---------------------------------------------------------------- publication
    assign p_z = p_z_q;
    wire [IDX_W:0] p_sum = {1'b0, p_was_due ? p_z[Z_MCNT +: IDX_W] : ZERO} +
                           {{(IDX_W-1){1'b0}}, {1'b0, p_live[0]} + {1'b0, p_live[1]}};
    wire [IDX_W-1:0] p_mcnt = p_sum[IDX_W] ? {IDX_W{1'b1}} : p_sum[IDX_W-1:0];

    assign p_z_next[Z_MARK +: IDX_W] = p_call ? p_call_mark : p_z[Z_MARK +: IDX_W];
    assign p_z_next[Z_MCNT +: IDX_W] = (p_was_due || p_becomes_due) && !p_call ? p_mcnt : ZERO;
    assign p_z_next[Z_TDUE +: TICK_W] = p_becomes_due ? now : p_z[Z_TDUE +: TICK_W];
    assign p_z_next[Z_MOST +: IDX_W-1] = p_becomes_due ? {(IDX_W-1){1'b0}} : p_z[Z_MOST +: IDX_W-1];

    // ---------------------------------------------------------------- doorbell
    assign d_z = p_valid && p_cq == d_cq ? p_z_next : d_z_q;

    wire [IDX_W-1:0] mark = d_z[Z_MARK +: IDX_W];
    wire [IDX_W-1:0] lead = mark - d_index;
    wire [IDX_W-1:0] raised = d_doorbell && lead[IDX_W-1] ? d_index : mark;
    wire [IDX_W-1:0] fresh = d_prod - raised;

    assign d_z_next[Z_MARK +: IDX_W] = d_clear ? ZERO : d_call ? d_call_mark : raised;
    assign d_z_next[Z_MCNT +: IDX_W] = d_clear || d_forget || d_call ? ZERO :
                                       !d_becomes_due ? d_z[Z_MCNT +: IDX_W] : fresh[IDX_W-1] ? ZERO : fresh;
    // A very old callback stays at half the range: looks come often enough that its age never wraps.
    wire [TICK_W-1:0] waited = now - d_z[Z_TDUE +: TICK_W];
    assign d_z_next[Z_TDUE +: TICK_W] = d_becomes_due ? now :
                                        d_look && waited[TICK_W-1] ? {~now[TICK_W-1], now[TICK_W-2:0]}
                                                                   : d_z[Z_TDUE +: TICK_W];
    // Only doorbells take entries away, so that what each finds, and what a look finds, has the largest number that was present. It is kept as a number, not
    // compared here: the setting may change until the look.
    wire [IDX_W-1:0] found = d_prod - d_cons;
    wire more = (d_doorbell || d_look) && !found[IDX_W-1] && found[IDX_W-2:0] > d_z[Z_MOST +: IDX_W-1];
    assign d_z_next[Z_MOST +: IDX_W-1] = d_becomes_due ? {(IDX_W-1){1'b0}} :
                                         more ? found[IDX_W-2:0] : d_z[Z_MOST +: IDX_W-1];

    // ---------------------------------------------------------------- look
    reg               l_due;
    reg [IDX_W-1:0]   l_mcnt;
    reg [TICK_W-1:0]  l_tdue;
    reg [IDX_W-2:0]   l_most;
    reg [CF_BITS-1:0] l_settings;
    wire              unused_settings = &{1'b0, l_settings};

    wire [TICK_W-1:0] age = now - l_tdue;
    wire [IDX_W-1:0]  limit = l_settings[`CDE_CFG_COUNT +: IDX_W];
    wire by_count = l_settings[`CDE_CFG_CNT_EN] && (l_mcnt >= limit || {1'b0, l_most} >= limit);
    wire by_time = l_settings[`CDE_CFG_INT_EN] && age > {2'b00, l_settings[`CDE_CFG_INTVL +: 16]};

    always @(posedge clk) begin
        l_due <= d_due;
        l_mcnt <= d_z_next[Z_MCNT +: IDX_W];
        l_tdue <= d_z_next[Z_TDUE +: TICK_W];
        l_most <= d_z_next[Z_MOST +: IDX_W-1];
        l_settings <= d_settings;
        d_ripe <= l_due && (by_count || by_time);
    end

endmodule

`default_nettype wire
