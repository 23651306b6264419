// SPDX-License-Identifier: Apache-2.0
// cde_track: remembers every outstanding memory write of one kind until its response comes.
//
// Purpose: one list of outstanding writes per AXI ID in a shared pool, since responses of one ID come in order. Each
//          list ends in an empty node, so that adding touches only tails and removing only heads: one of each per
//          cycle. A node holds its data and the number of the next one in one memory: what comes out of it addresses it
//          again when the next response has the same ID.
// Ports:   push (a write that is being issued; there is room for it), responses (b_*, as on m_axi), pop (what was
//          answered).
// Latency: a write pushed in cycle t may be answered from t+2 on; response in cycle t, pop_* in t+1.
`default_nettype none

module cde_track #(
    parameter ID_W = 7,
    parameter LIST_W = 6,           // IDs in use: 0 to 2^LIST_W - 1
    parameter MAX_WRITES = 256,     // power of two
    parameter MAX_LOG2 = 8,         // log2 MAX_WRITES
    parameter W = 8,                // bits remembered for a write
    parameter INIT_W = 8            // bits of the clearing walk's address
) (
    input  wire              clk,
    input  wire              rst,
    input  wire              init,          // clearing walk after reset
    input  wire [INIT_W-1:0] init_addr,

    input  wire              push_valid,
    input  wire [LIST_W-1:0] push_id,
    input  wire [W-1:0]      push_data,

    input  wire              b_valid,       // valid and ready
    input  wire [ID_W-1:0]   b_id,
    input  wire [1:0]        b_resp,

    output wire              pop_any,       // a response, maybe for nothing outstanding
    output wire              pop_valid,
    output wire [ID_W-1:0]   pop_id,
    output wire [W-1:0]      pop_data,
    output wire              pop_error,     // response was not OKAY
    output reg               stray          // response for nothing outstanding
);

    localparam IDS = 1 << LIST_W;
    localparam NUM_NODES = IDS + MAX_WRITES;
    localparam NODE_W = $clog2(NUM_NODES);
    localparam PAIRS = (NODE_W + 1) / 2;

    wire unused_init_addr = &{1'b0, init_addr};     // other memories may be deeper

    (* ram_style = "distributed" *)
    reg [NODE_W-1:0] head [0:IDS-1];
    (* ram_style = "distributed" *)
    reg [NODE_W-1:0] tail [0:IDS-1];
    // No write is answered in the cycle in which its node is filled: what a read at that edge gives is not used.
    (* no_rw_check *)
    reg [NODE_W+W-1:0] node [0:NUM_NODES-1];    // {next node, data}
    (* ram_style = "distributed" *)
    reg [NODE_W-1:0] spare [0:MAX_WRITES-1];
    reg [MAX_LOG2:0] spare_wr;
    reg [MAX_LOG2:0] spare_rd;
    reg [MAX_LOG2:0] spare_after;   // spare_rd + 1

    // ---------------------------------------------------------------- push
    reg               q_valid;
    reg [LIST_W-1:0]  q_id;
    reg [W-1:0]       q_data;
    reg [MAX_LOG2:0]  room;          // nodes neither used nor spoken for
    // The node that a push takes is read a cycle ahead: what that cycle adds to the spare ones is not in room yet.
    wire [MAX_LOG2:0] spare_next = q_valid ? spare_after : spare_rd;
    reg [NODE_W-1:0]  fresh;
    wire [NODE_W-1:0] q_node = tail[q_id];
    wire [NODE_W-1:0] first = {{(NODE_W-LIST_W){1'b0}}, init_addr[LIST_W-1:0]};    // of an empty list

    // ---------------------------------------------------------------- pop, step 1: which node
    reg               l_valid;
    reg [ID_W-1:0]    l_id;
    reg [NODE_W-1:0]  l_node;
    reg [PAIRS-1:0]   l_full;        // by pairs of bits: l_node is not the empty one at the end of the list
    reg               l_error;
    reg               l_used;        // the ID is in use

    // step 2: its content, read at the same edge
    reg  [NODE_W-1:0] l_next;
    reg  [W-1:0]      l_data;
    wire l_known = l_used && l_full != {PAIRS{1'b0}};
    wire l_pops = l_valid && l_known;       // else no write of this ID is under way
    assign pop_any = l_valid;
    assign pop_valid = l_pops;
    assign pop_id = l_id;
    assign pop_data = l_data;
    assign pop_error = l_error;
    wire [LIST_W-1:0] b_list = b_id[LIST_W-1:0], l_list = l_id[LIST_W-1:0];
    wire              b_again = l_pops && l_list == b_list;
    wire [NODE_W-1:0] b_head = head[b_list], b_tail = tail[b_list], b_node = b_again ? l_next : b_head;
    wire [2*PAIRS-1:0] next_full = {{(2*PAIRS-NODE_W){1'b0}}, l_next ^ b_tail};
    wire [2*PAIRS-1:0] head_full = {{(2*PAIRS-NODE_W){1'b0}}, b_head ^ b_tail};
    integer i;

    always @(posedge clk) begin
        q_valid <= push_valid && !rst;
        q_id <= push_id;
        q_data <= push_data;
        fresh <= spare[spare_next[MAX_LOG2-1:0]];
        if (q_valid) node[q_node] <= {fresh, q_data};
        if (push_valid && !l_pops) room <= room - 1'b1;
        if (l_pops && !push_valid) room <= room + 1'b1;
        if (init || q_valid) tail[init ? init_addr[LIST_W-1:0] : q_id] <= init ? first : fresh;
        // A stray response puts back what is there: whether it is one comes late.
        if (init || (l_valid && l_used)) begin
            head[init ? init_addr[LIST_W-1:0] : l_list] <= init ? first : l_known ? l_next : l_node;
        end
        // The place after the spare nodes is free unless all are spare, so it is written before it is known whether the
        // response is that of a write. After the first push of all it is that of the node in fresh, which was read.
        if (init || (l_valid && !room[MAX_LOG2])) begin
            spare[init ? init_addr[MAX_LOG2-1:0] : spare_wr[MAX_LOG2-1:0]] <=
                init ? IDS[NODE_W-1:0] + {{(NODE_W-MAX_LOG2){1'b0}}, init_addr[MAX_LOG2-1:0]} : l_node;
        end

        l_valid <= b_valid;
        l_id <= b_id;
        l_node <= b_node;
        for (i = 0; i < PAIRS; i = i + 1) l_full[i] <= b_again ? |next_full[2*i +: 2] : |head_full[2*i +: 2];
        {l_next, l_data} <= node[b_node];
        l_error <= b_resp != 2'b00;
        l_used <= b_id >> LIST_W == {ID_W{1'b0}};
        stray <= l_valid && !l_known;

        spare_rd <= spare_next;
        if (q_valid) spare_after <= spare_after + 1'b1;
        if (l_pops) spare_wr <= spare_wr + 1'b1;
        if (rst) begin
            l_valid <= 1'b0;
            stray <= 1'b0;
            spare_rd <= {(MAX_LOG2 + 1){1'b0}};
            spare_after <= {{MAX_LOG2{1'b0}}, 1'b1};
            spare_wr <= {1'b1, {MAX_LOG2{1'b0}}};
            room <= {1'b1, {MAX_LOG2{1'b0}}};
        end
    end

endmodule

`default_nettype wire
