// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of one memory through its ports, cycle by cycle: cde_ram, or cde_ram_2w with the define TWO.
//
// Purpose: random reads and writes at few addresses at a time, injections of every bit and of pairs, and traffic of other memories on the
//          maintenance bus, against a model that knows of each word its value and how many of its bits are wrong. Compares what is read, and all of
//          the bus that has a meaning, in each cycle. The design may be the module itself or one of the netlist of mutants.
// Ports:   none. W, AW, ECC (0 without code), FORWARD (as of cde_ram) as parameters of the bench; defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps
`include "cde_mem.vh"

module memory_exact;
    parameter W = 70;
    parameter AW = 4;
    parameter ECC = 1;
    parameter FORWARD = 1;
    `include "exact.vh"
    localparam CW = ECC != 0 ? W + `CDE_ECC_WORD(W) : W;
    localparam N = 1 << AW;

    reg  [`CDE_MEM_W-1:0] mem_i = 0;
    wire [`CDE_MEM_W-1:0] mem_o;
    reg                   we0 = 1'b0, we1 = 1'b0;
    reg  [AW-1:0]         waddr0 = 0, waddr1 = 0, raddr0 = 0, raddr1 = 0;
    reg  [W-1:0]          wdata0 = 0, wdata1 = 0;
    wire [W-1:0]          rdata0, rdata1;
    integer               i, k, walk;

`ifdef TWO
    localparam PORTS = 2;
`else
    localparam PORTS = 1;
`endif
`ifdef TWO
    `DUT dut (
        .clk(clk), .mem_i(mem_i), .mem_o(mem_o), .we0(we0), .waddr0(waddr0), .wdata0(wdata0), .we1(we1), .waddr1(waddr1),
        .wdata1(wdata1), .raddr0(raddr0), .rdata0(rdata0), .raddr1(raddr1), .rdata1(rdata1) `SELECT
    );
`else
    `DUT dut (
        .clk(clk), .mem_i(mem_i), .mem_o(mem_o), .we(we0), .waddr(waddr0), .wdata(wdata0), .raddr(raddr0), .rdata(rdata0) `SELECT
    );
    assign rdata1 = {W{1'b0}};
`endif

    // ---------------------------------------------------------------- the model
    // Of each word of each bank: its value, and 0 right, 1 one wrong bit in a lane, 2 more of them in one lane. `bank` holds the newest.
    reg  [W-1:0]          value0 [0:N-1], value1 [0:N-1];
    reg  [1:0]            state0 [0:N-1], state1 [0:N-1];
    reg                   bank [0:N-1];
    // What was read at the last edge
    reg  [W-1:0]          want0, want1;
    reg  [1:0]            read0_0, read0_1, read1_0, read1_1;   // states: port, bank
    reg                   hit0 = 1'b1, hit1 = 1'b1;             // written at the edge of the read, or not cleared yet
    reg                   seen0 = 1'b0, seen1 = 1'b0;
    reg  [AW-1:0]         at_0 = 0, at_1 = 0;
    reg                   bad0, bad1, lost0, lost1, in0, in1, heal0, heal1;
    // The place on the bus
    reg                   flip = 1'b0;
    reg                   o_inject = 1'b0, o_bad = 1'b0, o_lost, wait_bad = 1'b0, wait_lost = 1'b0;
    reg  [7:0]            o_target, o_hops;
    reg                   fresh = 1'b0;                         // registers have had a reset
    reg                   report, report_lost, in_bad;
    reg  [1:0]            wrongs;

    wire       start = mem_i[`CDE_MEM_START], clear = mem_i[`CDE_MEM_CLEAR], inject = mem_i[`CDE_MEM_INJECT];
    wire       cancel = mem_i[`CDE_MEM_CANCEL];
    reg  [9:0] bit0, bit1;              // numbers of the bits to invert: those of the cycle before

    // Which lane a bit of the code word belongs to: CDE_ECC_D data bits, CDE_ECC_R check bits.
    function integer lane;
        input [9:0] at;
        lane = at < W ? at / `CDE_ECC_D : (at - W) / `CDE_ECC_R;
    endfunction

    task wrong;
        input [8*24-1:0] what;
        begin
            $display("wrong: %0s at %0t: read %h %h, want %h %h; bus %h", what, $time, rdata0, rdata1, want0, want1, mem_o);
            $finish;
        end
    endtask

    task compare;
        begin
            if (fresh) begin
                if (!hit0 || FORWARD != 0) if (rdata0 !== want0 && !(lost0 && bad0)) wrong("word of port 0");
`ifdef TWO
                if (rdata1 !== want1 && !(lost1 && bad1)) wrong("word of port 1");
`endif
                if (mem_o[0 +: `CDE_MEM_INJECT] !== mem_i[0 +: `CDE_MEM_INJECT] || mem_o[`CDE_MEM_CANCEL] !== cancel) wrong("what goes to all");
                if (mem_o[`CDE_MEM_INJECT] !== o_inject) wrong("injection");
                if (o_inject && mem_o[`CDE_MEM_TARGET +: 8] !== o_target) wrong("target");
                if (mem_o[`CDE_MEM_BAD] !== o_bad) wrong("report");
                if (o_bad && mem_o[`CDE_MEM_LOST] !== o_lost) wrong("report of a loss");
                if (o_bad && mem_o[`CDE_MEM_HOPS +: 8] !== o_hops) wrong("number");
            end
        end
    endtask

    // What the words just read are, before the edge.
    task judge;
        begin
            in0 = bank[at_0];
            in1 = bank[at_1];
            bad0 = !hit0 && (in0 ? read0_1 : read0_0) != 2'd0;
            bad1 = PORTS == 2 && !hit1 && (in1 ? read1_1 : read1_0) != 2'd0;
            lost0 = (in0 ? read0_1 : read0_0) == 2'd2;
            lost1 = (in1 ? read1_1 : read1_0) == 2'd2;
            heal0 = bad0 && !lost0;
            heal1 = bad1 && !lost1;
        end
    endtask

    // The edge: reads see the words as they were, writes come first in what is wanted.
    task step;
        begin
            report = (bad0 && !seen0) || (bad1 && !seen1);
            report_lost = (bad0 && lost0 && !seen0) || (bad1 && lost1 && !seen1);
            in_bad = mem_i[`CDE_MEM_BAD];
            seen0 = bad0 && raddr0 == at_0;
            seen1 = bad1 && raddr1 == at_1;
            {read0_0, read0_1, read1_0, read1_1} = {state0[raddr0], state1[raddr0], state0[raddr1], state1[raddr1]};
            hit0 = clear || (we0 && waddr0 == raddr0) || (we1 && waddr1 == raddr0);
            hit1 = clear || (we0 && waddr0 == raddr1) || (we1 && waddr1 == raddr1);
            wrongs = !flip ? 2'd0 : bit0 >= CW && bit1 >= CW ? 2'd0 : bit0 == bit1 || bit0 >= CW || bit1 >= CW ? 2'd1 : lane(bit0) == lane(bit1) ? 2'd2 : 2'd1;
            if (ECC == 0) wrongs = 2'd0;
            if (clear) begin
                for (i = 0; i < N; i = i + 1) {value0[i], value1[i], state0[i], state1[i], bank[i]} = 0;
            end else begin
                if (we0) begin
                    value0[waddr0] = wdata0;
                    state0[waddr0] = we1 ? 2'd0 : wrongs;
                    bank[waddr0] = 1'b0;
                end else if (heal0 && !in0) state0[at_0] = 2'd0;
                else if (heal1 && !in1) state0[at_1] = 2'd0;
                if (we1) begin
                    value1[waddr1] = wdata1;
                    state1[waddr1] = wrongs;
                    bank[waddr1] = 1'b1;
                end else if (heal0 && in0) state1[at_0] = 2'd0;
                else if (heal1 && in1) state1[at_1] = 2'd0;
            end
            want0 = bank[raddr0] ? value1[raddr0] : value0[raddr0];
            want1 = bank[raddr1] ? value1[raddr1] : value0[raddr1];
            {at_0, at_1} = {raddr0, raddr1};
            // The bus
            o_inject = inject && !start && !cancel;
            o_target = mem_i[`CDE_MEM_TARGET +: 8] - 8'd1;
            if (we0 || we1) flip = 1'b0;
            if (inject) flip = mem_i[`CDE_MEM_TARGET +: 8] == 8'd0;
            if (start || cancel) flip = 1'b0;
            o_bad = in_bad || report || wait_bad;
            o_lost = in_bad ? mem_i[`CDE_MEM_LOST] : report_lost || wait_lost;
            o_hops = in_bad ? mem_i[`CDE_MEM_HOPS +: 8] + 8'd1 : 8'd0;
            wait_bad = in_bad && (report || wait_bad);
            wait_lost = in_bad && (report_lost || wait_lost);
            if (start || clear) {o_bad, wait_bad, wait_lost} = 3'd0;
            {bit0, bit1} = {mem_i[`CDE_MEM_BIT +: 10], mem_i[`CDE_MEM_BIT2 +: 10]};
        end
    endtask

    task cycle;
        begin
            #1;
            judge;
            compare;
            step;
            clk = 1'b1;
            #1;
            clk = 1'b0;
        end
    endtask

    // ---------------------------------------------------------------- stimulus
    reg [AW-1:0] pool [0:3];
    reg [9:0]    next_bit;

    function [AW-1:0] address;
        input unused;
        address = below(8) == 0 ? $random(seed) : pool[below(4)];
    endfunction

    function [W-1:0] word;
        input unused;
        begin
            word = {(W + 31) / 32{32'd0}};
            for (k = 0; k < (W + 31) / 32; k = k + 1) word = word << 32 | $unsigned($random(seed)) & 64'hffff_ffff;
        end
    endfunction

    // Reset and the walk. Reports and injections that are under way are forgotten; what is read meanwhile counts for nothing.
    task clear_all;
        integer n;
        begin
            {we0, we1} = 2'b00;
            mem_i[`CDE_MEM_START] = 1'b1;
            for (n = 0; n < 3; n = n + 1) begin
                if (fresh) cycle;
                else begin
                    edge_of_clock;
                end
                mem_i[`CDE_MEM_INJECT] = 1'b0;
                mem_i[`CDE_MEM_BAD] = 1'b0;
            end
            mem_i = 0;
            mem_i[`CDE_MEM_CLEAR] = 1'b1;
            for (n = 0; n < N; n = n + 1) begin
                // Each word is read at the edge that clears it.
                if (walk % 2 == 1) {raddr0, raddr1} = {2{n[AW-1:0]}};
                cycle;
            end
            mem_i = 0;
            fresh = 1'b1;
        end
    endtask

    task sweep;
        integer n;
        begin
            {we0, we1} = 2'b00;
            mem_i = 0;
            for (n = 0; n < N + 4; n = n + 1) begin
                {raddr0, raddr1} = {n[AW-1:0], ~n[AW-1:0]};
                cycle;
            end
        end
    endtask

    // mode: 0 single bits, 1 pairs as well, 2 no injections here; the bus has other traffic in all.
    task traffic;
        input integer count;
        input [1:0]   mode;
        integer       n, p;
        begin
            for (n = 0; n < count; n = n + 1) begin
                if (n % 32 == 0) for (p = 0; p < 4; p = p + 1) pool[p] = $random(seed);
                // Quiet times let corrections be written back; busy ones do not.
                we0 = below(n[6] ? 6 : 2) == 0;
`ifdef TWO
                we1 = below(n[7] ? 6 : 2) == 0;
`endif
                {waddr0, waddr1} = {address(1'b0), address(1'b0)};
                if (below(3) != 0) raddr0 = address(1'b0);
                if (below(3) != 0) raddr1 = address(1'b0);
                {wdata0, wdata1} = {word(1'b0), word(1'b0)};
                mem_i[`CDE_MEM_CANCEL] = 1'b0;
                mem_i[`CDE_MEM_INJECT] = 1'b0;
                if (n % 4 == 2) begin
                    // An injection after a cancellation, as the bus does it: the bits change only then.
                    mem_i[`CDE_MEM_CANCEL] = 1'b1;
                end else if (n % 4 == 3 && mode != 2'd2) begin
                    mem_i[`CDE_MEM_INJECT] = 1'b1;
                    mem_i[`CDE_MEM_TARGET +: 8] = below(8) == 0 ? $random(seed) : 8'd0;
                    next_bit = next_bit >= CW ? 10'd0 : next_bit + 10'd1;
                    mem_i[`CDE_MEM_BIT +: 10] = next_bit;
                    mem_i[`CDE_MEM_BIT2 +: 10] = mode == 2'd0 ? next_bit : below(CW + 1);
                end
                mem_i[`CDE_MEM_BAD] = below(4) == 0;
                mem_i[`CDE_MEM_LOST] = $random(seed);
                mem_i[`CDE_MEM_HOPS +: 8] = below(200);
                cycle;
            end
            mem_i = 0;
        end
    endtask

    initial begin
        next_bit = 10'd0;
        set_up(20000);
        {want0, want1} = 0;
        {bad0, bad1, lost0, lost1} = 0;
        for (i = 0; i < N; i = i + 1) {value0[i], value1[i], state0[i], state1[i], bank[i]} = 0;
        clear_all;
        sweep;
        traffic(cycles / 2, ECC != 0 ? 2'd0 : 2'd2);
        sweep;
        sweep;
        // A reset finds reports and injections under way.
        for (walk = 0; walk < 12; walk = walk + 1) begin
            traffic(40 + walk, ECC != 0 ? 2'd0 : 2'd2);
            mem_i[`CDE_MEM_INJECT] = walk[0];
            mem_i[`CDE_MEM_BAD] = walk[1];
            clear_all;
            {waddr0, we0} = {pool[0], walk[2]};
            cycle;
            sweep;
        end
        traffic(cycles / 2, ECC != 0 ? 2'd1 : 2'd2);
        sweep;
        // The last word, which is lost, is read while the walk clears it.
        for (walk = 0; walk < 4 && ECC != 0; walk = walk + 1) begin
            traffic(40 + walk, 2'd1);
            {mem_i, we0, we1} = 0;
            mem_i[`CDE_MEM_CANCEL] = 1'b1;
            cycle;
            mem_i = 0;
            mem_i[`CDE_MEM_INJECT] = 1'b1;
            {mem_i[`CDE_MEM_BIT +: 10], mem_i[`CDE_MEM_BIT2 +: 10]} = {10'd0 + walk[9:0], 10'd1 + walk[9:0]};
            cycle;
            {mem_i, we0, waddr0, raddr0, raddr1} = {{`CDE_MEM_W{1'b0}}, 1'b1, {3*AW{1'b1}}};
            cycle;
            clear_all;
            sweep;
        end
        passed;
    end

endmodule

`default_nettype wire
