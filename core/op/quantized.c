/* Sizes of quantised pieces; see quantized.h. */
#include "core/op/quantized.h"

enum { MOST = 8000, EIGHT = 8 };

static int64_t quotient_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

int64_t sl_quantized_weight_block(int64_t n) {
  const int64_t blocks = quotient_up(n, MOST);
  return quotient_up(quotient_up(n, blocks), EIGHT) * EIGHT;
}

int64_t sl_quantized_gradient_block(int64_t numel, int64_t rows, int64_t columns, int64_t members) {
  int64_t blocks = rows > columns ? rows : columns;
  if (members > blocks) blocks = members;
  return quotient_up(quotient_up(numel, blocks), EIGHT) * EIGHT;
}

int64_t sl_quantized_bytes(int64_t n, int64_t block, int bits) {
  const int64_t scales = quotient_up(n, block), codes = quotient_up(n * bits, 8);
  return 4 * (scales + quotient_up(codes, 4));
}

int64_t sl_sign_chunk(int64_t numel, int64_t members) {
  const int64_t shared = members % 8 == 0 ? 8 : members % 4 == 0 ? 4 : members % 2 == 0 ? 2 : 1;
  const int64_t multiple = members / shared * EIGHT;
  return quotient_up(quotient_up(numel, members), multiple) * multiple;
}

int64_t sl_sign_bytes(int64_t chunk) {
  return 4 * (1 + quotient_up(chunk, 32));
}
