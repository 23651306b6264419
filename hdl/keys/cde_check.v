// SPDX-License-Identifier: Apache-2.0
// cde_check: remote access checks (MW-02, MW-10).
//
// Purpose: says of each access that the transport is about to make for a peer whether key, QP, right and every byte are
//          in order (an access of no bytes needs only its connection); keeps a copy of the key table that follows it in
//          the same cycle, so that no key is seen valid after its invalidation was decided.
// Ports:   s_axis_check, m_axis_verdict; changes of the key table (change_*), zones and states of QPs; refused accesses
//          (bad_*), counter steps, trace lane 9.
// Latency: check taken in cycle t, decided in t+2, verdict valid in t+2. One a cycle.
`default_nettype none
`include "cde_defs.vh"
`include "cde_key_records.vh"
`include "cde_mem.vh"

module cde_check #(
    parameter NUM_QP = 64,
    parameter QP_W = 6,
    parameter NUM_MR = 64,
    parameter NUM_MW = 64,
    parameter MR_W = 6,
    parameter N_W = 6,
    parameter ECC = 1
) (
    input  wire              clk,
    input  wire [`CDE_MEM_W-1:0] mem_i,
    output wire [`CDE_MEM_W-1:0] mem_o,
    input  wire              rst,
    input  wire              init,

    input  wire [191:0]      s_axis_check_tdata,
    input  wire              s_axis_check_tvalid,
    output wire              s_axis_check_tready,
    output wire [31:0]       m_axis_verdict_tdata,
    output wire              m_axis_verdict_tvalid,
    input  wire              m_axis_verdict_tready,

    input  wire              change_we,
    input  wire [N_W:0]      change_at,
    input  wire [`CDE_KEY_WORD_W-1:0] change_word,
    input  wire              set_we,
    input  wire [QP_W-1:0]   set_qp,
    input  wire [`CDE_QP_KEYS_W-1:0] set_zone,
    input  wire [NUM_QP-1:0] qp_up,
    input  wire              removed,

    output wire              bad_valid,      // the access ends the connection
    output wire [QP_W-1:0]   bad_qp,
    output wire              err_valid,
    output wire [15:0]       err_qp,
    output wire [15:0]       err_code,
    output wire [1:0]        count,          // {not granted, checks}

    output reg               trace_valid,
    output reg  [255:0]      trace_data
);

    wire [`CDE_MEM_W-1:0] mem1;

    `include "cde_key_state.vh"

    localparam OUT_LOG2 = 3;
    localparam VERDICT_W = `CDE_VERDICT_CODE_LSB + `CDE_VERDICT_CODE_W;
    localparam [255:0] RESERVED = `CDE_CHECK_RESERVED;       // those of the port lie in its 192 bits

    wire [31:0]       key = s_axis_check_tdata[`CDE_CHECK_KEY_LSB +: 32];
    wire [N_W:0]      a_at = {key[11], key[N_W-1:0]};
    wire [QP_W-1:0]   a_qp = s_axis_check_tdata[`CDE_CHECK_QP_LSB +: QP_W];
    wire [1:0]        a_kind = s_axis_check_tdata[`CDE_CHECK_KIND_LSB +: 2];
    wire              a_bad = (s_axis_check_tdata[`CDE_CHECK_QP_LSB +: 16] >> QP_W) != 16'd0 ||
                              (s_axis_check_tdata & RESERVED[191:0]) != 192'd0 ||
                              (a_kind != `CDE_CHECKKIND_READ && a_kind != `CDE_CHECKKIND_WRITE);
    wire              a_far = key[11] ? {21'd0, key[10:0]} >= NUM_MW : {21'd0, key[10:0]} >= NUM_MR;
    wire [OUT_LOG2:0] out_level;
    wire              take = s_axis_check_tvalid && s_axis_check_tready;

    assign s_axis_check_tready = out_level <= 4'd4 && !init;

    // ---------------------------------------------------------------- stage B: the entry
    reg               b_valid, c_valid, b_bad, c_bad, b_far, c_far;
    reg [1:0]         b_kind, c_kind;
    reg [15:0]        b_name, c_name;
    reg [31:0]        b_key, c_key;
    reg [63:0]        b_from, c_from;
    reg [31:0]        b_bytes, c_bytes;
    reg [N_W:0]       b_at;
    wire [KW-1:0]     b_word;
    wire [`CDE_QP_KEYS_W-1:0] b_zone;
    reg [KW-1:0]      word;
    reg [15:0]        zone;
    reg               guarded;

    cde_ram #(.W(KW), .AW(N_W + 1), .ECC(ECC)) word_ram (
        .clk(clk), .mem_i(mem_i), .mem_o(mem1), .we(change_we), .waddr(change_at), .wdata(change_word),
        .raddr(a_at), .rdata(b_word)
    );

    cde_ram #(.W(`CDE_QP_KEYS_W), .AW(QP_W), .ECC(ECC)) zone_ram (
        .clk(clk), .mem_i(mem1), .mem_o(mem_o), .we(set_we), .waddr(set_qp), .wdata(set_zone), .raddr(a_qp),
        .rdata(b_zone)
    );

    // Low from power-up, before any clock edge.
    initial c_valid = 1'b0;
    always @(posedge clk) begin
        {b_valid, c_valid} <= rst ? 2'b00 : {take, b_valid};
        {b_bad, c_bad} <= {a_bad, b_bad};
        {b_far, c_far} <= {a_far, b_far};
        {b_kind, c_kind} <= {a_kind, b_kind};
        {b_name, c_name} <= {s_axis_check_tdata[`CDE_CHECK_QP_LSB +: 16], b_name};
        {b_key, c_key} <= {key, b_key};
        {b_from, c_from} <= {s_axis_check_tdata[`CDE_CHECK_ADDRESS_LSB +: 64], b_from};
        {b_bytes, c_bytes} <= {s_axis_check_tdata[`CDE_CHECK_LENGTH_LSB +: 32], b_bytes};
        b_at <= a_at;
        word <= change_we && change_at == b_at ? change_word : b_word;
        guarded <= b_zone[`CDE_QP_KEYS_GUARDED];
        zone <= b_zone[`CDE_QP_KEYS_ZONE +: 16];
    end

    // ---------------------------------------------------------------- stage C: the verdict
    wire [QP_W-1:0] c_qp = c_name[QP_W-1:0];
    wire        refused = c_bad || removed || !guarded || !qp_up[c_qp];
    wire        good_key = !c_far && word[`CDE_KEY_WORD_VALID] && word[`CDE_KEY_WORD_GENERATION +: 20] == c_key[31:12];
    wire        good_qp = c_key[11] ? {{(16-QP_W){1'b0}}, word[`CDE_KEY_WORD_QP +: QP_W]} == c_name :
                          word[`CDE_KEY_WORD_ZONE +: 16] == zone;
    wire        good_right = c_kind == 2'd1 ? word[`CDE_KEY_WORD_RIGHTS + 1] : word[`CDE_KEY_WORD_RIGHTS + 2];
    wire [63:0] offset = c_from - word[`CDE_KEY_WORD_BASE +: 64];
    wire        good_range = c_from >= word[`CDE_KEY_WORD_BASE +: 64] &&
                             {1'b0, offset} + {33'd0, c_bytes} <= {17'd0, word[`CDE_KEY_WORD_LENGTH +: 48]};
    // An access of no bytes touches none: nothing but its connection is looked at (MW-10).
    wire        no_bytes = c_bytes == 32'd0;
    wire [3:0]  code = refused ? `CDE_VERDICT_REFUSED : no_bytes ? `CDE_VERDICT_GRANTED : !good_key ?
                       `CDE_VERDICT_BAD_KEY : !good_qp ? `CDE_VERDICT_WRONG_QP : !good_right ? `CDE_VERDICT_NO_RIGHT :
                       !good_range ? `CDE_VERDICT_BAD_RANGE : `CDE_VERDICT_GRANTED;
    wire        unused_ready;

    cde_fifo #(.W(VERDICT_W), .DEPTH_LOG2(OUT_LOG2), .BYPASS(1'b1)) out_fifo (
        .clk(clk), .rst(rst), .push_valid(c_valid), .push_ready(unused_ready), .push_data({code, c_name}),
        .pop_valid(m_axis_verdict_tvalid), .pop_ready(m_axis_verdict_tready),
        .pop_data(m_axis_verdict_tdata[VERDICT_W-1:0]), .level(out_level)
    );

    assign m_axis_verdict_tdata[31:VERDICT_W] = {(32-VERDICT_W){1'b0}};
    assign bad_valid = c_valid && !refused && code != `CDE_VERDICT_GRANTED;
    assign bad_qp = c_qp;
    assign err_valid = c_valid && code != `CDE_VERDICT_GRANTED;
    assign err_qp = c_name;
    assign err_code = {12'd0, code};
    assign count = {err_valid, c_valid};

    // Without the number of windows: only the table counts them.
    reg  [95:0] state;

    always @* begin
        state = 96'd0;
        state[`CDE_KSTATE_KEY_LSB +: 32] = {word[`CDE_KEY_WORD_GENERATION +: 20], c_key[11:0]};
        state[`CDE_KSTATE_VALID_LSB] = word[`CDE_KEY_WORD_VALID];
        state[`CDE_KSTATE_EXISTS_LSB] = word[`CDE_KEY_WORD_EXISTS];
        state[`CDE_KSTATE_ALLOCATED_LSB] = word[`CDE_KEY_WORD_ALLOC];
        state[`CDE_KSTATE_QP_LSB +: QP_W] = word[`CDE_KEY_WORD_QP +: QP_W];
        state[`CDE_KSTATE_RIGHTS_LSB +: 3] = word[`CDE_KEY_WORD_RIGHTS +: 3];
        if (c_key[11]) state[`CDE_KSTATE_REGION_LSB +: MR_W] = word[`CDE_KEY_WORD_REGION +: MR_W];
    end

    wire        known = !c_far && word[`CDE_KEY_WORD_EXISTS];

    // Low from power-up, before any clock edge.
    initial trace_valid = 1'b0;
    always @(posedge clk) begin
        trace_valid <= c_valid && !refused && !rst;
        trace_data <= 256'd0;
        trace_data[`CDE_TRACE_OP_LSB +: 8] <= `CDE_TRC_CHECK;
        trace_data[`CDE_TRACE_CQ_LSB +: 16] <= c_name;
        trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_CHECK_CODE_LSB +: 4] <= code;
        trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_CHECK_KIND_LSB +: 2] <= c_kind;
        trace_data[`CDE_TRACE_OLD_LSB +: 96] <= known ? state : 96'd0;
        trace_data[`CDE_TRACE_NEW_LSB +: 96] <= known ? state : 96'd0;
    end

endmodule

`default_nettype wire
