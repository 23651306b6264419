// SPDX-License-Identifier: Apache-2.0
// f_dispatch: proof that a QP's requests are indicated in post order, each once (cde_dispatch).
//
// Purpose: counts, for any one QP, the requests accepted, released, indicated or skipped, and the beats of the next one; rules of
//          m_axis_work. Assumed is what post_release proves of cde_post: requests are accepted in order, no more than the queue holds,
//          released once accepted, the end of a batch marked before its release; and that nothing waits when peer and kind of QP are
//          set. When QPs leave CONNECTED, when Reads retire, what is fenced or local, is free in each cycle, and so is all that other QPs do.
// Ports:   free inputs.
// Latency: none.
`default_nettype none
`include "cde_mem.vh"

module f_dispatch #(
    parameter IDX_W = 3,
    parameter SQ_LOG2 = 2
) (
    input wire               clk,
    input wire               acc_valid,
    input wire               acc_qp,
    input wire [SQ_LOG2-1:0] acc_slot,
    input wire [511:0]       acc_data,
    input wire [1:0]         acc_kind,
    input wire               end_we,
    input wire [SQ_LOG2-1:0] end_slot,
    input wire               end_last,
    input wire               rel_valid,
    input wire               rel_we,
    input wire [IDX_W-1:0]   rel_index,
    input wire [1:0]         stop,
    input wire [1:0]         bad,
    input wire               rr_valid,
    input wire               rr_we,
    input wire               rr_qp,
    input wire [IDX_W-1:0]   rr_total,
    input wire               peer_we,
    input wire [23:0]        peer,
    input wire               guard_we,
    input wire               guard_qp,
    input wire               guard,
    input wire               work_ready,
    input wire               loc_done
);

`include "cde_defs.vh"

    localparam [IDX_W-1:0] ONE = 1;

    reg [1:0] age = 0;
    wire      rst = age == 0;
    wire      up = age == 3;
    wire      init = !rst && !up;
    always @(posedge clk) if (!up) age <= age + 1'b1;
    wire [`CDE_MEM_W-1:0] mem = {39'd0, init, rst};     // maintenance bus: reset and the walk, no injection
    wire [`CDE_MEM_W-1:0] unused_mem;

    (* anyconst *) wire q;              // any one QP

    wire               work_valid, loc_valid, ind_valid, ind_qp, ind_done;
    wire [15:0]        work_dest;
    wire [63:0]        work_user;
    wire [IDX_W-1:0]   ind_next;
    wire [SQ_LOG2-1:0] ind_slot;
    wire [511:0]       work_data;
    wire               work_last;

    cde_dispatch #(.NUM_QP(2), .QP_W(1), .IDX_W(IDX_W), .SQ_LOG2(SQ_LOG2), .BURST(2), .ECC(0)) dut (
        .clk(clk), .mem_i(mem), .mem_o(unused_mem), .rst(rst), .init(init), .acc_valid(acc_valid && up), .acc_qp(acc_qp), .acc_slot(acc_slot),
        .acc_data(acc_data), .acc_kind(acc_kind), .end_we(end_we && up), .end_slot(end_slot), .end_last(end_last),
        .rel_valid(rel_valid && up), .rel_we(rel_we && up), .rel_index(rel_index), .stop(stop), .bad(bad), .rr_valid(rr_valid && up),
        .rr_we(rr_we && up), .rr_qp(rr_qp), .rr_total(rr_total), .peer_we(peer_we && up), .peer_qp(guard_qp), .peer(peer),
        .guard_we(guard_we && up), .guard(guard), .m_axis_work_tdata(work_data), .m_axis_work_tdest(work_dest),
        .m_axis_work_tuser(work_user), .m_axis_work_tlast(work_last), .m_axis_work_tvalid(work_valid), .m_axis_work_tready(work_ready),
        .loc_valid(loc_valid), .loc_done(loc_done), .loc_status(8'd0), .ind_valid(ind_valid),
        .ind_qp(ind_qp), .ind_slot(ind_slot), .ind_done(ind_done), .ind_next(ind_next)
    );

    reg [IDX_W-1:0] tail, released, next;     // of q: behind the last request accepted, released, the next one to be indicated
    reg             sent = 1'b0;        // the next one's beat was taken
    initial {tail, released, next} = 0;
    wire            release_now = rel_we && acc_qp == q && up;
    wire            indicated = ind_valid && ind_qp == q && up;
    wire            beat = work_valid && work_dest[0] == q && up;
    wire            accepts = acc_valid && acc_qp == q && up;
    wire [IDX_W-1:0] tail_next = tail + (accepts ? ONE : 0);
    wire [IDX_W-1:0] grows = rel_index - released;
    wire [IDX_W-1:0] held = tail - released;
    wire [IDX_W-1:0] held_next = tail_next - released;
    wire [IDX_W-1:0] left = released - next;
    wire [IDX_W-1:0] present = tail - next;

    always @* begin
        if (accepts) assume (acc_slot == tail[SQ_LOG2-1:0] && present < (1 << SQ_LOG2));
        if (end_we && acc_qp == q && up) assume (held_next != 0 && end_slot == tail_next[SQ_LOG2-1:0] - 1'b1);
        if (release_now) assume (grows <= held_next);
        if ((guard_we || peer_we) && guard_qp == q && up) assume (tail == next);
    end

    wire            waits;              // a beat of q was not taken in the cycle before
    axis_props #(.W(593)) work_i (
        .clk(clk), .rst(!up), .valid(beat), .ready(work_ready), .data({work_data, work_dest, work_user, work_last}), .held(waits)
    );

    always @(posedge clk) begin
        tail <= tail_next;
        if (release_now) released <= rel_index;
        if (indicated) next <= next + ONE;
        sent <= (sent || (beat && work_ready)) && !indicated;
        if (indicated) begin
            in_post_order: assert (ind_next == next + ONE && ind_slot == next[SQ_LOG2-1:0]);
            only_released: assert (next != released);
            indicated_was_sent: assert (ind_done == (sent || (beat && work_ready)));
        end
        if (beat) begin
            beat_in_order: assert (work_user[16 +: 16] == {{(16-IDX_W){1'b0}}, next} && next != released);
            beat_once: assert (!sent);
        end
    end

`ifndef PROPERTIES_ONLY
    // ---------------------------------------------------------------- for the induction: what the stages hold of q
    (* hierconn *) wire [2*IDX_W-1:0] \dut.index_ram.words , \dut.bound_ram.words ;
    (* hierconn *) wire \dut.l_valid , \dut.l_qp , \dut.f_valid , \dut.f_qp , \dut.g_valid , \dut.g_qp , \dut.g_sent , \dut.g_offered ;
    (* hierconn *) wire \dut.index_ram.f_raddr , \dut.bound_ram.f_raddr ;
    (* hierconn *) wire [SQ_LOG2:0] \dut.post_ram.f_raddr , \dut.end_ram.f_raddr ;
    (* hierconn *) wire \dut.count_ram.f_raddr , \dut.peer_ram.f_raddr , \dut.guard_ram.f_raddr  ;
    (* hierconn *) wire [IDX_W-1:0] \dut.f_index , \dut.f_bound , \dut.g_index ;
    wire in_l = \dut.l_valid && \dut.l_qp == q;
    wire in_f = \dut.f_valid && \dut.f_qp == q;
    wire in_g = \dut.g_valid && \dut.g_qp == q;

    always @(posedge clk) begin
        if (age > {1'b0, q} + 2'd1) begin
            index_is_next: assert ((q ? \dut.index_ram.words [IDX_W +: IDX_W] : \dut.index_ram.words [0 +: IDX_W]) == next);
            bound_is_released: assert ((q ? \dut.bound_ram.words [IDX_W +: IDX_W] : \dut.bound_ram.words [0 +: IDX_W]) == released);
        end
        capacity: assert (present <= (1 << SQ_LOG2) && left <= present);
        if (!rst && !up) nothing_yet: assert (!\dut.l_valid && !\dut.f_valid && !\dut.g_valid && !\dut.g_sent );
        if (!up) zero_yet: assert (next == 0 && released == 0 && tail == 0 && !sent && !waits);
        if (up) begin
            if (\dut.l_valid ) l_reads: assert (\dut.index_ram.f_raddr == \dut.l_qp && \dut.bound_ram.f_raddr == \dut.l_qp );
            one_stage: assert (!(in_l && (in_f || in_g)));
            if (in_f) run: assert (in_g && \dut.f_index == next + ONE && \dut.f_bound == released && \dut.f_index != released);
            if (in_g) oldest: assert (\dut.g_index == next && next != released);
            if (\dut.g_sent || \dut.g_offered ) kept: assert (\dut.g_valid && \dut.g_offered );
            sent_is_held: assert (sent == (\dut.g_sent && in_g));
            if (in_g) reads: assert (\dut.post_ram.f_raddr == {q, next[SQ_LOG2-1:0]} && \dut.end_ram.f_raddr == {q, next[SQ_LOG2-1:0]} &&
                                     \dut.count_ram.f_raddr == q && \dut.peer_ram.f_raddr == q && \dut.guard_ram.f_raddr == q);
            if (waits) offered: assert (in_g && \dut.g_offered && !\dut.g_sent );
        end
    end
`endif

endmodule

`default_nettype wire
