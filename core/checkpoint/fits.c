/* See fits.h. */
#include "core/checkpoint/fits.h"

#include "core/base/json_write.h"
#include "core/checkpoint/export.h"
#include "core/checkpoint/pieces.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- the model ---- */

/* What of a model changes what it computes from given weights; a table of positions is among the tensors. A new
 * reference. */
static json_t *core_of(const struct sl_model *model) {
  struct sl_model bare = *model;
  bare.name[0] = '\0';
  bare.n_positions = 0;
  bare.initializer_range = 0;
  bare.embd_pdrop = bare.attn_pdrop = bare.resid_pdrop = 0;
  return sl_model_to_json(&bare);
}

static enum sl_status differs(const struct sl_checkpoint *c, const char *key, const json_t *is, const json_t *want) {
  char *has = is != NULL ? sl_json_text(is, JSON_ENCODE_ANY | JSON_COMPACT) : NULL,
       *expected = want != NULL ? sl_json_text(want, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
  enum sl_status status =
      sl_fail(SL_ERR_INPUT, "%s: is a checkpoint of another model: its %s is %s; expected %s, as --model has it",
              c->path, key, has != NULL ? has : "not given", expected != NULL ? expected : "none");
  free(has);
  free(expected);
  return status;
}

static enum sl_status compare(const struct sl_checkpoint *c, const json_t *is, const json_t *want) {
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)(uintptr_t)want, key, value) {
    const json_t *found = json_object_get(is, key);
    if (found == NULL || !json_equal(found, value)) return differs(c, key, found, value);
  }
  json_object_foreach((json_t *)(uintptr_t)is, key, value) {
    if (json_object_get(want, key) == NULL) return differs(c, key, value, NULL);
  }
  return SL_OK;
}

/* Both as this program writes them, so that older manifests have its defaults for keys that they lack. */
static enum sl_status check_model(const struct sl_checkpoint *c, const struct sl_model *model) {
  struct sl_model of;
  SL_TRY(sl_export_model(&of, c));
  json_t *is = core_of(&of), *want = core_of(model);
  const enum sl_status status = is != NULL && want != NULL
                                    ? compare(c, is, want)
                                    : sl_fail(SL_ERR_MEMORY, "%s: no memory to compare its model", c->path);
  json_decref(is);
  json_decref(want);
  sl_model_free(&of);
  return status;
}

/* ---- its tensors ---- */

static enum sl_status check_surplus(const struct sl_checkpoint *c, const struct sl_model *model) {
  for (int i = 0; i < c->manifest.tensor_count; i++) {
    const char *name = c->manifest.tensors[i].name;
    if (sl_model_find(model, name) < 0)
      return sl_fail(SL_ERR_INPUT,
                     "%s: is a checkpoint of another model: it has tensor %s; expected only those of --model, %d",
                     c->path, name, model->tensor_count);
  }
  return SL_OK;
}

static enum sl_status check_tensor(const struct sl_checkpoint *c, const struct sl_tensor *t, enum sl_role role) {
  const struct sl_manifest_tensor *found = sl_manifest_find(&c->manifest, t->name, role);
  if (found == NULL)
    return sl_fail(SL_ERR_INPUT, "%s: is a checkpoint of another model or optimizer: it has no %s of tensor %s",
                   c->path, sl_checkpoint_role_name(role), t->name);
  bool same = found->n_dim == t->n_dim;
  for (int d = 0; same && d < t->n_dim; d++) same = found->shape[d] == t->shape[d];
  if (same) return SL_OK;
  return sl_fail(SL_ERR_INPUT,
                 "%s: is a checkpoint of another model: tensor %s has %" PRId64 " elements of %d dimensions, the first "
                 "%" PRId64 "; expected %" PRId64 ", %d and %" PRId64,
                 c->path, t->name, found->numel, found->n_dim, found->shape[0], t->numel, t->n_dim, t->shape[0]);
}

bool sl_checkpoint_has_scales(const struct sl_checkpoint *checkpoint) {
  for (int i = 0; i < checkpoint->manifest.tensor_count; i++)
    if (checkpoint->manifest.tensors[i].role == SL_ROLE_FP8_SCALE) return true;
  return false;
}

/* Have the states of fp8 the shape that a restore reads? */
static enum sl_status check_scaling(const struct sl_checkpoint *c) {
  for (int i = 0; i < c->manifest.tensor_count; i++) {
    const struct sl_manifest_tensor *t = &c->manifest.tensors[i];
    if (t->role < SL_ROLE_FP8_SCALE) continue;
    const bool good =
        t->n_dim == 2 && t->shape[0] == SL_FP8_FACTORS && (t->role == SL_ROLE_FP8_HISTORY || t->shape[1] == 2);
    if (!good)
      return sl_fail(SL_ERR_INPUT, "%s: tensor %s: its %s has another shape; expected %d rows%s", c->path, t->name,
                     sl_checkpoint_role_name(t->role), SL_FP8_FACTORS, t->role == SL_ROLE_FP8_SCALE ? " of 2" : "");
  }
  return SL_OK;
}

enum sl_status sl_checkpoint_fits(const struct sl_checkpoint *checkpoint, const struct sl_plan *plan) {
  const struct sl_manifest *m = &checkpoint->manifest;
  const struct sl_config *config = plan->config;
  const bool sgd = config->optimizer.type == SL_OPT_SGD;
  if (strcmp(m->optimizer, sgd ? "sgd" : "adam") != 0)
    return sl_fail(SL_ERR_INPUT, "%s: has the moments of %s; the configuration's optimizer is %s", checkpoint->path,
                   strcmp(m->optimizer, "sgd") == 0 ? "SGD" : "Adam or AdamW", config->optimizer.type_name);
  if (m->seed != config->sl.seed)
    return sl_fail(SL_ERR_INPUT, "--seed: is %" PRId64 "; %s was made with %" PRId64 ", expected the same",
                   config->sl.seed, checkpoint->path, m->seed);
  SL_TRY(check_model(checkpoint, plan->model));
  SL_TRY(check_surplus(checkpoint, plan->model));
  SL_TRY(check_scaling(checkpoint));
  for (int i = 0; i < plan->model->tensor_count; i++) {
    const struct sl_tensor *t = &plan->model->tensors[i];
    SL_TRY(check_tensor(checkpoint, t, SL_ROLE_PARAM));
    if (!sgd || config->optimizer.momentum != 0) SL_TRY(check_tensor(checkpoint, t, SL_ROLE_MOMENT1));
    if (!sgd) SL_TRY(check_tensor(checkpoint, t, SL_ROLE_MOMENT2));
  }
  return SL_OK;
}
