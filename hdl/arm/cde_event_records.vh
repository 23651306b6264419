// SPDX-License-Identifier: Apache-2.0
// Records on the way of a callback, in terms of the parameters IDX_W, CQ_W and EQ_W of the module that uses them.
`ifndef CDE_EVENT_RECORDS_VH
`define CDE_EVENT_RECORDS_VH

// What an EQE write keeps for its repetition, should memory refuse it.
`define CDE_RETRY_SNAP     0                          // IDX_W bits: published entries
`define CDE_RETRY_INDEX    IDX_W                      // IDX_W bits: index of the EQE
`define CDE_RETRY_ADDR     (2 * IDX_W)                // 60 bits: address / 16
`define CDE_RETRY_PHASE    (`CDE_RETRY_ADDR + 60)
`define CDE_RETRY_PASSED   (`CDE_RETRY_PHASE + 1)     // later entries have come round to the slot
`define CDE_RETRY_LAP      (`CDE_RETRY_PASSED + 1)    // of the ring: changes with a resize
`define CDE_RETRY_ATTEMPT  (`CDE_RETRY_LAP + 1)       // 2 bits: writes before this one
`define CDE_RETRY_W        (`CDE_RETRY_ATTEMPT + 2)

// A callback, or the repetition of a failed EQE write.
`define CDE_CALLBACK_CQ      0                            // CQ_W bits
`define CDE_CALLBACK_EQ      CQ_W                         // EQ_W bits
`define CDE_CALLBACK_STATUS  (`CDE_CALLBACK_EQ + EQ_W)    // 2 bits: CDE_CQST_*
`define CDE_CALLBACK_SNAP    (`CDE_CALLBACK_STATUS + 2)   // IDX_W bits: published entries
`define CDE_CALLBACK_RETRY   (`CDE_CALLBACK_SNAP + IDX_W) // a repetition
`define CDE_CALLBACK_DATA    (`CDE_CALLBACK_RETRY + 1)    // CDE_RETRY_W bits: of what
`define CDE_CALLBACK_W       (`CDE_CALLBACK_DATA + `CDE_RETRY_W)

// An EQE that is to be written
`define CDE_EQE_WRITE_CQ     0                            // CQ_W bits
`define CDE_EQE_WRITE_RETRY  CQ_W                         // CDE_RETRY_W bits
`define CDE_EQE_WRITE_W      (`CDE_EQE_WRITE_RETRY + `CDE_RETRY_W)

// A write of up to four EQEs under way: what each lane of the line has, and what they have in common
`define CDE_LINE_CQS         0                            // 4 * CQ_W bits
`define CDE_LINE_SNAPS       (4 * CQ_W)                   // 4 * IDX_W bits
`define CDE_LINE_INDEX       (`CDE_LINE_SNAPS + 4 * IDX_W) // IDX_W bits: of the first one
`define CDE_LINE_ADDR        (`CDE_LINE_INDEX + IDX_W)    // 58 bits: address / 64
`define CDE_LINE_PHASE       (`CDE_LINE_ADDR + 58)
`define CDE_LINE_PASSED      (`CDE_LINE_PHASE + 1)        // nothing is written
`define CDE_LINE_LAP         (`CDE_LINE_PASSED + 1)
`define CDE_LINE_ATTEMPT     (`CDE_LINE_LAP + 1)          // 2 bits
`define CDE_LINE_FIRST       (`CDE_LINE_ATTEMPT + 2)      // 2 bits: lane of the first one
`define CDE_LINE_LAST        (`CDE_LINE_FIRST + 2)        // 2 bits
`define CDE_LINE_W           (`CDE_LINE_LAST + 2)

// Acknowledged EQEs of a line
`define CDE_ACKS_FIRST       (4 * CQ_W)                   // after the CQs; 2 bits
`define CDE_ACKS_LAST        (4 * CQ_W + 2)               // 2 bits
`define CDE_ACKS_W           (4 * CQ_W + 4)

// A write of CQEs under way
`define CDE_WRITE_COUNT      0                            // 2 bits: entries
`define CDE_WRITE_SOLICITED  2                            // 2 bits: of the solicited class
`define CDE_WRITE_QUIET      4                            // 2 bits: satisfy no standing arm
`define CDE_WRITE_COUNTS     6

`endif
