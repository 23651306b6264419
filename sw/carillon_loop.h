/* SPDX-License-Identifier: Apache-2.0 */
/* The driver loop of docs/driver.md. */
#ifndef CARILLON_LOOP_H
#define CARILLON_LOOP_H

#include "carillon_driver.h"

/* An EQ, a CQ on it, and two QPs connected with each other that send to and receive from that CQ.
 * memory: 1 KiB, aligned to its size. */
struct carillon_pair {
    struct carillon_eq eq;
    struct carillon_cq cq;
    struct carillon_qp first;
    struct carillon_qp second;
};

uint32_t carillon_set_up(struct carillon_pair *pair, struct carillon_device *device,
                         uint32_t vector, uint64_t memory);

/* Takes wanted results; wait sleeps until an interrupt has come since it was called last. */
uint32_t carillon_loop(struct carillon_eq *eq, struct carillon_cq *cq,
                       struct carillon_result_ex *results, uint32_t wanted,
                       void (*wait)(void *context));

#endif
