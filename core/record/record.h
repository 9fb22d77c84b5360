/* The run record: what one predict or measure found, as JSON with the same keys for both kinds.
 *
 *   schema, kind, functional, command, options, model, config, cluster, plan, environment
 *   steps, step_time_s (median without the first step), step_times_s, step_time_low_s, step_time_high_s (5th and 95th
 *   percentile without the first; of a prediction with a calibrated profile the 90 % interval, cost/error.h), init_time_s, tokens_per_s, mfu, model_flops_per_step
 *   plan               {world, dp, tp, pp, cp, zero_stage, shard_size (data-parallel ranks that shard among themselves),
 *                      virtual_stages (stages of a pipeline rank), schedule, stages (layers of each, in the order of the
 *                      model), sequence_parallel, recompute, micro_batch, micro_batches, global_batch, seq, threads,
 *                      parameters, padded_vocab_size (of a model with a vocabulary)}
 *   breakdown_s        last step of the slowest rank: {step, compute, idle, exposed_total, <op class>.., exposed:
 *                      {<group>.., pipeline}}; with a pipeline also bubble, in which neither compute nor a collective
 *                      among ranks of one stage ran. An exposed send, receive or collective includes the wait for the
 *                      others, so it overlaps the bubble
 *   memory             {device, host, nvme: {peak_bytes, ranks}}; device also {by_category, by_category_max, by_phase,
 *                      process_bytes}; by_category + fragmentation sum to peak_bytes; the worst rank stands at the top
 *   traffic            [{group, op, payload, dtype, calls, bytes, wire_bytes, busbw_GBps}] per step, largest of all ranks
 *   ranks              [{rank, pp, dp, cp, tp, simulated_as?, compute_s, bubble_s (with a pipeline), calls, bytes,
 *                      wire_bytes, call_hash, traffic}]
 *   losses, grad_norms, learning_rates, skipped_steps: measured only; a prediction leaves out what it cannot know.
 *   epoch_losses (means), epoch_steps: where measure was asked for epochs
 *   as_rank, as_rank_measured: of one rank of a plan, run alone
 *
 * Seconds end in _s, bytes in _bytes; traffic bytes are nccl-tests sizes (PERFORMANCE.md there), busbw = wire bytes /
 * time. */
#ifndef SL_CORE_RECORD_RECORD_H
#define SL_CORE_RECORD_RECORD_H

#include "core/base/json.h"
#include "core/run/executor.h"
#include "core/run/timeline.h"

#include <jansson.h>

enum { SL_RECORD_SCHEMA = 1 };

struct sl_record_input {
  const struct sl_run *run; /* finished and still open */
  const struct sl_timeline *timeline;
  bool functional;
  const char *command; /* the user's command line */
  json_t *options;     /* borrowed */
  json_t *environment; /* borrowed */
};

/* Processes of the run's backend, and which of them this one is: 1 and 0 without exchange(). */
int sl_record_processes(const struct sl_run *run);
int sl_record_process(const struct sl_run *run);

/* Gather what every process knows and build the record: collective over the processes; each gets it. New reference in
 * *out. Errors: SL_ERR_PEER when ranks disagree about the losses; whatever exchange() reports. */
enum sl_status sl_record_build(const struct sl_record_input *input, json_t **out);

/* Read and validate a record. Errors: SL_ERR_INPUT with file, line, column, key and expectation. */
enum sl_status sl_record_load(struct sl_json *doc, const char *path);
/* The same on a parsed document. */
enum sl_status sl_record_check(const struct sl_json *doc);

#endif
