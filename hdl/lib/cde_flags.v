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

    reg           side0 [0:(1 << AW) - 1];
    reg           side1 [0:(1 << AW) - 1];
    reg  [AW-1:0] clear_addr;
    wire          clear = mem_i[`CDE_MEM_CLEAR];
    wire          unused_mem = &{1'b0, mem_i};
    wire          both = we1 && waddr1 == waddr0;

    genvar        r;
    generate
        for (r = 0; r < R; r = r + 1) begin : g_read
            assign rdata[r] = side0[raddr[r*AW +: AW]] ^ side1[raddr[r*AW +: AW]];
        end
    endgenerate

    always @(posedge clk) begin
        if (mem_i[`CDE_MEM_START]) clear_addr <= {AW{1'b0}};
        else if (clear) clear_addr <= clear_addr + 1'b1;
        if (clear || (we0 && !both)) side0[clear ? clear_addr : waddr0] <= !clear && (wdata0 ^ side1[waddr0]);
        if (clear || we1) side1[clear ? clear_addr : waddr1] <= !clear && (wdata1 ^ side0[waddr1]);
    end

`ifdef FORMAL
    wire [(1 << AW) - 1:0] flags;
    genvar                 i;
    generate
        for (i = 0; i < (1 << AW); i = i + 1) begin : f_flags
            assign flags[i] = side0[i] ^ side1[i];
        end
    endgenerate
`endif

endmodule

`default_nettype wire
