// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_ctrl through its ports, cycle by cycle.
//
// Purpose: writes and reads of every register, of addresses and words that differ from right ones in a bit, both channels on their own, commands that end
//          at any time, with resets and clearing under way. Against lists of what was taken and the map of registers; the words CAP0 to CAP7 are read
//          first and must stay. Compares room, answers, data, each command, injection, pop and refusal in its cycle. The design may be the module
//          or one of the netlist of mutants.
// Ports:   none. Defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps
`include "cde_defs.vh"
`include "cde_mem.vh"

module ctrl_exact;
    `include "exact.vh"

    reg          init = 1'b0, awvalid = 1'b0, wvalid = 1'b0, bready = 1'b0, arvalid = 1'b0, rready = 1'b0, mbox_busy = 1'b0, mbox_done = 1'b0;
    reg          log_valid = 1'b0;
    reg  [11:0]  awaddr = 0, araddr = 0;
    reg  [31:0]  wdata = 0, counter_value = 0;
    reg  [3:0]   wstrb = 0;
    reg  [7:0]   mbox_result = 0;
    reg  [255:0] mbox_outs = 0;
    reg  [47:0]  log_entry = 0;
    wire         awready, wready, bvalid, arready, rvalid, start, log_pop, inject;
    wire [1:0]   bresp, rresp, refused;
    wire [31:0]  rdata;
    wire [7:0]   command;
    wire [255:0] args;
    wire [5:0]   counter_select;
    wire [27:0]  injection;

    `DUT dut (
        .clk(clk), .rst(rst), .init(init), .s_axil_awaddr(awaddr), .s_axil_awvalid(awvalid), .s_axil_awready(awready), .s_axil_wdata(wdata),
        .s_axil_wstrb(wstrb), .s_axil_wvalid(wvalid), .s_axil_wready(wready), .s_axil_bresp(bresp), .s_axil_bvalid(bvalid), .s_axil_bready(bready),
        .s_axil_araddr(araddr), .s_axil_arvalid(arvalid), .s_axil_arready(arready), .s_axil_rdata(rdata), .s_axil_rresp(rresp),
        .s_axil_rvalid(rvalid), .s_axil_rready(rready), .start(start), .command(command), .args(args), .mbox_busy(mbox_busy),
        .mbox_done(mbox_done), .mbox_result(mbox_result), .mbox_outs(mbox_outs), .counter_select(counter_select),
        .counter_value(counter_value), .log_valid(log_valid), .log_entry(log_entry), .log_pop(log_pop), .inject(inject), .injection(injection),
        .refused(refused) `SELECT
    );

    // ---------------------------------------------------------------- the model
    // Taken, the oldest first, two of each at most.
    reg  [11:0]  a0, a1, r0, r1;
    reg  [35:0]  w0, w1;
    integer      count_a, count_w, count_r;
    reg  [31:0]  cap [0:7], arg [0:7], word;
    reg          done, pending, busy, writes, reads, ok, readable, starts, injects, pops, answered, shown, started, injecting;
    reg          a_in, w_in, r_in;
    reg  [1:0]   answer;
    reg  [31:0]  read_word;
    reg  [1:0]   read_answer;
    reg  [7:0]   commanded;
    reg  [27:0]  injected;
    integer      k, load, slow, number;

    task wrong;
        input [8*24-1:0] what;
        begin
            $display("wrong: %0s at %0t: write %h %h, read %h; answers %b %h, %b %h %h", what, $time, a0, w0, r0, bvalid, bresp, rvalid, rresp, rdata);
            $finish;
        end
    endtask

    // Which counter a register is, -1 if none.
    function integer counter;
        input [11:0] at;
        begin
            counter = -1;
            if (at >= `CDE_REG_CNT_CPL_PLACED && at <= `CDE_REG_CNT_DONE_REFUSED) counter = (at - `CDE_REG_CNT_CPL_PLACED) / 4;
            if (at >= `CDE_REG_CNT_CAUSE0 && at <= `CDE_REG_CNT_CAUSE15) counter = 16 + (at - `CDE_REG_CNT_CAUSE0) / 4;
            if (at >= `CDE_REG_CNT_CAUSE16 && at <= `CDE_REG_CNT_CAUSE31) counter = 32 + (at - `CDE_REG_CNT_CAUSE16) / 4;
            if (at >= `CDE_REG_CNT_RECV_POSTS && at <= `CDE_REG_CNT_MEM_LOST) counter = 48 + (at - `CDE_REG_CNT_RECV_POSTS) / 4;
            if (at % 4 != 0) counter = -1;
        end
    endfunction

    task judge_write;
        begin
            busy = pending || mbox_busy;
            writes = count_a > 0 && count_w > 0 && !answered;
            {starts, injects, pops, ok} = 4'd0;
            if (w0[35:32] == 4'hf && a0 % 4 == 0) begin
                if (a0 >= `CDE_REG_ARG0 && a0 <= `CDE_REG_ARG7) ok = !busy;
                if (a0 == `CDE_REG_CMD) {starts, ok} = {2{!busy && w0[31:0] < 256}};
                if (a0 == `CDE_REG_LOG_POP) {pops, ok} = {2{w0[31:0] == 1}};
                if (a0 == `CDE_REG_MEM_INJECT)
                    {injects, ok} = {2{w0[31:28] == 0 && (w0[7:0] == `CDE_MEM_COUNTERS || (cap[7][8] && w0[7:0] < cap[7][7:0]))}};
            end
            if (!writes) {starts, injects, pops} = 3'd0;
        end
    endtask

    task judge_read;
        begin
            reads = count_r > 0 && !shown;
            readable = r0 % 4 == 0;
            number = counter(r0);
            if (number >= 0) word = counter_value;
            else if (r0 >= `CDE_REG_ARG0 && r0 <= `CDE_REG_ARG7) word = arg[(r0 - `CDE_REG_ARG0) / 4];
            else if (r0 >= `CDE_REG_OUT0 && r0 <= `CDE_REG_OUT7) word = mbox_outs >> ((r0 - `CDE_REG_OUT0) / 4 * 32);
            else if (r0 >= `CDE_REG_CAP0 && r0 <= `CDE_REG_CAP7) word = cap[(r0 - `CDE_REG_CAP0) / 4];
            else if (r0 == `CDE_REG_ID) word = `CDE_ID_VALUE;
            else if (r0 == `CDE_REG_VERSION) word = `CDE_VERSION_VALUE;
            else if (r0 == `CDE_REG_CMD_STATUS) word = {16'd0, mbox_result, 6'd0, done, busy};
            else if (r0 == `CDE_REG_LOG0) word = log_valid ? log_entry[31:0] : 0;
            else if (r0 == `CDE_REG_LOG1) word = log_valid ? {16'h8000, log_entry[47:32]} : 0;
            else readable = 1'b0;
            if (!readable) word = 32'd0;
        end
    endtask

    task compare;
        begin
            #1;
            judge_write;
            judge_read;
            if ({awready, wready, arready} !== {count_a < 2 && !init, count_w < 2 && !init, count_r < 2 && !init}) wrong("room");
            if (bvalid !== answered || (answered && bresp !== answer)) wrong("answer of a write");
            if (rvalid !== shown || (shown && {rresp, rdata} !== {read_answer, read_word})) wrong("answer of a read");
            if (start !== started || (started && command !== commanded)) wrong("command");
            if (inject !== injecting || (injecting && injection !== injected)) wrong("injection");
            if (log_pop !== pops) wrong("pop");
            if (refused !== (writes && !ok) + (reads && !readable)) wrong("refusals");
            if (reads && number >= 0 && counter_select !== number) wrong("counter");
            for (k = 0; k < 8; k = k + 1) if (args[32*k +: 32] !== arg[k]) wrong("argument");
        end
    endtask

    task step;
        begin
            {started, injecting} = {starts && !rst, injects && !rst};
            if (starts) commanded = w0[7:0];
            if (injects) injected = w0[27:0];
            if (writes && ok && a0 < `CDE_REG_CMD) arg[(a0 - `CDE_REG_ARG0) / 4] = w0[31:0];
            if (mbox_done) {done, pending} = 2'b10;
            if (starts) {done, pending} = 2'b01;
            if (bready) answered = 1'b0;
            if (writes) {answered, answer} = {1'b1, ok ? 2'b00 : 2'b10};
            if (rready) shown = 1'b0;
            if (reads) {shown, read_answer, read_word} = {1'b1, readable ? 2'b00 : 2'b10, word};
            if (writes) {a0, w0, count_a, count_w} = {a1, w1, count_a - 32'd1, count_w - 32'd1};
            if (reads) {r0, count_r} = {r1, count_r - 32'd1};
            if (a_in) begin
                if (count_a == 0) a0 = awaddr;
                else a1 = awaddr;
                count_a = count_a + 1;
            end
            if (w_in) begin
                if (count_w == 0) w0 = {wstrb, wdata};
                else w1 = {wstrb, wdata};
                count_w = count_w + 1;
            end
            if (r_in) begin
                if (count_r == 0) r0 = araddr;
                else r1 = araddr;
                count_r = count_r + 1;
            end
            if (rst) forget;
        end
    endtask

    task forget;
        begin
            {count_a, count_w, count_r} = 96'd0;
            {done, pending, answered, shown} = 4'd0;
            for (k = 0; k < 8; k = k + 1) arg[k] = 32'd0;
        end
    endtask

    function [11:0] register;
        input of_writes;
        begin
            case (below(of_writes ? 4 : 5))
                0: register = `CDE_REG_ARG0 + 4 * below(8);
                1: register = of_writes ? `CDE_REG_CMD : 4 * below(12'h230 / 4);
                2: register = of_writes ? `CDE_REG_MEM_INJECT : `CDE_REG_CMD_STATUS + 4 * below(11);
                3: register = of_writes ? `CDE_REG_LOG_POP : `CDE_REG_LOG0 + 4 * below(2);
                4: register = 4 * below(10);
            endcase
            if (below(8) == 0) register = register ^ (12'd1 << below(12));
        end
    endfunction

    task inputs;
        begin
            awvalid = below(8) < load;
            awaddr = register(1'b1);
            wvalid = below(8) < load;
            case (below(6))
                0: wdata = below(256);
                4, 5: wdata = below(256) | (32'd1 << below(64));
                1: wdata = 1 | (32'd1 << below(64));
                2: wdata = {4'd0, $random(seed)} & 32'h0FFF_FF00 | (below(3) == 0 ? `CDE_MEM_COUNTERS : below(cap[7][7:0] + 2));
                3: wdata = $random(seed);
            endcase
            if (below(8) == 0) wdata = wdata ^ (32'd1 << below(32));
            wstrb = below(16) == 0 ? $random(seed) : 4'hf;
            arvalid = below(8) < load;
            araddr = register(1'b0);
            bready = below(8) >= slow;
            rready = below(8) >= slow;
            mbox_busy = below(8) == 0;
            mbox_done = below(12) == 0;
            mbox_result = $random(seed);
            for (k = 0; k < 8; k = k + 1) mbox_outs[32*k +: 32] = $random(seed);
            counter_value = $random(seed);
            log_valid = below(2);
            log_entry = {$random(seed), $random(seed)};
        end
    endtask

    // What the design says of itself.
    task read_capabilities;
        begin
            rready = 1'b1;
            for (number = 0; number < 8; number = number + 1) begin
                araddr = `CDE_REG_CAP0 + 4 * number;
                arvalid = 1'b1;
                edge_of_clock;
                arvalid = 1'b0;
                for (k = 0; k < 10 && !rvalid; k = k + 1) edge_of_clock;
                cap[number] = rdata;
                if (rvalid !== 1'b1 || rresp !== 2'b00) wrong("capability");
                edge_of_clock;
            end
            rready = 1'b0;
        end
    endtask

    initial begin
        set_up(30000);
        rst = 1'b0;
        {a0, a1, r0, r1, w0, w1, started, injecting} = 0;
        forget;
        read_capabilities;
        if (cap[7][7:0] == 0 || cap[7][31:9] != 0) wrong("capability 7");
        for (n = 0; n < cycles; n = n + 1) begin
            if (n % 64 == 0) begin
                load = 1 + below(8);
                slow = below(8);
            end
            inputs;
            init = below(64) == 0;
            rst = below(500) == 0;
            compare;
            {a_in, w_in, r_in} = {awvalid && awready, wvalid && wready, arvalid && arready};
            step;
            edge_of_clock;
        end
        passed;
    end

endmodule

`default_nettype wire
