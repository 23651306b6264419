// SPDX-License-Identifier: Apache-2.0
//
// For the waves only: words of the interfaces as fields with names of their own (docs/interfaces.md), and the state of CQ 0 to 3 as
// the trace port tells it. Coded fields have one bit more than their code; it is set when there is nothing to show, which
// the filter files in tb/waves show as "-". Without waves nothing here is used, and the simulator leaves it out.
`default_nettype none
`timescale 1ns / 1ps

// State in a trace record. Lanes 1 and 2 use the first group of fields, lane 0 the second.
module wave_state (
    input wire        valid,
    input wire [95:0] state
);
    wire [95:0] s = {96{valid}} & state;
    wire        exists = s[1:0] != 2'd0;
    wire [2:0]  life = {!valid, s[1:0]};
    wire [2:0]  status = {!exists, {2{exists}} & s[3:2]};
    wire        armed = s[4];
    wire [2:0]  arm_type = {!armed, {2{armed}} & s[6:5]};
    wire        in_callback = s[7];
    wire        due = s[8];
    wire        released = s[9];
    wire        event_pending = s[10];
    wire [15:0] prod = s[31:16];
    wire [15:0] cons = s[47:32];
    wire [15:0] mark = s[63:48];
    wire [15:0] solicited = s[79:64];
    wire [15:0] since_due = s[95:80];

    wire [15:0] allocated = s[15:0];
    wire [15:0] credits_used = s[31:16];
    wire        refuses = s[32];
endmodule

// One lane of the trace port.
module wave_lane (
    input wire         valid,
    input wire [255:0] data
);
    wire [8:0]  op = {!valid, {8{valid}} & data[7:0]};
    wire [15:0] cq = {16{valid}} & data[23:8];
    wire        called = valid && data[24];
    wire [31:0] operand = {32{valid}} & data[63:32];

    wave_state was (.valid(valid), .state(data[159:64]));
    wave_state becomes (.valid(valid), .state(data[255:160]));
endmodule

// State of one CQ: the latest of the trace records that name it.
module wave_cq #(
    parameter [15:0] NUMBER = 16'd0
) (
    input wire         clk,
    input wire         rst,
    input wire [2:0]   trace_valid,
    input wire [767:0] trace_data
);
    reg  [32:0] producer;
    reg  [95:0] state;
    wire [15:0] allocated = producer[15:0];
    wire [15:0] credits_used = producer[31:16];
    wire        refuses = producer[32];

    wave_state now (.valid(1'b1), .state(state));

    initial begin
        producer = 33'd0;
        state = 96'd0;
    end

    always @(posedge clk) begin
        if (rst) begin
            producer <= 33'd0;
            state <= 96'd0;
        end else begin
            if (trace_valid[0] && trace_data[23:8] == NUMBER)
                producer <= trace_data[192:160];
            if (trace_valid[1] && trace_data[279:264] == NUMBER)
                state <= trace_data[511:416];
            if (trace_valid[2] && trace_data[535:520] == NUMBER)
                state <= trace_data[767:672];
        end
    end
endmodule

// One completion, on its way in or in a write to memory.
module wave_cqe (
    input wire         valid,
    input wire [255:0] data
);
    wire [63:0] request = {64{valid}} & data[63:0];
    wire [15:0] kind = {16{valid}} & data[207:192];
    wire [7:0]  status = {8{valid}} & data[239:232];
    wire        solicited = valid && data[240];
    wire        phase = valid && data[255];
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
    // Memory: handshakes
    input wire              mem_aw,
    input wire [M_ID_W-1:0] mem_awid,
    input wire              mem_w,
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
    // Trace
    input wire [2:0]        trace_valid,
    input wire [767:0]      trace_data
);
    // ---- Doorbells ------------------------------------------------------------------------------------------------
    wire [63:0] word = db_data[{db_addr[5:3], 6'd0} +: 64] & {64{db_w}};
    wire        is_db = db_w && db_addr[11:0] == 12'h100;
    wire [12:0] db_register = {!db_w, {12{db_w}} & db_addr[11:0]};
    wire [19:0] db_page = {20{db_w}} & db_addr[31:12];
    wire [15:0] db_cq = word[47:32];
    wire [31:0] db_cons = word[31:0];
    wire        db_arm = is_db && word[63];
    wire [2:0]  db_arm_type = {!db_arm, {2{db_arm}} & word[49:48]};
    wire [8:0]  db_cause = {!db_b, {8{db_b}} & db_user};

    // ---- Control --------------------------------------------------------------------------------------------------
    wire        ctl_write, ctl_read, unused_0, unused_1, unused_2, unused_3;
    wire [11:0] ctl_write_addr, ctl_read_addr;
    wire [31:0] ctl_write_data, ctl_read_data;
    reg  [8:0]  command; // from the write that starts it to the read that shows it done
    reg  [8:0]  result;  // from then to the next one

    bfm_join #(.AW(12), .DW(32), .LOG_DEPTH(6)) u_write (
        .clk(clk), .rst(rst), .a_push(ctl_aw), .a_in(ctl_awaddr), .d_push(ctl_w), .d_in(ctl_wdata),
        .hit(ctl_write), .a_out(ctl_write_addr), .d_out(ctl_write_data), .a_full(unused_0), .d_full(unused_1)
    );
    bfm_join #(.AW(12), .DW(32), .LOG_DEPTH(6)) u_read (
        .clk(clk), .rst(rst), .a_push(ctl_ar), .a_in(ctl_araddr), .d_push(ctl_r), .d_in(ctl_rdata),
        .hit(ctl_read), .a_out(ctl_read_addr), .d_out(ctl_read_data), .a_full(unused_2), .d_full(unused_3)
    );

    initial begin
        command = 9'h100;
        result = 9'h100;
    end

    always @(posedge clk) begin
        if (ctl_read && ctl_read_addr == 12'h064 && ctl_read_data[1:0] == 2'b10 && !command[8]) begin
            command <= 9'h100;
            result <= {1'b0, ctl_read_data[15:8]};
        end
        if (ctl_write && ctl_write_addr == 12'h060) begin
            command <= {1'b0, ctl_write_data[7:0]};
            result <= 9'h100;
        end
        if (rst) begin
            command <= 9'h100;
            result <= 9'h100;
        end
    end

    // ---- Memory ---------------------------------------------------------------------------------------------------
    // An EQE fills 16 of the 64 bytes; the engine repeats it in all four quarters. A CQE fills 32.
    wire               w_is_eqe = mem_w && !(&mem_strb[31:0]) && !(&mem_strb[63:32]);
    wire               aw_is_eqe = mem_aw && mem_awid[M_ID_W-1];
    wire [M_ID_W-2:0]  aw_queue = {(M_ID_W-1){mem_aw}} & mem_awid[M_ID_W-2:0];
    wire               b_is_eqe = mem_b && mem_bid[M_ID_W-1];
    wire [M_ID_W-2:0]  b_queue = {(M_ID_W-1){mem_b}} & mem_bid[M_ID_W-2:0];
    wire [127:0]       eqe = mem_data[127:0];
    wire [15:0]        eqe_cq = {16{w_is_eqe}} & eqe[15:0];
    wire [2:0]         eqe_status = {!w_is_eqe, {2{w_is_eqe}} & eqe[25:24]};
    wire [31:0]        eqe_snap = {32{w_is_eqe}} & eqe[63:32];
    wire               eqe_phase = w_is_eqe && eqe[127];

    wave_cqe cqe_low (.valid(mem_w && (&mem_strb[31:0])), .data(mem_data[255:0]));
    wave_cqe cqe_high (.valid(mem_w && (&mem_strb[63:32])), .data(mem_data[511:256]));

    // ---- Completions, credits -------------------------------------------------------------------------------------
    wire        cpl_0 = cpl && cpl_keep[0];
    wire        cpl_1 = cpl && cpl_keep[1];
    wire [15:0] cpl_0_cq = {16{cpl_0}} & cpl_dest[15:0];
    wire [15:0] cpl_1_cq = {16{cpl_1}} & cpl_dest[31:16];
    wire [15:0] rsv_cq = {16{rsv}} & rsv_data[15:0];
    wire [1:0]  rsv_credits = {2{rsv}} & rsv_data[17:16];

    wave_cqe lane_0 (.valid(cpl_0), .data(cpl_data[255:0]));
    wave_cqe lane_1 (.valid(cpl_1), .data(cpl_data[511:256]));

    // ---- Trace ----------------------------------------------------------------------------------------------------
    wave_lane trace_0 (.valid(trace_valid[0]), .data(trace_data[255:0]));
    wave_lane trace_1 (.valid(trace_valid[1]), .data(trace_data[511:256]));
    wave_lane trace_2 (.valid(trace_valid[2]), .data(trace_data[767:512]));

    wave_cq #(.NUMBER(16'd0)) cq_0 (.clk(clk), .rst(rst), .trace_valid(trace_valid), .trace_data(trace_data));
    wave_cq #(.NUMBER(16'd1)) cq_1 (.clk(clk), .rst(rst), .trace_valid(trace_valid), .trace_data(trace_data));
    wave_cq #(.NUMBER(16'd2)) cq_2 (.clk(clk), .rst(rst), .trace_valid(trace_valid), .trace_data(trace_data));
    wave_cq #(.NUMBER(16'd3)) cq_3 (.clk(clk), .rst(rst), .trace_valid(trace_valid), .trace_data(trace_data));
endmodule

`default_nettype wire
