// SPDX-License-Identifier: Apache-2.0
// Layout of one CQ's arm state, in the three parts that the pipeline's stages own. Included inside modules that have a
// parameter IDX_W.

// Counts (stage C): indices, and what decides whether they move.
localparam X_READY   = 0;                    // life is READY
localparam X_FROZEN  = 1;                    // an entry failed: nothing after it can be published
localparam X_ERR     = 2;                    // 2 bits, CDE_CQST_*
localparam X_PROD    = 4;                    // published
localparam X_CONS    = X_PROD + IDX_W;       // consumed
localparam X_SOLP    = X_CONS + IDX_W;       // index after the newest published entry of the solicited class
localparam X_ACKP    = X_SOLP + IDX_W;       // acknowledged by memory, published or not
localparam X_W       = X_ACKP + IDX_W;

// Flags (stage F): everything that decides about callbacks. "New" needs no comparison with snap: completions leave in
// order, so a new one is present exactly when prod > cons and something was published since the last call.
localparam Y_EXISTS  = 0;                    // life is not FREE
localparam Y_ARMED   = 1;
localparam Y_TYPE    = 2;                    // 2 bits, public arm code, 0 when not armed
localparam Y_BUSY    = 4;                    // callback in progress
localparam Y_DUE     = 5;                    // callback due
localparam Y_MATURE  = 6;                    // due, and released by moderation
localparam Y_EQE     = 7;                    // EQE of the latest callback not yet acknowledged
localparam Y_SINCE   = 8;                    // something was published since the last call
// an entry of the solicited class was published since the last call and is present
localparam Y_SOL     = 9;
localparam Y_W       = 10;

// Ages (stage Z): moderation, and the mark for the trace. The maximum of snap and cons stays within one ring of prod,
// so it survives any number of index wraps without a callback; snap alone would not.
localparam Z_MARK    = 0;                    // max(cons, snap)
localparam Z_MCNT    = Z_MARK + IDX_W;       // published since due, saturating
localparam Z_TDUE    = Z_MCNT + IDX_W;       // tick at which the callback became due
localparam TICK_W    = 18;                   // two bits above the interval: a late look still sees the true age
// most entries present before a doorbell or look since due; a ring has half of what these bits count
localparam Z_MOST    = Z_TDUE + TICK_W;
localparam Z_W       = Z_MOST + IDX_W - 1;
