// SPDX-License-Identifier: Apache-2.0
// cde_post_age: time, and whose age is looked at (DF-06).
//
// Purpose: goes round the QPs that hold something and have an age limit, and takes a step of the posting pipeline for
//          each: one that no post or other step needs or, after 60 cycles, before the next post.
// Ports:   steps that are decided and what their QP holds afterwards; what else wants the next step; the step (now_*)
//          and whether posts wait for it; time.
// Latency: a round takes at most 64 * NUM_QP cycles.
`default_nettype none

module cde_post_age #(
    parameter NUM_QP = 64,
    parameter QP_W = 6,
    parameter TICK_W = 18,
    parameter MOD_TICK = 256
) (
    input  wire              clk,
    input  wire              rst,
    input  wire              init,

    input  wire              step,
    input  wire [QP_W-1:0]   step_qp,
    input  wire              step_holds,
    input  wire              step_limited,   // has a limit

    input  wire              op,             // another step is taken now
    input  wire              posts,          // a post can be taken now
    output wire              look,
    output reg  [QP_W-1:0]   look_qp,
    output wire              first,          // no post is taken before it

    output reg  [TICK_W-1:0] now,            // ticks
    output reg               tick            // one ends now
);

    localparam [31:0] PRESCALE = MOD_TICK - 1;
    localparam LONG = NUM_QP > 512 * MOD_TICK;   // a round can take more than 2^15 ticks

    reg  [15:0]       prescale;
    reg  [QP_W-1:0]   scan;
    reg  [5:0]        patience;
    reg               wanted, impatient;
    reg  [NUM_QP-1:0] holding;               // holds something
    reg  [NUM_QP-1:0] aging;                 // and has an age limit
    reg  [2:0]        swept;
    // This round looks at those without a limit, too (cde_post, since_next): each does if rounds are long, else the
    // first one that begins after each 2^15 ticks.
    reg               sweep;
    // Of the step a cycle before
    reg               h_step, h_holds, h_limited;
    reg  [QP_W-1:0]   h_qp;
    wire [15:0]       prescale_next = tick ? 16'd0 : prescale + 16'd1;

    assign look = wanted && !op && (impatient || !posts);
    assign first = impatient;                // which is while something is wanted alone

    always @(posedge clk) begin
        prescale <= prescale_next;
        tick <= prescale_next == PRESCALE[15:0];
        if (tick) now <= now + 1'b1;
        if (!wanted || look) begin
            // When its step comes it may hold nothing any more.
            wanted <= (sweep ? holding[scan] : aging[scan]) && !init;
            look_qp <= scan;
            scan <= scan + 1'b1;
            patience <= 6'd60;
            impatient <= 1'b0;
            if (&scan) begin
                sweep <= LONG || now[TICK_W-1 -: 3] != swept;
                swept <= now[TICK_W-1 -: 3];
            end
        end else begin
            patience <= patience - 6'd1;
            if (patience == 6'd1) impatient <= 1'b1;
        end
        h_step <= step;
        {h_qp, h_holds, h_limited} <= {step_qp, step_holds, step_limited};
        if (h_step) holding[h_qp] <= h_holds;
        if (h_step) aging[h_qp] <= h_holds && h_limited;
        if (rst) begin
            prescale <= 16'd0;
            tick <= PRESCALE == 32'd0;
            now <= {TICK_W{1'b0}};
            scan <= {QP_W{1'b0}};
            patience <= 6'd60;
            {wanted, impatient, h_step, sweep} <= 4'd0;
            swept <= 3'd0;
            holding <= {NUM_QP{1'b0}};
            aging <= {NUM_QP{1'b0}};
        end
    end

endmodule

`default_nettype wire
