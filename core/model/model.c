/* Loading, naming and printing a model; see model.h. Each family's config.json is read in its own file; the presets are
 * in model/presets.c. */
#include "core/model/model.h"

#include "core/base/json_get.h"
#include "core/base/nearest.h"
#include "core/model/families.h"
#include "core/model/presets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Names are labels: any character that is not printable ASCII becomes '_', so that a truncated name is still valid
 * text. */
static void set_name(struct sl_model *model, const char *name, size_t length) {
  size_t n = 0;
  for (; n < length && n + 1 < sizeof model->name; n++)
    model->name[n] = name[n] >= ' ' && name[n] <= '~' ? name[n] : '_';
  model->name[n] = '\0';
}

/* The object that describes the language model: a config.json of a model that reads text and images (Gemma 3, LLaVA)
 * has it in "text_config", beside that of its other parts. */
static struct sl_json_object text_model(const struct sl_json *doc) {
  const struct sl_json_object in = {doc, doc->root, ""};
  const char *type = json_string_value(sl_json_get(&in, "model_type"));
  const struct sl_json_object text = {doc, sl_json_get(&in, "text_config"), "text_config"};
  struct sl_model unused;
  if (type == NULL || sl_family_find(type, &unused) || !json_is_object(text.object)) return in;
  const char *inner = json_string_value(sl_json_get(&text, "model_type"));
  if (inner == NULL || !sl_family_find(inner, &unused)) return in;
  sl_warn("%s: model_type: is \"%s\"; only its text_config, \"%s\", is modelled", doc->name, type, inner);
  return text;
}

/* What a training has in other numbers than these says its configuration. */
static void warn_quantized(const struct sl_json *doc) {
  const struct sl_json_object in = {doc, doc->root, ""};
  const json_t *value = sl_json_get(&in, "quantization_config");
  if (value == NULL || json_is_null(value)) return;
  sl_warn("%s: quantization_config: is not modelled: weights have the number type of the training", doc->name);
}

static enum sl_status no_family(const struct sl_json_object *in, const char *type) {
  char names[512];
  sl_family_names(names, sizeof names);
  const char *near = type != NULL ? sl_family_nearest(type) : NULL;
  const bool experts = type != NULL && sl_family_has_experts(type);
  return sl_json_get_fail(in, "model_type", "%s%s%s%s%s", names, near != NULL ? "; nearest is \"" : "",
                          near != NULL ? near : "", near != NULL ? "\"" : "",
                          experts ? "; experts are not modelled" : "");
}

enum sl_status sl_model_from_json(struct sl_model *model, const struct sl_json *doc) {
  enum sl_status status = SL_OK;
  memset(model, 0, sizeof *model);
  if (!json_is_object(doc->root)) return sl_json_fail(doc, "", "expected a JSON object");
  const struct sl_json_object root = {doc, doc->root, ""}, in = text_model(doc);
  const char *type = json_string_value(sl_json_get(&in, "model_type"));
  if (type == NULL || !sl_family_find(type, model)) return no_family(&in, type);
  const char *name = json_string_value(sl_json_get(&root, "_name_or_path"));
  if (name == NULL || name[0] == '\0') name = type;
  set_name(model, name, strlen(name));
  warn_quantized(doc);
  if (model->family->keys != NULL) SL_GO_FAIL(sl_model_check_keys(&in, model->family->keys, model->family->key_count));
  SL_GO_FAIL(model->family->read(model, &in));
  SL_GO_FAIL(model->family->make_tensors(model));
  return SL_OK;
fail:
  sl_model_free(model);
  return status;
}

/* "runs/small/config.json" -> "small", "runs/small.json" -> "small". */
static void name_after(struct sl_model *model, const char *path) {
  size_t end = strlen(path);
  if (end >= 5 && strcmp(path + end - 5, ".json") == 0) end -= 5;
  if (end > 7 && strncmp(path + end - 7, "/config", 7) == 0) end -= 7;
  size_t begin = end;
  while (begin > 0 && path[begin - 1] != '/') begin--;
  if (end > begin) set_name(model, path + begin, end - begin);
}

static enum sl_status load_text(struct sl_model *model, const struct sl_model_preset *preset) {
  struct sl_json doc;
  SL_TRY(sl_json_parse(&doc, preset->name, preset->text, strlen(preset->text)));
  const enum sl_status status = sl_model_from_json(model, &doc);
  set_name(model, preset->name, strlen(preset->name));
  sl_json_free(&doc);
  return status;
}

/* The config.json in a folder, as `from_pretrained` takes it. */
static enum sl_status load_folder(struct sl_model *model, const char *folder) {
  char *file = NULL;
  if (asprintf(&file, "%s%sconfig.json", folder, folder[strlen(folder) - 1] == '/' ? "" : "/") < 0)
    return sl_fail(SL_ERR_MEMORY, "out of memory: the path of a model");
  const enum sl_status status = access(file, F_OK) == 0
                                    ? sl_model_load(model, file)
                                    : sl_fail(SL_ERR_INPUT, "model \"%s\": is a folder without config.json", folder);
  free(file);
  return status;
}

enum sl_status sl_model_load(struct sl_model *model, const char *spec) {
  struct stat info;
  memset(model, 0, sizeof *model);
  for (int i = 0; sl_model_presets[i].name != NULL; i++)
    if (strcmp(spec, sl_model_presets[i].name) == 0) return load_text(model, &sl_model_presets[i]);
  const bool text = sl_json_is_text(spec);
  if (!text && access(spec, F_OK) != 0) return sl_nearest_preset("model", spec, sl_model_preset_name);
  if (!text && stat(spec, &info) == 0 && S_ISDIR(info.st_mode)) return load_folder(model, spec);
  struct sl_json doc;
  SL_TRY(sl_json_open(&doc, "--model", spec));
  const enum sl_status status = sl_model_from_json(model, &doc);
  if (status == SL_OK && !text && json_object_get(doc.root, "_name_or_path") == NULL) name_after(model, spec);
  sl_json_free(&doc);
  return status;
}

void sl_model_free(struct sl_model *model) {
  free(model->tensors);
  memset(model, 0, sizeof *model);
}

const char *sl_model_preset_name(int i) {
  int count = 0;
  while (sl_model_presets[count].name != NULL) count++;
  return i >= 0 && i < count ? sl_model_presets[i].name : NULL;
}

json_t *sl_model_to_json(const struct sl_model *model) {
  return model->family->to_json(model);
}

bool sl_model_reads_tokens(const struct sl_model *model) {
  return model->family->tokens;
}

int sl_model_autotp_gathers(const struct sl_model *model) {
  return model->family->autotp_gathers;
}
