// SPDX-License-Identifier: Apache-2.0
// cde_cq: producer side of every CQ; gives each completion its slot.
//
// Purpose: takes up to two completions of one CQ per cycle, checks credits or room (CQ-17), and hands the entries on in
//          order with slot, phase and address (cde_slot). Control steps (start, stop, resize, look) take a slot of the
//          same pipeline, so they are atomic against completions.
// Ports:   s_axis_cpl; control steps (op_*); copies of consumer index, credits granted by both ports, error state;
//          entries out (ent_*, a FIFO); error reports; trace lane 0.
// Latency: completion accepted in cycle t, entries on ent_* in t+7. One or two neighbours of one CQ per cycle.
`default_nettype none
`include "cde_defs.vh"
`include "cde_cq_records.vh"
`include "cde_mem.vh"

module cde_cq #(
    parameter CQ_W = 6,
    parameter IDX_W = 16,
    parameter ENT_W = `CDE_ENTRY_W,
    parameter [0:0] PORT2 = 1'b1,          // there are two ports of credits
    parameter ECC = 1
) (
    input  wire              clk,
    input  wire [`CDE_MEM_W-1:0] mem_i,
    output wire [`CDE_MEM_W-1:0] mem_o,
    input  wire              rst,
    input  wire              init,

    // Completions
    input  wire [511:0]      s_axis_cpl_tdata,
    input  wire [31:0]       s_axis_cpl_tdest,
    input  wire [1:0]        s_axis_cpl_tkeep,
    input  wire [1:0]        s_axis_cpl_tuser,
    input  wire              s_axis_cpl_tvalid,
    output wire              s_axis_cpl_tready,

    // Control steps
    input  wire              op_valid,
    output wire              op_ready,
    input  wire [7:0]        op_code,        // 0: clear; CDE_TRC_START, _STOP, _RESIZE; others: look
    input  wire [CQ_W-1:0]   op_cq,
    input  wire [63:6]       op_base,
    input  wire [4:0]        op_log2,
    input  wire              op_unreserved,  // START: no credit reservation
    output reg               res_valid,
    output reg  [7:0]        res_result,     // RESIZE: CDE_RES_OK, _CQ_ERROR, _TOO_SMALL
    output reg  [IDX_W-1:0]  res_index,      // allocated index
    output reg  [IDX_W-1:0]  res_held,       // credits held

    // Consumer index and granted credits, written by their owners; error state
    input  wire              cons_we,
    input  wire [CQ_W-1:0]   cons_cq,
    input  wire [IDX_W-1:0]  cons_index,
    input  wire              granted_we,
    input  wire [CQ_W-1:0]   granted_cq,
    input  wire [IDX_W-1:0]  granted_total,
    input  wire              granted2_we,
    input  wire [CQ_W-1:0]   granted2_cq,
    input  wire [IDX_W-1:0]  granted2_total,
    output wire [CQ_W-1:0]   state_cq,
    input  wire              dead,           // state_cq is in its error state

    // Credits given back without an entry, for the granting side
    output wire              silent_we,
    output wire [CQ_W-1:0]   silent_cq,
    output wire [IDX_W-1:0]  silent_total,

    // Entries
    output wire              ent_valid,
    input  wire              ent_ready,
    output wire [ENT_W-1:0]  ent_data,

    // Reports (ISO-03)
    output reg               err_valid,
    output reg  [7:0]        err_cause,
    output reg  [15:0]       err_cq,
    output reg  [15:0]       err_index,
    output reg  [1:0]        count_placed,
    output reg  [1:0]        count_refused,
    output reg  [1:0]        count_dropped,

    // Trace lane 0
    output reg               trace_valid,
    output reg  [255:0]      trace_data
);

    wire [`CDE_MEM_W-1:0] mem1, mem2, mem3;

    // Context word of a CQ
    localparam C_ACTIVE = 0;
    localparam C_UNRES  = 1;
    localparam C_REFUSE = 2;                  // overflowed
    localparam C_BASE   = 3;                  // 58 bits
    localparam C_ALLOC  = 61;
    localparam C_ORIGIN = C_ALLOC + IDX_W;
    localparam C_USED   = C_ORIGIN + IDX_W;   // credits used up by completions
    localparam C_SIZE   = C_USED + IDX_W;     // of the ring, decoded: it is on the way of whether the ring is full
    localparam C_W      = C_SIZE + IDX_W;

    // Control steps are named by their trace codes. CLEAR prepares a creation; CLEAR and STOP send a barrier after all
    // earlier entries, so that control knows when the path is empty (CQ-20).
    localparam [7:0] OP_CLEAR = 8'h00;

    localparam OUT_LOG2 = 4, LINE_W = 4;
    localparam [IDX_W-1:0] ONE = {{(IDX_W-1){1'b0}}, 1'b1};
    localparam [IDX_W-1:0] TWO = {{(IDX_W-2){1'b0}}, 2'd2};

    // ---------------------------------------------------------------- input, lanes left to do
    wire              in_valid, in_pop, same, free_valid;
    wire [31:0]       in_dest;
    wire [3:0]        in_class;
    wire [1:0]        in_keep, in_user;
    wire [LINE_W:0]   in_line, free_to;
    wire [LINE_W-1:0] line_addr;
    wire [511:0]      line_data;
    reg               lane0_done;

    cde_intake #(.LINE_W(LINE_W)) intake_i (
        .clk(clk), .rst(rst), .init(init), .s_axis_cpl_tdata(s_axis_cpl_tdata), .s_axis_cpl_tdest(s_axis_cpl_tdest),
        .s_axis_cpl_tkeep(s_axis_cpl_tkeep), .s_axis_cpl_tuser(s_axis_cpl_tuser),
        .s_axis_cpl_tvalid(s_axis_cpl_tvalid), .s_axis_cpl_tready(s_axis_cpl_tready), .in_valid(in_valid),
        .in_pop(in_pop), .in_same(same), .in_class(in_class), .in_user(in_user), .in_keep(in_keep), .in_dest(in_dest),
        .in_line(in_line), .addr(line_addr), .rdata(line_data), .free_valid(free_valid), .free_to(free_to)
    );

    wire want0 = in_keep[0] && !lane0_done;
    wire want1 = in_keep[1];
    wire take0 = want0;
    wire take1 = want1 && (!want0 || same);
    wire [15:0] dest = take0 ? in_dest[15:0] : in_dest[31:16];

    reg  p_op, q_op, r_op, c_op;
    // A resize (CQ-19) comes twice: first what it asks for is measured, after stage C it is known whether it fits, and
    // then it is decided.
    reg       r_first, c_first, fits, measured;
    reg [5:0] measuring;

    // Seven operations can be under way when the output FIFO is looked at, a cycle ahead.
    wire [OUT_LOG2:0] out_level;
    reg               room;

    wire first = op_code == `CDE_TRC_RESIZE && !measured;
    wire op_free = room && !init && measuring == 6'd0;
    wire go_op = op_valid && op_free;
    wire go_cpl = in_valid && room && !op_valid && !p_op && !init;    // settings of a control step are not forwarded
    wire all_taken = !(want1 && !take1);

    assign op_ready = op_free && !first;
    assign in_pop = go_cpl && all_taken;

    always @(posedge clk) begin
        room <= out_level <= (1 << OUT_LOG2) - 7 && !rst;
        if (go_cpl) lane0_done <= !all_taken;
        if (rst) lane0_done <= 1'b0;
    end

    // ---------------------------------------------------------------- stages P, Q, R: memories are read
    wire [CQ_W-1:0] a_cq = op_valid ? op_cq : dest[CQ_W-1:0];

    localparam SIDE_W = LINE_W + 6 + 1 + 8 + 16 + 2 + 2 + 58 + 5 + 1 + 1;

    reg              p_cpl, q_cpl, r_cpl, c_cpl, r_in_range, c_in_range, c_counts,
                     r_same;                 // r_cq is c_cq
    reg [7:0]        r_code, c_code;
    reg [CQ_W-1:0]   p_cq, q_cq, r_cq, c_cq;
    reg [15:0]       r_dest, c_dest;
    reg [1:0]        r_take, c_take, r_silent, c_silent;
    reg [LINE_W+5:0] r_line, c_line;         // {class, line, whether nothing after needs it}, in each cycle
    reg [63:6]       r_base, c_base;
    reg [4:0]        r_log2;
    reg [IDX_W:0]    c_size;
    reg              r_unreserved, c_unreserved;
    reg [SIDE_W-1:0] p_side, q_side;

    always @(posedge clk) begin
        p_cpl <= go_cpl && in_keep != 2'b00 && !rst;
        p_op <= go_op && !rst;
        p_side <= {in_class, in_line, in_pop, (dest >> CQ_W) == 16'd0, op_code, dest, take1, take0, in_user,
                   op_base, op_log2, op_unreserved, first};
        {q_cpl, q_op, q_side} <= {p_cpl && !rst, p_op && !rst, p_side};
        {r_cpl, r_op} <= {q_cpl && !rst, q_op && !rst};
        {r_line, r_in_range, r_code, r_dest, r_take, r_silent, r_base, r_log2, r_unreserved, r_first} <= q_side;
        {c_in_range, c_code, c_dest, c_take, c_silent} <= {r_in_range, r_code, r_dest, r_take, r_silent};
        {p_cq, q_cq, r_cq, c_cq, r_same} <= {a_cq, p_cq, q_cq, r_cq, q_cq == r_cq};
        {c_line, c_base, c_unreserved, c_first} <= {r_line, r_base, r_unreserved, r_first};
        c_size <= {{IDX_W{1'b0}}, 1'b1} << r_log2;
        {c_cpl, c_op} <= {r_cpl && !rst, r_op && !rst};
        c_counts <= r_cpl && r_in_range && !rst;
    end

    wire [C_W-1:0]   r_ctx;
    reg  [C_W-1:0]   ctx;
    reg  [C_W-1:0]   ctx_next;
    wire [IDX_W-1:0] r_cons;
    wire [IDX_W-1:0] r_granted;
    wire [IDX_W-1:0] r_granted2;
    wire             step = c_cpl || c_op;

    cde_ctx #(.W(C_W), .AW(CQ_W), .ECC(ECC), .STEPS(4)) context_ram (
        .clk(clk), .mem_i(mem_i), .mem_o(mem1), .we(step), .waddr(c_cq), .wdata(ctx_next), .raddr(a_cq), .rdata(r_ctx)
    );

    cde_ctx #(.W(IDX_W), .AW(CQ_W), .ECC(ECC)) cons_ram (
        .clk(clk), .mem_i(mem1), .mem_o(mem2), .we(cons_we), .waddr(cons_cq), .wdata(cons_index), .raddr(a_cq),
        .rdata(r_cons)
    );

    cde_ctx #(.W(IDX_W), .AW(CQ_W), .ECC(ECC)) granted_ram (
        .clk(clk), .mem_i(mem2), .mem_o(mem3), .we(granted_we), .waddr(granted_cq), .wdata(granted_total), .raddr(a_cq),
        .rdata(r_granted)
    );

    generate
        if (PORT2) begin : g_two
            cde_ctx #(.W(IDX_W), .AW(CQ_W), .ECC(ECC)) granted2_ram (
                .clk(clk), .mem_i(mem3), .mem_o(mem_o), .we(granted2_we), .waddr(granted2_cq), .wdata(granted2_total),
                .raddr(a_cq), .rdata(r_granted2)
            );
        end else begin : g_one
            wire unused_2 = &{1'b0, granted2_we, granted2_cq, granted2_total};
            assign r_granted2 = {IDX_W{1'b0}};
            assign mem_o = mem3;
        end
    endgenerate

    // Whether the indexes are at their bounds is known when the loop over them begins.
    wire [IDX_W-1:0] alloc_next, used_next;
    wire             r_again = c_cpl && r_same;
    reg  [IDX_W-1:0] cons;
    reg  [IDX_W-1:0] granted;
    reg              c_dead;
    wire             full, one_free, used_up, one_left;
    assign           state_cq = r_cq;

    always @(posedge clk) begin
        ctx <= r_ctx;
        if (r_again) begin
            ctx[C_ALLOC +: IDX_W] <= alloc_next;
            ctx[C_USED +: IDX_W] <= used_next;
            ctx[C_REFUSE] <= ctx_next[C_REFUSE];
        end
        cons <= r_cons;
        granted <= r_granted + r_granted2;
        c_dead <= dead;
    end

    // ---------------------------------------------------------------- stage C: what is accepted
    wire             active = ctx[C_ACTIVE];
    wire             unres = ctx[C_UNRES];
    wire [IDX_W-1:0] alloc = ctx[C_ALLOC +: IDX_W];
    wire [IDX_W-1:0] origin = ctx[C_ORIGIN +: IDX_W];
    wire [IDX_W-1:0] used = ctx[C_USED +: IDX_W];
    wire [IDX_W-1:0] alloc_1 = alloc + ONE;
    wire [IDX_W-1:0] alloc_2 = alloc + TWO;
    wire [IDX_W-1:0] used_1 = used + ONE;
    wire [IDX_W-1:0] used_2 = used + TWO;
    wire             in_error = ctx[C_REFUSE] || c_dead;
    wire             usable = c_counts && active && !in_error;

    // Neither index ever passes its bound, so equality tells. Lane 0 has the first claim on credits and room.
    wire place0 = c_take[0] && !c_silent[0];
    wire place1 = c_take[1] && !c_silent[1];
    wire credit0 = !used_up;
    wire credit1 = credit0 && (!c_take[0] || !one_left);
    wire room0 = !full;
    wire room1 = room0 && (!place0 || !one_free);

    wire ok0 = usable && c_take[0] && (unres ? (c_silent[0] || room0) : credit0);
    // After an overflow a silent one is dropped, too, as it would be in the next cycle; else nothing depends on its
    // room.
    wire ok1 = usable && c_take[1] && (unres ? room1 : credit1);
    wire put0 = ok0 && !c_silent[0];
    wire put1 = ok1 && !c_silent[1];
    wire overflow = usable && unres && ((place0 && !room0) || (place1 && !room1));
    wire no_credit = usable && !unres && ((c_take[0] && !ok0) || (c_take[1] && !ok1));
    wire [1:0] placed = {put0 && put1, put0 ^ put1};
    wire [1:0] asked = {c_take[0] && c_take[1], c_take[0] ^ c_take[1]};
    wire [1:0] accepted = {ok0 && ok1, ok0 ^ ok1};
    wire [1:0] spent = unres ? 2'd0 : accepted;
    wire [1:0] returned = unres ? 2'd0 : accepted - placed;
    assign alloc_next = put0 && put1 ? alloc_2 : put0 || put1 ? alloc_1 : alloc;
    assign used_next = spent[1] ? used_2 : spent[0] ? used_1 : used;

    cde_cq_bound #(.IDX_W(IDX_W)) room_i (
        .clk(clk), .read(r_ctx[C_ALLOC +: IDX_W]), .now(alloc), .origin(r_cons), .bound(r_ctx[C_SIZE +: IDX_W]),
        .again(r_again), .by2(put0 && put1), .by1(put0 || put1), .reached(full), .almost(one_free)
    );
    cde_cq_bound #(.IDX_W(IDX_W)) credits_i (
        .clk(clk), .read(r_ctx[C_USED +: IDX_W]), .now(used), .origin(r_granted), .bound(r_granted2), .again(r_again),
        .by2(spent[1]), .by1(spent[0]), .reached(used_up), .almost(one_left)
    );

    // Resize (CQ-19): what is present or promised must fit. Control waits for this step, so it is not on the way of
    // completions.
    wire [IDX_W-1:0] present = alloc - cons;           // placed and not consumed
    wire [IDX_W-1:0] held = granted - used;            // credits granted and not used up
    reg  [IDX_W-1:0] present_1, held_1;
    reg  [IDX_W:0] new_size_1, new_size_2, demand_2;
    wire clear = c_op && c_code == OP_CLEAR;
    wire start = c_op && c_code == `CDE_TRC_START;
    wire stop = c_op && c_code == `CDE_TRC_STOP;
    wire resize = c_op && c_code == `CDE_TRC_RESIZE && !c_first;
    wire resize_ok = resize && !in_error && fits;

    always @(posedge clk) begin
        present_1 <= present;
        held_1 <= unres ? {IDX_W{1'b0}} : held;
        new_size_1 <= c_size;
        demand_2 <= {1'b0, present_1} + {1'b0, held_1};
        new_size_2 <= new_size_1;
        if (measuring[5]) fits <= demand_2 <= new_size_2;
        measuring <= rst ? 6'd0 : {measuring[4:0], go_op && first};
        if (measuring[5]) measured <= 1'b1;
        if (go_op && !first) measured <= 1'b0;
        if (rst) measured <= 1'b0;
    end

    always @* begin
        ctx_next = ctx;
        ctx_next[C_ALLOC +: IDX_W] = alloc_next;
        ctx_next[C_USED +: IDX_W] = used_next;
        if (overflow) ctx_next[C_REFUSE] = 1'b1;
        if (clear) ctx_next = {C_W{1'b0}};
        if (start) begin
            ctx_next[C_ACTIVE] = 1'b1;
            ctx_next[C_UNRES] = c_unreserved;
        end
        if (stop) ctx_next[C_ACTIVE] = 1'b0;
        if (start || resize_ok) begin
            ctx_next[C_SIZE +: IDX_W] = c_size[IDX_W-1:0];
            ctx_next[C_BASE +: 58] = c_base;
            ctx_next[C_ORIGIN +: IDX_W] = start ? {IDX_W{1'b0}} : alloc;
        end
    end

    // ---------------------------------------------------------------- stage S: slots
    cde_slot #(
        .CQ_W(CQ_W), .IDX_W(IDX_W), .LEVEL_W(OUT_LOG2 + 1), .LINE_W(LINE_W)
    ) slot_i (
        .clk(clk), .rst(rst), .step(step),
        .push((c_cpl && (placed != 2'd0 || overflow)) || clear || stop), .barrier(clear || stop), .overflow(overflow),
        .put0(put0), .placed(placed), .cq(c_cq), .alloc(alloc), .origin(origin), .size(ctx[C_SIZE +: IDX_W]),
        .base(ctx[C_BASE +: 58]),
        .alloc_next(ctx_next[C_ALLOC +: IDX_W]), .used_next(ctx_next[C_USED +: IDX_W]),
        .kind(c_line[LINE_W+5:LINE_W+2]), .line(c_line[LINE_W+1:1]), .last(c_line[0]),
        .line_addr(line_addr), .line_data(line_data), .free_valid(free_valid), .free_to(free_to),
        .silent_we(silent_we), .silent_cq(silent_cq), .silent_total(silent_total),
        .ent_valid(ent_valid), .ent_ready(ent_ready), .ent_data(ent_data), .ent_level(out_level)
    );

    // ---------------------------------------------------------------- reports
    wire missing = c_counts && !active;
    wire failed = c_counts && active && in_error;
    wire [1:0] not_accepted = asked - accepted;
    reg        e_outside, e_missing, e_failed, e_overflow, e_no_credit;
    reg [1:0]  e_placed, e_not_accepted;
    reg [15:0] e_dest;
    reg [IDX_W-1:0] e_index;

    // Low from power-up, before any clock edge.
    initial trace_valid = 1'b0;
    always @(posedge clk) begin
        res_valid <= c_op && !c_first && !rst;
        res_result <= !resize || resize_ok ? `CDE_RES_OK : in_error ? `CDE_RES_CQ_ERROR : `CDE_RES_TOO_SMALL;
        res_index <= alloc;
        res_held <= unres ? {IDX_W{1'b0}} : held;

        {e_outside, e_missing, e_failed, e_overflow, e_no_credit} <=
            rst ? 5'd0 : {c_cpl && !c_in_range, missing, failed, overflow, no_credit};
        {e_placed, e_not_accepted, e_dest, e_index} <= {rst ? 2'd0 : placed, not_accepted, c_dest, alloc_next};
        err_valid <= (e_outside || e_missing || e_failed || e_overflow || e_no_credit) && !rst;
        err_cause <= e_outside ? `CDE_CAUSE_CPL_BAD_CQ :
                     e_missing ? `CDE_CAUSE_CPL_NO_CQ :
                     e_failed ? `CDE_CAUSE_CPL_CQ_ERROR :
                     e_overflow ? `CDE_CAUSE_CQ_OVERFLOW : `CDE_CAUSE_CPL_NO_CREDIT;
        err_cq <= e_dest;
        err_index <= {{(16-IDX_W){1'b0}}, e_index};
        count_placed <= rst ? 2'd0 : e_placed;
        count_refused <= rst ? 2'd0 : e_outside || e_missing || e_no_credit ? e_not_accepted : 2'd0;
        count_dropped <= rst ? 2'd0 : e_failed || e_overflow ? e_not_accepted : 2'd0;

        trace_valid <= (placed != 2'd0 || returned != 2'd0 || overflow || start || (stop && active) || resize_ok) &&
                       !rst;
        trace_data <= 256'd0;
        trace_data[`CDE_TRACE_OP_LSB +: 8] <= c_op ? c_code : overflow ? `CDE_TRC_OVERFLOW : `CDE_TRC_PLACE;
        trace_data[`CDE_TRACE_CQ_LSB +: 16] <= {{(16-CQ_W){1'b0}}, c_cq};
        if (overflow) trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_OVERFLOW_PLACED_LSB +: 2] <= placed;
        else if (!c_op) trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_PLACE_PLACED_LSB +: 2] <= placed;
        if (!c_op) trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_PLACE_RETURNED_LSB +: 2] <= returned;
        if (resize) trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_RESIZE_INDEX_LSB +: IDX_W] <= alloc;
        trace_data[`CDE_TRACE_OLD_LSB + `CDE_PSTATE_ALLOC_LSB +: IDX_W] <= alloc;
        trace_data[`CDE_TRACE_OLD_LSB + `CDE_PSTATE_USED_LSB +: IDX_W] <= used;
        trace_data[`CDE_TRACE_OLD_LSB + `CDE_PSTATE_CLOSED_LSB] <= in_error;
        trace_data[`CDE_TRACE_NEW_LSB + `CDE_PSTATE_ALLOC_LSB +: IDX_W] <= ctx_next[C_ALLOC +: IDX_W];
        trace_data[`CDE_TRACE_NEW_LSB + `CDE_PSTATE_USED_LSB +: IDX_W] <= ctx_next[C_USED +: IDX_W];
        trace_data[`CDE_TRACE_NEW_LSB + `CDE_PSTATE_CLOSED_LSB] <= ctx_next[C_REFUSE] || (c_dead && !start) || stop;
    end

endmodule

`default_nettype wire
