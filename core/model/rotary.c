/* See rotary.h. */
#include "core/model/rotary.h"

#include "core/model/families.h"

#include <math.h>
#include <string.h>

static const char *const scalings[] = {[SL_ROTARY_PLAIN] = "default",
                                       [SL_ROTARY_LINEAR] = "linear",
                                       [SL_ROTARY_DYNAMIC] = "dynamic",
                                       [SL_ROTARY_LLAMA3] = "llama3",
                                       [SL_ROTARY_YARN] = "yarn"};
enum { SCALINGS = sizeof scalings / sizeof *scalings };

static enum sl_status read_type(struct sl_rotary *r, const struct sl_json_object *in) {
  const char *const key = sl_json_get(in, "rope_type") != NULL ? "rope_type" : "type";
  const json_t *type = sl_json_get(in, key);
  if (type == NULL) return SL_OK;
  for (int i = 0; json_is_string(type) && i < SCALINGS; i++) {
    if (strcmp(json_string_value(type), scalings[i]) != 0) continue;
    r->scaling = (enum sl_rotary_scaling)i;
    return SL_OK;
  }
  return sl_json_get_fail(in, key,
                          "\"default\", \"linear\", \"dynamic\", \"llama3\" or \"yarn\"; no other is modelled");
}

static double mscale(double factor, double by) {
  return factor <= 1 ? 1 : 0.1 * by * log(factor) + 1;
}

/* transformers, _compute_yarn_parameters: the factor of cosine and sine, if it is not given. */
static enum sl_status read_yarn(struct sl_rotary *r, const struct sl_json_object *in) {
  double of = 0, all = 0;
  r->low = 1, r->high = 32, r->whole = true;
  SL_TRY(sl_json_get_real(in, "beta_slow", 1e-3, 1e6, &r->low));
  SL_TRY(sl_json_get_real(in, "beta_fast", 1e-3, 1e6, &r->high));
  SL_TRY(sl_json_get_bool(in, "truncate", &r->whole));
  SL_TRY(sl_json_get_real(in, "mscale", 0, 1e6, &of));
  SL_TRY(sl_json_get_real(in, "mscale_all_dim", 0, 1e6, &all));
  r->attention = of != 0 && all != 0 ? mscale(r->factor, of) / mscale(r->factor, all) : mscale(r->factor, 1);
  return sl_json_get_real(in, "attention_factor", 1e-6, 1e6, &r->attention);
}

static enum sl_status need(const struct sl_json_object *in, const char *key, const char *type) {
  return sl_json_get(in, key) != NULL ? SL_OK : sl_json_get_fail(in, key, "a number, for \"%s\"", type);
}

static enum sl_status read_llama3(struct sl_rotary *r, const struct sl_json_object *in) {
  SL_TRY(need(in, "low_freq_factor", "llama3"));
  SL_TRY(need(in, "high_freq_factor", "llama3"));
  SL_TRY(sl_json_get_real(in, "low_freq_factor", 1e-6, 1e6, &r->low));
  SL_TRY(sl_json_get_real(in, "high_freq_factor", 1e-6, 1e6, &r->high));
  return r->high > r->low ? SL_OK : sl_json_get_fail(in, "high_freq_factor", "more than low_freq_factor, %g", r->low);
}

enum sl_status sl_rotary_read_object(struct sl_rotary *r, const struct sl_json_object *in, int64_t positions) {
  SL_TRY(sl_json_get_real(in, "rope_theta", 1, 1e12, &r->base));
  SL_TRY(read_type(r, in));
  if (r->scaling == SL_ROTARY_PLAIN) return SL_OK;
  SL_TRY(need(in, "factor", scalings[r->scaling]));
  SL_TRY(sl_json_get_real(in, "factor", 1, 1e6, &r->factor));
  r->original = (double)positions;
  SL_TRY(sl_json_get_real(in, "original_max_position_embeddings", 1, (double)SL_MAX_ROWS, &r->original));
  if (r->scaling == SL_ROTARY_LLAMA3) return read_llama3(r, in);
  return r->scaling == SL_ROTARY_YARN ? read_yarn(r, in) : SL_OK;
}

/* The share of a head, truncated by int() as in transformers. */
static enum sl_status set_share(struct sl_model *model, const struct sl_json_object *in, const char *key,
                                double share) {
  struct sl_rotary *r = &model->form.rotary;
  r->dim = (int64_t)((double)model->head_dim * share);
  if (r->dim > 0 && r->dim % 2 == 0) return SL_OK;
  if (sl_json_get(in, key) != NULL)
    return sl_json_get_fail(in, key, "a share that turns an even number of elements; of %lld it turns %lld",
                            (long long)model->head_dim, (long long)r->dim);
  return sl_json_fail(in->doc, sl_json_get(in, "head_dim") != NULL ? "head_dim" : "num_attention_heads",
                      "the head dimension is %lld, of which %lld elements are turned; expected an even number of them",
                      (long long)model->head_dim, (long long)r->dim);
}

enum sl_status sl_rotary_read(struct sl_model *model, const struct sl_json_object *in) {
  static const char *const objects[] = {"rope_scaling", "rope_parameters"};
  const struct sl_rotary_keys *keys = &model->family->rotary;
  const char *const share_key = keys->share != NULL ? keys->share : "partial_rotary_factor";
  struct sl_rotary *r = &model->form.rotary;
  double share = keys->default_share > 0 ? keys->default_share : 1;
  model->form.positions = SL_POSITIONS_ROTARY;
  r->base = keys->default_base > 0 ? keys->default_base : 10000, r->attention = 1;
  r->interleaved = keys->interleaved, r->joined = keys->joined;
  SL_TRY(sl_json_get_real(in, keys->base != NULL ? keys->base : "rope_theta", 1, 1e12, &r->base));
  SL_TRY(sl_json_get_real(in, share_key, 1e-6, 1, &share));
  for (int i = 0; i < 2; i++) {
    const json_t *value = sl_json_get(in, objects[i]);
    if (value == NULL) continue;
    const struct sl_json_object rope = {in->doc, value, objects[i]};
    if (!json_is_object(value)) return sl_json_get_fail(in, objects[i], "an object or null");
    SL_TRY(sl_rotary_read_object(r, &rope, model->n_positions));
    SL_TRY(sl_json_get_real(&rope, "partial_rotary_factor", 1e-6, 1, &share));
  }
  SL_TRY(set_share(model, in, share_key, share));
  model->form.rotary_windowed = *r;
  return SL_OK;
}

static json_t *scaling_to_json(const struct sl_rotary *r) {
  json_t *out = json_pack("{s:s, s:f}", "rope_type", scalings[r->scaling], "factor", r->factor);
  if (r->scaling == SL_ROTARY_LINEAR || r->scaling == SL_ROTARY_DYNAMIC) return out;
  json_object_set_new(out, "original_max_position_embeddings", json_integer((json_int_t)r->original));
  const bool yarn = r->scaling == SL_ROTARY_YARN;
  json_object_set_new(out, yarn ? "beta_slow" : "low_freq_factor", json_real(r->low));
  json_object_set_new(out, yarn ? "beta_fast" : "high_freq_factor", json_real(r->high));
  if (!yarn) return out;
  json_object_set_new(out, "attention_factor", json_real(r->attention));
  json_object_set_new(out, "truncate", json_boolean(r->whole));
  return out;
}

void sl_rotary_write(const struct sl_model *model, json_t *out) {
  const struct sl_rotary_keys *keys = &model->family->rotary;
  const struct sl_rotary *r = &model->form.rotary;
  double share = (double)r->dim / (double)model->head_dim;
  /* so that reading it gives dim again */
  while ((int64_t)((double)model->head_dim * share) < r->dim) share = nextafter(share, 2);
  json_object_set_new(out, keys->base != NULL ? keys->base : "rope_theta", json_real(r->base));
  if (r->dim != model->head_dim || keys->default_share > 0)
    json_object_set_new(out, keys->share != NULL ? keys->share : "partial_rotary_factor", json_real(share));
  if (r->scaling != SL_ROTARY_PLAIN) json_object_set_new(out, "rope_scaling", scaling_to_json(r));
}
