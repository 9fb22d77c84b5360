/* Results to files, pipes and terminals; see output.h. */
#include "cli/output.h"

#include "core/base/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum sl_status sl_output_json(const struct sl_options *options, json_t *root) {
  enum sl_status status = SL_OK;
  if (root == NULL) return sl_fail(SL_ERR_MEMORY, "out of memory: a result");
  if (options->json != NULL && strcmp(options->json, "-") == 0) {
    const bool good = json_dumpf(root, stdout, JSON_INDENT(2)) == 0 && fputc('\n', stdout) != EOF;
    if (!good || fflush(stdout) != 0) status = sl_fail(SL_ERR_IO, "standard output: %s", strerror(errno));
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
