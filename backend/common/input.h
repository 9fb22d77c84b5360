/* Input data for all backends: which sequences or samples a micro-batch consists of, and their bytes. A training step
 * draws from the training samples; an evaluation (SL_PROGRAM_EVAL) reads the held-out samples in order.
 *
 * A global batch is the next B samples of the data's shuffled order. Each data-parallel rank takes a contiguous share
 * of it and splits that into micro-batches. */
#pragma once

#include "core/io/split.h"
#include "core/run/executor.h"

struct sl_input {
  const struct sl_plan *plan; /* borrowed */
  struct sl_data data, val_data;
  bool has_data, has_val_data;
  int64_t samples; /* sequences, or random samples, to train on */
  int64_t val_first,
      val_samples; /* of val_data where that is there, else of `data`, behind those that are trained on */
};

/* Opens the sources that `options` names. options->data is a file of tokens or, for an MLP, "random:N" samples (NULL:
 * 65536 of them). Held-out samples come from options->val_data, or are the second share of options->split
 * (core/io/split.h), or the share options->val_split of options->data (core/io/data.h, sl_data_held_out). Errors:
 * SL_ERR_INPUT. */
enum sl_status sl_input_open(struct sl_input *input, const struct sl_plan *plan, const struct sl_exec_options *options);
void sl_input_close(struct sl_input *input); /* accepts a zeroed one */

/* The first sample of training step `step`, or of batch `step` of an evaluation, whichever `it` belongs to. */
int64_t sl_input_first_sample(const struct sl_input *input, const struct sl_exec_options *options,
                              const struct sl_issued *it, int64_t step);
/* The position of the first sequence of this op's micro-batch inside the global batch, for data-parallel rank `dp`. */
int64_t sl_input_first_sequence(const struct sl_plan *plan, int dp, const struct sl_issued *it);

/* Reads the micro-batch of a LOAD_BATCH op, in the step or evaluation batch that begins with sample `first_sample`,
 * into host memory: inputs and targets, either of which may be NULL, of the rank at `rank`. Tokens are int32 (B,T),
 * samples of an MLP rows of the op's type. Errors: SL_ERR_INPUT. */
enum sl_status sl_input_batch(const struct sl_input *input, struct sl_coord rank, int64_t first_sample,
                              const struct sl_issued *it, void *inputs, void *targets);
