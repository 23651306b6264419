// SPDX-License-Identifier: Apache-2.0
// cde_keys: the table of regions and windows (MW-01 to MW-05, MW-11, MW-12).
//
// Purpose: every step that gives, binds or takes away a key is decided in one stage, one after the other, so that of
//          two invalidations exactly one succeeds. Steps of requests and commands wait for a cycle that no receive
//          request needs.
// Ports:   peer invalidations (peer_*: place, then decision and whether it counts), one other step at a time (op_*,
//          opr_*), zones of QPs, lookups of segments (keys, found) and of checks (look_*, changes of the table:
//          change_*); trace lane 8.
// Latency: step taken in cycle t, decided in t+2. One a cycle.
`default_nettype none
`include "cde_defs.vh"
`include "cde_key_records.vh"
`include "cde_mem.vh"

module cde_keys #(
    parameter NUM_QP = 64,
    parameter QP_W = 6,
    parameter NUM_MR = 64,
    parameter NUM_MW = 64,
    parameter MR_W = 6,
    parameter N_W = 6,             // the larger of the two numbers
    parameter ECC = 1
) (
    input  wire              clk,
    input  wire [`CDE_MEM_W-1:0] mem_i,
    output wire [`CDE_MEM_W-1:0] mem_o,
    input  wire              rst,
    input  wire              init,

    input  wire              peer_valid,
    input  wire [QP_W-1:0]   peer_qp,
    input  wire [31:0]       peer_key,
    input  wire              peer_counts,    // with the decision: the message is taken
    output wire              peer_good,
    output wire [63:0]       peer_context,   // of the window, a cycle before the decision

    input  wire              op_valid,
    output wire              op_ready,
    input  wire [3:0]        op_code,
    input  wire [QP_W-1:0]   op_qp,
    input  wire [31:0]       op_key,         // commands: the number
    input  wire [31:0]       op_region,      // BIND: key of the region
    input  wire [63:0]       op_base,        // CREATE: the context
    input  wire [47:0]       op_length,
    input  wire [15:0]       op_zone,        // commands
    input  wire [2:0]        op_rights,
    output wire              opr_valid,
    output wire [7:0]        opr_status,     // of a request; a command's result
    output wire [`CDE_KEY_WORD_W-1:0] opr_word,
    output wire [11:0]       opr_count,      // of a region

    input  wire              set_we,
    input  wire [QP_W-1:0]   set_qp,
    input  wire [15:0]       set_zone,

    input  wire [QP_W-1:0]   look_qp,
    output wire              look_held,      // something is valid on look_qp

    input  wire [95:0]       keys,           // three keys
    output wire [3*`CDE_FOUND_W-1:0]  found,          // three times CDE_FOUND_*

    output wire              removes,        // the device goes
    output wire              invalidates,    // a key by a request or a peer
    output wire              change_we,
    output wire [N_W:0]      change_at,
    output wire [`CDE_KEY_WORD_W-1:0] change_word,

    output wire              trace_valid,
    output wire [255:0]      trace_data
);

    wire [`CDE_MEM_W-1:0] mem1, mem2, mem3, mem4, mem5, mem6;

    `include "cde_key_state.vh"

    // ---------------------------------------------------------------- stage A: which entry
    // A step of op_* waits while the one before is in stage B: of two steps in a row one at least is a peer's.
    wire        follows;
    wire        take = peer_valid || (op_valid && !follows);
    wire [31:0] a_key = peer_valid ? peer_key : op_key;
    wire [N_W:0] a_at = {a_key[11], a_key[N_W-1:0]};
    wire [N_W:0] a_region = {1'b0, op_region[N_W-1:0]};

    assign op_ready = !peer_valid && !init && !follows;

    function out_of_range;
        input [11:0] number;
        begin
            out_of_range = number[11] ? {21'd0, number[10:0]} >= NUM_MW : {21'd0, number[10:0]} >= NUM_MR;
        end
    endfunction

    reg              b_valid, c_valid, d_valid, b_peer, c_peer, d_peer, b_far, c_far, b_far2, c_far2;
    reg [3:0]        b_code, c_code, d_code;
    reg [QP_W-1:0]   b_qp, c_qp, d_qp;
    reg [31:0]       b_key, c_key, b_key2, c_key2;
    reg [11:0]       d_number;
    reg [63:0]       b_base, c_base;
    reg [47:0]       b_length, c_length;
    reg [64:0]       c_end;
    reg [15:0]       b_zone, c_zone;
    reg [2:0]        b_rights, c_rights;
    reg [N_W:0]      b_at, c_at, b_region;
    wire [15:0]      b_qp_zone;
    reg  [15:0]      qp_zone;
    wire [KW-1:0]    b_word;
    wire [`CDE_REGION_W-1:0] b_memory;
    wire             we;
    wire [KW-1:0]    word_next;
    // What the memory gave, or the step before has made of it. The memory's word comes too late in its cycle to be
    // chosen there. The step before a Bind is a peer's, which can only have taken the key of its region away.
    reg  [KW-1:0]    read, changed;
    reg              hit, killed;
    wire [KW-1:0]    word = hit ? changed : read;
    reg  [`CDE_REGION_W-1:0] memory;
    reg              empty, binds, fast, invalidate, create, alloc, register, deregister, closes, removes_1, requests,
                     acts;

    assign follows = b_valid && !b_peer;

    always @(posedge clk) begin
        {b_valid, c_valid} <= rst || init ? 2'b00 : {take, b_valid};
        {b_peer, c_peer} <= {peer_valid, b_peer};
        {b_far, c_far} <= {out_of_range(a_key[11:0]), b_far};
        {b_far2, c_far2} <= {out_of_range(op_region[11:0]) || op_region[11], b_far2};
        {b_code, c_code} <= {peer_valid ? KEY_PEER : op_code, b_code};
        {b_qp, c_qp} <= {peer_valid ? peer_qp : op_qp, b_qp};
        {b_key, c_key} <= {a_key, b_key};
        {b_key2, c_key2} <= {op_region, b_key2};
        {b_base, c_base} <= {op_base, b_base};
        {b_length, c_length} <= {op_length, b_length};
        c_end <= {1'b0, b_base} + {17'd0, b_length};
        empty <= b_length == 48'd0;
        {b_zone, c_zone} <= {op_zone, b_zone};
        qp_zone <= b_qp_zone;
        {b_rights, c_rights} <= {op_rights, b_rights};
        {b_at, c_at} <= {a_at, b_at};
        b_region <= a_region;
        read <= b_word;
        changed <= word_next;
        hit <= we && c_at == b_at;
        memory <= b_memory;
        killed <= we && c_at == b_region;
        binds <= b_code == KEY_BIND;
        fast <= b_code == KEY_FAST;
        invalidate <= b_code == KEY_INVALIDATE || b_code == KEY_READ || b_code == KEY_PEER;
        alloc <= b_code == KEY_ALLOC;
        register <= b_code == KEY_REGISTER;
        create <= b_code == KEY_CREATE || b_code == KEY_ALLOC || b_code == KEY_REGISTER;
        deregister <= b_code == KEY_DEREGISTER;
        closes <= b_code == KEY_CLOSE;
        removes_1 <= b_code == KEY_REMOVE;
        requests <= b_code >= KEY_BIND;
        acts <= b_code != KEY_LOOK && b_code != KEY_REMOVE;
    end

    // ---------------------------------------------------------------- stage B: memories
    cde_ram #(.W(16), .AW(QP_W), .ECC(ECC)) zone_ram (
        .clk(clk), .mem_i(mem_i), .mem_o(mem1), .we(set_we), .waddr(set_qp), .wdata(set_zone),
        .raddr(peer_valid ? peer_qp : op_qp), .rdata(b_qp_zone)
    );

    cde_ram #(.W(KW), .AW(N_W + 1), .ECC(ECC)) word_ram (
        .clk(clk), .mem_i(mem1), .mem_o(mem2), .we(we), .waddr(c_at), .wdata(word_next), .raddr(a_at), .rdata(b_word)
    );

    // Regions as Bind needs them: with the end of their range. A step that gives none leaves no valid key.
    cde_ram #(.W(`CDE_REGION_W), .AW(N_W + 1), .ECC(ECC)) memory_ram (
        .clk(clk), .mem_i(mem2), .mem_o(mem3), .we(we), .waddr(c_at), .wdata({c_end, word_next[`CDE_REGION_END-1:0]}),
        .raddr(a_region), .rdata(b_memory)
    );

    cde_ram #(.W(64), .AW(N_W + 1), .ECC(ECC)) context_ram (
        .clk(clk), .mem_i(mem3), .mem_o(mem4), .we(we && create && !register), .waddr(c_at),
        .wdata(alloc ? 64'd0 : c_base), .raddr(a_at), .rdata(peer_context)
    );

    genvar k;
    generate
        for (k = 0; k < 3; k = k + 1) begin : g_lookup
            wire [31:0]   key = keys[32*k +: 32];
            wire [KW-1:0] entry;
            wire [`CDE_MEM_W-1:0] mem_k;
            reg  [19:0]   generation;
            reg           far;

            cde_ram #(.W(KW), .AW(N_W + 1), .ECC(ECC)) lookup_ram (
                .clk(clk), .mem_i(k == 0 ? mem4 : k == 1 ? mem5 : mem6), .mem_o(mem_k),
                .we(we), .waddr(c_at), .wdata(word_next), .raddr({1'b0, key[N_W-1:0]}), .rdata(entry)
            );

            always @(posedge clk) begin
                generation <= key[31:12];
                far <= out_of_range(key[11:0]) || key[11];
            end

            wire unused_entry = &{1'b0, entry};
            assign found[`CDE_FOUND_W*k + `CDE_FOUND_VALID] = entry[`CDE_KEY_WORD_VALID] && !far &&
                                                              entry[`CDE_KEY_WORD_GENERATION +: 20] == generation;
            assign found[`CDE_FOUND_W*k + `CDE_FOUND_ZONE +: 16] = entry[`CDE_KEY_WORD_ZONE +: 16];
            assign found[`CDE_FOUND_W*k + `CDE_FOUND_LOCAL_WRITE] = entry[`CDE_KEY_WORD_RIGHTS];
            assign found[`CDE_FOUND_W*k + `CDE_FOUND_BASE +: 64] = entry[`CDE_KEY_WORD_BASE +: 64];
            assign found[`CDE_FOUND_W*k + `CDE_FOUND_LENGTH +: 48] = entry[`CDE_KEY_WORD_LENGTH +: 48];
        end
    endgenerate

    assign mem5 = g_lookup[0].mem_k;
    assign mem6 = g_lookup[1].mem_k;
    assign mem_o = g_lookup[2].mem_k;

    // ---------------------------------------------------------------- stage C: the decision
    reg [11:0] bound [0:NUM_MR-1];           // windows bound to a region
    reg [12:0] held [0:NUM_QP-1];            // windows and regions that are valid on a QP
    reg [NUM_MR-1:0] bound_begun;            // the word counts; else it is 0
    reg [NUM_QP-1:0] held_begun;

    // Counted a cycle behind the decision; a look has what is on its way.
    reg             gained, lost_one;
    reg  [QP_W-1:0] held_at;
    wire            look_same = held_at == look_qp;
    wire [12:0]     look_count = held_begun[look_qp] ? held[look_qp] : 13'd0;

    assign look_held = (look_count != 13'd0 && !(lost_one && look_same && look_count == 13'd1)) ||
        (gained && look_same);

    // What compares bits of the entry does so for both words that it may be.
    wire [1:0]  same_key, same_zone, same_qp, last_key;
    genvar      i;
    generate
        for (i = 0; i < 2; i = i + 1) begin : g_compare
            wire [KW-1:0] e = i == 0 ? read : changed;
            wire          unused_e = &{1'b0, e};
            assign same_key[i] = e[`CDE_KEY_WORD_GENERATION +: 20] == c_key[31:12];
            assign same_zone[i] = e[`CDE_KEY_WORD_ZONE +: 16] == qp_zone;
            assign same_qp[i] = e[`CDE_KEY_WORD_QP +: QP_W] == c_qp;
            assign last_key[i] = &e[`CDE_KEY_WORD_GENERATION +: 20];
        end
    endgenerate

    wire [1:0]  which = {hit, !hit};
    wire        window = c_key[11];
    wire        exists = word[`CDE_KEY_WORD_EXISTS] && !c_far;
    wire        valid = word[`CDE_KEY_WORD_VALID];
    wire        present = exists && (same_key & which) != 2'b00;
    wire        my_zone = (same_zone & which) != 2'b00;
    wire        mine = (same_qp & which) != 2'b00;
    wire        no_more = (last_key & which) != 2'b00;
    wire [19:0] next_generation = word[`CDE_KEY_WORD_GENERATION +: 20] + 20'd1;

    // Windows are counted a cycle behind the decision, too. Whether a step's own region has any is looked at in stage
    // B, with the step that is being counted, and here with the one before.
    wire [MR_W-1:0] region = binds ? c_key2[MR_W-1:0] : window ? word[`CDE_KEY_WORD_REGION +: MR_W] : c_key[MR_W-1:0];
    reg  [MR_W-1:0] bound_at;
    reg             bound_more, bound_less;
    wire            b_same = bound_at == b_key[MR_W-1:0];
    wire [11:0]     b_bound = bound_begun[b_key[MR_W-1:0]] ? bound[b_key[MR_W-1:0]] : 12'd0;
    reg             any, several, near;
    wire            busy = !window && (near && bound_more ? 1'b1 : near && bound_less ? several : any);

    // The range of a Bind within its region's; each compared by halves.
    wire [63:0] start = memory[`CDE_KEY_WORD_BASE +: 64];
    wire [64:0] limit = memory[`CDE_REGION_END +: 65];
    wire        contained = (c_base[63:32] > start[63:32] ||
        (c_base[63:32] == start[63:32] && c_base[31:0] >= start[31:0])) &&
        (c_end[64:32] < limit[64:32] || (c_end[64:32] == limit[64:32] && c_end[31:0] <= limit[31:0]));
    wire        memory_good = !c_far2 && memory[`CDE_KEY_WORD_VALID] && !killed &&
        memory[`CDE_KEY_WORD_GENERATION +: 20] == c_key2[31:12] && memory[`CDE_KEY_WORD_ZONE +: 16] == qp_zone &&
                              contained && !empty && !(c_rights[2] && !memory[`CDE_KEY_WORD_RIGHTS]);
    wire        unused_memory = &{1'b0, memory, c_key2};
    wire        token_good = binds ? present && window && my_zone
                           : fast ? present && !window && my_zone && word[`CDE_KEY_WORD_ALLOC]
                           : present && valid && mine && !busy && (window || word[`CDE_KEY_WORD_ALLOC]);
    wire        space_good = binds ? memory_good : !empty && (!c_end[64] || c_end[63:0] == 64'd0);

    assign peer_good = token_good;

    // Why a request fails, the first one counts.
    wire already = !invalidate && valid;
    wire no_space = !invalidate && !space_good;
    wire no_keys = !invalidate && no_more;
    wire passes = token_good && !already && !no_space && !no_keys;

    // Commands were checked by the one who asks; only what a request could change meanwhile is checked here.
    wire refused = (create && (exists || no_more)) || ((deregister || closes) && !exists) || (deregister && busy);
    wire changes = c_valid && acts && (!requests || passes) && !refused && !(c_peer && !peer_counts);
    wire unbinds = changes && window && valid && (invalidate || closes);

    reg [KW-1:0] w;

    always @* begin
        w = word;
        if (create || binds || fast) w[`CDE_KEY_WORD_GENERATION +: 20] = next_generation;
        if (create) begin
            w[`CDE_KEY_WORD_EXISTS] = 1'b1;
            w[`CDE_KEY_WORD_VALID] = register;
            w[`CDE_KEY_WORD_ALLOC] = alloc;
            w[`CDE_KEY_WORD_ZONE +: 16] = c_zone;
            w[`CDE_KEY_WORD_QP +: QP_W] = {QP_W{1'b0}};
            w[`CDE_KEY_WORD_REGION +: MR_W] = {MR_W{1'b0}};
        end
        if (create || binds || fast) begin
            w[`CDE_KEY_WORD_RIGHTS +: 3] = binds ? {c_rights[2:1], 1'b0} : register || fast ? c_rights : 3'd0;
            w[`CDE_KEY_WORD_BASE +: 64] = register || binds || fast ? c_base : 64'd0;
            w[`CDE_KEY_WORD_LENGTH +: 48] = register || binds || fast ? c_length : 48'd0;
        end
        if (binds || fast) begin
            w[`CDE_KEY_WORD_VALID] = 1'b1;
            w[`CDE_KEY_WORD_QP +: QP_W] = c_qp;
        end
        if (binds) w[`CDE_KEY_WORD_REGION +: MR_W] = c_key2[MR_W-1:0];
        if (invalidate) w[`CDE_KEY_WORD_VALID] = 1'b0;
        if (deregister || closes) begin
            w[`CDE_KEY_WORD_EXISTS] = 1'b0;
            w[`CDE_KEY_WORD_VALID] = 1'b0;
            w[`CDE_KEY_WORD_ALLOC] = 1'b0;
        end
    end

    assign we = changes;
    assign invalidates = changes && invalidate;
    assign removes = c_valid && removes_1;
    assign word_next = w;
    assign change_we = we;
    assign change_at = c_at;
    assign change_word = word_next;

    wire        gains = changes && (binds || fast);
    wire        loses = changes && valid && (window || word[`CDE_KEY_WORD_ALLOC]) &&
        (invalidate || closes || deregister);
    wire [QP_W-1:0] holder = gains ? c_qp : word[`CDE_KEY_WORD_QP +: QP_W];
    wire [12:0] held_now = held_begun[held_at] ? held[held_at] : 13'd0;

    // ---------------------------------------------------------------- stage D: counts, answer
    reg  [KW-1:0] d_word;
    reg         d_changes, d_exists, d_token, d_already, d_no_space, d_no_keys, d_refused, d_requests, d_counts;
    reg         d_create;
    wire [11:0] windows = bound_begun[bound_at] ? bound[bound_at] : 12'd0;
    wire [7:0]  status = !d_token ? `CDE_CQESTATUS_INVALID_TOKEN : d_already ? `CDE_CQESTATUS_ALREADY_VALID :
                         d_no_space ? `CDE_CQESTATUS_BAD_MEMORY : d_no_keys ? `CDE_CQESTATUS_NO_KEYS : 8'h00;

    assign opr_valid = d_valid && !d_peer;
    assign opr_status = d_requests ? status : d_refused ? `CDE_RES_BUSY : `CDE_RES_OK;
    assign opr_word = d_changes ? changed : d_word;
    assign opr_count = windows;

    // Low from power-up, before any clock edge.
    initial d_valid = 1'b0;
    always @(posedge clk) begin
        {bound_more, bound_less} <= {changes && binds, unbinds} & {2{!rst}};
        bound_at <= region;
        near <= region == b_key[MR_W-1:0];
        any <= b_same && bound_more ? 1'b1 : b_same && bound_less ? b_bound > 12'd1 : b_bound != 12'd0;
        several <= b_same && bound_more ? b_bound != 12'd0 : b_bound > (b_same && bound_less ? 12'd2 : 12'd1);
        if (bound_more || bound_less) begin
            bound[bound_at] <= bound_more ? windows + 12'd1 : windows - 12'd1;
            bound_begun[bound_at] <= 1'b1;
        end
        {gained, lost_one} <= {gains, loses} & {2{!rst}};
        held_at <= holder;
        if (gained || lost_one) begin
            held[held_at] <= gained ? held_now + 13'd1 : held_now - 13'd1;
            held_begun[held_at] <= 1'b1;
        end
        d_valid <= c_valid && !rst;
        {d_peer, d_code, d_qp, d_number, d_word} <= {c_peer, c_code, c_qp, c_key[11:0], word};
        {d_changes, d_exists, d_token, d_already} <= {changes, exists, token_good, already};
        {d_no_space, d_no_keys, d_refused} <= {no_space, no_keys, refused};
        {d_requests, d_counts, d_create} <= {requests, !c_peer || peer_counts, create};
        if (rst) begin
            bound_begun <= {NUM_MR{1'b0}};
            held_begun <= {NUM_QP{1'b0}};
        end
    end

    cde_key_trace #(.QP_W(QP_W), .MR_W(MR_W)) trace_i (
        .valid(d_valid), .code(d_code), .qp(d_qp), .number(d_number), .counts(d_counts), .changes(d_changes),
        .exists(d_exists), .creates(d_create), .status(status), .windows(windows), .old(d_word), .next(opr_word),
        .trace_valid(trace_valid), .trace_data(trace_data)
    );

`ifdef FORMAL
    // What is counted of each queue pair, for proofs of this module.
    wire [13*NUM_QP-1:0] f_held;
    genvar               q;
    generate
        for (q = 0; q < NUM_QP; q = q + 1) begin : f_counts
            assign f_held[13 * q +: 13] = held_begun[q] ? held[q] : 13'd0;
        end
    endgenerate
`endif

endmodule

`default_nettype wire
