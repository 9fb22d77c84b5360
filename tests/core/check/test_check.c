/* label: unit
 * sl_check refuses broken programs: each test takes a sound job, plants one fault in memory, and asks for the message
 * that names it. The first table breaks what one rank does with its bytes, the second how two ranks meet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/check/rendezvous.h"
#include "core/job/job.h"
#include "core/op/operands.h"
#include "tests/support/job_fixture.h"

/* ---- one rank's memory ---- */

static struct sl_class *class_of(struct sl_job *job) {
  return &job->classes[0];
}

static struct sl_program *step_of(struct sl_job *job) {
  return &class_of(job)->programs[SL_PROGRAM_STEP];
}

/* Issue index of the n-th op of a kind, n < 0 from the end; fails the test where there is none. */
static size_t find(const struct sl_program *p, enum sl_op_kind kind, int n) {
  if (n >= 0) {
    for (size_t i = 0; i < p->issue_count; i++) {
      if (p->ops[p->issues[i].op].kind == kind && n-- == 0) return i;
    }
  } else {
    for (size_t i = p->issue_count; i-- > 0;) {
      if (p->ops[p->issues[i].op].kind == kind && ++n == 0) return i;
    }
  }
  fail_msg("the program has too few ops %s", sl_op_name(kind));
  return 0;
}

static struct sl_op *op_of(struct sl_program *p, enum sl_op_kind kind, int n) {
  return &p->ops[p->issues[find(p, kind, n)].op];
}

static struct sl_slice *operand(struct sl_program *p, enum sl_op_kind kind, int n, enum sl_at name) {
  const struct sl_op *op = op_of(p, kind, n);
  const int at = sl_op_at(op, name);
  assert_true(at >= 0);
  return &p->slices[op->slice + at];
}

static void drop_waits(struct sl_program *p, enum sl_op_kind kind, int n) {
  const size_t at = find(p, kind, n);
  assert_true(p->issues[at].wait_count > 0);
  p->issues[at].wait_count = 0;
}

/* The first op of a kind that waits for a lane forgets that wait. */
static void drop_wait_for(struct sl_program *p, enum sl_op_kind kind, enum sl_lane lane) {
  for (size_t i = 0; i < p->issue_count; i++) {
    struct sl_issue *e = &p->issues[i];
    for (unsigned w = 0; p->ops[e->op].kind == kind && w < e->wait_count; w++) {
      struct sl_wait *wait = &p->waits[e->wait + w];
      if (wait->lane != lane) continue;
      *wait = p->waits[e->wait + e->wait_count - 1];
      e->wait_count--;
      return;
    }
  }
  fail_msg("no %s waits for lane %s", sl_op_name(kind), sl_lane_name(lane));
}

/* Slot of a buffer by its name. */
static int64_t *offset_of(struct sl_job *job, const char *name) {
  struct sl_class *c = class_of(job);
  for (size_t i = 0; i < c->buffer_count; i++) {
    if (strcmp(c->buffers[i].name, name) == 0) return &c->slot_offsets[c->buffers[i].first_slot];
  }
  fail_msg("no buffer %s", name);
  return NULL;
}

static void reduce_before_gradient(struct sl_job *job) {
  drop_waits(step_of(job), SL_OP_REDUCE_SCATTER, 0);
}
static void update_before_reduction(struct sl_job *job) {
  drop_wait_for(step_of(job), SL_OP_NORM, SL_LANE_DP);
}
static void use_before_gather(struct sl_job *job) {
  drop_wait_for(step_of(job), SL_OP_GEMM, SL_LANE_SHARD);
}
static void gather_before_update(struct sl_job *job) {
  drop_waits(step_of(job), SL_OP_ALL_GATHER, -1);
}
static void decide_before_sum(struct sl_job *job) {
  drop_wait_for(step_of(job), SL_OP_CONTROL, SL_LANE_WORLD);
}
static void wait_too_little(struct sl_job *job) {
  struct sl_program *p = step_of(job);
  const struct sl_issue *e = &p->issues[find(p, SL_OP_REDUCE_SCATTER, 0)];
  p->waits[e->wait].count -= 1;
}
static void wait_for_the_future(struct sl_job *job) {
  struct sl_program *p = step_of(job);
  const struct sl_issue *e = &p->issues[find(p, SL_OP_REDUCE_SCATTER, 0)];
  p->waits[e->wait].count = p->lane_ops[SL_LANE_COMPUTE];
}
static void refill_bucket_in_flight(struct sl_job *job) {
  struct sl_program *p = step_of(job);
  for (size_t i = 0; i < p->issue_count; i++) {
    if (p->ops[p->issues[i].op].kind != SL_OP_JOIN && p->ops[p->issues[i].op].phase == SL_PHASE_BACKWARD &&
        p->ops[p->issues[i].op].lane == SL_LANE_COMPUTE)
      p->issues[i].wait_count = 0;
  }
}
static void two_lives_in_one_place(struct sl_job *job) {
  *offset_of(job, "h.1.attn.qkv") = *offset_of(job, "h.1.mlp.fc");
}
static void half_over_a_neighbour(struct sl_job *job) {
  *offset_of(job, "h.0.x_mid") = *offset_of(job, "h.0.mlp.gelu") + SL_ALIGN;
}
static void moments_on_parameters(struct sl_job *job) {
  *offset_of(job, "exp_avg") = *offset_of(job, "param");
}
static void bucket_over_activations(struct sl_job *job) {
  *offset_of(job, "bucket.0") = *offset_of(job, "h.0.mlp.gelu");
}
static void read_past_the_end(struct sl_job *job) {
  operand(step_of(job), SL_OP_GELU_FWD, 0, SL_AT_X)->bytes += SL_ALIGN;
}
static void write_past_the_end(struct sl_job *job) {
  operand(step_of(job), SL_OP_ADAMW, 0, SL_AT_MASTER)->bytes += (int64_t)1 << 20;
}
static void write_too_little(struct sl_job *job) {
  operand(step_of(job), SL_OP_GEMM, 0, SL_AT_C)->bytes -= 4;
}
static void no_batch(struct sl_job *job) {
  op_of(step_of(job), SL_OP_LOAD_BATCH, 0)->slice_count = 1; /* the targets stay unwritten */
}
static void no_initial_moments(struct sl_job *job) {
  struct sl_program *p = &class_of(job)->programs[SL_PROGRAM_INIT];
  op_of(p, SL_OP_FILL, -1)->slice_count = 0;
}
static void no_initial_gather(struct sl_job *job) {
  struct sl_program *p = &class_of(job)->programs[SL_PROGRAM_INIT];
  op_of(p, SL_OP_ALL_GATHER, 0)->slice_count = 0;
}
static void save_before_write(struct sl_job *job) {
  struct sl_program *p = &class_of(job)->programs[SL_PROGRAM_SAVE];
  operand(p, SL_OP_SAVE_TENSOR, 0, SL_AT_X)->buffer = operand(step_of(job), SL_OP_GELU_FWD, 0, SL_AT_OUT)->buffer;
  operand(p, SL_OP_SAVE_TENSOR, 0, SL_AT_X)->bytes += (int64_t)1 << 24;
}
/* The gradients of the last step still stand in the arena, but nothing holds them there. */
static void save_what_a_step_left(struct sl_job *job) {
  const int32_t grad = class_of(job)->role[SL_ROLE_GRAD].buffer;
  struct sl_slice *s = operand(&class_of(job)->programs[SL_PROGRAM_SAVE], SL_OP_SAVE_TENSOR, 0, SL_AT_X);
  *s = (struct sl_slice){.buffer = grad, .access = SL_READ, .bytes = class_of(job)->buffers[grad].bytes};
}
static void moments_of_one_program(struct sl_job *job) {
  class_of(job)->buffers[class_of(job)->role[SL_ROLE_MOMENT1].buffer].persistent = false;
}
static void swapped_ops(struct sl_job *job) {
  struct sl_program *p = step_of(job);
  const size_t at = find(p, SL_OP_GELU_FWD, 0);
  const uint32_t op = p->issues[at].op;
  p->issues[at].op = p->issues[at - 1].op;
  p->issues[at - 1].op = op;
}
static void shard_stride_too_far(struct sl_job *job) {
  operand(step_of(job), SL_OP_ADAMW, 0, SL_AT_MASTER)->shard_stride += 4096;
}
static void reduced_range_too_short(struct sl_job *job) {
  op_of(step_of(job), SL_OP_REDUCE_SCATTER, 0)->dim[2] -= 1;
}
static void lost_micro_batch_read(struct sl_job *job) {
  struct sl_slice *s = operand(step_of(job), SL_OP_ATTENTION_BWD, 0, SL_AT_SOFTMAX);
  s->buffer =
      operand(step_of(job), SL_OP_ATTENTION_BWD, 0, SL_AT_DQKV)->buffer; /* its own output, before it is written */
}
static void no_join(struct sl_job *job) {
  struct sl_program *p = step_of(job);
  p->issue_count--;
  p->lane_ops[SL_LANE_COMPUTE]--;
}
static void join_that_waits_for_nobody(struct sl_job *job) {
  drop_waits(step_of(job), SL_OP_JOIN, -1);
}
static void collective_on_a_foreign_lane(struct sl_job *job) {
  struct sl_program *p = step_of(job);
  struct sl_op *op = op_of(p, SL_OP_ALL_REDUCE, -1); /* the scalars of the world */
  op->group = SL_GROUP_DP;
}

static const char *const unwritten = "reads bytes that nobody wrote", *const freed = "use after free",
                         *const stale = "reads bytes that", /* either of the two, as the planner placed */
                             *const early_read = "reads what no wait orders after its write",
                         *const early_write = "overwrites what no wait orders before it";

struct fault {
  const char *name;
  int stage;
  void (*plant)(struct sl_job *job);
  const char *const *expect; /* a part of the message */
};
static const char *const future = "of which only", *const joinless = "does not end with a join of every lane",
                         *const foreign = "stands on lane world; expected lane dp";
#define FAULT(stage, name, expect)                                                                                     \
  { #name, stage, name, &expect }
static const struct fault faults[] = {
    FAULT(2, reduce_before_gradient, early_read),
    FAULT(2, update_before_reduction, early_read),
    FAULT(3, use_before_gather, early_read),
    FAULT(1, gather_before_update, early_read),
    FAULT(0, decide_before_sum, early_read),
    FAULT(2, wait_too_little, early_read),
    FAULT(2, wait_for_the_future, future),
    FAULT(2, refill_bucket_in_flight, early_write),
    FAULT(0, two_lives_in_one_place, freed),
    FAULT(1, half_over_a_neighbour, stale),
    FAULT(2, moments_on_parameters, freed),
    FAULT(2, bucket_over_activations, freed),
    FAULT(0, read_past_the_end, stale),
    FAULT(0, write_past_the_end, stale),
    FAULT(0, write_too_little, unwritten),
    FAULT(0, no_batch, unwritten),
    FAULT(1, no_initial_moments, unwritten),
    FAULT(3, no_initial_gather, unwritten),
    FAULT(0, save_before_write, stale),
    FAULT(0, save_what_a_step_left, unwritten),
    FAULT(1, moments_of_one_program, unwritten),
    FAULT(0, swapped_ops, stale),
    FAULT(2, shard_stride_too_far, stale),
    FAULT(2, reduced_range_too_short, unwritten),
    FAULT(0, lost_micro_batch_read, stale),
    FAULT(0, no_join, joinless),
    FAULT(2, join_that_waits_for_nobody, joinless),
    FAULT(0, collective_on_a_foreign_lane, foreign),
};

static void open_job(struct fixture *f, int stage) {
  const struct sl_build_options options = {.save_params = true};
  char config[512];
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": 2, \"optimizer\": {\"type\": "
           "\"AdamW\", \"params\": {\"lr\": 0.001}}, \"zero_optimization\": {\"stage\": %d, \"overlap_comm\": true, "
           "\"reduce_bucket_size\": 90000, \"stage3_param_persistence_threshold\": 200, "
           "\"stage3_prefetch_bucket_size\": 50000}, \"shardlab\": {\"seq_len\": 16}}",
           stage);
  if (fixture_open(f, "gpt2-tiny", config, "localhost", 3, &options) != SL_OK) fail_msg("%s", sl_error_message());
}

static void expect_refusal(enum sl_status status, const char *name, const char *part) {
  if (status != SL_ERR_CHECK) fail_msg("%s: status %d, expected a refusal", name, (int)status);
  if (strstr(sl_error_message(), part) == NULL || strstr(sl_error_message(), "ERROR HERE") == NULL)
    fail_msg("%s: \"%s\", expected \"%s\"", name, sl_error_message(), part);
}

static void faults_of_memory_are_refused(void **state) {
  (void)state;
  int failed = 0;
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    struct fixture f;
    open_job(&f, faults[i].stage);
    if (sl_check(&f.job) != SL_OK) fail_msg("stage %d: %s", faults[i].stage, sl_error_message());
    faults[i].plant(&f.job);
    sl_error_clear();
    const enum sl_status status = sl_check(&f.job);
    if (status != SL_ERR_CHECK || strstr(sl_error_message(), *faults[i].expect) == NULL ||
        strstr(sl_error_message(), "ERROR HERE") == NULL) {
      print_message("%s: status %d \"%s\", expected \"%s\"\n", faults[i].name, (int)status, sl_error_message(),
                    *faults[i].expect);
      failed++;
    }
    fixture_close(&f);
  }
  assert_int_equal(failed, 0);
}

/* Another buffer with the same slots: another stage's equal one. */
static int32_t sibling(const struct sl_class *c, int32_t buffer) {
  for (int32_t i = 0; i < (int32_t)c->buffer_count; i++) {
    if (i != buffer && c->buffers[i].first_slot == c->buffers[buffer].first_slot) return i;
  }
  return -1;
}

/* The bytes are where the reader's own would be, in a slot that it holds; but another stage's name is on them. */
static void what_another_stage_wrote_in_a_common_slot_is_refused(void **state) {
  (void)state;
  struct fixture f;
  int planted = 0;
  if (fixture_open(
          &f, "gpt2-tiny",
          "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": 3, \"optimizer\": {\"type\": "
          "\"SGD\", \"params\": {\"lr\": 0.001}}, \"shardlab\": {\"seq_len\": 16, \"virtual_stages\": 2, "
          "\"pp\": 1, \"schedule\": \"looped-bfs\"}}",
          "localhost", 1, NULL) != SL_OK)
    fail_msg("%s", sl_error_message());
  if (sl_check(&f.job) != SL_OK) fail_msg("%s", sl_error_message());
  struct sl_program *p = step_of(&f.job);
  for (size_t i = 0; i < p->op_count && planted == 0; i++) {
    for (int32_t s = p->ops[i].slice; s < p->ops[i].slice + p->ops[i].slice_count; s++) {
      const int32_t other = sibling(class_of(&f.job), p->slices[s].buffer);
      if (p->ops[i].phase != SL_PHASE_BACKWARD || p->slices[s].access != SL_READ || other < 0) continue;
      p->slices[s].buffer = other;
      planted++;
    }
  }
  assert_true(planted > 0);
  expect_refusal(sl_check(&f.job), "a common slot", freed);
  fixture_close(&f);
}

/* ---- how ranks meet ---- */

/* Two pipeline stages of one rank each, with programs of communication alone, written by hand. */
enum { MAX_CALLS = 8 };
struct call {
  enum sl_op_kind kind;
  enum sl_lane lane;
  enum sl_group group;
  int peer;
  int64_t count;
  int after_lane; /* waits for the first op of this lane; -1 none */
};
#define SEND(lane, peer, count, after)                                                                                 \
  { SL_OP_SEND, SL_LANE_##lane, SL_GROUP_NONE, peer, count, after }
#define RECV(lane, peer, count, after)                                                                                 \
  { SL_OP_RECV, SL_LANE_##lane, SL_GROUP_NONE, peer, count, after }
#define CALL(kind, group, count, after)                                                                                \
  { SL_OP_##kind, SL_LANE_##group, SL_GROUP_##group, 0, count, after }

struct meeting {
  const char *name;
  struct call calls[2][MAX_CALLS];
  const char *expect; /* NULL: sound */
};

static const struct meeting meetings[] = {
    {"a send and its receive",
     {{SEND(SEND_F, 1, 8, -1), RECV(RECV_B, 1, 4, -1)}, {RECV(RECV_F, 0, 8, -1), SEND(SEND_B, 0, 4, SL_LANE_RECV_F)}},
     NULL},
    {"two collectives in one order",
     {{CALL(ALL_REDUCE, WORLD, 8, -1), CALL(BROADCAST, MODEL, 4, -1)},
      {CALL(ALL_REDUCE, WORLD, 8, -1), CALL(BROADCAST, MODEL, 4, -1)}},
     NULL},
    {"a send that nobody receives", {{SEND(SEND_F, 1, 8, -1)}, {{0}}}, "rank 0 waits at #0 send (0STEP, lane send_f)"},
    {"a receive that nobody sends", {{{0}}, {RECV(RECV_F, 0, 8, -1)}}, "rank 1 waits at #0 recv"},
    {"one send too many",
     {{SEND(SEND_F, 1, 8, -1), SEND(SEND_F, 1, 8, -1)}, {RECV(RECV_F, 0, 8, -1)}},
     "rank 0 waits at #1 send"},
    {"forward that meets backward", {{SEND(SEND_F, 1, 8, -1)}, {RECV(RECV_B, 0, 8, -1)}}, "deadlock"},
    {"sizes of send and receive", {{SEND(SEND_F, 1, 8, -1)}, {RECV(RECV_F, 0, 9, -1)}}, "send of 32 bytes"},
    {"kinds of collective",
     {{CALL(ALL_REDUCE, WORLD, 8, -1)}, {CALL(BROADCAST, WORLD, 8, -1)}},
     "all_reduce of 32 bytes where rank 1 comes with broadcast"},
    {"sizes of collective",
     {{CALL(ALL_REDUCE, WORLD, 8, -1)}, {CALL(ALL_REDUCE, WORLD, 7, -1)}},
     "where rank 1 comes with all_reduce of 28 bytes"},
    {"order of one group's collectives",
     {{CALL(ALL_REDUCE, WORLD, 8, -1), CALL(ALL_REDUCE, WORLD, 4, -1)},
      {CALL(ALL_REDUCE, WORLD, 4, -1), CALL(ALL_REDUCE, WORLD, 8, -1)}},
     "all_reduce of 32 bytes where rank 1 comes with all_reduce of 16 bytes"},
    {"a rank that leaves a collective out",
     {{CALL(ALL_REDUCE, WORLD, 8, -1), CALL(ALL_REDUCE, WORLD, 8, -1)}, {CALL(ALL_REDUCE, WORLD, 8, -1)}},
     "deadlock"},
    {"groups in turn, one rank the other way round",
     {{CALL(ALL_REDUCE, WORLD, 8, -1), CALL(ALL_REDUCE, MODEL, 8, -1)},
      {CALL(ALL_REDUCE, MODEL, 8, -1), CALL(ALL_REDUCE, WORLD, 8, -1)}},
     "issue orders have a cycle"},
    {"each waits for what the other holds back",
     {{CALL(ALL_REDUCE, WORLD, 8, -1), CALL(ALL_REDUCE, MODEL, 8, SL_LANE_WORLD)},
      {CALL(ALL_REDUCE, MODEL, 8, -1), CALL(ALL_REDUCE, WORLD, 8, SL_LANE_MODEL)}},
     "deadlock"},
    {"both receive before they send",
     {{RECV(RECV_B, 1, 8, -1), SEND(SEND_F, 1, 8, SL_LANE_RECV_B)},
      {RECV(RECV_F, 0, 8, -1), SEND(SEND_B, 0, 8, SL_LANE_RECV_F)}},
     "deadlock"},
    {"a collective behind a send that waits for it",
     {{CALL(ALL_REDUCE, WORLD, 8, -1), SEND(SEND_F, 1, 8, SL_LANE_WORLD)},
      {RECV(RECV_F, 0, 8, -1), CALL(ALL_REDUCE, WORLD, 8, SL_LANE_RECV_F)}},
     "rank 0 waits at #0 all_reduce"},
    {"a collective on another group's lane",
     {{{SL_OP_ALL_REDUCE, SL_LANE_DP, SL_GROUP_WORLD, 0, 8, -1}},
      {{SL_OP_ALL_REDUCE, SL_LANE_DP, SL_GROUP_WORLD, 0, 8, -1}}},
     "stands on lane dp; expected lane world"},
};

/* A program whose arrays are the caller's. */
struct handmade {
  struct sl_op ops[MAX_CALLS];
  struct sl_issue issues[MAX_CALLS];
  struct sl_wait waits[MAX_CALLS];
  struct sl_instance instance;
};

static void write_program(struct sl_program *p, struct handmade *h, const struct call *calls, int stage) {
  memset(h, 0, sizeof *h);
  h->instance = (struct sl_instance){.action = {SL_ACTION_STEP, stage, -1}, .micro_batch = -1};
  *p = (struct sl_program){
      .kind = SL_PROGRAM_STEP, .ops = h->ops, .issues = h->issues, .waits = h->waits, .instances = &h->instance};
  for (int i = 0; i < MAX_CALLS && calls[i].count > 0; i++) {
    const struct call *c = &calls[i];
    h->ops[i] = (struct sl_op){.kind = c->kind,
                               .lane = c->lane,
                               .group = c->group,
                               .place_group = SL_GROUP_NONE,
                               .dtype = SL_F32,
                               .dim = {c->count},
                               .peer = c->peer};
    h->issues[i] = (struct sl_issue){.op = (uint32_t)i,
                                     .wait = (uint32_t)i,
                                     .wait_count = c->after_lane >= 0,
                                     .lane_index = p->lane_ops[c->lane]++ & 0xffffff};
    if (c->after_lane >= 0) h->waits[i] = (struct sl_wait){(uint32_t)c->after_lane, 1};
    p->op_count = p->issue_count = p->wait_count = (size_t)i + 1;
  }
}

static void faults_of_meeting_are_refused(void **state) {
  (void)state;
  static struct handmade made[2];
  const struct sl_plan plan = {.world = 2, .tp = 1, .cp = 1, .dp = 1, .dp_cp = 1, .pp = 2, .shard = 1, .secondary = 1};
  for (size_t i = 0; i < sizeof meetings / sizeof *meetings; i++) {
    struct sl_class classes[2];
    memset(classes, 0, sizeof classes);
    for (int stage = 0; stage < 2; stage++) {
      classes[stage] = (struct sl_class){.pp_rank = stage, .rank_count = 1, .first_rank = stage, .last_rank = stage};
      write_program(&classes[stage].programs[SL_PROGRAM_STEP], &made[stage], meetings[i].calls[stage], stage);
    }
    const struct sl_job job = {.plan = &plan, .classes = classes, .class_count = 2, .classes_per_pp_rank = 1};
    sl_error_clear();
    const enum sl_status status = sl_check_meeting(&job, SL_PROGRAM_STEP);
    if (meetings[i].expect != NULL) {
      expect_refusal(status, meetings[i].name, meetings[i].expect);
    } else if (status != SL_OK) {
      fail_msg("%s: %s", meetings[i].name, sl_error_message());
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(faults_of_memory_are_refused),
      cmocka_unit_test(what_another_stage_wrote_in_a_common_slot_is_refused),
      cmocka_unit_test(faults_of_meeting_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
