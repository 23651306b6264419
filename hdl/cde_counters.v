// SPDX-License-Identifier: Apache-2.0
// cde_counters: 32-bit event counters.
//
// Purpose: sixteen counters with an increment of 0 to 7 per cycle, and one counter per cause of refused doorbells.
// Ports:   increments, a cause that is counted, selection and value.
// Latency: an increment of cycle t is readable from t+1; reading is combinational.
`default_nettype none

module cde_counters (
    input  wire        clk,
    input  wire        rst,

    input  wire [47:0] step,          // 3 bits a counter, in register order
    input  wire        cause_valid,
    input  wire [7:0]  cause,         // below 32

    input  wire [5:0]  select,        // 0 to 15 counters, 16 to 47 causes
    output wire [31:0] value
);

    reg [31:0] count [0:47];
    integer i;

    assign value = count[select];

    always @(posedge clk) begin
        for (i = 0; i < 16; i = i + 1) begin
            count[i] <= rst ? 32'd0 : count[i] + {29'd0, step[3*i +: 3]};
        end
        for (i = 16; i < 48; i = i + 1) begin
            count[i] <= rst ? 32'd0 : count[i] + {31'd0, cause_valid && cause == i[7:0] - 8'd16};
        end
    end

endmodule

`default_nettype wire
