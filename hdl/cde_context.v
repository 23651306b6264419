// SPDX-License-Identifier: Apache-2.0
// cde_context: cde_ram whose words are cleared during the clearing walk after reset.
//
// Purpose: state of the queue pairs, one writer, one reader.
// Ports:   clearing walk (init, init_addr), write (we, waddr, wdata), read (raddr, rdata).
// Latency: rdata belongs to the raddr of the cycle before, and includes the write of that clock edge.
`default_nettype none

module cde_context #(
    parameter W = 8,    // bits of a word
    parameter AW = 4    // address bits
) (
    input  wire          clk,
    input  wire          init,
    input  wire [AW-1:0] init_addr,

    input  wire          we,
    input  wire [AW-1:0] waddr,
    input  wire [W-1:0]  wdata,

    input  wire [AW-1:0] raddr,
    output wire [W-1:0]  rdata
);

    cde_ram #(.W(W), .AW(AW)) ram (
        .clk(clk), .we(init || we), .waddr(init ? init_addr : waddr), .wdata(init ? {W{1'b0}} : wdata),
        .raddr(raddr), .rdata(rdata)
    );

endmodule

`default_nettype wire
