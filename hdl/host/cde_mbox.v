// SPDX-License-Identifier: Apache-2.0
// cde_mbox: executes the commands of the control mailbox (CQ-19 to CQ-21, ISO-02).
//
// Purpose: create, modify, resize, query, destroy for EQs and CQs. Checks everything first, in the documented order,
//          then changes state by steps through the pipelines, so that every change is atomic against traffic. Not on
//          any fast path.
// Ports:   command (start, args), result; steps to arm state (ct_*), producer side (op_*), credits (clear_*, limit_*),
//          event queues (eqc_*).
// Latency: tens of cycles; commands that need the write path empty wait for memory to accept what is before them.
`default_nettype none
`include "cde_arm_settings.vh"
`include "cde_defs.vh"
`include "cde_cq_records.vh"
`include "cde_mem.vh"

module cde_mbox #(
    parameter NUM_CQ = 64,
    parameter CQ_W = 6,
    parameter NUM_EQ = 16,
    parameter EQ_W = 4,
    parameter NUM_PAGES = 64,
    parameter PAGE_W = 6,
    parameter IDX_W = 16,
    parameter ECC = 1
) (
    input  wire              clk,
    input  wire [`CDE_MEM_W-1:0] mem_i,
    output wire [`CDE_MEM_W-1:0] mem_o,
    input  wire              rst,

    input  wire              start,
    input  wire [7:0]        command,
    input  wire [191:0]      args,          // ARG0 to ARG5
    output wire              busy,
    output reg               done,          // pulse
    output reg  [7:0]        result,
    output reg  [191:0]      outs,          // OUT0 to OUT5

    // Arm state
    output reg               ct_valid,
    input  wire              ct_ready,
    output reg  [7:0]        ct_op,
    output wire [CQ_W-1:0]   ct_cq,
    output wire [IDX_W-1:0]  ct_index,
    input  wire              ct_res_valid,
    input  wire [95:0]       ct_res_state,
    output reg               cfg_we,
    input  wire              cfg_hold,     // settings of cfg_cq must stay
    output wire [CQ_W-1:0]   cfg_cq,
    output wire [`CDE_CFG_W-1:0] cfg_data,

    // Producer side
    output reg               op_valid,
    input  wire              op_ready,
    output reg  [7:0]        op_code,
    output wire [CQ_W-1:0]   op_cq,
    output wire [63:6]       op_base,
    output wire [4:0]        op_log2,
    output wire              op_unreserved,
    input  wire              op_res_valid,
    input  wire [7:0]        op_res_result,
    input  wire [IDX_W-1:0]  op_res_index, op_res_held,
    input  wire              barrier_done,

    // Credits
    output reg               limit_we,
    output wire [CQ_W-1:0]   limit_cq,
    output reg  [`CDE_LIMIT_W-1:0]  limit_data,
    output reg               clear_valid,
    input  wire              clear_ready,
    output wire [CQ_W-1:0]   clear_cq,

    // What QPs need to know of CQs
    output wire              cqi_we, cqi_alive,
    output wire [CQ_W-1:0]   cqi_cq,
    output wire [PAGE_W-1:0] cqi_page,
    input  wire              cqi_used,

    // Event queues
    output reg               eqc_valid, eqc_hold, eqc_create, eqc_vector_we, eqc_ring_we,
    output reg  [EQ_W-1:0]   eqc_eq,
    output wire [63:6]       eqc_base,
    output wire [4:0]        eqc_log2,
    output wire [15:0]       eqc_vector,
    input  wire [IDX_W-1:0]  eqc_index,
    input  wire              eqc_left
);
    localparam [4:0] IDLE = 5'd0, LOOK = 5'd1, PEEK = 5'd2, PEEK_WAIT = 5'd3, CHECK = 5'd4, ACT = 5'd5,
                     CLEAR_CREDITS = 5'd6, PRODUCER = 5'd7, PRODUCER_WAIT = 5'd8, BARRIER = 5'd9, SETTINGS = 5'd10,
                     ARM_STEP = 5'd11, ARM_WAIT = 5'd12, LIMIT = 5'd13, SETTLE = 5'd14, FINISH = 5'd15, STARTUP = 5'd16,
                     WEIGH = 5'd17, LEAVE = 5'd18;
    localparam [31:0] MAX_LOG2 = IDX_W - 2;
    localparam [7:0] OP_CLEAR = 8'h00, OP_LOOK = 8'hff;
    reg [4:0] state;
    reg [7:0] cmd;
    assign busy = state != IDLE;

    // ---------------------------------------------------------------- arguments
    wire [31:0] arg0, arg1, arg2, arg3, arg4, arg5;
    assign {arg5, arg4, arg3, arg2, arg1, arg0} = args;
    localparam OUT0 = 0, OUT1 = 32, OUT2 = 64, OUT3 = 96, OUT4 = 128, OUT5 = 160;
    // These, and the options of a CQ, have one place, whatever the command.
    wire [4:0]  new_log2 = arg3[`CDE_RING_LOG2_LSB +: 5];
    wire [15:0] new_page = arg4[`CDE_CQ_OWNER_PAGE_LSB +: 16], new_eq = arg4[`CDE_CQ_OWNER_EQ_LSB +: 16];

    // Decoded a cycle after cmd
    reg is_eq_cmd, c_create_eq, c_create_cq, c_modify_eq, c_modify_cq, c_resize_eq, c_resize_cq, c_query_eq, c_query_cq,
        c_destroy_eq, c_destroy_cq;
    always @(posedge clk) begin
        {is_eq_cmd, c_create_eq, c_create_cq} <= {cmd[7:4] == 4'd0, cmd == `CDE_CMD_CREATE_EQ,
                                                  cmd == `CDE_CMD_CREATE_CQ};
        {c_modify_eq, c_modify_cq, c_resize_eq} <= {cmd == `CDE_CMD_MODIFY_EQ, cmd == `CDE_CMD_MODIFY_CQ,
                                                    cmd == `CDE_CMD_RESIZE_EQ};
        {c_resize_cq, c_query_eq, c_query_cq} <= {cmd == `CDE_CMD_RESIZE_CQ, cmd == `CDE_CMD_QUERY_EQ,
                                                  cmd == `CDE_CMD_QUERY_CQ};
        {c_destroy_eq, c_destroy_cq} <= {cmd == `CDE_CMD_DESTROY_EQ, cmd == `CDE_CMD_DESTROY_CQ};
    end
    wire known = c_create_eq || c_modify_eq || c_resize_eq || c_query_eq || c_destroy_eq || c_create_cq ||
                 c_modify_cq || c_resize_cq || c_query_cq || c_destroy_cq;
    wire has_ring = c_create_eq || c_resize_eq || c_create_cq || c_resize_cq;
    wire sets_moderation = c_create_cq || c_modify_cq;
    // Copies, since the memories that it addresses lie apart: it stands still for cycles before any of them is written.
    wire [CQ_W-1:0] cq = arg0[CQ_W-1:0];
    reg  [CQ_W-1:0] arm_cq, producer_cq;
    always @(posedge clk) {producer_cq, arm_cq} <= {arm_cq, cq};

    // ---------------------------------------------------------------- what is known of the objects
    // CQ: {interval, count, rearm, typed, unreserved, EQ, page, log2}
    localparam INFO_W = 40 + EQ_W + PAGE_W;
    wire [INFO_W-1:0] info;
    wire [4:0]        known_log2;
    wire [PAGE_W-1:0] known_page;
    wire [EQ_W-1:0]   known_eq;
    wire              known_unreserved, known_typed, known_rearm;
    wire [15:0]       known_count, known_interval;
    assign {known_interval, known_count, known_rearm, known_typed, known_unreserved, known_eq, known_page,
            known_log2} = info;

    // The EQ that a command is about: its object, the EQ to attach to, or the EQ attached to.
    reg  [15:0]     eq_arg;
    always @(posedge clk) eq_arg <= is_eq_cmd ? arg0[15:0] : c_create_cq ? new_eq : {{(16-EQ_W){1'b0}}, known_eq};
    wire [EQ_W-1:0] eq = eq_arg[EQ_W-1:0];
    wire            eq_ok, eq_same_page;
    wire [31:0]     eq_entries;
    wire [15:0]     attached, eq_vector;
    wire [4:0]      eq_log2;
    wire [PAGE_W-1:0] eq_page;
    wire            acts = state == ACT, freed = state == ARM_WAIT && ct_res_valid && c_destroy_cq &&
                            ct_res_state[`CDE_STATE_LIFE_LSB +: 2] == `CDE_LIFE_FREE;
    reg             attach;
    cde_eqs #(.NUM_EQ(NUM_EQ), .EQ_W(EQ_W), .PAGE_W(PAGE_W), .CQ_W(CQ_W)) eqs_i (
        .clk(clk), .rst(rst), .eq(eq_arg), .page(new_page), .ok(eq_ok), .same_page(eq_same_page),
        .entries(eq_entries), .attached(attached), .log2(eq_log2), .vector(eq_vector), .eq_page(eq_page),
        .create(acts && c_create_eq), .resize(acts && c_resize_eq), .modify(acts && c_modify_eq),
        .destroy(acts && c_destroy_eq), .attach(attach), .detach(freed), .new_log2(new_log2),
        .new_vector(arg3[`CDE_EQ_RING_VECTOR_LSB +: 16])
    );

    // ---------------------------------------------------------------- checks
    reg [95:0] peek;
    wire [1:0] life = peek[`CDE_STATE_LIFE_LSB +: 2];
    wire unused_peek = &{1'b0, peek};
    reg  [4:0]  log2, smaller;
    reg  [15:0] count, interval;
    reg  [31:0] entries;
    reg  [19:0] ring_mask;
    reg         mod_off, count_usable, interval_usable, by_count, by_interval, object_ok;
    always @(posedge clk) begin
        object_ok <= is_eq_cmd ? arg0 < NUM_EQ : arg0 < NUM_CQ;
        log2 <= has_ring ? new_log2 : known_log2;
        count <= sets_moderation ? arg5[`CDE_CQ_MODERATION_COUNT_LSB +: 16] : known_count;
        interval <= sets_moderation ? arg5[`CDE_CQ_MODERATION_INTERVAL_LSB +: 16] : known_interval;
        mod_off <= interval == 16'd0 || count[15:1] == 15'd0;
        // 0xFFFF, no count, is more than any ring has.
        count_usable <= count >> log2 == 16'd0 || {16'd0, count} == 32'd1 << log2;     // at most the size
        interval_usable <= interval != 16'hffff;
        {by_count, by_interval} <= {!mod_off && count_usable, !mod_off && interval_usable};
        smaller <= log2 < known_log2 ? log2 : known_log2;
        entries <= 32'd1 << new_log2;
        ring_mask <= is_eq_cmd ? {entries[15:0], 4'd0} - 20'd1 : {entries[14:0], 5'd0} - 20'd1;
    end

    reg reserved;
    always @* begin
        case (cmd)
            `CDE_CMD_CREATE_EQ: reserved = (arg3 & `CDE_EQ_RING_RESERVED) != 32'd0 ||
                                           (arg4 & `CDE_EQ_OWNER_RESERVED) != 32'd0;
            `CDE_CMD_MODIFY_EQ: reserved = (arg3 & `CDE_EQ_VECTOR_RESERVED) != 32'd0;
            `CDE_CMD_RESIZE_EQ: reserved = (arg3 & `CDE_RING_RESERVED) != 32'd0;
            `CDE_CMD_CREATE_CQ: reserved = (arg3 & `CDE_CQ_RING_RESERVED) != 32'd0;
            `CDE_CMD_MODIFY_CQ: reserved = (arg3 & `CDE_CQ_OPTIONS_RESERVED) != 32'd0;
            `CDE_CMD_RESIZE_CQ: reserved = (arg3 & `CDE_RING_RESERVED) != 32'd0;
            default: reserved = 1'b0;
        endcase
    end

    wire missing = is_eq_cmd ? !eq_ok : (life == `CDE_LIFE_FREE ||
                                         ((c_modify_cq || c_resize_cq) && life != `CDE_LIFE_READY));
    wire exists = is_eq_cmd ? eq_ok : life != `CDE_LIFE_FREE;
    wire create = c_create_eq || c_create_cq;
    wire bad_page = create && ({16'd0, new_page} >= NUM_PAGES || (c_create_cq && eq_ok && !eq_same_page));
    wire eq_full = c_create_cq ? {16'd0, attached} >= eq_entries
                               : c_resize_eq && {16'd0, attached} > entries;
    wire bad_moderation = (sets_moderation || c_resize_cq) && !mod_off && !count_usable && !interval_usable;

    // Each check has a cycle of its own before they are weighed.
    reg [11:0] fault;
    reg [7:0]  verdict;
    always @(posedge clk)
        fault <= {!known, reserved, !object_ok, !create && missing, create && exists,
                  has_ring && (log2 == 5'd0 || {27'd0, log2} > MAX_LOG2),
                  has_ring && (arg1[19:0] & (ring_mask | 20'h3f)) != 20'd0,
                  bad_page, c_create_cq && !eq_ok, eq_full, bad_moderation,
                  (c_destroy_eq && attached != 16'd0) || (c_destroy_cq && cqi_used)};

    always @* begin
        if (fault[11]) verdict = `CDE_RES_UNKNOWN;
        else if (fault[10]) verdict = `CDE_RES_RESERVED;
        else if (fault[9]) verdict = `CDE_RES_BAD_OBJECT;
        else if (fault[8]) verdict = `CDE_RES_NO_OBJECT;
        else if (fault[7]) verdict = `CDE_RES_EXISTS;
        else if (fault[6]) verdict = `CDE_RES_BAD_SIZE;
        else if (fault[5]) verdict = `CDE_RES_BAD_ALIGN;
        else if (fault[4]) verdict = `CDE_RES_BAD_PAGE;
        else if (fault[3]) verdict = `CDE_RES_NO_EQ;
        else if (fault[2]) verdict = `CDE_RES_EQ_FULL;
        else if (fault[1]) verdict = `CDE_RES_BAD_MODERATION;
        else if (fault[0]) verdict = `CDE_RES_IN_USE;
        else verdict = `CDE_RES_OK;
    end

    // ---------------------------------------------------------------- steps
    reg [IDX_W-1:0] stop_index;
    reg [2:0]       settle;
    reg             resized, was_left;      // of the ring of the resize under way
    assign {ct_cq, ct_index, op_cq, cfg_cq, limit_cq} = {arm_cq, stop_index, producer_cq, arm_cq, producer_cq};
    assign {op_base, op_log2, op_unreserved} = {arg2, arg1[31:6], log2, arg3[`CDE_CQ_RING_UNRESERVED_LSB]};
    assign clear_cq = producer_cq;
    assign {cqi_we, cqi_alive, cqi_cq, cqi_page} =
        {(cfg_we && c_create_cq) || (state == LIMIT && c_destroy_cq), c_create_cq, cq, new_page[PAGE_W-1:0]};

    wire set_up = state == SETTINGS && !cfg_hold;
    wire typed = c_resize_cq ? known_typed : arg3[`CDE_CQ_RING_TYPED_LSB];
    wire rearm = c_resize_cq ? known_rearm : arg3[`CDE_CQ_RING_REARM_LSB];
    wire [EQ_W-1:0] cfg_eq = c_create_cq ? new_eq[EQ_W-1:0] : known_eq;
    wire [PAGE_W-1:0] cfg_page = c_create_cq ? new_page[PAGE_W-1:0] : known_page;
    wire unreserved = c_create_cq ? arg3[`CDE_CQ_RING_UNRESERVED_LSB] : known_unreserved;
    assign cfg_data[`CDE_CFG_TYPED] = typed;
    assign cfg_data[`CDE_CFG_REARM] = rearm;
    assign cfg_data[`CDE_CFG_CNT_EN] = by_count;
    assign cfg_data[`CDE_CFG_INT_EN] = by_interval;
    assign cfg_data[`CDE_CFG_COUNT +: IDX_W] = count[IDX_W-1:0];
    assign cfg_data[`CDE_CFG_INTVL +: 16] = interval;
    assign cfg_data[`CDE_CFG_EQ +: EQ_W] = cfg_eq;
    assign cfg_data[`CDE_CFG_PAGE +: PAGE_W] = cfg_page;
    wire [INFO_W-1:0] info_next = {interval, count, rearm, typed, unreserved, cfg_eq, cfg_page, log2};
    reg [INFO_W-1:0] info_new;
    cde_ctx #(.W(INFO_W), .AW(CQ_W), .ECC(ECC)) info_ram (
        .clk(clk), .mem_i(mem_i), .mem_o(mem_o), .we(cfg_we), .waddr(cq), .wdata(info_new),
        .raddr(cq), .rdata(info)
    );

    // While a resize is under way grants must fit both rings.
    wire [4:0] limit_log2 = state == LIMIT ? smaller : c_resize_cq && !resized ? known_log2 : log2;

    // Written a cycle after their states.
    always @(posedge clk) begin
        {cfg_we, attach, info_new} <= {set_up && !rst, set_up && c_create_cq && !rst, info_next};
        limit_we <= (state == LIMIT || state == STARTUP) && !rst;
        limit_data[`CDE_LIMIT_CREDITS +: IDX_W] <= {{(IDX_W-1){1'b0}}, !c_destroy_cq} << limit_log2;
        limit_data[`CDE_LIMIT_UNRESERVED] <= !c_destroy_cq && unreserved;
        limit_data[`CDE_LIMIT_EXISTS] <= !c_destroy_cq;
        eqc_valid <= state == ACT && (c_create_eq || c_modify_eq || c_resize_eq) && !rst;
        {eqc_hold, eqc_create, eqc_vector_we, eqc_ring_we, eqc_eq} <=
            {is_eq_cmd && (state == WEIGH || acts), c_create_eq, c_modify_eq, c_resize_eq, eq};
    end
    assign {eqc_base, eqc_log2, eqc_vector} = {arg2, arg1[31:6], new_log2, arg3[`CDE_EQ_RING_VECTOR_LSB +: 16]};

    always @(posedge clk) begin
        was_left <= eqc_left && state == LEAVE && !eqc_valid;
        done <= 1'b0;
        case (state)
            IDLE: if (start) begin
                cmd <= command;
                result <= `CDE_RES_OK;
                {outs, peek} <= 288'd0;
                {settle, state} <= {3'd7, LOOK};
            end
            // What is known of the objects needs a few cycles to come out of its memories.
            LOOK: begin
                settle <= settle - 3'd1;
                if (settle == 3'd0) state <= known && !is_eq_cmd && object_ok ? PEEK : CHECK;
            end
            PEEK: begin
                ct_valid <= 1'b1;
                ct_op <= OP_LOOK;
                if (ct_valid && ct_ready) begin
                    ct_valid <= 1'b0;
                    state <= PEEK_WAIT;
                end
            end
            PEEK_WAIT: if (ct_res_valid) begin
                peek <= ct_res_state;
                state <= CHECK;
            end
            CHECK: state <= WEIGH;
            WEIGH: begin
                result <= verdict;
                state <= verdict == `CDE_RES_OK ? ACT : FINISH;
            end
            ACT: begin
                state <= c_resize_eq ? LEAVE : c_create_cq ? CLEAR_CREDITS : c_modify_cq ? SETTINGS :
                         c_resize_cq || c_destroy_cq ? LIMIT : c_query_cq ? PRODUCER : FINISH;
                if (c_query_eq) begin
                    outs[OUT3 + 31:0] <= 128'd0;
                    outs[OUT0 + `CDE_EQ_STATE_EXISTS_LSB] <= 1'b1;
                    outs[OUT0 + `CDE_EQ_STATE_LOG2_LSB +: 5] <= eq_log2;
                    outs[OUT0 + `CDE_EQ_STATE_VECTOR_LSB +: 16] <= eq_vector;
                    outs[OUT1 +: IDX_W] <= eqc_index;
                    outs[OUT2 +: 16] <= attached;
                    outs[OUT3 +: PAGE_W] <= eq_page;
                end
                op_code <= c_create_cq ? OP_CLEAR : c_resize_cq ? `CDE_TRC_RESIZE : c_destroy_cq ? `CDE_TRC_STOP :
                           OP_LOOK;
            end
            // After the answer the host may use the memory of the old ring for something else.
            LEAVE: if (eqc_valid) outs[OUT0 +: 32] <= {{(32-IDX_W){1'b0}}, eqc_index};
                   else if (was_left) state <= FINISH;
            CLEAR_CREDITS: {clear_valid, state} <= clear_valid && clear_ready ? {1'b0, PRODUCER}
                                                                              : {1'b1, CLEAR_CREDITS};
            LIMIT: {settle, state} <= {3'd7, SETTLE};
            // Grants that were judged by the old limit are counted by now.
            SETTLE: begin
                settle <= settle - 3'd1;
                if (settle == 3'd0) state <= PRODUCER;
            end
            PRODUCER: begin
                op_valid <= 1'b1;
                if (op_valid && op_ready) begin
                    op_valid <= 1'b0;
                    state <= PRODUCER_WAIT;
                end
            end
            PRODUCER_WAIT: if (op_res_valid) begin
                stop_index <= op_res_index;
                if (op_code == OP_CLEAR || op_code == `CDE_TRC_STOP) state <= BARRIER;
                else if (c_query_cq) begin
                    outs <= 192'd0;
                    outs[OUT0 +: `CDE_CQ_STATE_DUE_LSB + 1] <= peek[`CDE_STATE_DUE_LSB:`CDE_STATE_LIFE_LSB];
                    outs[OUT0 + `CDE_CQ_STATE_EVENT_PENDING_LSB] <= peek[`CDE_STATE_EVENT_PENDING_LSB];
                    outs[OUT0 + `CDE_CQ_STATE_LOG2_LSB +: 5] <= known_log2;
                    outs[OUT1 +: 16] <= peek[`CDE_STATE_PROD_LSB +: 16];
                    outs[OUT2 +: 16] <= peek[`CDE_STATE_CONS_LSB +: 16];
                    outs[OUT3 +: IDX_W] <= op_res_index;
                    outs[OUT4 +: IDX_W] <= op_res_held;
                    outs[OUT5 + `CDE_CQ_MODERATION_COUNT_LSB +: 16] <= known_count;
                    outs[OUT5 + `CDE_CQ_MODERATION_INTERVAL_LSB +: 16] <= known_interval;
                    state <= FINISH;
                end else if (c_resize_cq) begin
                    result <= op_res_result;
                    resized <= op_res_result == `CDE_RES_OK;
                    if (op_res_result == `CDE_RES_OK) outs[OUT0 +: 32] <= {{(32-IDX_W){1'b0}}, op_res_index};
                    state <= STARTUP;
                end else state <= FINISH;
            end
            BARRIER: if (barrier_done) begin
                ct_op <= c_create_cq ? `CDE_TRC_CREATE : `CDE_TRC_DESTROY;
                state <= c_create_cq ? SETTINGS : ARM_STEP;
            end
            // The limit comes after the ring it belongs to: before START for a new CQ, after the switch for a resize.
            STARTUP: begin
                op_code <= `CDE_TRC_START;
                state <= c_create_cq ? PRODUCER : resized ? SETTINGS : FINISH;
            end
            SETTINGS: if (set_up) state <= c_create_cq ? ARM_STEP : FINISH;
            ARM_STEP: begin
                ct_valid <= 1'b1;
                if (ct_valid && ct_ready) begin
                    ct_valid <= 1'b0;
                    state <= ARM_WAIT;
                end
            end
            ARM_WAIT: if (ct_res_valid) begin
                state <= c_destroy_cq ? FINISH : STARTUP;
                if (c_destroy_cq && !freed) result <= `CDE_RES_PENDING;
            end
            FINISH: {done, state} <= {1'b1, IDLE};
            default: state <= IDLE;
        endcase
        if (rst) begin
            {done, state} <= {1'b0, IDLE};
            result <= `CDE_RES_OK;
            outs <= 192'd0;
            {ct_valid, op_valid, clear_valid} <= 3'b000;
        end
    end

endmodule

`default_nettype wire
