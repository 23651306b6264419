// SPDX-License-Identifier: Apache-2.0
// What the benches of modules share, included inside each of them.
//
// Defines: DUT name of the module; MUTANTS the bits of a select input, whose value is the plusarg `mutant`; plusargs
//          `cycles`, or `times` for so many
// times the usual ones, and `seed`.
`ifdef MUTANTS
    `define SELECT , .mutsel(mutant[`MUTANTS-1:0])
`else
    `define SELECT
`endif
    reg         clk = 1'b0, rst = 1'b1;
    integer     cycles, times, seed, n;
    reg  [31:0] mutant;

    // A random number from 0 to bound - 1.
    function integer below;
        input integer bound;
        below = $unsigned($random(seed)) % bound;
    endfunction

    // Reads the plusargs; one edge of the clock in reset.
    task set_up;
        input integer usual_cycles;
        begin
            if (!$value$plusargs("seed=%d", seed)) seed = 1;
            n = 0;
            if (!$value$plusargs("mutant=%d", mutant)) mutant = 0;
            if (!$value$plusargs("times=%d", times)) times = 1;
            if (!$value$plusargs("cycles=%d", cycles)) cycles = usual_cycles * times;
            rst = 1'b1;
            #1 clk = 1'b1;
            #1 clk = 1'b0;
        end
    endtask

    task edge_of_clock;
        begin
            #1 clk = 1'b1;
            #1 clk = 1'b0;
        end
    endtask

    task passed;
        begin
            $display("passed");
            $finish;
        end
    endtask
