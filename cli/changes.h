/* Changes with which a configuration would fit: what may be changed is tried, by building and simulating what it would make. */
#pragma once

#include "cli/setup.h"
#include "cli/trial.h"

enum { SL_CHANGES = 5, SL_CHANGE_FLAGS = 6 };

/* Flags, as somebody would add them to the command line. */
struct sl_change {
  struct {
    const char *name; /* without the "--" */
    char value[24];   /* "": it has none */
  } flag[SL_CHANGE_FLAGS];
  int count;
  struct sl_trial trial;
};

struct sl_changes {
  struct sl_change change[SL_CHANGES]; /* those that fit, the quickest step first */
  int count;
  int64_t
      states_bytes; /* above 0: parameters and optimizer states of all ranks, which are more than their devices and hosts have: nothing
                           was tried */
  int64_t
      least_bytes; /* the least that the device would need with any of those that were tried; 0: none could be built */
};

/* Try changes of the job that `options` ask for, whose inputs and plan are in `setup`: the mildest of each kind (micro-batch, recomputation,
 * stage, offload, tp), and where that is not enough several at once. The global batch stays. */
void sl_changes_find(struct sl_changes *out, const struct sl_options *options, const struct sl_setup *setup);
/* `options` with a change; the change's texts are borrowed. */
void sl_change_apply(const struct sl_change *change, struct sl_options *options);
/* "--micro-batch 2 --grad-accum 4" */
void sl_change_text(const struct sl_change *change, char *out, size_t size);
