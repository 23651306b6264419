// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of the removal of the device in cde_windows through its ports, cycle by cycle.
//
// Purpose: removals with any set of connected queue pairs that changes under way, resets behind and amid them, cycles without one before and behind. Behind
//          the step that removes, each queue pair has its cycle, once, in order; then the device stays removed and no connection is ended. The
//          design may be the module or one of the netlist of mutants.
// Ports:   none. QP_W as parameter of the bench (NUM_QP is 1 << QP_W); defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps
`include "cde_defs.vh"
`include "cde_mem.vh"

module removal_exact;
    parameter QP_W = 3;
    `include "exact.vh"
    `include "clearing.vh"
    localparam N = 1 << QP_W;
    // The longest memory has fewer words.
    localparam CLEARING = 8192;

    reg                   qc_start = 1'b0;
    reg  [N-1:0]          up = 0;
    wire                  qc_mine, qc_done, removed, removing, bad_valid;
    wire [7:0]            qc_result;
    wire [QP_W-1:0]       bad_qp;

    `DUT dut (
        .clk(clk), .rst(rst), .mem_i(mem_i), .mem_o(), .init(init), .qc_start(qc_start), .qc_command(`CDE_CMD_REMOVE_DEVICE), .qc_args(256'd0),
        .qc_mine(qc_mine), .qc_done(qc_done), .qc_result(qc_result), .qc_outs(), .loc_valid(1'b0), .loc_qp({QP_W{1'b0}}), .loc_post(512'd0),
        .loc_done(), .ri_valid(1'b0), .ri_qp({QP_W{1'b0}}), .ri_key(32'd0), .ri_done(), .done_status(), .peer_valid(1'b0),
        .peer_qp({QP_W{1'b0}}), .peer_key(32'd0), .peer_counts(1'b0), .peer_good(), .peer_context(), .hold(), .keys(96'd0), .found(),
        .set_we(1'b0), .set_qp({QP_W{1'b0}}), .set_zone(17'd0), .held(), .qp_up(up), .fail_valid(), .fail_ready(1'b0), .fail_qp(),
        .bad_valid(bad_valid), .bad_qp(bad_qp), .removed(removed), .removing(removing), .s_axis_check_tdata(192'd0), .s_axis_check_tvalid(1'b0),
        .s_axis_check_tready(), .m_axis_verdict_tdata(), .m_axis_verdict_tvalid(), .m_axis_verdict_tready(1'b1), .pe_valid(), .pe_cause(),
        .pe_object(), .pe_index(), .step(), .trace_valid(), .trace_data() `SELECT
    );

    integer k, round, waited, ends;
    reg     went, ended;

    // One cycle in which queue pair `whose` has its turn (N: none); `device` is {removed, removing}.
    task cycle;
        input integer whose;
        input [1:0] device;
        begin
            up = {$random(seed), $random(seed)};
            #1;
            if ({removed, removing} !== device) begin
                $display("wrong: device at %0t: %b, want %b", $time, {removed, removing}, device);
                $finish;
            end
            if (bad_valid !== (whose < N && up[whose % N]) || (bad_valid && bad_qp !== whose)) begin
                $display("wrong: end of a connection at %0t: %b of %0d, turn of %0d", $time, bad_valid, bad_qp, whose);
                $finish;
            end
            if (qc_done) begin
                ended = 1'b1;
                if (!qc_mine || qc_result !== `CDE_RES_OK) begin
                    $display("wrong: result %h", qc_result);
                    $finish;
                end
            end
            edge_of_clock;
        end
    endtask

    task reset;
        begin
            rst = 1'b1;
            edge_of_clock;
            rst = 1'b0;
        end
    endtask

    initial begin
        set_up(60);
        reset_and_clear(CLEARING);
        for (round = 0; round < cycles; round = round + 1) begin
            for (k = below(2 * N); k > 0; k = k - 1) cycle(N, 2'b00);
            ended = 1'b0;
            qc_start = 1'b1;
            cycle(N, 2'b00);
            qc_start = 1'b0;
            went = 1'b0;
            for (waited = 0; !went; waited = waited + 1) begin
                if (waited == 100) begin
                    $display("wrong: device is not removed");
                    $finish;
                end
                #1 went = removing;
                cycle(N, {1'b0, removing});
            end
            // Some walks end with a reset.
            ends = round % 4 == 3 ? below(N) : N;
            for (k = 0; k < ends; k = k + 1) cycle(k, 2'b11);
            if (ends == N) begin
                for (k = 3 * N + 50; k > 0; k = k - 1) cycle(N, 2'b11);
                if (!ended) begin
                    $display("wrong: no answer");
                    $finish;
                end
            end
            reset;
        end
        passed;
    end

endmodule

`default_nettype wire
