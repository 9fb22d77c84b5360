/* The shapes of the acceptance models, none of which a calibration may time. */
#pragma once

#include "calibrate/calibration.h"

#include <stdbool.h>
#include <stdint.h>

/* Widths and vocabularies of the acceptance models (50304 is GPT-2's, padded to a multiple of 128), and the further
 * sizes of a Llama's layers; their sequences; their head sizes. */
static const int64_t widths[] = {128, 256, 384, 768, 1024, 1280, 1600, 2048};
static const int64_t vocabularies[] = {256, 512, 32000, 50257, 50304}, inner[] = {256, 5632};
static const int64_t sequences[] = {64, 128, 256, 512, 1024}, heads[] = {32, 48, 64};

static inline bool among(int64_t x, const int64_t *list, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (list[i] == x) return true;
  return false;
}

/* The two sides of a weight: (C, C), (C, 3C), (C, 4C), (C, V), or a Llama's. */
static inline bool is_layer(int64_t a, int64_t b) {
  if (!among(a, widths, SL_LENGTH(widths))) return false;
  return b == a || b == 3 * a || b == 4 * a || among(b, vocabularies, SL_LENGTH(vocabularies)) ||
         (a == 2048 && among(b, inner, SL_LENGTH(inner)));
}

static inline bool is_row(int64_t columns) {
  for (size_t i = 0; i < SL_LENGTH(widths); i++)
    if (columns == widths[i] || columns == 3 * widths[i] || columns == 4 * widths[i]) return true;
  return among(columns, vocabularies, SL_LENGTH(vocabularies)) || columns == 5632;
}

/* Whether this is an op of an acceptance configuration: of a layer of GPT-2 (124M to 1.5B), gpt2-mini, gpt2-tiny, the
 * 384-wide model or the 1B Llama at any number of tokens, or attention over one of their sequences with heads of one of
 * their sizes. Calibration never times such an op. */
static inline bool is_acceptance_shape(const struct sl_op *op) {
  const int64_t *d = op->dim;
  switch (op->kind) {
  case SL_OP_GEMM:
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++)
        if (i != j && is_layer(d[i], d[j])) return true;
    return false;
  case SL_OP_ATTENTION_FWD:
  case SL_OP_ATTENTION_BWD:
  case SL_OP_FLASH_FWD:
  case SL_OP_FLASH_BWD:
    return among(d[1], sequences, SL_LENGTH(sequences)) && among(d[3], heads, SL_LENGTH(heads));
  case SL_OP_EMBED_FWD:
  case SL_OP_EMBED_BWD:
    return is_row(d[2]) || among(d[3], vocabularies, SL_LENGTH(vocabularies));
  case SL_OP_LAYERNORM_FWD:
  case SL_OP_LAYERNORM_BWD:
  case SL_OP_RMSNORM_FWD:
  case SL_OP_RMSNORM_BWD:
  case SL_OP_SWIGLU_FWD:
  case SL_OP_SWIGLU_BWD:
  case SL_OP_BIAS_BWD:
  case SL_OP_GELU_FWD:
  case SL_OP_GELU_BWD:
  case SL_OP_RESIDUAL_FWD:
  case SL_OP_DROPOUT:
  case SL_OP_CLASSIFIER:
    return is_row(d[1]);
  default:
    return false;
  }
}
