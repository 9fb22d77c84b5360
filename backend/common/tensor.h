/* Initialises tensors and saves them to files, for all backends. A rank holds a shard of a tensor's state, which
 * core/program locates. This file splits the shard into runs that are also contiguous in the logical tensor, so that
 * initial values and files do not depend on the partitioning. Values are passed as fp32; the backend copies them into
 * and out of the rank's memory. */
#pragma once

#include "core/io/weights.h"
#include "core/run/executor.h"
#include "kernels/numbers/types.h"

enum { SL_TENSOR_SAVE_PARAM, SL_TENSOR_SAVE_GRAD, SL_TENSOR_SAVES };
enum { SL_TENSOR_CHUNK = 1 << 16 }; /* most elements passed by one call */

/* `count` elements of type `dtype` at byte `offset` of the arena of `space`. */
struct sl_tensor_place {
  enum sl_space space;
  int64_t offset, count;
  enum sl_dtype dtype;
};

/* What a backend implements. */
struct sl_tensor_memory {
  void *context;
  /* Copy values[0 .. place->count) into the rank's memory, or out of it. The caller may reuse `values` afterwards. */
  enum sl_status (*put)(void *context, const struct sl_tensor_place *place, const float *values);
  enum sl_status (*get)(void *context, const struct sl_tensor_place *place, float *values);
  /* (optional) Fill the place with normal numbers `first` .. of the stream `key`, mean 0, as if the caller had drawn
   * them and called put. For memory that a GPU can fill faster than the CPU. */
  enum sl_status (*normal)(void *context, const struct sl_tensor_place *place, const struct sl_philox_key *key,
                           uint64_t first, float width);
  /* Collective: returns SL_OK when all ranks pass SL_OK. The backend decides how the other ranks learn of a failure. */
  enum sl_status (*agree)(void *context, enum sl_status mine);
};

struct sl_tensors {
  const struct sl_job *job; /* borrowed, as are the options */
  const struct sl_exec_options *options;
  const struct sl_class *rank_class;
  int rank;
  struct sl_tensor_memory memory;
  struct sl_weights init;
  bool has_init;
  struct sl_safetensors_writer writer[SL_TENSOR_SAVES];
  bool writing[SL_TENSOR_SAVES];
  enum sl_status save_status; /* the first failed write; reported at the end, when all ranks can clean up */
};

/* Fills the struct, opens options->init and checks that it fits the model. Errors: SL_ERR_INPUT. */
enum sl_status sl_tensors_open(struct sl_tensors *tensors, const struct sl_job *job,
                               const struct sl_exec_options *options, int rank, const struct sl_tensor_memory *memory);
void sl_tensors_close(struct sl_tensors *tensors); /* accepts a zeroed one; removes half-written files */

/* Run this rank's ops INIT_TENSOR and SAVE_TENSOR. */
enum sl_status sl_tensors_init(struct sl_tensors *tensors, const struct sl_op *op);
enum sl_status sl_tensors_save(struct sl_tensors *tensors, const struct sl_op *op);

/* Called when the save program begins, ends, or is given up. The first two calls are collective. */
enum sl_status sl_tensors_save_open(struct sl_tensors *tensors);
enum sl_status sl_tensors_save_finish(struct sl_tensors *tensors);
void sl_tensors_save_abort(struct sl_tensors *tensors);
