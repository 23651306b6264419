// SPDX-License-Identifier: Apache-2.0
// cde_ram_2w: memory with two write ports and two synchronous read ports that never returns stale data.
//
// Purpose: state that two pipelines read, modify and write in the same cycle. Each write port owns a bank; a bit per word
//          says which bank holds its newest value, so both banks map to ordinary block RAM.
// Ports:   two write ports; when both write one word in one cycle, port 1 wins. Two read ports.
// Latency: rdataN belongs to the raddrN of the cycle before and includes the writes of that clock edge.
`default_nettype none

module cde_ram_2w #(
    parameter W = 8,    // bits of a word
    parameter AW = 4    // address bits
) (
    input  wire          clk,

    input  wire          we0,
    input  wire [AW-1:0] waddr0,
    input  wire [W-1:0]  wdata0,
    input  wire          we1,
    input  wire [AW-1:0] waddr1,
    input  wire [W-1:0]  wdata1,

    input  wire [AW-1:0] raddr0,
    output wire [W-1:0]  rdata0,
    input  wire [AW-1:0] raddr1,
    output wire [W-1:0]  rdata1
);

    reg [W-1:0] bank0 [0:(1 << AW) - 1];
    reg [W-1:0] bank1 [0:(1 << AW) - 1];
    reg [(1 << AW) - 1:0] newest;   // 1: bank1 holds the word

    // Read port 0
    reg [W-1:0] r0_bank0_q;
    reg [W-1:0] r0_bank1_q;
    reg [AW-1:0] r0_addr_q;
    reg         r0_hit0_q;
    reg         r0_hit1_q;
    // Read port 1
    reg [W-1:0] r1_bank0_q;
    reg [W-1:0] r1_bank1_q;
    reg [AW-1:0] r1_addr_q;
    reg         r1_hit0_q;
    reg         r1_hit1_q;
    // Words written at the edge of the read
    reg [W-1:0] fwd0_q;
    reg [W-1:0] fwd1_q;

    // Unless a word was written at the edge of its read, its bit is still the same in the next cycle's beginning.
    assign rdata0 = r0_hit1_q ? fwd1_q :
                    r0_hit0_q ? fwd0_q :
                    newest[r0_addr_q] ? r0_bank1_q : r0_bank0_q;
    assign rdata1 = r1_hit1_q ? fwd1_q :
                    r1_hit0_q ? fwd0_q :
                    newest[r1_addr_q] ? r1_bank1_q : r1_bank0_q;

    always @(posedge clk) begin
        r0_bank0_q <= bank0[raddr0];
        r0_bank1_q <= bank1[raddr0];
        r0_addr_q <= raddr0;
        r0_hit0_q <= we0 && (waddr0 == raddr0);
        r0_hit1_q <= we1 && (waddr1 == raddr0);
        r1_bank0_q <= bank0[raddr1];
        r1_bank1_q <= bank1[raddr1];
        r1_addr_q <= raddr1;
        r1_hit0_q <= we0 && (waddr0 == raddr1);
        r1_hit1_q <= we1 && (waddr1 == raddr1);
        fwd0_q <= wdata0;
        fwd1_q <= wdata1;
        if (we0) begin
            bank0[waddr0] <= wdata0;
            newest[waddr0] <= 1'b0;
        end
        if (we1) begin
            bank1[waddr1] <= wdata1;
            newest[waddr1] <= 1'b1;
        end
    end

`ifdef FORMAL
    // All words, for invariants of proofs; a read is never stale.
    wire [(W << AW) - 1:0] words;
    reg                    f_started = 1'b0;
    genvar                 i;
    generate
        for (i = 0; i < (1 << AW); i = i + 1) begin : f_words
            assign words[i * W +: W] = newest[i] ? bank1[i] : bank0[i];
        end
    endgenerate
    always @(posedge clk) begin
        f_started <= 1'b1;
        if (f_started) begin
            read0_is_fresh: assert (rdata0 == words[r0_addr_q * W +: W]);
            read1_is_fresh: assert (rdata1 == words[r1_addr_q * W +: W]);
        end
    end
`endif

endmodule

`default_nettype wire
