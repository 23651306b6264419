// SPDX-License-Identifier: Apache-2.0
// cde_ram: memory with one write port and one synchronous read port that never returns stale data, and corrects a wrong
// bit.
//
// Purpose: context storage of the pipelines. A read sees every write up to and including the one of its own clock edge,
//          so a read-modify-write pipeline whose write follows its read by one cycle needs no further forwarding. A
//          write is registered before it is encoded and again before it is stored, and forwarded from there. All words
//          are 0 after the clearing walk. With ECC, each lane (cde_ecc.vh) corrects one wrong bit and detects two; both
//          are reported, and a corrected word is written back (ISO-05).
// Ports:   maintenance bus in and out (cde_mem.vh), write (we, waddr, wdata), read (raddr, rdata).
// Latency: rdata belongs to the raddr of the cycle before; with LATE of two cycles before, and includes the write of
//          the cycle between.
`default_nettype none
`include "cde_mem.vh"

module cde_ram #(
    parameter W = 8,    // bits of a word
    parameter AW = 4,   // address bits
    parameter ECC = 1,  // 0: no code
    parameter SMALL = 6, // address bits up to which it is not a block RAM (cde_words)
    parameter LATE = 0  // a cycle more, so that what a block RAM gives is corrected in a cycle of its own
) (
    input  wire                  clk,
    input  wire [`CDE_MEM_W-1:0] mem_i,
    output wire [`CDE_MEM_W-1:0] mem_o,

    input  wire                  we,
    input  wire [AW-1:0]         waddr,
    input  wire [W-1:0]          wdata,

    input  wire [AW-1:0]         raddr,
    output wire [W-1:0]          rdata
);

    localparam CW = ECC != 0 ? W + `CDE_ECC_WORD(W) : W;

    wire [W-1:0]  q_1;
    wire [4*`CDE_ECC_SYNDROMES(W)-1:0] parts_1;

    wire          clear, flip, bad, lost, heal, v_1, v_2, user_1;
    wire [AW-1:0] clear_addr, heal_addr, at_1, at_2;
    wire [9:0]    at0, at1;
    wire [CW-1:0] mask, put_code;
    wire [W-1:0]  data_1, data_2, data_3, heal_data;
    reg [CW-1:0]  code_2;

    cde_mem_node #(.AW(AW)) node (
        .clk(clk), .mem_i(mem_i), .mem_o(mem_o), .clear(clear), .clear_addr(clear_addr), .flip(flip), .at0(at0),
        .at1(at1),
        .written(user_1), .bad(bad), .lost(lost)
    );

    cde_flip #(.CW(CW)) flips (.clk(clk), .at0(at0), .at1(at1), .mask(mask));

    always @(posedge clk) code_2 <= put_code;

`ifdef FORMAL
    wire [(CW << AW) - 1:0] codes;
`endif
    // A read at the edge of a write of its word is replaced by that write.
    cde_words #(.W(W), .AW(AW), .CW(CW), .SMALL(SMALL)) words (
        .clk(clk), .we(v_2), .waddr(at_2), .code(code_2), .raddr(raddr), .q(q_1), .parts(parts_1)
`ifdef FORMAL
        , .codes(codes)
`endif
    );

    // A word is corrected only when none of its writes is on the way, so written back it takes its place among them. A
    // word that is written meanwhile is not written back; nor is one when there is another write, then the next read
    // tries again.
    cde_ctx_write #(.W(W), .AW(AW), .CW(CW)) write (
        .clk(clk), .clear(clear), .clear_addr(clear_addr), .we(we), .waddr(waddr), .wdata(wdata), .heal(heal),
        .heal_addr(heal_addr), .heal_data(heal_data), .flip(flip && user_1), .mask(mask), .v_1(v_1),
        .user_1(user_1), .at_1(at_1),
        .data_1(data_1), .v_2(v_2), .at_2(at_2), .data_2(data_2), .data_3(data_3), .put_code(put_code)
    );
    cde_ram_read #(.W(W), .AW(AW), .CW(CW), .LATE(LATE)) read (
        .clk(clk), .clear(clear), .raddr(raddr), .q_1(q_1), .parts_1(parts_1), .we0(we), .waddr0(waddr), .wdata0(wdata),
        .v0_1(v_1), .at0_1(at_1), .data0_1(data_1),
        .v0_2(v_2), .at0_2(at_2), .data0_2(data_2), .data0_3(data_3),
        .rdata(rdata), .bad(bad), .lost(lost), .heal(heal), .heal_addr(heal_addr), .heal_data(heal_data)
    );

endmodule

`default_nettype wire
