/* SPDX-License-Identifier: Apache-2.0 */
/* Reference driver of the engine in C11. It allocates nothing: the caller owns every object.
 *
 * Unless said otherwise a function returns 0 when all went well, else the engine's cause of a
 * refused post or doorbell (CARILLON_CAUSE_*), its result of a command (CARILLON_RES_*), or one of
 * CARILLON_NO_ENGINE, CARILLON_NO_ANSWER, CARILLON_BAD_ARGUMENT (wider than its field). An object
 * is used by one thread at a time, commands by one thread of the device.
 */
#ifndef CARILLON_DRIVER_H
#define CARILLON_DRIVER_H

#include "carillon.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CARILLON_BAD_ARGUMENT 0xFDu
#define CARILLON_NO_ENGINE 0xFEu
#define CARILLON_NO_ANSWER 0xFFu
#define CARILLON_SLOTS 3u

/* How the engine and host memory are reached. */
struct carillon_ops {
    /* A register of the control port. */
    uint32_t (*read32)(void *context, uint32_t offset);
    void (*write32)(void *context, uint32_t offset, uint32_t value);
    /* One write of 8 bytes (a doorbell) or 64 bytes (a post), in one beat, behind all writes to
     * memory before it. Returns the cause of its answer, 0 if accepted. Where the bus drops BUSER,
     * take PAGE_STATUS after each write, and have one write of the page under way at a time. */
    uint32_t (*doorbell)(void *context, uint32_t page, uint32_t offset, const uint64_t *words,
                         uint32_t nbytes);
    /* Host memory by the address that the engine uses. A read of an entry must not see its last
     * word newer than the others: read the last word first, or all in one access. */
    void (*read_memory)(void *context, uint64_t address, uint64_t *words, uint32_t nbytes);
    void (*write_memory)(void *context, uint64_t address, const uint64_t *words, uint32_t nbytes);
};

struct carillon_device {
    const struct carillon_ops *ops;
    void *context;
    uint32_t index_mask; /* indexes count modulo index_mask + 1 */
    uint32_t max_log2;   /* log2 of the entries of the largest ring */
};

/* A ring of 2^log2 entries, in use from index origin on. */
struct carillon_ring {
    uint64_t base;
    uint32_t log2;
    uint32_t origin;
};

/* The reading side of a CQ or EQ. */
struct carillon_reader {
    struct carillon_device *device;
    struct carillon_ring ring;
    struct carillon_ring next; /* after a resize: entries from next.origin on are there */
    uint32_t resized;
    uint32_t index; /* of the next entry */
    uint32_t nbytes; /* of an entry */
};

struct carillon_eq {
    struct carillon_reader reader;
    uint32_t number;
};

struct carillon_cq {
    struct carillon_reader reader;
    uint32_t number;
    uint32_t page;
};

struct carillon_cq_config {
    uint32_t eq;
    uint32_t no_reservation;
    uint32_t typed;
    uint32_t rearm_old;
    uint32_t moderation_count;
    uint32_t moderation_interval;
};

struct carillon_qp {
    struct carillon_device *device;
    uint32_t number;
    uint32_t page;
};

struct carillon_qp_config {
    uint64_t context;
    uint32_t send_cq;
    uint32_t recv_cq;
    uint32_t depth;
    uint32_t watermark; /* of held requests; 0: off */
    uint32_t age;       /* of held requests, in units of MOD_TICK; 0: off */
    uint32_t zone;
    uint32_t recv_depth;
    uint32_t recv; /* ARG7: fields QP_RECV_*; 0: no SRQ, no keys */
};

struct carillon_window {
    struct carillon_device *device;
    uint32_t number;
    uint32_t key; /* the present one, when every Bind that was posted has succeeded */
};

struct carillon_sge {
    uint64_t address;
    uint32_t length;
    uint32_t key;
};

struct carillon_result {
    uint64_t request_context;
    uint64_t qp_context;
    uint32_t nbytes;
    uint32_t status; /* 0, or CARILLON_CQESTATUS_*, or the transport's own */
};

struct carillon_result_ex {
    uint64_t request_context;
    uint64_t qp_context;
    uint32_t nbytes;
    uint32_t status;
    uint32_t type; /* CARILLON_CQETYPE_* */
    uint32_t token;
};

struct carillon_event {
    uint32_t cq;
    uint32_t status; /* CARILLON_CQST_*, at the call */
    uint32_t snap;   /* entries up to here were in memory before the event */
};

/* -- the device */

/* Finds the engine and its sizes. */
uint32_t carillon_bring_up(struct carillon_device *device, const struct carillon_ops *ops,
                           void *context);
/* Any command. All eight arguments are written, so that none is left of the command before; those
 * behind count are 0. outs: eight words, or NULL. */
uint32_t carillon_command(struct carillon_device *device, uint32_t command, const uint32_t *args,
                          uint32_t count, uint32_t *outs);
/* Takes the oldest error out of the log: 1, or 0 if there is none. LOG0 and LOG1 as words. */
uint32_t carillon_take_error(struct carillon_device *device, uint32_t *log0, uint32_t *log1);

/* -- queues; base: a multiple of the ring's size and of 64. Rings are cleared here. */

uint32_t carillon_create_eq(struct carillon_eq *eq, struct carillon_device *device, uint32_t number,
                            uint32_t page, uint32_t vector, uint64_t base, uint32_t log2);
uint32_t carillon_resize_eq(struct carillon_eq *eq, uint64_t base, uint32_t log2);
uint32_t carillon_destroy_eq(struct carillon_eq *eq);
/* After the interrupt: takes the next event, 1, or 0 if there is none. EQs have neither consumer
 * index nor doorbell. */
uint32_t carillon_get_event(struct carillon_eq *eq, struct carillon_event *event);

uint32_t carillon_create_cq(struct carillon_cq *cq, struct carillon_device *device, uint32_t number,
                            uint32_t page, uint64_t base, uint32_t log2,
                            const struct carillon_cq_config *config);
uint32_t carillon_resize_cq(struct carillon_cq *cq, uint64_t base, uint32_t log2);
/* CARILLON_RES_PENDING: call it again, events are still to be returned or writes to be answered. */
uint32_t carillon_destroy_cq(struct carillon_cq *cq);
/* Polls: takes up to limit results from memory; nobody is told before the next doorbell. */
uint32_t carillon_get_cq_results(struct carillon_cq *cq, struct carillon_result *results,
                                 uint32_t limit);
uint32_t carillon_get_cq_results_ex(struct carillon_cq *cq, struct carillon_result_ex *results,
                                    uint32_t limit);
/* Tells what was polled: those slots are free again. */
uint32_t carillon_update_consumer_index(struct carillon_cq *cq);
/* The same, and asks for one callback. type: CARILLON_ARM_*. */
uint32_t carillon_arm(struct carillon_cq *cq, uint32_t type);
/* The callback has returned: the next one may come. */
uint32_t carillon_callback_return(struct carillon_cq *cq);

/* -- queue pairs */

uint32_t carillon_create_qp(struct carillon_qp *qp, struct carillon_device *device, uint32_t number,
                            uint32_t page, const struct carillon_qp_config *config);
uint32_t carillon_connect(struct carillon_qp *qp, uint32_t peer);
/* CARILLON_QPS_*; IDLE answers CARILLON_RES_BUSY while requests are outstanding. */
uint32_t carillon_set_qp_state(struct carillon_qp *qp, uint32_t state);
/* CARILLON_RES_PENDING: call it again. */
uint32_t carillon_destroy_qp(struct carillon_qp *qp);

/* Requests: the return value is the inline result. flags: CARILLON_POSTFLAG_*; with DEFER a request
 * is held until one without it is posted. At most CARILLON_SLOTS segments, two with a target. */
uint32_t carillon_send(struct carillon_qp *qp, uint32_t flags, uint64_t context,
                       const struct carillon_sge *segments, uint32_t count);
uint32_t carillon_send_inline(struct carillon_qp *qp, uint32_t flags, uint64_t context,
                              const void *data, uint32_t nbytes);
uint32_t carillon_send_and_invalidate(struct carillon_qp *qp, uint32_t flags, uint64_t context,
                                      const struct carillon_sge *segments, uint32_t count,
                                      uint32_t token);
uint32_t carillon_read(struct carillon_qp *qp, uint32_t flags, uint64_t context,
                       const struct carillon_sge *segments, uint32_t count, uint64_t remote,
                       uint32_t key);
uint32_t carillon_write(struct carillon_qp *qp, uint32_t flags, uint64_t context,
                        const struct carillon_sge *segments, uint32_t count, uint64_t remote,
                        uint32_t key);
uint32_t carillon_post_recv(struct carillon_qp *qp, uint64_t context,
                            const struct carillon_sge *segments, uint32_t count);

/* -- memory */

/* rights: CARILLON_MRRIGHT_*. The number of a region stands in the low 11 bits of its key. */
uint32_t carillon_register(struct carillon_device *device, uint32_t number, uint64_t base,
                           uint64_t length, uint32_t zone, uint32_t rights, uint32_t *key);
uint32_t carillon_deregister(struct carillon_device *device, uint32_t number);
uint32_t carillon_create_window(struct carillon_window *window, struct carillon_device *device,
                                uint32_t number, uint64_t context, uint32_t zone);
uint32_t carillon_close_window(struct carillon_window *window);
/* Requests: results come to the send CQ. When one fails the connection ends, and the key has to be
 * asked for (QUERY_MW). flags: CARILLON_POSTFLAG_ALLOW_REMOTE_* and those of any request. */
uint32_t carillon_bind(struct carillon_window *window, struct carillon_qp *qp, uint32_t flags,
                       uint64_t context, const struct carillon_sge *range);
uint32_t carillon_invalidate(struct carillon_qp *qp, uint32_t flags, uint64_t context,
                             uint32_t token);

#ifdef __cplusplus
}
#endif

#endif
