// SPDX-License-Identifier: Apache-2.0
// cde_doorbell: write side of the doorbell pages.
//
// Purpose: takes 8-byte doorbells and 64-byte posts, one per cycle, finds what is wrong with them as far as their bits
//          tell (ISO-01, ISO-02), passes doorbells of CQs to the arm state, posts and doorbells of SRQs to the posting
//          side, and answers each write once, in order, after it took effect.
// Ports:   s_axi write channels, doorbells to the arm state (db_*) and their causes back (res_*), posts (post_*) and
//          theirs, page status updates, error reports.
// Latency: address and data accepted in cycle t, doorbell on db_* in t+1, answer valid in t+9.
`default_nettype none
`include "cde_defs.vh"

module cde_doorbell #(
    parameter CQ_W = 6,
    parameter IDX_W = 16,
    parameter PAGE_W = 6,
    parameter ID_W = 8,
    parameter ADDR_W = 32,
    parameter [0:0] POSTS = 1'b0,
    parameter [0:0] RECEIVES = 1'b0         // receive posts, doorbells of SRQs
) (
    input  wire              clk,
    input  wire              rst,
    input  wire              init,

    input  wire [ID_W-1:0]   s_axi_awid,
    input  wire [ADDR_W-1:0] s_axi_awaddr,
    input  wire [7:0]        s_axi_awlen,
    input  wire [2:0]        s_axi_awsize,
    input  wire              s_axi_awvalid,
    output wire              s_axi_awready,
    input  wire [511:0]      s_axi_wdata,
    input  wire [63:0]       s_axi_wstrb,
    input  wire              s_axi_wlast,
    input  wire              s_axi_wvalid,
    output wire              s_axi_wready,
    output wire [ID_W-1:0]   s_axi_bid,
    output wire [1:0]        s_axi_bresp,
    output wire [7:0]        s_axi_buser,
    output wire              s_axi_bvalid,
    input  wire              s_axi_bready,

    output wire              db_valid,
    input  wire              db_ready,
    output wire [7:0]        db_op,
    output wire [7:0]        db_cause,
    output wire [CQ_W-1:0]   db_cq,
    output wire [PAGE_W-1:0] db_page,
    output wire [IDX_W-1:0]  db_index,
    output wire              db_arm,
    output wire [1:0]        db_type,
    input  wire              res_valid,
    input  wire [7:0]        res_cause,

    output wire              post_valid,
    input  wire              post_ready,
    output wire [PAGE_W-1:0] post_page,
    output wire [1:0]        post_kind,     // 0 SEND, 1 RECV, 2 SRQ_RECV, 3 SRQ_DB
    output wire [511:0]      post_data,
    output wire [63:0]       post_word,     // SRQ_DB: the doorbell
    input  wire              post_res_valid,
    input  wire [7:0]        post_res_cause,

    // What became of each write: page, number of the CQ, QP or SRQ that it names, cause
    output wire              st_valid,
    output wire              st_page_known,
    output wire [15:0]       st_page,
    output wire              st_post,
    output wire              st_srq,        // a post to an SRQ, or its doorbell
    output wire [15:0]       st_object,
    output wire [7:0]        st_cause
);

    // ---------------------------------------------------------------- decode, of what is offered
    // What address and strobes say alone is known a stage before the write: its way is chosen in the cycle it leaves.
    wire [11:0]       in_offset = s_axi_awaddr[11:0];
    wire [ADDR_W-1:12] in_page = s_axi_awaddr[ADDR_W-1:12];
    wire              in_portal = POSTS && in_offset[11:8] == 4'd0 && in_offset[5:0] == 6'd0;
    wire              in_send = in_portal && in_offset == `CDE_PAGE_SEND;
    wire              in_recv = RECEIVES && in_portal && in_offset == `CDE_PAGE_RECV;
    wire              in_srq_recv = RECEIVES && in_portal && in_offset == `CDE_PAGE_SRQ_RECV;
    wire              in_srq_db = RECEIVES && in_offset == `CDE_PAGE_SRQ_DB;
    wire              in_page_known = (in_page >> PAGE_W) == {(ADDR_W - 12){1'b0}};
    wire              in_single = s_axi_awlen == 8'd0;
    wire              in_size_ok = in_portal ? s_axi_awsize == 3'd6
                                             : s_axi_awsize >= 3'd3 && s_axi_awaddr[2:0] == 3'd0;
    wire              in_sound = in_single && in_size_ok && in_page_known;
    wire              in_to_post = in_sound && (in_send || in_recv || in_srq_recv);
    wire              in_to_srq_db = in_sound && in_srq_db;
    wire [9:0]        in_facts = {in_single, in_size_ok, in_page_known, in_portal, in_offset == `CDE_PAGE_CB_RETURN,
                                  in_offset == `CDE_PAGE_CQ_DB, in_to_srq_db, in_to_post, in_srq_recv || in_srq_db,
                                  in_recv || in_srq_db};

    // ---------------------------------------------------------------- register slices
    localparam AW_W = 16 + 3 + 10;      // page, lane, facts
    wire              aw_room;
    wire              aw_valid;
    wire [ID_W-1:0]   aw_id;
    wire [15:0]       page;
    wire [2:0]        at;               // 64-bit lane of the data
    wire              single, address_ok, page_known, is_portal, is_return, is_db;
    wire              to_srq_db, to_post;   // if the data are right, too
    wire [1:0]        kind;                 // post_kind then
    wire              w_room;
    wire              w_valid;
    localparam W_W = POSTS ? 512 : 1;   // posts
    wire [W_W-1:0]    in_data, w_data;
    wire [7:0]        in_full, in_any;  // strobes of each 64-bit lane: all, any
    wire [7:0]        in_only;          // all of this lane, none of others
    wire              w_whole;          // all strobes
    wire [7:0]        w_only;
    wire [63:0]       word;             // what a doorbell says, or the first word of a post
    wire              w_last;
    wire              take;        // the pair leaves
    wire              drain;       // a beat of a burst leaves
    wire [1:0]        unused_aw_level;
    wire [1:0]        unused_w_level;

    assign s_axi_awready = aw_room && !init;
    assign s_axi_wready = w_room && !init;

    cde_fifo #(.W(ID_W + AW_W), .DEPTH_LOG2(1)) aw_fifo (
        .clk(clk),
        .rst(rst),
        .push_valid(s_axi_awvalid && !init),
        .push_ready(aw_room),
        .push_data({s_axi_awid, in_page[27:12], in_offset[5:3], in_facts}),
        .pop_valid(aw_valid),
        .pop_ready(take),
        .pop_data({aw_id, page, at, single, address_ok, page_known, is_portal, is_return, is_db, to_srq_db, to_post,
                   kind}),
        .level(unused_aw_level)
    );

    generate
        genvar g;
        for (g = 0; g < 8; g = g + 1) begin : g_strobes
            assign in_full[g] = &s_axi_wstrb[8*g +: 8];
            assign in_any[g] = |s_axi_wstrb[8*g +: 8];
            assign in_only[g] = in_full[g] && in_any == (8'd1 << g);
        end
        if (POSTS) begin : g_posts
            assign in_data = s_axi_wdata;
            assign post_data = w_data;
        end else begin : g_doorbells
            wire unused_data = &{1'b0, w_data};
            assign in_data = 1'b0;
            assign post_data = 512'd0;
        end
    endgenerate

    // The lane that is written, as strobes tell; of a post the first one. Of a write whose strobes do not fit its
    // address the data do not matter.
    wire [8*64-1:0] lanes;

    assign lanes[63:0] = s_axi_wdata[63:0] & {64{s_axi_wstrb[0]}};
    generate
        for (g = 1; g < 8; g = g + 1) begin : g_or
            assign lanes[64*g +: 64] = lanes[64*(g-1) +: 64] |
                                       (s_axi_wdata[64*g +: 64] & {64{s_axi_wstrb[8*g] && !s_axi_wstrb[0]}});
        end
    endgenerate

    cde_fifo #(.W(W_W + 74), .DEPTH_LOG2(1)) w_fifo (
        .clk(clk),
        .rst(rst),
        .push_valid(s_axi_wvalid && !init),
        .push_ready(w_room),
        .push_data({s_axi_wlast, &in_full, in_only, lanes[7*64 +: 64], in_data}),
        .pop_valid(w_valid),
        .pop_ready(take || drain),
        .pop_data({w_last, w_whole, w_only, word, w_data}),
        .level(unused_w_level)
    );

    // ---------------------------------------------------------------- decode
    reg           in_burst;
    wire [4:0]    b_level;
    reg           b_room;       // up to nine answers are under way when the level that it tells of is left

    wire [15:0]   cq = word[`CDE_CQ_DB_CQ_LSB +: 16];      // of CB_RETURN, too
    wire          arm = word[`CDE_CQ_DB_ARM_LSB];
    wire [3:0]    arm_type = word[`CDE_CQ_DB_ARM_TYPE_LSB +: 4];
    wire [31:0]   cons = word[`CDE_CQ_DB_CONS_LSB +: 32];
    wire          size_ok = address_ok && (is_portal ? w_whole : w_only[at]);
    localparam [11:0] SRQ_DB = `CDE_PAGE_SRQ_DB;
    wire          is_post = !in_burst && ((w_whole && to_post) || (w_only[SRQ_DB[5:3]] && to_srq_db));
    wire          reserved = is_db ? (word & `CDE_CQ_DB_RESERVED) != 64'd0 || (cons >> IDX_W) != 32'd0 ||
                                     (!arm && arm_type != 4'd0)
                                   : (word & `CDE_CB_RETURN_RESERVED) != 64'd0;

    reg [7:0] cause;

    always @* begin
        if (in_burst || !single) cause = `CDE_CAUSE_BURST;
        else if (!size_ok) cause = `CDE_CAUSE_BAD_SIZE;
        else if (!page_known) cause = `CDE_CAUSE_BAD_PAGE;
        else if (!is_db && !is_return) cause = `CDE_CAUSE_BAD_OFFSET;
        else if (reserved) cause = `CDE_CAUSE_RESERVED_BITS;
        else if (is_db && arm_type > 4'd2) cause = `CDE_CAUSE_BAD_ARM_TYPE;
        else if ((cq >> CQ_W) != 16'd0) cause = `CDE_CAUSE_BAD_CQ;
        else cause = 8'h00;
    end

    // Answers to posts are delayed to the time of those to doorbells, so answers keep their order.
    wire          ready = aw_valid && w_valid && w_last && b_room;

    assign db_valid = ready && !is_post;
    assign post_valid = ready && is_post;
    assign take = is_post ? post_valid && post_ready : db_valid && db_ready;
    assign post_page = page[PAGE_W-1:0];
    assign post_kind = kind;
    assign post_word = word;
    assign drain = aw_valid && w_valid && !w_last;
    assign db_op = is_return ? `CDE_TRC_CB_RETURN : `CDE_TRC_DOORBELL;
    assign db_cause = cause;
    assign db_cq = cq[CQ_W-1:0];
    assign db_page = page[PAGE_W-1:0];
    assign db_index = cons[IDX_W-1:0];
    assign db_arm = arm;
    assign db_type = arm_type[1:0];

    // ---------------------------------------------------------------- answers
    // From acceptance to the answer of the arm state; that of posting comes a cycle earlier.
    localparam LATE = 7;
    localparam TAG_W = ID_W + 35;
    reg  [LATE*TAG_W-1:0]           tags;
    reg                             posted_valid;
    reg  [7:0]                      posted_cause;
    wire [ID_W-1:0]                 tag_id;

    assign {tag_id, st_page_known, st_page, st_srq, st_post, st_object} = tags[(LATE-1)*TAG_W +: TAG_W];
    assign st_valid = res_valid || posted_valid;
    assign st_cause = res_valid ? res_cause : posted_cause;

    always @(posedge clk) begin
        if (drain) in_burst <= 1'b1;
        if (take) in_burst <= 1'b0;
        // The first word of a post carries its number at the same place as a doorbell.
        tags <= {tags[0 +: (LATE-1)*TAG_W], aw_id, page_known, page, is_post && post_kind[1], is_post, cq};
        b_room <= b_level <= 5'd7;
        posted_valid <= post_res_valid;
        posted_cause <= post_res_cause;
        if (rst) begin
            in_burst <= 1'b0;
            posted_valid <= 1'b0;
        end
    end

    wire [7:0] b_cause;
    wire       unused_b_push_room;

    cde_fifo #(.W(ID_W + 8), .DEPTH_LOG2(4)) b_fifo (
        .clk(clk),
        .rst(rst),
        .push_valid(st_valid),
        .push_ready(unused_b_push_room),
        .push_data({tag_id, st_cause}),
        .pop_valid(s_axi_bvalid),
        .pop_ready(s_axi_bready),
        .pop_data({s_axi_bid, b_cause}),
        .level(b_level)
    );

    assign s_axi_buser = b_cause;
    assign s_axi_bresp = b_cause == 8'h00 ? 2'b00 : 2'b10;

endmodule

`default_nettype wire
