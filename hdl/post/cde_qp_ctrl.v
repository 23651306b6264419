// SPDX-License-Identifier: Apache-2.0
// cde_qp_ctrl: QP commands of the control mailbox, and connection events.
//
// Purpose: create, modify, connect, set state, flush, query, destroy. What changes a QP's state is a step in the
//          posting pipeline, so it is atomic against posts. Also tells the transport when a connection is to end, and
//          which CQs are named by QPs.
// Ports:   commands (qc_*), what CQ commands do to CQs (cqi_*), s_axis_conn, m_axis_term, failing reports (fail_*),
//          state steps (op_*, opr_*), settings (set_*), indicated index, error report.
// Latency: tens of cycles for a command; none of it on a fast path.
`default_nettype none
`include "cde_defs.vh"
`include "cde_mem.vh"
`include "cde_post_records.vh"
`include "cde_receive_records.vh"

module cde_qp_ctrl #(
    parameter NUM_QP = 64,
    parameter QP_W = 6,
    parameter SRQ_W = 4,
    parameter CQ_W = 6,
    parameter NUM_PAGES = 64,
    parameter PAGE_W = 6,
    parameter IDX_W = 16,
    parameter SQ_LOG2 = 5,
    parameter RQ_LOG2 = 4,
    parameter ECC = 1
) (
    input  wire              clk,
    input  wire [`CDE_MEM_W-1:0] mem_i,
    output wire [`CDE_MEM_W-1:0] mem_o,
    input  wire              rst,
    input  wire              init,

    input  wire              qc_start,
    input  wire [7:0]        qc_command,
    input  wire [255:0]      qc_args,        // ARG0 to ARG7
    output reg               qc_done,
    output reg  [7:0]        qc_result,
    output reg  [255:0]      qc_outs,        // OUT0 to OUT7
    input  wire              cqi_we, cqi_alive,
    input  wire [CQ_W-1:0]   cqi_cq,
    input  wire [PAGE_W-1:0] cqi_page,
    output wire              cqi_used,       // a QP names cqi_cq

    input  wire [31:0]       s_axis_conn_tdata,
    input  wire              s_axis_conn_tvalid,
    output wire              s_axis_conn_tready,
    output wire [31:0]       m_axis_term_tdata,
    output wire              m_axis_term_tvalid,
    input  wire              m_axis_term_tready,

    input  wire              fail_valid,     // sends: at once
    input  wire [QP_W-1:0]   fail_qp,
    input  wire              rfail_valid,    // receives
    output wire              rfail_ready,
    input  wire [QP_W-1:0]   rfail_qp,
    input  wire              rfail_pending,
    input  wire              kfail_valid,    // local requests
    output wire              kfail_ready,
    input  wire [QP_W-1:0]   kfail_qp,

    // Receive side: looks, settings of a new QP, SRQs
    output reg               hold,           // no receive posts, no taking
    input  wire              rx_empty,       // of set_qp
    input  wire              keys_held,      // something is valid on set_qp
    output wire [`CDE_QP_NEW_W-1:0] set_receive,
    output wire              use_we, use_up,
    output wire [15:0]       srqi_number,
    input  wire              srqi_live,
    input  wire [PAGE_W-1:0] srqi_page,

    output wire              op_valid, op_void,
    output wire [3:0]        op_code, op_target,
    output wire [QP_W-1:0]   op_qp,
    output wire              op_empty,
    input  wire              opr_valid,
    input  wire [3:0]        opr_code,
    input  wire [QP_W-1:0]   opr_qp,
    input  wire [7:0]        opr_result,
    input  wire [3:0]        opr_old, opr_new,
    input  wire [`CDE_SQ_W-1:0] opr_indices,

    // Settings for posting, retirement and dispatch
    output wire              set_we,
    output reg               created,        // those that MODIFY_QP leaves, too
    output wire              peer_we,
    output wire [QP_W-1:0]   set_qp,
    output wire [`CDE_QP_POST_W-1:0] set_post,
    output wire [`CDE_QP_RETIRE_W-1:0] set_retire,
    output wire [23:0]       set_peer,

    input  wire              ind_valid,
    input  wire [QP_W-1:0]   ind_qp,
    input  wire [IDX_W-1:0]  ind_next,

    output wire              err_valid,
    output wire [7:0]        err_cause,
    output wire [15:0]       err_qp
);
    wire [`CDE_MEM_W-1:0] mem1, mem2, mem3;
    `include "cde_post_ops.vh"

    localparam [3:0] IDLE = 4'd0, LOOK = 4'd1, LOOK_WAIT = 4'd2, SEND_CQ = 4'd3, RECV_CQ = 4'd4, CHECK = 4'd5,
                     SETTINGS = 4'd6, ACT = 4'd7, ACT_WAIT = 4'd8, COUNT_SEND = 4'd9, COUNT_RECV = 4'd10,
                     FINISH = 4'd11, SETTLE = 4'd12, JUDGE = 4'd13;
    localparam [31:0] SLOTS = 32'd1 << SQ_LOG2, RECV_SLOTS = 32'd1 << RQ_LOG2;
    wire [31:0] arg0, arg1, arg2, arg3, arg4, arg5, arg6, arg7;
    assign {arg7, arg6, arg5, arg4, arg3, arg2, arg1, arg0} = qc_args;
    localparam OUT0 = 0, OUT1 = 32, OUT2 = 64, OUT3 = 96, OUT4 = 128, OUT5 = 160, OUT6 = 192, OUT7 = 224;
    localparam FLAG = `CDE_QP_RECV_FLAG_LSB;

    reg  known, c_create, c_modify, c_connect, c_set, c_flush, c_query, c_destroy;   // a cycle after the begin of it
    wire [6:0] commands = {
        qc_command == `CDE_CMD_CREATE_QP, qc_command == `CDE_CMD_MODIFY_QP, qc_command == `CDE_CMD_CONNECT_QP,
        qc_command == `CDE_CMD_SET_QP_STATE, qc_command == `CDE_CMD_FLUSH_QP, qc_command == `CDE_CMD_QUERY_QP,
        qc_command == `CDE_CMD_DESTROY_QP};
    wire [QP_W-1:0] qp = arg0[QP_W-1:0];
    always @(posedge clk) {known, c_create, c_modify, c_connect, c_set, c_flush, c_query, c_destroy} <= {
        commands != 7'd0, commands};
    reg [3:0] state, qp_state;
    reg       peeked, cmd_asks, keep, refused;
    reg [1:0] phase;

    // ---------------------------------------------------------------- what is known of QPs and CQs
    wire shared = arg7[`CDE_QP_RECV_SHARED_LSB], guarded = arg7[`CDE_QP_RECV_GUARDED_LSB];
    // The bits of CREATE_QP's arguments that can differ: {peer, age and watermark, flag, guarded, two entries, shared,
    // SRQ, receive depth, zone, depth, page, receive CQ, send CQ, context}
    localparam SET_W = SQ_LOG2 + 1 + PAGE_W + 2 * CQ_W + 64;
    localparam LEFT_W = 6 + SRQ_W + RQ_LOG2 + 1 + 16 + SET_W;      // what MODIFY_QP and CONNECT_QP leave
    localparam INFO_HOLDS = LEFT_W, INFO_PEER = INFO_HOLDS + 32, INFO_W = INFO_PEER + 24;
    wire [INFO_W-1:0]  info;
    wire [LEFT_W-1:0]  left_next = c_create ? {
        arg7[FLAG + 4], arg7[FLAG + 2], arg7[FLAG + 1], guarded, arg7[`CDE_QP_RECV_ND1_LSB], shared,
        arg7[`CDE_QP_RECV_SRQ_LSB +: SRQ_W], arg6[`CDE_QP_ZONE_DEPTH_LSB +: RQ_LOG2 + 1],
        arg6[`CDE_QP_ZONE_ZONE_LSB +: 16], arg4[`CDE_QP_OWNER_DEPTH_LSB +: SQ_LOG2 + 1],
        arg4[`CDE_QP_OWNER_PAGE_LSB +: PAGE_W], arg3[`CDE_QP_CQS_RECV_LSB +: CQ_W],
        arg3[`CDE_QP_CQS_SEND_LSB +: CQ_W], arg2, arg1} : info[LEFT_W-1:0];
    wire [INFO_W-1:0]  info_next = {c_connect ? set_peer : c_create ? 24'd0 : info[INFO_PEER +: 24],
                                    c_create || c_modify ? arg5 : info[INFO_HOLDS +: 32], left_next};
    wire [23:0]        peer;
    wire [31:0]        holds;
    wire [2:0]         flag, kind;           // kind: {guarded, two entries, shared}
    wire [SRQ_W-1:0]   srq;
    wire [RQ_LOG2:0]   recv_depth;
    wire [15:0]        zone;
    wire [SQ_LOG2:0]   depth, depth_next;
    wire [PAGE_W-1:0]  page, page_next;
    wire [CQ_W-1:0]    known_recv_cq, known_send_cq, recv_cq_next, send_cq_next;
    wire [63:0]        unused_context, context_next;

    assign {peer, holds, flag, kind, srq, recv_depth, zone, depth, page, known_recv_cq, known_send_cq,
            unused_context} = info;
    assign {depth_next, page_next, recv_cq_next, send_cq_next, context_next} = left_next[SET_W-1:0];
    wire [IDX_W-1:0] indicated;
    reg  settings;                           // in the state SETTINGS

    cde_slots #(.W(INFO_W), .AW(QP_W), .ECC(ECC)) info_ram (        // needed after the look of a command at least
        .clk(clk), .mem_i(mem_i), .mem_o(mem1), .we(keep), .waddr(qp), .wdata(info_next), .raddr(qp),
        .rdata(info)
    );

    cde_ram #(.W(IDX_W), .AW(QP_W), .ECC(ECC)) indicated_ram (
        .clk(clk), .mem_i(mem1), .mem_o(mem2), .we(ind_valid), .waddr(ind_qp), .wdata(ind_next),
        .raddr(qp), .rdata(indicated)
    );

    wire [15:0]     send_cq = c_create ? arg3[`CDE_QP_CQS_SEND_LSB +: 16] : {{(16-CQ_W){1'b0}}, known_send_cq};
    wire [15:0]     recv_cq = c_create ? arg3[`CDE_QP_CQS_RECV_LSB +: 16] : {{(16-CQ_W){1'b0}}, known_recv_cq};
    wire            second = state == RECV_CQ || state == COUNT_RECV;
    wire [15:0]     cq_16 = second ? recv_cq : send_cq;
    wire [CQ_W-1:0] look_cq = state == IDLE ? cqi_cq : cq_16[CQ_W-1:0];
    wire            unused_cq = &{1'b0, cq_16};
    reg  [CQ_W-1:0] seen_cq;
    wire [QP_W+1:0] users;
    wire            cq_alive;
    wire [PAGE_W-1:0] cq_page;
    wire            count = (state == COUNT_SEND || state == COUNT_RECV) && phase == 2'd2;
    wire [15:0]     judged = state == JUDGE ? recv_cq : send_cq;
    reg             seen_alive;
    reg  [15:0]     seen_page;
    reg  [QP_W+1:0] seen_users;

    cde_ram #(.W(1 + PAGE_W), .AW(CQ_W), .ECC(ECC)) cq_ram (
        .clk(clk), .mem_i(mem2), .mem_o(mem3), .we(cqi_we), .waddr(cqi_cq), .wdata({cqi_alive, cqi_page}),
        .raddr(look_cq), .rdata({cq_alive, cq_page})
    );

    cde_ram #(.W(QP_W + 2), .AW(CQ_W), .ECC(ECC)) users_ram (
        .clk(clk), .mem_i(mem3), .mem_o(mem_o), .we(count), .waddr(seen_cq),
        .wdata(c_create ? seen_users + 1'b1 : seen_users - 1'b1), .raddr(look_cq), .rdata(users)
    );

    assign cqi_used = users != {(QP_W + 2){1'b0}};
    always @(posedge clk) {keep, seen_cq, seen_alive, seen_page, seen_users} <= {settings || peer_we, look_cq, cq_alive,
        {{(16-PAGE_W){1'b0}}, cq_page}, users};

    // ---------------------------- checks, in the order of interfaces.md and posting.md
    reg  no_cq, bad_page;
    wire [4:0] recv_flag = arg7[FLAG +: 5];
    // What the arguments alone say, a cycle after them: they stay while a command is carried out.
    reg  far, reserved, bad_size, bad_flag, no_srq, elsewhere;
    wire free = qp_state == `CDE_QPS_FREE, ending = qp_state == `CDE_QPS_DESTROYING;
    wire [15:0] new_srq = arg7[`CDE_QP_RECV_SRQ_LSB +: 16], new_page = arg4[`CDE_QP_OWNER_PAGE_LSB +: 16];
    wire [15:0] new_depth = arg4[`CDE_QP_OWNER_DEPTH_LSB +: 16], new_recv_depth = arg6[`CDE_QP_ZONE_DEPTH_LSB +: 16];
    wire is_reserved = (c_connect && (arg1 & `CDE_QP_PEER_RESERVED) != 32'd0) ||
                    (c_set && (arg1 & `CDE_QP_TARGET_RESERVED) != 32'd0) ||
                    (c_create && ((arg7 & `CDE_QP_RECV_RESERVED) != 32'd0 || (!shared && new_srq != 16'd0)));
    wire is_bad_size = new_depth == 16'd0 || {16'd0, new_depth} > SLOTS ||
                    {16'd0, new_recv_depth} > RECV_SLOTS || (shared && new_recv_depth != 16'd0);
    wire is_bad_flag = recv_flag != `CDE_RECVFLAG_DEFAULT && recv_flag != `CDE_RECVFLAG_SOLICITED_WAIT &&
                    recv_flag != `CDE_RECVFLAG_UNSIGNALLED && recv_flag != `CDE_RECVFLAG_EVD_THRESHOLD;
    always @(posedge clk) begin
        {far, reserved, bad_size, bad_flag} <= {arg0 >= NUM_QP, is_reserved, is_bad_size, is_bad_flag};
        // SRQs change by commands alone.
        no_srq <= shared && !srqi_live;
        elsewhere <= shared && {{(16-PAGE_W){1'b0}}, srqi_page} != new_page;
    end
    reg [7:0] verdict;

    always @* begin
        if (!known) verdict = `CDE_RES_UNKNOWN;
        else if (reserved) verdict = `CDE_RES_RESERVED;
        else if (far) verdict = `CDE_RES_BAD_OBJECT;
        else if (!c_create && (free || (ending && c_modify))) verdict = `CDE_RES_NO_OBJECT;
        else if (c_create && !free) verdict = `CDE_RES_EXISTS;
        else if (c_create && bad_size) verdict = `CDE_RES_BAD_SIZE;
        else if (c_create && no_cq) verdict = `CDE_RES_NO_CQ;
        else if (c_create && no_srq) verdict = `CDE_RES_NO_SRQ;
        else if (c_create && (bad_page || elsewhere)) verdict = `CDE_RES_BAD_PAGE;
        else if (c_create && bad_flag) verdict = `CDE_RES_BAD_FLAG;
        else verdict = `CDE_RES_OK;
    end

    assign {set_we, use_up, set_qp} = {settings, c_create, qp};
    assign set_post[`CDE_QP_POST_CQ +: CQ_W] = send_cq_next;
    assign set_post[`CDE_QP_POST_PAGE +: PAGE_W] = page_next;
    assign set_post[`CDE_QP_POST_DEPTH +: SQ_LOG2 + 1] = depth_next;
    assign set_post[`CDE_QP_POST_WATERMARK +: 16] = info_next[INFO_HOLDS + `CDE_QP_HOLDS_WATERMARK_LSB +: 16];
    assign set_post[`CDE_QP_POST_AGE +: 16] = info_next[INFO_HOLDS + `CDE_QP_HOLDS_AGE_LSB +: 16];
    assign set_retire[`CDE_QP_RETIRE_CONTEXT +: 64] = context_next;
    assign set_retire[`CDE_QP_RETIRE_CQ +: CQ_W] = send_cq_next;
    assign set_retire[`CDE_QP_RETIRE_GUARDED] = guarded;
    assign set_peer = arg1[`CDE_QP_PEER_QP_LSB +: 24];
    assign set_receive[`CDE_QP_NEW_CONTEXT +: 64] = context_next;
    assign set_receive[`CDE_QP_NEW_CQ +: CQ_W] = recv_cq_next;
    assign set_receive[`CDE_QP_NEW_PAGE +: PAGE_W] = page_next;
    assign set_receive[`CDE_QP_NEW_ZONE +: 16] = arg6[`CDE_QP_ZONE_ZONE_LSB +: 16];
    assign set_receive[`CDE_QP_NEW_DEPTH +: 16] = new_recv_depth;
    assign set_receive[`CDE_QP_NEW_SRQ +: 16] = new_srq;
    assign set_receive[`CDE_QP_NEW_SHARED] = shared;
    assign set_receive[`CDE_QP_NEW_WAIT] = recv_flag == `CDE_RECVFLAG_SOLICITED_WAIT;
    assign set_receive[`CDE_QP_NEW_TWO] = arg7[`CDE_QP_RECV_ND1_LSB];
    assign set_receive[`CDE_QP_NEW_GUARDED] = guarded;
    assign srqi_number = c_create ? new_srq : {{(16-SRQ_W){1'b0}}, srq};
    assign use_we = count && state == COUNT_SEND && (c_create ? shared : kind[0]);
    assign peer_we = state == ACT && c_connect && !cmd_asks && qp_state == `CDE_QPS_IDLE;

    // ---------------------------- state steps: failing reports, connection events, commands
    wire       cmd_taken;
    wire [3:0] cmd_code = state == LOOK || c_modify || c_query ? OP_LOOK : c_create ? OP_CREATE : c_connect ?
                          OP_CONNECT : c_set ? OP_SET : c_flush ? OP_FLUSH : OP_DESTROY;
    wire       cmd_result = opr_valid && opr_code != OP_FAIL && opr_code != OP_CONN;

    assign {op_target, op_empty} = {arg1[`CDE_QP_TARGET_STATE_LSB +: 4], rx_empty};

    cde_qp_steps #(.NUM_QP(NUM_QP), .QP_W(QP_W)) steps_i (
        .clk(clk), .rst(rst), .init(init), .s_axis_conn_tdata(s_axis_conn_tdata),
        .s_axis_conn_tvalid(s_axis_conn_tvalid), .s_axis_conn_tready(s_axis_conn_tready),
        .m_axis_term_tdata(m_axis_term_tdata), .m_axis_term_tvalid(m_axis_term_tvalid),
        .m_axis_term_tready(m_axis_term_tready), .fail_valid(fail_valid), .fail_qp(fail_qp), .rfail_valid(rfail_valid),
        .rfail_ready(rfail_ready), .rfail_qp(rfail_qp), .rfail_pending(rfail_pending), .kfail_valid(kfail_valid),
        .kfail_ready(kfail_ready), .kfail_qp(kfail_qp), .cmd_asks(cmd_asks),
        .cmd_connects(c_connect && state != LOOK), .cmd_code(cmd_code), .cmd_qp(qp), .cmd_taken(cmd_taken),
        .keys_held(keys_held), .op_valid(op_valid), .op_void(op_void), .op_code(op_code), .op_qp(op_qp),
        .opr_valid(opr_valid), .opr_code(opr_code), .opr_qp(opr_qp), .opr_old(opr_old), .opr_new(opr_new),
        .err_valid(err_valid), .err_cause(err_cause), .err_qp(err_qp)
    );

    // While a command may end a life, the receive side stands still, so that what it says of the QP is exact.
    always @(posedge clk) hold <= state != IDLE && (c_destroy || c_set);

    // ---------------------------------------------------------------- commands
    always @(posedge clk) begin
        refused <= op_void;
        {settings, created} <= {2{state == CHECK && verdict == `CDE_RES_OK && !rst}} & {c_create || c_modify, c_create};
        qc_done <= 1'b0;
        phase <= phase == 2'd2 ? 2'd0 : phase + 2'd1;
        if (state == JUDGE || (state == RECV_CQ && !peeked)) begin
            no_cq <= (state == JUDGE && no_cq) || judged >> CQ_W != 16'd0 || !seen_alive;
            bad_page <= (state == JUDGE && bad_page) || {16'd0, new_page} >= NUM_PAGES || seen_page != new_page;
        end
        case (state)
            IDLE: if (qc_start) begin
                qc_result <= `CDE_RES_OK;
                qc_outs <= 256'd0;
                peeked <= 1'b0;
                state <= LOOK;
                cmd_asks <= commands != 7'd0 && !far;
            end
            LOOK: if (!cmd_asks) state <= SEND_CQ;
                  else if (cmd_taken) begin
                cmd_asks <= 1'b0;
                state <= LOOK_WAIT;
            end
            LOOK_WAIT: if (cmd_result) begin
                qp_state <= opr_new;
                state <= SEND_CQ;
            end
            // The registered answer of the CQ memory belongs to the cycle before last: it is judged in the state after.
            SEND_CQ: {peeked, state} <= {!peeked, peeked ? RECV_CQ : SEND_CQ};
            RECV_CQ: {peeked, state} <= {!peeked, peeked ? JUDGE : RECV_CQ};
            JUDGE: state <= CHECK;
            CHECK: begin
                qc_result <= verdict;
                state <= verdict != `CDE_RES_OK ? FINISH : c_create || c_modify ? SETTINGS : ACT;
                cmd_asks <= verdict == `CDE_RES_OK && !c_create && !c_modify && !c_connect;
            end
            SETTINGS: {cmd_asks, state} <= {1'b1, ACT};
            // The peer is set before the step that connects. Only a command moves a QP out of IDLE, so that step will
            // succeed.
            ACT: if (!cmd_asks) cmd_asks <= 1'b1;
            else if (cmd_taken) begin
                cmd_asks <= 1'b0;
                state <= ACT_WAIT;
            end
            ACT_WAIT: if (refused) begin
                qc_result <= `CDE_RES_IN_USE;
                state <= FINISH;
            end else if (cmd_result) begin
                qc_result <= opr_result;
                phase <= 2'd0;
                state <= c_create || (c_destroy && opr_result == `CDE_RES_OK) ? COUNT_SEND : FINISH;
                if (c_query) begin
                    qc_outs[OUT0 + `CDE_QP_STATE_STATE_LSB +: 4] <= opr_new;
                    qc_outs[OUT0 + `CDE_QP_STATE_PEER_LSB +: 24] <= peer;
                    qc_outs[OUT1 + `CDE_QP_POSTED_TAIL_LSB +: IDX_W] <= opr_indices[`CDE_SQ_TAIL +: IDX_W];
                    qc_outs[OUT1 + `CDE_QP_POSTED_RELEASED_LSB +: IDX_W] <= opr_indices[`CDE_SQ_RELEASED +: IDX_W];
                    qc_outs[OUT2 + `CDE_QP_LEFT_INDICATED_LSB +: IDX_W] <= indicated;
                    qc_outs[OUT2 + `CDE_QP_LEFT_RETIRED_LSB +: IDX_W] <= opr_indices[`CDE_SQ_RETIRED +: IDX_W];
                    qc_outs[OUT3 + `CDE_QP_CQS_SEND_LSB +: CQ_W] <= known_send_cq;
                    qc_outs[OUT3 + `CDE_QP_CQS_RECV_LSB +: CQ_W] <= known_recv_cq;
                    qc_outs[OUT4 + `CDE_QP_OWNER_PAGE_LSB +: PAGE_W] <= page;
                    qc_outs[OUT4 + `CDE_QP_OWNER_DEPTH_LSB +: SQ_LOG2 + 1] <= depth;
                    qc_outs[OUT5 +: 32] <= holds;
                    qc_outs[OUT6 + `CDE_QP_ZONE_ZONE_LSB +: 16] <= zone;
                    qc_outs[OUT6 + `CDE_QP_ZONE_DEPTH_LSB +: RQ_LOG2 + 1] <= recv_depth;
                    qc_outs[OUT7 + `CDE_QP_RECV_SRQ_LSB +: SRQ_W] <= srq;
                    {qc_outs[OUT7 + `CDE_QP_RECV_GUARDED_LSB], qc_outs[OUT7 + `CDE_QP_RECV_ND1_LSB],
                     qc_outs[OUT7 + `CDE_QP_RECV_SHARED_LSB]} <= kind;
                    qc_outs[OUT7 + FLAG +: 5] <= {flag[2], 1'b0, flag[1:0], 1'b0};
                end
            end
            COUNT_SEND: if (count) state <= COUNT_RECV;
            COUNT_RECV: if (count) state <= SETTLE;
            SETTLE: state <= FINISH;
            FINISH: {qc_done, state} <= {1'b1, IDLE};
            default: state <= IDLE;
        endcase
        if (rst) begin
            state <= IDLE;
            qc_outs <= 256'd0;
            qc_done <= 1'b0;
            {cmd_asks, phase} <= 3'd0;
        end
    end

endmodule

`default_nettype wire
