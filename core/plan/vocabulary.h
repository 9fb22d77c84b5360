/* How tensor parallelism divides the embedding and the head (shardlab.tp_vocab), and to what a vocabulary is padded.
 *
 * Megatron-LM and torchtitan cut both along the vocabulary, and compute the loss from parts ("parallel"). Models of
 * transformers do otherwise:
 *   tp_plan  base_model_tp_plan of a model's configuration names blocks only, so that the embedding is whole; its
 *            _tp_plan is {"lm_head": "colwise_rep"} (since huggingface/transformers#42809 "colwise_gather_output"): the
 *            head is cut, and its logits are gathered. A tied embedding is cut with the head ("embedding_rowwise",
 *            configuration_utils.py since #47579; before that, tied heads went wrong, #47503). DTensor
 *            sends parts that differ in length padded to the longest, which is our padding. This is "gathered".
 *   AutoTP   DeepSpeed takes that plan since 0.19.4 (#8146; module_inject/tp_plan_converter.py) if it knows all of the
 *            plan's words, and leaves a tied pair whole (module_inject/auto_tp.py,
 *            _configure_gathered_column_tie_fallbacks). Else, and before, its heuristic shards what it finds in blocks:
 *            module_inject/replace_module.py, set_lm_head, returns at once in training, so both ends are "whole". */
#pragma once

#include "core/plan/plan.h"

/* Sets plan->tp_vocab, for known degrees. Errors: SL_ERR_INPUT, for what needs a vocabulary that is cut. */
enum sl_status sl_vocabulary_choose(struct sl_plan *plan);
/* A plan's way in the words of shardlab.tp_vocab. */
const char *sl_vocabulary_word(const struct sl_plan *plan);
/* What to set plan->vocab_multiple to: see sl_cut_local_size (plan/cut.h). */
int sl_vocabulary_multiple(const struct sl_plan *plan);
