/* Memory of the CUDA backend outside the arenas, for needs of its ops that have no buffer in the program. It is planned
 * from the programs alone and reported as context, separately from the arena. */
#pragma once

#include "core/run/executor.h"

/* cuBLAS's own advice for Hopper; one handle, and products run on one lane. */
enum { SL_CUDA_GEMM_WORKSPACE = 32 << 20 };

/* Scratch that every job has, so that what a process needs beside its arenas hardly depends on the model, and is what
 * `calibrate` has measured with others. */
enum { SL_CUDA_SCRATCH = 4 << 20 };

struct sl_cuda_workspace {
  int64_t gemm_bytes;    /* device; 0: no products */
  int64_t scratch_bytes; /* device: for kernels whose op brings none, or too little */
  int64_t staging_bytes; /* pinned host: all micro-batches of a program's LOAD_BATCH ops, for the copies run behind */
  int64_t values_bytes;  /* pinned host: a chunk of first values, or of values to save */
};

struct sl_cuda_workspace sl_cuda_workspace_plan(const struct sl_class *rank_class);
/* Bytes of all operands of a LOAD_BATCH op, each rounded up to SL_ALIGN. */
int64_t sl_cuda_workspace_batch(const struct sl_program *program, const struct sl_op *op);
