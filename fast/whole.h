/* What the fast clock has no formulas for: a step as a whole, on the exact clock, of programs that were not lowered block by block.
 *
 * The plan is lowered with a few blocks a stage, and with a few more; where blocks turn out to follow each other alike, the step of
 * all of them follows (fast/stretch.h), else it is lowered as it is. A step of many micro-batches is told from two of fewer: once
 * its pipeline is full, each further micro-batch adds as much. So this covers whatever the exact clock does, and what it takes grows
 * with neither the model's depth, to lower, nor with the micro-batches. */
#pragma once

#include "fast/fast.h"

struct sl_fast_whole;

/* The step of `config`, which has tp, pp, micro-batch and all else, on `world` ranks for `n_micro` micro-batches. Has no seconds yet.
 * `model` and `cluster` are borrowed; *out is to be freed. *more: by how many blocks its programs are alike, -1: they are not; 0: that
 * is not known yet, and is found out. It is the same for other micro-batches and worlds, or the step is lowered as it is. Errors: those
 * of a plan. */
enum sl_status sl_fast_whole_take(struct sl_fast_whole **out, const struct sl_model *model,
                                  const struct sl_config *config, const struct sl_cluster *cluster, int world,
                                  int64_t n_micro, int64_t *more);
/* Fill in seconds, with the cluster's numbers as they are now and the kernel set's as `costs` has them. */
enum sl_status sl_fast_whole_price(struct sl_fast_whole *whole, const struct sl_kernel_costs *costs);
/* `n_micro`: as taken or, where sl_fast_whole_length says the same of both, another. */
void sl_fast_whole_predict(const struct sl_fast_whole *whole, int64_t n_micro, struct sl_fast_prediction *out);
void sl_fast_whole_free(struct sl_fast_whole *whole);
/* Which steps serve for one of `n_micro` micro-batches: itself, or, below 0, those that also serve for all others with that number. */
int64_t sl_fast_whole_length(const struct sl_config *config, int64_t n_micro);
