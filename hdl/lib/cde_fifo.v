// SPDX-License-Identifier: Apache-2.0
// cde_fifo: first-word-fall-through FIFO with a registered output; with DEPTH_LOG2 = 1 also the register slice of every
// input port.
//
// Purpose: decouple two sides of a handshake. No combinational path from pop_* to push_*; pop_data straight from
//          flip-flops, unless BYPASS saves that cycle.
// Ports:   push side (push_valid, push_ready, push_data), pop side (pop_valid, pop_ready, pop_data), fill level.
// Latency: a word pushed in cycle t is on pop_data in cycle t+1; with BYPASS in cycle t if the FIFO is empty. One word
//          per cycle for any DEPTH_LOG2 >= 1.
`default_nettype none

module cde_fifo #(
    parameter W = 8,            // bits of a word
    parameter DEPTH_LOG2 = 1,   // log2 of the number of words
    parameter [0:0] BYPASS = 1'b0
) (
    input  wire                  clk,
    input  wire                  rst,

    input  wire                  push_valid,
    output wire                  push_ready,
    input  wire [W-1:0]          push_data,

    output wire                  pop_valid,
    input  wire                  pop_ready,
    output wire [W-1:0]          pop_data,

    output reg  [DEPTH_LOG2:0]   level
);

    localparam [DEPTH_LOG2:0] ONE = {{DEPTH_LOG2{1'b0}}, 1'b1};

    reg [DEPTH_LOG2:0] wr_ptr;
    reg [DEPTH_LOG2:0] rd_ptr;
    reg                many;        // level is 2 or more

    // q_valid low: the FIFO is empty. pop_ready comes late, so each register asks for it once, at the end.
    reg         q_valid;
    reg [W-1:0] q_data;
    wire push = push_valid && push_ready;
    wire direct = BYPASS && !q_valid && push_valid;     // there is room then
    wire stored = DEPTH_LOG2 == 1 ? level[1] : many;     // never with q_valid low
    wire [W-1:0] oldest;        // word behind the output

    assign push_ready = !level[DEPTH_LOG2];
    assign pop_valid = q_valid || direct;
    assign pop_data = BYPASS && !q_valid ? push_data : q_data;

    // A free place is written even if the word goes to the output at once: writing waits for nobody.
    generate
        if (DEPTH_LOG2 == 1) begin : g_register     // of two words one is on the output
            reg [W-1:0] spare;
            always @(posedge clk) if (!stored) spare <= push_data;
            assign oldest = spare;
        end else begin : g_memory
            reg [W-1:0] mem [0:(1 << DEPTH_LOG2) - 1];
            always @(posedge clk) if (push_valid) mem[wr_ptr[DEPTH_LOG2-1:0]] <= push_data;
            assign oldest = mem[rd_ptr[DEPTH_LOG2-1:0]];
        end
    endgenerate

    // Low from power-up, before any clock edge.
    initial q_valid = 1'b0;
    always @(posedge clk) begin
        if (push && q_valid && (stored || !pop_ready)) wr_ptr <= wr_ptr + ONE;
        if (stored && pop_ready) rd_ptr <= rd_ptr + ONE;
        q_valid <= q_valid ? !pop_ready || stored || push : push && !(direct && pop_ready);
        if (!q_valid || pop_ready) q_data <= stored ? oldest : push_data;
        if (push && !((q_valid || direct) && pop_ready)) begin
            level <= level + ONE;
            many <= q_valid;
        end
        if (q_valid && pop_ready && !push) begin
            level <= level - ONE;
            many <= many && level != ONE + ONE;
        end
        if (rst) begin
            wr_ptr <= {(DEPTH_LOG2 + 1){1'b0}};
            rd_ptr <= {(DEPTH_LOG2 + 1){1'b0}};
            level <= {(DEPTH_LOG2 + 1){1'b0}};
            many <= 1'b0;
            q_valid <= 1'b0;
        end
    end

`ifdef FORMAL
    // All words, for invariants of proofs.
    wire [(W << DEPTH_LOG2) - 1:0] stored_words;
    genvar i;
    generate
        for (i = 0; i < (1 << DEPTH_LOG2); i = i + 1) begin : f_words
            if (DEPTH_LOG2 == 1) assign stored_words[i * W +: W] = g_register.spare;
            else assign stored_words[i * W +: W] = g_memory.mem[i];
        end
    endgenerate
`endif

endmodule

`default_nettype wire
