// SPDX-License-Identifier: Apache-2.0
// cde_ctx_write: the way of a write into a memory that forwards (cde_ctx, cde_ctx_2w, cde_ram).
//
// Purpose: a write is registered (step 1) and encoded; its data are shown in that step and in the two after (steps 2
//          and 3). A corrected word takes the place of a write when there is none. The clearing walk goes before both.
// Ports:   clear, clear_addr of the walk; we, waddr, wdata; heal, heal_addr, heal_data corrected word; flip, mask bits
//          to invert (cde_flip); put_code the code word of step 1. _1, _2, _3: v something is written, user by the
//          user, at where, data what.
// Latency: step 1 and put_code a cycle after we.
`default_nettype none
`include "cde_mem.vh"

module cde_ctx_write #(
    parameter W = 8,
    parameter AW = 4,
    parameter CW = 13
) (
    input  wire          clk,
    input  wire          clear,
    input  wire [AW-1:0] clear_addr,
    input  wire          we,
    input  wire [AW-1:0] waddr,
    input  wire [W-1:0]  wdata,
    input  wire          heal,
    input  wire [AW-1:0] heal_addr,
    input  wire [W-1:0]  heal_data,
    input  wire          flip,
    input  wire [CW-1:0] mask,

    output reg           v_1,
    output reg           user_1,
    output reg  [AW-1:0] at_1,
    output reg  [W-1:0]  data_1,
    output reg           v_2,
    output reg  [AW-1:0] at_2,
    output reg  [W-1:0]  data_2,
    output reg  [W-1:0]  data_3,
    output wire [CW-1:0] put_code
);

    wire [CW-1:0] code;

    cde_ecc_enc #(.W(W), .CW(CW)) enc (.en(v_1), .data(data_1), .code(code));

    assign put_code = CW != W ? code ^ (mask & {CW{flip}}) : code;

    always @(posedge clk) begin
        v_1 <= clear || we || heal;
        user_1 <= we && !clear;
        at_1 <= clear ? clear_addr : we ? waddr : heal_addr;
        data_1 <= clear ? {W{1'b0}} : we ? wdata : heal_data;
        v_2 <= v_1;
        at_2 <= at_1;
        data_2 <= data_1;
        data_3 <= data_2;
    end

endmodule

`default_nettype wire
