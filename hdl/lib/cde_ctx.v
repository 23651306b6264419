// SPDX-License-Identifier: Apache-2.0
// cde_ctx: memory of contexts for pipelines that read, decide and write, with a write and a read in each cycle, at any
// addresses.
//
// Purpose: one mechanism for "read, correct, forward, decide, write". What is read comes straight out of a register;
//          what is written is registered, then encoded and stored. Writes that are on their way are forwarded, so a
//          pipeline that reads in cycle t and writes in cycle t + 3 needs no forwarding of its own. All words are 0
//          after the clearing walk. With ECC, each lane (cde_ecc.vh) corrects one wrong bit and detects two; both are
//          reported, and a corrected word is written back (ISO-05).
// Ports:   maintenance bus in and out (cde_mem.vh), write (we, waddr, wdata; we and waddr from registers), read (raddr,
//          rdata). With STEPS a write goes to the word read that many cycles before, whatever waddr is: its address is
//          known ahead, so it is compared before the write is.
// Latency: rdata belongs to the raddr of three cycles before and includes the writes up to the cycle before.
`default_nettype none
`include "cde_mem.vh"

module cde_ctx #(
    parameter W = 8,    // bits of a word
    parameter AW = 4,   // address bits
    parameter ECC = 1,  // 0: no code
    parameter STEPS = 0 // cycles from a read of a pipeline to the write of its word, 3 or more; 0: writes go anywhere
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

    wire [CW-1:0] q_1;
    reg [W-1:0]   q_2;
    reg [AW-1:0]  raddr_1;
    wire [4*`CDE_ECC_SYNDROMES(W)-1:0] parts_1;
    reg  [4*`CDE_ECC_SYNDROMES(W)-1:0] parts_2;
    wire [`CDE_ECC_SYNDROMES(W)-1:0] syndrome_2;

    wire          clear, flip, bad, lost, heal, v_1, v_2, user_1;
    wire [AW-1:0] clear_addr, heal_addr, at_1, at_2;
    wire [9:0]    at0, at1;
    wire [CW-1:0] mask, put_code;
    wire [W-1:0]  data_1, data_2, data_3;
    wire [AW-1:0] put_addr, ahead;
    wire [W-1:0]  heal_data = rdata;

    cde_mem_node #(.AW(AW)) node (
        .clk(clk), .mem_i(mem_i), .mem_o(mem_o), .clear(clear), .clear_addr(clear_addr), .flip(flip), .at0(at0),
        .at1(at1),
        .written(user_1), .bad(bad), .lost(lost)
    );

    cde_flip #(.CW(CW)) flips (.clk(clk), .at0(at0), .at1(at1), .mask(mask));

    cde_ecc_parts #(.W(W), .CW(CW)) parities (.code(q_1), .parts(parts_1));
    cde_ecc_syndrome #(.W(W)) sum (.parts(parts_2), .syndrome(syndrome_2));

    // A word is corrected only when none of its writes is on the way, so written back it takes its place among them.
    cde_ctx_write #(.W(W), .AW(AW), .CW(CW)) write (
        .clk(clk), .clear(clear), .clear_addr(clear_addr), .we(we), .waddr(put_addr), .wdata(wdata), .heal(heal),
        .heal_addr(heal_addr),
        .heal_data(heal_data), .flip(flip && user_1), .mask(mask), .v_1(v_1), .user_1(user_1), .at_1(at_1),
        .data_1(data_1), .v_2(v_2), .at_2(at_2), .data_2(data_2), .data_3(data_3),
        .put_code(put_code)
    );

    cde_ctx_read #(.W(W), .AW(AW), .CW(CW), .AHEAD(STEPS != 0)) read (
        .clk(clk), .clear(clear), .raddr_1(raddr_1), .q_2(q_2), .syndrome_2(syndrome_2), .we0(we), .waddr0(put_addr),
        .ahead0(ahead), .wdata0(wdata), .v0_1(user_1), .at0_1(at_1), .data0_1(data_1), .v0_2(v_2), .at0_2(at_2),
        .data0_2(data_2), .data0_3(data_3), .we1(1'b0), .waddr1({AW{1'b0}}), .ahead1({AW{1'b0}}),
        .wdata1({W{1'b0}}), .late1(1'b0), .alt1({W{1'b0}}), .v1_1(1'b0), .at1_1({AW{1'b0}}),
        .data1_1({W{1'b0}}), .v1_2(1'b0), .at1_2({AW{1'b0}}),
        .data1_2({W{1'b0}}), .data1_3({W{1'b0}}), .rdata(rdata), .bad(bad), .lost(lost), .heal(heal),
        .heal_addr(heal_addr)
    );

`ifdef FORMAL
    wire [(CW << AW) - 1:0] codes;
`endif
    // A read at the edge of a write of its word is replaced by that write.
    cde_lanes #(.W(W), .AW(AW), .CW(CW)) lanes (
        .clk(clk), .we(v_1), .waddr(at_1), .code(put_code), .raddr(raddr), .q(q_1)
`ifdef FORMAL
        , .codes(codes)
`endif
    );

    cde_ctx_way #(.AW(AW), .STEPS(STEPS)) way (
        .clk(clk), .raddr_1(raddr_1), .waddr(waddr), .at(put_addr), .ahead(ahead)
    );

    always @(posedge clk) begin
        raddr_1 <= raddr;
        {q_2, parts_2} <= {q_1[W-1:0], parts_1};
    end

endmodule

`default_nettype wire
