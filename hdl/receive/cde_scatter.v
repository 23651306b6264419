// SPDX-License-Identifier: Apache-2.0
// cde_scatter: receive buffers, and how a message fills them (SRQ-03, SRQ-18).
//
// Purpose: keeps what is posted, as it was then (SRQ-08; D to F: a buffer is read), and makes the scatter list: the
//          segments of the buffer, each with what the message puts there. In F the buffer is chosen and lengths are
//          compared and subtracted, in G the differences are chosen.
// Ports:   maintenance bus in and out (cde_mem.vh); buffers that are posted (buf_*); where to read for a QP's own queue
//          and for a shared one; in F which of them it is, and the length of the message; in G whether the message is
//          longer than the buffer (then there is no list), the context of the post, list.
// Latency: four cycles from an address. Throughput: one per cycle.
`default_nettype none
`include "cde_defs.vh"
`include "cde_mem.vh"
`include "cde_receive_records.vh"

module cde_scatter #(
    parameter QP_W = 6,
    parameter SRQ_W = 4,
    parameter IDX_W = 16,
    parameter RQ_LOG2 = 4,
    parameter SRQ_LOG2 = 6,
    parameter ECC = 1
) (
    input  wire              clk,
    input  wire [`CDE_MEM_W-1:0] mem_i,
    output wire [`CDE_MEM_W-1:0] mem_o,

    input  wire              buf_we,
    input  wire [QP_W:0]     buf_queue,
    input  wire [IDX_W-1:0]  buf_index,
    input  wire [`CDE_BUFFER_W-1:0] buf_data,

    input  wire [QP_W+RQ_LOG2-1:0] own_at,
    input  wire [SRQ_W+SRQ_LOG2-1:0] shared_at,
    input  wire              shared,
    input  wire [31:0]       length,
    output reg               past,           // the message is longer than the buffer
    output reg  [63:0]       cookie,         // context of the post (the consumer's cookie)
    output wire [383:0]      list
);

    // ---------------------------------------------------------------- stages D to F: the buffer is read
    // A post is decided late in its cycle, so its buffer is written in the next one, as its tail is (cde_take). Who
    // sees the tail reads the buffer a cycle later or more; its slot is written again when the buffer has completed.
    wire [`CDE_MEM_W-1:0]    mem1;
    wire [`CDE_BUFFER_W-1:0] own, common;
    reg                      own_we, shared_we;
    reg  [QP_W:0]            w_queue;
    reg  [IDX_W-1:0]         w_index;
    reg  [`CDE_BUFFER_W-1:0] w_data;
    wire                     unused = &{1'b0, w_queue, w_index};

    always @(posedge clk) begin
        {own_we, shared_we} <= {buf_we && !buf_queue[QP_W], buf_we && buf_queue[QP_W]};
        {w_queue, w_index, w_data} <= {buf_queue, buf_index, buf_data};
    end

    cde_slots #(.W(`CDE_BUFFER_W), .AW(QP_W + RQ_LOG2), .ECC(ECC), .TELL(1)) own_ram (
        .clk(clk), .mem_i(mem_i), .mem_o(mem1), .we(own_we), .wdata(w_data),
        .waddr({w_queue[QP_W-1:0], w_index[RQ_LOG2-1:0]}), .raddr(own_at), .rdata(own)
    );

    cde_slots #(.W(`CDE_BUFFER_W), .AW(SRQ_W + SRQ_LOG2), .ECC(ECC), .TELL(1)) shared_ram (
        .clk(clk), .mem_i(mem1), .mem_o(mem_o), .we(shared_we), .wdata(w_data),
        .waddr({w_queue[SRQ_W-1:0], w_index[SRQ_LOG2-1:0]}), .raddr(shared_at), .rdata(common)
    );

    // ---------------------------------------------------------------- stage F: lengths compared and subtracted
    localparam SLOT0 = `CDE_BUFFER_SLOT(0), SLOT1 = `CDE_BUFFER_SLOT(1), SLOT2 = `CDE_BUFFER_SLOT(2);
    localparam BYTES = `CDE_SEGMENT_LENGTH_LSB, KEY = `CDE_SEGMENT_KEY_LSB;    // of a segment; its address lies lowest

    // Upto: with what lies before it, as the buffer has it. Full: the message fills the segment.
    wire [`CDE_BUFFER_W-1:0] b = shared ? common : own;
    wire [31:0]  upto0 = b[SLOT0 + BYTES +: 32], upto1 = b[SLOT1 + BYTES +: 32], upto2 = b[SLOT2 + BYTES +: 32];
    reg  [63:0]  address0, address1, address2;
    reg  [31:0]  key0, key1, key2, bytes, size0, size1, rest1, rest2;
    reg          full0, full1;

    always @(posedge clk) begin
        {address0, address1, address2} <= {b[SLOT0 +: 64], b[SLOT1 +: 64], b[SLOT2 +: 64]};
        {key0, key1, key2} <= {b[SLOT0 + KEY +: 32], b[SLOT1 + KEY +: 32], b[SLOT2 + KEY +: 32]};
        cookie <= b[`CDE_BUFFER_CONTEXT +: 64];
        bytes <= length;
        full0 <= length >= upto0;
        full1 <= length >= upto1;
        past <= length > upto2;
        size0 <= upto0;
        size1 <= upto1 - upto0;
        rest1 <= length - upto0;
        rest2 <= length - upto1;
    end

    // ---------------------------------------------------------------- stage G: the list
    wire [31:0]  fill0 = full0 ? size0 : bytes;
    wire [31:0]  fill1 = !full0 ? 32'd0 : full1 ? size1 : rest1;
    wire [31:0]  fill2 = full1 ? rest2 : 32'd0;          // if it fits

    assign list = {key2, fill2, address2, key1, fill1, address1, key0, fill0, address0};

endmodule

`default_nettype wire
