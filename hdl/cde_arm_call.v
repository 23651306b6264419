// SPDX-License-Identifier: Apache-2.0
// cde_arm_call: decides whether a callback that is due is called now, and does so.
//
// Purpose: the one place where "clear the arm and call the callback" happens (CQ-07): arm and due are cleared, snap is
//          taken, the callback is in progress. Shared by both pipelines, so that no path can call without clearing.
// Ports:   state in (after the operation proper), settings, time; state out and the call.
// Latency: combinational.
`default_nettype none
`include "cde_defs.vh"

module cde_arm_call #(
    parameter IDX_W = 16,
    parameter ST_BITS = 126,    // width of the state word, checked by the instantiating module
    parameter CF_BITS = 56      // width of the settings word
) (
    input  wire [ST_BITS-1:0] state,
    input  wire [CF_BITS-1:0] settings,
    input  wire [17:0]        now,        // moderation tick
    output reg  [ST_BITS-1:0] result,
    output wire               call
);

`include "cde_arm_state.vh"

    wire [IDX_W-1:0] prod = state[ST_PROD +: IDX_W];
    wire [IDX_W-1:0] cons = state[ST_CONS +: IDX_W];
    wire [IDX_W-1:0] mark = state[ST_MARK +: IDX_W];
    wire [IDX_W-1:0] count = settings[CF_COUNT +: IDX_W];

    wire [IDX_W-1:0] present = prod - cons;            // negative when entries were consumed before their acknowledgement
    wire [IDX_W-1:0] ahead = mark - prod;              // negative: new completions exist
    wire [TICK_W-1:0] age = now - state[ST_TDUE +: TICK_W];

    wire moderated = settings[CF_CNT_EN] || settings[CF_INT_EN];
    wire by_count = settings[CF_CNT_EN] &&
                    (state[ST_MCNT +: IDX_W] >= count || (!present[IDX_W-1] && present >= count));
    wire by_time = settings[CF_INT_EN] && age > {2'b00, settings[CF_INTVL +: 16]};
    wire released = !moderated || by_count || by_time || state[ST_ERR +: 2] != `CDE_CQST_OK;

    wire due = state[ST_DUE];
    wire mature = due && (state[ST_MATURE] || released);
    assign call = mature && !state[ST_BUSY] && !state[ST_EQE];

    wire [IDX_W-1:0] snap = ahead[IDX_W-1] ? prod : mark;

    always @* begin
        result = state;
        result[ST_MATURE] = mature;
        if (call) begin
            result[ST_ARMED] = 1'b0;
            result[ST_TYPE +: 2] = 2'd0;
            result[ST_DUE] = 1'b0;
            result[ST_MATURE] = 1'b0;
            result[ST_BUSY] = 1'b1;
            result[ST_EQE] = 1'b1;
            result[ST_MARK +: IDX_W] = snap;
            result[ST_SOLP +: IDX_W] = snap;
            result[ST_MCNT +: IDX_W] = {IDX_W{1'b0}};
        end
    end

endmodule

`default_nettype wire
