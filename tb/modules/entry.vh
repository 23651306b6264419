// SPDX-License-Identifier: Apache-2.0
// What the benches of modules that handle entries of CQs share, included inside each of them.
    // {satisfies no standing arm, is of the solicited class}: an error always is; else a solicited receive, with or without an invalidation; the
    // first of two entries of an unsolicited one is marked.
    function [1:0] class;
        input [255:0] cqe;
        reg receive, invalidate, failed;
        begin
            failed = cqe[`CDE_CQE_STATUS_LSB +: 8] != 0;
            case (cqe[`CDE_CQE_TYPE_LSB +: 16])
                `CDE_CQETYPE_RECEIVE, `CDE_CQETYPE_RECEIVE_AND_INVALIDATE: {receive, invalidate} = 2'b10;
                `CDE_CQETYPE_INVALIDATE: {receive, invalidate} = 2'b01;
                default: {receive, invalidate} = 2'b00;
            endcase
            class[0] = failed || (receive && cqe[`CDE_CQE_SOLICITED_LSB]);
            class[1] = !failed && (receive || invalidate) && cqe[`CDE_CQE_UNSIGNALLED_LSB];
        end
    endfunction
