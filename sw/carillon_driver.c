/* SPDX-License-Identifier: Apache-2.0 */
#include "carillon_driver.h"

#include <stddef.h>
#include <string.h>

#define ARGS 8u
/* Reads of CMD_STATUS before a command counts as lost, and before the one ahead of it does. */
#define POLLS 1000000u
/* A new key of an object is the one before with the next generation. */
#define NEXT_KEY (1u << CARILLON_KEY_GENERATION_LSB)

static uint32_t low(uint64_t value)
{
    return (uint32_t)value;
}

static uint32_t high(uint64_t value)
{
    return (uint32_t)(value >> 32);
}

/* Fields of 16 bits: the callers refuse what is wider. */
static uint32_t pair(uint32_t lower, uint32_t upper)
{
    return lower | upper << 16;
}

/* -- the device */

static uint32_t read32(struct carillon_device *device, uint32_t offset)
{
    return device->ops->read32(device->context, offset);
}

static void write32(struct carillon_device *device, uint32_t offset, uint32_t value)
{
    device->ops->write32(device->context, offset, value);
}

uint32_t carillon_bring_up(struct carillon_device *device, const struct carillon_ops *ops,
                           void *context)
{
    uint64_t caps;

    device->ops = ops;
    device->context = context;
    if (read32(device, CARILLON_REG_ID) != CARILLON_ID_VALUE ||
        read32(device, CARILLON_REG_VERSION) != CARILLON_VERSION_VALUE)
        return CARILLON_NO_ENGINE;
    caps = read32(device, CARILLON_REG_CAP1);
    device->index_mask = (1u << CARILLON_GET(&caps, CAP1_IDX_W)) - 1;
    device->max_log2 = (uint32_t)CARILLON_GET(&caps, CAP1_MAX_LOG2);
    return 0;
}

/* Waits while a command runs, if done is 1 until one is done; status: CMD_STATUS. */
static uint32_t wait_idle(struct carillon_device *device, uint32_t done, uint64_t *status)
{
    uint32_t i;

    for (i = 0; i < POLLS; i++) {
        *status = read32(device, CARILLON_REG_CMD_STATUS);
        if (!CARILLON_GET(status, CMD_STATUS_BUSY) && CARILLON_GET(status, CMD_STATUS_DONE) >= done)
            return 0;
    }
    return CARILLON_NO_ANSWER;
}

uint32_t carillon_command(struct carillon_device *device, uint32_t command, const uint32_t *args,
                          uint32_t count, uint32_t *outs)
{
    uint64_t status;
    uint32_t i;

    /* The engine refuses writes while a command runs, also one that was given up. */
    if (wait_idle(device, 0, &status))
        return CARILLON_NO_ANSWER;
    for (i = 0; i < ARGS; i++)
        write32(device, CARILLON_REG_ARG0 + 4 * i, i < count ? args[i] : 0);
    write32(device, CARILLON_REG_CMD, command);
    if (wait_idle(device, 1, &status))
        return CARILLON_NO_ANSWER;
    for (i = 0; outs && i < ARGS; i++)
        outs[i] = read32(device, CARILLON_REG_OUT0 + 4 * i);
    return (uint32_t)CARILLON_GET(&status, CMD_STATUS_RESULT);
}

static uint32_t command_of(struct carillon_device *device, uint32_t command, uint32_t number,
                           uint32_t value)
{
    uint32_t args[2] = {number, value};

    return carillon_command(device, command, args, 2, NULL);
}

uint32_t carillon_take_error(struct carillon_device *device, uint32_t *log0, uint32_t *log1)
{
    /* LOG1 first: an entry may come between the two reads. */
    *log1 = read32(device, CARILLON_REG_LOG1);
    if (!(*log1 >> CARILLON_LOG1_VALID_LSB & 1))
        return 0;
    *log0 = read32(device, CARILLON_REG_LOG0);
    write32(device, CARILLON_REG_LOG_POP, 1);
    return 1;
}

static uint32_t write_page(const struct carillon_device *device, uint32_t page, uint32_t offset,
                           const uint64_t *words, uint32_t nbytes)
{
    return device->ops->doorbell(device->context, page, offset, words, nbytes);
}

/* -- rings */

/* Entries of nbytes; the engine refuses a ring that is too large. */
static void clear_ring(struct carillon_device *device, uint64_t base, uint32_t log2,
                       uint32_t nbytes)
{
    static const struct carillon_cqe zeros = {{0}};
    uint32_t i;

    for (i = 0; log2 <= device->max_log2 && !(i >> log2); i++)
        device->ops->write_memory(device->context, base + (uint64_t)i * nbytes, zeros.word, nbytes);
}

static void begin(struct carillon_reader *reader, struct carillon_device *device, uint64_t base,
                  uint32_t log2, uint32_t nbytes)
{
    memset(reader, 0, sizeof *reader);
    reader->device = device;
    reader->ring.base = base;
    reader->ring.log2 = log2;
    reader->nbytes = nbytes;
    clear_ring(device, base, log2, nbytes);
}

/* Copies the next entry, if it is there; it counts as read. */
static uint32_t next_entry(struct carillon_reader *reader, uint64_t *words)
{
    struct carillon_device *device = reader->device;
    uint32_t passed, slot, phase;

    if (reader->resized && reader->index == reader->next.origin) {
        reader->ring = reader->next;
        reader->resized = 0;
    }
    passed = (reader->index - reader->ring.origin) & device->index_mask;
    slot = passed & ((1u << reader->ring.log2) - 1);
    phase = ~(passed >> reader->ring.log2) & 1;
    device->ops->read_memory(device->context, reader->ring.base + (uint64_t)slot * reader->nbytes,
                             words, reader->nbytes);
    if (words[reader->nbytes / 8 - 1] >> 63 != phase)
        return 0;
    reader->index = (reader->index + 1) & device->index_mask;
    return 1;
}

/* One resize at a time: what the old ring holds is read before the next one. */
static uint32_t resize(struct carillon_reader *reader, uint32_t command, uint32_t number,
                       uint64_t base, uint32_t log2)
{
    uint32_t args[4] = {number, low(base), high(base), log2};
    uint32_t outs[ARGS] = {0}, result;

    if (reader->resized && reader->index != reader->next.origin)
        return CARILLON_RES_PENDING;
    if (reader->resized) {
        reader->ring = reader->next;
        reader->resized = 0;
    }
    clear_ring(reader->device, base, log2, reader->nbytes);
    result = carillon_command(reader->device, command, args, 4, outs);
    if (result)
        return result;
    reader->next.base = base;
    reader->next.log2 = log2;
    reader->next.origin = outs[0] & reader->device->index_mask;
    reader->resized = 1;
    return 0;
}

/* -- event queues */

uint32_t carillon_create_eq(struct carillon_eq *eq, struct carillon_device *device, uint32_t number,
                            uint32_t page, uint32_t vector, uint64_t base, uint32_t log2)
{
    uint32_t args[5] = {number, low(base), high(base), pair(log2, vector), page};

    if ((log2 | vector) >> 16)
        return CARILLON_BAD_ARGUMENT;
    begin(&eq->reader, device, base, log2, sizeof(struct carillon_eqe));
    eq->number = number;
    return carillon_command(device, CARILLON_CMD_CREATE_EQ, args, 5, NULL);
}

uint32_t carillon_resize_eq(struct carillon_eq *eq, uint64_t base, uint32_t log2)
{
    return resize(&eq->reader, CARILLON_CMD_RESIZE_EQ, eq->number, base, log2);
}

uint32_t carillon_destroy_eq(struct carillon_eq *eq)
{
    return command_of(eq->reader.device, CARILLON_CMD_DESTROY_EQ, eq->number, 0);
}

uint32_t carillon_get_event(struct carillon_eq *eq, struct carillon_event *event)
{
    struct carillon_eqe eqe;

    if (!next_entry(&eq->reader, eqe.word))
        return 0;
    event->cq = (uint32_t)CARILLON_GET(eqe.word, EQE_CQ);
    event->status = (uint32_t)CARILLON_GET(eqe.word, EQE_STATUS);
    event->snap = (uint32_t)CARILLON_GET(eqe.word, EQE_SNAP);
    return 1;
}

/* -- completion queues */

uint32_t carillon_create_cq(struct carillon_cq *cq, struct carillon_device *device, uint32_t number,
                            uint32_t page, uint64_t base, uint32_t log2,
                            const struct carillon_cq_config *config)
{
    uint32_t args[6] = {
        number,
        low(base),
        high(base),
        log2 | (uint32_t)!!config->no_reservation << 8 | (uint32_t)!!config->typed << 9 |
            (uint32_t)!!config->rearm_old << 10,
        pair(page, config->eq),
        pair(config->moderation_count, config->moderation_interval),
    };

    if (log2 >> 8 || (page | config->eq) >> 16 ||
        (config->moderation_count | config->moderation_interval) >> 16)
        return CARILLON_BAD_ARGUMENT;
    begin(&cq->reader, device, base, log2, sizeof(struct carillon_cqe));
    cq->number = number;
    cq->page = page;
    return carillon_command(device, CARILLON_CMD_CREATE_CQ, args, 6, NULL);
}

uint32_t carillon_resize_cq(struct carillon_cq *cq, uint64_t base, uint32_t log2)
{
    return resize(&cq->reader, CARILLON_CMD_RESIZE_CQ, cq->number, base, log2);
}

uint32_t carillon_destroy_cq(struct carillon_cq *cq)
{
    return command_of(cq->reader.device, CARILLON_CMD_DESTROY_CQ, cq->number, 0);
}

uint32_t carillon_get_cq_results(struct carillon_cq *cq, struct carillon_result *results,
                                 uint32_t limit)
{
    struct carillon_result_ex result;
    uint32_t found;

    for (found = 0; found < limit && carillon_get_cq_results_ex(cq, &result, 1); found++)
        memcpy(results + found, &result, sizeof *results); /* the members of both */
    return found;
}

uint32_t carillon_get_cq_results_ex(struct carillon_cq *cq, struct carillon_result_ex *results,
                                    uint32_t limit)
{
    struct carillon_cqe cqe;
    uint32_t found;

    for (found = 0; found < limit && next_entry(&cq->reader, cqe.word); found++) {
        results[found].request_context = CARILLON_GET(cqe.word, CQE_CONTEXT);
        results[found].qp_context = CARILLON_GET(cqe.word, CQE_QP_CONTEXT);
        results[found].nbytes = (uint32_t)CARILLON_GET(cqe.word, CQE_BYTES);
        results[found].status = (uint32_t)CARILLON_GET(cqe.word, CQE_STATUS);
        results[found].type = (uint32_t)CARILLON_GET(cqe.word, CQE_TYPE);
        results[found].token = (uint32_t)CARILLON_GET(cqe.word, CQE_TOKEN);
    }
    return found;
}

uint32_t carillon_update_consumer_index(struct carillon_cq *cq)
{
    uint64_t word = 0;

    CARILLON_PUT(&word, CQ_DB_CONS, cq->reader.index);
    CARILLON_PUT(&word, CQ_DB_CQ, cq->number);
    return write_page(cq->reader.device, cq->page, CARILLON_PAGE_CQ_DB, &word, sizeof word);
}

uint32_t carillon_arm(struct carillon_cq *cq, uint32_t type)
{
    uint64_t word = 0;

    CARILLON_PUT(&word, CQ_DB_CONS, cq->reader.index);
    CARILLON_PUT(&word, CQ_DB_CQ, cq->number);
    CARILLON_PUT(&word, CQ_DB_ARM_TYPE, type);
    CARILLON_PUT(&word, CQ_DB_ARM, 1);
    return write_page(cq->reader.device, cq->page, CARILLON_PAGE_CQ_DB, &word, sizeof word);
}

uint32_t carillon_callback_return(struct carillon_cq *cq)
{
    uint64_t word = 0;

    CARILLON_PUT(&word, CB_RETURN_CQ, cq->number);
    return write_page(cq->reader.device, cq->page, CARILLON_PAGE_CB_RETURN, &word, sizeof word);
}

/* -- queue pairs */

uint32_t carillon_create_qp(struct carillon_qp *qp, struct carillon_device *device, uint32_t number,
                            uint32_t page, const struct carillon_qp_config *config)
{
    uint32_t args[ARGS] = {
        number,
        low(config->context),
        high(config->context),
        pair(config->send_cq, config->recv_cq),
        pair(page, config->depth),
        pair(config->watermark, config->age),
        pair(config->zone, config->recv_depth),
        config->recv,
    };

    if ((config->send_cq | config->recv_cq | page | config->depth | config->watermark |
         config->age | config->zone | config->recv_depth) >> 16)
        return CARILLON_BAD_ARGUMENT;
    qp->device = device;
    qp->number = number;
    qp->page = page;
    return carillon_command(device, CARILLON_CMD_CREATE_QP, args, ARGS, NULL);
}

uint32_t carillon_connect(struct carillon_qp *qp, uint32_t peer)
{
    return command_of(qp->device, CARILLON_CMD_CONNECT_QP, qp->number, peer);
}

uint32_t carillon_set_qp_state(struct carillon_qp *qp, uint32_t state)
{
    return command_of(qp->device, CARILLON_CMD_SET_QP_STATE, qp->number, state);
}

uint32_t carillon_destroy_qp(struct carillon_qp *qp)
{
    return command_of(qp->device, CARILLON_CMD_DESTROY_QP, qp->number, 0);
}

/* -- posts */

static struct carillon_post new_post(const struct carillon_qp *qp, uint32_t opcode, uint32_t flags,
                                     uint64_t context)
{
    struct carillon_post post = {{0}};

    CARILLON_PUT(post.word, POST_OPCODE, opcode);
    CARILLON_PUT(post.word, POST_FLAGS, flags);
    CARILLON_PUT(post.word, POST_QP, qp->number);
    CARILLON_PUT(post.word, POST_CONTEXT, context);
    return post;
}

static void put_slot(uint64_t *post, uint32_t slot, uint64_t address, uint32_t length, uint32_t key)
{
    uint64_t *word = post + (CARILLON_POST_SLOT0_LSB + 128 * slot) / 64;

    memset(word, 0, sizeof(struct carillon_segment));
    CARILLON_PUT(word, SEGMENT_ADDRESS, address);
    CARILLON_PUT(word, SEGMENT_LENGTH, length);
    CARILLON_PUT(word, SEGMENT_KEY, key);
}

/* The number is told as it is, also if it is too large: the engine refuses it. */
static void put_segments(uint64_t *post, const struct carillon_sge *segments, uint32_t count)
{
    uint32_t i;

    CARILLON_PUT(post, POST_SEGMENTS, count < 0xFF ? count : 0xFF);
    for (i = 0; i < count && i < CARILLON_SLOTS; i++)
        put_slot(post, i, segments[i].address, segments[i].length, segments[i].key);
}

uint32_t carillon_send(struct carillon_qp *qp, uint32_t flags, uint64_t context,
                       const struct carillon_sge *segments, uint32_t count)
{
    struct carillon_post post = new_post(qp, CARILLON_OPC_SEND, flags, context);

    put_segments(post.word, segments, count);
    return write_page(qp->device, qp->page, CARILLON_PAGE_SEND, post.word, sizeof post);
}

uint32_t carillon_send_inline(struct carillon_qp *qp, uint32_t flags, uint64_t context,
                              const void *data, uint32_t nbytes)
{
    struct carillon_post post =
        new_post(qp, CARILLON_OPC_SEND, flags | CARILLON_POSTFLAG_INLINE, context);

    if (nbytes > CARILLON_SLOTS * sizeof(struct carillon_segment))
        return CARILLON_CAUSE_BAD_LENGTH;
    CARILLON_PUT(post.word, POST_INLINE_BYTES, nbytes);
    memcpy(post.word + CARILLON_POST_SLOT0_LSB / 64, data, nbytes);
    return write_page(qp->device, qp->page, CARILLON_PAGE_SEND, post.word, sizeof post);
}

static uint32_t post_to_target(struct carillon_qp *qp, uint32_t opcode, uint32_t flags,
                               uint64_t context, const struct carillon_sge *segments,
                               uint32_t count, uint64_t remote, uint32_t key)
{
    struct carillon_post post = new_post(qp, opcode, flags, context);

    put_segments(post.word, segments, count);
    put_slot(post.word, CARILLON_SLOTS - 1, remote, 0, key);
    return write_page(qp->device, qp->page, CARILLON_PAGE_SEND, post.word, sizeof post);
}

uint32_t carillon_send_and_invalidate(struct carillon_qp *qp, uint32_t flags, uint64_t context,
                                      const struct carillon_sge *segments, uint32_t count,
                                      uint32_t token)
{
    return post_to_target(qp, CARILLON_OPC_SEND_AND_INVALIDATE, flags, context, segments, count, 0,
                          token);
}

uint32_t carillon_read(struct carillon_qp *qp, uint32_t flags, uint64_t context,
                       const struct carillon_sge *segments, uint32_t count, uint64_t remote,
                       uint32_t key)
{
    return post_to_target(qp, CARILLON_OPC_READ, flags, context, segments, count, remote, key);
}

uint32_t carillon_write(struct carillon_qp *qp, uint32_t flags, uint64_t context,
                        const struct carillon_sge *segments, uint32_t count, uint64_t remote,
                        uint32_t key)
{
    return post_to_target(qp, CARILLON_OPC_WRITE, flags, context, segments, count, remote, key);
}

uint32_t carillon_post_recv(struct carillon_qp *qp, uint64_t context,
                            const struct carillon_sge *segments, uint32_t count)
{
    struct carillon_rpost post = {{0}};

    /* Segments and context lie where a post has them. */
    CARILLON_PUT(post.word, RPOST_QUEUE, qp->number);
    CARILLON_PUT(post.word, RPOST_CONTEXT, context);
    put_segments(post.word, segments, count);
    return write_page(qp->device, qp->page, CARILLON_PAGE_RECV, post.word, sizeof post);
}

/* -- memory */

uint32_t carillon_register(struct carillon_device *device, uint32_t number, uint64_t base,
                           uint64_t length, uint32_t zone, uint32_t rights, uint32_t *key)
{
    uint32_t args[6] = {number,       low(base),    high(base),
                        low(length),  high(length), pair(zone, rights)};
    uint32_t outs[ARGS] = {0}, result;

    result = (zone | rights) >> 16
                 ? CARILLON_BAD_ARGUMENT
                 : carillon_command(device, CARILLON_CMD_REGISTER_MR, args, 6, outs);
    *key = outs[0];
    return result;
}

uint32_t carillon_deregister(struct carillon_device *device, uint32_t number)
{
    return command_of(device, CARILLON_CMD_DEREGISTER_MR, number, 0);
}

uint32_t carillon_create_window(struct carillon_window *window, struct carillon_device *device,
                                uint32_t number, uint64_t context, uint32_t zone)
{
    uint32_t args[6] = {number, low(context), high(context), 0, 0, zone};
    uint32_t outs[ARGS] = {0}, result;

    result = carillon_command(device, CARILLON_CMD_CREATE_MW, args, 6, outs);
    window->device = device;
    window->number = number;
    window->key = outs[0];
    return result;
}

uint32_t carillon_close_window(struct carillon_window *window)
{
    return command_of(window->device, CARILLON_CMD_CLOSE_MW, window->number, 0);
}

uint32_t carillon_bind(struct carillon_window *window, struct carillon_qp *qp, uint32_t flags,
                       uint64_t context, const struct carillon_sge *range)
{
    uint32_t cause =
        post_to_target(qp, CARILLON_OPC_BIND, flags, context, range, 1, 0, window->key);

    if (!cause)
        window->key += NEXT_KEY;
    return cause;
}

uint32_t carillon_invalidate(struct carillon_qp *qp, uint32_t flags, uint64_t context,
                             uint32_t token)
{
    return post_to_target(qp, CARILLON_OPC_INVALIDATE, flags, context, NULL, 0, 0, token);
}
