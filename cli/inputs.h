/* The files of a measurement, looked at before anything is launched, so that a bad one is one error line and not one per
 * rank. */
#pragma once

#include "cli/options.h"
#include "cli/setup.h"

/* --data: present, long enough, every token below the vocabulary ("random:N" for an mlp), and --val-data likewise. --init: every tensor of the model
 * is in the file, with its shape. Errors: SL_ERR_INPUT. */
enum sl_status sl_inputs_check(const struct sl_options *options, const struct sl_setup *setup);
/* Global batches of an evaluation: eval_iters of the config, or those that the validation data has. Of a job that evaluates. Errors:
 * SL_ERR_INPUT: none, or less than one batch. */
enum sl_status sl_inputs_eval_iters(const struct sl_options *options, const struct sl_setup *setup, int64_t *iters);
/* How many samples to train on --data holds for the plan: sequences of its length, or the N of random:N, without those of --val-split. */
enum sl_status sl_inputs_samples(const struct sl_options *options, const struct sl_setup *setup, int64_t *samples);
