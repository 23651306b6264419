// SPDX-License-Identifier: Apache-2.0
// Layout of one CQ's arm state word, included inside modules that have a parameter IDX_W.
// prod, cons, mark, solp and ackp are indices; mark = max(cons, snap), solp = max(mark, index behind the newest published entry of the
// solicited class). Keeping the maxima instead of snap itself keeps every distance below 2^(IDX_W-1), so comparisons
// survive any number of index wraps without a callback.
localparam ST_LIFE   = 0;                    // 2 bits, CDE_LIFE_*
localparam ST_ERR    = 2;                    // 2 bits, CDE_CQST_*
localparam ST_ARMED  = 4;
localparam ST_TYPE   = 5;                    // 2 bits, public arm code, 0 when not armed
localparam ST_BUSY   = 7;                    // callback in progress
localparam ST_DUE    = 8;                    // callback due
localparam ST_MATURE = 9;                    // due, and released by moderation
localparam ST_EQE    = 10;                   // EQE of the latest callback not yet acknowledged
localparam ST_FROZEN = 11;                   // an entry failed: nothing behind it can be published
localparam ST_PROD   = 12;                   // published
localparam ST_CONS   = ST_PROD + IDX_W;      // consumed
localparam ST_MARK   = ST_CONS + IDX_W;
localparam ST_SOLP   = ST_MARK + IDX_W;
localparam ST_MCNT   = ST_SOLP + IDX_W;      // published since due, saturating
localparam ST_ACKP   = ST_MCNT + IDX_W;      // acknowledged by memory, published or not
localparam ST_TDUE   = ST_ACKP + IDX_W;      // tick at which the callback became due
localparam TICK_W    = 18;                   // two bits above the interval: a late look still sees the true age
localparam ST_W      = ST_TDUE + TICK_W;

// Layout of one CQ's notification settings, written by the mailbox.
localparam CF_TYPED  = 0;                    // CQ-09: typed reading
localparam CF_REARM  = 1;                    // CQ-10: arm on old completions fires
localparam CF_CNT_EN = 2;                    // moderation by count
localparam CF_INT_EN = 3;                    // moderation by interval
localparam CF_COUNT  = 4;                    // IDX_W bits
localparam CF_INTVL  = CF_COUNT + IDX_W;     // 16 bits
localparam CF_EQ     = CF_INTVL + 16;        // 8 bits
localparam CF_PAGE   = CF_EQ + 8;            // 12 bits
localparam CF_W      = CF_PAGE + 12;
