/* Block quantisation on the GPU against the host's, byte by byte: packed pieces in every order, of 8 and of 4 bits,
 * their numbers and sums. What is added are codes times powers of two, so that sums are exact in whatever order and
 * however fused. */
#include "tests/kernels/gpu/cases.h"

#include <stdio.h>

static struct sl_quantized shape_of(size_t n, size_t block, int bits) {
  const size_t codes = (n * (size_t)bits + 7) / 8;
  return (struct sl_quantized){n, block, 4 * ((n + block - 1) / block) + (codes + 3) / 4 * 4, bits};
}

static const struct {
  size_t n, block, pieces, turn, shift;
} shapes[] = {{1, 8, 1, 1, 0}, {37, 16, 6, 2, 1}, {75, 8, 4, 4, 3}, {701, 336, 3, 3, 0}, {1029, 2048, 2, 1, 5}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void *stored(const struct tensor *t) {
  void *x = malloc((t->n + 1) * sl_convert_bytes(t->type));
  assert_non_null(x);
  device_read(x, t->d, t->n * sl_convert_bytes(t->type));
  return x;
}

static void packs(enum sl_number type) {
  for (int k = 0; k < 2 * SHAPES; k++) {
    const size_t pieces = shapes[k / 2].pieces, turn = shapes[k / 2].turn;
    const struct sl_quantized s = shape_of(shapes[k / 2].n, shapes[k / 2].block, k % 2 ? 4 : 8);
    struct tensor x = tensor_new(type, pieces * s.n, shapes[k / 2].shift, -2.385, 2.1);
    void *host = stored(&x), *packed = calloc(pieces, s.stride), *device = device_copy(packed, pieces * s.stride);
    RUN(sl_cuda_quantize(NULL, type, device, x.d, &s, pieces, turn));
    sl_kernels_of(type)->quantize(packed, host, &s, pieces, turn);
    bytes_same(device, packed, pieces * s.stride, "packed");
    RUN(sl_cuda_quantize_back(NULL, type, x.d, device, &s, pieces));
    sl_kernels_of(type)->quantize_back(host, packed, &s, pieces);
    bytes_same(x.d, host, pieces * s.n * sl_convert_bytes(type), "unpacked");
    free(host), free(packed);
  }
}

/* Packed pieces of random codes, with scales 1/4 to 2. */
static void *random_codes(const struct sl_quantized *s, size_t pieces, uint32_t name) {
  const size_t blocks = (s->n + s->block - 1) / s->block, used = 4 * blocks + (s->n * (size_t)s->bits + 7) / 8;
  unsigned char *packed = calloc(pieces, s->stride);
  float *u = malloc(s->stride * sizeof *u);
  assert_true(packed && u);
  for (size_t p = 0; p < pieces; p++) {
    unsigned char *piece = packed + p * s->stride;
    sl_philox_uniform(u, &(struct sl_philox_key){5, 1, (uint32_t)p, name}, 0, s->stride, 0, 1);
    for (size_t i = 4 * blocks; i < used; i++) piece[i] = (unsigned char)(255.9f * u[i]);
    if (s->bits == 4 && s->n % 2) piece[used - 1] &= 15;
    for (size_t b = 0; b < blocks; b++) ((float *)piece)[b] = ldexpf(1, (int)(4 * u[b]) - 2);
  }
  free(u);
  return packed;
}

static void sums(enum sl_number type) {
  for (int k = 0; k < 2 * SHAPES; k++) {
    const size_t sources = 3, pieces = shapes[k / 2].pieces;
    const struct sl_quantized s = shape_of(shapes[k / 2].n, shapes[k / 2].block, k % 2 ? 4 : 8);
    void *packed = random_codes(&s, sources * pieces, (uint32_t)k), *again = calloc(pieces, s.stride);
    void *device = device_copy(packed, sources * pieces * s.stride), *out = device_copy(again, pieces * s.stride);
    RUN(sl_cuda_quantize_again(NULL, type, out, device, &s, sources, pieces));
    sl_kernels_of(type)->quantize_again(again, packed, &s, sources, pieces);
    bytes_same(out, again, pieces * s.stride, "packed sums");
    struct tensor x = tensor_new(type, s.n, shapes[k / 2].shift, -2, 2);
    void *host = stored(&x);
    for (int add = 1; add >= 0; add--) {
      RUN(sl_cuda_quantize_sum(NULL, type, x.d, device, &s, sources, add));
      sl_kernels_of(type)->quantize_sum(host, packed, &s, sources, add);
      bytes_same(x.d, host, s.n * sl_convert_bytes(type), add ? "sum added" : "sum");
    }
    free(host), free(packed), free(again);
  }
}

/* Zeros, numbers too small for a scale, and one that is not finite, in blocks beside one that is as it should be. */
static void blocks_without_a_scale(enum sl_number type) {
  const float odd[] = {NAN, INFINITY, -INFINITY};
  const struct sl_quantized s = shape_of(64, 16, 4);
  for (size_t k = 0; k < 3; k++) {
    float wide[64];
    unsigned char host[64 * 4];
    for (int i = 0; i < 64; i++) wide[i] = i < 16 ? 0 : i < 32 ? 1e-42f : (float)i;
    wide[37] = odd[k];
    sl_convert(host, type, wide, SL_NUMBER_F32, 64);
    void *x = device_copy(host, 64 * sl_convert_bytes(type)), *packed = calloc(1, s.stride);
    void *device = device_copy(packed, s.stride);
    RUN(sl_cuda_quantize(NULL, type, device, x, &s, 1, 1));
    sl_kernels_of(type)->quantize(packed, host, &s, 1, 1);
    /* whatever bits the one NaN has */
    float scales[2][4];
    device_read(scales[0], device, sizeof scales[0]);
    memcpy(scales[1], packed, sizeof scales[1]);
    for (int b = 0; b < 4; b++)
      number_check(isnan(scales[0][b]) ? -1 : (double)scales[0][b], isnan(scales[1][b]) ? -1 : (double)scales[1][b], 0,
                   "scale");
    assert_true(isnan(scales[1][2]));
    bytes_same((char *)device + 16, (char *)packed + 16, s.stride - 16, "codes");
    free(packed);
  }
}

int main(int argc, char **argv) {
  static const struct cuda_case cases[] = {{"quantized_pieces", packs, EACH_TYPE},
                                           {"quantized_sums", sums, EACH_TYPE},
                                           {"quantized_without_scale", blocks_without_a_scale, EACH_TYPE}};
  return cases_main("test_cuda_quantize", cases, sizeof cases / sizeof *cases, argc, argv);
}
