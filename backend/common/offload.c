/* Updates on the CPU, and copies of NVMe as requests of its file; see offload.h. */
#include "backend/common/offload.h"

#include "core/program/step_state.h"
#include "kernels/all.h"
#include "kernels/by_dtype.h"
#include "kernels/convert.h"

#include <math.h>

/* ---- updates ---- */

/* A sum of squares in double is finite exactly when every float in it is. */
enum sl_status sl_offload_norm(const struct sl_call *c) {
  struct sl_step_state *control = c->x[SL_AT_CONTROL];
  const enum sl_number type = sl_call_type(c, SL_AT_GRADIENT);
  double sum = 0;
  size_t first;
  const size_t n = sl_call_norm_range(c, &first);
  const char *gradient = c->x[SL_AT_GRADIENT];
  sl_kernels_of(type)->reduce_sum_squares(&sum, gradient + first * sl_convert_bytes(type), n, 0, c->x[SL_AT_SCRATCH]);
  if (!isfinite(sum)) control->overflow += 1;
  control->square_sum += c->op->scale * sum;
  return SL_OK;
}

/* An overflow: nothing changes. But the parameter may be written to where nothing stood so far, for a copy to the
 * device that reads it. */
static enum sl_status skip_update(const struct sl_call *c) {
  if (c->x[SL_AT_PARAM] != NULL)
    sl_convert(c->x[SL_AT_PARAM], sl_call_type(c, SL_AT_PARAM), c->x[SL_AT_MASTER], SL_NUMBER_F32, c->dim[0]);
  return SL_OK;
}

enum sl_status sl_offload_adam(const struct sl_call *c) {
  const struct sl_step_state *control = c->x[SL_AT_CONTROL];
  if (control->grad_factor < 0) return skip_update(c);
  struct sl_adam a = sl_call_adam(c, control->good_steps - 1);
  a.lr = control->lr;
  a.grad_scale = control->grad_factor;
  a.step = control->good_steps;
  sl_master_adam(c->x[SL_AT_MASTER], c->x[SL_AT_MOMENT1], c->x[SL_AT_MOMENT2], c->x[SL_AT_GRADIENT],
                 sl_call_type(c, SL_AT_GRADIENT), c->x[SL_AT_PARAM], sl_call_type(c, SL_AT_PARAM), c->dim[0], &a);
  return SL_OK;
}

enum sl_status sl_offload_sgd(const struct sl_call *c) {
  const struct sl_step_state *control = c->x[SL_AT_CONTROL];
  if (control->grad_factor < 0) return skip_update(c);
  struct sl_sgd s = sl_call_sgd(c);
  s.lr = control->lr;
  s.grad_scale = control->grad_factor;
  s.step = control->good_steps;
  sl_master_sgd(c->x[SL_AT_MASTER], c->x[SL_AT_MOMENT1], c->x[SL_AT_GRADIENT], sl_call_type(c, SL_AT_GRADIENT),
                c->x[SL_AT_PARAM], sl_call_type(c, SL_AT_PARAM), c->dim[0], &s);
  return SL_OK;
}

sl_offload_fn sl_offload_update(enum sl_op_kind kind) {
  switch (kind) {
  case SL_OP_NORM:
    return sl_offload_norm;
  case SL_OP_ADAM:
  case SL_OP_ADAMW:
    return sl_offload_adam;
  case SL_OP_SGD:
    return sl_offload_sgd;
  default:
    return NULL;
  }
}

/* ---- NVMe ---- */

/* The buffer of a class that has byte `at` of its NVMe space. */
static const char *owner(const void *context, int64_t at) {
  const struct sl_class *c = context;
  for (size_t b = 0; b < c->buffer_count; b++) {
    const struct sl_buffer *x = &c->buffers[b];
    for (int32_t s = 0; s < x->slots && x->space == SL_SPACE_NVME; s++) {
      const int64_t first = c->slot_offsets[x->first_slot + s];
      if (at >= first && at < first + x->bytes) return x->name;
    }
  }
  return NULL;
}

/* Optimizer states and parameters share a file; where their folders differ, it stands in that of the states. */
enum sl_status sl_offload_open_file(struct sl_nvme **out, const struct sl_plan *plan,
                                    const struct sl_class *rank_class) {
  const struct sl_config *c = plan->config;
  const char *folder = plan->strategy.optimizer_on_nvme ? c->zero.optimizer_nvme_path : c->zero.param_nvme_path;
  const struct sl_nvme_rules rules = {.block = c->aio.block_size,
                                      .depth = (int)(c->aio.queue_depth * c->aio.threads),
                                      .singly = c->aio.single_submit,
                                      .in_batches = !c->aio.overlap_events,
                                      .owner = owner,
                                      .context = rank_class};
  return sl_nvme_open(out, folder, rank_class->arena_bytes[SL_SPACE_NVME], &rules);
}

/* Which of the two operands of a copy lives on NVMe, and where the other is. */
struct sl_nvme_request sl_offload_request(const struct sl_call_rank *rank, const struct sl_issued *it) {
  const bool write = it->op->lane == SL_LANE_NVME_WRITE;
  const int there = sl_op_at(it->op, write ? SL_AT_OUT : SL_AT_X), here = sl_op_at(it->op, write ? SL_AT_X : SL_AT_OUT);
  const struct sl_slice *slice = &sl_op_slices(it->program, it->op)[there];
  char *blocks = sl_call_operand(rank, it, sl_op_at(it->op, SL_AT_SCRATCH));
  return (struct sl_nvme_request){.write = write,
                                  .at = (char *)sl_call_operand(rank, it, there) - rank->arena[SL_SPACE_NVME],
                                  .bytes = slice->bytes,
                                  .memory = sl_call_operand(rank, it, here),
                                  .blocks = blocks +
                                            (SL_MACHINE_PAGE - (uintptr_t)blocks % SL_MACHINE_PAGE) % SL_MACHINE_PAGE,
                                  .what = it->rank_class->buffers[slice->buffer].name};
}
