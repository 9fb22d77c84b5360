/* Checks the input files of a measurement before anything is launched, so that a bad file gives one error line instead
 * of one per rank. */
#pragma once

#include "cli/options.h"
#include "cli/setup.h"

/* Reads the inputs that are pipes or standard input, for a command that forks predictions. Errors: of reading them. */
enum sl_status sl_inputs_keep(const struct sl_options *options);
/* A command that starts others reads its inputs in each, and a pipe or standard input would be empty for all but one.
 * Errors: SL_ERR_INPUT for such an input. */
enum sl_status sl_inputs_check_piped(const struct sl_options *options);
/* --data, and likewise --val-data: present, long enough, every token below the vocabulary size ("random:N" for an mlp).
 * --init: every tensor of the model is in the file, with its shape. Errors: SL_ERR_INPUT. */
enum sl_status sl_inputs_check(const struct sl_options *options, const struct sl_setup *setup);
/* The global batches of an evaluation, for a job that evaluates: eval_iters of the config, or as many as the validation
 * data has. Errors: SL_ERR_INPUT if there is none, or less than one batch. */
enum sl_status sl_inputs_eval_iters(const struct sl_options *options, const struct sl_setup *setup, int64_t *iters);
/* The number of training samples in --data: sequences of the plan's length, or the N of random:N, without those of
 * --val-split. */
enum sl_status sl_inputs_samples(const struct sl_options *options, const struct sl_setup *setup, int64_t *samples);
