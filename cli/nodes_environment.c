/* Variables that are passed to other hosts; see nodes_environment.h. */
#include "cli/nodes_environment.h"

#include "cli/launch.h"
#include "cli/leash.h"
#include "core/base/file.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_name(const char *text, size_t size) {
  for (size_t i = 0; i < size; i++) {
    const char c = text[i];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!letter && (i == 0 || c < '0' || c > '9')) return false;
  }
  return size > 0;
}

static bool goes_along(const char *pair) {
  static const char *const prefixes[] = {"SHARDLAB_", "OMP_",         "OPENBLAS_",   "NCCL",
                                         "UCX",       "CUDA_DEVICE_", "CUDA_LAUNCH_"};
  static const char *const own[] = {SL_LAUNCH_MARK, "SHARDLAB_PARENT", SL_LEASH_VARIABLE};
  const size_t size = strcspn(pair, "=");
  if (!is_name(pair, size)) return false;
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    if (strlen(own[i]) == size && strncmp(pair, own[i], size) == 0) return false;
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
    if (strncmp(pair, prefixes[i], strlen(prefixes[i])) == 0) return true;
  return false;
}

static char *trim(char *text) {
  static const char blanks[] = " \t\r\f\v";
  text += strspn(text, blanks);
  for (size_t n = strlen(text); n > 0 && strchr(blanks, text[n - 1]) != NULL; n--) text[n - 1] = '\0';
  return text;
}

static enum sl_status read_line(const char *path, int number, char *line, struct sl_words *words) {
  char *equal = strchr(line, '=');
  if (line[0] == '\0' || line[0] == '#') return SL_OK;
  if (equal == NULL || !is_name(line, (size_t)(equal - line)))
    return sl_fail(SL_ERR_INPUT, "%s:%d: is '%s'; expected NAME=VALUE", path, number, line);
  sl_words_add(words, line);
  *equal = '\0';
  if (setenv(line, equal + 1, 1) != 0) return sl_fail(SL_ERR_MEMORY, "out of memory: the environment");
  return SL_OK;
}

static enum sl_status read_file(const char *folder, struct sl_words *words) {
  const char *name = getenv("DS_ENV_FILE");
  char path[4096], *text, *rest;
  size_t size;
  enum sl_status status = SL_OK;
  snprintf(path, sizeof path, "%s/%s", folder, name != NULL ? name : ".deepspeed_env");
  if (access(path, F_OK) != 0) return SL_OK;
  SL_TRY(sl_file_load(path, &text, &size));
  rest = text;
  for (int number = 1; rest != NULL && status == SL_OK; number++) {
    char *line = strsep(&rest, "\n");
    status = read_line(path, number, trim(line), words);
  }
  free(text);
  return status;
}

enum sl_status sl_nodes_environment(struct sl_words *words) {
  const char *home = getenv("HOME");
  for (char **pair = environ; *pair != NULL; pair++)
    if (goes_along(*pair)) sl_words_add(words, *pair);
  if (home != NULL) SL_TRY(read_file(home, words));
  SL_TRY(read_file(".", words));
  return sl_words_check(words);
}
