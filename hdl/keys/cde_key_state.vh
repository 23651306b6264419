// SPDX-License-Identifier: Apache-2.0
// Word of a region or window in the key table, and the steps that change it. KW: its width. QP_W, MR_W: bits of numbers of QPs and regions.
localparam K_GEN = 0, K_EXISTS = 20, K_VALID = 21, K_ALLOC = 22, K_RIGHTS = 23, K_ZONE = 26, K_BASE = 42, K_LENGTH = 106, K_QP = 154,
           K_REGION = K_QP + QP_W, KW = K_REGION + MR_W;
localparam [3:0] KEY_LOOK = 4'd0, KEY_REGISTER = 4'd1, KEY_ALLOC = 4'd2, KEY_DEREGISTER = 4'd3, KEY_CREATE = 4'd4, KEY_CLOSE = 4'd5,
                 KEY_REMOVE = 4'd6, KEY_BIND = 4'd7, KEY_FAST = 4'd8, KEY_INVALIDATE = 4'd9, KEY_PEER = 4'd10, KEY_READ = 4'd11;
