/* What the readers and writers of the transformer families share; see families.h. */
#include "core/model/families.h"

enum sl_status sl_transformer_keys(struct sl_model *model, const struct sl_json_object *in) {
  const struct sl_family *family = model->family;
  return sl_model_read_keys(model, in, family->keys, family->key_count);
}

enum sl_status sl_transformer_heads(struct sl_model *model, const struct sl_json_object *in, const char *heads_key,
                                    const char *kv_key, const char *width_key) {
  if (model->n_kv_head == 0) model->n_kv_head = model->n_head;
  if (kv_key != NULL) SL_TRY(sl_model_want_divisor(in, kv_key, model->n_head, model->n_kv_head, heads_key));
  if (model->head_dim == 0) {
    SL_TRY(sl_model_want_divisor(in, heads_key, model->n_embd, model->n_head, width_key));
    model->head_dim = model->n_embd / model->n_head;
  }
  if (model->head_dim > SL_MAX_WIDTH / model->n_head)
    return sl_json_get_fail(in, "head_dim", "a whole number from 1 to %lld", (long long)(SL_MAX_WIDTH / model->n_head));
  return SL_OK;
}

enum sl_status sl_transformer_llama_heads(struct sl_model *model, const struct sl_json_object *in) {
  SL_TRY(sl_transformer_heads(model, in, "num_attention_heads", "num_key_value_heads", "hidden_size"));
  return sl_rotary_read(model, in);
}

json_t *sl_transformer_to_json(const struct sl_model *model) {
  const struct sl_family *family = model->family;
  json_t *out = json_pack("{s:s, s:s}", "model_type", family->name, "_name_or_path", model->name);
  if (out == NULL) return NULL;
  sl_model_write_keys(model, out, family->keys, family->key_count);
  if (family->write != NULL) family->write(model, out);
  return out;
}
