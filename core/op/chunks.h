/* Context parallelism: which tokens of a sequence a rank has. The sequence is cut into 2 cp chunks, and member i of the
 * cp group has chunks i and 2 cp - 1 - i, one after the other: of causal attention, whose later tokens see more keys,
 * all members so have the same share (Megatron-LM, megatron/core/utils.py, get_batch_on_this_cp_rank; PyTorch,
 * torch/distributed/tensor/experimental/_attention.py, _RoundRobinLoadBalancer). */
#pragma once

#include <stdint.h>

struct sl_chunks {
  int64_t tokens;   /* of a chunk */
  int64_t first[2]; /* the position of the first token of each of the two */
};

/* Those of member `index` of a group of `cp`, each of which has `own` tokens, an even number, of every sequence. */
static inline struct sl_chunks sl_chunks_of(int64_t own, int64_t cp, int64_t index) {
  const int64_t n = own / 2;
  return (struct sl_chunks){.tokens = n, .first = {index * n, (2 * cp - 1 - index) * n}};
}
