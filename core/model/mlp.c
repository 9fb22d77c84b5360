/* The mlp, a family of our own: linear layers with ReLU in between, mean squared error at the end. */
#include "core/model/families.h"

#include "core/base/limits.h"
#include "core/base/nearest.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The family is our own, so an unknown key is an error. */
static enum sl_status read_config(struct sl_model *model, const struct sl_json_object *in) {
  static const char *const known[] = {"model_type", "_name_or_path", "dims", "activation", "loss"};
  const size_t n_known = sizeof known / sizeof *known;
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)(uintptr_t)in->object, key, value) {
    size_t i = 0;
    while (i < n_known && strcmp(key, known[i]) != 0) i++;
    if (i < n_known) continue;
    const char *near = sl_nearest(key, known, n_known);
    return sl_json_fail(in->doc, key, "unknown key; expected \"dims\", \"activation\" or \"loss\"%s%s%s",
                        near != NULL ? "; nearest is \"" : "", near != NULL ? near : "", near != NULL ? "\"" : "");
  }
  const json_t *dims = sl_json_get(in, "dims");
  const size_t count = json_array_size(dims);
  if (count < 2 || count > SL_MLP_MAX_DIMS)
    return sl_json_get_fail(in, "dims", "a list of 2 to %d widths: input, hidden ..., output", SL_MLP_MAX_DIMS);
  for (size_t i = 0; i < count; i++) {
    const json_t *width = json_array_get(dims, i);
    char path[32];
    snprintf(path, sizeof path, "dims[%zu]", i);
    if (!json_is_integer(width) || json_integer_value(width) < 1 || json_integer_value(width) > SL_MAX_INNER)
      return sl_json_fail(in->doc, path, "expected a whole number from 1 to %d", (int)SL_MAX_INNER);
    model->dims[i] = json_integer_value(width);
  }
  model->n_dims = (int)count;
  model->n_layer = model->n_dims - 1;
  SL_TRY(sl_model_want_activation(in, "activation", "relu", "relu"));
  return sl_model_want_activation(in, "loss", "mse", "mse");
}

/* Linear layers initialised as in PyTorch: weight and bias uniform within 1/sqrt(in). Tensor parallelism shards their
 * outputs (Megatron-LM's ColumnParallelLinear). */
static enum sl_status make_tensors(struct sl_model *model) {
  const int layers = model->n_dims - 1;
  SL_TRY(sl_calloc(&model->tensors, 2 * (size_t)layers, sizeof *model->tensors));
  for (int layer = 0; layer < layers; layer++) {
    const int64_t in = model->dims[layer], out = model->dims[layer + 1];
    struct sl_tensor *tensor = &model->tensors[model->tensor_count];
    model->tensor_count += 2;
    tensor[0] = (struct sl_tensor){.n_dim = 2,
                                   .shape = {out, in},
                                   .numel = out * in,
                                   .init = SL_INIT_UNIFORM,
                                   .init_scale = 1.0 / sqrt((double)in),
                                   .layer = layer,
                                   .tp_blocks = 1,
                                   .part = SL_PART_COUNT,
                                   .decay = true};
    tensor[1] = tensor[0];
    tensor[1].n_dim = 1, tensor[1].shape[1] = 1, tensor[1].numel = out;
    tensor[0].tp_dim = tensor[1].tp_dim = 0;
    snprintf(tensor[0].name, sizeof tensor->name, "layers.%d.weight", layer);
    snprintf(tensor[1].name, sizeof tensor->name, "layers.%d.bias", layer);
  }
  return SL_OK;
}

static json_t *to_json(const struct sl_model *model) {
  json_t *dims = json_array();
  for (int i = 0; i < model->n_dims; i++) json_array_append_new(dims, json_integer(model->dims[i]));
  return json_pack("{s:s, s:s, s:o, s:s, s:s}", "model_type", "mlp", "_name_or_path", model->name, "dims", dims,
                   "activation", "relu", "loss", "mse");
}

const struct sl_family sl_model_mlp = {
    .name = "mlp", .tokens = false, .read = read_config, .make_tensors = make_tensors, .to_json = to_json};
