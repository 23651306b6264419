// SPDX-License-Identifier: Apache-2.0
// f_credit: proof that reservation keeps a CQ from overflowing, and that credits are conserved (CQ-17).
//
// Purpose: cde_producer (completions, both ports of the credits) with free requests, completions and consumption, for
//          one life of any one CQ with reservation on. A ledger at the pins counts what was granted, used, placed and
//          consumed: what is held never gets negative, and entries present plus credits held never exceed the ring, so
//          there is always room for what was promised.
// Ports:   free inputs.
// Latency: none.
`default_nettype none
`include "cde_mem.vh"
`include "cde_defs.vh"

module f_credit #(
    parameter NUM_CQ = 2,
    parameter CQ_W = 1,
    parameter IDX_W = 4,
    parameter LOG2 = 2
) (
    input wire             clk,
    input wire [31:0]      cpl_tdest,
    input wire [1:0]       cpl_tkeep,
    input wire [1:0]       cpl_tuser,
    input wire             cpl_tvalid,
    input wire             rq_valid,
    input wire [CQ_W-1:0]  rq_cq,
    input wire [1:0]       rq_count,
    input wire             gr_take,
    input wire             rq2_valid,
    input wire [CQ_W-1:0]  rq2_cq,
    input wire [1:0]       rq2_count,
    input wire             gr2_take,
    input wire             op_valid,
    input wire [7:0]       op_code,
    input wire [CQ_W-1:0]  op_cq,
    input wire [4:0]       op_log2,
    input wire             op_unreserved,
    input wire             limit_we,
    input wire [CQ_W-1:0]  limit_cq,
    input wire [IDX_W+1:0] limit_data,
    input wire             clear_valid,
    input wire [CQ_W-1:0]  clear_cq,
    input wire             cons_we,
    input wire [CQ_W-1:0]  cons_cq,
    input wire [IDX_W-1:0] cons_index,
    input wire             dies,
    input wire [CQ_W-1:0]  dies_cq,
    input wire             revives,
    input wire [CQ_W-1:0]  revives_cq,
    input wire             ent_ready
);

    localparam ENT_W = 638 + CQ_W + IDX_W;
    localparam [IDX_W-1:0] SIZE = 1 << LOG2;

    reg [CQ_W+1:0] age = 0;
    wire           rst = age == 0;
    wire           init = age != 0 && !age[CQ_W+1];
    always @(posedge clk) if (!age[CQ_W+1]) age <= age == NUM_CQ + 1 ? 1 << (CQ_W + 1) : age + 1'b1;
    wire            up = age[CQ_W+1];
    wire [`CDE_MEM_W-1:0] mem = {39'd0, init, rst};     // maintenance bus: reset and the walk, no injection
    wire [`CDE_MEM_W-1:0] unused_mem;

    (* anyconst *) reg [CQ_W-1:0] cq;

    wire             gr_room, gr_dead, gr2_room, gr2_dead, rq_hold, clear_ready, op_ready, res_valid, ent_valid,
        err_valid, trace_valid;
    wire [7:0]       res_result, err_cause;
    wire [IDX_W-1:0] res_index, res_held;
    wire [ENT_W-1:0] ent_data;
    wire [15:0]      err_cq, err_index;
    wire [1:0]       count_placed, count_refused, count_dropped;
    wire [255:0]     trace_data;
    wire             cpl_tready;
    wire             asks = rq_valid && !rq_hold && up, asks2 = rq2_valid && !rq_hold && up;

    cde_producer #(
        .CQ_W(CQ_W), .IDX_W(IDX_W), .ENT_W(ENT_W), .ECC(0)
    ) dut (
        .clk(clk), .mem_i(mem), .mem_o(unused_mem), .rst(rst), .init(init), .s_axis_cpl_tdata(512'd0),
        .s_axis_cpl_tdest(cpl_tdest), .s_axis_cpl_tkeep(cpl_tkeep), .s_axis_cpl_tuser(cpl_tuser),
        .s_axis_cpl_tvalid(cpl_tvalid), .s_axis_cpl_tready(cpl_tready), .rq_valid(asks), .rq_hold(rq_hold),
        .rq_cq(rq_cq), .rq_count(rq_count), .gr_room(gr_room), .gr_dead(gr_dead), .gr_take(gr_take), .rq2_valid(asks2),
        .rq2_cq(rq2_cq), .rq2_count(rq2_count), .gr2_room(gr2_room), .gr2_dead(gr2_dead), .gr2_take(gr2_take),
        .op_valid(op_valid && up), .op_ready(op_ready), .op_code(op_code), .op_cq(op_cq), .op_base(58'd0),
        .op_log2(op_log2),
        .op_unreserved(op_unreserved), .res_valid(res_valid), .res_result(res_result), .res_index(res_index),
        .res_held(res_held), .limit_we(limit_we && up), .limit_cq(limit_cq),
        .limit_data(limit_data), .clear_valid(clear_valid && up),
        .clear_ready(clear_ready), .clear_cq(clear_cq), .cons_we(cons_we && up), .cons_cq(cons_cq),
        .cons_index(cons_index),
        .dies(dies && up), .dies_cq(dies_cq), .revives(revives && up), .revives_cq(revives_cq), .ent_valid(ent_valid),
        .ent_ready(ent_ready), .ent_data(ent_data), .err_valid(err_valid),
        .err_cause(err_cause), .err_cq(err_cq), .err_index(err_index), .count_placed(count_placed),
        .count_refused(count_refused), .count_dropped(count_dropped), .trace_valid(trace_valid), .trace_data(trace_data)
    );

    // ---------------------------------------------------------------- the ledger
    reg [IDX_W-1:0] granted, used, placed, consumed;
    initial {granted, used, placed, consumed} = 0;
    reg [2:0] a1, a2, a3, a4, b1, b2, b3, b4;   // requests of this CQ on their way: {count, valid}
    reg       limited, started;
    reg [2:0] steps;                 // control: a step is on its way
    initial {a1, a2, a3, a4, b1, b2, b3, b4, limited, started, steps} = 0;

    wire       got1 = up && a4[0] && gr_room && gr_take;
    wire       got2 = up && b4[0] && gr2_room && gr2_take;
    wire       mine = trace_valid && up && trace_data[`CDE_TRACE_CQ_LSB +: 16] == cq;
    wire [7:0] op = trace_data[`CDE_TRACE_OP_LSB +: 8];
    wire       put = mine && (op == `CDE_TRC_PLACE || op == `CDE_TRC_OVERFLOW);
    wire [1:0] put_placed = trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_PLACE_PLACED_LSB +: 2];
    wire [1:0] put_returned = trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_PLACE_RETURNED_LSB +: 2];
    wire [IDX_W-1:0] placed_now = placed + (put ? {{(IDX_W-2){1'b0}}, put_placed} : 0);

    always @(posedge clk) begin
        a1 <= {rq_count, asks && rq_cq == cq};
        b1 <= {rq2_count, asks2 && rq2_cq == cq};
        {a2, a3, a4, b2, b3, b4} <= {a1, a2, a3, b1, b2, b3};
        granted <= granted + (got1 ? a4[2:1] : 0) + (got2 ? b4[2:1] : 0);
        if (put) begin
            placed <= placed + put_placed;
            used <= used + put_placed + put_returned;
        end
        if (up && cons_we && cons_cq == cq) consumed <= cons_index;
        if (up && limit_we && limit_cq == cq) limited <= 1'b1;
        if (up && op_valid && op_ready && op_cq == cq && op_code == `CDE_TRC_START) started <= 1'b1;
        steps <= op_valid && op_ready && up ? 3'd5 : steps == 0 ? 3'd0 : steps - 1'b1;
    end

    // ---------------------------------------------------------------- environment
    always @* begin
        if (asks) assume (rq_count == 2'd1 || rq_count == 2'd2);
        if (asks2) assume (rq2_count == 2'd1 || rq2_count == 2'd2);
        // Control sets the limit, then starts the CQ, once; it waits for each step.
        if (op_valid) assume (steps == 0);
        if (op_valid && op_cq == cq) begin
            assume (limited && !(started && op_code == `CDE_TRC_START));
            assume (op_code == `CDE_TRC_START || op_code == 8'hff);
            assume (op_log2 == LOG2 && !op_unreserved);
        end
        if (limit_we && limit_cq == cq) assume (!limited && limit_data == {2'b10, SIZE});
        if (clear_valid) assume (clear_cq != cq);
        // The host consumes what was placed.
        if (cons_we && cons_cq == cq) assume (cons_index - consumed <= placed - consumed);
    end

`ifdef ROOM
    // ---------------------------- room for entries, whatever is asked and however long they wait
    (* hierconn *) wire \dut.cq_i.slot_i.s_push , \dut.cq_i.slot_i.unused_push_ready , \dut.cq_i.r_cpl ,
    \dut.cq_i.r_op , \dut.cq_i.c_cpl , \dut.cq_i.c_op ,
        \dut.cq_i.p_cpl , \dut.cq_i.p_op , \dut.cq_i.q_cpl , \dut.cq_i.q_op , \dut.cq_i.room ;
    (* hierconn *) wire [4:0] \dut.cq_i.out_level ;
    always @(posedge clk) if (!rst) begin
        entries_have_room: assert (!\dut.cq_i.slot_i.s_push || \dut.cq_i.slot_i.unused_push_ready );
`ifndef PROPERTIES_ONLY
        i_one_kind: assert (!(\dut.cq_i.p_cpl && \dut.cq_i.p_op ) && !(\dut.cq_i.q_cpl && \dut.cq_i.q_op ) &&
            !(\dut.cq_i.r_cpl && \dut.cq_i.r_op ) && !(\dut.cq_i.c_cpl && \dut.cq_i.c_op ));
        i_room: assert (\dut.cq_i.out_level + (\dut.cq_i.p_cpl || \dut.cq_i.p_op ) + (\dut.cq_i.q_cpl ||
            \dut.cq_i.q_op ) + (\dut.cq_i.r_cpl || \dut.cq_i.r_op ) + (\dut.cq_i.c_cpl ||
            \dut.cq_i.c_op ) + \dut.cq_i.slot_i.s_push + \dut.cq_i.room <= 16);
`endif
    end
`else
    // ---------------------------------------------------------------- properties
    wire [IDX_W-1:0] held = granted - used;
    wire [IDX_W-1:0] present = placed - consumed;
    always @(posedge clk) if (up) begin
        held_is_not_negative: assert (held <= SIZE);
        ring_never_overflows: assert (present <= SIZE);
        room_for_every_promise: assert ({1'b0, present} + {1'b0, held} <= SIZE);
        no_overflow_reported: assert (!(mine && op == `CDE_TRC_OVERFLOW));
        counts_are_the_trace: assert (!put ||
            (trace_data[`CDE_TRACE_OLD_LSB + `CDE_PSTATE_ALLOC_LSB +: IDX_W] == placed &&
             trace_data[`CDE_TRACE_OLD_LSB + `CDE_PSTATE_USED_LSB +: IDX_W] == used));
    end

`ifndef PROPERTIES_ONLY
`include "f_credit_invariants.vh"
`endif
`endif

endmodule

`default_nettype wire
