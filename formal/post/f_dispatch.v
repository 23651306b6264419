// SPDX-License-Identifier: Apache-2.0
// f_dispatch: proof that a QP's requests are indicated in post order, each once (cde_dispatch).
//
// Purpose: counts, for any one QP, the requests accepted, released, indicated or skipped, and the beats of the next
//          one; rules of m_axis_work. Assumed is what post_release proves of cde_post: requests are accepted in order,
//          no more than the queue holds, released once accepted, the end of a batch marked before its release; and that
//          nothing waits when peer and kind of QP are set or the QP is connected anew. When QPs leave CONNECTED, when
//          Reads retire, what is fenced or local, is free in each cycle, and so is all that other QPs do. A released
//          request is never forgotten: it is on its way, or its QP asks, or its fence waits for a Read.
// Ports:   free inputs.
// Latency: none.
`default_nettype none
`include "cde_mem.vh"

module f_dispatch #(
    parameter IDX_W = 4,
    parameter SQ_LOG2 = 2
) (
    input wire               clk,
    input wire               early_valid,
    input wire               early_qp,
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
    localparam P_W = SQ_LOG2 + 1;       // bits of an index that tell the requests of a queue apart

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

    cde_dispatch #(.NUM_QP(2), .QP_W(1), .IDX_W(IDX_W), .SQ_LOG2(SQ_LOG2), .BURST(2), .AHEAD(3), .ECC(0)) dut (
        .clk(clk), .mem_i(mem), .mem_o(unused_mem), .rst(rst), .init(init), .early_valid(early_valid && up),
        .early_qp(early_qp), .acc_valid(acc_valid && up), .acc_qp(acc_qp), .acc_slot(acc_slot),
        .acc_data(acc_data), .acc_kind(acc_kind), .end_we(end_we && up), .end_slot(end_slot), .end_last(end_last),
        .rel_valid(rel_valid && up), .rel_we(rel_we && up), .rel_index(rel_index), .stop(stop),
        .rr_valid(rr_valid && up),
        .rr_we(rr_we && up), .rr_qp(rr_qp), .rr_total(rr_total), .peer_we(peer_we && up), .peer_qp(guard_qp),
        .peer(peer),
        .guard_we(guard_we && up), .guard(guard), .m_axis_work_tdata(work_data), .m_axis_work_tdest(work_dest),
        .m_axis_work_tuser(work_user), .m_axis_work_tlast(work_last), .m_axis_work_tvalid(work_valid),
        .m_axis_work_tready(work_ready),
        .loc_valid(loc_valid), .loc_done(loc_done), .loc_status(8'd0), .ind_valid(ind_valid),
        .ind_qp(ind_qp), .ind_slot(ind_slot), .ind_done(ind_done), .ind_next(ind_next)
    );

    // of q: the index after the last request accepted, released, the next one to be indicated
    reg [IDX_W-1:0] tail, released, next;
    reg [IDX_W-1:0] known;              // released, as dispatch has been told
    reg             sent = 1'b0;        // the next one's beat was taken
    reg             stopped = 1'b0, leaves = 1'b0;
    reg [P_W-1:0]   retired = 0;        // Reads
    initial {tail, released, next, known} = 0;
    integer         j;
    initial for (j = 0; j < (1 << SQ_LOG2); j = j + 1) posts[j] = 0;
    reg [3:0]       posts [0:(1 << SQ_LOG2) - 1];    // of q: kind, and two bits of the context, of what was accepted
    wire            release_now = rel_we && acc_qp == q && up;
    wire            indicated = ind_valid && ind_qp == q && up;
    wire            beat = work_valid && work_dest[0] == q && up;
    wire            accepts = acc_valid && acc_qp == q && up;
    wire [IDX_W-1:0] base = next + (indicated ? ONE : 0);      // indicated requests are told a cycle after their beats
    wire [3:0]      post_of_beat = posts[base[SQ_LOG2-1:0]];
    wire [IDX_W-1:0] tail_next = tail + (accepts ? ONE : 0);
    wire [IDX_W-1:0] grows = rel_index - released;
    wire [IDX_W-1:0] held = tail - released;
    wire [IDX_W-1:0] held_next = tail_next - released;
    wire [IDX_W-1:0] left = released - next;
    wire [IDX_W-1:0] present = tail - next;

    always @* begin
        if (accepts) assume (acc_slot == tail[SQ_LOG2-1:0] && present < (1 << SQ_LOG2));
        if (end_we && acc_qp == q && up) assume (held_next != 0 && end_slot == tail_next[SQ_LOG2-1:0] - 1'b1);
        if (release_now) assume (grows <= held_next && rel_valid);
        if ((guard_we || peer_we) && guard_qp == q && up) assume (tail == next);
        // A QP leaves CONNECTED with something to look at; it comes back when nothing is left.
        if (up && stop[q] && !stopped) assume (leaves);
        if (up && stopped && !stop[q]) assume (tail == next);
        if (rr_we && !rr_valid && rr_qp == q && up) assume (rr_total[P_W-1:0] == retired);
    end

    wire            waits;              // a beat of q was not taken in the cycle before
    axis_props #(.W(593)) work_i (
        .clk(clk), .rst(!up), .valid(beat), .ready(work_ready), .data({work_data, work_dest, work_user, work_last}),
        .held(waits)
    );

    always @(posedge clk) begin
        tail <= tail_next;
        if (accepts) posts[acc_slot] <= {acc_kind, acc_data[`CDE_POST_CONTEXT_LSB +: 2]};
        if (release_now) released <= rel_index;
        known <= released;
        next <= base;
        sent <= (beat && work_ready) || (sent && !indicated);
        stopped <= stop[q] && up;
        leaves <= rel_valid && acc_qp == q && up;
        if (rr_we && rr_qp == q && up) retired <= rr_total[P_W-1:0];
        if (indicated) begin
            in_post_order: assert (ind_next == next + ONE && ind_slot == next[SQ_LOG2-1:0]);
            only_released: assert (next != released);
            indicated_was_sent: assert (ind_done == sent);
        end
        if (beat) begin
            beat_in_order: assert (work_user[16 +: 16] == {{(16-IDX_W){1'b0}}, base} && base != released);
            beat_once: assert (!sent || indicated);
            beat_is_post: assert (work_data[`CDE_POST_CONTEXT_LSB +: 2] == post_of_beat[1:0] &&
                work_user[56] == post_of_beat[3]);
        end
    end

    // ---------------------------------------------------------------- what the stages hold of q
    localparam C_W = 2 * IDX_W + P_W, L_W = 1 + 2 * P_W;
    localparam E_INDEX = 512, E_QP = E_INDEX + 2 * IDX_W + P_W + 24, E_SKIP = E_QP + 5, E_AFTER = E_SKIP + 1,
        E_W = E_AFTER + 1;
    (* hierconn *) wire [2*P_W-1:0] \dut.looks_i.index_ram.words , \dut.looks_i.one.bound_ram.words ,
        \dut.retired_ram.words ;
    (* hierconn *) wire [2*C_W-1:0] \dut.count_ram.words ;
    (* hierconn *) wire [(514 << (SQ_LOG2 + 1)) - 1:0] \dut.post_ram.words ;
    (* hierconn *) wire \dut.p1_valid , \dut.p2_valid , \dut.g_valid , \dut.k_valid , \dut.p1_qp , \dut.p2_qp ,
        \dut.g_qp , \dut.k_qp ;
    (* hierconn *) wire [P_W-1:0] \dut.p1_index , \dut.p2_index , \dut.g_index ;
    (* hierconn *) wire \dut.in_rel , \dut.in_move , \dut.in_acc , \dut.in_read , \dut.in_retired , \dut.in_qp ,
        \dut.in_rr_qp ;
    (* hierconn *) wire [P_W-1:0] \dut.in_bound , \dut.in_total ;
    (* hierconn *) wire [SQ_LOG2-1:0] \dut.in_slot ;
    (* hierconn *) wire [513:0] \dut.in_post ;
    (* hierconn *) wire \dut.looks_i.offer_valid , \dut.looks_i.offer_qp , \dut.looks_i.l1_valid ,
        \dut.looks_i.l1_early , \dut.looks_i.l1_met ,
                        \dut.looks_i.l1_qp , \dut.looks_i.l2_valid , \dut.looks_i.l2_early , \dut.looks_i.l2_met ,
                            \dut.looks_i.l2_qp ,
                        \dut.looks_i.l3_valid , \dut.looks_i.l3_qp , \dut.looks_i.f_valid , \dut.looks_i.f_qp ;
    (* hierconn *) wire [P_W-1:0] \dut.looks_i.f_index , \dut.looks_i.f_bound ;
    (* hierconn *) wire [1:0] \dut.looks_i.want , \dut.looks_i.busy , \dut.looks_i.n_in , \dut.looks_i.n_out ;
    (* hierconn *) wire [1:0] \dut.looks_i.sets , \dut.looks_i.at_work , \dut.looks_i.told , \dut.looks_i.asked ,
        \dut.looks_i.done ;
    (* hierconn *) wire [L_W-1:0] \dut.looks_i.head ;
    (* hierconn *) wire [1:0] \dut.looks_i.pick_i.asks , \dut.looks_i.pick_i.after ;
    (* hierconn *) wire \dut.looks_i.pick_i.group_any , \dut.looks_i.pick_i.group_after ;
    (* hierconn *) wire [2:0] \dut.looks_i.n_count ;
    (* hierconn *) wire \dut.looks_i.n_valid ;
    (* hierconn *) wire [4*L_W-1:0] \dut.looks_i.f_line ;
    (* hierconn *) wire \dut.looks_i.index_ram.raddr_3 , \dut.looks_i.index_ram.raddr_2 ,
        \dut.looks_i.index_ram.raddr_1 ;
    (* hierconn *) wire \dut.looks_i.one.bound_ram.raddr_3 , \dut.looks_i.one.bound_ram.raddr_2 ,
        \dut.looks_i.one.bound_ram.raddr_1 ;
    wire              in_move = \dut.in_move && \dut.in_qp == q;

    // Of q: how far it is dispatched, and what is left of what is known to be released
    wire [IDX_W-1:0]  at = \dut.count_ram.words [q * C_W + IDX_W + P_W +: IDX_W];
    wire [P_W-1:0]    reads = \dut.count_ram.words [q * C_W +: P_W];
    wire [IDX_W-1:0]  rest = known - at;
    wire              pending = rest != 0;
    wire [IDX_W-1:0]  done = at - base;
    wire [IDX_W-1:0]  open = known - base;

    // Requests on their way to be judged, and where their QP's run goes on; distances from the next one
    wire              p1 = \dut.p1_valid && \dut.p1_qp == q;
    wire              p2 = \dut.p2_valid && \dut.p2_qp == q;
    wire              g = \dut.g_valid && \dut.g_qp == q;
    wire              k = \dut.k_valid && \dut.k_qp == q;
    wire              f = \dut.looks_i.f_valid && \dut.looks_i.f_qp == q;
    wire [P_W-1:0]    p1_far = \dut.p1_index - at[P_W-1:0];
    wire [P_W-1:0]    p2_far = \dut.p2_index - at[P_W-1:0];
    wire [P_W-1:0]    g_far = \dut.g_index - at[P_W-1:0];
    wire [P_W-1:0]    f_far = \dut.looks_i.f_index - at[P_W-1:0];
    wire              offer = \dut.looks_i.offer_valid && \dut.looks_i.offer_qp == q;
    wire              l1 = \dut.looks_i.l1_valid && \dut.looks_i.l1_qp == q;
    wire              l2 = \dut.looks_i.l2_valid && \dut.looks_i.l2_qp == q;
    wire              l3 = \dut.looks_i.l3_valid && \dut.looks_i.l3_qp == q;
    wire              l1_asked = l1 && !\dut.looks_i.l1_early ;
    wire              l2_asked = l2 && !\dut.looks_i.l2_early ;
    wire              l1_new = l1 && \dut.looks_i.l1_early && !\dut.looks_i.l1_met ;
    wire              l2_new = l2 && \dut.looks_i.l2_early && !\dut.looks_i.l2_met ;
    // What has happened in the cycle before counts
    wire              want = \dut.looks_i.want [q] || \dut.looks_i.sets [q];
    wire              busy = \dut.looks_i.at_work [q];

    // Places of the line
    wire [3:0]        n_at;             // of q
    wire [P_W-1:0]    n_index [0:3], n_bound [0:3];
    genvar            i;
    generate
        for (i = 0; i < 4; i = i + 1) begin : g_line
            wire [1:0] place = i[1:0] - \dut.looks_i.n_out ;
            assign n_at[i] = {1'b0, place} < \dut.looks_i.n_count && \dut.looks_i.f_line [i * L_W + 2 * P_W] == q;
            assign n_index[i] = \dut.looks_i.f_line [i * L_W + P_W +: P_W];
            assign n_bound[i] = \dut.looks_i.f_line [i * L_W +: P_W];
        end
    endgenerate
    wire              n = n_at != 4'd0;
    wire [P_W-1:0]    nn_index = (n_at[0] ? n_index[0] : 0) | (n_at[1] ? n_index[1] : 0) | (n_at[2] ? n_index[2] :
        0) | (n_at[3] ? n_index[3] : 0);
    wire [P_W-1:0]    nn_bound = (n_at[0] ? n_bound[0] : 0) | (n_at[1] ? n_bound[1] : 0) | (n_at[2] ? n_bound[2] :
        0) | (n_at[3] ? n_bound[3] : 0);
    wire [P_W-1:0]    n_far = nn_index - at[P_W-1:0];

    // How many requests from the next one on are on their way without a gap; whether the others that are released
    // follow
    wire [P_W-1:0]    chain_g = g && g_far == 0 ? 1 : 0;
    wire [P_W-1:0]    chain_p2 = p2 && p2_far == chain_g ? chain_g + 1'b1 : chain_g;
    wire [P_W-1:0]    chain = p1 && p1_far == chain_p2 ? chain_p2 + 1'b1 : chain_p2;
    wire              follows = chain == rest || (f && f_far == chain) || (n && n_far == chain);
    wire              asked = want || offer || l1_asked || l2_asked || l3;
    wire [(2 << SQ_LOG2) - 1:0] fences;
    generate
        for (i = 0; i < (2 << SQ_LOG2); i = i + 1) begin : g_fence
            assign fences[i] = \dut.post_ram.words [i * 514 + `CDE_POST_READ_FENCE_LSB];
        end
    endgenerate
    wire              fence = fences[{q, at[SQ_LOG2-1:0]}] && !stop[q] &&
                              reads != \dut.retired_ram.words [q * P_W +: P_W];
    wire              told = \dut.in_rel && \dut.in_qp == q;
    wire              told_read = \dut.in_read && \dut.in_rr_qp == q;
    wire              skips = stop[q] && (p1 || p2 || g || k || f || n);

    always @(posedge clk) if (up && pending) begin
        not_forgotten: assert (asked || (chain != 0 && follows) || (f && f_far == 0) || (n && n_far == 0) || fence ||
            (told && stop[q]) || told_read || skips);
    end

`ifndef PROPERTIES_ONLY
`include "f_dispatch_invariants.vh"
`endif

endmodule

`default_nettype wire
