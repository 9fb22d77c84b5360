/* What a forward of one micro-batch is made of, module by module (flops_profiler): parameters, multiply-accumulates, flops, and the
 * time of its compute ops. An observer of the executor loop.
 *
 * Modules are those of the framework's model: a tensor's name without its last part ("h.0.attn.c_attn"), and all that it stands in, up to
 * the model itself, whose name is "". A product, a norm or an embedding is of the module of its weight; a product with a tied embedding
 * of lm_head; attention and activations of the module around the product before them; residual sums of their block. MACs are of
 * products and attention, of which only the causal half counts (DeepSpeed counts all of it); flops are sl_op_flops. */
#pragma once

#include "core/run/executor.h"

struct sl_module_row {
  char name[64];
  int depth;          /* of the model 0, of "h" 1, of "h.0" 2 */
  int64_t parameters; /* of the rank */
  double macs, flops; /* of a micro-batch's forward */
  double time_s;      /* of the ops that were added */
  int parent;         /* -1: none */
};

struct sl_module_profile {
  struct sl_module_row *rows; /* the model first, parents before children; owned */
  size_t count, capacity;
  int *row_of[SL_PROGRAM_COUNT]; /* of each op of the programs of a step; -1: none. Owned */
  int64_t step;                  /* whose ops were added; -1: none yet */
};

/* The modules of `rank`, without times. Errors: SL_ERR_MEMORY. */
enum sl_status sl_module_profile_open(struct sl_module_profile *profile, const struct sl_job *job, int rank);
/* Add one completion of that rank; a step that has not been added to before takes the place of the last one. */
void sl_module_profile_add(struct sl_module_profile *profile, int64_t step, const struct sl_program *program,
                           const struct sl_completion *done);
/* Accepts a zeroed one. */
void sl_module_profile_free(struct sl_module_profile *profile);
