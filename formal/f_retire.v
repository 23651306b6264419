// SPDX-License-Identifier: Apache-2.0
// f_retire: proof that a QP's requests complete one after the other, each once (cde_retire).
//
// Purpose: counts the completions of any one QP. Nothing is assumed of indications and reports, so whatever they say no request completes
//          twice, and none is passed over; that a request was reported before it completes is left to simulation.
// Ports:   free inputs.
// Latency: none.
`default_nettype none
`include "cde_mem.vh"

module f_retire #(
    parameter IDX_W = 3,
    parameter SQ_LOG2 = 2
) (
    input wire               clk,
    input wire               acc_valid,
    input wire               acc_qp,
    input wire [SQ_LOG2-1:0] acc_slot,
    input wire               acc_silent,
    input wire [1:0]         acc_kind,
    input wire               acc_unkeys,
    input wire               ind_valid,
    input wire               ind_qp,
    input wire [SQ_LOG2-1:0] ind_slot,
    input wire               ind_done,
    input wire               ind_ripe,
    input wire               ind_status,
    input wire [IDX_W-1:0]   ind_next,
    input wire               seen_valid,
    input wire               seen_qp,
    input wire               ask,
    input wire               rep_we,
    input wire               rep_qp,
    input wire [IDX_W-1:0]   rep_total,
    input wire [IDX_W-1:0]   rep_ripe,
    input wire               bad_we,
    input wire [IDX_W-1:0]   bad_tag,
    input wire [1:0]         bad,
    input wire               fresh,
    input wire               fresh_qp,
    input wire               ri_done,
    input wire               ri_status,
    input wire               set_we,
    input wire               set_qp,
    input wire               set_guard,
    input wire               cpl_ready
);

    localparam [IDX_W-1:0] ONE = 1;

    reg [1:0] age = 0;
    wire      rst = age == 0;
    wire      up = age == 3;
    wire      init = !rst && !up;
    always @(posedge clk) if (!up) age <= age + 1'b1;
    wire [`CDE_MEM_W-1:0] mem = {39'd0, init, rst};     // maintenance bus: reset and the walk, no injection
    wire [`CDE_MEM_W-1:0] unused_mem;

    (* anyconst *) wire q;              // any one QP

    wire             cpl_valid, ret_we, ret_qp;
    wire [255:0]     cpl_data;
    wire [IDX_W-1:0] ret_index;

    cde_retire #(.NUM_QP(2), .QP_W(1), .CQ_W(1), .IDX_W(IDX_W), .SQ_LOG2(SQ_LOG2), .BURST(2), .ECC(0)) dut (
        .clk(clk), .mem_i(mem), .mem_o(unused_mem), .rst(rst), .init(init), .acc_valid(acc_valid), .acc_qp(acc_qp), .acc_slot(acc_slot),
        .acc_context(64'd0), .acc_silent(acc_silent), .acc_verb({acc_kind, 48'd0}), .acc_unkeys(acc_unkeys), .acc_key(32'd0),
        .ind_valid(ind_valid && up), .ind_qp(ind_qp), .ind_slot(ind_slot), .ind_done(ind_done), .ind_ripe(ind_ripe),
        .ind_status({7'd0, ind_status}), .ind_next(ind_next), .seen_valid(seen_valid && up), .seen_qp(seen_qp), .ask(ask && up),
        .rep_we(rep_we && up), .rep_qp(rep_qp), .rep_total(rep_total), .rep_ripe(rep_ripe), .bad_we(bad_we), .bad_tag(bad_tag),
        .bad_status(8'd1), .bad(bad), .fresh(fresh), .fresh_qp(fresh_qp), .ri_done(ri_done), .ri_status({7'd0, ri_status}),
        .set_we(set_we), .set_qp(set_qp), .set_data({set_guard, 65'd0}), .m_axis_cpl_tdata(cpl_data), .m_axis_cpl_tvalid(cpl_valid),
        .m_axis_cpl_tready(cpl_ready), .ret_we(ret_we), .ret_qp(ret_qp), .ret_index(ret_index)
    );

    reg [IDX_W-1:0] next = 0;           // index of q that completes next
    wire            completes = cpl_valid && cpl_ready && cpl_data[208] == q && up;

    always @(posedge clk) if (completes) next <= next + ONE;

    always @* begin
        if (up) told_once: assert ((ret_we && ret_qp == q) == completes);
        if (completes) one_after_the_other: assert (ret_index == next + ONE);
    end

`ifndef PROPERTIES_ONLY
    // ---------------------------------------------------------------- for the induction: what the stages hold of q
    (* hierconn *) wire [2*IDX_W-1:0] \dut.index_ram.words ;
    (* hierconn *) wire \dut.l_valid , \dut.l_qp , \dut.f_valid , \dut.f_qp , \dut.h_valid , \dut.h_qp , \dut.index_ram.f_raddr , \dut.index_ram.node.clear_addr ;
    (* hierconn *) wire [IDX_W-1:0] \dut.f_index , \dut.h_index ;
    wire in_l = \dut.l_valid && \dut.l_qp == q;
    wire in_f = \dut.f_valid && \dut.f_qp == q;
    wire in_h = \dut.h_valid && \dut.h_qp == q;

    always @* begin
        if (age > {1'b0, q} + 2'd1)
            index_is_next: assert ((q ? \dut.index_ram.words [IDX_W +: IDX_W] : \dut.index_ram.words [0 +: IDX_W]) == next);
        if (init) walk: assert (\dut.index_ram.node.clear_addr == !age[0]);
        if (!rst && !up) nothing_yet: assert (!\dut.l_valid && !\dut.f_valid && !\dut.h_valid );
        if (!up) zero_yet: assert (next == 0);
        if (up) begin
            if (\dut.l_valid ) l_reads: assert (\dut.index_ram.f_raddr == \dut.l_qp );
            one_stage: assert (!(in_l && (in_f || in_h)));
            if (in_f) run: assert (in_h && \dut.f_index == next + ONE);
            if (in_h) oldest: assert (\dut.h_index == next);
        end
    end
`endif

endmodule

`default_nettype wire
