// SPDX-License-Identifier: Apache-2.0
// cde_regions: memory regions (SRQ-15).
//
// Purpose: registers and deregisters regions, gives each registration a key that was never valid before, and answers lookups of three
//          keys a cycle for the check of a receive post's segments.
// Ports:   commands (qc_*), keys in (key*), what they name (found*: valid, zone, rights, base, length).
// Latency: key in cycle t, answer in t+1. Commands: a few cycles.
`default_nettype none
`include "cde_defs.vh"

module cde_regions #(
    parameter NUM_MR = 64,
    parameter MR_W = 6
) (
    input  wire              clk,
    input  wire              rst,
    input  wire              init,
    input  wire [MR_W-1:0]   init_addr,

    input  wire              qc_start,
    input  wire [7:0]        qc_command,
    input  wire [255:0]      qc_args,
    output reg               qc_done,
    output reg  [7:0]        qc_result,
    output reg  [191:0]      qc_outs,        // OUT0 to OUT5

    input  wire [95:0]       keys,           // three keys
    output wire [389:0]      found           // three times {length 48, base 64, local write, zone 16, valid}
);

    // Region word: {rights 3, zone 16, length 48, base 64, valid, generation 20}
    localparam W = 152;
    localparam G = 20;

    wire [31:0] arg0 = qc_args[31:0];
    wire [63:0] base = qc_args[95:32];
    wire [47:0] length = qc_args[143:96];
    wire [15:0] zone = qc_args[175:160];
    wire [2:0]  rights = qc_args[178:176];
    wire        unused_args = &{1'b0, qc_args[255:192]};
    wire        c_register = qc_command == `CDE_CMD_REGISTER_MR;
    wire        c_deregister = qc_command == `CDE_CMD_DEREGISTER_MR;
    wire        c_query = qc_command == `CDE_CMD_QUERY_MR;
    wire [MR_W-1:0] number = arg0[MR_W-1:0];

    // ---------------------------------------------------------------- table: one copy for commands, three for lookups
    wire [W-1:0]    word;
    reg  [W-1:0]    word_next;
    reg             change;
    wire            we = init || change;
    wire [MR_W-1:0] waddr = init ? init_addr : number;
    wire [W-1:0]    wdata = init ? {W{1'b0}} : word_next;

    cde_ram #(.W(W), .AW(MR_W)) command_ram (
        .clk(clk), .we(we), .waddr(waddr), .wdata(wdata), .raddr(number), .rdata(word)
    );

    genvar k;
    generate
        for (k = 0; k < 3; k = k + 1) begin : g_lookup
            wire [31:0]  key = keys[32*k +: 32];
            wire [W-1:0] entry;
            reg  [19:0]  key_generation;
            reg          far;

            cde_ram #(.W(W), .AW(MR_W)) lookup_ram (
                .clk(clk), .we(we), .waddr(waddr), .wdata(wdata), .raddr(key[MR_W-1:0]), .rdata(entry)
            );

            always @(posedge clk) begin
                key_generation <= key[31:12];
                far <= (key[11:0] >> MR_W) != 12'd0;
            end

            wire valid = entry[G] && !far && entry[G-1:0] == key_generation;
            wire unused_entry = &{1'b0, entry[151:150]};
            assign found[130*k +: 130] = {entry[132:85], entry[84:21], entry[149], entry[148:133], valid};
        end
    endgenerate

    // ---------------------------------------------------------------- commands
    wire        exists = word[G];
    wire [19:0] generation = word[19:0];
    wire [64:0] last = {1'b0, base} + {17'd0, length} - 65'd1;
    wire        unused_last = &{1'b0, last};
    wire        reserved = (c_register && (qc_args[159:144] != 16'd0 || qc_args[191:179] != 13'd0));
    wire        far = arg0 >= NUM_MR;
    reg  [2:0]  wait_count;
    reg         busy;
    reg  [7:0]  verdict;

    always @* begin
        if (reserved) verdict = `CDE_RES_RESERVED;
        else if (far) verdict = `CDE_RES_BAD_OBJECT;
        else if (!c_register && !exists) verdict = `CDE_RES_NO_OBJECT;
        else if (c_register && exists) verdict = `CDE_RES_EXISTS;
        else if (c_register && rights[2] && !rights[0]) verdict = `CDE_RES_BAD_FLAG;
        else if (c_register && (length == 48'd0 || last[64])) verdict = `CDE_RES_BAD_RANGE;
        else if (c_register && (&generation)) verdict = `CDE_RES_NO_KEYS;
        else verdict = `CDE_RES_OK;
        word_next = word;
        if (c_register) word_next = {rights, zone, length, base, 1'b1, generation + 20'd1};
        if (c_deregister) word_next[G] = 1'b0;
    end

    wire [11:0] number_12 = arg0[11:0];
    wire        act = busy && wait_count == 3'd0;

    always @* change = act && verdict == `CDE_RES_OK && !c_query;

    always @(posedge clk) begin
        qc_done <= 1'b0;
        if (qc_start) begin
            busy <= 1'b1;
            wait_count <= 3'd3;
        end
        if (busy) wait_count <= wait_count - 3'd1;
        if (act) begin
            busy <= 1'b0;
            qc_done <= 1'b1;
            qc_result <= verdict;
            qc_outs <= 192'd0;
            if (verdict == `CDE_RES_OK && c_register) qc_outs[31:0] <= {word_next[19:0], number_12};
            if (verdict == `CDE_RES_OK && c_query) begin
                qc_outs <= {13'd0, word[151:149], word[148:133], 16'd0, word[132:85], word[84:21], word[19:0], number_12};
            end
        end
        if (rst) begin
            busy <= 1'b0;
            qc_done <= 1'b0;
            qc_result <= `CDE_RES_OK;
            qc_outs <= 192'd0;
        end
    end

endmodule

`default_nettype wire
