// SPDX-License-Identifier: Apache-2.0
// cde_ram: memory with one write port and one synchronous read port that never returns stale data, and corrects a wrong bit.
//
// Purpose: context storage of the pipelines. A read sees every write up to and including the one of its own clock edge,
//          so a read-modify-write pipeline whose write follows its read by one cycle needs no further forwarding. Without FORWARD, for data
//          that nothing asks for before the cycle after its write, such a read has no value. All words are 0 after the clearing walk. With ECC,
//          each lane (cde_ecc.vh) corrects one wrong bit and detects two; both are reported.
// Ports:   maintenance bus in and out (cde_mem.vh), write (we, waddr, wdata), read (raddr, rdata).
// Latency: rdata belongs to the raddr of the cycle before.
`default_nettype none
`include "cde_mem.vh"

module cde_ram #(
    parameter W = 8,    // bits of a word
    parameter AW = 4,   // address bits
    parameter ECC = 1,  // 0: no code
    parameter FORWARD = 1   // 0: a read at the edge of a write of its word has no value
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

    reg [CW-1:0]  mem [0:(1 << AW) - 1];
    reg [CW-1:0]  mem_q;
    reg           hit_q;
    reg [AW-1:0]  raddr_q;
    reg           seen_q;     // the word was reported in the cycle before

    wire          clear, flip, bad, lost;
    wire [AW-1:0] clear_addr;
    wire [9:0]    at0, at1;
    wire [CW-1:0] code, mask;
    wire [W-1:0]  fixed;

    cde_mem_node #(.AW(AW)) node (
        .clk(clk), .mem_i(mem_i), .mem_o(mem_o), .clear(clear), .clear_addr(clear_addr), .flip(flip), .at0(at0), .at1(at1),
        .written(we), .bad(bad && !seen_q), .lost(lost && !seen_q)
    );

    cde_ecc_dec #(.W(W), .CW(CW)) dec (.en(!hit_q), .code(mem_q), .fixed(fixed), .bad(bad), .lost(lost));

    generate
        if (FORWARD != 0) begin : g_forward
            reg [W-1:0] fwd_q;
            always @(posedge clk) fwd_q <= clear ? {W{1'b0}} : wdata;
            assign rdata = hit_q ? fwd_q : fixed;
        end else begin : g_read
            assign rdata = fixed;
        end
    endgenerate

    // A corrected word is written back, with new check bits, when no word is written. No write gets lost by that: one at the edge of the read
    // was forwarded, and then the word read does not count; one in the cycle of the write-back takes its place, and the next read tries again.
    wire          heal = bad && !lost;
    wire          put = clear || we || heal;
    wire [AW-1:0] put_addr = clear ? clear_addr : we ? waddr : raddr_q;
    wire [W-1:0]  put_data = clear ? {W{1'b0}} : we ? wdata : fixed;

    cde_ecc_enc #(.W(W), .CW(CW)) enc (.en(put), .data(put_data), .code(code));
    cde_flip #(.CW(CW)) flips (.clk(clk), .at0(at0), .at1(at1), .mask(mask));

    always @(posedge clk) begin
        mem_q <= mem[raddr];
        hit_q <= clear || (we && (waddr == raddr));
        raddr_q <= raddr;
        seen_q <= bad && raddr == raddr_q;
        if (put) mem[put_addr] <= ECC != 0 && flip && we ? code ^ mask : code;
    end

`ifdef FORMAL
    // All words, for invariants of proofs (without code); a read is never stale, which other proofs may build on (RAM_PROVEN) once it is
    // proven; without FORWARD nothing is said of one at the edge of a write. With a code, see formal/lib/f_ram.v.
    wire [(W << AW) - 1:0]  words;
    wire [(CW << AW) - 1:0] codes;
    reg  [AW-1:0]           f_raddr;
    reg                     f_read = 1'b0;   // f_raddr was read, not cleared
    reg                     f_value = 1'b0;  // the read has a value
    wire                    f_fresh = f_read;
    genvar                  i;
    generate
        for (i = 0; i < (1 << AW); i = i + 1) begin : f_words
            assign words[i * W +: W] = mem[i][W-1:0];
            assign codes[i * CW +: CW] = mem[i];
        end
    endgenerate
    always @(posedge clk) begin
        f_raddr <= raddr;
        f_read <= !clear && ECC == 0;
        f_value <= !clear && ECC == 0 && (FORWARD != 0 || !we || waddr != raddr);
`ifndef RAM_PROVEN
        if (f_value) read_is_fresh: assert (rdata == words[f_raddr * W +: W]);
`endif
    end
`ifdef RAM_PROVEN
    wire [CW-1:0] f_word = mem[f_raddr];
    always @* if (f_value) assume (rdata == f_word[W-1:0]);
`endif
`endif

endmodule

`default_nettype wire
