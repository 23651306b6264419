// SPDX-License-Identifier: Apache-2.0
//
// Pairs addresses with data: the n-th address with the n-th data. `hit` is high in the cycle of the later of the two
// handshakes.
`default_nettype none
`timescale 1ns / 1ps

module bfm_join #(
    parameter AW = 64,        // bits of an address
    parameter DW = 576,       // bits of a data item
    parameter LOG_DEPTH = 11
) (
    input  wire          clk,
    input  wire          rst,
    input  wire          a_push,
    input  wire [AW-1:0] a_in,
    input  wire          d_push,
    input  wire [DW-1:0] d_in,
    output wire          hit,
    output wire [AW-1:0] a_out,
    output wire [DW-1:0] d_out,
    output wire          a_full,
    output wire          d_full
);
    reg [AW-1:0] a_mem [0:(1<<LOG_DEPTH)-1];
    reg [DW-1:0] d_mem [0:(1<<LOG_DEPTH)-1];
    reg [LOG_DEPTH:0] a_wp, d_wp, rp;

    wire [LOG_DEPTH:0] a_level = a_wp - rp;
    wire [LOG_DEPTH:0] d_level = d_wp - rp;
    wire               a_any = a_wp != rp;
    wire               d_any = d_wp != rp;

    assign hit = (a_push || a_any) && (d_push || d_any);
    assign a_out = a_any ? a_mem[rp[LOG_DEPTH-1:0]] : a_in;
    assign d_out = d_any ? d_mem[rp[LOG_DEPTH-1:0]] : d_in;
    assign a_full = a_level > (1 << LOG_DEPTH) - 4;
    assign d_full = d_level > (1 << LOG_DEPTH) - 4;

    initial begin
        a_wp = 0;
        d_wp = 0;
        rp = 0;
    end

    always @(posedge clk) begin
        if (rst) begin
            a_wp <= 0;
            d_wp <= 0;
            rp <= 0;
        end else begin
            if (a_push) begin
                a_mem[a_wp[LOG_DEPTH-1:0]] <= a_in;
                a_wp <= a_wp + 1'b1;
            end
            if (d_push) begin
                d_mem[d_wp[LOG_DEPTH-1:0]] <= d_in;
                d_wp <= d_wp + 1'b1;
            end
            if (hit)
                rp <= rp + 1'b1;
        end
    end
endmodule

`default_nettype wire
