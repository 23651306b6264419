// SPDX-License-Identifier: Apache-2.0
//
// For the waves only: words of the interfaces as fields with names of their own (docs/interfaces.md), and the state of
// CQ 0 to 3 as the trace port tells it. Fields keep the values of the latest transfer until the next one, so that names
// have room to be read. Coded fields have one bit more than their code; it is set when there is nothing to show, which
// the filter files in tb/waves show as "-". Without waves nothing here is used, and the simulator leaves it out.
`default_nettype none
`include "cde_defs.vh"
`timescale 1ns / 1ps

// The latest transfer, from its own cycle on.
module wave_hold #(
    parameter W = 1
) (
    input  wire         clk,
    input  wire         rst,
    input  wire         valid,
    input  wire [W-1:0] data,
    output wire         any,  // there has been one
    output wire [W-1:0] q     // 0 before
);
    reg         seen;
    reg [W-1:0] held;

    assign any = valid || seen;
    assign q = valid ? data : held;

    initial begin
        seen = 1'b0;
        held = 0;
    end

    always @(posedge clk) begin
        if (rst) begin
            seen <= 1'b0;
            held <= 0;
        end else if (valid) begin
            seen <= 1'b1;
            held <= data;
        end
    end
endmodule

// State in a trace record. Lanes 1 and 2 use the first group of fields, lane 0 the second.
module wave_state (
    input wire        valid,
    input wire [95:0] state
);
    wire [95:0] s = state;
    wire        exists = s[`CDE_STATE_LIFE_LSB +: 2] != `CDE_LIFE_FREE;
    wire [2:0]  life = {!valid, s[`CDE_STATE_LIFE_LSB +: 2]};
    wire [2:0]  status = {!exists, {2{exists}} & s[`CDE_STATE_STATUS_LSB +: 2]};
    wire        armed = s[`CDE_STATE_ARMED_LSB];
    wire [2:0]  arm_type = {!armed, {2{armed}} & s[`CDE_STATE_ARM_TYPE_LSB +: 2]};
    wire        in_callback = s[`CDE_STATE_IN_CALLBACK_LSB];
    wire        due = s[`CDE_STATE_DUE_LSB];
    wire        released = s[`CDE_STATE_RELEASED_LSB];
    wire        event_pending = s[`CDE_STATE_EVENT_PENDING_LSB];
    wire [15:0] prod = s[`CDE_STATE_PROD_LSB +: 16];
    wire [15:0] cons = s[`CDE_STATE_CONS_LSB +: 16];
    wire [15:0] mark = s[`CDE_STATE_MARK_LSB +: 16];
    wire [15:0] solicited = s[`CDE_STATE_SOL_LSB +: 16];
    wire [15:0] since_due = s[`CDE_STATE_MOD_COUNT_LSB +: 16];

    wire [15:0] allocated = s[`CDE_PSTATE_ALLOC_LSB +: 16];
    wire [15:0] credits_used = s[`CDE_PSTATE_USED_LSB +: 16];
    wire        refuses = s[`CDE_PSTATE_CLOSED_LSB];
endmodule

// State of one CQ: the latest of the trace records that name it, from its own cycle on.
module wave_cq (
    input wire         clk,
    input wire         rst,
    input wire [15:0]  number,
    input wire [2:0]   trace_valid,
    input wire [767:0] trace_data
);
    wire        step_0 = trace_valid[0] && trace_data[`CDE_TRACE_CQ_LSB +: 16] == number;
    wire        step_1 = trace_valid[1] && trace_data[256 + `CDE_TRACE_CQ_LSB +: 16] == number;
    wire        step_2 = trace_valid[2] && trace_data[512 + `CDE_TRACE_CQ_LSB +: 16] == number;
    reg  [32:0] held_producer;
    reg  [95:0] held_state;
    wire [32:0] producer = step_0 ? trace_data[`CDE_TRACE_NEW_LSB +: 33] : held_producer;
    wire [95:0] state = step_2 ? trace_data[512 + `CDE_TRACE_NEW_LSB +: 96] :
                        step_1 ? trace_data[256 + `CDE_TRACE_NEW_LSB +: 96] : held_state;
    wire [15:0] allocated = producer[`CDE_PSTATE_ALLOC_LSB +: 16];
    wire [15:0] credits_used = producer[`CDE_PSTATE_USED_LSB +: 16];
    wire        refuses = producer[`CDE_PSTATE_CLOSED_LSB];

    wave_state now (.valid(1'b1), .state(state));

    initial begin
        held_producer = 33'd0;
        held_state = 96'd0;
    end

    always @(posedge clk) begin
        held_producer <= rst ? 33'd0 : producer;
        held_state <= rst ? 96'd0 : state;
    end
endmodule

// One completion, on its way in or in a write to memory.
module wave_cqe (
    input wire         clk,
    input wire         rst,
    input wire         valid,
    input wire [255:0] data
);
    wire         any;
    wire [255:0] q;

    wave_hold #(.W(256)) hold (.clk(clk), .rst(rst), .valid(valid), .data(data), .any(any), .q(q));

    wire [63:0] request = q[`CDE_CQE_CONTEXT_LSB +: 64];
    wire [15:0] kind = q[`CDE_CQE_TYPE_LSB +: 16];
    wire [7:0]  status = q[`CDE_CQE_STATUS_LSB +: 8];
    wire        solicited = q[`CDE_CQE_SOLICITED_LSB];
    wire        phase = q[`CDE_CQE_PHASE_LSB];
endmodule

module wave_decode #(
    parameter M_ID_W = 7
) (
    input wire              clk,
    input wire              rst,
    // Doorbells: a complete write, an answer
    input wire              db_w,
    input wire [31:0]       db_addr,
    input wire [511:0]      db_data,
    input wire              db_b,
    input wire [7:0]        db_user,
    // Control
    input wire              ctl_aw,
    input wire [11:0]       ctl_awaddr,
    input wire              ctl_w,
    input wire [31:0]       ctl_wdata,
    input wire              ctl_ar,
    input wire [11:0]       ctl_araddr,
    input wire              ctl_r,
    input wire [31:0]       ctl_rdata,
    // Memory: an address, a complete write, a response
    input wire              mem_aw,
    input wire [M_ID_W-1:0] mem_awid,
    input wire              mem_w,
    input wire [M_ID_W-1:0] mem_wid,
    input wire [63:0]       mem_strb,
    input wire [511:0]      mem_data,
    input wire              mem_b,
    input wire [M_ID_W-1:0] mem_bid,
    // Completions, credits
    input wire              cpl,
    input wire [511:0]      cpl_data,
    input wire [31:0]       cpl_dest,
    input wire [1:0]        cpl_keep,
    input wire              rsv,
    input wire [31:0]       rsv_data,
    input wire              ans,
    input wire [7:0]        ans_data,
    // Work beats
    input wire              work,
    input wire [127:0]      work_post, // its first quarter
    input wire [15:0]       work_dest,
    input wire [63:0]       work_user,
    input wire              work_last,
    // Receives
    input wire              rreq,
    input wire [127:0]      rreq_data,
    input wire              scatter,
    input wire [15:0]       scatter_dest,
    input wire [31:0]       scatter_user,
    input wire [383:0]      scatter_data,
    input wire              rdone,
    input wire [63:0]       rdone_data,
    input wire              done,
    input wire [63:0]       done_data,
    // Trace
    input wire [9:0]        trace_valid,
    input wire [2559:0]     trace_data
);
    // ---- Doorbells ------------------------------------------------------------------------------------------------
    wire        db_any, b_any;
    wire [31:0] addr;
    wire [63:0] word;
    wire [7:0]  user;

    wave_hold #(.W(96)) hold_db (
        .clk(clk), .rst(rst), .valid(db_w), .data({db_addr, db_data[{db_addr[5:3], 6'd0} +: 64]}), .any(db_any),
        .q({addr, word})
    );
    wave_hold #(.W(8)) hold_b (.clk(clk), .rst(rst), .valid(db_b), .data(db_user), .any(b_any), .q(user));

    wire        arms = db_any && addr[11:0] == `CDE_PAGE_CQ_DB && word[`CDE_CQ_DB_ARM_LSB];
    wire [12:0] db_register = {!db_any, addr[11:0]};
    wire [19:0] db_page = addr[31:12];
    wire [15:0] db_cq = word[`CDE_CQ_DB_CQ_LSB +: 16];
    wire [31:0] db_cons = word[`CDE_CQ_DB_CONS_LSB +: 32];
    wire [4:0]  db_arm_type = {!arms, {4{arms}} & word[`CDE_CQ_DB_ARM_TYPE_LSB +: 4]};
    wire [8:0]  db_cause = {!b_any, user};

    // ---- Control --------------------------------------------------------------------------------------------------
    wire        ctl_write, ctl_read, unused_0, unused_1, unused_2, unused_3;
    wire [11:0] write_addr, read_addr;
    wire [31:0] write_data, read_data;
    wire [11:0] ctl_write_addr, ctl_read_addr;
    wire [31:0] ctl_write_data, ctl_read_data;
    wire        unused_4, unused_5;
    reg  [8:0]  command; // from the write that starts it to the read that shows it done
    reg  [8:0]  result;  // from then to the next one

    bfm_join #(.AW(12), .DW(32), .LOG_DEPTH(6)) u_write (
        .clk(clk), .rst(rst), .a_push(ctl_aw), .a_in(ctl_awaddr), .d_push(ctl_w), .d_in(ctl_wdata),
        .hit(ctl_write), .a_out(write_addr), .d_out(write_data), .a_full(unused_0), .d_full(unused_1)
    );
    bfm_join #(.AW(12), .DW(32), .LOG_DEPTH(6)) u_read (
        .clk(clk), .rst(rst), .a_push(ctl_ar), .a_in(ctl_araddr), .d_push(ctl_r), .d_in(ctl_rdata),
        .hit(ctl_read), .a_out(read_addr), .d_out(read_data), .a_full(unused_2), .d_full(unused_3)
    );

    wave_hold #(.W(44)) hold_write (
        .clk(clk), .rst(rst), .valid(ctl_write), .data({write_addr, write_data}), .any(unused_4),
        .q({ctl_write_addr, ctl_write_data})
    );
    wave_hold #(.W(44)) hold_read (
        .clk(clk), .rst(rst), .valid(ctl_read), .data({read_addr, read_data}), .any(unused_5),
        .q({ctl_read_addr, ctl_read_data})
    );

    initial begin
        command = 9'h100;
        result = 9'h100;
    end

    always @(posedge clk) begin
        if (ctl_read && read_addr == `CDE_REG_CMD_STATUS && read_data[`CDE_CMD_STATUS_DONE_LSB] &&
            !read_data[`CDE_CMD_STATUS_BUSY_LSB] && !command[8]) begin
            command <= 9'h100;
            result <= {1'b0, read_data[`CDE_CMD_STATUS_RESULT_LSB +: 8]};
        end
        if (ctl_write && write_addr == `CDE_REG_CMD) begin
            command <= {1'b0, write_data[`CDE_CMD_COMMAND_LSB +: 8]};
            result <= 9'h100;
        end
        if (rst) begin
            command <= 9'h100;
            result <= 9'h100;
        end
    end

    // ---- Memory ---------------------------------------------------------------------------------------------------
    // An EQE fills 16 of the 64 bytes, a CQE 32. Of several EQEs the first one is shown.
    wire              w_is_eqe = mem_w && mem_wid[M_ID_W-1];
    wire              w_low = mem_w && !w_is_eqe && mem_strb[0];
    wire              w_high = mem_w && !w_is_eqe && mem_strb[32];
    wire [2:0]        w_eqes = {3{w_is_eqe}} & ({2'd0, mem_strb[0]} + {2'd0, mem_strb[16]} + {2'd0, mem_strb[32]} +
                                                {2'd0, mem_strb[48]});
    wire [1:0]        w_first = mem_strb[0] ? 2'd0 : mem_strb[16] ? 2'd1 : mem_strb[32] ? 2'd2 : {2{mem_strb[48]}};
    wire              aw_is_eqe = mem_aw && mem_awid[M_ID_W-1];
    wire              b_is_eqe = mem_b && mem_bid[M_ID_W-1];
    wire              eqe_any, unused_6, unused_7;
    wire [127:0]      eqe;
    wire [M_ID_W-2:0] aw_number, b_number;

    wave_hold #(.W(128)) hold_eqe (.clk(clk), .rst(rst), .valid(w_is_eqe), .data(mem_data[{w_first, 7'd0} +: 128]),
        .any(eqe_any), .q(eqe));
    wave_hold #(.W(M_ID_W - 1)) hold_aw (
        .clk(clk), .rst(rst), .valid(mem_aw), .data(mem_awid[M_ID_W-2:0]), .any(unused_6), .q(aw_number)
    );
    wave_hold #(.W(M_ID_W - 1)) hold_mem_b (
        .clk(clk), .rst(rst), .valid(mem_b), .data(mem_bid[M_ID_W-2:0]), .any(unused_7), .q(b_number)
    );

    wire [15:0] aw_queue = {{(17-M_ID_W){1'b0}}, aw_number};
    wire [15:0] b_queue = {{(17-M_ID_W){1'b0}}, b_number};
    wire [15:0] eqe_cq = eqe[`CDE_EQE_CQ_LSB +: 16];
    wire [2:0]  eqe_status = {!eqe_any, eqe[`CDE_EQE_STATUS_LSB +: 2]};
    wire [31:0] eqe_snap = eqe[`CDE_EQE_SNAP_LSB +: 32];
    wire        eqe_phase = eqe[`CDE_EQE_PHASE_LSB];

    wave_cqe cqe_low (.clk(clk), .rst(rst), .valid(w_low), .data(mem_data[255:0]));
    wave_cqe cqe_high (.clk(clk), .rst(rst), .valid(w_high), .data(mem_data[511:256]));

    // ---- Completions, credits -------------------------------------------------------------------------------------
    wire        cpl_0 = cpl && cpl_keep[0];
    wire        cpl_1 = cpl && cpl_keep[1];
    wire        unused_8, unused_9, unused_10;
    wire [15:0] cpl_0_cq, cpl_1_cq, rsv_cq;
    wire [1:0]  rsv_credits;
    wire        granted = ans && ans_data[`CDE_RSV_ANSWER_GRANTED_LSB];
    wire        refused = ans && !ans_data[`CDE_RSV_ANSWER_GRANTED_LSB];

    wave_hold #(.W(16)) hold_0 (.clk(clk), .rst(rst), .valid(cpl_0), .data(cpl_dest[15:0]), .any(unused_8),
        .q(cpl_0_cq));
    wave_hold #(.W(16)) hold_1 (.clk(clk), .rst(rst), .valid(cpl_1), .data(cpl_dest[31:16]), .any(unused_9),
        .q(cpl_1_cq));
    wave_hold #(.W(18)) hold_rsv (
        .clk(clk), .rst(rst), .valid(rsv),
        .data({rsv_data[`CDE_RSV_CREDITS_LSB +: 2], rsv_data[`CDE_RSV_CQ_LSB +: 16]}), .any(unused_10),
        .q({rsv_credits, rsv_cq})
    );
    wave_cqe lane_0 (.clk(clk), .rst(rst), .valid(cpl_0), .data(cpl_data[255:0]));
    wave_cqe lane_1 (.clk(clk), .rst(rst), .valid(cpl_1), .data(cpl_data[511:256]));

    // ---- Trace ----------------------------------------------------------------------------------------------------
    wave_lane trace_0 (.clk(clk), .rst(rst), .valid(trace_valid[0]), .data(trace_data[0*256 +: 256]));
    wave_lane trace_1 (.clk(clk), .rst(rst), .valid(trace_valid[1]), .data(trace_data[1*256 +: 256]));
    wave_lane trace_2 (.clk(clk), .rst(rst), .valid(trace_valid[2]), .data(trace_data[2*256 +: 256]));
    wave_posting trace_3 (.clk(clk), .rst(rst), .valid(trace_valid[3]), .data(trace_data[3*256 +: 256]));
    wave_retire trace_4 (.clk(clk), .rst(rst), .valid(trace_valid[4]), .data(trace_data[4*256 +: 256]));
    wave_taking trace_5 (.clk(clk), .rst(rst), .valid(trace_valid[5]), .data(trace_data[5*256 +: 256]));
    wave_recv_post trace_6 (.clk(clk), .rst(rst), .valid(trace_valid[6]), .data(trace_data[6*256 +: 256]));
    wave_receive trace_7 (.clk(clk), .rst(rst), .valid(trace_valid[7]), .data(trace_data[7*256 +: 256]));
    wave_key trace_8 (.clk(clk), .rst(rst), .valid(trace_valid[8]), .data(trace_data[8*256 +: 256]));
    wave_key trace_9 (.clk(clk), .rst(rst), .valid(trace_valid[9]), .data(trace_data[9*256 +: 256]));
    wave_work request (
        .clk(clk), .rst(rst), .valid(work), .dest(work_dest), .user(work_user), .last(work_last), .post(work_post)
    );

    wave_arrival arrival (.clk(clk), .rst(rst), .valid(rreq), .data(rreq_data));
    wave_scatter answer (
        .clk(clk), .rst(rst), .valid(scatter), .dest(scatter_dest), .user(scatter_user), .list(scatter_data)
    );
    wave_report recv_report (.clk(clk), .rst(rst), .valid(rdone), .data(rdone_data));

    wave_cq cq_0 (.clk(clk), .rst(rst), .number(16'd0), .trace_valid(trace_valid[2:0]), .trace_data(trace_data[767:0]));
    wave_cq cq_1 (.clk(clk), .rst(rst), .number(16'd1), .trace_valid(trace_valid[2:0]), .trace_data(trace_data[767:0]));
    wave_cq cq_2 (.clk(clk), .rst(rst), .number(16'd2), .trace_valid(trace_valid[2:0]), .trace_data(trace_data[767:0]));
    wave_cq cq_3 (.clk(clk), .rst(rst), .number(16'd3), .trace_valid(trace_valid[2:0]), .trace_data(trace_data[767:0]));

    wave_object obj (.clk(clk), .rst(rst), .trace_valid(trace_valid), .trace_data(trace_data));

    wave_story #(.M_ID_W(M_ID_W)) story (
        .clk(clk), .rst(rst), .qp(obj.qp_number), .srq(obj.srq_number), .work(work), .work_dest(work_dest),
        .work_user(work_user),
        .done(done), .done_data(done_data), .scatter(scatter), .scatter_dest(scatter_dest), .scatter_user(scatter_user),
        .rdone(rdone), .rdone_data(rdone_data), .mem_aw(mem_aw), .mem_awid(mem_awid), .mem_w(mem_w),
        .mem_strb(mem_strb),
        .mem_data(mem_data), .trace_valid(trace_valid), .trace_data(trace_data), .cq_state(obj.cq.state),
        .key_exists(obj.key.exists), .key_valid(obj.key.is_valid)
    );
endmodule

`default_nettype wire
