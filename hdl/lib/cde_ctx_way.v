// SPDX-License-Identifier: Apache-2.0
// cde_ctx_way: where a port of a memory of contexts writes (cde_ctx, cde_ctx_2w).
//
// Purpose: a pipeline writes the word that it read STEPS cycles before, so the address of a write is known a cycle
//          ahead of it. With STEPS = 0 writes go to waddr, and nothing is known ahead.
// Ports:   raddr_1 where the port read in the cycle before, its waddr; at address of this cycle's write, ahead that of
//          the next one's.
// Latency: none with STEPS = 0; else at is the read address of STEPS cycles before.
`default_nettype none

module cde_ctx_way #(
    parameter AW = 4,
    parameter STEPS = 0
) (
    input  wire          clk,
    input  wire [AW-1:0] raddr_1,
    input  wire [AW-1:0] waddr,
    output wire [AW-1:0] at,
    output wire [AW-1:0] ahead
);

    generate
        if (STEPS == 0) begin : g_free
            wire unused = &{1'b0, clk, raddr_1};
            assign at = waddr;
            assign ahead = waddr;
        end else begin : g_pipeline
            reg [AW*(STEPS-1)-1:0] past;
            wire               unused = &{1'b0, waddr};

            always @(posedge clk) past <= {past[AW*(STEPS-2)-1:0], raddr_1};
            assign at = past[AW*(STEPS-2) +: AW];
            assign ahead = past[AW*(STEPS-3) +: AW];
        end
    endgenerate

endmodule

`default_nettype wire
