// SPDX-License-Identifier: Apache-2.0
// cde_pages: status word of every doorbell page, and the read side of the pages (ISO-01, ISO-02).
//
// Purpose: keeps per page the cause of its latest write and the number of its refused writes, for hosts whose bus
//          carries no BUSER.
// Ports:   what became of each write (st_*), s_axi read channels, error reports for refused reads.
// Latency: a status is readable from the cycle in which its write's answer is valid; read: address in cycle t, data
//          valid in t+5.
`default_nettype none
`include "cde_defs.vh"
`include "cde_mem.vh"

module cde_pages #(
    parameter PAGE_W = 6,
    parameter ID_W = 8,
    parameter ADDR_W = 32,
    parameter ECC = 1
) (
    input  wire              clk,
    input  wire [`CDE_MEM_W-1:0] mem_i,
    output wire [`CDE_MEM_W-1:0] mem_o,
    input  wire              rst,
    input  wire              init,

    input  wire              st_valid,
    input  wire              st_page_known,
    input  wire [PAGE_W-1:0] st_page,
    input  wire [7:0]        st_cause,

    input  wire [ID_W-1:0]   s_axi_arid,
    input  wire [ADDR_W-1:0] s_axi_araddr,
    input  wire [7:0]        s_axi_arlen,
    input  wire [2:0]        s_axi_arsize,
    input  wire              s_axi_arvalid,
    output wire              s_axi_arready,
    output reg  [ID_W-1:0]   s_axi_rid,
    output wire [511:0]      s_axi_rdata,
    output wire [1:0]        s_axi_rresp,
    output wire              s_axi_rlast,
    output reg               s_axi_rvalid,
    input  wire              s_axi_rready,

    output reg               err_valid,
    output reg  [7:0]        err_cause,
    output reg  [15:0]       err_page
);

    wire [`CDE_MEM_W-1:0] mem1;

    // ---------------------------------------------------------------- status words
    localparam ST_CAUSE = 0, ST_REFUSED = 8, ST_W = 40;    // the latest cause, 8 bits; refused writes, 32 bits
    reg [2:0]        u_valid;
    reg [3*PAGE_W-1:0] u_pages;
    reg [23:0]       u_causes;
    wire [PAGE_W-1:0] u_page = u_pages[2*PAGE_W +: PAGE_W];
    wire [7:0]       u_cause = u_causes[23:16];
    reg              u_refused;     // u_cause is not 0
    wire [ST_W-1:0]  u_old;
    wire             unused_u = &{1'b0, u_old[ST_CAUSE +: 8]};
    wire [ST_W-1:0]  r_word;
    wire [ST_W-1:0]  u_new;
    assign u_new[ST_CAUSE +: 8] = u_cause;
    assign u_new[ST_REFUSED +: 32] = u_old[ST_REFUSED +: 32] + {31'd0, u_refused};
    wire [PAGE_W-1:0] ar_page_index;

    always @(posedge clk) begin
        u_valid <= rst ? 3'd0 : {u_valid[1:0], st_valid && st_page_known};
        u_pages <= {u_pages[0 +: 2*PAGE_W], st_page};
        u_causes <= {u_causes[15:0], st_cause};
        u_refused <= u_causes[15:8] != 8'h00;
    end

    cde_ctx #(.W(ST_W), .AW(PAGE_W), .ECC(ECC)) update_ram (
        .clk(clk), .mem_i(mem_i), .mem_o(mem1), .we(u_valid[2]), .waddr(u_page), .wdata(u_new), .raddr(st_page),
        .rdata(u_old)
    );

    cde_ctx #(.W(ST_W), .AW(PAGE_W), .ECC(ECC)) read_ram (
        .clk(clk), .mem_i(mem1), .mem_o(mem_o), .we(u_valid[2]), .waddr(u_page), .wdata(u_new), .raddr(ar_page_index),
        .rdata(r_word)
    );

    // ---------------------------------------------------------------- reads
    wire              ar_room;
    wire              ar_valid;
    wire [ID_W-1:0]   ar_id;
    wire [ADDR_W-1:0] ar_addr;
    wire [7:0]        ar_len;
    wire [2:0]        ar_size;
    wire [1:0]        unused_ar_level;
    reg [2:0]         looking;
    reg               bad;
    reg [7:0]         beats;
    reg [ST_W-1:0]    word;

    wire idle = looking == 3'd0 && !s_axi_rvalid;
    wire take = ar_valid && idle;

    assign s_axi_arready = ar_room && !init;

    cde_fifo #(.W(ID_W + ADDR_W + 11), .DEPTH_LOG2(1)) ar_fifo (
        .clk(clk),
        .rst(rst),
        .push_valid(s_axi_arvalid && !init),
        .push_ready(ar_room),
        .push_data({s_axi_arid, s_axi_araddr, s_axi_arlen, s_axi_arsize}),
        .pop_valid(ar_valid),
        .pop_ready(idle),
        .pop_data({ar_id, ar_addr, ar_len, ar_size}),
        .level(unused_ar_level)
    );

    wire [ADDR_W-1:12] page = ar_addr[ADDR_W-1:12];
    wire page_known = (page >> PAGE_W) == {(ADDR_W - 12){1'b0}};
    reg [7:0] cause;

    always @* begin
        if (ar_len != 8'd0) cause = `CDE_CAUSE_BURST;
        else if (ar_size < 3'd3 || ar_addr[2:0] != 3'd0) cause = `CDE_CAUSE_BAD_SIZE;
        else if (!page_known) cause = `CDE_CAUSE_BAD_PAGE;
        else if (ar_addr[11:0] != `CDE_PAGE_PAGE_STATUS) cause = `CDE_CAUSE_BAD_OFFSET;
        else cause = 8'h00;
    end

    assign ar_page_index = page[12 +: PAGE_W];

    // Low from power-up, before any clock edge.
    initial s_axi_rvalid = 1'b0;
    always @(posedge clk) begin
        looking <= {looking[1:0], take};
        err_valid <= take && cause != 8'h00 && !rst;
        err_cause <= cause;
        err_page <= page[27:12];
        if (take) begin
            s_axi_rid <= ar_id;
            beats <= ar_len;
            bad <= cause != 8'h00;
        end
        if (looking[2]) begin
            s_axi_rvalid <= 1'b1;
            word <= r_word;
        end
        if (s_axi_rvalid && s_axi_rready) begin
            beats <= beats - 8'd1;
            if (s_axi_rlast) s_axi_rvalid <= 1'b0;
        end
        if (rst) begin
            looking <= 3'd0;
            s_axi_rvalid <= 1'b0;
        end
    end

    // PAGE_STATUS lies in the lowest lane of its line.
    wire [63:0] status;
    assign status[`CDE_PAGE_STATUS_CAUSE_LSB +: 32] = {24'd0, word[ST_CAUSE +: 8]};
    assign status[`CDE_PAGE_STATUS_REFUSED_LSB +: 32] = word[ST_REFUSED +: 32];
    assign s_axi_rdata = bad ? 512'd0 : {448'd0, status};
    assign s_axi_rresp = bad ? 2'b10 : 2'b00;
    assign s_axi_rlast = beats == 8'd0;

endmodule

`default_nettype wire
