// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_qp_ctrl through its ports, cycle by cycle.
//
// Purpose: QP commands whose arguments are right but for a bit, each in every state, one behind another; a posting pipeline that takes its time and answers
//          anything; failing reports, connection events and terminate requests beside them, CQs that come and go. The bench goes with each command step by
//          step: what it looks at, what the others are told, its result and outputs (posting.md, interfaces.md). Compares every output in each cycle in
//          which it says something. The design may be the module or one of the netlist of mutants.
// Ports:   none. QP_W, SRQ_W, CQ_W, PAGE_W, IDX_W, SQ_LOG2, RQ_LOG2 as parameters of the bench (NUM_QP is 1 << QP_W, NUM_PAGES 1 << PAGE_W); defines and
//          plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps
`include "cde_defs.vh"
`include "cde_mem.vh"

module qp_ctrl_exact;
    parameter QP_W = 2;
    parameter SRQ_W = 1;
    parameter CQ_W = 2;
    parameter PAGE_W = 2;
    parameter IDX_W = 5;
    parameter SQ_LOG2 = 2;
    parameter RQ_LOG2 = 2;
    `include "exact.vh"
    `include "clearing.vh"
    `include "cde_post_ops.vh"
    localparam N = 1 << QP_W, CQS = 1 << CQ_W, PAGES = 1 << PAGE_W;
    localparam WORDS = 1 << (QP_W > CQ_W ? QP_W : CQ_W);
    localparam SLOWEST = 7;                 // cycles from a step to its answer, at most

    reg                qc_start = 0, cqi_we = 0, cqi_alive = 0, conn_tvalid = 0, term_tready = 0, fail_valid = 0, rfail_valid = 0, rfail_pending = 0,
                       kfail_valid = 0, rx_empty = 0, keys_held = 0, srqi_live = 0, opr_valid = 0, ind_valid = 0;
    reg  [7:0]         qc_command = 0, opr_result = 0;
    reg  [255:0]       qc_args = 0;
    reg  [CQ_W-1:0]    cqi_cq = 0;
    reg  [PAGE_W-1:0]  cqi_page = 0, srqi_page = 0;
    reg  [31:0]        conn_tdata = 0;
    reg  [QP_W-1:0]    fail_qp = 0, rfail_qp = 0, kfail_qp = 0, opr_qp = 0, ind_qp = 0;
    reg  [3:0]         opr_code = 0, opr_old = 0, opr_new = 0;
    reg  [3*IDX_W-1:0] opr_indices = 0;
    reg  [IDX_W-1:0]   ind_next = 0;
    wire               qc_done, cqi_used, conn_tready, term_tvalid, rfail_ready, kfail_ready, hold, use_we, use_up, op_valid, op_empty, set_we, set_all,
                       peer_we, err_valid;
    wire [7:0]         qc_result, err_cause;
    wire [255:0]       qc_outs;
    wire [31:0]        term_tdata;
    wire [115+PAGE_W+CQ_W:0] set_receive;
    wire [15:0]        srqi_number, err_qp;
    wire [3:0]         op_code, op_target;
    wire [QP_W-1:0]    op_qp, set_qp;
    wire [32+SQ_LOG2+PAGE_W+CQ_W:0] set_post;
    wire [63+CQ_W:0]   set_retire;
    wire [23:0]        set_peer;

    `DUT dut (
        .clk(clk), .mem_i(mem_i), .mem_o(), .rst(rst), .init(init), .qc_start(qc_start), .qc_command(qc_command), .qc_args(qc_args), .qc_done(qc_done),
        .qc_result(qc_result), .qc_outs(qc_outs), .cqi_we(cqi_we), .cqi_alive(cqi_alive), .cqi_cq(cqi_cq), .cqi_page(cqi_page), .cqi_used(cqi_used),
        .s_axis_conn_tdata(conn_tdata), .s_axis_conn_tvalid(conn_tvalid), .s_axis_conn_tready(conn_tready), .m_axis_term_tdata(term_tdata),
        .m_axis_term_tvalid(term_tvalid), .m_axis_term_tready(term_tready), .fail_valid(fail_valid), .fail_qp(fail_qp), .rfail_valid(rfail_valid),
        .rfail_ready(rfail_ready), .rfail_qp(rfail_qp), .rfail_pending(rfail_pending), .kfail_valid(kfail_valid), .kfail_ready(kfail_ready),
        .kfail_qp(kfail_qp), .hold(hold), .rx_empty(rx_empty), .keys_held(keys_held), .set_receive(set_receive), .use_we(use_we), .use_up(use_up),
        .srqi_number(srqi_number), .srqi_live(srqi_live), .srqi_page(srqi_page), .op_valid(op_valid), .op_code(op_code), .op_target(op_target),
        .op_qp(op_qp), .op_empty(op_empty), .opr_valid(opr_valid), .opr_code(opr_code), .opr_qp(opr_qp), .opr_result(opr_result), .opr_old(opr_old),
        .opr_new(opr_new), .opr_indices(opr_indices), .set_we(set_we), .set_all(set_all), .peer_we(peer_we), .set_qp(set_qp), .set_post(set_post),
        .set_retire(set_retire), .set_peer(set_peer), .ind_valid(ind_valid), .ind_qp(ind_qp), .ind_next(ind_next), .err_valid(err_valid),
        .err_cause(err_cause), .err_qp(err_qp) `SELECT
    );

    // ---------------------------------------------------------------- the model
    reg  [255:0]       made [0:N-1];        // arguments of the creation; of them ARG5 as it is now
    reg  [23:0]        peer [0:N-1];
    reg  [IDX_W-1:0]   indicated [0:N-1];
    reg  [N-1:0]       live;
    reg  [CQS-1:0]     alive;
    reg  [PAGE_W-1:0]  page [0:CQS-1];
    integer            users [0:CQS-1];
    reg  [31:0]        events [0:1], head;
    reg  [QP_W+3:0]    terms [0:2*N-1];
    reg  [QP_W+4:0]    steps [0:SLOWEST];   // {valid, code, QP} on their way through the pipeline
    integer            waiting, left, pause, slow, k, gap, turns, quiet;
    // What the command does in this cycle: it asks for a step, that of its look or of itself; settings, peer and the users of an SRQ are written.
    reg                busy, ends, asks, acts, sets, connects, uses;
    reg                may, stepped, answered, fails, event_asks, malformed, missed, pushes, refused, far, known, shared, no_cq, bad_page, rested;
    reg  [3:0]         code, want_code, state;
    reg  [7:0]         result;
    reg  [255:0]       outs, was;
    reg  [QP_W-1:0]    qp, want_qp;
    reg  [CQ_W-1:0]    seen, one, two;
    wire               c_create = qc_command == `CDE_CMD_CREATE_QP, c_connect = qc_command == `CDE_CMD_CONNECT_QP,
                       c_destroy = qc_command == `CDE_CMD_DESTROY_QP, c_set = qc_command == `CDE_CMD_SET_QP_STATE;

    task wrong;
        input [8*20-1:0] what;
        begin
            $display("wrong: %0s at %0t: command %h %h: result %h, want %h; outputs %h, want %h; step %b %0d of QP %0d, want %b %0d of QP %0d", what, $time,
                     qc_command, qc_args, qc_result, result, qc_outs, outs, op_valid, op_code, op_qp, fails || event_asks || may, want_code, want_qp);
            $finish;
        end
    endtask

    function up;
        input [3:0] value;
        up = value == `CDE_QPS_CONNECTED || value == `CDE_QPS_DISCONNECT_PENDING;
    endfunction

    task compare;
        begin
            #1;
            head = events[0];
            malformed = waiting > 0 && (head[15:0] >= N || head[31:16] != `CDE_CONNEVENT_DISCONNECTED);
            missed = opr_valid && opr_code == OP_CONN && opr_old == `CDE_QPS_FREE;
            event_asks = waiting > 0 && !malformed && pause == 0;
            fails = fail_valid || rfail_valid || kfail_valid;
            refused = acts && c_destroy && keys_held;
            may = asks && !refused && !(acts && c_connect && (left >= N || rfail_pending));
            stepped = may && !fails && !event_asks;
            answered = opr_valid && opr_code != OP_FAIL && opr_code != OP_CONN;
            want_code = fails ? OP_FAIL : event_asks ? OP_CONN : code;
            want_qp = fail_valid ? fail_qp : kfail_valid ? kfail_qp : rfail_valid ? rfail_qp : event_asks ? head[QP_W-1:0] : qp;
            if (op_valid !== (fails || event_asks || may)) wrong("step");
            if (op_valid && {op_code, op_qp, op_empty} !== {want_code, want_qp, rx_empty}) wrong("step");
            if (op_valid && op_code == OP_SET && op_target !== qc_args[35:32]) wrong("state asked for");
            if (kfail_ready !== !fail_valid || rfail_ready !== (!fail_valid && !kfail_valid)) wrong("hand of a failure");
            if (conn_tready !== (waiting < 2 && !init)) wrong("hand of an event");
            if (term_tvalid !== (left > 0)) wrong("terminate request");
            if (term_tvalid && term_tdata !== {12'd0, terms[0][QP_W +: 4], 16'd0 | terms[0][QP_W-1:0]}) wrong("terminate request");
            if (err_valid !== (malformed || missed)) wrong("error");
            if (missed && {err_cause, err_qp} !== {`CDE_CAUSE_CONN_NO_QP, 16'd0 | opr_qp}) wrong("error");
            if (malformed && !missed && {err_cause, err_qp} !== {`CDE_CAUSE_DONE_BAD, head[15:0]}) wrong("error");
            if (hold !== (busy && (c_destroy || c_set))) wrong("hold");
            if (set_we !== sets || peer_we !== connects || use_we !== uses) wrong("settings");
            if ((sets || connects) && set_qp !== qp) wrong("QP of the settings");
            if (connects && set_peer !== qc_args[55:32]) wrong("peer");
            if (sets) begin
                was = made[qp];
                if (set_all !== c_create) wrong("settings");
                if (set_post !== {was[191:160], was[144 +: SQ_LOG2 + 1], was[128 +: PAGE_W], was[96 +: CQ_W]}) wrong("settings of posting");
                if (c_create && set_retire !== {was[96 +: CQ_W], was[95:32]}) wrong("settings retirement");
                if (c_create && set_receive !== {was[242:241], was[252:248] == `CDE_RECVFLAG_SOLICITED_WAIT, was[240], was[239:224], was[223:208],
                                                 was[207:192], was[128 +: PAGE_W], was[112 +: CQ_W], was[95:32]}) wrong("settings of receives");
            end
            if (uses && {use_up, srqi_number} !== {c_create, made[qp][239:224]}) wrong("use of an SRQ");
            if (rested && cqi_used !== (users[seen] != 0)) wrong("use of a CQ");
            if (qc_done !== ends || (ends && {qc_result, qc_outs} !== {result, outs})) wrong("end of a command");
        end
    endtask

    task advance;
        begin
            if (malformed ? !missed : event_asks && !fails) begin
                waiting = waiting - 1;
                events[0] = events[1];
                pause = malformed ? pause : 4;
            end
            if (pause > 0) pause = pause - 1;
            if (conn_tvalid && conn_tready) begin
                events[waiting] = conn_tdata;
                waiting = waiting + 1;
            end
            pushes = opr_valid && up(opr_old) && !up(opr_new);
            if (term_tvalid && term_tready) begin
                for (k = 1; k < left; k = k + 1) terms[k-1] = terms[k];
                left = left - 1;
            end
            if (pushes) begin
                terms[left] = {opr_code == OP_DESTROY ? `CDE_QPS_ERROR : opr_new, opr_qp};
                left = left + 1;
            end
            if (cqi_we) {alive[cqi_cq], page[cqi_cq]} = {cqi_alive, cqi_page};
            if (ind_valid) indicated[ind_qp] = ind_next;
            {rested, seen, ends} = {!busy, cqi_cq, 1'b0};
            for (k = SLOWEST; k > 0; k = k - 1) steps[k] = steps[k-1];
            steps[0] = {op_valid, op_code, op_qp};
        end
    endtask

    task inputs;
        begin
            {opr_valid, opr_code, opr_qp} = steps[slow];
            opr_result = below(4) == 0 ? $random(seed) : `CDE_RES_OK;
            {opr_old, opr_new, opr_indices} = {$random(seed), $random(seed)};
            // One that looks finds a life where there is one, mostly.
            if (opr_code == OP_LOOK && below(16) != 0) opr_new = live[opr_qp] ? 1 + below(6) : `CDE_QPS_FREE;
            if (opr_code == OP_CONN && below(2)) opr_old = `CDE_QPS_FREE;
            if (left == 2 * N) opr_old = `CDE_QPS_IDLE;
            {term_tready, cqi_alive} = {below(16) < quiet, below(8) != 0};
            cqi_we = below(4) == 0;
            {cqi_cq, cqi_page, srqi_page} = {$random(seed), $random(seed)};
            if (below(8) != 0) {cqi_page, srqi_page} = {cqi_page[0], qc_args[128 +: PAGE_W]};
            conn_tvalid = below(8) < gap;
            conn_tdata = {16'd0 | `CDE_CONNEVENT_DISCONNECTED, 16'd0} | below(N);
            if (below(2)) conn_tdata = conn_tdata ^ (32'd1 << below(32));
            {fail_valid, rfail_valid, kfail_valid} = {below(8) < gap - 4, below(8) < gap - 4, below(8) < gap - 4};
            {fail_qp, rfail_qp, kfail_qp, rx_empty} = $random(seed);
            {rfail_pending, keys_held, srqi_live} = {below(4) == 0, below(8) == 0, below(8) != 0 && qc_args[239:224] < 1 << SRQ_W};
            {ind_valid, ind_qp, ind_next} = $random(seed);
            init = below(64) == 0;
        end
    endtask

    task cycle;
        begin
            compare;
            advance;
            edge_of_clock;
            {qc_start, sets, connects, uses} = 4'd0;
            inputs;
        end
    endtask

    `include "qp_commands.vh"

    // A step is asked for until it is taken or refused; its answer is there at the end, and its cycle yet to come.
    task step;
        begin
            asks = 1'b1;
            stepped = 1'b0;
            refused = 1'b0;
            while (!stepped && !refused) cycle;
            {asks, acts} = 2'b00;
            #1 answered = opr_valid && opr_code != OP_FAIL && opr_code != OP_CONN;
            while (!refused && !answered) begin
                cycle;
                answered = opr_valid && opr_code != OP_FAIL && opr_code != OP_CONN;
            end
        end
    endtask

    // Whether a CQ does not fit, as it is when its second cycle begins.
    task look_at_cq;
        input [15:0] cq;
        begin
            cycle;
            no_cq = no_cq || cq >= CQS || !alive[cq[CQ_W-1:0]];
            bad_page = bad_page || qc_args[143:128] >= PAGES || page[cq[CQ_W-1:0]] != qc_args[143:128];
            cycle;
        end
    endtask

    task settle_command;
        begin
            was = made[qp];
            result = opr_result;
            if (qc_command == `CDE_CMD_QUERY_QP) begin
                outs = {was[255:64], 64'd0};
                outs[31:0] = {peer[qp], 4'd0, opr_new};
                outs[63:32] = {16'd0 | opr_indices[IDX_W +: IDX_W], 16'd0 | opr_indices[0 +: IDX_W]};
                outs[95:64] = {16'd0 | opr_indices[2*IDX_W +: IDX_W], 16'd0 | indicated[qp]};
                outs[127:96] = was[127:96];
                outs[159:128] = {was[159:144], was[143:128]};
            end
            cycle;
            if (c_create || (c_destroy && result == `CDE_RES_OK)) begin
                live[qp] = c_create;
                cycle;
                uses = was[240];
                users[was[96 +: CQ_W]] = users[was[96 +: CQ_W]] + (c_create ? 1 : -1);
                cycle;
                cycle;
                users[was[112 +: CQ_W]] = users[was[112 +: CQ_W]] + (c_create ? 1 : -1);
                cycle;
                cycle;
            end
        end
    endtask

    task serve_command;
        begin
            some_command;
            qp = qc_args[QP_W-1:0];
            far = qc_args[31:0] >= N;
            known = qc_command >= `CDE_CMD_CREATE_QP && qc_command <= `CDE_CMD_DESTROY_QP;
            shared = qc_args[240];
            qc_start = 1'b1;
            cycle;
            busy = 1'b1;
            {outs, state, no_cq, bad_page} = 0;
            code = OP_LOOK;
            if (known && !far) begin
                step;
                state = opr_new;
            end
            cycle;
            was = c_create ? qc_args : made[qp];
            look_at_cq(was[111:96]);
            look_at_cq(was[127:112]);
            if (c_create && shared) begin
                #1 if (srqi_number !== qc_args[239:224]) wrong("SRQ looked at");
            end
            judge;
            cycle;
            if (result == `CDE_RES_OK) begin
                if (c_create || qc_command == `CDE_CMD_MODIFY_QP) begin
                    if (c_create) {made[qp], peer[qp]} = {qc_args, 24'd0};
                    made[qp] = {made[qp][255:192], qc_args[191:160], made[qp][159:0]};
                    sets = 1'b1;
                    cycle;
                end
                acts = 1'b1;
                if (c_connect) begin
                    connects = state == `CDE_QPS_IDLE;
                    if (connects) peer[qp] = qc_args[55:32];
                    cycle;
                end
                case (qc_command)
                    `CDE_CMD_CREATE_QP: code = OP_CREATE;
                    `CDE_CMD_CONNECT_QP: code = OP_CONNECT;
                    `CDE_CMD_SET_QP_STATE: code = OP_SET;
                    `CDE_CMD_FLUSH_QP: code = OP_FLUSH;
                    `CDE_CMD_DESTROY_QP: code = OP_DESTROY;
                    default: code = OP_LOOK;
                endcase
                step;
                if (refused) result = `CDE_RES_IN_USE;
                else settle_command;
            end
            cycle;
            {busy, ends} = 2'b01;
        end
    endtask

    task reset;
        begin
            {qc_start, cqi_we, conn_tvalid, fail_valid, rfail_valid, kfail_valid, opr_valid, ind_valid} = 8'd0;
            reset_and_clear(WORDS);
            for (k = 0; k < N; k = k + 1) {made[k], peer[k], indicated[k]} = 0;
            for (k = 0; k < CQS; k = k + 1) {page[k], users[k]} = 0;
            for (k = 0; k <= SLOWEST; k = k + 1) steps[k] = 0;
            {live, alive, waiting, left, pause} = 0;
            {busy, ends, asks, acts, sets, connects, uses, rested} = 0;
            slow = below(SLOWEST) + 1;
        end
    endtask

    initial begin
        set_up(3000);
        for (turns = 0; turns < cycles; turns = turns + 1) begin
            if (turns % 500 == 0 && turns < 2500) reset;
            if (turns % 16 == 0) gap = below(8);
            if (turns % 16 == 0) quiet = below(2) ? 1 + below(16) : 1;
            for (n = below(2) ? below(16) : 0; n > 0; n = n - 1) cycle;
            serve_command;
        end
        passed;
    end

endmodule

`default_nettype wire
