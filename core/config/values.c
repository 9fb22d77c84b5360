/* Queries of a configuration that has been read, and warnings about its keys; see config.h. */
#include "core/config/config.h"

void sl_config_warn(const struct sl_config *config, const char *path, const char *text) {
  char name[1600];
  sl_json_name(&config->doc, path, name, sizeof name);
  sl_warn("%s: %s", name, text);
}

int64_t sl_config_shard_size(const struct sl_config *config) {
  if (config->sl.shard_size > 0) return config->sl.shard_size;
  return config->zero.mics_shard_size > 0 ? config->zero.mics_shard_size : 0;
}

enum sl_dtype sl_config_compute_dtype(const struct sl_config *config) {
  return config->autocast_dtype != SL_F32 ? config->autocast_dtype : config->param_dtype;
}

const char *sl_config_precision(const struct sl_config *config) {
  if (config->autocast_dtype == SL_BF16) return "bf16-autocast";
  return config->autocast_dtype == SL_F16 ? "fp16-autocast" : sl_dtype_name(config->param_dtype);
}

enum sl_dtype sl_config_product_dtype(const struct sl_config *config) {
  if (config->sl.fp8 && config->param_dtype == SL_BF16) return SL_F8;
  const enum sl_dtype compute = sl_config_compute_dtype(config);
  return config->sl.tf32 && compute == SL_F32 ? SL_TF32 : compute;
}
