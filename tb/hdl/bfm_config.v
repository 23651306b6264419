// SPDX-License-Identifier: Apache-2.0
//
// Settings: items for channel 128 + n set word n of `cfg`. See bfm_queue for the format of a load.
`default_nettype none
`timescale 1ns / 1ps

module bfm_config #(
    parameter COUNT = 24,
    parameter LD_WORDS = 128
) (
    input  wire                   clk,
    input  wire                   ld_toggle,
    input  wire [LD_WORDS*64-1:0] ld_data,
    output reg  [COUNT*64-1:0]    cfg
);
    reg        ld_seen;
    reg [63:0] head;
    integer    pos;

    initial begin
        ld_seen = 1'b0;
        cfg = 0;
    end

    always @(negedge clk) begin
        if (ld_toggle != ld_seen) begin
            ld_seen = ld_toggle;
            if (ld_data[63]) begin
                pos = 1;
                head = ld_data[64 +: 64];
                while (head[7:0] != 8'd0) begin
                    if (head[7])
                        cfg[head[6:0]*64 +: 64] = ld_data[(pos + 1)*64 +: 64];
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
