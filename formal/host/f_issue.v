// SPDX-License-Identifier: Apache-2.0
// f_issue: proof of the write port to host memory, m_axi, where it is made (cde_issue with cde_track).
//
// Purpose: AXI4 rules of a write master for any beats and any behaviour of memory, wrong responses included; at most
//          MAX_WRITES outstanding; the written index moves when address and data were both accepted, once for each
//          completion beat, in order; a completion waits for one beat of events at most, an event for PASSES completion
//          beats that write, and for one cycle with room in which nothing is taken (ISO-04); a failure of an event's
//          write is announced in the cycle before.
// Ports:   free inputs.
// Latency: none.
`default_nettype none

module f_issue #(
    parameter CQ_W = 1,
    parameter IDX_W = 4,
    parameter M_ID_W = 2,
    parameter EQ_W = 1,
    parameter MAX_LOG2 = 1
) (
    input wire              clk,
    input wire              cq_valid,
    input wire              cq_barrier,
    input wire [CQ_W-1:0]   cq_number,
    input wire [63:6]       cq_addr,
    input wire [511:0]      cq_data,
    input wire [1:0]        cq_half,
    input wire [1:0]        cq_count,
    input wire [1:0]        cq_solicited,
    input wire [1:0]        cq_quiet,
    input wire [IDX_W-1:0]  cq_written,
    input wire              eq_valid,
    input wire [EQ_W-1:0]   eq_number,
    input wire [63:6]       eq_addr,
    input wire [511:0]      eq_data,
    input wire [3:0]        eq_lanes,
    input wire              eq_void,
    input wire [7:0]        eq_record,
    input wire              awready,
    input wire              wready,
    input wire [M_ID_W-1:0] bid,
    input wire [1:0]        bresp,
    input wire              bvalid,
    input wire              bready
);

    localparam MAX_WRITES = 1 << MAX_LOG2, PASSES = 5;
    localparam INIT_W = M_ID_W > MAX_LOG2 ? M_ID_W : MAX_LOG2;

    reg [INIT_W+1:0] age = 0;
    wire             rst = age == 0;
    wire             init = age != 0 && !age[INIT_W+1];
    always @(posedge clk) if (!age[INIT_W+1]) age <= age == (1 << INIT_W) + 1 ? 1 << (INIT_W + 1) : age + 1'b1;
    wire [INIT_W-1:0] init_addr = age - 1'b1;
    wire              up = age[INIT_W+1];

    wire              cq_ready, eq_ready, barrier_done, awvalid, wvalid, wr_we, unused_any, ans_valid, ans_error, stray,
        refused, count_cqe, count_eqe;
    wire [M_ID_W-1:0] awid;
    wire [63:0]       awaddr, wstrb;
    wire [511:0]      wdata;
    wire [CQ_W-1:0]   wr_cq;
    wire [IDX_W-1:0]  wr_index;
    wire [5:0]        unused_counts;
    wire [7:0]        ans_record;
    wire [M_ID_W-1:0] ans_id;

    cde_issue #(
        .CQ_W(CQ_W), .IDX_W(IDX_W), .M_ID_W(M_ID_W), .EQ_W(EQ_W), .MAX_WRITES(MAX_WRITES), .MAX_LOG2(MAX_LOG2),
        .INIT_W(INIT_W),
        .REC_W(8)
    ) dut (
        .clk(clk), .rst(rst), .init(init), .init_addr(init_addr), .cq_valid(cq_valid && up), .cq_ready(cq_ready),
        .cq_barrier(cq_barrier),
        .cq_number(cq_number), .cq_addr(cq_addr), .cq_data(cq_data), .cq_half(cq_half), .cq_count(cq_count),
        .cq_solicited(cq_solicited), .cq_quiet(cq_quiet), .cq_written(cq_written), .barrier_done(barrier_done),
        .eq_valid(eq_valid && up), .eq_ready(eq_ready), .eq_number(eq_number), .eq_addr(eq_addr), .eq_data(eq_data),
        .eq_lanes(eq_lanes), .eq_void(eq_void),
        .eq_record(eq_record), .m_axi_awid(awid), .m_axi_awaddr(awaddr), .m_axi_awvalid(awvalid),
        .m_axi_awready(awready),
        .m_axi_wdata(wdata), .m_axi_wstrb(wstrb), .m_axi_wvalid(wvalid), .m_axi_wready(wready), .m_axi_bid(bid),
        .m_axi_bresp(bresp), .m_axi_bvalid(bvalid), .m_axi_bready(bready && up), .wr_we(wr_we), .wr_cq(wr_cq),
        .wr_index(wr_index), .ans_any(unused_any),
        .ans_valid(ans_valid), .ans_id(ans_id), .ans_counts(unused_counts), .ans_record(ans_record),
        .ans_error(ans_error), .stray(stray), .refused(refused),
        .count_cqe(count_cqe), .count_eqe(count_eqe)
    );

    wire [3:0] outstanding;

    // What cde_core ties: one beat of 64 bytes
    axi_write_props #(
        .ID_W(M_ID_W), .ADDR_W(64), .DATA_W(512), .MASTER(1'b1), .MAX(MAX_WRITES), .CNT_W(4)
    ) m_axi_i (
        .clk(clk), .rst(!up), .awid(awid), .awaddr(awaddr), .awlen(8'd0), .awsize(3'd6), .awvalid(awvalid),
        .awready(awready),
        .wdata(wdata), .wstrb(wstrb), .wlast(1'b1), .wvalid(wvalid), .wready(wready), .bid(bid), .bresp(bresp),
        .bvalid(bvalid),
        .bready(bready && up), .outstanding(outstanding)
    );

    // A beat that writes something writes whole entries.
    always @* begin
        if (cq_valid && !cq_barrier) assume (cq_half != 2'b00);
        if (eq_valid) assume (eq_lanes != 4'b0000);
    end

    wire took_cq = cq_valid && up && cq_ready, took_eq = eq_valid && up && eq_ready;
    (* hierconn *) wire \dut.free , \dut.slot_ready ;
    wire              idle = eq_valid && up && \dut.free && \dut.slot_ready && !took_cq && !took_eq;
    reg  [1:0]        passed_cq;                  // beats of the other side since this one waits
    reg  [3:0]        passed_eq;
    reg  [1:0]        idles;                      // cycles in which an event could go, and nothing went
    reg               announced;
    reg  [2:0]        left;                       // 4: a completion beat is out; 2, 1: its address, its data are
    reg  [IDX_W-1:0]  index;
    reg  [CQ_W-1:0]   number;
    reg  [63:0]       strobes;
    initial {passed_cq, passed_eq, idles, left} = 0;

    always @(posedge clk) begin
        passed_cq <= !(cq_valid && up) || took_cq ? 0 : passed_cq + (took_eq ? 1 : 0);
        // What writes nothing passes an event that has no room, and takes none from it.
        passed_eq <= !(eq_valid && up) || took_eq ? 0 : passed_eq + (took_cq && !cq_barrier ? 1 : 0);
        idles <= !(eq_valid && up) || took_eq ? 0 : idles + (idle ? 1 : 0);
        announced <= refused;
        if (took_cq) begin
            left <= {1'b1, !cq_barrier, !cq_barrier};
            index <= cq_written;
            number <= cq_number;
        end else begin
            left <= wr_we ? 3'd0 : left & {1'b1, !(awvalid && awready), !(wvalid && wready)};
        end
        if (took_cq) strobes <= {{32{cq_half[1]}}, {32{cq_half[0]}}};
        if (took_eq) strobes <= eq_void ? 64'd0 :
            {{16{eq_lanes[3]}}, {16{eq_lanes[2]}}, {16{eq_lanes[1]}}, {16{eq_lanes[0]}}};
        if (up) begin
            whole_entries: assert (!wvalid || wstrb == strobes);
            fair: assert (passed_cq <= 1 && passed_eq <= PASSES);
            never_idle: assert (idles <= 1);
            failure_announced: assert (!(ans_valid && ans_error && ans_id[M_ID_W-1]) || announced);
            // CQ-22: the host can see the entry from the moment in which address and data are both with memory.
            written_when_accepted: assert (wr_we == (left[2] && (!left[1] || (awvalid && awready)) &&
                (!left[0] || (wvalid && wready))));
            written_index: assert (!wr_we || (wr_index == index && wr_cq == number));
            line_aligned: assert (!awvalid || awaddr[5:0] == 6'd0);
        end
    end

endmodule

`default_nettype wire
