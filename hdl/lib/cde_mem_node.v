// SPDX-License-Identifier: Apache-2.0
// cde_mem_node: place of a memory on the maintenance bus, which gives reports its number (ISO-05).
//
// Purpose: makes the address of the clearing walk; takes the injection that is meant for this memory, counting its
//          number down from memory to memory; sends reports of bad words on, counting the memories that they pass up. A
//          report waits while others come by; of reports that wait only one is left, and it says `lost` if one of them
//          did.
// Ports:   bus in and out (cde_mem.vh); clear, clear_addr of the walk; flip, at0, at1 bits to invert in the next word
//          written, written it is written now; bad, lost report.
// Latency: a cycle for each memory.
`default_nettype none
`include "cde_mem.vh"

module cde_mem_node #(
    parameter AW = 4
) (
    input  wire                  clk,
    input  wire [`CDE_MEM_W-1:0] mem_i,
    output wire [`CDE_MEM_W-1:0] mem_o,

    output wire                  clear,
    output reg  [AW-1:0]         clear_addr,
    output reg                   flip,
    output wire [9:0]            at0,
    output wire [9:0]            at1,
    input  wire                  written,
    input  wire                  bad,
    input  wire                  lost
);

    wire       start = mem_i[`CDE_MEM_START];
    wire       inject = mem_i[`CDE_MEM_INJECT];
    wire       cancel = mem_i[`CDE_MEM_CANCEL];
    wire [7:0] target = mem_i[`CDE_MEM_TARGET +: 8];
    wire       in_bad = mem_i[`CDE_MEM_BAD];
    reg        go_inject;
    reg [7:0]  go_target;
    reg        go_bad;
    reg        go_lost;
    reg [7:0]  go_hops;
    reg        wait_bad;
    reg        wait_lost;

    assign clear = mem_i[`CDE_MEM_CLEAR];
    assign at0 = mem_i[`CDE_MEM_BIT +: 10];
    assign at1 = mem_i[`CDE_MEM_BIT2 +: 10];
    assign mem_o = {mem_i[`CDE_MEM_CANCEL], go_hops, go_lost, go_bad, go_target, go_inject,
                    mem_i[0 +: `CDE_MEM_INJECT]};

    // The bits to invert are the same for all, so what waits or is on its way is forgotten before they change: at most
    // one memory has an injection pending. After its target the number is negative. While the walk runs no word counts
    // that was read before it.
    always @(posedge clk) begin
        if (clear) clear_addr <= clear_addr + 1'b1;
        go_inject <= inject;
        if (inject) go_target <= target - 8'd1;
        if (written) flip <= 1'b0;
        if (inject) flip <= target == 8'd0;
        go_bad <= in_bad || bad || wait_bad;
        go_lost <= in_bad ? mem_i[`CDE_MEM_LOST] : lost || wait_lost;
        go_hops <= in_bad ? mem_i[`CDE_MEM_HOPS +: 8] + 8'd1 : 8'd0;
        wait_bad <= in_bad && (bad || wait_bad);
        wait_lost <= in_bad && (lost || wait_lost);
        if (start) clear_addr <= {AW{1'b0}};
        if (start || cancel) begin
            go_inject <= 1'b0;
            flip <= 1'b0;
        end
        if (start || clear) begin
            go_bad <= 1'b0;
            wait_bad <= 1'b0;
            wait_lost <= 1'b0;
        end
    end

endmodule

`default_nettype wire
