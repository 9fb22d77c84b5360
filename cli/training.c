/* See training.h. */
#include "cli/training.h"

#include "cli/children.h"
#include "cli/ended.h"
#include "cli/inputs.h"
#include "cli/recovered.h"
#include "core/base/checked.h"
#include "core/base/machine.h"
#include "core/checkpoint/fits.h"
#include "core/checkpoint/folder.h"
#include "core/checkpoint/held.h"
#include "core/checkpoint/history.h"
#include "core/checkpoint/pieces.h"
#include "core/checkpoint/predict.h"
#include "core/checkpoint/restore.h"

#include <stdlib.h>

/* --- before ranks start --- */

static enum sl_status check_together(const struct sl_options *o) {
  const char *needs = sl_options_given(o, "save-every") ? "save-every" : sl_options_given(o, "keep") ? "keep" : NULL;
  if (needs != NULL && o->checkpoint == NULL)
    return sl_fail(SL_ERR_INPUT, "--%s: is given without --checkpoint; expected the folder of the checkpoints", needs);
  if (o->resume == NULL && o->checkpoint == NULL) return SL_OK;
  if (o->of_world > 0)
    return sl_fail(SL_ERR_INPUT, "--%s: is given beside --as-rank, which runs one rank of many; expected one of them",
                   o->resume != NULL ? "resume" : "checkpoint");
  if (o->resume != NULL && o->init != NULL)
    return sl_fail(SL_ERR_INPUT,
                   "--init: is given beside --resume, whose weights are the checkpoint's; expected one of them");
  if (o->resume != NULL && o->epochs > 0 && o->recovered == NULL) /* a recovered run counts epochs from the job's
                                                                   * start */
    return sl_fail(SL_ERR_INPUT,
                   "--epochs: is given beside --resume; expected --steps, counted from the training's start");
  return SL_OK;
}

/* The checkpoint that --resume names. */
static enum sl_status open_from(struct sl_checkpoint *from, const struct sl_options *options) {
  char *path;
  SL_TRY(sl_folder_find(&path, options->checkpoint, options->resume));
  const enum sl_status status = sl_checkpoint_open(from, path);
  free(path);
  return status;
}

static void tell_scales(const struct sl_checkpoint *from, const struct sl_config *config) {
  const bool has = sl_checkpoint_has_scales(from);
  if (config->sl.fp8 && !has)
    sl_warn("shardlab.fp8: %s has no scales, as it was not written in fp8; all scales are 1 in the first step, as in a "
            "new training's",
            from->path);
  if (!config->sl.fp8 && has)
    sl_warn("%s: was written in fp8; its scales are not used, and not in checkpoints of this run", from->path);
}

static enum sl_status check_from(const struct sl_checkpoint *from, const struct sl_options *options,
                                 const struct sl_setup *setup) {
  int64_t samples;
  SL_TRY(sl_checkpoint_fits(from, &setup->plan));
  if (from->manifest.step >= options->steps)
    return sl_fail(SL_ERR_INPUT,
                   "--steps: is %lld, counted from the training's start, and %s has taken %lld; expected more",
                   (long long)options->steps, from->path, (long long)from->manifest.step);
  SL_TRY(sl_inputs_samples(options, setup, &samples));
  if (samples != from->manifest.data_samples)
    sl_warn("--data: has %lld samples, that of %s had %lld: their order is another", (long long)samples, from->path,
            (long long)from->manifest.data_samples);
  const int64_t steps = from->manifest.step, batch = setup->plan.global_batch;
  if (sl_product(steps, batch) != from->manifest.samples)
    sl_warn(
        "%s: has taken %lld samples in %lld steps, and a step takes %lld now: with another batch the losses are others",
        from->path, (long long)from->manifest.samples, (long long)steps, (long long)batch);
  tell_scales(from, setup->plan.config);
  return SL_OK;
}

/* Checkpoints of the same steps give way to those of this training. */
static void warn_of_others(const char *folder) {
  int64_t *steps;
  const size_t count = sl_folder_steps(&steps, folder);
  if (count > 0)
    sl_warn("%s: holds checkpoints of another training, up to step %lld, and without --resume this one begins anew: it "
            "replaces those of its own steps",
            folder, (long long)steps[count - 1]);
  free(steps);
}

enum sl_status sl_training_check(const struct sl_options *options, const struct sl_setup *setup) {
  struct sl_checkpoint from;
  SL_TRY(check_together(options));
  if (options->checkpoint != NULL) SL_TRY(sl_folder_check(options->checkpoint));
  if (options->resume == NULL) {
    if (options->checkpoint != NULL && options->recovered == NULL) warn_of_others(options->checkpoint);
    return SL_OK;
  }
  SL_TRY(open_from(&from, options));
  const enum sl_status status = check_from(&from, options, setup);
  sl_checkpoint_close(&from);
  return status;
}

void sl_training_name_outputs(const struct sl_options *options) {
  static char *stem; /* lives as long as the process, since the list of outputs refers to it */
  const int64_t restarts = options->recovered != NULL ? options->recovered->most : options->max_restarts;
  if (options->checkpoint == NULL || stem != NULL) return;
  if (sl_folder_stem(&stem, options->checkpoint) == SL_OK) sl_children_name_output(stem, (int)restarts + 1);
}

/* --- in a rank --- */

static enum sl_status opened(void *context, const struct sl_run *run) {
  const struct sl_training *t = context;
  return t->resumed ? sl_restore_opened(&t->from, run) : SL_OK;
}

static enum sl_status started(void *context, const struct sl_run *run) {
  struct sl_training *t = context;
  if (t->resumed) SL_TRY(sl_restore_started(&t->from, run));
  if (t->saver != NULL) SL_TRY(sl_saver_started(t->saver, run));
  t->begun_s = sl_machine_date();
  if (t->recovered != NULL && run->local_ranks[0] == 0) sl_ended_say_begun();
  return SL_OK;
}

static enum sl_status stepped(void *context, const struct sl_run *run, int64_t taken, bool last) {
  const struct sl_training *t = context;
  if (t->recovered != NULL && run->local_ranks[0] == 0) sl_ended_say_taken(taken);
  return t->saver != NULL ? sl_saver_stepped(t->saver, run, taken, last) : SL_OK;
}

enum sl_status sl_training_open(struct sl_training *training, const struct sl_options *options,
                                const struct sl_setup *setup) {
  enum sl_status status = SL_OK;
  *training = (struct sl_training){.recovered = options->recovered,
                                   .hooks = {.opened = opened, .started = started, .stepped = stepped}};
  SL_GO_FAIL(check_together(options)); /* ranks that a user's launcher started have not been checked yet */
  if (options->resume != NULL) {
    SL_GO_FAIL(open_from(&training->from, options));
    training->resumed = true;
    SL_GO_FAIL(check_from(&training->from, options, setup));
  }
  if (options->checkpoint != NULL) {
    struct sl_saver_options save = {.folder = options->checkpoint, .every = options->save_every, .keep = options->keep};
    if (options->recovered != NULL) save.start = options->recovered->restarts, save.job = options->recovered->job;
    /* the newest may be damaged, or be the one after the last step, from which a restart cannot resume */
    if (options->recovered != NULL && save.keep == 1) save.keep = 2;
    if (training->resumed) save.history = training->from.manifest.history;
    SL_GO_FAIL(sl_inputs_samples(options, setup, &save.data_samples));
    SL_GO_FAIL(sl_saver_open(&training->saver, &save, &setup->job));
  }
  return SL_OK;
fail:
  sl_training_close(training);
  return status;
}

void sl_training_close(struct sl_training *training) {
  sl_saver_close(training->saver);
  if (training->resumed) sl_checkpoint_close(&training->from);
  *training = (struct sl_training){0};
}

void sl_training_prepare(struct sl_training *training, struct sl_run *run) {
  training->hooks.context = training;
  run->hooks = &training->hooks;
  if (!training->resumed) return;
  const struct sl_manifest *m = &training->from.manifest;
  run->options.weights = sl_restore_weights(&training->from);
  run->options.first_step = m->step;
  run->options.first_sample = m->samples;
  run->steps -= m->step;
}

/* --- the record --- */

/* Adds the steps of earlier starts, and how many starts there were. */
static enum sl_status put_recovery(const struct sl_training *t, json_t *record) {
  json_object_set_new(record, "recovery", sl_recovered_json(t->recovered, t->begun_s));
  if (!t->resumed || t->from.manifest.step == t->recovered->first) return SL_OK;
  return sl_history_put(t->from.manifest.history, t->recovered->first, record);
}

static enum sl_status put_resumed(const struct sl_training *training, const struct sl_run *run, json_t *record) {
  const int world = run->exec->exchange != NULL ? run->job->plan->world : 1;
  const double mine = sl_held_seconds(&training->from);
  double *all, most = 0;
  enum sl_status status = SL_OK;
  SL_TRY(sl_calloc(&all, (size_t)world, sizeof *all));
  all[0] = mine;
  if (world > 1) SL_GO(run->exec->exchange(run->state, &mine, sizeof mine, all));
  for (int r = 0; r < world; r++) most = all[r] > most ? all[r] : most;
  json_object_set_new(record, "load_time_s", json_real(most));
  json_object_set_new(record, "first_step", json_integer(training->from.manifest.step));
done:
  free(all);
  return status;
}

enum sl_status sl_training_put(const struct sl_training *training, const struct sl_run *run, json_t *record) {
  const int world = run->exec->exchange != NULL ? run->job->plan->world : 1;
  struct sl_saved mine, most = {0}, *all;
  int64_t bytes = 0;
  enum sl_status status = SL_OK;
  if (training->resumed) SL_TRY(put_resumed(training, run, record));
  if (training->recovered != NULL) SL_TRY(put_recovery(training, record));
  if (training->saver == NULL) return SL_OK;
  mine = sl_saver_told(training->saver);
  SL_TRY(sl_calloc(&all, (size_t)world, sizeof *all));
  all[0] = mine;
  if (world > 1) SL_GO(run->exec->exchange(run->state, &mine, sizeof mine, all));
  for (int r = 0; r < world; r++) {
    bytes += all[r].bytes;
    if (all[r].bytes > most.bytes) most.bytes = all[r].bytes;
    if (all[r].copy_bytes > most.copy_bytes) most.copy_bytes = all[r].copy_bytes;
    if (all[r].wait_s > most.wait_s) most.wait_s = all[r].wait_s;
    if (all[r].write_s > most.write_s) most.write_s = all[r].write_s;
  }
  json_object_set_new(record, "checkpoint",
                      json_pack("{s:I, s:I, s:I, s:f, s:f, s:I}", "bytes", (json_int_t)bytes, "rank_bytes",
                                (json_int_t)most.bytes, "copy_bytes", (json_int_t)most.copy_bytes, "wait_s",
                                most.wait_s, "write_s", most.write_s, "saves", (json_int_t)mine.saves));
done:
  free(all);
  return status;
}

/* The copy of a rank's state is in host memory, also if the rank runs on a GPU. */
static enum sl_status add_copy(const struct sl_job *job, json_t *list) {
  json_t *rank;
  size_t i;
  json_array_foreach(list, i, rank) {
    struct sl_checkpoint_pieces pieces;
    SL_TRY(sl_checkpoint_pieces(&pieces, job, (int)json_integer_value(json_object_get(rank, "rank"))));
    const json_int_t bytes = json_integer_value(json_object_get(rank, "process_bytes")) + pieces.bytes;
    json_object_set_new(rank, "process_bytes", json_integer(bytes));
    sl_checkpoint_pieces_free(&pieces);
  }
  return SL_OK;
}

static enum sl_status add_copies(const struct sl_job *job, json_t *record) {
  json_t *device = json_object_get(json_object_get(record, "memory"), "device"), *rank;
  json_int_t most = 0;
  size_t i;
  if (job->plan->cluster->device.kind == SL_DEVICE_GPU) return SL_OK;
  SL_TRY(add_copy(job, json_object_get(record, "ranks")));
  SL_TRY(add_copy(job, json_object_get(device, "ranks")));
  json_array_foreach(json_object_get(device, "ranks"), i, rank) {
    const json_int_t bytes = json_integer_value(json_object_get(rank, "process_bytes"));
    if (bytes > most) most = bytes;
  }
  json_object_set_new(device, "process_bytes", json_integer(most));
  return SL_OK;
}

enum sl_status sl_training_predict(const struct sl_options *options, const struct sl_job *job, json_t *record) {
  struct sl_checkpoint_cost cost;
  if (options->save_every == 0) return SL_OK;
  SL_TRY(sl_checkpoint_predict(&cost, job));
  json_object_set_new(record, "checkpoint",
                      json_pack("{s:I, s:I, s:I, s:f}", "bytes", (json_int_t)cost.bytes, "rank_bytes",
                                (json_int_t)cost.rank_bytes, "copy_bytes", (json_int_t)cost.copy_bytes, "wait_s",
                                cost.wait_s));
  return add_copies(job, record);
}
