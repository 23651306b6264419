// SPDX-License-Identifier: Apache-2.0
// cde_looks: whose requests are fetched next (DF-09, ISO-04).
//
// Purpose: a QP that asks is picked round robin; a look reads how far it has got and how far it may go (three cycles);
//          its run then gives one request after the other, until nothing is left or, while another QP waits, after
//          BURST requests. A QP has one look or run at a time; moves of its bound reach it in both. Looks that are done
//          wait in line for the run under way. With nobody asking, a run that gives way goes to the end of the line. A
//          look for a move of a bound may begin two cycles before it (early_*), while no one waits.
// Ports:   maintenance bus; early looks; moves of a bound (move_*; valid: it is to be looked at); with TWO, moves that
//          reach no look and no run (also_*; of one QP and cycle move_* counts); askers (ask*); how far a QP has got
//          (at_*); stop_*: the run of this QP, if it has one, ends; what is fetched, if there is room. Indices are cut
//          to what tells slots of a queue apart.
// Latency: move in cycle t, fetched from t + 1, with an early look; else asked in t, fetched from t + 6.
//          Throughput: one request per cycle, any QP.
`default_nettype none
`include "cde_mem.vh"

module cde_looks #(
    parameter NUM_QP = 64,
    parameter QP_W = 6,
    parameter P_W = 6,          // bits of an index
    parameter BURST = 8,
    parameter TWO = 0,          // bounds of two QPs may move in one cycle
    parameter ECC = 1
) (
    input  wire              clk,
    input  wire [`CDE_MEM_W-1:0] mem_i,
    output wire [`CDE_MEM_W-1:0] mem_o,
    input  wire              rst,

    input  wire              early_valid,
    input  wire [QP_W-1:0]   early_qp,
    input  wire              move_valid,
    input  wire              move_we,
    input  wire [QP_W-1:0]   move_qp,
    input  wire [P_W-1:0]    move_bound,
    input  wire              also_we,
    input  wire [QP_W-1:0]   also_qp,
    input  wire [P_W-1:0]    also_bound,
    input  wire              ask0,
    input  wire [QP_W-1:0]   ask0_qp,
    input  wire              ask1,
    input  wire [QP_W-1:0]   ask1_qp,
    input  wire              ask2,
    input  wire [QP_W-1:0]   ask2_qp,

    input  wire              at_we,
    input  wire [QP_W-1:0]   at_qp,
    input  wire [P_W-1:0]    at_index,
    input  wire              stop_valid,
    input  wire [QP_W-1:0]   stop_qp,

    input  wire              room,
    output wire              fetch,
    output wire [QP_W-1:0]   fetch_qp,
    output wire [P_W-1:0]    fetch_index
);

    wire [`CDE_MEM_W-1:0] mem1;

    localparam [P_W-1:0] ONE = {{(P_W-1){1'b0}}, 1'b1};
    localparam [31:0] LEFT = BURST - 1;      // after the first of a run

    // A QP as one bit of its group and one of its place there
    localparam L_W = QP_W > 3 ? 3 : QP_W;
    localparam PLACES = 1 << L_W;
    localparam GROUPS = NUM_QP / PLACES;

    function [PLACES+GROUPS-1:0] code_of;
        input              en;
        input [QP_W-1:0]   qp;
        reg   [GROUPS-1:0] group;
        reg   [PLACES-1:0] place;
        reg   [QP_W-1:0]   which;
        begin
            which = qp >> L_W;
            group = en ? {{(GROUPS-1){1'b0}}, 1'b1} << which : {GROUPS{1'b0}};
            place = {{(PLACES-1){1'b0}}, 1'b1} << qp[L_W-1:0];
            code_of = {group, place};
        end
    endfunction

    function [NUM_QP-1:0] bits_of;
        input [PLACES+GROUPS-1:0] code;
        integer            k;
        for (k = 0; k < NUM_QP; k = k + 1) bits_of[k] = code[PLACES + k / PLACES] && code[k % PLACES];
    endfunction

    // a + 1 == b, without a carry chain: where the bits differ, all lower ones of a are 1 and of b are 0.
    function follows;
        input [P_W-1:0] a;
        input [P_W-1:0] b;
        follows = (a ^ b) == {a[P_W-2:0] & ~b[P_W-2:0], 1'b1};
    endfunction

    function bit_of;
        input [PLACES+GROUPS-1:0] code;
        input [QP_W-1:0]   qp;
        reg   [GROUPS-1:0] groups;
        reg   [PLACES-1:0] places;
        begin
            {groups, places} = code;
            groups = groups >> (qp >> L_W);
            places = places >> qp[L_W-1:0];
            bit_of = groups[0] && places[0];
        end
    endfunction

    // ---------------------------------------------------------------- who asks, who is at work
    // What happens in a cycle is kept as a code and counts in the next one, before anything else is decided.
    localparam C_W = PLACES + GROUPS;
    reg  [C_W-1:0]    told_c, asked0_c, asked1_c, asked2_c, again_c, launched_c, ended_c, empty_c;
    reg  [NUM_QP-1:0] want;
    reg  [NUM_QP-1:0] busy;                  // picked, looked at, in line, or its run is under way
    wire [NUM_QP-1:0] told = bits_of(told_c);        // its bound has moved
    wire [NUM_QP-1:0] asked = bits_of(asked0_c) | bits_of(asked1_c) | bits_of(asked2_c) | bits_of(again_c);
    wire [NUM_QP-1:0] done = bits_of(ended_c) | bits_of(empty_c);
    wire [NUM_QP-1:0] at_work = (busy & ~done) | bits_of(launched_c);
    wire [NUM_QP-1:0] sets = (told & ~at_work) | asked;
    reg               nobody;                // no bit of want is set, or someone is offered
    wire [NUM_QP-1:0] pick;                  // one-hot
    wire [QP_W-1:0]   pick_qp;
    wire              pick_any;
    reg               offer_valid;
    reg  [QP_W-1:0]   offer_qp;
    wire              take;
    wire              load = !offer_valid || take;

    cde_pick #(.N(NUM_QP), .W(QP_W)) pick_i (
        .clk(clk), .rst(rst), .next((want | told | asked) & ~at_work), .taken(load), .latest(offer_qp), .any(pick_any),
        .one(pick), .number(pick_qp)
    );

    // ---------------------------------------------------------------- looks
    reg               l1_valid, l2_valid, l3_valid;
    reg               l1_early, l2_early;    // waits for the move
    reg               l1_met, l2_met;        // its QP was at work, asked, or was about to, when it began or since
    reg  [QP_W-1:0]   l1_qp, l2_qp, l3_qp;
    reg  [2:0]        n_count;               // looks in line
    wire [2:0]        looking = {2'd0, l1_valid} + {2'd0, l2_valid} + {2'd0, l3_valid};
    wire              space = looking + n_count < 3'd4;
    wire              roomy = looking + n_count < 3'd3;      // for a look that begins now, and one more
    wire [QP_W-1:0]   look_qp = offer_valid ? offer_qp : early_qp & {QP_W{early_valid}};
    wire              l2_moves = l2_valid && l2_early && move_valid && move_qp == l2_qp;
    wire              launched = l2_moves && !l2_met;
    wire              early_done = bit_of(ended_c, early_qp) || bit_of(empty_c, early_qp);
    wire              early_asks = want[early_qp] || bit_of(told_c, early_qp) || bit_of(again_c, early_qp) ||
                                   bit_of(asked0_c, early_qp) || bit_of(asked1_c, early_qp) ||
                                   bit_of(asked2_c, early_qp);
    wire              engaged = early_asks || (busy[early_qp] && !early_done) || bit_of(launched_c, early_qp);
    // A QP that is not at work and does not ask begins to by a move or as it is told to.
    wire              l0_meets = (move_valid && move_qp == early_qp) || (ask0 && ask0_qp == early_qp) ||
                                 (ask1 && ask1_qp == early_qp) || (ask2 && ask2_qp == early_qp);
    wire              l1_meets = (move_valid && move_qp == l1_qp) || (ask0 && ask0_qp == l1_qp) ||
                                 (ask1 && ask1_qp == l1_qp) || (ask2 && ask2_qp == l1_qp);
    wire [P_W-1:0]    l3_index, l3_bound;

    assign take = offer_valid && space;

    cde_ctx #(.W(P_W), .AW(QP_W), .ECC(ECC)) index_ram (
        .clk(clk), .mem_i(mem_i), .mem_o(mem1), .we(at_we), .waddr(at_qp), .wdata(at_index), .raddr(look_qp),
        .rdata(l3_index)
    );

    generate
        if (TWO == 0) begin : one
            wire          unused_also = &{1'b0, also_we, also_qp, also_bound};
            cde_ctx #(.W(P_W), .AW(QP_W), .ECC(ECC)) bound_ram (
                .clk(clk), .mem_i(mem1), .mem_o(mem_o), .we(move_we), .waddr(move_qp), .wdata(move_bound),
                .raddr(look_qp), .rdata(l3_bound)
            );
        end else begin : two
            wire [P_W-1:0] unused_bound;
            cde_ctx_2w #(.W(P_W), .AW(QP_W), .ECC(ECC)) bound_ram (
                .clk(clk), .mem_i(mem1), .mem_o(mem_o), .we0(also_we), .waddr0(also_qp), .wdata0(also_bound),
                .we1(move_we), .waddr1(move_qp),
                .wdata1(move_bound), .late1(1'b0), .alt1({P_W{1'b0}}), .raddr0(look_qp), .rdata0(l3_bound),
                .raddr1(look_qp), .rdata1(unused_bound)
            );
        end
    endgenerate

    wire              l3_empty = l3_index == l3_bound;
    wire              l3_ready = l3_valid && !l3_empty;

    always @(posedge clk) begin
        l1_valid <= space && (offer_valid || early_valid) && !rst;
        l1_early <= !offer_valid;
        l1_met <= engaged || l0_meets;
        l1_qp <= look_qp;
        l2_valid <= l1_valid && !rst;
        l2_early <= l1_early;
        l2_met <= l1_met || l1_meets;
        l2_qp <= l1_qp;
        l3_valid <= ((l2_valid && !l2_early) || launched) && !rst;
        l3_qp <= l2_qp;
    end

    // ---------------------------------------------------------------- looks in line: bounds keep up
    localparam N_W = QP_W + 2 * P_W;
    reg  [N_W-1:0]    line [0:3];
    reg  [1:0]        n_in, n_out;
    wire              push, pop;
    wire [N_W-1:0]    pushed, pushed_look;
    reg  [N_W-1:0]    head;                  // line[n_out]
    wire [1:0]        n_second = n_out + 2'd1;
    reg               n_valid;               // n_count is not 0
    wire [QP_W-1:0]   n_qp;
    wire [P_W-1:0]    n_index, n_bound;
    integer           i;

    function [N_W-1:0] kept_up;
        input [N_W-1:0]    entry;
        input              moves;
        input [QP_W-1:0]   qp;
        input [P_W-1:0]    to;
        kept_up = moves && entry[2 * P_W +: QP_W] == qp ? {entry[N_W-1:P_W], to} : entry;
    endfunction

    assign {n_qp, n_index, n_bound} = head;

    // A run gives way into the line only while another one waits there, so what becomes the first at once is a look.
    always @(posedge clk) begin
        if (!n_valid || (pop && n_count == 3'd1)) head <= pushed_look;
        else head <= kept_up(pop ? line[n_second] : head, move_we, move_qp, move_bound);
        for (i = 0; i < 4; i = i + 1)
            if (move_we && line[i][2 * P_W +: QP_W] == move_qp) line[i][P_W-1:0] <= move_bound;
        if (push) begin
            line[n_in] <= pushed;
            n_in <= n_in + 2'd1;
        end
        if (pop) n_out <= n_out + 2'd1;
        if (push && !pop) {n_valid, n_count} <= {1'b1, n_count + 3'd1};
        if (pop && !push) {n_valid, n_count} <= {n_count != 3'd1, n_count - 3'd1};
        if (rst) begin
            n_in <= 2'd0;
            n_out <= 2'd0;
            n_count <= 3'd0;
            n_valid <= 1'b0;
        end
    end

    // ---------------------------------------------------------------- the run
    reg               f_valid;
    reg  [QP_W-1:0]   f_qp;
    reg  [P_W-1:0]    f_index;
    reg  [P_W-1:0]    f_bound;
    reg  [7:0]        f_left;
    reg               f_spent;               // has had its turn, and nobody waited
    wire [P_W-1:0]    bound = f_valid ? f_bound : n_valid ? n_bound : l3_bound;
    wire [7:0]        left = f_valid ? f_left : LEFT[7:0];
    wire [P_W-1:0]    next = fetch_index + ONE;
    // Whose turn it is is known late: what would be if it were the run's, the line's, or the look's stands ready.
    wire              f_moves = move_we && move_qp == f_qp;
    wire              n_moves = move_we && move_qp == n_qp;
    wire              l3_moves = move_we && move_qp == l3_qp;
    wire              f_last = f_moves ? follows(f_index, move_bound) : follows(f_index, f_bound);
    wire              n_last = n_moves ? follows(n_index, move_bound) : follows(n_index, n_bound);
    wire              l3_last = l3_moves ? follows(l3_index, move_bound) : follows(l3_index, l3_bound);
    wire              moves = f_valid ? f_moves : n_valid ? n_moves : l3_moves;
    wire [P_W-1:0]    bound_next = moves ? move_bound : bound;
    wire              looks = (l1_valid && !l1_early) || (l2_valid && !l2_early) || l3_valid;
    wire              others = offer_valid || (l1_valid && !l1_early) || (l2_valid && !l2_early) ||
                               (l3_valid && (f_valid || n_valid)) || (n_valid && f_valid) || n_count > 3'd1;
    wire              more = !(f_valid ? f_last : n_valid ? n_last : l3_last);
    wire              yields = (f_valid ? f_left == 8'd0 : LEFT == 32'd0) && others;
    wire              stopped = stop_valid && f_valid && stop_qp == f_qp;
    wire              gives_way = f_valid && f_spent && others && !room;   // there is time until the next fetch
    wire              again = (gives_way || (fetch && more && yields)) && !stopped;
    wire              back = fetch && again && !offer_valid && !looks && roomy && nobody;
    wire              ends = (fetch && (!more || yields) && !back) || gives_way || stopped;
    wire              to_line = l3_ready && (f_valid || n_valid || !room);

    assign fetch_qp = f_valid ? f_qp : n_valid ? n_qp : l3_qp;
    assign fetch_index = f_valid ? f_index : n_valid ? n_index : l3_index;
    assign fetch = (f_valid || n_valid || l3_ready) && room;
    assign push = to_line || back;
    assign pop = !f_valid && n_valid && room;
    assign pushed_look = {l3_qp, l3_index, l3_moves ? move_bound : l3_bound};
    assign pushed = l3_valid ? pushed_look : {fetch_qp, next, bound_next};      // a run gives way when there is no look

    // Low from power-up, before any clock edge.
    initial f_valid = 1'b0;
    always @(posedge clk) begin
        if (fetch) begin
            f_valid <= more && !yields && !stopped;
            f_qp <= fetch_qp;
            f_index <= next;
            f_left <= left == 8'd0 ? 8'd0 : left - 8'd1;
            f_spent <= left == 8'd0;
        end else if (stopped || gives_way) f_valid <= 1'b0;
        if (fetch || f_valid) f_bound <= bound_next;
        if (rst) f_valid <= 1'b0;
    end

    // ---------------------------------------------------------------- a set wins over a clear, so no request is lost
    // A move has reached a QP that is still at work a cycle later; else the QP asks.
    always @(posedge clk) begin
        told_c <= code_of(move_valid && !rst, move_qp);
        asked0_c <= code_of(ask0 && !rst, ask0_qp);
        asked1_c <= code_of(ask1 && !rst, ask1_qp);
        asked2_c <= code_of(ask2 && !rst, ask2_qp);
        again_c <= code_of(again && !back && !rst, fetch_qp);
        launched_c <= code_of(launched && !rst, l2_qp);
        ended_c <= code_of(ends && !rst, fetch_qp);
        empty_c <= code_of(l3_valid && l3_empty && !rst, l3_qp);
        want <= (want & ~(pick & {NUM_QP{load}})) | sets;
        busy <= at_work | (pick & {NUM_QP{load}});
        nobody <= (want | sets) == {NUM_QP{1'b0}};
        if (load) offer_valid <= pick_any;
        if (load && pick_any) offer_qp <= pick_qp;
        if (rst) begin
            want <= {NUM_QP{1'b0}};
            busy <= {NUM_QP{1'b0}};
            offer_valid <= 1'b0;
            offer_qp <= {QP_W{1'b0}};
        end
    end

`ifdef FORMAL
    // The line, for proofs of this module.
    wire [4*N_W-1:0]  f_line = {line[3], line[2], line[1], line[0]};
`endif

endmodule

`default_nettype wire
