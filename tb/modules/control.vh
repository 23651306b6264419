// SPDX-License-Identifier: Apache-2.0
// What the benches of cde_control share, included inside each of them behind exact.vh and clearing.vh: the module, and what software does at s_axil.
//
// Needs: CQ_W, EQ_W, PAGE_W, IDX_W; task `cycle`, which goes over one edge of the clock; task `wrong`. Gives: `read` leaves the `word`; `refused` accesses so far.
    reg                awvalid = 0, wvalid = 0, bready = 0, arvalid = 0, rready = 0, ct_ready = 0, ct_res_valid = 0, cfg_hold = 0, op_ready = 0,
                       op_res_valid = 0, barrier_done = 0, clear_ready = 0, eqc_left = 0, qc_done = 0, cqi_used = 0, removed = 0, cause_valid = 0;
    reg  [11:0]        addr = 0, awaddr = 0, araddr = 0;
    reg  [3:0]         strobes = 0;
    reg  [31:0]        data = 0;
    reg  [95:0]        ct_res_state = 0;
    reg  [7:0]         op_res_result = 0, qc_result = 0, cause = 0;
    reg  [IDX_W-1:0]   op_res_index = 0, op_res_held = 0, eqc_index = 0;
    reg  [255:0]       qc_outs = 0;
    reg  [9:0]         err_valid = 0;
    reg  [79:0]        err_cause = 0, err_kind = 0;
    reg  [159:0]       err_object = 0, err_index = 0;
    reg  [29:0]        step = 0;
    reg  [11:0]        late_step = 0;
    reg  [15:0]        recv_step = 0;
    reg  [31:0]        word;
    reg  [1:0]         room;
    integer            accesses, refused = 0;
    wire [`CDE_MEM_W-1:0] mem_o;
    wire               awready, wready, bvalid, arready, rvalid, ct_valid, cfg_we, op_valid, op_unreserved, limit_we, clear_valid, eqc_valid, eqc_create,
                       eqc_vector_we, eqc_ring_we, qc_start, cqi_we, cqi_alive;
    wire [1:0]         bresp, rresp;
    wire [31:0]        rdata;
    wire [7:0]         ct_op, op_code, qc_command;
    wire [CQ_W-1:0]    ct_cq, cfg_cq, op_cq, limit_cq, clear_cq, cqi_cq;
    wire [IDX_W-1:0]   ct_index;
    wire [19+IDX_W+EQ_W+PAGE_W:0] cfg_data;
    wire [63:6]        op_base, eqc_base;
    wire [4:0]         op_log2, eqc_log2;
    wire [IDX_W+1:0]   limit_data;
    wire [EQ_W-1:0]    eqc_eq;
    wire [15:0]        eqc_vector;
    wire [255:0]       qc_args;
    wire [PAGE_W-1:0]  cqi_page;

    `DUT dut (
        .clk(clk), .mem_i(mem_i), .mem_o(mem_o), .rst(rst), .init(init), .s_axil_awaddr(awaddr), .s_axil_awvalid(awvalid), .s_axil_awready(awready),
        .s_axil_wdata(data), .s_axil_wstrb(strobes), .s_axil_wvalid(wvalid), .s_axil_wready(wready), .s_axil_bresp(bresp), .s_axil_bvalid(bvalid),
        .s_axil_bready(bready), .s_axil_araddr(araddr), .s_axil_arvalid(arvalid), .s_axil_arready(arready), .s_axil_rdata(rdata), .s_axil_rresp(rresp),
        .s_axil_rvalid(rvalid), .s_axil_rready(rready), .ct_valid(ct_valid), .ct_ready(ct_ready), .ct_op(ct_op), .ct_cq(ct_cq), .ct_index(ct_index),
        .ct_res_valid(ct_res_valid), .ct_res_state(ct_res_state), .cfg_we(cfg_we), .cfg_hold(cfg_hold), .cfg_cq(cfg_cq), .cfg_data(cfg_data),
        .op_valid(op_valid), .op_ready(op_ready), .op_code(op_code), .op_cq(op_cq), .op_base(op_base), .op_log2(op_log2), .op_unreserved(op_unreserved),
        .op_res_valid(op_res_valid), .op_res_result(op_res_result), .op_res_index(op_res_index), .op_res_held(op_res_held),
        .barrier_done(barrier_done), .limit_we(limit_we), .limit_cq(limit_cq), .limit_data(limit_data), .clear_valid(clear_valid),
        .clear_ready(clear_ready), .clear_cq(clear_cq), .eqc_valid(eqc_valid), .eqc_create(eqc_create), .eqc_vector_we(eqc_vector_we),
        .eqc_ring_we(eqc_ring_we), .eqc_eq(eqc_eq), .eqc_base(eqc_base), .eqc_log2(eqc_log2), .eqc_vector(eqc_vector), .eqc_index(eqc_index),
        .eqc_left(eqc_left), .qc_start(qc_start), .qc_command(qc_command), .qc_args(qc_args), .qc_done(qc_done), .qc_result(qc_result),
        .qc_outs(qc_outs), .cqi_we(cqi_we), .cqi_alive(cqi_alive), .cqi_cq(cqi_cq), .cqi_page(cqi_page), .cqi_used(cqi_used), .removed(removed),
        .err_valid(err_valid), .err_cause(err_cause), .err_kind(err_kind), .err_object(err_object), .err_index(err_index), .step(step),
        .late_step(late_step), .recv_step(recv_step), .cause_valid(cause_valid), .cause(cause) `SELECT
    );

    // An access to its end; `fine` if it is one that must be accepted. Inputs of a channel without valid are of any value.
    task write;
        input [11:0] at;
        input [31:0] value;
        input        fine;
        begin
            {addr, awaddr, data, strobes, awvalid, wvalid} = {at, at, value, 4'hf, 2'b11};
            for (accesses = 0; awvalid || wvalid; accesses = accesses + 1) begin
                room = {awready, wready};
                cycle;
                {awvalid, wvalid} = {awvalid, wvalid} & ~room;
                if (!awvalid) awaddr = $random(seed);
                if (!wvalid) {strobes, data} = {$random(seed), $random(seed)};
                if (accesses == 20) wrong("no room for a write");
            end
            for (accesses = below(4); bvalid !== 1'b1 || accesses > 0; accesses = accesses - 1) begin
                if (bvalid === 1'b1 && bresp !== {!fine, 1'b0}) wrong("answer to a write");
                cycle;
                if (accesses == -20) wrong("no answer to a write");
            end
            if (bresp !== {!fine, 1'b0}) wrong("answer to a write");
            if (!fine) refused = refused + 1;
            bready = 1'b1;
            cycle;
            bready = 1'b0;
            if (bvalid !== 1'b0) wrong("answer twice");
        end
    endtask

    task read;
        input [11:0] at;
        input        fine;
        begin
            {addr, araddr, arvalid} = {at, at, 1'b1};
            if (arready !== 1'b1) wrong("no room for a read");
            cycle;
            arvalid = 1'b0;
            araddr = $random(seed);
            for (accesses = below(4); rvalid !== 1'b1 || accesses > 0; accesses = accesses - 1) begin
                cycle;
                if (accesses == -20) wrong("no answer to a read");
            end
            if (rresp !== {!fine, 1'b0}) wrong("answer to a read");
            if (!fine) refused = refused + 1;
            word = rdata;
            rready = 1'b1;
            cycle;
            rready = 1'b0;
            if (rvalid !== 1'b0) wrong("answer twice");
        end
    endtask
