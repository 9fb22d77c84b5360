/* The measured cost of a work; see measured.h. */
#include "cost/measured.h"

#include "core/op/workspace.h"
#include "cost/gemm.h"

#include <math.h>

const struct sl_op_cost *sl_cost_entry(const struct sl_cost_rank *rank, const struct sl_work *work) {
  const int ranks = work->members > 0 ? work->members : rank->ranks;
  if (rank->costs == NULL || rank->costs->count == 0) return NULL;
  /* a send is measured by the one who receives it */
  const enum sl_op_kind kind = work->kind == SL_OP_SEND ? SL_OP_RECV : work->kind;
  return sl_op_cost_find(rank->costs, (int)kind, work->variant, work->dtype, ranks);
}

static void put_flops(struct sl_work *work, double flops, bool whole) {
  work->terms[SL_TERM_FLOPS] = whole ? flops : 0;
  work->terms[SL_TERM_UNALIGNED] = whole ? 0 : flops;
}

static void put_product(struct sl_work *work, const struct sl_device *device) {
  const int64_t *dim = work->dim;
  const double flops = work->terms[SL_TERM_FLOPS];
  work->terms[SL_TERM_IDLE] = sl_gemm_padded_flops(device, work->dtype, 1, dim[0], dim[1], dim[2]) - flops;
  put_flops(work, flops, sl_gemm_is_aligned(work->dtype, sl_gemm_rows(work)));
}

/* A block of attention's kernel takes 64 queries by 64 keys at a time, those on the diagonal, and at the end of a
 * window, whole. Under context parallelism a rank has its share of the whole sequences' tiles. */
static double tiled_scores(const int64_t *dim) {
  const double tiles = ceil((double)dim[1] * (double)sl_shape_cp(dim) / 64),
               window = dim[5] > 0 ? ceil((double)dim[5] / 64) + 1 : tiles;
  const double seen = fmin(window, tiles), of_a_head = seen * (seen + 1) / 2 + (tiles - seen) * seen;
  return (double)dim[0] * (double)dim[2] * 64 * 64 * of_a_head / (double)sl_shape_cp(dim);
}

/* Scores that could be done while the longest block still runs: backward's block of keys takes the rank's queries of
 * the heads that share them, or of a part of these, forward's block of queries all keys; a multiprocessor has room for
 * two blocks at least. */
static double waited_scores(const struct sl_device *device, const struct sl_work *work, double scores) {
  const int64_t *dim = work->dim;
  const bool shared = work->kind == SL_OP_FLASH_BWD && dim[4] > 0;
  const double sharing = shared ? (double)dim[2] / (double)dim[4] / sl_op_attention_parts(dim) : 1;
  const double tokens = (double)dim[1] * (work->kind == SL_OP_FLASH_BWD ? 1 : (double)sl_shape_cp(dim));
  const double longest = 64 * 64 * sharing * ceil(tokens / 64), blocks = 2.0 * device->sm_count;
  return fmax(0, longest * blocks - scores);
}

static void put_attention(struct sl_work *work, const struct sl_device *device) {
  const double scores = tiled_scores(work->dim);
  const double waited = waited_scores(device, work, scores);
  const double flops = work->flops * scores / work->terms[SL_TERM_SCORES];
  const bool whole = sl_gemm_is_aligned(work->dtype, work->dim[3]);
  put_flops(work, flops, whole);
  work->terms[SL_TERM_IDLE] = whole ? flops * waited / scores : 0;
  work->terms[SL_TERM_SCORES] = whole ? scores : 0;
}

struct sl_work sl_cost_as_measured(const struct sl_device *device, int ranks, const struct sl_work *work) {
  const bool flash = work->kind == SL_OP_FLASH_FWD || work->kind == SL_OP_FLASH_BWD;
  const enum sl_op_class op_class = sl_op_class_of(work->kind);
  struct sl_work out = *work;
  if (device->kind != SL_DEVICE_GPU || op_class == SL_CLASS_OPTIMIZER)
    return sl_work_in_cache(work, (double)device->cache_bytes / (ranks > 0 ? ranks : 1));
  if (device->sm_count == 0 || work->dtype == SL_F32) return out;
  if (op_class == SL_CLASS_GEMM) put_product(&out, device);
  if (flash) put_attention(&out, device);
  return out;
}

/* An entry whose ranks took turns already knows of those. */
static double turns_beyond(const struct sl_cost_rank *rank, const struct sl_op_cost *entry) {
  const double own = (double)entry->ranks / (rank->device->cores > 0 ? rank->device->cores : 1);
  return rank->turns > 1 && rank->turns > own ? rank->turns / (own > 1 ? own : 1) : 1;
}

double sl_cost_by_entry(const struct sl_cost_rank *rank, const struct sl_op_cost *entry, const struct sl_work *work) {
  const struct sl_work here = sl_cost_as_measured(rank->device, entry->ranks, work);
  return turns_beyond(rank, entry) * sl_op_cost_seconds(entry, &here);
}

bool sl_cost_stands_in(const struct sl_op_cost *entry, const struct sl_work *work) {
  const bool epilogue = work->epilogue_bytes > 0 && entry->variant != work->variant;
  return epilogue || (entry->dtype != work->dtype && !sl_op_cost_moves(entry->kind));
}
