/* SPDX-License-Identifier: Apache-2.0 */
#include "carillon_loop.h"

#include <string.h>

uint32_t carillon_set_up(struct carillon_pair *pair, struct carillon_device *device,
                         uint32_t vector, uint64_t memory)
{
    struct carillon_cq_config cq;
    struct carillon_qp_config qp;
    uint32_t error;

    memset(&cq, 0, sizeof cq);
    memset(&qp, 0, sizeof qp);
    cq.eq = 1;
    qp.send_cq = qp.recv_cq = 2; /* may be the same */
    qp.depth = qp.recv_depth = 2;
    if ((error = carillon_create_eq(&pair->eq, device, 1, 0, vector, memory, 2)) ||
        (error = carillon_create_cq(&pair->cq, device, 2, 0, memory + 512, 4, &cq)) ||
        (error = carillon_create_qp(&pair->first, device, 0, 0, &qp)) ||
        (error = carillon_create_qp(&pair->second, device, 1, 0, &qp)) ||
        (error = carillon_connect(&pair->first, pair->second.number)))
        return error;
    return carillon_connect(&pair->second, pair->first.number);
}

uint32_t carillon_loop(struct carillon_eq *eq, struct carillon_cq *cq,
                       struct carillon_result_ex *results, uint32_t wanted,
                       void (*wait)(void *context))
{
    struct carillon_event event;
    uint32_t taken = 0, found, error;

    while (taken < wanted) {
        found = carillon_get_cq_results_ex(cq, results + taken, wanted - taken);
        taken += found;
        if (found) /* poll again before sleeping */
            continue;
        if ((error = carillon_arm(cq, CARILLON_ARM_ANY)))
            return error;
        while (!carillon_get_event(eq, &event))
            wait(cq->reader.device->context);
        if ((error = carillon_callback_return(cq)))
            return error;
    }
    return carillon_update_consumer_index(cq);
}
