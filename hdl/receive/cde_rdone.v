// SPDX-License-Identifier: Apache-2.0
// cde_rdone: receives complete (SRQ-04 to SRQ-07, SRQ-10, SRQ-11, SRQ-14, MW-07, MW-08, CQ-02, CQ-04, ISO-03).
//
// Purpose: a report is good when it names the oldest unreported buffer that its QP has taken; its completion is built
//          from what was kept when the buffer was taken. Buffers that were flushed report themselves. A report is taken
//          (A), what it names is read (P, three cycles), it is judged (D), waits in a queue, and is offered (O), twice
//          where a receive has two entries. Nothing in front of the queue ever stands still: a report is taken when it
//          has a place there.
// Ports:   s_axis_rdone, flushed buffers (self_*); taken counts, records of what is in flight, settings; completions
//          (m_axis_cpl, more: another entry of the same receive follows); counts (done_*, completed_*), failures
//          (fail_*), error report, trace lane 7.
// Latency: report taken in cycle t, judged in t+4, failure and error report in t+5, completion valid in t+5; done_* a
//          cycle after it was taken, completed_* and the trace two. Throughput: one per cycle.
`default_nettype none
`include "cde_defs.vh"
`include "cde_mem.vh"
`include "cde_receive_records.vh"

module cde_rdone #(
    parameter QP_W = 6,
    parameter SRQ_W = 4,
    parameter CQ_W = 6,
    parameter IDX_W = 16,
    parameter RX_LOG2 = 4,
    parameter AHEAD = 6,                     // most reports under way, at most 7; 6 for one in each cycle
    parameter ECC = 1
) (
    input  wire              clk,
    input  wire [`CDE_MEM_W-1:0] mem_i,
    output wire [`CDE_MEM_W-1:0] mem_o,
    input  wire              rst,
    input  wire              init,

    input  wire [63:0]       s_axis_rdone_tdata,
    input  wire              s_axis_rdone_tvalid,
    output wire              s_axis_rdone_tready,
    input  wire              self_valid,
    input  wire [QP_W-1:0]   self_qp,
    input  wire [IDX_W-1:0]  self_tag,
    output wire              self_room,

    input  wire              taken_we,
    input  wire [QP_W-1:0]   taken_qp,
    input  wire [IDX_W-1:0]  taken_total,
    input  wire              rec_we,
    input  wire [QP_W+RX_LOG2-1:0] rec_slot,
    input  wire [`CDE_TAKEN_W-1:0] rec_data,

    // Settings
    input  wire              set_we,
    input  wire [QP_W-1:0]   set_qp,
    input  wire [`CDE_RQ_DONE_W-1:0] set_data,

    output wire [255:0]      m_axis_cpl_tdata,
    output wire [15:0]       m_axis_cpl_tdest,
    output wire              m_axis_cpl_tuser,
    output wire              m_axis_cpl_tvalid,
    input  wire              m_axis_cpl_tready,
    output wire              more,

    output reg               done_we,
    output reg  [QP_W-1:0]   done_qp,
    output reg  [IDX_W-1:0]  done_total,
    output reg               completed_we,
    output reg  [SRQ_W-1:0]  completed_srq,
    output reg  [IDX_W-1:0]  completed_total,
    output reg               fail_valid,     // a report takes its QP to ERROR
    output reg  [QP_W-1:0]   fail_qp,

    output reg               err_valid,
    output reg  [7:0]        err_cause,
    output reg  [15:0]       err_qp,
    output reg  [15:0]       err_tag,
    output reg               count,          // an accepted report of the transport

    output reg               trace_valid,
    output reg  [255:0]      trace_data
);

    wire [`CDE_MEM_W-1:0] mem1, mem2, mem3, mem4;

    localparam [IDX_W-1:0] ONE = {{(IDX_W-1){1'b0}}, 1'b1};
    localparam SELF_LOG2 = 4;
    localparam PLACES_LOG2 = AHEAD < 4 ? 2 : 3;      // places of the queue; one is always free
    localparam [PLACES_LOG2-1:0] P_ONE = {{(PLACES_LOG2-1){1'b0}}, 1'b1};
    localparam [31:0] MOST = AHEAD;

    // ---------------------------------------------------------------- stage A: reports of the transport first
    // Flushed QPs wait for nothing else.
    reg               room;                  // for one more report
    wire              own_valid;
    wire [QP_W-1:0]   own_qp;
    wire [IDX_W-1:0]  own_tag;
    wire [SELF_LOG2:0] own_level;
    wire              unused_own_ready;
    reg               own_next;
    wire              self_now = own_valid && (!s_axis_rdone_tvalid || own_next);
    wire              own_take = room && self_now;
    wire              arrives = room && (own_valid || s_axis_rdone_tvalid);
    wire [63:0]       self_data;

    // Nine flushes can be on their way when the level is looked at.
    assign self_room = own_level <= 5'd6;
    assign self_data[`CDE_RDONE_QP_LSB +: 16] = {{(16-QP_W){1'b0}}, own_qp};
    assign self_data[`CDE_RDONE_TAG_LSB +: 16] = {{(16-IDX_W){1'b0}}, own_tag};
    assign self_data[63:`CDE_RDONE_STATUS_LSB] = {24'd0, `CDE_CQESTATUS_CANCELED};
    // As self_now is while a report is offered.
    assign s_axis_rdone_tready = room && !(own_valid && own_next);

    cde_fifo #(.W(QP_W + IDX_W), .DEPTH_LOG2(SELF_LOG2)) self_fifo (
        .clk(clk), .rst(rst),
        .push_valid(self_valid), .push_ready(unused_own_ready), .push_data({self_qp, self_tag}),
        .pop_valid(own_valid), .pop_ready(own_take), .pop_data({own_qp, own_tag}), .level(own_level)
    );

    // ---------------------------------------------------------------- stages P: what the report names is read
    reg               p1_valid, p2_valid, p3_valid, d_valid;
    reg               p1_self, p2_self, p3_self, d_self;
    reg               p2_bad, p3_bad, d_bad;
    reg  [63:0]       p1;
    localparam REPORT_W = `CDE_RDONE_STATUS_LSB + `CDE_RDONE_STATUS_W;
    reg  [REPORT_W-1:0] p2, p3, d;           // without what is reserved
    wire [QP_W-1:0]   p1_qp = p1[`CDE_RDONE_QP_LSB +: QP_W];
    wire              malformed = (p1[`CDE_RDONE_QP_LSB +: 16] >> QP_W) != 16'd0 || (p1 & `CDE_RDONE_RESERVED) != 64'd0;

    always @(posedge clk) begin
        {p1_valid, p2_valid, p3_valid, d_valid} <= {arrives, p1_valid, p2_valid, p3_valid} & {4{!rst}};
        {p1_self, p2_self, p3_self, d_self} <= {self_now, p1_self, p2_self, p3_self};
        p1 <= self_now ? self_data : s_axis_rdone_tdata;
        {p2, p3, d} <= {p1[REPORT_W-1:0], p2, p3};
        {p2_bad, p3_bad, d_bad} <= {malformed, p2_bad, p3_bad};
        if (arrives) own_next <= !self_now;
        if (rst) own_next <= 1'b0;
    end

    // A record is not read at the edge of its write or before: what is taken is told three cycles later, so a report
    // that is found to be of a taken buffer has read its record afterwards.
    reg               t1_we, t2_we, t3_we;
    reg  [QP_W-1:0]   t1_qp, t2_qp, t3_qp;
    reg  [IDX_W-1:0]  t1_total, t2_total, t3_total;

    always @(posedge clk) begin
        {t1_we, t2_we, t3_we} <= {taken_we, t1_we, t2_we} & {3{!rst}};
        {t1_qp, t2_qp, t3_qp} <= {taken_qp, t1_qp, t2_qp};
        {t1_total, t2_total, t3_total} <= {taken_total, t1_total, t2_total};
    end

    wire [QP_W-1:0]   d_qp = d[`CDE_RDONE_QP_LSB +: QP_W];
    wire [15:0]       tag = d[`CDE_RDONE_TAG_LSB +: 16];
    wire [IDX_W-1:0]  reported, taken;
    wire [`CDE_TAKEN_W-1:0] record;
    wire [`CDE_RQ_DONE_W-1:0] settings;
    wire              good;
    wire [IDX_W-1:0]  reported_next = reported + ONE;

    // A report that is refused writes what was there.
    cde_ctx #(.W(IDX_W), .AW(QP_W), .ECC(ECC)) reported_ram (
        .clk(clk), .mem_i(mem_i), .mem_o(mem1), .we(d_valid), .waddr(d_qp), .wdata(good ? reported_next : reported),
        .raddr(p1_qp), .rdata(reported)
    );

    cde_ctx #(.W(IDX_W), .AW(QP_W), .ECC(ECC)) taken_ram (
        .clk(clk), .mem_i(mem1), .mem_o(mem2), .we(t3_we), .waddr(t3_qp), .wdata(t3_total),
        .raddr(p1_qp), .rdata(taken)
    );

    cde_slots #(.W(`CDE_TAKEN_W), .AW(QP_W + RX_LOG2), .ECC(ECC)) record_ram (
        .clk(clk), .mem_i(mem2), .mem_o(mem3), .we(rec_we), .waddr(rec_slot), .wdata(rec_data),
        .raddr({p1_qp, p1[`CDE_RDONE_TAG_LSB +: RX_LOG2]}), .rdata(record)
    );

    // Those of a QP that has taken something are long written.
    cde_slots #(.W(`CDE_RQ_DONE_W), .AW(QP_W), .ECC(ECC)) settings_ram (
        .clk(clk), .mem_i(mem3), .mem_o(mem4), .we(set_we), .waddr(set_qp), .wdata(set_data), .raddr(p1_qp),
        .rdata(settings)
    );

    // ---------------------------------------------------------------- stage D: the judgement
    wire             shared = record[`CDE_TAKEN_SHARED];
    wire             invalidate = record[`CDE_TAKEN_INVALIDATE], solicited = record[`CDE_TAKEN_SOLICITED];
    wire             too_long = record[`CDE_TAKEN_TOO_LONG], bad_token = record[`CDE_TAKEN_BAD_TOKEN];
    wire             flushed = record[`CDE_TAKEN_FLUSH];
    wire             waits = settings[`CDE_RQ_DONE_WAIT];            // signals for a solicited Send only
    wire             two = settings[`CDE_RQ_DONE_TWO];
    wire [7:0]       d_status = d[`CDE_RDONE_STATUS_LSB +: 8];

    wire        expected = reported != taken && tag == {{(16-IDX_W){1'b0}}, reported};
    // A flushed buffer is the engine's to report.
    assign      good = d_valid && !d_bad && expected && flushed == d_self;
    wire [7:0]  status = too_long ? `CDE_CQESTATUS_LENGTH_ERROR :
                         bad_token ? `CDE_CQESTATUS_INVALID_TOKEN : d_status;
    wire        success = status == 8'h00;
    wire        quiet = waits && !solicited && success;
    // Of two entries (MW-07) the invalidate result comes first, or the credit that it does not need goes back.
    wire        shows = two && invalidate && !too_long && !bad_token;

    // The end of the connection waits for no room.
    always @(posedge clk) begin
        fail_valid <= good && d_status != 8'h00 && !d_self && !rst;
        fail_qp <= d_qp;
        err_valid <= d_valid && !good && !rst;
        err_cause <= d_bad ? `CDE_CAUSE_RDONE_BAD : `CDE_CAUSE_RDONE_UNEXPECTED;
        err_qp <= d[`CDE_RDONE_QP_LSB +: 16];
        err_tag <= tag;
    end

    // ---------------------------------------------------------------- the queue of good ones, who is in front of it
    // Contexts: COOKIE that of the post, WINDOW that of the window (MW-08), CONTEXT that of the QP.
    localparam E_COOKIE = 0, E_WINDOW = 64, E_CONTEXT = 128, E_BYTES = 192, E_TOKEN = 224, E_STATUS = 256,
               E_QP = 264, E_CQ = E_QP + QP_W, E_SRQ = E_CQ + CQ_W, E_INDEX = E_SRQ + SRQ_W, E_SHARED = E_INDEX + IDX_W,
               E_SELF = E_SHARED + 1, E_SOLICITED = E_SELF + 1, E_INVALIDATE = E_SOLICITED + 1,
               E_UNASKED = E_INVALIDATE + 1, E_QUIET = E_UNASKED + 1, E_SHOWS = E_QUIET + 1, E_TWO = E_SHOWS + 1,
               E_W = E_TWO + 1;
    wire [E_W-1:0]   d_entry;
    assign d_entry[E_COOKIE +: 64] = record[`CDE_TAKEN_CONTEXT +: 64];
    assign d_entry[E_WINDOW +: 64] = record[`CDE_TAKEN_WINDOW +: 64];
    assign d_entry[E_CONTEXT +: 64] = settings[`CDE_RQ_DONE_CONTEXT +: 64];
    assign d_entry[E_BYTES +: 32] = success ? record[`CDE_TAKEN_BYTES +: 32] : 32'd0;
    assign d_entry[E_TOKEN +: 32] = record[`CDE_TAKEN_TOKEN +: 32];
    assign d_entry[E_STATUS +: 8] = status;
    assign d_entry[E_QP +: QP_W] = d_qp;
    assign d_entry[E_CQ +: CQ_W] = settings[`CDE_RQ_DONE_CQ +: CQ_W];
    assign d_entry[E_SRQ +: SRQ_W] = record[`CDE_TAKEN_SRQ +: SRQ_W];
    assign d_entry[E_INDEX +: IDX_W] = reported;
    assign d_entry[E_SHARED] = shared;
    assign d_entry[E_SELF] = d_self;
    assign d_entry[E_SOLICITED] = solicited;
    assign d_entry[E_INVALIDATE] = invalidate;
    assign d_entry[E_UNASKED] = waits && !solicited;
    assign d_entry[E_QUIET] = quiet;
    assign d_entry[E_SHOWS] = shows;
    assign d_entry[E_TWO] = two;
    reg  [E_W-1:0]   queue [0:(1 << PLACES_LOG2) - 1];
    reg  [PLACES_LOG2-1:0] q_in, q_out, under_way;   // under way: taken, neither refused nor in front
    wire             q_valid = q_in != q_out;
    wire [E_W-1:0]   next = q_valid ? queue[q_out] : d_entry;
    reg  [E_W-1:0]   o;
    reg              o_valid, first, loaded;         // first: of two entries
    wire             leaves = o_valid && m_axis_cpl_tready && !first;
    wire             free = !o_valid || leaves;
    wire             load = free && (q_valid || good);
    wire [PLACES_LOG2-1:0] comes = arrives ? P_ONE : {PLACES_LOG2{1'b0}};
    wire [PLACES_LOG2-1:0] front = loaded ? P_ONE : {PLACES_LOG2{1'b0}};
    wire [PLACES_LOG2-1:0] drops = err_valid ? P_ONE : {PLACES_LOG2{1'b0}};
    wire [PLACES_LOG2-1:0] under_way_next = under_way + comes - front - drops;

    // Low from power-up, before any clock edge.
    initial o_valid = 1'b0;
    initial room = 1'b0;
    always @(posedge clk) begin
        queue[q_in] <= d_entry;       // a place is always free
        if (good && (q_valid || !free)) q_in <= q_in + P_ONE;
        if (free && q_valid) q_out <= q_out + P_ONE;
        if (free) begin
            o_valid <= load;
            o <= next;
            first <= next[E_TWO];
        end else if (m_axis_cpl_tready) first <= 1'b0;
        loaded <= load;
        under_way <= under_way_next;
        room <= !init && under_way_next < MOST[PLACES_LOG2-1:0];
        if (rst) begin
            {q_in, q_out, under_way} <= {3 * PLACES_LOG2{1'b0}};
            {o_valid, loaded, room} <= 3'd0;
        end
    end

    // ---------------------------------------------------------------- stage O: offered
    wire [QP_W-1:0]  o_qp = o[E_QP +: QP_W];
    wire [CQ_W-1:0]  cq = o[E_CQ +: CQ_W];
    wire [31:0]      token = o[E_TOKEN +: 32];
    wire             of_window = first;               // the invalidate result, not the receive result

    assign m_axis_cpl_tvalid = o_valid;
    assign m_axis_cpl_tuser = first && !o[E_SHOWS];
    assign m_axis_cpl_tdata[`CDE_CQE_CONTEXT_LSB +: 64] = of_window ? o[E_WINDOW +: 64] : o[E_COOKIE +: 64];
    assign m_axis_cpl_tdata[`CDE_CQE_QP_CONTEXT_LSB +: 64] = o[E_CONTEXT +: 64];
    assign m_axis_cpl_tdata[`CDE_CQE_BYTES_LSB +: 32] = of_window ? 32'd0 : o[E_BYTES +: 32];
    assign m_axis_cpl_tdata[`CDE_CQE_TOKEN_LSB +: 32] = of_window || !o[E_TWO] ? token : 32'd0;
    assign m_axis_cpl_tdata[`CDE_CQE_TYPE_LSB +: 16] = of_window ? `CDE_CQETYPE_INVALIDATE :
        o[E_INVALIDATE] && !o[E_TWO] ? `CDE_CQETYPE_RECEIVE_AND_INVALIDATE : `CDE_CQETYPE_RECEIVE;
    assign m_axis_cpl_tdata[`CDE_CQE_QP_LSB +: 24] = {{(24-QP_W){1'b0}}, o_qp};
    assign m_axis_cpl_tdata[`CDE_CQE_STATUS_LSB +: 8] = of_window ? `CDE_CQESTATUS_SUCCESS : o[E_STATUS +: 8];
    assign m_axis_cpl_tdata[`CDE_CQE_SOLICITED_LSB] = !of_window && o[E_SOLICITED];
    assign m_axis_cpl_tdata[255:`CDE_CQE_UNSIGNALLED_LSB] = {14'd0, of_window ? o[E_UNASKED] : o[E_QUIET]};
    assign m_axis_cpl_tdest = {{(16-CQ_W){1'b0}}, cq};
    assign more = first;

    // ---------------------------------------------------------------- completed, by QP and by shared queue
    reg              n_shared, n_self;
    reg  [SRQ_W-1:0] n_srq;
    reg  [CQ_W-1:0]  n_cq;
    reg  [7:0]       n_status;
    reg  [IDX_W-1:0] n_index;
    wire [IDX_W-1:0] completed;
    // The completion before this one is not in what was read yet.
    wire [IDX_W-1:0] completed_now = completed_we && completed_srq == n_srq ? completed_total : completed;

    cde_ram #(.W(IDX_W), .AW(SRQ_W), .ECC(ECC)) completed_ram (
        .clk(clk), .mem_i(mem4), .mem_o(mem_o), .we(completed_we), .waddr(completed_srq),
        .wdata(completed_total), .raddr(o[E_SRQ +: SRQ_W]), .rdata(completed)
    );

    // Low from power-up, before any clock edge.
    initial trace_valid = 1'b0;
    always @(posedge clk) begin
        done_we <= leaves && !rst;
        count <= leaves && !o[E_SELF] && !rst;
        done_qp <= o_qp;
        done_total <= o[E_INDEX +: IDX_W] + ONE;
        {n_shared, n_self} <= {o[E_SHARED], o[E_SELF]};
        {n_srq, n_cq} <= {o[E_SRQ +: SRQ_W], cq};
        {n_status, n_index} <= {o[E_STATUS +: 8], o[E_INDEX +: IDX_W]};
        completed_we <= done_we && n_shared && !rst;
        completed_srq <= n_srq;
        completed_total <= completed_now + ONE;
        trace_valid <= done_we && !rst;
        trace_data <= 256'd0;
        trace_data[`CDE_TRACE_OP_LSB +: 8] <= `CDE_TRC_RECEIVE;
        trace_data[`CDE_TRACE_CQ_LSB +: QP_W] <= done_qp;
        trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_RECEIVE_STATUS_LSB +: 8] <= n_status;
        trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_RECEIVE_SHARED_LSB] <= n_shared;
        trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_RECEIVE_FLUSH_LSB] <= n_self;
        trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_RECEIVE_CQ_LSB +: CQ_W] <= n_cq;
        trace_data[`CDE_TRACE_OLD_LSB + `CDE_CSTATE_REPORTED_LSB +: IDX_W] <= n_index;
        trace_data[`CDE_TRACE_NEW_LSB + `CDE_CSTATE_REPORTED_LSB +: IDX_W] <= done_total;
    end

`ifdef FORMAL
    // The queue, for proofs of this module.
    wire [(E_W << PLACES_LOG2) - 1:0] f_queue;
    genvar                            i;
    generate
        for (i = 0; i < (1 << PLACES_LOG2); i = i + 1) begin : f_places
            assign f_queue[i * E_W +: E_W] = queue[i];
        end
    endgenerate
`endif

endmodule

`default_nettype wire
