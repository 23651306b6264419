// SPDX-License-Identifier: Apache-2.0
// cde_ctx_read: the way of a read out of a memory of contexts (cde_ctx, cde_ctx_2w).
//
// Purpose: what the memory gave, registered with its parities, is corrected, and replaced by the latest write not in
//          it: that of the cycle before the read, of its own, or of the two after it, by either write port; of one
//          cycle port 1 wins. All but the last are compared in one cycle and chosen in the next. A wrong word is
//          reported once while it is read again within three reads.
// Ports:   raddr_1 address of the read of the cycle before; q_2 data and syndrome_2 syndrome (cde_ecc_syndrome) of the
//          read of two cycles before; of each write port the write itself and its steps (cde_ctx_write), with AHEAD the
//          address of the write of the cycle after (ahead0, ahead1); rdata; bad, lost report; heal the word in rdata
//          was corrected and is to be written back, heal_addr.
// Latency: rdata, bad, lost and heal belong to the raddr_1 of two cycles before.
`default_nettype none
`include "cde_mem.vh"

module cde_ctx_read #(
    parameter W = 8,
    parameter AW = 4,
    parameter CW = 13,
    parameter AHEAD = 0     // addresses of writes are known a cycle before them
) (
    input  wire          clk,
    input  wire          clear,
    input  wire [AW-1:0] raddr_1,
    input  wire [W-1:0]  q_2,
    input  wire [`CDE_ECC_SYNDROMES(W)-1:0] syndrome_2,

    input  wire          we0,
    input  wire [AW-1:0] waddr0,
    input  wire [AW-1:0] ahead0,
    input  wire [W-1:0]  wdata0,
    input  wire          v0_1,
    input  wire [AW-1:0] at0_1,
    input  wire [W-1:0]  data0_1,
    input  wire          v0_2,
    input  wire [AW-1:0] at0_2,
    input  wire [W-1:0]  data0_2,
    input  wire [W-1:0]  data0_3,

    input  wire          we1,
    input  wire [AW-1:0] waddr1,
    input  wire [AW-1:0] ahead1,
    input  wire [W-1:0]  wdata1,
    input  wire          late1,             // it writes alt1 instead
    input  wire [W-1:0]  alt1,
    input  wire          v1_1,
    input  wire [AW-1:0] at1_1,
    input  wire [W-1:0]  data1_1,
    input  wire          v1_2,
    input  wire [AW-1:0] at1_2,
    input  wire [W-1:0]  data1_2,
    input  wire [W-1:0]  data1_3,

    output reg  [W-1:0]  rdata,
    output wire          bad,
    output wire          lost,
    output wire          heal,
    output reg  [AW-1:0] heal_addr
);

    reg [AW-1:0]  raddr_2;
    reg           ok_1, ok_2;                       // read after the clearing walk
    // Hits of port 0 and port 1: by the write of the cycle before the read, of its own cycle, and of the two after it
    wire          one0_1 = v0_2 && at0_2 == raddr_1, one1_1 = v1_2 && at1_2 == raddr_1;
    wire          own0_1 = v0_1 && at0_1 == raddr_1, own1_1 = v1_1 && at1_1 == raddr_1;
    wire          next0_1 = we0 && waddr0 == raddr_1, next1_1 = we1 && waddr1 == raddr_1;
    reg           one0_2, one1_2, own0_2, own1_2, next0_2, next1_2;     // the latest of them
    reg           any_2;                                                // any of them
    reg           same0_2, same1_2;
    wire          last0_2 = we0 && (AHEAD != 0 ? same0_2 : waddr0 == raddr_2);
    wire          last1_2 = we1 && (AHEAD != 0 ? same1_2 : waddr1 == raddr_2);
    wire [W-1:0]  fwd_2 = (data1_1 & {W{next1_2}}) | (data0_1 & {W{next0_2}}) | (data1_2 & {W{own1_2}}) |
                          (data0_2 & {W{own0_2}}) | (data1_3 & {W{one1_2}}) | (data0_3 & {W{one0_2}});
    reg  [`CDE_ECC_SYNDROMES(W)-1:0] syndrome_3;
    wire          counts_2 = ok_2 && !any_2 && !last0_2 && !last1_2;
    wire [W-1:0]  fixed_2;
    wire          wrong_3, hopeless_3;

    cde_ecc_dec #(.W(W), .CW(CW)) dec (.data(q_2), .syndrome(syndrome_2), .fixed(fixed_2));
    cde_ecc_check #(.W(W), .CW(CW)) check (.syndrome(syndrome_3), .bad(wrong_3), .lost(hopeless_3));

    assign heal = wrong_3 && !hopeless_3;

    always @(posedge clk) begin
        ok_1 <= !clear;

        raddr_2 <= raddr_1;
        ok_2 <= ok_1 && !clear;
        any_2 <= one0_1 || one1_1 || own0_1 || own1_1 || next0_1 || next1_1;
        next1_2 <= next1_1;
        next0_2 <= next0_1 && !next1_1;
        own1_2 <= own1_1 && !next0_1 && !next1_1;
        own0_2 <= own0_1 && !own1_1 && !next0_1 && !next1_1;
        one1_2 <= one1_1 && !own0_1 && !own1_1 && !next0_1 && !next1_1;
        one0_2 <= one0_1 && !one1_1 && !own0_1 && !own1_1 && !next0_1 && !next1_1;
        same0_2 <= ahead0 == raddr_1;
        same1_2 <= ahead1 == raddr_1;

        // Written values come late, late1 the latest.
        rdata <= late1 && last1_2 ? alt1 : last1_2 ? wdata1 : last0_2 ? wdata0 : fwd_2 | (fixed_2 & {W{!any_2}});
        syndrome_3 <= counts_2 ? syndrome_2 : {`CDE_ECC_SYNDROMES(W){1'b0}};
        heal_addr <= raddr_2;
    end

    cde_mem_report #(.AW(AW)) report (
        .clk(clk), .clear(clear), .wrong(wrong_3), .hopeless(hopeless_3), .at(heal_addr), .bad(bad), .lost(lost)
    );

endmodule

`default_nettype wire
