/* shardlab show estimator: DeepSpeed's memory estimators for a model, printed in their format. */
#include "cli/show.h"

#include "core/record/estimator.h"

struct variant {
  int stage;
  bool optimizer, param, zero_init, before_5099;
};

static const struct variant variants[] = {
    {2, true, false, false, false}, {2, false, false, false, false}, {2, false, false, false, true},
    {3, true, true, true, false},   {3, true, true, false, false},   {3, true, false, true, false},
    {3, true, false, false, false}, {3, false, false, true, false},  {3, false, false, false, false},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

/* A number of bytes that may exceed what a JSON integer can hold. */
static json_t *bytes_json(double bytes) {
  return bytes < 0x1p53 ? json_integer((json_int_t)bytes) : json_real(bytes);
}

static json_t *row_json(const struct variant *v, const struct sl_estimate *e) {
  return json_pack("{s:i, s:s, s:s, s:b, s:b, s:o, s:o}", "stage", v->stage, "offload_optimizer",
                   v->optimizer ? "cpu" : "none", "offload_param", v->param ? "cpu" : "none", "zero_init",
                   (int)v->zero_init, "before_pull_5099", (int)v->before_5099, "host_bytes", bytes_json(e->host_bytes),
                   "device_bytes", bytes_json(e->device_bytes));
}

static void print_row(const struct variant *v, const struct sl_estimate *e, FILE *out) {
  fprintf(out, "  %7.2fGB | %6.2fGB |   %d   | offload_optimizer=%s", e->host_bytes / 0x1p30, e->device_bytes / 0x1p30,
          v->stage, v->optimizer ? "cpu" : "none");
  if (v->stage == 3) fprintf(out, ", offload_param=%s, zero_init=%d", v->param ? "cpu" : "none", v->zero_init);
  fprintf(out, "%s\n", v->before_5099 ? " (DeepSpeed before its pull request 5099)" : "");
}

enum sl_status sl_show_estimator(const struct sl_options *options, FILE *out, json_t **json) {
  struct sl_model model;
  struct sl_cluster cluster;
  if (options->model == NULL) return sl_fail(SL_ERR_INPUT, "--model: is missing; expected a preset or a config.json");
  SL_TRY(sl_cluster_load(&cluster, options->cluster));
  const int64_t per_node = options->world < cluster.devices_per_node ? options->world : cluster.devices_per_node;
  sl_cluster_free(&cluster);
  SL_TRY(sl_model_load(&model, options->model));
  struct sl_estimator ask = {.params = (double)sl_model_numel(&model),
                             .largest = (double)sl_estimator_largest_layer(&model),
                             .devices_per_node = per_node,
                             .nodes = (options->world + per_node - 1) / per_node};
  sl_model_free(&model);
  json_t *rows = options->json != NULL ? json_array() : NULL;
  if (rows == NULL)
    fprintf(out,
            "DeepSpeed's estimate of parameters, gradients and optimizer state, fp16 with Adam (GB here is 2^30):\n"
            "%lld node(s), %lld devices a node, %.0fM parameters, %.0fM in the largest layer. No activations, buckets "
            "or padding.\n     per CPU |  per GPU | stage | options\n",
            (long long)ask.nodes, (long long)per_node, ask.params / 1e6, ask.largest / 1e6);
  for (int i = 0; i < VARIANTS; i++) {
    const struct variant *v = &variants[i];
    ask.stage = v->stage, ask.offload_optimizer = v->optimizer, ask.offload_param = v->param;
    ask.zero_init = v->zero_init, ask.before_5099 = v->before_5099;
    const struct sl_estimate e = sl_estimator_deepspeed(&ask);
    if (rows == NULL)
      print_row(v, &e, out);
    else
      json_array_append_new(rows, row_json(v, &e));
  }
  *json = rows;
  return SL_OK;
}
