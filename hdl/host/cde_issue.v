// SPDX-License-Identifier: Apache-2.0
// cde_issue: AXI4 write master of the engine; one 64-byte beat per write, one write per cycle.
//
// Purpose: chooses between completion and event entries, puts them on m_axi, remembers them (cde_track), and tells the
//          doorbell side when the host can see an entry (CQ-22).
// Ports:   completion beats (cq_*, a "barrier" beat writes nothing and only moves the written index), event beats
//          (eq_*), m_axi write channels, written index, answered writes.
// Latency: beat accepted in cycle t, m_axi valid in t+1; response in cycle t, ans_* in t+1.
`default_nettype none
`include "cde_event_records.vh"

module cde_issue #(
    parameter CQ_W = 6,
    parameter IDX_W = 16,
    parameter M_ID_W = 7,
    parameter EQ_W = 4,
    parameter MAX_WRITES = 256,
    parameter MAX_LOG2 = 8,
    parameter INIT_W = 8,
    parameter REC_W = `CDE_LINE_W           // bits remembered for the write of events
) (
    input  wire                clk,
    input  wire                rst,
    input  wire                init,
    input  wire [INIT_W-1:0]   init_addr,

    // Completion beats
    input  wire                cq_valid,
    output wire                cq_ready,
    input  wire                cq_barrier,
    input  wire [CQ_W-1:0]     cq_number,
    input  wire [63:6]         cq_addr,
    input  wire [511:0]        cq_data,
    input  wire [1:0]          cq_half,       // 32-byte halves that carry an entry
    input  wire [1:0]          cq_count,
    input  wire [1:0]          cq_solicited,
    input  wire [1:0]          cq_quiet,
    input  wire [IDX_W-1:0]    cq_written,    // index after the last entry of the beat
    output reg                 barrier_done,

    // Event beats
    input  wire                eq_valid,
    output wire                eq_ready,
    input  wire [EQ_W-1:0]     eq_number,
    input  wire [63:6]         eq_addr,
    input  wire [511:0]        eq_data,
    input  wire [3:0]          eq_lanes,      // of 16 bytes
    input  wire                eq_void,       // no strobes
    input  wire [REC_W-1:0]    eq_record,

    // m_axi
    output wire [M_ID_W-1:0]   m_axi_awid,
    output wire [63:0]         m_axi_awaddr,
    output wire                m_axi_awvalid,
    input  wire                m_axi_awready,
    output wire [511:0]        m_axi_wdata,
    output wire [63:0]         m_axi_wstrb,
    output wire                m_axi_wvalid,
    input  wire                m_axi_wready,
    input  wire [M_ID_W-1:0]   m_axi_bid,
    input  wire [1:0]          m_axi_bresp,
    input  wire                m_axi_bvalid,
    input  wire                m_axi_bready,  // driven by the top, which inserts overflows

    // Written index
    output wire                wr_we,
    output wire [CQ_W-1:0]     wr_cq,
    output wire [IDX_W-1:0]    wr_index,

    // Answered writes: of completions CDE_WRITE_* in ans_counts, of events CDE_LINE_* in ans_record
    output wire                ans_any,       // an answer, maybe to nothing outstanding
    output wire                ans_valid,
    output wire [M_ID_W-1:0]   ans_id,        // top bit: of event entries
    output wire [`CDE_WRITE_COUNTS-1:0] ans_counts,
    output wire [REC_W-1:0]    ans_record,
    output wire                ans_error,
    output wire                stray,
    output wire                refused,       // an answer comes that may be of failed event entries

    // Counter pulses
    output wire                count_cqe,
    output wire                count_eqe
);

    reg               busy;
    reg               aw_left;
    reg               w_left;
    reg               out_cqe;
    reg               out_barrier;
    reg [M_ID_W-1:0]  out_id;
    reg [63:6]        out_addr;
    reg [511:0]       out_data;
    reg [63:0]        out_strb;
    reg               out_void;
    reg [CQ_W-1:0]    out_cq;
    reg [IDX_W-1:0]   out_written;
    reg               cq_waits, cq_went;     // in the cycle before
    reg  [2:0]        passed;                // completion beats since the last one of events
    reg               eq_due;                // they are as many as may be

    wire done = busy && (!aw_left || m_axi_awready) && (!w_left || m_axi_wready);
    wire slot_ready;
    wire free = !busy || done;

    // While both wait, events have every sixth beat, so that what waits of an EQ shares one; neither side waits longer
    // (ISO-04). Says nothing of cq_valid, which comes late: a completion that comes alone with an event lets it pass.
    // What writes nothing waits for no answer of memory (CQ-01), and is one at a time.
    wire eq_turn = eq_valid && (eq_due || !(cq_waits || cq_went));
    wire take_eq = eq_turn && slot_ready;
    assign eq_ready = free && take_eq;
    assign cq_ready = free && (slot_ready ? !eq_turn : cq_barrier);
    wire load_eq = eq_ready;
    wire load_cq = cq_valid && cq_ready;
    wire load = load_eq || load_cq;
    wire load_write = load_eq || (load_cq && !cq_barrier);

    reg [M_ID_W-1:0] id_cq;
    reg [M_ID_W-1:0] id_eq;

    always @* begin
        id_cq = {M_ID_W{1'b0}};
        id_cq[CQ_W-1:0] = cq_number;
        id_eq = {M_ID_W{1'b0}};
        id_eq[EQ_W-1:0] = eq_number;
        id_eq[M_ID_W-1] = 1'b1;
    end

    wire [`CDE_WRITE_COUNTS-1:0] cq_record;
    assign cq_record[`CDE_WRITE_COUNT +: 2] = cq_count;
    assign cq_record[`CDE_WRITE_SOLICITED +: 2] = cq_solicited;
    assign cq_record[`CDE_WRITE_QUIET +: 2] = cq_quiet;

    // Completions and events have lists of their own, so the memories of both are small and near what uses them.
    reg  [MAX_LOG2:0] slots;                // writes that may be issued
    reg               some, walks;          // slots is not 0, and the walk is over; init in the cycle before
    reg               ans_event;
    wire [M_ID_W-2:0] ans_number, unused_number;
    wire              b_event = m_axi_bid[M_ID_W-1], b_taken = m_axi_bvalid && m_axi_bready;
    wire              cq_any, eq_any, cq_answer, eq_answer, cq_stray, eq_stray, unused_error;

    assign slot_ready = some;
    assign ans_any = cq_any || eq_any;
    assign ans_valid = cq_answer || eq_answer;
    assign ans_id = {ans_event, ans_number};
    assign stray = cq_stray || eq_stray;
    assign refused = b_taken && b_event && m_axi_bresp != 2'b00;

    cde_track #(
        .ID_W(M_ID_W - 1), .LIST_W(CQ_W), .MAX_WRITES(MAX_WRITES), .MAX_LOG2(MAX_LOG2), .W(`CDE_WRITE_COUNTS),
        .INIT_W(INIT_W)
    ) cq_track_i (
        .clk(clk), .rst(rst), .init(init), .init_addr(init_addr), .push_valid(load_cq && !cq_barrier),
        .push_id(cq_number), .push_data(cq_record), .b_valid(b_taken && !b_event), .b_id(m_axi_bid[M_ID_W-2:0]),
        .b_resp(m_axi_bresp), .pop_any(cq_any), .pop_valid(cq_answer), .pop_id(ans_number), .pop_data(ans_counts),
        .pop_error(ans_error), .stray(cq_stray)
    );
    cde_track #(
        .ID_W(M_ID_W - 1), .LIST_W(EQ_W), .MAX_WRITES(MAX_WRITES), .MAX_LOG2(MAX_LOG2), .W(REC_W), .INIT_W(INIT_W)
    ) eq_track_i (
        .clk(clk), .rst(rst), .init(init), .init_addr(init_addr), .push_valid(load_eq),
        .push_id(eq_number), .push_data(eq_record), .b_valid(b_taken && b_event), .b_id(m_axi_bid[M_ID_W-2:0]),
        .b_resp(m_axi_bresp), .pop_any(eq_any), .pop_valid(eq_answer), .pop_id(unused_number), .pop_data(ans_record),
        .pop_error(unused_error), .stray(eq_stray)
    );

    always @(posedge clk) begin
        ans_event <= b_event;
        if (load_write && !ans_valid) slots <= slots - 1'b1;
        if (ans_valid && !load_write) slots <= slots + 1'b1;
        walks <= init;
        if (walks && !init) some <= 1'b1;
        else if (load_write != ans_valid) some <= ans_valid || slots != 1;
        if (rst) begin
            slots <= {1'b1, {MAX_LOG2{1'b0}}};
            {some, walks} <= 2'b00;
        end
    end

    assign m_axi_awid = out_id;
    assign m_axi_awaddr = {out_addr, 6'd0};
    assign m_axi_awvalid = aw_left;
    assign m_axi_wdata = out_data;
    assign m_axi_wstrb = out_strb & {64{!out_void}};      // known late
    assign m_axi_wvalid = w_left;

    assign wr_we = done && out_cqe;
    assign wr_cq = out_cq;
    assign wr_index = out_written;
    assign count_cqe = done && out_cqe && !out_barrier;
    assign count_eqe = done && !out_cqe;

    // Low from power-up, before any clock edge.
    initial aw_left = 1'b0;
    initial w_left = 1'b0;
    always @(posedge clk) begin
        barrier_done <= done && out_barrier;
        cq_waits <= cq_valid && !cq_ready && !rst;
        cq_went <= load_cq && !rst;
        if (load_eq) passed <= 3'd0;
        else if (load_write && !eq_due) passed <= passed + 3'd1;
        eq_due <= !load_eq && (eq_due || (load_write && passed == 3'd4));
        if (m_axi_awready) aw_left <= 1'b0;
        if (m_axi_wready) w_left <= 1'b0;
        if (done) busy <= 1'b0;
        if (load) begin
            busy <= 1'b1;
            aw_left <= load_write;
            w_left <= load_write;
        end
        // What nobody loads is not looked at: wide registers wait for one signal.
        if (free) begin
            out_cqe <= load_cq;
            out_barrier <= load_cq && cq_barrier;
            out_id <= take_eq ? id_eq : id_cq;
            out_addr <= take_eq ? eq_addr : cq_addr;
            out_data <= take_eq ? eq_data : cq_data;
            out_void <= take_eq && eq_void;
            out_strb <= take_eq ? {{16{eq_lanes[3]}}, {16{eq_lanes[2]}}, {16{eq_lanes[1]}}, {16{eq_lanes[0]}}}
                                : {{32{cq_half[1]}}, {32{cq_half[0]}}};
            out_cq <= cq_number;
            out_written <= cq_written;
        end
        if (rst) begin
            busy <= 1'b0;
            aw_left <= 1'b0;
            w_left <= 1'b0;
            passed <= 3'd0;
            eq_due <= 1'b0;
            barrier_done <= 1'b0;
        end
    end

endmodule

`default_nettype wire
