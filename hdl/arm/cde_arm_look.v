// SPDX-License-Identifier: Apache-2.0
// cde_arm_look: finds callbacks whose moderation is over (CQ-21).
//
// Purpose: walks over the CQs whose callback waits for moderation. A look goes through the pipeline twice: the first
//          time it learns whether count or interval was reached, the second time it releases the callback. A callback
//          called in between ends it. What the first look found is true until the second one: no setting of the CQ may
//          change in between (between).
// Ports:   whether look_cq waits; look requests (look_*); outcome of the first look; callback, creation in this cycle.
// Latency: two cycles for a CQ that does not wait, about 2 * (DEPTH + 1) cycles for one that does.
`default_nettype none

module cde_arm_look #(
    parameter CQ_W = 6
) (
    input  wire              clk,
    input  wire              rst,

    input  wire              waits,         // the callback of look_cq waits for moderation

    output reg               look_valid,
    input  wire              look_taken,
    output reg  [CQ_W-1:0]   look_cq,
    output wire              look_ripe,     // while the second look is on its way
    // the first look of look_cq was taken, and the second may come or is on its way
    output wire              between,

    input  wire              ripe_now,      // outcome, DEPTH cycles after the first look was taken
    input  wire              ended          // callback called, or CQ created, for look_cq
);

    localparam [1:0] SEEK = 2'd0, ASK = 2'd1, FLY = 2'd2, STEP = 2'd3;
    localparam [3:0] DEPTH = 4'd9;

    reg [1:0] state;
    reg       second;
    reg       ripe;         // nothing ended the callback since the first look
    reg [3:0] flying;

    reg       waited;       // a callback that waits since then has its look in the next round

    assign look_ripe = second && ripe;
    assign between = state == FLY || (second && state == ASK);

    always @(posedge clk) begin
        waited <= waits;
        if (ended) ripe <= 1'b0;
        case (state)
            // One cycle to read the bit of look_cq, one to act on it.
            STEP: state <= SEEK;
            SEEK: if (waited) begin
                state <= ASK;
                look_valid <= 1'b1;
                second <= 1'b0;
                ripe <= 1'b0;
            end else begin
                look_cq <= look_cq + 1'b1;
                state <= STEP;
            end
            ASK: begin
                flying <= DEPTH;
                if (!second) ripe <= 1'b1;
                if (look_taken) begin
                    look_valid <= 1'b0;
                    state <= FLY;
                end
            end
            default: begin
                flying <= flying - 4'd1;
                if (flying == 4'd1) begin
                    if (!second && ripe && !ended && ripe_now) begin
                        second <= 1'b1;
                        look_valid <= 1'b1;
                        state <= ASK;
                    end else begin
                        ripe <= 1'b0;
                        look_cq <= look_cq + 1'b1;
                        state <= STEP;
                    end
                end
            end
        endcase
        if (rst) begin
            state <= STEP;
            look_valid <= 1'b0;
            look_cq <= {CQ_W{1'b0}};
            ripe <= 1'b0;
            second <= 1'b0;
        end
    end

endmodule

`default_nettype wire
