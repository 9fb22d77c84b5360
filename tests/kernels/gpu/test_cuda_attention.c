/* The GPU's attention, materialised and flash, forward and backward, against the host's double kernels: grouped heads,
 * strides, head sizes and lengths that no tile divides, dropout, a cp group's chunks of sequences, and each twice for
 * equal bits. */
#include "kernels/scores.h"
#include "tests/kernels/gpu/cases.h"

/* The second begins where four keys of a row stand in one block of random numbers. */
static const struct sl_dropout drops[] = {{.p = 0.3f, .key = {21, 2, 5, 13}, .first_element = 4099},
                                          {.p = 0.3f, .key = {21, 2, 5, 13}, .first_element = 4100}};

/* B T H KV D, then how far apart the tokens lie beyond their heads, the address's shift, and dropout. */
struct attention {
  size_t B, T, H, KV, D, gap, shift;
  int drops;                      /* 1, 2: one of those above */
  struct sl_attention_shape form; /* what a model asks for beside: kernels/scores.h */
  int grouped;                    /* rows are groups of heads of q with their k and v */
};
static const struct attention cases[] = {
    {2, 71, 4, 2, 13, 5, 3, 1, .grouped = 0},
    {1, 33, 2, 2, 64, 0, 0, 0, .grouped = 0},
    {1, 100, 2, 1, 64, 0, 0, 2, .grouped = 0},
    {1, 130, 2, 1, 64, 8, 0, 1, {.window = 66}, 0},
    {1, 97, 1, 1, 128, 0, 0, 0, .grouped = 0},
    {1, 68, 2, 1, 128, 0, 0, 2, .grouped = 0},
    {1, 33, 1, 1, 120, 0, 0, 0, .grouped = 0},
    {1, 1, 1, 1, 2, 0, 0, 0, .grouped = 0},
    {1, 70, 2, 2, 80, 0, 0, 0, .grouped = 0},
    {1, 40, 1, 1, 256, 0, 1, 0, .grouped = 0},
    {1, 140, 4, 2, 64, 0, 0, 0, {.window = 37}, 1},
    {1, 70, 3, 1, 80, 0, 0, 1, {.cap = 2.5f, .scale = 0.3f}, 1},
    {1, 130, 3, 3, 40, 0, 0, 0, {.alibi_max = 8}, 1},
    {2, 75, 4, 2, 13, 5, 3, 1, {.window = 33, .cap = 4, .alibi_max = 8, .scale = 0.4f}, 0},
    {1, 66, 1, 1, 256, 0, 1, 0, {.window = 17, .cap = 20}, 0},
};
/* Only threads of a block can race, and blocks run one after another: to a sanitizer of threads one key head of one
 * sequence, with its query heads, is as good as many, whose blocks differ in addresses alone. */
static struct attention shown(const struct attention *a) {
  struct attention few = *a;
  if (cases_for_threads()) few.B = 1, few.H = a->H / a->KV, few.KV = 1;
  return few;
}
#define EACH_CASE(each) for (const struct attention *each = cases; each < cases + sizeof cases / sizeof *cases; each++)

/* Tensors of one case: packed rows (q | k | v | gap). */
struct set {
  struct sl_attention_shape shape;
  struct tensor qkv, out, dqkv, dout;
  size_t rows, k, v; /* where k and v start in a row */
  const struct sl_dropout *dropout;
  void *scratch;
  size_t scratch_bytes;
};

static struct set set_of(const struct attention *a, enum sl_number type) {
  const size_t row = (a->H + 2 * a->KV) * a->D + a->gap;
  struct set s = {.shape = {.B = a->B,
                            .T = a->T,
                            .H = a->H,
                            .KV = a->KV,
                            .D = a->D,
                            .q_stride = row,
                            .k_stride = row,
                            .v_stride = row,
                            .out_stride = a->H * a->D + a->gap,
                            .global_heads = a->H + 1},
                  .rows = a->B * a->T,
                  .k = a->H * a->D,
                  .v = (a->H + a->KV) * a->D,
                  .dropout = a->drops ? &drops[a->drops - 1] : NULL};
  s.shape.window = a->form.window, s.shape.cap = a->form.cap, s.shape.scale = a->form.scale;
  s.shape.alibi_max = a->form.alibi_max;
  if (a->grouped) {
    s.k = a->H / a->KV * a->D, s.v = s.k + a->D;
    s.shape.q_gap = 2 * a->D, s.shape.kv_step = s.v + a->D;
  }
  s.qkv = tensor_new(type, s.rows * row, a->shift, -2, 2);
  s.out = tensor_new(type, s.rows * s.shape.out_stride, a->shift, -1, 1);
  s.dqkv = tensor_new(type, s.rows * row, a->shift, -1, 1);
  s.dout = tensor_new(type, s.rows * s.shape.out_stride, a->shift, -1, 1);
  s.scratch_bytes =
      sl_attention_backward_scratch_bytes_f64(&s.shape, 1) + sl_flash_attention_backward_scratch_bytes_f64(&s.shape, 1);
  s.scratch = malloc(s.scratch_bytes);
  assert_non_null(s.scratch);
  return s;
}

/* Half the last place, once more: in backward, and in flash attention with 16 bits, a product's factor is a
 * probability or its gradient that has been rounded, as in every such kernel. */
static double slack_of(enum sl_number type) {
  static const double slack[] = {2e-6, 0x1p-8, 0x1p-11};
  return slack[type];
}

static void materialised(enum sl_number type) {
  EACH_CASE(each) {
    const struct attention few = shown(each), *a = &few;
    struct set s = set_of(a, type);
    struct tensor probs = tensor_new(type, a->B * a->H * a->T * a->T, a->shift, 0, 1);
    double *q = s.qkv.x, *dq = s.dqkv.x;
    sl_attention_forward_f64(s.out.x, probs.x, NULL, q, q + s.k, q + s.v, &s.shape, s.dropout, s.scratch,
                             s.scratch_bytes);
    RUN(sl_cuda_attention_forward(NULL, type, s.out.d, probs.d, s.qkv.d, tensor_at(&s.qkv, s.k), tensor_at(&s.qkv, s.v),
                                  &s.shape, s.dropout, NULL));
    tensor_check(&s.out, 2e-6, "attention");
    tensor_check(&probs, 2e-6, "probabilities");
    struct tensor given = tensor_new(type, probs.n, a->shift, 0, 1);
    sl_attention_backward_f64(dq, dq + s.k, dq + s.v, s.dout.x, q, q + s.k, q + s.v, given.x, NULL, &s.shape, s.dropout,
                              s.scratch, s.scratch_bytes);
    RUN(sl_cuda_attention_backward(NULL, type, s.dqkv.d, tensor_at(&s.dqkv, s.k), tensor_at(&s.dqkv, s.v), s.dout.d,
                                   s.qkv.d, tensor_at(&s.qkv, s.k), tensor_at(&s.qkv, s.v), given.d, &s.shape,
                                   s.dropout, NULL));
    tensor_check(&s.dqkv, 2e-6, "attention backward");
    free(s.scratch);
  }
}

/* Whether the kernels for sm_90a are asked for it: all that can be read 16 bytes at a time. */
static bool wide_rows(const struct attention *a) {
  return (a->D | a->gap | a->shift) % 8 == 0 && a->D <= 128;
}

static void flash_each(enum sl_number type, bool warpgroups) {
  EACH_CASE(each) {
    const struct attention few = shown(each), *a = &few;
    /* what they are not asked for runs as without them: a look at the smallest is enough */
    if (warpgroups && !wide_rows(a) && a->T > 1) continue;
    struct set s = set_of(a, type);
    const size_t n = a->B * a->H * a->T;
    struct tensor lse = tensor_new(SL_NUMBER_F32, n, 0, 7, 9), out = tensor_new(type, s.out.n, a->shift, -1, 1);
    double *q = s.qkv.x, *dq = s.dqkv.x;
    sl_flash_attention_forward_f64(s.out.x, lse.x, q, q + s.k, q + s.v, &s.shape, s.dropout, s.scratch,
                                   s.scratch_bytes);
    RUN(sl_cuda_flash_attention_forward(NULL, type, s.out.d, lse.d, s.qkv.d, tensor_at(&s.qkv, s.k),
                                        tensor_at(&s.qkv, s.v), &s.shape, s.dropout, NULL));
    tensor_check(&s.out, slack_of(type), "flash attention");
    tensor_check(&lse, 1e-6, "log of the sum");
    sl_flash_attention_backward_f64(dq, dq + s.k, dq + s.v, s.dout.x, q, q + s.k, q + s.v, out.x, lse.x, &s.shape,
                                    s.dropout, s.scratch, s.scratch_bytes);
    const int parts = each->B == 1 ? (int)(a->H / a->KV) : 1; /* of the query heads that share a key head */
    void *sums = device_new((size_t)parts * 2 * a->B * a->T * a->KV * a->D * sizeof(float));
    RUN(sl_cuda_flash_attention_backward(NULL, type, s.dqkv.d, tensor_at(&s.dqkv, s.k), tensor_at(&s.dqkv, s.v),
                                         s.dout.d, s.qkv.d, tensor_at(&s.qkv, s.k), tensor_at(&s.qkv, s.v), out.d,
                                         lse.d, &s.shape, s.dropout, NULL, parts, sums));
    tensor_check(&s.dqkv, slack_of(type), "flash attention backward");
    device_delete(sums);
    free(s.scratch);
  }
}

static void flash(enum sl_number type) {
  flash_each(type, false);
}

/* Queries of a member of a cp group: its chunks i and 2 cp - 1 - i, of B sequences; keys and values of all. */
struct member {
  size_t cp, i, chunk, B, H, KV, D, gap;
  int drops; /* 1, 2: as above */
  struct sl_attention_shape form;
};
static const struct member members[] = {
    {2, 0, 64, 1, 2, 1, 64, 0, 0, {.window = 0}},
    {2, 1, 37, 1, 1, 1, 64, 8, 2, {.window = 0}},
    {3, 1, 70, 1, 1, 1, 64, 0, 0, {.window = 50}},
    {2, 0, 35, 1, 1, 1, 128, 0, 1, {.window = 100}},
    {2, 0, 21, 2, 2, 1, 128, 0, 0, {.window = 0}},
    {2, 0, 33, 1, 1, 1, 40, 0, 2, {.alibi_max = 8}},
    {4, 1, 9, 2, 2, 1, 13, 5, 1, {.window = 21, .cap = 3, .scale = 0.4f}},
};
#define EACH_MEMBER(m) for (const struct member *m = members; m < members + sizeof members / sizeof *members; m++)

static struct sl_attention_shape member_shape(const struct member *m) {
  struct sl_attention_shape s = m->form;
  s.B = m->B, s.T = 2 * m->chunk, s.H = m->H, s.KV = m->KV, s.D = m->D, s.global_heads = m->H + 1;
  s.q_stride = s.out_stride = m->H * m->D + m->gap;
  s.k_stride = s.v_stride = 2 * m->KV * m->D + m->gap; /* keys and values side by side */
  s.keys = m->cp * s.T;
  s.at = (struct sl_token_places){m->chunk, {m->i * m->chunk, (2 * m->cp - 1 - m->i) * m->chunk}};
  return s;
}

static void flash_of(enum sl_number type, bool warpgroups) {
  EACH_MEMBER(m) {
    const struct sl_attention_shape s = member_shape(m);
    if (warpgroups && (!sl_plain_scores(&s) || s.q_stride % 8 != 0)) continue; /* they have no kernel for those */
    const struct sl_dropout *dropout = m->drops ? &drops[m->drops - 1] : NULL;
    const size_t n = s.B * s.T * s.q_stride, n_kv = s.B * s.keys * s.k_stride, v = s.KV * s.D;
    struct tensor q = tensor_new(type, n, m->gap, -2, 2), kv = tensor_new(type, n_kv, m->gap, -2, 2);
    struct tensor out = tensor_new(type, n, m->gap, -1, 1), lse = tensor_new(SL_NUMBER_F32, s.B * s.H * s.T, 0, 7, 9);
    const size_t bytes = sl_flash_attention_backward_scratch_bytes_f64(&s, 1);
    void *scratch = malloc(bytes);
    assert_non_null(scratch);
    sl_flash_attention_forward_f64(out.x, lse.x, q.x, kv.x, kv.x + v, &s, dropout, scratch, bytes);
    RUN(sl_cuda_flash_attention_forward(NULL, type, out.d, lse.d, q.d, kv.d, tensor_at(&kv, v), &s, dropout, NULL));
    tensor_check(&out, slack_of(type), "flash attention of a member");
    tensor_check(&lse, 1e-6, "log of the sum");
    struct tensor dq = tensor_new(type, n, m->gap, -1, 1), dkv = tensor_new(type, n_kv, m->gap, -1, 1);
    struct tensor dout = tensor_new(type, n, m->gap, -1, 1), given = tensor_new(type, n, m->gap, -1, 1);
    sl_flash_attention_backward_f64(dq.x, dkv.x, dkv.x + v, dout.x, q.x, kv.x, kv.x + v, given.x, lse.x, &s, dropout,
                                    scratch, bytes);
    const int parts = (int)(s.H / s.KV);
    void *sums = device_new((size_t)parts * 2 * s.B * s.keys * v * sizeof(float)); /* exact, for a sanitizer */
    RUN(sl_cuda_flash_attention_backward(NULL, type, dq.d, dkv.d, tensor_at(&dkv, v), dout.d, q.d, kv.d,
                                         tensor_at(&kv, v), given.d, lse.d, &s, dropout, NULL, parts, sums));
    tensor_check(&dq, slack_of(type), "dq of a member");
    tensor_check(&dkv, slack_of(type), "a member's share of dk and dv");
    device_delete(sums);
    free(scratch);
  }
}

static void flash_of_members(enum sl_number type) {
  flash_of(type, false);
}

/* The same where a device has sm_90a's instructions. */
static void flash_by_warpgroups(enum sl_number type) {
  if (type == SL_NUMBER_F32) return;
  device_give_warpgroups(1);
  flash_each(type, true);
  device_give_warpgroups(0);
}

static void members_by_warpgroups(enum sl_number type) {
  if (type == SL_NUMBER_F32) return;
  device_give_warpgroups(1);
  flash_of(type, true);
  device_give_warpgroups(0);
}

/* Shapes without a kernel are refused, not computed wrong. */
static void limits(enum sl_number type) {
  const struct sl_attention_shape wide = {1, 2, 1, 1, 257, 257, 257, 257, 257, 1, .scale = 0},
                                  thin = {1, 2, 1, 1, 1, 1, 1, 1, 1, 1, .scale = 0};
  struct tensor x = tensor_new(type, 514, 0, -1, 1), lse = tensor_new(SL_NUMBER_F32, 2, 0, 0, 1);
  assert_int_not_equal(sl_cuda_flash_attention_forward(NULL, type, x.d, lse.d, x.d, x.d, x.d, &wide, NULL, NULL), 0);
  const int error = sl_cuda_flash_attention_backward(NULL, type, x.d, x.d, x.d, x.d, x.d, x.d, x.d, x.d, lse.d, &thin,
                                                     NULL, NULL, 1, NULL);
  assert_int_equal(error != 0, type != SL_NUMBER_F32);
}

int main(int argc, char **argv) {
  static const struct cuda_case all[] = {{"materialised", materialised, EACH_TYPE},
                                         {"flash", flash, TWO_KERNELS},
                                         {"warpgroups", flash_by_warpgroups, EACH_TYPE},
                                         {"members", flash_of_members, TWO_KERNELS},
                                         {"members_by_warpgroups", members_by_warpgroups, EACH_TYPE},
                                         {"limits", limits, EACH_TYPE}};
  return cases_main("test_cuda_attention", all, sizeof all / sizeof *all, argc, argv);
}
