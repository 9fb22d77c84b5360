/* First values of tensors, and their way into files, for whatever backend holds them. A rank holds a piece of a
 * tensor's state, which core locates; here a piece is cut into runs that are contiguous in the logical tensor too, so
 * that values and files know no partitioning. Values pass as fp32; how they get into the rank's memory and out of it
 * is the backend's. */
#pragma once

#include "core/io/weights.h"
#include "core/run/executor.h"
#include "kernels/numbers/types.h"

enum { SL_TENSOR_SAVE_PARAM, SL_TENSOR_SAVE_GRAD, SL_TENSOR_SAVES };
enum { SL_TENSOR_CHUNK = 1 << 16 }; /* elements that pass at a time, at most */

/* `count` elements of type `dtype` that stand `offset` bytes into the arena of `space`. */
struct sl_tensor_place {
  enum sl_space space;
  int64_t offset, count;
  enum sl_dtype dtype;
};

/* What the backend does for it. */
struct sl_tensor_memory {
  void *context;
  /* Bring values[0 .. place->count) into the rank's memory, or out of it; `values` is the caller's afterwards. */
  enum sl_status (*put)(void *context, const struct sl_tensor_place *place, const float *values);
  enum sl_status (*get)(void *context, const struct sl_tensor_place *place, float *values);
  /* (optional) What put would bring, had the caller drawn them: normal numbers `first` .. of the stream `key`, mean 0.
   * For memory that a faster processor than this one can fill. */
  enum sl_status (*normal)(void *context, const struct sl_tensor_place *place, const struct sl_philox_key *key,
                           uint64_t first, float width);
  /* Collective: SL_OK when all ranks pass SL_OK; how the others learn of a failure is the backend's. */
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
  enum sl_status save_status; /* the first failure to write a piece; told at the end, when all ranks can clean up */
};

/* Fill the struct, open options->init and hold it against the model. Errors: SL_ERR_INPUT. */
enum sl_status sl_tensors_open(struct sl_tensors *tensors, const struct sl_job *job,
                               const struct sl_exec_options *options, int rank, const struct sl_tensor_memory *memory);
void sl_tensors_close(struct sl_tensors *tensors); /* accepts a zeroed one; removes half-written files */

/* The ops INIT_TENSOR and SAVE_TENSOR of this rank. */
enum sl_status sl_tensors_init(struct sl_tensors *tensors, const struct sl_op *op);
enum sl_status sl_tensors_save(struct sl_tensors *tensors, const struct sl_op *op);

/* The save program begins, ends, or is given up. The first two are collective. */
enum sl_status sl_tensors_save_open(struct sl_tensors *tensors);
enum sl_status sl_tensors_save_finish(struct sl_tensors *tensors);
void sl_tensors_save_abort(struct sl_tensors *tensors);
