// SPDX-License-Identifier: Apache-2.0
// cde_lanes: code words of a memory of contexts, each lane (cde_ecc.vh) in a memory of its own.
//
// Purpose: the bits whose parity is taken after a read stand side by side: a lane fits the width of one block RAM, its
//          data and check bits with it. CW = W: no code, one lane.
// Ports:   write port (we, waddr, code), R read ports (raddr, q).
// Latency: q belongs to the raddr of the cycle before. A read at the edge of a write of its word has no value.
`default_nettype none
`include "cde_mem.vh"

module cde_lanes #(
    parameter W = 8,    // data bits of a word
    parameter AW = 4,   // address bits
    parameter CW = 13,  // bits of a code word
    parameter R = 1     // read ports
) (
    input  wire            clk,
    input  wire            we,
    input  wire [AW-1:0]   waddr,
    input  wire [CW-1:0]   code,
    input  wire [R*AW-1:0] raddr,
    output wire [R*CW-1:0] q
`ifdef FORMAL
    , output wire [(CW << AW) - 1:0] codes      // all words as they are stored
`endif
);

    localparam LANE = CW == W ? W : `CDE_ECC_D;
    localparam LANES = (W + LANE - 1) / LANE;
    genvar     i, r;

    generate
        for (i = 0; i < LANES; i = i + 1) begin : g_lane
            localparam D = i == LANES - 1 ? W - LANE * i : LANE;
            localparam C = CW == W ? 0 : `CDE_ECC_LANE(D);
            localparam AT = CW == W ? 0 : W + `CDE_ECC_R * i;   // of its check bits
            (* no_rw_check *)
            reg [D+C-1:0] mem [0:(1 << AW) - 1];

            if (C == 0) begin : g_plain
                always @(posedge clk) if (we) mem[waddr] <= code;
            end else begin : g_code
                always @(posedge clk) if (we) mem[waddr] <= {code[AT +: C], code[LANE*i +: D]};
            end

            for (r = 0; r < R; r = r + 1) begin : g_read
                reg [D+C-1:0] word;
                always @(posedge clk) word <= mem[raddr[r*AW +: AW]];
                assign q[r*CW + LANE*i +: D] = word[D-1:0];
                if (C != 0) begin : g_check
                    assign q[r*CW + AT +: C] = word[D +: C];
                end
            end
`ifdef FORMAL
            for (r = 0; r < (1 << AW); r = r + 1) begin : f_words
                assign codes[r*CW + LANE*i +: D] = mem[r][D-1:0];
                if (C != 0) begin : f_check
                    assign codes[r*CW + AT +: C] = mem[r][D +: C];
                end
            end
`endif
        end
    endgenerate

endmodule

`default_nettype wire
