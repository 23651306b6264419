// SPDX-License-Identifier: Apache-2.0
// f_callback: proof that at most one callback of a CQ is outstanding, and at most one event of it on its way (CQ-07,
// CQ-16).
//
// Purpose: cde_arm with everything that its neighbours may do, for any one of its CQs. An event is on its way from the
//          cycle in which it is handed to the event queues to memory's answer; a failed one is handed over again. A
//          callback is outstanding from its first event to the host's accepted return. Assumed: answers come to events
//          that are on their way; control takes one step at a time and creates what does not exist.
// Ports:   free inputs.
// Latency: none.
`default_nettype none
`include "cde_mem.vh"
`include "cde_defs.vh"

module f_callback
`include "arm_env.vh"

    // ---------------------------------------------------------------- environment
    (* hierconn *) wire [CQ_W-1:0] \dut.f_cq ;
    wire [CQ_W-1:0] cq = \dut.f_cq ;      // any one CQ
    (* hierconn *) wire \dut.f_exists , \dut.f_busy , \dut.f_eqe , \dut.f_returned , \dut.f_freed , \dut.f_nothing_due ,
        \dut.f_settled , \dut.f_lives , \dut.f_kinds ;
    (* hierconn *) wire [4:0] \dut.f_answers , \dut.f_acks , \dut.f_control , \dut.f_creates ;
    (* hierconn *) wire [3:0] \dut.f_since ;

    wire pub = pub_valid && pub_cq == cq;
    wire fails = pub && pub_op == `CDE_TRC_EVENT_FAILED, acked = ack_valid && ack_cq == cq;
    wire answer = fails || (acked && ack_ready);
    wire p_sent = ev_pub_valid && ev_pub_data[CQ_W-1:0] == cq, d_sent = ev_db_valid && ev_db_data[CQ_W-1:0] == cq;
    wire again = ev_pub_data[10+IDX_W+CQ_W];     // an event whose write failed
    wire ct_take = ct_valid && ct_ready;
    reg  event_out = 1'b0;                  // an event is on its way
    reg  outstanding = 1'b0;                // a callback was called and has not ended
    reg  exists = 1'b0;                     // created, not freed
    reg  [2:0] steps = 3'd0;                // control: a step is on its way

    always @* begin
        if (db_valid) assume (db_op == `CDE_TRC_DOORBELL || db_op == `CDE_TRC_CB_RETURN);
        // Memory has one answer to an event.
        if (fails || acked) assume (event_out && !(fails && acked));
        if (pub) assume (pub_op != `CDE_TRC_CREATE && pub_op != `CDE_TRC_DESTROY && pub_op != `CDE_TRC_EVENT_DONE);
        if (ct_valid) begin
            assume (steps == 0);
            assume (ct_op == `CDE_TRC_CREATE || ct_op == `CDE_TRC_DESTROY || ct_op == 8'hff);
            if (ct_cq == cq && ct_op == `CDE_TRC_CREATE) assume (!exists);
        end
    end

    // Publication first: a callback that it calls may be returned in the same cycle.
    wire p_calls = p_sent && !again;
    wire between = p_calls || (outstanding);

    always @(posedge clk) if (up) begin
        if (p_sent || d_sent) event_out <= 1'b1;
        else if (answer) event_out <= 1'b0;
        outstanding <= d_sent || (between && !\dut.f_returned );
        if (ct_take && ct_cq == cq && ct_op == `CDE_TRC_CREATE) exists <= 1'b1;
        else if (\dut.f_freed ) exists <= 1'b0;
        steps <= ct_take ? 3'd7 : steps == 0 ? 3'd0 : steps - 1'b1;
    end

    // ---------------------------------------------------------------- properties
    always @(posedge clk) if (up) begin
        one_event: assert (!((p_sent || d_sent) && event_out));
        one_event_a_cycle: assert (!(p_sent && d_sent));
        // A new one is called in the step that ends the last, at the soonest.
        one_callback: assert (!(p_calls && outstanding) && !(d_sent && between && !\dut.f_returned ));
        freed_when_over: assert (!\dut.f_freed || !(event_out || between));
    end

`ifndef PROPERTIES_ONLY
    // ---------------------------------------------------------------- for the induction
    // Stage Z tells what is sent, returned and freed; the flags know it already.
    wire [4:0] on_way = \dut.f_answers | \dut.f_acks ;
    wire [2:0] answers = on_way[0] + on_way[1] + on_way[2] + on_way[3] + on_way[4];
    wire       out_now = event_out || p_sent || d_sent, outstanding_now = d_sent || (between &&
        !\dut.f_returned ), exists_now = exists && !\dut.f_freed ;
    always @(posedge clk) if (!rst) begin
        i_age: assert (age <= NUM_CQ + 1 || age == 1 << (CQ_W + 1));
        i_since: assert (\dut.f_since == (age > 3 ? 4'hf : (1 << age) - 1));
        i_nothing_yet: assert (up || (!event_out && !outstanding && !exists && steps == 0 && answers == 0 &&
            \dut.f_control == 0));
        if (age > 1) begin
            i_one_answer: assert ((\dut.f_answers & \dut.f_acks ) == 0);
            i_event: assert ({3'b000, \dut.f_eqe } == {3'b000, out_now} + {1'b0, answers});
            i_outstanding: assert (\dut.f_busy == outstanding_now);
            i_exists: assert (exists_now == (\dut.f_exists || |\dut.f_creates ) &&
                (!\dut.f_exists || \dut.f_creates == 0));
            i_settled: assert (\dut.f_settled && \dut.f_lives );
            i_nothing_due: assert (\dut.f_exists || \dut.f_nothing_due );
        end
        i_kinds: assert (\dut.f_kinds );
        i_steps: assert ((!\dut.f_control [0] || steps == 7) && (!\dut.f_control [1] || steps == 6) &&
            (!\dut.f_control [2] || steps == 5) &&
            (!\dut.f_control [3] || steps == 4) && (!\dut.f_control [4] || steps == 3));
    end
`endif

endmodule

`default_nettype wire
