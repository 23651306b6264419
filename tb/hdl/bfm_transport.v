// SPDX-License-Identifier: Apache-2.0
//
// A transport in the harness, for runs at full rate: while cfg[0] is set it reports every remote request that it takes,
// in the order of the beats, cfg[31:16] cycles after the beat at the earliest (at least 1). A request fails with status
// cfg[15:8] when the low half of its context, masked with fail[31:0], is fail[63:32] and the mask is not 0. `stall`
// delays the reports.
`default_nettype none
`timescale 1ns / 1ps

module bfm_transport #(
    parameter LOG_DEPTH = 14
) (
    input  wire        clk,
    input  wire        rst,
    input  wire [31:0] cycle,
    input  wire [63:0] cfg,
    input  wire [63:0] fail,
    input  wire        stall,
    // Remote requests taken
    input  wire        take,
    input  wire [15:0] qp,
    input  wire [15:0] tag,
    input  wire [31:0] ctx,
    output wire        full,
    // Reports
    output reg         valid,
    input  wire        ready,
    output reg  [63:0] data,
    output wire        withhold // a report that is due is kept back by a stall
);
    reg  [71:0]        body [0:(1<<LOG_DEPTH)-1]; // cycle of the beat, status, tag, QP
    reg  [LOG_DEPTH:0] wp, rp;
    wire [LOG_DEPTH:0] level = wp - rp;
    wire [71:0]        head = body[rp[LOG_DEPTH-1:0]];
    wire [31:0]        age = cycle + 32'd1 - head[71:40];
    wire               fails = fail[31:0] != 32'd0 && (ctx & fail[31:0]) == fail[63:32];

    wire due = (!valid || ready) && level != 0 && age >= {16'd0, cfg[31:16]};
    assign withhold = due && stall;
    assign full = level > (1 << LOG_DEPTH) - 4;

    initial begin
        wp = 0;
        rp = 0;
        valid = 1'b0;
        data = 64'd0;
    end

    always @(posedge clk) begin
        if (rst) begin
            wp <= 0;
            rp <= 0;
            valid <= 1'b0;
        end else begin
            if (take && cfg[0]) begin
                body[wp[LOG_DEPTH-1:0]] <= {cycle, fails ? cfg[15:8] : 8'd0, tag, qp};
                wp <= wp + 1'b1;
            end
            if (!valid || ready) begin
                if (due && !stall) begin
                    valid <= 1'b1;
                    data <= {24'd0, head[39:0]};
                    rp <= rp + 1'b1;
                end else begin
                    valid <= 1'b0;
                    if (valid)
                        data <= ~data;
                end
            end
        end
    end
endmodule

`default_nettype wire
