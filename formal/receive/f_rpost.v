// SPDX-License-Identifier: Apache-2.0
// f_rpost: proof that a receive queue accepts posts in order, and no more than it holds (cde_rpost).
//
// Purpose: follows any one queue, a QP's own or a shared one, and every post to its answer. Assumed is that no more
//          completes than was posted, that a queue which is started takes no posts before, and of control that sizes
//          fit into the queue's slots. Segments, regions, credits, pages, reaped indices, and all other queues, are
//          free.
// Ports:   free inputs.
// Latency: none.
`default_nettype none
`include "cde_defs.vh"
`include "cde_mem.vh"

module f_rpost #(
    parameter IDX_W = 3,
    parameter Q_LOG2 = 2
) (
    input wire             clk,
    input wire             post_valid,
    input wire [1:0]       post_kind,
    input wire [11:0]      post_page,
    input wire [511:0]     post_data,
    input wire [63:0]      post_word,
    input wire             op_valid,
    input wire [1:0]       op_code,
    input wire [1:0]       op_queue,
    input wire [IDX_W-1:0] op_size,
    input wire             rq_hold,
    input wire             gr_room,
    input wire             gr_dead,
    input wire             removed,
    input wire             set_we,
    input wire [1:0]       set_queue,
    input wire [30:0]      set_data,
    input wire [1:0]       live_next,          // queue pairs, one cycle ahead
    input wire [1:0]       open_next,
    input wire [1:0]       srq_live,
    input wire [389:0]     found,
    input wire             done_we,
    input wire             done_qp,
    input wire [IDX_W-1:0] done_total,
    input wire             completed_we,
    input wire             completed_srq,
    input wire [IDX_W-1:0] completed_total
);

`include "cde_rx_ops.vh"

    localparam [IDX_W-1:0] ONE = 1;
    localparam N = 1 << Q_LOG2;
    localparam ST_W = 3 * IDX_W;

    reg [2:0] age = 0;
    wire      rst = age == 0;
    wire      up = age == 5;
    wire      init = !rst && !up;
    always @(posedge clk) if (!up) age <= age + 1'b1;
    wire [`CDE_MEM_W-1:0] mem = {39'd0, init, rst};     // maintenance bus: reset and the walk, no injection
    wire [`CDE_MEM_W-1:0] unused_mem;

    (* anyconst *) wire [1:0] z;         // any one queue: {shared, number}

    // Queue pairs of which receive posts are taken are live.
    wire             look_qp;
    reg              look_live, look_open;
    reg  [1:0]       qp_open;
    always @(posedge clk) begin
        {look_live, look_open, qp_open} <= {live_next[look_qp], open_next[look_qp], open_next};
        assume ((open_next & ~live_next) == 2'b00);
    end

    wire             post_ready, op_ready, res_valid, opr_valid, buf_we, tail_we;
    wire [7:0]       cause;
    wire [1:0]       buf_queue, tail_queue;
    wire [IDX_W-1:0] buf_index, new_tail;
    wire [447:0]     buf_data;

    cde_rpost #(.QP_W(1), .NUM_SRQ(2), .SRQ_W(1), .CQ_W(1), .IDX_W(IDX_W), .RQ_LOG2(Q_LOG2),
        .SRQ_LOG2(Q_LOG2), .ECC(0)) dut (
        .clk(clk), .mem_i(mem), .mem_o(unused_mem), .rst(rst), .init(init), .post_valid(post_valid && up),
        .post_ready(post_ready),
        .post_kind(post_kind), .post_page(post_page), .post_data(post_data), .post_word(post_word),
        .post_res_valid(res_valid),
        .post_res_cause(cause), .op_valid(op_valid && up), .op_ready(op_ready), .op_code(op_code),
        .op_queue(op_queue), .op_size(op_size),
        .opr_valid(opr_valid), .rq_hold(rq_hold), .gr_room(gr_room), .gr_dead(gr_dead), .removed(removed),
        .set_we(set_we && up),
        .set_queue(set_queue), .set_data(set_data), .look_qp(look_qp), .look_live(look_live),
        .look_open(look_open), .srq_live(srq_live),
        .found(found),
        .done_we(done_we && up), .done_qp(done_qp), .done_total(done_total), .completed_we(completed_we && up),
        .completed_srq(completed_srq), .completed_total(completed_total), .buf_we(buf_we), .buf_queue(buf_queue),
        .buf_index(buf_index),
        .buf_data(buf_data), .tail_we(tail_we), .tail_queue(tail_queue), .tail(new_tail)
    );

    // ---------------------------------------------------------------- the queue
    reg [IDX_W-1:0] tail = 0, freed = 0;
    reg             lives = 1'b0;        // started, takes posts
    wire            mine = tail_queue == z && up;
    wire            accepts = buf_we && buf_queue == z && up;
    wire            starts = tail_we && mine && !buf_we;
    wire            frees = up && (z[1] ? completed_we && completed_srq == z[0] : done_we && done_qp == z[0]);
    wire [IDX_W-1:0] total = z[1] ? completed_total : done_total;
    wire [IDX_W-1:0] present = tail - freed;

    always @* if (up) begin
        if (frees) assume (total == freed + ONE && (!lives || freed != tail));
        if (op_valid) assume (op_code != 2'd3 && op_size <= N);
        assume (post_kind != 2'd0);
        if (!lives) assume (z[1] ? !srq_live[z[0]] : !qp_open[z[0]]);
        if (starts) assume (!lives && !frees);
    end

    // Posts on their way, the newest at bit 0
    reg [5:0]  going = 0;
    reg [63:0] context_0, context_1, context_2, context_3, context_4;
    reg        accepted = 1'b0, reap_0, reap_1, reap_2, reap_3, reap_4, reap_5;
    wire       take = post_valid && post_ready && up;

    (* anyseq *) wire ends;              // the queue is destroyed
    always @* if (ends && !z[1]) assume (present == 0);

    always @(posedge clk) begin
        if (accepts) tail <= tail + ONE;
        if (starts) tail <= new_tail;
        if (frees) freed <= total;
        lives <= starts || (lives && !(ends && !accepts));
        going <= {going[4:0], take};
        {context_4, context_3, context_2, context_1, context_0} <=
            {context_3, context_2, context_1, context_0, post_data[`CDE_RPOST_CONTEXT_LSB +: 64]};
        {reap_5, reap_4, reap_3, reap_2, reap_1, reap_0} <= {reap_4, reap_3, reap_2, reap_1, reap_0, post_kind == 2'd3};
        accepted <= buf_we && up;
    end

    always @* if (up) begin
        answered: assert (res_valid == going[5]);
        if (res_valid && !reap_5) accepted_is_told: assert (accepted == (cause == 8'h00));
        if (accepted) accepted_is_posted: assert (res_valid && !reap_5);
        if (buf_we) own_context: assert (buf_data[447:384] == context_4);
        if (accepts) begin
            in_order: assert (lives && buf_index == tail && tail_we && tail_queue == z && new_tail == tail + ONE);
            room_for_it: assert (present < N);
        end
        if (lives) never_too_many: assert (present <= N);
        if (starts) starts_empty: assert (new_tail == freed);
    end

`ifndef PROPERTIES_ONLY
    // ---------------------------- for the induction: memories and stages hold what was counted
    (* hierconn *) wire [4*ST_W-1:0] \dut.state_ram.words ;
    (* hierconn *) wire [2*IDX_W-1:0] \dut.done_ram.words , \dut.completed_ram.words ;
    (* hierconn *) wire [1:0] \dut.state_ram.raddr_1 , \dut.state_ram.raddr_2 , \dut.state_ram.raddr_3 ,
        \dut.b_queue , \dut.s_queue , \dut.t_queue , \dut.r_queue , \dut.c_queue ,
        \dut.b_kind , \dut.s_kind , \dut.t_kind , \dut.r_kind , \dut.c_kind ,
        \dut.b_code , \dut.s_code , \dut.t_code , \dut.r_code , \dut.c_code ;
    (* hierconn *) wire \dut.done_ram.raddr_1 , \dut.done_ram.raddr_2 , \dut.done_ram.raddr_3 ,
        \dut.completed_ram.raddr_1 , \dut.completed_ram.raddr_2 , \dut.completed_ram.raddr_3 ,
        \dut.b_post , \dut.s_post , \dut.t_post , \dut.r_post , \dut.c_post ,
        \dut.b_op , \dut.s_op , \dut.t_op , \dut.r_op , \dut.c_op ;
    (* hierconn *) wire [447:0] \dut.b_data , \dut.s_data , \dut.t_data , \dut.r_data , \dut.c_data ;
    (* hierconn *) wire [IDX_W-1:0] \dut.b_value , \dut.s_value , \dut.t_value , \dut.r_value , \dut.c_value ,
        \dut.freed ;
    (* hierconn *) wire [ST_W-1:0] \dut.st ;
    (* hierconn *) wire [1:0] \dut.c_srq ;
    (* hierconn *) wire [7:0] \dut.c_first , \dut.c_why ;
    (* hierconn *) wire \dut.c_stray , \dut.c_faulty , \dut.c_near , \dut.c_own , \dut.elsewhere ;
    reg               up_1 = 1'b0;
    always @(posedge clk) up_1 <= up;
    wire [4*ST_W-1:0] states = \dut.state_ram.words >> (ST_W * z);
    wire [2*IDX_W-1:0] free_words = z[1] ? \dut.completed_ram.words : \dut.done_ram.words ;
    wire [IDX_W-1:0]  free_word = z[0] ? free_words[IDX_W +: IDX_W] : free_words[0 +: IDX_W];
    wire [IDX_W-1:0]  tail_word = states[0 +: IDX_W], reaped = states[IDX_W +: IDX_W], size = states[2*IDX_W +: IDX_W];
    wire [IDX_W-1:0]  used = tail - (z[1] ? reaped : freed), left = freed - reaped, reapable = tail - reaped;

    always @* begin
        if (age > z + 3'd1) tail_of_z: assert (!lives || tail_word == tail);
        if (age > z[0] + 3'd1) freed_of_z: assert (free_word == freed);
        age_is_legal: assert (age <= 5);
        if (!up_1) nothing_yet: assert (tail == 0 && freed == 0 && !lives && going == 0 && !accepted);
        if (!rst && !up_1) empty_yet: assert (!\dut.b_post && !\dut.s_post && !\dut.t_post && !\dut.r_post &&
            !\dut.c_post && !\dut.b_op && !\dut.s_op && !\dut.t_op && !\dut.r_op && !\dut.c_op && !res_valid);
        if (age > 0) begin
            one_of_c: assert (\dut.c_srq == (\dut.c_queue [1] ? 2'd1 << \dut.c_queue [0] : 2'd0));
            stray_c: assert (!\dut.c_stray || (\dut.c_first != 8'h00 && (\dut.c_kind == 2'd3 || !\dut.c_near )));
            open_is_live: assert (!look_open || look_live);
            own_c: assert (\dut.c_own == (\dut.c_post && \dut.c_kind == 2'd1 && \dut.c_near &&
                !\dut.elsewhere ));
            faulty_c: assert (\dut.c_faulty == (\dut.c_why != 8'h00));
        end
        if (age > 0) reads_1: assert (\dut.state_ram.raddr_1 == \dut.t_queue &&
            \dut.done_ram.raddr_1 == \dut.t_queue [0] && \dut.completed_ram.raddr_1 == \dut.t_queue [0]);
        if (age > 1) reads_2: assert (\dut.state_ram.raddr_2 == \dut.r_queue &&
            \dut.done_ram.raddr_2 == \dut.r_queue [0] && \dut.completed_ram.raddr_2 == \dut.r_queue [0]);
        if (age > 2) reads_3: assert (\dut.state_ram.raddr_3 == \dut.c_queue &&
            \dut.done_ram.raddr_3 == \dut.c_queue [0] && \dut.completed_ram.raddr_3 == \dut.c_queue [0]);
        if (up_1) still_up: assert (up);
        if (lives) begin
            sized: assert (size <= N && used <= size && present <= N);
            if (z[1]) reaped_is_freed: assert (left <= reapable);
        end
        if (up) begin
            stages: assert ({\dut.c_post , \dut.r_post , \dut.t_post , \dut.s_post , \dut.b_post } == going[4:0]);
            one_each: assert (!(\dut.b_post && \dut.b_op ) && !(\dut.s_post && \dut.s_op ) && !(\dut.t_post &&
                \dut.t_op ) &&
                              !(\dut.r_post && \dut.r_op ) && !(\dut.c_post && \dut.c_op ));
            own_queues: assert ((!\dut.b_post || \dut.b_queue [1] == (\dut.b_kind != 2'd1)) &&
                (!\dut.s_post || \dut.s_queue [1] == (\dut.s_kind != 2'd1)) &&
                (!\dut.t_post || \dut.t_queue [1] == (\dut.t_kind != 2'd1)) &&
                (!\dut.r_post || \dut.r_queue [1] == (\dut.r_kind != 2'd1)) &&
                (!\dut.c_post || \dut.c_queue [1] == (\dut.c_kind != 2'd1)));
            if (\dut.c_queue == z && (\dut.c_post || \dut.c_op )) z_c: assert (\dut.st == states[0 +: ST_W] &&
                \dut.freed == freed);
            if (\dut.b_op ) size_b: assert (\dut.b_value <= N && \dut.b_code != 2'd3);
            if (\dut.s_op ) size_s: assert (\dut.s_value <= N && \dut.s_code != 2'd3);
            if (\dut.t_op ) size_t: assert (\dut.t_value <= N && \dut.t_code != 2'd3);
            if (\dut.r_op ) size_r: assert (\dut.r_value <= N && \dut.r_code != 2'd3);
            if (\dut.c_op ) size_c: assert (\dut.c_value <= N && \dut.c_code != 2'd3);
            if (going[0]) post_b: assert (\dut.b_data [447:384] == context_0 && reap_0 == (\dut.b_kind == 2'd3) &&
                (!reap_0 || \dut.b_queue [1]));
            if (going[1]) post_s: assert (\dut.s_data [447:384] == context_1 && reap_1 == (\dut.s_kind == 2'd3) &&
                (!reap_1 || \dut.s_queue [1]));
            if (going[2]) post_t: assert (\dut.t_data [447:384] == context_2 && reap_2 == (\dut.t_kind == 2'd3) &&
                (!reap_2 || \dut.t_queue [1]));
            if (going[3]) post_r: assert (\dut.r_data [447:384] == context_3 && reap_3 == (\dut.r_kind == 2'd3) &&
                (!reap_3 || \dut.r_queue [1]));
            if (going[4]) post_c: assert (\dut.c_data [447:384] == context_4 && reap_4 == (\dut.c_kind == 2'd3) &&
                (!reap_4 || \dut.c_queue [1]));
        end
    end
`endif

endmodule

`default_nettype wire
