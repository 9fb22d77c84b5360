/* Products that a kernel set computes as one; see packing.h. */
#include "core/plan/packing.h"

#include "core/plan/kernels.h"

/* Norms of q and k, and what context parallelism exchanges, are computed here from tensors that are apart, and the copies
 * that divide a packed one are among the set's rows: there the product stays apart, unless the set says which rows those
 * are. So does that of an only key head, which is every rank's, while q is sharded. */
static bool packs_qkv(const struct sl_plan *plan) {
  const struct sl_model *m = plan->model;
  const struct sl_kernel_set *set = sl_kernel_set(plan->config->sl.kernels);
  if (m->form.qkv != SL_QKV_APART || m->form.qk_norm != SL_QK_NORM_NONE) return false;
  if ((plan->cp > 1 && !set->packs_in_context) || sl_model_shares_key_head(m)) return false;
  return set->packing == SL_PACKS_EQUAL_HEADS ? m->n_kv_head == m->n_head : set->packing == SL_PACKS_ALL;
}

static bool packs_gate(const struct sl_plan *plan) {
  const struct sl_form *f = &plan->model->form;
  return f->gated && !f->gate_packed && sl_kernel_set(plan->config->sl.kernels)->packing == SL_PACKS_ALL;
}

enum sl_status sl_packing_apply(struct sl_plan *plan) {
  if (!sl_model_reads_tokens(plan->model)) return SL_OK;
  const bool qkv = packs_qkv(plan), gate = packs_gate(plan);
  if (!qkv && !gate) return SL_OK;
  SL_TRY(sl_calloc(&plan->packed, 1, sizeof *plan->packed));
  SL_TRY(sl_model_pack(plan->packed, plan->model, qkv, gate));
  plan->model = plan->packed;
  return SL_OK;
}
