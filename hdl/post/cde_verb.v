// SPDX-License-Identifier: Apache-2.0
// cde_verb: what the engine needs to know of each request type (DF-14).
//
// Purpose: the one place in the RTL that knows the verbs: legal flags, segments and lengths, kind, result type. Its
//          table, cde_verbs.vh, is made from models/verbs.
// Ports:   a post; the cause of refusal that its bits alone tell, and its properties.
// Latency: 4 cycles. Throughput: one post per cycle.
`default_nettype none
`include "cde_defs.vh"
`include "cde_post_records.vh"

module cde_verb (
    input  wire         clk,
    input  wire [511:0] post,
    output reg  [7:0]   cause,       // 0: none
    output reg          clean,       // there is none
    output reg  [1:0]   kind,        // CDE_KIND_*
    output reg  [31:0]  bytes,       // of a successful completion
    output reg  [15:0]  result_type
);

    wire [7:0]  opcode = post[`CDE_POST_OPCODE_LSB +: 8];
    wire [7:0]  segments = post[`CDE_POST_SEGMENTS_LSB +: 8];
    wire [15:0] flags = post[`CDE_POST_FLAGS_LSB +: 16];
    wire [7:0]  inline_bytes = post[`CDE_POST_INLINE_BYTES_LSB +: 8];
    wire        is_inline = post[`CDE_POST_INLINE_LSB];

    // The row of the table, and its fields: row_*.
    `include "cde_verbs.vh"

    wire        unused_post = &{1'b0, post};

    // ---------------------------------------------------------------- first cycle: all but lengths
    // Of the bits of remote write one is that of local write.
    wire        remote_write_alone = (flags & `CDE_POSTFLAG_ALLOW_REMOTE_WRITE) ==
                                     (`CDE_POSTFLAG_ALLOW_REMOTE_WRITE & ~`CDE_POSTFLAG_ALLOW_LOCAL_WRITE);
    reg         reserved_1, unknown_1, flags_1, many_1, inline_1, missing_1, exact_1, counts_1;
    reg  [31:0] length0_1, length1_1, length2_1, exact_length_1;
    reg  [1:0]  kind_1;
    reg  [15:0] type_1;

    always @(posedge clk) begin
        reserved_1 <= (post & `CDE_POST_RESERVED) != 512'd0;
        unknown_1 <= !row_known;
        flags_1 <= (flags & ~row_flags) != 16'd0 || remote_write_alone;
        many_1 <= segments > (is_inline ? 8'd0 : {6'd0, row_most_segments});
        inline_1 <= inline_bytes > (is_inline ? row_most_inline : 8'd0);
        missing_1 <= !is_inline && segments < {6'd0, row_least_segments};
        {exact_1, exact_length_1, counts_1, kind_1, type_1} <= {row_exact, row_exact_length, row_counts, row_kind,
            row_result_type};
        length0_1 <= post[`CDE_POST_SLOT0_LSB + `CDE_SEGMENT_LENGTH_LSB +: 32] & {32{segments != 8'd0}};
        length1_1 <= post[`CDE_POST_SLOT1_LSB + `CDE_SEGMENT_LENGTH_LSB +: 32] & {32{segments > 8'd1}};
        length2_1 <= is_inline ? {24'd0, inline_bytes}           // has no segments
                     : post[`CDE_POST_SLOT2_LSB + `CDE_SEGMENT_LENGTH_LSB +: 32] & {32{segments > 8'd2}};
    end

    // ---------------------------------------------------------------- two cycles: the length
    reg  [7:0]  cause_2, cause_3;            // of what the first cycle has found
    reg  [33:0] sum_2, length_3;
    reg  [31:0] length2_2, exact_length_2, exact_length_3;
    reg         exact_2, exact_3, counts_2, counts_3;
    reg  [1:0]  kind_2, kind_3;
    reg  [15:0] type_2, type_3;

    always @(posedge clk) begin
        if (reserved_1) cause_2 <= `CDE_CAUSE_RESERVED_BITS;
        else if (unknown_1) cause_2 <= `CDE_CAUSE_BAD_OPCODE;
        else if (flags_1) cause_2 <= `CDE_CAUSE_BAD_FLAGS;
        else if (many_1) cause_2 <= `CDE_CAUSE_TOO_MANY_SEGMENTS;
        else if (inline_1 || missing_1) cause_2 <= `CDE_CAUSE_BAD_LENGTH;
        else cause_2 <= 8'h00;
        cause_3 <= cause_2;
        sum_2 <= {2'd0, length0_1} + {2'd0, length1_1};
        length2_2 <= length2_1;
        length_3 <= sum_2 + {2'd0, length2_2};
        {exact_3, exact_2, counts_3, counts_2} <= {exact_2, exact_1, counts_2, counts_1};
        {exact_length_3, exact_length_2} <= {exact_length_2, exact_length_1};
        {kind_3, kind_2, type_3, type_2} <= {kind_2, kind_1, type_2, type_1};
    end

    // ---------------------------------------------------------------- last cycle: the cause
    wire        too_long = length_3 > 34'h0_8000_0000;
    wire        wrong = exact_3 && length_3 != {2'd0, exact_length_3};

    always @(posedge clk) begin
        cause <= cause_3 != 8'h00 ? cause_3 : too_long || wrong ? `CDE_CAUSE_BAD_LENGTH : 8'h00;
        clean <= cause_3 == 8'h00 && !(too_long || wrong);
        bytes <= length_3[31:0] & {32{counts_3}};
        {kind, result_type} <= {kind_3, type_3};
    end

endmodule

`default_nettype wire
