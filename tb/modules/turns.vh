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
