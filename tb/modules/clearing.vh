// SPDX-License-Identifier: Apache-2.0
// What the benches of modules with memories share, included inside each of them behind exact.vh: the maintenance bus, and a reset with the walk that
// clears all words.
    reg  [`CDE_MEM_W-1:0] mem_i = 0;
    reg                   init = 1'b1;
    integer               cleared;

    // `words` of the longest memory; the last cycles let through what was on its way. All inputs rest. From the reset on these are words + 6 edges.
    task reset_and_clear;
        input integer words;
        begin
            rst = 1'b1;
            mem_i[`CDE_MEM_START] = 1'b1;
            edge_of_clock;
            rst = 1'b0;
            init = 1'b1;
            mem_i = 1 << `CDE_MEM_CLEAR;
            for (cleared = 0; cleared < words; cleared = cleared + 1) edge_of_clock;
            mem_i = 0;
            for (cleared = 0; cleared < 6; cleared = cleared + 1) edge_of_clock;
            init = 1'b0;
        end
    endtask
