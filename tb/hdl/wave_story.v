// SPDX-License-Identifier: Apache-2.0
//
// For the waves only: transactions as spans (docs/bench.md). A stage lasts from the step that begins it to the next
// one; its codes are those of tb/waves/stage.flt. Each of four slots follows one request of a QP or one message of an
// SRQ at a time, so that four in flight stand below each other.
`default_nettype none
`include "cde_defs.vh"
`timescale 1ns / 1ps

// Entries of each CQ, counted where they are decided, written and published. They keep their order in between.
module wave_entries #(
    parameter M_ID_W = 7
) (
    input  wire              clk,
    input  wire              rst,
    input  wire              mem_aw,
    input  wire [M_ID_W-1:0] mem_awid,
    input  wire              mem_w,
    input  wire [63:0]       mem_strb,
    input  wire [511:0]      mem_data,
    input  wire [9:0]        trace_valid,
    input  wire [2559:0]     trace_data,
    // For the entry that RETIRE or RECEIVE decides in this cycle: how many there were before
    output wire [15:0]       made_sent,
    output wire [15:0]       made_received,
    // A write: its CQ, its entries of each kind, the numbers of the first ones
    output wire              write,
    output wire [15:0]       write_cq,
    output wire [1:0]        write_sent,
    output wire [1:0]        write_received,
    output wire [15:0]       first_sent,
    output wire [15:0]       first_received,
    output wire [15:0]       first_written,
    // Its acknowledgement
    output wire              publish,
    output wire [15:0]       publish_cq,
    output wire [1:0]        publish_count,
    output wire              called,
    output wire [15:0]       first_published
);
    reg [15:0] sent     [0:4095];
    reg [15:0] received [0:4095];
    reg [15:0] sent_w   [0:4095];
    reg [15:0] recv_w   [0:4095];
    reg [15:0] published[0:4095];

    wire              hit, unused_0, unused_1;
    wire [M_ID_W-1:0] id;
    wire [33:0]       beat;

    bfm_join #(.AW(M_ID_W), .DW(34), .LOG_DEPTH(10)) join_i (
        .clk(clk), .rst(rst), .a_push(mem_aw), .a_in(mem_awid), .d_push(mem_w),
        .d_in({&mem_strb[63:32], &mem_strb[31:0], mem_data[256 + `CDE_CQE_TYPE_LSB +: 16],
               mem_data[`CDE_CQE_TYPE_LSB +: 16]}),
        .hit(hit), .a_out(id), .d_out(beat), .a_full(unused_0), .d_full(unused_1)
    );

    // Receive and ReceiveAndInvalidate
    wire        received_low = beat[32] && beat[14:0] == 15'd1;
    wire        received_high = beat[33] && beat[30:16] == 15'd1;
    wire [11:0] cq = {{(13-M_ID_W){1'b0}}, id[M_ID_W-2:0]};
    wire [11:0] sent_cq = trace_data[4*256 + `CDE_TRACE_OPERAND_LSB + `CDE_TRC_RETIRE_CQ_LSB +: 12];
    wire [11:0] received_cq = trace_data[7*256 + `CDE_TRACE_OPERAND_LSB + `CDE_TRC_RECEIVE_CQ_LSB +: 12];
    wire [11:0] published_cq = trace_data[256 + `CDE_TRACE_CQ_LSB +: 12];

    assign write = hit && !id[M_ID_W-1];
    assign write_cq = {4'd0, cq};
    assign write_received = {1'b0, received_low} + {1'b0, received_high};
    assign write_sent = {1'b0, beat[32]} + {1'b0, beat[33]} - write_received;
    assign first_sent = sent_w[cq];
    assign first_received = recv_w[cq];
    assign first_written = first_sent + first_received;
    assign made_sent = sent[sent_cq];
    assign made_received = received[received_cq];
    assign publish = trace_valid[1] && trace_data[256 + `CDE_TRACE_OP_LSB +: 8] == `CDE_TRC_PUBLISH;
    assign publish_cq = {4'd0, published_cq};
    assign publish_count = trace_data[256 + `CDE_TRACE_OPERAND_LSB + `CDE_TRC_PUBLISH_COUNT_LSB +: 2];
    assign called = trace_data[256 + `CDE_TRACE_EVENT_LSB];
    assign first_published = published[published_cq];

    wire        start = trace_valid[0] && trace_data[`CDE_TRACE_OP_LSB +: 8] == `CDE_TRC_START;
    wire [11:0] start_cq = trace_data[`CDE_TRACE_CQ_LSB +: 12];

    always @(posedge clk) begin
        if (trace_valid[4] && !trace_data[4*256 + `CDE_TRACE_OPERAND_LSB + `CDE_TRC_RETIRE_SILENT_LSB])
            sent[sent_cq] <= made_sent + 16'd1;
        if (trace_valid[7]) received[received_cq] <= made_received + 16'd1;
        if (write) begin
            sent_w[cq] <= first_sent + {14'd0, write_sent};
            recv_w[cq] <= first_received + {14'd0, write_received};
        end
        if (publish) published[published_cq] <= first_published + {14'd0, publish_count};
        if (start) begin
            sent[start_cq] <= 16'd0;
            received[start_cq] <= 16'd0;
            sent_w[start_cq] <= 16'd0;
            recv_w[start_cq] <= 16'd0;
            published[start_cq] <= 16'd0;
        end
    end
endmodule

// The end that requests and messages have in common: entry, its publication, the callback until it returns.
module wave_ending (
    input  wire        clk,
    input  wire        rst,
    input  wire        decided,       // by RETIRE or RECEIVE, with an entry
    input  wire [15:0] decided_cq,
    input  wire [15:0] decided_number,
    input  wire        write,
    input  wire [15:0] write_cq,
    input  wire [1:0]  write_count,
    input  wire [15:0] first,
    input  wire [15:0] first_written,
    input  wire        publish,
    input  wire [15:0] publish_cq,
    input  wire [1:0]  publish_count,
    input  wire        called,
    input  wire [15:0] first_published,
    input  wire        cb_return,
    input  wire [15:0] cb_return_cq,
    output reg  [1:0]  at             // 0 nowhere, 1 decided, 2 entry written, 3 callback
);
    reg  [15:0] cq, number, place;
    wire [15:0] ahead = number - first;
    wire [15:0] behind = place - first_published;

    initial at = 2'd0;
    always @(posedge clk) begin
        if (rst) at <= 2'd0;
        else if (decided) begin
            at <= 2'd1;
            cq <= decided_cq;
            number <= decided_number;
        end else if (at == 2'd1 && write && write_cq == cq && ahead < {14'd0, write_count}) begin
            at <= 2'd2;
            place <= first_written + ahead;
        end else if (at == 2'd2 && publish && publish_cq == cq &&
            behind < {14'd0, publish_count}) at <= called ? 2'd3 : 2'd0;
        else if (at == 2'd3 && cb_return && cb_return_cq == cq) at <= 2'd0;
    end
endmodule

module wave_story #(
    parameter M_ID_W = 7
) (
    input wire              clk,
    input wire              rst,
    input wire [15:0]       qp,
    input wire [15:0]       srq,
    input wire              work,
    input wire [15:0]       work_dest,
    input wire [63:0]       work_user,
    input wire              done,
    input wire [63:0]       done_data,
    input wire              scatter,
    input wire [15:0]       scatter_dest,
    input wire [31:0]       scatter_user,
    input wire              rdone,
    input wire [63:0]       rdone_data,
    input wire              mem_aw,
    input wire [M_ID_W-1:0] mem_awid,
    input wire              mem_w,
    input wire [63:0]       mem_strb,
    input wire [511:0]      mem_data,
    input wire [9:0]        trace_valid,
    input wire [2559:0]     trace_data,
    // State of the CQ and of the key that are looked at
    input wire [95:0]       cq_state,
    input wire              key_exists,
    input wire              key_valid
);
    wire [15:0] made_sent, made_received, write_cq, first_sent, first_received, first_written, publish_cq,
        first_published;
    wire [1:0]  write_sent, write_received, publish_count;
    wire        write, publish, called;

    wave_entries #(.M_ID_W(M_ID_W)) entries (
        .clk(clk), .rst(rst), .mem_aw(mem_aw), .mem_awid(mem_awid), .mem_w(mem_w), .mem_strb(mem_strb),
        .mem_data(mem_data),
        .trace_valid(trace_valid), .trace_data(trace_data), .made_sent(made_sent), .made_received(made_received),
        .write(write),
        .write_cq(write_cq), .write_sent(write_sent), .write_received(write_received), .first_sent(first_sent),
        .first_received(first_received), .first_written(first_written), .publish(publish), .publish_cq(publish_cq),
        .publish_count(publish_count), .called(called), .first_published(first_published)
    );

    wire        cb_return = trace_valid[2] && trace_data[512 + `CDE_TRACE_OP_LSB +: 8] == `CDE_TRC_CB_RETURN;
    wire [15:0] cb_return_cq = trace_data[512 + `CDE_TRACE_CQ_LSB +: 16];

    // Codes 16 to 19: armed, due, event entry under way, callback in progress. 24, 25: a key that is not valid, valid.
    wire [5:0]  arm = cq_state[`CDE_STATE_EVENT_PENDING_LSB] ? 6'd18 : cq_state[`CDE_STATE_IN_CALLBACK_LSB] ? 6'd19 :
                      cq_state[`CDE_STATE_DUE_LSB] ? 6'd17 : cq_state[`CDE_STATE_ARMED_LSB] ? 6'd16 : 6'd0;
    wire [5:0]  window = !key_exists ? 6'd0 : key_valid ? 6'd25 : 6'd24;

    // ---- Requests of the QP
    // -------------------------------------------------------------------------------------------
    wire [255:0] p = trace_data[3*256 +: 256];
    wire [255:0] r = trace_data[4*256 +: 256];
    wire         p_step = trace_valid[3] && p[`CDE_TRACE_CQ_LSB +: 16] == qp;
    wire         posts = p_step && p[`CDE_TRACE_OP_LSB +: 8] == `CDE_TRC_POST &&
                         p[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_POST_CAUSE_LSB +: 8] == `CDE_CAUSE_NONE;
    wire         retires = trace_valid[4] && r[`CDE_TRACE_CQ_LSB +: 16] == qp;
    wire [15:0]  post_index = p[`CDE_TRACE_OLD_LSB + `CDE_QSTATE_TAIL_LSB +: 16];
    wire [15:0]  was = p[`CDE_TRACE_OLD_LSB + `CDE_QSTATE_RELEASED_LSB +: 16];
    wire [15:0]  released = p[`CDE_TRACE_NEW_LSB + `CDE_QSTATE_RELEASED_LSB +: 16];

    // ---- Messages that take buffers of the SRQ
    // ------------------------------------------------------------------------
    wire [255:0] t = trace_data[5*256 +: 256];
    wire [255:0] c = trace_data[7*256 +: 256];
    wire         takes = trace_valid[5] && t[`CDE_TRACE_OP_LSB +: 8] == `CDE_TRC_TAKE &&
                         t[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_TAKE_SHARED_LSB] &&
                         !t[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_TAKE_CODE_LSB] &&
                         t[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_TAKE_SRQ_LSB +: 16] == srq;
    reg  [1:0]   turn;

    initial turn = 2'd0;
    always @(posedge clk) turn <= rst ? 2'd0 : turn + {1'b0, takes};

    genvar k;
    generate
        for (k = 0; k < 4; k = k + 1) begin : slot
            reg  [5:0]  stage;       // stages up to the report
            reg  [15:0] index, tag;
            wire        mine = posts && post_index[1:0] == k;
            wire        freed = was <= released ? index >= was && index < released : index >= was || index < released;
            wire        ends = retires && stage != 6'd0 &&
                               r[`CDE_TRACE_OLD_LSB + `CDE_RSTATE_RETIRED_LSB +: 16] == index;
            wire [1:0]  at;
            wire [5:0]  request = at == 2'd3 ? 6'd8 : at == 2'd2 ? 6'd7 : at == 2'd1 ? 6'd6 : stage;

            wave_ending ending (
                .clk(clk), .rst(rst), .decided(ends && !r[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_RETIRE_SILENT_LSB]),
                .decided_cq(r[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_RETIRE_CQ_LSB +: 16]), .decided_number(made_sent),
                .write(write), .write_cq(write_cq), .write_count(write_sent), .first(first_sent),
                .first_written(first_written),
                .publish(publish), .publish_cq(publish_cq), .publish_count(publish_count), .called(called),
                .first_published(first_published), .cb_return(cb_return), .cb_return_cq(cb_return_cq), .at(at)
            );

            reg  [5:0]  placing;
            reg  [15:0] m_qp, m_tag;
            wire [1:0]  m_at;
            wire        m_ends = trace_valid[7] && placing != 6'd0 && c[`CDE_TRACE_CQ_LSB +: 16] == m_qp &&
                                 c[`CDE_TRACE_OLD_LSB + `CDE_CSTATE_REPORTED_LSB +: 16] == m_tag;
            wire [5:0]  message = m_at == 2'd3 ? 6'd8 : m_at == 2'd2 ? 6'd7 : m_at == 2'd1 ? 6'd12 : placing;

            wave_ending m_ending (
                .clk(clk), .rst(rst), .decided(m_ends),
                .decided_cq(c[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_RECEIVE_CQ_LSB +: 16]), .decided_number(made_received),
                .write(write), .write_cq(write_cq), .write_count(write_received), .first(first_received),
                .first_written(first_written),
                .publish(publish), .publish_cq(publish_cq), .publish_count(publish_count), .called(called),
                .first_published(first_published), .cb_return(cb_return), .cb_return_cq(cb_return_cq), .at(m_at)
            );

            initial begin
                stage = 6'd0;
                placing = 6'd0;
            end
            always @(posedge clk) begin
                if (ends) stage <= 6'd0;
                else if (done && done_data[`CDE_DONE_QP_LSB +: 16] == qp && stage == 6'd4 &&
                    done_data[`CDE_DONE_TAG_LSB +: 16] == tag) stage <= 6'd5;
                else if (work && work_dest == qp && stage != 6'd0 &&
                    work_user[`CDE_WORK_USER_INDEX_LSB +: 16] == index) begin
                    stage <= 6'd4;
                    tag <= work_user[`CDE_WORK_USER_TAG_LSB +: 16];
                end else if (p_step && stage == 6'd2 && released != was && freed) stage <= 6'd3;
                if (mine) begin
                    stage <= released == was ? 6'd2 : 6'd1; // a post that releases nothing is held
                    index <= post_index;
                end

                if (m_ends) placing <= 6'd0;
                else if (rdone && rdone_data[`CDE_RDONE_QP_LSB +: 16] == m_qp &&
                    rdone_data[`CDE_RDONE_TAG_LSB +: 16] == m_tag &&
                    placing == 6'd10) placing <= 6'd11;
                else if (scatter && scatter_dest == m_qp && scatter_user[`CDE_SCATTER_USER_TAG_LSB +: 16] == m_tag &&
                    placing == 6'd9) placing <= 6'd10;
                if (takes && turn == k) begin
                    placing <= t[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_TAKE_FLUSH_LSB] ? 6'd11 : 6'd9;
                    m_qp <= t[`CDE_TRACE_CQ_LSB +: 16];
                    m_tag <= t[`CDE_TRACE_OLD_LSB + `CDE_TSTATE_TAKEN_LSB +: 16];
                end
                if (rst) begin
                    stage <= 6'd0;
                    placing <= 6'd0;
                end
            end
        end
    endgenerate
endmodule

`default_nettype wire
