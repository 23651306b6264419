// SPDX-License-Identifier: Apache-2.0
// cde_rpost: admission of receive posts (SRQ-01, SRQ-09, SRQ-12, SRQ-15, SRQ-19, DF-10, CQ-17, ISO-01).
//
// Purpose: decides each post on a QP's own receive queue or on a shared one in one stage, in order; takes the index of
//          reaped completions of shared queues, which frees their slots (SRQ-17). Segments are checked against their
//          regions on the way, and their lengths added up.
// Ports:   posts (post_*) and their causes; control steps (op_*, opr_*); credits; settings of queues; region lookups;
//          what exists and takes posts; reported and completed counts; buffers (buf_*), tail of the queue (tail_*);
//          trace lane 6.
// Latency: post taken in cycle t, decided in t+5 (buf_*, tail_*), cause in t+6. Throughput: one per cycle, any queue.
`default_nettype none
`include "cde_defs.vh"
`include "cde_key_records.vh"
`include "cde_mem.vh"
`include "cde_receive_records.vh"

module cde_rpost #(
    parameter QP_W = 6,
    parameter NUM_SRQ = 16,
    parameter SRQ_W = 4,
    parameter CQ_W = 6,
    parameter PAGE_W = 12,
    parameter IDX_W = 16,
    parameter RQ_LOG2 = 4,
    parameter SRQ_LOG2 = 6,
    parameter ECC = 1
) (
    input  wire              clk,
    input  wire [`CDE_MEM_W-1:0] mem_i,
    output wire [`CDE_MEM_W-1:0] mem_o,
    input  wire              rst,
    input  wire              init,

    input  wire              post_valid,
    output wire              post_ready,
    input  wire [1:0]        post_kind,      // 1 own queue, 2 shared, 3 reaped index
    input  wire [PAGE_W-1:0] post_page,
    input  wire [511:0]      post_data,
    input  wire [63:0]       post_word,
    output reg               post_res_valid,
    output reg  [7:0]        post_res_cause,

    // Control: look, start (create), size
    input  wire              op_valid,
    output wire              op_ready,
    input  wire [1:0]        op_code,
    input  wire [QP_W:0]     op_queue,       // {shared, number}
    input  wire [IDX_W-1:0]  op_size,
    output reg               opr_valid,
    output reg               opr_ok,         // size: not below what is outstanding
    output reg  [`CDE_RQ_W-1:0] opr_indices,

    output wire              rq_valid,
    input  wire              rq_hold,
    output wire [CQ_W-1:0]   rq_cq,
    output wire [1:0]        rq_count,
    input  wire              gr_room,
    input  wire              gr_dead,
    output wire              gr_take,

    input  wire              removed,

    // Settings
    input  wire              set_we,
    input  wire [QP_W:0]     set_queue,
    input  wire [`CDE_RQ_POST_W-1:0] set_data,
    output wire [QP_W-1:0]   look_qp,        // in the next cycle: whether it
    input  wire              look_live,      // exists and is not being destroyed
    input  wire              look_open,      // takes receive posts
    input  wire [NUM_SRQ-1:0] srq_live,

    output wire [95:0]       keys,
    input  wire [3*`CDE_FOUND_W-1:0]  found,

    // Reported receives of QPs, completed buffers of shared queues
    input  wire              done_we,
    input  wire [QP_W-1:0]   done_qp,
    input  wire [IDX_W-1:0]  done_total,
    input  wire              completed_we,
    input  wire [SRQ_W-1:0]  completed_srq,
    input  wire [IDX_W-1:0]  completed_total,

    output wire              buf_we,
    output wire [QP_W:0]     buf_queue,
    output wire [IDX_W-1:0]  buf_index,
    output wire [`CDE_BUFFER_W-1:0] buf_data,
    output wire              tail_we,
    output wire [QP_W:0]     tail_queue,
    output wire [IDX_W-1:0]  tail,

    output reg               trace_valid,
    output reg  [255:0]      trace_data
);

    wire [`CDE_MEM_W-1:0] mem1, mem2, mem3;

    `include "cde_rx_ops.vh"

    localparam [IDX_W-1:0] ONE = {{(IDX_W-1){1'b0}}, 1'b1};
    localparam SET_W = `CDE_RQ_POST_W;
    localparam ST_TAIL = 0, ST_REAPED = IDX_W, ST_SIZE = 2 * IDX_W, ST_W = 3 * IDX_W;    // state of a queue
    localparam BYTES0 = `CDE_BUFFER_SLOT(0) + `CDE_SEGMENT_LENGTH_LSB;
    localparam BYTES1 = `CDE_BUFFER_SLOT(1) + `CDE_SEGMENT_LENGTH_LSB;
    localparam BYTES2 = `CDE_BUFFER_SLOT(2) + `CDE_SEGMENT_LENGTH_LSB;
    localparam DEEP = SRQ_LOG2 > RQ_LOG2 ? SRQ_LOG2 : RQ_LOG2;

    reg walks;                               // memories are cleared, or were in the cycle before
    initial walks = 1'b1;
    always @(posedge clk) walks <= init || rst;
    assign op_ready = !walks;
    assign post_ready = !op_valid && !rq_hold && !walks;

    // ---------------------------------------------------------------- stage A: whose settings, which regions
    wire [15:0]      a_number = post_kind == 2'd3 ? post_word[`CDE_SRQ_DB_SRQ_LSB +: 16] :
                                post_data[`CDE_RPOST_QUEUE_LSB +: 16];
    wire             a_shared = op_valid ? op_queue[QP_W] : post_kind != 2'd1;
    wire [QP_W:0]    a_queue = op_valid ? op_queue : {a_shared, a_number[QP_W-1:0]};
    wire [7:0]       a_segments = post_data[`CDE_RPOST_SEGMENTS_LSB +: 8];
    wire [15:0]      a_index = post_word[`CDE_SRQ_DB_INDEX_LSB +: 16];
    wire             a_reserved = post_kind == 2'd3
                                ? (post_word & `CDE_SRQ_DB_RESERVED) != 64'd0 || (a_index >> IDX_W) != 16'd0
                                : (post_data & `CDE_RPOST_RESERVED) != 512'd0;
    wire [2:0]       a_used = {a_segments > 8'd2, a_segments > 8'd1, a_segments != 8'd0};

    wire [127:0]     a_slot0 = post_data[`CDE_RPOST_SLOT0_LSB +: 128];
    wire [127:0]     a_slot1 = post_data[`CDE_RPOST_SLOT1_LSB +: 128];
    wire [127:0]     a_slot2 = post_data[`CDE_RPOST_SLOT2_LSB +: 128];

    assign keys = {a_slot2[`CDE_SEGMENT_KEY_LSB +: 32], a_slot1[`CDE_SEGMENT_KEY_LSB +: 32],
                   a_slot0[`CDE_SEGMENT_KEY_LSB +: 32]};

    // B: settings and regions known, credit asked for. S: the state is read. C: decided.
    reg                b_post, s_post, t_post, r_post, c_post, b_op, s_op, t_op, r_op, c_op;
    reg [1:0]          b_kind, s_kind, t_kind, r_kind, c_kind, b_code, s_code, t_code, r_code, c_code;
    reg [QP_W:0]       b_queue, s_queue, t_queue, r_queue, c_queue;
    reg [NUM_SRQ-1:0]  c_srq;                                           // one bit of a shared one
    reg                b_far, s_far, t_far, r_far, b_reserved, s_reserved, t_reserved, r_reserved;
    reg                b_many, s_many, t_many, r_many;
    reg [PAGE_W-1:0]   b_page, s_page, t_page, r_page;
    reg [`CDE_BUFFER_W-1:0] b_data, s_data, t_data, r_data, c_data;     // lengths in r: with those before
    reg [32:0]         s_upto1;
    reg [31:0]         t_upto1;
    reg [33:0]         t_upto2;
    reg [IDX_W-1:0]    b_value, s_value, t_value, r_value, c_value;     // reaped index, or size

    always @(posedge clk) begin
        {b_post, s_post, t_post, r_post, c_post} <=
            rst ? 5'd0 : {post_valid && post_ready, b_post, s_post, t_post, r_post};
        {b_op, s_op, t_op, r_op, c_op} <= rst ? 5'd0 : {op_valid && op_ready, b_op, s_op, t_op, r_op};
        {b_kind, s_kind, t_kind, r_kind, c_kind} <= {post_kind, b_kind, s_kind, t_kind, r_kind};
        {b_code, s_code, t_code, r_code, c_code} <= {op_code, b_code, s_code, t_code, r_code};
        {b_queue, s_queue, t_queue, r_queue, c_queue} <= {a_queue, b_queue, s_queue, t_queue, r_queue};
        c_srq <= r_queue[QP_W] ? {{(NUM_SRQ-1){1'b0}}, 1'b1} << r_queue[SRQ_W-1:0] : {NUM_SRQ{1'b0}};
        {b_far, s_far, t_far, r_far} <= {a_number >> (a_shared ? SRQ_W : QP_W) != 16'd0, b_far, s_far, t_far};
        {b_reserved, s_reserved, t_reserved, r_reserved} <= {a_reserved, b_reserved, s_reserved, t_reserved};
        {b_many, s_many, t_many, r_many} <= {a_segments > 8'd3 && post_kind != 2'd3, b_many, s_many, t_many};
        {b_page, s_page, t_page, r_page} <= {post_page, b_page, s_page, t_page};
        b_data[`CDE_BUFFER_SLOT(0) +: 128] <= a_used[0] ? a_slot0 : 128'd0;
        b_data[`CDE_BUFFER_SLOT(1) +: 128] <= a_used[1] ? a_slot1 : 128'd0;
        b_data[`CDE_BUFFER_SLOT(2) +: 128] <= a_used[2] ? a_slot2 : 128'd0;
        b_data[`CDE_BUFFER_CONTEXT +: 64] <= post_data[`CDE_RPOST_CONTEXT_LSB +: 64];
        {s_data, t_data, r_data, c_data} <= {b_data, s_data, t_data, r_data};
        s_upto1 <= {1'b0, b_data[BYTES0 +: 32]} + {1'b0, b_data[BYTES1 +: 32]};
        t_upto1 <= s_upto1[31:0] | {32{s_upto1[32]}};
        t_upto2 <= {1'b0, s_upto1} + {2'd0, s_data[BYTES2 +: 32]};
        r_data[BYTES1 +: 32] <= t_upto1;
        r_data[BYTES2 +: 32] <= t_upto2[31:0] | {32{|t_upto2[33:32]}};
        {b_value, s_value, t_value, r_value, c_value} <=
            {op_valid ? op_size : a_index[IDX_W-1:0], b_value, s_value, t_value, r_value};
    end

    // ---------------------------- stages B and S: settings and regions known, state is read
    wire [SET_W-1:0] b_set;
    reg  [SET_W-1:CQ_W] s_set, t_set, r_set;
    wire [PAGE_W-1:0] r_set_page = r_set[`CDE_RQ_POST_PAGE +: PAGE_W];

    cde_ram #(.W(SET_W), .AW(QP_W + 1), .ECC(ECC), .SMALL(7)) settings_ram (
        .clk(clk), .mem_i(mem_i), .mem_o(mem1), .we(set_we), .waddr(set_queue), .wdata(set_data), .raddr(a_queue),
        .rdata(b_set)
    );

    assign look_qp = r_queue[QP_W-1:0];
    assign rq_valid = b_post && b_kind == 2'd1;
    assign rq_cq = b_set[`CDE_RQ_POST_CQ +: CQ_W];
    assign rq_count = b_set[`CDE_RQ_POST_TWO] ? 2'd2 : 2'd1;

    // Each segment's region, found of the key of three cycles before: first what its entry says, and how far the
    // segment begins in the region and may; a cycle later whether that is too far.
    wire [2:0] r_bad;
    wire [23:0] r_why;
    genvar k;
    generate
        for (k = 0; k < 3; k = k + 1) begin : g_segment
            wire         valid = found[`CDE_FOUND_W*k + `CDE_FOUND_VALID];
            wire [15:0]  zone = found[`CDE_FOUND_W*k + `CDE_FOUND_ZONE +: 16];
            wire         local_write = found[`CDE_FOUND_W*k + `CDE_FOUND_LOCAL_WRITE];
            wire [63:0]  base = found[`CDE_FOUND_W*k + `CDE_FOUND_BASE +: 64];
            wire [47:0]  length = found[`CDE_FOUND_W*k + `CDE_FOUND_LENGTH +: 48];
            wire [63:0]  from = t_data[`CDE_BUFFER_SLOT(k) + `CDE_SEGMENT_ADDRESS_LSB +: 64];
            wire [31:0]  bytes = t_data[`CDE_BUFFER_SLOT(k) + `CDE_SEGMENT_LENGTH_LSB +: 32];
            reg          x_used, x_valid, x_zone, x_write;
            reg  [64:0]  x_from;                                 // below 0: before the region
            reg  [48:0]  x_last;                                 // below 0: longer than the region

            always @(posedge clk) begin
                x_used <= bytes != 32'd0;
                x_valid <= valid;
                x_zone <= zone == t_set[`CDE_RQ_POST_ZONE +: 16];
                x_write <= local_write;
                x_from <= {1'b0, from} - {1'b0, base};
                x_last <= {1'b0, length} - {17'd0, bytes};
            end

            wire above = x_from[47:24] > x_last[47:24], level = x_from[47:24] == x_last[47:24];
            wire beyond = x_from[64:48] != 17'd0 || x_last[48] || above || (level && x_from[23:0] > x_last[23:0]);
            assign r_bad[k] = x_used && (!x_valid || !x_zone || !x_write || beyond);
            assign r_why[8*k +: 8] = !x_valid ? `CDE_CAUSE_BAD_REGION : !x_zone ? `CDE_CAUSE_BAD_ZONE :
                                     !x_write ? `CDE_CAUSE_NO_LOCAL_WRITE : `CDE_CAUSE_BAD_RANGE;
        end
    endgenerate

    wire [ST_W-1:0]  st, st_next;
    wire [IDX_W-1:0] c_done, c_completed;
    // Known before the decision: what is wrong whatever the queue is like (stray: something is), and what is wrong with
    // a post if the queue is right (faulty): its form (flaw), or a segment. Near: its page; elsewhere: this QP takes
    // from a shared queue.
    reg  [7:0]       c_first, c_flaw_why;
    reg  [23:0]      c_bad_why;
    reg  [2:0]       c_bad;
    reg              c_stray, c_flaw, c_near, c_own, elsewhere;         // own: a post on its own queue, near
    wire             c_faulty = c_flaw || c_bad != 3'd0;
    wire [7:0]       c_why = c_flaw ? c_flaw_why : c_bad[0] ? c_bad_why[7:0] : c_bad[1] ? c_bad_why[15:8] :
                             c_bad[2] ? c_bad_why[23:16] : 8'h00;

    cde_ctx #(.W(ST_W), .AW(QP_W + 1), .ECC(ECC)) state_ram (
        .clk(clk), .mem_i(mem1), .mem_o(mem2), .we(c_post || c_op), .waddr(c_queue), .wdata(st_next),
        .raddr(s_queue), .rdata(st)
    );

    cde_ctx #(.W(IDX_W), .AW(QP_W), .ECC(ECC)) done_ram (
        .clk(clk), .mem_i(mem2), .mem_o(mem3), .we(done_we), .waddr(done_qp), .wdata(done_total),
        .raddr(s_queue[QP_W-1:0]),
        .rdata(c_done)
    );

    cde_ctx #(.W(IDX_W), .AW(SRQ_W), .ECC(ECC)) completed_ram (
        .clk(clk), .mem_i(mem3), .mem_o(mem_o), .we(completed_we), .waddr(completed_srq), .wdata(completed_total),
        .raddr(s_queue[SRQ_W-1:0]), .rdata(c_completed)
    );

    always @(posedge clk) begin
        {s_set, t_set, r_set} <= {b_set[SET_W-1:CQ_W], s_set, t_set};
        c_stray <= r_far || (r_kind == 2'd3 && r_reserved);
        c_first <= r_kind == 2'd3 && r_reserved ? `CDE_CAUSE_RESERVED_BITS :
                   r_queue[QP_W] ? `CDE_CAUSE_BAD_SRQ : `CDE_CAUSE_BAD_QP;
        {c_flaw, c_bad} <= {r_reserved || r_many, r_bad};
        c_flaw_why <= r_reserved ? `CDE_CAUSE_RESERVED_BITS : `CDE_CAUSE_TOO_MANY_SEGMENTS;
        c_bad_why <= r_why;
        c_near <= !r_far && r_set_page == r_page;
        c_own <= r_post && r_kind == 2'd1 && !r_far && r_set_page == r_page && !r_set[`CDE_RQ_POST_SHARED] && !rst;
        elsewhere <= r_set[`CDE_RQ_POST_SHARED];
    end

    // ---------------------------------------------------------------- stage C: the decision
    wire             shared = c_queue[QP_W];
    wire [IDX_W-1:0] freed = shared ? c_completed : c_done;   // own: reported, shared: completed
    wire [IDX_W-1:0] size = st[ST_SIZE +: IDX_W];
    wire [IDX_W-1:0] reaped = st[ST_REAPED +: IDX_W];
    wire [IDX_W-1:0] tail_old = st[ST_TAIL +: IDX_W];
    wire             live = shared ? |(srq_live & c_srq) : look_live;
    wire             takes = shared || (look_open && !elsewhere);
    wire             mine = c_near && live;
    wire             reap = c_post && c_kind == 2'd3;
    wire             post = c_post && c_kind != 2'd3;

    // No more is in a queue than its size, or than its slots: one bit more than those have tells all. Full: the tail
    // stands size behind base, bit by bit with the carry that the bit below has if it fits the tail, too.
    function is_full;
        input [DEEP:0]   from, last, room;
        reg   [DEEP-1:0] spill;
        begin
            spill = (from[DEEP-1:0] & room[DEEP-1:0]) | ((from[DEEP-1:0] | room[DEEP-1:0]) & ~last[DEEP-1:0]);
            is_full = (last ^ from ^ room) == {spill, 1'b0};
        end
    endfunction

    wire [DEEP:0]    base = shared ? reaped[DEEP:0] : c_done[DEEP:0], tip = tail_old[DEEP:0], depth = size[DEEP:0];
    wire             fits_own = !is_full(c_done[DEEP:0], tip, depth);
    wire             fits = shared ? !is_full(reaped[DEEP:0], tip, depth) : fits_own;

    // A new size, less what the queue holds: three to a sum and carries, then one addition.
    wire [DEEP:0]    want = c_value[DEEP:0], sum = want ^ ~tip ^ base;
    wire [DEEP:0]    carry = (want & ~tip) | ((want | ~tip) & base);
    wire [DEEP+1:0]  spare = {sum, 1'b1} + {carry[DEEP-1:0], 2'b01};
    wire             room = want[DEEP] || !spare[DEEP+1];

    // Reaped from where the queue stands to what is completed: less than half of all indices each.
    wire [IDX_W-1:0] onward = c_value + ~reaped, short = c_completed - c_value;      // onward: less 1
    wire             legal = c_value == reaped || (!onward[IDX_W-1] && !short[IDX_W-1]);
    wire             unused = &{1'b0, carry[DEEP], spare[DEEP:0], onward[IDX_W-2:0], short[IDX_W-2:0]};
    wire             no_fault = mine && !removed && !c_faulty && takes && fits;
    wire             accept = shared ? post && no_fault : gr_take && gr_room && !gr_dead;

    // One that takes receive posts is live.
    assign gr_take = c_own && !removed && !c_faulty && look_open && fits_own;

    reg [7:0] cause;

    always @* begin
        if (reap && mine && !c_stray) cause = legal ? 8'h00 : `CDE_CAUSE_BAD_INDEX;
        else if (c_stray) cause = c_first;
        else if (!live) cause = shared ? `CDE_CAUSE_NO_SRQ : `CDE_CAUSE_NO_QP;
        else if (!mine) cause = `CDE_CAUSE_NOT_OWNER;
        else if (removed) cause = `CDE_CAUSE_DEVICE_REMOVED;
        else if (c_faulty) cause = c_why;
        else if (!takes) cause = `CDE_CAUSE_BAD_STATE;
        else if (!fits) cause = `CDE_CAUSE_QUEUE_FULL;
        else if (!shared && gr_dead) cause = `CDE_CAUSE_CQ_ERROR;
        else if (!shared && !gr_room) cause = `CDE_CAUSE_NO_CREDIT;
        else cause = 8'h00;
    end

    // A queue starts empty: its tail is put where taking stands. Nothing of it is in flight then.
    wire start = c_op && c_code == RP_START;
    wire resize = c_op && c_code == RP_SIZE;
    wire resizes = resize && room;
    wire reaps = reap && !c_stray && mine && legal;

    assign st_next[ST_TAIL +: IDX_W] = start ? freed : accept ? tail_old + ONE : tail_old;
    assign st_next[ST_REAPED +: IDX_W] = start ? freed : reaps ? c_value : reaped;
    assign st_next[ST_SIZE +: IDX_W] = start || resizes ? c_value : size;
    assign buf_we = accept;
    assign buf_queue = c_queue;
    assign buf_index = tail_old;
    assign buf_data = c_data;
    assign tail_we = accept || start;
    assign tail_queue = c_queue;
    assign tail = st_next[ST_TAIL +: IDX_W];

    // ---------------------------------------------------------------- outcome
    function [95:0] shown;
        input [ST_W-1:0]  s;
        input             of_srq;
        input [IDX_W-1:0] reported;
        begin
            shown = 96'd0;
            shown[`CDE_BSTATE_TAIL_LSB +: IDX_W] = s[ST_TAIL +: IDX_W];
            shown[`CDE_BSTATE_FREED_LSB +: IDX_W] = of_srq ? s[ST_REAPED +: IDX_W] : reported;
            shown[`CDE_BSTATE_SIZE_LSB +: IDX_W] = s[ST_SIZE +: IDX_W];
        end
    endfunction

    // Low from power-up, before any clock edge.
    initial trace_valid = 1'b0;
    always @(posedge clk) begin
        post_res_valid <= c_post && !rst;
        post_res_cause <= cause;
        opr_valid <= c_op && !rst;
        opr_ok <= !resize || resizes;
        opr_indices[`CDE_RQ_TAIL +: IDX_W] <= start ? freed : tail_old;
        opr_indices[`CDE_RQ_REAPED +: IDX_W] <= start ? freed : reaped;
        opr_indices[`CDE_RQ_FREED +: IDX_W] <= freed;
        opr_indices[`CDE_RQ_SIZE +: IDX_W] <= st_next[ST_SIZE +: IDX_W];
        trace_valid <= ((post && mine) || reaps || start || resizes) && !rst;
        trace_data <= 256'd0;
        trace_data[`CDE_TRACE_OP_LSB +: 8] <= post ? `CDE_TRC_RECV_POST : reap ? `CDE_TRC_REAP : `CDE_TRC_RECV_SIZE;
        trace_data[`CDE_TRACE_CQ_LSB +: QP_W] <= c_queue[QP_W-1:0];
        if (post) begin
            trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_RECV_POST_CAUSE_LSB +: 8] <= cause;
            trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_RECV_POST_SHARED_LSB] <= shared;
        end else if (reap) begin
            trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_REAP_INDEX_LSB +: IDX_W] <= c_value;
        end else begin
            trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_RECV_SIZE_START_LSB] <= start;
            trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_RECV_SIZE_SHARED_LSB] <= shared;
        end
        trace_data[`CDE_TRACE_OLD_LSB +: 96] <= shown(st, shared, freed);
        trace_data[`CDE_TRACE_NEW_LSB +: 96] <= shown(st_next, shared, freed);
    end

endmodule

`default_nettype wire
