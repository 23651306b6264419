// SPDX-License-Identifier: Apache-2.0
// cde_ram_direct: memory of wide words with one write port and one synchronous read port, without forwarding, that
// corrects a wrong bit.
//
// Purpose: posts, buffers and settings, which nothing asks for before the cycle after their write: a read at the edge
//          of the write of its word has no value. All words are 0 after the clearing walk. With ECC, each lane
//          (cde_ecc.vh) corrects one wrong bit and detects two; both are reported, and a corrected word is written
//          back.
// Ports:   maintenance bus in and out (cde_mem.vh), write (we, waddr, wdata), read (raddr, rdata).
// Latency: rdata belongs to the raddr of the cycle before.
`default_nettype none
`include "cde_mem.vh"

module cde_ram_direct #(
    parameter W = 8,    // bits of a word
    parameter AW = 4,   // address bits
    parameter ECC = 1   // 0: no code
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
    localparam LOW = AW < 4 ? AW : 4;       // bits of an address that tell a read from a word to write back

    (* no_rw_check *)
    reg [CW-1:0]  mem [0:(1 << AW) - 1];
    reg [CW-1:0]  q_1;

    wire          clear, flip, bad, lost, put;
    wire [AW-1:0] clear_addr, put_addr;
    wire [9:0]    at0, at1;
    wire [CW-1:0] mask, put_code;

    cde_mem_node #(.AW(AW)) node (
        .clk(clk), .mem_i(mem_i), .mem_o(mem_o), .clear(clear), .clear_addr(clear_addr), .flip(flip), .at0(at0),
        .at1(at1),
        .written(we), .bad(bad), .lost(lost)
    );

    cde_flip #(.CW(CW)) flips (.clk(clk), .at0(at0), .at1(at1), .mask(mask));

    always @(posedge clk) begin
        q_1 <= mem[raddr];
        if (put) mem[put_addr] <= put_code;
    end

    // A corrected word is written back when there is no other write. A word that is written meanwhile is not; nor is
    // one at the edge of its read, which would have no value. The address of a read is late: it decides about the write
    // alone, not about what is encoded, and few of its bits are compared. A word that another read resembles in them
    // waits until it is read again.
    reg           hit_1, written_2;
    reg [AW-1:0]  raddr_1, heal_addr;
    reg [W-1:0]   heal_data;
    wire [4*`CDE_ECC_SYNDROMES(W)-1:0] parts_1;
    wire [`CDE_ECC_SYNDROMES(W)-1:0] syndrome_1;
    reg  [`CDE_ECC_SYNDROMES(W)-1:0] syndrome_2;
    wire          wrong_2, hopeless_2;
    wire          heal = wrong_2 && !hopeless_2 && !written_2;
    wire [CW-1:0] code;

    cde_ecc_parts #(.W(W), .CW(CW)) parities (.code(q_1), .parts(parts_1));
    cde_ecc_syndrome #(.W(W)) sum (.parts(parts_1), .syndrome(syndrome_1));
    cde_ecc_dec #(.W(W), .CW(CW)) dec (.data(q_1[W-1:0]), .syndrome(syndrome_1), .fixed(rdata));
    cde_ecc_check #(.W(W), .CW(CW)) check (.syndrome(syndrome_2), .bad(wrong_2), .lost(hopeless_2));
    cde_ecc_enc #(.W(W), .CW(CW)) enc (.en(1'b1), .data(clear ? {W{1'b0}} : we ? wdata : heal_data), .code(code));
    cde_mem_report #(.AW(AW)) report (
        .clk(clk), .clear(clear), .wrong(wrong_2), .hopeless(hopeless_2), .at(heal_addr), .bad(bad), .lost(lost)
    );

    assign put = clear || we || (heal && heal_addr[LOW-1:0] != raddr[LOW-1:0]);
    assign put_addr = clear ? clear_addr : we ? waddr : heal_addr;
    assign put_code = ECC != 0 && flip && we ? code ^ mask : code;

    always @(posedge clk) begin
        hit_1 <= clear || (we && waddr == raddr);
        raddr_1 <= raddr;
        syndrome_2 <= hit_1 ? {`CDE_ECC_SYNDROMES(W){1'b0}} : syndrome_1;
        written_2 <= clear || (we && waddr == raddr_1);
        heal_addr <= raddr_1;
        heal_data <= rdata;
    end

`ifdef FORMAL
    // All words as they are stored, for proofs of this module.
    wire [(CW << AW) - 1:0] codes;
    genvar                  i;
    generate
        for (i = 0; i < (1 << AW); i = i + 1) begin : f_words
            assign codes[i * CW +: CW] = mem[i];
        end
    endgenerate
`endif

endmodule

`default_nettype wire
