/* Attention, materialised or flash. */
#pragma once

#include "core/models/tape.h"

/* Attention's inputs: rows (q | k | v) in one value, or, with k and v, a value each. */
struct sl_qkv {
  int q, k, v;
};
/* (R, H D). What attention leaves for its backward: probabilities, or flash attention's log-sum-exp, whose backward always draws;
 * and, where materialised attention stores its mask, that and the probabilities behind dropout (Megatron-LM keeps all three,
 * arXiv:2205.05198, section 4.1). */
int sl_attention(struct sl_tape *tape, struct sl_qkv in);
