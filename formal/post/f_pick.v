// SPDX-License-Identifier: Apache-2.0
// f_pick: proof that cde_pick is round robin (ISO-04).
//
// Purpose: members ask and are taken as they like. Whoever is chosen is the first that asks after the one that was
//          taken last, in the order of the numbers and round it. So between two turns of one that goes on asking each
//          other one has at most one.
// Ports:   free inputs.
// Latency: none.
`default_nettype none

module f_pick #(
    parameter N = 16,
    parameter W = 4
) (
    input wire         clk,
    input wire [N-1:0] next,
    input wire         taken
);

    reg  started = 1'b0;
    wire rst = !started;
    always @(posedge clk) started <= 1'b1;

    reg  [N-1:0] asks = 0;                   // asks, and was not taken
    reg  [W-1:0] latest = 0;
    wire [N-1:0] one;
    wire [W-1:0] number;
    wire         any;

    cde_pick #(.N(N), .W(W)) dut (
        .clk(clk), .rst(rst), .next(next), .taken(taken), .latest(latest), .any(any), .one(one), .number(number)
    );

    wire [N-1:0] taken_now = started && taken && any ? {{(N-1){1'b0}}, 1'b1} << number : {N{1'b0}};

    always @(posedge clk) begin
        asks <= rst ? {N{1'b0}} : next & ~taken_now;
        if (started && taken && any) latest <= number;
    end

    // The first one, looked for one by one from the one after the latest on
    reg          found;
    reg  [W-1:0] first, place;
    integer      i;

    always @* begin
        found = 1'b0;
        first = {W{1'b0}};
        place = {W{1'b0}};
        for (i = 1; i <= N; i = i + 1) begin
            place = latest + i[W-1:0];
            if (!found && asks[place]) begin
                found = 1'b1;
                first = place;
            end
        end
    end

    (* hierconn *) wire [N-1:0] \dut.asks , \dut.after ;
    (* hierconn *) wire [N/8-1:0] \dut.group_any , \dut.group_after ;
    wire [N-1:0] later = {N{1'b1}} << latest << 1;
    wire [N/8-1:0] any_of, after_of;         // of each group
    genvar g;

    generate
        for (g = 0; g < N / 8; g = g + 1) begin : g_groups
            assign any_of[g] = asks[8*g +: 8] != 8'd0;
            assign after_of[g] = (asks[8*g +: 8] & later[8*g +: 8]) != 8'd0;
        end
    endgenerate

    always @* if (started) goes_on_asking: assume ((asks & ~next) == {N{1'b0}});

    always @(posedge clk) if (started) begin
        chosen: assert (any == found && (!any || number == first));
        one_hot: assert (!any || one == {{(N-1){1'b0}}, 1'b1} << first);
`ifndef PROPERTIES_ONLY
        i_asks: assert (\dut.asks == asks && \dut.after == (asks & later));
        i_groups: assert (\dut.group_any == any_of && \dut.group_after == after_of);
`endif
        c_wraps: cover (any && number < latest && asks[N-1]);
        c_again: cover (any && number == latest);
    end

endmodule

`default_nettype wire
