/* Predicts one configuration: builds its programs and runs them in virtual time with the exact clock (sim/sim.h). */
#pragma once

#include "core/base/status.h"
#include "core/cluster/cluster.h"
#include "core/config/config.h"
#include "core/job/job.h"
#include "core/model/model.h"
#include "core/run/executor.h"
#include "core/run/fits.h"

#include <stdbool.h>
#include <stdint.h>

/* What the memory column of a table means. */
enum sl_table_memory {
  SL_MEMORY_OF_DEVICE,    /* what the device that needs most has not free */
  SL_MEMORY_LOGGED_FIRST, /* what PyTorch on rank 0 says that it reserved: without the context */
  SL_MEMORY_LOGGED_MOST   /* the same of the rank that needs most */
};

struct sl_prediction {
  double step_s;        /* of an optimizer step */
  double low_s, high_s; /* 90 % interval; 0: the profile has no uncertainty */
  /* of the device that needs most: arena, and what the profile counts outside it (context, communicators) */
  int64_t memory_bytes;
  /* what PyTorch reports as reserved on rank 0: memory_bytes of that device without context and communicators */
  int64_t logged_bytes;
  int64_t most_logged_bytes; /* the same of the rank that needs most */
  bool fits;                 /* memory_bytes <= the device's memory */
  struct sl_fits spaces;     /* the same of device, host memory and NVMe: a verdict's */
  /* seconds of the rank whose step lasts longest, as breakdown_s of the run record (docs/record.md) */
  double compute_s;    /* in which the compute lane ran */
  double bubble_s;     /* of the pipeline; 0 without one */
  double exposed_tp_s; /* communication that no compute hid: inside tp groups, ... */
  double exposed_dp_s; /* ... of gradients and parameters over data-parallel ranks, ... */
  double exposed_pp_s; /* ... sends and receives between pipeline ranks */
  double optimizer_s;  /* of the update's ops */
};

/* Predict a step of `world` ranks. Errors: those of sl_plan_build and of the simulator, SL_ERR_INPUT for what cannot be
 * expressed. */
enum sl_status sl_predict_step(struct sl_prediction *out, const struct sl_model *model, const struct sl_config *config,
                               const struct sl_cluster *cluster, int world);
/* Whether memory follows from the programs alone. What a framework's allocator holds may depend on how far ahead its
 * host runs. */
bool sl_predict_memory_known(const struct sl_job *job);
/* If so, predicts memory as sl_predict_job does, without any times. */
enum sl_status sl_predict_memory(struct sl_prediction *out, const struct sl_job *job);
/* sl_predict_step for a job whose programs are built, with the current numbers of its plan's cluster and kernel set.
 * `assume`: what a user assumes beyond them; NULL: nothing. */
enum sl_status sl_predict_job(struct sl_prediction *out, const struct sl_job *job,
                              const struct sl_exec_assumptions *assume);
