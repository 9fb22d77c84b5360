/* Writes results to files, pipes and terminals; see output.h. */
#include "cli/output.h"

#include "core/base/folders.h"
#include "core/base/json.h"
#include "core/base/new_file.h"
#include "core/base/standard.h"
#include "core/base/was_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum sl_status sl_output_json(const struct sl_options *options, json_t *root) {
  enum sl_status status = SL_OK;
  if (root == NULL) return sl_fail(SL_ERR_MEMORY, "out of memory: a result");
  if (options->json != NULL && strcmp(options->json, "-") == 0) {
    status = sl_json_print(root, stdout);
    if (status == SL_ERR_IO) { /* reported by sl_standard_flush instead, which names what cannot be written */
      sl_error_clear();
      status = SL_OK;
    }
    if (status == SL_OK) status = sl_standard_flush();
  } else if (options->json != NULL) {
    status = sl_json_save(root, options->json);
  }
  json_decref(root);
  return status;
}

FILE *sl_output_text(const struct sl_options *options) {
  return options->json != NULL && strcmp(options->json, "-") == 0 ? stderr : stdout;
}

bool sl_output_terminal(FILE *stream) {
  const char *plain = getenv("NO_COLOR");
  return isatty(fileno(stream)) && (plain == NULL || plain[0] == '\0');
}

static bool needs_quotes(const char *word) {
  return word[0] == '\0' || strpbrk(word, " \t\n\"'\\$`*?[]{}()<>|&;!#~") != NULL;
}

char *sl_output_command(const struct sl_options *options) {
  size_t size = 16;
  for (int i = 1; i < options->argc; i++) size += 4 * strlen(options->argv[i]) + 3;
  char *text = calloc(1, size), *at = text;
  if (text == NULL) return NULL;
  at += sprintf(at, "shardlab");
  for (int i = 1; i < options->argc; i++) {
    const char *word = options->argv[i];
    const bool quote = needs_quotes(word);
    at += sprintf(at, quote ? " '" : " ");
    for (; *word != '\0'; word++) at += *word == '\'' ? sprintf(at, "'\\''") : sprintf(at, "%c", *word);
    if (quote) *at++ = '\'';
  }
  *at = '\0';
  return text;
}

/* Whether a file can be created in `folder`; it is tried once, since every plan of a sweep asks again. */
static bool is_writable(const char *folder, const struct stat *info) {
  static struct tried {
    dev_t device;
    ino_t inode;
  } tried[8];
  static size_t count;
  for (size_t i = 0; i < count && i < sizeof tried / sizeof *tried; i++)
    if (tried[i].device == info->st_dev && tried[i].inode == info->st_ino) return true;
  if (sl_folders_try(folder) != 0) return false;
  tried[count++ % (sizeof tried / sizeof *tried)] = (struct tried){info->st_dev, info->st_ino};
  return true;
}

/* The folder of `path` must exist and be writable; an existing `path` must be a regular file, because a new file
 * replaces it only when complete. */
static enum sl_status check_output(const char *flag, const char *path) {
  if (path == NULL) return SL_OK;
  if (strcmp(path, "-") == 0 && strcmp(flag, "--json") == 0) return sl_standard_check();
  if (strcmp(path, "-") == 0)
    return sl_fail(SL_ERR_INPUT, "%s: is '-'; expected a file (--json alone goes to standard output)", flag);
  char folder[4096];
  struct stat info;
  const bool exists = stat(path, &info) == 0;
  if (!exists && errno == ENAMETOOLONG)
    return sl_fail(SL_ERR_INPUT, "%s: %s: is a longer name than the file system takes; expected a shorter one", flag,
                   path);
  SL_TRY(sl_new_file_check(flag, path));
  const char *slash = strrchr(path, '/');
  snprintf(folder, sizeof folder, "%.*s",
           slash == NULL   ? 1
           : slash == path ? 1
                           : (int)(slash - path),
           slash == NULL ? "." : path);
  if (stat(folder, &info) != 0 || !S_ISDIR(info.st_mode))
    return sl_fail(SL_ERR_INPUT, "%s: %s: its folder does not exist", flag, path);
  if (!is_writable(folder, &info)) return sl_fail(SL_ERR_INPUT, "%s: %s: its folder cannot be written to", flag, path);
  return SL_OK;
}

/* A file named on the command line. */
struct named_file {
  const char *flag, *path;
};

/* Finds the folder of `path`, with links resolved, and its name in that folder, whether or not it exists. */
static bool locate(const char *path, struct stat *folder, const char **name) {
  char text[4096];
  const char *slash = strrchr(path, '/');
  *name = slash != NULL ? slash + 1 : path;
  snprintf(text, sizeof text, "%.*s", slash != NULL ? (int)(slash - path) + 1 : 1, slash != NULL ? path : ".");
  return stat(text, folder) == 0;
}

static bool is_one(const struct stat *a, const struct stat *b) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Whether two names refer to the same existing file. */
static bool same_file(const char *a, const char *b) {
  struct stat first, second;
  return a != NULL && b != NULL && stat(a, &first) == 0 && stat(b, &second) == 0 && is_one(&first, &second);
}

/* Whether two names refer to the same file, were it to be written. */
static bool same_place(const char *a, const char *b) {
  struct stat first, second;
  const char *name, *other;
  return a != NULL && b != NULL && locate(a, &first, &name) && locate(b, &second, &other) && is_one(&first, &second) &&
         strcmp(name, other) == 0;
}

/* Whether a file at `path` would have the name of `folder`, or of a folder above it that is still to be made. */
static bool is_in_the_way(const char *path, const char *folder) {
  char above[4096];
  if (path == NULL || folder == NULL || snprintf(above, sizeof above, "%s", folder) >= (int)sizeof above) return false;
  for (char *slash = above; slash != NULL;) {
    for (size_t end = strlen(above); end > 1 && above[end - 1] == '/'; end--) above[end - 1] = '\0';
    if (same_place(path, above)) return true;
    slash = strrchr(above, '/');
    if (slash == above) break;
    if (slash != NULL) *slash = '\0';
  }
  return false;
}

/* Compares an output with the files that are read, and with the folder that is made. */
static enum sl_status check_apart(const struct sl_options *o, const struct named_file *out) {
  const struct named_file inputs[] = {{"--config", o->config},
                                      {"--model", o->model},
                                      {"--from-megatron", o->from_megatron},
                                      {"--from-torchtitan", o->from_torchtitan},
                                      {"--from-accelerate", o->from_accelerate},
                                      {"--cluster", o->cluster},
                                      {"--data", o->data},
                                      {"--val-data", o->val_data},
                                      {"--tokenizer", o->tokenizer},
                                      {"--hostfile", o->hostfile},
                                      {"--init", o->init},
                                      {"--table", o->table},
                                      {"--schedule", o->schedule}};
  for (size_t k = 0; k < sizeof inputs / sizeof *inputs; k++)
    if (same_file(out->path, inputs[k].path))
      return sl_fail(SL_ERR_INPUT, "%s: %s: is the file that %s reads; expected another", out->flag, out->path,
                     inputs[k].flag);
  if (is_in_the_way(out->path, o->checkpoint))
    return sl_fail(SL_ERR_INPUT, "%s: %s: is the folder of --checkpoint, too; expected another", out->flag, out->path);
  return SL_OK;
}

/* `profile`: the file of the flops profiler, by the place that names it, or NULL. */
static enum sl_status check_all(const struct sl_options *o, const char *place, const char *profile) {
  const struct named_file outputs[] = {{"--json", o->json},     {"--trace", o->trace}, {"--save", o->save},
                                       {"--out", o->out},       {"--svg", o->svg},     {"--save-grads", o->save_grads},
                                       {"--points", o->points}, {place, profile}};
  for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
    const struct named_file *out = &outputs[i];
    SL_TRY(check_output(out->flag, out->path));
    SL_TRY(sl_was_read_check(out->flag, out->path));
    for (size_t k = 0; k < i; k++)
      if (same_file(out->path, outputs[k].path) || same_place(out->path, outputs[k].path))
        return sl_fail(SL_ERR_INPUT, "%s: %s: is the file of %s, too; expected another", out->flag, out->path,
                       outputs[k].flag);
    SL_TRY(check_apart(o, out));
  }
  return SL_OK;
}

enum sl_status sl_output_check(const struct sl_options *options) {
  return check_all(options, "", NULL);
}

enum sl_status sl_output_check_profile(const struct sl_options *options, const struct sl_config *config) {
  static const char key[] = "flops_profiler.output_file";
  char name[1600];
  const char *path = config->flops_profiler.output_file;
  if (!config->flops_profiler.enabled || path[0] == '\0') return SL_OK;
  sl_json_name(&config->doc, key, name, sizeof name);
  return check_all(options, name, path);
}
