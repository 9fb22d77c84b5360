/* First values of tensors, and their way into files. A rank holds a piece of a tensor's state, which core locates; here
 * a piece is cut into runs that are contiguous in the logical tensor too, so that values and files know no
 * partitioning. */
#include "backend/host/host.h"

#include "kernels/convert.h"
#include "kernels/philox.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The run that starts at local element `local` and ends before `end`. */
static struct sl_run_of run_at(const struct sl_host *host, const struct sl_tensor *t, int64_t local, int64_t end) {
  return sl_plan_logical_run(host->job->plan, t, host->coord.tp, local, end);
}

static const struct sl_tensor *tensor_of(const struct sl_host *host, int placed, int *index) {
  const struct sl_plan *plan = host->job->plan;
  *index = plan->stages[host->coord.pp].tensors[placed].tensor;
  return &plan->model->tensors[*index];
}

/* Element `local` of a piece in memory; pieces may be of any type, files and first values are fp32. */
static void *memory_of(const struct sl_host *host, const struct sl_located *where, int64_t local,
                       enum sl_number *type) {
  const struct sl_buffer *b = &host->rank_class->buffers[where->buffer];
  *type = (enum sl_number)b->dtype;
  return (char *)host->arena[b->space] + host->rank_class->slot_offsets[b->first_slot] + where->offset +
         (local - where->first) * sl_dtype_bytes(b->dtype);
}

enum { CHUNK = 1 << 16 }; /* elements converted at a time */

static struct sl_run_of chunk_of(struct sl_run_of run) {
  if (run.count > CHUNK) run.count = CHUNK;
  return run;
}

/* --- first values --- */

static enum sl_status fill_run(struct sl_host *host, float *out, const struct sl_tensor *t, int index,
                               struct sl_run_of run) {
  const struct sl_philox_key key = {(uint32_t)host->job->plan->config->sl.seed, SL_STREAM_INIT, 0, (uint32_t)index};
  const size_t n = (size_t)run.count;
  const float scale = (float)t->init_scale;
  if (run.logical < 0) { /* padding */
    memset(out, 0, n * sizeof *out);
    return SL_OK;
  }
  if (host->has_init) {
    const struct sl_safetensors_tensor *from = sl_safetensors_find(&host->init, t->name);
    return sl_safetensors_read(&host->init, from, run.logical, run.count, out);
  }
  switch (t->init) {
  case SL_INIT_NORMAL:
    sl_philox_normal(out, &key, (uint64_t)run.logical, n, 0, scale);
    break;
  case SL_INIT_UNIFORM:
    sl_philox_uniform(out, &key, (uint64_t)run.logical, n, -scale, scale);
    break;
  case SL_INIT_ZEROS:
    memset(out, 0, n * sizeof *out);
    break;
  case SL_INIT_ONES:
    for (size_t i = 0; i < n; i++) out[i] = 1;
    break;
  }
  return SL_OK;
}

enum sl_status sl_host_init_tensor(struct sl_host *host, const struct sl_issued *it) {
  const struct sl_op *op = it->op;
  const struct sl_located where = sl_job_locate(host->job, host->rank, op->role, op->tensor);
  if (where.count == 0) return SL_OK;
  int index;
  const struct sl_tensor *t = tensor_of(host, op->tensor, &index);
  const int64_t end = where.first + where.count;
  float *values;
  enum sl_status status = SL_OK;
  SL_TRY(sl_calloc(&values, CHUNK, sizeof *values));
  for (int64_t local = where.first; status == SL_OK && local < end;) {
    const struct sl_run_of run = chunk_of(run_at(host, t, local, end));
    enum sl_number type;
    void *at = memory_of(host, &where, local, &type);
    status = fill_run(host, values, t, index, run);
    sl_convert(at, type, values, SL_NUMBER_F32, (size_t)run.count);
    local += run.count;
  }
  free(values);
  return status;
}

static enum sl_status check_shape(const struct sl_host *host, const struct sl_tensor *t) {
  const struct sl_safetensors_tensor *from = sl_safetensors_find(&host->init, t->name);
  if (!from) return sl_fail(SL_ERR_INPUT, "%s: tensor \"%s\" is missing", host->options.init, t->name);
  bool same = from->readable && from->n_dim == t->n_dim;
  for (int d = 0; same && d < t->n_dim; d++) same = from->shape[d] == t->shape[d];
  if (same) return SL_OK;
  return sl_fail(SL_ERR_INPUT,
                 "%s: tensor \"%s\" is %s of %d dimensions, %" PRId64
                 " elements; expected fp32, bf16 or fp16 of shape (%" PRId64 "%s%.0" PRId64 ")",
                 host->options.init, t->name, from->type_name, from->n_dim, from->numel, t->shape[0],
                 t->n_dim > 1 ? ", " : "", t->n_dim > 1 ? t->shape[1] : 0);
}

enum sl_status sl_host_init_check(struct sl_host *host) {
  if (!host->options.init) return SL_OK;
  SL_TRY(sl_safetensors_open(&host->init, host->options.init));
  host->has_init = true;
  const struct sl_model *model = host->job->plan->model;
  for (int i = 0; i < model->tensor_count; i++) SL_TRY(check_shape(host, &model->tensors[i]));
  return SL_OK;
}

/* --- saving --- */

static enum sl_status open_writer(struct sl_host *host, int which, const char *path) {
  const struct sl_model *model = host->job->plan->model;
  struct sl_safetensors_spec *specs;
  SL_TRY(sl_calloc(&specs, (size_t)model->tensor_count, sizeof *specs));
  for (int i = 0; i < model->tensor_count; i++) {
    const struct sl_tensor *t = &model->tensors[i];
    specs[i] = (struct sl_safetensors_spec){t->name, SL_F32, t->n_dim, {t->shape[0], t->shape[1]}};
  }
  json_t *metadata = json_pack("{s:s}", "format", "pt"); /* what Hugging Face's loaders ask for */
  struct sl_safetensors_writer *writer = &host->writer[which];
  enum sl_status status = SL_OK;
  if (host->rank == 0) status = sl_safetensors_create(writer, path, specs, model->tensor_count, metadata);
  host->writing[which] = host->rank == 0 && status == SL_OK;
  status = sl_host_agree(host, status);
  if (status == SL_OK && host->rank != 0) {
    status = sl_safetensors_join(writer, path, specs, model->tensor_count, metadata);
    host->writing[which] = status == SL_OK;
  }
  json_decref(metadata);
  free(specs);
  return sl_host_agree(host, status);
}

enum sl_status sl_host_save_open(struct sl_host *host) {
  if (host->options.save) SL_TRY(open_writer(host, SL_HOST_SAVE_PARAM, host->options.save));
  if (host->options.save_grads) SL_TRY(open_writer(host, SL_HOST_SAVE_GRAD, host->options.save_grads));
  return SL_OK;
}

enum sl_status sl_host_save_tensor(struct sl_host *host, const struct sl_issued *it) {
  const struct sl_op *op = it->op;
  const int which = op->role == SL_ROLE_GRAD ? SL_HOST_SAVE_GRAD : SL_HOST_SAVE_PARAM;
  const struct sl_located where = sl_job_locate(host->job, host->rank, op->role, op->tensor);
  if (where.count == 0 || !where.writer || !host->writing[which]) return SL_OK;
  int index;
  const struct sl_tensor *t = tensor_of(host, op->tensor, &index);
  const int64_t end = where.first + where.count;
  float *values;
  SL_TRY(sl_calloc(&values, CHUNK, sizeof *values));
  for (int64_t local = where.first; local < end && host->save_status == SL_OK;) {
    const struct sl_run_of run = chunk_of(run_at(host, t, local, end));
    enum sl_number type;
    const void *at = memory_of(host, &where, local, &type);
    sl_convert(values, SL_NUMBER_F32, at, type, (size_t)run.count);
    /* a failure is told at the end, when all ranks can clean up */
    if (run.logical >= 0)
      host->save_status = sl_safetensors_write(&host->writer[which], index, run.logical, run.count, values);
    local += run.count;
  }
  free(values);
  return SL_OK;
}

void sl_host_save_abort(struct sl_host *host) {
  for (int which = 0; which < SL_HOST_SAVES; which++) {
    if (host->writing[which]) sl_safetensors_abort(&host->writer[which]);
    host->writing[which] = false;
  }
}

enum sl_status sl_host_save_finish(struct sl_host *host) {
  SL_TRY(sl_host_agree(host, host->save_status));
  for (int which = 0; which < SL_HOST_SAVES; which++) {
    if (!host->writing[which]) continue; /* equal on all ranks */
    /* process 0 renames only what is complete */
    if (host->rank != 0) host->writing[which] = false;
    SL_TRY(sl_host_agree(host, host->rank == 0 ? SL_OK : sl_safetensors_finish(&host->writer[which])));
    host->writing[which] = false;
    SL_TRY(sl_host_agree(host, host->rank == 0 ? sl_safetensors_finish(&host->writer[which]) : SL_OK));
  }
  return SL_OK;
}
