// SPDX-License-Identifier: Apache-2.0
// cde_keys: the table of regions and windows (MW-01 to MW-05, MW-08, MW-11, MW-12, CQ-03, CQ-05).
//
// Purpose: every step that gives, binds or takes away a key is decided in one stage, one after the other, so that of
//          two invalidations exactly one succeeds. Steps of requests and commands wait for a cycle that no receive
//          request needs.
// Ports:   peer invalidations (peer_*: place, then decision and whether it counts), one other step at a time (op_*,
//          opr_*), zones of QPs, lookups of segments (keys, found) and of checks (look_*, changes of the table:
//          change_*); trace lane 8.
// Latency: step taken in cycle t, decided in t+2; one of op_* is taken when it has been valid for a cycle.
//          Keys in cycle t, found valid in t+3: by what the table is in t+1. Throughput: one step per cycle.
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
    output reg               peer_good,
    output wire [63:0]       peer_context,   // of the window, a cycle before the decision

    input  wire              op_valid,
    output wire              op_ready,
    input  wire [3:0]        op_code,
    input  wire [QP_W-1:0]   op_qp,
    input  wire [31:0]       op_key,         // commands: the number
    input  wire [31:0]       op_region,      // BIND: key of the region, a cycle before op_valid already
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
    output wire              removes_next,   // in the next cycle
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
    // A step of op_* waits until its region is on the way out of memory, and until the one before is decided: the
    // three steps before one of op_* are peers'.
    reg         asked;
    wire        take = peer_valid || (op_valid && asked);
    wire [31:0] a_key = peer_valid ? peer_key : op_key;
    wire [N_W:0] a_at = {a_key[11], a_key[N_W-1:0]};
    wire [N_W:0] a_region = {1'b0, op_region[N_W-1:0]};

    assign op_ready = asked && !peer_valid && !init;

    function out_of_range;
        input [11:0] number;
        begin
            out_of_range = number[11] ? {21'd0, number[10:0]} >= NUM_MW : {21'd0, number[10:0]} >= NUM_MR;
        end
    endfunction

    reg              b_valid, c_valid, d_valid, b_peer, c_peer, d_peer, b_far, c_far, b_far2;
    reg [3:0]        b_code, c_code, d_code; reg [QP_W-1:0] b_qp, c_qp, d_qp;
    reg [31:0]       b_key, c_key, b_key2, c_key2;
    reg [11:0]       d_number;
    reg [63:0]       b_base, c_base;
    reg [47:0]       b_length, c_length;
    reg [64:0]       op_end, b_end, c_end;
    reg [15:0]       b_zone, c_zone;
    reg [2:0]        b_rights, c_rights;
    reg [N_W:0]      b_at, c_at, b_region;
    wire [15:0]      b_qp_zone;
    wire [KW-1:0]    b_word;
    wire [`CDE_REGION_W-1:0] a_memory;
    reg  [`CDE_REGION_W-1:0] b_memory;
    wire             we;
    wire [KW-1:0]    word_next;
    // What the memory gave, or the step before has made of it: known too late in stage B for the word to be chosen
    // there. The three steps before a Bind are peers', which can only have taken the key of its region away.
    reg  [KW-1:0]    read, changed;
    reg              hit, killed, b_killed, a_killed;
    wire             hit_next = we && c_at == b_at && !rst;
    wire [KW-1:0]    word = hit ? changed : read;
    reg              empty, whole, binds, fast, invalidate, create, alloc, register, deregister, closes, removes_1,
                     requests, acts, gives;

    // What changes the table, a cycle after the decision: changed, and
    reg              d_we; reg [N_W:0] d_at; reg [64:0] d_end;

    always @(posedge clk) begin
        asked <= op_valid && !(take && !peer_valid) && !(b_valid && !b_peer) && !(c_valid && !c_peer) && !rst && !init;
        {b_valid, c_valid} <= rst || init ? 2'b00 : {take, b_valid};
        {b_peer, c_peer} <= {peer_valid, b_peer};
        {b_far, c_far} <= {out_of_range(a_key[11:0]), b_far};
        b_far2 <= out_of_range(op_region[11:0]) || op_region[11];
        {b_code, c_code} <= {peer_valid ? KEY_PEER : op_code, b_code};
        {b_qp, c_qp} <= {peer_valid ? peer_qp : op_qp, b_qp};
        {b_key, c_key} <= {a_key, b_key};
        {b_key2, c_key2} <= {op_region, b_key2};
        {b_base, c_base, b_length, c_length} <= {op_base, b_base, op_length, b_length};
        op_end <= {1'b0, op_base} + {17'd0, op_length};
        {b_end, c_end} <= {op_end, b_end};
        empty <= b_length == 48'd0;
        whole <= !b_end[64] || b_end[63:0] == 64'd0;
        {b_zone, c_zone, b_rights, c_rights} <= {op_zone, b_zone, op_rights, b_rights};
        {b_at, c_at} <= {a_at, b_at};
        b_region <= a_region;
        read <= b_word;
        changed <= word_next;
        hit <= hit_next;
        b_memory <= a_memory;
        a_killed <= we && c_at == a_region;
        b_killed <= a_killed || (we && c_at == a_region);
        killed <= b_killed || (we && c_at == b_region);
        {binds, fast} <= {b_code == KEY_BIND, b_code == KEY_FAST};
        invalidate <= b_code == KEY_INVALIDATE || b_code == KEY_READ || b_code == KEY_PEER;
        {alloc, register} <= {b_code == KEY_ALLOC, b_code == KEY_REGISTER};
        create <= b_code == KEY_CREATE || b_code == KEY_ALLOC || b_code == KEY_REGISTER;
        gives <= b_code == KEY_CREATE || b_code == KEY_ALLOC || b_code == KEY_REGISTER || b_code == KEY_BIND ||
            b_code == KEY_FAST;
        {deregister, closes} <= {b_code == KEY_DEREGISTER, b_code == KEY_CLOSE};
        removes_1 <= removes_next;
        requests <= b_code >= KEY_BIND;
        acts <= b_code != KEY_LOOK && b_code != KEY_REMOVE;
        {d_we, d_at, d_end} <= {we && !rst, c_at, c_end};
    end

    // ---------------------------------------------------------------- stage B: memories
    cde_ram #(.W(16), .AW(QP_W), .ECC(ECC)) zone_ram (
        .clk(clk), .mem_i(mem_i), .mem_o(mem1), .we(set_we), .waddr(set_qp), .wdata(set_zone),
        .raddr(peer_valid ? peer_qp : op_qp), .rdata(b_qp_zone)
    );

    // A peer's step has its word compared in stage B: this memory must answer out of registers.
    cde_ram #(.W(KW), .AW(N_W + 1), .ECC(ECC), .SMALL(7)) word_ram (
        .clk(clk), .mem_i(mem1), .mem_o(mem2), .we(we), .waddr(c_at), .wdata(word_next), .raddr(a_at), .rdata(b_word)
    );

    // Regions as Bind needs them: with the end of their range. A step that gives none leaves no valid key. Read two
    // cycles before the Bind is taken.
    cde_ram #(.W(`CDE_REGION_W), .AW(N_W + 1), .ECC(ECC), .LATE(1)) memory_ram (
        .clk(clk), .mem_i(mem2), .mem_o(mem3), .we(d_we), .waddr(d_at),
        .wdata({d_end, changed[`CDE_REGION_END-1:0]}), .raddr(a_region), .rdata(a_memory)
    );

    // Of windows: that of a region is 0.
    wire [63:0]      b_context;
    wire             creates;

    cde_ram #(.W(64), .AW(N_W), .ECC(ECC)) context_ram (
        .clk(clk), .mem_i(mem3), .mem_o(mem4), .we(creates), .waddr(c_at[N_W-1:0]), .wdata(c_base),
        .raddr(a_at[N_W-1:0]), .rdata(b_context)
    );

    assign peer_context = b_at[N_W] ? b_context : 64'd0;

    genvar k;
    generate
        for (k = 0; k < 3; k = k + 1) begin : g_lookup
            wire [`CDE_MEM_W-1:0] mem_k;

            cde_key_lookup #(.QP_W(QP_W), .NUM_MR(NUM_MR), .MR_W(MR_W), .N_W(N_W), .ECC(ECC)) lookup_i (
                .clk(clk), .mem_i(k == 0 ? mem4 : k == 1 ? mem5 : mem6), .mem_o(mem_k), .we(d_we), .at(d_at),
                .word(changed), .key(keys[32*k +: 32]), .found(found[`CDE_FOUND_W*k +: `CDE_FOUND_W])
            );
        end
    endgenerate

    assign {mem5, mem6, mem_o} = {g_lookup[0].mem_k, g_lookup[1].mem_k, g_lookup[2].mem_k};

    // ---------------------------------------------------------------- stage C: the decision
    wire changes, busy_next;
    reg  busy;
    reg [11:0] bound [0:NUM_MR-1];           // windows bound to a region
    reg [2:0]  bound_is [0:NUM_MR-1];        // whether they are at least three, two, one
    reg [12:0] held [0:NUM_QP-1];            // windows and regions that are valid on a QP
    reg [N_W+QP_W-1:0] walk;                 // clears them while the memories are cleared

    // Counted a cycle after the decision; a look has what is on its way.
    reg             gained, lost_one;
    reg  [QP_W-1:0] held_at;
    wire            look_same = held_at == look_qp;
    wire [12:0]     look_count = held[look_qp];

    assign look_held = (look_count != 13'd0 && !(lost_one && look_same && look_count == 13'd1)) ||
        (gained && look_same);

    // What compares bits of the entry does so in stage B, for both words that it may be: the one that was read, and
    // what the step before makes of its word if it changes it. One before a step of op_* is a peer's, which changes
    // neither generation nor zone; what CREATE or REGISTER makes is of no QP that could have it taken away.
    localparam [19:0] KEY_STEP = 20'd1;      // from the generation of a key to that of the entry's next one
    reg  [19:0] b_less;                      // generation of the key before
    reg  [1:0]  same_key, same_zone, same_qp, last_key, usable;      // usable: valid, of a kind that can be ended
    reg  [KW-1:0] w;
    wire [1:0]  key_next = {word[`CDE_KEY_WORD_GENERATION +: 20] == (gives ? b_less : b_key[31:12]),
                            b_word[`CDE_KEY_WORD_GENERATION +: 20] == b_key[31:12]};
    wire [1:0]  qp_next = {(binds || fast ? c_qp : word[`CDE_KEY_WORD_QP +: QP_W]) == b_qp,
                           b_word[`CDE_KEY_WORD_QP +: QP_W] == b_qp};
    wire [1:0]  kind = {b_key[11] || w[`CDE_KEY_WORD_ALLOC], b_key[11] || b_word[`CDE_KEY_WORD_ALLOC]};
    wire [1:0]  usable_next = {!b_far && w[`CDE_KEY_WORD_EXISTS] && w[`CDE_KEY_WORD_VALID] && kind[1],
        !b_far && b_word[`CDE_KEY_WORD_EXISTS] && b_word[`CDE_KEY_WORD_VALID] && kind[0]};
    wire [1:0]  ends_next = usable_next & key_next & qp_next;        // if the region is not busy

    always @(posedge clk) begin
        b_less <= a_key[31:12] - KEY_STEP;
        {same_key, same_qp, usable} <= {key_next, qp_next, usable_next};
        same_zone <= {word[`CDE_KEY_WORD_ZONE +: 16] == b_qp_zone, b_word[`CDE_KEY_WORD_ZONE +: 16] == b_qp_zone};
        last_key <= {&word[`CDE_KEY_WORD_GENERATION +: 20], &b_word[`CDE_KEY_WORD_GENERATION +: 20]};
        busy <= busy_next;
        peer_good <= ends_next[hit_next] && !busy_next;
    end

    // Which word it is comes last for what changes the table.
    wire [1:0]  is_valid = {changed[`CDE_KEY_WORD_VALID], read[`CDE_KEY_WORD_VALID]};
    wire [1:0]  is_there = {changed[`CDE_KEY_WORD_EXISTS], read[`CDE_KEY_WORD_EXISTS]} & {2{!c_far}};
    wire        window = c_key[11], valid = word[`CDE_KEY_WORD_VALID], exists = is_there[hit], no_more = last_key[hit];
    wire [1:0]  is_alloc = {changed[`CDE_KEY_WORD_ALLOC], read[`CDE_KEY_WORD_ALLOC]}, present = is_there & same_key;
    wire [19:0] next_generation = word[`CDE_KEY_WORD_GENERATION +: 20] + KEY_STEP;

    wire unbinds = changes && window && valid && (invalidate || closes);

    // Windows are counted a cycle after the decision, too. Whether a step's own region has any is looked at in stage
    // B, with the step that is being counted and with the one that is decided.
    wire [MR_W-1:0] region = binds ? c_key2[MR_W-1:0] : window ? word[`CDE_KEY_WORD_REGION +: MR_W] : c_key[MR_W-1:0];
    reg  [MR_W-1:0] bound_at;
    reg             bound_more, bound_less;
    wire [2:0]      b_is = bound_is[b_key[MR_W-1:0]];
    wire            b_same = bound_at == b_key[MR_W-1:0], b_one = b_is[0], b_two = b_is[1], b_three = b_is[2];
    wire            any = b_same && bound_more ? 1'b1 : b_same && bound_less ? b_two : b_one;
    wire            several = b_same && bound_more ? b_one : b_same && bound_less ? b_three : b_two;
    wire            near = region == b_key[MR_W-1:0];
    assign          busy_next = !b_key[11] && (near && changes && binds ? 1'b1 : near && unbinds ? several : any);

    // The range of a Bind within its region's, each compared by halves; in stage B, as all that its region says.
    wire [63:0] start = b_memory[`CDE_KEY_WORD_BASE +: 64];
    wire [64:0] limit = b_memory[`CDE_REGION_END +: 65];
    reg         above, from_same, from_low, below, to_same, to_low, region_key, region_zone, region_good;
    wire        contained = (above || (from_same && from_low)) && (below || (to_same && to_low));
    wire        memory_good = region_key && region_zone && region_good && contained && !killed;

    always @(posedge clk) begin
        {above, from_same} <= {b_base[63:32] > start[63:32], b_base[63:32] == start[63:32]};
        from_low <= b_base[31:0] >= start[31:0];
        {below, to_same} <= {b_end[64:32] < limit[64:32], b_end[64:32] == limit[64:32]};
        to_low <= b_end[31:0] <= limit[31:0];
        region_key <= b_memory[`CDE_KEY_WORD_GENERATION +: 20] == b_key2[31:12];
        region_zone <= b_memory[`CDE_KEY_WORD_ZONE +: 16] == b_qp_zone;
        region_good <= !b_far2 && b_memory[`CDE_KEY_WORD_VALID] && b_length != 48'd0 &&
            !(b_rights[2] && !b_memory[`CDE_KEY_WORD_RIGHTS]);
    end

    wire        unused_memory = &{1'b0, b_memory, c_key, c_key2};
    wire [1:0]  ends = usable & same_key & same_qp & {2{!busy}};
    wire [1:0]  token_good = binds ? present & same_zone & {2{window}}
                           : fast ? present & same_zone & is_alloc & {2{!window}} : ends;
    wire        space_good = binds ? memory_good : !empty && whole;

    // Why a request fails, the first one counts.
    wire [1:0] already = is_valid & {2{!invalidate}}, no_keys = last_key & {2{!invalidate}};
    wire no_space = !invalidate && !space_good;
    wire [1:0] passes = token_good & ~already & ~no_keys & {2{!no_space}};

    // Commands were checked by the one who asks; only what a request could change meanwhile is checked here.
    wire [1:0] refused = ({2{create}} & (is_there | last_key)) | ({2{deregister || closes}} & ~is_there) |
                         {2{deregister && busy}};
    wire [1:0] may = ({2{!requests}} | passes) & ~refused & {2{c_valid && acts}};
    assign changes = may[hit] && !(c_peer && !peer_counts);
    assign creates = c_valid && create && window && !exists && !no_more;       // a window

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
    assign {removes, removes_next} = {removes_1, b_valid && b_code == KEY_REMOVE && !rst && !init};
    assign word_next = w;
    assign change_we = we;
    assign change_at = c_at;
    assign change_word = word_next;

    wire        gains = changes && (binds || fast);
    wire        loses = changes && valid && (window || word[`CDE_KEY_WORD_ALLOC]) &&
        (invalidate || closes || deregister);
    wire [QP_W-1:0] holder = binds || fast ? c_qp : word[`CDE_KEY_WORD_QP +: QP_W];
    wire [12:0] held_now = held[held_at];

    // ---------------------------------------------------------------- stage D: counts, answer
    reg  [KW-1:0] d_word;
    reg         d_changes, d_exists, d_token, d_already, d_no_space, d_no_keys, d_refused, d_requests, d_counts;
    reg         d_create;
    wire [11:0] windows = bound[bound_at];
    wire [7:0]  status = !d_token ? `CDE_CQESTATUS_INVALID_TOKEN : d_already ? `CDE_CQESTATUS_ALREADY_VALID :
                         d_no_space ? `CDE_CQESTATUS_BAD_MEMORY : d_no_keys ? `CDE_CQESTATUS_NO_KEYS : 8'h00;

    assign opr_valid = d_valid && !d_peer;
    assign opr_status = d_requests ? status : d_refused ? `CDE_RES_BUSY : `CDE_RES_OK;
    assign opr_word = d_changes ? changed : d_word;
    assign opr_count = windows;

    // Low from power-up, before any clock edge.
    initial d_valid = 1'b0;
    always @(posedge clk) begin
        {bound_at, bound_more, bound_less} <= {region, {changes && binds, unbinds} & {2{!rst}}};
        walk <= rst ? {(N_W+QP_W){1'b0}} : walk + 1'b1;
        if (init || bound_more || bound_less) begin
            bound[init ? walk[MR_W-1:0] : bound_at] <= init ? 12'd0 : bound_more ? windows + 12'd1 : windows - 12'd1;
            bound_is[init ? walk[MR_W-1:0] : bound_at] <= init ? 3'd0 : bound_more ?
                {windows > 12'd1, windows > 12'd0, 1'b1} : {windows > 12'd3, windows > 12'd2, windows > 12'd1};
        end
        {held_at, gained, lost_one} <= {holder, {gains, loses} & {2{!rst}}};
        if (init || gained || lost_one)
            held[init ? walk[QP_W-1:0] : held_at] <= init ? 13'd0 : gained ? held_now + 13'd1 : held_now - 13'd1;
        d_valid <= c_valid && !rst;
        {d_peer, d_code, d_qp, d_number, d_word} <= {c_peer, c_code, c_qp, c_key[11:0], word};
        {d_changes, d_exists, d_token, d_already} <= {changes, exists, token_good[hit], already[hit]};
        {d_no_space, d_no_keys, d_refused} <= {no_space, no_keys[hit], refused[hit]};
        {d_requests, d_counts, d_create} <= {requests, !c_peer || peer_counts, create};
    end

    cde_key_trace #(.QP_W(QP_W), .MR_W(MR_W)) trace_i (
        .valid(d_valid), .code(d_code), .qp(d_qp), .number(d_number), .counts(d_counts), .changes(d_changes),
        .exists(d_exists), .creates(d_create), .status(status), .windows(windows), .old(d_word), .next(opr_word),
        .trace_valid(trace_valid), .trace_data(trace_data)
    );

`ifdef FORMAL
    // What is counted of each queue pair and of region 0, for proofs of this module.
    wire [13*NUM_QP-1:0] f_held;
    wire [14:0] f_bound = {bound_is[0], bound[0]};
    generate
        for (k = 0; k < NUM_QP; k = k + 1) begin : f_counts
            assign f_held[13 * k +: 13] = held[k];
        end
    endgenerate
`endif

endmodule

`default_nettype wire
