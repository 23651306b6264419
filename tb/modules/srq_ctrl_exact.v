// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_srq_ctrl through its ports, cycle by cycle.
//
// Purpose: commands of shared receive queues whose arguments are right but for a bit or at a limit, one behind another; pipelines that let wait and answer
//          anything; queue pairs that come to name a queue and leave it, watermark events that come while others wait, in turns. The bench goes with each
//          command step by step (SRQ-12, SRQ-16, SRQ-17, receive.md). Compares every output in each cycle in which it says something. The design may be the
//          module or one of the netlist of mutants.
// Ports:   none. SRQ_W, QP_W, PAGE_W, IDX_W, SRQ_LOG2 as parameters of the bench (NUM_SRQ is 1 << SRQ_W, NUM_PAGES 1 << PAGE_W); defines and plusargs:
//          exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps
`include "cde_defs.vh"

module srq_ctrl_exact;
    parameter SRQ_W = 2;
    parameter QP_W = 2;
    parameter PAGE_W = 2;
    parameter IDX_W = 6;
    parameter SRQ_LOG2 = 3;
    `include "exact.vh"
    `include "cde_rx_ops.vh"
    localparam N = 1 << SRQ_W, PAGES = 1 << PAGE_W, SLOTS = 1 << SRQ_LOG2, MASK = (1 << IDX_W) - 1;
    localparam MOST = (1 << QP_W) - 1;      // queue pairs that name a queue, at most

    reg                qc_start = 0, rp_ready = 0, rpr_valid = 0, rpr_ok = 0, tk_ready = 0, tkr_valid = 0, tkr_busy = 0, use_we = 0, use_up = 0,
                       ev_valid = 0, irq_ready = 0, irq_sent = 0;
    reg  [7:0]         qc_command = 0;
    reg  [255:0]       qc_args = 0;
    reg  [4*IDX_W-1:0] rpr_indices = 0;
    reg  [16+IDX_W:0]  tkr_state = 0;
    reg  [15:0]        srqi_number = 0;
    reg  [SRQ_W-1:0]   ev_srq = 0;
    wire               qc_done, rp_valid, tk_valid, set_we, srqi_live, irq_valid;
    wire [7:0]         qc_result;
    wire [191:0]       qc_outs;
    wire [1:0]         rp_code, tk_code;
    wire [SRQ_W-1:0]   op_srq;
    wire [IDX_W-1:0]   rp_size;
    wire [15:0]        tk_mark, irq_vector;
    wire [15+PAGE_W:0] set_data;
    wire [N-1:0]       srq_live, ev_waits;
    wire [PAGE_W-1:0]  srqi_page;

    `DUT dut (
        .clk(clk), .rst(rst), .qc_start(qc_start), .qc_command(qc_command), .qc_args(qc_args), .qc_done(qc_done), .qc_result(qc_result), .qc_outs(qc_outs),
        .rp_valid(rp_valid), .rp_ready(rp_ready), .rp_code(rp_code), .op_srq(op_srq), .rp_size(rp_size), .rpr_valid(rpr_valid), .rpr_ok(rpr_ok),
        .rpr_indices(rpr_indices), .tk_valid(tk_valid), .tk_ready(tk_ready), .tk_code(tk_code), .tk_mark(tk_mark), .tkr_valid(tkr_valid),
        .tkr_busy(tkr_busy), .tkr_state(tkr_state), .set_we(set_we), .set_data(set_data), .srq_live(srq_live), .use_we(use_we), .use_up(use_up),
        .srqi_number(srqi_number), .srqi_live(srqi_live), .srqi_page(srqi_page), .ev_valid(ev_valid), .ev_srq(ev_srq), .ev_waits(ev_waits),
        .irq_valid(irq_valid), .irq_ready(irq_ready), .irq_sent(irq_sent), .irq_vector(irq_vector) `SELECT
    );

    // ---------------------------------------------------------------- the model
    `include "turns.vh"
    reg  [95:0]        made [0:N-1];        // arguments of the creation
    integer            users [0:N-1];
    reg  [N-1:0]       live, waits;
    integer            k, number, out, turns, busy, few, late;
    // The command asks to take a look or a step, in the pipeline of taking or in that of posts; it ends.
    reg                takes, posts, makes, ends, standing, rings, is_live, far;
    reg  [1:0]         code;
    reg  [7:0]         result;
    reg  [191:0]       outs;
    reg  [15:0]        head, mark, tail, reaped, completed, size;
    reg                armed;
    wire               c_create = qc_command == `CDE_CMD_CREATE_SRQ, c_resize = qc_command == `CDE_CMD_RESIZE_SRQ,
                       c_mark = qc_command == `CDE_CMD_SET_SRQ_WATERMARK, c_destroy = qc_command == `CDE_CMD_DESTROY_SRQ;

    task wrong;
        input [8*16-1:0] what;
        begin
            $display("wrong: %0s at %0t: command %h %h: result %h, want %h; outputs %h, want %h; posts %b %0d, taking %b %0d of SRQ %0d", what, $time,
                     qc_command, qc_args[95:0], qc_result, result, qc_outs, outs, rp_valid, rp_code, tk_valid, tk_code, op_srq);
            $finish;
        end
    endtask

    task compare;
        begin
            #1;
            if (rp_valid !== posts || tk_valid !== takes || set_we !== makes) wrong("step");
            if ((posts || takes || makes) && op_srq !== number[SRQ_W-1:0]) wrong("queue");
            if ((posts && rp_code !== code) || (takes && tk_code !== code)) wrong("code");
            if (posts && code != RP_LOOK && rp_size !== qc_args[32 +: IDX_W]) wrong("size");
            if (takes && code == TK_MARK && tk_mark !== qc_args[47:32]) wrong("mark");
            if (makes && set_data !== {qc_args[63:48], qc_args[64 +: PAGE_W]}) wrong("settings");
            if (qc_done !== ends || (ends && {qc_result, qc_outs} !== {result, outs})) wrong("end of a command");
            if (srq_live !== live) wrong("queues there");
            is_live = srqi_number < N && live[srqi_number[SRQ_W-1:0]];
            if (srqi_live !== is_live) wrong("queue named");
            if (is_live && srqi_page !== made[srqi_number[SRQ_W-1:0]][64 +: PAGE_W]) wrong("page");
            if (ev_waits !== waits) wrong("events");
            if (irq_valid !== (offered != -1)) wrong("interrupt");
            if (irq_valid && irq_vector !== made[offered][95:80]) wrong("vector");
        end
    endtask

    task advance;
        begin
            ends = 1'b0;
            if (use_we) users[srqi_number] = users[srqi_number] + (use_up ? 1 : -1);
            if (irq_sent) waits[out] = 1'b0;
            if (irq_sent) standing = 1'b0;
            if (ev_valid) waits[ev_srq] = 1'b1;
            rings = irq_valid && irq_ready;
            if (rings) {standing, out} = {1'b1, offered};
            next_turn(rings ? offered : -1, rings);
            if (ev_valid) asked[ev_srq] = 1'b1;
        end
    endtask

    task inputs;
        begin
            {rp_ready, tk_ready, rpr_ok, tkr_busy} = $random(seed);
            srqi_number = below(4) == 0 ? $random(seed) : below(2) ? 1 << below(16) : below(N);
            // Few queue pairs name queues, and few queues have some, at times.
            use_up = below(2);
            use_we = srqi_number < N && live[srqi_number[SRQ_W-1:0]] && (use_up ? users[srqi_number] < few : users[srqi_number] > 0);
            ev_srq = $random(seed);
            for (k = 0; k < N && !live[ev_srq]; k = k + 1) ev_srq = ev_srq + 1;
            // Not of one that is on its way out.
            ev_valid = live[ev_srq] && below(16) < busy && !(c_destroy && ev_srq == number);
            irq_sent = standing && below(4) == 0;
            irq_ready = (!standing || irq_sent) && below(2);
            {rpr_indices, tkr_state} = {$random(seed), $random(seed), $random(seed), $random(seed), $random(seed)};
            // A size and a mark close to what a command names.
            if (below(4) != 0) rpr_indices[3*IDX_W +: IDX_W] = qc_args[47:32] + below(3) - 1;
            if (below(4) != 0) tkr_state[IDX_W +: 16] = qc_args[47:32] + below(3) - 1;
        end
    endtask

    task cycle;
        begin
            compare;
            advance;
            edge_of_clock;
            {qc_start, rpr_valid, tkr_valid} = 3'd0;
            inputs;
        end
    endtask

    task some_command;
        begin
            case (below(8))
                0, 1, 2: qc_command = `CDE_CMD_CREATE_SRQ;
                3: qc_command = `CDE_CMD_RESIZE_SRQ;
                4: qc_command = `CDE_CMD_SET_SRQ_WATERMARK;
                5: qc_command = `CDE_CMD_QUERY_SRQ;
                6, 7: qc_command = `CDE_CMD_DESTROY_SRQ;
            endcase
            for (k = 0; k < 8; k = k + 1) qc_args[32*k +: 32] = $random(seed);
            qc_args[31:0] = below(N);
            for (k = 0; k < N && live[qc_args[SRQ_W-1:0]] == c_create; k = k + 1) if (below(8) != 0) qc_args[31:0] = (qc_args[31:0] + 1) % N;
            if (c_resize || c_mark) qc_args[63:48] = 0;
            qc_args[47:32] = below(4) == 0 ? SLOTS + below(3) - 1 : below(4) == 0 ? below(3) : below(SLOTS);
            qc_args[79:64] = below(4) == 0 ? PAGES + below(3) - 1 : below(PAGES);
            if (below(4) == 0) begin
                k = below(80);
                qc_args[k] = !qc_args[k];
            end
        end
    endtask

    // What the checks make of a command, the first cause last (receive.md).
    task judge;
        begin
            result = `CDE_RES_OK;
            far = qc_args[31:0] >= N;
            if (c_destroy && waits[number]) result = `CDE_RES_BUSY;
            if (c_destroy && users[number] != 0) result = `CDE_RES_IN_USE;
            if (c_resize && qc_args[47:32] < mark) result = `CDE_RES_TOO_SMALL;
            if (c_create && qc_args[79:64] >= PAGES) result = `CDE_RES_BAD_PAGE;
            if (c_mark && qc_args[47:32] > size) result = `CDE_RES_BAD_SIZE;
            if ((c_create || c_resize) && (qc_args[47:32] == 0 || qc_args[47:32] > SLOTS)) result = `CDE_RES_BAD_SIZE;
            if (c_create && live[number]) result = `CDE_RES_EXISTS;
            if (!c_create && !live[number]) result = `CDE_RES_NO_OBJECT;
            if (far) result = `CDE_RES_BAD_OBJECT;
            if ((c_resize || c_mark) && qc_args[63:48] != 0) result = `CDE_RES_RESERVED;
            if (qc_command == `CDE_CMD_QUERY_SRQ && result == `CDE_RES_OK) begin
                outs[31:0] = {(tail - reaped) & MASK[15:0], (tail - head) & MASK[15:0]};
                outs[95:32] = {mark, completed, reaped, tail};
                outs[97:96] = {waits[number], armed};
                outs[127:112] = users[number];
                outs[159:128] = {made[number][63:48], size};
                outs[191:160] = {made[number][95:80], made[number][79:64]};
            end
        end
    endtask

    // A step in one of the pipelines: asked for until it is taken, answered later.
    task step;
        input in_posts;
        input [1:0] what;
        begin
            code = what;
            {posts, takes} = {in_posts, !in_posts};
            while (!(in_posts ? rp_ready : tk_ready)) cycle;
            cycle;
            {posts, takes} = 2'b00;
            // An answer of the other pipeline is none.
            for (late = below(6); late > 0; late = late - 1) begin
                if (in_posts) tkr_valid = below(2);
                else rpr_valid = below(2);
                cycle;
            end
            {rpr_valid, tkr_valid} = {in_posts || below(2), !in_posts || below(2)};
        end
    endtask

    task serve_command;
        begin
            some_command;
            number = qc_args[SRQ_W-1:0];
            qc_start = 1'b1;
            cycle;
            outs = 192'd0;
            step(1'b0, TK_LOOK);
            {armed, mark} = tkr_state[IDX_W +: 17];
            head = tkr_state[0 +: IDX_W];
            cycle;
            step(1'b1, RP_LOOK);
            {tail, reaped} = {16'd0 | rpr_indices[0 +: IDX_W], 16'd0 | rpr_indices[IDX_W +: IDX_W]};
            {completed, size} = {16'd0 | rpr_indices[2*IDX_W +: IDX_W], 16'd0 | rpr_indices[3*IDX_W +: IDX_W]};
            cycle;
            judge;
            if (result == `CDE_RES_OK && qc_command != `CDE_CMD_QUERY_SRQ) begin
                makes = c_create;
                cycle;
                makes = 1'b0;
                if (c_create) {made[number], users[number]} = {qc_args[95:0], 32'd0};
                if (c_destroy) live[number] = 1'b0;
                step(c_create || c_resize, c_create ? RP_START : c_resize ? RP_SIZE : c_mark ? TK_MARK : TK_CLEAR);
                if (c_create) outs[15:0] = rpr_indices[0 +: IDX_W];
                if (c_resize && !rpr_ok) result = `CDE_RES_TOO_SMALL;
                if (c_mark && tkr_busy) result = `CDE_RES_BUSY;
                cycle;
                if (c_create) live[number] = 1'b1;
            end else cycle;
            ends = 1'b1;
        end
    endtask

    initial begin
        set_up(6000);
        for (turns = 0; turns < cycles; turns = turns + 1) begin
            if (turns % 512 == 0) begin
                {qc_start, use_we, ev_valid, irq_ready, irq_sent, rpr_valid, tkr_valid} = 7'd0;
                rst = 1'b1;
                edge_of_clock;
                rst = 1'b0;
                no_turns;
                {live, waits, takes, posts, makes, ends, standing} = 0;
            end
            if (turns % 32 == 0) busy = below(3) * below(8);
            if (turns % 32 == 0) few = below(2) ? 1 : MOST;
            for (n = below(2) ? below(8) : 0; n > 0; n = n - 1) cycle;
            serve_command;
        end
        passed;
    end

endmodule

`default_nettype wire
