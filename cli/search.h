/* The largest micro-batch, the fewest ranks or the longest sequence that fits: predict --max-micro-batch, --min-world, --max-seq.
 *
 * What is searched is taken to be monotone: a larger micro-batch, a longer sequence and fewer ranks need more memory. Steps are doubled until
 * the answer is passed, then halved; each value that is looked at is a real build and a simulated step (cli/trial.h). Where the configuration
 * has a train_batch_size, it stays, and only values that divide it are looked at; else gradient_accumulation_steps stays. Ranks are
 * searched in multiples of tp x pp x cp, sequences in steps of a power of two: 1 / 64 of the model's n_positions, at most 128. */
#pragma once

#include "cli/options.h"

#include <jansson.h>

/* Is one of the three asked for? */
bool sl_search_asked(const struct sl_options *options);
/* Look for it: *found are the options with the value that fits, the texts of which stand in *found_text; *search says what was looked at ("search"
 * of record/keys.def, new reference). Errors: SL_ERR_INPUT where two of them are asked for, or the value is given, too; SL_ERR_CHECK where
 * nothing fits; those of a build of the first value. */
struct sl_search_texts {
  char value[24], accumulation[24];
};
enum sl_status sl_search_run(const struct sl_options *options, struct sl_options *found, struct sl_search_texts *texts,
                             json_t **search);
/* "largest micro-batch that fits: 12; 13 needs 81.2 GiB" */
void sl_search_tell(const json_t *search, FILE *out);
