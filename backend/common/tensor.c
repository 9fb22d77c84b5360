/* Pieces, runs and files; see tensor.h. */
#include "backend/common/tensor.h"
#include "backend/common/streams.h"

#include "core/program/locate.h"
#include "kernels/philox.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A piece of one tensor's state on this rank. */
struct piece {
  struct sl_located where;
  const struct sl_tensor *tensor;
  int index; /* of the tensor in the model */
  int64_t end;
};

static struct piece piece_of(const struct sl_tensors *s, const struct sl_op *op) {
  const struct sl_plan *plan = s->job->plan;
  struct piece p = {.where = sl_job_locate(s->job, s->rank, op->role, op->tensor)};
  p.index = plan->pp_ranks[sl_plan_coord(plan, s->rank).pp].tensors[op->tensor].tensor;
  p.tensor = &plan->model->tensors[p.index];
  p.end = p.where.first + p.where.count;
  return p;
}

/* The run that starts at local element `local` of a piece. */
static struct sl_run_of whole_run_at(const struct sl_tensors *s, const struct piece *p, int64_t local) {
  const struct sl_plan *plan = s->job->plan;
  return sl_plan_logical_run(plan, p->tensor, sl_plan_coord(plan, s->rank).tp, local, p->end);
}

/* As long as passes at a time. */
static struct sl_run_of run_at(const struct sl_tensors *s, const struct piece *p, int64_t local) {
  struct sl_run_of run = whole_run_at(s, p, local);
  if (run.count > SL_TENSOR_CHUNK) run.count = SL_TENSOR_CHUNK;
  return run;
}

static struct sl_tensor_place place_of(const struct sl_tensors *s, const struct piece *p, const struct sl_run_of *run) {
  const struct sl_buffer *b = &s->rank_class->buffers[p->where.buffer];
  return (struct sl_tensor_place){.space = b->space,
                                  .offset = s->rank_class->slot_offsets[b->first_slot] + p->where.offset +
                                            (run->local - p->where.first) * sl_dtype_bytes(b->dtype),
                                  .count = run->count,
                                  .dtype = b->dtype};
}

/* --- first values --- */

static struct sl_philox_key key_of(const struct sl_tensors *s, const struct piece *p) {
  return sl_stream_key(s->job->plan->config->sl.seed, SL_STREAM_INIT, 0, (uint32_t)p->index);
}

static enum sl_status fill_run(struct sl_tensors *s, float *out, const struct piece *p, struct sl_run_of run) {
  const struct sl_tensor *t = p->tensor;
  const struct sl_philox_key key = key_of(s, p);
  const size_t n = (size_t)run.count;
  const float scale = (float)t->init_scale;
  if (run.logical < 0) { /* padding */
    memset(out, 0, n * sizeof *out);
    return SL_OK;
  }
  if (s->options->weights.read != NULL)
    return s->options->weights.read(s->options->weights.context, t->name, run.logical, run.count, out);
  if (s->has_init) {
    const struct sl_safetensors *file;
    const struct sl_safetensors_tensor *from = sl_weights_find(&s->init, t->name, &file);
    return sl_safetensors_read(file, from, run.logical, run.count, out);
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

enum sl_status sl_tensors_init(struct sl_tensors *s, const struct sl_op *op) {
  const struct piece p = piece_of(s, op);
  if (p.where.count == 0) return SL_OK;
  float *values;
  enum sl_status status = SL_OK;
  const bool given = s->has_init || s->options->weights.read != NULL;
  const bool drawn = s->memory.normal && !given && p.tensor->init == SL_INIT_NORMAL;
  SL_TRY(sl_calloc(&values, SL_TENSOR_CHUNK, sizeof *values));
  for (int64_t local = p.where.first; status == SL_OK && local < p.end;) {
    const struct sl_run_of whole = whole_run_at(s, &p, local);
    const bool there = drawn && whole.logical >= 0; /* no padding */
    const struct sl_run_of run = there ? whole : run_at(s, &p, local);
    const struct sl_tensor_place place = place_of(s, &p, &run);
    if (there) {
      const struct sl_philox_key key = key_of(s, &p);
      status = s->memory.normal(s->memory.context, &place, &key, (uint64_t)run.logical, (float)p.tensor->init_scale);
    } else {
      status = fill_run(s, values, &p, run);
      if (status == SL_OK) status = s->memory.put(s->memory.context, &place, values);
    }
    local += run.count;
  }
  free(values);
  return status;
}

static enum sl_status check_shape(const struct sl_tensors *s, const struct sl_tensor *t) {
  const struct sl_safetensors *file;
  const struct sl_safetensors_tensor *from = sl_weights_find(&s->init, t->name, &file);
  if (!from) return sl_fail(SL_ERR_INPUT, "%s: tensor \"%s\" is missing", s->options->init, t->name);
  bool same = from->readable && from->n_dim == t->n_dim;
  for (int d = 0; same && d < t->n_dim; d++) same = from->shape[d] == t->shape[d];
  if (same) return SL_OK;
  return sl_fail(SL_ERR_INPUT,
                 "%s: tensor \"%s\" is %s of %d dimensions, %" PRId64
                 " elements; expected fp32, bf16 or fp16 of shape (%" PRId64 "%s%.0" PRId64 ")",
                 s->options->init, t->name, from->type_name, from->n_dim, from->numel, t->shape[0],
                 t->n_dim > 1 ? ", " : "", t->n_dim > 1 ? t->shape[1] : 0);
}

enum sl_status sl_tensors_open(struct sl_tensors *s, const struct sl_job *job, const struct sl_exec_options *options,
                               int rank, const struct sl_tensor_memory *memory) {
  *s = (struct sl_tensors){.job = job,
                           .options = options,
                           .rank_class = &job->classes[sl_job_class_of(job, rank)],
                           .rank = rank,
                           .memory = *memory};
  if (!options->init) return SL_OK;
  SL_TRY(sl_weights_open(&s->init, options->init));
  s->has_init = true;
  const struct sl_model *model = job->plan->model;
  for (int i = 0; i < model->tensor_count; i++) SL_TRY(check_shape(s, &model->tensors[i]));
  return SL_OK;
}

void sl_tensors_close(struct sl_tensors *s) {
  sl_tensors_save_abort(s);
  sl_weights_close(&s->init);
  s->has_init = false;
}

/* --- saving --- */

static enum sl_status agree(const struct sl_tensors *s, enum sl_status mine) {
  return s->memory.agree(s->memory.context, mine);
}

static enum sl_status open_writer(struct sl_tensors *s, int which, const char *path) {
  const struct sl_model *model = s->job->plan->model;
  struct sl_safetensors_spec *specs;
  SL_TRY(sl_calloc(&specs, (size_t)model->tensor_count, sizeof *specs));
  for (int i = 0; i < model->tensor_count; i++) {
    const struct sl_tensor *t = &model->tensors[i];
    specs[i] = (struct sl_safetensors_spec){t->name, SL_F32, t->n_dim, {t->shape[0], t->shape[1]}};
  }
  json_t *metadata = json_pack("{s:s}", "format", "pt"); /* what Hugging Face's loaders ask for */
  struct sl_safetensors_writer *writer = &s->writer[which];
  enum sl_status status = SL_OK;
  if (s->rank == 0) status = sl_safetensors_create(writer, path, specs, model->tensor_count, metadata);
  s->writing[which] = s->rank == 0 && status == SL_OK;
  status = agree(s, status);
  if (status == SL_OK && s->rank != 0) {
    status = sl_safetensors_join(writer, path, specs, model->tensor_count, metadata);
    s->writing[which] = status == SL_OK;
  }
  json_decref(metadata);
  free(specs);
  return agree(s, status);
}

enum sl_status sl_tensors_save_open(struct sl_tensors *s) {
  if (s->options->save) SL_TRY(open_writer(s, SL_TENSOR_SAVE_PARAM, s->options->save));
  if (s->options->save_grads) SL_TRY(open_writer(s, SL_TENSOR_SAVE_GRAD, s->options->save_grads));
  return SL_OK;
}

enum sl_status sl_tensors_save(struct sl_tensors *s, const struct sl_op *op) {
  const int which = op->role == SL_ROLE_GRAD ? SL_TENSOR_SAVE_GRAD : SL_TENSOR_SAVE_PARAM;
  const struct piece p = piece_of(s, op);
  enum sl_status status = SL_OK;
  if (p.where.count == 0 || !p.where.writer || !s->writing[which]) return SL_OK;
  float *values;
  SL_TRY(sl_calloc(&values, SL_TENSOR_CHUNK, sizeof *values));
  for (int64_t local = p.where.first; status == SL_OK && local < p.end && s->save_status == SL_OK;) {
    const struct sl_run_of run = run_at(s, &p, local);
    const struct sl_tensor_place place = place_of(s, &p, &run);
    status = s->memory.get(s->memory.context, &place, values);
    if (status == SL_OK && run.logical >= 0)
      s->save_status = sl_safetensors_write(&s->writer[which], p.index, run.logical, run.count, values);
    local += run.count;
  }
  free(values);
  return status;
}

void sl_tensors_save_abort(struct sl_tensors *s) {
  for (int which = 0; which < SL_TENSOR_SAVES; which++) {
    if (s->writing[which]) sl_safetensors_abort(&s->writer[which]);
    s->writing[which] = false;
  }
}

enum sl_status sl_tensors_save_finish(struct sl_tensors *s) {
  SL_TRY(agree(s, s->save_status));
  for (int which = 0; which < SL_TENSOR_SAVES; which++) {
    if (!s->writing[which]) continue; /* equal on all ranks */
    /* Process 0 renames only what is complete. It waits for the disk as the others do, not for them: an agreement has a
     * time limit, a disk may be slow. */
    if (s->rank != 0) s->writing[which] = false;
    SL_TRY(agree(s, s->rank == 0 ? sl_safetensors_sync(&s->writer[which]) : sl_safetensors_finish(&s->writer[which])));
    s->writing[which] = false;
    SL_TRY(agree(s, s->rank == 0 ? sl_safetensors_finish(&s->writer[which]) : SL_OK));
  }
  return SL_OK;
}
