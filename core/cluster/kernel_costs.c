/* See cluster/kernel_costs.h. */
#include "core/cluster/kernel_costs.h"

#include "core/base/json_get.h"
#include "core/cluster/numbers.h"
#include "core/cluster/presets.h"
#include "core/cluster/provenance.h"

#include <string.h>

#define AT(field) offsetof(struct sl_kernel_costs, field)
static const struct sl_number numbers[] = {
    {"host_launch_us", SL_REAL, AT(host_launch), 1e-6, 0, 1e6, SL_OPTIONAL},
    {"host_piece_us", SL_REAL, AT(host_piece), 1e-6, 0, 1e6, SL_OPTIONAL},
    {"host_hook_us", SL_REAL, AT(host_hook), 1e-6, 0, 1e6, SL_OPTIONAL},
    {"host_collective_us", SL_REAL, AT(host_collective), 1e-6, 0, 1e6, SL_OPTIONAL},
    {"elementwise_factor", SL_REAL, AT(elementwise_factor), 1, 0.01, 100, SL_OPTIONAL},
    {"score_passes", SL_REAL, AT(score_passes), 1, 0, 100, SL_OPTIONAL},
    {"unaligned_batches_on_cuda_cores", SL_COUNT, AT(unaligned_batches_on_cuda_cores), 1, 0, 1, SL_OPTIONAL},
    {"pads_unaligned_products", SL_COUNT, AT(pads_unaligned_products), 1, 0, 1, SL_OPTIONAL},
    {"comm_compute_share", SL_REAL, AT(comm_compute_share), 1, 0, 0.99, SL_OPTIONAL},
};
#undef AT

enum { NUMBERS = sizeof numbers / sizeof *numbers };

struct sl_kernel_costs sl_kernel_costs_neutral(void) {
  return (struct sl_kernel_costs){.elementwise_factor = 1};
}

enum sl_status sl_kernel_costs_from_json(struct sl_kernel_costs *costs, const struct sl_json *doc,
                                         json_t *annotations) {
  static const char *const words[] = {"name"};
  const struct sl_json_object in = {doc, doc->root, ""};
  *costs = sl_kernel_costs_neutral();
  if (!json_is_object(doc->root)) return sl_json_fail(doc, "", "expected a JSON object");
  json_t *notes = annotations != NULL ? json_incref(annotations) : json_object();
  enum sl_status status = sl_numbers_check_keys(&in, words, 1, numbers, NUMBERS, notes);
  if (status == SL_OK) status = sl_numbers_read(&in, numbers, NUMBERS, costs, notes);
  if (status == SL_OK && costs->elementwise_factor > 0)
    costs->elementwise_factor_error = sl_annotation_stderr(notes, "elementwise_factor") / costs->elementwise_factor;
  json_decref(notes);
  return status;
}

/* The file of the set; *found is false if there is none. */
static enum sl_status open_file(const char *name, struct sl_json *doc, bool *found) {
  char file[256], path[4096];
  *found = true;
  for (int i = 0; sl_kernel_presets[i].name != NULL; i++)
    if (strcmp(name, sl_kernel_presets[i].name) == 0)
      return sl_json_parse(doc, name, sl_kernel_presets[i].text, strlen(sl_kernel_presets[i].text));
  snprintf(file, sizeof file, "kernels/%s", name);
  *found = sl_profile_file(file, path, sizeof path);
  return *found ? sl_json_load(doc, path) : SL_OK;
}

static enum sl_status load(struct sl_kernel_costs *costs, const char *name, json_t *annotations) {
  struct sl_json doc;
  bool found;
  *costs = sl_kernel_costs_neutral();
  SL_TRY(open_file(name, &doc, &found));
  if (!found) return SL_OK;
  const enum sl_status status = sl_kernel_costs_from_json(costs, &doc, annotations);
  sl_json_free(&doc);
  return status;
}

enum sl_status sl_kernel_costs_load(struct sl_kernel_costs *costs, const char *name) {
  return load(costs, name, NULL);
}

enum sl_status sl_kernel_costs_json(json_t **object, const char *name) {
  struct sl_kernel_costs costs;
  json_t *annotations = json_object();
  const enum sl_status status = load(&costs, name, annotations);
  if (status == SL_OK) {
    *object = json_pack("{s:s}", "name", name);
    sl_numbers_dump(*object, numbers, NUMBERS, &costs, true);
    *object = sl_annotation_join(annotations, "", *object);
  }
  json_decref(annotations);
  return status;
}
