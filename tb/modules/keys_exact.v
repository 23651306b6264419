// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_keys through its ports, cycle by cycle.
//
// Purpose: commands, requests and peers' invalidations about the same few keys, one in each cycle, right ones and ones that differ in a field or a bit,
//          zones that change, lookups of keys that are just changed, with resets and clearing walks under way. Against a table of regions and
//          windows, in which what is bound or held is counted anew each time (MW-02 to MW-07). Compares each decision, change, answer, lookup and
//          trace step in its cycle. The design may be the module or one of the netlist of mutants.
// Ports:   none. QP_W, N_W as parameters of the bench (NUM_QP is 1 << QP_W, NUM_MR and NUM_MW are 1 << N_W); defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps
`include "cde_defs.vh"
`include "cde_mem.vh"

module keys_exact;
    parameter QP_W = 2;
    parameter N_W = 2;
    localparam MR_W = N_W;
    `include "exact.vh"
    `include "clearing.vh"
    `include "cde_key_state.vh"
    localparam QPS = 1 << QP_W;
    localparam N = 1 << N_W;
    localparam OP = 1 + 1 + 4 + QP_W + 32 + 32 + 64 + 48 + 16 + 3;     // a request: {valid, peer, code, QP, key, region, base, length, zone, rights}

    reg                   peer_valid = 1'b0, peer_counts = 1'b0, op_valid = 1'b0, set_we = 1'b0;
    reg  [QP_W-1:0]       peer_qp = 0, op_qp = 0, set_qp = 0, look_qp = 0;
    reg  [31:0]           peer_key = 0, op_key = 0, op_region = 0;
    reg  [3:0]            op_code = 0;
    reg  [63:0]           op_base = 0;
    reg  [47:0]           op_length = 0;
    reg  [15:0]           op_zone = 0, set_zone = 0;
    reg  [2:0]            op_rights = 0;
    reg  [95:0]           keys = 0;
    wire                  op_ready, peer_good, opr_valid, look_held, removes, invalidates, change_we, trace_valid;
    wire [63:0]           peer_context;
    wire [7:0]            opr_status;
    wire [KW-1:0]         opr_word, change_word;
    wire [11:0]           opr_count;
    wire [389:0]          found;
    wire [N_W:0]          change_at;
    wire [255:0]          trace_data;

    `DUT dut (
        .clk(clk), .mem_i(mem_i), .mem_o(), .rst(rst), .init(init), .peer_valid(peer_valid), .peer_qp(peer_qp), .peer_key(peer_key),
        .peer_counts(peer_counts), .peer_good(peer_good), .peer_context(peer_context), .op_valid(op_valid), .op_ready(op_ready),
        .op_code(op_code), .op_qp(op_qp), .op_key(op_key), .op_region(op_region), .op_base(op_base), .op_length(op_length), .op_zone(op_zone),
        .op_rights(op_rights), .opr_valid(opr_valid), .opr_status(opr_status), .opr_word(opr_word), .opr_count(opr_count), .set_we(set_we),
        .set_qp(set_qp), .set_zone(set_zone), .look_qp(look_qp), .look_held(look_held), .keys(keys), .found(found), .removes(removes),
        .invalidates(invalidates), .change_we(change_we), .change_at(change_at), .change_word(change_word), .trace_valid(trace_valid),
        .trace_data(trace_data) `SELECT
    );

    // ---------------------------------------------------------------- the model
    // Regions, then windows.
    reg  [KW-1:0]   entries [0:2*N-1], old, next, region;
    reg  [63:0]     contexts [0:2*N-1], context;
    reg  [15:0]     zones [0:QPS-1], zone, its_zone, zone_of_first;
    reg  [389:0]    looked;
    // Taken in the last cycle, and in the one before, which is decided.
    reg  [OP-1:0]   first, second;
    reg             valid, peer, window, exists, current, good, fits, act, deny, request, ends, shows, answered, traced;
    reg  [3:0]      code;
    reg  [QP_W-1:0] qp;
    reg  [31:0]     key, key2;
    reg  [63:0]     base;
    reg  [47:0]     length;
    reg  [15:0]     named_zone;
    reg  [2:0]      rights;
    reg  [7:0]      status, answer, command;
    reg  [KW-1:0]   answer_word;
    reg  [11:0]     answer_count;
    reg  [255:0]    step;
    reg  [95:0]     before, after;
    reg  [127:0]    low, high;
    integer         k, at, at2, bound, bound_then, busy, mask, pick;

    task wrong;
        input [8*24-1:0] what;
        begin
            $display("wrong: %0s at %0t: code %0d, peer %b, QP %0d, key %h, region %h; good %b, change %b of %0d, want %b, %b of %0d", what, $time, code,
                     peer, qp, key, key2, peer_good, change_we, change_at, good, act, at);
            $finish;
        end
    endtask

    function integer windows_of;
        input integer of_region;
        integer i;
        begin
            windows_of = 0;
            for (i = N; i < 2 * N; i = i + 1) if (entries[i][K_VALID] && entries[i][K_REGION +: MR_W] == of_region) windows_of = windows_of + 1;
        end
    endfunction

    // Windows and regions made by requests that are valid on a QP.
    function integer held_by;
        input integer of_qp;
        integer i;
        begin
            held_by = 0;
            for (i = 0; i < 2 * N; i = i + 1)
                if (entries[i][K_VALID] && (i >= N || entries[i][K_ALLOC]) && entries[i][K_QP +: QP_W] == of_qp) held_by = held_by + 1;
        end
    endfunction

    function [95:0] shown;
        input [KW-1:0] entry;
        input integer  count;
        begin
            shown = 96'd0;
            shown[34:0] = {entry[K_ALLOC], entry[K_EXISTS], entry[K_VALID], entry[K_GEN +: 20], key[11:0]};
            if (!window) shown[46:35] = count;
            shown[48 +: QP_W] = entry[K_QP +: QP_W];
            shown[66:64] = entry[K_RIGHTS +: 3];
            if (window) shown[67 +: MR_W] = entry[K_REGION +: MR_W];
        end
    endfunction

    // Whether a request or a peer may do it, and what a request is answered.
    task judge;
        begin
            current = exists && old[K_GEN +: 20] == key[31:12];
            low = region[K_BASE +: 64];
            high = low + region[K_LENGTH +: 48];
            fits = length != 0;
            case (code)
                KEY_BIND: begin
                    good = current && window && old[K_ZONE +: 16] == zone;
                    fits = fits && key2[11:0] < N && region[K_VALID] && region[K_GEN +: 20] == key2[31:12] && region[K_ZONE +: 16] == zone &&
                           base >= low && {64'd0, base} + length <= high && (region[K_RIGHTS] || !rights[2]);
                end
                KEY_FAST: begin
                    good = current && !window && old[K_ALLOC] && old[K_ZONE +: 16] == zone;
                    fits = fits && {64'd0, base} + length <= 128'h1_0000_0000_0000_0000;
                end
                default: begin
                    good = current && old[K_VALID] && old[K_QP +: QP_W] == qp && (window || (old[K_ALLOC] && bound == 0));
                    fits = 1'b1;
                end
            endcase
            status = 8'h00;
            if ((code == KEY_BIND || code == KEY_FAST) && !fits) status = `CDE_CQESTATUS_BAD_MEMORY;
            if ((code == KEY_BIND || code == KEY_FAST) && old[K_VALID]) status = `CDE_CQESTATUS_ALREADY_VALID;
            if (!good) status = `CDE_CQESTATUS_INVALID_TOKEN;
        end
    endtask

    // The entry that it leaves.
    task change;
        begin
            next = old;
            case (code)
                KEY_REGISTER, KEY_ALLOC, KEY_CREATE: begin
                    next = 0;
                    next[K_GEN +: 20] = old[K_GEN +: 20] + 1;
                    next[K_ZONE +: 16] = named_zone;
                    next[K_EXISTS] = 1'b1;
                    next[K_ALLOC] = code == KEY_ALLOC;
                    if (code == KEY_REGISTER) begin
                        next[K_VALID] = 1'b1;
                        {next[K_LENGTH +: 48], next[K_BASE +: 64], next[K_RIGHTS +: 3]} = {length, base, rights};
                    end
                end
                KEY_BIND, KEY_FAST: begin
                    next[K_GEN +: 20] = old[K_GEN +: 20] + 1;
                    next[K_VALID] = 1'b1;
                    next[K_QP +: QP_W] = qp;
                    {next[K_LENGTH +: 48], next[K_BASE +: 64], next[K_RIGHTS +: 3]} = {length, base, rights};
                    if (code == KEY_BIND) {next[K_RIGHTS], next[K_REGION +: MR_W]} = {1'b0, key2[MR_W-1:0]};
                end
                KEY_DEREGISTER, KEY_CLOSE: {next[K_EXISTS], next[K_VALID], next[K_ALLOC]} = 3'b000;
                default: next[K_VALID] = 1'b0;
            endcase
        end
    endtask

    task decide;
        begin
            {valid, peer, code, qp, key, key2, base, length, named_zone, rights} = second;
            window = key[11];
            at = {window, key[N_W-1:0]};
            old = entries[at];
            region = entries[key2[N_W-1:0]];
            exists = old[K_EXISTS] && key[10:0] < N;
            zone = its_zone;
            request = code >= KEY_BIND;
            ends = code == KEY_DEREGISTER || code == KEY_CLOSE;
            at2 = code == KEY_BIND ? key2[MR_W-1:0] : window ? old[K_REGION +: MR_W] : key[MR_W-1:0];
            bound = windows_of(at2);
            judge;
            deny = code == KEY_LOOK || code == KEY_REMOVE ? 1'b0 : ends ? !exists || (code == KEY_DEREGISTER && bound != 0) : !request && exists;
            if (!request) status = 8'h00;
            act = valid && !deny && status == 8'h00 && code != KEY_LOOK && code != KEY_REMOVE && (!peer || peer_counts);
            change;
        end
    endtask

    task compare;
        begin
            #1;
            decide;
            if (op_ready !== (!peer_valid && !init)) wrong("room");
            if (valid && request && peer_good !== good) wrong("decision");
            if (change_we !== act || (act && change_at !== at)) wrong("change");
            if (act && change_word !== next) wrong("entry");
            if (removes !== (valid && code == KEY_REMOVE)) wrong("removal");
            if (invalidates !== (act && code >= KEY_INVALIDATE)) wrong("invalidation");
            if (first[OP-1] && first[OP-2] && peer_context !== context) wrong("context");
            if (found !== looked) wrong("lookup");
            if (look_held !== (held_by(look_qp) != 0)) wrong("held");
            if (opr_valid !== answered || (answered && {opr_status, opr_word} !== {answer, answer_word})) wrong("answer");
            if (answered && opr_count !== answer_count) wrong("count");
            if (trace_valid !== traced || (traced && trace_data !== step)) wrong("trace");
        end
    endtask

    task advance;
        begin
            answered = valid && !peer && !rst;
            {answer, answer_word} = {request ? status : deny ? `CDE_RES_BUSY : `CDE_RES_OK, act ? next : old};
            answer_count = bound;
            bound_then = bound;
            before = exists ? shown(old, bound) : 96'd0;
            if (act) entries[at] = next;
            if (act && (code == KEY_CREATE || code == KEY_ALLOC)) contexts[at] = code == KEY_CREATE ? base : 64'd0;
            bound_then = windows_of(at2);
            after = exists || code == KEY_REGISTER || code == KEY_ALLOC || code == KEY_CREATE ? shown(act ? next : old, bound_then) : 96'd0;
            // A request that names an entry of the wrong kind, or none, shows none.
            if (code == KEY_REMOVE || (code == KEY_BIND && !window) || (code == KEY_FAST && window)) {before, after} = 192'd0;
            traced = valid && !rst && (request ? !peer || peer_counts : act || code == KEY_REMOVE);
            command = code == KEY_REGISTER ? `CDE_CMD_REGISTER_MR : code == KEY_ALLOC ? `CDE_CMD_ALLOC_MR :
                      code == KEY_DEREGISTER ? `CDE_CMD_DEREGISTER_MR : code == KEY_CREATE ? `CDE_CMD_CREATE_MW : `CDE_CMD_CLOSE_MW;
            step = {after, before, 64'd0};
            step[23:8] = request ? qp : 16'hFFFF;
            case (code)
                KEY_BIND: {step[63:32], step[7:0]} = {5'd0, key[10:0], 8'd0, status, 8'd0 + `CDE_TRC_BIND};
                KEY_FAST: {step[63:32], step[7:0]} = {24'd0, status, 8'd0 + `CDE_TRC_FAST_REGISTER};
                KEY_REMOVE: step[7:0] = `CDE_TRC_REMOVED;
                KEY_INVALIDATE, KEY_PEER, KEY_READ:
                    {step[63:32], step[7:0]} = {22'd0, code == KEY_READ, peer, status, 8'd0 + `CDE_TRC_INVALIDATE};
                default: {step[63:32], step[7:0]} = {24'd0, command, 8'd0 + `CDE_TRC_KEY_COMMAND};
            endcase
            // What was taken in this cycle; its zone and context, and what is looked up, as they are behind its edge.
            if (set_we) zones[set_qp] = set_zone;
            second = first;
            its_zone = zone_of_first;
            first = {peer_valid || op_valid, peer_valid, peer_valid ? KEY_PEER : op_code, peer_valid ? peer_qp : op_qp, peer_valid ? peer_key : op_key,
                     op_region, op_base, op_length, op_zone, op_rights};
            zone_of_first = zones[peer_valid ? peer_qp : op_qp];
            context = contexts[{peer_key[11], peer_key[N_W-1:0]}];
            for (k = 0; k < 3; k = k + 1) begin
                key = keys[32*k +: 32];
                next = entries[key[N_W-1:0]];
                looked[130*k +: 130] = {next[K_LENGTH +: 48], next[K_BASE +: 64], next[K_RIGHTS], next[K_ZONE +: 16],
                                        next[K_VALID] && key[11:0] < N && next[K_GEN +: 20] == key[31:12]};
            end
            if (rst || init) {first[OP-1], second[OP-1]} = 2'b00;
        end
    endtask

    // ---------------------------------------------------------------- what comes in
    wire [31:0] first_key = first[163 +: 32];
    wire [3:0]  first_code = first[OP-3 -: 4];

    // A key of an entry as it is now, mostly, of one that is there and valid or not if there is one among a few.
    function [31:0] some_key;
        input want_window, want_valid;
        integer tries;
        begin
            pick = want_window ? N + (below(N) & mask) : below(N) & mask;
            for (tries = 0; tries < 4 && !(entries[pick][K_EXISTS] && entries[pick][K_VALID] == want_valid); tries = tries + 1)
                pick = want_window ? N + below(N) : below(N);
            some_key = {entries[pick][K_GEN +: 20], 12'd0};
            {some_key[11], some_key[N_W-1:0]} = pick;
            if (below(16) == 0) some_key = some_key ^ (32'd1 << below(32));
        end
    endfunction

    task make;
        begin
            op_valid = below(8) < busy;
            peer_valid = below(8) == 0;
            peer_counts = below(4) != 0;
            case (below(24))
                0: op_code = KEY_LOOK;
                1, 2: op_code = KEY_REGISTER;
                3, 4: op_code = KEY_ALLOC;
                5: op_code = KEY_DEREGISTER;
                6, 7: op_code = KEY_CREATE;
                8: op_code = KEY_CLOSE;
                9: op_code = below(8) == 0 ? KEY_REMOVE : KEY_LOOK;
                10, 11, 12, 13, 14, 15: op_code = KEY_BIND;
                16, 17, 18: op_code = KEY_FAST;
                19, 20, 21: op_code = KEY_INVALIDATE;
                22, 23: op_code = KEY_READ;
            endcase
            {op_qp, peer_qp} = $random(seed);
            op_key = some_key(op_code == KEY_BIND ? below(16) != 0 : op_code == KEY_FAST ? below(8) == 0 : op_code > KEY_FAST && below(3) != 0,
                              op_code > KEY_FAST);
            // Commands name numbers, of what they are about.
            if (op_code <= KEY_REMOVE) op_key = {20'd0, op_key[11:0]} & (N - 1);
            if (op_code == KEY_CREATE || op_code == KEY_CLOSE || (op_code == KEY_LOOK && below(2))) op_key[11] = 1'b1;
            peer_key = some_key(below(3) != 0, 1'b1);
            // Who has it valid asks, mostly.
            if (below(4) != 0 && op_code > KEY_FAST) op_qp = entries[{op_key[11], op_key[N_W-1:0]}][K_QP +: QP_W];
            if (below(4) != 0) peer_qp = entries[{peer_key[11], peer_key[N_W-1:0]}][K_QP +: QP_W];
            op_region = some_key(1'b0, 1'b1);
            if (below(6) == 0) op_region = op_region ^ (32'd1 << (N_W + below(12 - N_W)));
            // Of a region that changes just before it.
            if (below(4) == 0) op_region = {entries[first_key[N_W-1:0]][K_GEN +: 20] + (first_code == KEY_FAST), 12'd0 + first_key[N_W-1:0]};
            region = entries[op_region[N_W-1:0]];
            op_length = below(16) == 0 ? {$random(seed), $random(seed)} : below(6);
            case (below(8))
                0, 4, 5, 6: op_base = region[K_BASE +: 64] + below(4);
                1, 7: op_base = region[K_BASE +: 64] + region[K_LENGTH +: 48] - op_length + (below(4) == 0);
                2: op_base = 64'd0 - op_length - below(2) + (below(4) == 0);
                3: op_base = {$random(seed), $random(seed)};
            endcase
            if (op_code == KEY_REGISTER) op_length = below(2) ? 64 : {$random(seed), $random(seed)};
            op_zone = below(8) == 0;
            if (below(16) == 0) op_zone = op_zone ^ (16'd1 << below(16));
            op_rights = $random(seed);
            set_we = below(16) == 0;
            set_qp = $random(seed);
            set_zone = below(8) == 0;
            if (below(8) == 0) set_zone = set_zone ^ (16'd1 << below(16));
            look_qp = $random(seed);
            for (k = 0; k < 3; k = k + 1) keys[32*k +: 32] = some_key(below(16) == 0, 1'b1);
        end
    endtask

    task reset;
        begin
            {op_valid, peer_valid, set_we} = 3'd0;
            keys = 96'd0;
            reset_and_clear(2 * N + QPS + 2);
            for (k = 0; k < 2 * N; k = k + 1) {entries[k], contexts[k]} = 0;
            for (k = 0; k < QPS; k = k + 1) zones[k] = 16'd0;
            {first, second, looked, answered, traced, its_zone, zone_of_first, context} = 0;
        end
    endtask

    initial begin
        set_up(12000);
        for (n = 0; n < cycles; n = n + 1) begin
            if (n % 3000 == 0) reset;
            if (n % 64 == 0) begin
                busy = 1 + below(8);
                mask = n[6] ? -1 : $random(seed);
            end
            init = below(200) == 0;
            make;
            compare;
            advance;
            edge_of_clock;
        end
        passed;
    end

endmodule

`default_nettype wire
