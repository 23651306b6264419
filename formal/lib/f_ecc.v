// SPDX-License-Identifier: Apache-2.0
// f_ecc: proof that the code of the memories corrects each wrong bit and reports each two (cde_ecc_enc, cde_ecc_dec).
//
// Purpose: any word of one lane is encoded, no bit, one or two of the code word are inverted, and what comes is
//          decoded; the same bits are what an injection of these numbers inverts (cde_flip), a cycle later.
// Ports:   free inputs: the word; the bits that are inverted, if any.
// Latency: combinational.
`default_nettype none
`include "cde_mem.vh"

module f_ecc #(
    parameter W = 16,
    parameter CW = W + `CDE_ECC_WORD(W)
) (
    input wire          clk,
    input wire [W-1:0]  data,
    input wire          flip,
    input wire [9:0]    at0,
    input wire [9:0]    at1
);

    localparam [CW-1:0] ONE = 1;

    wire [CW-1:0] plain;

    cde_ecc_enc #(.W(W), .CW(CW)) plain_i (.en(1'b1), .data(data), .code(plain));

    wire [CW-1:0] mask;
    reg [CW-1:0]  noise_1;
    reg           later = 1'b0;
    wire [W-1:0]  fixed;
    wire [CW-1:0] noise0 = flip ? ONE << at0 : {CW{1'b0}};
    wire [CW-1:0] noise1 = flip && at1 != at0 ? ONE << at1 : {CW{1'b0}};
    wire [CW-1:0] noise = noise0 | noise1;
    wire          bad, lost;
    wire [4*`CDE_ECC_SYNDROMES(W)-1:0] parts;
    wire [`CDE_ECC_SYNDROMES(W)-1:0] syndrome;

    cde_flip #(.CW(CW)) flip_i (.clk(clk), .at0(at0), .at1(at1), .mask(mask));
    wire [CW-1:0] wrong = plain ^ noise;
    cde_ecc_parts #(.W(W), .CW(CW)) parities_i (.code(wrong), .parts(parts));
    cde_ecc_syndrome #(.W(W)) sum_i (.parts(parts), .syndrome(syndrome));
    cde_ecc_dec #(.W(W), .CW(CW)) dec_i (.data(wrong[W-1:0]), .syndrome(syndrome), .fixed(fixed));
    cde_ecc_check #(.W(W), .CW(CW)) check (.syndrome(syndrome), .bad(bad), .lost(lost));

    always @(posedge clk) begin
        noise_1 <= (ONE << at0) | (ONE << at1);
        later <= 1'b1;
        if (later) flipped_on_demand: assert (mask == noise_1);
    end

    always @* begin
        assume (at0 < CW && at1 < CW);
        data_first: assert (plain[W-1:0] == data);
        wrong_is_reported: assert (bad == flip);
        two_are_lost: assert (lost == (flip && at0 != at1));
        if (!flip || at0 == at1) one_is_corrected: assert (fixed == data);
    end


endmodule

`default_nettype wire
