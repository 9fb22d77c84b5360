/* Pairs of stages that exchange messages, coloured so that a rank takes part in at most one link per round; see
 * links.h. */
#include "backend/cuda/comm/links.h"

#include <stdlib.h>
#include <string.h>

static struct sl_cuda_link link_of(int stage, const struct sl_op *op) {
  const bool sends = op->kind == SL_OP_SEND;
  return (struct sl_cuda_link){.from = sends ? stage : op->peer,
                               .to = sends ? op->peer : stage,
                               .backward = op->lane == SL_LANE_SEND_B || op->lane == SL_LANE_RECV_B};
}

static int find(const struct sl_cuda_links *links, const struct sl_cuda_link *want) {
  for (size_t i = 0; i < links->count; i++) {
    const struct sl_cuda_link *at = &links->items[i];
    if (at->from == want->from && at->to == want->to && at->backward == want->backward) return (int)i;
  }
  return -1;
}

int sl_cuda_links_of(const struct sl_cuda_links *links, int stage, const struct sl_op *op) {
  const struct sl_cuda_link want = link_of(stage, op);
  return find(links, &want);
}

static enum sl_status add(struct sl_cuda_links *links, int stage, const struct sl_op *op) {
  const struct sl_cuda_link link = link_of(stage, op);
  if (link.from == link.to)
    return sl_fail(SL_ERR_INTERNAL, "stage %d sends to itself on lane %s", stage, sl_lane_name(op->lane));
  if (find(links, &link) >= 0) return SL_OK;
  SL_TRY(sl_grow(&links->items, &links->capacity, links->count + 1, sizeof *links->items));
  links->items[links->count++] = link;
  return SL_OK;
}

static enum sl_status collect(struct sl_cuda_links *links, const struct sl_job *job) {
  for (int c = 0; c < job->class_count; c++) {
    for (int kind = 0; kind < SL_PROGRAM_COUNT; kind++) {
      const struct sl_program *p = &job->classes[c].programs[kind];
      for (size_t i = 0; i < p->op_count; i++)
        if (sl_op_class_of(p->ops[i].kind) == SL_CLASS_P2P) SL_TRY(add(links, job->classes[c].pp_rank, &p->ops[i]));
    }
  }
  return SL_OK;
}

static int order(const void *a, const void *b) {
  const struct sl_cuda_link *x = a, *y = b;
  if (x->backward != y->backward) return x->backward ? 1 : -1;
  if (x->from != y->from) return x->from < y->from ? -1 : 1;
  return x->to < y->to ? -1 : x->to > y->to;
}

static bool share_a_stage(const struct sl_cuda_link *a, const struct sl_cuda_link *b) {
  return a->from == b->from || a->from == b->to || a->to == b->from || a->to == b->to;
}

/* The first round in which no earlier link shares a stage with link `i`. */
static int first_round(const struct sl_cuda_links *links, size_t i) {
  for (int round = 0;; round++) {
    bool taken = false;
    for (size_t k = 0; k < i; k++)
      taken |= links->items[k].round == round && share_a_stage(&links->items[k], &links->items[i]);
    if (!taken) return round;
  }
}

enum sl_status sl_cuda_links_plan(struct sl_cuda_links *out, const struct sl_job *job) {
  memset(out, 0, sizeof *out);
  const enum sl_status status = collect(out, job);
  if (status != SL_OK) {
    sl_cuda_links_free(out);
    return status;
  }
  if (out->count > 0) qsort(out->items, out->count, sizeof *out->items, order);
  for (size_t i = 0; i < out->count; i++) {
    out->items[i].round = first_round(out, i);
    if (out->items[i].round >= out->rounds) out->rounds = out->items[i].round + 1;
  }
  return SL_OK;
}

void sl_cuda_links_free(struct sl_cuda_links *links) {
  free(links->items);
  memset(links, 0, sizeof *links);
}
