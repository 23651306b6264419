// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_event through its ports, cycle by cycle.
//
// Purpose: callbacks of both sides and repetitions for few and for all event queues (EQs); memory that takes entries fast, slowly or not at
//          all and answers early or late; rings of every size that are made anew and replaced, vectors that change; resets. Against a list of what each CQ
//          has under way (CQ-16). Compares each entry and its record, indices, vectors, and when a ring is left. The design may be the module or one of
//          the netlist of mutants.
// Ports:   none. CQ_W, EQ_W, IDX_W as parameters of the bench (NUM_EQ is 1 << EQ_W); defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps
`include "cde_defs.vh"

module event_exact;
    parameter CQ_W = 2;
    parameter EQ_W = 1;
    parameter IDX_W = 5;
    `include "exact.vh"
    localparam CQS = 1 << CQ_W;
    localparam EQS = 1 << EQ_W;
    localparam MASK = (1 << IDX_W) - 1;
    localparam RETRY_W = 65 + 2 * IDX_W;
    localparam NEW_W = IDX_W + 2 + EQ_W + CQ_W;
    localparam EV_W = RETRY_W + 1 + NEW_W;
    // What a CQ has: nothing, a callback that waits, an entry that memory was given, one that is to be written again.
    localparam [1:0] NOTHING = 2'd0, WAITS = 2'd1, GIVEN = 2'd2, AGAIN = 2'd3;

    reg                 pub_valid = 0, db_valid = 0, eqc_valid = 0, eqc_create = 0, eqc_vector_we = 0, eqc_ring_we = 0, gone_valid = 0, gone_lap = 0, eq_ready = 0;
    reg  [EV_W-1:0]     pub_data = 0, db_data = 0;
    reg  [EQ_W-1:0]     eqc_eq = 0, gone_eq = 0, irq_eq = 0;
    reg  [63:6]         eqc_base = 0;
    reg  [4:0]          eqc_log2 = 0;
    reg  [15:0]         eqc_vector = 0;
    wire                eqc_left, eq_valid, eq_void;
    wire [IDX_W-1:0]    eqc_index;
    wire [15:0]         irq_vector;
    wire [EQ_W-1:0]     eq_number;
    wire [63:4]         eq_addr;
    wire [127:0]        eq_data;
    wire [RETRY_W+EQ_W+CQ_W-1:0] eq_record;

    `DUT dut (
        .clk(clk), .rst(rst), .ev_pub_valid(pub_valid), .ev_pub_data(pub_data), .ev_db_valid(db_valid), .ev_db_data(db_data),
        .eqc_valid(eqc_valid), .eqc_create(eqc_create), .eqc_vector_we(eqc_vector_we), .eqc_ring_we(eqc_ring_we), .eqc_eq(eqc_eq),
        .eqc_base(eqc_base), .eqc_log2(eqc_log2), .eqc_vector(eqc_vector), .eqc_index(eqc_index), .eqc_left(eqc_left),
        .gone_valid(gone_valid), .gone_eq(gone_eq), .gone_lap(gone_lap), .irq_eq(irq_eq), .irq_vector(irq_vector), .eq_valid(eq_valid),
        .eq_ready(eq_ready), .eq_number(eq_number), .eq_addr(eq_addr), .eq_data(eq_data), .eq_void(eq_void), .eq_record(eq_record) `SELECT
    );

    // ---------------------------------------------------------------- the model
    // Of each EQ: base in units of 16 bytes, log2 of its entries, entries since the ring is there and since the EQ is, vector, resizes.
    reg  [59:0]       base [0:EQS-1];
    integer           size [0:EQS-1], position [0:EQS-1], index [0:EQS-1], vector [0:EQS-1], resizes [0:EQS-1];
    // Of each CQ: what it has, for which EQ, status, number of completions; of the entry: index, attempt, whether it is in the ring that was left last, whether others passed it,
    // address and phase.
    reg  [1:0]        has [0:CQS-1], status [0:CQS-1];
    integer           owner [0:CQS-1], snap [0:CQS-1], number [0:CQS-1], attempt [0:CQS-1];
    reg               in_left [0:CQS-1], phase [0:CQS-1], went_by [0:CQS-1];
    reg  [59:0]       at [0:CQS-1];
    // CQs that wait on each side, the oldest first; whether the entry before was of the doorbell side.
    integer           pubs [0:CQS-1], dbs [0:CQS-1];
    integer           pub_count, db_count, left, left_index, left_size;
    reg               last_db;

    integer           k, c, e, pub_cq, db_cq, gone_cq, at_cycle, busy, slow, answers, spread, favourite, keep, since;
    reg               late, sleeps, offers, from_db, again, voids, way_lap, new_phase;
    reg  [59:0]       address;
    reg  [127:0]      want;
    reg  [RETRY_W+EQ_W+CQ_W-1:0] record;

    task wrong;
        input [8*24-1:0] what;
        begin
            $display("wrong: %0s at %0t: CQ %0d of EQ %0d, %0d + %0d wait: %b %h %h, want %b %h %h; void %b; left %b, want %0d", what, $time, c, e, pub_count, db_count,
                     eq_valid, eq_addr, eq_record, offers, address, record, eq_void, eqc_left, left);
            $finish;
        end
    endtask

    task compare;
        begin
            #1;
            offers = (pub_count != 0 || db_count != 0) && !eqc_valid;
            from_db = db_count != 0 && (pub_count == 0 || !last_db);
            c = from_db ? dbs[0] : pubs[0];
            e = owner[c];
            again = has[c] == AGAIN;
            address = again ? at[c] : base[e] + position[e] % (1 << size[e]);
            new_phase = again ? phase[c] : (position[e] >> size[e]) % 2 == 0;
            way_lap = resizes[e] - (again && in_left[c]);
            k = again ? number[c] : index[e] & MASK;
            since = ((again && in_left[c] ? left_index : index[e]) - k) & MASK;
            // What others have passed is passed for good.
            voids = again && went_by[c] || since > 1 << (again && in_left[c] ? left_size : size[e]);
            want = 128'd0;
            want[`CDE_EQE_CQ_LSB +: CQ_W] = c;
            want[`CDE_EQE_TYPE_LSB +: 8] = `CDE_EQETYPE_CQ_NOTIFICATION;
            want[`CDE_EQE_STATUS_LSB +: 8] = status[c];
            want[`CDE_EQE_SNAP_LSB +: 32] = snap[c];
            want[`CDE_EQE_PHASE_LSB] = new_phase;
            record = {again ? attempt[c][1:0] + 2'd1 : 2'd0, way_lap, voids, new_phase, address, k[IDX_W-1:0], snap[c][IDX_W-1:0], e[EQ_W-1:0], c[CQ_W-1:0]};
            if (eq_valid !== offers) wrong("entry");
            if (offers && {eq_number, eq_addr, eq_data, eq_record} !== {e[EQ_W-1:0], address, want, record}) wrong("what the entry is");
            if (offers && eq_void !== voids) wrong("void");
            if (eqc_left !== (left == 0)) wrong("whether the ring is left");
            if (resizes[eqc_eq] != -1 && eqc_index !== (index[eqc_eq] & MASK)) wrong("index");
            if (resizes[irq_eq] != -1 && irq_vector !== vector[irq_eq]) wrong("vector");
        end
    endtask

    task advance;
        begin
            if (offers && eq_ready) begin
                last_db = from_db;
                if (!again) begin
                    {number[c], at[c], phase[c], attempt[c], in_left[c]} = {k, address, new_phase, 32'd0, 1'b0};
                    index[e] = index[e] + 1;
                    position[e] = position[e] + 1;
                end else begin
                    attempt[c] = attempt[c] + 1;
                end
                went_by[c] = voids;
                has[c] = GIVEN;
                if (from_db) begin
                    for (k = 0; k < db_count - 1; k = k + 1) dbs[k] = dbs[k+1];
                    db_count = db_count - 1;
                end else begin
                    for (k = 0; k < pub_count - 1; k = k + 1) pubs[k] = pubs[k+1];
                    pub_count = pub_count - 1;
                end
            end
            if (pub_valid) begin
                pubs[pub_count] = pub_cq;
                pub_count = pub_count + 1;
                if (has[pub_cq] == GIVEN) has[pub_cq] = AGAIN;
                else begin
                    has[pub_cq] = WAITS;
                    {snap[pub_cq], status[pub_cq], owner[pub_cq]} = {32'd0 | pub_data[CQ_W + EQ_W + 2 +: IDX_W], pub_data[CQ_W + EQ_W +: 2], 32'd0 | pub_data[CQ_W +: EQ_W]};
                end
            end
            if (db_valid) begin
                dbs[db_count] = db_cq;
                db_count = db_count + 1;
                has[db_cq] = WAITS;
                {snap[db_cq], status[db_cq], owner[db_cq]} = {32'd0 | db_data[CQ_W + EQ_W + 2 +: IDX_W], db_data[CQ_W + EQ_W +: 2], 32'd0 | db_data[CQ_W +: EQ_W]};
            end
            if (gone_valid) begin
                has[gone_cq] = NOTHING;
                if (in_left[gone_cq]) left = left - 1;
                in_left[gone_cq] = 1'b0;
            end
            if (eqc_valid) begin
                e = eqc_eq;
                if (eqc_ring_we) begin
                    {left_index, left_size} = {index[e], size[e]};
                    resizes[e] = resizes[e] + 1;
                    left = 0;
                    for (k = 0; k < CQS; k = k + 1) begin
                        in_left[k] = has[k][1] && owner[k] == e;
                        left = left + in_left[k];
                    end
                end
                if (eqc_create) index[e] = 0;
                if (eqc_create && resizes[e] == -1) resizes[e] = 0;
                if (eqc_create || eqc_ring_we) {base[e], size[e], position[e]} = {eqc_base, 2'b00, 27'd0, eqc_log2, 32'd0};
                if (eqc_create || eqc_vector_we) vector[e] = eqc_vector;
            end
        end
    endtask

    // ---------------------------------------------------------------- what comes in
    task callbacks;
        begin
            for (k = 0; k < EV_W; k = k + 32) {pub_data, db_data} = {pub_data, db_data, $random(seed)};
            pub_cq = $unsigned($random(seed)) % CQS;
            db_cq = $unsigned($random(seed)) % CQS;
            gone_cq = $unsigned($random(seed)) % CQS;
            // All that is under way leaves before callbacks of one EQ gather.
            for (k = 0; k < CQS && !late && spread == 0 && has[gone_cq] != GIVEN; k = k + 1) gone_cq = (gone_cq + 1) % CQS;
            pub_data[CQ_W-1:0] = pub_cq;
            db_data[CQ_W-1:0] = db_cq;
            pub_data[CQ_W +: EQ_W] = ($random(seed) & spread) ^ favourite;
            db_data[CQ_W +: EQ_W] = ($random(seed) & spread) ^ favourite;
            pub_data[NEW_W] = has[pub_cq] == GIVEN;
            // For a while answers about entries of CQ 0 come so late that others pass them, and indices come round to them.
            pub_valid = pub_data[NEW_W] ? below(pub_cq == 0 && sleeps ? 512 : 16) < answers && attempt[pub_cq] < 3 : has[pub_cq] == NOTHING && below(8) < busy;
            if (pub_data[NEW_W]) begin
                e = owner[pub_cq];
                way_lap = resizes[e] - in_left[pub_cq];
                pub_data[NEW_W-1:CQ_W] = {snap[pub_cq][IDX_W-1:0] ^ 1'b1, status[pub_cq], e[EQ_W-1:0]};
                pub_data[EV_W-1 -: RETRY_W] = {attempt[pub_cq][1:0], way_lap, went_by[pub_cq], phase[pub_cq], at[pub_cq], number[pub_cq][IDX_W-1:0], snap[pub_cq][IDX_W-1:0]};
            end
            db_valid = has[db_cq] == NOTHING && !(pub_valid && pub_cq == db_cq) && below(8) < busy;
            gone_valid = has[gone_cq] == GIVEN && !(pub_valid && pub_cq == gone_cq) && below(gone_cq == 0 && sleeps ? 8192 : 16) < answers;
            gone_eq = owner[gone_cq];
            gone_lap = resizes[owner[gone_cq]] - in_left[gone_cq];
            eq_ready = below(8) >= slow;
            irq_eq = $random(seed);
        end
    endtask

    // An EQ is made anew when nothing is under way for it, a ring replaced when that before is left.
    task settings;
        input integer all;
        begin
            eqc_valid = all || below(late ? 16 : 8) == 0;
            eqc_eq = all ? n : below(2) && !late ? favourite : $random(seed);
            {eqc_create, eqc_vector_we, eqc_ring_we} = 3'd1 << below(3);
            if (all) {eqc_create, eqc_vector_we, eqc_ring_we} = 3'b100;
            if (eqc_create && !all) begin
                for (k = 0; k < CQS; k = k + 1) if (has[k] != NOTHING && owner[k] == eqc_eq) eqc_valid = 1'b0;
                if ((pub_valid && pub_data[CQ_W +: EQ_W] == eqc_eq) || (db_valid && db_data[CQ_W +: EQ_W] == eqc_eq)) eqc_valid = 1'b0;
            end
            if (eqc_ring_we && (left != 0 || below(keep) != 0 || (!late && spread == 0 && at_cycle % 512 < 384))) eqc_valid = 1'b0;
            if (eqc_ring_we && sleeps && below(256) != 0) eqc_valid = 1'b0;
            eqc_log2 = below(4) ? below(4) : below(IDX_W);
            // The last life is long: of two EQs one keeps the largest ring there is, that of the other one is replaced.
            if (all && eqc_eq == 0) eqc_log2 = IDX_W - 1;
            if (late && !all && eqc_eq == 0 && !eqc_vector_we) eqc_valid = 1'b0;
            eqc_base = {$random(seed), $random(seed)};
            for (k = 0; k + 2 < eqc_log2; k = k + 1) eqc_base[6+k] = 1'b0;
            eqc_vector = $random(seed);
        end
    endtask

    task reset;
        begin
            {pub_valid, db_valid, eqc_valid, gone_valid} = 4'd0;
            rst = 1'b1;
            edge_of_clock;
            rst = 1'b0;
            for (k = 0; k < CQS; k = k + 1) begin
                {has[k], in_left[k], went_by[k], phase[k], status[k], owner[k], snap[k], number[k], attempt[k], at[k]} = 0;
                {pubs[k], dbs[k]} = 64'd0;
            end
            for (k = 0; k < EQS; k = k + 1) begin
                {base[k], size[k], position[k], index[k], vector[k]} = 0;
                resizes[k] = -1;
            end
            {pub_count, db_count, left, left_index, left_size, last_db} = 0;
            for (n = 0; n < EQS; n = n + 1) begin
                settings(1);
                compare;
                advance;
                edge_of_clock;
            end
        end
    endtask

    initial begin
        favourite = 0;
        set_up(48000);
        for (at_cycle = 0; at_cycle < cycles; at_cycle = at_cycle + 1) begin
            late = at_cycle >= 24000;
            if (at_cycle <= 24000 && at_cycle % 8000 == 0) reset;
            if (at_cycle % (late ? 256 : 512) == 0) begin
                busy = late && below(4) ? 8 : below(9);
                slow = below(late ? 8 : 2) ? 0 : below(9);
                // Now and then memory answers nothing, until all CQs wait for it.
                answers = late && below(4) ? 16 : below(3) ? 1 + below(16) : 0;
                spread = late ? 1 : below(4) == 0 ? -1 : 0;
                sleeps = at_cycle / 8000 == 1;
                if (sleeps) {spread, busy, answers} = {-32'd1, 32'd6, 32'd16};
                // In turns, so that each EQ has many callbacks under way at some time.
                favourite = late ? 0 : (favourite + (spread == 0)) % EQS;
                if (!late && spread == 0) {busy, answers} = {32'd0, 32'd16};
                keep = !late || below(2) ? 1 : 16;
            end
            if (!late && spread == 0 && at_cycle % 512 == 256) {busy, answers} = {32'd6, 32'd0};
            callbacks;
            settings(0);
            compare;
            advance;
            edge_of_clock;
        end
        passed;
    end

endmodule
