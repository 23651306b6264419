// SPDX-License-Identifier: Apache-2.0
// cde_counters: 32-bit event counters.
//
// Purpose: sixteen counters with an increment of 0 to 7 per cycle (errors lost: to 11), one counter per cause of refused doorbells, and ten
//          with an increment of 0 to 3.
// Ports:   increments, a cause that is counted, selection and value.
// Latency: an increment of cycle t is readable from t+1; reading is combinational.
`default_nettype none

module cde_counters (
    input  wire        clk,
    input  wire        rst,

    input  wire [44:0] step,          // 3 bits a counter, in register order, without that of errors lost
    input  wire [3:0]  lost,
    input  wire [19:0] recv_step,     // 2 bits a counter
    input  wire        cause_valid,
    input  wire [7:0]  cause,         // below 32

    input  wire [5:0]  select,        // 0 to 15 counters, 16 to 47 causes, 48 to 57 receiving, keys, memories
    output wire [31:0] value
);

    localparam LOST = 11;

    wire [47:0] all = {step[44:3*LOST], 3'd0, step[3*LOST-1:0]};
    reg [31:0] count [0:57];
    integer i;

    assign value = count[select];

    always @(posedge clk) begin
        for (i = 0; i < 16; i = i + 1) begin
            count[i] <= rst ? 32'd0 : count[i] + {29'd0, all[3*i +: 3]};
        end
        count[LOST] <= rst ? 32'd0 : count[LOST] + {28'd0, lost};
        for (i = 16; i < 48; i = i + 1) begin
            count[i] <= rst ? 32'd0 : count[i] + {31'd0, cause_valid && cause == i[7:0] - 8'd16};
        end
        for (i = 0; i < 10; i = i + 1) begin
            count[48 + i] <= rst ? 32'd0 : count[48 + i] + {30'd0, recv_step[2*i +: 2]};
        end
    end

endmodule

`default_nettype wire
