// SPDX-License-Identifier: Apache-2.0
// f_post: proof that nothing stays held after an inline failure, and of all else that releases what a QP holds
// (cde_post).
//
// Purpose: follows posts from the port to their answers. Counts, for any one QP, what was accepted and what was
//          released, by the words of posting.md: who owns the QP, what failed, what ends a chain. Assumed of control:
//          one command at a time, a QP is created once and keeps page and depth; of retirement: only released requests
//          retire. Credits, answers, and when what comes are free.
// Ports:   free inputs.
// Latency: none.
`default_nettype none
`include "cde_defs.vh"
`include "cde_mem.vh"

module f_post #(
    parameter IDX_W = 3,
    parameter SQ_LOG2 = 2
) (
    input wire             clk,
    input wire             post_valid,
    input wire [11:0]      post_page,
    input wire [511:0]     post_data,
    input wire             op_valid,
    input wire             op_void,
    input wire [3:0]       op_code,
    input wire [3:0]       op_target,
    input wire             op_qp,
    input wire             op_empty,
    input wire             removed,
    input wire             rq_hold,
    input wire             gr_room,
    input wire             gr_dead,
    input wire             set_we,
    input wire             set_qp,
    input wire [15:0]      set_age,
    input wire [15:0]      set_watermark,
    input wire [IDX_W-1:0] set_depth,
    input wire [11:0]      set_page,
    input wire             ret_we,
    input wire             ret_qp,
    input wire [IDX_W-1:0] ret_index
);

`include "cde_post_ops.vh"

    localparam [IDX_W-1:0] ONE = 1;
    localparam SET_W = 45 + IDX_W;
    localparam ST_W = 22 + 2 * IDX_W;

    reg [1:0] age = 0;
    wire      rst = age == 0;
    wire      up = age == 3;
    wire      init = !rst && !up;
    always @(posedge clk) if (!up) age <= age + 1'b1;
    wire [`CDE_MEM_W-1:0] mem = {39'd0, init, rst};     // maintenance bus: reset and the walk, no injection
    wire [`CDE_MEM_W-1:0] unused_mem;

    (* anyconst *) wire q;              // any one QP

    wire               post_ready, res_valid, opr_valid, opr_qp, acc_valid, acc_qp, end_we, end_last, rel_valid, rel_we;
    wire [7:0]         cause;
    wire [3:0]         opr_code, opr_old, opr_new;
    wire [IDX_W-1:0]   rel_index;
    wire [SQ_LOG2-1:0] acc_slot, end_slot;
    wire [1:0]         stop;

    cde_post #(.NUM_QP(2), .QP_W(1), .CQ_W(1), .IDX_W(IDX_W), .SQ_LOG2(SQ_LOG2), .MOD_TICK(1), .ECC(0)) dut (
        .clk(clk), .mem_i(mem), .mem_o(unused_mem), .rst(rst), .init(init), .post_valid(post_valid && up),
        .post_ready(post_ready),
        .post_page(post_page), .post_data(post_data), .post_res_valid(res_valid), .post_res_cause(cause),
        .op_valid(op_valid && up), .op_void(op_void),
        .op_code(op_code), .op_target(op_target), .op_qp(op_qp), .op_empty(op_empty), .removed(removed),
        .opr_valid(opr_valid), .opr_code(opr_code), .opr_qp(opr_qp), .opr_old(opr_old), .opr_new(opr_new),
        .rq_hold(rq_hold),
        .gr_room(gr_room), .gr_dead(gr_dead), .set_we(set_we && up), .set_qp(set_qp),
        .set_data({set_age, set_watermark, set_depth, set_page, 1'b0}), .acc_valid(acc_valid), .acc_qp(acc_qp),
        .acc_slot(acc_slot),
        .end_we(end_we), .end_slot(end_slot), .end_last(end_last), .rel_valid(rel_valid), .rel_we(rel_we),
        .rel_index(rel_index), .stop(stop),
        .ret_we(ret_we && up), .ret_qp(ret_qp), .ret_index(ret_index)
    );

    // ---------------------------------------------------------------- what the QP is set to, and what control does
    reg [SET_W-1:0] set = 0;            // {age, watermark, depth, page, 0}
    reg [3:0]       state = `CDE_QPS_FREE;
    reg             asked = 1'b0;       // a command's step waits for its outcome
    wire            command = op_code != OP_CONN && op_code != OP_FAIL;
    wire            opr_command = opr_valid && opr_code != OP_CONN && opr_code != OP_FAIL;

    always @* if (up) begin
        if (op_valid && !op_void) begin
            assume (op_code < OP_AGE);
            if (command) assume (!asked);
            if (op_code == OP_CREATE && op_qp == q) assume (state == `CDE_QPS_FREE && set[13 +: IDX_W] != 0);
            if (op_code == OP_DESTROY && op_qp == q) assume (state != `CDE_QPS_FREE);
        end
        if (set_we && set_qp == q) begin
            assume (set_depth != 0 && set_depth <= (1 << SQ_LOG2));
            assume ((state == `CDE_QPS_FREE && !asked) || (set_depth == set[13 +: IDX_W] && set_page == set[12:1]));
        end
        if (ret_we && ret_qp == q) assume (retired != released && ret_index == retired + ONE);
    end

    always @(posedge clk) if (up) begin
        if (set_we && set_qp == q) set <= {set_age, set_watermark, set_depth, set_page, 1'b0};
        if (opr_valid && opr_qp == q) state <= opr_new;
        asked <= (asked && !opr_command) || (op_valid && !op_void && command);
    end

    // ---------------------------------------------------------------- counts
    reg [IDX_W-1:0] tail = 0, released = 0, retired = 0, retired_1 = 0;      // retired_1: a cycle before
    wire            accepts = acc_valid && acc_qp == q && up;
    wire            steps = rel_we && acc_qp == q && up;
    wire [IDX_W-1:0] tail_next = tail + (accepts ? ONE : 0);
    wire [IDX_W-1:0] released_next = steps ? rel_index : released;
    wire [IDX_W-1:0] held = tail - released;
    wire [IDX_W-1:0] present = tail - retired;

    // What the last cycle did
    reg             accepted = 1'b0, moved = 1'b0, ended = 1'b0;
    reg [IDX_W-1:0] held_1 = 0;

    always @(posedge clk) begin
        tail <= tail_next;
        released <= released_next;
        if (ret_we && ret_qp == q && up) retired <= ret_index;
        retired_1 <= retired;
        accepted <= accepts;
        moved <= released_next != released;
        ended <= end_we && end_last && acc_qp == q && end_slot == tail_next[SQ_LOG2-1:0] - 1'b1;
        held_1 <= held;
    end

    // ------------------------------------------------ posts on their way, their settings one cycle later
    reg [5:0]       going = 0;
    reg [5:0]       named = 0, far, defers;
    reg [11:0]      page [0:5];
    reg [SET_W-1:0] set_2, set_3, set_4, set_5, set_6;
    wire            take = post_valid && post_ready && up;
    wire [15:0]     number = post_data[`CDE_POST_QP_LSB +: 16];

    always @(posedge clk) begin
        going <= {going[4:0], take};
        named <= {named[4:0], number[0] == q};
        far <= {far[4:0], number[15:1] != 0};
        defers <= {defers[4:0], post_data[`CDE_POST_DEFER_LSB]};
        {page[5], page[4], page[3], page[2], page[1], page[0]} <= {page[4], page[3], page[2], page[1], page[0],
            post_page};
        {set_6, set_5, set_4, set_3, set_2} <= {set_5, set_4, set_3, set_2, set};
    end

    // The answer comes six cycles after the post. An operation's outcome shows in the same cycle as a post's answer
    // would.
    wire live = state != `CDE_QPS_FREE && state != `CDE_QPS_DESTROYING;
    wire owned = going[5] && named[5] && !far[5] && live && page[5] == set_6[12:1];
    wire [15:0] watermark = set_6[13 + IDX_W +: 16];
    wire [15:0] age_limit = set_6[29 + IDX_W +: 16];
    wire leaves = opr_valid && opr_qp == q && opr_old == `CDE_QPS_CONNECTED && opr_new != opr_old;

    always @* if (up) begin
        answered: assert (res_valid == going[5]);
        if (res_valid && owned) begin
            accepted_is_told: assert ((cause == 8'h00) == accepted);
            if (cause != 8'h00) nothing_held_after_failure: assert (held == 0);
            if (accepted && !defers[5]) chain_ends: assert (held == 0);
            if (accepted && watermark != 0) below_watermark: assert ({{(16-IDX_W){1'b0}}, held} < watermark);
            if (accepted) only_connected: assert (state == `CDE_QPS_CONNECTED);
        end
        if (res_valid && !owned) strangers_change_nothing: assert (!accepted && !moved && (!named[5] ||
            cause != 8'h00));
        if (accepted) accepted_is_posted: assert (res_valid && owned);
        if (leaves) nothing_held_behind: assert (held == 0);
        if (state != `CDE_QPS_CONNECTED && !(opr_valid && opr_qp == q)) held_while_connected: assert (held == 0);
        if (moved) begin
            released_for_a_reason: assert (leaves || (res_valid && owned && (cause != 8'h00 || !defers[5] ||
                watermark != 0)) ||
                                           (!res_valid && !opr_valid && age_limit != 0 && held_1 != 0));
            released_as_a_whole: assert (held == 0);
            if (!leaves) batch_ends: assert (ended);
        end
        only_what_is_posted: assert (held <= present);
        room_for_each: assert (present <= set[13 +: IDX_W] && present <= (1 << SQ_LOG2));
        if (accepts) in_order: assert (acc_slot == tail[SQ_LOG2-1:0]);
    end

    // ---------------------------------------------------------------- each release of something held
    wire let_go = moved && held_1 != 0 && up;
    wire failed = let_go && res_valid && owned && !accepted;

    always @(posedge clk) begin
        c_end_of_chain: cover (let_go && accepted && !defers[5] && watermark == 0);
        c_watermark: cover (let_go && accepted && defers[5]);
        c_age: cover (let_go && !res_valid && !opr_valid);
        c_reserved_bits: cover (failed && cause == `CDE_CAUSE_RESERVED_BITS);
        c_bad_opcode: cover (failed && cause == `CDE_CAUSE_BAD_OPCODE);
        c_bad_flags: cover (failed && cause == `CDE_CAUSE_BAD_FLAGS);
        c_too_many_segments: cover (failed && cause == `CDE_CAUSE_TOO_MANY_SEGMENTS);
        c_bad_length: cover (failed && cause == `CDE_CAUSE_BAD_LENGTH);
        c_queue_full: cover (failed && cause == `CDE_CAUSE_QUEUE_FULL);
        c_cq_error: cover (failed && cause == `CDE_CAUSE_CQ_ERROR);
        c_no_credit: cover (failed && cause == `CDE_CAUSE_NO_CREDIT);
        c_removed: cover (failed && cause == `CDE_CAUSE_DEVICE_REMOVED);
        c_failed_without_defer: cover (failed && !defers[5]);
        c_disconnect_pending: cover (let_go && leaves && opr_new == `CDE_QPS_DISCONNECT_PENDING);
        c_disconnected: cover (let_go && leaves && opr_code == OP_SET && opr_new == `CDE_QPS_DISCONNECTED);
        c_flush: cover (let_go && leaves && opr_code == OP_FLUSH);
        c_destroy: cover (let_go && leaves && opr_code == OP_DESTROY);
        c_connection_ended: cover (let_go && leaves && opr_code == OP_CONN);
        c_request_failed: cover (let_go && leaves && opr_code == OP_FAIL);
    end

`ifndef PROPERTIES_ONLY
    // ------------------------------------------------ for the induction: memories and stages hold what was counted
    (* hierconn *) wire [2*SET_W-1:0] \dut.settings_ram.words ;
    (* hierconn *) wire [2*ST_W-1:0] \dut.state_ram.words ;
    (* hierconn *) wire [2*IDX_W-1:0] \dut.retired_ram.words ;
    (* hierconn *) wire \dut.settings_ram.f_raddr , \dut.state_ram.raddr_1 , \dut.state_ram.raddr_2 ,
        \dut.state_ram.raddr_3 ,
        \dut.retired_ram.raddr_1 , \dut.retired_ram.raddr_2 , \dut.retired_ram.raddr_3 ;
    (* hierconn *) wire \dut.b_post , \dut.s_post , \dut.t_post , \dut.r_post , \dut.c_post ,
        \dut.b_op , \dut.s_op , \dut.t_op , \dut.r_op , \dut.c_op ,
        \dut.b_far , \dut.s_far , \dut.t_far , \dut.r_far , \dut.c_far ,
        \dut.b_qp , \dut.s_qp , \dut.t_qp , \dut.r_qp , \dut.c_qp ;
    (* hierconn *) wire [11:0] \dut.b_page , \dut.s_page , \dut.t_page , \dut.r_page ;
    (* hierconn *) wire [511:0] \dut.b_data , \dut.s_data , \dut.t_data , \dut.r_data , \dut.c_data ;
    (* hierconn *) wire [SET_W-1:1] \dut.s_set , \dut.t_set , \dut.r_set ;
    (* hierconn *) wire \dut.c_own , \dut.c_may , \dut.c_marks , \dut.c_ages ;
    (* hierconn *) wire [SQ_LOG2:0] \dut.c_end , \dut.c_mark ;
    (* hierconn *) wire [ST_W-1:0] \dut.st ;
    (* hierconn *) wire [IDX_W-1:0] \dut.retired ;
    wire [SET_W-1:0] set_word = q ? \dut.settings_ram.words [SET_W +: SET_W] : \dut.settings_ram.words [0 +: SET_W];
    wire [ST_W-1:0]  state_word = q ? \dut.state_ram.words [ST_W +: ST_W] : \dut.state_ram.words [0 +: ST_W];
    wire [IDX_W-1:0] retired_word = q ? \dut.retired_ram.words [IDX_W +: IDX_W] : \dut.retired_ram.words [0 +: IDX_W];
    wire [3:0]       state_now = up && opr_valid && opr_qp == q ? opr_new : state;
    wire [4:0]       for_q = {\dut.c_qp == q, \dut.r_qp == q, \dut.t_qp == q, \dut.s_qp == q, \dut.b_qp == q};
    reg  [4:0]       ops = 0;           // commands' steps under way
    always @(posedge clk) ops <= {ops[3:0], op_valid && !op_void && command && up};

    always @* begin
        if (age > {1'b0, q} + 2'd1) begin
            settings_of_q: assert (set_word == set);
            state_of_q: assert (state_word[0 +: 4 + 2 * IDX_W] == {released, tail, state_now});
            retired_of_q: assert (retired_word == retired);
        end
        if (!up) nothing_yet: assert (tail == 0 && released == 0 && retired == 0 && going == 0 && set == 0 && !asked &&
            ops == 0 &&
                                      state == `CDE_QPS_FREE && !accepted && !moved);
        if (!rst && !up) empty_yet: assert (!\dut.b_post && !\dut.s_post && !\dut.t_post && !\dut.r_post &&
            !\dut.c_post && !\dut.b_op && !\dut.s_op && !\dut.t_op && !\dut.r_op && !\dut.c_op &&
                                           !opr_valid && !res_valid);
        if (age > 0) reads_1: assert (\dut.state_ram.raddr_1 == \dut.t_qp && \dut.retired_ram.raddr_1 == \dut.s_qp );
        if (age > 1) reads_2: assert (\dut.state_ram.raddr_2 == \dut.r_qp && \dut.retired_ram.raddr_2 == \dut.t_qp );
        if (age > 2) reads_3: assert (\dut.state_ram.raddr_3 == \dut.c_qp && \dut.retired_ram.raddr_3 == \dut.r_qp );
        released_is_posted: assert (released - retired <= present);
        bounded: assert (present <= set[13 +: IDX_W]);
        retired_before: assert (retired - retired_1 <= ONE && (retired_1 == retired ||
            tail - retired_1 <= set[13 +: IDX_W]));
        if (state_now == `CDE_QPS_FREE) free_is_empty: assert (present == 0);
        else sized: assert (set[13 +: IDX_W] != 0 && set[13 +: IDX_W] <= (1 << SQ_LOG2));
        sizes: assert (set[13 +: IDX_W] <= (1 << SQ_LOG2));
        legal_state: assert (state <= `CDE_QPS_DESTROYING);
        if (state_now != `CDE_QPS_CONNECTED) held_now: assert (held == 0);
        if (up) begin
            stages: assert ({\dut.c_post , \dut.r_post , \dut.t_post , \dut.s_post , \dut.b_post } == going[4:0]);
            one_at_a_time: assert (!(\dut.b_post && \dut.b_op ) && !(\dut.s_post && \dut.s_op ) && !(\dut.t_post &&
                \dut.t_op ) &&
                                   !(\dut.r_post && \dut.r_op ) && !(\dut.c_post && \dut.c_op ));
            reads: assert (\dut.settings_ram.f_raddr == \dut.b_qp );
            if (going[0]) post_b: assert (named[0] == for_q[0] && far[0] == \dut.b_far && page[0] == \dut.b_page &&
                defers[0] == \dut.b_data [`CDE_POST_DEFER_LSB]);
            if (going[1]) post_s: assert (named[1] == for_q[1] && far[1] == \dut.s_far && page[1] == \dut.s_page &&
                defers[1] == \dut.s_data [`CDE_POST_DEFER_LSB]);
            if (going[2]) post_t: assert (named[2] == for_q[2] && far[2] == \dut.t_far && page[2] == \dut.t_page &&
                defers[2] == \dut.t_data [`CDE_POST_DEFER_LSB]);
            if (going[3]) post_r: assert (named[3] == for_q[3] && far[3] == \dut.r_far && page[3] == \dut.r_page &&
                defers[3] == \dut.r_data [`CDE_POST_DEFER_LSB]);
            if (going[4]) post_c: assert (named[4] == for_q[4] && far[4] == \dut.c_far &&
                defers[4] == \dut.c_data [`CDE_POST_DEFER_LSB]);
            if (for_q[1] && (\dut.s_post || \dut.s_op )) set_s: assert (\dut.s_set == set_2[SET_W-1:1]);
            if (for_q[2] && (\dut.t_post || \dut.t_op )) set_t: assert (\dut.t_set == set_3[SET_W-1:1]);
            if (for_q[3] && (\dut.r_post || \dut.r_op )) set_r: assert (\dut.r_set == set_4[SET_W-1:1]);
            if (for_q[4] && (\dut.c_post || \dut.c_op )) set_c: assert (
                \dut.c_end == retired_1 + set_5[13 +: IDX_W] &&
                (set_5[13 + IDX_W +: 16] != 0 && set_5[13 + IDX_W +: 16] <= (1 << SQ_LOG2) ?
                 \dut.c_marks && \dut.c_mark + ONE == set_5[13 + IDX_W +: IDX_W] : !\dut.c_marks ) &&
                (!\dut.c_ages || set_5[29 + IDX_W +: 16] != 0));
            if (for_q[4] && \dut.c_post )
                owner_c: assert (\dut.c_own == (!far[4] && page[4] == set_5[12:1]) && \dut.c_may == \dut.c_own );
            if (for_q[4] && (\dut.c_post || \dut.c_op )) begin
                state_c: assert (\dut.st [0 +: 4 + 2 * IDX_W] == {released, tail, state_now});
                retired_c: assert (\dut.retired == retired_1);
            end
            commands: assert (asked == (ops != 0 || opr_command));
        end
    end
`endif

endmodule

`default_nettype wire
