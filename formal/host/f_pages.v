// SPDX-License-Identifier: Apache-2.0
// f_pages: proof of the doorbell pages' port, s_axi, where it is made (cde_page_port).
//
// Purpose: AXI4 rules of a slave for any writes and reads, bursts included: what is offered stays; as many responses as
//          writes, in the order of the addresses; as many read beats as asked, the last one marked, in order. Arm state
//          and posting answer four cycles after a write was handed to them, with any cause.
// Ports:   free inputs.
// Latency: none.
`default_nettype none
`include "cde_mem.vh"

module f_pages #(
    parameter ID_W = 2,
    parameter MAX = 20
) (
    input wire            clk,
    input wire [ID_W-1:0] awid,
    input wire [27:0]     awaddr,
    input wire [7:0]      awlen,
    input wire [2:0]      awsize,
    input wire            awvalid,
    input wire [511:0]    wdata,
    input wire [63:0]     wstrb,
    input wire            wlast,
    input wire            wvalid,
    input wire            bready,
    input wire [ID_W-1:0] arid,
    input wire [27:0]     araddr,
    input wire [7:0]      arlen,
    input wire [2:0]      arsize,
    input wire            arvalid,
    input wire            rready,
    input wire            db_ready,
    input wire            post_ready,
    input wire [7:0]      cause
);

    reg [2:0] age = 0;
    wire      rst = age == 0;
    wire      init = age != 0 && !age[2];
    always @(posedge clk) if (!age[2]) age <= age + 1'b1;
    wire      up = age[2];
    wire [`CDE_MEM_W-1:0] mem = {39'd0, init, rst};     // maintenance bus: reset and the walk, no injection
    wire [`CDE_MEM_W-1:0] unused_mem;

    wire            awready, wready, bvalid, arready, rlast, rvalid, db_valid, db_arm, post_valid, st_valid, st_post,
                    st_srq, rd_err_valid;
    wire [ID_W-1:0] bid, rid;
    wire [1:0]      bresp, rresp, db_type, post_kind;
    wire [7:0]      buser, db_op, db_cause, st_cause, rd_err_cause;
    wire [511:0]    rdata, post_data;
    wire [63:0]     post_word;
    wire [0:0]      db_cq;
    wire            db_page, post_page;
    wire [3:0]      db_index;
    wire [15:0]     st_page, st_object, rd_err_page;
    localparam LATE = 7;                 // from a doorbell to its answer; that of a post comes a cycle earlier
    reg [LATE-1:0]  db_way, post_way;
    initial {db_way, post_way} = 0;
    wire            took_db = db_valid && db_ready && up, took_post = post_valid && post_ready && up;
    always @(posedge clk) begin
        db_way <= {db_way[LATE-2:0], took_db};
        post_way <= {post_way[LATE-2:0], took_post};
    end

    cde_page_port #(
        .CQ_W(1), .IDX_W(4), .PAGE_W(1), .ID_W(ID_W), .ADDR_W(28), .POSTS(1'b1), .RECEIVES(1'b1), .ECC(0)
    ) dut (
        .clk(clk), .mem_i(mem), .mem_o(unused_mem), .rst(rst), .init(init), .s_axi_awid(awid),
        .s_axi_awaddr(awaddr), .s_axi_awlen(awlen),
        .s_axi_awsize(awsize), .s_axi_awvalid(awvalid), .s_axi_awready(awready), .s_axi_wdata(wdata),
        .s_axi_wstrb(wstrb),
        .s_axi_wlast(wlast), .s_axi_wvalid(wvalid), .s_axi_wready(wready), .s_axi_bid(bid), .s_axi_bresp(bresp),
        .s_axi_buser(buser),
        .s_axi_bvalid(bvalid), .s_axi_bready(bready), .db_valid(db_valid), .db_ready(db_ready && up), .db_op(db_op),
        .db_cause(db_cause),
        .db_cq(db_cq), .db_page(db_page), .db_index(db_index), .db_arm(db_arm), .db_type(db_type),
        .res_valid(db_way[LATE-1]),
        .res_cause(cause), .post_valid(post_valid), .post_ready(post_ready && up), .post_page(post_page),
        .post_kind(post_kind), .post_data(post_data),
        .post_word(post_word), .post_res_valid(post_way[LATE-2]), .post_res_cause(cause), .st_valid(st_valid),
        .st_page(st_page),
        .st_post(st_post), .st_srq(st_srq), .st_object(st_object), .st_cause(st_cause), .s_axi_arid(arid),
        .s_axi_araddr(araddr),
        .s_axi_arlen(arlen), .s_axi_arsize(arsize), .s_axi_arvalid(arvalid), .s_axi_arready(arready), .s_axi_rid(rid),
        .s_axi_rdata(rdata), .s_axi_rresp(rresp), .s_axi_rlast(rlast), .s_axi_rvalid(rvalid), .s_axi_rready(rready),
        .rd_err_valid(rd_err_valid), .rd_err_cause(rd_err_cause), .rd_err_page(rd_err_page)
    );

    wire [5:0] outstanding;

`ifdef WRITES
    axi_write_props #(
        .ID_W(ID_W), .ADDR_W(28), .DATA_W(512), .MASTER(1'b0), .IN_ORDER(1'b1), .MAX(MAX), .CNT_W(6)
    ) write_i (
        .clk(clk), .rst(!up), .awid(awid), .awaddr(awaddr), .awlen(awlen), .awsize(awsize), .awvalid(awvalid && up),
        .awready(awready),
        .wdata(wdata), .wstrb(wstrb), .wlast(wlast), .wvalid(wvalid && up), .wready(wready), .bid(bid),
        .bresp(bresp), .bvalid(bvalid),
        .bready(bready), .outstanding(outstanding)
    );
    always @(posedge clk) if (up) begin
        response_code: assert (!bvalid || bresp == (buser == 8'h00 ? 2'b00 : 2'b10));
        one_way: assert (!(took_db && took_post));
    end

    // ------------------------------------------------ for the induction: one queue of answers, writes, addresses
    localparam AW_W = 29, W_W = 586, A_W = ID_W + AW_W, B_W = ID_W + 8, T_W = ID_W + 35;
    (* hierconn *) wire [4:0] \dut.doorbell_i.b_fifo.level ;
    (* hierconn *) wire [1:0] \dut.doorbell_i.aw_fifo.level , \dut.doorbell_i.w_fifo.level ;
    (* hierconn *) wire [16*B_W-1:0] \dut.doorbell_i.b_fifo.words ;
    (* hierconn *) wire [2*A_W-1:0] \dut.doorbell_i.aw_fifo.words ;
    (* hierconn *) wire [2*W_W-1:0] \dut.doorbell_i.w_fifo.words ;
    (* hierconn *) wire [LATE*T_W-1:0] \dut.doorbell_i.tags ;
    (* hierconn *) wire \dut.doorbell_i.posted_valid , \dut.doorbell_i.b_room ;
    (* hierconn *) wire [5:0] \write_i.f_wls ;
    (* hierconn *) wire [6+ID_W:0] \write_i.f_watch ;
    wire [5:0]        ahead;
    wire              watching;
    wire [ID_W-1:0]   its_id;
    assign {watching, ahead, its_id} = \write_i.f_watch ;

    wire [LATE-1:0]   way = db_way | post_way;
    wire [5:0]        answers = \dut.doorbell_i.b_fifo.level , addresses = \dut.doorbell_i.aw_fifo.level ;
    wire [1:0]        beats = \dut.doorbell_i.w_fifo.level ;
    wire [5:0]        lasts = (beats != 0 && \dut.doorbell_i.w_fifo.words [W_W-1]) + (beats == 2 &&
        \dut.doorbell_i.w_fifo.words [2*W_W-1]);
    // Places in the order of the answers: of the first address, of a write on its way
    reg  [5:0]        at_a;
    reg               in_place;
    integer           k;
    always @* begin
        at_a = answers;
        in_place = 1'b1;
        for (k = LATE - 1; k >= 0; k = k - 1) begin
            if (way[k] && ahead == at_a && \dut.doorbell_i.tags [k*T_W+35 +: ID_W] != its_id) in_place = 1'b0;
            at_a = at_a + way[k];
        end
    end
    wire [ID_W-1:0]   its_answer = \dut.doorbell_i.b_fifo.words [ahead[3:0]*B_W+8 +: ID_W];
    wire [ID_W-1:0]   its_address = \dut.doorbell_i.aw_fifo.words [(ahead != at_a)*A_W+AW_W +: ID_W];

    // The queue of answers never overflows: there is a place for each write that was handed on.
    always @(posedge clk) if (up) answers_have_room: assert (at_a <= 16);
    reg [4:0] answers_1 = 0;             // a cycle before
    always @(posedge clk) answers_1 <= \dut.doorbell_i.b_fifo.level ;

    // These stay with a fault as well: without them overflow takes too long to find.
    always @(posedge clk) if (!rst) begin
        i_age: assert (age <= 4);
        i_quiet: assert (up || (at_a == 0 && addresses == 0 && beats == 0 && outstanding == 0 &&
            \write_i.f_wls == 0 && !watching));
        i_ways: assert ((db_way & post_way) == 0);
`ifndef PROPERTIES_ONLY
        i_room: assert (!\dut.doorbell_i.b_room || answers_1 <= 7);
`endif
        i_recent: assert (at_a <= answers_1 + LATE + 1);
        i_posted: assert (\dut.doorbell_i.posted_valid == post_way[LATE-1]);
        i_levels: assert ((up || at_a == 0) && addresses <= 2 && beats <= 2);
        i_outstanding: assert (outstanding == at_a + addresses && \write_i.f_wls == at_a + lasts);
        if (watching) begin
            i_watched: assert (ahead < outstanding);
            i_answer: assert (ahead >= answers || its_answer == its_id);
            i_under_way: assert (in_place);
            i_address: assert (ahead < at_a || its_address == its_id);
        end
    end
`endif

`ifdef READS
    axi_read_props #(.ID_W(ID_W), .ADDR_W(28), .DATA_W(512), .MAX(3), .CNT_W(3)) read_i (
        .clk(clk), .rst(!up), .arid(arid), .araddr(araddr), .arlen(arlen), .arsize(arsize), .arvalid(arvalid && up),
        .arready(arready),
        .rid(rid), .rdata(rdata), .rresp(rresp), .rlast(rlast), .rvalid(rvalid), .rready(rready)
    );
`endif

endmodule

`default_nettype wire
