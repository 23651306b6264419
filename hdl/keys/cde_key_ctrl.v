// SPDX-License-Identifier: Apache-2.0
// cde_key_ctrl: whose step comes next in the key table.
//
// Purpose: executes Bind, FastRegister and Invalidate in the place that dispatch gives them (DF-12), invalidates the
//          sinks of Reads for retirement, and carries out the commands of regions and windows; one step at a time,
//          round robin. A request that fails takes its QP to ERROR before it is answered, so that nothing after it is
//          indicated (DF-15).
// Ports:   commands (qc_*), local requests (loc_*), invalidations of Reads (ri_*), steps of the table (op_*, opr_*),
//          failures (fail_*), a request to let a step in between receive requests (hold).
// Latency: 6 cycles from loc_valid or ri_valid to the answer, when no other has a step; more when it fails.
`default_nettype none
`include "cde_defs.vh"
`include "cde_key_records.vh"

module cde_key_ctrl #(
    parameter QP_W = 6,
    parameter NUM_MR = 64,
    parameter NUM_MW = 64,
    parameter MR_W = 6
) (
    input  wire              clk,
    input  wire              rst,

    input  wire              qc_start,
    input  wire [7:0]        qc_command,
    input  wire [255:0]      qc_args,
    output reg               qc_done,
    output reg  [7:0]        qc_result,
    output reg  [255:0]      qc_outs,

    // A local request; valid until done
    input  wire              loc_valid,
    input  wire [QP_W-1:0]   loc_qp,
    input  wire [511:0]      loc_post,
    output wire              loc_done,
    input  wire              ri_valid,
    input  wire [QP_W-1:0]   ri_qp,
    input  wire [31:0]       ri_key,
    output wire              ri_done,
    output reg  [7:0]        done_status,    // of either

    output wire              op_valid,
    input  wire              op_ready,
    output reg  [3:0]        op_code,
    output reg  [QP_W-1:0]   op_qp,
    output reg  [31:0]       op_key,
    output wire [31:0]       op_region,      // of the local request that waits, too
    output reg  [63:0]       op_base,
    output reg  [47:0]       op_length,
    output wire [15:0]       op_zone,
    output reg  [2:0]        op_rights,
    input  wire              opr_valid,
    input  wire [7:0]        opr_status,
    input  wire [`CDE_KEY_WORD_W-1:0] opr_word,
    input  wire [11:0]       opr_count,
    output wire              hold,

    output wire              fail_valid,
    input  wire              fail_ready,
    output wire [QP_W-1:0]   fail_qp
);

    `include "cde_key_state.vh"

    localparam [2:0] IDLE = 3'd0, ASK = 3'd1, WAIT = 3'd2, CHECK = 3'd3, FAIL = 3'd4, PAUSE = 3'd5, DONE = 3'd6;
    localparam [1:0] LOCAL = 2'd0, READ = 2'd1, COMMAND = 2'd2;
    // Arguments and outputs of commands: key or number, range, and a word of zone and rights; outputs only: state,
    // region.
    localparam AT_KEY = 0, AT_BASE = 32, AT_LENGTH = 96, AT_HIGH = 128, AT_WORD = 160,
               AT_ZONE = AT_WORD + `CDE_MR_ZONE_LSB, AT_RIGHTS = AT_WORD + `CDE_MR_RIGHTS_LSB,
               AT_STATE = 192, AT_REGION = 224;

    reg [2:0] state;
    reg [1:0] who;
    reg       wanted, acts;          // a command waits; its second step
    reg [2:0] pause;
    reg [2:0] patience;

    // ---------------------------------------------------------------- who is served: the others first
    wire [2:0] asks = {wanted, ri_valid, loc_valid};
    wire [1:0] next = who == LOCAL ? (asks[1] ? READ : asks[2] ? COMMAND : LOCAL)
                    : who == READ ? (asks[2] ? COMMAND : asks[0] ? LOCAL : READ)
                    : (asks[0] ? LOCAL : asks[1] ? READ : COMMAND);

    // ---------------------------------------------------------------- what is asked
    wire [31:0] arg0 = qc_args[AT_KEY +: 32];
    wire [63:0] c_base = qc_args[AT_BASE +: 64];
    wire [47:0] c_length = qc_args[AT_LENGTH +: 48];
    wire [2:0]  c_rights = qc_args[AT_RIGHTS +: 3];
    // A cycle after the begin of the command
    reg         c_register, c_alloc, c_deregister, c_query_mr, c_create, c_close, c_query_mw, c_remove;
    always @(posedge clk) begin
        {c_register, c_alloc} <= {qc_command == `CDE_CMD_REGISTER_MR, qc_command == `CDE_CMD_ALLOC_MR};
        {c_deregister, c_query_mr} <= {qc_command == `CDE_CMD_DEREGISTER_MR, qc_command == `CDE_CMD_QUERY_MR};
        {c_create, c_close} <= {qc_command == `CDE_CMD_CREATE_MW, qc_command == `CDE_CMD_CLOSE_MW};
        {c_query_mw, c_remove} <= {qc_command == `CDE_CMD_QUERY_MW, qc_command == `CDE_CMD_REMOVE_DEVICE};
    end
    wire        of_window = c_create || c_close || c_query_mw;
    wire        makes = c_register || c_alloc || c_create;
    wire        queries = c_query_mr || c_query_mw;
    wire [7:0]  opcode = loc_post[`CDE_POST_OPCODE_LSB +: 8];
    wire        binds = opcode == `CDE_OPC_BIND, registers = opcode == `CDE_OPC_FAST_REGISTER;
    wire        none = loc_post[`CDE_POST_SEGMENTS_LSB +: 8] == 8'd0;
    wire        sinks = registers && loc_post[`CDE_POST_RDMA_READ_SINK_LSB];

    assign op_valid = state == ASK;
    assign op_region = loc_post[`CDE_POST_SLOT0_LSB + `CDE_SEGMENT_KEY_LSB +: 32];
    assign op_zone = qc_args[AT_ZONE +: 16];
    assign hold = op_valid && patience == 3'd0;
    assign loc_done = state == DONE && who == LOCAL;
    assign ri_done = state == DONE && who == READ;
    assign fail_valid = state == FAIL;
    assign fail_qp = op_qp;

    // ---------------------------------------------------------------- checks of commands, in the order of
    // docs/windows.md
    wire        exists = opr_word[`CDE_KEY_WORD_EXISTS];
    reg  [47:0] less;                // of the length, by 1
    wire [64:0] last = {1'b0, c_base} + {17'd0, less};
    wire [31:0] arg4 = qc_args[AT_HIGH +: 32], arg5 = qc_args[AT_WORD +: 32];
    wire        reserved = (c_register && ((arg4 & `CDE_MR_LENGTH_RESERVED) != 32'd0 ||
                                           (arg5 & `CDE_MR_RESERVED) != 32'd0)) ||
                           ((c_alloc || c_create) && (arg5 & `CDE_KEY_ZONE_RESERVED) != 32'd0);
    wire        far = of_window ? arg0 >= NUM_MW : arg0 >= NUM_MR;
    wire        unused = &{1'b0, last, loc_post, opr_word, qc_args[255:AT_STATE]};
    // What the arguments alone say of it, known before the table answers: they stay while a command is carried out.
    reg  [7:0]  first, later, verdict;
    reg         ends_first, ends_later, of_new, beyond, empty, shows;

    always @(posedge clk) begin
        less <= c_length - 48'd1;
        {beyond, empty} <= {last[64], c_length == 48'd0};
        ends_first <= c_remove || reserved || far;
        first <= c_remove ? `CDE_RES_OK : reserved ? `CDE_RES_RESERVED : `CDE_RES_BAD_OBJECT;
        of_new <= makes;
        ends_later <= c_register && ((c_rights[2] && !c_rights[0]) || empty || beyond);
        later <= c_rights[2] && !c_rights[0] ? `CDE_RES_BAD_FLAG : `CDE_RES_BAD_RANGE;
        shows <= queries && !far;
    end

    always @* begin
        if (ends_first) verdict = first;
        else if (!of_new && !exists) verdict = `CDE_RES_NO_OBJECT;
        else if (of_new && exists) verdict = `CDE_RES_EXISTS;
        else if (ends_later) verdict = later;
        else if (of_new && (&opr_word[`CDE_KEY_WORD_GENERATION +: 20])) verdict = `CDE_RES_NO_KEYS;
        else verdict = `CDE_RES_OK;
    end

    wire [11:0] number = {of_window, arg0[10:0]};

    always @(posedge clk) begin
        qc_done <= 1'b0;
        if (qc_start) begin
            wanted <= 1'b1;
            acts <= 1'b0;
            qc_result <= `CDE_RES_OK;
            qc_outs <= 256'd0;
        end
        patience <= state != ASK ? 3'd7 : patience != 3'd0 ? patience - 3'd1 : 3'd0;
        case (state)
            IDLE: if (asks != 3'd0) begin
                who <= next;
                state <= ASK;
                op_qp <= next == READ ? ri_qp : loc_qp;
                op_key <= next == READ ? ri_key : next == COMMAND ? {20'd0, number}
                        : loc_post[`CDE_POST_SLOT2_LSB + `CDE_SEGMENT_KEY_LSB +: 32];
                op_base <= next == COMMAND ? c_base : loc_post[`CDE_POST_SLOT0_LSB + `CDE_SEGMENT_ADDRESS_LSB +: 64];
                op_length <= next == COMMAND ? c_length : none ? 48'd0
                           : {16'd0, loc_post[`CDE_POST_SLOT0_LSB + `CDE_SEGMENT_LENGTH_LSB +: 32]};
                op_rights <= next == COMMAND ? c_rights
                           : {loc_post[`CDE_POST_ALLOW_REMOTE_WRITE_LSB + 1], loc_post[`CDE_POST_ALLOW_REMOTE_READ_LSB],
                              loc_post[`CDE_POST_ALLOW_LOCAL_WRITE_LSB] || sinks};
                op_code <= next == READ ? KEY_READ : next == COMMAND ? KEY_LOOK :
                           binds ? KEY_BIND : registers ? KEY_FAST : KEY_INVALIDATE;
            end
            ASK: if (op_ready) state <= WAIT;
            WAIT: if (opr_valid) begin
                done_status <= opr_status;
                state <= who == COMMAND ? (acts ? DONE : CHECK) : opr_status != 8'h00 ? FAIL : DONE;
                if (who == COMMAND && acts) begin
                    qc_result <= opr_status;
                    if (makes) qc_outs[AT_KEY +: 32] <= {opr_word[`CDE_KEY_WORD_GENERATION +: 20], number};
                end
                if (who == COMMAND && !acts) begin
                    qc_result <= verdict;
                    if (shows && exists) begin
                        qc_outs[AT_KEY +: 32] <= {opr_word[`CDE_KEY_WORD_GENERATION +: 20], number};
                        qc_outs[AT_BASE +: 64] <= opr_word[`CDE_KEY_WORD_BASE +: 64];
                        qc_outs[AT_LENGTH +: 48] <= opr_word[`CDE_KEY_WORD_LENGTH +: 48];
                        qc_outs[AT_ZONE +: 16] <= opr_word[`CDE_KEY_WORD_ZONE +: 16];
                        qc_outs[AT_RIGHTS +: 3] <= opr_word[`CDE_KEY_WORD_RIGHTS +: 3];
                        qc_outs[AT_STATE + `CDE_MR_STATE_QP_LSB +: 16] <= {{(16-QP_W){1'b0}},
                                                                           opr_word[`CDE_KEY_WORD_QP +: QP_W]};
                        qc_outs[AT_STATE + `CDE_MR_STATE_VALID_LSB] <= opr_word[`CDE_KEY_WORD_VALID];
                        qc_outs[AT_STATE + `CDE_MR_STATE_ALLOCATED_LSB] <= opr_word[`CDE_KEY_WORD_ALLOC];
                        if (!of_window) qc_outs[AT_STATE + `CDE_MR_STATE_WINDOWS_LSB +: 12] <= opr_count;
                        else qc_outs[AT_REGION +: MR_W] <= opr_word[`CDE_KEY_WORD_REGION +: MR_W];
                    end
                end
            end
            CHECK: begin
                op_code <= c_register ? KEY_REGISTER : c_alloc ? KEY_ALLOC : c_deregister ? KEY_DEREGISTER :
                           c_create ? KEY_CREATE : c_remove ? KEY_REMOVE : KEY_CLOSE;
                acts <= 1'b1;
                state <= queries || qc_result != `CDE_RES_OK ? DONE : ASK;
            end
            FAIL: if (fail_ready) begin
                pause <= 3'd7;
                state <= PAUSE;
            end
            // The QP has left its state when this is over.
            PAUSE: begin
                pause <= pause - 3'd1;
                if (pause == 3'd0) state <= DONE;
            end
            DONE: begin
                if (who == COMMAND) begin
                    wanted <= 1'b0;
                    qc_done <= 1'b1;
                end
                state <= IDLE;
            end
            default: state <= IDLE;
        endcase
        if (rst) begin
            state <= IDLE;
            who <= LOCAL;
            wanted <= 1'b0;
            acts <= 1'b0;
            qc_done <= 1'b0;
            qc_result <= `CDE_RES_OK;
            qc_outs <= 256'd0;
        end
    end

endmodule

`default_nettype wire
