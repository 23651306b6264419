// SPDX-License-Identifier: Apache-2.0
// cde_event: callbacks become event entries (EQEs) in host memory.
//
// Purpose: queues callbacks of both pipelines and repetitions of failed EQE writes, gives each its slot in the EQ ring
//          (CQ-18). At most one EQE of a CQ is under way, so FIFOs with one word per CQ never overflow however long
//          memory stalls (CQ-16), and a ring with one entry per attached CQ never overwrites an unread EQE. A
//          repetition whose slot was passed since has no strobes. Tells when nothing of the ring before a resize is
//          under way any more.
// Ports:   callbacks in (ev_pub_*, ev_db_*, never refused), EQ settings by control (eqc_*), beats out (eq_*), entries
//          that memory has acknowledged or that were given up (gone_*), vector lookup for interrupts.
// Latency: callback in cycle t, beat on eq_* in t+1; when none waits before it, it gets its slot in the cycle in which
//          it comes.
`default_nettype none
`include "cde_defs.vh"
`include "cde_event_records.vh"

module cde_event #(
    parameter NUM_EQ = 16,
    parameter EQ_W = 4,
    parameter CQ_W = 6,          // FIFO depth: one word per CQ
    parameter IDX_W = 16,
    parameter RETRY_W = `CDE_RETRY_W,
    parameter EV_W = `CDE_CALLBACK_W,
    parameter REC_W = `CDE_EQE_WRITE_W
) (
    input  wire                clk,
    input  wire                rst,

    input  wire                ev_pub_valid,
    input  wire [EV_W-1:0]     ev_pub_data,
    input  wire                ev_db_valid,
    input  wire [EV_W-1:0]     ev_db_data,

    // Settings: create (all), modify (vector), resize (ring: one at a time, until it is left); eqc_eq two cycles
    // ahead. While eqc_hold, which holds with them, no callback gets its slot.
    input  wire                eqc_valid,
    input  wire                eqc_hold,
    input  wire                eqc_create,
    input  wire                eqc_vector_we,
    input  wire                eqc_ring_we,
    input  wire [EQ_W-1:0]     eqc_eq,
    input  wire [63:6]         eqc_base,
    input  wire [4:0]          eqc_log2,
    input  wire [15:0]         eqc_vector,
    output wire [IDX_W-1:0]    eqc_index,    // producer index of eqc_eq
    output wire                eqc_left,     // no entry of the ring before the last resize is under way

    input  wire                gone_valid,
    input  wire [EQ_W-1:0]     gone_eq,
    input  wire                gone_lap,     // as in its record
    input  wire [1:0]          gone_more,    // of so many more that were written with it

    // Vector lookup
    input  wire [EQ_W-1:0]     irq_eq,
    output wire [15:0]         irq_vector,

    output reg                 eq_valid,
    input  wire                eq_ready,
    output reg  [EQ_W-1:0]     eq_number,
    output wire [63:4]         eq_addr,
    output wire [127:0]        eq_data,
    output wire                eq_void,        // nothing is to be written
    output wire [REC_W-1:0]    eq_record
);

    localparam NEW_W = `CDE_CALLBACK_RETRY;     // without what a repetition needs
    wire unused_retry = &{1'b0, ev_db_data[EV_W-1:NEW_W]};    // the doorbell side never repeats a write
    localparam [IDX_W-1:0] ONE = {{(IDX_W-1){1'b0}}, 1'b1};

    // ---------------------------------------------------------------- queues
    wire             p_valid;
    wire [EV_W-1:0]  p_data;
    wire             d_valid;
    wire [NEW_W-1:0] d_data;
    wire             unused_p_room;
    wire             unused_d_room;
    wire [CQ_W:0]    unused_p_level;
    wire [CQ_W:0]    unused_d_level;
    reg              last_d;

    wire d_first = !last_d;
    wire take_d = d_valid && (!p_valid || d_first);
    wire goes = !eqc_hold && (!eq_valid || eq_ready);
    wire sent = (p_valid || d_valid) && goes;       // to eq_*

    cde_fifo #(.W(EV_W), .DEPTH_LOG2(CQ_W), .BYPASS(1'b1)) pub_fifo (
        .clk(clk),
        .rst(rst),
        .push_valid(ev_pub_valid),
        .push_ready(unused_p_room),
        .push_data(ev_pub_data),
        .pop_valid(p_valid),
        .pop_ready(goes && !(d_valid && d_first)),      // of its own word: says nothing of p_valid
        .pop_data(p_data),
        .level(unused_p_level)
    );

    cde_fifo #(.W(NEW_W), .DEPTH_LOG2(CQ_W), .BYPASS(1'b1)) db_fifo (
        .clk(clk),
        .rst(rst),
        .push_valid(ev_db_valid),
        .push_ready(unused_d_room),
        .push_data(ev_db_data[NEW_W-1:0]),
        .pop_valid(d_valid),
        .pop_ready(goes && !(p_valid && !d_first)),
        .pop_data(d_data),
        .level(unused_d_level)
    );

    // ---------------------------------------------------------------- rings
    reg [57:0]      base [0:NUM_EQ-1];
    reg [IDX_W-1:0] size [0:NUM_EQ-1];
    reg [IDX_W-1:0] mask [0:NUM_EQ-1];       // size - 1
    reg [IDX_W-1:0] position [0:NUM_EQ-1];   // index - origin; both are written a cycle after a slot was given
    reg [IDX_W-1:0] index [0:NUM_EQ-1];
    reg [15:0]      vector [0:NUM_EQ-1];
    localparam AWAY_W = CQ_W < 2 ? 3 : CQ_W + 1;
    reg [AWAY_W-1:0] away [0:NUM_EQ-1];      // entries under way, counted a cycle after they are sent
    reg             fresh;                   // eq_number got an entry in the cycle before
    reg [IDX_W-1:0] ring_newest, ring_position;     // as read for eq_number
    reg             clear_index, clear_position;    // of clear_eq, in the cycle after its settings
    reg [EQ_W-1:0]  clear_eq;
    reg [NUM_EQ-1:0] lap;                    // changes with the ring

    // The ring that the last resize left: its EQ's entries of the other lap
    reg [AWAY_W-1:0] left;
    reg [2:0]       was_gone;                // of the cycle before: what leaves with a resize is of the ring before it
    reg             was_lap;
    reg [EQ_W-1:0]  was_eq;
    wire [2:0]      old_gone = was_gone & {3{was_lap != lap[was_eq]}};
    reg [IDX_W-1:0] left_index;              // first one that is not in it
    reg [IDX_W-1:0] left_size;
    reg [EQ_W-1:0]  eqc_was;
    reg [AWAY_W-1:0] away_was;               // of eqc_was, in the cycle before, and what changed it then
    reg             more_was;
    reg [2:0]       less_was;
    integer         i;

    wire [NEW_W-1:0]   ev = take_d ? d_data : p_data[NEW_W-1:0];
    wire               retry = !take_d && p_data[`CDE_CALLBACK_RETRY];
    wire [RETRY_W-1:0] again = p_data[`CDE_CALLBACK_DATA +: RETRY_W];
    wire [CQ_W-1:0]    ev_cq = ev[`CDE_CALLBACK_CQ +: CQ_W];
    wire [EQ_W-1:0]    e = ev[`CDE_CALLBACK_EQ +: EQ_W];
    wire [1:0]         ev_status = ev[`CDE_CALLBACK_STATUS +: 2];
    wire [IDX_W-1:0]   ev_snap = retry ? again[`CDE_RETRY_SNAP +: IDX_W] : ev[`CDE_CALLBACK_SNAP +: IDX_W];

    // Of each side, since which side's turn it is comes late.
    wire             p_lap = lap[p_data[`CDE_CALLBACK_EQ +: EQ_W]];
    wire             d_lap = lap[d_data[`CDE_CALLBACK_EQ +: EQ_W]];
    wire             ev_lap = take_d ? d_lap : p_data[`CDE_CALLBACK_RETRY] ? again[`CDE_RETRY_LAP] : p_lap;
    wire [1:0]       attempt = retry ? again[`CDE_RETRY_ATTEMPT +: 2] + 2'd1 : 2'd0;

    // What is about to be written counts already. Read and compared on each side, too.
    wire               p_same = fresh && eq_number == p_data[`CDE_CALLBACK_EQ +: EQ_W];
    wire               d_same = fresh && eq_number == d_data[`CDE_CALLBACK_EQ +: EQ_W];
    wire               p_clears = clear_eq == p_data[`CDE_CALLBACK_EQ +: EQ_W];
    wire               d_clears = clear_eq == d_data[`CDE_CALLBACK_EQ +: EQ_W];
    wire [IDX_W-1:0]   next_index = ring_newest + ONE;
    wire [IDX_W-1:0]   next_position = ring_position + ONE;
    wire [IDX_W-1:0]   p_index = index[p_data[`CDE_CALLBACK_EQ +: EQ_W]];
    wire [IDX_W-1:0]   d_index = index[d_data[`CDE_CALLBACK_EQ +: EQ_W]];
    wire [IDX_W-1:0]   p_position = position[p_data[`CDE_CALLBACK_EQ +: EQ_W]];
    wire [IDX_W-1:0]   d_position = position[d_data[`CDE_CALLBACK_EQ +: EQ_W]];
    wire [IDX_W-1:0]   p_newest = (p_same ? next_index : p_index) & {IDX_W{!(p_clears && clear_index)}};
    wire [IDX_W-1:0]   d_newest = (d_same ? next_index : d_index) & {IDX_W{!(d_clears && clear_index)}};
    wire [IDX_W-1:0]   p_new_place = (p_same ? next_position : p_position) & {IDX_W{!(p_clears && clear_position)}};
    wire [IDX_W-1:0]   d_place = (d_same ? next_position : d_position) & {IDX_W{!(d_clears && clear_position)}};
    wire               p_retry = p_data[`CDE_CALLBACK_RETRY];
    wire [IDX_W-1:0]   p_number = p_retry ? again[`CDE_RETRY_INDEX +: IDX_W] : p_newest;
    wire [IDX_W-1:0]   p_place = p_retry ? {{(IDX_W-2){1'b0}}, again[`CDE_RETRY_ADDR +: 2]} : p_new_place;

    // A slot that entries after it have come round to was read, whatever memory answered to its write: it is not theirs
    // to lose. An entry that was passed stays so, although indices come round to it.
    wire               passed = retry && again[`CDE_RETRY_PASSED];
    reg                eq_passed, eq_lap, ring_lap;
    reg  [IDX_W-1:0]   ring_slots, eq_index, eq_snap, ring_since, left_since;
    reg                ring_more;            // one more than ring_since
    // The ring that was left stays so while entries of it are under way.
    wire               old = eq_lap != ring_lap;
    reg                eq_again;
    wire               lapped = ring_more ? ring_since >= ring_slots : ring_since > ring_slots;
    assign eq_void = eq_again && (eq_passed || (old ? left_since > left_size : lapped));

    // Slot and phase are made of what was registered; a repetition has those of the first time.
    reg                again_phase;
    reg  [57:0]        ring_base;
    reg  [IDX_W-1:0]   ring_mask;
    reg  [1:0]         eq_status;
    reg  [CQ_W-1:0]    eq_cq;
    wire               phase = eq_again ? again_phase : (ring_position & ring_slots) == {IDX_W{1'b0}};
    assign eq_addr = {ring_base, 2'b00} | {{(60-IDX_W){1'b0}}, ring_position & ring_mask};
    assign eq_data = {phase, 63'd0, {(32-IDX_W){1'b0}}, eq_snap, 6'd0, eq_status, `CDE_EQETYPE_CQ_NOTIFICATION,
                      {(16-CQ_W){1'b0}}, eq_cq};

    wire [RETRY_W-1:0] kept;
    reg  [1:0]         eq_attempt;
    assign kept[`CDE_RETRY_SNAP +: IDX_W] = eq_snap;
    assign kept[`CDE_RETRY_INDEX +: IDX_W] = eq_index;
    assign kept[`CDE_RETRY_ADDR +: 60] = eq_addr;
    assign kept[`CDE_RETRY_PHASE] = phase;
    assign kept[`CDE_RETRY_PASSED] = eq_void;
    assign kept[`CDE_RETRY_LAP] = eq_lap;
    assign kept[`CDE_RETRY_ATTEMPT +: 2] = eq_attempt;
    assign eq_record[`CDE_EQE_WRITE_CQ +: CQ_W] = eq_cq;
    assign eq_record[`CDE_EQE_WRITE_RETRY +: RETRY_W] = kept;

    wire [2:0] gone = {3{gone_valid}} & ({1'b0, gone_more} + 3'd1);
    wire more = fresh && eq_number == eqc_was;
    wire [2:0] less = gone & {3{gone_eq == eqc_was}};
    wire [IDX_W-1:0] eqc_newest = fresh && eq_number == eqc_eq ? next_index : index[eqc_eq];
    assign eqc_index = eqc_newest;
    assign eqc_left = left == {{(AWAY_W-3){1'b0}}, old_gone};
    assign irq_vector = vector[irq_eq];

    always @(posedge clk) begin
        fresh <= sent && !retry && !rst;
        eq_valid <= ((p_valid || d_valid) && !eqc_hold) || (eq_valid && !eq_ready);
        if (sent) last_d <= take_d;
        // What is not sent is not looked at: wide registers wait for one signal.
        if (!eq_valid || eq_ready) begin
            eq_number <= e;
            {eq_again, again_phase, eq_snap, eq_status} <= {retry, again[`CDE_RETRY_PHASE], ev_snap, ev_status};
            ring_base <= retry ? again[`CDE_RETRY_ADDR + 2 +: 58] : base[e];
            ring_position <= take_d ? d_place : p_place;
            ring_mask <= retry ? {{(IDX_W-2){1'b0}}, 2'b11} : mask[e];
            {eq_passed, ring_newest, ring_slots, ring_lap, eq_index} <=
                {passed, take_d ? d_newest : p_newest, size[e], take_d ? d_lap : p_lap, take_d ? d_newest : p_number};
            {eq_lap, eq_attempt, eq_cq} <= {ev_lap, attempt, ev_cq};
            // Of a repetition: entries after it in its ring. No ring is left for another one while it is under way.
            ring_since <= p_index - again[`CDE_RETRY_INDEX +: IDX_W];
            ring_more <= p_same;
            left_since <= left_index - again[`CDE_RETRY_INDEX +: IDX_W];
        end
        // Nothing is sent while settings come, so a cycle later one of both writes at most.
        clear_index <= eqc_valid && eqc_create;
        clear_position <= eqc_valid && (eqc_create || eqc_ring_we);
        clear_eq <= eqc_eq;
        if (fresh || clear_index) index[fresh ? eq_number : clear_eq] <= fresh ? next_index : {IDX_W{1'b0}};
        if (fresh || clear_position) position[fresh ? eq_number : clear_eq] <= fresh ? next_position : {IDX_W{1'b0}};
        if (eqc_valid) begin
            if (eqc_create || eqc_vector_we) vector[eqc_eq] <= eqc_vector;
            if (eqc_create || eqc_ring_we) begin
                base[eqc_eq] <= eqc_base;
                size[eqc_eq] <= ONE << eqc_log2;
                mask[eqc_eq] <= (ONE << eqc_log2) - ONE;
            end
        end
        for (i = 0; i < NUM_EQ; i = i + 1) begin
            away[i] <= away[i] + {{(AWAY_W-1){1'b0}}, fresh && eq_number == i[EQ_W-1:0]} -
                       {{(AWAY_W-3){1'b0}}, gone & {3{gone_eq == i[EQ_W-1:0]}}};
        end
        {eqc_was, away_was, more_was, less_was} <= {eqc_eq, away[eqc_was], more, less};
        {was_gone, was_eq, was_lap} <= {gone & {3{!rst}}, gone_eq, gone_lap};
        left <= left - {{(AWAY_W-3){1'b0}}, old_gone};
        if (eqc_valid && eqc_ring_we) begin
            lap[eqc_eq] <= !lap[eqc_eq];
            left <= away_was + {{(AWAY_W-1){1'b0}}, more_was} + {{(AWAY_W-1){1'b0}}, more} -
                    {{(AWAY_W-3){1'b0}}, less_was};
            left_index <= eqc_newest;
            left_size <= size[eqc_eq];
        end
        if (rst) begin
            last_d <= 1'b0;
            eq_valid <= 1'b0;
            lap <= {NUM_EQ{1'b0}};
            {left, away_was} <= {(2 * AWAY_W){1'b0}};
            {more_was, less_was} <= 4'd0;
            for (i = 0; i < NUM_EQ; i = i + 1) away[i] <= {AWAY_W{1'b0}};
        end
    end

endmodule

`default_nettype wire
