// SPDX-License-Identifier: Apache-2.0
// What stage Q of the arm pipeline knows of an operation without the flags of its CQ: facts for stage F (cde_arm_facts,
// cde_arm_flags), all 0 for an operation that there is not.

// Publication
localparam FP_PUBLISH = 0;                   // entries are published
localparam FP_FAIL    = 1;                   // error of the CQ
localparam FP_ANY     = 2;                   // an entry that satisfies a standing arm for any entry
localparam FP_SOL     = 3;                   // one that satisfies a standing arm for solicited entries
localparam FP_NEW_SOL = 4;                   // a solicited entry is new
localparam FP_OVER    = 5;                   // the event of the latest callback is given up
localparam FP_PROMPT  = 6;                   // not moderated, or in error
localparam FP_W       = 7;

// Doorbell side
localparam FD_BELL    = 0;                   // accepted doorbell; one of these five, FD_OVER, or no effect
localparam FD_RETURN  = 1;                   // callback return, accepted if one is in progress
localparam FD_CREATE  = 2;
localparam FD_DESTROY = 3;
localparam FD_LOOK    = 4;                   // moderation
localparam FD_ARM     = 5;                   // accepted doorbell that arms
localparam FD_TYPE    = 6;                   // 2 bits, public arm code
localparam FD_SOL     = 8;                   // the newest published entry of the solicited class is after the index
localparam FD_DONE    = 9;                   // every entry up to the index was answered
localparam FD_RELEASE = 10;                  // what is due is called without moderation
localparam FD_ENDS    = 11;                  // the same of a callback return
// An arm is satisfied at once by
localparam FD_NEW     = 12;                  // new entries
localparam FD_NEW_ANY = 13;                  // new entries, if an arm for any entry stands
localparam FD_NEW_SOL = 14;                  // new solicited entries
localparam FD_SOL_SOL = 15;                  // new solicited entries, if an arm for solicited entries stands
localparam FD_OLD     = 16;                  // entries that are not new
localparam FD_RIPE    = 17;                  // moderation is over: what is due is called
localparam FD_OVER    = 18;                  // the event of the latest callback is acknowledged
localparam FD_W       = 19;
