/* See part.h. */
#include "core/checkpoint/part.h"

#include "core/base/checked.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/checkpoint/folder.h"
#include "core/checkpoint/hash.h"

#include <stdlib.h>
#include <string.h>

/* Is there state beside the weights, so that every rank has a file of its own? */
static bool has_own(const struct sl_job *job) {
  for (int c = 0; c < job->class_count; c++)
    for (int i = 1; i < SL_CHECKPOINT_STATES; i++)
      if (job->classes[c].role[sl_checkpoint_roles[i]].form != SL_FORM_ABSENT) return true;
  return false;
}

/* ---- the model's files ---- */

static enum sl_status open_model_file(struct sl_part *part, int file) {
  const struct sl_model *model = part->job->plan->model;
  struct sl_safetensors_spec *specs = NULL;
  json_t *metadata = json_pack("{s:s}", "format", "pt"); /* required by Hugging Face's loaders */
  char *path = NULL;
  int count = 0;
  enum sl_status status;
  SL_GO(sl_calloc(&specs, (size_t)model->tensor_count, sizeof *specs));
  for (int i = 0; i < model->tensor_count; i++) {
    const struct sl_tensor *t = &model->tensors[i];
    if (part->model_of[i] == file)
      specs[count++] = (struct sl_safetensors_spec){t->name, SL_F32, t->n_dim, {t->shape[0], t->shape[1]}};
  }
  SL_GO(sl_folder_model_file(&path, part->folder, file, part->model_count));
  status = part->rank == 0 ? sl_safetensors_create(&part->model[file], path, specs, count, metadata)
                           : sl_safetensors_join(&part->model[file], path, specs, count, metadata);
done:
  json_decref(metadata);
  free(specs);
  free(path);
  return status;
}

enum sl_status sl_part_open(struct sl_part *part, const struct sl_job *job, int rank, const char *folder) {
  const struct sl_model *model = job->plan->model;
  enum sl_status status;
  *part = (struct sl_part){.job = job, .rank = rank, .folder = folder};
  SL_GO_FAIL(sl_calloc(&part->model_of, (size_t)model->tensor_count, sizeof *part->model_of));
  part->model_count = sl_folder_model_files(model, part->model_of);
  SL_GO_FAIL(sl_calloc(&part->model, (size_t)part->model_count, sizeof *part->model));
  for (int i = 0; i < part->model_count; i++) SL_GO_FAIL(open_model_file(part, i));
  return SL_OK;
fail:
  sl_part_close(part);
  return status;
}

void sl_part_close(struct sl_part *part) {
  for (int i = 0; part->model != NULL && i < part->model_count; i++) sl_safetensors_abort(&part->model[i]);
  free(part->model);
  free(part->model_of);
  *part = (struct sl_part){0};
}

/* ---- the copy ---- */

/* Is it of the rank's own file? */
static bool is_own(const struct sl_checkpoint_piece *p) {
  return p->role != SL_ROLE_PARAM && p->role != SL_ROLE_MASTER;
}

/* Bytes of the model's file before tensor `tensor`, counted from the start of the data. */
static int64_t weight_offset(const struct sl_model *model, const int *of, int tensor) {
  int64_t at = 0;
  for (int i = 0; i < tensor; i++)
    if (of[i] == of[tensor]) at = sl_sum(at, sl_product(model->tensors[i].numel, SL_CHECKPOINT_ELEMENT));
  return at;
}

enum sl_status sl_part_places(int64_t **places, int64_t *bytes, const struct sl_job *job,
                              const struct sl_checkpoint_pieces *pieces) {
  const struct sl_model *model = job->plan->model;
  int64_t own = 0, at = 0; /* offsets in the rank's own file, and in the copy */
  int *of;
  SL_TRY(sl_calloc(&of, (size_t)model->tensor_count, sizeof *of));
  (void)sl_folder_model_files(model, of);
  const enum sl_status status = sl_calloc(places, pieces->count, sizeof **places);
  for (size_t i = 0; status == SL_OK && i < pieces->count; i++) {
    const struct sl_checkpoint_piece *p = &pieces->items[i];
    const struct sl_cut cut = sl_cut_of(job->plan, &model->tensors[p->tensor]);
    const int64_t first = sl_cut_run(&cut, p->member, p->first, p->first + p->count).logical * SL_CHECKPOINT_ELEMENT;
    const int64_t in_file =
        is_own(p) ? own : weight_offset(model, of, p->tensor) + first; /* data begins at a block boundary */
    at += ((in_file - at) % SL_DIRECT_BLOCK + SL_DIRECT_BLOCK) % SL_DIRECT_BLOCK;
    (*places)[i] = at;
    at += p->held * SL_CHECKPOINT_ELEMENT;
    if (is_own(p)) own += p->held * SL_CHECKPOINT_ELEMENT;
  }
  *bytes = at;
  free(of);
  return status;
}

/* ---- runs of the model's files ---- */

/* Index of a tensor among those of its file. */
static int place_of(const struct sl_part *part, int tensor) {
  int place = 0;
  for (int i = 0; i < tensor; i++) place += part->model_of[i] == part->model_of[tensor];
  return place;
}

/* Writes a piece of a weight, run by run, to the positions in the logical tensor. */
static enum sl_status write_weight(const struct sl_part *part, const struct sl_checkpoint_piece *piece,
                                   const char *at) {
  const struct sl_plan *plan = part->job->plan;
  const struct sl_cut cut = sl_cut_of(plan, &plan->model->tensors[piece->tensor]);
  const struct sl_safetensors_writer *file = &part->model[part->model_of[piece->tensor]];
  const int place = place_of(part, piece->tensor);
  const int64_t end = piece->first + piece->count;
  for (int64_t local = piece->first; local < end;) {
    const struct sl_run_of run = sl_cut_run(&cut, piece->member, local, end);
    local += run.count;
    if (run.logical < 0) continue; /* padding */
    SL_TRY(sl_safetensors_write((struct sl_safetensors_writer *)(uintptr_t)file, place, run.logical, run.count, at));
    at += run.count * SL_CHECKPOINT_ELEMENT;
  }
  return SL_OK;
}

/* ---- the rank's own file ---- */

/* Is piece `i` the first of its state? */
static bool begins(const struct sl_checkpoint_pieces *pieces, size_t i) {
  const struct sl_checkpoint_piece *p = &pieces->items[i];
  return i == 0 || p[-1].tensor != p->tensor || p[-1].role != p->role;
}

typedef char state_name[96];

/* A one-dimensional tensor for each state of which this rank has a share. */
static enum sl_status create_own(const struct sl_part *part, struct sl_safetensors_writer *own) {
  const struct sl_checkpoint_pieces *pieces = part->pieces;
  const struct sl_plan *plan = part->job->plan;
  struct sl_safetensors_spec *specs = NULL;
  state_name *names = NULL;
  char *path = NULL;
  int count = 0;
  enum sl_status status;
  SL_GO(sl_calloc(&specs, pieces->count, sizeof *specs));
  SL_GO(sl_calloc(&names, pieces->count, sizeof *names));
  for (size_t i = 0; i < pieces->count; i++) {
    const struct sl_checkpoint_piece *p = &pieces->items[i];
    if (!is_own(p)) continue;
    if (begins(pieces, i)) {
      snprintf(names[count], sizeof *names, "%s.%s", plan->model->tensors[p->tensor].name,
               sl_checkpoint_role_name(p->role));
      specs[count] = (struct sl_safetensors_spec){names[count], SL_F32, 1, {0}};
      count++;
    }
    specs[count - 1].shape[0] += p->held;
  }
  SL_GO(sl_folder_optimizer_file(&path, part->folder, part->rank, plan->world));
  status = sl_safetensors_create(own, path, specs, count, NULL);
done:
  free(specs);
  free(names);
  free(path);
  return status;
}

/* ---- all pieces ---- */

/* Adds a piece to the list; `offset` -1: it has none. */
static void tell(json_t *told, const struct sl_part *part, const struct sl_checkpoint_piece *p, int64_t offset,
                 const char *at) {
  const struct sl_hash_text hash = sl_hash_print(sl_hash_of(at, (size_t)(p->held * SL_CHECKPOINT_ELEMENT)));
  const int file = offset < 0 ? part->model_of[p->tensor] : part->model_count + part->rank;
  json_t *entry =
      json_pack("{s:i, s:s, s:i, s:i, s:I, s:I}", "tensor", p->tensor, "role", sl_checkpoint_role_name(p->role), "file",
                file, "member", p->member, "first", (json_int_t)p->first, "count", (json_int_t)p->count);
  if (offset >= 0) json_object_set_new(entry, "offset", json_integer(offset));
  json_object_set_new(entry, "xxh3", json_string(hash.text));
  json_array_append_new(told, entry);
}

static enum sl_status write_pieces(struct sl_part *part, struct sl_safetensors_writer *own, json_t *told) {
  int64_t within = 0;
  int state = -1; /* in the rank's own file */
  for (size_t i = 0; i < part->pieces->count; i++) {
    const struct sl_checkpoint_piece *p = &part->pieces->items[i];
    const char *at = part->copy + part->places[i];
    if (atomic_load(part->stop)) return sl_fail(SL_ERR_PEER, "%s: is given up", part->folder);
    if (!is_own(p)) {
      SL_TRY(write_weight(part, p, at));
      tell(told, part, p, -1, at);
    } else {
      if (begins(part->pieces, i)) state++, within = 0;
      SL_TRY(sl_safetensors_write(own, state, within, p->held, at));
      tell(told, part, p, own->offset[state] + within * SL_CHECKPOINT_ELEMENT, at);
      within += p->held;
    }
    part->written += p->held * SL_CHECKPOINT_ELEMENT;
  }
  return SL_OK;
}

enum sl_status sl_part_file_entry(json_t **out, const char *folder, const char *path, int64_t hashed) {
  struct sl_file file;
  char *bytes = NULL;
  SL_TRY(sl_file_open(&file, path));
  const size_t size = hashed >= 0 ? (size_t)hashed : file.size;
  enum sl_status status;
  SL_GO(sl_calloc(&bytes, size + 1, 1));
  SL_GO(sl_file_read(&file, 0, bytes, size));
  const struct sl_hash_text hash = sl_hash_print(sl_hash_of(bytes, size));
  *out = json_pack("{s:s, s:I, s:I, s:s}", "name", path + strlen(folder) + 1, "bytes", (json_int_t)file.size, "hashed",
                   (json_int_t)size, "xxh3", hash.text);
done:
  free(bytes);
  sl_file_close(&file);
  return status;
}

/* Flushes the rank's own file, and its runs of the model's files, to the disk. */
static enum sl_status finish_files(const struct sl_part *part, struct sl_safetensors_writer *own, json_t *files) {
  char *path;
  json_t *entry;
  if (has_own(part->job)) {
    const int64_t head = own->offset[0];
    SL_TRY(sl_safetensors_finish(own));
    SL_TRY(sl_folder_optimizer_file(&path, part->folder, part->rank, part->job->plan->world));
    const enum sl_status status = sl_part_file_entry(&entry, part->folder, path, head);
    free(path);
    if (status != SL_OK) return status;
    json_array_append_new(files, entry);
  }
  for (int i = 0; i < part->model_count; i++)
    SL_TRY(part->rank == 0 ? sl_safetensors_sync(&part->model[i]) : sl_safetensors_finish(&part->model[i]));
  return SL_OK;
}

enum sl_status sl_part_write(struct sl_part *part) {
  struct sl_safetensors_writer own = {0};
  json_t *files = json_array(), *pieces = json_array();
  json_t *told = json_pack("{s:o, s:o}", "files", files, "pieces", pieces);
  char *path = NULL;
  enum sl_status status = SL_OK;
  if (has_own(part->job)) SL_GO(create_own(part, &own));
  SL_GO(write_pieces(part, &own, pieces));
  SL_GO(finish_files(part, &own, files));
  SL_GO(sl_folder_pieces_file(&path, part->folder, part->rank));
  status = sl_json_save(told, path);
done:
  sl_safetensors_abort(&own); /* no effect if it is finished */
  json_decref(told);
  free(path);
  return status;
}
