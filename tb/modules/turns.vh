// SPDX-License-Identifier: Apache-2.0
// What the benches of modules whose N queue pairs take turns (cde_turn) share, included inside each of them.
    // Who asked, who is offered (-1: nobody), whose turn was the last to begin.
    reg  [N-1:0] asked;
    integer      offered, newest, chosen, turn;

    task no_turns;
        begin
            asked = 0;
            newest = 0;
            offered = -1;
        end
    endtask

    // `served`: whose turn begins or goes on, -1 nobody's. `taken`: the one on offer is. Who asks in this cycle is set in `asked` behind this.
    task next_turn;
        input integer served;
        input         taken;
        begin
            if (served != -1) newest = served;
            chosen = offered;
            if (offered == -1 || taken) begin
                chosen = -1;
                for (turn = N; turn > 0; turn = turn - 1) if (asked[(newest + turn) % N]) chosen = (newest + turn) % N;
                if (chosen != -1) asked[chosen] = 1'b0;
            end
            offered = chosen;
        end
    endtask

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
