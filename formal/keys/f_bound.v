// SPDX-License-Identifier: Apache-2.0
// f_bound: proof that a region stays as long as windows are bound to it (cde_keys).
//
// Purpose: follows a region and four windows through the table's change port. While one of them is valid and of the
//          region, no step takes the region's key away, ends or changes it, and no message is told that it may; once
//          none is, a step is not refused for it. Addresses and lengths have two bits, zones one. Assumed is what
//          cde_key_ctrl checks of commands: their number exists, and is of the kind that the command is about. Not
//          said: that a window is bound to a valid region only.
// Ports:   free inputs.
// Latency: none.
`default_nettype none
`include "cde_key_records.vh"
`include "cde_mem.vh"
`include "cde_defs.vh"

module f_bound (
    input wire         clk,
    input wire         peer_valid,
    input wire         peer_qp,
    input wire [31:0]  peer_key,
    input wire         peer_counts,
    input wire         op_valid,
    input wire [3:0]   op_code,
    input wire         op_qp,
    input wire [31:0]  op_key,
    input wire [31:0]  op_region,
    input wire [1:0]   base,
    input wire [1:0]   length,
    input wire         zone,
    input wire [2:0]   op_rights,
    input wire         set_we,
    input wire         set_qp,
    input wire         set_zone
);

localparam QP_W = 1, MR_W = 1;
`include "cde_key_state.vh"

    // Reset, then the walk that clears the table
    reg [2:0] age = 0;
    wire      rst = age == 0;
    wire      up = age == 5;
    wire      init = !rst && !up;
    always @(posedge clk) if (!up) age <= age + 1'b1;
    wire [`CDE_MEM_W-1:0] mem = {39'd0, init, rst};     // maintenance bus: reset and the walk, no injection
    wire [`CDE_MEM_W-1:0] unused_mem;

    wire          op_ready, peer_good, change_we;
    wire [2:0]    change_at;
    wire [KW-1:0] change_word;

    cde_keys #(.NUM_QP(2), .QP_W(1), .NUM_MR(2), .NUM_MW(4), .MR_W(1), .N_W(2), .ECC(0)) keys_i (
        .clk(clk), .mem_i(mem), .mem_o(unused_mem), .rst(rst), .init(init), .peer_valid(peer_valid),
        .peer_qp(peer_qp), .peer_key(peer_key), .peer_counts(peer_counts), .peer_good(peer_good), .op_valid(op_valid),
        .op_ready(op_ready), .op_code(op_code), .op_qp(op_qp), .op_key(op_key), .op_region(op_region),
        .op_base({62'd0, base}), .op_length({46'd0, length}), .op_zone({15'd0, zone}), .op_rights(op_rights),
        .set_we(set_we), .set_qp(set_qp), .set_zone({15'd0, set_zone}), .look_qp(1'b0), .keys(96'd0),
        .change_we(change_we), .change_at(change_at), .change_word(change_word)
    );

    wire manages_region = op_code == KEY_REGISTER || op_code == KEY_ALLOC || op_code == KEY_DEREGISTER;
    wire manages_window = op_code == KEY_CREATE || op_code == KEY_CLOSE;
    always @* if (op_valid) begin
        assume (op_code <= KEY_READ && op_code != KEY_PEER);
        if (manages_region || manages_window) assume (op_key[10:2] == 0 && op_key[11] == manages_window &&
            (manages_window || !op_key[1]));
    end

    // ---------------------------------------------------------------- region 0, and the windows that are valid on it
    wire       changes = change_we && up;
    wire       valid_next = change_word[`CDE_KEY_WORD_VALID], on_0 = change_word[`CDE_KEY_WORD_REGION] == 1'b0;
    wire [19:0] generation_next = change_word[`CDE_KEY_WORD_GENERATION +: 20];
    reg        valid = 1'b0;
    reg [19:0] generation = 20'd0;
    reg  [3:0] bound = 4'd0;

    wire       take = peer_valid || (op_valid && op_ready);
    reg        taken_1 = 1'b0, taken_2 = 1'b0, up_1 = 1'b0;
    reg [3:0]  code_1, code_2;
    reg [31:0] key_1, key_2;

    always @(posedge clk) begin
        up_1 <= up;
        if (changes && change_at == 3'd0) {valid, generation} <= {valid_next, generation_next};
        if (changes && change_at[2]) bound[change_at[1:0]] <= valid_next && on_0;
        {taken_2, taken_1} <= up ? {taken_1, take} : 2'b00;
        {code_2, code_1} <= {code_1, peer_valid ? KEY_PEER : op_code};
        {key_2, key_1} <= {key_1, peer_valid ? peer_key : op_key};
    end

    wire mine = taken_2 && key_2[11:0] == 12'd0;
    (* hierconn *) wire \keys_i.busy ;

    always @* if (up && up_1) begin
        if (valid && bound != 0 && changes && change_at == 3'd0)
            stays: assert (valid_next && generation_next == generation);
        if (mine && code_2 == KEY_PEER && bound != 0) message_is_not_told_so: assert (!peer_good);
        if (mine) busy_if_bound: assert (\keys_i.busy == (bound != 0));
    end

`ifndef PROPERTIES_ONLY
    // ---------------------------------------------------------------- for the induction: the memory holds the entries
    (* hierconn *) wire [8*KW-1:0] \keys_i.word_ram.words ;
    (* hierconn *) wire [2:0] \keys_i.word_ram.f_raddr , \keys_i.b_at , \keys_i.c_at , \keys_i.walk ;
    (* hierconn *) wire [KW-1:0] \keys_i.word ;
    (* hierconn *) wire \keys_i.b_valid , \keys_i.c_valid , \keys_i.b_far , \keys_i.c_far ;
    (* hierconn *) wire [3:0] \keys_i.b_code , \keys_i.c_code ;
    (* hierconn *) wire [31:0] \keys_i.b_key , \keys_i.c_key ;
    wire [KW-1:0] region_0 = \keys_i.word_ram.words [0 +: KW];
    wire [KW-1:0] window_0 = \keys_i.word_ram.words [4*KW +: KW], window_1 = \keys_i.word_ram.words [5*KW +: KW];
    wire [KW-1:0] window_2 = \keys_i.word_ram.words [6*KW +: KW], window_3 = \keys_i.word_ram.words [7*KW +: KW];

    function legal;                      // what is valid exists
        input [KW-1:0] w;
        legal = !w[`CDE_KEY_WORD_VALID] || w[`CDE_KEY_WORD_EXISTS];
    endfunction

    function on;
        input [KW-1:0] w;
        on = w[`CDE_KEY_WORD_VALID] && w[`CDE_KEY_WORD_REGION] == 1'b0;
    endfunction

    // ... the count is a step late ...
    (* hierconn *) wire [14:0] \keys_i.f_bound ;
    (* hierconn *) wire \keys_i.bound_more , \keys_i.bound_less , \keys_i.bound_at ;
    wire [11:0] count = \keys_i.f_bound [11:0];
    wire more = \keys_i.bound_more && !\keys_i.bound_at , less = \keys_i.bound_less && !\keys_i.bound_at ;

    always @(posedge clk) begin
        if (age != 0) begin
            if (age > 1) copies: assert (legal(region_0) && legal(window_0) && legal(window_1) && legal(window_2) &&
                legal(window_3) && valid == region_0[`CDE_KEY_WORD_VALID] &&
                generation == region_0[`CDE_KEY_WORD_GENERATION +: 20] &&
                bound == {on(window_3), on(window_2), on(window_1), on(window_0)});
            one_way: assert (!(\keys_i.bound_more && \keys_i.bound_less ));
            if (age < 5) walk_of_counts: assert (\keys_i.walk == age - 3'd1);
            if (age > 1) count_follows: assert (count + more == bound[0] + bound[1] + bound[2] + bound[3] + less &&
                (!more || bound != 0) &&
                \keys_i.f_bound [14:12] == {count > 2, count > 1, count > 0});
        end
        age_is_legal: assert (age <= 5 && (up || !up_1));
        if (!up) nothing_yet: assert (!valid && generation == 0 && bound == 0 && !taken_1 && !taken_2);
        if (!rst && !up) empty_yet: assert (!\keys_i.b_valid && !\keys_i.c_valid && !\keys_i.bound_more &&
            !\keys_i.bound_less && (age == 1 || \keys_i.word_ram.words == 0));
        if (up_1) stages: assert (\keys_i.b_valid == taken_1 && \keys_i.c_valid == taken_2 &&
            \keys_i.word_ram.f_raddr == \keys_i.b_at );
    end

    // ... and the stages hold what was taken.
    function far;
        input [31:0] key;
        far = key[11] ? key[10:2] != 0 : key[10:1] != 0;
    endfunction

    function kind_is_right;
        input [3:0]  code;
        input [31:0] key;
        kind_is_right = code <= KEY_READ && (!(code == KEY_REGISTER || code == KEY_ALLOC || code == KEY_DEREGISTER ||
            code == KEY_CREATE || code == KEY_CLOSE) ||
            (!far(key) && key[11] == (code == KEY_CREATE || code == KEY_CLOSE)));
    endfunction

    always @(posedge clk) begin
        if (up && taken_1) step_b: assert (\keys_i.b_code == code_1 && \keys_i.b_key == key_1 &&
            \keys_i.b_at == {key_1[11], key_1[1:0]} && \keys_i.b_far == far(key_1) &&
            kind_is_right(code_1, key_1));
        if (up && taken_2) step_c: assert (\keys_i.c_code == code_2 && \keys_i.c_key == key_2 &&
            \keys_i.c_at == {key_2[11], key_2[1:0]} && \keys_i.c_far == far(key_2) &&
            kind_is_right(code_2, key_2) && \keys_i.word == \keys_i.word_ram.words [\keys_i.c_at * KW +: KW]);
    end
`endif

endmodule

`default_nettype wire
