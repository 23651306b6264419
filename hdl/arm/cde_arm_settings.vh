// SPDX-License-Identifier: Apache-2.0
// One CQ's notification settings, written by the mailbox, in terms of the parameters IDX_W, EQ_W and PAGE_W of the
// module that uses them.
`ifndef CDE_ARM_SETTINGS_VH
`define CDE_ARM_SETTINGS_VH
`define CDE_CFG_TYPED   0                       // CQ-09: typed reading
`define CDE_CFG_REARM   1                       // CQ-10: arm on old completions fires
`define CDE_CFG_CNT_EN  2                       // moderation by count
`define CDE_CFG_INT_EN  3                       // moderation by interval
`define CDE_CFG_COUNT   4                       // IDX_W bits
`define CDE_CFG_INTVL   (`CDE_CFG_COUNT + IDX_W) // 16 bits
`define CDE_CFG_EQ      (`CDE_CFG_INTVL + 16)   // EQ_W bits
`define CDE_CFG_PAGE    (`CDE_CFG_EQ + EQ_W)    // PAGE_W bits: of the owner
`define CDE_CFG_W       (`CDE_CFG_PAGE + PAGE_W)
`endif
