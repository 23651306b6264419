// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_ecc_enc and cde_ecc_dec: every wrong bit and every pair of wrong bits of one word width. Prints "passed" or
// what is wrong.
`default_nettype none
`include "cde_mem.vh"

module code_bench;
    parameter W = 70;
    localparam CW = W + `CDE_ECC_WORD(W);
    localparam [CW-1:0] ONE = 1;

    reg  [W-1:0]  data;
    reg           flip = 1'b0;
    reg  [9:0]    at0, at1;
    wire [CW-1:0] clean, code;
    wire [W-1:0]  fixed;
    wire          bad, lost;
    integer       i;
    integer       k;

    cde_ecc_enc #(.W(W), .CW(CW)) enc (.en(1'b1), .flip(flip), .at0(at0), .at1(at1), .data(data), .code(code));
    cde_ecc_enc #(.W(W), .CW(CW)) ref (.en(1'b1), .flip(1'b0), .at0(10'd0), .at1(10'd0), .data(data), .code(clean));
    cde_ecc_dec #(.W(W), .CW(CW)) dec (.en(1'b1), .code(code), .fixed(fixed), .bad(bad), .lost(lost));

    // Which lane a bit of the code word belongs to: 64 data bits, 8 check bits.
    function integer lane;
        input integer at;
        lane = at < W ? at / 64 : (at - W) / 8;
    endfunction

    initial begin
        for (i = 0; i < CW; i = i + 1) begin
            for (k = i; k < CW; k = k + 1) begin
                data = {17{$random}} ^ ({17{$random}} << 13) ^ ({17{$random}} << 29);
                at0 = i;
                at1 = k;
                flip = 1'b0;
                #1;
                if (bad || lost || fixed !== data) $display("wrong: a code word is reported");
                flip = 1'b1;
                #1;
                if (code !== (clean ^ ((ONE << i) | (ONE << k)))) $display("wrong: bits %0d and %0d are not inverted", i, k);
                if (!bad) $display("wrong: bits %0d and %0d are not noticed", i, k);
                if (lost !== (i != k && lane(i) == lane(k))) $display("wrong: bits %0d and %0d: lost is %b", i, k, lost);
                if (!lost && fixed !== data) $display("wrong: bits %0d and %0d are not corrected", i, k);
            end
        end
        at0 = CW;
        at1 = CW;
        #1;
        if (bad) $display("wrong: a bit behind the last one was inverted");
        $display("passed");
        $finish;
    end

endmodule

`default_nettype wire
