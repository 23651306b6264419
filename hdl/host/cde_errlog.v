// SPDX-License-Identifier: Apache-2.0
// cde_errlog: sticky error log (ISO-01 to ISO-03).
//
// Purpose: keeps the oldest errors until software removes them; each names cause and object. What finds no place is
//          counted.
// Ports:   eleven sources of reports, the oldest entry and its removal, number of reports lost in this cycle.
// Latency: report in cycle t, visible in t+3 when the log is empty.
`default_nettype none
`include "cde_defs.vh"

module cde_errlog #(
    parameter DEPTH_LOG2 = 4
) (
    input  wire        clk,
    input  wire        rst,

    input  wire [10:0]  err_valid,
    input  wire [87:0] err_cause,     // 8 bits a source
    input  wire [87:0] err_kind,      // 8 bits a source
    input  wire [175:0] err_object,   // 16 bits a source
    input  wire [175:0] err_index,    // 16 bits a source

    output wire        entry_valid,
    output wire [47:0] entry,         // LOG0 and, above it, the detail of LOG1
    input  wire        pop,

    output reg  [3:0]  lost
);

    reg [10:0]   told;          // reports of the cycle before
    reg [87:0]   cause, kind;
    reg [175:0]  object, index;
    reg [10:0]   held;
    reg [527:0] hold;           // 48 bits a source
    wire        room;
    wire [DEPTH_LOG2:0] unused_level;

    wire [10:0] pick;           // the first one
    wire [10:0] leaves = room ? pick : 11'd0;
    wire [10:0] accept = told & (~held | leaves);
    wire [10:0] miss = told & ~accept;
    reg [47:0] picked;
    integer i;
    integer k;
    genvar  g;

    assign pick[0] = held[0];
    generate
        for (g = 1; g < 11; g = g + 1) begin : g_pick
            assign pick[g] = held[g] && held[g-1:0] == {g{1'b0}};
        end
    endgenerate

    always @* begin
        picked = 48'd0;
        for (i = 0; i < 11; i = i + 1) picked = picked | (hold[48*i +: 48] & {48{pick[i]}});
    end

    always @(posedge clk) begin
        {told, cause, kind, object, index} <= {err_valid, err_cause, err_kind, err_object, err_index};
        held <= (held & ~leaves) | accept;
        for (k = 0; k < 11; k = k + 1) begin
            if (accept[k]) begin
                hold[48*k + `CDE_LOG0_CAUSE_LSB +: 8] <= cause[8*k +: 8];
                hold[48*k + `CDE_LOG0_KIND_LSB +: 8] <= kind[8*k +: 8];
                hold[48*k + `CDE_LOG0_OBJECT_LSB +: 16] <= object[16*k +: 16];
                hold[48*k + 32 + `CDE_LOG1_DETAIL_LSB +: 16] <= index[16*k +: 16];
            end
        end
        lost <= {3'd0, miss[0]} + {3'd0, miss[1]} + {3'd0, miss[2]} + {3'd0, miss[3]} +
                {3'd0, miss[4]} + {3'd0, miss[5]} + {3'd0, miss[6]} + {3'd0, miss[7]} +
                {3'd0, miss[8]} + {3'd0, miss[9]} + {3'd0, miss[10]};
        if (rst) begin
            {told, held} <= 22'd0;
            lost <= 4'd0;
        end
    end

    cde_fifo #(.W(48), .DEPTH_LOG2(DEPTH_LOG2)) log_fifo (
        .clk(clk),
        .rst(rst),
        .push_valid(held != 11'd0),
        .push_ready(room),
        .push_data(picked),
        .pop_valid(entry_valid),
        .pop_ready(pop),
        .pop_data(entry),
        .level(unused_level)
    );

endmodule

`default_nettype wire
