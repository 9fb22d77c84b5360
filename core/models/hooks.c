/* Hooks of ZeRO-3 and FSDP as ops; see hooks.h. */
#include "core/models/hooks.h"

#include "core/base/checked.h"
#include "core/models/recompute.h"

#include <stdlib.h>

/* transformers' GPT2Block and LlamaDecoderLayer have as many: themselves, attention and MLP, two norms, the products, the
 * activation, and GPT-2's dropouts. */
enum { MODULES_OF_A_BLOCK = 13 };
/* FSDP's take as long as five of ZeRO-3's: 450 us, of which a call is its own op (tests/peers/python_hooks.py). */
enum { HOOKS_OF_A_UNIT = 5 };

/* Hooks of a block, forward or backward. */
static int64_t hooks_of(const struct sl_lowering *l) {
  const struct sl_strategy *s = &l->plan->strategy;
  if (s->hooked == SL_UNITS_WHOLE || l->plan->config->sl.kernels == SL_KERNELS_SHARDLAB) return 0;
  if (!sl_model_reads_tokens(l->plan->model)) return 0;
  return s->hooked == SL_UNITS_LAYER ? HOOKS_OF_A_UNIT : MODULES_OF_A_BLOCK + l->plan->model->block_tensors;
}

/* A checkpoint's backward runs the hooks of a forward, too. */
static struct sl_op hooks_before(const struct sl_lowering *l, const struct sl_op *op, bool backward) {
  struct sl_op hooks = sl_op_plain(SL_OP_PASS, SL_U8, op->phase);
  const bool again = backward && sl_recompute_asked(l, op->layer) == SL_RECOMPUTE_FULL;
  hooks.layer = op->layer;
  hooks.dim[3] = hooks_of(l) * (again ? 2 : 1);
  return hooks;
}

static enum sl_status add(const struct sl_lowering *l, struct sl_drafts *drafts, bool backward) {
  struct sl_drafts out = {0};
  enum sl_status status = SL_OK;
  int layer = -1;
  for (size_t i = 0; i < drafts->count && status == SL_OK; i++) {
    const struct sl_draft *next = &drafts->items[i];
    if (next->op.layer >= 0 && next->op.layer < l->plan->model->n_layer && next->op.layer != layer) {
      layer = next->op.layer;
      status = sl_build_draft(&out, hooks_before(l, &next->op, backward), 0, NULL);
      if (status == SL_OK) out.items[out.count - 1].half = next->half;
    }
    if (status == SL_OK) status = sl_grow(&out.items, &out.capacity, out.count + 1, sizeof *out.items);
    if (status == SL_OK) out.items[out.count++] = *next;
  }
  free(drafts->items);
  *drafts = out;
  return status;
}

enum sl_status sl_models_add_hooks(struct sl_lowering *l) {
  if (hooks_of(l) == 0) return SL_OK;
  SL_TRY(add(l, &l->stage->forward, false));
  return add(l, &l->stage->backward, true);
}
