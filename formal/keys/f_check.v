// SPDX-License-Identifier: Apache-2.0
// f_check: proof that each remote access gets the verdict of docs/windows.md, and of the rules of m_axis_verdict
// (cde_check).
//
// Purpose: follows the entry of any one key through the changes of the key table, and the zone of any one QP; says of
//          each access what the table of verdicts says, by sums that cannot overflow. Changes of the table, states of
//          QPs and accesses are free; assumed of an entry is only that it ends within 64-bit addresses. What a valid
//          key is, `keys` tells; order of a FIFO, `fifo_list_bypass`.
// Ports:   free inputs.
// Latency: none.
`default_nettype none
`include "cde_key_records.vh"
`include "cde_mem.vh"
`include "cde_defs.vh"

module f_check (
    input wire         clk,
    input wire [191:0] check,
    input wire         check_valid,
    input wire         verdict_ready,
    input wire         change_we,
    input wire [1:0]   change_at,
    input wire [155:0] change_word,
    input wire         set_we,
    input wire         set_qp,
    input wire [16:0]  set_zone,
    input wire [1:0]   qp_up,
    input wire         removed
);

localparam QP_W = 1, MR_W = 1;
`include "cde_key_state.vh"

    reg [2:0] age = 0;
    wire      rst = age == 0;
    wire      up = age == 5;
    wire      init = !rst && !up;
    always @(posedge clk) if (!up) age <= age + 1'b1;
    wire [`CDE_MEM_W-1:0] mem = {39'd0, init, rst};     // maintenance bus: reset and the walk, no injection
    wire [`CDE_MEM_W-1:0] unused_mem;

    (* anyconst *) wire [31:0] k;       // any one key, QP, and byte of an access
    (* anyconst *) wire        q;
    (* anyconst *) wire [31:0] i;
    wire          window = k[11];
    wire [1:0]    at = {window, k[0]};

    wire          check_ready, verdict_valid, bad_valid;
    wire [31:0]   verdict;
    wire [15:0]   err_code;
    wire [1:0]    count;

    cde_check #(.NUM_QP(2), .QP_W(1), .NUM_MR(2), .NUM_MW(2), .MR_W(1), .N_W(1), .ECC(0)) dut (
        .clk(clk), .mem_i(mem), .mem_o(unused_mem), .rst(rst), .init(init), .s_axis_check_tdata(check),
        .s_axis_check_tvalid(check_valid && up),
        .s_axis_check_tready(check_ready), .m_axis_verdict_tdata(verdict), .m_axis_verdict_tvalid(verdict_valid),
        .m_axis_verdict_tready(verdict_ready), .change_we(change_we && up), .change_at(change_at),
        .change_word(change_word),
        .set_we(set_we && up), .set_qp(set_qp), .set_zone(set_zone), .qp_up(qp_up), .removed(removed),
        .bad_valid(bad_valid),
        .err_code(err_code), .count(count)
    );

    always @* if (change_we) assume ({1'b0, change_word[`CDE_KEY_WORD_BASE +: 64]} +
                                     {17'd0, change_word[`CDE_KEY_WORD_LENGTH +: 48]} <= {1'b1, 64'd0});

    // ---------------------------------------------------------------- the entry, the QP, the access that is judged
    reg  [KW-1:0] entry = 0;
    reg  [16:0]   zone = 0;
    reg           check_1 = 1'b0, check_2 = 1'b0, check_3 = 1'b0, check_4 = 1'b0;
    reg  [191:0]  access_1, access_2, access;
    reg  [4:0]    owed = 0;
    wire          take = check_valid && check_ready && up;

    always @(posedge clk) begin
        if (change_we && change_at == at && up) entry <= change_word;
        if (set_we && set_qp == q && up) zone <= set_zone;
        {check_4, check_3, check_2, check_1} <= {check_3, check_2, check_1, take};
        {access, access_2, access_1} <= {access_2, access_1, check};
        owed <= owed + take - (verdict_valid && verdict_ready && up);
    end

    wire [15:0] name = access[15:0];
    wire [1:0]  kind = access[17:16];
    wire [63:0] address = access[127:64];
    wire [31:0] length = access[159:128];
    wire [63:0] base = entry[`CDE_KEY_WORD_BASE +: 64];
    wire [66:0] end_of_access = {3'd0, address} + {35'd0, length};
    wire [66:0] end_of_range = {3'd0, base} + {19'd0, entry[`CDE_KEY_WORD_LENGTH +: 48]};
    wire        of_us = check_3 && access[63:32] == k && name[0] == q;
    wire        malformed = name[15:1] != 0 || access[31:18] != 0 || access[191:160] != 0 || (kind != 2'd1 &&
        kind != 2'd2);
    wire        valid = k[10:1] == 0 && entry[`CDE_KEY_WORD_VALID] && entry[`CDE_KEY_WORD_GENERATION +: 20] == k[31:12];
    wire        my = window ? {15'd0, entry[`CDE_KEY_WORD_QP]} == name :
                     entry[`CDE_KEY_WORD_ZONE +: 16] == zone[15:0];
    wire        right = entry[`CDE_KEY_WORD_RIGHTS + (kind == 2'd1 ? 1 : 2)];
    wire        inside = address >= base && end_of_access <= end_of_range;
    wire [3:0]  code = malformed || removed || !zone[16] ||
        !qp_up[q] ? `CDE_VERDICT_REFUSED : length == 0 ? `CDE_VERDICT_GRANTED : !valid ? `CDE_VERDICT_BAD_KEY :
                       !my ? `CDE_VERDICT_WRONG_QP : !right ? `CDE_VERDICT_NO_RIGHT : !inside ? `CDE_VERDICT_BAD_RANGE :
                       `CDE_VERDICT_GRANTED;
    wire        granted = count[0] && !count[1];
    wire [66:0] byte_i = {3'd0, address} + {35'd0, i};

    // The verdict comes a cycle after what it says.
    reg         of_us_1 = 1'b0, rightful_1, within_1, some_1, byte_within_1;
    reg  [3:0]  code_1;
    reg  [15:0] name_1;
    always @(posedge clk) begin
        of_us_1 <= of_us && up;
        {rightful_1, within_1, some_1} <= {valid && my && right, i < length, length != 0};
        byte_within_1 <= !byte_i[64] && byte_i >= {3'd0, base} && byte_i < end_of_range;
        {code_1, name_1} <= {code, name};
    end

    (* hierconn *) wire \dut.out_fifo.push_valid , \dut.out_fifo.push_ready ;
    (* hierconn *) wire [19:0] \dut.out_fifo.push_data ;

    always @* if (up) begin
        each_is_judged: assert (count[0] == check_4 && \dut.out_fifo.push_valid == check_4);
        answer_has_room: assert (!\dut.out_fifo.push_valid || \dut.out_fifo.push_ready );
        answered_once: assert (!verdict_valid || owed != 0);
`ifndef ROOM_ONLY
        if (of_us_1) begin
            verdict_by_table: assert (\dut.out_fifo.push_data == {code_1, name_1});
            refused_is_reported: assert (count[1] == (code_1 != `CDE_VERDICT_GRANTED) &&
                (!count[1] || err_code == {12'd0, code_1}));
            refused_ends_connection: assert (bad_valid == (code_1 != `CDE_VERDICT_GRANTED &&
                code_1 != `CDE_VERDICT_REFUSED));
            if (granted && some_1) granted_has_key_and_right: assert (rightful_1);
            if (granted && within_1) granted_byte_is_inside: assert (byte_within_1);
        end
`endif
    end

    wire waits;
    axis_props #(.W(32)) verdict_i (
        .clk(clk), .rst(!up), .valid(verdict_valid && up), .ready(verdict_ready), .data(verdict), .held(waits)
    );

`ifndef PROPERTIES_ONLY
    // ---------------------------- for the induction: memories, stages, answers that wait
    (* hierconn *) wire [4*KW-1:0] \dut.word_ram.words ;
    (* hierconn *) wire [33:0] \dut.zone_ram.words ;
    (* hierconn *) wire [1:0] \dut.word_ram.raddr_1 , \dut.word_ram.raddr_2 , \dut.word_ram.raddr_3 , \dut.b_at ,
        \dut.r_at , \dut.changed_at ;
    (* hierconn *) wire \dut.zone_ram.raddr_1 , \dut.zone_ram.raddr_2 , \dut.zone_ram.raddr_3 , \dut.b_valid ,
        \dut.r_valid , \dut.c_valid , \dut.d_valid , \dut.b_bad , \dut.r_bad , \dut.c_bad , \dut.b_far ,
        \dut.r_far , \dut.c_far , \dut.changed_we , \dut.hit ;
    (* hierconn *) wire [1:0] \dut.b_kind , \dut.r_kind , \dut.c_kind ;
    (* hierconn *) wire [15:0] \dut.b_name , \dut.r_name , \dut.c_name , \dut.d_name ;
    (* hierconn *) wire [31:0] \dut.b_key , \dut.r_key , \dut.c_key , \dut.b_bytes , \dut.r_bytes ;
    (* hierconn *) wire [64:0] \dut.c_end ;
    (* hierconn *) wire \dut.c_none ;
    (* hierconn *) wire [63:0] \dut.b_from , \dut.r_from , \dut.c_from ;
    (* hierconn *) wire [KW-1:0] \dut.changed ;
    (* hierconn *) wire \dut.out_fifo.q_valid , \dut.out_fifo.many ;
    (* hierconn *) wire [3:0] \dut.out_fifo.level , \dut.out_fifo.wr_ptr , \dut.out_fifo.rd_ptr ;
    wire [KW-1:0] word_k = at[1] ? (at[0] ? \dut.word_ram.words [3*KW +: KW] : \dut.word_ram.words [2*KW +: KW])
                                 : at[0] ? \dut.word_ram.words [KW +: KW] : \dut.word_ram.words [0 +: KW];
    wire [3:0]    stored = \dut.out_fifo.wr_ptr - \dut.out_fifo.rd_ptr ;

    always @* begin
        // (The change of the cycle before is on its way.)
        if (age > at + 3'd1) entry_of_key: assert ((\dut.changed_we && \dut.changed_at == at ? \dut.changed : word_k) ==
            entry);
        if (age > q + 3'd1) zone_of_qp: assert ((q ? \dut.zone_ram.words [33:17] : \dut.zone_ram.words [16:0]) == zone);
        age_is_legal: assert (age <= 5);
        if (!up) nothing_yet: assert (entry == 0 && zone == 0 && !check_1 && !check_2 && !check_3 && !check_4 &&
            !of_us_1 && owed == 0 && !waits);
        if (!rst && !up) empty_yet: assert (!\dut.b_valid && !\dut.r_valid && !\dut.c_valid && !\dut.d_valid &&
            !\dut.changed_we && \dut.out_fifo.level == 0 && stored == 0 && !\dut.out_fifo.q_valid &&
            !\dut.out_fifo.many );
        entry_ends: assert ({1'b0, base} + {17'd0, entry[`CDE_KEY_WORD_LENGTH +: 48]} <= {1'b1, 64'd0});
        if (up) begin
            stages: assert (\dut.b_valid == check_1 && \dut.r_valid == check_2 && \dut.c_valid == check_3 &&
                \dut.d_valid == check_4);
            levels: assert (stored <= 8 && \dut.out_fifo.level == stored + \dut.out_fifo.q_valid &&
                (\dut.out_fifo.q_valid || stored == 0) && \dut.out_fifo.many == (\dut.out_fifo.level > 1));
            room: assert ({1'b0, \dut.out_fifo.level } + check_1 + check_2 + check_3 + check_4 <= 8 &&
                owed == {1'b0, \dut.out_fifo.level } + check_1 + check_2 + check_3 + check_4);
            if (waits) offered: assert (\dut.out_fifo.q_valid );
            if (check_1) begin
                access_b: assert ({\dut.b_key , \dut.b_kind , \dut.b_name , \dut.b_from , \dut.b_bytes } ==
                                  {access_1[63:32], access_1[17:0], access_1[127:64], access_1[159:128]});
                at_b: assert (\dut.b_at == {access_1[43], access_1[32]} && \dut.word_ram.raddr_1 == \dut.b_at &&
                    \dut.zone_ram.raddr_1 == access_1[0]);
                flags_b: assert (\dut.b_far == (access_1[42:33] != 0) &&
                    \dut.b_bad == (access_1[15:1] != 0 || access_1[31:18] != 0 ||
                                 access_1[191:160] != 0 || (access_1[17:16] != 1 && access_1[17:16] != 2)));
            end
            if (check_2) begin
                access_r: assert ({\dut.r_key , \dut.r_kind , \dut.r_name , \dut.r_from , \dut.r_bytes } ==
                                  {access_2[63:32], access_2[17:0], access_2[127:64], access_2[159:128]});
                at_r: assert (\dut.r_at == {access_2[43], access_2[32]} && \dut.word_ram.raddr_2 == \dut.r_at &&
                    \dut.zone_ram.raddr_2 == access_2[0]);
                flags_r: assert (\dut.r_far == (access_2[42:33] != 0) &&
                    \dut.r_bad == (access_2[15:1] != 0 || access_2[31:18] != 0 ||
                                 access_2[191:160] != 0 || (access_2[17:16] != 1 && access_2[17:16] != 2)));
            end
            if (check_3) begin
                access_c: assert ({\dut.c_key , \dut.c_kind , \dut.c_name , \dut.c_from , \dut.c_none } ==
                                  {access[63:32], access[17:0], access[127:64], length == 0});
                end_c: assert (\dut.c_end == end_of_access[64:0]);
                at_c: assert (\dut.word_ram.raddr_3 == {access[43], access[32]} &&
                    \dut.zone_ram.raddr_3 == access[0] &&
                    \dut.hit == (\dut.changed_we && \dut.changed_at == {access[43], access[32]}));
                flags_c: assert (\dut.c_far == (access[42:33] != 0) && \dut.c_bad == malformed);
            end
            if (of_us_1) name_d: assert (\dut.d_name == name_1 && check_4);
        end
    end
`endif

endmodule

`default_nettype wire
