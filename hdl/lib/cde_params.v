// SPDX-License-Identifier: Apache-2.0
// cde_params: checks the parameters of the top levels at elaboration.
//
// Purpose: a wrong parameter stops elaboration in an unknown module whose name is the message; the four tools that
//          read this code have no other common way ($error in a live branch stops Yosys).
// Ports:   none.
// Latency: none.
`default_nettype none

module cde_params #(
    parameter NUM_CQ = 64,
    parameter NUM_EQ = 16,
    parameter NUM_PAGES = 64,
    parameter IDX_W = 16,
    parameter MAX_WRITES = 256,
    parameter M_ID_W = 7,
    parameter S_ADDR_W = 32,
    parameter MOD_TICK = 256,
    parameter NUM_QP = 2,
    parameter SQ_LOG2 = 1,
    parameter BURST = 1,
    parameter NUM_SRQ = 2,
    parameter RQ_LOG2 = 1,
    parameter SRQ_LOG2 = 1,
    parameter RX_LOG2 = 1,
    parameter NUM_MR = 2,
    parameter NUM_MW = 2,
    parameter ECC = 1,
    parameter INJECT = 1,
    parameter TRACE = 1
) ();

    localparam CQ_W = $clog2(NUM_CQ);
    localparam EQ_W = $clog2(NUM_EQ);
    localparam PAGE_W = $clog2(NUM_PAGES);
    localparam MAX_LOG2 = $clog2(MAX_WRITES);
    localparam QP_W = $clog2(NUM_QP);
    localparam SRQ_W = $clog2(NUM_SRQ);
    localparam MR_W = $clog2(NUM_MR);
    localparam MW_W = $clog2(NUM_MW);

    generate
        if (NUM_CQ < 2 || NUM_CQ > 4096 || (1 << CQ_W) != NUM_CQ) begin : g_cq
            ERROR_NUM_CQ_must_be_a_power_of_two_from_2_to_4096 stop ();
        end
        if (NUM_EQ < 2 || NUM_EQ > 256 || NUM_EQ > NUM_CQ || (1 << EQ_W) != NUM_EQ) begin : g_eq
            ERROR_NUM_EQ_must_be_a_power_of_two_from_2_to_256_and_at_most_NUM_CQ stop ();
        end
        if (NUM_PAGES < 2 || NUM_PAGES > 4096 || (1 << PAGE_W) != NUM_PAGES) begin : g_pages
            ERROR_NUM_PAGES_must_be_a_power_of_two_from_2_to_4096 stop ();
        end
        if (IDX_W < 4 || IDX_W > 16) begin : g_idx
            ERROR_IDX_W_must_be_4_to_16 stop ();
        end
        if (MAX_WRITES < 2 || MAX_WRITES > 1024 || (1 << MAX_LOG2) != MAX_WRITES) begin : g_writes
            ERROR_MAX_WRITES_must_be_a_power_of_two_from_2_to_1024 stop ();
        end
        // The host may consume entries before their acknowledgement: two for each outstanding write. That lead must
        // stay below half the index range, or comparisons by sign would be reversed.
        if (4 * MAX_WRITES >= (1 << IDX_W)) begin : g_lead
            ERROR_MAX_WRITES_must_be_below_2_to_the_IDX_W_minus_2 stop ();
        end
        // While an entry of an EQ waits to be written again, so many others of that EQ can go by: writes that were
        // under way, and two for each callback in front of it. With the slots of its ring that must stay below the
        // index range, or it would be taken for a new one.
        if (2 * NUM_CQ + MAX_WRITES >= (1 << (IDX_W - 1))) begin : g_passed
            ERROR_two_times_NUM_CQ_plus_MAX_WRITES_must_be_below_2_to_the_IDX_W_minus_1 stop ();
        end
        if (M_ID_W < CQ_W + 1) begin : g_id
            ERROR_M_ID_W_must_be_at_least_log2_NUM_CQ_plus_1 stop ();
        end
        if (S_ADDR_W < 28 || S_ADDR_W > 64) begin : g_addr
            ERROR_S_ADDR_W_must_be_28_to_64 stop ();
        end
        if (MOD_TICK < 2 || MOD_TICK > 65535) begin : g_tick
            ERROR_MOD_TICK_must_be_2_to_65535 stop ();
        end
        if (NUM_QP < 2 || NUM_QP > 4096 || (1 << QP_W) != NUM_QP) begin : g_qp
            ERROR_NUM_QP_must_be_a_power_of_two_from_2_to_4096 stop ();
        end
        if (SQ_LOG2 < 1 || SQ_LOG2 > IDX_W - 1) begin : g_sq
            ERROR_SQ_LOG2_must_be_1_to_IDX_W_minus_1 stop ();
        end
        if (NUM_SRQ < 2 || NUM_SRQ > NUM_QP || (1 << SRQ_W) != NUM_SRQ) begin : g_srq
            ERROR_NUM_SRQ_must_be_a_power_of_two_from_2_to_NUM_QP stop ();
        end
        if (RQ_LOG2 < 1 || RQ_LOG2 > IDX_W - 1 || SRQ_LOG2 < 1 || SRQ_LOG2 > IDX_W - 1 || RX_LOG2 < 1 ||
            RX_LOG2 > IDX_W - 1) begin : g_rq
            ERROR_RQ_LOG2_SRQ_LOG2_and_RX_LOG2_must_be_1_to_IDX_W_minus_1 stop ();
        end
        if (NUM_MR < 2 || NUM_MR > 2048 || (1 << MR_W) != NUM_MR) begin : g_mr
            ERROR_NUM_MR_must_be_a_power_of_two_from_2_to_2048 stop ();
        end
        if (NUM_MW < 2 || NUM_MW > 2048 || (1 << MW_W) != NUM_MW) begin : g_mw
            ERROR_NUM_MW_must_be_a_power_of_two_from_2_to_2048 stop ();
        end
        if (ECC != 0 && ECC != 1) begin : g_ecc
            ERROR_ECC_must_be_0_or_1 stop ();
        end
        if (INJECT != 0 && INJECT != 1) begin : g_inject
            ERROR_INJECT_must_be_0_or_1 stop ();
        end
        if (TRACE != 0 && TRACE != 1) begin : g_trace
            ERROR_TRACE_must_be_0_or_1 stop ();
        end
        if (BURST < 1 || BURST > 255) begin : g_burst
            ERROR_BURST_must_be_1_to_255 stop ();
        end
    endgenerate

endmodule

`default_nettype wire
