/* Formulas by kind; see flops.h. */
#include "core/op/flops.h"

#include "core/op/operands.h"

/* Elements whose squares a norm adds; of a range, the most that a member's piece can have of it. */
static double norm_elements(const struct sl_op *op) {
  const int64_t range = op->dim[2] - op->dim[1];
  return (double)(op->flags & SL_OP_SHARE_RANGE && range < op->dim[0] ? range : op->dim[0]);
}

/* Flops of the backward of a layernorm or rmsnorm: `input` for dx, `weight` for the weights, both without a flag. */
static double half_flops(const struct sl_op *op, double input, double weight) {
  return (op->flags & SL_OP_WEIGHT_GRAD ? 0 : input) + (op->flags & SL_OP_INPUT_GRAD ? 0 : weight);
}

static double optimizer_flops(const struct sl_op *op) {
  switch (op->kind) {
  case SL_OP_NORM:
    return 2 * norm_elements(op);
  case SL_OP_SGD:
    return 5 * (double)op->dim[0];
  case SL_OP_ADAM:
  case SL_OP_ADAMW:
    return 16 * (double)op->dim[0];
  case SL_OP_SIGN_PACK: /* momentum plus error; the squares; the new error */
    return 9 * (double)op->dim[0];
  case SL_OP_SIGN_SUM:
    return (2 * (double)op->dim[1] + 4) * (double)op->dim[0];
  case SL_OP_ONEBIT_ADAM:
    return 7 * (double)op->dim[0];
  default:
    return 0;
  }
}

/* Flops per element of a residual or dropout that a norm takes in. */
static double taken_in(const struct sl_op *op) {
  if (!(op->flags & SL_OP_RESIDUAL)) return 0;
  return op->flags & SL_OP_BIAS ? 2 : 1;
}

/* Flops per element of the element-wise ops, counted in kernels/. They matter only on a device with so little
 * arithmetic that bytes do not dominate. */
static double elementwise_flops(const struct sl_op *op) {
  const double rows = (double)op->dim[0] * (double)op->dim[1];
  switch (op->kind) {
  case SL_OP_LAYERNORM_FWD:
    return (8 + taken_in(op)) * rows;
  case SL_OP_LAYERNORM_BWD:
    return (half_flops(op, 11, 5) + taken_in(op)) * rows;
  case SL_OP_RMSNORM_FWD:
    return (4 + taken_in(op)) * rows;
  case SL_OP_RMSNORM_BWD:
    return (half_flops(op, 8, 3) + taken_in(op)) * rows;
  case SL_OP_ROPE: /* a 2 x 2 product for each pair */
    return 3 * rows * (double)(op->dim[2] + op->dim[4]) * (double)op->dim[3];
  case SL_OP_SWIGLU_FWD:
    return 15 * rows;
  case SL_OP_SWIGLU_BWD:
    return 22 * rows;
  case SL_OP_GELU_FWD:
    return 20 * rows;
  case SL_OP_GELU_BWD:
    return 26 * rows;
  case SL_OP_CLASSIFIER:
    return 24 * rows;
  case SL_OP_CLASSIFIER_STATS:
  case SL_OP_CLASSIFIER_SHARD:
    return 12 * rows;
  case SL_OP_RESIDUAL_FWD:
    return (op->flags & SL_OP_BIAS ? 2 : 1) * rows;
  case SL_OP_BIAS_BWD:
  case SL_OP_RELU_FWD:
  case SL_OP_RELU_BWD:
  case SL_OP_DROPOUT:
    return rows;
  case SL_OP_MSE:
    return 4 * rows;
  case SL_OP_EMBED_FWD:
  case SL_OP_EMBED_BWD:
    return 2 * rows * (double)op->dim[2];
  case SL_OP_ADD:
    return (double)op->dim[0];
  case SL_OP_QUANTIZE: /* the maximum; then product, rounding and both bounds */
    return 5 * (double)op->dim[0] * (double)op->dim[3];
  case SL_OP_FP8_CAST: /* the product, the rounding and the maximum */
    return 3 * rows;
  case SL_OP_FP8_SCALE:
    return rows;
  case SL_OP_DEQUANTIZE:
  case SL_OP_QUANTIZED_SUM:
    return 2 * (double)op->dim[0] * (double)op->dim[3];
  case SL_OP_REQUANTIZE: /* the sums twice: for the maximum and for the codes */
    return (4 * (double)op->dim[3] + 5) * (double)op->dim[0] * (double)op->dim[4];
  default:
    return optimizer_flops(op);
  }
}

double sl_op_score_pairs(const int64_t dim[SL_OP_DIMS]) {
  const double cp = (double)sl_shape_cp(dim), t = (double)dim[1] * cp, w = (double)dim[5];
  return (w > 0 && w < t ? w * (w + 1) / 2 + (t - w) * w : t * (t + 1) / 2) / cp;
}

/* Flops of one T x T by D product of causal attention over all heads: only the query-key pairs that are computed
 * count. */
static double attention_product(const int64_t *d) {
  return 2.0 * (double)d[0] * (double)d[2] * (double)d[3] * sl_op_score_pairs(d);
}

static double gemm_flops(const struct sl_op *op) {
  const struct sl_op epilogue = sl_op_epilogue(op);
  return 2.0 * (double)op->dim[0] * (double)op->dim[1] * (double)op->dim[2] +
         (epilogue.kind != SL_OP_COUNT ? elementwise_flops(&epilogue) : 0);
}

double sl_op_flops(const struct sl_op *op) {
  const int64_t *d = op->dim;
  switch (op->kind) {
  case SL_OP_GEMM:
    return gemm_flops(op);
  /* causal: T(T+1)/2 score pairs per head, each with a product of D for the score and one for the output. The backward
   * has four, and recomputes the scores if their softmax was not stored. */
  case SL_OP_ATTENTION_FWD:
  case SL_OP_FLASH_FWD:
    return 2 * attention_product(d);
  case SL_OP_ATTENTION_BWD:
    return 4 * attention_product(d);
  case SL_OP_FLASH_BWD:
    return 5 * attention_product(d);
  default:
    return elementwise_flops(op);
  }
}

/* Of what a copy or a sum of a range touches, the most that one member has of it. */
static double range_bytes(const struct sl_op *op, const struct sl_slice *slice, bool from) {
  const int64_t range = op->dim[2] - op->dim[1], most = range < op->dim[3] ? range : op->dim[3];
  const int64_t elements = from ? op->dim[0] : op->dim[3];
  return elements > 0 ? (double)slice->bytes * ((double)most / (double)elements) : 0;
}

/* An embedding reads one row per token, not the table, and its backward touches the same number of rows, of gradients
 * alone. Rotary
 * positions leave the values of a packed tensor alone. Of a norm, a copy and a sum only a range may count. */
static double touched_bytes(const struct sl_op *op, const struct sl_slice *slices, int i) {
  const bool table =
      (op->kind == SL_OP_EMBED_FWD && i == sl_op_at(op, SL_AT_WTE)) ||
      (op->kind == SL_OP_EMBED_BWD && i == sl_op_at(op, SL_AT_DWTE) && slices[i].access == SL_READ_WRITE);
  if (table) return (double)op->dim[0] * (double)op->dim[1] * ((double)slices[i].bytes / (double)op->dim[3]);
  if (op->kind == SL_OP_EMBED_BWD && (i == sl_op_at(op, SL_AT_WTE) || i == sl_op_at(op, SL_AT_WPE))) return 0;
  if (op->kind == SL_OP_ROPE)
    return (double)slices[i].bytes * (double)(op->dim[2] + op->dim[4]) / (double)(op->dim[2] + 2 * op->dim[4]);
  if (op->kind == SL_OP_COPY && i == sl_op_at(op, SL_AT_SCRATCH))
    return 0; /* in place of a device, which has no memory */
  if ((op->kind == SL_OP_COPY || op->kind == SL_OP_ADD) && op->flags & SL_OP_SHARE_RANGE)
    return range_bytes(op, &slices[i], i == sl_op_at(op, SL_AT_X));
  if (op->kind == SL_OP_NORM && i == sl_op_at(op, SL_AT_GRADIENT) && op->dim[0] > 0)
    return (double)slices[i].bytes * (norm_elements(op) / (double)op->dim[0]);
  return (double)slices[i].bytes;
}

double sl_op_bytes(const struct sl_op *op, const struct sl_slice *slices) {
  double bytes = 0;
  if (op->kind == SL_OP_PASS) return (double)op->dim[0];
  for (int i = 0; i < op->slice_count; i++)
    bytes += touched_bytes(op, slices, i) * (slices[i].access == SL_READ_WRITE ? 2 : 1);
  return bytes;
}
