// SPDX-License-Identifier: Apache-2.0
// Records of posting, in terms of the parameters IDX_W, CQ_W, PAGE_W and SQ_LOG2 of the module that uses them.
`ifndef CDE_POST_RECORDS_VH
`define CDE_POST_RECORDS_VH

// Settings of a QP for admission of posts.
`define CDE_QP_POST_CQ         0                              // CQ_W bits: send CQ
`define CDE_QP_POST_PAGE       CQ_W                           // PAGE_W bits
`define CDE_QP_POST_DEPTH      (`CDE_QP_POST_PAGE + PAGE_W)   // SQ_LOG2 + 1 bits
`define CDE_QP_POST_WATERMARK  (`CDE_QP_POST_DEPTH + SQ_LOG2 + 1) // 16 bits
`define CDE_QP_POST_AGE        (`CDE_QP_POST_WATERMARK + 16)  // 16 bits
`define CDE_QP_POST_W          (`CDE_QP_POST_AGE + 16)

// Settings of a QP for retirement.
`define CDE_QP_RETIRE_CONTEXT  0                              // 64 bits
`define CDE_QP_RETIRE_CQ       64                             // CQ_W bits: send CQ
`define CDE_QP_RETIRE_GUARDED  (64 + CQ_W)                    // local requests are executed in the key table
`define CDE_QP_RETIRE_W        (65 + CQ_W)

// What retirement needs of an accepted post.
`define CDE_VERB_BYTES         0                              // 32 bits: of a successful completion
`define CDE_VERB_TYPE          32                             // 16 bits: result type
`define CDE_VERB_KIND          48                             // 2 bits
`define CDE_VERB_W             50

// Kinds of requests. The upper bit: local, executed by the engine when it is indicated.
`define CDE_KIND_REMOTE        2'd0
`define CDE_KIND_READ          2'd1                           // a later fence waits for it
`define CDE_KIND_KEYS          2'd2                           // local; of a guarded QP, executed in the key table
`define CDE_KIND_LOCAL         2'd3                           // local; changes no keys

// Indices of a send queue, as a state step finds them.
`define CDE_SQ_TAIL            0                              // IDX_W bits each
`define CDE_SQ_RELEASED        IDX_W
`define CDE_SQ_RETIRED         (2 * IDX_W)
`define CDE_SQ_W               (3 * IDX_W)

`endif
