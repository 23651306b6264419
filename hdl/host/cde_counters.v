// SPDX-License-Identifier: Apache-2.0
// cde_counters: 32-bit event counters.
//
// Purpose: sixteen counters with an increment of 0 to 7 per cycle (errors lost: to 11), one counter per cause of refused doorbells, and ten
//          with an increment of 0 to 3. A bit of one of them is inverted on demand; what is counted in that cycle is added to that.
// Ports:   increments, a cause that is counted, bit to invert, selection and value.
// Latency: an increment or a bit inverted in cycle t is readable from t+1; reading is combinational.
`default_nettype none

module cde_counters (
    input  wire        clk,
    input  wire        rst,

    input  wire [44:0] step,          // 3 bits a counter, in register order, without that of errors lost
    input  wire [3:0]  lost,
    input  wire [19:0] recv_step,     // 2 bits a counter
    input  wire        cause_valid,
    input  wire [7:0]  cause,         // below 32

    input  wire        flip,
    input  wire [9:0]  flip_counter,  // numbers as of select; what no counter or bit has inverts nothing
    input  wire [9:0]  flip_bit,

    input  wire [5:0]  select,        // 0 to 15 counters, 16 to 47 causes, 48 to 57 receiving, keys, memories
    output wire [31:0] value          // of no meaning from 58 on: nothing takes it
);

    localparam LOST = 11;

    wire [47:0] all = {step[44:3*LOST], 3'd0, step[3*LOST-1:0]};
    wire [31:0] mask = flip ? 32'd1 << flip_bit : 32'd0;
    reg [231:0] by;                   // 4 bits a counter: its increment
    reg [31:0] count [0:57];
    integer i;
    integer j;

    assign value = count[select];

    always @* begin
        for (j = 0; j < 16; j = j + 1) by[4*j +: 4] = j == LOST ? lost : {1'b0, all[3*j +: 3]};
        for (j = 0; j < 32; j = j + 1) by[64 + 4*j +: 4] = {3'd0, cause_valid && cause == j[7:0]};
        for (j = 0; j < 10; j = j + 1) by[192 + 4*j +: 4] = {2'd0, recv_step[2*j +: 2]};
    end

    always @(posedge clk) begin
        for (i = 0; i < 58; i = i + 1) begin
            count[i] <= rst ? 32'd0 : (count[i] ^ (flip_counter == i[9:0] ? mask : 32'd0)) + {28'd0, by[4*i +: 4]};
        end
    end

endmodule

`default_nettype wire
