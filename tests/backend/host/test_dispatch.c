/* Ops as the host backend runs them, one at a time and without MPI: what the members of a group compute of a split op,
 * put together, is what the unsplit op computes. */
#include "backend/host/host.h"
#include "core/model/families.h"
#include "core/op/flops.h"
#include "kernels/convert.h"
#include "kernels/philox.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_BUFFERS = 24, ARENA = 1 << 20, B = 2, T = 6, R = B * T, C = 37, TP = 3, PART = R / TP };

static const enum sl_dtype types[] = {SL_F32, SL_BF16, SL_F16};

/* One rank's process, as far as a single op sees it. */
struct rank {
  struct sl_config config;
  struct sl_model model;
  struct sl_plan plan;
  struct sl_job job;
  struct sl_buffer buffers[MAX_BUFFERS];
  int64_t offsets[MAX_BUFFERS];
  struct sl_class rank_class;
  struct sl_host host;
  struct sl_step_state *control;
  int64_t used;
  int32_t control_buffer;
};

/* A buffer of `bytes`, filled with bits that are NaN in every type. */
static int32_t buffer(struct rank *k, enum sl_dtype dtype, int64_t bytes) {
  const int32_t i = (int32_t)k->rank_class.buffer_count++;
  assert_true(i < MAX_BUFFERS && k->used + bytes + SL_ALIGN <= ARENA);
  k->buffers[i] = (struct sl_buffer){.dtype = dtype, .bytes = bytes, .slots = 1, .first_slot = i};
  k->offsets[i] = k->used;
  memset(k->host.arena[SL_SPACE_DEVICE] + k->used, 0xff, (size_t)bytes);
  k->used += (bytes + SL_ALIGN - 1) / SL_ALIGN * SL_ALIGN;
  return i;
}

static void *at(const struct rank *k, int32_t i) {
  return k->host.arena[SL_SPACE_DEVICE] + k->offsets[i];
}

static struct rank *new_rank(void) {
  struct rank *k = calloc(1, sizeof *k);
  assert_non_null(k);
  k->config.sl.seed = 71;
  k->plan = (struct sl_plan){.model = &k->model,
                             .config = &k->config,
                             .tp = TP,
                             .dp = 2,
                             .dp_cp = 2,
                             .pp = 1,
                             .micro_batch = B,
                             .n_micro = 3,
                             .global_batch = 2 * 3 * B,
                             .seq = T};
  k->job.plan = &k->plan;
  k->rank_class.buffers = k->buffers;
  k->rank_class.slot_offsets = k->offsets;
  k->host.job = &k->job;
  k->host.rank_class = &k->rank_class;
  k->host.coord.dp = 1;
  k->host.step = 4;
  k->host.arena[SL_SPACE_DEVICE] = malloc(ARENA);
  k->host.scratch = malloc(ARENA);
  k->host.scratch_bytes = ARENA;
  assert_true(k->host.arena[SL_SPACE_DEVICE] && k->host.scratch);
  k->control_buffer = buffer(k, SL_F32, (int64_t)sizeof(struct sl_step_state));
  k->control = at(k, k->control_buffer);
  memset(k->control, 0, sizeof *k->control);
  k->control->loss_scale = 8;
  return k;
}

static void free_rank(struct rank *k) {
  free(k->host.arena[SL_SPACE_DEVICE]), free(k->host.scratch), free(k);
}

/* n random numbers of `dtype` (two calls with one name give the same). */
static int32_t numbers(struct rank *k, enum sl_dtype dtype, size_t n, uint32_t name) {
  float *wide = malloc(n * sizeof *wide);
  const int32_t i = buffer(k, dtype, (int64_t)(n * sl_convert_bytes((enum sl_number)dtype)));
  assert_non_null(wide);
  sl_philox_uniform(wide, &(struct sl_philox_key){5, 2, 0, name}, 0, n, -2, 2);
  sl_convert(at(k, i), (enum sl_number)dtype, wide, SL_NUMBER_F32, n);
  free(wide);
  return i;
}

static int32_t blank(struct rank *k, enum sl_dtype dtype, size_t n) {
  return buffer(k, dtype, (int64_t)(n * sl_convert_bytes((enum sl_number)dtype)));
}

/* All of buffer `i`. */
static struct sl_slice all(const struct rank *k, enum sl_access access, int32_t i) {
  return (struct sl_slice){.buffer = i, .access = access, .bytes = k->buffers[i].bytes};
}

/* The piece of `bytes` that a member has of buffer `i`. */
static struct sl_slice mine(enum sl_access access, int32_t i, size_t bytes) {
  return (struct sl_slice){.buffer = i, .access = access, .bytes = (int64_t)bytes, .shard_stride = (int64_t)bytes};
}

static struct sl_op op_of(enum sl_op_kind kind, enum sl_dtype dtype, int64_t d0, int64_t d1, int64_t d2, int64_t d3) {
  return (struct sl_op){.kind = kind,
                        .dtype = dtype,
                        .group = SL_GROUP_NONE,
                        .place_group = SL_GROUP_NONE,
                        .dim = {d0, d1, d2, d3},
                        .stream = 9};
}

static enum sl_status run_slices(struct rank *k, struct sl_op op, int place, int count, struct sl_slice *slices) {
  struct sl_program program = {.kind = SL_PROGRAM_STEP, .slices = slices, .slice_count = (size_t)count};
  const struct sl_instance instance = {.micro_batch = 2};
  const struct sl_issued it = {.rank_class = &k->rank_class, .program = &program, .op = &op, .instance = &instance};
  size_t bytes;
  op.slice_count = count;
  if (place >= 0) op.place_group = SL_GROUP_TP;
  k->host.members[SL_GROUP_TP] = (struct sl_members){.size = TP, .index = place};
  SL_TRY(sl_host_supports(&program, &op, &bytes));
  assert_true(bytes <= ARENA && sl_op_bytes(&op, sl_op_slices(&program, &op)) > 0);
  return sl_host_run(&k->host, &it);
}

#define RUN(k, op, place, ...)                                                                                         \
  run_slices(k, op, place, (int)(sizeof((struct sl_slice[]){__VA_ARGS__}) / sizeof(struct sl_slice)),                  \
             (struct sl_slice[]){__VA_ARGS__})

static void same(const struct rank *k, int32_t a, int32_t b, const char *what) {
  if (memcmp(at(k, a), at(k, b), (size_t)k->buffers[b].bytes) != 0) fail_msg("%s differs", what);
}

/* Element `i` of buffer `b`. */
static double number(const struct rank *k, int32_t b, size_t i) {
  const enum sl_number type = (enum sl_number)k->buffers[b].dtype;
  float wide;
  sl_convert(&wide, SL_NUMBER_F32, (const char *)at(k, b) + i * sl_convert_bytes(type), type, 1);
  return (double)wide;
}

static void rows_of_a_sequence_draw_the_numbers_of_the_whole(void **state) {
  (void)state;
  for (size_t t = 0; t < 3; t++) {
    for (int bias = 0; bias < 2; bias++) {
      struct rank *k = new_rank();
      const enum sl_dtype d = types[t];
      const size_t piece = PART * C * sl_convert_bytes((enum sl_number)d);
      const int32_t x = numbers(k, d, R * C, 1), residual = numbers(k, d, R * C, 2), row = numbers(k, d, C, 3);
      const int32_t whole = blank(k, d, R * C), parts = blank(k, d, R * C), masked = blank(k, d, R * C);
      struct sl_op op = op_of(SL_OP_RESIDUAL_FWD, d, R, C, 0, 0), split = op_of(SL_OP_RESIDUAL_FWD, d, PART, C, 0, 0);
      op.dropout = split.dropout = 0.3;
      op.flags = split.flags = bias ? SL_OP_BIAS : 0;
      for (int m = -1; m < TP; m++) {
        const struct sl_slice a = m < 0 ? all(k, SL_READ, residual) : mine(SL_READ, residual, piece);
        const struct sl_slice b = m < 0 ? all(k, SL_READ, x) : mine(SL_READ, x, piece);
        const struct sl_slice out = m < 0 ? all(k, SL_WRITE, whole) : mine(SL_WRITE, parts, piece);
        if (bias)
          assert_int_equal(RUN(k, m < 0 ? op : split, m, a, b, all(k, SL_READ, row), out), SL_OK);
        else
          assert_int_equal(RUN(k, m < 0 ? op : split, m, a, b, out), SL_OK);
      }
      same(k, parts, whole, "residual by rows");
      op.kind = split.kind = SL_OP_DROPOUT;
      op.flags = split.flags = 0;
      assert_int_equal(RUN(k, op, -1, all(k, SL_READ, x), all(k, SL_WRITE, masked)), SL_OK);
      for (int m = 0; m < TP; m++)
        assert_int_equal(RUN(k, split, m, mine(SL_READ, x, piece), mine(SL_WRITE, parts, piece)), SL_OK);
      same(k, parts, masked, "dropout by rows");
      for (size_t i = 0; t == 0 && i < R * C; i++) { /* the residual kept what dropout keeps */
        const double add = bias ? number(k, row, i % C) / (1 - 0.3) : 0, kept = number(k, masked, i);
        const double sum = number(k, residual, i) + (kept != 0 ? kept + add : 0);
        assert_true(fabs(number(k, whole, i) - sum) < 2e-6);
      }
      free_rank(k);
    }
  }
}

static void members_embed_the_tokens_whose_rows_they_hold(void **state) {
  (void)state;
  enum { ROWS = 5, V = ROWS * TP, P = 8 };
  for (size_t t = 0; t < 3; t++) {
    struct rank *k = new_rank();
    const enum sl_dtype d = types[t];
    const size_t piece = ROWS * C * sl_convert_bytes((enum sl_number)d);
    const int32_t tokens = buffer(k, SL_I32, R * 4), wte = numbers(k, d, V * C, 1), wpe = numbers(k, d, P * C, 2);
    const int32_t whole = blank(k, d, R * C), part = blank(k, d, R * C), sum = blank(k, d, R * C);
    const int32_t dout = numbers(k, d, R * C, 4), dwte = blank(k, d, V * C), dparts = blank(k, d, V * C);
    const int32_t dwpe = blank(k, d, P * C), dwpe_part = blank(k, d, P * C);
    struct sl_op forward = op_of(SL_OP_EMBED_FWD, d, B, T, C, V), backward = op_of(SL_OP_EMBED_BWD, d, B, T, C, V);
    forward.dropout = backward.dropout = 0.2;
    backward.dim[4] = P;
    forward.flags = backward.flags = SL_OP_POSITIONS;
    for (int i = 0; i < R; i++) ((int32_t *)at(k, tokens))[i] = i * 7 % V;
    memset(at(k, sum), 0, (size_t)k->buffers[sum].bytes);
    assert_int_equal(RUN(k, forward, -1, all(k, SL_READ, tokens), all(k, SL_READ, wte), all(k, SL_READ, wpe),
                         all(k, SL_WRITE, whole)),
                     SL_OK);
    assert_int_equal(RUN(k, backward, -1, all(k, SL_READ, tokens), all(k, SL_READ, dout), all(k, SL_WRITE, dwte),
                         all(k, SL_WRITE, dwpe)),
                     SL_OK);
    forward.dim[3] = backward.dim[3] = ROWS;
    for (int m = 0; m < TP; m++) {
      assert_int_equal(RUN(k, forward, m, all(k, SL_READ, tokens), mine(SL_READ, wte, piece), all(k, SL_READ, wpe),
                           all(k, SL_WRITE, part)),
                       SL_OK);
      sl_convert_add(at(k, sum), (enum sl_number)d, at(k, part), (enum sl_number)d, R * C);
      assert_int_equal(RUN(k, backward, m, all(k, SL_READ, tokens), all(k, SL_READ, dout),
                           mine(SL_WRITE, dparts, piece), all(k, SL_WRITE, dwpe_part)),
                       SL_OK);
      same(k, dwpe_part, dwpe, "positions' gradient");
    }
    same(k, sum, whole, "embedding by rows of the table");
    same(k, dparts, dwte, "tokens' gradient");
    free_rank(k);
  }
}

/* Loss scale 8: the gradient has it, the loss does not. */
static void the_loss_of_a_split_vocabulary_is_reported_once(void **state) {
  (void)state;
  enum { V = 97, COLUMNS = 33 };
  for (size_t t = 0; t < 3; t++) {
    struct rank *k = new_rank();
    const enum sl_dtype d = types[t];
    const size_t element = sl_convert_bytes((enum sl_number)d), row = 3 * R * sizeof(float);
    const int32_t logits = numbers(k, d, R * V, 1), targets = buffer(k, SL_I32, R * 4);
    const int32_t pieces = blank(k, d, TP * R * COLUMNS), stats = buffer(k, SL_F32, (int64_t)(TP * row));
    struct sl_op op = op_of(SL_OP_CLASSIFIER, d, R, V, V, 0);
    op.scale = 0.125;
    for (int r = 0; r < R; r++) ((int32_t *)at(k, targets))[r] = r * 41 % V;
    for (int m = 0; m < TP; m++) { /* what lies past column 96 of the last member is NaN */
      for (int r = 0; r < R; r++) {
        const int n = V - m * COLUMNS < COLUMNS ? V - m * COLUMNS : COLUMNS;
        memcpy((char *)at(k, pieces) + (size_t)((m * R + r) * COLUMNS) * element,
               (char *)at(k, logits) + (size_t)(r * V + m * COLUMNS) * element, (size_t)n * element);
      }
    }
    const struct sl_slice control = all(k, SL_READ_WRITE, k->control_buffer), to = all(k, SL_READ, targets);
    const size_t piece = R * COLUMNS * element;
    assert_int_equal(RUN(k, op, -1, all(k, SL_READ_WRITE, logits), to, control), SL_OK);
    const double loss = k->control->loss_sum;
    k->control->loss_sum = 0;
    assert_true(loss > 1 && loss < 12);
    struct sl_op part = op_of(SL_OP_CLASSIFIER_STATS, d, R, COLUMNS, V, 0);
    for (int m = 0; m < TP; m++)
      assert_int_equal(RUN(k, part, m, mine(SL_READ, pieces, piece), to, mine(SL_WRITE, stats, row)), SL_OK);
    part.kind = SL_OP_CLASSIFIER_SHARD;
    part.dim[3] = TP;
    part.scale = op.scale;
    for (int m = TP - 1; m >= 0; m--) {
      assert_true(k->control->loss_sum == 0);
      assert_int_equal(RUN(k, part, m, mine(SL_READ_WRITE, pieces, piece), to, all(k, SL_READ, stats), control), SL_OK);
    }
    assert_true(fabs(k->control->loss_sum / loss - 1) < 1e-6);
    for (size_t i = 0; i < TP * R * COLUMNS; i++) {
      const size_t r = i / COLUMNS % R, v = i / COLUMNS / R * COLUMNS + i % COLUMNS;
      const double got = number(k, pieces, i), expected = v < V ? number(k, logits, r * V + v) : 0;
      assert_true(fabs(got - expected) <= (t == 0 ? 1e-6 : 0x1p-8) * fabs(expected));
    }
    k->control->loss_sum = 0;
    assert_int_equal(RUN(k, op, 1, all(k, SL_READ_WRITE, logits), to, control), SL_OK);
    assert_true(k->control->loss_sum == 0);
    assert_int_equal(RUN(k, op, 0, all(k, SL_READ_WRITE, logits), to, control), SL_OK);
    assert_true(k->control->loss_sum > 0);
    free_rank(k);
  }
}

static void a_squared_error_is_reported_once(void **state) {
  (void)state;
  struct rank *k = new_rank();
  struct sl_op op = op_of(SL_OP_MSE, SL_F32, R, C, 0, 0);
  op.scale = 0.5;
  double loss[3];
  for (int m = -1; m < 2; m++) {
    const int32_t x = numbers(k, SL_F32, R * C, 1), y = numbers(k, SL_F32, R * C, 2);
    k->control->loss_sum = 0;
    assert_int_equal(
        RUN(k, op, m, all(k, SL_READ_WRITE, x), all(k, SL_READ, y), all(k, SL_READ_WRITE, k->control_buffer)), SL_OK);
    loss[m + 1] = k->control->loss_sum;
  }
  assert_true(loss[0] > 0 && loss[1] == loss[0] && loss[2] == 0);
  free_rank(k);
}

/* A buffer with what stands in `i`, in another type. */
static int32_t in_type(struct rank *k, enum sl_dtype d, int32_t i, size_t n) {
  const int32_t out = blank(k, d, n);
  sl_convert(at(k, out), (enum sl_number)d, at(k, i), (enum sl_number)k->buffers[i].dtype, n);
  return out;
}

/* Accumulating and overwriting, with layernorm's bias and without: operands in the order of their rows. Weights alone,
 * if they overwrite, leave their gradients in fp32, which are not rounded before they are stored. */
static void check_halves(enum sl_dtype d, bool rms, enum sl_access access) {
  struct rank *k = new_rank();
  const enum sl_op_kind kind = rms ? SL_OP_RMSNORM_BWD : SL_OP_LAYERNORM_BWD;
  const int32_t dout = numbers(k, d, R * C, 1), x = numbers(k, d, R * C, 2), weight = numbers(k, d, C, 3);
  const int32_t stats = numbers(k, SL_F32, 2 * R, 4), scratch = blank(k, SL_F32, 2 * R * C);
  int32_t dx[2], dw[2], db[2];
  for (int i = 0; i < 2; i++) {
    const enum sl_dtype kept = i == 1 && access == SL_WRITE ? SL_F32 : d;
    dx[i] = numbers(k, d, R * C, 5), dw[i] = numbers(k, kept, C, 6), db[i] = numbers(k, kept, C, 7);
  }
  struct sl_op whole = op_of(kind, d, R, C, 0, 0), input = whole, weights = whole;
  input.flags = SL_OP_INPUT_GRAD;
  weights.flags = SL_OP_WEIGHT_GRAD;
  const struct sl_slice go = all(k, SL_READ, dout), xs = all(k, SL_READ, x), w = all(k, SL_READ, weight);
  const struct sl_slice s = all(k, SL_READ, stats), work = all(k, SL_WRITE, scratch);
  struct sl_slice small = work;
  small.bytes = 4 * C;
  assert_int_equal(RUN(k, input, -1, go, xs, w, s, all(k, access, dx[1])), SL_OK);
  if (rms) {
    assert_int_equal(RUN(k, whole, -1, go, xs, w, s, all(k, access, dx[0]), all(k, access, dw[0]), work), SL_OK);
    assert_int_equal(RUN(k, weights, -1, go, xs, s, all(k, access, dw[1]), work), SL_OK);
    assert_int_equal(RUN(k, weights, -1, go, xs, s, all(k, access, dw[1]), small), SL_ERR_INTERNAL);
  } else {
    assert_int_equal(
        RUN(k, whole, -1, go, xs, w, s, all(k, access, dx[0]), all(k, access, dw[0]), all(k, access, db[0]), work),
        SL_OK);
    assert_int_equal(RUN(k, weights, -1, go, xs, s, all(k, access, dw[1]), all(k, access, db[1]), work), SL_OK);
    assert_int_equal(RUN(k, weights, -1, go, xs, s, all(k, access, dw[1]), all(k, access, db[1]), small),
                     SL_ERR_INTERNAL);
  }
  same(k, dx[1], dx[0], "dx");
  same(k, in_type(k, d, dw[1], C), dw[0], "dweight");
  same(k, in_type(k, d, db[1], C), db[0], "dbias");
  assert_true(sl_op_flops(&input) + sl_op_flops(&weights) == sl_op_flops(&whole) && sl_op_flops(&input) > 0);
  free_rank(k);
}

static void the_halves_of_a_norms_backward_are_the_whole(void **state) {
  (void)state;
  for (size_t t = 0; t < 3; t++) {
    for (int i = 0; i < 4; i++) check_halves(types[t], i / 2, i % 2 ? SL_READ_WRITE : SL_WRITE);
  }
}

static void columns_are_put_together_and_cut(void **state) {
  (void)state;
  for (size_t t = 0; t < 3; t++) {
    struct rank *k = new_rank();
    const enum sl_dtype d = types[t];
    const size_t piece = R * C * sl_convert_bytes((enum sl_number)d);
    const int32_t x = numbers(k, d, TP * R * C, 1), joined = blank(k, d, TP * R * C), cut = blank(k, d, TP * R * C);
    assert_int_equal(
        RUN(k, op_of(SL_OP_CONCAT_COLUMNS, d, R, C, TP, 0), -1, all(k, SL_READ, x), all(k, SL_WRITE, joined)), SL_OK);
    for (size_t i = 0; i < TP * R * C; i++)
      assert_true(number(k, joined, i / C % R * TP * C + i / C / R * C + i % C) == number(k, x, i));
    for (int m = 0; m < TP; m++)
      assert_int_equal(
          RUN(k, op_of(SL_OP_SPLIT_COLUMNS, d, R, C, TP, 0), m, all(k, SL_READ, joined), mine(SL_WRITE, cut, piece)),
          SL_OK);
    same(k, cut, x, "columns cut again");
    free_rank(k);
  }
}

/* Members of 100 elements each; of the last one only 60 exist. */
static void a_norm_over_a_range_counts_each_element_once(void **state) {
  (void)state;
  enum { STRIDE = 100, FLAT = 260 };
  static const int64_t ranges[][2] = {{0, 260}, {37, 243}, {120, 170}, {100, 200}, {0, 1}, {250, 900}, {77, 77}};
  for (size_t t = 0; t < 3; t++) {
    struct rank *k = new_rank();
    const size_t element = sl_convert_bytes((enum sl_number)types[t]);
    const int32_t x = numbers(k, types[t], FLAT, 1), work = buffer(k, SL_F32, 64);
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
      const int64_t lo = ranges[i][0], hi = ranges[i][1];
      double expected = 0;
      k->control->square_sum = 0;
      for (int64_t e = lo; e < hi && e < FLAT; e++) expected += number(k, x, (size_t)e) * number(k, x, (size_t)e);
      for (int m = 0; m < TP; m++) {
        const int64_t n = FLAT - m * STRIDE < STRIDE ? FLAT - m * STRIDE : STRIDE;
        struct sl_op op = op_of(SL_OP_NORM, types[t], n, lo, hi, STRIDE);
        struct sl_slice own = mine(SL_READ, x, STRIDE * element);
        own.bytes = n * (int64_t)element;
        op.flags = SL_OP_SHARE_RANGE;
        op.scale = 0.25;
        assert_int_equal(RUN(k, op, m, own, all(k, SL_READ_WRITE, k->control_buffer), all(k, SL_WRITE, work)), SL_OK);
        assert_true(sl_op_flops(&op) == 2.0 * (double)(hi - lo < n ? hi - lo : n));
      }
      assert_true(fabs(k->control->square_sum - 0.25 * expected) <= 1e-12 * expected);
    }
    assert_true(k->control->overflow == 0);
    free_rank(k);
  }
}

static void check_apart(struct rank *k, enum sl_dtype d, size_t inputs, size_t targets) {
  const int32_t x = blank(k, d, inputs), y = blank(k, d, targets), a = blank(k, d, inputs), b = blank(k, d, targets);
  struct sl_op op = op_of(SL_OP_LOAD_BATCH, d, B, T, 0, 0);
  assert_int_equal(RUN(k, op, -1, all(k, SL_WRITE, x), all(k, SL_WRITE, y)), SL_OK);
  op.flags = SL_OP_INPUTS_ONLY;
  assert_int_equal(RUN(k, op, -1, all(k, SL_WRITE, a)), SL_OK);
  op.flags = SL_OP_TARGETS_ONLY;
  assert_int_equal(RUN(k, op, -1, all(k, SL_WRITE, b)), SL_OK);
  same(k, a, x, "inputs loaded alone");
  same(k, b, y, "targets loaded alone");
  assert_true(memcmp(at(k, a), at(k, b), (size_t)k->buffers[b].bytes) != 0);
}

static void inputs_and_targets_loaded_apart_are_those_loaded_together(void **state) {
  (void)state;
  static const char text[] = "a text of more than a hundred letters, which is what a dozen sequences of six need, one "
                             "after the other, with a last target for the last of them.";
  for (size_t t = 0; t < 3; t++) {
    struct rank *k = new_rank();
    k->plan.seq = 1;
    k->model = (struct sl_model){.type = SL_MODEL_MLP, .family = &sl_model_mlp, .n_dims = 3, .dims = {7, 5, 7}};
    k->host.input = (struct sl_input){.plan = &k->plan, .samples = 1001};
    check_apart(k, types[t], B * 7, B * 7);
    free_rank(k);
  }
  struct rank *k = new_rank();
  k->model = (struct sl_model){.type = SL_MODEL_GPT2, .family = &sl_model_gpt2, .vocab_size = 256};
  k->host.input.plan = &k->plan;
  assert_int_equal(sl_data_open_memory(&k->host.input.data, "text", text, sizeof text - 1), SL_OK);
  k->host.input.samples = sl_data_sequences(&k->host.input.data, T);
  check_apart(k, SL_F32, R, R); /* int32, as wide as a float */
  sl_data_close(&k->host.input.data);
  free_rank(k);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_of_a_sequence_draw_the_numbers_of_the_whole),
      cmocka_unit_test(members_embed_the_tokens_whose_rows_they_hold),
      cmocka_unit_test(the_loss_of_a_split_vocabulary_is_reported_once),
      cmocka_unit_test(a_squared_error_is_reported_once),
      cmocka_unit_test(the_halves_of_a_norms_backward_are_the_whole),
      cmocka_unit_test(columns_are_put_together_and_cut),
      cmocka_unit_test(a_norm_over_a_range_counts_each_element_once),
      cmocka_unit_test(inputs_and_targets_loaded_apart_are_those_loaded_together),
  };
  return cmocka_run_group_tests_name("ops of the host backend", tests, NULL, NULL);
}
