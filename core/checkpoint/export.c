/* See export.h. */
#include "core/checkpoint/export.h"

#include "core/base/json_write.h"
#include "core/base/new_file.h"
#include "core/checkpoint/folder.h"
#include "core/checkpoint/pieces.h"
#include "core/io/safetensors.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum sl_status sl_export_model(struct sl_model *model, const struct sl_checkpoint *checkpoint) {
  struct sl_json doc;
  char *text = sl_json_text(json_object_get(checkpoint->manifest.doc.root, "model"), 0);
  if (text == NULL) return sl_fail(SL_ERR_MEMORY, "%s: no memory for its model", checkpoint->path);
  enum sl_status status = sl_json_parse(&doc, checkpoint->path, text, strlen(text));
  free(text);
  if (status != SL_OK) return status;
  status = sl_model_from_json(model, &doc);
  sl_json_free(&doc);
  return status;
}

struct export {
  const struct sl_checkpoint *from;
  const struct sl_model *model;
  const char *folder; /* being written */
  int *of, files;
  float *room;
};

static enum sl_status file_name(const struct export *e, int file, char **out) {
  return e->files == 1 ? sl_file_join(out, e->folder, "model.safetensors")
                       : sl_folder_model_file(out, e->folder, file, e->files);
}

static enum sl_status write_tensor(const struct export *e, struct sl_safetensors_writer *writer, int place,
                                   int tensor) {
  const struct sl_tensor *t = &e->model->tensors[tensor];
  const struct sl_manifest_tensor *from = sl_manifest_find(&e->from->manifest, t->name, SL_ROLE_PARAM);
  if (from == NULL || from->numel != t->numel)
    return sl_fail(SL_ERR_INPUT, "%s: has no weight of tensor %s with %lld elements, which its model needs",
                   e->from->path, t->name, (long long)t->numel);
  for (int64_t done = 0; done < t->numel; done += SL_PIECE_ELEMENTS) {
    const int64_t left = t->numel - done, count = left < SL_PIECE_ELEMENTS ? left : SL_PIECE_ELEMENTS;
    SL_TRY(sl_checkpoint_read(e->from, from, done, count, e->room));
    SL_TRY(sl_safetensors_write(writer, place, done, count, e->room));
  }
  return SL_OK;
}

static enum sl_status write_file(const struct export *e, int file) {
  struct sl_safetensors_writer writer = {0};
  struct sl_safetensors_spec *specs = NULL;
  json_t *metadata = json_pack("{s:s}", "format", "pt");
  char *path = NULL;
  int count = 0, place = 0;
  enum sl_status status;
  SL_GO(sl_calloc(&specs, (size_t)e->model->tensor_count, sizeof *specs));
  for (int i = 0; i < e->model->tensor_count; i++) {
    const struct sl_tensor *t = &e->model->tensors[i];
    if (e->of[i] == file)
      specs[count++] = (struct sl_safetensors_spec){t->name, SL_F32, t->n_dim, {t->shape[0], t->shape[1]}};
  }
  SL_GO(file_name(e, file, &path));
  SL_GO(sl_safetensors_create(&writer, path, specs, count, metadata));
  for (int i = 0; i < e->model->tensor_count; i++)
    if (e->of[i] == file) SL_GO(write_tensor(e, &writer, place++, i));
  status = sl_safetensors_finish(&writer);
done:
  sl_safetensors_abort(&writer);
  json_decref(metadata);
  free(specs);
  free(path);
  return status;
}

static enum sl_status write_json(const struct export *e, const char *name, json_t *root) {
  char *path;
  enum sl_status status = sl_file_join(&path, e->folder, name);
  if (status == SL_OK) {
    status = sl_json_save(root, path);
    free(path);
  }
  json_decref(root);
  return status;
}

static enum sl_status write_all(const struct export *e) {
  for (int i = 0; i < e->files; i++) SL_TRY(write_file(e, i));
  if (e->files > 1) SL_TRY(write_json(e, "model.safetensors.index.json", sl_folder_index(e->model, e->of, e->files)));
  return write_json(e, "config.json", sl_model_to_json(e->model));
}

enum sl_status sl_checkpoint_export(const struct sl_checkpoint *checkpoint, const struct sl_model *model,
                                    const char *folder, bool single) {
  struct export e = {.from = checkpoint, .model = model};
  char *hidden = NULL;
  struct stat info;
  enum sl_status status;
  if (lstat(folder, &info) == 0)
    return sl_fail(SL_ERR_INPUT, "%s: is there already; expected the name of a folder to be made", folder);
  SL_GO(sl_calloc(&e.of, (size_t)model->tensor_count, sizeof *e.of));
  SL_GO(sl_malloc(&e.room, SL_PIECE_ELEMENTS, sizeof *e.room));
  e.files = sl_folder_model_files(model, e.of);
  if (single) e.files = 1, memset(e.of, 0, (size_t)model->tensor_count * sizeof *e.of);
  hidden = sl_new_file_hidden(folder, 0);
  if (hidden == NULL) SL_GO(sl_fail(SL_ERR_MEMORY, "out of memory: the name of a folder"));
  e.folder = hidden;
  SL_GO(sl_new_folder_create(hidden));
  status = write_all(&e);
  if (status == SL_OK) status = sl_new_folder_finish(hidden, folder);
  if (status != SL_OK) sl_new_file_drop(hidden);
done:
  free(hidden);
  free(e.room);
  free(e.of);
  return status;
}
