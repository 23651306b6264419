// SPDX-License-Identifier: Apache-2.0
// f_lines: proof that EQEs that wait for the write port and share beats leave as they came (CQ-16, CQ-18).
//
// Purpose: EQEs as cde_event gives them: those of one EQ in consecutive slots of its ring, from a line's first slot on
//          when the ring is new, repetitions of any slot in between. Any one EQE is watched: it leaves once, in the
//          order of its EQ, in its slot, with its record; a repetition leaves alone; nothing else leaves; before it
//          there are two beats for each EQ at most.
// Ports:   free inputs.
// Latency: none.
`default_nettype none
`include "cde_defs.vh"
`include "cde_event_records.vh"

module f_lines (
    input wire         clk,
    input wire         eq_valid,
    input wire         eq_number,
    input wire         again,            // a repetition, of any slot
    input wire [4:0]   again_slot,       // {ring, slot}
    input wire [1:0]   again_index, attempts,
    input wire         again_void, again_phase,
    input wire         new_ring,
    input wire         cq,
    input wire [1:0]   snap, status,
    input wire         watch,            // this one
    input wire         line_ready
);

    localparam CQ_W = 1, IDX_W = 2, BEATS = 4;

    reg  started = 1'b0;
    wire rst = !started;
    always @(posedge clk) started <= 1'b1;

    // ---------------------------------------------------------------- rings, by EQ
    reg  [1:0] ring = 2'd0, pass = 2'd3;
    reg  [5:0] slots = 6'd0;             // eight in each
    reg  [3:0] indices = 4'd0;
    wire [2:0] slot = again ? again_slot[2:0] : slots[3 * eq_number +: 3];
    wire       in_ring = again ? again_slot[3] : ring[eq_number];
    wire       phase = again ? again_phase : pass[eq_number];
    wire [1:0] index = again ? again_index : indices[2 * eq_number +: 2];
    wire       void = again && again_void;
    wire [1:0] attempt = again ? (attempts == 2'd0 ? 2'd1 : attempts) : 2'd0;

    wire                          eq_ready, line_valid, line_number, line_void;
    wire [63:6]                   line_addr;
    wire [511:0]                  line_data;
    wire [3:0]                    line_lanes;
    wire [`CDE_LINE_W-1:0]        record;
    wire [`CDE_EQE_WRITE_W-1:0]   eq_record;
    wire                          taken = eq_valid && eq_ready && !rst, sent = line_valid && line_ready && !rst;

    assign eq_record[0] = cq;
    assign eq_record[`CDE_EQE_WRITE_RETRY +: `CDE_RETRY_W] =
        {attempt, in_ring, void, phase, {57{in_ring}}, slot, index, snap};

    cde_eqe_coalescer #(.NUM_EQ(2), .EQ_W(1), .CQ_W(CQ_W), .IDX_W(IDX_W)) dut (
        .clk(clk), .rst(rst), .eq_valid(eq_valid && !rst), .eq_ready(eq_ready), .eq_number(eq_number),
        .eq_addr({{57{in_ring}}, slot}),
        .eq_data({phase, 63'd0, 30'd0, snap, 6'd0, status, `CDE_EQETYPE_CQ_NOTIFICATION, 15'd0, cq}), .eq_void(void),
        .eq_record(eq_record), .line_valid(line_valid), .line_ready(line_ready), .line_number(line_number),
        .line_addr(line_addr), .line_data(line_data), .line_lanes(line_lanes), .line_void(line_void),
        .line_record(record)
    );

    always @(posedge clk) if (!rst) begin
        if (taken && !again) begin
            slots[3 * eq_number +: 3] <= slot + 1'b1;
            indices[2 * eq_number +: 2] <= index + 1'b1;
            if (slot == 3'd7) pass[eq_number] <= !phase;
        end else if (new_ring && !eq_valid) begin
            slots[3 * eq_number +: 3] <= 3'd0;
            ring[eq_number] <= !ring[eq_number];
        end
    end

    // ---------------------------------------------------------------- what is inside, and the one that is watched
    reg  [7:0] counts = 8'd0;
    reg        watched = 1'b0, w_number, w_again, w_void;
    reg  [3:0] ahead;                    // of its EQ
    reg  [3:0] beats;                    // since it came
    reg        idle;                     // nothing was offered in the cycle before
    reg  [3:0] w_slot;
    reg  [1:0] w_index, w_attempt, w_snap, w_status;
    reg        w_cq, w_phase;
    wire [2:0] size = line_lanes[0] + line_lanes[1] + line_lanes[2] + line_lanes[3];
    wire [3:0] of_line = counts[4 * line_number +: 4], of_eq = counts[4 * eq_number +: 4];
    wire       same = sent && taken && line_number == eq_number;
    wire [1:0] first = line_lanes[0] ? 2'd0 : line_lanes[1] ? 2'd1 : line_lanes[2] ? 2'd2 : 2'd3;

    // One that leaves in the cycle in which it comes is watched, too.
    wire       begins = watch && taken && !watched;
    wire       in = watched || begins;
    wire       i_number = watched ? w_number : eq_number, i_again = watched ? w_again : again;
    wire [3:0] i_ahead = watched ? ahead : of_eq;
    wire [3:0] i_slot = watched ? w_slot : {in_ring, slot};
    wire [1:0] i_index = watched ? w_index : index, i_attempt = watched ? w_attempt : attempt;
    wire [1:0] i_snap = watched ? w_snap : snap, i_status = watched ? w_status : status;
    wire       i_cq = watched ? w_cq : cq, i_phase = watched ? w_phase : phase, i_void = watched ? w_void : void;
    wire       leaves = in && sent && line_number == i_number && i_ahead < size;
    wire [1:0] lane = first + i_ahead[1:0];
    wire [127:0] written = line_data[128 * lane +: 128];

    always @(posedge clk) if (!rst) begin
        if (sent && !same) counts[4 * line_number +: 4] <= of_line - size;
        if (taken) counts[4 * eq_number +: 4] <= of_eq + 1'b1 - (same ? size : 3'd0);
        watched <= in && !leaves;
        ahead <= i_ahead - (sent && line_number == i_number ? size : 3'd0);
        beats <= watched ? beats + sent : sent;
        idle <= watched && !line_valid;
        {w_number, w_again, w_slot, w_index, w_attempt, w_snap, w_status, w_cq, w_phase, w_void} <=
            {i_number, i_again, i_slot, i_index, i_attempt, i_snap, i_status, i_cq, i_phase, i_void};
    end

    // ---------------------------------------------------------------- properties
    always @(posedge clk) if (!rst) begin
        nothing_else: assert (!sent || (size != 0 && size <= of_line + (taken && line_number == eq_number)));
        no_hole: assert (!line_valid || line_lanes == ((4'd1 << size) - 4'd1) << first);
        told: assert (!line_valid || (record[`CDE_LINE_FIRST +: 2] == first &&
            record[`CDE_LINE_LAST +: 2] - first == size - 1'b1));
        in_its_slot: assert (!leaves || ({line_addr, lane} == {{56{i_slot[3]}}, i_slot} && line_lanes[lane]));
        as_it_came: assert (!leaves || written == {i_phase, 63'd0, 30'd0, i_snap, 6'd0, i_status,
            `CDE_EQETYPE_CQ_NOTIFICATION, 15'd0, i_cq});
        void_kept: assert (!leaves || line_void == i_void);
        again_alone: assert (!leaves || !i_again || size == 1);
        recorded: assert (!leaves || (record[`CDE_LINE_CQS + lane] == i_cq &&
            record[`CDE_LINE_SNAPS + 2 * lane +: 2] == i_snap &&
            record[`CDE_LINE_INDEX +: 2] + i_ahead[1:0] == i_index &&
            record[`CDE_LINE_ADDR +: 58] == {{57{i_slot[3]}}, i_slot[2]} &&
            record[`CDE_LINE_PHASE] == i_phase && record[`CDE_LINE_PASSED] == i_void &&
            record[`CDE_LINE_LAP] == i_slot[3] && record[`CDE_LINE_ATTEMPT +: 2] == i_attempt));
        in_time: assert (!watched || beats <= BEATS);
        not_stuck: assert (!watched || line_valid || !idle);
    end

    always @(posedge clk) if (!rst) begin
        c_four: cover (sent && size == 4);
        c_both: cover (leaves && watched && size == 3 && beats == 4);
    end

`ifndef PROPERTIES_ONLY
    // ---------------------------------------------------------------- for the induction
    localparam E_W = 5, C_W = 67, F_W = 2 + C_W + 4 * E_W;
    (* hierconn *) wire [4*F_W-1:0] \dut.f_lines ;
    (* hierconn *) wire [3:0] \dut.waits , \dut.single ;
    (* hierconn *) wire [2:0] \dut.turns.level ;
    (* hierconn *) wire [1:0] \dut.half , \dut.line ;
    (* hierconn *) wire \dut.s_valid , \dut.s_half , \dut.s_may , \dut.s_free , \dut.s_number , \dut.stored ;
    (* hierconn *) wire [C_W-1:0] \dut.s_with ;
    (* hierconn *) wire [E_W-1:0] \dut.s ;
    (* hierconn *) wire [7:0] \dut.turns.words ;

    // Of each line: lanes, what its entries have in common
    wire [1:0]  l_last [0:3], l_first [0:3], l_attempt [0:3], l_index [0:3], l_addr [0:3], turn [0:3];
    wire        l_lap [0:3], l_void [0:3], l_phase [0:3];
    wire [56:0] l_high [0:3];            // of the address
    wire [19:0] l_entries [0:3];
    wire [2:0]  l_size [0:3];
    genvar g;
    generate
        for (g = 0; g < 4; g = g + 1) begin : line
            wire [C_W-1:0] common = \dut.f_lines [F_W*g + 20 +: C_W];
            assign l_last[g] = \dut.f_lines [F_W*g + 20 + C_W +: 2];
            assign l_entries[g] = \dut.f_lines [F_W*g +: 20];
            assign {l_first[g], l_attempt[g], l_lap[g], l_void[g], l_phase[g]} = common[C_W-1 -: 7];
            assign {l_addr[g], l_index[g]} = common[3:0];
            assign l_high[g] = common[3 +: 57];
            assign l_size[g] = \dut.waits [g] ? l_last[g] - l_first[g] + 3'd1 : 3'd0;
            assign turn[g] = \dut.turns.words [2*g +: 2];
        end
    endgenerate

    // Where the watched one is
    reg        in_s = 1'b0;
    reg  [1:0] w_line;
    wire [1:0] w_lane = w_slot[1:0];
    always @(posedge clk) if (!rst) begin
        if (begins) in_s <= !leaves;
        else if (in_s && \dut.stored ) {in_s, w_line} <= {1'b0, \dut.line };
    end

    // The next slot of each EQ's ring that is stored, and the one in s
    wire        s_n = \dut.s_number , s_again = \dut.s_with [C_W-3 -: 2] != 2'd0;
    wire [3:0]  s_slot = {\dut.s_with [3:2], \dut.s_with [C_W-1 -: 2]};
    wire        s_phase = \dut.s_with [C_W-7];
    wire [1:0]  s_index = \dut.s_with [1:0];
    reg  [3:0]  n_slot [0:1];
    reg  [1:0]  n_index [0:1];
    reg         n_phase [0:1];
    reg         s_mine;
    reg         queue_ok, order_ok, lines_ok, next_ok;
    reg  [2:0]  waiting, place;
    reg  [3:0]  all_of [0:1];
    reg  [1:0]  newer, older;
    integer     e, k, m;

    always @* begin
        {queue_ok, order_ok, lines_ok, next_ok} = 4'hf;
        waiting = \dut.waits [0] + \dut.waits [1] + \dut.waits [2] + \dut.waits [3];
        place = 3'd7;
        for (k = 0; k < 4; k = k + 1) begin
            if (k < \dut.turns.level && !\dut.waits [turn[k]]) queue_ok = 1'b0;
            if (k < \dut.turns.level && turn[k] == w_line) place = k;
            for (m = k + 1; m < 4; m = m + 1) if (m < \dut.turns.level ) begin
                if (turn[k] == turn[m]) queue_ok = 1'b0;
                if (turn[k][1] == turn[m][1] && turn[k][0] == \dut.half [turn[k][1]]) order_ok = 1'b0;
            end
            if (\dut.waits [k] && (l_high[k] != {57{l_lap[k]}} || l_addr[k][1] != l_lap[k] ||
                l_first[k] > l_last[k] || \dut.single [k] != (l_attempt[k] != 2'd0) ||
                (\dut.single [k] ? l_first[k] != l_last[k] : l_void[k]))) lines_ok = 1'b0;
        end
        for (e = 0; e < 2; e = e + 1) begin
            newer = {e[0], \dut.half [e]};
            older = {e[0], !\dut.half [e]};
            s_mine = \dut.s_valid && s_n == e;
            {n_slot[e], n_index[e], n_phase[e]} = s_mine && !s_again ? {s_slot, s_index, s_phase} :
                {ring[e], slots[3 * e +: 3], indices[2 * e +: 2], pass[e]};
            all_of[e] = l_size[newer] + l_size[older] + s_mine;
            if (\dut.waits [older] && !\dut.waits [newer]) order_ok = 1'b0;
            // The slot after the newest line's last one, but at the beginning of a line
            if (\dut.waits [newer] && !\dut.single [newer] && n_slot[e][1:0] != 2'd0 &&
                !(l_last[newer] + 2'd1 == n_slot[e][1:0] && l_addr[newer] == n_slot[e][3:2] &&
                  l_lap[newer] == n_slot[e][3] && l_phase[newer] == n_phase[e] &&
                  l_index[newer] + n_slot[e][1:0] - l_first[newer] == n_index[e])) next_ok = 1'b0;
            // What s holds comes before the ring's next slot.
            if (s_mine && !s_again && slots[3 * e +: 2] != 2'd0 && !(s_slot + 4'd1 == {ring[e], slots[3 * e +: 3]} &&
                s_index + 2'd1 == indices[2 * e +: 2] && s_phase == pass[e])) next_ok = 1'b0;
        end
    end
    wire [1:0] s_newer = {s_n, \dut.s_half }, s_older = {s_n, !\dut.s_half };
    wire [1:0] w_other = {w_line[1], !w_line[0]};
    wire       w_older = w_line[0] != \dut.half [w_number];

    always @(posedge clk) if (!rst) begin
        inv_queue: assert (\dut.turns.level == waiting && queue_ok);
        inv_order: assert (order_ok);
        inv_lines: assert (lines_ok);
        inv_next: assert (next_ok);
        inv_counts: assert (counts == {all_of[1], all_of[0]});
        if (\dut.s_valid ) begin
            inv_half: assert (\dut.s_half == \dut.half [s_n]);
            inv_free: assert (!\dut.s_free || !\dut.waits [s_older]);
            inv_may: assert (!\dut.s_may || (\dut.waits [s_newer] && !\dut.single [s_newer] && !s_again &&
                s_slot[1:0] != 2'd0));
            inv_void: assert (s_again || !\dut.s_with [C_W-6]);
            inv_lap: assert (\dut.s_with [3 +: 57] == {57{s_slot[3]}} && \dut.s_with [C_W-5] == s_slot[3]);
        end
        inv_plain: assert (!watched || w_again == (w_attempt != 2'd0));
        inv_in_s: assert (!in_s || (watched && \dut.s_valid && w_number == s_n && s_slot == w_slot &&
            \dut.s_with [C_W-3 -: 5] == {w_attempt, w_slot[3], w_void, w_phase} && s_index == w_index &&
            \dut.s == {w_status, w_snap, w_cq} && ahead == all_of[w_number] - 4'd1 &&
            beats + waiting <= BEATS));
        inv_in_line: assert (!watched || in_s || (\dut.waits [w_line] && w_line[1] == w_number &&
            l_first[w_line] <= w_lane && w_lane <= l_last[w_line] && \dut.single [w_line] == w_again &&
            l_entries[w_line][5 * w_lane +: 5] == {w_status, w_snap, w_cq} && l_addr[w_line] == w_slot[3:2] &&
            l_attempt[w_line] == w_attempt && l_lap[w_line] == w_slot[3] && l_void[w_line] == w_void &&
            l_phase[w_line] == w_phase && l_index[w_line] + w_lane - l_first[w_line] == w_index &&
            ahead == (w_older ? 3'd0 : l_size[w_other]) + w_lane - l_first[w_line] &&
            beats + place <= BEATS));
    end
`endif

endmodule

`default_nettype wire
