/* Sums over micro-batches of gradients whose optimizer is in host memory; see host_sum.h. */
#include "core/lower/host_sum.h"

#include "core/lower/lower.h"

bool sl_host_sum_applies(const struct sl_lowering *l) {
  return l->plan->strategy.sums_through_host && l->plan->n_micro > 1 && l->plan->stage_count == 1;
}

static int64_t largest_tensor(const struct sl_lowering *l) {
  int64_t most = 0;
  for (int i = 0; i < l->pp_rank->tensor_count; i++)
    if (l->pp_rank->tensors[i].numel > most) most = l->pp_rank->tensors[i].numel;
  return most;
}

static enum sl_status open_on_host(struct sl_lowering *l, int64_t count, const char *name, int32_t *out) {
  SL_TRY(sl_build_buffer(l, out, SL_SCOPE_PERSISTENT, SL_CATEGORY_GRADIENT, l->dtype, count, "%s", name));
  sl_build_move(l, *out, SL_SPACE_HOST);
  return SL_OK;
}

/* In both memories there is room for the largest parameter, whatever the number of micro-batches
 * (temp_grad_buffer_for_gpu_offload, temp_grad_buffer_for_cpu_offload). */
enum sl_status sl_host_sum_open(struct sl_lowering *l) {
  struct sl_homes *h = l->homes;
  const int64_t most = largest_tensor(l);
  int32_t unused;
  if (!l->plan->strategy.sums_through_host) return SL_OK;
  SL_TRY(sl_build_buffer(l, &h->restored, SL_SCOPE_PERSISTENT, SL_CATEGORY_GRADIENT, l->dtype, most, "grad.restored"));
  SL_TRY(open_on_host(l, most, "grad.temporary", &unused));
  return sl_host_sum_applies(l) ? open_on_host(l, l->pp_rank->shard_numel, "grad.summed", &h->summed) : SL_OK;
}

static enum sl_status add(struct sl_lowering *l, struct sl_program *p, struct sl_operand part, int64_t first,
                          int64_t count) {
  const struct sl_pass *pass = &l->zero->reduce->pass;
  const struct sl_operand sum = sl_build_part(l, l->homes->summed, SL_READ, first, count);
  const struct sl_operand restored = sl_build_part(l, l->homes->restored, SL_READ, 0, count);
  if (!pass->first) {
    SL_TRY(sl_zero_convert(l, p, sum, restored, count, SL_PHASE_BACKWARD, false));
    SL_TRY(sl_zero_convert(l, p, restored, part, count, SL_PHASE_BACKWARD, true));
  }
  SL_TRY(sl_zero_convert(l, p, part, sum, count, SL_PHASE_BACKWARD, false));
  if (!pass->last) return SL_OK;
  return sl_zero_convert(l, p, part, sl_home_part(l, SL_ROLE_GRAD, SL_WRITE, first, count), count, SL_PHASE_BACKWARD,
                         false);
}

/* Without overlap_comm the copies are on the stream of compute. */
enum sl_status sl_host_sum(struct sl_lowering *l, struct sl_program *p, int32_t buffer, int64_t at, int64_t first,
                           int64_t count) {
  const int64_t most = largest_tensor(l);
  for (int64_t done = 0, piece; done < count; done += piece) {
    piece = count - done < most ? count - done : most;
    SL_TRY(add(l, p, sl_build_part(l, buffer, SL_READ, at + done, piece), first + done, piece));
  }
  if (!l->plan->strategy.overlap) p->ops[p->op_count - 1].flags |= SL_OP_BLOCKING;
  return SL_OK;
}
