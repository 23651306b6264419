// SPDX-License-Identifier: Apache-2.0
// cde_dispatch: indicates released requests to the transport (DF-06, DF-09, DF-12, DF-13).
//
// Purpose: QPs are served round robin; one's run lasts until nothing more is released, or BURST requests while another QP waits. A fenced request
//          that must wait ends its run; the retirement of a Read asks for another look. Requests of a QP that left CONNECTED are skipped.
//          Stage L reads how far a QP has got, F fetches requests, G offers, skips or gives back.
// Ports:   released requests (acc_*, end_*, rel_*, stop), retired Reads (rr_*), peers; m_axis_work; indicated requests (ind_*).
// Latency: decision of a post in cycle t, offered on m_axis_work in t+2. One request a cycle.
`default_nettype none
`include "cde_defs.vh"
`include "cde_mem.vh"
`include "cde_post_records.vh"

module cde_dispatch #(
    parameter NUM_QP = 64,
    parameter QP_W = 6,
    parameter IDX_W = 16,
    parameter SQ_LOG2 = 5,
    parameter BURST = 8,
    parameter ECC = 1
) (
    input  wire              clk,
    input  wire [`CDE_MEM_W-1:0] mem_i,
    output wire [`CDE_MEM_W-1:0] mem_o,
    input  wire              rst,
    input  wire              init,

    input  wire              acc_valid,
    input  wire [QP_W-1:0]   acc_qp,
    input  wire [SQ_LOG2-1:0] acc_slot,
    input  wire [511:0]      acc_data,
    input  wire [1:0]        acc_kind,       // CDE_KIND_*
    input  wire              end_we,
    input  wire [SQ_LOG2-1:0] end_slot,
    input  wire              end_last,
    input  wire              rel_valid,
    input  wire              rel_we,
    input  wire [IDX_W-1:0]  rel_index,
    input  wire [NUM_QP-1:0] stop,
    input  wire [NUM_QP-1:0] bad,            // a request of the QP has failed

    input  wire              rr_valid,       // a Read has retired
    input  wire              rr_we,
    input  wire [QP_W-1:0]   rr_qp,
    input  wire [IDX_W-1:0]  rr_total,       // Reads of the QP retired so far

    input  wire              peer_we,
    input  wire [QP_W-1:0]   peer_qp,
    input  wire [23:0]       peer,
    input  wire              guard_we,
    input  wire              guard,          // local requests are executed in the key table

    output wire [511:0]      m_axis_work_tdata,
    output wire [15:0]       m_axis_work_tdest,
    output wire [63:0]       m_axis_work_tuser,
    output wire              m_axis_work_tlast,
    output wire              m_axis_work_tvalid,
    input  wire              m_axis_work_tready,

    // A local request to execute; valid until done
    output wire              loc_valid,
    output wire [QP_W-1:0]   loc_qp,
    output wire [511:0]      loc_post,
    input  wire              loc_done,
    input  wire [7:0]        loc_status,

    // Requests indicated or skipped in this cycle
    output wire              ind_valid,
    output wire [QP_W-1:0]   ind_qp,
    output wire [SQ_LOG2-1:0] ind_slot,
    output wire              ind_done,       // indicated, not skipped
    output wire              ind_ripe,       // may retire at once
    output wire [7:0]        ind_status,     // of a local request
    output wire [IDX_W-1:0]  ind_next,
    output wire [IDX_W-1:0]  ind_tags,       // remote requests of the QP indicated so far
    output wire [SQ_LOG2-1:0] ind_tag        // of the newest remote request
);

    wire [`CDE_MEM_W-1:0] mem1, mem2, mem3, mem4, mem5, mem6, mem7;

    localparam [IDX_W-1:0] ONE = {{(IDX_W-1){1'b0}}, 1'b1};
    localparam AW = QP_W + SQ_LOG2;
    localparam [31:0] LEFT = BURST - 1;      // after the first of a run

    // ---------------------------------------------------------------- who is looked at: who has waited, else who is just released
    wire             offer_valid, offer_take, unused_pending;
    wire [QP_W-1:0]  offer_qp;
    wire             ask, again;
    wire             advance;                // the stages move
    reg              l_valid;
    reg  [QP_W-1:0]  l_qp;
    wire             l_leaves;
    reg              f_valid;
    reg  [QP_W-1:0]  f_qp;
    reg  [IDX_W-1:0] f_index;
    reg  [IDX_W-1:0] f_bound;
    reg  [7:0]       f_left;
    reg              g_valid;
    reg  [QP_W-1:0]  g_qp;
    reg  [IDX_W-1:0] g_index;

    wire             fetch;
    wire [QP_W-1:0]  fetch_qp;

    // A candidate whose QP is in L or F is dropped: that run sees all that the candidate, asked for two cycles ago, stands for.
    wire             cand_valid = offer_valid || rel_valid;
    wire [QP_W-1:0]  cand_qp = offer_valid ? offer_qp : acc_qp;
    wire             l_free = !l_valid || l_leaves;
    wire             busy = (l_valid && l_qp == cand_qp) || (f_valid && f_qp == cand_qp);
    wire             launch = cand_valid && !busy && l_free && advance;

    assign offer_take = offer_valid && (launch || busy);
    assign ask = rel_valid && !(launch && !offer_valid);

    cde_arbiter #(.NUM_QP(NUM_QP), .QP_W(QP_W)) arbiter_i (
        .clk(clk), .rst(rst),
        .ask0(ask), .ask0_qp(acc_qp), .ask1(again), .ask1_qp(fetch_qp), .ask2(rr_valid), .ask2_qp(rr_qp),
        .served(launch || l_valid || fetch), .served_qp(launch ? cand_qp : l_valid ? l_qp : fetch_qp), .pending(unused_pending),
        .offer_valid(offer_valid), .offer_qp(offer_qp), .offer_take(offer_take)
    );

    // ---------------------------------------------------------------- stage L: how far the QP has got
    wire [QP_W-1:0]  l_look = l_free && advance ? cand_qp : l_qp;
    wire [IDX_W-1:0] l_index;
    wire [IDX_W-1:0] l_bound;

    cde_ram #(.W(IDX_W), .AW(QP_W), .ECC(ECC)) index_ram (
        .clk(clk), .mem_i(mem_i), .mem_o(mem1), .we(ind_valid), .waddr(ind_qp), .wdata(ind_next),
        .raddr(l_look), .rdata(l_index)
    );

    cde_ram #(.W(IDX_W), .AW(QP_W), .ECC(ECC)) bound_ram (
        .clk(clk), .mem_i(mem1), .mem_o(mem2), .we(rel_we), .waddr(acc_qp), .wdata(rel_index),
        .raddr(l_look), .rdata(l_bound)
    );

    wire l_empty = l_index == l_bound;

    assign l_leaves = l_valid && (!f_valid || l_empty) && advance;

    // ---------------------------------------------------------------- stage F: the run
    wire [IDX_W-1:0] fetch_index = f_valid ? f_index : l_index;
    wire [IDX_W-1:0] fetch_bound = f_valid ? f_bound : l_bound;
    wire [7:0]       fetch_left = f_valid ? f_left : LEFT[7:0];
    wire [IDX_W-1:0] fetch_next = fetch_index + ONE;
    wire             g_blocked;

    assign fetch_qp = f_valid ? f_qp : l_qp;
    assign fetch = advance && (f_valid || (l_valid && !l_empty));

    wire killed = g_valid && g_blocked && g_qp == fetch_qp;
    wire more = fetch_next != fetch_bound;
    wire others = (f_valid && l_valid) || (offer_valid && offer_qp != fetch_qp);     // L never holds the QP of F
    wire yields = fetch_left == 8'd0 && others;
    wire goes_on = fetch && more && !yields && !killed;

    assign again = fetch && more && yields && !killed;

    // Low from power-up, before any clock edge.
    initial g_valid = 1'b0;
    always @(posedge clk) begin
        if (launch) begin
            l_valid <= 1'b1;
            l_qp <= cand_qp;
        end else if (l_leaves) l_valid <= 1'b0;
        if (advance) begin
            f_valid <= goes_on;
            f_qp <= fetch_qp;
            f_index <= fetch_next;
            f_bound <= fetch_bound;
            f_left <= fetch_left == 8'd0 ? 8'd0 : fetch_left - 8'd1;
            g_valid <= fetch && !killed;
            g_qp <= fetch_qp;
            g_index <= fetch_index;
        end
        if (rel_we && acc_qp == (advance ? fetch_qp : f_qp)) f_bound <= rel_index;
        if (rst) begin
            l_valid <= 1'b0;
            f_valid <= 1'b0;
            g_valid <= 1'b0;
        end
    end

    // ---------------------------------------------------------------- stage G: offer, skip, or give back
    wire [QP_W-1:0]  look_qp = advance ? fetch_qp : g_qp;
    wire [AW-1:0]    look_slot = {look_qp, advance ? fetch_index[SQ_LOG2-1:0] : g_index[SQ_LOG2-1:0]};
    wire [1:0]       g_kind;
    wire             g_local = g_kind[1];
    wire             g_last;
    wire [511:0]     g_post;
    wire [IDX_W-1:0] g_tags, g_reads, g_retired;
    wire [23:0]      g_peer;
    wire             g_guard;
    reg              g_offered;

    cde_ram_direct #(.W(514), .AW(AW), .ECC(ECC)) post_ram (
        .clk(clk), .mem_i(mem2), .mem_o(mem3), .we(acc_valid), .waddr({acc_qp, acc_slot}), .wdata({acc_kind, acc_data}),
        .raddr(look_slot), .rdata({g_kind, g_post})
    );

    cde_ram #(.W(1), .AW(AW), .ECC(ECC)) end_ram (
        .clk(clk), .mem_i(mem3), .mem_o(mem4), .we(end_we), .waddr({acc_qp, end_slot}), .wdata(end_last), .raddr(look_slot), .rdata(g_last)
    );

    wire             skip;
    wire [IDX_W-1:0] tags_next = g_local || skip ? g_tags : g_tags + ONE;
    wire [IDX_W-1:0] reads_next = g_kind == `CDE_KIND_READ ? g_reads + ONE : g_reads;

    cde_ram #(.W(2 * IDX_W), .AW(QP_W), .ECC(ECC)) count_ram (
        .clk(clk), .mem_i(mem4), .mem_o(mem5), .we(ind_valid && ind_done), .waddr(g_qp),
        .wdata({tags_next, reads_next}), .raddr(look_qp), .rdata({g_tags, g_reads})
    );

    cde_ram #(.W(IDX_W), .AW(QP_W), .ECC(ECC)) retired_ram (
        .clk(clk), .mem_i(mem5), .mem_o(mem6), .we(rr_we), .waddr(rr_qp), .wdata(rr_total),
        .raddr(look_qp), .rdata(g_retired)
    );

    cde_ram #(.W(24), .AW(QP_W), .ECC(ECC)) peer_ram (
        .clk(clk), .mem_i(mem6), .mem_o(mem7), .we(peer_we), .waddr(peer_qp), .wdata(peer), .raddr(look_qp), .rdata(g_peer)
    );

    cde_ram #(.W(1), .AW(QP_W), .ECC(ECC)) guard_ram (
        .clk(clk), .mem_i(mem7), .mem_o(mem_o), .we(guard_we), .waddr(peer_qp), .wdata(guard), .raddr(look_qp), .rdata(g_guard)
    );

    // What was offered once stays offered, whatever becomes of its QP.
    assign skip = stop[g_qp] && !g_offered;
    // A failure retires its Read before it stops the QP.
    wire fenced = g_post[`CDE_POST_READ_FENCE_LSB] && (g_reads != g_retired || bad[g_qp]);

    assign g_blocked = !skip && !g_offered && fenced;

    // A local request that changes keys is executed when its beat has been taken; what is after it waits for the
    // outcome.
    reg  g_sent;
    wire executes = g_kind == `CDE_KIND_KEYS && g_guard;
    wire finished = executes ? g_sent && loc_done : m_axis_work_tready;

    assign m_axis_work_tvalid = g_valid && !skip && !g_blocked && !g_sent;
    assign advance = !(g_valid && !skip && !g_blocked && !finished) && !init;
    assign loc_valid = g_sent;
    assign loc_qp = g_qp;
    assign loc_post = g_post;

    always @(posedge clk) begin
        g_offered <= (m_axis_work_tvalid || g_sent) && !advance && !rst;
        g_sent <= (g_sent || (m_axis_work_tvalid && m_axis_work_tready && executes)) && !advance && !rst;
    end

    wire [15:0] tag = {{(16-IDX_W){1'b0}}, g_tags};
    wire [15:0] index = {{(16-IDX_W){1'b0}}, g_index};

    assign m_axis_work_tdata = g_post;
    assign m_axis_work_tdest = {{(16-QP_W){1'b0}}, g_qp};
    assign m_axis_work_tuser = {7'd0, g_local, g_peer, index, g_local ? 16'd0 : tag};
    assign m_axis_work_tlast = g_last;

    assign ind_valid = g_valid && !g_blocked && advance;
    assign ind_qp = g_qp;
    assign ind_slot = g_index[SQ_LOG2-1:0];
    assign ind_done = !skip;
    assign ind_ripe = skip || g_local;
    assign ind_status = executes && !skip ? loc_status : 8'h00;
    assign ind_next = g_index + ONE;
    assign ind_tags = tags_next;
    assign ind_tag = tags_next[SQ_LOG2-1:0] - {{(SQ_LOG2-1){1'b0}}, 1'b1};

endmodule

`default_nettype wire
