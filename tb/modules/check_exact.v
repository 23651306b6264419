// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_check through its ports, cycle by cycle.
//
// Purpose: checks of keys that are right but for a field or a bit, of every part of a range, beside changes of the same keys and zones in the cycles
//          around them, connections that come and go, a removal, verdicts that wait, with resets and clearing walks under way. Against a table of keys
//          and the list of checks. Compares each verdict, end of a connection, report and trace step in its cycle. The design may be the module or
//          one of the netlist of mutants.
// Ports:   none. QP_W, MR_W, N_W, NUM_MW as parameters of the bench (NUM_QP is 1 << QP_W, NUM_MR 1 << MR_W); defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps
`include "cde_defs.vh"
`include "cde_mem.vh"

module check_exact;
    parameter QP_W = 2;
    parameter MR_W = 2;
    parameter N_W = 2;
    parameter NUM_MW = 4;
    `include "exact.vh"
    `include "clearing.vh"
    `include "cde_key_state.vh"
    localparam N = 1 << QP_W;
    localparam KEYS = 2 << N_W;
    localparam NUM_MR = 1 << MR_W;

    reg                   tvalid = 1'b0, verdict_ready = 1'b0, change_we = 1'b0, set_we = 1'b0, removed = 1'b0;
    reg  [191:0]          check = 192'd0;
    reg  [N_W:0]          change_at = 0;
    reg  [KW-1:0]         change_word = 0;
    reg  [QP_W-1:0]       set_qp = 0;
    reg  [16:0]           set_zone = 0;
    reg  [N-1:0]          up = 0;
    wire                  tready, verdict_valid, bad_valid, err_valid, trace_valid;
    wire [31:0]           verdict;
    wire [QP_W-1:0]       bad_qp;
    wire [15:0]           err_qp, err_code;
    wire [1:0]            count;
    wire [255:0]          trace_data;

    `DUT dut (
        .clk(clk), .mem_i(mem_i), .mem_o(), .rst(rst), .init(init), .s_axis_check_tdata(check), .s_axis_check_tvalid(tvalid),
        .s_axis_check_tready(tready), .m_axis_verdict_tdata(verdict), .m_axis_verdict_tvalid(verdict_valid),
        .m_axis_verdict_tready(verdict_ready), .change_we(change_we), .change_at(change_at), .change_word(change_word), .set_we(set_we),
        .set_qp(set_qp), .set_zone(set_zone), .qp_up(up), .removed(removed), .bad_valid(bad_valid), .bad_qp(bad_qp), .err_valid(err_valid),
        .err_qp(err_qp), .err_code(err_code), .count(count), .trace_valid(trace_valid), .trace_data(trace_data) `SELECT
    );

    // ---------------------------------------------------------------- the model
    reg  [KW-1:0]   table_word [0:KEYS-1];
    reg  [16:0]     zones [0:N-1], zone_then;
    // Checks under way: {valid, check}; verdicts that wait, the oldest first.
    reg  [192:0]    first, second;
    reg  [19:0]     waiting [0:15];
    integer         waits, head;
    // The one that is judged.
    reg             judged, well_formed, far, traced, traced_before;
    reg  [KW-1:0]   entry;
    reg  [15:0]     name;
    reg  [31:0]     key, bytes;
    reg  [63:0]     from;
    reg  [127:0]    last, from_wide, base_wide;
    reg  [3:0]      code;
    reg  [1:0]      kind;
    reg  [255:0]    step, step_before;
    reg  [95:0]     state;
    integer         k, at, busy, slow, mask, pick;
    reg  [19:0]     generation;

    task wrong;
        input [8*24-1:0] what;
        begin
            $display("wrong: %0s at %0t: verdict %b %h, end %b, report %b; judged %b: QP %0d, key %h, code %h", what, $time, verdict_valid, verdict,
                     bad_valid, err_valid, judged, name, key, code);
            $finish;
        end
    endtask

    function integer place;
        input [31:0] of_key;
        place = {of_key[11], of_key[N_W-1:0]};
    endfunction

    task judge;
        begin
            judged = second[192];
            {name, kind, key, from, bytes} = {second[15:0], second[17:16], second[63:32], second[127:64], second[159:128]};
            well_formed = name < N && second[31:18] == 0 && second[191:160] == 0 && (kind == 1 || kind == 2);
            far = key[10:0] >= (key[11] ? NUM_MW : NUM_MR);
            entry = table_word[place(key)];
            k = name % N;
            from_wide = from;
            base_wide = entry[K_BASE +: 64];
            last = base_wide + entry[K_LENGTH +: 48];
            if (!well_formed || removed || !zone_then[16] || !up[k]) code = `CDE_VERDICT_REFUSED;
            else if (far || !entry[K_VALID] || entry[K_GEN +: 20] != key[31:12]) code = `CDE_VERDICT_BAD_KEY;
            else if (key[11] ? entry[K_QP +: QP_W] != name : entry[K_ZONE +: 16] != zone_then[15:0]) code = `CDE_VERDICT_WRONG_QP;
            else if (!entry[kind == 1 ? K_RIGHTS + 1 : K_RIGHTS + 2]) code = `CDE_VERDICT_NO_RIGHT;
            else if (bytes != 0 && (from_wide < base_wide || from_wide + bytes > last)) code = `CDE_VERDICT_BAD_RANGE;
            else code = `CDE_VERDICT_GRANTED;
            state = 96'd0;
            state[34:0] = {entry[K_ALLOC], entry[K_EXISTS], entry[K_VALID], entry[K_GEN +: 20], key[11:0]};
            state[48 +: QP_W] = entry[K_QP +: QP_W];
            state[66:64] = entry[K_RIGHTS +: 3];
            if (key[11]) state[67 +: MR_W] = entry[K_REGION +: MR_W];
            if (far || !entry[K_EXISTS]) state = 96'd0;
            step = {state, state, 14'd0, kind, 12'd0, code, 8'd0, name, 8'd0 + `CDE_TRC_CHECK};
            traced = judged && code != `CDE_VERDICT_REFUSED;
        end
    endtask

    task compare;
        begin
            #1;
            judge;
            if (tready !== (waits <= 4 && !init)) wrong("room");
            if (count !== {judged && code != `CDE_VERDICT_GRANTED, judged}) wrong("count");
            if (err_valid !== (judged && code != `CDE_VERDICT_GRANTED)) wrong("report");
            if (err_valid && {err_qp, err_code} !== {name, 12'd0, code}) wrong("what is reported");
            if (bad_valid !== (err_valid && code != `CDE_VERDICT_REFUSED)) wrong("end of a connection");
            if (bad_valid && bad_qp !== name) wrong("whose connection ends");
            if (verdict_valid !== (waits > 0 || judged)) wrong("verdict");
            if (verdict_valid && verdict !== (waits > 0 ? {12'd0, waiting[head % 16]} : {12'd0, code, name})) wrong("verdict");
            if (trace_valid !== traced_before) wrong("trace");
            if (trace_valid && trace_data !== step_before) wrong("trace");
        end
    endtask

    task advance;
        begin
            if (judged) begin
                waiting[(head + waits) % 16] = {code, name};
                waits = waits + 1;
            end
            if (verdict_valid && verdict_ready) begin
                head = head + 1;
                waits = waits - 1;
            end
            {traced_before, step_before} = {traced && !rst, step};
            // Zones count as they are a cycle behind the check, keys as they are when it is judged.
            zone_then = zones[first[QP_W-1:0]];
            second = first;
            first = {tvalid && tready, check};
            if (change_we) table_word[change_at] = change_word;
            if (set_we) zones[set_qp] = set_zone;
            if (rst) begin
                first[192] = 1'b0;
                second[192] = 1'b0;
                waits = 0;
            end
        end
    endtask

    // ---------------------------------------------------------------- what comes in
    task make_change;
        begin
            change_we = below(8) < busy;
            change_at = $random(seed) & mask;
            change_word = {$random(seed), $random(seed), $random(seed), $random(seed), $random(seed), $random(seed)};
            // Alike enough that keys of the past are one bit away from those of the present.
            change_word[K_GEN +: 20] = generation ^ (below(4) == 0) << below(20);
            change_word[K_VALID] = below(4) != 0;
            change_word[K_EXISTS] = below(8) != 0;
            change_word[K_ZONE +: 16] = below(3);
            // Short ones and long ones, at low and high addresses.
            if (below(2)) change_word[K_LENGTH +: 48] = below(64);
            if (below(2)) change_word[K_BASE +: 64] = below(64);
            else if (below(4) == 0) change_word[K_BASE +: 64] = 64'd0 - below(64) - 1;
            set_we = below(8) < busy;
            set_qp = $random(seed);
            set_zone = {below(4) != 0, 16'd0} | below(3);
            if (below(8) == 0) set_zone[below(16)] = 1'b1;
        end
    endtask

    // A check of an entry as it is now, at or about an end of its range.
    task make_check;
        begin
            tvalid = below(8) < busy;
            check = 192'd0;
            k = $random(seed) & mask & (KEYS - 1);
            entry = table_word[k];
            key = {entry[K_GEN +: 20], 12'd0};
            {key[11], key[N_W-1:0]} = k;
            check[63:32] = key;
            check[15:0] = key[11] && below(4) != 0 ? entry[K_QP +: QP_W] : below(N);
            check[17:16] = 1 + below(2);
            bytes = below(4) == 0 ? $random(seed) : below(70);
            if (below(8) == 0) bytes = entry[K_LENGTH +: 48];
            case (below(4))
                0: from = entry[K_BASE +: 64];
                1: from = entry[K_BASE +: 64] + entry[K_LENGTH +: 48] - bytes;
                2: from = entry[K_BASE +: 64] + below(64);
                3: from = {$random(seed), $random(seed)};
            endcase
            check[127:64] = from + (below(4) == 0) - (below(4) == 0);
            check[159:128] = bytes;
            if (below(4) == 0) begin
                pick = below(2) ? 32 + below(32) : below(192);
                check[pick] = !check[pick];
            end
        end
    endtask

    task reset;
        begin
            {tvalid, change_we, set_we} = 3'd0;
            reset_and_clear(KEYS + N + 2);
            for (k = 0; k < KEYS; k = k + 1) table_word[k] = 0;
            for (k = 0; k < N; k = k + 1) zones[k] = 0;
            {first, second, zone_then, traced_before} = 0;
            {waits, head} = 64'd0;
        end
    endtask

    initial begin
        set_up(24000);
        for (n = 0; n < cycles; n = n + 1) begin
            if (n % 6000 == 0) reset;
            if (n % 64 == 0) begin
                busy = 1 + below(8);
                slow = below(8);
                mask = n[6] ? -1 : $random(seed);
                generation = $random(seed);
                removed = below(16) == 0;
            end
            if (below(16) == 0) up = $random(seed) | $random(seed);
            make_change;
            make_check;
            verdict_ready = below(8) >= slow;
            init = below(64) == 0;
            rst = below(1000) == 0;
            compare;
            advance;
            edge_of_clock;
        end
        passed;
    end

endmodule

`default_nettype wire
