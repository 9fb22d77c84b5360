/* Attention, materialised or flash. */
#pragma once

#include "core/models/tape.h"

/* Attention's inputs: one value of rows (q | k | v), or, with k and v, three values. */
struct sl_qkv {
  int q, k, v;
};
/* Attention; the output is (R, H D). For its backward it keeps the probabilities, or flash attention's log-sum-exp
 * (flash attention redraws dropout in backward). Materialised attention that stores its mask keeps it and the
 * probabilities after dropout as well; Megatron-LM keeps all three (arXiv:2205.05198, section 4.1). */
int sl_attention(struct sl_tape *tape, struct sl_qkv in);
