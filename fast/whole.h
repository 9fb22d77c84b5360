/* Predicts what the fast clock has no formulas for: simulates a whole step on the exact clock, without lowering it
 * block by block.
 *
 * The plan is lowered with a few blocks per stage, and with a few more. If the blocks turn out to repeat, the step with
 * all blocks is derived from these (fast/stretch.h); otherwise the plan is lowered at full depth. Steps of many
 * micro-batches are interpolated between two, a full pipeline's and one of as many or more: as long as the same path is
 * the longest, every further micro-batch adds the same time, and a third step between the two tells whether it is. This
 * covers whatever the exact clock does, and its cost does not grow with the model's depth, apart from the simulation. */
#pragma once

#include "fast/fast.h"

struct sl_fast_whole;

/* Takes the step of `config`, which has tp, pp, micro-batch size and everything else, on `world` ranks with `n_micro`
 * micro-batches: `itself`, or those steps that serve for it and others. It has no seconds until it is priced. `model`
 * and `cluster` are borrowed; the caller frees *out. *more: the number of blocks after which the programs repeat; -1 if
 * they do not, so that the step is lowered at full depth; 0 if that is not known yet and is to be found out. It is the
 * same for other numbers of several micro-batches and other worlds. Errors: those of a plan. */
enum sl_status sl_fast_whole_take(struct sl_fast_whole **out, const struct sl_model *model,
                                  const struct sl_config *config, const struct sl_cluster *cluster, int world,
                                  int64_t n_micro, bool itself, int64_t *more);
/* Fills in seconds, from the current numbers of the cluster and with `costs` for the kernel set. */
enum sl_status sl_fast_whole_price(struct sl_fast_whole *whole, const struct sl_kernel_costs *costs);
/* `n_micro`: as in sl_fast_whole_take, or another for which sl_fast_whole_length returns the same. Returns false,
 * without a prediction, if these steps turn out not to serve for others, so that `n_micro` must be taken itself. */
bool sl_fast_whole_predict(const struct sl_fast_whole *whole, int64_t n_micro, struct sl_fast_prediction *out);
void sl_fast_whole_free(struct sl_fast_whole *whole);
/* Which steps serve for a step of `n_micro` micro-batches: itself, or, if negative, those that serve for all numbers of
 * micro-batches with the same result. */
int64_t sl_fast_whole_length(const struct sl_config *config, int64_t n_micro);
