// SPDX-License-Identifier: Apache-2.0
// Nobody waits for more than the turns of the others: a check that dispatch and retirement share, included inside each bench.
    // One queue pair at a time is watched: how many requests of others have gone since it had one that could go. Each of the others has a run of BURST, and
    // those two that came before it asked, under way and next, have another one (ISO-04); a few may go before it is known that the request can.
    integer watched = 0, overtaken = 0;
    localparam integer MOST_OVERTAKEN = (N + 1) * BURST + 4;

    // `ready`: the watched one has such a request. `of`: whose request goes, -1 nobody's.
    task watch_turns;
        input         ready;
        input integer of;
        begin
            if (!ready || of == watched) begin
                watched = (watched + 1) % N;
                overtaken = 0;
            end else if (of != -1) overtaken = overtaken + 1;
            if (overtaken > MOST_OVERTAKEN) wrong("turn that does not come");
        end
    endtask
