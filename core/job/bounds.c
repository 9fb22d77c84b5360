/* See bounds.h. */
#include "core/job/bounds.h"

#include "core/base/checked.h"
#include "core/base/limits.h"
#include "core/op/wire.h"

/* Of all slots, each once: buffers of a family have the same ones, whose numbers were given with the first of them. */
static int64_t buffer_bytes(const struct sl_class *c) {
  int64_t sum = 0;
  int32_t numbered = 0;
  for (size_t i = 0; i < c->buffer_count; i++) {
    const struct sl_buffer *b = &c->buffers[i];
    if (b->first_slot < numbered) continue;
    numbered = b->first_slot + b->slots;
    sum = sl_sum(sum, sl_product(b->slots, b->bytes + SL_ALIGN));
  }
  return sum;
}

/* What all calls of a step move. */
static int64_t traffic_bytes(const struct sl_program *p) {
  int64_t sum = 0;
  for (size_t i = 0; i < p->instance_count; i++) {
    const struct sl_instance *n = &p->instances[i];
    for (const struct sl_op *op = &p->ops[n->first_op]; op < &p->ops[n->first_op + n->op_count]; op++)
      if (sl_op_is_comm(op->kind)) sum = sl_sum(sum, sl_op_comm_bytes(op));
  }
  return sum;
}

enum sl_status sl_job_check_bounds(const struct sl_class *c) {
  const struct {
    const char *what;
    int64_t bytes;
  } bounds[] = {{"buffers", buffer_bytes(c)}, {"traffic in a step", traffic_bytes(&c->programs[SL_PROGRAM_STEP])}};
  for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
    if (bounds[i].bytes <= SL_MAX_BYTES) continue;
    return sl_fail(SL_ERR_INPUT, "pipeline rank %d: needs %s bytes of %s; expected at most %lld (1 EiB)", c->pp_rank,
                   sl_count_text(bounds[i].bytes).text, bounds[i].what, (long long)SL_MAX_BYTES);
  }
  return SL_OK;
}
