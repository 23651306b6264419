// SPDX-License-Identifier: Apache-2.0
// cde_verb: what the engine needs to know of each request type (DF-14).
//
// Purpose: the one place in the RTL that knows the verbs: legal flags, segments and lengths, local or remote, result type.
// Ports:   a post; the cause of refusal that its bits alone tell, and its properties.
// Latency: combinational.
`default_nettype none
`include "cde_defs.vh"

module cde_verb (
    input  wire [511:0] post,
    output reg  [7:0]   cause,       // 0: none
    output wire         is_local,    // executed by the engine when it is indicated
    output wire         is_read,
    output wire [31:0]  bytes,       // of a successful completion
    output wire [15:0]  result_type
);

    localparam [15:0] COMMON = `CDE_POSTFLAG_SILENT_SUCCESS | `CDE_POSTFLAG_READ_FENCE | `CDE_POSTFLAG_DEFER;
    localparam [15:0] ACCESS = `CDE_POSTFLAG_ALLOW_REMOTE_READ | `CDE_POSTFLAG_ALLOW_REMOTE_WRITE;
    localparam [15:0] SENDING = `CDE_POSTFLAG_SEND_AND_SOLICIT_EVENT | `CDE_POSTFLAG_INLINE;

    wire [7:0]  opcode = post[`CDE_POST_OPCODE_LSB +: 8];
    wire [7:0]  segments = post[`CDE_POST_SEGMENTS_LSB +: 8];
    wire [15:0] flags = post[`CDE_POST_FLAGS_LSB +: 16];
    wire [7:0]  inline_bytes = post[`CDE_POST_INLINE_BYTES_LSB +: 8];
    wire        is_inline = post[`CDE_POST_INLINE_LSB];

    // {known, local, read, carries bytes, most segments, most inline bytes, flags, result type}
    reg [45:0] row;

    always @* begin
        case (opcode)
            `CDE_OPC_BIND: row = {4'b1100, 2'd1, 8'd0, COMMON | ACCESS, `CDE_CQETYPE_BIND};
            `CDE_OPC_FAST_REGISTER: row = {4'b1100, 2'd1, 8'd0, COMMON | ACCESS | `CDE_POSTFLAG_RDMA_READ_SINK,
                                           `CDE_CQETYPE_FAST_REGISTER};
            `CDE_OPC_INVALIDATE: row = {4'b1100, 2'd0, 8'd0, COMMON, `CDE_CQETYPE_INVALIDATE};
            `CDE_OPC_READ: row = {4'b1011, 2'd2, 8'd0, COMMON | `CDE_POSTFLAG_RDMA_READ_LOCAL_INVALIDATE, `CDE_CQETYPE_READ};
            `CDE_OPC_SEND: row = {4'b1001, 2'd3, 8'd48, COMMON | SENDING, `CDE_CQETYPE_SEND};
            `CDE_OPC_SEND_AND_INVALIDATE: row = {4'b1001, 2'd2, 8'd32, COMMON | SENDING, `CDE_CQETYPE_SEND};
            `CDE_OPC_WRITE: row = {4'b1001, 2'd2, 8'd32, COMMON | `CDE_POSTFLAG_INLINE, `CDE_CQETYPE_WRITE};
            default: row = 46'd0;
        endcase
    end

    wire        unused_post = &{1'b0, post};
    wire        known = row[45];
    wire        counts = row[42];
    wire [1:0]  most_segments = row[41:40];
    wire [7:0]  most_inline = row[39:32];
    wire [15:0] allowed = row[31:16];

    assign is_local = row[44];
    assign is_read = row[43];
    assign result_type = row[15:0];

    // ---------------------------------------------------------------- length
    wire [33:0] length0 = segments != 8'd0 ? {2'd0, post[`CDE_POST_SLOT0_LSB + `CDE_SEGMENT_LENGTH_LSB +: 32]} : 34'd0;
    wire [33:0] length1 = segments > 8'd1 ? {2'd0, post[`CDE_POST_SLOT1_LSB + `CDE_SEGMENT_LENGTH_LSB +: 32]} : 34'd0;
    wire [33:0] length2 = segments > 8'd2 ? {2'd0, post[`CDE_POST_SLOT2_LSB + `CDE_SEGMENT_LENGTH_LSB +: 32]} : 34'd0;
    wire [33:0] sum = length0 + length1 + length2;
    wire        too_long = sum > 34'h0_8000_0000;

    assign bytes = !counts ? 32'd0 : is_inline ? {24'd0, inline_bytes} : sum[31:0];

    always @* begin
        if (post[63:56] != 8'd0) cause = `CDE_CAUSE_RESERVED_BITS;
        else if (!known) cause = `CDE_CAUSE_BAD_OPCODE;
        else if ((flags & ~allowed) != 16'd0 || (flags[5] && !flags[4])) cause = `CDE_CAUSE_BAD_FLAGS;
        else if (segments > (is_inline ? 8'd0 : {6'd0, most_segments})) cause = `CDE_CAUSE_TOO_MANY_SEGMENTS;
        else if (is_inline ? inline_bytes > most_inline : inline_bytes != 8'd0 || too_long) cause = `CDE_CAUSE_BAD_LENGTH;
        else cause = 8'h00;
    end

endmodule

`default_nettype wire
