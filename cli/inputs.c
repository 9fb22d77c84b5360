/* Data and initial weights against the model; see inputs.h. */
#include "cli/inputs.h"

#include "core/base/limits.h"
#include "core/io/data.h"
#include "core/io/weights.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum sl_status check_random(const char *text) {
  const long long most = SL_MAX_SAMPLES;
  char *end;
  const long long samples = strncmp(text, "random:", 7) == 0 ? strtoll(text + 7, &end, 10) : 0;
  if (samples > 0 && samples <= most && *end == '\0') return SL_OK; /* too many digits give LLONG_MAX */
  return sl_fail(SL_ERR_INPUT, "--data: is '%s'; expected random:N, from 1 to %lld samples, for an mlp", text, most);
}

static enum sl_status check_data(const char *path, const struct sl_setup *setup) {
  const bool mlp = !sl_model_reads_tokens(&setup->model);
  struct sl_data data;
  if (path == NULL)
    return sl_fail(SL_ERR_INPUT, "--data: is missing; expected %s",
                   mlp ? "random:N for an mlp" : "a text file or a token shard (.bin)");
  if (mlp) return check_random(path);
  if (strncmp(path, "random:", 7) == 0 && access(path, F_OK) != 0)
    return sl_fail(SL_ERR_INPUT,
                   "--data: is '%s'; expected a text file or a token shard (.bin): random samples are for "
                   "an mlp",
                   path);
  SL_TRY(sl_data_open(&data, path));
  const enum sl_status status = sl_data_check(&data, setup->plan.seq, setup->model.vocab_size);
  sl_data_close(&data);
  return status;
}

enum sl_status sl_inputs_samples(const struct sl_options *options, const struct sl_setup *setup, int64_t *samples) {
  struct sl_data data;
  SL_TRY(check_data(options->data, setup));
  if (!sl_model_reads_tokens(&setup->model)) {
    *samples = strtoll(options->data + 7, NULL, 10);
    return SL_OK;
  }
  SL_TRY(sl_data_open(&data, options->data));
  *samples = sl_data_sequences(&data, setup->plan.seq);
  sl_data_close(&data);
  return SL_OK;
}

static enum sl_status check_tensor(const struct sl_weights *weights, const struct sl_tensor *tensor) {
  const struct sl_safetensors *file;
  const struct sl_safetensors_tensor *found = sl_weights_find(weights, tensor->name, &file);
  if (found == NULL)
    return sl_fail(SL_ERR_INPUT, "%s: has no tensor %s, which the model needs", weights->name, tensor->name);
  bool same = found->n_dim == tensor->n_dim;
  for (int i = 0; same && i < tensor->n_dim; i++) same = found->shape[i] == tensor->shape[i];
  char has[160] = "";
  for (int i = 0, at = 0; i < found->n_dim; i++)
    at += snprintf(has + at, sizeof has - (size_t)at, i > 0 ? ", %lld" : "%lld", (long long)found->shape[i]);
  if (!same)
    return sl_fail(SL_ERR_INPUT,
                   tensor->n_dim == 2 ? "%s: tensor %s is (%s); expected (%lld, %lld)"
                                      : "%s: tensor %s is (%s); expected (%lld)",
                   file->name, tensor->name, has, (long long)tensor->shape[0], (long long)tensor->shape[1]);
  if (!found->readable)
    return sl_fail(SL_ERR_INPUT, "%s: tensor %s is of type %s; expected F32, F16 or BF16", file->name, tensor->name,
                   found->type_name);
  return SL_OK;
}

static enum sl_status check_init(const char *path, const struct sl_model *model) {
  struct sl_weights weights;
  enum sl_status status = SL_OK;
  if (path == NULL) return SL_OK;
  SL_TRY(sl_weights_open(&weights, path));
  for (int i = 0; i < model->tensor_count && status == SL_OK; i++) status = check_tensor(&weights, &model->tensors[i]);
  sl_weights_close(&weights);
  return status;
}

enum sl_status sl_inputs_check(const struct sl_options *options, const struct sl_setup *setup) {
  if (setup->plan.config->sl.fp8)
    return sl_fail(SL_ERR_INPUT,
                   "shardlab.fp8: is true; products in fp8 are predicted, no backend makes them; expected "
                   "false");
  SL_TRY(check_data(options->data, setup));
  return check_init(options->init, &setup->model);
}
