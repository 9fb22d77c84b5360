/* See weights.h. The index only says which files there are; the header of each file says what is in it. */
#include "core/io/weights.h"

#include "core/base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char index_name[] = "model.safetensors.index.json", single_name[] = "model.safetensors";

static enum sl_status add_file(struct sl_weights *w, const char *path) {
  struct sl_safetensors *grown = realloc(w->files, (size_t)(w->file_count + 1) * sizeof *grown);
  if (grown == NULL) return sl_fail(SL_ERR_MEMORY, "%s: no memory for its files", w->name);
  w->files = grown;
  SL_TRY(sl_safetensors_open(&w->files[w->file_count], path));
  w->file_count++;
  return SL_OK;
}

/* Has a file of this name been opened? The list is short and unsorted. */
static bool has(const struct sl_weights *w, const char *path) {
  for (int i = 0; i < w->file_count; i++)
    if (strcmp(w->files[i].name, path) == 0) return true;
  return false;
}

/* Adds a file of a folder, once. */
static enum sl_status add_inside(struct sl_weights *w, const char *folder, const char *name) {
  char *path;
  SL_TRY(sl_file_join(&path, folder, name));
  const enum sl_status status = has(w, path) ? SL_OK : add_file(w, path);
  free(path);
  return status;
}

/* Adds the files that "weight_map" names, which must be next to the index. */
static enum sl_status add_mapped(struct sl_weights *w, const struct sl_json *doc, const char *folder) {
  const json_t *map = json_object_get(doc->root, "weight_map");
  const char *tensor;
  json_t *file;
  if (!json_is_object(map) || json_object_size(map) == 0)
    return sl_json_fail(doc, "weight_map", "is missing or empty; expected an object of tensors and their files");
  json_object_foreach((json_t *)(uintptr_t)map, tensor, file) {
    const char *name = json_string_value(file);
    if (name == NULL || name[0] == '\0' || strchr(name, '/') != NULL)
      return sl_json_fail(doc, "weight_map", "tensor \"%s\" is in no file beside the index; expected its name", tensor);
    SL_TRY(add_inside(w, folder, name));
  }
  return SL_OK;
}

static enum sl_status open_index(struct sl_weights *w, const char *path) {
  struct sl_json doc;
  const char *slash = strrchr(path, '/');
  char *folder = slash != NULL ? strndup(path, (size_t)(slash - path)) : strdup(".");
  if (folder == NULL) return sl_fail(SL_ERR_MEMORY, "out of memory: the name of a folder");
  enum sl_status status = sl_json_load(&doc, path);
  if (status == SL_OK) {
    status = add_mapped(w, &doc, folder);
    sl_json_free(&doc);
  }
  free(folder);
  return status;
}

static enum sl_status open_folder(struct sl_weights *w, const char *folder) {
  enum sl_status status = SL_OK;
  char *single = NULL, *index = NULL;
  SL_GO(sl_file_join(&single, folder, single_name));
  SL_GO(sl_file_join(&index, folder, index_name));
  if (access(single, F_OK) == 0)
    status = add_file(w, single);
  else if (access(index, F_OK) == 0)
    status = open_index(w, index);
  else
    status = sl_fail(SL_ERR_INPUT, "%s: is a folder without weights; expected %s or %s in it", folder, single_name,
                     index_name);
done:
  free(single);
  free(index);
  return status;
}

static enum sl_status open_any(struct sl_weights *w, const char *path) {
  struct stat info;
  const size_t length = strlen(path);
  if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) return open_folder(w, path);
  const bool json = length > 5 && strcmp(path + length - 5, ".json") == 0;
  return json ? open_index(w, path) : add_file(w, path);
}

enum sl_status sl_weights_open(struct sl_weights *weights, const char *path) {
  *weights = (struct sl_weights){.name = strdup(path)};
  if (weights->name == NULL) return sl_fail(SL_ERR_MEMORY, "out of memory: a file name");
  const enum sl_status status = open_any(weights, path);
  if (status != SL_OK) sl_weights_close(weights);
  return status;
}

void sl_weights_close(struct sl_weights *weights) {
  for (int i = 0; i < weights->file_count; i++) sl_safetensors_close(&weights->files[i]);
  free(weights->files);
  free(weights->name);
  *weights = (struct sl_weights){0};
}

const struct sl_safetensors_tensor *sl_weights_find(const struct sl_weights *weights, const char *name,
                                                    const struct sl_safetensors **file) {
  for (int i = 0; i < weights->file_count; i++) {
    const struct sl_safetensors_tensor *found = sl_safetensors_find(&weights->files[i], name);
    if (found == NULL) continue;
    *file = &weights->files[i];
    return found;
  }
  return NULL;
}
