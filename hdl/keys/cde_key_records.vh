// SPDX-License-Identifier: Apache-2.0
// Records of regions and windows, in terms of the parameters QP_W and MR_W (bits of the number of a region) of the
// module that uses them.
`ifndef CDE_KEY_RECORDS_VH
`define CDE_KEY_RECORDS_VH

// Word of a region or window in the key table.
`define CDE_KEY_WORD_GENERATION  0                              // 20 bits
`define CDE_KEY_WORD_EXISTS      20
`define CDE_KEY_WORD_VALID       21
`define CDE_KEY_WORD_ALLOC       22                             // region: for FastRegister
`define CDE_KEY_WORD_RIGHTS      23                             // 3 bits: CDE_MR_RIGHTS
`define CDE_KEY_WORD_ZONE        26                             // 16 bits
`define CDE_KEY_WORD_BASE        42                             // 64 bits
`define CDE_KEY_WORD_LENGTH      106                            // 48 bits
`define CDE_KEY_WORD_QP          154                            // QP_W bits: of the request that made it valid
`define CDE_KEY_WORD_REGION      (`CDE_KEY_WORD_QP + QP_W)      // MR_W bits: window: region that it is bound to
`define CDE_KEY_WORD_W           (`CDE_KEY_WORD_REGION + MR_W)

// What a Bind asks of its region: the word up to its length, and instead of that where the range ends.
`define CDE_REGION_END           106                            // 65 bits
`define CDE_REGION_W             171

// What a segment of a receive post is checked against.
`define CDE_FOUND_VALID          0
`define CDE_FOUND_ZONE           1                              // 16 bits
`define CDE_FOUND_LOCAL_WRITE    17
`define CDE_FOUND_BASE           18                             // 64 bits
`define CDE_FOUND_LENGTH         82                             // 48 bits
`define CDE_FOUND_W              130

// Settings of a QP for keys.
`define CDE_QP_KEYS_ZONE         0                              // 16 bits
`define CDE_QP_KEYS_GUARDED      16
`define CDE_QP_KEYS_W            17

`endif
