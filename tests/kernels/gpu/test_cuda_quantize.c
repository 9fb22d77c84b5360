/* Block quantisation and casts to fp8 on the GPU against the host's, byte by byte: packed pieces in every order, of 8 and
 * of 4 bits, their numbers and sums; codes in both layouts, largest magnitudes and scales. What is added are codes times powers of two, so that sums are exact in whatever order and
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

static const size_t matrices[][3] = {{1, 1, 0}, {3, 70, 1}, {64, 64, 0}, {65, 63, 3}, {128, 36, 2}, {12, 200, 0}};

static void casts(enum sl_number type) {
  for (size_t k = 0; k < 2 * sizeof matrices / sizeof *matrices; k++) {
    const size_t R = matrices[k / 2][0], C = matrices[k / 2][1];
    const enum sl_fp8 format = k % 2 ? SL_FP8_E5M2 : SL_FP8_E4M3;
    struct tensor x = tensor_new(type, R * C, matrices[k / 2][2], -3, 2);
    void *host = stored(&x), *out = calloc(R, C), *turned = calloc(R, C);
    float scale[2] = {211.5f, 0}, amax = k % 3 == 0 ? 100 : 0;
    void *d_out = device_copy(out, R * C), *d_turned = device_copy(turned, R * C);
    void *d_scale = device_copy(scale, sizeof scale), *d_amax = device_copy(&amax, sizeof amax);
    RUN(sl_cuda_fp8_cast(NULL, type, d_out, d_turned, x.d, R, C, format, d_scale, d_amax));
    sl_fp8_cast(out, turned, host, type, R, C, format, scale, &amax);
    bytes_same(d_out, out, R * C, "codes");
    bytes_same(d_turned, turned, R * C, "codes transposed");
    bytes_same(d_amax, &amax, sizeof amax, "largest magnitude");
    scale[0] = 3;
    d_scale = device_copy(scale, sizeof scale);
    RUN(sl_cuda_fp8_cast(NULL, type, NULL, d_turned, x.d, R, C, format, d_scale, d_amax));
    RUN(sl_cuda_fp8_cast(NULL, type, d_out, NULL, x.d, R, C, format, d_scale, d_amax));
    sl_fp8_cast(out, turned, host, type, R, C, format, scale, &amax);
    bytes_same(d_out, out, R * C, "codes alone");
    bytes_same(d_turned, turned, R * C, "codes transposed alone");
    free(host), free(out), free(turned);
  }
}

static void scales(enum sl_number type) {
  enum { N = 6 };
  static const size_t lengths[] = {1, 3, 256, 1024};
  static const struct sl_fp8_rule rules[] = {
      {SL_FP8_E5M2, 0, 1}, {SL_FP8_E4M3, 1, 0.25f}, {SL_FP8_E5M2, 1, 1}, {SL_FP8_E5M2, 0, 1}};
  (void)type;
  for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
    const size_t H = lengths[k], bytes = N * H * sizeof(float);
    float scale[2 * N], *history = calloc(N, H * sizeof(float));
    for (int i = 0; i < 2 * N; i++) scale[i] = 1 + (float)i;
    void *d_scale = device_copy(scale, sizeof scale), *d_history = device_copy(history, bytes);
    for (int step = 0; step < 5; step++) {
      float amax[N] = {0, INFINITY, 0.3f, 7, 1e-38f, 2};
      for (int i = 2; i < 4; i++) amax[i] /= (float)(step + 1);
      void *d_amax = device_copy(amax, sizeof amax);
      RUN(sl_cuda_fp8_scale(NULL, d_scale, d_amax, d_history, N, H, rules[k]));
      sl_fp8_scale(scale, amax, history, N, H, rules[k]);
      bytes_same(d_scale, scale, sizeof scale, "scales");
      bytes_same(d_history, history, bytes, "history");
      bytes_same(d_amax, amax, sizeof amax, "largest magnitudes, cleared");
    }
    free(history);
  }
}

int main(int argc, char **argv) {
  static const struct cuda_case cases[] = {{"fp8_casts", casts, EACH_TYPE},
                                           {"fp8_scales", scales, UNTYPED},
                                           {"quantized_pieces", packs, EACH_TYPE},
                                           {"quantized_sums", sums, EACH_TYPE},
                                           {"quantized_without_scale", blocks_without_a_scale, EACH_TYPE}};
  return cases_main("test_cuda_quantize", cases, sizeof cases / sizeof *cases, argc, argv);
}
