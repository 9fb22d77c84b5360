/* The run record: what one predict or measure found, as JSON with the same keys for both kinds. The keys are listed in
 * record/keys.def, from which docs/record.md is made. Names of seconds end in _s, of bytes in _bytes. */
#pragma once

#include "core/base/json.h"
#include "core/run/executor.h"
#include "core/run/timeline.h"

#include <jansson.h>

/* A run of more ranks than this lists only those that were simulated, and how many ranks each stands for. */
enum { SL_RECORD_SCHEMA = 1, SL_RECORD_RANKS = 256 };

struct sl_record_input {
  const struct sl_run *run; /* finished and still open */
  const struct sl_timeline *timeline;
  bool functional;
  bool per_rank;       /* list every rank, even more than SL_RECORD_RANKS */
  const char *command; /* the user's command line */
  json_t *options;     /* borrowed */
  json_t *environment; /* borrowed */
};

/* Gathers what all processes know and builds the record. Collective over the processes; each gets it. A new reference
 * in *out. Errors: SL_ERR_PEER if ranks disagree about the losses; the errors of exchange(). */
enum sl_status sl_record_build(const struct sl_record_input *input, json_t **out);

/* Reads and validates a record. Errors: SL_ERR_INPUT with file, line, column, key and expectation. */
enum sl_status sl_record_load(struct sl_json *doc, const char *path);
/* Validates a parsed document. */
enum sl_status sl_record_check(const struct sl_json *doc);
/* The loss of a step in a record's list, where null stands for a number that is not finite: NAN. */
double sl_record_loss(const json_t *losses, size_t step);
/* The row of a traffic list that counts the same calls as `like`; NULL if there is none. */
const json_t *sl_record_traffic_row(const json_t *list, const json_t *like);
/* Does `list` have another row that differs from `row` only in the number type? */
bool sl_record_traffic_twins(const json_t *list, const json_t *row);

/* The layers of every stage of the pipeline, in the order of the model. A new reference. */
json_t *sl_record_stage_layers(const struct sl_plan *plan);
/* Peak flop/s of all the hardware that the ranks use, in the type of the configuration's products: a GPU's own peak,
 * the peak of one core for a CPU. 0: unknown. */
double sl_record_peak_flops(const struct sl_plan *plan);
