/* The names of checkpoints and their order; see folder.h. */
#include "core/checkpoint/folder.h"

#include "core/base/file.h"
#include "core/base/folders.h"
#include "core/base/limits.h"
#include "core/base/new_file.h"
#include "core/base/remove.h"
#include "core/base/was_read.h"
#include "core/checkpoint/owner.h"
#include "core/checkpoint/pieces.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char latest_name[] = "latest", manifest_name[] = "manifest.json";

/* The path of a formatted name inside `folder`. */
static enum sl_status named(char **out, const char *folder, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static enum sl_status named(char **out, const char *folder, const char *format, ...) {
  char name[96];
  va_list args;
  va_start(args, format);
  vsnprintf(name, sizeof name, format, args);
  va_end(args);
  return sl_file_join(out, folder, name);
}

enum sl_status sl_folder_step(char **out, const char *folder, int64_t step) {
  return named(out, folder, "step-%06" PRId64, step);
}

enum sl_status sl_folder_stem(char **out, const char *folder) {
  return named(out, folder, "checkpoint");
}

enum sl_status sl_folder_hidden(char **out, const char *folder, int64_t start) {
  char *stem;
  SL_TRY(sl_folder_stem(&stem, folder));
  *out = sl_new_file_hidden(stem, (int)start);
  free(stem);
  return *out != NULL ? SL_OK : sl_fail(SL_ERR_MEMORY, "out of memory: the name of a folder");
}

enum sl_status sl_folder_model_file(char **out, const char *folder, int number, int count) {
  return named(out, folder, "model-%05d-of-%05d.safetensors", number + 1, count);
}

enum sl_status sl_folder_optimizer_file(char **out, const char *folder, int rank, int world) {
  return named(out, folder, "optimizer-%05d-of-%05d.safetensors", rank + 1, world);
}

enum sl_status sl_folder_pieces_file(char **out, const char *folder, int rank) {
  return named(out, folder, "pieces-%05d.json", rank + 1);
}

int sl_folder_model_files(const struct sl_model *model, int *of) {
  const int64_t most = 5000000000 / SL_CHECKPOINT_ELEMENT;
  int64_t elements = 0;
  int file = 0;
  for (int i = 0; i < model->tensor_count; i++) {
    if (elements > 0 && elements + model->tensors[i].numel > most) file++, elements = 0;
    elements += model->tensors[i].numel;
    of[i] = file;
  }
  return file + 1;
}

json_t *sl_folder_index(const struct sl_model *model, const int *of, int count) {
  json_t *map = json_object();
  for (int i = 0; i < model->tensor_count; i++) {
    char *path;
    if (sl_folder_model_file(&path, "", of[i], count) != SL_OK) continue;
    json_object_set_new(map, model->tensors[i].name, json_string(path + 1));
    free(path);
  }
  return json_pack("{s:{s:I}, s:o}", "metadata", "total_size",
                   (json_int_t)(sl_model_numel(model) * SL_CHECKPOINT_ELEMENT), "weight_map", map);
}

enum sl_status sl_folder_check(const char *folder) {
  struct stat info;
  if (stat(folder, &info) == 0) {
    if (!S_ISDIR(info.st_mode)) return sl_fail(SL_ERR_INPUT, "%s: is a file; expected a folder of checkpoints", folder);
    const int why = sl_folders_try(folder);
    return why == 0 ? SL_OK : sl_fail(SL_ERR_INPUT, "%s: cannot be written to: %s", folder, strerror(why));
  }
  const int why = sl_folders_check(folder);
  return why == 0 ? SL_OK : sl_fail(SL_ERR_INPUT, "%s: cannot be made: %s", folder, strerror(why));
}

enum sl_status sl_folder_make(const char *folder) {
  const int why = sl_folders_make(folder);
  struct stat info;
  if (why == ENOTDIR && stat(folder, &info) == 0)
    return sl_fail(SL_ERR_INPUT, "%s: is a file; expected a folder of checkpoints", folder);
  return why == 0 ? SL_OK : sl_fail(SL_ERR_INPUT, "%s: cannot be made: %s", folder, strerror(why));
}

/* The step of "step-000123", -1 for any other name. */
static int64_t step_of(const char *name) {
  char *end;
  if (strncmp(name, "step-", 5) != 0 || strlen(name) < 11 || strspn(name + 5, "0123456789") != strlen(name + 5))
    return -1;
  errno = 0;
  const long long step = strtoll(name + 5, &end, 10);
  return errno == 0 && step <= (long long)SL_MAX_STEPS ? step : -1;
}

/* ---- what is unfinished ---- */

static int is_unfinished(const struct dirent *entry) {
  const size_t length = strlen(entry->d_name);
  const bool ours = strncmp(entry->d_name, ".checkpoint.", 12) == 0 || strncmp(entry->d_name, ".latest.", 8) == 0;
  return ours && length > 4 && strcmp(entry->d_name + length - 4, ".tmp") == 0;
}

int sl_folder_lock(const char *hidden) {
  const int handle = open(hidden, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
  if (handle < 0 || flock(handle, LOCK_EX | LOCK_NB) == 0) return handle;
  close(handle);
  return -1;
}

enum sl_status sl_folder_own(int *lock, const char *folder) {
  *lock = -1;
  SL_TRY(sl_folder_make(folder));
  const int handle = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle < 0) return SL_OK;
  if (flock(handle, LOCK_EX | LOCK_NB) == 0) {
    *lock = handle;
    return SL_OK;
  }
  const bool taken = errno == EWOULDBLOCK;
  close(handle);
  if (!taken) return SL_OK;
  return sl_fail(SL_ERR_INPUT, "%s: another job is saving its checkpoints there; expected a folder of its own", folder);
}

void sl_folder_sweep(const char *folder) {
  struct dirent **found;
  const int count = scandir(folder, &found, is_unfinished, NULL);
  for (int i = 0; i < count; i++) {
    char *path;
    if (sl_file_join(&path, folder, found[i]->d_name) == SL_OK) {
      const int lock = sl_folder_lock(path);
      if (lock >= 0) {
        sl_remove(path);
        close(lock);
      }
      free(path);
    }
    free(found[i]);
  }
  if (count >= 0) free(found);
}

/* ---- which one ---- */

static enum sl_status find_latest(char **out, const char *folder) {
  char *path, *text = NULL;
  size_t size;
  SL_TRY(sl_file_join(&path, folder, latest_name));
  enum sl_status status;
  if (access(path, F_OK) != 0)
    SL_GO(sl_fail(SL_ERR_INPUT, "%s: holds no checkpoint: it has no file %s", folder, latest_name));
  SL_GO(sl_file_load(path, &text, &size));
  text[strcspn(text, "\n")] = '\0';
  if (strlen(text) + 1 != size || step_of(text) < 0)
    SL_GO(sl_fail(SL_ERR_INPUT, "%s: is damaged: it is no line such as step-000123", path));
  status = sl_file_join(out, folder, text);
done:
  free(path);
  free(text);
  return status;
}

static enum sl_status has_file(bool *has, const char *folder, const char *name) {
  char *path;
  SL_TRY(sl_file_join(&path, folder, name));
  *has = access(path, F_OK) == 0;
  free(path);
  return SL_OK;
}

/* The checkpoint `name` of a folder in *out; NULL: it has none. */
static enum sl_status find_step(char **out, const char *folder, const char *name) {
  bool is_one = false;
  *out = NULL;
  if (folder == NULL || step_of(name) < 0) return SL_OK;
  SL_TRY(sl_file_join(out, folder, name));
  const enum sl_status status = has_file(&is_one, *out, manifest_name);
  if (is_one) return SL_OK;
  free(*out);
  *out = NULL;
  return status;
}

enum sl_status sl_folder_find(char **out, const char *folder, const char *spec) {
  bool is_one, has_latest;
  if (strcmp(spec, latest_name) == 0 && folder == NULL)
    return sl_fail(SL_ERR_INPUT,
                   "latest: of which folder is not said; expected a path, or --checkpoint DIR beside --resume latest");
  if (strcmp(spec, latest_name) == 0) return find_latest(out, folder);
  SL_TRY(has_file(&is_one, spec, manifest_name));
  if (is_one) {
    *out = strdup(spec);
    return *out != NULL ? SL_OK : sl_fail(SL_ERR_MEMORY, "out of memory: the name of a checkpoint");
  }
  SL_TRY(has_file(&has_latest, spec, latest_name));
  if (has_latest) return find_latest(out, spec);
  SL_TRY(find_step(out, folder, spec));
  if (*out != NULL) return SL_OK;
  return sl_fail(SL_ERR_INPUT, "%s: is no checkpoint: it has neither %s nor %s", spec, manifest_name, latest_name);
}

enum sl_status sl_folder_set_latest(const char *folder, int64_t step) {
  struct sl_new_file file;
  char *path;
  SL_TRY(sl_file_join(&path, folder, latest_name));
  sl_was_read_forget(path); /* a resumed training has read it */
  enum sl_status status = sl_new_file_open(&file, path);
  if (status == SL_OK) {
    fprintf(file.stream, "step-%06" PRId64 "\n", step);
    status = sl_new_file_finish(&file);
  }
  free(path);
  return status;
}

/* ---- how many ---- */

/* The folder is renamed first, so that a partially removed checkpoint is never taken for one. */
static void remove_step(const char *folder, const char *name, int64_t start) {
  char *path = NULL, *hidden = NULL;
  if (sl_file_join(&path, folder, name) == SL_OK && sl_folder_hidden(&hidden, folder, start) == SL_OK) {
    if (rename(path, hidden) == 0)
      sl_remove(hidden);
    else if (errno != ENOENT) /* somebody else has removed it */
      sl_warn("%s: cannot be removed: %s", path, strerror(errno));
  }
  free(path);
  free(hidden);
}

static int is_step(const struct dirent *entry) {
  return step_of(entry->d_name) >= 0;
}

static int by_step(const struct dirent **a, const struct dirent **b) {
  const int64_t s = step_of((*a)->d_name), t = step_of((*b)->d_name);
  return (s > t) - (s < t);
}

static bool is_of(const char *folder, const char *name, const char *job) {
  char *path;
  if (sl_file_join(&path, folder, name) != SL_OK) return false;
  const bool is = sl_owner_of(path, job) == SL_OWNER_THIS;
  free(path);
  return is;
}

void sl_folder_keep(const char *folder, const char *job, int64_t keep, int64_t step, int64_t start) {
  struct dirent **found;
  const int count = scandir(folder, &found, is_step, by_step);
  int own = 0;
  for (int i = 0; i < count; i++) {
    if (is_of(folder, found[i]->d_name, job))
      found[own++] = found[i];
    else
      free(found[i]);
  }
  int left = own;
  for (int i = 0; i < own && left > keep; i++)
    if (step_of(found[i]->d_name) > step) remove_step(folder, found[i]->d_name, start), left--;
  for (int i = 0; i < own && left > keep; i++)
    if (step_of(found[i]->d_name) < step) remove_step(folder, found[i]->d_name, start), left--;
  for (int i = 0; i < own; i++) free(found[i]);
  if (count >= 0) free(found);
}

size_t sl_folder_steps(int64_t **steps, const char *folder) {
  struct dirent **found;
  const int count = scandir(folder, &found, is_step, by_step);
  size_t kept = 0;
  *steps = NULL;
  if (count < 0) return 0;
  const bool room = sl_calloc(steps, (size_t)count, sizeof **steps) == SL_OK;
  for (int i = 0; i < count; i++) {
    if (room) (*steps)[kept++] = step_of(found[i]->d_name);
    free(found[i]);
  }
  free(found);
  return kept;
}
