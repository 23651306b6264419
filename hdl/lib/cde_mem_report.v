// SPDX-License-Identifier: Apache-2.0
// cde_mem_report: reports of wrong words of one read port, each word once while it is read again (ISO-05).
//
// Purpose: a word that is read again before it is written back, or that cannot be, is not reported again within three
//          cycles of its last read; that it is lost now is.
// Ports:   wrong, hopeless what the correction says of the word at `at`; bad, lost report. Quiet while the clearing
//          walk runs.
// Latency: combinational from wrong and hopeless, which come from registers.
`default_nettype none

module cde_mem_report #(
    parameter AW = 4
) (
    input  wire          clk,
    input  wire          clear,
    input  wire          wrong,
    input  wire          hopeless,
    input  wire [AW-1:0] at,
    output wire          bad,
    output wire          lost
);

    reg [AW-1:0] told;
    reg [1:0]    told_for;
    reg          told_lost;
    wire         again = told_for != 2'd0 && told == at && (told_lost || !hopeless);

    assign bad = wrong && !again;
    assign lost = hopeless && !again;

    always @(posedge clk) begin
        if (told_for != 2'd0) told_for <= told_for - 2'd1;
        if (wrong) {told, told_for, told_lost} <= {at, 2'd3, hopeless};
        if (clear) told_for <= 2'd0;
    end

endmodule

`default_nettype wire
