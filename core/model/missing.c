/* What can be read and counted but not be computed yet; see sl_model_missing in model.h. */
#include "core/model/families.h"

#include <stddef.h>

static const char *of_rotary(const struct sl_model *m) {
  const struct sl_rotary *r = &m->form.rotary;
  if (m->form.positions != SL_POSITIONS_ROTARY) return NULL;
  if (r->scaling != SL_ROTARY_PLAIN && r->scaling != SL_ROTARY_DYNAMIC) return "its rope_scaling";
  if (!sl_model_blocks_alike(m)) return "blocks that are not alike";
  return r->dim != m->head_dim || r->interleaved ? "rotary positions of a part of a head, or of neighbours" : NULL;
}

static const char *of_attention(const struct sl_form *f) {
  if (f->window > 0) return "attention in a window";
  if (f->attention_cap > 0 || f->attention_scalar > 0 || f->logit_cap > 0) return "scores that are capped or scaled";
  if (f->positions == SL_POSITIONS_ALIBI) return "ALiBi";
  return f->qkv == SL_QKV_BY_GROUP ? "q, k and v in one weight, group by group" : NULL;
}

static const char *of_packed(const struct sl_model *m) {
  const bool packed = m->form.qkv == SL_QKV_PACKED && m->form.positions == SL_POSITIONS_ROTARY;
  return packed || m->form.gate_packed ? "weights that hold several" : NULL;
}

const char *sl_model_missing(const struct sl_model *model) {
  const struct sl_form *f = &model->form;
  const char *missing;
  if (model->type == SL_MODEL_MLP) return NULL;
  if ((missing = of_rotary(model)) != NULL || (missing = of_attention(f)) != NULL) return missing;
  if ((missing = of_packed(model)) != NULL) return missing;
  if (f->norms_unbiased || f->norms_from_one) return "its norms";
  if (f->position_offset > 0 || f->embedding_scale > 0) return "its embedding";
  return f->activation != (f->gated ? SL_ACTIVATION_SILU : SL_ACTIVATION_GELU_TANH) ? "its activation" : NULL;
}
