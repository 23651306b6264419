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
    output reg               opr_valid,
    output reg  [7:0]        opr_status,     // of a request; a command's result
    output reg  [`CDE_KEY_WORD_W-1:0] opr_word,
    output reg  [11:0]       opr_count,

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

    output reg               trace_valid,
    output reg  [255:0]      trace_data
);

    wire [`CDE_MEM_W-1:0] mem1, mem2, mem3, mem4, mem5, mem6;

    `include "cde_key_state.vh"

    // ---------------------------------------------------------------- stage A: which entry
    wire        take = peer_valid || op_valid;
    wire [31:0] a_key = peer_valid ? peer_key : op_key;
    wire [N_W:0] a_at = {a_key[11], a_key[N_W-1:0]};
    wire [N_W:0] a_region = {1'b0, op_region[N_W-1:0]};

    assign op_ready = !peer_valid && !init;

    function out_of_range;
        input [11:0] number;
        begin
            out_of_range = number[11] ? {21'd0, number[10:0]} >= NUM_MW : {21'd0, number[10:0]} >= NUM_MR;
        end
    endfunction

    reg              b_valid, c_valid, b_peer, c_peer, b_far, c_far, b_far2, c_far2;
    reg [3:0]        b_code, c_code;
    reg [QP_W-1:0]   b_qp, c_qp;
    reg [31:0]       b_key, c_key, b_key2, c_key2;
    reg [63:0]       b_base, c_base;
    reg [47:0]       b_length, c_length;
    reg [15:0]       b_zone, c_zone;
    reg [2:0]        b_rights, c_rights;
    reg [N_W:0]      b_at, c_at, b_region;
    wire [15:0]      b_qp_zone;
    wire [KW-1:0]    b_word, b_memory;
    reg  [KW-1:0]    word, memory;
    wire             unused_memory = &{1'b0, memory};
    wire             we;
    wire [KW-1:0]    word_next;

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
        b_zone <= op_zone;
        c_zone <= b_code <= KEY_REMOVE ? b_zone : b_qp_zone;
        {b_rights, c_rights} <= {op_rights, b_rights};
        {b_at, c_at} <= {a_at, b_at};
        b_region <= a_region;
        word <= we && c_at == b_at ? word_next : b_word;
        memory <= we && c_at == b_region ? word_next : b_memory;
    end

    // ---------------------------------------------------------------- stage B: memories
    cde_ram #(.W(16), .AW(QP_W), .ECC(ECC)) zone_ram (
        .clk(clk), .mem_i(mem_i), .mem_o(mem1), .we(set_we), .waddr(set_qp), .wdata(set_zone),
        .raddr(peer_valid ? peer_qp : op_qp), .rdata(b_qp_zone)
    );

    cde_ram #(.W(KW), .AW(N_W + 1), .ECC(ECC)) word_ram (
        .clk(clk), .mem_i(mem1), .mem_o(mem2), .we(we), .waddr(c_at), .wdata(word_next), .raddr(a_at), .rdata(b_word)
    );

    cde_ram #(.W(KW), .AW(N_W + 1), .ECC(ECC)) memory_ram (
        .clk(clk), .mem_i(mem2), .mem_o(mem3), .we(we), .waddr(c_at), .wdata(word_next), .raddr(a_region),
        .rdata(b_memory)
    );

    cde_ram #(.W(64), .AW(N_W + 1), .ECC(ECC)) context_ram (
        .clk(clk), .mem_i(mem3), .mem_o(mem4), .we(we && (c_code == KEY_CREATE || c_code == KEY_ALLOC)), .waddr(c_at),
        .wdata(c_code == KEY_ALLOC ? 64'd0 : c_base), .raddr(a_at), .rdata(peer_context)
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

    wire        window = c_key[11];
    wire        exists = word[`CDE_KEY_WORD_EXISTS] && !c_far;
    wire        valid = word[`CDE_KEY_WORD_VALID];
    wire        present = exists && word[`CDE_KEY_WORD_GENERATION +: 20] == c_key[31:12];
    wire        my_zone = word[`CDE_KEY_WORD_ZONE +: 16] == c_zone;
    wire        mine = word[`CDE_KEY_WORD_QP +: QP_W] == c_qp;
    wire        no_more = &word[`CDE_KEY_WORD_GENERATION +: 20];
    wire [19:0] next_generation = word[`CDE_KEY_WORD_GENERATION +: 20] + 20'd1;

    wire        binds = c_code == KEY_BIND, fast = c_code == KEY_FAST;
    wire        peer = c_code == KEY_PEER;
    wire        invalidate = c_code == KEY_INVALIDATE || c_code == KEY_READ || peer;
    wire [MR_W-1:0] region = binds ? c_key2[MR_W-1:0] : window ? word[`CDE_KEY_WORD_REGION +: MR_W] : c_key[MR_W-1:0];
    wire [11:0] windows = bound_begun[region] ? bound[region] : 12'd0;
    wire        busy = !window && windows != 12'd0;

    wire [63:0] offset = c_base - memory[`CDE_KEY_WORD_BASE +: 64];
    wire [64:0] last = {1'b0, c_base} + {17'd0, c_length} - 65'd1;
    wire        empty = c_length == 48'd0;
    wire        unused_last = &{1'b0, last, c_key2};
    wire        contained = c_base >= memory[`CDE_KEY_WORD_BASE +: 64] &&
        {1'b0, offset} + {17'd0, c_length} <= {17'd0, memory[`CDE_KEY_WORD_LENGTH +: 48]};
    wire        memory_good = !c_far2 && memory[`CDE_KEY_WORD_VALID] &&
        memory[`CDE_KEY_WORD_GENERATION +: 20] == c_key2[31:12] && memory[`CDE_KEY_WORD_ZONE +: 16] == c_zone &&
                              contained && !empty && !(c_rights[2] && !memory[`CDE_KEY_WORD_RIGHTS]);
    wire        token_good = binds ? present && window && my_zone
                           : fast ? present && !window && my_zone && word[`CDE_KEY_WORD_ALLOC]
                           : present && valid && mine && !busy && (window || word[`CDE_KEY_WORD_ALLOC]);
    wire        space_good = binds ? memory_good : !empty && !last[64];

    assign peer_good = token_good;

    reg [7:0] status;

    always @* begin
        if (c_code <= KEY_REMOVE) status = 8'h00;
        else if (!token_good) status = `CDE_CQESTATUS_INVALID_TOKEN;
        else if (!invalidate && valid) status = `CDE_CQESTATUS_ALREADY_VALID;
        else if (!invalidate && !space_good) status = `CDE_CQESTATUS_BAD_MEMORY;
        else if (!invalidate && no_more) status = `CDE_CQESTATUS_NO_KEYS;
        else status = 8'h00;
    end

    // Commands were checked by the one who asks; only what a request could change meanwhile is checked here.
    wire deregister = c_code == KEY_DEREGISTER, closes = c_code == KEY_CLOSE;
    wire create = c_code == KEY_CREATE || c_code == KEY_ALLOC || c_code == KEY_REGISTER;
    wire refused = (create && (exists || no_more)) || ((deregister || closes) && !exists) || (deregister && busy);
    wire changes = c_valid && c_code != KEY_LOOK && c_code != KEY_REMOVE && status == 8'h00 && !refused &&
        !(peer && !peer_counts);
    wire unbinds = changes && window && valid && (invalidate || closes);

    reg [KW-1:0] w;

    always @* begin
        w = word;
        if (create || binds || fast) w[`CDE_KEY_WORD_GENERATION +: 20] = next_generation;
        if (create) begin
            w[`CDE_KEY_WORD_EXISTS] = 1'b1;
            w[`CDE_KEY_WORD_VALID] = c_code == KEY_REGISTER;
            w[`CDE_KEY_WORD_ALLOC] = c_code == KEY_ALLOC;
            w[`CDE_KEY_WORD_ZONE +: 16] = c_zone;
            w[`CDE_KEY_WORD_QP +: QP_W] = {QP_W{1'b0}};
            w[`CDE_KEY_WORD_REGION +: MR_W] = {MR_W{1'b0}};
        end
        if (create || binds || fast) begin
            w[`CDE_KEY_WORD_RIGHTS +: 3] = binds ? {c_rights[2:1], 1'b0} : c_code == KEY_REGISTER ||
                fast ? c_rights : 3'd0;
            w[`CDE_KEY_WORD_BASE +: 64] = c_code == KEY_REGISTER || binds || fast ? c_base : 64'd0;
            w[`CDE_KEY_WORD_LENGTH +: 48] = c_code == KEY_REGISTER || binds || fast ? c_length : 48'd0;
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
    assign removes = c_valid && c_code == KEY_REMOVE;
    assign word_next = w;
    assign change_we = we;
    assign change_at = c_at;
    assign change_word = word_next;

    function [95:0] shown;
        input [KW-1:0] e;
        input [11:0]   number;
        input [11:0]   count;
        begin
            shown = 96'd0;
            shown[`CDE_KSTATE_KEY_LSB +: 32] = {e[`CDE_KEY_WORD_GENERATION +: 20], number};
            shown[`CDE_KSTATE_VALID_LSB] = e[`CDE_KEY_WORD_VALID];
            shown[`CDE_KSTATE_EXISTS_LSB] = e[`CDE_KEY_WORD_EXISTS];
            shown[`CDE_KSTATE_ALLOCATED_LSB] = e[`CDE_KEY_WORD_ALLOC];
            if (!number[11]) shown[`CDE_KSTATE_WINDOWS_LSB +: 12] = count;
            shown[`CDE_KSTATE_QP_LSB +: QP_W] = e[`CDE_KEY_WORD_QP +: QP_W];
            shown[`CDE_KSTATE_RIGHTS_LSB +: 3] = e[`CDE_KEY_WORD_RIGHTS +: 3];
            if (number[11]) shown[`CDE_KSTATE_REGION_LSB +: MR_W] = e[`CDE_KEY_WORD_REGION +: MR_W];
        end
    endfunction

    // Operand of KEY_COMMAND: the command's code.
    wire [7:0] command = c_code == KEY_REGISTER ? `CDE_CMD_REGISTER_MR : c_code == KEY_ALLOC ? `CDE_CMD_ALLOC_MR :
                                  c_code == KEY_DEREGISTER ? `CDE_CMD_DEREGISTER_MR :
                                  c_code == KEY_CREATE ? `CDE_CMD_CREATE_MW : `CDE_CMD_CLOSE_MW;

    wire [11:0] windows_next = changes && binds ? windows + 12'd1 : unbinds ? windows - 12'd1 : windows;
    wire        gains = changes && (binds || fast);
    wire        loses = changes && valid && (window || word[`CDE_KEY_WORD_ALLOC]) &&
        (invalidate || closes || deregister);
    wire [QP_W-1:0] holder = gains ? c_qp : word[`CDE_KEY_WORD_QP +: QP_W];
    wire [12:0] held_now = held_begun[held_at] ? held[held_at] : 13'd0;
    wire        is_request = c_code >= KEY_BIND;
    wire        shows = !removes && !(binds && !window) && !(fast && window);

    // Low from power-up, before any clock edge.
    initial trace_valid = 1'b0;
    always @(posedge clk) begin
        if ((changes && binds) || unbinds) begin
            bound[region] <= windows_next;
            bound_begun[region] <= 1'b1;
        end
        {gained, lost_one} <= {gains, loses} & {2{!rst}};
        held_at <= holder;
        if (gained || lost_one) begin
            held[held_at] <= gained ? held_now + 13'd1 : held_now - 13'd1;
            held_begun[held_at] <= 1'b1;
        end
        opr_valid <= c_valid && !c_peer && !rst;
        opr_status <= is_request ? status : refused ? `CDE_RES_BUSY : `CDE_RES_OK;
        opr_word <= changes ? word_next : word;
        opr_count <= windows;
        trace_valid <= c_valid && (is_request ? !peer || peer_counts : changes || removes) && !rst;
        trace_data <= 256'd0;
        trace_data[`CDE_TRACE_OP_LSB +: 8] <= binds ? `CDE_TRC_BIND : fast ? `CDE_TRC_FAST_REGISTER :
            invalidate ? `CDE_TRC_INVALIDATE : removes ? `CDE_TRC_REMOVED : `CDE_TRC_KEY_COMMAND;
        trace_data[`CDE_TRACE_CQ_LSB +: 16] <= is_request ? {{(16-QP_W){1'b0}}, c_qp} : 16'hFFFF;
        if (binds) begin
            trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_BIND_STATUS_LSB +: 8] <= status;
            trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_BIND_WINDOW_LSB +: 11] <= c_key[10:0];
        end else if (fast) begin
            trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_FAST_REGISTER_STATUS_LSB +: 8] <= status;
        end else if (is_request) begin
            trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_INVALIDATE_STATUS_LSB +: 8] <= status;
            trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_INVALIDATE_PEER_LSB] <= peer;
            trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_INVALIDATE_READ_LSB] <= c_code == KEY_READ;
        end else if (!removes) begin
            trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_KEY_COMMAND_COMMAND_LSB +: 8] <= command;
        end
        trace_data[`CDE_TRACE_OLD_LSB +: 96] <= exists && shows ? shown(word, c_key[11:0], windows) : 96'd0;
        trace_data[`CDE_TRACE_NEW_LSB +: 96] <= (exists ||
            create) && shows ? shown(changes ? word_next : word, c_key[11:0], windows_next) : 96'd0;
        if (rst) begin
            bound_begun <= {NUM_MR{1'b0}};
            held_begun <= {NUM_QP{1'b0}};
        end
    end

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
