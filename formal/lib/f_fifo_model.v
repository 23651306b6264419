// SPDX-License-Identifier: Apache-2.0
// f_fifo_model: proof that cde_fifo is the list of fifo_model.
//
// Purpose: FIFO and model side by side, both sides of the handshakes free: they offer the same in every cycle, are
//          ready in the same cycles and tell the same level. The FIFO does not look at its data, so one bit represents
//          all.
// Ports:   free inputs.
// Latency: none.
`default_nettype none

module f_fifo_model #(
    parameter DEPTH_LOG2 = 4,
    parameter [0:0] BYPASS = 1'b0
) (
    input wire clk,
    input wire push_valid,
    input wire push_data,
    input wire pop_ready
);

    localparam ROOM = 1 << DEPTH_LOG2;

    reg  started = 1'b0;
    wire rst = !started;
    always @(posedge clk) started <= 1'b1;

    wire [1:0]          push_ready, pop_valid, pop_data;
    wire [DEPTH_LOG2:0] level, list_level;

    cde_fifo #(.W(1), .DEPTH_LOG2(DEPTH_LOG2), .BYPASS(BYPASS)) dut (
        .clk(clk), .rst(rst), .push_valid(push_valid), .push_ready(push_ready[0]), .push_data(push_data),
        .pop_valid(pop_valid[0]), .pop_ready(pop_ready), .pop_data(pop_data[0]), .level(level)
    );
    model_fifo #(.W(1), .DEPTH_LOG2(DEPTH_LOG2), .BYPASS(BYPASS)) model (
        .clk(clk), .rst(rst), .push_valid(push_valid), .push_ready(push_ready[1]), .push_data(push_data),
        .pop_valid(pop_valid[1]), .pop_ready(pop_ready), .pop_data(pop_data[1]), .level(list_level)
    );

    (* hierconn *) wire [DEPTH_LOG2:0] \dut.wr_ptr , \dut.rd_ptr ;
    (* hierconn *) wire \dut.q_valid , \dut.q_data , \dut.many ;
    (* hierconn *) wire [ROOM-1:0] \dut.stored_words , \model.words ;
    wire [DEPTH_LOG2:0]  stored = \dut.wr_ptr - \dut.rd_ptr ;
    reg [DEPTH_LOG2-1:0] place;
    reg                  same;
    integer              i;

    always @* begin
        // The oldest word is in the output register, the others in the memory.
        same = level == 0 || \dut.q_data == \model.words [0];
        place = 0;
        for (i = 1; i < ROOM; i = i + 1) begin
            place = \dut.rd_ptr + i - 1;
            if (i < level && \dut.stored_words [place] != \model.words [i]) same = 1'b0;
        end
    end

    always @(posedge clk) if (started) begin
        same_room: assert (push_ready[0] == push_ready[1]);
        same_offer: assert (pop_valid[0] == pop_valid[1]);
        same_word: assert (!pop_valid[0] || pop_data[0] == pop_data[1]);
        same_level: assert (level == list_level);
    end

`ifndef PROPERTIES_ONLY    // for the induction
    always @(posedge clk) if (started) begin
        within: assert (level <= ROOM);
        output_first: assert (\dut.q_valid == (level != 0));
        pointers: assert (stored == (level == 0 ? 0 : level - 1));
        contents: assert (same);
        behind: assert (DEPTH_LOG2 == 1 || \dut.many == (level > 1));
    end
`endif

endmodule

`default_nettype wire
