// SPDX-License-Identifier: Apache-2.0
// cde_bits: one bit per address, in distributed RAM; one of two memories whose bits make a flag by their sum.
//
// Purpose: four bits share a row, as wide as the RAM of an FPGA is: a quarter of the cells of a memory of single bits.
//          What is written may be the other memory's bit of that address, inverted or not.
// Ports:   clearing walk (clear, clear_addr) instead of a write, write port (we, waddr; wdata, to which wrow, the
//          other memory's row of waddr, is added), the row for the other memory (oaddr, orow), R read ports (raddr,
//          rdata).
// Latency: rdata and orow belong to the address of the same cycle and include the writes up to the cycle before.
`default_nettype none

module cde_bits #(
    parameter AW = 4,                       // address bits
    parameter R = 1,                        // read ports
    parameter COLUMNS = AW > 2 ? 4 : 1      // bits of a row
) (
    input  wire               clk,
    input  wire               clear,
    input  wire [AW-1:0]      clear_addr,
    input  wire               we,
    input  wire [AW-1:0]      waddr,
    input  wire               wdata,
    input  wire [COLUMNS-1:0] wrow,
    input  wire [AW-1:0]      oaddr,
    output wire [COLUMNS-1:0] orow,
    input  wire [R*AW-1:0]    raddr,
    output wire [R-1:0]       rdata
`ifdef FORMAL
    , output wire [(1 << AW) - 1:0] bits        // all of them
`endif
);

    localparam COLUMN_W = COLUMNS == 4 ? 2 : 0, ROWS = 1 << (AW - COLUMN_W);

    reg  [COLUMNS-1:0] rows [0:ROWS-1];
    wire [COLUMNS-1:0] place;               // which bits are written
    wire [COLUMNS-1:0] old = rows[waddr[AW-1:COLUMN_W]];
    genvar             r;

    assign orow = rows[oaddr[AW-1:COLUMN_W]];
    // The walk comes from afar: it has no part in what is read.
    always @(posedge clk) begin
        if (clear || we) begin
            rows[clear ? clear_addr[AW-1:COLUMN_W] : waddr[AW-1:COLUMN_W]] <=
                ((old & ~place) | (({COLUMNS{wdata}} ^ wrow) & place)) & {COLUMNS{!clear}};
        end
    end

    generate
        if (COLUMNS == 4) begin : g_columns
            wire   unused_column = &{1'b0, oaddr[1:0], clear_addr[1:0]};
            assign place = 4'd1 << waddr[1:0];
            for (r = 0; r < R; r = r + 1) begin : g_read
                wire [3:0] row = rows[raddr[r*AW+2 +: AW-2]];
                assign rdata[r] = row[raddr[r*AW +: 2]];
            end
        end else begin : g_single
            assign place = 1'b1;
            for (r = 0; r < R; r = r + 1) begin : g_read
                assign rdata[r] = rows[raddr[r*AW +: AW]];
            end
        end
    endgenerate

`ifdef FORMAL
    genvar             i;
    generate
        for (i = 0; i < ROWS; i = i + 1) begin : f_rows
            assign bits[i * COLUMNS +: COLUMNS] = rows[i];
        end
    endgenerate
`endif

endmodule

`default_nettype wire
