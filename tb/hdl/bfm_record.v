// SPDX-License-Identifier: Apache-2.0
//
// Packs the handshakes of each cycle into rows of 64-bit words, in the order that tb/env/harness/records.py asks for,
// and hands full blocks to Python by toggling `toggle`. Python reads the rows within the same time step, so nothing can
// be lost. With RECORDS_IN_MEMORY (Verilator) the rows of a block are copied to where Python finds them: records.cpp.
//
// Row 0 begins with: 7:0 0xFF, 15:8 rows used, 23:16 latest flush request that was served, 31:24 block number, 63:32
// cycle. Records follow after two more words, the channels on which somebody was kept waiting since the block before
// (bfm_waits): `blocked`, `withheld`. They never go across rows; a word of 0 ends a row early. A record's first word:
// 7:0 kind, 31:8 by kind, 63:32 cycle. Kinds and their words are those of tb/env/harness/decode.py.
//
// A block is handed over when cfg[39:32] rows are full, cfg[15:0] cycles after the latest record, cfg[31:16] cycles
// after the oldest, or when `flush` changes.
`default_nettype none
`timescale 1ns / 1ps

module bfm_record #(
    parameter ROWS = 16,
    parameter ROW_WORDS = 64,
    parameter M_ID_W = 7
) (
    input  wire         clk,
    input  wire         rst,
    input  wire [31:0]  cycle,
    input  wire [63:0]  cfg,
    input  wire [7:0]   flush,
    // Trace
    input  wire [9:0]    trace_valid,
    input  wire [2559:0] trace_data,
    // Memory
    input  wire                mem_b,
    input  wire [M_ID_W-1:0]   mem_b_id,
    input  wire [1:0]          mem_b_resp,
    input  wire                mem_w,
    input  wire [M_ID_W-1:0]   mem_w_id,
    input  wire [63:0]         mem_w_addr,
    input  wire [63:0]         mem_w_strb,
    input  wire [511:0]        mem_w_data,
    input  wire                mem_w_lands,
    // Completions
    input  wire         cpl,
    input  wire [511:0] cpl_data,
    input  wire [31:0]  cpl_dest,
    input  wire [1:0]   cpl_keep,
    input  wire [1:0]   cpl_user,
    // Doorbells: complete writes, responses, reads
    input  wire         db_w,
    input  wire [7:0]   db_w_id,
    input  wire [31:0]  db_w_addr,
    input  wire [7:0]   db_w_len,
    input  wire [2:0]   db_w_size,
    input  wire [63:0]  db_w_strb,
    input  wire [511:0] db_w_data,
    input  wire         db_b,
    input  wire [7:0]   db_b_id,
    input  wire [1:0]   db_b_resp,
    input  wire [7:0]   db_b_user,
    input  wire         db_r,
    input  wire [7:0]   db_r_id,
    input  wire [1:0]   db_r_resp,
    input  wire         db_r_last,
    input  wire [511:0] db_r_data,
    // Credits, interrupts
    input  wire         rsv,
    input  wire [31:0]  rsv_data,
    input  wire         ans,
    input  wire [7:0]   ans_data,
    input  wire         irq,
    input  wire [15:0]  irq_data,
    // Work, done reports, connection events, terminate requests
    input  wire         work,
    input  wire [511:0] work_data,
    input  wire [15:0]  work_dest,
    input  wire [63:0]  work_user,
    input  wire         work_last,
    input  wire         done,
    input  wire [63:0]  done_data,
    input  wire         conn,
    input  wire [31:0]  conn_data,
    input  wire         term,
    input  wire [31:0]  term_data,
    // Receive requests, scatter lists, receive done reports
    input  wire         rreq,
    input  wire [127:0] rreq_data,
    input  wire         scatter,
    input  wire [383:0] scatter_data,
    input  wire [15:0]  scatter_dest,
    input  wire [31:0]  scatter_user,
    input  wire         rdone,
    input  wire [63:0]  rdone_data,
    // Checks of remote accesses, verdicts
    input  wire         check,
    input  wire [191:0] check_data,
    input  wire         verdict,
    input  wire [31:0]  verdict_data,
    // Control
    input  wire         ctl_b,
    input  wire [1:0]   ctl_b_resp,
    input  wire         ctl_r,
    input  wire [1:0]   ctl_r_resp,
    input  wire [31:0]  ctl_r_data,
    // Protocol violations; faults of the harness itself
    input  wire [40:0]  violations,
    input  wire         harness_fault,
    // Channels on which somebody was kept waiting
    input  wire [63:0]  blocked,
    input  wire [63:0]  withheld,
    output reg          toggle
);
    localparam HEAD_WORDS = 3; // of a block
    localparam TRACE = 8'd1, MEM_RESPONSE = 8'd2, MEM_WRITE = 8'd3, COMPLETION = 8'd4, DB_REQUEST = 8'd5;
    localparam DB_RESPONSE = 8'd6, CREDIT_REQUEST = 8'd7, CREDIT_ANSWER = 8'd8, INTERRUPT = 8'd9, DB_READ = 8'd10;
    localparam CTL_B = 8'd11, CTL_R = 8'd12, VIOLATION = 8'd13, WORK = 8'd14;
    localparam DONE = 8'd15, CONN = 8'd16, TERM = 8'd17;
    localparam RREQ = 8'd18, SCATTER = 8'd19, RDONE = 8'd20;
    localparam CHECK = 8'd21, VERDICT = 8'd22;

    reg [ROW_WORDS*64-1:0] rows [0:ROWS-1];
`ifdef RECORDS_IN_MEMORY
    import "DPI-C" function void carillon_row(input int number, input bit [ROW_WORDS*64-1:0] words);
`endif
    integer    row;
    integer    pos;
    integer    lane;
    reg        any;       // a record waits
    reg [31:0] oldest;    // its cycle
    reg [31:0] latest;
    reg [7:0]  flushed;
    reg [7:0]  number;
    reg        short_;
    reg [1:0]  half;
    reg [2:0]  word;

    initial begin
        toggle = 1'b0;
        row = 0;
        pos = HEAD_WORDS;
        any = 1'b0;
        flushed = 8'd0;
        number = 8'd0;
        oldest = 32'd0;
        latest = 32'd0;
    end

    // Begins a record of n words: goes to the next row if this one has no room.
    task begin_record(input [7:0] kind, input [23:0] info, input integer n);
        begin
            if (pos + n > ROW_WORDS) begin
                if (pos < ROW_WORDS)
                    rows[row][pos*64 +: 64] = 64'd0;
                row = row + 1;
                pos = 0;
            end
            rows[row][pos*64 +: 64] = {cycle, info, kind};
            pos = pos + 1;
            if (!any)
                oldest = cycle;
            any = 1'b1;
            latest = cycle;
        end
    endtask

    task put64(input [63:0] value);
        begin
            rows[row][pos*64 +: 64] = value;
            pos = pos + 1;
        end
    endtask

    task put256(input [255:0] value);
        begin
            rows[row][pos*64 +: 256] = value;
            pos = pos + 4;
        end
    endtask

    always @(posedge clk) begin
        if (!rst) begin
            for (lane = 0; lane < 10; lane = lane + 1)
                if (trace_valid[lane]) begin
                    begin_record(TRACE, lane[23:0], 5);
                    put256(trace_data[lane*256 +: 256]);
                end
            if (mem_b)
                begin_record(MEM_RESPONSE, {6'd0, mem_b_resp, {(16-M_ID_W){1'b0}}, mem_b_id}, 1);
            if (mem_w) begin
                half = mem_w_data[511:256] == mem_w_data[255:0] ? 2'd3
                    : mem_w_data[511:256] == 256'd0 ? 2'd1
                    : mem_w_data[255:0] == 256'd0 ? 2'd2 : 2'd0;
                begin_record(
                    MEM_WRITE, {5'd0, half, mem_w_lands, {(16-M_ID_W){1'b0}}, mem_w_id}, half == 2'd0 ? 11 : 7);
                put64(mem_w_addr);
                put64(mem_w_strb);
                put256(half == 2'd2 ? mem_w_data[511:256] : mem_w_data[255:0]);
                if (half == 2'd0)
                    put256(mem_w_data[511:256]);
            end
            if (cpl) begin
                short_ = cpl_data[511:256] == 256'd0;
                begin_record(COMPLETION, {19'd0, short_, cpl_user, cpl_keep}, short_ ? 6 : 10);
                put64({32'd0, cpl_dest});
                put256(cpl_data[255:0]);
                if (!short_)
                    put256(cpl_data[511:256]);
            end
            if (db_w) begin
                word = db_w_addr[5:3];
                short_ = (db_w_data & ~({448'd0, {64{1'b1}}} << {word, 6'd0})) == 512'd0;
                half = {1'b0, db_w_data[511:256] == 256'd0};
                begin_record(
                    DB_REQUEST, {half[0], word, short_, db_w_size, db_w_len, db_w_id}, short_ ? 4 : half[0] ? 7 : 11);
                put64({32'd0, db_w_addr});
                put64(db_w_strb);
                if (short_)
                    put64(db_w_data[{word, 6'd0} +: 64]);
                else begin
                    put256(db_w_data[255:0]);
                    if (!half[0])
                        put256(db_w_data[511:256]);
                end
            end
            if (db_b)
                begin_record(DB_RESPONSE, {db_b_user, 6'd0, db_b_resp, db_b_id}, 1);
            if (rsv) begin
                begin_record(CREDIT_REQUEST, 24'd0, 2);
                put64({32'd0, rsv_data});
            end
            if (ans)
                begin_record(CREDIT_ANSWER, {16'd0, ans_data}, 1);
            if (irq)
                begin_record(INTERRUPT, {8'd0, irq_data}, 1);
            if (work) begin
                short_ = work_data[511:256] == 256'd0;
                begin_record(WORK, {6'd0, short_, work_last, work_dest}, short_ ? 6 : 10);
                put64(work_user);
                put256(work_data[255:0]);
                if (!short_)
                    put256(work_data[511:256]);
            end
            if (done) begin
                begin_record(DONE, 24'd0, 2);
                put64(done_data);
            end
            if (conn) begin
                begin_record(CONN, 24'd0, 2);
                put64({32'd0, conn_data});
            end
            if (term) begin
                begin_record(TERM, 24'd0, 2);
                put64({32'd0, term_data});
            end
            if (rreq) begin
                begin_record(RREQ, 24'd0, 3);
                put64(rreq_data[63:0]);
                put64(rreq_data[127:64]);
            end
            if (scatter) begin
                short_ = scatter_data[383:128] == 256'd0;
                begin_record(SCATTER, {7'd0, short_, scatter_dest}, short_ ? 4 : 8);
                put64({32'd0, scatter_user});
                put64(scatter_data[63:0]);
                put64(scatter_data[127:64]);
                if (!short_)
                    put256(scatter_data[383:128]);
            end
            if (rdone) begin
                begin_record(RDONE, 24'd0, 2);
                put64(rdone_data);
            end
            if (check) begin
                begin_record(CHECK, 24'd0, 4);
                put64(check_data[63:0]);
                put64(check_data[127:64]);
                put64(check_data[191:128]);
            end
            if (verdict) begin
                begin_record(VERDICT, 24'd0, 2);
                put64({32'd0, verdict_data});
            end
            if (db_r) begin
                short_ = db_r_data[511:64] == 448'd0;
                begin_record(DB_READ, {12'd0, short_, db_r_last, db_r_resp, db_r_id}, short_ ? 2 : 9);
                put64(db_r_data[63:0]);
                if (!short_) begin
                    put64(db_r_data[127:64]);
                    put64(db_r_data[191:128]);
                    put64(db_r_data[255:192]);
                    put256(db_r_data[511:256]);
                end
            end
            if (ctl_b)
                begin_record(CTL_B, {22'd0, ctl_b_resp}, 1);
            if (ctl_r) begin
                begin_record(CTL_R, {22'd0, ctl_r_resp}, 2);
                put64({32'd0, ctl_r_data});
            end
            if (violations != 41'd0) begin
                begin_record(VIOLATION, 24'd0, 2);
                put64({23'd0, violations});
            end
        end
        if (rst) begin
            // What was not handed over belongs to a time that is over.
            row = 0;
            pos = HEAD_WORDS;
            any = 1'b0;
        end
        if (harness_fault) begin
            begin_record(VIOLATION, 24'd1, 2);
            put64(64'd0);
        end

        if (flush != flushed || (any && (row >= cfg[39:32] || row > ROWS - 4
                || cycle - latest >= {16'd0, cfg[15:0]} || cycle - oldest >= {16'd0, cfg[31:16]}))) begin
            if (pos < ROW_WORDS)
                rows[row][pos*64 +: 64] = 64'd0;
            row = row + 1;
            rows[0][191:0] = {withheld, blocked, cycle, number, flush, row[7:0], 8'hFF};
            flushed = flush;
`ifdef RECORDS_IN_MEMORY
            for (lane = 0; lane < row; lane = lane + 1)
                carillon_row(lane, rows[lane]);
`endif
            number = number + 8'd1;
            row = 0;
            pos = HEAD_WORDS;
            any = 1'b0;
            toggle <= !toggle;
        end
    end
endmodule

`default_nettype wire
