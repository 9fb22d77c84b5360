/* The run record: what one predict or measure found, as JSON with the same keys for both kinds. The keys stand in
 * record/keys.def, from which docs/record.md is made. Seconds end in _s, bytes in _bytes. */
#pragma once

#include "core/base/json.h"
#include "core/run/executor.h"
#include "core/run/timeline.h"

#include <jansson.h>

/* Of more ranks than this a record lists those that were simulated, and for how many each stands. */
enum { SL_RECORD_SCHEMA = 1, SL_RECORD_RANKS = 256 };

struct sl_record_input {
  const struct sl_run *run; /* finished and still open */
  const struct sl_timeline *timeline;
  bool functional;
  bool per_rank;       /* list every rank, however many there are: see SL_RECORD_RANKS */
  const char *command; /* the user's command line */
  json_t *options;     /* borrowed */
  json_t *environment; /* borrowed */
};

/* Gather what every process knows and build the record: collective over the processes; each gets it. New reference in
 * *out. Errors: SL_ERR_PEER when ranks disagree about the losses; whatever exchange() reports. */
enum sl_status sl_record_build(const struct sl_record_input *input, json_t **out);

/* Read and validate a record. Errors: SL_ERR_INPUT with file, line, column, key and expectation. */
enum sl_status sl_record_load(struct sl_json *doc, const char *path);
/* The same on a parsed document. */
enum sl_status sl_record_check(const struct sl_json *doc);
/* The row of a list of traffic that counts what `like` counts, NULL where it has none. */
const json_t *sl_record_traffic_row(const json_t *list, const json_t *like);
/* Does `list` have another row that differs from `row` in the number type alone, so that only that tells them apart? */
bool sl_record_traffic_twins(const json_t *list, const json_t *row);

/* flop/s of all the hardware that the ranks stand on, in the products of the configuration: a GPU's peak is its own, a CPU's is that of one
 * core. 0: not known. */
double sl_record_peak_flops(const struct sl_plan *plan);
