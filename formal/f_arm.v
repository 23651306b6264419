// SPDX-License-Identifier: Apache-2.0
// f_arm: proof that the arm pipeline (cde_arm) keeps the rules of arm_spec.
//
// Purpose: drives cde_arm with everything that its neighbours may do and compares it with arm_monitor, for any one of its CQs. The environment assumed
//          about that CQ: entries are answered after they were written, writes stay within the ring and the number of outstanding writes, an
//          event is answered once after it was sent, control creates what is free and destroys what exists. Nothing is assumed about the
//          other CQs, so what they do cannot disturb this one.
// Ports:   free inputs.
// Latency: none.
`default_nettype none
`include "cde_mem.vh"
`include "cde_defs.vh"

module f_arm #(
    parameter NUM_CQ = 2,
    parameter CQ_W = 1,
    parameter IDX_W = 4
) (
    input wire               clk,
    input wire               pub_valid,
    input wire [7:0]         pub_op,
    input wire [CQ_W-1:0]    pub_cq,
    input wire [1:0]         pub_count,
    input wire [1:0]         pub_solicited,
    input wire [1:0]         pub_quiet,
    input wire [1:0]         pub_status,
    input wire               pub_give_up,
    input wire               db_valid,
    input wire [7:0]         db_op,
    input wire [7:0]         db_cause,
    input wire [CQ_W-1:0]    db_cq,
    input wire [11:0]        db_page,
    input wire [IDX_W-1:0]   db_index,
    input wire               db_arm,
    input wire [1:0]         db_type,
    input wire               ct_valid,
    input wire [7:0]         ct_op,
    input wire [CQ_W-1:0]    ct_cq,
    input wire [IDX_W-1:0]   ct_index,
    input wire               cfg_we,
    input wire [CQ_W-1:0]    cfg_cq,
    input wire [39+IDX_W:0]  cfg_data,
    input wire               wr_we,
    input wire [CQ_W-1:0]    wr_cq,
    input wire [IDX_W-1:0]   wr_index
);

    localparam RETRY_W = 1;
    localparam EV_W = RETRY_W + 27 + IDX_W;
    localparam S_W = 12 + 4 * IDX_W + (2 << IDX_W);
    localparam [IDX_W-1:0] RING = 1 << (IDX_W - 2);
    localparam [IDX_W-1:0] UNDER_WAY = 1 << (IDX_W - 2);      // entries written and not answered

    // Reset, then the walk that clears the memories
    reg [CQ_W+1:0] age = 0;
    wire           rst = age == 0;
    wire           init = age != 0 && !age[CQ_W+1];
    always @(posedge clk) if (!age[CQ_W+1]) age <= age == NUM_CQ + 1 ? 1 << (CQ_W + 1) : age + 1'b1;
    wire            up = age[CQ_W+1];
    wire [`CDE_MEM_W-1:0] mem = {39'd0, init, rst};     // maintenance bus: reset and the walk, no injection
    wire [`CDE_MEM_W-1:0] unused_mem;

    (* hierconn *) wire [CQ_W-1:0] \dut.f_cq ;
    wire [CQ_W-1:0] cq = \dut.f_cq ;      // any one CQ

    wire               db_ready, ct_ready, cons_we, res_db_valid, res_ct_valid, ev_pub_valid, ev_db_valid;
    wire [7:0]         res_db_cause;
    wire [95:0]        res_ct_state;
    wire [CQ_W-1:0]    cons_cq;
    wire [IDX_W-1:0]   cons_index;
    wire [NUM_CQ-1:0]  dead;
    wire [EV_W-1:0]    ev_pub_data, ev_db_data;
    wire [1:0]         trace_valid;
    wire [511:0]       trace_data;

    cde_arm #(
        .NUM_CQ(NUM_CQ), .CQ_W(CQ_W), .IDX_W(IDX_W), .MOD_TICK(2), .RETRY_W(RETRY_W), .EV_W(EV_W), .ECC(0)
    ) dut (
        .clk(clk), .mem_i(mem), .mem_o(unused_mem), .rst(rst), .init(init), .pub_valid(pub_valid), .pub_op(pub_op),
        .pub_cq(pub_cq), .pub_count(pub_count), .pub_solicited(pub_solicited), .pub_quiet(pub_quiet), .pub_status(pub_status),
        .pub_give_up(pub_give_up), .pub_retry(1'b0), .db_valid(db_valid), .db_ready(db_ready), .db_op(db_op),
        .db_cause(db_cause), .db_cq(db_cq), .db_page(db_page), .db_index(db_index), .db_arm(db_arm), .db_type(db_type),
        .ct_valid(ct_valid), .ct_ready(ct_ready), .ct_op(ct_op), .ct_cq(ct_cq), .ct_index(ct_index),
        .res_db_valid(res_db_valid), .res_db_cause(res_db_cause), .res_ct_valid(res_ct_valid), .res_ct_state(res_ct_state),
        .cfg_we(cfg_we), .cfg_cq(cfg_cq), .cfg_data(cfg_data), .wr_we(wr_we), .wr_cq(wr_cq), .wr_index(wr_index),
        .cons_we(cons_we), .cons_cq(cons_cq), .cons_index(cons_index), .dead(dead), .ev_pub_valid(ev_pub_valid),
        .ev_pub_data(ev_pub_data), .ev_db_valid(ev_db_valid), .ev_db_data(ev_db_data), .trace_valid(trace_valid),
        .trace_data(trace_data)
    );

    // While the memories are cleared nothing comes: memory answers nothing, ports are not ready.
    always @* if (!up) assume (!pub_valid && !db_valid && !ct_valid && !cfg_we && !wr_we);

`ifndef PIPELINE_ONLY
    wire [S_W-1:0]   s, s_next;
    wire             p_call, d_call;
    wire             db_take = db_valid && db_ready;
    wire             ct_take = ct_valid && ct_ready;
    reg  [IDX_W-1:0] written;
    wire [IDX_W-1:0] written_next = wr_we && wr_cq == cq ? wr_index : written;

    arm_monitor #(.CQ_W(CQ_W), .IDX_W(IDX_W)) monitor (
        .clk(clk), .rst(!up), .cq(cq), .pub_valid(pub_valid), .pub_op(pub_op), .pub_cq(pub_cq), .pub_count(pub_count),
        .pub_solicited(pub_solicited), .pub_quiet(pub_quiet), .pub_status(pub_status), .pub_give_up(pub_give_up),
        .db_take(db_take), .db_op(db_op), .db_cause(db_cause), .db_cq(db_cq), .db_page(db_page), .db_index(db_index),
        .db_arm(db_arm), .db_type(db_type), .ct_take(ct_take), .ct_op(ct_op), .ct_cq(ct_cq), .ct_index(ct_index),
        .cfg_we(cfg_we), .cfg_cq(cfg_cq), .cfg_data(cfg_data), .written(written_next), .res_db_valid(res_db_valid),
        .res_db_cause(res_db_cause), .trace_valid(trace_valid), .trace_data(trace_data), .s(s), .s_next(s_next),
        .p_call(p_call), .d_call(d_call)
    );

    // ---------------------------------------------------------------- environment
    wire pub = pub_valid && pub_cq == cq;
    wire entries = pub && (pub_op == `CDE_TRC_PUBLISH || (pub_op == `CDE_TRC_CQ_ERROR && pub_status == `CDE_CQST_INTERNAL_ERROR));
    wire answered_event = pub && (pub_op == `CDE_TRC_EVENT_DONE || (pub_op == `CDE_TRC_EVENT_FAILED && pub_give_up));
    wire failed_event = pub && pub_op == `CDE_TRC_EVENT_FAILED && !pub_give_up;
    wire create = ct_take && ct_cq == cq && ct_op == `CDE_TRC_CREATE;
    wire destroy = ct_take && ct_cq == cq && ct_op == `CDE_TRC_DESTROY;
    wire sent = (ev_pub_valid && ev_pub_data[CQ_W-1:0] == cq) || (ev_db_valid && ev_db_data[CQ_W-1:0] == cq);

    reg [IDX_W-1:0] answered;       // entries answered
    reg [IDX_W-1:0] consumed;       // as the producer side knows it
    reg             event_out;      // an event was sent and not answered
    reg             repeating;      // its repetition has not come out yet
    reg [2:0]       steps;          // control: a step is on its way
    reg             configured;     // control: settings were written
    reg             cleared;        // control: the barrier of creation has come out, the written index is 0
    reg             cleared_once;
    reg             live;           // control: created, and not yet being destroyed
    initial {written, answered, consumed, event_out, repeating, steps, configured, cleared, cleared_once, live} = 0;
    wire            ct_free = steps == 0;
    wire [1:0]      s_life = s[1:0];

    always @(posedge clk) begin
        written <= written_next;
        if (entries) answered <= answered + pub_count;
        if (cons_we && cons_cq == cq) consumed <= cons_index;
        if (sent) {event_out, repeating} <= 2'b10;
        else if (answered_event || failed_event) {event_out, repeating} <= {1'b0, failed_event};
        steps <= ct_take ? 3'd6 : steps == 0 ? 3'd0 : steps - 1'b1;
        if (create) live <= 1'b1;
        if (destroy) {cleared, live} <= 2'b00;
        if (wr_we && wr_cq == cq && !live) begin
            answered <= 0;
            {cleared, cleared_once} <= 2'b11;
        end
        if (cfg_we && cfg_cq == cq) configured <= 1'b1;
        if (!up) {written, answered, consumed, event_out, repeating, steps, configured, cleared, cleared_once, live} <= 0;
    end

    wire [IDX_W-1:0] wr_step = wr_index - written;
    wire [IDX_W-1:0] gone = wr_index - answered;
    wire [IDX_W-1:0] in_ring = wr_index - consumed;
    wire [IDX_W-1:0] unanswered = written - answered;

    always @* begin
        if (db_valid) assume (db_op == `CDE_TRC_DOORBELL || db_op == `CDE_TRC_CB_RETURN);
        if (db_valid && db_cause == 8'h00) assume (db_type != 2'd3);
        if (pub) begin
            assume (pub_op == `CDE_TRC_PUBLISH || pub_op == `CDE_TRC_CQ_ERROR || pub_op == `CDE_TRC_EVENT_DONE ||
                    pub_op == `CDE_TRC_EVENT_FAILED);
            if (entries) assume ((pub_count == 2'd1 || pub_count == 2'd2) && pub_count <= unanswered);
            else assume (pub_count == 2'd0);
            if (pub_op == `CDE_TRC_CQ_ERROR)
                assume (pub_status == `CDE_CQST_INTERNAL_ERROR || (pub_status == `CDE_CQST_BUFFER_OVERFLOW && live));
            if (answered_event || failed_event) assume (event_out);
        end
        // Control: one step at a time, each after the result of the one before
        if (ct_valid) begin
            assume (ct_free);
            assume (ct_op == `CDE_TRC_CREATE || ct_op == `CDE_TRC_DESTROY || ct_op == 8'hff);
            if (ct_cq == cq && ct_op == `CDE_TRC_CREATE) assume (configured && cleared && s_life == `CDE_LIFE_FREE);
            if (ct_cq == cq && ct_op == `CDE_TRC_DESTROY) assume (s_life != `CDE_LIFE_FREE && ct_index == written_next);
        end
        if (wr_we && wr_cq == cq) begin
            if (live && ct_free && s_life == `CDE_LIFE_READY)
                assume (wr_step <= 2 && gone <= UNDER_WAY && in_ring <= RING);
            else assume (!live && ct_free && s_life == `CDE_LIFE_FREE && wr_index == 0 && unanswered == 0);
        end
    end

    // At most one event of a CQ is on its way (no overflow of event queues), and a failed one is repeated.
    always @(posedge clk) if (up) begin
        one_event: assert (!(sent && event_out));
        one_event_a_cycle: assert (!(ev_pub_valid && ev_db_valid && ev_pub_data[CQ_W-1:0] == cq && ev_db_data[CQ_W-1:0] == cq));
    end

`include "f_arm_invariants.vh"
`endif

endmodule

`default_nettype wire
