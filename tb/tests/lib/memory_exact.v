// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of one memory through its ports, cycle by cycle: cde_ram, cde_ctx, or with the define TWO
// cde_ctx_2w.
//
// Purpose: random reads and writes at few addresses at a time, injections of every bit and of pairs, and traffic of
//          other memories on the maintenance bus, against a model that knows of each word its value and how many of its
//          bits are wrong. Compares what is read, and all of the bus that has a meaning, in each cycle. The design may
//          be the module itself or one of the netlist of mutants.
// Ports:   none. W, AW, ECC (0 without code), READ as parameters of the bench; defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps
`include "cde_mem.vh"

module memory_exact;
    parameter W = 70;
    parameter AW = 4;
    parameter ECC = 1;
    parameter READ = 1;         // latency of a read
    parameter STEPS = 0;        // cycles from a read to the write of its word; 0: writes go anywhere
    `include "exact.vh"
    localparam CW = ECC != 0 ? W + `CDE_ECC_WORD(W) : W;
    localparam N = 1 << AW;
    localparam LAST = READ > 1 ? READ - 2 : 0;  // place of the read that is corrected
    localparam WAY = READ > 1 ? 1 : 2;          // cycles until a write is in the memory

    reg  [`CDE_MEM_W-1:0] mem_i = 0;
    wire [`CDE_MEM_W-1:0] mem_o;
    reg                   we0 = 1'b0, we1 = 1'b0;
    reg  [AW-1:0]         waddr0 = 0, waddr1 = 0, raddr0 = 0, raddr1 = 0;
    reg  [W-1:0]          wdata0 = 0, wdata1 = 0;
    wire [W-1:0]          rdata0, rdata1;
    integer               i, k, walk;

`ifdef TWO
    localparam PORTS = 2;
    wire late1 = ^wdata1;       // which of the two words the port is to write
`else
    localparam PORTS = 1;
`endif
`ifdef TWO
    `DUT dut (
        .clk(clk), .mem_i(mem_i), .mem_o(mem_o), .we0(we0), .waddr0(waddr0), .wdata0(wdata0), .we1(we1),
        .waddr1(waddr1), .wdata1(late1 ? ~wdata1 : wdata1), .late1(late1), .alt1(late1 ? wdata1 : ~wdata1),
        .raddr0(raddr0), .rdata0(rdata0), .raddr1(raddr1), .rdata1(rdata1) `SELECT
    );
`else
    `DUT dut (
        .clk(clk), .mem_i(mem_i), .mem_o(mem_o), .we(we0), .waddr(waddr0), .wdata(wdata0), .raddr(raddr0),
        .rdata(rdata0) `SELECT
    );
    assign rdata1 = {W{1'b0}};
`endif

    // ---------------------------------------------------------------- the model
    // Of each word of each bank: its value, and 0 right, 1 one wrong bit in a lane, 2 more of them in one lane. `bank`
    // holds the newest. Reads up to the cycle `until` find the word on its way into the memory.
    reg  [W-1:0]          value0 [0:N-1], value1 [0:N-1];
    reg  [1:0]            state0 [0:N-1], state1 [0:N-1];
    reg                   bank [0:N-1];
    integer               until [0:N-1];
    integer               now = 0;
    // Reads of each port, the latest in the lowest place: address, found on its way or cleared, bank, state, none of
    // its value is wanted
    reg  [AW-1:0]         at0 [0:3], at1 [0:3];
    reg  [3:0]            hit0 = 4'hf, hit1 = 4'hf, in0, in1, none0 = 4'hf, none1 = 4'hf;
    reg  [1:0]            read0 [0:3], read1 [0:3];
    // What came of the correction; its report
    reg                   wrong0 = 1'b0, wrong1 = 1'b0, lost0 = 1'b0, lost1 = 1'b0, heal0 = 1'b0, heal1 = 1'b0, side0,
        side1;
    reg  [AW-1:0]         heal_at0, heal_at1, told0, told1;
    integer               told_for0 = 0, told_for1 = 0;
    reg                   told_lost0, told_lost1;
    reg                   again0, again1, back0, back1;
    reg  [AW-1:0]         back_at;
    // Of two ports: a write-back waits a cycle, unless its word is written meanwhile.
    reg                   back = 1'b0, back_side;
    reg  [AW-1:0]         back_next;
    // The write of the cycle before
    reg                   user0 = 1'b0, user1 = 1'b0;
    reg  [AW-1:0]         user_at0, user_at1;
    // The place on the bus
    reg                   flip = 1'b0;
    reg                   o_inject = 1'b0, o_bad = 1'b0, o_lost, wait_bad = 1'b0, wait_lost = 1'b0;
    reg  [7:0]            o_target, o_hops;
    reg                   fresh = 1'b0;                         // registers have had a reset
    reg                   report, report_lost, in_bad;
    reg  [1:0]            wrongs;
    reg  [W-1:0]          want0, want1;

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
            $display("wrong: %0s at %0t: read %h %h, want %h %h; bus %h", what, $time, rdata0, rdata1, want0, want1,
                mem_o);
            $finish;
        end
    endtask

    task compare;
        begin
            want0 = bank[at0[READ-1]] ? value1[at0[READ-1]] : value0[at0[READ-1]];
            want1 = bank[at1[READ-1]] ? value1[at1[READ-1]] : value0[at1[READ-1]];
            if (fresh) begin
                if (!none0[READ-1] && rdata0 !== want0) wrong("word of port 0");
                if (PORTS == 2 && !none1[READ-1] && rdata1 !== want1) wrong("word of port 1");
                if (mem_o[0 +: `CDE_MEM_INJECT] !== mem_i[0 +: `CDE_MEM_INJECT] ||
                    mem_o[`CDE_MEM_CANCEL] !== cancel) wrong("what goes to all");
                if (mem_o[`CDE_MEM_INJECT] !== o_inject) wrong("injection");
                if (o_inject && mem_o[`CDE_MEM_TARGET +: 8] !== o_target) wrong("target");
                if (mem_o[`CDE_MEM_BAD] !== o_bad) wrong("report");
                if (o_bad && mem_o[`CDE_MEM_LOST] !== o_lost) wrong("report of a loss");
                if (o_bad && mem_o[`CDE_MEM_HOPS +: 8] !== o_hops) wrong("number");
            end
        end
    endtask

    function written;
        input [AW-1:0] at;
        written = (we0 && waddr0 == at) || (we1 && waddr1 == at);
    endfunction

    // Words written, with what an injection inverts.
    task writes;
        begin
            wrongs = !flip || ECC == 0 ? 2'd0 : bit0 >= CW &&
                bit1 >= CW ? 2'd0 : bit0 == bit1 || bit0 >= CW || bit1 >= CW ? 2'd1 :
                     lane(bit0) == lane(bit1) ? 2'd2 : 2'd1;
            // Encoded in the cycle after
            if (user0) state0[user_at0] = user1 ? 2'd0 : wrongs;
            if (user1) state1[user_at1] = wrongs;
            if (we0) begin
                value0[waddr0] = wdata0;
                state0[waddr0] = 2'd0;
                bank[waddr0] = 1'b0;
                until[waddr0] = now + WAY;
            end
            if (we1) begin
                value1[waddr1] = wdata1;
                state1[waddr1] = 2'd0;
                bank[waddr1] = 1'b1;
                until[waddr1] = now + WAY;
            end
            if (user0 || user1) flip = 1'b0;
            {user0, user1, user_at0, user_at1} = {we0, we1, waddr0, waddr1};
        end
    endtask

    // What the correction says, after the last step of a read; of what it says of the read before, the write-back.
    task corrections;
        begin
            back_at = PORTS == 2 ? back_next : heal_at0;
            back0 = (PORTS == 2 ? back && !back_side : heal0) && !we0 && !(we1 && waddr1 == back_at) && !clear;
            back1 = PORTS == 2 && back && back_side && !we1 && !(we0 && waddr0 == back_at) && !clear;
            back_next = heal0 ? heal_at0 : heal_at1;
            back_side = heal0 ? side0 : side1;
            back = (heal0 || heal1) && !written(back_next) && !clear;
            again0 = told_for0 > 0 && told0 == heal_at0 && (told_lost0 || !lost0);
            again1 = told_for1 > 0 && told1 == heal_at1 && (told_lost1 || !lost1);
            report = (wrong0 && !again0) || (wrong1 && !again1);
            report_lost = (lost0 && !again0) || (lost1 && !again1);
            if (told_for0 > 0) told_for0 = told_for0 - 1;
            if (told_for1 > 0) told_for1 = told_for1 - 1;
            if (wrong0) {told0, told_for0, told_lost0} = {heal_at0, 32'd3, lost0};
            if (wrong1) {told1, told_for1, told_lost1} = {heal_at1, 32'd3, lost1};
            if (clear) {told_for0, told_for1} = 64'd0;
            if (READ > 1) begin
                {hit0[1], hit1[1]} = {hit0[1] || written(at0[1]), hit1[1] || written(at1[1])};
                {hit0[0], hit1[0]} = {hit0[0] || written(at0[0]) || clear, hit1[0] || written(at1[0]) || clear};
            end
            wrong0 = !hit0[LAST] && read0[LAST] != 2'd0;
            wrong1 = PORTS == 2 && !hit1[LAST] && read1[LAST] != 2'd0;
            lost0 = wrong0 && read0[LAST] == 2'd2;
            lost1 = wrong1 && read1[LAST] == 2'd2;
            {heal_at0, heal_at1, side0, side1} = {at0[LAST], at1[LAST], in0[LAST], in1[LAST]};
            heal0 = wrong0 && !lost0 && !written(heal_at0) && !clear;
            heal1 = wrong1 && !lost1 && !written(heal_at1) && !clear;
            // A lost word has no value until it is written.
            if (READ > 1) {none0[LAST], none1[LAST]} = {none0[LAST] || lost0, none1[LAST] || lost1};
        end
    endtask

    // The edge
    task step;
        begin
            in_bad = mem_i[`CDE_MEM_BAD];
            corrections;
            if (clear) begin
                for (i = 0; i < N; i = i + 1) {value0[i], value1[i], state0[i], state1[i], bank[i]} = 0;
                {user0, user1} = 2'b00;
            end else begin
                writes;
            end
            for (k = 3; k > 0; k = k - 1) begin
                {at0[k], at1[k], read0[k], read1[k]} = {at0[k-1], at1[k-1], read0[k-1], read1[k-1]};
            end
            {at0[0], at1[0]} = {raddr0, raddr1};
            {in0, in1} = {in0[2:0], bank[raddr0], in1[2:0], bank[raddr1]};
            hit0 = {hit0[2:0], clear || written(raddr0) || until[raddr0] >= now};
            hit1 = {hit1[2:0], clear || written(raddr1) || until[raddr1] >= now};
            read0[0] = bank[raddr0] ? state1[raddr0] : state0[raddr0];
            read1[0] = bank[raddr1] ? state1[raddr1] : state0[raddr1];
            none0 = {none0[2:0], 1'b0};
            none1 = {none1[2:0], 1'b0};
            if (clear && READ > 1) {none0, none1} = 8'hff;
            if (READ == 1) {none0[0], none1[0]} = {none0[0] || (!hit0[0] && read0[0] == 2'd2),
                none1[0] || (!hit1[0] && read1[0] == 2'd2)};
            if (back0) state0[back_at] = 2'd0;
            if (back1) state1[back_at] = 2'd0;
            if (back0 || back1) until[back_at] = now + WAY;
            now = now + 1;
            // The bus
            o_inject = inject && !start && !cancel;
            o_target = mem_i[`CDE_MEM_TARGET +: 8] - 8'd1;
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

    // Reset and the walk. Reports and injections that are under way are forgotten; what is read meanwhile counts for
    // nothing.
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
                if (STEPS > 0) {waddr0, waddr1} = {at0[STEPS-1], at1[STEPS-1]};
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
        for (i = 0; i < N; i = i + 1) {value0[i], value1[i], state0[i], state1[i], bank[i], until[i]} = 0;
        for (i = 0; i < 4; i = i + 1) {at0[i], at1[i], read0[i], read1[i]} = 0;
        {in0, in1, side0, side1, bit0, bit1} = 0;
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
            {waddr0, we0} = {STEPS > 0 ? at0[STEPS-1] : pool[0], walk[2]};
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
            if (STEPS > 0) waddr0 = at0[STEPS-1];
            cycle;
            clear_all;
            sweep;
        end
        passed;
    end

endmodule

`default_nettype wire
