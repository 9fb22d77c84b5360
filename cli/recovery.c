/* See recovery.h. */
#include "cli/recovery.h"

#include "cli/children.h"
#include "cli/recovered.h"
#include "cli/start.h"
#include "core/base/file.h"
#include "core/base/machine.h"
#include "core/checkpoint/folder.h"
#include "core/checkpoint/history.h"
#include "core/checkpoint/load.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct recovery {
  const struct sl_recovery_job *job;
  struct sl_options options; /* of the next start */
  struct sl_nodes nodes;     /* owns its hosts */
  struct sl_recovered told;
  char *base; /* owned; the checkpoint that the job began with, NULL if none */
  char *from; /* owned; the checkpoint of the last start, if it is not `base` */
};

enum sl_status sl_recovery_check(const struct sl_options *o, const struct sl_nodes *nodes, bool inside) {
  if (o->max_restarts == 0) return SL_OK;
  const char *beside = inside            ? "a launcher that is not shardlab's, which alone can start ranks"
                       : o->no_ssh       ? "--no-ssh, with which hosts are started by hand"
                       : o->of_world > 0 ? "--as-rank, which runs one rank alone"
                       : nodes->remote && nodes->launcher == SL_NODES_SRUN ? "srun, which Slurm restarts (--requeue)"
                                                                           : NULL;
  if (beside == NULL) return SL_OK;
  return sl_fail(SL_ERR_INPUT, "--max-restarts: is given beside %s; expected ranks that this command starts", beside);
}

/* ---- the start of the job ---- */

static enum sl_status note_base(struct recovery *r) {
  struct sl_checkpoint from;
  if (r->options.resume == NULL) return SL_OK;
  SL_TRY(sl_folder_find(&r->base, r->options.checkpoint, r->options.resume));
  SL_TRY(sl_checkpoint_open(&from, r->base));
  r->told.first = from.manifest.step;
  sl_checkpoint_close(&from);
  return SL_OK;
}

static void close_recovery(struct recovery *r) {
  sl_hosts_free(&r->nodes.hosts);
  free(r->base);
  free(r->from);
  sl_recovered_forget();
}

static enum sl_status open_recovery(struct recovery *r, const struct sl_recovery_job *job) {
  *r = (struct recovery){.job = job, .options = *job->options, .nodes = *job->nodes};
  r->told.most = job->options->max_restarts;
  sl_owner_name(r->told.job);
  r->nodes.hosts = (struct sl_hosts){0};
  SL_TRY(sl_hosts_copy(&r->nodes.hosts, &job->nodes->hosts));
  SL_TRY(note_base(r));
  r->told.from = r->base;
  return SL_OK;
}

/* ---- choice of the checkpoint ---- */

/* Verifies every byte of it, and that its history belongs to this job. */
static enum sl_status is_good(const struct recovery *r, const char *path) {
  struct sl_checkpoint c;
  SL_TRY(sl_checkpoint_open(&c, path));
  enum sl_status status = sl_checkpoint_verify(&c, NULL, 0, 1);
  const int64_t known = sl_history_first(c.manifest.history);
  if (status == SL_OK && (known < 0 || known > r->told.first))
    status = sl_fail(SL_ERR_INPUT, "%s: does not tell of the steps from %" PRId64 " on", path, r->told.first + 1);
  sl_checkpoint_close(&c);
  return status;
}

/* Somebody else may have removed it. */
static enum sl_status is_there(const char *path) {
  struct sl_checkpoint c;
  SL_TRY(sl_checkpoint_open(&c, path));
  sl_checkpoint_close(&c);
  return SL_OK;
}

/* Sets r->from to the checkpoint of `step` if this job has written it and it is intact, otherwise to NULL. What may be
 * this job's and is damaged is named. */
static enum sl_status try_step(struct recovery *r, int64_t step) {
  SL_TRY(sl_folder_step(&r->from, r->options.checkpoint, step));
  if (sl_owner_of(r->from, r->told.job) != SL_OWNER_OTHER) {
    if (is_good(r, r->from) == SL_OK) return SL_OK;
    sl_warn("%s", sl_error_message());
    sl_error_clear();
  }
  free(r->from);
  r->from = NULL;
  return SL_OK;
}

/* Sets *step and r->from to the newest intact checkpoint of this job, or, if there is none, to where the job began. A
 * checkpoint after the last step cannot be used, because the job writes its results at the end of a step. */
static enum sl_status choose_checkpoint(struct recovery *r, int64_t *step) {
  int64_t *steps = NULL;
  size_t left = r->options.checkpoint != NULL ? sl_folder_steps(&steps, r->options.checkpoint) : 0;
  enum sl_status status = SL_OK;
  free(r->from);
  r->from = NULL;
  for (*step = r->told.first; left > 0 && status == SL_OK && r->from == NULL; left--) {
    const int64_t s = steps[left - 1];
    if (s >= r->options.steps || s <= r->told.first) continue;
    status = try_step(r, s);
    if (r->from != NULL) *step = s;
  }
  free(steps);
  r->told.from = r->from != NULL ? r->from : r->base;
  return status == SL_OK && r->from == NULL && r->base != NULL ? is_there(r->base) : status;
}

/* ---- choice of the ranks ---- */

/* The remaining ranks, and their hosts. */
static enum sl_status what_is_left(const struct recovery *r, const struct sl_ended *ended, struct sl_hosts *hosts,
                                   int64_t *ranks) {
  SL_TRY(sl_hosts_copy(hosts, &r->nodes.hosts));
  *ranks = r->options.world;
  if (hosts->count == 0) {
    *ranks -= ended->rank >= 0;
    return SL_OK;
  }
  if (ended->host[0] != '\0')
    sl_hosts_without(hosts, ended->host);
  else if (ended->rank >= 0)
    sl_hosts_without_rank(hosts, ended->rank);
  *ranks = sl_hosts_ranks(hosts);
  return SL_OK;
}

/* With elasticity: the largest number that its rules allow of the remaining ranks, or, if they allow none, as many as
 * before. */
static enum sl_status choose_ranks(struct recovery *r, const struct sl_ended *ended) {
  struct sl_hosts hosts;
  struct sl_options options = r->options;
  int64_t ranks;
  if (!r->job->elastic) return SL_OK;
  SL_TRY(what_is_left(r, ended, &hosts, &ranks));
  for (; ranks > 0; ranks--) {
    options.world = ranks;
    if (r->job->fits(&options) == SL_OK) break;
    sl_error_clear();
  }
  if (ranks == 0) return sl_hosts_free(&hosts), SL_OK;
  sl_hosts_cut(&hosts, (int)ranks);
  sl_hosts_free(&r->nodes.hosts);
  r->nodes.hosts = hosts;
  r->options.world = ranks;
  return SL_OK;
}

/* ---- restarts ---- */

static void say_restart(const struct recovery *r, const struct sl_ended *ended, int64_t step, int64_t lost) {
  fprintf(stderr,
          "shardlab: %s; restart %" PRId64 " of %" PRId64 " from step %" PRId64 "%s%s%s, with %" PRId64
          " rank%s; steps lost: %" PRId64 "\n",
          ended->why, r->told.restarts, r->told.most, step, r->told.from != NULL ? " (" : "",
          r->told.from != NULL ? r->told.from : "", r->told.from != NULL ? ")" : "", r->options.world,
          r->options.world == 1 ? "" : "s", lost);
}

/* A host that does not answer may be rebooting; a signal ends the wait. */
static void wait_for_host(void) {
  enum { PAUSE_S = 10, NAPS_PER_S = 10 };
  for (int naps = 0; naps < PAUSE_S * NAPS_PER_S && sl_children_signal() == 0; naps++)
    nanosleep(&(struct timespec){.tv_nsec = 1000000000 / NAPS_PER_S}, NULL);
}

static enum sl_status prepare(struct recovery *r, const struct sl_ended *ended) {
  int64_t step;
  if (r->told.restarts == r->told.most)
    return sl_fail(SL_ERR_PEER, "%s; the job was ended: the restarts are used up, --max-restarts %" PRId64, ended->why,
                   r->told.most);
  if (ended->begun_s > 0 && r->told.since_s > 0) r->told.down_s += fmax(ended->begun_s - r->told.since_s, 0);
  r->told.since_s = sl_machine_date();
  sl_children_tidy();
  SL_TRY(choose_ranks(r, ended));
  SL_TRY(choose_checkpoint(r, &step));
  if (ended->cause == SL_CAUSE_HOST && ended->again && !r->job->elastic) wait_for_host();
  const int64_t lost = ended->taken > step ? ended->taken - step : 0;
  r->told.restarts++;
  r->told.lost += lost;
  say_restart(r, ended, step, lost);
  return SL_OK;
}

enum sl_status sl_recovery_run(const struct sl_recovery_job *job, int *exit_code) {
  struct recovery r;
  enum sl_status status;
  SL_GO(open_recovery(&r, job));
  for (;;) {
    struct sl_ended ended = {.watched = true, .again = r.told.restarts > 0};
    sl_recovered_pass(&r.told);
    SL_GO(sl_start(&r.nodes, &r.options, &ended));
    *exit_code = ended.code;
    if (!sl_ended_by_fault(&ended)) break;
    SL_GO(prepare(&r, &ended));
    if (sl_children_signal() != 0) break;
  }
  if (*exit_code == 0 && r.options.checkpoint != NULL && r.options.keep > 0) /* while it ran, at least two were kept */
    sl_folder_keep(r.options.checkpoint, r.told.job, r.options.keep, r.options.steps, r.told.restarts);
done:
  close_recovery(&r);
  return status;
}
