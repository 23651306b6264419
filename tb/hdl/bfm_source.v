// SPDX-License-Identifier: Apache-2.0
//
// Drives one valid/ready channel with queued items. An item with earliest cycle c is offered at clock edge c at the
// earliest (0: at once), and `gap` idle cycles after the item before it was taken. Stalls delay the offer; an offered
// item stays. Between items the payload is the inverse of the item before, so that a receiver that looks without valid
// is found out.
// Latency: an item loaded at the falling edge of cycle n is offered at edge n+2.
`default_nettype none
`timescale 1ns / 1ps

module bfm_source #(
    parameter CH = 1,
    parameter W = 64,          // payload bits used
    parameter WORDS = 1,       // words of an item
    parameter LOG_DEPTH = 10,
    parameter LD_WORDS = 128
) (
    input  wire                   clk,
    input  wire                   rst,
    input  wire [31:0]            cycle,
    input  wire                   ld_toggle,
    input  wire [LD_WORDS*64-1:0] ld_data,
    input  wire [63:0]            cfg,
    output reg                    valid,
    input  wire                   ready,
    output reg  [W-1:0]           payload,
    output wire                   withhold, // an item that is due is kept back by a stall
    output wire                   overflow
);
    reg  [LOG_DEPTH-1:0] rptr;
    wire                 present;
    wire [31:0]          at;
    wire [15:0]          gap;
    wire [WORDS*64-1:0]  item;
    wire [LOG_DEPTH-1:0] wptr;
    wire                 stall;
    reg  [31:0]          taken_at; // first edge after the latest handshake
    wire [31:0]          next = cycle + 32'd1;
    wire [31:0]          since = valid ? next : taken_at;

    bfm_queue #(.CH(CH), .WORDS(WORDS), .LOG_DEPTH(LOG_DEPTH), .LD_WORDS(LD_WORDS)) u_queue (
        .clk(clk), .ld_toggle(ld_toggle), .ld_data(ld_data),
        .rptr(rptr), .present(present), .at(at), .gap(gap), .item(item), .wptr(wptr), .overflow(overflow)
    );
    bfm_stall #(.CH(CH)) u_stall (.clk(clk), .rst(rst), .cfg(cfg), .stall(stall));

    wire due = (!valid || ready) && present && at <= next && next >= since + {16'd0, gap};
    assign withhold = due && stall;

    initial begin
        rptr = 0;
        valid = 1'b0;
        payload = 0;
        taken_at = 32'd0;
    end

    always @(posedge clk) begin
        if (rst) begin
            rptr <= wptr;
            valid <= 1'b0;
            taken_at <= 32'd0;
        end else if (!valid || ready) begin
            if (valid)
                taken_at <= next;
            if (due && !stall) begin
                valid <= 1'b1;
                payload <= item[W-1:0];
                rptr <= rptr + 1'b1;
            end else begin
                valid <= 1'b0;
                if (valid)
                    payload <= ~payload;
            end
        end
    end
endmodule

`default_nettype wire
