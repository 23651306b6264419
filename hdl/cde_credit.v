// SPDX-License-Identifier: Apache-2.0
// cde_credit: grants CQ slots to work before it is admitted (CQ-17).
//
// Purpose: a grant counts against the CQ at once, so the sum of entries present, entries under way and credits held never exceeds the number
//          of entries. Grants, uses and consumption are counters with one writer each; a late look is always on the safe side.
// Ports:   s_axis_rsv, m_axis_rsv; settings and clearing by control; copies of consumer index and silent completions; total granted.
// Latency: request accepted in cycle t, answer valid in t+4. One request per cycle.
`default_nettype none

module cde_credit #(
    parameter NUM_CQ = 64,
    parameter CQ_W = 6,
    parameter IDX_W = 16
) (
    input  wire              clk,
    input  wire              rst,
    input  wire              init,
    input  wire [CQ_W-1:0]   init_addr,

    input  wire [31:0]       s_axis_rsv_tdata,
    input  wire              s_axis_rsv_tvalid,
    output wire              s_axis_rsv_tready,
    output wire [7:0]        m_axis_rsv_tdata,
    output wire              m_axis_rsv_tvalid,
    input  wire              m_axis_rsv_tready,

    // Settings: {exists, unreserved, limit}
    input  wire              limit_we,
    input  wire [CQ_W-1:0]   limit_cq,
    input  wire [IDX_W+1:0]  limit_data,
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
    input  wire [NUM_CQ-1:0] dead,

    output wire              granted_we,
    output wire [CQ_W-1:0]   granted_cq,
    output wire [IDX_W-1:0]  granted_total
);

    wire        in_valid;
    wire        in_push_ready;
    wire [31:0] in_data;
    wire [1:0]  unused_in_level;
    wire [2:0]  out_level;
    wire        space = out_level <= 3'd1;         // two requests can be under way
    wire        go = in_valid && space && !clear_valid && !init;

    assign s_axis_rsv_tready = in_push_ready && !init;
    assign clear_ready = !init;

    cde_fifo #(.W(32), .DEPTH_LOG2(1)) in_fifo (
        .clk(clk),
        .rst(rst),
        .push_valid(s_axis_rsv_tvalid && !init),
        .push_ready(in_push_ready),
        .push_data(s_axis_rsv_tdata),
        .pop_valid(in_valid),
        .pop_ready(go),
        .pop_data(in_data),
        .level(unused_in_level)
    );

    wire [CQ_W-1:0] a_cq = clear_valid ? clear_cq : in_data[CQ_W-1:0];

    reg             r_valid, c_valid;
    reg             r_clear, c_clear;
    reg             r_legal, c_legal;
    reg [CQ_W-1:0]  r_cq, c_cq;
    reg [1:0]       r_count, c_count;
    reg             c_dead;

    always @(posedge clk) begin
        r_valid <= go && !rst;
        r_clear <= clear_valid && clear_ready && !rst;
        r_legal <= (in_data[15:0] >> CQ_W) == 16'd0 && in_data[31:18] == 14'd0 &&
                   (in_data[17:16] == 2'd1 || in_data[17:16] == 2'd2);
        r_cq <= a_cq;
        r_count <= in_data[17:16];
        {c_valid, c_clear} <= rst ? 2'b00 : {r_valid, r_clear};
        {c_legal, c_cq, c_count} <= {r_legal, r_cq, r_count};
        c_dead <= dead[r_cq];
    end

    // ---------------------------------------------------------------- stage R: memories are read
    wire [IDX_W-1:0] r_total;
    wire [IDX_W-1:0] r_cons;
    wire [IDX_W-1:0] r_silent;
    wire [IDX_W+1:0] r_limit;

    cde_ram #(.W(IDX_W), .AW(CQ_W)) total_ram (
        .clk(clk), .we(granted_we), .waddr(granted_cq), .wdata(granted_total), .raddr(a_cq), .rdata(r_total)
    );

    cde_ram #(.W(IDX_W), .AW(CQ_W)) cons_ram (
        .clk(clk), .we(cons_we), .waddr(cons_cq), .wdata(cons_index), .raddr(a_cq), .rdata(r_cons)
    );

    cde_ram #(.W(IDX_W), .AW(CQ_W)) silent_ram (
        .clk(clk), .we(silent_we), .waddr(silent_cq), .wdata(silent_total), .raddr(a_cq), .rdata(r_silent)
    );

    cde_ram #(.W(IDX_W + 2), .AW(CQ_W)) limit_ram (
        .clk(clk), .we(limit_we), .waddr(limit_cq), .wdata(limit_data), .raddr(a_cq), .rdata(r_limit)
    );

    // ---------------------------------------------------------------- stage C: grant
    // Credits granted when the ring is full. A resize may put the bound behind the total for a while: hence the sign.
    reg  [IDX_W-1:0] total;
    reg  [IDX_W-1:0] bound;
    reg  [1:0]       mode;

    always @(posedge clk) begin
        total <= granted_we && granted_cq == r_cq ? granted_total : r_total;
        bound <= r_silent + r_cons + r_limit[IDX_W-1:0];
        mode <= r_limit[IDX_W +: 2];
    end

    wire [IDX_W-1:0] wish = {{(IDX_W-2){1'b0}}, c_count};
    wire [IDX_W-1:0] room = bound - total - wish;
    wire usable = c_valid && c_legal && mode[1] && !c_dead;
    wire grant_counted = usable && !mode[0] && !room[IDX_W-1];
    wire grant = grant_counted || (usable && mode[0]);

    assign granted_we = init || c_clear || grant_counted;
    assign granted_cq = init ? init_addr : c_cq;
    assign granted_total = init || c_clear ? {IDX_W{1'b0}} : total + wish;

    wire unused_out_push_ready;
    wire out_granted;

    cde_fifo #(.W(1), .DEPTH_LOG2(2)) out_fifo (
        .clk(clk),
        .rst(rst),
        .push_valid(c_valid && !rst),
        .push_ready(unused_out_push_ready),
        .push_data(grant),
        .pop_valid(m_axis_rsv_tvalid),
        .pop_ready(m_axis_rsv_tready),
        .pop_data(out_granted),
        .level(out_level)
    );

    assign m_axis_rsv_tdata = {7'd0, out_granted};

endmodule

`default_nettype wire
