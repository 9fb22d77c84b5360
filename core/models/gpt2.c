/* What one micro-batch of GPT-2 computes on a stage: its row of models/block.h. Weights are (in, out) as Hugging Face's Conv1D
 * keeps them, so a linear layer is out(R, N) = x(R, K) w(K, N) + b(N). */
#include "core/models/block.h"
#include "core/models/models.h"

/* Tensor positions inside a block, in model order. */
enum { LN_1_W, LN_1_B, QKV_W, QKV_B, PROJ_W, PROJ_B, LN_2_W, LN_2_B, FC_W, FC_B, FC2_W, FC2_B, BLOCK_TENSORS };
enum { WTE, WPE, FIRST_BLOCK };

enum sl_status sl_models_gpt2(struct sl_lowering *l) {
  static const struct sl_block_kind kind = {
      .wte = WTE,
      .wpe = WPE,
      .first = FIRST_BLOCK,
      .tensors = BLOCK_TENSORS,
      .norm_1 = LN_1_W,
      .qkv = {QKV_W},
      .attention_out = PROJ_W,
      .norm_2 = LN_2_W,
      .in = {FC_W},
      .mlp_out = FC2_W,
      .norms = {"ln_1", "ln_2"},
      .in_names = {"mlp.fc"},
      .act = {"mlp.gelu", "dgelu", SL_OP_GELU_FWD, SL_OP_GELU_BWD},
  };
  struct sl_transformer g = sl_transformer_of(l);
  g.biases = true;
  return sl_block_stage(g, &kind);
}
