// SPDX-License-Identifier: Apache-2.0
// cde_verb: what the engine needs to know of each request type (DF-14).
//
// Purpose: the one place in the RTL that knows the verbs: legal flags, segments and lengths, kind, result type. Its
//          table, cde_verbs.vh, is made from models/verbs.
// Ports:   a post; the cause of refusal that its bits alone tell, and its properties.
// Latency: combinational.
`default_nettype none
`include "cde_defs.vh"
`include "cde_post_records.vh"

module cde_verb (
    input  wire [511:0] post,
    output reg  [7:0]   cause,       // 0: none
    output wire [1:0]   kind,        // CDE_KIND_*
    output wire [31:0]  bytes,       // of a successful completion
    output wire [15:0]  result_type
);

    wire [7:0]  opcode = post[`CDE_POST_OPCODE_LSB +: 8];
    wire [7:0]  segments = post[`CDE_POST_SEGMENTS_LSB +: 8];
    wire [15:0] flags = post[`CDE_POST_FLAGS_LSB +: 16];
    wire [7:0]  inline_bytes = post[`CDE_POST_INLINE_BYTES_LSB +: 8];
    wire        is_inline = post[`CDE_POST_INLINE_LSB];

    // The row of the table, and its fields: row_*.
    `include "cde_verbs.vh"

    wire        unused_post = &{1'b0, post};

    assign kind = row_kind;
    assign result_type = row_result_type;

    // ---------------------------------------------------------------- length
    wire [33:0] length0 = segments != 8'd0 ? {2'd0, post[`CDE_POST_SLOT0_LSB + `CDE_SEGMENT_LENGTH_LSB +: 32]} : 34'd0;
    wire [33:0] length1 = segments > 8'd1 ? {2'd0, post[`CDE_POST_SLOT1_LSB + `CDE_SEGMENT_LENGTH_LSB +: 32]} : 34'd0;
    wire [33:0] length2 = segments > 8'd2 ? {2'd0, post[`CDE_POST_SLOT2_LSB + `CDE_SEGMENT_LENGTH_LSB +: 32]} : 34'd0;
    wire [33:0] sum = length0 + length1 + length2;
    wire        too_long = sum > 34'h0_8000_0000;
    wire        too_much = is_inline ? inline_bytes > row_most_inline : inline_bytes != 8'd0 || too_long;

    wire [33:0] length = is_inline ? {26'd0, inline_bytes} : sum;
    wire        missing = !is_inline && segments < {6'd0, row_least_segments};
    wire        wrong = missing || (row_exact && length != {2'd0, row_exact_length});

    assign bytes = row_counts ? length[31:0] : 32'd0;

    // Of the bits of remote write one is that of local write.
    wire        remote_write_alone = (flags & `CDE_POSTFLAG_ALLOW_REMOTE_WRITE) ==
                                     (`CDE_POSTFLAG_ALLOW_REMOTE_WRITE & ~`CDE_POSTFLAG_ALLOW_LOCAL_WRITE);

    always @* begin
        if ((post & `CDE_POST_RESERVED) != 512'd0) cause = `CDE_CAUSE_RESERVED_BITS;
        else if (!row_known) cause = `CDE_CAUSE_BAD_OPCODE;
        else if ((flags & ~row_flags) != 16'd0 || remote_write_alone) cause = `CDE_CAUSE_BAD_FLAGS;
        else if (segments > (is_inline ? 8'd0 : {6'd0, row_most_segments})) cause = `CDE_CAUSE_TOO_MANY_SEGMENTS;
        else if (too_much || wrong) cause = `CDE_CAUSE_BAD_LENGTH;
        else cause = 8'h00;
    end

endmodule

`default_nettype wire
