// SPDX-License-Identifier: Apache-2.0
// f_isolation: proof that writes through another page change nothing of a CQ (ISO-01), with two copies of the arm
// pipeline.
//
// Purpose: both copies of cde_arm get the same inputs, but for what doorbell pages other than the watched CQ's own
//          write: there operation, CQ, index, arm and type are free in each copy, also refused or not. Everything of
//          the watched CQ must be the same in both: its steps on the trace port with the states before and after, its
//          callbacks, its state. Only when a slot of the pipeline is taken is the same in both, since pages share one
//          port; moderation is off, because its timer looks when a slot is free.
// Ports:   free inputs.
// Latency: none.
`default_nettype none
`include "cde_mem.vh"
`include "cde_defs.vh"
`define ARM_COPIES

module f_isolation
`include "arm_env.vh"

    localparam X_W = 4 + 4 * IDX_W, Y_W = 10, CF_PAGE = IDX_W + 28;

    // Reset, the walk that clears the memories, then the settings of each CQ
    reg [CQ_W+2:0] age = 0;
    wire           rst = age == 0;
    wire           init = age != 0 && age <= NUM_CQ;
    wire           up = age[CQ_W+2];
    wire           set_up = !rst && !init && !up;
    always @(posedge clk) if (!up) age <= age == 2 * NUM_CQ ? 1 << (CQ_W + 2) : age + 1'b1;
    wire [CQ_W-1:0] set_cq = age - 1'b1;
    wire [`CDE_MEM_W-1:0] mem = {39'd0, init, rst};     // maintenance bus: reset and the walk, no injection

    (* hierconn *) wire [CQ_W-1:0] \copy[0].dut.f_cq , \copy[1].dut.f_cq ;
    wire [CQ_W-1:0] cq = \copy[0].dut.f_cq ;
    (* anyconst *) reg [11:0] page;             // the watched CQ's
    wire own = db_page == page;

    wire [1:0]      ev [0:1];
    wire [2*EV_W-1:0] ev_data [0:1];
    wire [1:0]      trace_valid [0:1];
    wire [511:0]    trace_data [0:1];
    wire [1:0]      db_ready, ct_ready, ack_ready, res_valid, cons_we;
    wire [7:0]      res_cause [0:1];
    wire [95:0]     unused_state [0:1];
    wire [1:0]      unused_ct_valid;
    wire [CQ_W-1:0] cons_cq [0:1];
    wire [IDX_W-1:0] cons_index [0:1];
    wire [1:0]      dies, revives;
    wire [CQ_W-1:0] dies_cq [0:1], revives_cq [0:1];
    reg  [1:0]      dead = 0;                   // the watched CQ is in its error state

    // Moderation is off for all; the watched CQ's page does not change.
    wire [39+IDX_W:0] cfg_off = cfg_data & ~{{(36+IDX_W){1'b0}}, 4'b1100};
    always @* begin
        if (!up) assume (!pub_valid && !db_valid && !ack_valid && !ct_valid);
        assume (\copy[1].dut.f_cq == cq);
        if (cfg_we && cfg_cq == cq) assume (cfg_data[CF_PAGE +: 12] == page);
        // Settings are written before a CQ exists.
        if (rst || init) assume (!cfg_we && !wr_we);
        if (set_up) assume (cfg_we && cfg_cq == set_cq);
        if (own) assume (db_1 == db_2);
        // What control asks for
        if (ct_valid) assume (ct_op == `CDE_TRC_CREATE || ct_op == `CDE_TRC_DESTROY || ct_op == 8'hff);
    end

    genvar g;
    generate
        for (g = 0; g < 2; g = g + 1) begin : copy
            wire [12+CQ_W+7+IDX_W:0] db = g == 0 ? db_1 : db_2;
            wire [`CDE_MEM_W-1:0] mem_o;
            wire unused_hold;
            cde_arm #(
                .CQ_W(CQ_W), .IDX_W(IDX_W), .MOD_TICK(2), .RETRY_W(RETRY_W), .EV_W(EV_W), .ECC(0)
            ) dut (
                .clk(clk), .mem_i(mem), .mem_o(mem_o), .rst(rst), .init(init), .pub_valid(pub_valid), .pub_op(pub_op),
                .pub_cq(pub_cq), .pub_count(pub_count), .pub_solicited(pub_solicited), .pub_quiet(pub_quiet),
                .pub_status(pub_status),
                .pub_give_up(pub_give_up), .pub_retry(1'b0), .db_valid(db_valid), .db_ready(db_ready[g]),
                .db_op(db[0] ? `CDE_TRC_CB_RETURN : `CDE_TRC_DOORBELL), .db_cause(db[8:1]), .db_cq(db[9 +: CQ_W]),
                .db_page(db_page),
                .db_index(db[9+CQ_W +: IDX_W]), .db_arm(db[9+CQ_W+IDX_W]), .db_type(db[10+CQ_W+IDX_W +: 2]),
                .ack_valid(ack_valid), .ack_ready(ack_ready[g]), .ack_cq(ack_cq),
                .ct_valid(ct_valid), .ct_ready(ct_ready[g]), .ct_op(ct_op), .ct_cq(ct_cq), .ct_index(ct_index),
                .res_db_valid(res_valid[g]), .res_db_cause(res_cause[g]), .res_ct_valid(unused_ct_valid[g]),
                .res_ct_state(unused_state[g]),
                .cfg_we(cfg_we), .cfg_hold(unused_hold), .cfg_cq(cfg_cq), .cfg_data(cfg_off), .wr_we(wr_we),
                .wr_cq(wr_cq), .wr_index(wr_index),
                .cons_we(cons_we[g]), .cons_cq(cons_cq[g]), .cons_index(cons_index[g]), .dies(dies[g]),
                .dies_cq(dies_cq[g]), .revives(revives[g]), .revives_cq(revives_cq[g]),
                .ev_pub_valid(ev[g][0]),
                .ev_pub_data(ev_data[g][0 +: EV_W]), .ev_db_valid(ev[g][1]), .ev_db_data(ev_data[g][EV_W +: EV_W]),
                .trace_valid(trace_valid[g]), .trace_data(trace_data[g])
            );

            always @(posedge clk) begin
                if (dies[g] && dies_cq[g] == cq) dead[g] <= 1'b1;
                if (revives[g] && revives_cq[g] == cq) dead[g] <= 1'b0;
                if (rst) dead[g] <= 1'b0;
            end
        end
    endgenerate

    // ---------------------------------------------------------------- what is seen of the watched CQ
    wire [1:0] called_1 = {ev[0][1] && ev_data[0][EV_W +: CQ_W] == cq, ev[0][0] && ev_data[0][0 +: CQ_W] == cq};
    wire [1:0] called_2 = {ev[1][1] && ev_data[1][EV_W +: CQ_W] == cq, ev[1][0] && ev_data[1][0 +: CQ_W] == cq};
    wire [1:0] traced_1 = {trace_valid[0][1] && trace_data[0][256 + `CDE_TRACE_CQ_LSB +: 16] == cq,
        trace_valid[0][0] && trace_data[0][`CDE_TRACE_CQ_LSB +: 16] == cq};
    wire [1:0] traced_2 = {trace_valid[1][1] && trace_data[1][256 + `CDE_TRACE_CQ_LSB +: 16] == cq,
        trace_valid[1][0] && trace_data[1][`CDE_TRACE_CQ_LSB +: 16] == cq};

    always @(posedge clk) if (up) begin
        same_callbacks: assert (called_1 == called_2);
        same_callback_data: assert ((!called_1[0] || ev_data[0][0 +: EV_W] == ev_data[1][0 +: EV_W]) &&
            (!called_1[1] || ev_data[0][EV_W +: EV_W] == ev_data[1][EV_W +: EV_W]));
        same_steps: assert (traced_1 == traced_2);
        same_step_data_1: assert (!traced_1[0] || trace_data[0][0 +: 256] == trace_data[1][0 +: 256]);
        same_step_data_2: assert (!traced_1[1] || trace_data[0][256 +: 256] == trace_data[1][256 +: 256]);
        same_port_timing: assert (db_ready[0] == db_ready[1] && ct_ready[0] == ct_ready[1] &&
            ack_ready[0] == ack_ready[1]);
    end
    always @(posedge clk) if (age > 1) same_error_state: assert (dead[0] == dead[1]);

    // ---------------------------- for the induction: what both copies have in common, stage by stage
    localparam D_W = 33 + CQ_W + IDX_W, B = CQ_W + IDX_W, Z_W = 17 + 3 * IDX_W, CF_W = 40 + IDX_W;
    (* hierconn *) wire [X_W-1:0] \copy[0].dut.f_ram_x , \copy[1].dut.f_ram_x ;
    (* hierconn *) wire [Y_W-1:0] \copy[0].dut.f_ram_y , \copy[1].dut.f_ram_y ;
    (* hierconn *) wire [Z_W-1:0] \copy[0].dut.f_ram_z , \copy[1].dut.f_ram_z ;
    (* hierconn *) wire [D_W-1:0] \copy[0].dut.rd , \copy[1].dut.rd , \copy[0].dut.sd , \copy[1].dut.sd ,
        \copy[0].dut.cd , \copy[1].dut.cd , \copy[0].dut.qd , \copy[1].dut.qd , \copy[0].dut.fd , \copy[1].dut.fd ,
        \copy[0].dut.zd , \copy[1].dut.zd ;
    (* hierconn *) wire \copy[0].dut.rd_valid , \copy[1].dut.rd_valid , \copy[0].dut.sd_valid , \copy[1].dut.sd_valid ,
        \copy[0].dut.cd_valid , \copy[1].dut.cd_valid , \copy[0].dut.qd_valid , \copy[1].dut.qd_valid ,
        \copy[0].dut.fd_valid , \copy[1].dut.fd_valid , \copy[0].dut.zd_valid , \copy[1].dut.zd_valid ,
        \copy[0].dut.f_pub_any , \copy[0].dut.f_db_any ;
    (* hierconn *) wire \copy[0].dut.look_valid , \copy[1].dut.look_valid ;
    (* hierconn *) wire [NUM_CQ-1:0] \copy[0].dut.waiting_i.flags , \copy[1].dut.waiting_i.flags ;
    (* hierconn *) wire [CQ_W-1:0] \copy[0].dut.waiting_i.clear_addr , \copy[1].dut.waiting_i.clear_addr ;
    wire [CQ_W+2:0] walked = age - 1'b1;        // flags that the walk has cleared
    wire [NUM_CQ-1:0] cleared = walked >= NUM_CQ ? {NUM_CQ{1'b1}} : (1 << walked) - 1;
    (* hierconn *) wire [(CF_W << CQ_W) - 1:0] \copy[0].dut.settings_db_ram.words , \copy[1].dut.settings_db_ram.words ,
        \copy[0].dut.settings_pub_ram.words , \copy[1].dut.settings_pub_ram.words ;
    (* hierconn *) wire [3:0] \copy[0].dut.ct_age , \copy[1].dut.ct_age ;
    (* hierconn *) wire \copy[0].dut.ack_last , \copy[1].dut.ack_last ;
    (* hierconn *) wire [(IDX_W << CQ_W) - 1:0] \copy[0].dut.written_ram.words , \copy[1].dut.written_ram.words ;
    (* hierconn *) wire [1:0] \copy[0].dut.look_i.state , \copy[1].dut.look_i.state ;
    (* hierconn *) wire [15:0] \copy[0].dut.prescale , \copy[1].dut.prescale ;
    (* hierconn *) wire [17:0] \copy[0].dut.now , \copy[1].dut.now ;
    (* hierconn *) wire [(Y_W << CQ_W) - 1:0] \copy[0].dut.flag_ram.words , \copy[1].dut.flag_ram.words ;
    (* hierconn *) wire [511:0] \copy[0].dut.f_pub , \copy[1].dut.f_pub , \copy[0].dut.f_pub_q , \copy[1].dut.f_pub_q ,
        \copy[0].dut.f_pub_f , \copy[1].dut.f_pub_f , \copy[0].dut.f_pub_z , \copy[1].dut.f_pub_z ,
        \copy[0].dut.f_db_q , \copy[1].dut.f_db_q , \copy[0].dut.f_db_f , \copy[1].dut.f_db_f , \copy[0].dut.f_db_z ,
        \copy[1].dut.f_db_z , \copy[0].dut.f_db_q_mine , \copy[1].dut.f_db_q_mine , \copy[0].dut.f_db_f_mine ,
        \copy[1].dut.f_db_f_mine , \copy[0].dut.f_db_z_mine , \copy[1].dut.f_db_z_mine ;
    (* hierconn *) wire \copy[0].dut.f_qp , \copy[0].dut.f_fp , \copy[0].dut.f_zp , \copy[0].dut.f_qd ,
        \copy[0].dut.f_fd , \copy[0].dut.f_zd , \copy[0].dut.f_unmoderated , \copy[1].dut.f_unmoderated ;
    (* hierconn *) wire \copy[0].dut.f_settled , \copy[1].dut.f_settled , \copy[0].dut.f_counted ,
        \copy[1].dut.f_counted ;
    (* hierconn *) wire [3:0] \copy[0].dut.f_idle , \copy[1].dut.f_idle ;
    (* hierconn *) wire [3:0] \copy[0].dut.f_since , \copy[1].dut.f_since ;
    integer k;
    reg     off, none_waits;
    always @* begin
        off = 1'b1;
        none_waits = 1'b1;
        // A callback that is due (5) is not held back by moderation (6).
        for (k = 0; k < NUM_CQ; k = k + 1) begin
            if (\copy[0].dut.flag_ram.words [k * Y_W + 5 +: 2] == 2'b01 ||
                \copy[1].dut.flag_ram.words [k * Y_W + 5 +: 2] == 2'b01) none_waits = 1'b0;
        end
        for (k = 0; k < NUM_CQ; k = k + 1) begin
            if (\copy[0].dut.settings_db_ram.words [k * CF_W + 2 +: 2] != 0 ||
                \copy[0].dut.settings_pub_ram.words [k * CF_W + 2 +: 2] != 0) off = 1'b0;
        end
    end

    // Written by a page that is not the watched CQ's: in each copy another operation
    function [0:0] foreign;
        input [D_W-1:0] a;
        foreign = a[B+31] && a[B+19 +: 12] != page;
    endfunction

    // The same operation, or two foreign ones
    function [0:0] alike;
        input           valid_1, valid_2;
        input [D_W-1:0] a, b;
        alike = valid_1 == valid_2 && (!valid_1 ||
            // Control, acknowledgements: what a doorbell alone has is not looked at.
            (!foreign(a) && !foreign(b) && (!a[B+31] ? a[B+32:B+19] == b[B+32:B+19] && a[B+15:0] == b[B+15:0] &&
                (a[B+32] ? a[B +: 8] == `CDE_TRC_CREATE || a[B +: 8] == `CDE_TRC_DESTROY ||
                    a[B +: 8] == 8'hff : a[B +: 8] == `CDE_TRC_EVENT_DONE) : a == b && a[B+32:B+31] == 2'b01 &&
                (a[B +: 8] == `CDE_TRC_DOORBELL || a[B +: 8] == `CDE_TRC_CB_RETURN))) ||
            (foreign(a) && foreign(b) && a[B+32:B+31] == 2'b01 && b[B+32:B+31] == 2'b01 &&
                (a[B +: 8] == `CDE_TRC_DOORBELL ||
                    a[B +: 8] == `CDE_TRC_CB_RETURN) && (b[B +: 8] == `CDE_TRC_DOORBELL ||
                    b[B +: 8] == `CDE_TRC_CB_RETURN)));
    endfunction

    wire twin_c = \copy[0].dut.cd_valid && !foreign(\copy[0].dut.cd ), twin_q = \copy[0].dut.qd_valid &&
        !foreign(\copy[0].dut.qd ),
         twin_f = \copy[0].dut.fd_valid && !foreign(\copy[0].dut.fd ), twin_z = \copy[0].dut.zd_valid &&
         !foreign(\copy[0].dut.zd );
    // Each foreign operation of the watched CQ changes nothing, in its copy.
    wire [3:0] must_idle = ~{twin_z, twin_f, twin_q, twin_c};

`ifndef PROPERTIES_ONLY
    always @(posedge clk) if (!rst) begin
        i_age: assert (age <= 2 * NUM_CQ || age == 1 << (CQ_W + 2));
        i_quiet: assert (up || !(\copy[0].dut.f_db_any || \copy[0].dut.f_pub_any ));
        i_started: assert (age > 3 ? (&\copy[0].dut.f_since && &\copy[1].dut.f_since ) :
            \copy[0].dut.f_since == (1 << age) - 1 && \copy[1].dut.f_since == (1 << age) - 1);
    end
    always @(posedge clk) if (age > 1) begin
        i_state: assert (\copy[0].dut.f_ram_x == \copy[1].dut.f_ram_x &&
            \copy[0].dut.f_ram_y == \copy[1].dut.f_ram_y && \copy[0].dut.f_ram_z == \copy[1].dut.f_ram_z );
        // An operation without effect changes nothing.
        i_settled: assert (\copy[0].dut.f_settled && \copy[1].dut.f_settled && \copy[0].dut.f_counted &&
            \copy[1].dut.f_counted );
        i_operations: assert (alike(\copy[0].dut.rd_valid , \copy[1].dut.rd_valid , \copy[0].dut.rd ,
                                    \copy[1].dut.rd ) &&
            alike(\copy[0].dut.sd_valid , \copy[1].dut.sd_valid , \copy[0].dut.sd , \copy[1].dut.sd ) &&
            alike(\copy[0].dut.cd_valid , \copy[1].dut.cd_valid , \copy[0].dut.cd , \copy[1].dut.cd ) &&
            alike(\copy[0].dut.qd_valid , \copy[1].dut.qd_valid , \copy[0].dut.qd , \copy[1].dut.qd ) &&
            alike(\copy[0].dut.fd_valid , \copy[1].dut.fd_valid , \copy[0].dut.fd , \copy[1].dut.fd ) &&
            alike(\copy[0].dut.zd_valid , \copy[1].dut.zd_valid , \copy[0].dut.zd , \copy[1].dut.zd ));
        i_written: assert (\copy[0].dut.written_ram.words == \copy[1].dut.written_ram.words );
        // The timer seeks, and finds nothing.
        i_seeks: assert ((\copy[0].dut.look_i.state == 2'd0 || \copy[0].dut.look_i.state == 2'd3) &&
            (\copy[1].dut.look_i.state == 2'd0 || \copy[1].dut.look_i.state == 2'd3));
        i_time: assert (\copy[0].dut.prescale == \copy[1].dut.prescale && \copy[0].dut.now == \copy[1].dut.now );
        i_patience: assert (\copy[0].dut.ct_age == \copy[1].dut.ct_age &&
            \copy[0].dut.ack_last == \copy[1].dut.ack_last );
        i_no_looks: assert (none_waits && !\copy[0].dut.look_valid && !\copy[1].dut.look_valid &&
            (\copy[0].dut.waiting_i.flags & cleared) == 0 && (\copy[1].dut.waiting_i.flags & cleared) == 0);
        i_walk: assert (!init || (\copy[0].dut.waiting_i.clear_addr == walked[CQ_W-1:0] &&
            \copy[1].dut.waiting_i.clear_addr == walked[CQ_W-1:0]));
        i_unmoderated: assert (off && \copy[0].dut.f_unmoderated && \copy[1].dut.f_unmoderated );
        i_settings: assert (\copy[0].dut.settings_db_ram.words == \copy[1].dut.settings_db_ram.words &&
            \copy[0].dut.settings_pub_ram.words == \copy[1].dut.settings_pub_ram.words );
        i_page: assert (age <= NUM_CQ + 1 + cq ||
            \copy[0].dut.settings_db_ram.words [cq * CF_W + CF_PAGE +: 12] == page);
        i_publications: assert (\copy[0].dut.f_pub == \copy[1].dut.f_pub &&
            (!\copy[0].dut.f_qp || \copy[0].dut.f_pub_q == \copy[1].dut.f_pub_q ) &&
            (!\copy[0].dut.f_fp || \copy[0].dut.f_pub_f == \copy[1].dut.f_pub_f ) &&
            (!\copy[0].dut.f_zp || \copy[0].dut.f_pub_z == \copy[1].dut.f_pub_z ));
        i_twins_q: assert (!twin_q || (\copy[0].dut.f_db_q == \copy[1].dut.f_db_q &&
            (!\copy[0].dut.f_qd || \copy[0].dut.f_db_q_mine == \copy[1].dut.f_db_q_mine )));
        i_twins_f: assert (!twin_f || (\copy[0].dut.f_db_f == \copy[1].dut.f_db_f &&
            (!\copy[0].dut.f_fd || \copy[0].dut.f_db_f_mine == \copy[1].dut.f_db_f_mine )));
        i_twins_z: assert (!twin_z || (\copy[0].dut.f_db_z == \copy[1].dut.f_db_z &&
            (!\copy[0].dut.f_zd || \copy[0].dut.f_db_z_mine == \copy[1].dut.f_db_z_mine )));
        i_foreign: assert ((must_idle & ~\copy[0].dut.f_idle ) == 0 && (must_idle & ~\copy[1].dut.f_idle ) == 0);
    end
`endif

endmodule

`undef ARM_COPIES
`default_nettype wire
