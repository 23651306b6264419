// SPDX-License-Identifier: Apache-2.0
// f_arm: proof that the arm pipeline hands the state of a CQ from step to step (cde_arm; the properties are in
// cde_arm_props.vh).
//
// Purpose: cde_arm with free inputs once the memories are cleared: any operations of any CQs, in any order.
// Ports:   free inputs.
// Latency: none.
`default_nettype none
`include "cde_mem.vh"
`include "cde_defs.vh"

module f_arm
`include "arm_env.vh"

endmodule

`default_nettype wire
