/* Input: which sequences or samples a micro-batch is, and their bytes, for whatever backend runs it. A step draws from those that are
 * trained on, an evaluation (SL_PROGRAM_EVAL) reads those that are not, from their first on.
 *
 * A global batch is B draws of the data's order, behind those of the step before; a data-parallel rank takes its contiguous share
 * of it and cuts that into micro-batches. */
#pragma once

#include "core/io/data.h"
#include "core/run/executor.h"

struct sl_input {
  const struct sl_plan *plan; /* borrowed */
  struct sl_data data, val_data;
  bool has_data, has_val_data;
  int64_t samples; /* sequences, or random samples, to train on */
  int64_t val_first,
      val_samples; /* of val_data where that is there, else of `data`, behind those that are trained on */
};

/* Open the sources that `options` names: options->data, a file of tokens, "random:N" samples for an mlp (NULL: 65536 of them), and
 * options->val_data, or of the former what options->val_split says (core/io/data.h, sl_data_held_out). Errors: SL_ERR_INPUT. */
enum sl_status sl_input_open(struct sl_input *input, const struct sl_plan *plan, const struct sl_exec_options *options);
void sl_input_close(struct sl_input *input); /* accepts a zeroed one */

/* The first sample of the step `step` of a run with these options that `it` is of, or of the batch `step` of an evaluation. */
int64_t sl_input_first_sample(const struct sl_input *input, const struct sl_exec_options *options,
                              const struct sl_issued *it, int64_t step);
/* The position of the first sequence of this op's micro-batch inside the global batch, for data-parallel rank `dp`. */
int64_t sl_input_first_sequence(const struct sl_plan *plan, int dp, const struct sl_issued *it);

/* The micro-batch of a LOAD_BATCH op in the step, or the evaluation's batch, that begins with sample `first_sample` of its order: its inputs and its
 * targets, in host memory; NULL leaves one out. Tokens are int32 (B,T); an mlp's samples rows of the op's type. Errors: SL_ERR_INPUT. */
enum sl_status sl_input_batch(const struct sl_input *input, int dp, int64_t first_sample, const struct sl_issued *it,
                              void *inputs, void *targets);
