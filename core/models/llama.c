/* What one micro-batch of Llama computes on a stage: its row of models/block.h. Weights are (out, in) as torch.nn.Linear keeps
 * them, without biases, so a linear layer is out(R, N) = x(R, K) w(N, K)^T. q (R, H D), k and v (R, G D) are products of their
 * own, k and v narrower where heads share them. */
#include "core/models/block.h"
#include "core/models/models.h"

/* Tensor positions inside a block, in model order. */
enum { NORM_1, Q_W, K_W, V_W, O_W, NORM_2, GATE_W, UP_W, DOWN_W, BLOCK_TENSORS };
enum { WTE, FIRST_BLOCK };

enum sl_status sl_models_llama(struct sl_lowering *l) {
  static const struct sl_block_kind kind = {
      .wte = WTE,
      .wpe = -1,
      .first = FIRST_BLOCK,
      .tensors = BLOCK_TENSORS,
      .norm_1 = NORM_1,
      .qkv = {Q_W, K_W, V_W},
      .attention_out = O_W,
      .norm_2 = NORM_2,
      .in = {GATE_W, UP_W},
      .mlp_out = DOWN_W,
      .norms = {"norm_1", "norm_2"},
      .in_names = {"mlp.gate", "mlp.up"},
      .act = {"mlp.swiglu", "dswiglu", SL_OP_SWIGLU_FWD, SL_OP_SWIGLU_BWD},
  };
  struct sl_transformer g = sl_transformer_of(l);
  g.rms = g.out_in = true;
  return sl_block_stage(g, &kind);
}
