// SPDX-License-Identifier: Apache-2.0
// f_rsv: proof of the reservation streams, s_axis_rsv and m_axis_rsv (cde_rsv).
//
// Purpose: as many answers as requests, in their order, each granted only if credits were taken for it; an offered
//          answer stays; requests under way never exceed the room for answers.
// Ports:   free inputs; verdicts come four cycles after a request.
// Latency: none.
`default_nettype none

module f_rsv (
    input wire        clk,
    input wire [31:0] s_tdata,
    input wire        s_tvalid,
    input wire        m_tready,
    input wire        rq_hold,
    input wire        gr_room
);

    reg [1:0] age = 0;
    wire      rst = age == 0;
    wire      init = age == 1;
    always @(posedge clk) if (!age[1]) age <= age + 1'b1;
    wire      up = age[1];

    wire       s_tready, m_tvalid, rq_valid, rq_cq, gr_take;
    wire [7:0] m_tdata;
    wire [1:0] rq_count;

    cde_rsv #(.CQ_W(1)) dut (
        .clk(clk), .rst(rst), .init(init), .s_axis_rsv_tdata(s_tdata), .s_axis_rsv_tvalid(s_tvalid),
        .s_axis_rsv_tready(s_tready),
        .m_axis_rsv_tdata(m_tdata), .m_axis_rsv_tvalid(m_tvalid), .m_axis_rsv_tready(m_tready), .rq_valid(rq_valid),
        .rq_hold(rq_hold || !up), .rq_cq(rq_cq), .rq_count(rq_count), .gr_room(gr_room), .gr_take(gr_take)
    );

    axis_props #(.W(8)) out_i (.clk(clk), .rst(!up), .valid(m_tvalid), .ready(m_tready), .data(m_tdata));

    // One request of any moment is watched.
    (* anyseq *) reg watch;
    reg [3:0] waiting = 0;          // requests accepted and not answered
    reg       watching = 1'b0;
    reg [3:0] ahead;                // answers before its own
    reg [3:0] unasked;              // verdicts before its own
    reg [3:0] asked = 0;            // a verdict comes after four cycles
    reg [3:0] judged = 0;           // verdicts that came and were not answered
    reg       known = 1'b0;
    reg       verdict;
    wire      in = s_tvalid && s_tready && up;
    wire      out = m_tvalid && m_tready && up;

    always @(posedge clk) begin
        asked <= {asked[2:0], rq_valid && up};
        waiting <= waiting + in - out;
        judged <= judged + asked[3] - out;
        if (watching && out) begin
            ahead <= ahead - 1'b1;
            if (ahead == 0) {watching, known} <= 2'b00;
        end
        if (watching && asked[3] && !known) begin
            unasked <= unasked - 1'b1;
            if (unasked == 0) begin
                known <= 1'b1;
                verdict <= gr_room && gr_take;
            end
        end
        if (in && watch && !watching) begin
            watching <= 1'b1;
            known <= 1'b0;
            ahead <= waiting - out;
            unasked <= waiting - judged - asked[3];
        end
        if (up) begin
            answer_of_a_request: assert (!m_tvalid || waiting != 0);
            answers_have_room: assert (judged + asked[0] + asked[1] + asked[2] + asked[3] <= 8);
            if (watching && m_tvalid && ahead == 0) granted_means_taken: assert (known && m_tdata == {7'd0, verdict});
        end
    end

`ifndef PROPERTIES_ONLY
    // ---------------------------- for the induction: answers, verdicts on their way and requests as one queue
    (* hierconn *) wire [3:0] \dut.out_fifo.level ;
    (* hierconn *) wire [1:0] \dut.in_fifo.level ;
    (* hierconn *) wire [7:0] \dut.out_fifo.words ;
    (* hierconn *) wire \dut.b_valid , \dut.s_valid , \dut.r_valid , \dut.c_valid , \dut.d_valid , \dut.d_granted ;
    wire [3:0] answers = \dut.out_fifo.level , requests = \dut.in_fifo.level ;
    wire [4:0] verdicts = answers + \dut.d_valid ;

    always @(posedge clk) if (!rst) begin
        i_age: assert (age != 3);
        i_queue: assert (waiting == verdicts + \dut.b_valid + \dut.s_valid + \dut.r_valid + \dut.c_valid + requests &&
                         requests <= 2);
        i_judged: assert (judged == verdicts && asked == {\dut.c_valid , \dut.r_valid , \dut.s_valid , \dut.b_valid });
        i_quiet: assert (up || (waiting == 0 && !watching));
        if (watching && !known) i_unknown: assert (ahead >= verdicts && ahead < waiting && unasked == ahead - verdicts);
        if (watching && known) i_known: assert (ahead < verdicts &&
            verdict == (ahead < answers ? \dut.out_fifo.words [ahead[2:0]] : \dut.d_granted ));
    end
`endif

endmodule

`default_nettype wire
