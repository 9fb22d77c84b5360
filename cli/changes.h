/* Finds changes with which a configuration would fit into memory: every change that is tried is built and simulated. */
#pragma once

#include "cli/setup.h"
#include "cli/trial.h"

enum { SL_CHANGES = 5, SL_CHANGE_FLAGS = 6 };

/* Flags, as a user would add them to the command line. */
struct sl_change {
  struct {
    const char *name; /* without the "--" */
    char value[32];   /* "" for a flag without a value */
  } flag[SL_CHANGE_FLAGS];
  int count;
  struct sl_trial trial;
};

struct sl_changes {
  struct sl_change change[SL_CHANGES]; /* those that fit, by increasing step time */
  int count;
  int64_t
      states_bytes; /* if > 0: parameters and optimizer states of all ranks, which exceed the memory of all devices and
                     * hosts, so nothing was tried */
  int64_t
      least_bytes; /* the smallest device memory that any of the changes tried would need; 0 if none could be built */
  int64_t least_arena_bytes; /* the smallest arena of the device alone, which is what a limit on it is compared with */
};

/* Tries changes of the job that `options` ask for, whose inputs and plan are in `setup`: the smallest sufficient change
 * of each kind (micro-batch, recomputation, ZeRO stage or the preset that shards more, offload, tp), and if none is
 * sufficient, several at once. The global batch stays the same. */
void sl_changes_find(struct sl_changes *out, const struct sl_options *options, const struct sl_setup *setup);
/* "--micro-batch 2 --grad-accum 4" */
void sl_change_text(const struct sl_change *change, char *out, size_t size);
