/* See reducer.h. torch copies tensor by tensor, on the stream that computes: into a bucket as the hook of each gradient
 * runs, which also divides it by the number of ranks (torch/csrc/distributed/c10d/reducer.cpp,
 * mark_variable_ready_dense), and back in finalize_backward, which waits for one bucket after the other and copies what
 * it holds (finalize_bucket_dense, copy_bucket_to_grad). Here the copies into a bucket are issued when its last
 * gradient is complete. */
#include "core/lower/reducer.h"

#include "core/lower/lower.h"
#include "core/lower/reduce.h"

/* Elements of the flat space from tensor `i` of bucket `b` to the one behind it. */
static int64_t span(const struct sl_lowering *l, const struct sl_bucket *b, int i) {
  const struct sl_placed *t = l->pp_rank->tensors;
  return (i < b->last ? t[i + 1].flat : b->lo + b->count) - t[i].flat;
}

static enum sl_status copy(struct sl_lowering *l, struct sl_program *p, const struct sl_bucket *b, int i, bool back) {
  const int64_t first = l->pp_rank->tensors[i].flat, count = span(l, b, i);
  const struct sl_operand kept = sl_build_part(l, l->homes->flat, SL_READ, first, count),
                          sent = sl_build_part(l, b->buffer, SL_READ, first - b->lo, count);
  return sl_zero_convert(l, p, back ? sent : kept, back ? kept : sent, count, SL_PHASE_BACKWARD, false);
}

enum sl_status sl_reducer_copy_in(struct sl_lowering *l, struct sl_program *p, const struct sl_bucket *b) {
  for (int i = b->last; i >= b->first; i--) SL_TRY(copy(l, p, b, i, false));
  return SL_OK;
}

enum sl_status sl_reducer_copy_back(struct sl_lowering *l, struct sl_program *p) {
  const struct sl_reduce *r = l->zero->reduce;
  for (const struct sl_bucket *b = r->buckets; b < r->buckets + r->bucket_count; b++)
    for (int i = b->last; b->launched && i >= b->first; i--) SL_TRY(copy(l, p, b, i, true));
  return SL_OK;
}
