// SPDX-License-Identifier: Apache-2.0
// cde_page_port: the doorbell pages.
//
// Purpose: groups the write side (cde_doorbell) and the status words with the read side (cde_pages).
// Ports:   s_axi; doorbells to the arm state (db_*) and their causes back (res_*), posts (post_*) and theirs; what
//          became of each write (st_*); refused reads (rd_err_*).
// Latency: see the blocks.
`default_nettype none
`include "cde_mem.vh"

module cde_page_port #(
    parameter CQ_W = 6,
    parameter IDX_W = 16,
    parameter PAGE_W = 6,
    parameter ID_W = 8,
    parameter ADDR_W = 32,
    parameter [0:0] POSTS = 1'b0,
    parameter [0:0] RECEIVES = 1'b0,
    parameter ECC = 1
) (
    input  wire              clk,
    input  wire [`CDE_MEM_W-1:0] mem_i,
    output wire [`CDE_MEM_W-1:0] mem_o,
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
    output wire [1:0]        post_kind,
    output wire [511:0]      post_data,
    output wire [63:0]       post_word,
    input  wire              post_res_valid,
    input  wire [7:0]        post_res_cause,

    // What became of each write: page, kind and number of what it names, cause
    output wire              st_valid,
    output wire [15:0]       st_page,
    output wire              st_post,
    output wire              st_srq,
    output wire [15:0]       st_object,
    output wire [7:0]        st_cause,

    input  wire [ID_W-1:0]   s_axi_arid,
    input  wire [ADDR_W-1:0] s_axi_araddr,
    input  wire [7:0]        s_axi_arlen,
    input  wire [2:0]        s_axi_arsize,
    input  wire              s_axi_arvalid,
    output wire              s_axi_arready,
    output wire [ID_W-1:0]   s_axi_rid,
    output wire [511:0]      s_axi_rdata,
    output wire [1:0]        s_axi_rresp,
    output wire              s_axi_rlast,
    output wire              s_axi_rvalid,
    input  wire              s_axi_rready,

    output wire              rd_err_valid,
    output wire [7:0]        rd_err_cause,
    output wire [15:0]       rd_err_page
);

    wire st_page_known;

    cde_doorbell #(
        .CQ_W(CQ_W), .IDX_W(IDX_W), .PAGE_W(PAGE_W), .ID_W(ID_W), .ADDR_W(ADDR_W), .POSTS(POSTS), .RECEIVES(RECEIVES)
    ) doorbell_i (
        .clk(clk), .rst(rst), .init(init), .s_axi_awid(s_axi_awid), .s_axi_awaddr(s_axi_awaddr),
        .s_axi_awlen(s_axi_awlen),
        .s_axi_awsize(s_axi_awsize), .s_axi_awvalid(s_axi_awvalid), .s_axi_awready(s_axi_awready),
        .s_axi_wdata(s_axi_wdata),
        .s_axi_wstrb(s_axi_wstrb), .s_axi_wlast(s_axi_wlast), .s_axi_wvalid(s_axi_wvalid), .s_axi_wready(s_axi_wready),
        .s_axi_bid(s_axi_bid), .s_axi_bresp(s_axi_bresp), .s_axi_buser(s_axi_buser), .s_axi_bvalid(s_axi_bvalid),
        .s_axi_bready(s_axi_bready), .db_valid(db_valid), .db_ready(db_ready), .db_op(db_op), .db_cause(db_cause),
        .db_cq(db_cq),
        .db_page(db_page), .db_index(db_index), .db_arm(db_arm), .db_type(db_type), .res_valid(res_valid),
        .res_cause(res_cause),
        .post_valid(post_valid), .post_ready(post_ready), .post_page(post_page), .post_kind(post_kind),
        .post_data(post_data),
        .post_word(post_word), .post_res_valid(post_res_valid), .post_res_cause(post_res_cause), .st_valid(st_valid),
        .st_page_known(st_page_known), .st_page(st_page), .st_post(st_post), .st_srq(st_srq), .st_object(st_object),
        .st_cause(st_cause)
    );

    cde_pages #(
        .PAGE_W(PAGE_W), .ID_W(ID_W), .ADDR_W(ADDR_W), .ECC(ECC)
    ) pages_i (
        .clk(clk), .mem_i(mem_i), .mem_o(mem_o), .rst(rst), .init(init), .st_valid(st_valid),
        .st_page_known(st_page_known),
        .st_page(st_page[PAGE_W-1:0]), .st_cause(st_cause), .s_axi_arid(s_axi_arid), .s_axi_araddr(s_axi_araddr),
        .s_axi_arlen(s_axi_arlen), .s_axi_arsize(s_axi_arsize), .s_axi_arvalid(s_axi_arvalid),
        .s_axi_arready(s_axi_arready),
        .s_axi_rid(s_axi_rid), .s_axi_rdata(s_axi_rdata), .s_axi_rresp(s_axi_rresp), .s_axi_rlast(s_axi_rlast),
        .s_axi_rvalid(s_axi_rvalid), .s_axi_rready(s_axi_rready), .err_valid(rd_err_valid), .err_cause(rd_err_cause),
        .err_page(rd_err_page)
    );

endmodule

`default_nettype wire
