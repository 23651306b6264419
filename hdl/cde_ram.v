// SPDX-License-Identifier: Apache-2.0
// cde_ram: memory with one write port and one synchronous read port that never returns stale data.
//
// Purpose: context storage of the pipelines. A read sees every write up to and including the one of its own clock edge,
//          so a read-modify-write pipeline whose write follows its read by one cycle needs no further forwarding.
// Ports:   write (we, waddr, wdata), read (raddr, rdata).
// Latency: rdata belongs to the raddr of the cycle before.
`default_nettype none

module cde_ram #(
    parameter W = 8,    // bits of a word
    parameter AW = 4    // address bits
) (
    input  wire          clk,

    input  wire          we,
    input  wire [AW-1:0] waddr,
    input  wire [W-1:0]  wdata,

    input  wire [AW-1:0] raddr,
    output wire [W-1:0]  rdata
);

    reg [W-1:0] mem [0:(1 << AW) - 1];
    reg [W-1:0] mem_q;
    reg [W-1:0] fwd_q;
    reg         hit_q;

    assign rdata = hit_q ? fwd_q : mem_q;

    always @(posedge clk) begin
        mem_q <= mem[raddr];
        fwd_q <= wdata;
        hit_q <= we && (waddr == raddr);
        if (we) begin
            mem[waddr] <= wdata;
        end
    end

`ifdef FORMAL
    // All words, for invariants of proofs; a read is never stale, which other proofs may build on (RAM_PROVEN) once it is proven.
    wire [(W << AW) - 1:0] words;
    reg  [AW-1:0]          f_raddr;
    reg                    f_started = 1'b0;
    genvar                 i;
    generate
        for (i = 0; i < (1 << AW); i = i + 1) begin : f_words
            assign words[i * W +: W] = mem[i];
        end
    endgenerate
    always @(posedge clk) begin
        f_raddr <= raddr;
        f_started <= 1'b1;
`ifndef RAM_PROVEN
        if (f_started) read_is_fresh: assert (rdata == mem[f_raddr]);
`endif
    end
`ifdef RAM_PROVEN
    always @* if (f_started) assume (rdata == mem[f_raddr]);
`endif
`endif

endmodule

`default_nettype wire
