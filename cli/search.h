/* Finds the largest micro-batch, the smallest world or the longest sequence that fits: predict --max-micro-batch,
 * --min-world, --max-seq.
 *
 * A larger micro-batch, a longer sequence and fewer ranks are assumed to need more memory, except for what a framework's
 * allocator reserves beyond it, which goes up and down. The search doubles its value until the limit is passed without
 * the reserve, bisects, and goes back from there one by one to what fits with it; every value that it tries is a real
 * build and a simulated step (cli/trial.h). If the configuration has a train_batch_size, that is kept, and only values that divide
 * it are tried; otherwise gradient_accumulation_steps is kept. Worlds are multiples of tp x pp x cp, and whole nodes
 * unless they are a part of one; sequence lengths multiples of a power of two: 1 / 64 of the model's n_positions, at
 * most 128. */
#pragma once

#include "cli/options.h"

#include <jansson.h>

/* Whether one of the three flags is given. */
bool sl_search_asked(const struct sl_options *options);
/* Runs the search: *found are the options with the value that fits, whose texts are in *texts; *search says what was
 * tried ("search" of record/keys.def, new reference). Errors: SL_ERR_INPUT if two searches are asked for, or the value
 * itself is also given; SL_ERR_CHECK if nothing fits; those of building the first value. */
struct sl_search_texts {
  char value[24], accumulation[24];
};
enum sl_status sl_search_run(const struct sl_options *options, struct sl_options *found, struct sl_search_texts *texts,
                             json_t **search);
/* "largest micro-batch that fits: 12; 13 needs 81.2 GiB" */
void sl_search_tell(const json_t *search, FILE *out);
