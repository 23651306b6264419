// SPDX-License-Identifier: Apache-2.0
// Records of completion queues, in terms of the parameters IDX_W and CQ_W of the module that uses them.
`ifndef CDE_CQ_RECORDS_VH
`define CDE_CQ_RECORDS_VH

// Up to two entries that were placed, neighbours in one CQ, on their way to memory.
`define CDE_ENTRY_CQE0       0                            // 256 bits: CQE with phase
`define CDE_ENTRY_CQE1       256                          // 256 bits
`define CDE_ENTRY_SOLICITED  512                          // 2 bits: of the solicited class
`define CDE_ENTRY_QUIET      514                          // 2 bits: satisfy no standing arm
`define CDE_ENTRY_LINE0      516                          // 59 bits: address / 32
`define CDE_ENTRY_LINE1      575                          // 59 bits
`define CDE_ENTRY_WRITTEN    634                          // IDX_W bits: index after the last one
`define CDE_ENTRY_CQ         (`CDE_ENTRY_WRITTEN + IDX_W) // CQ_W bits
`define CDE_ENTRY_PLACED     (`CDE_ENTRY_CQ + CQ_W)       // 2 bits: how many
`define CDE_ENTRY_OVERFLOW   (`CDE_ENTRY_PLACED + 2)
`define CDE_ENTRY_BARRIER    (`CDE_ENTRY_OVERFLOW + 1)    // writes nothing; all earlier ones have left when it does
`define CDE_ENTRY_W          (`CDE_ENTRY_BARRIER + 1)

// What bounds the credits of a CQ.
`define CDE_LIMIT_CREDITS    0                            // IDX_W bits
`define CDE_LIMIT_UNRESERVED IDX_W                        // no credits are needed
`define CDE_LIMIT_EXISTS     (IDX_W + 1)
`define CDE_LIMIT_W          (IDX_W + 2)

`endif
