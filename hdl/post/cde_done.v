// SPDX-License-Identifier: Apache-2.0
// cde_done: done reports of the transport (ISO-03, DF-15).
//
// Purpose: a report is good when it names the oldest unreported remote request of its QP. A failing one asks for
//          the step that moves its QP to the error state, which comes before all others; the first failure of a
//          connection is kept for retirement. What a report makes ripe for retirement, its request and the
//          local or skipped ones after it, is kept for each remote request.
// Ports:   s_axis_done; remote requests indicated so far (tags_*); the step of the QP's state (fail_*); good reports
//          (rep_*), looks for retirement (seen_*: report taken, not yet judged); error report.
// Latency: report taken in cycle t, judged in t+1. Throughput: one per cycle.
`default_nettype none
`include "cde_defs.vh"
`include "cde_mem.vh"

module cde_done #(
    parameter NUM_QP = 64,
    parameter QP_W = 6,
    parameter IDX_W = 16,
    parameter SQ_LOG2 = 5,
    parameter ECC = 1
) (
    input  wire              clk,
    input  wire [`CDE_MEM_W-1:0] mem_i,
    output wire [`CDE_MEM_W-1:0] mem_o,
    input  wire              rst,
    input  wire              init,

    input  wire [63:0]       s_axis_done_tdata,
    input  wire              s_axis_done_tvalid,
    output wire              s_axis_done_tready,

    input  wire              tags_we,
    input  wire [QP_W-1:0]   tags_qp,
    input  wire [IDX_W-1:0]  tags,
    input  wire [SQ_LOG2-1:0] tags_newest,   // newest tag, and the index after it and what follows it
    input  wire [SQ_LOG2:0]  tags_next,

    output wire              fail_valid,
    output wire [QP_W-1:0]   fail_qp,
    input  wire              fresh,          // a connection begins
    input  wire [QP_W-1:0]   fresh_qp,

    output wire              seen_valid,
    output wire [QP_W-1:0]   seen_qp,
    output wire              rep_we,
    output wire [QP_W-1:0]   rep_qp,
    output wire [IDX_W-1:0]  rep_total,
    output wire [IDX_W-1:0]  rep_tags,       // remote requests of the QP indicated so far
    output wire [SQ_LOG2:0]  rep_ripe,       // below it all may retire; bits that tell full from empty
    output wire              bad_we,         // the failure of a connection: tag and status
    output wire [IDX_W-1:0]  bad_tag,
    output wire [7:0]        bad_status,
    output reg  [NUM_QP-1:0] bad,            // QPs with a failure

    output wire              err_valid,
    output wire [7:0]        err_cause,
    output wire [15:0]       err_qp,
    output wire [15:0]       err_tag
);

    wire [`CDE_MEM_W-1:0] mem1, mem2;

    localparam [IDX_W-1:0] ONE = {{(IDX_W-1){1'b0}}, 1'b1};

    reg              j_valid;
    reg  [63:0]      j;
    wire             take = s_axis_done_tvalid && s_axis_done_tready;
    wire [15:0]      name = j[`CDE_DONE_QP_LSB +: 16];
    wire [QP_W-1:0]  j_qp = name[QP_W-1:0];
    wire [QP_W-1:0]  look = s_axis_done_tdata[`CDE_DONE_QP_LSB +: QP_W];
    wire [IDX_W-1:0] reported;
    wire [IDX_W-1:0] indicated;

    cde_ram #(.W(IDX_W), .AW(QP_W), .ECC(ECC)) reported_ram (
        .clk(clk), .mem_i(mem_i), .mem_o(mem1), .we(rep_we), .waddr(j_qp), .wdata(rep_total),
        .raddr(look), .rdata(reported)
    );

    cde_ram #(.W(IDX_W), .AW(QP_W), .ECC(ECC)) indicated_ram (
        .clk(clk), .mem_i(mem1), .mem_o(mem2), .we(tags_we), .waddr(tags_qp), .wdata(tags),
        .raddr(look), .rdata(indicated)
    );

    cde_ram #(.W(SQ_LOG2 + 1), .AW(QP_W + SQ_LOG2), .ECC(ECC)) ripe_ram (
        .clk(clk), .mem_i(mem2), .mem_o(mem_o), .we(tags_we), .waddr({tags_qp, tags_newest}), .wdata(tags_next),
        .raddr({look, s_axis_done_tdata[`CDE_DONE_TAG_LSB +: SQ_LOG2]}), .rdata(rep_ripe)
    );

    wire [15:0] tag = j[`CDE_DONE_TAG_LSB +: 16];
    wire [7:0]  status = j[`CDE_DONE_STATUS_LSB +: 8];
    wire        malformed = (name >> QP_W) != 16'd0 || (j & `CDE_DONE_RESERVED) != 64'd0;
    wire        expected = reported != indicated && tag == {{(16-IDX_W){1'b0}}, reported};
    wire        good = j_valid && !malformed && expected;
    wire        fails = good && status != 8'h00 && !bad[j_qp];     // later ones find the QP in its error state

    assign fail_valid = fails;
    assign fail_qp = j_qp;
    assign s_axis_done_tready = !init;
    assign rep_we = good;
    assign rep_qp = j_qp;
    assign rep_total = reported + ONE;
    assign rep_tags = indicated;
    assign bad_we = fails;
    assign bad_tag = reported;
    assign bad_status = status;
    assign err_valid = j_valid && !good;
    assign err_cause = malformed ? `CDE_CAUSE_DONE_BAD : `CDE_CAUSE_DONE_UNEXPECTED;
    assign err_qp = name;
    assign err_tag = tag;

    // Retirement may look at the QP of a report while the report is judged.
    assign seen_valid = take;
    assign seen_qp = look;

    always @(posedge clk) begin
        j_valid <= take;
        j <= s_axis_done_tdata;
        if (bad_we) bad[j_qp] <= 1'b1;
        if (fresh) bad[fresh_qp] <= 1'b0;
        if (rst) begin
            j_valid <= 1'b0;
            bad <= {NUM_QP{1'b0}};
        end
    end

endmodule

`default_nettype wire
