// SPDX-License-Identifier: Apache-2.0
// f_ram_model: proof that a memory without code is what ram_model says (cde_ram; with PORTS_2 cde_ram_2w).
//
// Purpose: memory and model side by side, with the same reset, clearing walk, writes and reads, all free: they read the same in every cycle. Bits of a word are
//          independent of each other, so one stands for all.
// Ports:   free inputs.
// Latency: none.
`default_nettype none
`include "cde_mem.vh"

module f_ram_model #(
    parameter AW = 3
) (
    input wire          clk,
    input wire [1:0]    we,
    input wire [AW-1:0] waddr0,
    input wire [AW-1:0] waddr1,
    input wire [1:0]    wdata,
    input wire [AW-1:0] raddr0,
    input wire [AW-1:0] raddr1
);

    localparam [AW+1:0] WALK = 1 << AW;

    // Reset, then the walk that clears the words
    reg [AW+1:0] age = 0;
    wire         rst = age == 0;
    wire         up = age > WALK;
    wire         init = !rst && !up;
    always @(posedge clk) if (!up) age <= age + 1'b1;

    wire [`CDE_MEM_W-1:0] mem = {39'd0, init, rst};
    wire [`CDE_MEM_W-1:0] unused_mem_1, unused_mem_2;
    wire [1:0]            read, is;

    (* hierconn *) wire [WALK-1:0] \dut.words , \model.words ;
    (* hierconn *) wire [AW-1:0] \dut.node.clear_addr ;

`ifdef PORTS_2
    cde_ram_2w #(.W(1), .AW(AW), .ECC(0)) dut (
        .clk(clk), .mem_i(mem), .mem_o(unused_mem_1), .we0(we[0]), .waddr0(waddr0), .wdata0(wdata[0]), .we1(we[1]), .waddr1(waddr1), .wdata1(wdata[1]),
        .raddr0(raddr0), .rdata0(read[0]), .raddr1(raddr1), .rdata1(read[1])
    );
    model_ram_2w #(.W(1), .AW(AW)) model (
        .clk(clk), .mem_i(mem), .mem_o(unused_mem_2), .we0(we[0]), .waddr0(waddr0), .wdata0(wdata[0]), .we1(we[1]), .waddr1(waddr1), .wdata1(wdata[1]),
        .raddr0(raddr0), .rdata0(is[0]), .raddr1(raddr1), .rdata1(is[1])
    );
    (* hierconn *) wire [AW-1:0] \dut.r0_addr_q , \model.r0_addr_q , \dut.r1_addr_q , \model.r1_addr_q ;
    wire same_places = \dut.r0_addr_q == \model.r0_addr_q && \dut.r1_addr_q == \model.r1_addr_q ;
`else
    cde_ram #(.W(1), .AW(AW), .ECC(0)) dut (
        .clk(clk), .mem_i(mem), .mem_o(unused_mem_1), .we(we[0]), .waddr(waddr0), .wdata(wdata[0]), .raddr(raddr0), .rdata(read[0])
    );
    model_ram #(.W(1), .AW(AW)) model (
        .clk(clk), .mem_i(mem), .mem_o(unused_mem_2), .we(we[0]), .waddr(waddr0), .wdata(wdata[0]), .raddr(raddr0), .rdata(is[0])
    );
    assign {read[1], is[1]} = 2'b00;
    (* hierconn *) wire [AW-1:0] \dut.raddr_q , \model.f_raddr ;
    wire same_places = \dut.raddr_q == \model.f_raddr ;
`endif

    // Nothing is written while the walk runs.
    always @* if (!up) assume (we == 0);

    // Words that the walk has not come to yet
    wire [WALK-1:0] old = {WALK{1'b1}} << (age - 1'b1);

    always @(posedge clk) if (age > 1) begin
        same_read: assert (read == is);
    end

`ifndef PROPERTIES_ONLY    // for the induction
    always @(posedge clk) if (age > 1) begin
        places: assert (same_places);
        contents: assert (up ? \dut.words == \model.words : (\dut.words & ~old) == 0 && \model.words == 0);
    end
    always @(posedge clk) if (init) walk: assert (\dut.node.clear_addr + 1'b1 == age[AW-1:0]);
    always @* legal_age: assert (age <= WALK + 1);
`endif

endmodule

`default_nettype wire
