// SPDX-License-Identifier: Apache-2.0
//
// Queue of items that Python loads in bulk.
//
// A load is one wide vector of 64-bit words: word 0 has one bit per channel that occurs in it, then come items until a
// word of 0 or the end. An item is a head (7:0 channel, 15:8 number of words that follow, 31:16 gap, 63:32 earliest
// cycle) and its words; words left out at the end are 0. Every queue picks its own items from the same load.
//
// Loads are taken at the falling edge, so that whoever reads the queue at the rising edge races with nobody. An item is
// seen at the rising edge after its load.
`default_nettype none
`timescale 1ns / 1ps

module bfm_queue #(
    parameter CH = 1,          // channel number, 1 to 62
    parameter WORDS = 1,       // words of an item
    parameter LOG_DEPTH = 10,
    parameter LD_WORDS = 128
) (
    input  wire                   clk,
    // Load
    input  wire                   ld_toggle,
    input  wire [LD_WORDS*64-1:0] ld_data,
    // Reader: keeps the read pointer
    input  wire [LOG_DEPTH-1:0]   rptr,
    output wire                   present,
    output wire [31:0]            at,
    output wire [15:0]            gap,
    output wire [WORDS*64-1:0]    item,
    output reg  [LOG_DEPTH-1:0]   wptr,
    output reg                    overflow
);
    reg [WORDS*64-1:0] body [0:(1<<LOG_DEPTH)-1];
    reg [47:0]         when_ [0:(1<<LOG_DEPTH)-1];

    assign present = rptr != wptr;
    assign item = body[rptr];
    assign gap = when_[rptr][15:0];
    assign at = when_[rptr][47:16];

    reg                ld_seen;
    reg [63:0]         head;
    reg [WORDS*64-1:0] fresh;
    integer            pos;
    integer            i;

    initial begin
        ld_seen = 1'b0;
        wptr = 0;
        overflow = 1'b0;
    end

    always @(negedge clk) begin
        if (ld_toggle != ld_seen) begin
            ld_seen = ld_toggle;
            if (ld_data[CH]) begin
                pos = 1;
                head = ld_data[64 +: 64];
                while (head[7:0] != 8'd0) begin
                    if (head[7:0] == CH) begin
                        fresh = 0;
                        for (i = 0; i < head[15:8]; i = i + 1)
                            fresh[i*64 +: 64] = ld_data[(pos + 1 + i)*64 +: 64];
                        body[wptr] = fresh;
                        when_[wptr] = head[63:16];
                        wptr = wptr + 1'b1;
                        if (wptr == rptr)
                            overflow = 1'b1;
                    end
                    pos = pos + 1 + {24'd0, head[15:8]};
                    if (pos < LD_WORDS)
                        head = ld_data[pos*64 +: 64];
                    else
                        head = 64'd0;
                end
            end
        end
    end
endmodule

`default_nettype wire
