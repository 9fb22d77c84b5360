/* What a calibration measures. Sizes are odd on purpose: they must describe configurations that they do not contain. */
#include "cli/calibrate.h"

#include "core/program.h"

/* name, layers, width, heads, vocabulary, positions, sequence, micro-batch, accumulation, ZeRO stage, dropout, quick */
const struct sl_calibration_model sl_calibration_models[] = {
    {"c88", 3, 88, 4, 301, 150, 75, 3, 1, 1, false, true},
    {"c152", 4, 152, 4, 270, 220, 206, 5, 1, 2, false, false},
    {"c200", 3, 200, 5, 611, 150, 150, 4, 1, 0, false, true},
    {"c312", 4, 312, 8, 263, 290, 270, 3, 1, 3, false, false},
    {"c330", 2, 330, 6, 2003, 210, 210, 3, 2, 2, true, true},
    {"c450", 3, 450, 9, 5003, 190, 190, 2, 1, 3, false, false},
    {"c520", 2, 520, 8, 9001, 230, 230, 2, 1, 0, true, false},
    {"c696", 2, 696, 12, 20011, 170, 170, 3, 1, 2, true, false},
};
const int sl_calibration_model_count = sizeof sl_calibration_models / sizeof *sl_calibration_models;

const struct sl_calibration_product sl_calibration_products[] = {
    {21, 29, 37, true},       {53, 71, 45, false},      {75, 264, 88, true},      {88, 75, 264, false},
    {150, 90, 30, false},     {101, 203, 307, true},    {307, 101, 203, false},   {190, 210, 45, false},
    {450, 200, 200, true},    {200, 600, 450, false},   {450, 800, 200, false},   {450, 200, 800, true},
    {30, 900, 700, true},     {700, 900, 30, true},     {900, 30, 700, false},    {610, 610, 610, true},
    {333, 696, 2088, false},  {2088, 696, 333, true},   {333, 2784, 696, false},  {190, 1560, 520, true},
    {1040, 520, 190, false},  {1300, 1310, 330, false}, {1030, 1050, 1070, true}, {610, 9001, 200, false},
    {9001, 200, 610, false},  {200, 9001, 610, false},  {230, 520, 9001, true},   {700, 20011, 300, false},
    {20011, 300, 700, false}, {300, 700, 20011, false}, {2100, 1900, 1500, false}};
const int sl_calibration_product_count = sizeof sl_calibration_products / sizeof *sl_calibration_products;

/* Widths and vocabularies of the acceptance models; their sequences; the sizes of their heads. */
static const int64_t widths[] = {128, 256, 384, 768}, vocabularies[] = {256, 50257};
static const int64_t sequences[] = {64, 128, 256, 512, 1024}, heads[] = {32, 48, 64};

#define LENGTH(table) (sizeof(table) / sizeof *(table))

static bool among(int64_t x, const int64_t *list, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (list[i] == x) return true;
  return false;
}

/* The two sides of a weight: (C, C), (C, 3C), (C, 4C) or (C, V). */
static bool is_layer(int64_t a, int64_t b) {
  if (!among(a, widths, LENGTH(widths))) return false;
  return b == a || b == 3 * a || b == 4 * a || among(b, vocabularies, LENGTH(vocabularies));
}

static bool is_row(int64_t columns) {
  for (size_t i = 0; i < LENGTH(widths); i++)
    if (columns == widths[i] || columns == 3 * widths[i] || columns == 4 * widths[i]) return true;
  return among(columns, vocabularies, LENGTH(vocabularies));
}

bool sl_calibration_excluded(const struct sl_op *op) {
  const int64_t *d = op->dim;
  switch (op->kind) {
  case SL_OP_GEMM:
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++)
        if (i != j && is_layer(d[i], d[j])) return true;
    return false;
  case SL_OP_ATTENTION_FWD:
  case SL_OP_ATTENTION_BWD:
    return among(d[1], sequences, LENGTH(sequences)) || among(d[3], heads, LENGTH(heads));
  case SL_OP_EMBED_FWD:
  case SL_OP_EMBED_BWD:
    return is_row(d[2]) || among(d[3], vocabularies, LENGTH(vocabularies));
  case SL_OP_LAYERNORM_FWD:
  case SL_OP_LAYERNORM_BWD:
  case SL_OP_BIAS_FWD:
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
