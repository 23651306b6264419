// SPDX-License-Identifier: Apache-2.0
// cde_dispatch: indicates released requests to the transport (DF-06, DF-09, DF-12, DF-13).
//
// Purpose: cde_looks says which request is fetched. It is read (P, three cycles) and judged (G) with how far its QP
//          has got: one that is not next, or fenced and must wait, is dropped, and its QP looked at again when it asks.
//          What passes waits in a queue, and is offered (O). So nothing in front of the queue ever stands still. A QP
//          may leave CONNECTED while requests of it wait: the first of them that comes out sets the QP back to itself,
//          the others are discarded, and all come again, to be skipped.
// Ports:   released requests (acc_*, end_*, rel_*, stop), the QP of the decision of the next cycle (early_*), retired
//          Reads (rr_*), peers; m_axis_work; indicated requests (ind_*), a cycle after their beats.
// Latency: decision of a post in cycle t, offered on m_axis_work in t+6. Throughput: one request per cycle.
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
    // Most requests that are fetched and not in front of the queue, at most 7; 5 for one in each cycle.
    parameter AHEAD = 5,
    parameter ECC = 1
) (
    input  wire              clk,
    input  wire [`CDE_MEM_W-1:0] mem_i,
    output wire [`CDE_MEM_W-1:0] mem_o,
    input  wire              rst,
    input  wire              init,

    input  wire              early_valid,
    input  wire [QP_W-1:0]   early_qp,
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
    output reg               ind_valid,
    output reg  [QP_W-1:0]   ind_qp,
    output reg  [SQ_LOG2-1:0] ind_slot,
    output reg               ind_done,       // indicated, not skipped
    output reg               ind_ripe,       // may retire at once
    output reg  [7:0]        ind_status,     // of a local request
    output reg  [IDX_W-1:0]  ind_next,
    output reg  [IDX_W-1:0]  ind_tags,       // remote requests of the QP indicated so far
    output reg  [SQ_LOG2-1:0] ind_tag        // of the newest remote request
);

    wire [`CDE_MEM_W-1:0] mem1, mem2, mem3, mem4, mem5, mem6;

    localparam [IDX_W-1:0] ONE = {{(IDX_W-1){1'b0}}, 1'b1};
    localparam AW = QP_W + SQ_LOG2;
    localparam P_W = SQ_LOG2 + 1;            // tells the requests of a queue apart, and a full queue from an empty one
    localparam [P_W-1:0] P_ONE = {{SQ_LOG2{1'b0}}, 1'b1};
    localparam ROOM_LOG2 = AHEAD < 4 ? 2 : 3;        // places of the queue; one is always free
    localparam [ROOM_LOG2-1:0] R_ONE = {{(ROOM_LOG2-1){1'b0}}, 1'b1};
    localparam [31:0] MOST = AHEAD;

    wire               unused_bits = &{1'b0, rel_index, rr_total};   // those of a whole index

    // ---------------------------------------------------------------- decisions and retired Reads, a cycle later
    reg                in_acc, in_end, in_last, in_rel, in_move, in_read, in_retired;
    reg  [QP_W-1:0]    in_qp, in_rr_qp;
    reg  [SQ_LOG2-1:0] in_slot, in_end_slot;
    reg  [513:0]       in_post;
    reg  [P_W-1:0]     in_bound, in_total;

    always @(posedge clk) begin
        {in_acc, in_end, in_rel, in_move} <= {acc_valid, end_we, rel_valid, rel_we} & {4{!rst}};
        {in_read, in_retired} <= {rr_valid, rr_we} & {2{!rst}};
        {in_qp, in_slot, in_end_slot, in_last} <= {acc_qp, acc_slot, end_slot, end_last};
        {in_post, in_bound} <= {acc_kind, acc_data, rel_index[P_W-1:0]};
        {in_rr_qp, in_total} <= {rr_qp, rr_total[P_W-1:0]};
    end

    // ---------------------------------------------------------------- what is fetched
    wire               fetch, put_back;
    wire [QP_W-1:0]    fetch_qp;
    wire [P_W-1:0]     fetch_index;
    reg                p1_valid, p2_valid, g_valid, k_valid;
    reg  [QP_W-1:0]    p1_qp, p2_qp, g_qp, k_qp;
    reg  [P_W-1:0]     p1_index, p2_index, g_index;
    reg                g_skip, g_after;      // its QP has left CONNECTED; and was put back since
    reg  [NUM_QP-1:0]  back;                 // put back since it left CONNECTED
    reg                room;
    wire               at_we;
    wire [QP_W-1:0]    at_qp;
    wire [IDX_W-1:0]   at_index;
    reg                o_valid;
    reg  [QP_W-1:0]    o_qp;

    // A run whose request was dropped ends; its QP is looked at again if it has left CONNECTED meanwhile.
    cde_looks #(.NUM_QP(NUM_QP), .QP_W(QP_W), .P_W(P_W), .BURST(BURST), .ECC(ECC)) looks_i (
        .clk(clk), .mem_i(mem_i), .mem_o(mem1), .rst(rst), .early_valid(early_valid), .early_qp(early_qp),
        .move_valid(in_rel), .move_we(in_move),
        .move_qp(in_qp), .move_bound(in_bound), .also_we(1'b0), .also_qp({QP_W{1'b0}}), .also_bound({P_W{1'b0}}),
        .ask0(in_read), .ask0_qp(in_rr_qp), .ask1(put_back), .ask1_qp(o_qp),
        .ask2(k_valid && stop[k_qp]), .ask2_qp(k_qp), .at_we(at_we), .at_qp(at_qp), .at_index(at_index[P_W-1:0]),
        .stop_valid(k_valid),
        .stop_qp(k_qp), .room(room), .fetch(fetch), .fetch_qp(fetch_qp), .fetch_index(fetch_index)
    );

    // ---------------------------------------------------------------- stages P and G
    wire [AW-1:0]      fetch_slot = {fetch_qp, fetch_index[SQ_LOG2-1:0]};
    wire [1:0]         g_kind;
    wire [511:0]       g_post;
    wire               g_last, g_guard;
    wire [23:0]        g_peer;
    wire [IDX_W-1:0]   at, g_tags;           // of the QP: index and tag of the next request
    wire [P_W-1:0]     g_reads, g_retired;
    wire [IDX_W-1:0]   at_tags;
    wire [P_W-1:0]     at_reads;

    // Posts come in a row, so that one bit tells most of those that are read together.
    cde_slots #(.W(514), .AW(AW), .ECC(ECC), .TELL(1)) post_ram (
        .clk(clk), .mem_i(mem1), .mem_o(mem2), .we(in_acc), .waddr({in_qp, in_slot}), .wdata(in_post),
        .raddr(fetch_slot),
        .rdata({g_kind, g_post})
    );

    cde_ctx #(.W(1), .AW(AW), .ECC(ECC)) end_ram (
        .clk(clk), .mem_i(mem2), .mem_o(mem3), .we(in_end), .waddr({in_qp, in_end_slot}), .wdata(in_last),
        .raddr(fetch_slot), .rdata(g_last)
    );

    cde_ctx #(.W(2 * IDX_W + P_W), .AW(QP_W), .ECC(ECC)) count_ram (
        .clk(clk), .mem_i(mem3), .mem_o(mem4), .we(at_we), .waddr(at_qp), .wdata({at_index, at_tags, at_reads}),
        .raddr(fetch_qp),
        .rdata({at, g_tags, g_reads})
    );

    cde_ctx #(.W(P_W), .AW(QP_W), .ECC(ECC)) retired_ram (
        .clk(clk), .mem_i(mem4), .mem_o(mem5), .we(in_retired), .waddr(in_rr_qp), .wdata(in_total), .raddr(fetch_qp),
        .rdata(g_retired)
    );

    cde_ctx #(.W(24), .AW(QP_W), .ECC(ECC)) peer_ram (
        .clk(clk), .mem_i(mem5), .mem_o(mem6), .we(peer_we), .waddr(peer_qp), .wdata(peer), .raddr(fetch_qp),
        .rdata(g_peer)
    );

    cde_ctx #(.W(1), .AW(QP_W), .ECC(ECC)) guard_ram (
        .clk(clk), .mem_i(mem6), .mem_o(mem_o), .we(guard_we), .waddr(peer_qp), .wdata(guard), .raddr(fetch_qp),
        .rdata(g_guard)
    );

    // A failure stops its QP before the Read that failed retires here, so no fence is lifted by it.
    wire               fenced = g_post[`CDE_POST_READ_FENCE_LSB] && g_reads != g_retired && !g_skip;
    wire               passes = g_valid && g_index == at[P_W-1:0] && !fenced;
    wire               g_remote = !g_kind[1] && !g_skip;
    wire               g_read = g_kind == `CDE_KIND_READ && !g_skip;

    always @(posedge clk) begin
        {k_valid, g_valid, p2_valid, p1_valid} <= {g_valid && !passes, p2_valid, p1_valid, fetch} & {4{!rst}};
        {k_qp, g_qp, p2_qp, p1_qp} <= {g_qp, p2_qp, p1_qp, fetch_qp};
        {g_index, p2_index, p1_index} <= {p2_index, p1_index, fetch_index};
        g_skip <= stop[p2_qp];
        g_after <= back[p2_qp];
    end

    // ---------------------------------------------------------------- the queue, and who is in front of it
    localparam E_POST = 0, E_INDEX = 512, E_TAGS = E_INDEX + IDX_W, E_READS = E_TAGS + IDX_W, E_PEER = E_READS + P_W,
               E_QP = E_PEER + 24, E_KIND = E_QP + QP_W, E_GUARD = E_KIND + 2, E_LAST = E_GUARD + 1,
               E_SKIP = E_LAST + 1, E_AFTER = E_SKIP + 1, E_W = E_AFTER + 1;
    reg  [E_W-1:0]     queue [0:(1 << ROOM_LOG2) - 1];
    reg  [ROOM_LOG2-1:0] q_in, q_out, under_way;   // under way: fetched, not in front
    wire               q_valid = q_in != q_out;
    wire [E_W-1:0]     g_entry;
    wire [E_W-1:0]     first = queue[q_out];
    wire [E_W-1:0]     next = q_valid ? first : g_entry;
    wire [ROOM_LOG2-1:0] q_second = q_out + R_ONE;
    wire [QP_W-1:0]    second_qp = queue[q_second][E_QP +: QP_W];
    reg  [QP_W-1:0]    first_qp;             // of the first in the queue, before it is read
    wire               next_skip = next[E_SKIP];
    // Of both, and chosen then
    wire               next_stale = q_valid ? back[first_qp] && !first[E_AFTER] : back[g_qp] && !g_after;
    wire               next_stopped = q_valid ? stop[first_qp] : stop[g_qp];
    wire               next_doomed = next_stopped && !next_skip && !next_stale;
    reg  [E_W-1:0]     o;
    reg                o_offer, o_sent, o_doomed, o_stale, o_executes, loaded;
    wire               o_skip = o[E_SKIP];
    wire               taken = o_offer && m_axis_work_tready;
    wire               executed = o_sent && loc_done;
    wire               ends = (taken && !o_executes) || (o_valid && (o_stale || (o_skip && !o_doomed)));
    wire               free = !o_valid || ends;
    wire               load = free && (q_valid || passes);
    wire               wait_in_queue = passes && (q_valid || !free);
    wire [ROOM_LOG2-1:0] arrives = fetch ? R_ONE : {ROOM_LOG2{1'b0}};
    wire [ROOM_LOG2-1:0] dropped = k_valid ? R_ONE : {ROOM_LOG2{1'b0}};
    wire [ROOM_LOG2-1:0] leaves = loaded ? R_ONE : {ROOM_LOG2{1'b0}};
    wire [ROOM_LOG2-1:0] under_way_next = under_way + arrives - dropped - leaves;

    assign g_entry[E_POST +: 512] = g_post;
    assign g_entry[E_INDEX +: IDX_W] = at;
    assign g_entry[E_TAGS +: IDX_W] = g_tags;
    assign g_entry[E_READS +: P_W] = g_reads;
    assign g_entry[E_PEER +: 24] = g_peer;
    assign g_entry[E_QP +: QP_W] = g_qp;
    assign g_entry[E_KIND +: 2] = g_kind;
    assign g_entry[E_GUARD] = g_guard;
    assign g_entry[E_LAST] = g_last;
    assign g_entry[E_SKIP] = g_skip;
    assign g_entry[E_AFTER] = g_after;
    // The QP of a request that came out too late is put back to it when G has none.
    assign put_back = o_doomed && !g_valid;
    assign at_we = passes || put_back;
    assign at_qp = g_valid ? g_qp : o_qp;
    assign at_index = g_valid ? at + ONE : o[E_INDEX +: IDX_W];
    assign at_tags = !g_valid ? o[E_TAGS +: IDX_W] : g_remote ? g_tags + ONE : g_tags;
    assign at_reads = !g_valid ? o[E_READS +: P_W] : g_read ? g_reads + P_ONE : g_reads;

    // Low from power-up, before any clock edge.
    initial o_offer = 1'b0;
    always @(posedge clk) begin
        queue[q_in] <= g_entry;       // a place is always free
        if (wait_in_queue) q_in <= q_in + R_ONE;
        if (load && q_valid) q_out <= q_second;
        if (!q_valid || (load && q_second == q_in)) first_qp <= g_qp;
        else if (load) first_qp <= second_qp;
        if (free) begin
            o_valid <= load;
            o <= next;
            o_qp <= q_valid ? first_qp : g_qp;
            o_offer <= load && !next_skip && !next_stale && !next_doomed;
            o_stale <= next_stale;
            o_doomed <= load && next_doomed;
            o_executes <= next[E_KIND +: 2] == `CDE_KIND_KEYS && next[E_GUARD];
        end else begin
            if (taken) o_offer <= 1'b0;
            if (executed || put_back) {o_valid, o_doomed} <= 2'b00;
        end
        // A local request that changes keys is executed when its beat has been taken; what is after it waits for the
        // outcome.
        o_sent <= (o_sent && !loc_done) || (taken && o_executes);
        loaded <= load;
        under_way <= under_way_next;
        room <= !init && under_way_next < MOST[ROOM_LOG2-1:0];
        back <= back & stop;
        if (put_back) back[o_qp] <= 1'b1;
        if (rst) begin
            {q_in, q_out, under_way} <= {3 * ROOM_LOG2{1'b0}};
            {o_valid, o_offer, o_sent, o_doomed, loaded, room} <= 6'd0;
            back <= {NUM_QP{1'b0}};
        end
    end

    // ---------------------------------------------------------------- stage O: offered, executed or skipped
    wire [IDX_W-1:0]   o_index = o[E_INDEX +: IDX_W];
    wire [IDX_W-1:0]   o_tags = o[E_TAGS +: IDX_W];
    wire               o_local = o[E_KIND + 1];
    wire [15:0]        tag = {{(16-IDX_W){1'b0}}, o_tags};
    wire [15:0]        index = {{(16-IDX_W){1'b0}}, o_index};
    wire [IDX_W-1:0]   tags_next = o_local || o_skip ? o_tags : o_tags + ONE;

    assign m_axis_work_tvalid = o_offer;
    assign m_axis_work_tdata = o[E_POST +: 512];
    assign m_axis_work_tdest = {{(16-QP_W){1'b0}}, o_qp};
    assign m_axis_work_tuser[`CDE_WORK_USER_TAG_LSB +: 16] = o_local ? 16'd0 : tag;
    assign m_axis_work_tuser[`CDE_WORK_USER_INDEX_LSB +: 16] = index;
    assign m_axis_work_tuser[`CDE_WORK_USER_PEER_LSB +: 24] = o[E_PEER +: 24];
    assign m_axis_work_tuser[63:`CDE_WORK_USER_LOCAL_LSB] = {7'd0, o_local};
    assign m_axis_work_tlast = o[E_LAST];
    assign loc_valid = o_sent;
    assign loc_qp = o_qp;
    assign loc_post = o[E_POST +: 512];

    always @(posedge clk) begin
        ind_valid <= ((ends && !o_stale) || executed) && !rst;
        ind_qp <= o_qp;
        ind_slot <= o_index[SQ_LOG2-1:0];
        ind_done <= !o_skip;
        ind_ripe <= o_skip || o_local;
        ind_status <= executed ? loc_status : 8'h00;
        ind_next <= o_index + ONE;
        ind_tags <= tags_next;
        ind_tag <= tags_next[SQ_LOG2-1:0] - {{(SQ_LOG2-1){1'b0}}, 1'b1};
    end

`ifdef FORMAL
    // The queue, for proofs of this module.
    wire [(E_W << ROOM_LOG2) - 1:0] f_queue;
    genvar                          i;
    generate
        for (i = 0; i < (1 << ROOM_LOG2); i = i + 1) begin : f_places
            assign f_queue[i * E_W +: E_W] = queue[i];
        end
    endgenerate
`endif

endmodule

`default_nettype wire
