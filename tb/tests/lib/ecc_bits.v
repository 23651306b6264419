// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_ecc_enc, cde_flip and cde_ecc_dec: every wrong bit and pairs of wrong bits of one word
// width, all pairs but those inside a full lane, of which it takes one in eight. Prints "passed", or what is wrong and
// ends.
`default_nettype none
`include "cde_mem.vh"

module ecc_bits;
    parameter W = 70;
    localparam CW = W + `CDE_ECC_WORD(W);
    localparam [CW-1:0] ONE = 1;

    reg  [W-1:0]  data;
    reg           clk = 1'b0, flip = 1'b0;
    reg  [9:0]    at0, at1;
    wire [CW-1:0] clean, code, mask;
    wire [W-1:0]  fixed;
    wire          bad, lost;
    wire [4*`CDE_ECC_SYNDROMES(W)-1:0] parts;
    wire [`CDE_ECC_SYNDROMES(W)-1:0] syndrome;
    integer       i;
    integer       k;

    cde_flip #(.CW(CW)) flips (.clk(clk), .at0(at0), .at1(at1), .mask(mask));
    cde_ecc_enc #(.W(W), .CW(CW)) enc (.en(1'b1), .data(data), .code(clean));
    assign code = flip ? clean ^ mask : clean;
    cde_ecc_parts #(.W(W), .CW(CW)) parities (.code(code), .parts(parts));
    cde_ecc_syndrome #(.W(W)) sum (.parts(parts), .syndrome(syndrome));
    cde_ecc_dec #(.W(W), .CW(CW)) dec (.data(code[W-1:0]), .syndrome(syndrome), .fixed(fixed));
    cde_ecc_check #(.W(W), .CW(CW)) check (.syndrome(syndrome), .bad(bad), .lost(lost));

    // Which lane a bit of the code word belongs to: CDE_ECC_D data bits, CDE_ECC_R check bits.
    function integer lane;
        input integer at;
        lane = at < W ? at / `CDE_ECC_D : (at - W) / `CDE_ECC_R;
    endfunction

    task wrong;
        input [8*24-1:0] what;
        begin
            $display("wrong: %0s: bits %0d and %0d", what, i, k);
            $finish;
        end
    endtask

    // A pair that a proof of full lanes covers (formal/lib).
    function inside_full_lane;
        input integer one;
        input integer two;
        inside_full_lane = one != two && lane(one) == lane(two) && W >= `CDE_ECC_D * (lane(one) + 1);
    endfunction

    initial begin
        for (i = 0; i < CW; i = i + 1) begin
            for (k = i; k < CW; k = k + 1) begin
                if (!inside_full_lane(i, k) || (i + k) % 8 == 0) begin
                    data = {17{$random}} ^ ({17{$random}} << 13) ^ ({17{$random}} << 29);
                    at0 = i;
                    at1 = k;
                    flip = 1'b0;
                    #1 clk = 1'b1;
                    #1 clk = 1'b0;
                    if (bad || lost || fixed !== data) wrong("report of a code word");
                    flip = 1'b1;
                    #1;
                    if (code !== (clean ^ ((ONE << i) | (ONE << k)))) wrong("not inverted");
                    if (!bad) wrong("not noticed");
                    if (lost !== (i != k && lane(i) == lane(k))) wrong("lost or not");
                    if (!lost && fixed !== data) wrong("not corrected");
                end
            end
        end
        at0 = CW;
        at1 = CW;
        #1 clk = 1'b1;
        #1;
        if (bad) wrong("inverted after the last");
        $display("passed");
        $finish;
    end

endmodule

`default_nettype wire
