/* Breaks a forward of one micro-batch down by module (flops_profiler): parameters, multiply-accumulates, flops, and the
 * time of its compute ops. An observer of the executor loop.
 *
 * Modules are those of the framework's model: a tensor's name without its last part ("h.0.attn.c_attn"), and everything
 * that contains it, up to the model itself, whose name is "". A product, a norm or an embedding belongs to the module
 * of its weight, a product with a tied embedding to lm_head. Attention and activations belong to the module around the
 * product before them, residual sums to their block. MACs are those of products and attention, of which only the causal
 * half counts (DeepSpeed counts all of it); flops are sl_op_flops. */
#pragma once

#include "core/run/executor.h"

struct sl_module_row {
  char name[64];
  int depth;          /* 0 for the model, 1 for "h", 2 for "h.0" */
  int64_t parameters; /* on this rank */
  double macs, flops; /* of one micro-batch's forward */
  double time_s;      /* of the ops that were added */
  int parent;         /* -1: none */
};

struct sl_module_profile {
  struct sl_module_row *rows; /* the model first, parents before children; owned */
  size_t count, capacity;
  int *row_of[SL_PROGRAM_COUNT]; /* the row of each op of a step's programs; -1: none. Owned */
  int64_t step;                  /* the step whose ops were added; -1: none yet */
};

/* Lists the modules of `rank`, without times. Errors: SL_ERR_MEMORY. */
enum sl_status sl_module_profile_open(struct sl_module_profile *profile, const struct sl_job *job, int rank);
/* Adds one completion of that rank; the first completion of another step discards those of the step before. */
void sl_module_profile_add(struct sl_module_profile *profile, int64_t step, const struct sl_program *program,
                           const struct sl_completion *done);
/* Accepts a zeroed one. */
void sl_module_profile_free(struct sl_module_profile *profile);
