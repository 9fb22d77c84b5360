/* One table of the scratch memory that ops need; see workspace.h. */
#include "core/op/workspace.h"

#include "core/base/checked.h"

#include <math.h>

/* Partial sums of a row of gradients, over at most 128 blocks of rows. The half of a backward that computes only dx has
 * none. */
static int64_t row_sums(const struct sl_op *op, int64_t gradients) {
  if (op->flags & SL_OP_INPUT_GRAD) return 0;
  return gradients * (op->dim[0] < 128 ? op->dim[0] : 128) * op->dim[1] * 4;
}

/* One double per 4096 elements: sums in a fixed order. */
static int64_t sum(int64_t elements) {
  return (elements + 4095) / 4096 * 8;
}

/* Per thread, for a head of `tokens` x D: the number of packed copies of it, of blocks of its rows, and floats of
 * scores. */
struct head {
  int64_t copies, rows, scores;
};

static int64_t heads(const struct sl_op *op, int64_t threads, struct head each) {
  const int64_t t = sl_round_up(op->dim[1] * sl_op_cp(op), 256), d = sl_round_up(op->dim[3], 16);
  const int64_t floats = sl_product(each.copies, sl_product(t, d)) + each.rows * d + each.scores + 64;
  return sl_sum(sl_product(threads, 4 * floats), 64);
}

/* fp32 copies of both factors and of the product, for a 16-bit product on a CPU. */
static int64_t gemm(const struct sl_op *op) {
  const int64_t m = op->dim[0], n = op->dim[1], k = op->dim[2];
  return op->flags & SL_OP_WORKSPACE ? (m * k + k * n + m * n) * 4 : 0;
}

/* In tiles of 64 x 64: all blocks of a key head take tiles (tiles + 1) / 2 per query head, the longest `tiles`. A rank
 * of a cp group has both divided by cp, for `tiles` of all keys. */
static bool is_long(double groups, double tiles, int64_t parts) {
  const double at_a_time = 396, most = 0.8;
  return 2 * at_a_time / (double)parts > most * groups * (tiles + 1);
}

/* Keys of a sequence of an attention op, which are all tokens of the cp group's ranks. */
static int64_t keys(const int64_t *dim) {
  return sl_product(dim[1], sl_shape_cp(dim));
}

int sl_op_attention_parts(const int64_t *dim) {
  const double tiles = ceil((double)keys(dim) / 64), groups = (double)dim[0] * (double)dim[4];
  const int64_t group = dim[4] > 0 ? dim[2] / dim[4] : 1;
  int64_t parts = 1;
  while (parts < group && (group % parts != 0 || is_long(groups, tiles, parts))) parts++;
  return (int)parts;
}

int64_t sl_op_attention_parts_bytes(const int64_t *dim) {
  const int64_t parts = sl_op_attention_parts(dim), rows = sl_product(dim[0], keys(dim));
  return parts > 1 ? sl_product(sl_product(2 * 4 * parts, rows), sl_product(dim[4], dim[3])) : 0;
}

int64_t sl_op_workspace(const struct sl_op *op, int64_t threads) {
  const int64_t t = sl_round_up(op->dim[1], 256);
  switch (op->kind) {
  case SL_OP_GEMM:
    return gemm(op);
  case SL_OP_LAYERNORM_BWD: /* dweight and dbias */
    return row_sums(op, 2);
  case SL_OP_RMSNORM_BWD:
    return row_sums(op, 1);
  case SL_OP_ATTENTION_FWD: /* k and v; a block of 32 query rows with its scores */
    return heads(op, threads, (struct head){2, 64, 32 * t});
  case SL_OP_ATTENTION_BWD: /* q, k, v, dout and the three gradients; two blocks of scores */
    return heads(op, threads, (struct head){6, 32, 64 * t});
  case SL_OP_FLASH_FWD: /* k and v; a block of 32 query rows, and its scores of 256 keys */
    return heads(op, threads, (struct head){2, 64, 32 * 256});
  case SL_OP_FLASH_BWD: /* k packed twice, v, dk and dv; blocks of q, dout and dq, and two blocks of scores */
    return heads(op, threads, (struct head){5, 96, 64 * 256});
  case SL_OP_CLASSIFIER:
  case SL_OP_CLASSIFIER_SHARD: /* the loss of a row */
    return op->dim[0] * (int64_t)sizeof(double);
  case SL_OP_MSE:
    return sum(op->dim[0] * op->dim[1]);
  case SL_OP_NORM:
    return sum(op->dim[0]);
  case SL_OP_SIGN_PACK: /* and the sum itself */
    return sum(sl_product(op->dim[1], op->dim[2])) + 8;
  case SL_OP_SIGN_SUM:
    return sum(op->dim[0]) + 8;
  default:
    return 0;
  }
}
