// SPDX-License-Identifier: Apache-2.0
// Records of receiving, in terms of the parameters IDX_W, CQ_W, PAGE_W and SRQ_W of the module that uses them.
`ifndef CDE_RECEIVE_RECORDS_VH
`define CDE_RECEIVE_RECORDS_VH

// Settings of a new QP for the receive side.
`define CDE_QP_NEW_CONTEXT     0                              // 64 bits
`define CDE_QP_NEW_CQ          64                             // CQ_W bits: receive CQ
`define CDE_QP_NEW_PAGE        (`CDE_QP_NEW_CQ + CQ_W)        // PAGE_W bits
`define CDE_QP_NEW_ZONE        (`CDE_QP_NEW_PAGE + PAGE_W)    // 16 bits
`define CDE_QP_NEW_DEPTH       (`CDE_QP_NEW_ZONE + 16)        // 16 bits: of its own receive queue
`define CDE_QP_NEW_SRQ         (`CDE_QP_NEW_DEPTH + 16)       // 16 bits
`define CDE_QP_NEW_SHARED      (`CDE_QP_NEW_SRQ + 16)         // takes from that SRQ
`define CDE_QP_NEW_WAIT        (`CDE_QP_NEW_SHARED + 1)       // signals for a solicited Send only
`define CDE_QP_NEW_TWO         (`CDE_QP_NEW_WAIT + 1)         // two entries a receive
`define CDE_QP_NEW_GUARDED     (`CDE_QP_NEW_TWO + 1)          // its keys are guarded
`define CDE_QP_NEW_W           (`CDE_QP_NEW_GUARDED + 1)

// Settings of a queue for receive posts.
`define CDE_RQ_POST_CQ         0                              // CQ_W bits: receive CQ; of a QP
`define CDE_RQ_POST_PAGE       CQ_W                           // PAGE_W bits
`define CDE_RQ_POST_ZONE       (`CDE_RQ_POST_PAGE + PAGE_W)   // 16 bits
`define CDE_RQ_POST_SHARED     (`CDE_RQ_POST_ZONE + 16)       // this QP takes from a shared queue
`define CDE_RQ_POST_TWO        (`CDE_RQ_POST_SHARED + 1)      // two entries a receive
`define CDE_RQ_POST_W          (`CDE_RQ_POST_TWO + 1)

// Settings of a QP for taking.
`define CDE_RQ_TAKE_CQ         0                              // CQ_W bits: receive CQ
`define CDE_RQ_TAKE_SRQ        CQ_W                           // SRQ_W bits
`define CDE_RQ_TAKE_SHARED     (`CDE_RQ_TAKE_SRQ + SRQ_W)     // takes from that SRQ
`define CDE_RQ_TAKE_TWO        (`CDE_RQ_TAKE_SHARED + 1)      // two entries a receive
`define CDE_RQ_TAKE_GUARDED    (`CDE_RQ_TAKE_TWO + 1)         // tokens are looked up in the key table
`define CDE_RQ_TAKE_W          (`CDE_RQ_TAKE_GUARDED + 1)

// Settings of a QP for completion.
`define CDE_RQ_DONE_CONTEXT    0                              // 64 bits
`define CDE_RQ_DONE_CQ         64                             // CQ_W bits: receive CQ
`define CDE_RQ_DONE_WAIT       (64 + CQ_W)                    // signals for a solicited Send only
`define CDE_RQ_DONE_TWO        (`CDE_RQ_DONE_WAIT + 1)        // two entries a receive
`define CDE_RQ_DONE_W          (`CDE_RQ_DONE_TWO + 1)

// Settings of an SRQ for receive posts.
`define CDE_SRQ_SET_PAGE       0                              // PAGE_W bits
`define CDE_SRQ_SET_ZONE       PAGE_W                         // 16 bits
`define CDE_SRQ_SET_W          (PAGE_W + 16)

// A buffer: its segments (CDE_SEGMENT_*) and the context of its post. The length of a segment counts those before it,
// too, and is at most what 32 bits hold, so is that of a message.
`define CDE_BUFFER_SLOT(N)     (128 * (N))                    // 128 bits each, three of them
`define CDE_BUFFER_CONTEXT     384                            // 64 bits
`define CDE_BUFFER_W           448

// A taken buffer, until it completes.
`define CDE_TAKEN_CONTEXT      0                              // 64 bits: of its post
`define CDE_TAKEN_BYTES        64                             // 32 bits: length of the message
`define CDE_TAKEN_TOKEN        96                             // 32 bits: token that the message invalidates
`define CDE_TAKEN_SHARED       128                            // of an SRQ
`define CDE_TAKEN_SRQ          129                            // SRQ_W bits
`define CDE_TAKEN_INVALIDATE   (`CDE_TAKEN_SRQ + SRQ_W)       // the message was a SendAndInvalidate
`define CDE_TAKEN_SOLICITED    (`CDE_TAKEN_INVALIDATE + 1)    // it asked for a solicited event
`define CDE_TAKEN_TOO_LONG     (`CDE_TAKEN_SOLICITED + 1)     // it did not fit
`define CDE_TAKEN_FLUSH        (`CDE_TAKEN_TOO_LONG + 1)      // flushed: no message
`define CDE_TAKEN_BAD_TOKEN    (`CDE_TAKEN_FLUSH + 1)         // its token was refused
`define CDE_TAKEN_WINDOW       (`CDE_TAKEN_BAD_TOKEN + 1)     // 64 bits: context of the window that was invalidated
`define CDE_TAKEN_W            (`CDE_TAKEN_WINDOW + 64)

// Watermark and head of an SRQ.
`define CDE_SRQ_LINE_HEAD      0                              // IDX_W bits
`define CDE_SRQ_LINE_MARK      IDX_W                          // 16 bits
`define CDE_SRQ_LINE_ARMED     (IDX_W + 16)
`define CDE_SRQ_LINE_W         (IDX_W + 17)

// Indices and size of a receive queue, as a control step finds them.
`define CDE_RQ_TAIL            0                              // IDX_W bits each
`define CDE_RQ_REAPED          IDX_W
`define CDE_RQ_FREED           (2 * IDX_W)                    // reported (own queue), completed (shared one)
`define CDE_RQ_SIZE            (3 * IDX_W)
`define CDE_RQ_W               (4 * IDX_W)

`endif
