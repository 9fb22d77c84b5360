/* label: unit
 * Programs of GPT-2, Llama and MLP against closed forms computed here, from the models' published sizes alone: bytes of
 * model state, bytes on the wire, the arena against what is live at once; sl_check passes on all of them; text
 * forms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/check/rendezvous.h"
#include "core/job/job.h"
#include "core/op/wire.h"
#include "core/program/memory_report.h"
#include "core/program/print.h"
#include "tests/support/job_fixture.h"

/* What the test knows of a model: the sizes in its config.json and from them every parameter tensor, in order of use,
 * with how often a micro-batch's forward and backward read it. */
enum { MAX_TENSORS = 1024 };
struct sizes {
  const char *spec;
  int64_t layers, width, vocab, positions; /* gpt2, llama */
  int64_t inner, q, kv;                    /* llama: widths of the MLP, of all queries, of all keys */
  bool untied;
  int dims[5]; /* mlp */
  int64_t seq;
  /* derived */
  int count;
  int64_t numel[MAX_TENSORS], total;
  int forward[MAX_TENSORS], backward[MAX_TENSORS];
};

static void add_tensor(struct sizes *m, int64_t numel, int forward, int backward) {
  m->numel[m->count] = numel;
  m->forward[m->count] = forward;
  m->backward[m->count++] = backward;
  m->total += numel;
}

/* Backward reads a weight for the gradient of its input; it reads no bias. */
static void add_linear(struct sizes *m, int64_t in, int64_t out) {
  add_tensor(m, in * out, 1, 1);
  add_tensor(m, out, 1, 0);
}

static void add_norm(struct sizes *m) {
  add_tensor(m, m->width, 1, 1);
  if (m->inner == 0) add_tensor(m, m->width, 1, 0); /* RMSNorm has no bias */
}

static void add_llama_block(struct sizes *m) {
  const int64_t rows[] = {m->q, m->kv, m->kv, m->q, m->inner, m->inner, m->inner};
  for (int i = 0; i < 7; i++) {
    if (i == 0 || i == 4) add_norm(m);
    add_tensor(m, rows[i] * m->width, 1, 1);
  }
}

static void derive(struct sizes *m) {
  const int64_t c = m->width;
  m->count = 0, m->total = 0;
  if (m->layers == 0) {
    for (int i = 0; m->dims[i + 1] != 0; i++) {
      add_tensor(m, (int64_t)m->dims[i] * m->dims[i + 1], 1, i > 0); /* nobody wants the gradient of the inputs */
      add_tensor(m, m->dims[i + 1], 1, 0);
    }
    return;
  }
  /* tied, it is the head too; each use of it gathers anew, and so does its backward, which reads no table */
  add_tensor(m, m->vocab * c, m->untied ? 1 : 2, m->untied ? 1 : 2);
  if (m->positions > 0) add_tensor(m, m->positions * c, 1, 1);
  for (int64_t k = 0; k < m->layers; k++) {
    if (m->inner > 0) {
      add_llama_block(m);
      continue;
    }
    add_norm(m);
    add_linear(m, c, 3 * c);
    add_linear(m, c, c);
    add_norm(m);
    add_linear(m, c, 4 * c);
    add_linear(m, 4 * c, c);
  }
  add_norm(m);
  if (m->untied) add_tensor(m, m->vocab * c, 1, 1);
}

#define MLP "/tests/mpi/mlp.json"
static struct sizes models[] = {
    {.spec = "gpt2-tiny", .layers = 4, .width = 128, .vocab = 256, .positions = 256, .seq = 33},
    {.spec = SL_SOURCE_DIR MLP, .dims = {7, 33, 18, 5}, .seq = 1},
    {.spec = "gpt2", .layers = 12, .width = 768, .vocab = 50257, .positions = 1024, .seq = 130},
    {.spec = "gpt2-xl", .layers = 48, .width = 1600, .vocab = 50257, .positions = 1024, .seq = 257},
    /* 174 parameters: even, but no multiple of 4, so two ranks tell DeepSpeed's alignment from plain padding */
    {.spec = SL_SOURCE_DIR "/tests/golden/mlp/config.json", .dims = {7, 13, 5}, .seq = 1},
    {.spec = SL_SOURCE_DIR "/tests/golden/llama_odd/config.json",
     .layers = 2,
     .width = 48,
     .vocab = 67,
     .inner = 97,
     .q = 48,
     .kv = 16,
     .untied = true,
     .seq = 17},
    {.spec = SL_SOURCE_DIR "/tests/mpi/llama_tied.json",
     .layers = 2,
     .width = 21,
     .vocab = 61,
     .inner = 27,
     .q = 24,
     .kv = 12,
     .seq = 5},
};
enum { MODELS = sizeof models / sizeof *models };

/* One configuration of the grid. */
struct point {
  struct sizes *model;
  int stage, world, accumulate, moments; /* moments: 2 AdamW, 1 SGD with momentum, 0 plain SGD */
  int64_t persist;                       /* stage 3: parameters up to this size stay whole */
};

static void open_point(struct fixture *f, const struct point *p, bool keep_grads) {
  static const char *const optimizers[] = {
      "{\"type\": \"SGD\", \"params\": {\"lr\": 0.1}}",
      "{\"type\": \"SGD\", \"params\": {\"lr\": 0.1, \"momentum\": 0.9}}",
      "{\"type\": \"AdamW\", \"params\": {\"lr\": 0.001}}",
  };
  const struct sl_build_options options = {.save_params = true, .save_grads = keep_grads};
  char config[1024];
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": %d, \"optimizer\": %s,"
           " \"zero_allow_untested_optimizer\": true, \"zero_optimization\": {\"stage\": %d, \"reduce_bucket_size\": "
           "3e6, \"allgather_bucket_size\": 7e6, \"stage3_max_reuse_distance\": 0, \"stage3_prefetch_bucket_size\": "
           "4e6, \"stage3_param_persistence_threshold\": %lld}, \"shardlab\": {\"seq_len\": %lld}}",
           p->accumulate, optimizers[p->moments], p->stage, (long long)p->persist, (long long)p->model->seq);
  if (fixture_open(f, p->model->spec, config, "localhost", p->world, &options) != SL_OK)
    fail_msg("%s: %s", config, sl_error_message());
}

static int64_t round_up(int64_t n, int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

static bool stays(const struct point *p, int i) {
  return p->model->numel[i] <= p->persist;
}

/* ---- memory ---- */

/* Elements of a rank's flat parameters, gradients and shard by DeepSpeed's rules. */
struct closed {
  int64_t padded, shard, kept; /* kept: whole copies of small parameters */
};

static struct closed closed_form(const struct point *p) {
  const struct sizes *m = p->model;
  struct closed c = {m->total, m->total, 0};
  if (p->world == 1 || p->stage == 0) return c;
  if (p->stage < 3) {
    c.padded = round_up(m->total, 2 * p->world);
    c.shard = c.padded / p->world;
    return c;
  }
  c.padded = c.shard = 0;
  for (int i = 0; i < m->count; i++) {
    const int64_t part = (m->numel[i] + p->world - 1) / p->world;
    c.shard += part;
    c.padded += part * p->world;
    if (stays(p, i)) c.kept += part * p->world;
  }
  return c;
}

static void expect_bytes(const struct point *p, const char *what, int64_t got, int64_t want) {
  if (got == want) return;
  fail_msg("%s, stage %d, world %d, accumulation %d: %s are %lld bytes, expected %lld", p->model->spec, p->stage,
           p->world, p->accumulate, what, (long long)got, (long long)want);
}

static void compare_memory(const struct point *p) {
  struct fixture f;
  const struct closed c = closed_form(p);
  const int stage = p->world == 1 ? 0 : p->stage;
  const int64_t gradient = 4 * (stage < 2 ? c.padded : c.shard);
  open_point(&f, p, true);
  const struct sl_memory_report *r = f.job.classes[0].memory;
  expect_bytes(p, "parameters", r->state_bytes[SL_CATEGORY_PARAMETER], 4 * (stage < 3 ? c.padded : c.shard + c.kept));
  expect_bytes(p, "gradients", r->state_bytes[SL_CATEGORY_GRADIENT], gradient);
  expect_bytes(p, "optimizer states", r->state_bytes[SL_CATEGORY_OPTIMIZER], 4 * p->moments * c.shard);
  fixture_close(&f);

  open_point(&f, p, false); /* as users run: the gradient lives inside the step */
  const struct sl_class *k = &f.job.classes[0];
  expect_bytes(p, "kept gradients", k->memory->state_bytes[SL_CATEGORY_GRADIENT], 0);
  expect_bytes(p, "gradients at most", k->memory->category_max[SL_CATEGORY_GRADIENT], round_up(gradient, SL_ALIGN));
  expect_bytes(p, "peak", k->memory->peak_bytes, k->arena_bytes[SL_SPACE_DEVICE]);
  assert_true(k->arena_bytes[SL_SPACE_DEVICE] >= k->memory->live_peak_bytes);
  if (k->arena_bytes[SL_SPACE_DEVICE] > 64 << 20)
    assert_true((double)k->arena_bytes[SL_SPACE_DEVICE] <= 1.05 * (double)k->memory->live_peak_bytes);
  if (sl_check(&f.job) != SL_OK) fail_msg("%s", sl_error_message());
  fixture_close(&f);
}

static void states_and_arena(void **state) {
  (void)state;
  static const int worlds[] = {1, 2, 3, 8};
  for (int m = 0; m < MODELS; m++) {
    for (int stage = 0; stage < 4; stage++) {
      for (int w = 0; w < 4; w++) {
        const int turn = m + stage + w;
        if ((16 * m + 4 * stage + w) % SL_EVERY != 0) continue;
        if (m == 3 && w % 2 == 1 && stage != 3) continue; /* the largest: a sample */
        compare_memory(&(struct point){&models[m], stage, worlds[w], 1 + turn % 2 * 2, turn % 3, turn % 2 * 1600});
      }
    }
  }
}

/* ---- traffic ---- */

/* Bytes that all ranks together put on the wire in a step, by payload. */
static int64_t wire(const struct fixture *f, enum sl_payload payload) {
  const struct sl_program *p = &f->job.classes[0].programs[SL_PROGRAM_STEP];
  int64_t bytes = 0;
  for (size_t i = 0; i < p->issue_count; i++) {
    const struct sl_op *op = &p->ops[p->issues[i].op];
    if (sl_op_class_of(op->kind) != SL_CLASS_COLLECTIVE || op->payload != payload) continue;
    for (int rank = 0; rank < f->plan.world; rank++) {
      const struct sl_members g = sl_plan_group(&f->plan, op->group, rank);
      bytes += sl_op_wire_bytes(op, sl_op_slices(p, op), g.size, g.index);
    }
  }
  return bytes;
}

/* (W - 1) times: what a ring of W ranks sends in all for each element that it reduces to an owner, or gathers from one.
 * Stages 0 to 2 without accumulation: Psi reduced and Psi gathered, 2 Psi (W-1)/W a rank. Stages 2 and 3 reduce every
 * micro-batch. Stage 3 gathers for each use what does not stay, and once a step what does. */
static int64_t elements_gathered(const struct point *p) {
  const struct sizes *m = p->model;
  int64_t sum = 0;
  if (p->stage < 3) return closed_form(p).padded;
  for (int i = 0; i < m->count; i++) {
    const int64_t whole = round_up(m->numel[i], p->world);
    sum += whole * (stays(p, i) ? 1 : p->accumulate * (m->forward[i] + m->backward[i]));
  }
  return sum;
}

static void compare_traffic(const struct point *p) {
  struct fixture f;
  const int64_t links = p->world - 1, psi = closed_form(p).padded;
  const int64_t reduced = psi * (p->stage < 2 ? 1 : p->accumulate);
  open_point(&f, p, false);
  const int64_t gradients = wire(&f, SL_PAYLOAD_GRADIENT), parameters = wire(&f, SL_PAYLOAD_PARAMETER);
  if (p->stage == 0) { /* an all_reduce is both halves at once */
    expect_bytes(p, "gradients on the wire", gradients, 2 * 4 * links * psi);
    expect_bytes(p, "parameters on the wire", parameters, 0);
  } else {
    expect_bytes(p, "gradients on the wire", gradients, 4 * links * reduced);
    expect_bytes(p, "parameters on the wire", parameters, 4 * links * elements_gathered(p));
  }
  /* the paper's count: 2 Psi, and 3 Psi of stage 3, of which no bias is gathered twice here, and a tied embedding four
   * times */
  if (p->accumulate == 1 && p->persist == 0) {
    const double volume = (double)(gradients + parameters) / (4.0 * (double)links * (double)psi);
    const double embedding = (double)p->model->numel[0] / (double)p->model->total;
    if (p->stage < 3) assert_true(volume == 2);
    const double high = p->model->untied ? 3 : 3 + 2 * embedding;
    if (p->stage == 3 && p->model->layers > 0) assert_true(volume >= 2.95 && volume <= high);
  }
  assert_int_equal(wire(&f, SL_PAYLOAD_SCALAR),
                   2 * 4 * 8 * links); /* loss, squares, overflow: one all_reduce of 4 doubles */
  fixture_close(&f);
}

static void bytes_on_the_wire(void **state) {
  (void)state;
  static const int worlds[] = {2, 3, 8};
  for (int m = 0; m < MODELS; m++) {
    for (int stage = 0; stage < 4; stage++) {
      for (int w = 0; w < 3; w++) {
        for (int accumulate = 1; accumulate <= 3; accumulate += 2) {
          if ((24 * m + 6 * stage + 2 * w + accumulate / 2) % SL_EVERY != 0) continue;
          if (m == 3 && (w != 1 || accumulate > 1)) continue;
          compare_traffic(&(struct point){&models[m], stage, worlds[w], accumulate, 2, 0});
          if (stage == 3) compare_traffic(&(struct point){&models[m], stage, worlds[w], accumulate, 2, 1600});
        }
      }
    }
  }
}

/* FSDP reduces each block when its backward is done, and the root when all is: also where the head is not the
 * embedding, so that the root's gradients come first and last. */
static void layers_reduce_one_by_one(void **state) {
  (void)state;
  for (int m = 0; m < MODELS; m++) {
    struct fixture f;
    char config[512];
    if (models[m].layers == 0) continue;
    snprintf(config, sizeof config,
             "{\"train_micro_batch_size_per_gpu\": 2, \"optimizer\": {\"type\": \"AdamW\"}, \"shardlab\": {\"preset\": "
             "\"fsdp\", \"seq_len\": %lld}}",
             (long long)models[m].seq);
    if (fixture_open(&f, models[m].spec, config, "localhost", 3, NULL) != SL_OK) fail_msg("%s", sl_error_message());
    const struct sl_program *p = &f.job.classes[0].programs[SL_PROGRAM_STEP];
    int64_t calls = 0;
    for (size_t i = 0; i < p->issue_count; i++) calls += p->ops[p->issues[i].op].kind == SL_OP_REDUCE_SCATTER;
    assert_int_equal(calls, models[m].layers + 1);
    fixture_close(&f);
  }
}

/* Reductions of a micro-batch at ZeRO stage `stage`, with buckets of `bucket` elements. */
static int64_t reductions(const struct sizes *m, int stage, int64_t bucket) {
  struct fixture f;
  char config[512];
  int64_t calls = 0;
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 2, \"optimizer\": {\"type\": \"AdamW\"}, \"zero_optimization\": "
           "{\"stage\": %d, \"reduce_bucket_size\": %lld}, \"shardlab\": {\"seq_len\": %lld}}",
           stage, (long long)bucket, (long long)m->seq);
  if (fixture_open(&f, m->spec, config, "localhost", 3, NULL) != SL_OK) fail_msg("%s", sl_error_message());
  const struct sl_program *p = &f.job.classes[0].programs[SL_PROGRAM_STEP];
  for (size_t i = 0; i < p->issue_count; i++) calls += p->ops[p->issues[i].op].kind == SL_OP_REDUCE_SCATTER;
  fixture_close(&f);
  return calls;
}

/* A bucket of DeepSpeed's closes before the gradient that would overfill it, whatever gradient that is: the model is
 * one call where it fits, and two where it is too large by one element, also where the last to come is a tied
 * embedding, whose gradient has stood in memory since the head's backward. */
static void a_model_that_fits_a_bucket_is_one_call(void **state) {
  (void)state;
  for (int m = 0; m < MODELS; m++) {
    for (int stage = 2; stage <= 3; stage++) {
      const int64_t padded = closed_form(&(struct point){&models[m], stage, 3, 1, 2, 0}).padded;
      assert_int_equal(reductions(&models[m], stage, padded), 1);
      assert_int_equal(reductions(&models[m], stage, padded - 1), 2);
    }
  }
}

/* ---- text ---- */

static void schedules_survive_their_text(void **state) {
  (void)state;
  for (int accumulate = 1; accumulate < 12; accumulate += 5) {
    struct fixture f;
    char *text = NULL, *rest;
    size_t size = 0, n = 0;
    open_point(&f, &(struct point){&models[1], 2, 2, accumulate, 2, 0}, false);
    const struct sl_schedule schedule = f.plan.schedule;
    FILE *out = open_memstream(&text, &size);
    sl_schedule_print(&schedule, out);
    fclose(out);
    assert_true(size > 1 && text[size - 1] == '\n');
    text[size - 1] = '\0';
    for (char *word = strtok_r(text, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest), n++) {
      struct sl_action a;
      assert_int_equal(sl_action_parse(&a, word), SL_OK);
      assert_true(n < schedule.counts[0]);
      const struct sl_action *want = &schedule.actions[0][n];
      assert_true(a.kind == want->kind && a.stage == want->stage && a.micro_batch == want->micro_batch);
    }
    assert_int_equal(n, schedule.counts[0]);
    assert_int_equal(n, 2 * accumulate + 2); /* and the reduction, and the step */
    free(text);
    fixture_close(&f);
  }
}

/* Every op of every program of every rank is one line; only place-dependent byte ranges differ between ranks. */
static void programs_print(void **state) {
  (void)state;
  for (int stage = 0; stage < 4; stage++) {
    struct fixture f;
    open_point(&f, &(struct point){&models[0], stage, 3, 3, 2, 200}, true);
    for (int kind = 0; kind < SL_PROGRAM_COUNT; kind++) {
      char *text[3];
      size_t size[3];
      if (kind == SL_PROGRAM_COMPRESSED || kind == SL_PROGRAM_EVAL) continue; /* of other configurations alone */
      for (int rank = 0; rank < 3; rank++) {
        FILE *out = open_memstream(&text[rank], &size[rank]);
        sl_program_print(&f.job, rank, (enum sl_program_kind)kind, out);
        fclose(out);
        size_t lines = 0;
        for (const char *at = text[rank]; (at = strchr(at, '\n')) != NULL; at++) lines++;
        assert_int_equal(lines, f.job.classes[0].programs[kind].issue_count + 1);
        assert_non_null(strstr(text[rank], "join"));
      }
      const bool sharded = kind == SL_PROGRAM_STEP && (stage == 1 || stage == 2);
      assert_int_equal(strcmp(text[0], text[2]) != 0, sharded);
      if (kind == SL_PROGRAM_STEP) {
        assert_int_equal(strstr(text[0], "reduce_scatter") != NULL, stage > 0);
        assert_int_equal(strstr(text[0], "all_gather") != NULL, stage > 0);
        assert_non_null(strstr(text[0], "0B2"));
      }
      for (int rank = 0; rank < 3; rank++) free(text[rank]);
    }
    fixture_close(&f);
  }
}

int main(void) {
  for (int m = 0; m < MODELS; m++) derive(&models[m]);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(states_and_arena),
      cmocka_unit_test(bytes_on_the_wire),
      cmocka_unit_test(layers_reduce_one_by_one),
      cmocka_unit_test(a_model_that_fits_a_bucket_is_one_call),
      cmocka_unit_test(schedules_survive_their_text),
      cmocka_unit_test(programs_print),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
