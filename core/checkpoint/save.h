/* Saves checkpoints while training continues: at the end of a step every rank copies its pieces to host memory, and a
 * separate thread writes them to the disk (part.h, complete.h) during the next steps. The next save waits for the
 * previous one. */
#pragma once

#include "core/run/executor.h"

struct sl_saver_options {
  const char *folder; /* of the training's checkpoints; borrowed */
  int64_t every;      /* steps between saves; 0: only after the last step of the run */
  int64_t keep;       /* how many of the job's to keep; 0: all */
  int64_t data_samples;
  int64_t start;         /* how often the job was started before: unfinished folders of those starts have other names */
  const char *job;       /* its name (owner.h), borrowed; NULL: it has none yet, and gets a new one */
  const json_t *history; /* of the steps before the run (history.h), borrowed; NULL: none is known */
};

struct sl_saver;
/* Opens the saver of this process's rank; hooks of the run call it. */
enum sl_status sl_saver_open(struct sl_saver **out, const struct sl_saver_options *options, const struct sl_job *job);
/* For struct sl_run_hooks.started: makes the folder if it is missing, locks it for this job, and allocates host memory
 * for the copy, so that no step has to wait for it. Collective. Errors: SL_ERR_INPUT if another job saves there. */
enum sl_status sl_saver_started(struct sl_saver *saver, const struct sl_run *run);
/* For struct sl_run_hooks.stepped. Collective. A failure of the thread ends the job at the end of the current step. */
enum sl_status sl_saver_stepped(void *saver, const struct sl_run *run, int64_t taken, bool last);
/* Waits until the checkpoint that is being written is complete. Collective. */
enum sl_status sl_saver_wait(struct sl_saver *saver, const struct sl_run *run);
/* Discards what is not complete; accepts NULL. */
void sl_saver_close(struct sl_saver *saver);

/* Statistics of this rank. */
struct sl_saved {
  int64_t saves;
  int64_t bytes;      /* of tensors that it wrote to the latest checkpoint */
  int64_t copy_bytes; /* host memory of the copy */
  double write_s;     /* from the latest copy until it was on the disk */
  double wait_s;      /* time that steps stopped for it, per save */
};
struct sl_saved sl_saver_told(const struct sl_saver *saver);
