// SPDX-License-Identifier: Apache-2.0
// axis_props: rules of one AXI-Stream port (or of any valid/ready pair).
//
// Purpose: an offered beat stays, unchanged, until it is taken (AMBA AXI-Stream, handshake); nothing is offered while
//          in reset. With MASTER the side that offers is the design and the rules are asserted; without, they are
//          assumed of its environment.
// Ports:   the port's signals as seen on it; data is everything that belongs to a beat; held.
// Latency: none.
`default_nettype none

module axis_props #(
    parameter W = 8,
    parameter [0:0] MASTER = 1'b1
) (
    input wire         clk,
    input wire         rst,
    input wire         valid,
    input wire         ready,
    input wire [W-1:0] data,
    output reg         held         // a beat was not taken in the cycle before; for invariants
);

    reg [W-1:0] was;
    initial held = 1'b0;

    always @(posedge clk) begin
        held <= valid && !ready && !rst;
        was <= data;
    end

    generate
        if (MASTER) begin : master
            always @* begin
                if (held && !rst) begin
                    valid_stays: assert (valid);
                    beat_is_stable: assert (data == was);
                end
            end
        end else begin : environment
            always @(posedge clk) begin
                if (held && !rst) begin
                    assume (valid);
                    assume (data == was);
                end
            end
        end
    endgenerate

endmodule

`default_nettype wire
