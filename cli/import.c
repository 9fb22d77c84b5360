/* Settings of other frameworks; see import.h. */
#include "cli/import.h"

#include "core/base/file.h"
#include "core/interop/megatron.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum sl_status read_megatron(const char *spec, json_t **config, json_t **model) {
  char *text = NULL;
  size_t size;
  /* arguments themselves begin with dashes or have blanks between them */
  if (strpbrk(spec, " \t\n") != NULL || strncmp(spec, "--", 2) == 0)
    return sl_megatron_read("--from-megatron", spec, config, model);
  SL_TRY(sl_file_load(spec, &text, &size));
  const enum sl_status status = sl_megatron_read(spec, text, config, model);
  free(text);
  return status;
}

enum sl_status sl_import_apply(struct sl_import *texts, struct sl_options *options) {
  json_t *config, *model;
  *texts = (struct sl_import){0};
  if (options->from_megatron == NULL) return SL_OK;
  if (options->config != NULL)
    return sl_fail(SL_ERR_INPUT, "--config: stands beside --from-megatron; expected one of the two");
  SL_TRY(read_megatron(options->from_megatron, &config, &model));
  texts->config = json_dumps(config, JSON_INDENT(1));
  if (model != NULL) texts->model = json_dumps(model, JSON_INDENT(1));
  const bool whole = texts->config != NULL && (model == NULL || texts->model != NULL);
  json_decref(config);
  json_decref(model);
  if (!whole) return sl_import_free(texts), sl_fail(SL_ERR_MEMORY, "out of memory: imported settings");
  options->config = texts->config;
  if (options->model == NULL) options->model = texts->model;
  if (options->model != NULL) return SL_OK;
  sl_import_free(texts);
  options->config = NULL;
  return sl_fail(SL_ERR_INPUT,
                 "--model: is missing, and --vocab-size is none of the arguments; expected a preset or a config.json");
}

void sl_import_free(struct sl_import *texts) {
  free(texts->config);
  free(texts->model);
  *texts = (struct sl_import){0};
}
