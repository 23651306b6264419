// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_key_ctrl through its ports, cycle by cycle.
//
// Purpose: local requests, invalidations of Reads and commands that come alone and together, a key table that lets wait and answers anything, failures
//          that wait; arguments that are right but for a field or a bit. The bench goes with each request step by step: who is next, what the key
//          table is asked, when and what the others are told (windows.md). Compares every output in each cycle in which it says something. The
//          design may be the module or one of the netlist of mutants.
// Ports:   none. QP_W, MR_W, MW_W as parameters of the bench (NUM_MR is 1 << MR_W, NUM_MW 1 << MW_W); defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps
`include "cde_defs.vh"

module key_ctrl_exact;
    parameter QP_W = 2;
    parameter MR_W = 2;
    parameter MW_W = 2;
    `include "exact.vh"
    `include "cde_key_state.vh"
    localparam NUM_MR = 1 << MR_W, NUM_MW = 1 << MW_W;
    localparam LOCAL = 0, READ = 1, COMMAND = 2;
    localparam QUIET = 8;                   // cycles between a failure and the end of its request
    localparam PATIENCE = 7;                // cycles in front of the key table before others are held

    reg                qc_start = 0, loc_valid = 0, ri_valid = 0, op_ready = 0, opr_valid = 0, fail_ready = 0;
    reg  [7:0]         qc_command = 0, opr_status = 0;
    reg  [255:0]       qc_args = 0;
    reg  [QP_W-1:0]    loc_qp = 0, ri_qp = 0;
    reg  [511:0]       loc_post = 0;
    reg  [31:0]        ri_key = 0;
    reg  [KW-1:0]      opr_word = 0;
    reg  [11:0]        opr_count = 0;
    wire               qc_done, loc_done, ri_done, op_valid, hold, fail_valid;
    wire [7:0]         qc_result, done_status;
    wire [255:0]       qc_outs;
    wire [3:0]         op_code;
    wire [QP_W-1:0]    op_qp, fail_qp;
    wire [31:0]        op_key, op_region;
    wire [63:0]        op_base;
    wire [47:0]        op_length;
    wire [15:0]        op_zone;
    wire [2:0]         op_rights;

    `DUT dut (
        .clk(clk), .rst(rst), .qc_start(qc_start), .qc_command(qc_command), .qc_args(qc_args), .qc_done(qc_done), .qc_result(qc_result),
        .qc_outs(qc_outs), .loc_valid(loc_valid), .loc_qp(loc_qp), .loc_post(loc_post), .loc_done(loc_done), .ri_valid(ri_valid), .ri_qp(ri_qp),
        .ri_key(ri_key), .ri_done(ri_done), .done_status(done_status), .op_valid(op_valid), .op_ready(op_ready), .op_code(op_code), .op_qp(op_qp),
        .op_key(op_key), .op_region(op_region), .op_base(op_base), .op_length(op_length), .op_zone(op_zone), .op_rights(op_rights),
        .opr_valid(opr_valid), .opr_status(opr_status), .opr_word(opr_word), .opr_count(opr_count), .hold(hold), .fail_valid(fail_valid),
        .fail_ready(fail_ready), .fail_qp(fail_qp) `SELECT
    );

    // ---------------------------------------------------------------- the model
    integer            who, chosen, asked, most, k, gap, turns;
    // A command waits or is under way; it ends behind this cycle.
    reg                commanded, ends, window, makes, queries, exists, sinks;
    reg  [7:0]         result, status;
    reg  [255:0]       outs;
    reg  [3:0]         code;
    reg  [QP_W-1:0]    qp;
    reg  [31:0]        key, region;
    reg  [63:0]        base;
    reg  [47:0]        length;
    reg  [2:0]         rights;
    reg  [64:0]        top;
    reg                fields, taken;

    task wrong;
        input [8*24-1:0] what;
        begin
            $display("wrong: %0s at %0t: asks %b, request %0d of QP %0d, key %h; command %h: result %h, want %h", what, $time, op_valid, op_code, op_qp,
                     op_key, qc_command, qc_result, result);
            $finish;
        end
    endtask

    // One cycle: what goes out, then what comes in anew. `asks` is the cycle of asking, from 1 on, 0 if it does not ask.
    task cycle;
        input integer asks;
        input ends_local, ends_read, fails;
        begin
            #1;
            if (op_valid !== (asks != 0) || hold !== (asks > PATIENCE)) wrong("request");
            if (asks != 0 && op_code !== code) wrong("code");
            if (asks != 0 && who != COMMAND && op_qp !== qp) wrong("QP");
            if (asks != 0 && op_key !== key) wrong("key");
            if (asks != 0 && fields && {op_base, op_length, op_rights} !== {base, length, rights}) wrong("range or rights");
            if (asks != 0 && who == LOCAL && op_region !== region) wrong("region");
            if (asks != 0 && who == COMMAND && op_zone !== qc_args[175:160]) wrong("zone");
            if ({loc_done, ri_done} !== {ends_local, ends_read}) wrong("end of a request");
            if ((ends_local || ends_read) && done_status !== status) wrong("status");
            if (fail_valid !== fails || (fails && fail_qp !== qp)) wrong("failure");
            if (qc_done !== ends || (ends && {qc_result, qc_outs} !== {result, outs})) wrong("end of a command");
            ends = 1'b0;
            edge_of_clock;
            if (qc_start) commanded = 1'b1;
            qc_start = 1'b0;
            if (ends_local) loc_valid = 1'b0;
            if (ends_read) ri_valid = 1'b0;
            opr_valid = 1'b0;
            if (!loc_valid && below(gap) == 0) some_local;
            if (!ri_valid && below(gap) == 0) {ri_valid, ri_qp, ri_key} = {1'b1, $random(seed), $random(seed)};
            if (!commanded && !qc_start && below(gap) == 0) some_command;
            {op_ready, fail_ready} = $random(seed);
            opr_status = $random(seed);
            opr_word = {$random(seed), $random(seed), $random(seed), $random(seed), $random(seed), $random(seed)};
            if (below(4) == 0) opr_word[K_GEN +: 20] = 20'hFFFFF;
            opr_count = $random(seed);
        end
    endtask

    task some_local;
        begin
            loc_valid = 1'b1;
            loc_qp = $random(seed);
            for (k = 0; k < 16; k = k + 1) loc_post[32*k +: 32] = $random(seed);
            loc_post[`CDE_POST_SEGMENTS_LSB +: 8] = below(4) == 0 ? 1 << below(8) : below(2);
            loc_post[`CDE_POST_OPCODE_LSB +: 8] = below(3) == 0 ? `CDE_OPC_BIND : below(2) ? `CDE_OPC_FAST_REGISTER : `CDE_OPC_INVALIDATE;
        end
    endtask

    task some_command;
        begin
            qc_start = 1'b1;
            case (below(8))
                0: qc_command = `CDE_CMD_REGISTER_MR;
                1: qc_command = `CDE_CMD_ALLOC_MR;
                2: qc_command = `CDE_CMD_DEREGISTER_MR;
                3: qc_command = `CDE_CMD_QUERY_MR;
                4: qc_command = `CDE_CMD_CREATE_MW;
                5: qc_command = `CDE_CMD_CLOSE_MW;
                6: qc_command = `CDE_CMD_QUERY_MW;
                7: qc_command = below(3) ? `CDE_CMD_REGISTER_MR : `CDE_CMD_REMOVE_DEVICE;
            endcase
            for (k = 0; k < 8; k = k + 1) qc_args[32*k +: 32] = $random(seed);
            qc_args[31:0] = below(8) == 0 ? 1 << below(32) : below(NUM_MR < NUM_MW ? NUM_MR : NUM_MW);
            qc_args[191:144] = {13'd0, 3'd0, qc_args[175:160], 16'd0};
            if (qc_command == `CDE_CMD_REGISTER_MR) qc_args[178:176] = $random(seed);
            // Ranges of one byte, of none, to the end of all addresses and past it.
            case (below(4))
                0: qc_args[143:96] = below(3);
                1: qc_args[95:32] = 64'd0 - qc_args[143:96] + below(3) - 1;
                default: qc_args[95] = 1'b0;
            endcase
            if (below(4) == 0) begin
                k = 144 + below(48);
                qc_args[k] = !qc_args[k];
            end
        end
    endtask

    // What the first look at its object makes of a command (interfaces: the first cause counts).
    task judge_command;
        begin
            top = {1'b0, qc_args[95:32]} + qc_args[143:96] - 1;
            exists = opr_word[K_EXISTS];
            result = `CDE_RES_OK;
            if (makes && opr_word[K_GEN +: 20] == 20'hFFFFF) result = `CDE_RES_NO_KEYS;
            if (qc_command == `CDE_CMD_REGISTER_MR && (qc_args[143:96] == 0 || top[64])) result = `CDE_RES_BAD_RANGE;
            if (qc_command == `CDE_CMD_REGISTER_MR && qc_args[178] && !qc_args[176]) result = `CDE_RES_BAD_FLAG;
            if (makes && exists) result = `CDE_RES_EXISTS;
            if (!makes && !exists) result = `CDE_RES_NO_OBJECT;
            if (qc_args[31:0] >= (window ? NUM_MW : NUM_MR)) result = `CDE_RES_BAD_OBJECT;
            if (qc_command == `CDE_CMD_REGISTER_MR && {qc_args[191:179], qc_args[159:144]} != 0) result = `CDE_RES_RESERVED;
            if ((qc_command == `CDE_CMD_ALLOC_MR || qc_command == `CDE_CMD_CREATE_MW) && qc_args[191:176] != 0) result = `CDE_RES_RESERVED;
            if (qc_command == `CDE_CMD_REMOVE_DEVICE) result = `CDE_RES_OK;
            outs = 256'd0;
            if (queries && result == `CDE_RES_OK) begin
                outs[31:0] = {opr_word[K_GEN +: 20], key[11:0]};
                outs[143:32] = {opr_word[K_LENGTH +: 48], opr_word[K_BASE +: 64]};
                outs[178:160] = {opr_word[K_RIGHTS +: 3], opr_word[K_ZONE +: 16]};
                outs[192 +: QP_W] = opr_word[K_QP +: QP_W];
                outs[209:208] = {opr_word[K_ALLOC], opr_word[K_VALID]};
                if (window) outs[224 +: MR_W] = opr_word[K_REGION +: MR_W];
                else outs[221:210] = opr_count;
            end
        end
    endtask

    // The key table is asked, lets wait, and answers later.
    task ask;
        begin
            asked = 0;
            // Some wait for long. The cycle in which the table is ready is the last one.
            most = turns % 4 == 0 ? 12 : 0;
            taken = 1'b0;
            while (!taken) begin
                asked = asked + 1;
                if (asked <= most) op_ready = 1'b0;
                taken = op_ready;
                cycle(asked, 1'b0, 1'b0, 1'b0);
            end
            for (asked = below(4); asked > 0; asked = asked - 1) cycle(0, 1'b0, 1'b0, 1'b0);
            opr_valid = 1'b1;
            if (below(2)) opr_status = 8'h00;
            status = opr_status;
        end
    endtask

    task serve_request;
        begin
            fields = who == LOCAL;
            {qp, key, code} = {ri_qp, ri_key, KEY_READ};
            if (who == LOCAL) begin
                {qp, key, region, base} = {loc_qp, loc_post[511:480], loc_post[255:224], loc_post[191:128]};
                length = loc_post[`CDE_POST_SEGMENTS_LSB +: 8] == 0 ? 48'd0 : loc_post[223:192];
                code = loc_post[7:0] == `CDE_OPC_BIND ? KEY_BIND : loc_post[7:0] == `CDE_OPC_FAST_REGISTER ? KEY_FAST : KEY_INVALIDATE;
                sinks = code == KEY_FAST && loc_post[`CDE_POST_RDMA_READ_SINK_LSB];
                rights = {loc_post[21], loc_post[19], loc_post[20] || sinks};
            end
            cycle(0, 1'b0, 1'b0, 1'b0);
            ask;
            cycle(0, 1'b0, 1'b0, 1'b0);
            if (status != 8'h00) begin
                while (!fail_ready) cycle(0, 1'b0, 1'b0, 1'b1);
                cycle(0, 1'b0, 1'b0, 1'b1);
                for (asked = QUIET; asked > 0; asked = asked - 1) cycle(0, 1'b0, 1'b0, 1'b0);
            end
            cycle(0, who == LOCAL, who == READ, 1'b0);
        end
    endtask

    task serve_command;
        begin
            window = qc_command == `CDE_CMD_CREATE_MW || qc_command == `CDE_CMD_CLOSE_MW || qc_command == `CDE_CMD_QUERY_MW;
            makes = qc_command == `CDE_CMD_CREATE_MW || qc_command == `CDE_CMD_REGISTER_MR || qc_command == `CDE_CMD_ALLOC_MR;
            queries = qc_command == `CDE_CMD_QUERY_MW || qc_command == `CDE_CMD_QUERY_MR;
            fields = 1'b1;
            {key, code} = {20'd0, window, qc_args[10:0], KEY_LOOK};
            {rights, length, base} = {qc_args[178:176], qc_args[143:96], qc_args[95:32]};
            cycle(0, 1'b0, 1'b0, 1'b0);
            ask;
            judge_command;
            cycle(0, 1'b0, 1'b0, 1'b0);
            cycle(0, 1'b0, 1'b0, 1'b0);
            if (!queries && result == `CDE_RES_OK) begin
                case (qc_command)
                    `CDE_CMD_REGISTER_MR: code = KEY_REGISTER;
                    `CDE_CMD_ALLOC_MR: code = KEY_ALLOC;
                    `CDE_CMD_DEREGISTER_MR: code = KEY_DEREGISTER;
                    `CDE_CMD_CREATE_MW: code = KEY_CREATE;
                    `CDE_CMD_REMOVE_DEVICE: code = KEY_REMOVE;
                    default: code = KEY_CLOSE;
                endcase
                ask;
                result = status;
                if (makes) outs[31:0] = {opr_word[K_GEN +: 20], key[11:0]};
                cycle(0, 1'b0, 1'b0, 1'b0);
            end
            cycle(0, 1'b0, 1'b0, 1'b0);
            {commanded, ends} = 2'b01;
        end
    endtask

    // The first one that waits, behind the one that was served last.
    task choose;
        begin
            for (k = who + 3; k > who; k = k - 1) begin
                asked = k % 3;
                if (asked == LOCAL ? loc_valid : asked == READ ? ri_valid : commanded) chosen = asked;
            end
            who = chosen;
        end
    endtask

    initial begin
        set_up(4000);
        rst = 1'b0;
        {who, gap} = {LOCAL, 32'd4};
        {commanded, ends} = 2'b00;
        for (turns = 0; turns < cycles; turns = turns + 1) begin
            if (turns % 64 == 0) gap = turns % 128 == 0 ? 2 : 1 + below(40);
            while (!loc_valid && !ri_valid && !commanded) cycle(0, 1'b0, 1'b0, 1'b0);
            choose;
            if (who == COMMAND) serve_command;
            else serve_request;
        end
        passed;
    end

endmodule

`default_nettype wire
