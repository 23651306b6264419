// SPDX-License-Identifier: Apache-2.0
// Commands of queue pairs for the bench of cde_qp_ctrl, included inside it: arguments that are right but for a bit, and what the checks make of them.
    // A pair of CQs on the same page if one is found soon.
    task some_cqs;
        begin
            {one, two} = $random(seed);
            for (k = 0; k < 4 * CQS && !alive[one]; k = k + 1) one = one + 1;
            for (k = 0; k < 4 * CQS && !(alive[two] && page[two] == page[one] && below(2)); k = k + 1) two = two + 1;
        end
    endtask

    task some_command;
        begin
            case (below(12))
                0, 1, 2: qc_command = `CDE_CMD_CREATE_QP;
                3: qc_command = `CDE_CMD_MODIFY_QP;
                4, 5: qc_command = `CDE_CMD_CONNECT_QP;
                6: qc_command = `CDE_CMD_SET_QP_STATE;
                7: qc_command = `CDE_CMD_FLUSH_QP;
                8: qc_command = `CDE_CMD_QUERY_QP;
                9, 10: qc_command = `CDE_CMD_DESTROY_QP;
                11: qc_command = `CDE_CMD_CREATE_QP ^ (8'd1 << below(8));
            endcase
            for (k = 0; k < 8; k = k + 1) qc_args[32*k +: 32] = $random(seed);
            qc_args[31:0] = below(N);
            for (k = 0; k < N && live[qc_args[QP_W-1:0]] == c_create; k = k + 1) if (below(8) != 0) qc_args[31:0] = (qc_args[31:0] + 1) % N;
            if (c_connect) qc_args[63:56] = 0;
            if (c_set) qc_args[63:36] = 0;
            if (c_create) begin
                some_cqs;
                qc_args[127:96] = {{(16-CQ_W){1'b0}}, two, {(16-CQ_W){1'b0}}, one};
                qc_args[143:128] = page[one];
                qc_args[159:144] = 1 + below(1 << SQ_LOG2);
                shared = $random(seed);
                qc_args[223:208] = shared ? 0 : below((1 << RQ_LOG2) + 1);
                qc_args[255:224] = shared ? below(1 << SRQ_W) : 0;
                qc_args[242:240] = {$random(seed), shared};
                k = below(4);
                qc_args[252:248] = k == 0 ? `CDE_RECVFLAG_DEFAULT : k == 1 ? `CDE_RECVFLAG_SOLICITED_WAIT : k == 2 ? `CDE_RECVFLAG_UNSIGNALLED
                                   : `CDE_RECVFLAG_EVD_THRESHOLD;
                if (below(16) == 0) qc_args[159:144] = 0;
            end
            // One bit is wrong, of any argument or of those that a command looks at first.
            k = below(6);
            if (k == 0) k = below(256);
            else if (k == 1) k = c_create ? 96 + below(64) : below(64);
            else if (k == 2) k = c_create ? 208 + below(48) : below(64);
            else k = 256;
            if (k < 256) qc_args[k] = !qc_args[k];
            if (c_create && !qc_args[240] && below(8)) qc_args[239:224] = 0;
        end
    endtask

    // What the checks of a command make of it, the first cause last (posting.md).
    task judge;
        begin
            result = `CDE_RES_OK;
            if (c_create) begin
                k = qc_args[252:248];
                if (k != 0 && k != 2 && k != 4 && k != 16) result = `CDE_RES_BAD_FLAG;
                if (bad_page || (shared && srqi_page != qc_args[143:128])) result = `CDE_RES_BAD_PAGE;
                if (shared && !srqi_live) result = `CDE_RES_NO_SRQ;
                if (no_cq) result = `CDE_RES_NO_CQ;
                if (qc_args[159:144] == 0 || qc_args[159:144] > (1 << SQ_LOG2)) result = `CDE_RES_BAD_SIZE;
                if (qc_args[223:208] > (shared ? 0 : 1 << RQ_LOG2)) result = `CDE_RES_BAD_SIZE;
                if (state != `CDE_QPS_FREE) result = `CDE_RES_EXISTS;
            end else if (state == `CDE_QPS_FREE || (state == `CDE_QPS_DESTROYING && qc_command == `CDE_CMD_MODIFY_QP)) result = `CDE_RES_NO_OBJECT;
            if (far) result = `CDE_RES_BAD_OBJECT;
            if (c_create && ({qc_args[255:253], qc_args[247:243]} != 0 || (!shared && qc_args[239:224] != 0))) result = `CDE_RES_RESERVED;
            if ((c_connect && qc_args[63:56] != 0) || (c_set && qc_args[63:36] != 0)) result = `CDE_RES_RESERVED;
            if (!known) result = `CDE_RES_UNKNOWN;
        end
    endtask
