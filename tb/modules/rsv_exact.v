// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_rsv through its ports, cycle by cycle.
//
// Purpose: requests that are right, wrong in one bit or by their count, as fast as they are taken and slower; verdicts that are taken late; cycles without
//          verdicts of others; clearing walks and resets. Against lists of requests and verdicts. Compares both hands, each request for a
//          verdict, which of them is wanted, and each verdict. The design may be the module or one of the netlist of mutants.
// Ports:   none. CQ_W as parameter of the bench; defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps

module rsv_exact;
    parameter CQ_W = 3;
    `include "exact.vh"
    localparam CQS = 1 << CQ_W;

    reg               init = 1, tvalid = 0, tready = 0, rq_hold = 0, gr_room = 0;
    reg  [31:0]       tdata = 0;
    wire              s_ready, m_valid, rq_valid, gr_take;
    wire [7:0]        m_data;
    wire [CQ_W-1:0]   rq_cq;
    wire [1:0]        rq_count;

    `DUT dut (
        .clk(clk), .rst(rst), .init(init), .s_axis_rsv_tdata(tdata), .s_axis_rsv_tvalid(tvalid), .s_axis_rsv_tready(s_ready),
        .m_axis_rsv_tdata(m_data), .m_axis_rsv_tvalid(m_valid), .m_axis_rsv_tready(tready), .rq_valid(rq_valid), .rq_hold(rq_hold),
        .rq_cq(rq_cq), .rq_count(rq_count), .gr_room(gr_room), .gr_take(gr_take) `SELECT
    );

    // ---------------------------------------------------------------- the model: requests that wait, two on their way, verdicts that wait
    reg  [31:0]       waits [0:1];
    reg               verdicts [0:3];
    integer           requests, answers, k, busy, slow;
    reg               asks, takes, goes, r_valid, c_valid, r_legal, c_legal;

    task wrong;
        input [8*16-1:0] what;
        begin
            $display("wrong: %0s at %0t: %0d requests wait, the first %h, %0d verdicts: ready %b, asks %b, verdict %b %h", what, $time, requests, waits[0], answers,
                     s_ready, rq_valid, m_valid, m_data);
            $finish;
        end
    endtask

    function legal;
        input [31:0] request;
        legal = request[15:0] < CQS && (request[31:16] == 1 || request[31:16] == 2);
    endfunction

    initial begin
        set_up(20000);
        {requests, answers, r_valid, c_valid, r_legal, c_legal} = 0;
        for (n = 0; n < cycles; n = n + 1) begin
            if (n % 64 == 0) begin
                busy = below(9);
                slow = below(2) ? 0 : below(9);
            end
            rst = n % 1024 == 1023;
            init = n % 1024 < 16;
            tvalid = below(8) < busy;
            tready = below(8) >= slow;
            rq_hold = below(8) == 0;
            gr_room = $random(seed);
            tdata = below(CQS);
            tdata[17:16] = 1 + below(2);
            if (below(3) == 0) tdata = tdata ^ 32'd1 << below(32);
            #1;
            // At most four verdicts are waiting or on their way.
            asks = requests != 0 && answers <= 1 && !rq_hold;
            if (s_ready !== (requests < 2 && !init)) wrong("room");
            if (rq_valid !== asks || (asks && {rq_count, rq_cq} !== {waits[0][17:16], waits[0][CQ_W-1:0]})) wrong("request");
            if (c_valid && gr_take !== c_legal) wrong("taking");
            if (m_valid !== (answers != 0) || (answers != 0 && m_data !== {7'd0, verdicts[0]})) wrong("verdict");
            takes = tvalid && s_ready;
            goes = m_valid && tready;
            if (goes) begin
                for (k = 0; k < 3; k = k + 1) verdicts[k] = verdicts[k+1];
                answers = answers - 1;
            end
            if (c_valid) begin
                verdicts[answers] = gr_room && c_legal;
                answers = answers + 1;
            end
            {c_valid, c_legal, r_valid, r_legal} = {r_valid, r_legal, asks, legal(waits[0])};
            if (asks) begin
                waits[0] = waits[1];
                requests = requests - 1;
            end
            if (takes) begin
                waits[requests] = tdata;
                requests = requests + 1;
            end
            if (rst) {requests, answers, r_valid, c_valid} = 0;
            edge_of_clock;
        end
        passed;
    end

endmodule

`default_nettype wire
