// SPDX-License-Identifier: Apache-2.0
// cde_words: code words of a memory with one write port and one read port.
//
// Purpose: a memory of at most 64 words is a distributed one: what it answers comes out of registers, so its user has
//          the cycle to itself, and the first level of its decoder is before them; of at most SMALL address bits,
//          after them. A block RAM answers late.
// Ports:   write port (we, waddr, code), read port (raddr, the data q and the parities of parts: cde_ecc_parts).
// Latency: q and parts belong to the raddr of the cycle before. A read at the edge of a write of its word has no value.
`default_nettype none
`include "cde_mem.vh"

module cde_words #(
    parameter W = 8,    // data bits of a word
    parameter AW = 4,   // address bits
    parameter CW = 13,  // bits of a code word
    parameter SMALL = 6 // address bits of the largest distributed memory
) (
    input  wire           clk,
    input  wire           we,
    input  wire [AW-1:0]  waddr,
    input  wire [CW-1:0]  code,
    input  wire [AW-1:0]  raddr,
    output wire [W-1:0]   q,
    output wire [4*`CDE_ECC_SYNDROMES(W)-1:0] parts
`ifdef FORMAL
    , output wire [(CW << AW) - 1:0] codes      // all words as they are stored
`endif
);

`ifdef FORMAL
    genvar i;
`endif

    generate
        if (AW <= 6) begin : g_small
            (* no_rw_check, ram_style = "distributed" *)
            reg [CW-1:0] mem [0:(1 << AW) - 1];
            wire [CW-1:0] word = mem[raddr];
            wire [4*`CDE_ECC_SYNDROMES(W)-1:0] parts_0;
            reg  [4*`CDE_ECC_SYNDROMES(W)-1:0] parts_1;
            reg  [W-1:0] q_1;

            cde_ecc_parts #(.W(W), .CW(CW)) parities (.code(word), .parts(parts_0));

            assign {q, parts} = {q_1, parts_1};

            always @(posedge clk) begin
                if (we) mem[waddr] <= code;
                q_1 <= word[W-1:0];
                parts_1 <= parts_0;
            end
`ifdef FORMAL
            for (i = 0; i < (1 << AW); i = i + 1) begin : f_words
                assign codes[i * CW +: CW] = mem[i];
            end
`endif
        end else if (AW <= SMALL) begin : g_middle
            // Its many words are as deep as that level. As g_large but for the style, which no parameter can choose in
            // all tools.
            (* no_rw_check, ram_style = "distributed" *)
            reg [CW-1:0] mem [0:(1 << AW) - 1];
            reg [CW-1:0] word_1;

            cde_ecc_parts #(.W(W), .CW(CW)) parities (.code(word_1), .parts(parts));

            assign q = word_1[W-1:0];

            always @(posedge clk) begin
                if (we) mem[waddr] <= code;
                word_1 <= mem[raddr];
            end
`ifdef FORMAL
            for (i = 0; i < (1 << AW); i = i + 1) begin : f_words
                assign codes[i * CW +: CW] = mem[i];
            end
`endif
        end else begin : g_large
            (* no_rw_check *)
            reg [CW-1:0] mem [0:(1 << AW) - 1];

            reg [CW-1:0] word_1;

            cde_ecc_parts #(.W(W), .CW(CW)) parities (.code(word_1), .parts(parts));

            assign q = word_1[W-1:0];

            always @(posedge clk) begin
                if (we) mem[waddr] <= code;
                word_1 <= mem[raddr];
            end
`ifdef FORMAL
            for (i = 0; i < (1 << AW); i = i + 1) begin : f_words
                assign codes[i * CW +: CW] = mem[i];
            end
`endif
        end
    endgenerate

endmodule

`default_nettype wire
