// SPDX-License-Identifier: Apache-2.0
// Steps of a QP's state in the posting pipeline (cde_post).
localparam [3:0] OP_LOOK = 4'd0, OP_CREATE = 4'd1, OP_CONNECT = 4'd2, OP_SET = 4'd3, OP_FLUSH = 4'd4, OP_DESTROY = 4'd5,
                 OP_CONN = 4'd6, OP_FAIL = 4'd7, OP_AGE = 4'd8;
