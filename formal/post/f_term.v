// SPDX-License-Identifier: Apache-2.0
// f_term: proof of the terminate requests, m_axis_term, where they are made (cde_qp_ctrl, cde_qp_steps).
//
// Purpose: each end of a connection becomes one request, however long the sink stalls: there is room for all, and none
//          comes without an end. The steps' outcomes are any that lead no QP up but by a connect step; commands,
//          failures, connection events are free.
// Ports:   free inputs.
// Latency: none.
`default_nettype none
`include "cde_defs.vh"
`include "cde_mem.vh"

module f_term (
    input wire         clk,
    input wire         init_more,
    input wire         qc_start,
    input wire [7:0]   qc_command,
    input wire [255:0] qc_args,
    input wire         cqi_we,
    input wire         cqi_alive,
    input wire         cqi_cq,
    input wire         cqi_page,
    input wire [31:0]  conn,
    input wire         conn_valid,
    input wire         term_ready,
    input wire         fail_valid,
    input wire         fail_qp,
    input wire         rfail_valid,
    input wire         rfail_qp,
    input wire         rfail_pending,
    input wire         kfail_valid,
    input wire         kfail_qp,
    input wire         rx_empty,
    input wire         keys_held,
    input wire         srqi_live,
    input wire         srqi_page,
    input wire [3:0]   new_state,
    input wire [7:0]   result,
    input wire [8:0]   indices,
    input wire         ind_valid,
    input wire         ind_qp,
    input wire [2:0]   ind_next
);

`include "cde_post_ops.vh"

    reg started = 1'b0, ready = 1'b0;
    wire rst = !started;
    wire up = ready;                     // the walk is over
    always @(posedge clk) begin
        started <= 1'b1;
        ready <= ready || (started && !init_more);
    end
    wire [`CDE_MEM_W-1:0] mem = {39'd0, !up, rst};      // maintenance bus: reset and the walk, no injection
    wire [`CDE_MEM_W-1:0] unused_mem;

    wire        op_valid, op_void, op_qp, conn_ready, term_valid;
    wire [3:0]  op_code;
    wire [31:0] term;

    // ---------------------------------------------------------------- steps on their way: decided after three cycles,
    // told in the fourth
    reg  [3:0]  going = 0, of_qp;
    reg  [3:0]  code0, code1, code2, code3;
    reg  [3:0]  state0, state1;         // any, at the beginning, too
    wire        told = going[3];
    wire        qp = of_qp[3];
    wire [3:0]  old_state = qp ? state1 : state0;

    function is_up;
        input [3:0] s;
        is_up = s == `CDE_QPS_CONNECTED || s == `CDE_QPS_DISCONNECT_PENDING;
    endfunction

    wire ends = told && is_up(old_state) && !is_up(new_state);

    always @* if (told && is_up(new_state) && !is_up(old_state)) assume (code3 == OP_CONNECT);

    always @(posedge clk) begin
        going <= {going[2:0], op_valid && !op_void && up};
        of_qp <= {of_qp[2:0], op_qp};
        {code3, code2, code1, code0} <= {code2, code1, code0, op_code};
        if (told && !qp) state0 <= new_state;
        if (told && qp) state1 <= new_state;
    end

    cde_qp_ctrl #(.NUM_QP(2), .QP_W(1), .SRQ_W(1), .CQ_W(1), .NUM_PAGES(2), .PAGE_W(1), .IDX_W(3), .SQ_LOG2(2),
        .RQ_LOG2(2), .ECC(0)) dut (
        .clk(clk), .mem_i(mem), .mem_o(unused_mem), .rst(rst), .init(!up), .qc_start(qc_start && up),
        .qc_command(qc_command),
        .qc_args(qc_args), .cqi_we(cqi_we), .cqi_alive(cqi_alive), .cqi_cq(cqi_cq), .cqi_page(cqi_page),
        .s_axis_conn_tdata(conn),
        .s_axis_conn_tvalid(conn_valid), .s_axis_conn_tready(conn_ready), .m_axis_term_tdata(term),
        .m_axis_term_tvalid(term_valid),
        .m_axis_term_tready(term_ready), .fail_valid(fail_valid && up), .fail_qp(fail_qp), .rfail_valid(rfail_valid &&
            up), .rfail_qp(rfail_qp),
        .rfail_pending(rfail_pending), .kfail_valid(kfail_valid && up), .kfail_qp(kfail_qp), .rx_empty(rx_empty),
        .keys_held(keys_held),
        .srqi_live(srqi_live), .srqi_page(srqi_page), .op_valid(op_valid), .op_void(op_void),
        .op_code(op_code), .op_qp(op_qp),
        .opr_valid(told), .opr_code(code3), .opr_qp(qp), .opr_result(result), .opr_old(old_state), .opr_new(new_state),
        .opr_indices(indices), .ind_valid(ind_valid), .ind_qp(ind_qp), .ind_next(ind_next)
    );

    // ---------------------------------------------------------------- requests
    reg  [3:0] owed = 0;
    (* hierconn *) wire \dut.steps_i.term_fifo.push_valid , \dut.steps_i.term_fifo.push_ready ;
    (* hierconn *) wire [4:0] \dut.steps_i.term_fifo.push_data ;
    wire [3:0] shown = code3 == OP_DESTROY ? `CDE_QPS_ERROR : new_state;

    always @(posedge clk) owed <= owed + ends - (term_valid && term_ready && up);

    always @* if (up) begin
        each_end_is_told: assert (\dut.steps_i.term_fifo.push_valid == ends && (!ends ||
            \dut.steps_i.term_fifo.push_data == {shown, qp}));
        none_is_lost: assert (!ends || \dut.steps_i.term_fifo.push_ready );
        none_is_invented: assert (!term_valid || owed != 0);
        none_is_stuck: assert (term_valid == (owed != 0));
    end

    wire waits;
    axis_props #(.W(32)) term_i (.clk(clk), .rst(!up), .valid(term_valid && up), .ready(term_ready), .data(term),
        .held(waits));

`ifndef PROPERTIES_ONLY
    // ---------------------------------------------------------------- for the induction: one place for each QP, one
    // for each request
    (* hierconn *) wire [2:0] \dut.steps_i.term_fifo.level , \dut.steps_i.term_fifo.wr_ptr ;
    (* hierconn *) wire [2:0] \dut.steps_i.term_fifo.rd_ptr ;
    (* hierconn *) wire \dut.steps_i.conn_fifo.q_valid , \dut.steps_i.term_fifo.q_valid ;
    (* hierconn *) wire \dut.steps_i.term_fifo.many , \dut.cmd_asks , \dut.cmd_taken , \dut.refused ;
    (* hierconn *) wire [3:0] \dut.state ;
    wire [2:0] stored = \dut.steps_i.term_fifo.wr_ptr - \dut.steps_i.term_fifo.rd_ptr ;
    // Steps in their slot and after it
    wire [4:0] steps = {going, op_valid && !op_void};
    wire [4:0] connects = steps & {code3 == OP_CONNECT, code2 == OP_CONNECT, code1 == OP_CONNECT, code0 == OP_CONNECT,
        op_code == OP_CONNECT};
    wire [5:0] commands = {\dut.refused , going, op_valid} & ~{1'b0, code3 == OP_FAIL || code3 == OP_CONN,
        code2 == OP_FAIL || code2 == OP_CONN, code1 == OP_FAIL || code1 == OP_CONN, code0 == OP_FAIL ||
        code0 == OP_CONN, op_code == OP_FAIL || op_code == OP_CONN};
    wire [3:0] places = \dut.steps_i.term_fifo.level + is_up(state0) + is_up(state1) + (connects != 0);

    always @* begin
        if (!up) nothing_yet: assert (going == 0 && owed == 0 && !waits && (!started || (!op_valid && !\dut.refused &&
            !\dut.cmd_taken )));
        if (started && !up) empty_yet: assert (\dut.steps_i.term_fifo.level == 0 && stored == 0 &&
            !\dut.steps_i.term_fifo.q_valid &&
            !\dut.steps_i.term_fifo.many && !\dut.steps_i.conn_fifo.q_valid && \dut.state == 0 && !\dut.cmd_asks );
        if (up) begin
            begun: assert (started);
            levels: assert (stored <= 4 && \dut.steps_i.term_fifo.level == stored + \dut.steps_i.term_fifo.q_valid &&
                (\dut.steps_i.term_fifo.q_valid || stored == 0) && \dut.steps_i.term_fifo.many == (stored != 0));
            owed_waits: assert (owed == \dut.steps_i.term_fifo.level );
            one_place_each: assert (places <= 4);
            // Control waits for the outcome of a command's step, LOOK_WAIT, ACT_WAIT, or is told that it is in its slot
            one_command: assert ((commands & (commands - 6'd1)) == 0 && (commands != 0) == (\dut.state == 4'd2 ||
                \dut.state == 4'd8 || \dut.cmd_taken ));
            told_when: assert (!\dut.cmd_taken || (\dut.cmd_asks && op_valid && commands == 1));
            asks_when: assert (!\dut.cmd_asks || \dut.state == 4'd1 || \dut.state == 4'd7);
            if (waits) offered: assert (\dut.steps_i.term_fifo.q_valid );
        end
    end
`endif

endmodule

`default_nettype wire
