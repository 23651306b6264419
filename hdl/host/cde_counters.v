// SPDX-License-Identifier: Apache-2.0
// cde_counters: 32-bit event counters (ISO-01 to ISO-03).
//
// Purpose: sixteen counters with an increment of 0 to 7 per cycle (errors lost: to 11), one counter per cause of
//          refused doorbells, and ten with an increment of 0 to 3. Increments gather in a few bits each; one counter
//          after the other gets them added to its word in distributed RAM. A bit of one of them is inverted on demand;
//          what is counted in that cycle is added to that.
// Ports:   increments, a cause that is counted, bit to invert, selection and value.
// Latency: value belongs to select of two cycles before, and includes the increments and the inverted bits up to four
//          cycles before.
`default_nettype none

module cde_counters (
    input  wire        clk,
    input  wire        rst,

    input  wire [44:0] step,          // 3 bits a counter, in register order, without that of errors lost
    input  wire [3:0]  lost,
    input  wire [19:0] recv_step,     // 2 bits a counter
    input  wire        cause_valid,
    input  wire [7:0]  cause,         // below 32

    input  wire        flip,
    input  wire [9:0]  flip_counter,  // numbers as of select; what no counter or bit has inverts nothing
    input  wire [9:0]  flip_bit,

    input  wire [5:0]  select,        // 0 to 15 counters, 16 to 47 causes, 48 to 57 receiving, keys, memories
    output wire [31:0] value          // of no meaning from 58 on: nothing takes it
);

    localparam LOST = 11, COUNTERS = 58;
    localparam W = 10;                // a counter's turn comes before so many bits are full; of a cause before CAUSE_W
    localparam CAUSE_W = 7;
    localparam FIRST = 16, AFTER = 48;    // counters of causes

    reg [47:0]  all;
    reg [3:0]   all_lost;
    reg [19:0]  recv;
    reg         counts;
    reg [7:0]   why;
    reg [231:0] by;                   // 4 bits a counter: its increment
    integer i;
    integer j;

    always @* begin
        for (j = 0; j < 16; j = j + 1) by[4*j +: 4] = j == LOST ? all_lost : {1'b0, all[3*j +: 3]};
        for (j = 0; j < 32; j = j + 1) by[64 + 4*j +: 4] = {3'd0, counts && why == j[7:0]};
        for (j = 0; j < 10; j = j + 1) by[192 + 4*j +: 4] = {2'd0, recv[2*j +: 2]};
    end

    // ---------------------------------------------------------------- whose turn it is; that of a bit to invert is now
    reg  [64*W-1:0] gathered;
    reg  [5:0]      turn, p_at;
    reg  [W-1:0]    p_sum;
    reg  [31:0]     p_mask;
    wire            flips = flip && flip_counter < COUNTERS;
    reg  [5:0]      now;
    reg  [31:0]     now_mask;

    // ---------------------------------------------------------------- its word
    reg  [31:0]     word [0:63];
    reg  [63:0]     begun;            // the word counts; else it is 0
    reg  [5:0]      q_at;
    reg  [31:0]     q_word, q_mask;
    reg  [W-1:0]    q_sum;
    wire [31:0]     q_next = (q_word + {{(32-W){1'b0}}, q_sum}) ^ q_mask;

    // ---------------------------- reading: what has gathered, then the word, to which all that left before was added
    reg  [5:0]      s_at;
    reg  [31:0]     s_word;
    reg  [W-1:0]    s_late, s_more;

    assign value = s_word + {{(32-W){1'b0}}, s_more};

    always @(posedge clk) begin
        if (!flips) turn <= turn == COUNTERS - 1 ? 6'd0 : turn + 6'd1;
        all <= {step[44:3*LOST], 3'd0, step[3*LOST-1:0]};
        {all_lost, recv, counts, why} <= {lost, recv_step, cause_valid, cause};
        now <= flips ? flip_counter[5:0] : turn;
        now_mask <= flips ? 32'd1 << flip_bit : 32'd0;
        p_at <= now;
        p_sum <= gathered[W*now +: W];
        p_mask <= now_mask;
        for (i = 0; i < COUNTERS; i = i + 1) begin
            gathered[W*i +: W] <= (now == i[5:0] ? {W{1'b0}} : gathered[W*i +: W]) + {{(W-4){1'b0}}, by[4*i +: 4]};
            if (i >= FIRST && i < AFTER) gathered[W*i + CAUSE_W +: W - CAUSE_W] <= {(W - CAUSE_W){1'b0}};
        end
        {q_at, q_sum, q_mask} <= {p_at, p_sum, p_mask};
        q_word <= q_at == p_at ? q_next : begun[p_at] ? word[p_at] : 32'd0;
        word[q_at] <= q_next;
        begun[q_at] <= 1'b1;
        s_at <= select;
        s_late <= gathered[W*select +: W];
        s_word <= q_at == s_at ? q_next : begun[s_at] ? word[s_at] : 32'd0;
        s_more <= s_late;
        if (rst) begin
            turn <= 6'd0;
            all <= 48'd0;
            {all_lost, recv, counts} <= 25'd0;
            {now, p_at, q_at} <= 18'd0;
            now_mask <= 32'd0;
            p_sum <= {W{1'b0}};
            p_mask <= 32'd0;
            q_word <= 32'd0;
            q_sum <= {W{1'b0}};
            q_mask <= 32'd0;
            gathered <= {(64*W){1'b0}};
            begun <= 64'd0;
        end
    end

endmodule

`default_nettype wire
