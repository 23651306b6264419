// SPDX-License-Identifier: Apache-2.0
// cde_ram_read: the way of a read out of a memory (cde_ram).
//
// Purpose: what the memory gave is corrected, and replaced by the latest write of the word that is not in it: one of
//          the two cycles before the read, or of its own.
// Ports:   raddr; q_1 the code word of the read of the cycle before; the write itself and its steps
//          (cde_ctx_write); rdata; bad, lost report; heal the word in heal_data was corrected and is to be written
//          back, heal_addr.
// Latency: rdata belongs to the raddr of the cycle before; bad, lost and heal to that of two cycles before. With LATE a
//          cycle later each, and the write of the cycle after the read's is another that rdata includes.
`default_nettype none
`include "cde_mem.vh"

module cde_ram_read #(
    parameter W = 8,
    parameter AW = 4,
    parameter CW = 13,
    parameter LATE = 0      // what the memory gave is registered before it is corrected
) (
    input  wire          clk,
    input  wire          clear,
    input  wire [AW-1:0] raddr,
    input  wire [W-1:0]  q_1,
    input  wire [4*`CDE_ECC_SYNDROMES(W)-1:0] parts_1,

    input  wire          we0,
    input  wire [AW-1:0] waddr0,
    input  wire [W-1:0]  wdata0,
    input  wire          v0_1,
    input  wire [AW-1:0] at0_1,
    input  wire [W-1:0]  data0_1,
    input  wire          v0_2,
    input  wire [AW-1:0] at0_2,
    input  wire [W-1:0]  data0_2,
    input  wire [W-1:0]  data0_3,

    output wire [W-1:0]  rdata,
    output wire          bad,
    output wire          lost,
    output wire          heal,
    output reg  [AW-1:0] heal_addr,
    output reg  [W-1:0]  heal_data
);

    // Hits: by the write of the read's own cycle, of the cycle before, of two before
    reg [AW-1:0]  raddr_1;
    reg           any_1;
    reg           own0_1, one0_1;
    wire          own0 = we0 && waddr0 == raddr;
    wire          one0 = v0_1 && at0_1 == raddr;
    wire          two0 = v0_2 && at0_2 == raddr;
    wire [W-1:0]  fixed;
    wire [`CDE_ECC_SYNDROMES(W)-1:0] syndrome;
    reg  [`CDE_ECC_SYNDROMES(W)-1:0] syndrome_2;
    reg           written_2;
    wire          wrong_2, hopeless_2;
    wire          after_1 = we0 && waddr0 == raddr_1;
    wire [W-1:0]  fwd_1 = own0_1 ? data0_1 : one0_1 ? data0_2 : data0_3;
    // Of the read that is corrected
    wire [W-1:0]  q, fwd;
    wire [4*`CDE_ECC_SYNDROMES(W)-1:0] parts;
    wire [AW-1:0] at;
    wire          any, after;

    generate
        if (LATE != 0) begin : g_late
            reg [W-1:0]  q_2, fwd_2;
            reg [4*`CDE_ECC_SYNDROMES(W)-1:0] parts_2;
            reg [AW-1:0] raddr_2;
            reg          any_2;

            always @(posedge clk) begin
                {q_2, parts_2, raddr_2} <= {q_1, parts_1, raddr_1};
                any_2 <= any_1 || after_1;
                fwd_2 <= after_1 ? wdata0 : fwd_1;
            end

            assign {q, parts, at, any, fwd} = {q_2, parts_2, raddr_2, any_2, fwd_2};
            assign after = we0 && waddr0 == raddr_2;
        end else begin : g_soon
            wire unused = &{1'b0, wdata0};
            assign {q, parts, at, any, fwd} = {q_1, parts_1, raddr_1, any_1, fwd_1};
            assign after = after_1;
        end
    endgenerate

    cde_ecc_syndrome #(.W(W)) sum (.parts(parts), .syndrome(syndrome));
    cde_ecc_dec #(.W(W), .CW(CW)) dec (.data(q), .syndrome(syndrome), .fixed(fixed));
    cde_ecc_check #(.W(W), .CW(CW)) check (.syndrome(syndrome_2), .bad(wrong_2), .lost(hopeless_2));

    assign heal = wrong_2 && !hopeless_2 && !written_2;
    assign rdata = any ? fwd : fixed;

    // A read of the walk gives 0.
    always @(posedge clk) begin
        raddr_1 <= raddr;
        any_1 <= clear || own0 || one0 || two0;
        own0_1 <= clear || own0;
        one0_1 <= one0;
        syndrome_2 <= any ? {`CDE_ECC_SYNDROMES(W){1'b0}} : syndrome;
        written_2 <= after || clear;
        heal_addr <= at;
        heal_data <= fixed;
    end

    cde_mem_report #(.AW(AW)) report (
        .clk(clk), .clear(clear), .wrong(wrong_2), .hopeless(hopeless_2), .at(heal_addr), .bad(bad), .lost(lost)
    );

endmodule

`default_nettype wire
