// SPDX-License-Identifier: Apache-2.0
// cde_srq_ctrl: commands of shared receive queues, and their watermark events (SRQ-12, SRQ-16, SRQ-17).
//
// Purpose: create, resize, set the watermark, query, destroy. What changes a queue is a step of its pipelines, so it is
//          atomic against posts and taking. Events wait for the interrupt port, one a queue.
// Ports:   commands (qc_*); steps of receive posts (rp_*) and of taking (tk_*); settings for posts (set_*); queue pairs
//          that name a queue (use_*, srqi_*); watermark events (ev_*) and their interrupts (irq_*).
// Latency: tens of cycles for a command; event to irq_valid two cycles.
`default_nettype none
`include "cde_defs.vh"
`include "cde_receive_records.vh"

module cde_srq_ctrl #(
    parameter NUM_SRQ = 16,
    parameter SRQ_W = 4,
    parameter QP_W = 6,
    parameter NUM_PAGES = 64,
    parameter PAGE_W = 6,
    parameter IDX_W = 16,
    parameter SRQ_LOG2 = 6
) (
    input  wire              clk,
    input  wire              rst,

    input  wire              qc_start,
    input  wire [7:0]        qc_command,
    input  wire [255:0]      qc_args,
    output reg               qc_done,
    output reg  [7:0]        qc_result,
    output reg  [191:0]      qc_outs,        // OUT0 to OUT5

    output wire              rp_valid,
    input  wire              rp_ready,
    output wire [1:0]        rp_code,
    output wire [SRQ_W-1:0]  op_srq,
    output wire [IDX_W-1:0]  rp_size,
    input  wire              rpr_valid,
    input  wire              rpr_ok,
    input  wire [`CDE_RQ_W-1:0] rpr_indices,
    output wire              tk_valid,
    input  wire              tk_ready,
    output wire [1:0]        tk_code,
    output wire [15:0]       tk_mark,
    input  wire              tkr_valid,
    input  wire              tkr_busy,
    input  wire [`CDE_SRQ_LINE_W-1:0] tkr_state,

    output wire              set_we,
    output wire [`CDE_SRQ_SET_W-1:0] set_data,
    output reg  [NUM_SRQ-1:0] srq_live,

    input  wire              use_we,
    input  wire              use_up,         // one more, or one less
    input  wire [15:0]       srqi_number,
    output wire              srqi_live,
    output wire [PAGE_W-1:0] srqi_page,

    input  wire              ev_valid,
    input  wire [SRQ_W-1:0]  ev_srq,
    output reg  [NUM_SRQ-1:0] ev_waits,
    output wire              irq_valid,
    input  wire              irq_ready,
    input  wire              irq_sent,       // the beat of the one taken last has left
    output wire [15:0]       irq_vector
);

    `include "cde_rx_ops.vh"

    localparam [2:0] IDLE = 3'd0, LOOK = 3'd1, LOOK_WAIT = 3'd2, PEEK = 3'd3, PEEK_WAIT = 3'd4, CHECK = 3'd5,
    ACT = 3'd6, ACT_WAIT = 3'd7;
    localparam [31:0] SLOTS = 32'd1 << SRQ_LOG2;

    wire [31:0] arg0, arg1, arg2;
    wire [159:0] unused_args;
    localparam OUT0 = 0, OUT1 = 32, OUT2 = 64, OUT3 = 96, OUT4 = 128, OUT5 = 160;
    assign {unused_args, arg2, arg1, arg0} = qc_args;
    wire [15:0] new_value = arg1[`CDE_SRQ_VALUE_VALUE_LSB +: 16];    // size or watermark; a new queue's size, too
    wire [15:0] new_zone = arg1[`CDE_SRQ_SIZE_ZONE_LSB +: 16], new_page = arg2[`CDE_SRQ_OWNER_PAGE_LSB +: 16];
    reg         c_create, c_resize, c_mark, c_query, c_destroy;     // a cycle after the begin of the command
    always @(posedge clk) {c_create, c_resize, c_mark, c_query, c_destroy} <= {
        qc_command == `CDE_CMD_CREATE_SRQ, qc_command == `CDE_CMD_RESIZE_SRQ, qc_command == `CDE_CMD_SET_SRQ_WATERMARK,
        qc_command == `CDE_CMD_QUERY_SRQ, qc_command == `CDE_CMD_DESTROY_SRQ};
    wire [SRQ_W-1:0] srq = arg0[SRQ_W-1:0];

    // ---------------------------------------------------------------- what is known of the queues
    reg  [QP_W:0]  users [0:NUM_SRQ-1];
    localparam INFO_PAGE = 0, INFO_ZONE = PAGE_W, INFO_VECTOR = INFO_ZONE + 16, INFO_W = INFO_VECTOR + 16;
    reg  [INFO_W-1:0] info [0:NUM_SRQ-1];
    wire [INFO_W-1:0] mine = info[srq];
    wire [SRQ_W-1:0] asked = srqi_number[SRQ_W-1:0];
    wire [INFO_W-1:0] theirs = info[asked];
    wire           unused_theirs = &{1'b0, theirs};
    wire [QP_W:0]  uses = users[srq];

    assign srqi_live = (srqi_number >> SRQ_W) == 16'd0 && srq_live[asked];
    assign srqi_page = theirs[INFO_PAGE +: PAGE_W];

    // ---------------------------------------------------------------- checks, in the order of docs/receive.md
    reg  [2:0]     state;
    reg            asks;
    reg  [`CDE_RQ_W-1:0] indices;
    reg  [`CDE_SRQ_LINE_W-1:0] line;
    wire [IDX_W-1:0] tail = indices[`CDE_RQ_TAIL +: IDX_W], reaped = indices[`CDE_RQ_REAPED +: IDX_W];
    wire [IDX_W-1:0] completed = indices[`CDE_RQ_FREED +: IDX_W], size = indices[`CDE_RQ_SIZE +: IDX_W];
    wire [IDX_W-1:0] head = line[`CDE_SRQ_LINE_HEAD +: IDX_W];
    wire [IDX_W-1:0] outstanding = tail - reaped, available = tail - head;
    wire [15:0]    mark = line[`CDE_SRQ_LINE_MARK +: 16];
    // What the arguments alone say, a cycle after them: they stay while a command is carried out.
    reg            far, sized, owned, reserved;
    wire           exists = srq_live[srq];
    wire [31:0]    new_size = {16'd0, new_value};
    reg  [7:0]     found, verdict;           // verdict: a cycle after what it is of

    function [15:0] index16;
        input [IDX_W-1:0] value;
        begin
            index16 = 16'd0;
            index16[IDX_W-1:0] = value;
        end
    endfunction

    always @* begin
        if (reserved) found = `CDE_RES_RESERVED;
        else if (far) found = `CDE_RES_BAD_OBJECT;
        else if (!c_create && !exists) found = `CDE_RES_NO_OBJECT;
        else if (c_create && exists) found = `CDE_RES_EXISTS;
        else if ((c_create || c_resize) && !sized) found = `CDE_RES_BAD_SIZE;
        else if (c_mark && new_value > index16(size)) found = `CDE_RES_BAD_SIZE;
        else if (c_create && !owned) found = `CDE_RES_BAD_PAGE;
        else if (c_resize && new_value < mark) found = `CDE_RES_TOO_SMALL;
        else if (c_destroy && uses != {(QP_W + 1){1'b0}}) found = `CDE_RES_IN_USE;
        else if (c_destroy && ev_waits[srq]) found = `CDE_RES_BUSY;
        else found = `CDE_RES_OK;
    end
    always @(posedge clk) begin
        far <= arg0 >= NUM_SRQ;
        sized <= new_size != 32'd0 && new_size <= SLOTS;
        owned <= {16'd0, new_page} < NUM_PAGES;
        reserved <= (c_resize || c_mark) && (arg1 & `CDE_SRQ_VALUE_RESERVED) != 32'd0;
        verdict <= found;
    end

    wire looks = state == LOOK || state == PEEK;
    wire acts_post = c_create || c_resize;

    assign op_srq = srq;
    assign rp_valid = asks && (state == PEEK || (state == ACT && acts_post));
    assign rp_code = looks ? RP_LOOK : c_create ? RP_START : RP_SIZE;
    assign rp_size = new_value[IDX_W-1:0];
    assign tk_valid = asks && (state == LOOK || (state == ACT && !acts_post));
    assign tk_code = looks ? TK_LOOK : c_mark ? TK_MARK : TK_CLEAR;
    assign tk_mark = new_value;
    assign set_we = state == CHECK && asks && verdict == `CDE_RES_OK && c_create;
    assign set_data[`CDE_SRQ_SET_PAGE +: PAGE_W] = new_page[PAGE_W-1:0];
    assign set_data[`CDE_SRQ_SET_ZONE +: 16] = new_zone;

    always @(posedge clk) begin
        qc_done <= 1'b0;
        case (state)
            IDLE: if (qc_start) begin
                qc_result <= `CDE_RES_OK;
                qc_outs <= 192'd0;
                asks <= 1'b1;
                state <= LOOK;
            end
            // The head first: the tail that is read later is never in front of it.
            LOOK: if (tk_ready) begin
                asks <= 1'b0;
                state <= LOOK_WAIT;
            end
            LOOK_WAIT: if (tkr_valid) begin
                line <= tkr_state;
                asks <= 1'b1;
                state <= PEEK;
            end
            PEEK: if (rp_ready) begin
                asks <= 1'b0;
                state <= PEEK_WAIT;
            end
            PEEK_WAIT: if (rpr_valid) begin
                indices <= rpr_indices;
                state <= CHECK;
            end
            CHECK: if (!asks) asks <= 1'b1;
            else begin
                qc_result <= verdict;
                if (verdict != `CDE_RES_OK || c_query) begin
                    qc_done <= 1'b1;
                    state <= IDLE;
                end else begin
                    state <= ACT;
                    if (c_create) info[srq] <= {arg2[`CDE_SRQ_OWNER_VECTOR_LSB +: 16], new_zone, new_page[PAGE_W-1:0]};
                    if (c_destroy) srq_live[srq] <= 1'b0;
                end
                if (verdict == `CDE_RES_OK && c_query) begin
                    qc_outs[OUT0 + `CDE_SRQ_BUFFERS_AVAILABLE_LSB +: IDX_W] <= available;
                    qc_outs[OUT0 + `CDE_SRQ_BUFFERS_OUTSTANDING_LSB +: IDX_W] <= outstanding;
                    qc_outs[OUT1 + `CDE_SRQ_ENDS_TAIL_LSB +: IDX_W] <= tail;
                    qc_outs[OUT1 + `CDE_SRQ_ENDS_REAPED_LSB +: IDX_W] <= reaped;
                    qc_outs[OUT2 + `CDE_SRQ_DONE_COMPLETED_LSB +: IDX_W] <= completed;
                    qc_outs[OUT2 + `CDE_SRQ_DONE_WATERMARK_LSB +: 16] <= mark;
                    qc_outs[OUT3 + `CDE_SRQ_STATE_ARMED_LSB] <= line[`CDE_SRQ_LINE_ARMED];
                    qc_outs[OUT3 + `CDE_SRQ_STATE_WAITS_LSB] <= ev_waits[srq];
                    qc_outs[OUT3 + `CDE_SRQ_STATE_USERS_LSB +: QP_W + 1] <= uses;
                    qc_outs[OUT4 + `CDE_SRQ_SIZE_SIZE_LSB +: IDX_W] <= size;
                    qc_outs[OUT4 + `CDE_SRQ_SIZE_ZONE_LSB +: 16] <= mine[INFO_ZONE +: 16];
                    qc_outs[OUT5 + `CDE_SRQ_OWNER_PAGE_LSB +: PAGE_W] <= mine[INFO_PAGE +: PAGE_W];
                    qc_outs[OUT5 + `CDE_SRQ_OWNER_VECTOR_LSB +: 16] <= mine[INFO_VECTOR +: 16];
                end
            end
            ACT: if (acts_post ? rp_ready : tk_ready) begin
                asks <= 1'b0;
                state <= ACT_WAIT;
            end
            ACT_WAIT: if (acts_post ? rpr_valid : tkr_valid) begin
                if (c_create) begin
                    qc_outs[OUT0 +: IDX_W] <= rpr_indices[`CDE_RQ_TAIL +: IDX_W];
                    srq_live[srq] <= 1'b1;
                end
                if (c_resize && !rpr_ok) qc_result <= `CDE_RES_TOO_SMALL;
                if (c_mark && tkr_busy) qc_result <= `CDE_RES_BUSY;
                qc_done <= 1'b1;
                state <= IDLE;
            end
            default: state <= IDLE;
        endcase
        if (use_we) users[asked] <= use_up ? users[asked] + 1'b1 : users[asked] - 1'b1;
        if (set_we) users[srq] <= {(QP_W + 1){1'b0}};
        if (rst) begin
            state <= IDLE;
            qc_done <= 1'b0;
            asks <= 1'b0;
            srq_live <= {NUM_SRQ{1'b0}};
            qc_result <= `CDE_RES_OK;
            qc_outs <= 192'd0;
        end
    end

    // ---------------------------------------------------------------- events
    wire             offer_valid;
    wire [SRQ_W-1:0] offered;
    wire [INFO_W-1:0] due = info[offered];
    wire             unused_due = &{1'b0, due};
    wire             sent = offer_valid && irq_ready;
    wire             unused_pending;
    reg  [SRQ_W-1:0] out_srq;                // whose beat stands on the port

    cde_arbiter #(.NUM_QP(NUM_SRQ), .QP_W(SRQ_W)) arbiter_i (
        .clk(clk), .rst(rst), .ask0(ev_valid), .ask0_qp(ev_srq), .ask1(1'b0), .ask1_qp({SRQ_W{1'b0}}), .ask2(1'b0),
        .ask2_qp({SRQ_W{1'b0}}), .pending(unused_pending),
        .offer_valid(offer_valid), .offer_qp(offered), .offer_take(sent)
    );

    assign irq_valid = offer_valid;
    assign irq_vector = due[INFO_VECTOR +: 16];

    always @(posedge clk) begin
        if (sent) out_srq <= offered;
        if (irq_sent) ev_waits[out_srq] <= 1'b0;
        if (ev_valid) ev_waits[ev_srq] <= 1'b1;
        if (rst) ev_waits <= {NUM_SRQ{1'b0}};
    end

endmodule

`default_nettype wire
