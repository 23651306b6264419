// SPDX-License-Identifier: Apache-2.0
// cde_arm_cause: why an operation of a doorbell page is refused (CQ-15a, CQ-22, ISO-01, ISO-02).
//
// Purpose: the code of the first cause that applies, after the operation was decided: nothing waits for it but the
//          answer.
// Ports:   the operation, the flags that it found; cause, 0 if it was accepted.
// Latency: combinational.
`default_nettype none
`include "cde_defs.vh"

module cde_arm_cause (
    input  wire       bell,             // DOORBELL; else a callback return
    input  wire [7:0] cause_in,         // found by decoding
    input  wire       exists,
    input  wire       owner,            // from the owner's page
    input  wire       ready,            // life is READY
    input  wire       legal,            // consumer index within the legal range
    input  wire       busy,             // callback in progress
    output reg  [7:0] cause
);

    always @* begin
        cause = cause_in;
        if (cause_in == 8'h00) begin
            if (!exists) cause = `CDE_CAUSE_NO_CQ;
            else if (!owner) cause = `CDE_CAUSE_NOT_OWNER;
            else if (bell && !ready) cause = `CDE_CAUSE_CQ_DESTROYING;
            else if (bell && !legal) cause = `CDE_CAUSE_BAD_INDEX;
            else if (!bell && !busy) cause = `CDE_CAUSE_NO_CALLBACK;
        end
    end

endmodule

`default_nettype wire
