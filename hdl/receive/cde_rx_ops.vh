// SPDX-License-Identifier: Apache-2.0
// Steps of control in the pipelines of receive posts (cde_rpost) and of taking (cde_take).
localparam [1:0] RP_LOOK = 2'd0, RP_START = 2'd1, RP_SIZE = 2'd2;
localparam [1:0] TK_LOOK = 2'd0, TK_CLEAR = 2'd1, TK_MARK = 2'd2;
