// SPDX-License-Identifier: Apache-2.0
//
// Responses of the host memory. Each write is answered after a random latency (cfg[15:0] to cfg[31:16] cycles, below
// 16384); responses of one AXI ID keep their order, others overtake each other. Commands (items of channel CH; word:
// 3:0 operation, 31:16 AXI ID, 33:32 response): 1 hold the responses of this ID, 2 release them, 3 hold all, 4 release
// all, 5 answer with this ID and response although nothing is outstanding (a stray response).
// Latency 0 offers the response in the cycle after the later of address and data.
`default_nettype none
`timescale 1ns / 1ps

module bfm_mem #(
    parameter CH = 1,
    parameter B_CH = 2,
    parameter ID_W = 7,
    parameter LOG_DEPTH = 12, // outstanding writes
    parameter LD_WORDS = 128
) (
    input  wire                   clk,
    input  wire                   rst,
    input  wire [31:0]            cycle,
    input  wire                   ld_toggle,
    input  wire [LD_WORDS*64-1:0] ld_data,
    input  wire [63:0]            cfg,
    input  wire [63:0]            b_cfg,
    // A write that was accepted, and its response
    input  wire                   hit,
    input  wire [ID_W-1:0]        id,
    input  wire [1:0]             resp,
    output reg                    full,
    // B channel
    output reg                    b_valid,
    input  wire                   b_ready,
    output reg  [ID_W-1:0]        b_id,
    output reg  [1:0]             b_resp,
    output reg                    withhold, // a response that may be sent is kept back by a stall
    output wire                   overflow
);
    localparam SLOT_LOG = 14;
    localparam SLOTS = 1 << SLOT_LOG; // of the time wheel
    localparam CMD_LOG = 13;  // room to hold every queue one by one

    reg  [CMD_LOG-1:0] rptr;
    wire        present;
    wire [31:0] at;
    wire [15:0] gap;
    wire [63:0] cmd;
    wire [CMD_LOG-1:0] wptr;
    wire        stall;

    bfm_queue #(.CH(CH), .WORDS(1), .LOG_DEPTH(CMD_LOG), .LD_WORDS(LD_WORDS)) u_queue (
        .clk(clk), .ld_toggle(ld_toggle), .ld_data(ld_data),
        .rptr(rptr), .present(present), .at(at), .gap(gap), .item(cmd), .wptr(wptr), .overflow(overflow)
    );
    bfm_stall #(.CH(B_CH)) u_stall (.clk(clk), .rst(rst), .cfg(b_cfg), .stall(stall));

    // Entries live in linked lists: one per slot of the time wheel, one of those ready to be sent, one of held ones per
    // ID.
    reg [LOG_DEPTH-1:0] e_next [0:(1<<LOG_DEPTH)-1];
    reg [ID_W-1:0]      e_id [0:(1<<LOG_DEPTH)-1];
    reg [1:0]           e_resp [0:(1<<LOG_DEPTH)-1];
    reg [LOG_DEPTH-1:0] free_head;
    reg [LOG_DEPTH:0]   free_count;

    reg                 slot_any [0:SLOTS-1];
    reg [LOG_DEPTH-1:0] slot_head [0:SLOTS-1];
    reg [LOG_DEPTH-1:0] slot_tail [0:SLOTS-1];

    reg                 held [0:(1<<ID_W)-1];
    reg                 held_any [0:(1<<ID_W)-1];
    reg [LOG_DEPTH-1:0] held_head [0:(1<<ID_W)-1];
    reg [LOG_DEPTH-1:0] held_tail [0:(1<<ID_W)-1];
    reg [31:0]          last_due [0:(1<<ID_W)-1];

    reg                 ready_any;
    reg [LOG_DEPTH-1:0] ready_head;
    reg [LOG_DEPTH-1:0] ready_tail;

    reg [31:0]          rnd;
    reg [31:0]          seed;
    reg [31:0]          due;
    reg [LOG_DEPTH-1:0] e;
    reg                 sent;
    reg [SLOT_LOG-1:0]  s;
    integer             i;

    function [31:0] step(input [31:0] x);
        reg [31:0] a;
        reg [31:0] b;
        begin
            a = x ^ (x << 13);
            b = a ^ (a >> 17);
            step = b ^ (b << 5);
        end
    endfunction

    task clear;
        begin
            for (i = 0; i < (1 << LOG_DEPTH); i = i + 1) begin
                e_next[i] = i[LOG_DEPTH-1:0] + 1'b1;
                e_id[i] = 0;
                e_resp[i] = 2'b00;
            end
            free_head = 0;
            free_count = 1 << LOG_DEPTH;
            for (i = 0; i < SLOTS; i = i + 1)
                slot_any[i] = 1'b0;
            for (i = 0; i < (1 << ID_W); i = i + 1) begin
                held_any[i] = 1'b0;
                last_due[i] = 32'd0;
            end
            ready_any = 1'b0;
        end
    endtask

    // Takes an entry from the free list.
    task allocate(input [ID_W-1:0] new_id, input [1:0] new_resp);
        begin
            e = free_head;
            free_head = e_next[e];
            free_count = free_count - 1'b1;
            e_id[e] = new_id;
            e_resp[e] = new_resp;
        end
    endtask

    // Held entries are older than all others of their ID: they go to the front.
    task release_id(input [ID_W-1:0] rel);
        begin
            held[rel] = 1'b0;
            if (held_any[rel]) begin
                if (ready_any)
                    e_next[held_tail[rel]] = ready_head;
                else
                    ready_tail = held_tail[rel];
                ready_head = held_head[rel];
                ready_any = 1'b1;
                held_any[rel] = 1'b0;
            end
        end
    endtask

    initial begin
        rptr = 0;
        b_valid = 1'b0;
        b_id = 0;
        b_resp = 2'b00;
        full = 1'b0;
        withhold = 1'b0;
        seed = 32'd0;
        rnd = 32'h2545f491;
        for (i = 0; i < (1 << ID_W); i = i + 1)
            held[i] = 1'b0;
        clear;
    end

    reg was_rst;
    initial was_rst = 1'b0;

    always @(posedge clk) begin
        was_rst <= rst;
        if (cfg[63:32] != seed) begin
            seed = cfg[63:32];
            rnd = step(32'h2545f491 ^ {cfg[63:33], 1'b0});
        end
        if (rst) begin
            if (!was_rst)
                clear;
            b_valid <= 1'b0;
            withhold <= 1'b0;
        end else begin
            if (present) begin
                rptr <= rptr + 1'b1;
                case (cmd[3:0])
                    4'd1: held[cmd[16 +: ID_W]] = 1'b1;
                    4'd2: release_id(cmd[16 +: ID_W]);
                    4'd3: for (i = 0; i < (1 << ID_W); i = i + 1) held[i] = 1'b1;
                    4'd4: for (i = 0; i < (1 << ID_W); i = i + 1) release_id(i[ID_W-1:0]);
                    4'd5: begin
                        allocate(cmd[16 +: ID_W], cmd[33:32]);
                        if (ready_any)
                            e_next[ready_tail] = e;
                        else
                            ready_head = e;
                        ready_tail = e;
                        ready_any = 1'b1;
                    end
                    default: ;
                endcase
            end

            if (hit) begin
                allocate(id, resp);
                due = cycle + {16'd0, cfg[15:0]};
                if (cfg[31:16] > cfg[15:0]) begin
                    rnd = step(rnd);
                    due = due + rnd % ({16'd0, cfg[31:16]} - {16'd0, cfg[15:0]} + 32'd1);
                end
                if (due < last_due[id])
                    due = last_due[id];
                last_due[id] = due;
                s = due[SLOT_LOG-1:0];
                if (slot_any[s])
                    e_next[slot_tail[s]] = e;
                else
                    slot_head[s] = e;
                slot_tail[s] = e;
                slot_any[s] = 1'b1;
            end

            s = cycle[SLOT_LOG-1:0];
            if (slot_any[s]) begin
                if (ready_any)
                    e_next[ready_tail] = slot_head[s];
                else
                    ready_head = slot_head[s];
                ready_tail = slot_tail[s];
                ready_any = 1'b1;
                slot_any[s] = 1'b0;
            end

            withhold <= (!b_valid || b_ready) && ready_any && stall;
            if (!b_valid || b_ready) begin
                sent = 1'b0;
                while (ready_any && !sent && !stall) begin
                    e = ready_head;
                    if (ready_head == ready_tail)
                        ready_any = 1'b0;
                    ready_head = e_next[e];
                    if (held[e_id[e]]) begin
                        if (held_any[e_id[e]])
                            e_next[held_tail[e_id[e]]] = e;
                        else
                            held_head[e_id[e]] = e;
                        held_tail[e_id[e]] = e;
                        held_any[e_id[e]] = 1'b1;
                    end else begin
                        sent = 1'b1;
                        b_id <= e_id[e];
                        b_resp <= e_resp[e];
                        e_next[e] = free_head;
                        free_head = e;
                        free_count = free_count + 1'b1;
                    end
                end
                b_valid <= sent;
                if (b_valid && !sent) begin
                    b_id <= ~b_id;
                    b_resp <= ~b_resp;
                end
            end
            full <= free_count < 64;
        end
    end

    wire unused_ok = &{1'b0, at, gap, wptr};
endmodule

`default_nettype wire
