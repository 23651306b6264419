// SPDX-License-Identifier: Apache-2.0
// cde_slots: memory of wide words with one write port and one synchronous read port, without forwarding, that corrects
// a wrong bit.
//
// Purpose: posts and requests of send queues, receive buffers and records of taken ones, which nothing asks for before
//          the cycle after their write: a read at the edge of the write of its word has no value. What is read is
//          registered before it is corrected, and again after that. All words are 0 after the clearing walk. With ECC,
//          each lane (cde_ecc.vh) corrects one wrong bit and detects two; both are reported, and a corrected word is
//          written back (ISO-05).
// Ports:   maintenance bus in and out (cde_mem.vh), write (we, waddr, wdata), read (raddr, rdata).
// Latency: rdata belongs to the raddr of three cycles before, and to what the word was then.
`default_nettype none
`include "cde_mem.vh"

module cde_slots #(
    parameter W = 8,    // bits of a word
    parameter AW = 4,   // address bits
    parameter ECC = 1,  // 0: no code
    parameter TELL = 4  // low bits of addresses that tell a read from a word to write back
) (
    input  wire                  clk,
    input  wire [`CDE_MEM_W-1:0] mem_i,
    output wire [`CDE_MEM_W-1:0] mem_o,

    input  wire                  we,
    input  wire [AW-1:0]         waddr,
    input  wire [W-1:0]          wdata,

    input  wire [AW-1:0]         raddr,
    output reg  [W-1:0]          rdata
);

    localparam CW = ECC != 0 ? W + `CDE_ECC_WORD(W) : W;
    localparam LANES = (W + `CDE_ECC_D - 1) / `CDE_ECC_D;
    localparam LOW = AW < TELL ? AW : TELL;

    (* no_rw_check *)
    reg [CW-1:0]  mem [0:(1 << AW) - 1];
    reg [CW-1:0]  q_1;
    reg [W-1:0]   q_2;

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
        q_2 <= q_1[W-1:0];
        if (put) mem[put_addr] <= put_code;
    end

    // A corrected word is written back when there is no other write. A word that is written meanwhile is not; nor is
    // one at the edge of its read, which would have no value. The address of a read is late: it decides about the write
    // alone, not about what is encoded, and few of its bits are compared. A word that another read resembles in them
    // waits until it is read again. Each lane is judged in the cycle before: an OR of few bits decides about the write.
    reg           hit_1, hit_2, written_3;
    reg [AW-1:0]  raddr_1, raddr_2, heal_addr;
    wire [4*`CDE_ECC_SYNDROMES(W)-1:0] parts_1;
    reg  [4*`CDE_ECC_SYNDROMES(W)-1:0] parts_2;
    wire [`CDE_ECC_SYNDROMES(W)-1:0] syndrome_2;
    wire [W-1:0]  fixed_2;
    wire [LANES-1:0] wrong_2, hopeless_2;            // by lane
    reg  [LANES-1:0] wrongs_3, hopeless_lanes_3;
    wire          wrong_3 = wrongs_3 != {LANES{1'b0}};
    wire          hopeless_3 = hopeless_lanes_3 != {LANES{1'b0}};
    wire          heal = wrong_3 && !hopeless_3 && !written_3;
    wire [CW-1:0] code;

    cde_ecc_parts #(.W(W), .CW(CW)) parities (.code(q_1), .parts(parts_1));
    cde_ecc_syndrome #(.W(W)) sum (.parts(parts_2), .syndrome(syndrome_2));
    cde_ecc_dec #(.W(W), .CW(CW)) dec (.data(q_2), .syndrome(syndrome_2), .fixed(fixed_2));
    cde_ecc_enc #(.W(W), .CW(CW)) enc (.en(1'b1), .data(clear ? {W{1'b0}} : we ? wdata : rdata), .code(code));
    cde_mem_report #(.AW(AW)) report (
        .clk(clk), .clear(clear), .wrong(wrong_3), .hopeless(hopeless_3), .at(heal_addr), .bad(bad), .lost(lost)
    );

    genvar        lane;
    generate
        for (lane = 0; lane < LANES; lane = lane + 1) begin : g_check
            localparam D = lane == LANES - 1 ? W - `CDE_ECC_D * lane : `CDE_ECC_D;

            cde_ecc_check #(.W(D), .CW(ECC != 0 ? D + `CDE_ECC_LANE(D) : D)) check (
                .syndrome(syndrome_2[`CDE_ECC_R*lane +: `CDE_ECC_R]), .bad(wrong_2[lane]), .lost(hopeless_2[lane])
            );
        end
    endgenerate

    assign put = clear || we || (heal && heal_addr[LOW-1:0] != raddr[LOW-1:0]);
    assign put_addr = clear ? clear_addr : we ? waddr : heal_addr;
    assign put_code = ECC != 0 && flip && we ? code ^ mask : code;

    always @(posedge clk) begin
        hit_1 <= clear || (we && waddr == raddr);
        raddr_1 <= raddr;
        hit_2 <= hit_1 || clear || (we && waddr == raddr_1);
        raddr_2 <= raddr_1;
        parts_2 <= parts_1;
        rdata <= fixed_2;
        wrongs_3 <= hit_2 ? {LANES{1'b0}} : wrong_2;
        hopeless_lanes_3 <= hit_2 ? {LANES{1'b0}} : hopeless_2;
        written_3 <= clear || (we && waddr == raddr_2);
        heal_addr <= raddr_2;
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
