// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_ram, or cde_ram_2w with the define TWO: random reads and writes against a plain array, while stored bits turn
// over, at most one of a word at a time. All else of a memory is in tb/tests/lib/memory_exact.v. Prints "passed" and the number of reports, or
// what is wrong.
`default_nettype none
`include "cde_mem.vh"

module strike_bench;
    parameter W = 70;
    localparam AW = 2;
    localparam CW = W + `CDE_ECC_WORD(W);

    reg                  clk = 1'b0;
    reg                  start = 1'b1;
    reg                  init = 1'b1;
    wire [`CDE_MEM_W-1:0] mem_i = {{(`CDE_MEM_W-2){1'b0}}, init, start};
    wire [`CDE_MEM_W-1:0] mem_o;
    reg                  we0 = 1'b0;
    reg                  we1 = 1'b0;
    reg  [AW-1:0]        waddr0, waddr1, raddr0, raddr1;
    reg  [W-1:0]         wdata0, wdata1;
    wire [W-1:0]         rdata0, rdata1;
    reg  [W-1:0]         shadow [0:(1 << AW) - 1];
    reg  [W-1:0]         want0, want1;
    reg  [AW-1:0]        struck;
    reg                  side;
    reg  [CW-1:0]        probe = {CW{1'b0}};
    wire [CW-1:0]        probe_fixed;
    wire                 probe_bad, probe_lost;
    integer              corrected = 0;
    integer              i;

    always #5 clk = !clk;

`ifdef TWO
    cde_ram_2w #(.W(W), .AW(AW)) dut (
        .clk(clk), .mem_i(mem_i), .mem_o(mem_o), .we0(we0), .waddr0(waddr0), .wdata0(wdata0), .we1(we1), .waddr1(waddr1),
        .wdata1(wdata1), .raddr0(raddr0), .rdata0(rdata0), .raddr1(raddr1), .rdata1(rdata1)
    );
`else
    cde_ram #(.W(W), .AW(AW)) dut (
        .clk(clk), .mem_i(mem_i), .mem_o(mem_o), .we(we0), .waddr(waddr0), .wdata(wdata0), .raddr(raddr0), .rdata(rdata0)
    );

    assign rdata1 = want1;
`endif

    cde_ecc_dec #(.W(W), .CW(CW)) probe_i (.en(1'b1), .code(probe), .fixed(probe_fixed), .bad(probe_bad), .lost(probe_lost));

    // A stored bit of any word, of either bank, turns over, unless one of that word has before.
    task strike;
        begin
            struck = $random;
            side = $random;
`ifdef TWO
            probe = side ? dut.bank1[struck] : dut.bank0[struck];
`else
            probe = dut.mem[struck];
`endif
            #1;
            if (!probe_bad) begin
                probe = probe ^ ({{(CW-1){1'b0}}, 1'b1} << ($unsigned($random) % CW));
`ifdef TWO
                if (side) dut.bank1[struck] = probe;
                else dut.bank0[struck] = probe;
`else
                dut.mem[struck] = probe;
`endif
            end
        end
    endtask

    // A cycle: what is read belongs to the addresses of the one before.
    task cycle;
        begin
            @(posedge clk);
`ifdef TWO
            if (we0 && !(we1 && waddr1 == waddr0)) shadow[waddr0] = wdata0;
            if (we1) shadow[waddr1] = wdata1;
`else
            if (we0) shadow[waddr0] = wdata0;
`endif
            want0 = shadow[raddr0];
            want1 = shadow[raddr1];
            @(negedge clk);
            if (rdata0 !== want0 || rdata1 !== want1)
                $display("wrong: word %0d or %0d reads %h %h, must be %h %h", raddr0, raddr1, rdata0, rdata1, want0, want1);
            if (mem_o[`CDE_MEM_BAD] && mem_o[`CDE_MEM_LOST]) $display("wrong: a single bit was lost");
            if (mem_o[`CDE_MEM_BAD]) corrected = corrected + 1;
        end
    endtask

    initial begin
        {waddr0, waddr1, raddr0, raddr1} = 0;
        wdata0 = 0;
        wdata1 = 0;
        for (i = 0; i < (1 << AW); i = i + 1) shadow[i] = 0;
        @(negedge clk);
        @(negedge clk);
        start = 1'b0;
        for (i = 0; i < (1 << AW); i = i + 1) @(negedge clk);
        init = 1'b0;
        for (i = 0; i < 8000; i = i + 1) begin
            we0 = $random % 3 == 0;
            we1 = $random % 3 == 0;
            {waddr0, waddr1} = $random;
            {raddr0, raddr1} = $random;
            wdata0 = {$random, $random, $random, $random};
            wdata1 = {$random, $random, $random, $random};
            strike;
            cycle;
        end
        if (corrected == 0) $display("wrong: nothing was reported");
        $display("passed: %0d corrected", corrected);
        $finish;
    end

endmodule

`default_nettype wire
