// SPDX-License-Identifier: Apache-2.0
//
// Decides with which response a memory write will be answered. Eight rules; the first that matches and has no skips
// left wins. A rule (written by an item of channel CH): word 0 = 2:0 number, 8 enable, 9 match the AXI ID, 11:10
// response, 12 the data reaches memory in spite of it, 31:16 AXI ID, 47:32 writes to skip, 63:48 writes to fail
// (0xFFFF: no end); word 1 = address bits to compare, word 2 = their value.
// `resp` and `lands` are valid in the cycle of `hit`.
`default_nettype none
`timescale 1ns / 1ps

module bfm_faults #(
    parameter CH = 1,
    parameter ID_W = 7,
    parameter LD_WORDS = 128
) (
    input  wire                   clk,
    input  wire                   ld_toggle,
    input  wire [LD_WORDS*64-1:0] ld_data,
    input  wire                   hit,
    input  wire [ID_W-1:0]        id,
    input  wire [63:0]            addr,
    output reg  [1:0]             resp,
    output reg                    lands,
    output wire                   overflow
);
    localparam RULES = 8;

    reg [5:0]          rptr;
    wire               present;
    wire [31:0]        at;
    wire [15:0]        gap;
    wire [191:0]       item;
    wire [5:0]         wptr;
    reg  [RULES-1:0]   enable;
    reg  [RULES-1:0]   match;
    reg  [RULES-1:0]   fires;
    reg  [63:0]        rule [0:RULES-1];
    reg  [63:0]        mask [0:RULES-1];
    reg  [63:0]        value [0:RULES-1];
    reg  [15:0]        skip [0:RULES-1];
    reg  [15:0]        left [0:RULES-1];
    integer            i;
    integer            k;
    integer            r;

    bfm_queue #(.CH(CH), .WORDS(3), .LOG_DEPTH(6), .LD_WORDS(LD_WORDS)) u_queue (
        .clk(clk), .ld_toggle(ld_toggle), .ld_data(ld_data),
        .rptr(rptr), .present(present), .at(at), .gap(gap), .item(item), .wptr(wptr), .overflow(overflow)
    );

    initial begin
        rptr = 0;
        enable = 0;
        for (r = 0; r < RULES; r = r + 1) begin
            rule[r] = 64'd0;
            mask[r] = 64'd0;
            value[r] = 64'd0;
            skip[r] = 16'd0;
            left[r] = 16'd0;
        end
    end

    always @* begin
        resp = 2'b00;
        lands = 1'b1;
        match = 0;
        fires = 0;
        if (enable != 0) begin
            for (i = RULES - 1; i >= 0; i = i - 1) begin
                match[i] = enable[i] && (!rule[i][9] || rule[i][16 +: ID_W] == id)
                    && ((addr ^ value[i]) & mask[i]) == 64'd0;
                if (match[i] && skip[i] == 16'd0) begin
                    fires = 0;
                    fires[i] = 1'b1;
                    resp = rule[i][11:10];
                    lands = rule[i][12];
                end
            end
        end
    end

    always @(posedge clk) begin
        if (hit && enable != 0) begin
            for (k = 0; k < RULES; k = k + 1) begin
                if (match[k] && skip[k] != 16'd0)
                    skip[k] <= skip[k] - 16'd1;
                if (fires[k] && left[k] != 16'hFFFF) begin
                    left[k] <= left[k] - 16'd1;
                    if (left[k] == 16'd1)
                        enable[k] <= 1'b0;
                end
            end
        end
        if (present) begin
            rptr <= rptr + 1'b1;
            enable[item[2:0]] <= item[8];
            rule[item[2:0]] <= item[63:0];
            mask[item[2:0]] <= item[127:64];
            value[item[2:0]] <= item[191:128];
            skip[item[2:0]] <= item[47:32];
            left[item[2:0]] <= item[63:48];
        end
    end

    wire unused_ok = &{1'b0, at, gap, wptr};
endmodule

`default_nettype wire
