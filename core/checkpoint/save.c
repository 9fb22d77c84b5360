/* The copy, the thread, and the agreement between ranks; see save.h. Only the main thread communicates with other
 * processes. */
#include "core/checkpoint/save.h"

#include "core/base/checked.h"
#include "core/base/machine.h"
#include "core/base/new_file.h"
#include "core/checkpoint/complete.h"
#include "core/checkpoint/folder.h"
#include "core/checkpoint/history.h"
#include "core/checkpoint/owner.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { IDLE, WRITING, WRITTEN, FAILED };

struct sl_saver {
  struct sl_saver_options options;
  const struct sl_job *job;
  char owner[SL_OWNER_SIZE]; /* the name of the job, if nobody gave it one */
  int rank;
  struct sl_checkpoint_pieces pieces;
  bool counted;    /* the pieces are counted */
  char *copy;      /* owned; written by the thread */
  int64_t *places; /* owned; the offset of each piece in the copy */
  char *hidden;    /* owned; the folder until it is complete */
  /* of that folder, while it is being written, since others may remove it when this process is gone; -1: none */
  int lock;
  int folder_lock; /* of the folder of checkpoints, on rank 0, so that no other job saves there; -1: none */
  struct sl_part part;
  struct sl_snapshot snapshot;
  pthread_t thread;
  bool running; /* a thread must be joined */
  bool last;    /* no step follows */
  atomic_int phase;
  atomic_bool stop, others_told; /* see sl_part */
  enum sl_status status;         /* of the thread */
  char message[1024];
  struct sl_saved told;
  double wait_s;
};

enum sl_status sl_saver_open(struct sl_saver **out, const struct sl_saver_options *options, const struct sl_job *job) {
  struct sl_saver *saver;
  enum sl_status status;
  SL_TRY(sl_calloc(&saver, 1, sizeof *saver));
  saver->options = *options;
  saver->job = job;
  saver->lock = saver->folder_lock = -1;
  sl_owner_name(saver->owner);
  saver->snapshot.job = options->job != NULL ? options->job : saver->owner;
  SL_GO_FAIL(sl_folder_check(options->folder));
  SL_GO_FAIL(sl_folder_hidden(&saver->hidden, options->folder, options->start));
  *out = saver;
  return SL_OK;
fail:
  sl_saver_close(saver);
  return status;
}

/* ---- the thread ---- */

static enum sl_status write_all(struct sl_saver *saver) {
  SL_TRY(sl_part_write(&saver->part));
  if (saver->rank > 0) return SL_OK;
  SL_TRY(sl_checkpoint_complete(&saver->part, &saver->snapshot, saver->options.folder));
  /* of a training that has diverged the checkpoints before stay: they are what it can go on from */
  if (saver->options.keep > 0 && isfinite(saver->snapshot.state.loss))
    sl_folder_keep(saver->options.folder, saver->snapshot.job, saver->options.keep, saver->snapshot.state.step,
                   saver->options.start);
  return SL_OK;
}

/* Steps have priority: beside a thread that computes, one with a niceness higher by 10 gets a tenth of a core. If
 * nothing else computes it gets all. */
enum { NICER = 12 };

static void *run_thread(void *context) {
  struct sl_saver *saver = context;
  if (!saver->last) (void)setpriority(PRIO_PROCESS, (id_t)gettid(), getpriority(PRIO_PROCESS, 0) + NICER);
  const double start = sl_machine_clock();
  saver->status = write_all(saver);
  saver->told.write_s = sl_machine_clock() - start;
  snprintf(saver->message, sizeof saver->message, "%s", sl_error_message());
  sl_error_clear();
  atomic_store(&saver->phase, saver->status == SL_OK ? WRITTEN : FAILED);
  return NULL;
}

/* Signals are left to the main thread. */
static enum sl_status start_thread(struct sl_saver *saver) {
  sigset_t all, before;
  sigfillset(&all);
  atomic_store(&saver->phase, WRITING);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(&saver->thread, NULL, run_thread, saver);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (error != 0) return sl_fail(SL_ERR_MEMORY, "checkpoint: no thread to write it: %s", strerror(error));
  saver->running = true;
  return SL_OK;
}

static void unlock(struct sl_saver *saver) {
  if (saver->lock >= 0) close(saver->lock);
  saver->lock = -1;
}

/* Waits for the thread and returns its status. */
static enum sl_status join_thread(struct sl_saver *saver) {
  pthread_join(saver->thread, NULL);
  saver->running = false;
  saver->told.bytes = saver->part.written;
  unlock(saver);
  atomic_store(&saver->phase, IDLE);
  sl_part_close(&saver->part);
  if (saver->status == SL_OK) return SL_OK;
  return sl_error_relay(saver->status, saver->message);
}

/* ---- what all ranks agree on ---- */

/* Collective, while a checkpoint is being written: *done if all ranks have written their parts. Every rank gets the
 * same answer. */
static enum sl_status look(struct sl_saver *saver, const struct sl_run *run, bool *done) {
  const int world = run->exec->exchange != NULL ? run->job->plan->world : 1;
  const unsigned char mine = (unsigned char)atomic_load(&saver->phase);
  unsigned char *all;
  bool failed = false, others = true;
  enum sl_status status;
  *done = true;
  SL_TRY(sl_calloc(&all, (size_t)world, 1));
  all[0] = mine;
  if (world > 1) SL_GO(run->exec->exchange(run->state, &mine, 1, all));
  for (int r = 0; r < world; r++) *done &= all[r] == WRITTEN, failed |= all[r] == FAILED;
  for (int r = 1; r < world; r++) others &= all[r] == WRITTEN;
  atomic_store(&saver->others_told, others);
  status = SL_OK;
  if (failed) atomic_store(&saver->stop, true); /* rank 0's thread would wait for parts that will not come */
  if (failed || *done)
    status = sl_run_agree(run, all[world > 1 ? saver->rank : 0] == WRITING ? SL_OK : join_thread(saver));
done:
  free(all);
  return status;
}

enum sl_status sl_saver_wait(struct sl_saver *saver, const struct sl_run *run) {
  for (bool done = !saver->running; !done;) {
    SL_TRY(look(saver, run, &done));
    if (!done) nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
  }
  return SL_OK;
}

/* ---- a save ---- */

/* The folder of all checkpoints appears with the first of them: a run that ends before leaves none. */
static enum sl_status make_folders(struct sl_saver *saver) {
  if (saver->told.saves == 1) SL_TRY(sl_folder_make(saver->options.folder)); /* one removed later is not made again */
  sl_folder_sweep(saver->options.folder);
  SL_TRY(sl_new_folder_create(saver->hidden));
  saver->lock = sl_folder_lock(saver->hidden);
  return sl_part_open(&saver->part, saver->job, 0, saver->hidden);
}

/* Rank 0 creates the folder and the model's files in it; then the others can open those. */
static enum sl_status open_folder(struct sl_saver *saver, const struct sl_run *run) {
  enum sl_status status = saver->rank == 0 ? make_folders(saver) : SL_OK;
  SL_TRY(sl_run_agree(run, status));
  if (saver->rank > 0) status = sl_part_open(&saver->part, saver->job, saver->rank, saver->hidden);
  return sl_run_agree(run, status);
}

static enum sl_status make_room(struct sl_saver *saver, const struct sl_run *run) {
  if (saver->counted) return SL_OK;
  saver->rank = run->local_ranks[0];
  SL_TRY(sl_checkpoint_pieces(&saver->pieces, saver->job, saver->rank));
  int64_t bytes;
  SL_TRY(sl_part_places(&saver->places, &bytes, saver->job, &saver->pieces));
  saver->copy = sl_machine_huge((size_t)bytes + 1);
  if (saver->copy == NULL)
    return sl_fail(SL_ERR_MEMORY, "checkpoint: no memory for the copy: %" PRId64 " bytes", bytes);
  memset(saver->copy, 0, (size_t)bytes); /* touches all pages, which the system allocates on first use */
  saver->counted = true;
  return SL_OK;
}

enum sl_status sl_saver_started(struct sl_saver *saver, const struct sl_run *run) {
  enum sl_status status = SL_OK;
  if (run->local_ranks[0] == 0) status = sl_folder_own(&saver->folder_lock, saver->options.folder);
  if (status == SL_OK) status = make_room(saver, run);
  return sl_run_agree(run, status);
}

static enum sl_status copy_state(struct sl_saver *saver, const struct sl_run *run) {
  const struct sl_class *c = &saver->job->classes[sl_job_class_of(saver->job, saver->rank)];
  struct sl_snapshot *s = &saver->snapshot;
  SL_TRY(make_room(saver, run));
  saver->told.copy_bytes = 0;
  for (size_t i = 0; i < saver->pieces.count; i++) {
    const struct sl_checkpoint_piece *p = &saver->pieces.items[i];
    SL_TRY(run->exec->read(run->state, 0, p->buffer, p->offset, p->held * SL_CHECKPOINT_ELEMENT,
                           saver->copy + saver->places[i]));
    saver->told.copy_bytes += p->held * SL_CHECKPOINT_ELEMENT;
  }
  SL_TRY(run->exec->read(run->state, 0, c->control, 0, sizeof s->state, &s->state));
  const int64_t steps = s->state.step - run->options.first_step;
  s->samples = sl_sum(run->options.first_sample, sl_product(steps, saver->job->plan->global_batch));
  s->data_samples = saver->options.data_samples;
  json_decref(s->history);
  s->history = saver->rank == 0 ? sl_history_make(saver->options.history, run, steps) : NULL;
  return SL_OK;
}

static enum sl_status save(struct sl_saver *saver, const struct sl_run *run) {
  saver->rank = run->local_ranks[0];
  saver->told.saves++;
  atomic_store(&saver->stop, false);
  atomic_store(&saver->others_told, false);
  SL_TRY(open_folder(saver, run));
  enum sl_status status = copy_state(saver, run);
  saver->part.pieces = &saver->pieces;
  saver->part.copy = saver->copy;
  saver->part.places = saver->places;
  saver->part.stop = &saver->stop;
  saver->part.others_told = &saver->others_told;
  if (status == SL_OK) status = start_thread(saver);
  return sl_run_agree(run, status);
}

enum sl_status sl_saver_stepped(void *context, const struct sl_run *run, int64_t taken, bool last) {
  struct sl_saver *saver = context;
  const double start = sl_machine_clock();
  saver->last = last;
  const bool due = last || (saver->options.every > 0 && taken % saver->options.every == 0);
  bool done;
  if (saver->running && !due) SL_TRY(look(saver, run, &done));
  if (due) {
    SL_TRY(sl_saver_wait(saver, run));
    SL_TRY(save(saver, run));
  }
  saver->wait_s += sl_machine_clock() - start;
  return last ? sl_saver_wait(saver, run) : SL_OK; /* no step waits for it */
}

void sl_saver_close(struct sl_saver *saver) {
  if (saver == NULL) return;
  atomic_store(&saver->stop, true);
  if (saver->running) pthread_join(saver->thread, NULL);
  sl_part_close(&saver->part);
  if (saver->told.saves > 0 && saver->rank == 0) sl_new_file_drop(saver->hidden); /* the incomplete checkpoint */
  if (saver->folder_lock >= 0) close(saver->folder_lock);
  sl_checkpoint_pieces_free(&saver->pieces);
  json_decref(saver->snapshot.history);
  free(saver->copy);
  free(saver->places);
  free(saver->hidden);
  free(saver);
}

struct sl_saved sl_saver_told(const struct sl_saver *saver) {
  struct sl_saved told = saver->told;
  told.wait_s = told.saves > 0 ? saver->wait_s / (double)told.saves : 0;
  return told;
}
