/* Messages that torch's pipelines keep; see messages.h. */
#include "core/lower/messages.h"

#include "core/base/checked.h"
#include "core/lower/lower.h"
#include "core/lower/slots.h"

static enum sl_status keep(struct sl_lowering *l, int64_t messages, int64_t elements, const char *name) {
  int32_t buffer;
  if (messages <= 0) return SL_OK;
  return sl_build_buffer(l, &buffer, SL_SCOPE_PERSISTENT, SL_CATEGORY_ACTIVATION, l->dtype,
                         sl_product(messages, elements), "%s", name);
}

enum sl_status sl_messages_keep(struct sl_lowering *l) {
  const struct sl_plan *plan = l->plan;
  int64_t messages = -(int64_t)sl_slots_messages(l), logits = 0;
  if (!plan->strategy.keeps_messages || plan->config->sl.kernels == SL_KERNELS_SHARDLAB) return SL_OK;
  for (int i = 0; i < l->pp_rank->stage_count; i++) {
    const int stage = l->pp_rank->stages[i];
    if (stage > 0) messages += 2 * (int64_t)plan->n_micro;
    if (stage < plan->stage_count - 1) messages += 2 * (int64_t)plan->n_micro;
    if (plan->stages[stage].head) logits = plan->n_micro - 1;
  }
  SL_TRY(keep(l, messages, sl_build_stream_count(plan, 0), "messages.kept"));
  const bool cut = plan->tp_vocab == SL_TP_VOCAB_PARALLEL;
  const int64_t columns = cut ? (plan->model->vocab_size + plan->tp - 1) / plan->tp : plan->model->vocab_size;
  return keep(l, logits, sl_product(plan->micro_tokens, columns), "logits.kept");
}
