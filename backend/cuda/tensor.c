/* Device memory behind backend/common/tensor.h. Values are converted in pinned memory and copied, and each copy is
 * waited for, because the programs that move tensors are not timed; random initial values are drawn in place.
 * Micro-batches go through pinned memory too, but are not waited for: the staging memory holds all micro-batches of a
 * program. */
#include "backend/cuda/cuda.h"

#include "core/op/operands.h"
#include "core/program/locate.h"
#include "kernels/convert.h"
#include "kernels/gpu/cuda.h"
#include "kernels/philox.h"

static char *memory_of(const struct sl_cuda *cuda, const struct sl_tensor_place *place) {
  return cuda->arena[place->space] + place->offset;
}

/* Host memory and NVMe's mapped file are accessed by the CPU, once the work enqueued on the stream before is
 * complete. */
static enum sl_status reach(const struct sl_cuda *cuda, const struct sl_tensor_place *place, bool *here) {
  *here = place->space != SL_SPACE_DEVICE;
  if (*here) SL_CUDA_TRY(cudaStreamSynchronize(cuda->tensor_stream));
  return SL_OK;
}

static enum sl_status put(void *context, const struct sl_tensor_place *place, const float *values) {
  struct sl_cuda *cuda = context;
  bool here;
  SL_TRY(reach(cuda, place, &here));
  if (here) {
    sl_convert(memory_of(cuda, place), (enum sl_number)place->dtype, values, SL_NUMBER_F32, (size_t)place->count);
    return SL_OK;
  }
  const size_t bytes = (size_t)(place->count * sl_dtype_bytes(place->dtype));
  sl_convert(cuda->values, (enum sl_number)place->dtype, values, SL_NUMBER_F32, (size_t)place->count);
  SL_CUDA_TRY(cudaMemcpyAsync(memory_of(cuda, place), cuda->values, bytes, cudaMemcpyDefault, cuda->tensor_stream));
  SL_CUDA_TRY(cudaStreamSynchronize(cuda->tensor_stream)); /* the next chunk uses the same pinned memory */
  return SL_OK;
}

static enum sl_status get(void *context, const struct sl_tensor_place *place, float *values) {
  struct sl_cuda *cuda = context;
  bool here;
  SL_TRY(reach(cuda, place, &here));
  if (here) {
    sl_convert(values, SL_NUMBER_F32, memory_of(cuda, place), (enum sl_number)place->dtype, (size_t)place->count);
    return SL_OK;
  }
  const size_t bytes = (size_t)(place->count * sl_dtype_bytes(place->dtype));
  SL_CUDA_TRY(cudaMemcpyAsync(cuda->values, memory_of(cuda, place), bytes, cudaMemcpyDefault, cuda->tensor_stream));
  SL_CUDA_TRY(cudaStreamSynchronize(cuda->tensor_stream)); /* the values are read below */
  sl_convert(values, SL_NUMBER_F32, cuda->values, (enum sl_number)place->dtype, (size_t)place->count);
  return SL_OK;
}

/* A GPU cannot access NVMe's mapped file: values are drawn chunk by chunk in the pinned memory for values, which is
 * free once the stream is idle. */
static enum sl_status normal_on_nvme(struct sl_cuda *cuda, const struct sl_tensor_place *place,
                                     const struct sl_philox_key *key, uint64_t first, float width) {
  struct sl_tensor_place chunk = *place;
  SL_CUDA_TRY(cudaStreamSynchronize(cuda->tensor_stream));
  for (int64_t at = 0; at < place->count; at += chunk.count) {
    chunk.offset = place->offset + at * sl_dtype_bytes(place->dtype);
    chunk.count = place->count - at < SL_TENSOR_CHUNK ? place->count - at : SL_TENSOR_CHUNK;
    sl_philox_normal((float *)cuda->values, key, first + (uint64_t)at, (size_t)chunk.count, 0, width);
    SL_TRY(put(cuda, &chunk, (const float *)cuda->values));
  }
  return SL_OK;
}

/* The device draws the same numbers as the host (kernels/gpu/cuda.h), in pinned memory too, so that a large model's
 * initial values take little time. */
static enum sl_status normal(void *context, const struct sl_tensor_place *place, const struct sl_philox_key *key,
                             uint64_t first, float width) {
  struct sl_cuda *cuda = context;
  if (place->space == SL_SPACE_NVME) return normal_on_nvme(cuda, place, key, first, width);
  const int code = sl_cuda_philox_normal(cuda->tensor_stream, (enum sl_number)place->dtype, memory_of(cuda, place), key,
                                         first, (size_t)place->count, 0, width);
  return code == 0 ? SL_OK : sl_cuda_failed("a kernel that draws first values", (cudaError_t)code);
}

static enum sl_status agree(void *context, enum sl_status mine) {
  return sl_cuda_agree(context, mine);
}

enum sl_status sl_cuda_tensors_open(struct sl_cuda *cuda) {
  const struct sl_tensor_memory memory = {.context = cuda, .put = put, .get = get, .normal = normal, .agree = agree};
  return sl_tensors_open(&cuda->tensors, cuda->job, &cuda->options, cuda->rank, &memory);
}

/* For one rank alone: fills its whole piece at once on the device. Only the size of the numbers matters, which is that
 * of a model's weights. */
static enum sl_status fill_alone(struct sl_cuda *cuda, cudaStream_t stream, const struct sl_op *op) {
  const struct sl_located where = sl_job_locate(cuda->job, cuda->rank, op->role, op->tensor);
  const struct sl_buffer *b = &cuda->rank_class->buffers[where.buffer];
  const struct sl_philox_key key =
      sl_stream_key(cuda->job->plan->config->sl.seed, SL_STREAM_INIT, 0, (uint32_t)op->tensor);
  if (where.count == 0 || b->space == SL_SPACE_NVME) return SL_OK;
  char *at = cuda->arena[b->space] + cuda->rank_class->slot_offsets[b->first_slot] + where.offset;
  const int code = sl_cuda_philox_normal(stream, (enum sl_number)b->dtype, at, &key, 0, (size_t)where.count, 0, 0.02F);
  return code == 0 ? SL_OK : sl_cuda_failed("a kernel that draws first values", (cudaError_t)code);
}

enum sl_status sl_cuda_init_tensor(struct sl_cuda *cuda, cudaStream_t stream, const struct sl_issued *it) {
  if (cuda->alone) return fill_alone(cuda, stream, it->op);
  cuda->tensor_stream = stream;
  return sl_tensors_init(&cuda->tensors, it->op);
}

enum sl_status sl_cuda_save_tensor(struct sl_cuda *cuda, cudaStream_t stream, const struct sl_issued *it) {
  cuda->tensor_stream = stream;
  return sl_tensors_save(&cuda->tensors, it->op);
}

/* --- micro-batches --- */

/* Takes pinned memory for operand `i`, from which it is copied to the device once filled. */
static char *stage(struct sl_cuda *cuda, const struct sl_issued *it, int i) {
  char *at = cuda->staging + cuda->staged;
  cuda->staged += sl_aligned(it->program->slices[it->op->slice + i].bytes);
  return at;
}

enum sl_status sl_cuda_load_batch(struct sl_cuda *cuda, cudaStream_t stream, const struct sl_issued *it) {
  char *from[2] = {NULL, NULL};
  const int count = it->op->slice_count, inputs = sl_op_at(it->op, SL_AT_INPUTS);
  const int targets = sl_op_at(it->op, SL_AT_TARGETS);
  if (cuda->staged + sl_cuda_workspace_batch(it->program, it->op) > cuda->workspace.staging_bytes)
    return sl_fail(SL_ERR_INTERNAL, "micro-batches of a program outgrow their staging of %lld bytes",
                   (long long)cuda->workspace.staging_bytes);
  for (int i = 0; i < count; i++) from[i] = stage(cuda, it, i);
  const int64_t first = sl_input_first_sample(&cuda->input, &cuda->options, it, cuda->step);
  if (!cuda->graphs.recording)
    SL_TRY(sl_input_batch(&cuda->input, cuda->coord, first, it, inputs < 0 ? NULL : from[inputs],
                          targets < 0 ? NULL : from[targets]));
  for (int i = 0; i < count && !cuda->graphs.replaying; i++)
    SL_CUDA_TRY(cudaMemcpyAsync(sl_cuda_operand(cuda, it, i), from[i],
                                (size_t)it->program->slices[it->op->slice + i].bytes, cudaMemcpyDefault, stream));
  return SL_OK;
}
