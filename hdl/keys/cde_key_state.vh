// SPDX-License-Identifier: Apache-2.0
// Steps that change the key table, and the width of its words (cde_key_records.vh).
localparam KW = `CDE_KEY_WORD_W;
localparam [3:0] KEY_LOOK = 4'd0, KEY_REGISTER = 4'd1, KEY_ALLOC = 4'd2, KEY_DEREGISTER = 4'd3, KEY_CREATE = 4'd4,
                 KEY_CLOSE = 4'd5, KEY_REMOVE = 4'd6, KEY_BIND = 4'd7, KEY_FAST = 4'd8, KEY_INVALIDATE = 4'd9,
                 KEY_PEER = 4'd10, KEY_READ = 4'd11;
