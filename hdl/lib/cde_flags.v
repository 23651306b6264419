// SPDX-License-Identifier: Apache-2.0
// cde_flags: one bit per address, written by two ports, in distributed RAM.
//
// Purpose: each write port has a memory of its own; the flag is the sum of both bits, so each port sets its bit to what
//          makes the sum right. All flags are 0 after the clearing walk.
// Ports:   maintenance bus (cde_mem.vh; START and CLEAR); two write ports (we, waddr, wdata); when both write one flag
//          in one cycle, port 1 wins. R read ports (raddr, rdata).
// Latency: rdata belongs to raddr of the same cycle and includes the writes up to the cycle before.
`default_nettype none
`include "cde_mem.vh"

module cde_flags #(
    parameter AW = 4,   // address bits
    parameter R = 1     // read ports
) (
    input  wire            clk,
    input  wire [`CDE_MEM_W-1:0] mem_i,

    input  wire            we0,
    input  wire [AW-1:0]   waddr0,
    input  wire            wdata0,
    input  wire            we1,
    input  wire [AW-1:0]   waddr1,
    input  wire            wdata1,

    input  wire [R*AW-1:0] raddr,
    output wire [R-1:0]    rdata
);

    wire [R-1:0]  bits0, bits1;         // of both sides, at raddr
    wire [AW > 2 ? 3 : 0:0] row0, row1;      // what the other side writes is added to
    reg  [AW-1:0] clear_addr;
    wire          clear = mem_i[`CDE_MEM_CLEAR];
    wire          unused_mem = &{1'b0, mem_i};
    wire          both = we1 && waddr1 == waddr0;

    assign rdata = bits0 ^ bits1;
`ifdef FORMAL
    wire [(1 << AW) - 1:0] all0, all1, flags = all0 ^ all1;
`endif

    cde_bits #(.AW(AW), .R(R)) side0 (
        .clk(clk), .clear(clear), .clear_addr(clear_addr), .we(we0 && !both), .waddr(waddr0), .wdata(wdata0),
        .wrow(row1), .oaddr(waddr1), .orow(row0), .raddr(raddr), .rdata(bits0)
`ifdef FORMAL
        , .bits(all0)
`endif
    );
    cde_bits #(.AW(AW), .R(R)) side1 (
        .clk(clk), .clear(clear), .clear_addr(clear_addr), .we(we1), .waddr(waddr1), .wdata(wdata1), .wrow(row0),
        .oaddr(waddr0), .orow(row1), .raddr(raddr), .rdata(bits1)
`ifdef FORMAL
        , .bits(all1)
`endif
    );

    always @(posedge clk) begin
        if (mem_i[`CDE_MEM_START]) clear_addr <= {AW{1'b0}};
        else if (clear) clear_addr <= clear_addr + 1'b1;
    end

endmodule

`default_nettype wire
