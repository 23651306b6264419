// SPDX-License-Identifier: Apache-2.0
// cde_retire: completes requests, per QP in post order (DF-02, DF-03, DF-11, DF-12, DF-15).
//
// Purpose: the oldest request of a QP retires when it was reported, executed here, or skipped. How far a QP may go is
//          told by each report (its request, and the local and skipped ones after it), and by a local or skipped
//          request with no report outstanding. So nothing is fetched that may not retire: cde_looks says which request
//          is fetched, it is read (P, three cycles), judged (G), waits in a queue, and is offered (O). Nothing in front
//          of the queue ever stands still.
// Ports:   accepted posts (acc_*), indicated requests (ind_*), reports (seen_*: taken, judged in the next cycle; rep_*,
//          bad*); completions to the CQs (m_axis_cpl, one lane); retired requests (ret_*), retired Reads (rr_*); trace
//          lane 4.
// Latency: report taken in cycle t, completion valid in t+7. Throughput: one completion per cycle, any QP.
`default_nettype none
`include "cde_defs.vh"
`include "cde_mem.vh"
`include "cde_post_records.vh"

module cde_retire #(
    parameter NUM_QP = 64,
    parameter QP_W = 6,
    parameter CQ_W = 6,
    parameter IDX_W = 16,
    parameter SQ_LOG2 = 5,
    parameter BURST = 16,
    // Most requests that are fetched and not in front of the queue, at most 7; 5 for one in each cycle.
    parameter AHEAD = 5,
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
    input  wire [63:0]       acc_context,
    input  wire              acc_silent,
    input  wire [`CDE_VERB_W-1:0]       acc_verb,
    input  wire              acc_unkeys,     // invalidates acc_key when it completes with success
    input  wire [31:0]       acc_key,

    input  wire              ind_valid,
    input  wire [QP_W-1:0]   ind_qp,
    input  wire [SQ_LOG2-1:0] ind_slot,
    input  wire              ind_done,
    input  wire              ind_ripe,
    input  wire [7:0]        ind_status,
    input  wire [IDX_W-1:0]  ind_next,

    input  wire              seen_valid,
    input  wire [QP_W-1:0]   seen_qp,
    input  wire              rep_we,
    input  wire [QP_W-1:0]   rep_qp,
    input  wire [IDX_W-1:0]  rep_total,
    input  wire [IDX_W-1:0]  rep_tags,       // remote requests of the QP indicated so far
    input  wire [SQ_LOG2:0]  rep_ripe,
    input  wire              bad_we,
    input  wire [IDX_W-1:0]  bad_tag,
    input  wire [7:0]        bad_status,
    input  wire [NUM_QP-1:0] bad,
    input  wire              fresh,
    input  wire [QP_W-1:0]   fresh_qp,

    // Invalidation for a Read; valid until done
    output wire              ri_valid,
    output wire [QP_W-1:0]   ri_qp,
    output wire [31:0]       ri_key,
    input  wire              ri_done,
    input  wire [7:0]        ri_status,

    // Settings
    input  wire              set_we,
    input  wire [QP_W-1:0]   set_qp,
    input  wire [`CDE_QP_RETIRE_W-1:0] set_data,

    output wire [255:0]      m_axis_cpl_tdata,
    output wire [15:0]       m_axis_cpl_tdest,
    output wire              m_axis_cpl_tuser,
    output wire              m_axis_cpl_tvalid,
    input  wire              m_axis_cpl_tready,

    output wire              ret_we,
    output wire [QP_W-1:0]   ret_qp,
    output wire [IDX_W-1:0]  ret_index,
    output wire              rr_valid,
    output wire [IDX_W-1:0]  rr_total,

    output reg               trace_valid,
    output reg  [255:0]      trace_data
);

    wire [`CDE_MEM_W-1:0] mem1, mem2, mem3, mem4, mem5;

    localparam [IDX_W-1:0] ONE = {{(IDX_W-1){1'b0}}, 1'b1};
    localparam AW = QP_W + SQ_LOG2;
    localparam P_W = SQ_LOG2 + 1;            // tells the requests of a queue apart, and a full queue from an empty one
    localparam [P_W-1:0] P_ONE = {{SQ_LOG2{1'b0}}, 1'b1};
    localparam ROOM_LOG2 = AHEAD < 4 ? 2 : 3;        // places of the queue; one is always free
    localparam [ROOM_LOG2-1:0] R_ONE = {{(ROOM_LOG2-1){1'b0}}, 1'b1};
    localparam [31:0] MOST = AHEAD;

    wire             unused_bits = &{1'b0, ind_next};        // those of a whole index

    // ---------------------------------------------------------------- posts and reports, a cycle later
    reg              in_acc, in_rep, in_bad;
    reg [AW-1:0]     in_slot;
    reg [97+`CDE_VERB_W:0] in_post;
    reg [QP_W-1:0]   in_rep_qp;
    reg [P_W-1:0]    in_ripe;
    reg [IDX_W-1:0]  in_total, in_tags, in_bad_tag;
    reg [7:0]        in_bad_status;

    always @(posedge clk) begin
        {in_acc, in_rep, in_bad} <= {acc_valid, rep_we, bad_we} & {3{!rst}};
        in_slot <= {acc_qp, acc_slot};
        in_post <= {acc_unkeys, acc_key, acc_silent, acc_verb, acc_context};
        {in_rep_qp, in_ripe, in_total, in_tags} <= {rep_qp, rep_ripe, rep_total, rep_tags};
        {in_bad_tag, in_bad_status} <= {bad_tag, bad_status};
    end

    // ---------------------------------------------------------------- local and skipped requests
    // A report that is judged after the cycle of ind_* tells of them; if none is outstanding by then, they tell of
    // themselves.
    reg              i1_valid, i1_ripe, i2_ripe, move_late;
    reg [QP_W-1:0]   i1_qp, i2_qp, late_qp;
    reg [P_W-1:0]    i1_next, i2_next, late_bound;
    reg [NUM_QP-1:0] owed;                   // a report is outstanding

    always @(posedge clk) begin
        i1_valid <= ind_valid && !rst;
        i1_ripe <= ind_ripe;
        {i1_qp, i1_next} <= {ind_qp, ind_next[P_W-1:0]};
        i2_ripe <= i1_valid && i1_ripe && !rst;
        {i2_qp, i2_next} <= {i1_qp, i1_next};
        move_late <= i2_ripe && !owed[i2_qp] && !rst;
        {late_qp, late_bound} <= {i2_qp, i2_next};
        if (in_rep && in_total == in_tags) owed[in_rep_qp] <= 1'b0;
        if (i1_valid && !i1_ripe) owed[i1_qp] <= 1'b1;
        if (rst) owed <= {NUM_QP{1'b0}};
    end

    // ---------------------------------------------------------------- what is fetched
    wire             fetch;
    wire [QP_W-1:0]  fetch_qp;
    wire [P_W-1:0]   fetch_index;
    reg              p1_valid, p2_valid, g_valid;
    reg  [QP_W-1:0]  p1_qp, p2_qp, g_qp;
    reg  [P_W-1:0]   p1_next;
    reg              room;

    // A report comes first; what meets one moves without being told to a run, and its QP is looked at again.
    cde_looks #(.NUM_QP(NUM_QP), .QP_W(QP_W), .P_W(P_W), .BURST(BURST), .TWO(1), .ECC(ECC)) looks_i (
        .clk(clk), .mem_i(mem_i), .mem_o(mem1), .rst(rst), .early_valid(seen_valid), .early_qp(seen_qp),
        .move_valid(in_rep || move_late), .move_we(in_rep || move_late), .move_qp(in_rep ? in_rep_qp : late_qp),
        .move_bound(in_rep ? in_ripe : late_bound), .also_we(in_rep && move_late), .also_qp(late_qp),
        .also_bound(late_bound),
        .ask0(in_rep && move_late), .ask0_qp(late_qp), .ask1(1'b0), .ask1_qp({QP_W{1'b0}}), .ask2(1'b0),
        .ask2_qp({QP_W{1'b0}}),
        .at_we(p1_valid), .at_qp(p1_qp), .at_index(p1_next), .stop_valid(1'b0), .stop_qp({QP_W{1'b0}}), .room(room),
        .fetch(fetch), .fetch_qp(fetch_qp), .fetch_index(fetch_index)
    );

    always @(posedge clk) begin
        {g_valid, p2_valid, p1_valid} <= {p2_valid, p1_valid, fetch} & {3{!rst}};
        {g_qp, p2_qp, p1_qp} <= {p2_qp, p1_qp, fetch_qp};
        p1_next <= fetch_index + P_ONE;
    end

    // ---------------------------------------------------------------- stage G: with which status?
    wire [AW-1:0]    fetch_slot = {fetch_qp, fetch_index[SQ_LOG2-1:0]};
    wire [`CDE_VERB_W-1:0] g_verb;
    wire             g_silent, g_done, g_unkeys;
    wire [1:0]       g_kind = g_verb[`CDE_VERB_KIND +: 2];
    wire             g_local = g_kind[1], g_read = g_kind == `CDE_KIND_READ;
    wire [31:0]      g_key;
    wire [`CDE_QP_RETIRE_W-1:0] g_set;
    wire             g_guard = g_set[`CDE_QP_RETIRE_GUARDED];
    wire [7:0]       g_outcome, g_bad_status;
    wire [63:0]      g_context;
    wire [IDX_W-1:0] g_index, g_tags, g_reads, g_bad_tag;
    reg              g_bad;                  // a request of this connection has a failing report
    reg [NUM_QP-1:0] failed;                 // a request of this connection has failed

    // Requests come in a row, so that one bit tells most of those that are read together.
    cde_slots #(.W(98 + `CDE_VERB_W), .AW(AW), .ECC(ECC), .TELL(1)) request_ram (
        .clk(clk), .mem_i(mem1), .mem_o(mem2), .we(in_acc), .waddr(in_slot), .wdata(in_post), .raddr(fetch_slot),
        .rdata({g_unkeys, g_key, g_silent, g_verb, g_context})
    );

    cde_ctx #(.W(9), .AW(AW), .ECC(ECC)) done_ram (
        .clk(clk), .mem_i(mem2), .mem_o(mem3), .we(ind_valid), .waddr({ind_qp, ind_slot}), .wdata({ind_status,
            ind_done}), .raddr(fetch_slot),
        .rdata({g_outcome, g_done})
    );

    cde_ctx #(.W(`CDE_QP_RETIRE_W), .AW(QP_W), .ECC(ECC)) settings_ram (
        .clk(clk), .mem_i(mem3), .mem_o(mem4), .we(set_we), .waddr(set_qp), .wdata(set_data), .raddr(fetch_qp),
        .rdata(g_set)
    );

    wire             g_remote = g_done && !g_local;
    wire             g_reads_one = g_done && g_read;
    wire [IDX_W-1:0] index_next = g_index + ONE;
    wire [IDX_W-1:0] tags_next = g_remote ? g_tags + ONE : g_tags;
    wire [IDX_W-1:0] reads_next = g_reads_one ? g_reads + ONE : g_reads;

    cde_ctx #(.W(3 * IDX_W), .AW(QP_W), .ECC(ECC)) count_ram (
        .clk(clk), .mem_i(mem4), .mem_o(mem5), .we(g_valid), .waddr(g_qp), .wdata({index_next, tags_next, reads_next}),
        .raddr(fetch_qp),
        .rdata({g_index, g_tags, g_reads})
    );

    cde_ctx #(.W(IDX_W + 8), .AW(QP_W), .ECC(ECC)) bad_ram (
        .clk(clk), .mem_i(mem5), .mem_o(mem_o), .we(in_bad), .waddr(in_rep_qp), .wdata({in_bad_tag, in_bad_status}),
        .raddr(fetch_qp),
        .rdata({g_bad_tag, g_bad_status})
    );

    // Until the first failure a tag is that of the failing report or one of the queue before it, so few bits tell. What
    // fails is known without the status, and so is whether one before has failed.
    wire             broke = g_remote && g_bad && g_tags[P_W-1:0] == g_bad_tag[P_W-1:0];
    wire             unused_tag = &{1'b0, g_bad_tag};
    wire             faulty = !g_done || (g_local ? g_outcome != 8'h00 : broke && g_bad_status != 8'h00);
    wire             fails = g_valid && faulty;
    reg              g_failed;
    wire             g_good = !g_failed && !faulty;
    wire [7:0]       told = !g_done ? `CDE_CQESTATUS_CANCELED : g_local ? g_outcome : broke ? g_bad_status : 8'h00;
    wire [7:0]       g_status = g_failed ? `CDE_CQESTATUS_CANCELED : told;
    // A Read that invalidates its sink has succeeded when that has.
    wire             unkeys = g_guard && g_unkeys && g_good;

    // ---------------------------------------------------------------- the queue, and who is in front of it
    localparam SET_W = `CDE_QP_RETIRE_GUARDED;       // without GUARDED
    localparam E_CONTEXT = 0, E_SET = 64, E_TYPE = E_SET + SET_W, E_BYTES = E_TYPE + 16, E_KEY = E_BYTES + 32,
               E_INDEX = E_KEY + 32, E_READS = E_INDEX + IDX_W, E_STATUS = E_READS + IDX_W, E_QP = E_STATUS + 8,
               E_DONE = E_QP + QP_W, E_READ = E_DONE + 1, E_SILENT = E_READ + 1, E_FAILED = E_SILENT + 1,
               E_UNKEYS = E_FAILED + 1, E_GOOD = E_UNKEYS + 1, E_W = E_GOOD + 1;
    reg  [E_W-1:0]   queue [0:(1 << ROOM_LOG2) - 1];
    reg  [ROOM_LOG2-1:0] q_in, q_out, under_way;     // under way: fetched, not in front
    wire             q_valid = q_in != q_out;
    wire [E_W-1:0]   g_entry;
    assign g_entry[E_CONTEXT +: 64] = g_context;
    assign g_entry[E_SET +: SET_W] = g_set[0 +: SET_W];
    assign g_entry[E_TYPE +: 16] = g_verb[`CDE_VERB_TYPE +: 16];
    assign g_entry[E_BYTES +: 32] = g_verb[`CDE_VERB_BYTES +: 32];
    assign g_entry[E_KEY +: 32] = g_key;
    assign g_entry[E_INDEX +: IDX_W] = g_index;
    assign g_entry[E_READS +: IDX_W] = reads_next;
    assign g_entry[E_STATUS +: 8] = g_status;
    assign g_entry[E_QP +: QP_W] = g_qp;
    assign g_entry[E_DONE] = g_done;
    assign g_entry[E_READ] = g_reads_one;
    assign g_entry[E_SILENT] = g_silent;
    assign g_entry[E_FAILED] = g_failed;
    assign g_entry[E_UNKEYS] = unkeys;
    assign g_entry[E_GOOD] = g_good;
    wire [E_W-1:0]   first = queue[q_out];
    wire [E_W-1:0]   next = q_valid ? first : g_entry;
    wire [ROOM_LOG2-1:0] q_second = q_out + R_ONE;
    wire [QP_W-1:0]  second_qp = queue[q_second][E_QP +: QP_W];
    reg  [QP_W-1:0]  first_qp;               // of the first in the queue, before it is read
    reg [NUM_QP-1:0] unsealed;               // an invalidation for a Read of this connection has failed
    wire             next_unsealed = q_valid ? unsealed[first_qp] : unsealed[g_qp];
    wire             next_failed = next[E_FAILED] || next_unsealed;
    wire [7:0]       next_status = next_unsealed ? `CDE_CQESTATUS_CANCELED : next[E_STATUS +: 8];
    wire             next_unkeys = next[E_UNKEYS] && !next_unsealed;
    reg  [E_W-1:0]   o;
    reg              o_valid, o_offer, o_unkeys, o_failed, o_good, loaded;
    reg  [7:0]       o_status;
    wire [QP_W-1:0]  o_qp = o[E_QP +: QP_W];
    wire             taken = o_offer && m_axis_cpl_tready;
    wire             unkeyed = o_unkeys && ri_done;
    wire             free = !o_valid || taken;
    wire             load = free && (q_valid || g_valid);
    wire             wait_in_queue = g_valid && (q_valid || !free);
    wire [ROOM_LOG2-1:0] arrives = fetch ? R_ONE : {ROOM_LOG2{1'b0}};
    wire [ROOM_LOG2-1:0] leaves = loaded ? R_ONE : {ROOM_LOG2{1'b0}};
    wire [ROOM_LOG2-1:0] under_way_next = under_way + arrives - leaves;

    // Low from power-up, before any clock edge.
    initial o_offer = 1'b0;
    always @(posedge clk) begin
        g_bad <= bad[p2_qp];
        g_failed <= (failed[p2_qp] || (fails && g_qp == p2_qp)) && !(fresh && fresh_qp == p2_qp);
        if (fails) failed[g_qp] <= 1'b1;
        if (fresh) failed[fresh_qp] <= 1'b0;
        queue[q_in] <= g_entry;       // a place is always free
        if (wait_in_queue) q_in <= q_in + R_ONE;
        if (load && q_valid) q_out <= q_second;
        if (!q_valid || (load && q_second == q_in)) first_qp <= g_qp;
        else if (load) first_qp <= second_qp;
        if (free) begin
            o_valid <= load;
            o <= next;
            o_offer <= load && !next_unkeys;
            o_unkeys <= load && next_unkeys;
            o_failed <= next_failed;
            o_status <= next_status;
            o_good <= next[E_GOOD] && !next_unsealed;
        end else if (unkeyed) begin
            o_offer <= 1'b1;
            o_unkeys <= 1'b0;
            o_status <= ri_status;
            o_good <= ri_status == 8'h00;
        end
        if (unkeyed && ri_status != 8'h00) unsealed[o_qp] <= 1'b1;
        if (fresh) unsealed[fresh_qp] <= 1'b0;
        loaded <= load;
        under_way <= under_way_next;
        room <= !init && under_way_next < MOST[ROOM_LOG2-1:0];
        if (rst) begin
            {q_in, q_out, under_way} <= {3 * ROOM_LOG2{1'b0}};
            {o_valid, o_offer, o_unkeys, loaded, room} <= 5'd0;
            failed <= {NUM_QP{1'b0}};
            unsealed <= {NUM_QP{1'b0}};
        end
    end

    // ---------------------------------------------------------------- stage O: offered
    wire [CQ_W-1:0]  o_cq = o[E_SET + `CDE_QP_RETIRE_CQ +: CQ_W];
    wire [IDX_W-1:0] o_index = o[E_INDEX +: IDX_W];

    assign ri_valid = o_unkeys;
    assign ri_qp = o_qp;
    assign ri_key = o[E_KEY +: 32];
    assign m_axis_cpl_tvalid = o_offer;
    assign m_axis_cpl_tdata[`CDE_CQE_CONTEXT_LSB +: 64] = o[E_CONTEXT +: 64];
    assign m_axis_cpl_tdata[`CDE_CQE_QP_CONTEXT_LSB +: 64] = o[E_SET + `CDE_QP_RETIRE_CONTEXT +: 64];
    assign m_axis_cpl_tdata[`CDE_CQE_BYTES_LSB +: 32] = o_good ? o[E_BYTES +: 32] : 32'd0;
    assign m_axis_cpl_tdata[`CDE_CQE_TOKEN_LSB +: 32] = 32'd0;
    assign m_axis_cpl_tdata[`CDE_CQE_TYPE_LSB +: 16] = o[E_TYPE +: 16];
    assign m_axis_cpl_tdata[`CDE_CQE_QP_LSB +: 24] = {{(24-QP_W){1'b0}}, o_qp};
    assign m_axis_cpl_tdata[`CDE_CQE_STATUS_LSB +: 8] = o_status;
    assign m_axis_cpl_tdata[255:`CDE_CQE_FLAGS_LSB] = 16'd0;
    assign m_axis_cpl_tdest = {{(16-CQ_W){1'b0}}, o_cq};
    assign m_axis_cpl_tuser = o[E_SILENT] && o_good;
    assign ret_we = taken;
    assign ret_qp = o_qp;
    assign ret_index = o_index + ONE;
    assign rr_valid = taken && o[E_READ];
    assign rr_total = o[E_READS +: IDX_W];

    function [95:0] shown;
        input [IDX_W-1:0] index;
        input             fail;
        begin
            shown = 96'd0;
            shown[`CDE_RSTATE_RETIRED_LSB +: IDX_W] = index;
            shown[`CDE_RSTATE_FAILED_LSB] = fail;
        end
    endfunction

    // Low from power-up, before any clock edge.
    initial trace_valid = 1'b0;
    always @(posedge clk) begin
        trace_valid <= taken && !rst;
        trace_data <= 256'd0;
        trace_data[`CDE_TRACE_OP_LSB +: 8] <= `CDE_TRC_RETIRE;
        trace_data[`CDE_TRACE_CQ_LSB +: QP_W] <= o_qp;
        trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_RETIRE_STATUS_LSB +: 8] <= o_status;
        trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_RETIRE_SILENT_LSB] <= m_axis_cpl_tuser;
        trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_RETIRE_SKIPPED_LSB] <= !o[E_DONE];
        trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_RETIRE_CQ_LSB +: 16] <= m_axis_cpl_tdest;
        trace_data[`CDE_TRACE_OLD_LSB +: 96] <= shown(o_index, o_failed);
        trace_data[`CDE_TRACE_NEW_LSB +: 96] <= shown(ret_index, o_failed || !o_good);
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
