// SPDX-License-Identifier: Apache-2.0
// f_ecc: proof that the code of the memories corrects each wrong bit and reports each two (cde_ecc_enc, cde_ecc_dec).
//
// Purpose: any word of one lane is encoded, no bit, one or two of the code word are inverted, by the encoder on demand or on the way, and what
//          comes is decoded. Of a full lane that is too much for a solver at once, so it is taken in two steps. With FLIPS: for each data bit, inverting it
//          in any word changes the check bits as it changes those of the word 0. With FLIPS_PROVEN that is taken for granted, first of the word, then of the
//          word with its first wrong bit.
// Ports:   free inputs: the word; the bits that are inverted, if any.
// Latency: combinational.
`default_nettype none
`include "cde_mem.vh"

module f_ecc #(
    parameter W = 16,
    parameter CW = W + `CDE_ECC_WORD(W)
) (
    input wire [W-1:0]  data,
    input wire          flip,
    input wire [9:0]    at0,
    input wire [9:0]    at1
);

    localparam [CW-1:0] ONE = 1;

    wire [CW-1:0] plain;

    cde_ecc_enc #(.W(W), .CW(CW)) plain_i (.en(1'b1), .flip(1'b0), .at0(10'd0), .at1(10'd0), .data(data), .code(plain));

`ifdef FLIPS
    wire [W-1:0] same;
    genvar j;
    generate
        for (j = 0; j < W; j = j + 1) begin : bits
            wire [CW-1:0] changed, column;
            cde_ecc_enc #(.W(W), .CW(CW)) changed_i (
                .en(1'b1), .flip(1'b0), .at0(10'd0), .at1(10'd0), .data(data ^ (ONE[W-1:0] << j)), .code(changed)
            );
            cde_ecc_enc #(.W(W), .CW(CW)) column_i (
                .en(1'b1), .flip(1'b0), .at0(10'd0), .at1(10'd0), .data(ONE[W-1:0] << j), .code(column)
            );
            assign same[j] = (plain ^ changed) == column;
        end
    endgenerate
    always @* each_bit: assert (&same);
`else
    wire [CW-1:0] code;
    wire [W-1:0]  fixed;
    wire [CW-1:0] noise0 = flip ? ONE << at0 : {CW{1'b0}};
    wire [CW-1:0] noise1 = flip && at1 != at0 ? ONE << at1 : {CW{1'b0}};
    wire [CW-1:0] noise = noise0 | noise1;
    wire          bad, lost;

    cde_ecc_enc #(.W(W), .CW(CW)) flipped_i (.en(1'b1), .flip(flip), .at0(at0), .at1(at1), .data(data), .code(code));
    cde_ecc_dec #(.W(W), .CW(CW)) dec_i (.en(1'b1), .code(plain ^ noise), .fixed(fixed), .bad(bad), .lost(lost));

    always @* begin
        assume (at0 < CW && at1 < CW);
        data_first: assert (plain[W-1:0] == data);
        flipped_on_demand: assert (code == (plain ^ noise));
        wrong_is_reported: assert (bad == flip);
        two_are_lost: assert (lost == (flip && at0 != at1));
        if (!flip || at0 == at1) one_is_corrected: assert (fixed == data);
    end

`ifdef FLIPS_PROVEN
    // The word with its first wrong bit, and with both; what each of the two changes
    wire [CW-1:0] first, both, column0, column1;
    cde_ecc_enc #(.W(W), .CW(CW)) first_i (.en(1'b1), .flip(1'b0), .at0(10'd0), .at1(10'd0), .data(plain[W-1:0] ^ noise0[W-1:0]), .code(first));
    cde_ecc_enc #(.W(W), .CW(CW)) both_i (.en(1'b1), .flip(1'b0), .at0(10'd0), .at1(10'd0), .data(plain[W-1:0] ^ noise[W-1:0]), .code(both));
    cde_ecc_enc #(.W(W), .CW(CW)) column0_i (.en(1'b1), .flip(1'b0), .at0(10'd0), .at1(10'd0), .data(noise0[W-1:0]), .code(column0));
    cde_ecc_enc #(.W(W), .CW(CW)) column1_i (.en(1'b1), .flip(1'b0), .at0(10'd0), .at1(10'd0), .data(noise1[W-1:0]), .code(column1));
    always @* assume ((plain ^ first) == column0 && (first ^ both) == column1);
`endif
`endif

endmodule

`default_nettype wire
