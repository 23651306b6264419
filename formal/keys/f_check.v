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
    reg  [16:0]   zone = 0, zone_1 = 0;
    reg           check_1 = 1'b0, check_2 = 1'b0;
    reg  [191:0]  access_1, access;
    reg  [4:0]    owed = 0;
    wire          take = check_valid && check_ready && up;

    always @(posedge clk) begin
        if (change_we && change_at == at && up) entry <= change_word;
        if (set_we && set_qp == q && up) zone <= set_zone;
        zone_1 <= zone;
        {check_2, check_1} <= {check_1, take};
        {access, access_1} <= {access_1, check};
        owed <= owed + take - (verdict_valid && verdict_ready && up);
    end

    wire [15:0] name = access[15:0];
    wire [1:0]  kind = access[17:16];
    wire [63:0] address = access[127:64];
    wire [31:0] length = access[159:128];
    wire [63:0] base = entry[`CDE_KEY_WORD_BASE +: 64];
    wire [66:0] end_of_access = {3'd0, address} + {35'd0, length};
    wire [66:0] end_of_range = {3'd0, base} + {19'd0, entry[`CDE_KEY_WORD_LENGTH +: 48]};
    wire        of_us = check_2 && access[63:32] == k && name[0] == q;
    wire        malformed = name[15:1] != 0 || access[31:18] != 0 || access[191:160] != 0 || (kind != 2'd1 &&
        kind != 2'd2);
    wire        valid = k[10:1] == 0 && entry[`CDE_KEY_WORD_VALID] && entry[`CDE_KEY_WORD_GENERATION +: 20] == k[31:12];
    wire        my = window ? {15'd0, entry[`CDE_KEY_WORD_QP]} == name :
                     entry[`CDE_KEY_WORD_ZONE +: 16] == zone_1[15:0];
    wire        right = entry[`CDE_KEY_WORD_RIGHTS + (kind == 2'd1 ? 1 : 2)];
    wire        inside = address >= base && end_of_access <= end_of_range;
    wire [3:0]  code = malformed || removed || !zone_1[16] ||
        !qp_up[q] ? `CDE_VERDICT_REFUSED : length == 0 ? `CDE_VERDICT_GRANTED : !valid ? `CDE_VERDICT_BAD_KEY :
                       !my ? `CDE_VERDICT_WRONG_QP : !right ? `CDE_VERDICT_NO_RIGHT : !inside ? `CDE_VERDICT_BAD_RANGE :
                       `CDE_VERDICT_GRANTED;
    wire        granted = count[0] && !count[1];
    wire [66:0] byte_i = {3'd0, address} + {35'd0, i};

    (* hierconn *) wire \dut.out_fifo.push_valid , \dut.out_fifo.push_ready ;
    (* hierconn *) wire [19:0] \dut.out_fifo.push_data ;

    always @* if (up) begin
        each_is_judged: assert (count[0] == check_2 && \dut.out_fifo.push_valid == check_2);
        answer_has_room: assert (!\dut.out_fifo.push_valid || \dut.out_fifo.push_ready );
        answered_once: assert (!verdict_valid || owed != 0);
`ifndef ROOM_ONLY
        if (of_us) begin
            verdict_by_table: assert (\dut.out_fifo.push_data == {code, name});
            refused_is_reported: assert (count[1] == (code != `CDE_VERDICT_GRANTED) &&
                (!count[1] || err_code == {12'd0, code}));
            refused_ends_connection: assert (bad_valid == (code != `CDE_VERDICT_GRANTED &&
                code != `CDE_VERDICT_REFUSED));
            if (granted && length != 0) granted_has_key_and_right: assert (valid && my && right);
            if (granted && i < length) granted_byte_is_inside: assert (!byte_i[64] && byte_i >= {3'd0, base} &&
                byte_i < end_of_range);
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
    (* hierconn *) wire [1:0] \dut.word_ram.f_raddr , \dut.b_at ;
    (* hierconn *) wire \dut.zone_ram.f_raddr , \dut.b_valid , \dut.c_valid , \dut.b_bad , \dut.c_bad , \dut.b_far ,
        \dut.c_far ;
    (* hierconn *) wire [1:0] \dut.b_kind , \dut.c_kind ;
    (* hierconn *) wire [15:0] \dut.b_name , \dut.c_name , \dut.zone ;
    (* hierconn *) wire [31:0] \dut.b_key , \dut.c_key , \dut.b_bytes , \dut.c_bytes ;
    (* hierconn *) wire [63:0] \dut.b_from , \dut.c_from ;
    (* hierconn *) wire [KW-1:0] \dut.word ;
    (* hierconn *) wire \dut.guarded , \dut.out_fifo.q_valid , \dut.out_fifo.many ;
    (* hierconn *) wire [3:0] \dut.out_fifo.level , \dut.out_fifo.wr_ptr , \dut.out_fifo.rd_ptr ;
    wire [KW-1:0] word_k = at[1] ? (at[0] ? \dut.word_ram.words [3*KW +: KW] : \dut.word_ram.words [2*KW +: KW])
                                 : at[0] ? \dut.word_ram.words [KW +: KW] : \dut.word_ram.words [0 +: KW];
    wire [3:0]    stored = \dut.out_fifo.wr_ptr - \dut.out_fifo.rd_ptr ;

    always @* begin
        if (age > at + 3'd1) entry_of_key: assert (word_k == entry);
        if (age > q + 3'd1) zone_of_qp: assert ((q ? \dut.zone_ram.words [33:17] : \dut.zone_ram.words [16:0]) == zone);
        age_is_legal: assert (age <= 5);
        if (!up) nothing_yet: assert (entry == 0 && zone == 0 && zone_1 == 0 && !check_1 && !check_2 && owed == 0 &&
            !waits);
        if (!rst && !up) empty_yet: assert (!\dut.b_valid && !\dut.c_valid && \dut.out_fifo.level == 0 &&
            stored == 0 && !\dut.out_fifo.q_valid && !\dut.out_fifo.many );
        entry_ends: assert ({1'b0, base} + {17'd0, entry[`CDE_KEY_WORD_LENGTH +: 48]} <= {1'b1, 64'd0});
        if (up) begin
            stages: assert (\dut.b_valid == check_1 && \dut.c_valid == check_2);
            levels: assert (stored <= 8 && \dut.out_fifo.level == stored + \dut.out_fifo.q_valid &&
                (\dut.out_fifo.q_valid || stored == 0) && \dut.out_fifo.many == (\dut.out_fifo.level > 1));
            room: assert ({1'b0, \dut.out_fifo.level } + check_1 + check_2 <= 7 &&
                owed == {1'b0, \dut.out_fifo.level } + check_1 + check_2);
            if (waits) offered: assert (\dut.out_fifo.q_valid );
            if (check_1) begin
                access_b: assert ({\dut.b_key , \dut.b_kind , \dut.b_name , \dut.b_from , \dut.b_bytes } ==
                                  {access_1[63:32], access_1[17:0], access_1[127:64], access_1[159:128]});
                at_b: assert (\dut.b_at == {access_1[43], access_1[32]} && \dut.word_ram.f_raddr == \dut.b_at &&
                    \dut.zone_ram.f_raddr == access_1[0]);
                flags_b: assert (\dut.b_far == (access_1[42:33] != 0) &&
                    \dut.b_bad == (access_1[15:1] != 0 || access_1[31:18] != 0 ||
                                 access_1[191:160] != 0 || (access_1[17:16] != 1 && access_1[17:16] != 2)));
            end
            if (check_2) begin
                access_c: assert ({\dut.c_key , \dut.c_kind , \dut.c_name , \dut.c_from , \dut.c_bytes } ==
                                  {access[63:32], access[17:0], access[127:64], access[159:128]});
                flags_c: assert (\dut.c_far == (access[42:33] != 0) && \dut.c_bad == malformed);
                if ({access[43], access[32]} == at) word_c: assert (\dut.word == entry);
                if (access[0] == q) zone_c: assert ({\dut.guarded , \dut.zone } == zone_1);
            end
        end
    end
`endif

endmodule

`default_nettype wire
