/* Saving while training goes on: at a step's end every rank copies what it writes into host memory, and a thread of its own takes that
 * to the disk (part.h, complete.h) while the next steps run. The next save waits for the one before. */
#pragma once

#include "core/run/executor.h"

struct sl_saver_options {
  const char *folder; /* of the training's checkpoints; borrowed */
  int64_t every;      /* steps from one to the next; 0: only behind the last step of the run */
  int64_t keep;       /* how many stay; 0: all */
  int64_t data_samples;
  int64_t start;         /* how often the job was started before: those starts' unfinished folders have other names */
  const json_t *history; /* of the steps before the run (history.h), borrowed; NULL: none is known */
};

struct sl_saver;
/* The saver of this process's rank, which is asked by hooks of the run. The folder is made where it is missing. */
enum sl_status sl_saver_open(struct sl_saver **out, const struct sl_saver_options *options, const struct sl_job *job);
/* struct sl_run_hooks.started, of a saver: host memory for the copy, so that no step waits for it. Collective. */
enum sl_status sl_saver_started(struct sl_saver *saver, const struct sl_run *run);
/* struct sl_run_hooks.stepped, of a saver. Collective. A failure of the thread ends the job at the end of the step that it falls
 * into. */
enum sl_status sl_saver_stepped(void *saver, const struct sl_run *run, int64_t taken, bool last);
/* Until what is being written is complete. Collective. */
enum sl_status sl_saver_wait(struct sl_saver *saver, const struct sl_run *run);
/* Gives up what is not complete; accepts NULL. */
void sl_saver_close(struct sl_saver *saver);

/* What this rank has done. */
struct sl_saved {
  int64_t saves;
  int64_t bytes;      /* of tensors that it wrote into the latest checkpoint */
  int64_t copy_bytes; /* host memory of the copy */
  double write_s;     /* from the latest copy until that is on the disk */
  double wait_s;      /* that steps stood still for it, per save */
};
struct sl_saved sl_saver_told(const struct sl_saver *saver);
