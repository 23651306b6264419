// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_pages through its ports, cycle by cycle.
//
// Purpose: statuses of writes one behind another on few and on all pages, of pages that do not exist; reads that are right, of each other size, length,
//          offset or page, in trains, while the host lets wait; reads beside the status they ask for. Against a table of what was told one cycle before
//          (ISO-02). Compares each beat, when it is there, and each error report. The design may be the module or one of the netlist of mutants.
// Ports:   none. PAGE_W, ID_W, ADDR_W as parameters of the bench; defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps
`include "cde_defs.vh"
`include "cde_mem.vh"

module pages_exact;
    parameter PAGE_W = 2;
    parameter ID_W = 8;
    parameter ADDR_W = 32;
    `include "exact.vh"
    `include "clearing.vh"
    localparam PAGES = 1 << PAGE_W;

    reg                st_valid = 0, st_page_known = 0, arvalid = 0, rready = 0;
    reg  [PAGE_W-1:0]  st_page = 0;
    reg  [7:0]         st_cause = 0, arlen = 0;
    reg  [ID_W-1:0]    arid = 0;
    reg  [ADDR_W-1:0]  araddr = 0;
    reg  [2:0]         arsize = 0;
    wire               arready, rlast, rvalid, err_valid;
    wire [ID_W-1:0]    rid;
    wire [511:0]       rdata;
    wire [1:0]         rresp;
    wire [7:0]         err_cause;
    wire [15:0]        err_page;

    `DUT dut (
        .clk(clk), .mem_i(mem_i), .mem_o(), .rst(rst), .init(init), .st_valid(st_valid), .st_page_known(st_page_known), .st_page(st_page),
        .st_cause(st_cause), .s_axi_arid(arid), .s_axi_araddr(araddr), .s_axi_arlen(arlen), .s_axi_arsize(arsize), .s_axi_arvalid(arvalid),
        .s_axi_arready(arready), .s_axi_rid(rid), .s_axi_rdata(rdata), .s_axi_rresp(rresp), .s_axi_rlast(rlast), .s_axi_rvalid(rvalid),
        .s_axi_rready(rready), .err_valid(err_valid), .err_cause(err_cause), .err_page(err_page) `SELECT
    );

    // ---------------------------------------------------------------- the model
    localparam AR = ID_W + ADDR_W + 11;
    reg  [39:0]        status [0:PAGES-1];   // {refused writes, latest cause}
    // What was told in the cycle before; reads that wait; the one that is served.
    reg                told, begins, looks, answers, refused;
    reg  [PAGE_W-1:0]  told_page;
    reg  [7:0]         told_cause, left, cause, length;
    reg  [AR-1:0]      reads [0:1];
    reg  [ID_W-1:0]    id, id_now;
    reg  [ADDR_W-1:0]  address;
    reg  [2:0]         size;
    reg  [39:0]        word;
    integer            waiting, k, busy, mask, quiet;

    task wrong;
        input [8*12-1:0] what;
        begin
            $display("wrong: %0s at %0t: read %b %h size %0d length %0d; beat %b %h %b last %b; want %b %h, %0d left; error %b %h", what, $time, begins, address,
                     size, length, rvalid, rdata[63:0], rresp, rlast, answers, word, left, err_valid, err_cause);
            $finish;
        end
    endtask

    task compare;
        begin
            #1;
            begins = waiting > 0 && !looks && !answers;
            {id, address, length, size} = reads[0];
            cause = 8'h00;
            if (address[11:0] != `CDE_PAGE_PAGE_STATUS) cause = `CDE_CAUSE_BAD_OFFSET;
            if (address >> 12 >= PAGES) cause = `CDE_CAUSE_BAD_PAGE;
            if (size < 3 || address % 8 != 0) cause = `CDE_CAUSE_BAD_SIZE;
            if (length != 0) cause = `CDE_CAUSE_BURST;
            if (arready !== (waiting < 2 && !init)) wrong("hand");
            if (err_valid !== (begins && cause != 0)) wrong("error");
            if (err_valid && {err_cause, err_page} !== {cause, address[27:12]}) wrong("error");
            if (rvalid !== answers) wrong("beat");
            if (answers && {rid, rresp, rlast} !== {id_now, refused ? 2'b10 : 2'b00, left == 0}) wrong("answer");
            if (answers && rdata !== (refused ? 512'd0 : {448'd0, word[39:8], 24'd0, word[7:0]})) wrong("status");
        end
    endtask

    task advance;
        begin
            if (told) status[told_page] = {status[told_page][39:8] + (told_cause != 0), told_cause};
            {told, told_page, told_cause} = {st_valid && st_page_known, st_page, st_cause};
            if (answers && rready) begin
                if (left == 0) answers = 1'b0;
                left = left - 1;
            end
            if (looks) answers = 1'b1;
            looks = begins;
            if (begins) begin
                {id_now, left, refused, word} = {id, length, cause != 0, status[address[12 +: PAGE_W]]};
                reads[0] = reads[1];
                waiting = waiting - 1;
            end
            if (arvalid && arready) begin
                reads[waiting] = {arid, araddr, arlen, arsize};
                waiting = waiting + 1;
            end
        end
    endtask

    task inputs;
        begin
            {st_valid, st_page_known} = {below(8) < busy, below(8) != 0};
            st_page = $random(seed) & mask;
            st_cause = below(3) == 0 ? 8'h00 : $random(seed);
            arvalid = below(8) < busy;
            {arid, arsize} = {$random(seed), 3'd3};
            if (below(4) == 0) arsize = $random(seed);
            arlen = below(8) != 0 ? 0 : below(2) ? 1 << below(8) : below(4);
            araddr = ($random(seed) & mask & (PAGES - 1)) << 12 | `CDE_PAGE_PAGE_STATUS;
            if (below(4) == 0) araddr = araddr ^ (1 << below(ADDR_W));
            rready = below(8) < quiet;
            init = below(64) == 0;
        end
    endtask

    task reset;
        begin
            {st_valid, arvalid, rready} = 3'd0;
            reset_and_clear(PAGES);
            for (k = 0; k < PAGES; k = k + 1) status[k] = 40'd0;
            {told, looks, answers, waiting} = 0;
        end
    endtask

    initial begin
        set_up(20000);
        for (n = 0; n < cycles; n = n + 1) begin
            if (n < 8000 && n % 2000 == 0) reset;
            if (n % 128 == 0) begin
                busy = 1 + below(8);
                quiet = 1 + below(8);
                mask = n[7] ? -1 : below(PAGES);
            end
            inputs;
            compare;
            advance;
            edge_of_clock;
        end
        passed;
    end

endmodule

`default_nettype wire
