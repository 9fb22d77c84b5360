/* The vocabulary under tensor parallelism; see vocabulary.h. */
#include "core/plan/vocabulary.h"

#include "core/config/parallel.h"
#include "core/plan/kernels.h"

const char *sl_vocabulary_word(const struct sl_plan *plan) {
  static const char *const words[] = {
      [SL_TP_VOCAB_PARALLEL] = "parallel", [SL_TP_VOCAB_GATHERED] = "gathered", [SL_TP_VOCAB_WHOLE] = "whole"};
  return words[plan->tp_vocab];
}

static enum sl_tp_vocab asked_of(const struct sl_plan *plan) {
  const struct sl_config *c = plan->config;
  const int gathers = sl_model_autotp_gathers(plan->model);
  if (plan->tp == 1 || !sl_model_reads_tokens(plan->model)) return SL_TP_VOCAB_PARALLEL;
  if (c->sl.tp_vocab != SL_TP_VOCAB_AUTOTP) return c->sl.tp_vocab;
  const bool reads_plan = gathers > 0 && sl_config_since(c, 0, 19, gathers);
  return reads_plan && !plan->model->tied_head ? SL_TP_VOCAB_GATHERED : SL_TP_VOCAB_WHOLE;
}

/* The key that has asked for it. */
static const char *key_of(const struct sl_config *c) {
  static const char own[] = "shardlab.tp_vocab";
  const char *autotp = sl_config_autotp_key(c->doc.root);
  return sl_config_at(c, own) != NULL || autotp == NULL ? own : autotp;
}

/* The stream's rows are the same on all members where an end is whole, and its loss is on the whole vocabulary. */
static enum sl_status check(const struct sl_plan *plan) {
  const struct sl_config *c = plan->config;
  const struct sl_kernel_set *set = sl_kernel_set(c->sl.kernels);
  const char *other = NULL;
  char kernels[64], presets[64];
  if (c->sl.sequence_parallel) other = "sequence_parallel true";
  if (c->sl.cross_entropy_loss_fusion) other = "cross_entropy_loss_fusion true, Megatron-LM's loss on parts";
  snprintf(kernels, sizeof kernels, "kernels \"%s\"", set->name);
  if (set->gathers_logits) other = kernels;
  snprintf(presets, sizeof presets, "preset \"%s\"", c->sl.preset);
  if (sl_strategy_cuts_vocabulary(c->sl.preset)) other = presets;
  if (other == NULL) return SL_OK;
  return sl_json_fail(
      &c->doc, key_of(c),
      "means tp_vocab \"%s\" for model %s, beside shardlab.%s; expected tp_vocab \"parallel\", or no such "
      "thing beside it",
      sl_vocabulary_word(plan), plan->model->name, other);
}

enum sl_status sl_vocabulary_choose(struct sl_plan *plan) {
  plan->tp_vocab = asked_of(plan);
  return plan->tp_vocab == SL_TP_VOCAB_PARALLEL ? SL_OK : check(plan);
}

/* Nothing pads the vocabularies of transformers' models. */
int sl_vocabulary_multiple(const struct sl_plan *plan) {
  enum { VECTOR = 8, MEGATRON = 128 }; /* 16-bit numbers of a vector load; make-vocab-size-divisible-by's default */
  const int64_t rows = (plan->model->vocab_size + plan->tp - 1) / plan->tp;
  if (plan->config->sl.vocab_multiple > 0) return plan->config->sl.vocab_multiple;
  const bool ours = plan->config->sl.preset[0] == '\0' && plan->tp_vocab == SL_TP_VOCAB_PARALLEL;
  return plan->cluster->device.kind == SL_DEVICE_GPU && ours && rows % VECTOR != 0 ? MEGATRON : 1;
}
