// SPDX-License-Identifier: Apache-2.0
// cde_key_lookup: what a segment's key stands for (SRQ-15, MW-01).
//
// Purpose: a copy of the regions in the key table, read by the key of a segment: what its entry says, if it is that
//          key's. Written a cycle after the step that changes the table has been decided.
// Ports:   maintenance bus in and out (cde_mem.vh); changes of the table (we, at, word); key; found (CDE_FOUND_*).
// Latency: key in cycle t, found valid in t+3: by what the table is in t+1. Throughput: one per cycle.
`default_nettype none
`include "cde_defs.vh"
`include "cde_key_records.vh"
`include "cde_mem.vh"

module cde_key_lookup #(
    parameter QP_W = 6,
    parameter NUM_MR = 64,
    parameter MR_W = 6,
    parameter N_W = 6,             // of the larger number, of regions or windows
    parameter ECC = 1
) (
    input  wire              clk,
    input  wire [`CDE_MEM_W-1:0] mem_i,
    output wire [`CDE_MEM_W-1:0] mem_o,
    input  wire              we,
    input  wire [N_W:0]      at,
    input  wire [`CDE_KEY_WORD_W-1:0] word,
    input  wire [31:0]       key,
    output wire [`CDE_FOUND_W-1:0] found
);

    wire [`CDE_KEY_WORD_W-1:0] entry_2;
    reg  [`CDE_KEY_WORD_W-1:0] entry;
    reg  [19:0] generation_1, generation_2, generation;
    reg         far_1, far_2, far;           // it is no region's number

    cde_ram #(.W(`CDE_KEY_WORD_W), .AW(N_W + 1), .ECC(ECC), .LATE(1)) lookup_ram (
        .clk(clk), .mem_i(mem_i), .mem_o(mem_o), .we(we), .waddr(at), .wdata(word), .raddr({1'b0, key[N_W-1:0]}),
        .rdata(entry_2)
    );

    always @(posedge clk) begin
        {generation_1, generation_2, generation} <= {key[31:12], generation_1, generation_2};
        far_1 <= key[11] || {21'd0, key[10:0]} >= NUM_MR;
        {far_2, far} <= {far_1, far_2};
        entry <= entry_2;
    end

    wire unused_entry = &{1'b0, entry};
    assign found[`CDE_FOUND_VALID] = entry[`CDE_KEY_WORD_VALID] && !far &&
                                     entry[`CDE_KEY_WORD_GENERATION +: 20] == generation;
    assign found[`CDE_FOUND_ZONE +: 16] = entry[`CDE_KEY_WORD_ZONE +: 16];
    assign found[`CDE_FOUND_LOCAL_WRITE] = entry[`CDE_KEY_WORD_RIGHTS];
    assign found[`CDE_FOUND_BASE +: 64] = entry[`CDE_KEY_WORD_BASE +: 64];
    assign found[`CDE_FOUND_LENGTH +: 48] = entry[`CDE_KEY_WORD_LENGTH +: 48];

endmodule

`default_nettype wire
