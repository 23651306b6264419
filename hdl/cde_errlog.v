// SPDX-License-Identifier: Apache-2.0
// cde_errlog: sticky error log.
//
// Purpose: keeps the oldest errors until software removes them; each names cause and object. What finds no place is counted.
// Ports:   four sources of reports, the oldest entry and its removal, number of reports lost in this cycle.
// Latency: report in cycle t, visible in t+3 when the log is empty.
`default_nettype none

module cde_errlog #(
    parameter DEPTH_LOG2 = 4
) (
    input  wire        clk,
    input  wire        rst,

    input  wire [3:0]  err_valid,
    input  wire [31:0] err_cause,     // 8 bits a source
    input  wire [31:0] err_kind,      // 8 bits a source
    input  wire [63:0] err_object,    // 16 bits a source
    input  wire [63:0] err_index,     // 16 bits a source

    output wire        entry_valid,
    output wire [47:0] entry,         // {index 16, object 16, kind 8, cause 8}
    input  wire        pop,

    output reg  [2:0]  lost
);

    reg [3:0]  held;
    reg [47:0] hold0;
    reg [47:0] hold1;
    reg [47:0] hold2;
    reg [47:0] hold3;
    wire       room;
    wire [DEPTH_LOG2:0] unused_level;

    wire [3:0] pick = held[0] ? 4'b0001 : held[1] ? 4'b0010 : held[2] ? 4'b0100 : {held[3], 3'b000};
    wire [47:0] picked = held[0] ? hold0 : held[1] ? hold1 : held[2] ? hold2 : hold3;
    wire [3:0] leaves = room ? pick : 4'd0;
    wire [3:0] accept = err_valid & (~held | leaves);
    wire [3:0] miss = err_valid & ~accept;

    always @(posedge clk) begin
        held <= (held & ~leaves) | accept;
        if (accept[0]) hold0 <= {err_index[15:0], err_object[15:0], err_kind[7:0], err_cause[7:0]};
        if (accept[1]) hold1 <= {err_index[31:16], err_object[31:16], err_kind[15:8], err_cause[15:8]};
        if (accept[2]) hold2 <= {err_index[47:32], err_object[47:32], err_kind[23:16], err_cause[23:16]};
        if (accept[3]) hold3 <= {err_index[63:48], err_object[63:48], err_kind[31:24], err_cause[31:24]};
        lost <= {2'd0, miss[0]} + {2'd0, miss[1]} + {2'd0, miss[2]} + {2'd0, miss[3]};
        if (rst) begin
            held <= 4'd0;
            lost <= 3'd0;
        end
    end

    cde_fifo #(.W(48), .DEPTH_LOG2(DEPTH_LOG2)) log_fifo (
        .clk(clk),
        .rst(rst),
        .push_valid(held != 4'd0),
        .push_ready(room),
        .push_data(picked),
        .pop_valid(entry_valid),
        .pop_ready(pop),
        .pop_data(entry),
        .level(unused_level)
    );

endmodule

`default_nettype wire
