// SPDX-License-Identifier: Apache-2.0
// f_keys: proof that a key is valid once and for one QP, and that no access is granted without one (cde_keys,
// cde_check).
//
// Purpose: follows any one key through the table's change port. Once valid, its window belongs to the QP that bound it
//          until a step takes it away, of two invalidations exactly one succeeds, and it is never valid again, for
//          checks, invalidations and lookups alike. Addresses and lengths have two bits, zones one: no property depends
//          on more. Assumed is what cde_key_ctrl checks of commands: their number exists, and is of the kind that the
//          command is about.
// Ports:   free inputs.
// Latency: none.
`default_nettype none
`include "cde_key_records.vh"
`include "cde_mem.vh"
`include "cde_defs.vh"

module f_keys (
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
    input wire [1:0]   set_free,
    input wire [31:0]  key,
    input wire [191:0] check_free,
    input wire         check_valid,
    input wire         verdict_ready,
    input wire [1:0]   qp_up,
    input wire         removed
);

localparam QP_W = 1, MR_W = 1;
`include "cde_key_state.vh"

    wire [63:0]  op_base = {62'd0, base};
    wire [47:0]  op_length = {46'd0, length};
    wire [15:0]  op_zone = {15'd0, zone};
    wire [16:0]  set_zone = {set_free[1], 15'd0, set_free[0]};
    wire [191:0] check = {check_free[191:160], 30'd0, check_free[129:128], 62'd0, check_free[65:64], check_free[63:0]};

    // Reset, then the walk that clears the table
    reg [2:0] age = 0;
    wire      rst = age == 0;
    wire      up = age == 5;
    wire      init = !rst && !up;
    always @(posedge clk) if (!up) age <= age + 1'b1;
    wire [`CDE_MEM_W-1:0] mem = {39'd0, init, rst};     // maintenance bus: reset and the walk, no injection
    wire [`CDE_MEM_W-1:0] unused_mem, unused_mem2;

    wire          op_ready, peer_good, opr_valid, invalidates, change_we, check_ready;
    wire [7:0]    opr_status;
    wire [1:0]    change_at, count;
    wire [KW-1:0] change_word;
    wire [389:0]  found;
    wire          look_held;

    cde_keys #(.NUM_QP(2), .QP_W(1), .NUM_MR(2), .NUM_MW(2), .MR_W(1), .N_W(1), .ECC(0)) keys_i (
        .clk(clk), .mem_i(mem), .mem_o(unused_mem), .rst(rst), .init(init), .peer_valid(peer_valid),
        .peer_qp(peer_qp), .peer_key(peer_key),
        .peer_counts(peer_counts), .peer_good(peer_good), .op_valid(op_valid), .op_ready(op_ready),
        .op_code(op_code), .op_qp(op_qp),
        .op_key(op_key), .op_region(op_region), .op_base(op_base), .op_length(op_length), .op_zone(op_zone),
        .op_rights(op_rights),
        .opr_valid(opr_valid), .opr_status(opr_status), .set_we(set_we), .set_qp(set_qp), .set_zone(set_zone[15:0]),
        .look_qp(1'b0), .look_held(look_held),
        .keys({64'd0, key}), .found(found), .invalidates(invalidates), .change_we(change_we), .change_at(change_at),
        .change_word(change_word)
    );

    cde_check #(.NUM_QP(2), .QP_W(1), .NUM_MR(2), .NUM_MW(2), .MR_W(1), .N_W(1), .ECC(0)) check_i (
        .clk(clk), .mem_i(mem), .mem_o(unused_mem2), .rst(rst), .init(init), .s_axis_check_tdata(check),
        .s_axis_check_tvalid(check_valid),
        .s_axis_check_tready(check_ready), .m_axis_verdict_tready(verdict_ready), .change_we(change_we),
        .change_at(change_at),
        .change_word(change_word), .set_we(set_we), .set_qp(set_qp), .set_zone(set_zone), .qp_up(qp_up),
        .removed(removed), .count(count)
    );

    wire manages_region = op_code == KEY_REGISTER || op_code == KEY_ALLOC || op_code == KEY_DEREGISTER;
    wire manages_window = op_code == KEY_CREATE || op_code == KEY_CLOSE;
    always @* if (op_valid) begin
        assume (op_code <= KEY_READ && op_code != KEY_PEER);
        if (manages_region || manages_window) assume (op_key[10:1] == 0 && op_key[11] == manages_window);
    end

    // ---------------------------------------------------------------- any one key, and the entry that it is of
    (* anyconst *) wire [31:0] k;
    wire          window = k[11];
    wire [1:0]    at = {window, k[0]};
    reg  [KW-1:0] entry;
    initial entry = 0;
    wire          changed = change_we && change_at == at && up;
    wire [KW-1:0] entry_next = changed ? change_word : entry;
    wire          valid = k[10:1] == 0 && entry[`CDE_KEY_WORD_VALID] &&
        entry[`CDE_KEY_WORD_GENERATION +: 20] == k[31:12];
    wire          valid_next = k[10:1] == 0 && entry_next[`CDE_KEY_WORD_VALID] &&
        entry_next[`CDE_KEY_WORD_GENERATION +: 20] == k[31:12];
    reg           gone = 1'b0;          // was valid, and is no more
    reg           owner;                // QP of the step that made it valid

    // The step that is decided, taken two cycles before; the access that is judged, three; a verdict comes one later
    wire        take = peer_valid || (op_valid && op_ready);
    reg         taken_1 = 1'b0, taken_2 = 1'b0, check_1 = 1'b0, check_2 = 1'b0, check_3 = 1'b0, check_4 = 1'b0;
    reg         qp_1, qp_2, asked_1, asked_2, asked, answers, was_valid, was_valid_2;
    reg [3:0]   code_1, code_2;
    reg [31:0]  key_1, key_2;
    reg [191:0] access_1, access_2, access_3;
    reg         of_key_1, its_qp_1, right_1;
    reg         up_1 = 1'b0, up_2 = 1'b0, up_3 = 1'b0;

    always @(posedge clk) begin
        {up_3, up_2, up_1} <= {up_2, up_1, up};
        entry <= up ? entry_next : 0;
        {taken_2, taken_1} <= up ? {taken_1, take} : 2'b00;
        {check_4, check_3, check_2, check_1} <= up ? {check_3, check_2, check_1, check_valid && check_ready} : 4'b0000;
        {qp_2, qp_1} <= {qp_1, peer_valid ? peer_qp : op_qp};
        {code_2, code_1} <= {code_1, peer_valid ? KEY_PEER : op_code};
        {key_2, key_1} <= {key_1, peer_valid ? peer_key : op_key};
        {access_3, access_2, access_1} <= {access_2, access_1, check};
        of_key_1 <= access_3[63:32] == k && access_3[`CDE_CHECK_LENGTH_LSB +: 32] != 0;
        its_qp_1 <= access_3[15:0] == {15'd0, owner};
        right_1 <= access_3[17:16] == 2'd1 ? entry[`CDE_KEY_WORD_RIGHTS + 1] :
            access_3[17:16] == 2'd2 && entry[`CDE_KEY_WORD_RIGHTS + 2];
        {asked_1, asked_2, asked} <= {key == k, asked_1, asked_2};
        if (up && valid && !valid_next) gone <= 1'b1;
        if (up && !valid && valid_next) owner <= qp_2;
        answers <= taken_2 && (code_2 == KEY_INVALIDATE || code_2 == KEY_READ) && key_2 == k;
        {was_valid_2, was_valid} <= {was_valid, valid};
    end

    // What is valid on QP 0, counted at the decision
    (* hierconn *) wire \keys_i.gains , \keys_i.loses , \keys_i.holder ;
    (* hierconn *) wire [25:0] \keys_i.f_held ;
    reg [12:0] held = 0;
    always @(posedge clk) begin
        if (up && \keys_i.gains && !\keys_i.holder ) held <= held + 1'b1;
        if (up && \keys_i.loses && !\keys_i.holder ) held <= held - 1'b1;
    end

    wire mine = taken_2 && key_2 == k;
    wire takes_away = code_2 == KEY_INVALIDATE || code_2 == KEY_READ || code_2 == KEY_PEER;
    wire granted = count[0] && !count[1];

    always @* if (up && up_1) begin
        // A key has one life, and only the steps that may do so end it.
        never_valid_again: assert (!(gone && valid));
        generation_only_grows: assert (
            entry_next[`CDE_KEY_WORD_GENERATION +: 20] >= entry[`CDE_KEY_WORD_GENERATION +: 20]);
        if (valid && !valid_next)
            ended_by_its_step: assert (taken_2 && ((takes_away &&
                key_2 == k) || ((code_2 == KEY_CLOSE || code_2 == KEY_DEREGISTER) && key_2[11:0] == k[11:0])));
        if (!valid && valid_next && window) bound_by_bind: assert (taken_2 && code_2 == KEY_BIND &&
            key_2[11:0] == k[11:0]);
        if (valid && window) one_qp: assert (entry[`CDE_KEY_WORD_QP] == owner);
        // Of several invalidations that name it, exactly the first of its QP succeeds.
        if (mine && takes_away) begin
            invalidated_while_valid: assert (!invalidates || (valid && !valid_next));
            if (window) invalidated_by_its_qp: assert (!invalidates || qp_2 == owner);
            if (window && valid && qp_2 == owner && code_2 != KEY_PEER) first_succeeds: assert (invalidates);
            if (window && code_2 == KEY_PEER) peer_first_succeeds: assert (peer_good == (valid && qp_2 == owner));
        end
        if (answers && opr_valid) answer_is_true: assert (opr_status != 8'h00 || (was_valid && gone));
        // Checks
        each_is_judged: assert (count[0] == check_4);
        // (An access of no bytes touches none, MW-10.)
        if (granted && of_key_1) begin
            granted_is_valid: assert (was_valid);
            if (window) granted_to_its_qp: assert (its_qp_1);
            granted_right: assert (right_1);
        end
        // (By what the table was two cycles before.)
        if (up_3 && asked && found[0]) found_is_valid: assert (was_valid_2 && !window);
        // (There are four keys, so that the count never wraps.)
        if (!held[12] && !\keys_i.f_held [12]) held_at_once: assert (look_held == (held != 0));
    end

`ifndef PROPERTIES_ONLY
    // ---------------------------------------------------------------- for the induction: every memory holds the entry
    (* hierconn *) wire [4*KW-1:0] \keys_i.word_ram.words , \keys_i.g_lookup[0].lookup_i.lookup_ram.words ,
        \check_i.word_ram.words ;
    (* hierconn *) wire [4*`CDE_REGION_W-1:0] \keys_i.memory_ram.words ;
    (* hierconn *) wire \check_i.changed_we , \check_i.hit ;
    (* hierconn *) wire [1:0] \check_i.changed_at ;
    (* hierconn *) wire [KW-1:0] \check_i.changed ;
    function [KW-1:0] of_key;
        input [4*KW-1:0] w;
        begin
            of_key = at[1] ? (at[0] ? w[3*KW +: KW] : w[2*KW +: KW]) : at[0] ? w[KW +: KW] : w[0 +: KW];
        end
    endfunction

    function [105:0] of_region;
        input [4*`CDE_REGION_W-1:0] w;
        begin
            of_region = at[1] ? (at[0] ? w[3*`CDE_REGION_W +: 106] : w[2*`CDE_REGION_W +: 106])
                              : at[0] ? w[`CDE_REGION_W +: 106] : w[0 +: 106];
        end
    endfunction

    // ... the count of QP 0 is a step late ...
    (* hierconn *) wire \keys_i.gained , \keys_i.lost_one , \keys_i.held_at ;
    wire own = !\keys_i.held_at ;
    (* hierconn *) wire [1:0] \keys_i.walk ;
    always @(posedge clk) if (age != 0) begin
        if (age < 5) walk_of_counts: assert (\keys_i.walk == age[1:0] - 2'd1);
        if (age == 2) first_cleared: assert (\keys_i.f_held [12:0] == 0);
        if (age > 2) count_follows: assert (\keys_i.f_held [12:0] + (\keys_i.gained && own) ==
            held + (\keys_i.lost_one && own));
        one_way: assert (!(\keys_i.gained && \keys_i.lost_one ));
        if (!up) none_yet: assert (held == 0 && !\keys_i.gained && !\keys_i.lost_one );
    end

    // ... memories of regions and lookups are written a cycle after the decision ...
    (* hierconn *) wire \keys_i.d_we ;
    (* hierconn *) wire [1:0] \keys_i.d_at ;
    (* hierconn *) wire [KW-1:0] \keys_i.changed , \keys_i.g_lookup[0].lookup_i.entry ;
    reg [KW-1:0] entry_1, entry_2;
    initial {entry_1, entry_2} = 0;
    always @(posedge clk) {entry_2, entry_1} <= up ? {entry_1, entry} : 0;
    always @(posedge clk) if (age != 0) begin
        of_cycle_before: assert (entry == (\keys_i.d_we && \keys_i.d_at == at ? \keys_i.changed : entry_1));
        if (up) was_valid_then: assert (was_valid_2 == (k[10:1] == 0 && entry_2[`CDE_KEY_WORD_VALID] &&
            entry_2[`CDE_KEY_WORD_GENERATION +: 20] == k[31:12]) || !up_2);
    end

    wire cleared = {1'b0, age} > {2'b00, at} + 1'b1;
    always @(posedge clk) begin
        if (cleared) begin
            copy_of_steps: assert (of_key(\keys_i.word_ram.words ) == entry);
            // (The change of the cycle before is on its way.)
            copy_of_regions: assert (of_region(\keys_i.memory_ram.words ) == entry_1[105:0]);
            copy_of_checks: assert ((\check_i.changed_we && \check_i.changed_at == at ? \check_i.changed :
                                     of_key(\check_i.word_ram.words )) == entry);
            copy_of_lookups: assert (of_key(\keys_i.g_lookup[0].lookup_i.lookup_ram.words ) == entry_1);
        end
        age_is_legal: assert (age <= 5 && (up || !up_1));
        if (!up) nothing_yet: assert (entry == 0 && !gone && !taken_1 && !taken_2 && !check_1 &&
            !check_2 && !check_3 && !check_4);
        if (!rst && !up) empty_yet: assert (!\keys_i.d_we && !\keys_i.b_valid &&
            !\keys_i.c_valid &&
            !\check_i.changed_we && !\check_i.b_valid && !\check_i.r_valid &&
            !\check_i.c_valid && !\check_i.d_valid );
        if (entry[`CDE_KEY_WORD_VALID]) valid_exists: assert (entry[`CDE_KEY_WORD_EXISTS]);
        if (gone) past: assert (k[31:12] <= entry[`CDE_KEY_WORD_GENERATION +: 20] && k[10:1] == 0);
    end

    // ... and the stages hold what was taken.
    (* hierconn *) wire \keys_i.b_valid , \keys_i.c_valid , \keys_i.b_qp , \keys_i.c_qp , \keys_i.b_far ,
        \keys_i.c_far ;
    (* hierconn *) wire [3:0] \keys_i.b_code , \keys_i.c_code ;
    (* hierconn *) wire [31:0] \keys_i.b_key , \keys_i.c_key ;
    (* hierconn *) wire [1:0] \keys_i.b_at , \keys_i.c_at , \keys_i.word_ram.f_raddr , \check_i.b_at ,
        \check_i.r_at , \check_i.word_ram.raddr_1 , \check_i.word_ram.raddr_2 , \check_i.word_ram.raddr_3 ;
    (* hierconn *) wire [KW-1:0] \keys_i.word ;
    (* hierconn *) wire \check_i.b_valid , \check_i.r_valid , \check_i.c_valid , \check_i.d_valid , \check_i.b_far ,
        \check_i.r_far , \check_i.c_far , \check_i.b_bad , \check_i.r_bad , \check_i.c_bad ;
    (* hierconn *) wire [31:0] \check_i.b_key , \check_i.r_key , \check_i.c_key , \check_i.b_bytes , \check_i.r_bytes ;
    (* hierconn *) wire \check_i.c_none ;
    (* hierconn *) wire [15:0] \check_i.b_name , \check_i.r_name , \check_i.c_name ;
    (* hierconn *) wire [1:0] \check_i.b_kind , \check_i.r_kind , \check_i.c_kind ;
    (* hierconn *) wire \keys_i.g_lookup[0].lookup_i.far , \keys_i.g_lookup[0].lookup_i.far_1 ,
        \keys_i.g_lookup[0].lookup_i.far_2 ;
    (* hierconn *) wire [1:0] \keys_i.g_lookup[0].lookup_i.lookup_ram.f_raddr ,
        \keys_i.g_lookup[0].lookup_i.lookup_ram.f_raddr_2 ;
    (* hierconn *) wire [19:0] \keys_i.g_lookup[0].lookup_i.generation , \keys_i.g_lookup[0].lookup_i.generation_1 ,
        \keys_i.g_lookup[0].lookup_i.generation_2 ;
    (* hierconn *) wire \keys_i.hit , \keys_i.gives ;
    (* hierconn *) wire [1:0] \keys_i.same_key , \keys_i.same_qp ;
    (* hierconn *) wire [19:0] \keys_i.b_less ;
    reg [31:0] asked_key_1, asked_key_2, asked_key;
    always @(posedge clk) begin
        {asked_key_1, asked_key_2, asked_key} <= {key, asked_key_1, asked_key_2};
        if (up_1) begin
            valid_is_taken: assert (up && \keys_i.b_valid == taken_1 && \keys_i.c_valid == taken_2 &&
                                    \check_i.b_valid == check_1 && \check_i.r_valid == check_2 &&
                                    \check_i.c_valid == check_3 && \check_i.d_valid == check_4);
            reads_of_steps: assert (\keys_i.word_ram.f_raddr == \keys_i.b_at &&
                \check_i.word_ram.raddr_1 == \check_i.b_at && \check_i.word_ram.raddr_2 == \check_i.r_at );
            lookup_1: assert (\keys_i.g_lookup[0].lookup_i.lookup_ram.f_raddr == {1'b0, asked_key_1[0]} &&
                \keys_i.g_lookup[0].lookup_i.generation_1 == asked_key_1[31:12] &&
                \keys_i.g_lookup[0].lookup_i.far_1 == (asked_key_1[11:1] != 0) && asked_1 == (asked_key_1 == k));
            if (up_2) lookup_2: assert (\keys_i.g_lookup[0].lookup_i.lookup_ram.f_raddr_2 == {1'b0, asked_key_2[0]} &&
                \keys_i.g_lookup[0].lookup_i.generation_2 == asked_key_2[31:12] &&
                \keys_i.g_lookup[0].lookup_i.far_2 == (asked_key_2[11:1] != 0) && asked_2 == (asked_key_2 == k));
            if (up_3) lookup_is_asked: assert (({1'b0, asked_key[0]} != at ||
                \keys_i.g_lookup[0].lookup_i.entry == entry_2) &&
                \keys_i.g_lookup[0].lookup_i.generation == asked_key[31:12] &&
                \keys_i.g_lookup[0].lookup_i.far == (asked_key[11:1] != 0) && asked == (asked_key == k));
        end
        if (up && taken_1) step_b: assert (\keys_i.b_qp == qp_1 && \keys_i.b_code == code_1 && \keys_i.b_key == key_1 &&
                                     \keys_i.b_less == key_1[31:12] - 20'd1 &&
                                     \keys_i.b_at == {key_1[11], key_1[0]} && \keys_i.b_far == (key_1[10:1] != 0) &&
                                         code_1 <= KEY_READ);
        if (up && taken_2) begin
            step_c: assert (\keys_i.c_qp == qp_2 && \keys_i.c_code == code_2 && \keys_i.c_key == key_2 &&
                            \keys_i.c_at == {key_2[11], key_2[0]} && \keys_i.c_far == (key_2[10:1] != 0) &&
                                code_2 <= KEY_READ);
            if (\keys_i.c_at == at) word_of_step: assert (\keys_i.word == entry &&
                \keys_i.same_key [\keys_i.hit ] == (entry[`CDE_KEY_WORD_GENERATION +: 20] == key_2[31:12]));
            if (\keys_i.c_at == at && entry[`CDE_KEY_WORD_VALID] && window)
                qp_of_step: assert (\keys_i.same_qp [\keys_i.hit ] == (entry[`CDE_KEY_WORD_QP] == qp_2));
            gives_of_code: assert (\keys_i.gives == (code_2 == KEY_REGISTER || code_2 == KEY_ALLOC ||
                code_2 == KEY_CREATE || code_2 == KEY_BIND || code_2 == KEY_FAST));
        end
        if (up && taken_1 && (code_1 == KEY_REGISTER || code_1 == KEY_ALLOC || code_1 == KEY_DEREGISTER ||
            code_1 == KEY_CREATE || code_1 == KEY_CLOSE))
            kind_b: assert (key_1[10:1] == 0 && key_1[11] == (code_1 == KEY_CREATE || code_1 == KEY_CLOSE));
        if (up && taken_2 && (code_2 == KEY_REGISTER || code_2 == KEY_ALLOC || code_2 == KEY_DEREGISTER ||
            code_2 == KEY_CREATE || code_2 == KEY_CLOSE))
            kind_c: assert (key_2[10:1] == 0 && key_2[11] == (code_2 == KEY_CREATE || code_2 == KEY_CLOSE));
        if (up && check_1) access_b: assert (\check_i.b_key == access_1[63:32] &&
            \check_i.b_bytes == access_1[159:128] && \check_i.b_name == access_1[15:0] &&
            \check_i.b_kind == access_1[17:16] &&
                                       \check_i.b_at == {access_1[43], access_1[32]} &&
                                           \check_i.b_far == (access_1[42:33] != 0) &&
                                       (\check_i.b_bad || access_1[17:16] == 1 || access_1[17:16] == 2));
        if (up && check_2) access_r: assert (\check_i.r_key == access_2[63:32] &&
            \check_i.r_bytes == access_2[159:128] && \check_i.r_name == access_2[15:0] &&
            \check_i.r_kind == access_2[17:16] &&
                                       \check_i.r_at == {access_2[43], access_2[32]} &&
                                           \check_i.r_far == (access_2[42:33] != 0) &&
                                       (\check_i.r_bad || access_2[17:16] == 1 || access_2[17:16] == 2));
        if (up && check_3) access_c: assert (\check_i.c_key == access_3[63:32] &&
            \check_i.c_none == (access_3[159:128] == 0) && \check_i.c_name == access_3[15:0] &&
            \check_i.c_kind == access_3[17:16] &&
                                       \check_i.word_ram.raddr_3 == {access_3[43], access_3[32]} &&
                                       \check_i.hit == (\check_i.changed_we &&
                                           \check_i.changed_at == {access_3[43], access_3[32]}) &&
                                           \check_i.c_far == (access_3[42:33] != 0) &&
                                       (\check_i.c_bad || access_3[17:16] == 1 || access_3[17:16] == 2));
    end
`endif

endmodule

`default_nettype wire
