// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_verb through its ports.
//
// Purpose: posts of each request type, right ones and ones that differ in a field or a bit, against the table of request types (DF-14) and the
//          order of the causes of refusal. Compares the cause and each property of each post. The design may be the module or one of the netlist of
//          mutants.
// Ports:   none. Defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps
`include "cde_defs.vh"

module verb_exact;
    `include "exact.vh"

    reg  [511:0] post = 512'd0;
    wire [7:0]   cause;
    wire         is_local, is_read;
    wire [31:0]  bytes;
    wire [15:0]  result_type;

    `DUT dut (.post(post), .cause(cause), .is_local(is_local), .is_read(is_read), .bytes(bytes), .result_type(result_type) `SELECT);

    // ---------------------------------------------------------------- the model
    reg  [7:0]  opcode, segments, inline_bytes, want_cause;
    reg  [15:0] flags, allowed, want_type;
    reg         known, executes, reads, carries;
    reg  [31:0] want_bytes;
    reg  [63:0] length;
    integer     most, most_inline, k, pick;

    task wrong;
        input [8*24-1:0] what;
        begin
            $display("wrong: %0s: opcode %h, flags %h, segments %0d, inline %0d, length %0d: cause %h, want %h; bytes %0d, want %0d", what, opcode, flags,
                     segments, inline_bytes, length, cause, want_cause, bytes, want_bytes);
            $finish;
        end
    endtask

    task look_up;
        begin
            allowed = `CDE_POSTFLAG_SILENT_SUCCESS | `CDE_POSTFLAG_READ_FENCE | `CDE_POSTFLAG_DEFER;
            {known, executes, reads, carries, most, most_inline, want_type} = 0;
            if (opcode == `CDE_OPC_BIND || opcode == `CDE_OPC_FAST_REGISTER) begin
                {known, executes, most} = {2'b11, 32'd1};
                allowed = allowed | `CDE_POSTFLAG_ALLOW_REMOTE_READ | `CDE_POSTFLAG_ALLOW_REMOTE_WRITE;
                want_type = `CDE_CQETYPE_BIND;
            end
            if (opcode == `CDE_OPC_FAST_REGISTER) begin
                allowed = allowed | `CDE_POSTFLAG_RDMA_READ_SINK;
                want_type = `CDE_CQETYPE_FAST_REGISTER;
            end
            if (opcode == `CDE_OPC_INVALIDATE) {known, executes, want_type} = {2'b11, `CDE_CQETYPE_INVALIDATE};
            if (opcode == `CDE_OPC_READ) begin
                {known, reads, carries, most, want_type} = {3'b111, 32'd2, `CDE_CQETYPE_READ};
                allowed = allowed | `CDE_POSTFLAG_RDMA_READ_LOCAL_INVALIDATE;
            end
            if (opcode == `CDE_OPC_SEND || opcode == `CDE_OPC_SEND_AND_INVALIDATE || opcode == `CDE_OPC_WRITE) begin
                {known, carries, most, most_inline, want_type} = {2'b11, 32'd2, 32'd32, `CDE_CQETYPE_SEND};
                allowed = allowed | `CDE_POSTFLAG_INLINE;
                if (opcode == `CDE_OPC_WRITE) want_type = `CDE_CQETYPE_WRITE;
                else allowed = allowed | `CDE_POSTFLAG_SEND_AND_SOLICIT_EVENT;
                if (opcode == `CDE_OPC_SEND) {most, most_inline} = {32'd3, 32'd48};
            end
            if (!known) allowed = 16'd0;
        end
    endtask

    task judge;
        begin
            opcode = post[`CDE_POST_OPCODE_LSB +: 8];
            segments = post[`CDE_POST_SEGMENTS_LSB +: 8];
            flags = post[`CDE_POST_FLAGS_LSB +: 16];
            inline_bytes = post[`CDE_POST_INLINE_BYTES_LSB +: 8];
            look_up;
            length = 64'd0;
            for (k = 0; k < 3; k = k + 1) if (k < segments) length = length + post[`CDE_POST_SLOT0_LSB + 128*k + `CDE_SEGMENT_LENGTH_LSB +: 32];
            if (post[`CDE_POST_INLINE_LSB]) {most, want_bytes} = {32'd0, 24'd0, inline_bytes};
            else {most_inline, want_bytes} = {32'd0, length[31:0]};
            if (!carries) want_bytes = 32'd0;
            want_cause = 8'h00;
            // The first one counts.
            if (inline_bytes > most_inline || (!post[`CDE_POST_INLINE_LSB] && length > 64'h8000_0000)) want_cause = `CDE_CAUSE_BAD_LENGTH;
            if (segments > most) want_cause = `CDE_CAUSE_TOO_MANY_SEGMENTS;
            // Remote writes are two bits, of which the lower one stands for local writes.
            if ((flags | allowed) != allowed || post[`CDE_POST_ALLOW_REMOTE_WRITE_LSB +: 2] == 2'b10) want_cause = `CDE_CAUSE_BAD_FLAGS;
            if (!known) want_cause = `CDE_CAUSE_BAD_OPCODE;
            if (post[63:56] != 8'd0) want_cause = `CDE_CAUSE_RESERVED_BITS;
        end
    endtask

    // A post that breaks at most a few rules.
    task make;
        begin
            for (k = 0; k < 16; k = k + 1) post[32*k +: 32] = $random(seed);
            opcode = below(8) == 0 ? $random(seed) : 1 + below(7);
            look_up;
            post[`CDE_POST_OPCODE_LSB +: 8] = opcode;
            flags = allowed & $random(seed);
            if (below(4) != 0) flags = flags & ~`CDE_POSTFLAG_INLINE;
            if (below(8) == 0) flags = flags ^ (16'd1 << below(16));
            if (flags[5] && below(8) != 0) flags[4] = 1'b1;
            post[`CDE_POST_FLAGS_LSB +: 16] = flags;
            pick = flags & `CDE_POSTFLAG_INLINE;
            segments = pick != 0 && below(4) != 0 ? 0 : below(most + 2);
            if (below(16) == 0) segments = segments | (8'd1 << below(8));
            post[`CDE_POST_SEGMENTS_LSB +: 8] = segments;
            inline_bytes = pick != 0 ? below(most_inline + 2) : 0;
            if (below(16) == 0) inline_bytes = inline_bytes ^ (8'd1 << below(8));
            post[`CDE_POST_INLINE_BYTES_LSB +: 8] = inline_bytes;
            if (below(16) != 0) post[63:56] = 8'd0;
            else post[63:56] = 8'd1 << below(8);
            // Lengths: short ones, sums about the longest one, any.
            for (k = 0; k < 3; k = k + 1) begin
                case (below(4))
                    0: length = below(1000);
                    1: length = 32'h8000_0000 - below(3);
                    2: length = 32'h4000_0000 + below(3) - 1;
                    3: length = $random(seed) & $random(seed);
                endcase
                if (below(4) != 0) post[`CDE_POST_SLOT0_LSB + 128*k + `CDE_SEGMENT_LENGTH_LSB +: 32] = length;
                else post[`CDE_POST_SLOT0_LSB + 128*k + `CDE_SEGMENT_LENGTH_LSB +: 32] = 32'd0;
            end
        end
    endtask

    initial begin
        set_up(20000);
        for (n = 0; n < cycles; n = n + 1) begin
            make;
            judge;
            #1;
            if (cause !== want_cause) wrong("cause");
            if ({is_local, is_read, result_type} !== {executes, reads, want_type}) wrong("kind");
            if (bytes !== want_bytes) wrong("bytes");
        end
        passed;
    end

endmodule

`default_nettype wire
