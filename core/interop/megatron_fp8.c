/* See megatron_fp8.h. */
#include "core/interop/megatron_fp8.h"

#include "core/base/json_get.h"
#include "core/interop/paths.h"
#include "core/interop/unsaid.h"

#include <string.h>

static const char *const refused[] = {
    "first-last-layers-bf16", "fp8-dot-product-attention", "fp8-multi-head-attention", "fp8-quantizer-factory",
    "no-fp8-wgrad",           "tp-only-amax-red"};

static enum sl_status check(const struct sl_arguments *a) {
  const char *recipe = "delayed";
  if (sl_arguments_has(a, "fp8-recipe")) SL_TRY(sl_arguments_text(a, "fp8-recipe", &recipe));
  if (strcmp(recipe, "delayed") != 0) return sl_arguments_fail(a, "fp8-recipe", "delayed: no other one is modelled");
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    if (sl_arguments_has(a, refused[i])) return sl_arguments_fail(a, refused[i], "none: it is not modelled");
  return SL_OK;
}

enum sl_status sl_megatron_read_fp8(json_t *config, const struct sl_arguments *a) {
  const char *format, *algorithm = "most_recent";
  int64_t margin = 0, length = 1;
  if (!sl_arguments_has(a, "fp8-format")) return SL_OK;
  SL_TRY(sl_arguments_text(a, "fp8-format", &format));
  if (strcmp(format, "hybrid") != 0 && strcmp(format, "e4m3") != 0)
    return sl_arguments_fail(a, "fp8-format", "hybrid or e4m3");
  SL_TRY(check(a));
  if (sl_arguments_has(a, "fp8-margin")) SL_TRY(sl_arguments_int(a, "fp8-margin", &margin));
  if (sl_arguments_has(a, "fp8-amax-history-len")) SL_TRY(sl_arguments_int(a, "fp8-amax-history-len", &length));
  if (sl_arguments_has(a, "fp8-amax-compute-algo")) SL_TRY(sl_arguments_text(a, "fp8-amax-compute-algo", &algorithm));
  if (strcmp(algorithm, "max") != 0 && strcmp(algorithm, "most_recent") != 0)
    return sl_arguments_fail(a, "fp8-amax-compute-algo", "max or most_recent");
  const bool gathers = sl_arguments_has(a, "fp8-param-gather");
  if (gathers && !sl_arguments_has(a, "use-distributed-optimizer"))
    return sl_arguments_fail(a, "fp8-param-gather", "--use-distributed-optimizer beside it");
  sl_interop_put(config, "shardlab.fp8", json_true());
  if (gathers) sl_interop_put(config, "shardlab.fp8_param_gather", json_true());
  sl_interop_put(config, "shardlab.fp8_format", json_string(format));
  sl_interop_put(config, "shardlab.fp8_margin", json_integer(margin));
  sl_interop_put(config, "shardlab.fp8_amax_history_len", json_integer(length));
  sl_interop_put(config, "shardlab.fp8_amax_compute_algo", json_string(algorithm));
  return SL_OK;
}

void sl_megatron_write_fp8(const json_t *config, FILE *out) {
  if (!json_is_true(sl_json_at(config, "shardlab.fp8"))) return;
  fprintf(out, "--fp8-format %s\n--fp8-margin %lld\n--fp8-amax-history-len %lld\n--fp8-amax-compute-algo %s\n",
          json_string_value(sl_json_at(config, "shardlab.fp8_format")),
          (long long)json_integer_value(sl_json_at(config, "shardlab.fp8_margin")),
          (long long)json_integer_value(sl_json_at(config, "shardlab.fp8_amax_history_len")),
          json_string_value(sl_json_at(config, "shardlab.fp8_amax_compute_algo")));
  if (json_is_true(sl_json_at(config, "shardlab.fp8_param_gather"))) fputs("--fp8-param-gather\n", out);
}

bool sl_megatron_says_fp8(const char *path) {
  static const char *const keys[] = {"shardlab.fp8",
                                     "shardlab.fp8_format",
                                     "shardlab.fp8_margin",
                                     "shardlab.fp8_amax_history_len",
                                     "shardlab.fp8_amax_compute_algo",
                                     "shardlab.fp8_param_gather",
                                     NULL};
  return sl_interop_among(keys, path);
}
