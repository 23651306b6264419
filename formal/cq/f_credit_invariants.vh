// SPDX-License-Identifier: Apache-2.0
// What holds between the ledger and the design's copies of the counters, stage by stage; included at the end of
// f_credit, proven with the rest.

localparam C_ALLOC = 61;
localparam C_USED = C_ALLOC + 2 * IDX_W;
localparam C_W = C_USED + 2 * IDX_W;

(* hierconn *) wire [(IDX_W << CQ_W) - 1:0] \dut.credit_i.port_i.total_ram.words ,
    \dut.credit_i.port_i.g_other.other_ram.words , \dut.credit_i.port_i.cons_ram.words ,
    \dut.credit_i.port_i.silent_ram.words , \dut.credit_i.g_two.port2_i.total_ram.words ,
    \dut.credit_i.g_two.port2_i.g_other.other_ram.words , \dut.credit_i.g_two.port2_i.cons_ram.words ,
    \dut.credit_i.g_two.port2_i.silent_ram.words , \dut.cq_i.cons_ram.words , \dut.cq_i.granted_ram.words ,
    \dut.cq_i.g_two.granted2_ram.words ;
(* hierconn *) wire [((IDX_W + 2) << CQ_W) - 1:0] \dut.credit_i.port_i.limit_ram.words ,
    \dut.credit_i.g_two.port2_i.limit_ram.words ;
(* hierconn *) wire [(C_W << CQ_W) - 1:0] \dut.cq_i.context_ram.words ;
(* hierconn *) wire [CQ_W-1:0] \dut.credit_i.port_i.total_ram.raddr_1 , \dut.credit_i.port_i.total_ram.raddr_2 ,
    \dut.credit_i.port_i.total_ram.raddr_3 , \dut.credit_i.port_i.g_other.other_ram.raddr_1 ,
    \dut.credit_i.port_i.g_other.other_ram.raddr_2 , \dut.credit_i.port_i.g_other.other_ram.raddr_3 ,
    \dut.credit_i.port_i.cons_ram.raddr_1 , \dut.credit_i.port_i.cons_ram.raddr_2 ,
    \dut.credit_i.port_i.cons_ram.raddr_3 , \dut.credit_i.port_i.silent_ram.raddr_1 ,
    \dut.credit_i.port_i.silent_ram.raddr_2 , \dut.credit_i.port_i.silent_ram.raddr_3 ,
    \dut.credit_i.port_i.limit_ram.raddr_1 , \dut.credit_i.port_i.limit_ram.raddr_2 ,
    \dut.credit_i.port_i.limit_ram.raddr_3 , \dut.credit_i.g_two.port2_i.total_ram.raddr_1 ,
    \dut.credit_i.g_two.port2_i.total_ram.raddr_2 , \dut.credit_i.g_two.port2_i.total_ram.raddr_3 ,
    \dut.credit_i.g_two.port2_i.g_other.other_ram.raddr_1 , \dut.credit_i.g_two.port2_i.g_other.other_ram.raddr_2 ,
    \dut.credit_i.g_two.port2_i.g_other.other_ram.raddr_3 , \dut.credit_i.g_two.port2_i.cons_ram.raddr_1 ,
    \dut.credit_i.g_two.port2_i.cons_ram.raddr_2 , \dut.credit_i.g_two.port2_i.cons_ram.raddr_3 ,
    \dut.credit_i.g_two.port2_i.silent_ram.raddr_1 , \dut.credit_i.g_two.port2_i.silent_ram.raddr_2 ,
    \dut.credit_i.g_two.port2_i.silent_ram.raddr_3 , \dut.credit_i.g_two.port2_i.limit_ram.raddr_1 ,
    \dut.credit_i.g_two.port2_i.limit_ram.raddr_2 , \dut.credit_i.g_two.port2_i.limit_ram.raddr_3 ;
(* hierconn *) wire [CQ_W-1:0] \dut.cq_i.cons_ram.raddr_1 , \dut.cq_i.cons_ram.raddr_2 , \dut.cq_i.cons_ram.raddr_3 ,
    \dut.cq_i.granted_ram.raddr_1 , \dut.cq_i.granted_ram.raddr_2 , \dut.cq_i.granted_ram.raddr_3 ,
    \dut.cq_i.g_two.granted2_ram.raddr_1 , \dut.cq_i.g_two.granted2_ram.raddr_2 , \dut.cq_i.g_two.granted2_ram.raddr_3 ,
    \dut.cq_i.context_ram.raddr_1 , \dut.cq_i.context_ram.raddr_2 , \dut.cq_i.context_ram.raddr_3 ;
(* hierconn *) wire \dut.cq_i.p_cpl , \dut.cq_i.q_cpl , \dut.cq_i.p_op , \dut.cq_i.q_op , \dut.cq_i.r_first ,
    \dut.cq_i.c_first , \dut.cq_i.c_counts , \dut.cq_i.c_in_range ;
(* hierconn *) wire [10 + 1 + 8 + 16 + 2 + 2 + 58 + 5 + 1 + 1 - 1:0] \dut.cq_i.p_side , \dut.cq_i.q_side ;
localparam S_CODE = 1 + 1 + 5 + 58 + 2 + 2 + 16;
(* hierconn *) wire [CQ_W-1:0] \dut.cq_i.p_cq , \dut.cq_i.q_cq ;
(* hierconn *) wire \dut.cq_i.r_same ;
wire [CQ_W-1:0] p_cq = \dut.cq_i.p_cq , q_cq = \dut.cq_i.q_cq ;
wire [7:0] p_code = \dut.cq_i.p_side [S_CODE +: 8], q_code = \dut.cq_i.q_side [S_CODE +: 8];
wire p_unreserved = \dut.cq_i.p_side [1], q_unreserved = \dut.cq_i.q_side [1];
(* hierconn *) wire [CQ_W-1:0] \dut.credit_i.port_i.b_cq , \dut.credit_i.port_i.s_cq , \dut.credit_i.port_i.r_cq ,
    \dut.credit_i.port_i.c_cq , \dut.credit_i.port_i.granted_cq , \dut.credit_i.g_two.port2_i.b_cq ,
    \dut.credit_i.g_two.port2_i.s_cq , \dut.credit_i.g_two.port2_i.r_cq , \dut.credit_i.g_two.port2_i.c_cq ,
    \dut.credit_i.g_two.port2_i.granted_cq , \dut.cq_i.r_cq , \dut.cq_i.c_cq , \dut.cq_i.slot_i.s_cq ;
(* hierconn *) wire \dut.credit_i.port_i.b_valid , \dut.credit_i.port_i.s_valid , \dut.credit_i.port_i.r_valid ,
    \dut.credit_i.port_i.c_valid , \dut.credit_i.port_i.b_clear , \dut.credit_i.port_i.s_clear ,
    \dut.credit_i.port_i.r_clear , \dut.credit_i.port_i.c_clear , \dut.credit_i.g_two.port2_i.b_valid ,
    \dut.credit_i.g_two.port2_i.s_valid , \dut.credit_i.g_two.port2_i.r_valid , \dut.credit_i.g_two.port2_i.c_valid ,
    \dut.credit_i.g_two.port2_i.b_clear , \dut.credit_i.g_two.port2_i.s_clear , \dut.credit_i.g_two.port2_i.r_clear ,
    \dut.credit_i.g_two.port2_i.c_clear , \dut.credit_i.port_i.behind ,
    \dut.credit_i.port_i.many , \dut.credit_i.port_i.granted_we , \dut.credit_i.port_i.f_limited ,
    \dut.credit_i.port_i.open , \dut.credit_i.g_two.port2_i.behind ,
    \dut.credit_i.g_two.port2_i.many , \dut.credit_i.g_two.port2_i.granted_we , \dut.credit_i.g_two.port2_i.f_limited ,
    \dut.credit_i.g_two.port2_i.open , \dut.cq_i.r_cpl , \dut.cq_i.c_cpl , \dut.cq_i.r_op , \dut.cq_i.c_op ,
    \dut.credit_i.port_i.same , \dut.credit_i.port_i.same_other , \dut.credit_i.g_two.port2_i.same ,
    \dut.credit_i.g_two.port2_i.same_other , \dut.cq_i.slot_i.s_step ,
    \dut.credit_i.port_i.few , \dut.credit_i.g_two.port2_i.few ,
    \dut.cq_i.r_unreserved , \dut.cq_i.c_unreserved ;
(* hierconn *) wire [1:0] \dut.credit_i.port_i.b_count , \dut.credit_i.port_i.s_count , \dut.credit_i.port_i.r_count ,
    \dut.credit_i.port_i.c_count , \dut.credit_i.port_i.f_own , \dut.credit_i.port_i.f_other ,
    \dut.credit_i.g_two.port2_i.b_count ,
    \dut.credit_i.g_two.port2_i.s_count , \dut.credit_i.g_two.port2_i.r_count , \dut.credit_i.g_two.port2_i.c_count ,
    \dut.credit_i.g_two.port2_i.f_own , \dut.credit_i.g_two.port2_i.f_other ,
    \dut.credit_i.g_two.port2_i.f_first ;
(* hierconn *) wire [5:0] \dut.credit_i.port_i.f_taken , \dut.credit_i.g_two.port2_i.f_taken ;
(* hierconn *) wire [7:0] \dut.credit_i.port_i.fit , \dut.credit_i.g_two.port2_i.fit ;
(* hierconn *) wire [7:0] \dut.cq_i.r_code , \dut.cq_i.c_code ;
(* hierconn *) wire [IDX_W-1:0] \dut.credit_i.port_i.total , \dut.credit_i.port_i.f_space ,
    \dut.credit_i.port_i.granted_total , \dut.credit_i.g_two.port2_i.total , \dut.credit_i.g_two.port2_i.f_space ,
    \dut.credit_i.g_two.port2_i.granted_total , \dut.cq_i.granted , \dut.cq_i.cons ,
    \dut.cq_i.slot_i.s_alloc_next , \dut.cq_i.slot_i.s_used_next ;
(* hierconn *) wire [IDX_W-1:0] \dut.cq_i.credits_i.left ;
(* hierconn *) wire [C_W-1:0] \dut.cq_i.ctx ;

wire [C_W-1:0]   ctx = \dut.cq_i.context_ram.words [cq * C_W +: C_W];
wire [IDX_W-1:0] x_alloc = ctx[C_ALLOC +: IDX_W], x_used = ctx[C_USED +: IDX_W];
wire [IDX_W-1:0] word1 = \dut.credit_i.port_i.total_ram.words [cq * IDX_W +: IDX_W],
                         word2 = \dut.credit_i.g_two.port2_i.total_ram.words [cq * IDX_W +: IDX_W];
// What is being written counts, and what was taken in the cycle before is not in the space that is judged.
wire             w1 = \dut.credit_i.port_i.granted_we && \dut.credit_i.port_i.granted_cq == cq;
wire             w2 = \dut.credit_i.g_two.port2_i.granted_we && \dut.credit_i.g_two.port2_i.granted_cq == cq;
wire [IDX_W-1:0] total1 = w1 ? \dut.credit_i.port_i.granted_total : word1, total2 = w2 ?
                          \dut.credit_i.g_two.port2_i.granted_total : word2;
wire [2:0]       took1 = \dut.credit_i.port_i.f_own + \dut.credit_i.port_i.f_other ;
wire [2:0]       took2 = \dut.credit_i.g_two.port2_i.f_own + \dut.credit_i.g_two.port2_i.f_other ;
// Of a request that is decided, whether what it needs is there, in each case that the design tells apart.
function is_fit;
    input [7:0]       fit;
    input             few;
    input             limited;
    input [IDX_W-1:0] left;
    input [1:0]       count;
    input [5:0]       taken;
    reg   [3:0]       need;
    integer           n;
    begin
        is_fit = 1'b1;
        for (n = 0; n < 8; n = n + 1) begin
            need = {2'd0, count} + {2'd0, n[0] ? taken[1:0] : 2'd0} + {2'd0, n[1] ? taken[3:2] : 2'd0} +
                {2'd0, n[2] ? taken[5:4] : 2'd0};
            if ((few && fit[n]) != (limited && !left[IDX_W-1] && left >= need)) is_fit = 1'b0;
        end
    end
endfunction
wire [IDX_W-1:0] cons = \dut.credit_i.port_i.cons_ram.words [cq * IDX_W +: IDX_W],
                        silent = \dut.credit_i.port_i.silent_ram.words [cq * IDX_W +: IDX_W];
wire [IDX_W+1:0] limit1 = \dut.credit_i.port_i.limit_ram.words [cq * (IDX_W + 2) +: IDX_W + 2];
wire [IDX_W+1:0] limit2 = \dut.credit_i.g_two.port2_i.limit_ram.words [cq * (IDX_W + 2) +: IDX_W + 2];
wire             slot_step = \dut.cq_i.slot_i.s_step && \dut.cq_i.slot_i.s_cq == cq;
wire             in_b1 = \dut.credit_i.port_i.b_valid && \dut.credit_i.port_i.b_cq == cq;
wire             in_b2 = \dut.credit_i.g_two.port2_i.b_valid && \dut.credit_i.g_two.port2_i.b_cq == cq;
wire             s1 = \dut.credit_i.port_i.s_valid && \dut.credit_i.port_i.s_cq == cq;
wire             s2 = \dut.credit_i.g_two.port2_i.s_valid && \dut.credit_i.g_two.port2_i.s_cq == cq;
wire             r1 = \dut.credit_i.port_i.r_valid && \dut.credit_i.port_i.r_cq == cq;
wire             r2 = \dut.credit_i.g_two.port2_i.r_valid && \dut.credit_i.g_two.port2_i.r_cq == cq;
wire             c1 = \dut.credit_i.port_i.c_valid && \dut.credit_i.port_i.c_cq == cq;
wire             c2 = \dut.credit_i.g_two.port2_i.c_valid && \dut.credit_i.g_two.port2_i.c_cq == cq;
wire             q_c = (\dut.cq_i.c_cpl || \dut.cq_i.c_op ) && \dut.cq_i.c_cq == cq;
wire [IDX_W-1:0] c_alloc = \dut.cq_i.ctx [C_ALLOC +: IDX_W], c_used = \dut.cq_i.ctx [C_USED +: IDX_W];
wire [IDX_W-1:0] total = total1 + total2, base = silent + cons;
wire [IDX_W-1:0] true_silent = x_used - x_alloc;
localparam [IDX_W-1:0] SIZE_4 = SIZE + 4;
wire [IDX_W-1:0] late = total - \dut.cq_i.granted , silent_late = true_silent - silent;
wire [IDX_W-1:0] space1 = \dut.credit_i.port_i.f_space , space2 = \dut.credit_i.g_two.port2_i.f_space ;
wire [IDX_W-1:0] gap1 = space1 - took1 + 4'd4, gap2 = space2 - took2 + 4'd4;
wire [IDX_W-1:0] bound1 = space1 - took1 + total, bound2 = space2 - took2 + total;
wire [IDX_W-1:0] more1 = total1 - word1, more2 = total2 - word2;

reg [2:0] f_started = 3'd0;
always @(posedge clk) begin
    f_started <= {f_started[1:0], 1'b1};
    if (f_started[2]) begin
        i_addresses: assert (\dut.cq_i.cons_ram.raddr_1 == p_cq && \dut.cq_i.cons_ram.raddr_2 == q_cq &&
            \dut.cq_i.cons_ram.raddr_3 == \dut.cq_i.r_cq  &&
            \dut.cq_i.granted_ram.raddr_1 == p_cq && \dut.cq_i.granted_ram.raddr_2 == q_cq &&
            \dut.cq_i.granted_ram.raddr_3 == \dut.cq_i.r_cq  && \dut.cq_i.g_two.granted2_ram.raddr_1 == p_cq &&
            \dut.cq_i.g_two.granted2_ram.raddr_2 == q_cq && \dut.cq_i.g_two.granted2_ram.raddr_3 == \dut.cq_i.r_cq  &&
            \dut.cq_i.context_ram.raddr_1 == p_cq && \dut.cq_i.context_ram.raddr_2 == q_cq &&
            \dut.cq_i.context_ram.raddr_3 == \dut.cq_i.r_cq &&
            \dut.cq_i.r_same == (\dut.cq_i.r_cq == \dut.cq_i.c_cq ) &&
            \dut.credit_i.port_i.total_ram.raddr_1 == \dut.credit_i.port_i.b_cq &&
            \dut.credit_i.port_i.total_ram.raddr_2 == \dut.credit_i.port_i.s_cq &&
            \dut.credit_i.port_i.total_ram.raddr_3 == \dut.credit_i.port_i.r_cq &&
            \dut.credit_i.port_i.g_other.other_ram.raddr_1 == \dut.credit_i.port_i.b_cq &&
            \dut.credit_i.port_i.g_other.other_ram.raddr_2 == \dut.credit_i.port_i.s_cq &&
            \dut.credit_i.port_i.g_other.other_ram.raddr_3 == \dut.credit_i.port_i.r_cq &&
            \dut.credit_i.port_i.cons_ram.raddr_1 == \dut.credit_i.port_i.b_cq &&
            \dut.credit_i.port_i.cons_ram.raddr_2 == \dut.credit_i.port_i.s_cq &&
            \dut.credit_i.port_i.cons_ram.raddr_3 == \dut.credit_i.port_i.r_cq &&
            \dut.credit_i.port_i.silent_ram.raddr_1 == \dut.credit_i.port_i.b_cq &&
            \dut.credit_i.port_i.silent_ram.raddr_2 == \dut.credit_i.port_i.s_cq &&
            \dut.credit_i.port_i.silent_ram.raddr_3 == \dut.credit_i.port_i.r_cq &&
            \dut.credit_i.port_i.limit_ram.raddr_1 == \dut.credit_i.port_i.b_cq &&
            \dut.credit_i.port_i.limit_ram.raddr_2 == \dut.credit_i.port_i.s_cq &&
            \dut.credit_i.port_i.limit_ram.raddr_3 == \dut.credit_i.port_i.r_cq &&
            \dut.credit_i.g_two.port2_i.total_ram.raddr_1 == \dut.credit_i.g_two.port2_i.b_cq &&
            \dut.credit_i.g_two.port2_i.total_ram.raddr_2 == \dut.credit_i.g_two.port2_i.s_cq &&
            \dut.credit_i.g_two.port2_i.total_ram.raddr_3 == \dut.credit_i.g_two.port2_i.r_cq &&
            \dut.credit_i.g_two.port2_i.g_other.other_ram.raddr_1 == \dut.credit_i.g_two.port2_i.b_cq &&
            \dut.credit_i.g_two.port2_i.g_other.other_ram.raddr_2 == \dut.credit_i.g_two.port2_i.s_cq &&
            \dut.credit_i.g_two.port2_i.g_other.other_ram.raddr_3 == \dut.credit_i.g_two.port2_i.r_cq &&
            \dut.credit_i.g_two.port2_i.cons_ram.raddr_1 == \dut.credit_i.g_two.port2_i.b_cq &&
            \dut.credit_i.g_two.port2_i.cons_ram.raddr_2 == \dut.credit_i.g_two.port2_i.s_cq &&
            \dut.credit_i.g_two.port2_i.cons_ram.raddr_3 == \dut.credit_i.g_two.port2_i.r_cq &&
            \dut.credit_i.g_two.port2_i.silent_ram.raddr_1 == \dut.credit_i.g_two.port2_i.b_cq &&
            \dut.credit_i.g_two.port2_i.silent_ram.raddr_2 == \dut.credit_i.g_two.port2_i.s_cq &&
            \dut.credit_i.g_two.port2_i.silent_ram.raddr_3 == \dut.credit_i.g_two.port2_i.r_cq &&
            \dut.credit_i.g_two.port2_i.limit_ram.raddr_1 == \dut.credit_i.g_two.port2_i.b_cq &&
            \dut.credit_i.g_two.port2_i.limit_ram.raddr_2 == \dut.credit_i.g_two.port2_i.s_cq &&
            \dut.credit_i.g_two.port2_i.limit_ram.raddr_3 == \dut.credit_i.g_two.port2_i.r_cq );
    end
    if (f_started[0]) i_bounds: assert (\dut.cq_i.credits_i.left == \dut.cq_i.granted - c_used );
    if (f_started[2]) i_same: assert (
        \dut.credit_i.port_i.same == (\dut.credit_i.port_i.granted_we &&
            \dut.credit_i.port_i.granted_cq == \dut.credit_i.port_i.r_cq ) &&
        \dut.credit_i.port_i.same_other == (\dut.credit_i.g_two.port2_i.granted_we &&
            \dut.credit_i.g_two.port2_i.granted_cq == \dut.credit_i.port_i.r_cq ) &&
        \dut.credit_i.g_two.port2_i.same == (\dut.credit_i.g_two.port2_i.granted_we &&
            \dut.credit_i.g_two.port2_i.granted_cq == \dut.credit_i.g_two.port2_i.r_cq ) &&
        \dut.credit_i.g_two.port2_i.same_other == (\dut.credit_i.port_i.granted_we &&
            \dut.credit_i.port_i.granted_cq == \dut.credit_i.g_two.port2_i.r_cq ));
    i_quiet: assert (up || !(\dut.cq_i.p_cpl || \dut.cq_i.q_cpl || \dut.cq_i.p_op || \dut.cq_i.q_op ||
        \dut.cq_i.r_cpl || \dut.cq_i.c_cpl || \dut.cq_i.r_op || \dut.cq_i.c_op || \dut.cq_i.c_counts ||
        \dut.credit_i.port_i.b_valid || \dut.credit_i.port_i.s_valid || \dut.credit_i.port_i.r_valid ||
            \dut.credit_i.port_i.c_valid || \dut.credit_i.g_two.port2_i.b_valid ||
            \dut.credit_i.g_two.port2_i.s_valid || \dut.credit_i.g_two.port2_i.r_valid ||
            \dut.credit_i.g_two.port2_i.c_valid ||
        \dut.credit_i.port_i.b_clear || \dut.credit_i.port_i.s_clear || \dut.credit_i.port_i.r_clear ||
            \dut.credit_i.port_i.c_clear || \dut.credit_i.g_two.port2_i.b_clear ||
            \dut.credit_i.g_two.port2_i.s_clear || \dut.credit_i.g_two.port2_i.r_clear ||
            \dut.credit_i.g_two.port2_i.c_clear ||
        \dut.cq_i.slot_i.s_step || trace_valid ) ||
            rst);
    i_age: assert (age <= NUM_CQ + 1 || age == 1 << (CQ_W + 1));
    i_since: assert (f_started == (age > 2 ? 3'b111 : age == 2 ? 3'b011 : age == 1));
    i_nothing_yet: assert (up || {a1[0], a2[0], a3[0], a4[0], b1[0], b2[0], b3[0], b4[0], granted, used, placed,
                                  consumed, limited, started, steps} == 0);
    i_cleared: assert (up || age < 2 || {ctx, word1, word2, total1, total2, cons, silent, limit1, limit2} == 0);
    if (age > 1) begin
        // Copies
        i_copies: assert (\dut.credit_i.port_i.g_other.other_ram.words [cq * IDX_W +: IDX_W] == word2 &&
            \dut.credit_i.g_two.port2_i.g_other.other_ram.words [cq * IDX_W +: IDX_W] == word1 &&
            \dut.cq_i.granted_ram.words [cq * IDX_W +: IDX_W] == word1 &&
            \dut.cq_i.g_two.granted2_ram.words [cq * IDX_W +: IDX_W] == word2 &&
            \dut.credit_i.g_two.port2_i.cons_ram.words [cq * IDX_W +: IDX_W] == cons &&
            \dut.cq_i.cons_ram.words [cq * IDX_W +: IDX_W] == cons &&
            \dut.credit_i.g_two.port2_i.silent_ram.words [cq * IDX_W +: IDX_W] == silent);
    end
    if (up) begin
        i_one_kind: assert (!(\dut.cq_i.p_cpl && \dut.cq_i.p_op ) && !(\dut.cq_i.q_cpl && \dut.cq_i.q_op ) &&
            !(\dut.cq_i.r_cpl && \dut.cq_i.r_op ) && !(\dut.cq_i.c_cpl && \dut.cq_i.c_op ));
        i_in_range: assert (\dut.cq_i.c_counts == (\dut.cq_i.c_cpl && \dut.cq_i.c_in_range ));
        // Requests
        i_requests: assert (a1[0] == in_b1 && b1[0] == in_b2 && a2[0] == s1 && b2[0] == s2 && a3[0] == r1 &&
            b3[0] == r2 && a4[0] == c1 && b4[0] == c2);
        i_counts: assert ((!in_b1 || a1[2:1] == \dut.credit_i.port_i.b_count ) &&
            (!in_b2 || b1[2:1] == \dut.credit_i.g_two.port2_i.b_count ) &&
            (!s1 || a2[2:1] == \dut.credit_i.port_i.s_count ) && (!s2 ||
                b2[2:1] == \dut.credit_i.g_two.port2_i.s_count ) &&
            (!r1 || a3[2:1] == \dut.credit_i.port_i.r_count ) && (!r2 ||
                b3[2:1] == \dut.credit_i.g_two.port2_i.r_count ) &&
            (!c1 || a4[2:1] == \dut.credit_i.port_i.c_count ) && (!c2 ||
                b4[2:1] == \dut.credit_i.g_two.port2_i.c_count ));
        i_small: assert ((!in_b1 || ^a1[2:1]) && (!in_b2 || ^b1[2:1]) && (!s1 || ^a2[2:1]) && (!s2 || ^b2[2:1]) &&
            (!r1 || ^a3[2:1]) && (!r2 || ^b3[2:1]) && (!c1 || ^a4[2:1]) && (!c2 || ^b4[2:1]));
        i_clear: assert ((!\dut.credit_i.port_i.b_clear || \dut.credit_i.port_i.b_cq != cq) &&
            (!\dut.credit_i.port_i.s_clear || \dut.credit_i.port_i.s_cq != cq) &&
            (!\dut.credit_i.port_i.r_clear || \dut.credit_i.port_i.r_cq != cq) &&
            (!\dut.credit_i.port_i.c_clear || \dut.credit_i.port_i.c_cq != cq) &&
            (!\dut.credit_i.g_two.port2_i.b_clear ||
                \dut.credit_i.g_two.port2_i.b_cq != cq) && (!\dut.credit_i.g_two.port2_i.s_clear ||
                \dut.credit_i.g_two.port2_i.s_cq != cq) && (!\dut.credit_i.g_two.port2_i.r_clear ||
                \dut.credit_i.g_two.port2_i.r_cq != cq) && (!\dut.credit_i.g_two.port2_i.c_clear ||
                \dut.credit_i.g_two.port2_i.c_cq != cq));
        i_alone: assert (!(\dut.credit_i.port_i.b_clear && \dut.credit_i.port_i.b_valid ) &&
            !(\dut.credit_i.port_i.s_clear && \dut.credit_i.port_i.s_valid ) && !(\dut.credit_i.port_i.r_clear &&
            \dut.credit_i.port_i.r_valid ) && !(\dut.credit_i.port_i.c_clear && \dut.credit_i.port_i.c_valid ) &&
            !(\dut.credit_i.g_two.port2_i.b_clear && \dut.credit_i.g_two.port2_i.b_valid ) &&
            !(\dut.credit_i.g_two.port2_i.s_clear && \dut.credit_i.g_two.port2_i.s_valid ) &&
            !(\dut.credit_i.g_two.port2_i.r_clear && \dut.credit_i.g_two.port2_i.r_valid ) &&
            !(\dut.credit_i.g_two.port2_i.c_clear && \dut.credit_i.g_two.port2_i.c_valid ));
        i_took: assert ((!c1 || (\dut.credit_i.port_i.f_own <= 2 && \dut.credit_i.port_i.f_other <= 2)) && (!c2 ||
            (\dut.credit_i.g_two.port2_i.f_own <= 2 && \dut.credit_i.g_two.port2_i.f_other <= 2)));
        i_behind: assert ((!c1 || \dut.credit_i.port_i.behind == w1) && (!c2 ||
            \dut.credit_i.g_two.port2_i.behind == w2));
        // No ring of the proof has 16 entries.
        i_many: assert ((!c1 || !\dut.credit_i.port_i.many ) && (!c2 || !\dut.credit_i.g_two.port2_i.many ));
        i_written: assert ((!w1 || more1 <= 2) && (!w2 || more2 <= 2));
        i_pair: assert (!c1 || !c2 || \dut.credit_i.g_two.port2_i.f_first == \dut.credit_i.port_i.c_count );
        i_fit: assert ((!c1 || is_fit(\dut.credit_i.port_i.fit , \dut.credit_i.port_i.few ,
            \dut.credit_i.port_i.f_limited , \dut.credit_i.port_i.f_space , \dut.credit_i.port_i.c_count ,
            \dut.credit_i.port_i.f_taken )) && (!c2 || is_fit(\dut.credit_i.g_two.port2_i.fit ,
            \dut.credit_i.g_two.port2_i.few , \dut.credit_i.g_two.port2_i.f_limited ,
            \dut.credit_i.g_two.port2_i.f_space , \dut.credit_i.g_two.port2_i.c_count ,
            \dut.credit_i.g_two.port2_i.f_taken )));
        i_cons: assert (cons == consumed);
        i_total: assert (total == granted);
        i_limit: assert (limit1 == limit2 && limit1 == (limited ? {2'b10, SIZE} : {(IDX_W + 2){1'b0}}));
        i_silent: assert (slot_step ? silent_late <= 2 : true_silent == silent);
        i_slot: assert (!slot_step || (\dut.cq_i.slot_i.s_alloc_next == x_alloc &&
            \dut.cq_i.slot_i.s_used_next == x_used));
        i_stage: assert (!q_c || (c_alloc == x_alloc && c_used == x_used));
        i_context: assert (!q_c || \dut.cq_i.ctx [2:1] == 2'b00);
        i_active: assert (!ctx[1] && !ctx[2] && (!ctx[0] || started) && (!started || limited));
        i_ledger: assert (placed + (put ? put_placed : 2'd0) == x_alloc &&
            used + (put ? put_placed + put_returned : 2'd0) == x_used);
        i_put: assert (!put || put_placed + put_returned <= 2);
        // What is judged lags, on the safe side.
        i_stage1: assert (!c1 || ((w1 || \dut.credit_i.port_i.total == word1) && !\dut.credit_i.port_i.open ));
        i_stage2: assert (!c2 || ((w2 || \dut.credit_i.g_two.port2_i.total == word2) &&
            !\dut.credit_i.g_two.port2_i.open ));
        i_bound1: assert (!c1 || !\dut.credit_i.port_i.f_limited || (gap1 <= SIZE_4 &&
            true_silent + cons + SIZE - bound1 <= SIZE_4));
        i_bound2: assert (!c2 || !\dut.credit_i.g_two.port2_i.f_limited || (gap2 <= SIZE_4 &&
            true_silent + cons + SIZE - bound2 <= SIZE_4));
        i_granted: assert (!q_c || (\dut.cq_i.granted - c_used <= SIZE && late <= 4));
        i_unlimited: assert (limited || (total == 0 && cons == 0 && x_alloc == 0 && x_used == 0));
        i_base: assert (!limited || base + SIZE - total <= SIZE);
        i_held: assert (total - x_used <= SIZE && x_alloc - cons <= SIZE &&
            {1'b0, total - x_used} + {1'b0, x_alloc - cons} <= SIZE);
        // Control
        i_steps: assert ((!\dut.cq_i.p_op || \dut.cq_i.p_side [0] || steps == 5) &&
            (!\dut.cq_i.q_op || \dut.cq_i.q_side [0] || steps == 4) &&
            (!\dut.cq_i.r_op || \dut.cq_i.r_first || steps == 3) && (!\dut.cq_i.c_op || \dut.cq_i.c_first ||
                steps == 2));
        i_op_p: assert (!(\dut.cq_i.p_op && p_cq == cq) || ((p_code == `CDE_TRC_START || p_code == 8'hff) &&
            !p_unreserved && started >= (p_code == `CDE_TRC_START) && limited));
        i_op_q: assert (!(\dut.cq_i.q_op && q_cq == cq) || ((q_code == `CDE_TRC_START || q_code == 8'hff) &&
            !q_unreserved && started >= (q_code == `CDE_TRC_START) && limited));
        i_op_r: assert (!(\dut.cq_i.r_op &&
            \dut.cq_i.r_cq == cq) || ((\dut.cq_i.r_code == `CDE_TRC_START || \dut.cq_i.r_code == 8'hff) &&
            !\dut.cq_i.r_unreserved && started >= (\dut.cq_i.r_code == `CDE_TRC_START) && limited));
        i_op_c: assert (!(\dut.cq_i.c_op &&
            \dut.cq_i.c_cq == cq) || ((\dut.cq_i.c_code == `CDE_TRC_START || \dut.cq_i.c_code == 8'hff) &&
            !\dut.cq_i.c_unreserved && started >= (\dut.cq_i.c_code == `CDE_TRC_START) && limited));
    end
end
