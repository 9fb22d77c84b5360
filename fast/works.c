/* Prices identical ops once; see works.h. */
#include "fast/works.h"

#include "core/op/op.h"
#include "cost/collective.h"
#include "cost/compute.h"

#include <stdlib.h>
#include <string.h>

static bool same_group(const struct sl_cost_group *a, const struct sl_cost_group *b) {
  return a->first == b->first && a->stride == b->stride && a->outer == b->outer && a->size == b->size &&
         a->inner == b->inner;
}

static bool same(const struct sl_fast_work *x, const struct sl_fast_work *y) {
  const struct sl_work *a = &x->work, *b = &y->work;
  return a->kind == b->kind && a->variant == b->variant && a->dtype == b->dtype && a->lane == b->lane &&
         a->flags == b->flags && memcmp(a->dim, b->dim, sizeof a->dim) == 0 && a->members == b->members &&
         a->parts == b->parts && a->uneven == b->uneven && a->flops == b->flops && a->bytes == b->bytes &&
         a->size == b->size && a->epilogue_bytes == b->epilogue_bytes &&
         memcmp(a->terms, b->terms, sizeof a->terms) == 0 && same_group(&x->group, &y->group);
}

enum sl_status sl_fast_works_add(struct sl_fast_works *w, const struct sl_fast_work *work, int32_t *index) {
  for (*index = 0; *index < w->count; (*index)++)
    if (same(&w->all[*index], work)) return SL_OK;
  SL_TRY(sl_grow(&w->all, &w->capacity, (size_t)w->count + 1, sizeof *w->all));
  w->all[w->count++] = *work;
  return SL_OK;
}

static enum sl_status price(const struct sl_fast_work *x, const struct sl_cluster *cluster,
                            const struct sl_cost_rank *rank, double *seconds, double *beside) {
  const bool communicates = sl_op_is_comm(x->work.kind);
  *seconds = 0;
  if (!communicates) SL_TRY(sl_cost_compute(rank, &x->work, seconds));
  if (communicates && x->group.size > 0) {
    const struct sl_link link = sl_cost_group_link(cluster, &x->group);
    *seconds = sl_cost_collective(rank, &link, &x->work);
    *beside = sl_cost_lost_beside(rank, cluster, &link);
  }
  if (x->work.kind == SL_OP_JOIN) *seconds += rank->device->step_overhead;
  return SL_OK;
}

/* The host's seconds for a launch; 0 for calls of data parallelism, which are not known here. */
static double host_seconds(const struct sl_fast_work *x, const struct sl_cluster *cluster,
                           const struct sl_cost_rank *rank, bool stalls) {
  if (x->work.lane == SL_LANE_COMPUTE) return sl_cost_launch_host(rank, &x->work);
  if (x->group.size == 0) return 0;
  const int nodes = sl_cost_group_link(cluster, &x->group).nodes;
  return sl_cost_call_host(rank, &x->work, !stalls ? 0 : nodes > 1 ? nodes : 1);
}

enum sl_status sl_fast_works_price(struct sl_fast_works *w, const struct sl_cluster *cluster,
                                   const struct sl_cost_rank *rank, bool stalls) {
  if (w->seconds == NULL) SL_TRY(sl_calloc(&w->seconds, (size_t)w->count, sizeof *w->seconds));
  if (w->host == NULL) SL_TRY(sl_calloc(&w->host, (size_t)w->count, sizeof *w->host));
  if (w->bare == NULL) SL_TRY(sl_calloc(&w->bare, (size_t)w->count, sizeof *w->bare));
  for (int32_t i = 0; i < w->count; i++) {
    SL_TRY(price(&w->all[i], cluster, rank, &w->seconds[i], &w->beside));
    w->host[i] = host_seconds(&w->all[i], cluster, rank, stalls);
    w->bare[i] = sl_op_is_comm(w->all[i].work.kind) ? 0 : w->seconds[i];
  }
  return SL_OK;
}

void sl_fast_works_free(struct sl_fast_works *w) {
  free(w->all);
  free(w->seconds);
  free(w->bare);
  free(w->host);
  *w = (struct sl_fast_works){0};
}
