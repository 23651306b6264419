// SPDX-License-Identifier: Apache-2.0
// cde_check: remote access checks (MW-02, MW-03, MW-10, MW-10e, CQ-03).
//
// Purpose: says of each access that the transport is about to make for a peer whether key, QP, right and every byte are
//          in order (an access of no bytes needs only its connection); keeps a copy of the key table that follows it in
//          the same cycle, so that no key is seen valid after its invalidation was decided.
// Ports:   s_axis_check, m_axis_verdict; changes of the key table (change_*), zones and states of QPs; refused accesses
//          (bad_*), counter steps, trace lane 9: all in the cycle of the verdict.
// Latency: check taken in cycle t, decided by what the table, zones and states of QPs are in t+3, verdict valid in t+4.
//          Throughput: one per cycle.
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

    output wire              trace_valid,
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

    assign s_axis_check_tready = out_level <= 4'd3 && !init;

    // ---------------------------------------------------------------- stages B and R: the entry is read
    reg               b_valid, r_valid, c_valid, d_valid, b_bad, r_bad, c_bad, b_far, r_far, c_far;
    reg [1:0]         b_kind, r_kind, c_kind, d_kind;
    reg [15:0]        b_name, r_name, c_name, d_name;
    reg [31:0]        b_key, r_key, c_key;
    reg [63:0]        b_from, r_from, c_from;
    reg [31:0]        b_bytes, r_bytes;
    reg [64:0]        c_end;
    reg               c_none;
    reg [N_W:0]       b_at, r_at, changed_at;
    // The change of the cycle before is not in the memory's word.
    wire [KW-1:0]     c_word;
    reg  [KW-1:0]     changed;
    reg               changed_we, hit;
    wire [KW-1:0]     word = hit ? changed : c_word;
    wire [`CDE_QP_KEYS_W-1:0] c_zone;
    wire [15:0]       zone = c_zone[`CDE_QP_KEYS_ZONE +: 16];
    wire              guarded = c_zone[`CDE_QP_KEYS_GUARDED];

    cde_ctx #(.W(KW), .AW(N_W + 1), .ECC(ECC)) word_ram (
        .clk(clk), .mem_i(mem_i), .mem_o(mem1), .we(changed_we), .waddr(changed_at), .wdata(changed), .raddr(a_at),
        .rdata(c_word)
    );

    cde_ctx #(.W(`CDE_QP_KEYS_W), .AW(QP_W), .ECC(ECC)) zone_ram (
        .clk(clk), .mem_i(mem1), .mem_o(mem_o), .we(set_we), .waddr(set_qp), .wdata(set_zone), .raddr(a_qp),
        .rdata(c_zone)
    );

    // Low from power-up, before any clock edge.
    initial d_valid = 1'b0;
    always @(posedge clk) begin
        {b_valid, r_valid, c_valid, d_valid} <= rst ? 4'b0000 : {take, b_valid, r_valid, c_valid};
        {b_bad, r_bad, c_bad} <= {a_bad, b_bad, r_bad};
        {b_far, r_far, c_far} <= {a_far, b_far, r_far};
        {b_kind, r_kind, c_kind, d_kind} <= {a_kind, b_kind, r_kind, c_kind};
        {b_name, r_name, c_name, d_name} <= {s_axis_check_tdata[`CDE_CHECK_QP_LSB +: 16], b_name, r_name, c_name};
        {b_key, r_key, c_key} <= {key, b_key, r_key};
        {b_from, r_from, c_from} <= {s_axis_check_tdata[`CDE_CHECK_ADDRESS_LSB +: 64], b_from, r_from};
        {b_bytes, r_bytes} <= {s_axis_check_tdata[`CDE_CHECK_LENGTH_LSB +: 32], b_bytes};
        c_end <= {1'b0, r_from} + {33'd0, r_bytes};
        c_none <= r_bytes == 32'd0;
        {b_at, r_at} <= {a_at, b_at};
        // Cleared by rst, so that they are not one with the registers of the table, which lie elsewhere.
        {changed_at, changed} <= rst ? {(N_W+1+KW){1'b0}} : {change_at, change_word};
        changed_we <= change_we && !rst;
        hit <= change_we && change_at == r_at;
    end

    // ---------------------------------------------------------------- stage C: what is in order
    wire [QP_W-1:0] c_qp = c_name[QP_W-1:0];
    wire        good_qp = c_key[11] ? {{(16-QP_W){1'b0}}, word[`CDE_KEY_WORD_QP +: QP_W]} == c_name :
                          word[`CDE_KEY_WORD_ZONE +: 16] == zone;
    wire        good_right = c_kind == 2'd1 ? word[`CDE_KEY_WORD_RIGHTS + 1] : word[`CDE_KEY_WORD_RIGHTS + 2];
    // The end of the range, less that of the access: by three to a sum and carries, then one addition in two halves,
    // the upper one for both carries of the lower one. That it begins before the range is told by halves, too.
    wire [64:0] base = {1'b0, word[`CDE_KEY_WORD_BASE +: 64]}, length = {17'd0, word[`CDE_KEY_WORD_LENGTH +: 48]};
    wire [64:0] sum = base ^ length ^ ~c_end, carry = (base & length) | ((base | length) & ~c_end);
    wire [66:0] plus = {1'b0, sum, 1'b1}, more = {carry, 2'b01};
    wire [33:0] lower = {1'b0, plus[32:0]} + {1'b0, more[32:0]};
    wire [33:0] upper = plus[66:33] + more[66:33];
    wire [34:0] upper1 = {plus[66:33], 1'b1} + {more[66:33], 1'b1};
    wire        unused_left = &{1'b0, lower, upper, upper1};
    wire [31:0] base_high = word[`CDE_KEY_WORD_BASE + 32 +: 32], base_low = word[`CDE_KEY_WORD_BASE +: 32];
    reg         refused, no_bytes, good_key, d_good_qp, d_good_right;
    reg         d_carry, high_before, high_same, low_before;
    reg  [1:0]  d_within;                    // without a carry and with one: ends within the range, or before

    always @(posedge clk) begin
        refused <= c_bad || removed || !guarded || !qp_up[c_qp];
        no_bytes <= c_none;
        good_key <= !c_far && word[`CDE_KEY_WORD_VALID] && word[`CDE_KEY_WORD_GENERATION +: 20] == c_key[31:12];
        d_good_qp <= good_qp;
        d_good_right <= good_right;
        {high_before, high_same} <= {c_from[63:32] < base_high, c_from[63:32] == base_high};
        low_before <= c_from[31:0] < base_low;
        {d_carry, d_within} <= {lower[33], upper1[34], upper[33]};
    end

    // ---------------------------------------------------------------- stage D: the verdict
    wire        good_range = !high_before && !(high_same && low_before) && d_within[d_carry];
    // An access of no bytes touches none: nothing but its connection is looked at (MW-10).
    wire [3:0]  code = refused ? `CDE_VERDICT_REFUSED : no_bytes ? `CDE_VERDICT_GRANTED : !good_key ?
                       `CDE_VERDICT_BAD_KEY : !d_good_qp ? `CDE_VERDICT_WRONG_QP : !d_good_right ?
                       `CDE_VERDICT_NO_RIGHT : !good_range ? `CDE_VERDICT_BAD_RANGE : `CDE_VERDICT_GRANTED;
    wire        denied = !no_bytes && !(good_key && d_good_qp && d_good_right && good_range);
    wire        unused_ready;

    cde_fifo #(.W(VERDICT_W), .DEPTH_LOG2(OUT_LOG2), .BYPASS(1'b1)) out_fifo (
        .clk(clk), .rst(rst), .push_valid(d_valid), .push_ready(unused_ready), .push_data({code, d_name}),
        .pop_valid(m_axis_verdict_tvalid), .pop_ready(m_axis_verdict_tready),
        .pop_data(m_axis_verdict_tdata[VERDICT_W-1:0]), .level(out_level)
    );

    assign m_axis_verdict_tdata[31:VERDICT_W] = {(32-VERDICT_W){1'b0}};
    assign bad_valid = d_valid && !refused && denied;
    assign bad_qp = d_name[QP_W-1:0];
    assign err_valid = d_valid && (refused || denied);
    assign err_qp = d_name;
    assign err_code = {12'd0, code};
    assign count = {err_valid, d_valid};

    // The entry as it was judged, without the number of windows: only the table counts them.
    reg  [95:0] state, d_state;
    wire        known = !c_far && word[`CDE_KEY_WORD_EXISTS];

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

    always @(posedge clk) d_state <= known ? state : 96'd0;

    // In the cycle after the one that it was judged in, as steps of the table are shown.
    assign trace_valid = d_valid && !refused;

    always @* begin
        trace_data = 256'd0;
        trace_data[`CDE_TRACE_OP_LSB +: 8] = `CDE_TRC_CHECK;
        trace_data[`CDE_TRACE_CQ_LSB +: 16] = d_name;
        trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_CHECK_CODE_LSB +: 4] = code;
        trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_CHECK_KIND_LSB +: 2] = d_kind;
        trace_data[`CDE_TRACE_OLD_LSB +: 96] = d_state;
        trace_data[`CDE_TRACE_NEW_LSB +: 96] = d_state;
    end

endmodule

`default_nettype wire
