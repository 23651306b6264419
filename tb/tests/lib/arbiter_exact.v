// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_arbiter through its ports, cycle by cycle.
//
// Purpose: random requests of few and of many QPs, several of one QP in a cycle and in the cycle in which it is taken,
//          with resets under way, against the set of those who wait and the newest one whose turn began. Compares the
//          offer, and whether somebody waits, in each cycle. The design may be the module or one of the netlist of
//          mutants.
// Ports:   none. QP_W as parameter of the bench (NUM_QP is 1 << QP_W); defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps

module arbiter_exact;
    parameter QP_W = 3;
    `include "exact.vh"
    localparam N = 1 << QP_W;

    reg  [2:0]      ask = 3'd0;
    reg  [QP_W-1:0] ask0_qp = 0, ask1_qp = 0, ask2_qp = 0;
    reg             offer_take = 1'b0;
    wire            pending, offer_valid;
    wire [QP_W-1:0] offer_qp;
    integer         k, busy, mask;

    `DUT dut (
        .clk(clk), .rst(rst), .ask0(ask[0]), .ask0_qp(ask0_qp), .ask1(ask[1]), .ask1_qp(ask1_qp), .ask2(ask[2]),
        .ask2_qp(ask2_qp),
        .pending(pending), .offer_valid(offer_valid), .offer_qp(offer_qp),
        .offer_take(offer_take) `SELECT
    );

    // ---------------------------------------------------------------- the model
    reg  [N-1:0] waits = 0;
    reg          offer = 1'b0, chosen;
    integer      offered, newest, at;

    task wrong;
        input [8*24-1:0] what;
        begin
            $display("wrong: %0s at %0t: offer %b of %0d, pending %b; want %b of %0d, waiting %h", what, $time,
            offer_valid, offer_qp, pending, offer,
                     offered, waits);
            $finish;
        end
    endtask

    task cycle;
        begin
            #1;
            if (offer_valid !== offer) wrong("offer");
            if (offer && offer_qp !== offered) wrong("QP that is offered");
            if (pending !== (offer || waits != 0)) wrong("pending");
            if (!offer || offer_take) begin
                chosen = 1'b0;
                for (k = 1; k <= N; k = k + 1) begin
                    at = (newest + k) % N;
                    if (waits[at] && !chosen) begin
                        chosen = 1'b1;
                        offered = at;
                        newest = at;
                    end
                end
                offer = chosen;
                if (offer) waits[offered] = 1'b0;
            end
            if (ask[0]) waits[ask0_qp] = 1'b1;
            if (ask[1]) waits[ask1_qp] = 1'b1;
            if (ask[2]) waits[ask2_qp] = 1'b1;
            if (rst) begin
                waits = 0;
                offer = 1'b0;
                newest = 0;
            end
            edge_of_clock;
        end
    endtask

    initial begin
        set_up(20000);
        {offered, newest} = 0;
        for (n = 0; n < cycles; n = n + 1) begin
            // Quiet and busy phases, among few QPs and among all.
            if (n % 64 == 0) begin
                busy = below(12);
                mask = n[6] ? -1 : $random(seed);
            end
            for (k = 0; k < 3; k = k + 1) ask[k] = below(16) < busy;
            ask0_qp = $random(seed) & mask;
            ask1_qp = $random(seed) & mask;
            ask2_qp = below(4) == 0 ? offer_qp : $random(seed) & mask;
            offer_take = $random(seed);
            rst = below(256) == 0;
            cycle;
        end
        passed;
    end

endmodule

`default_nettype wire
