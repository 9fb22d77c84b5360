/* label: unit
 * A second parameter group beside the dense one, as experts are: the weights of every mlp of GPT-2 count as one of two
 * sets of experts, of which the members of a pair of ranks hold one each. So they are summed and split over every other
 * rank, while the dense parameters go over all. No family has experts yet: the group is put into the plan by hand, and
 * what is lowered must follow from it alone. */
#include "core/check/rendezvous.h"
#include "core/program/locate.h"
#include "tests/support/job_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { WORLD = 8, PAIR = 2 };

static const struct sl_param_group alternate = {.sum = SL_GROUP_REPLICATE,
                                                .shard = SL_GROUP_REPLICATE,
                                                .scatter = SL_GROUP_REPLICATE,
                                                .replicate = SL_GROUP_NONE,
                                                .ranks = WORLD / PAIR,
                                                .members = WORLD / PAIR,
                                                .secondary = 1};

/* A job whose mlps are of group `experts`; NULL: of the dense group, as all else. */
static void open_job(struct fixture *f, const char *zero, const char *sl, const struct sl_param_group *experts) {
  static const struct sl_build_options options = {.save_params = true};
  char config[512];
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": 3, \"bf16\": {\"enabled\": true}, "
           "\"zero_optimization\": {%s}, \"optimizer\": {\"type\": \"AdamW\"}, \"shardlab\": {\"seq_len\": 65, "
           "\"make_vocab_size_divisible_by\": 1%s}}",
           zero, sl);
  if (fixture_open(f, "gpt2", config, "dgx-a100-80g", WORLD, &options) != SL_OK) fail_msg("%s", sl_error_message());
  if (experts == NULL) return;
  for (int i = 0; i < f->model.tensor_count; i++)
    f->model.tensors[i].group = strstr(f->model.tensors[i].name, ".mlp.") != NULL;
  f->plan.groups[f->plan.group_count++] = *experts;
  sl_layout_free(&f->plan.pp_ranks[0]);
  assert_int_equal(sl_layout_build(&f->plan.pp_ranks[0], &f->plan), SL_OK);
  sl_job_free(&f->job);
  if (sl_job_build(&f->job, &f->plan, &options) != SL_OK || sl_check(&f->job) != SL_OK)
    fail_msg("%s %s: %s", zero, sl, sl_error_message());
}

/* What rank 0 does in a step, in elements. */
struct work {
  int64_t scattered[SL_GROUP_COUNT], summed[SL_GROUP_COUNT], gathered[SL_GROUP_COUNT], updated;
};

static struct work work_of(const struct fixture *f) {
  const struct sl_program *p = &f->job.classes[0].programs[SL_PROGRAM_STEP];
  struct work w = {0};
  for (size_t i = 0; i < p->issue_count; i++) {
    const struct sl_op *op = &p->ops[p->issues[i].op];
    if (op->kind == SL_OP_REDUCE_SCATTER) w.scattered[op->group] += op->dim[0];
    if (op->kind == SL_OP_ALL_GATHER) w.gathered[op->group] += op->dim[0];
    if (op->kind == SL_OP_ALL_REDUCE && op->payload == SL_PAYLOAD_GRADIENT) w.summed[op->group] += op->dim[0];
    if (op->kind == SL_OP_ADAMW) w.updated += op->dim[0];
  }
  return w;
}

static int64_t padded(const struct fixture *f, int group) {
  return f->plan.pp_ranks[0].layouts[group].padded;
}

/* The elements of it that stay whole, which only the update gathers. */
static int64_t persistent(const struct fixture *f, int group) {
  const struct sl_pp_rank *s = &f->plan.pp_ranks[0];
  int64_t sum = 0;
  for (int k = 0; k < s->unit_count; k++) {
    const struct sl_unit *u = &s->units[k];
    if (u->group == group && s->tensors[u->first_tensor].persistent) sum += u->part * s->layouts[group].group.members;
  }
  return sum;
}

/* Gathered of a group: in each of three micro-batches, at least once and `most` times at most. */
static void assert_gathered(const struct fixture *f, int64_t elements, int group, int most) {
  const int64_t stay = persistent(f, group), come = padded(f, group) - stay;
  assert_in_range(elements, stay + 3 * come, stay + 3 * most * come);
}

/* GPT-2's mlps: 768 to 3072 and back, with biases, in 12 layers. */
static void tensors_stand_in_their_group(void **state) {
  (void)state;
  struct fixture f;
  open_job(&f, "\"stage\": 2", ", \"shard_size\": 2", &alternate);
  const struct sl_pp_rank *s = &f.plan.pp_ranks[0];
  assert_int_equal(s->group_count, 2);
  assert_int_equal(s->layouts[1].numel, 12 * (2 * 768 * 3072 + 768 + 3072));
  assert_int_equal(s->layouts[0].numel + s->layouts[1].numel, sl_model_numel(&f.model));
  assert_int_equal(s->layouts[1].first, s->layouts[0].padded);
  assert_int_equal(s->shard_numel, s->layouts[0].padded / PAIR + s->layouts[1].padded / (WORLD / PAIR));
  for (int i = 0; i < s->tensor_count; i++) {
    assert_int_equal(s->tensors[i].group, f.model.tensors[s->tensors[i].tensor].group);
    assert_int_equal(s->units[s->tensors[i].unit].group, s->tensors[i].group);
  }
  fixture_close(&f);
}

static void each_group_is_reduced_gathered_and_updated_over_its_own_ranks(void **state) {
  (void)state;
  static const struct {
    const char *zero, *sl;
    int reductions; /* of a step: one, or one a micro-batch */
    int sums;       /* over replicas: FSDP's are units' of each micro-batch, MiCS's one of the step */
  } cases[] = {{"\"stage\": 1", "", 1, 1},
               {"\"stage\": 2", "", 3, 1},
               {"\"stage\": 2, \"reduce_bucket_size\": 3e6", "", 3, 1},
               {"\"stage\": 2, \"offload_optimizer\": {\"device\": \"cpu\"}", "", 3, 1},
               {"\"stage\": 3, \"stage3_param_persistence_threshold\": 0", "", 3, 1},
               {"\"stage\": 3", "", 3, 1},
               {"\"stage\": 0", ", \"preset\": \"fsdp-hybrid-shard\"", 3, 3}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fixture f;
    char sl[64];
    snprintf(sl, sizeof sl, ", \"shard_size\": %d%s", PAIR, cases[i].sl);
    open_job(&f, cases[i].zero, sl, &alternate);
    const struct work w = work_of(&f);
    const int64_t dense = padded(&f, 0), experts = padded(&f, 1);
    assert_int_equal(w.scattered[SL_GROUP_SHARD], cases[i].reductions * dense);
    assert_int_equal(w.scattered[SL_GROUP_REPLICATE], cases[i].reductions * experts);
    assert_int_equal(w.summed[SL_GROUP_REPLICATE],
                     cases[i].sums * dense / PAIR); /* experts are summed by their scatter alone */
    assert_int_equal(w.scattered[SL_GROUP_DP], 0);
    assert_int_equal(w.updated, dense / PAIR + experts / (WORLD / PAIR));
    if (f.plan.strategy.shard_params) { /* forward, backward, the head's use of the embedding */
      assert_gathered(&f, w.gathered[SL_GROUP_SHARD], 0, 3);
      assert_gathered(&f, w.gathered[SL_GROUP_REPLICATE], 1, 2);
    } else {
      assert_int_equal(w.gathered[SL_GROUP_SHARD], dense);
      assert_int_equal(w.gathered[SL_GROUP_REPLICATE], experts);
    }
    fixture_close(&f);
  }
}

/* One set of experts a rank: nobody else has a gradient to add. */
static void a_group_of_one_rank_is_not_reduced(void **state) {
  (void)state;
  static const struct sl_param_group own = {SL_GROUP_NONE, SL_GROUP_NONE, SL_GROUP_NONE, SL_GROUP_NONE,
                                            .ranks = 1,    .members = 1,  .secondary = 1};
  struct fixture f;
  open_job(&f, "\"stage\": 0", "", &own);
  const struct work w = work_of(&f);
  assert_int_equal(w.summed[SL_GROUP_DP], padded(&f, 0));
  assert_int_equal(w.updated, padded(&f, 0) + padded(&f, 1));
  fixture_close(&f);
}

/* A square counts 1 / (ranks that hold the element): those of a pair of every four, or of each. */
static void squares_count_once_over_all_ranks(void **state) {
  (void)state;
  struct fixture f;
  open_job(&f, "\"stage\": 2", ", \"shard_size\": 2", &alternate);
  const struct sl_program *p = &f.job.classes[0].programs[SL_PROGRAM_STEP];
  int seen = 0;
  for (size_t i = 0; i < p->op_count; i++) {
    if (p->ops[i].kind != SL_OP_NORM) continue;
    const bool dense = p->ops[i].dim[0] == padded(&f, 0) / PAIR;
    assert_int_equal(p->ops[i].dim[0], dense ? padded(&f, 0) / PAIR : padded(&f, 1) / (WORLD / PAIR));
    assert_true(p->ops[i].scale == (dense ? (double)PAIR / WORLD : 1.0));
    seen |= dense ? 1 : 2;
  }
  assert_int_equal(seen, 3);
  fixture_close(&f);
}

/* Runs of whole buffers that move from rank to rank do so by the place in the group of what they hold. */
static void parts_of_whole_buffers_move_with_the_place_in_their_group(void **state) {
  (void)state;
  struct fixture f;
  open_job(&f, "\"stage\": 1", ", \"shard_size\": 2", &alternate);
  const struct sl_program *p = &f.job.classes[0].programs[SL_PROGRAM_STEP];
  int seen[SL_GROUP_COUNT] = {0};
  for (size_t i = 0; i < p->op_count; i++) {
    for (int k = 0; k < p->ops[i].slice_count; k++) {
      const struct sl_slice *s = &sl_op_slices(p, &p->ops[i])[k];
      if (s->shard_stride == 0) continue;
      const int64_t element = sl_dtype_bytes(f.job.classes[0].buffers[s->buffer].dtype);
      const bool dense = s->offset < padded(&f, 0) * element;
      assert_int_equal(p->ops[i].place_group, dense ? SL_GROUP_SHARD : SL_GROUP_REPLICATE);
      assert_int_equal(s->shard_stride * (dense ? PAIR : WORLD / PAIR), padded(&f, !dense) * element);
      seen[p->ops[i].place_group]++;
    }
  }
  assert_in_range(seen[SL_GROUP_SHARD], 4, 9); /* reduced, squared, summed, updated, gathered */
  assert_int_equal(seen[SL_GROUP_REPLICATE], seen[SL_GROUP_SHARD] - 1);
  fixture_close(&f);
}

/* The ranks that split a tensor's master weights hold all of it, once. */
static void pieces_are_found_by_the_place_in_their_group(void **state) {
  (void)state;
  struct fixture f;
  open_job(&f, "\"stage\": 2", ", \"shard_size\": 2", &alternate);
  for (int i = 0; i < f.plan.pp_ranks[0].tensor_count; i++) {
    const struct sl_placed *t = &f.plan.pp_ranks[0].tensors[i];
    int64_t found = 0;
    for (int rank = 0; rank < (t->group == 0 ? PAIR : WORLD); rank += t->group == 0 ? 1 : PAIR) {
      const struct sl_located at = sl_job_locate(&f.job, rank, SL_ROLE_MASTER, i);
      if (at.count > 0) assert_int_equal(at.first, found);
      found += at.count;
    }
    assert_int_equal(found, t->numel);
  }
  fixture_close(&f);
}

/* A second group over the ranks of the first changes no byte of a rank's traffic, only the calls. */
static void a_twin_of_the_dense_group_moves_the_same_bytes(void **state) {
  (void)state;
  static const char *const zero[] = {"\"stage\": 0", "\"stage\": 1", "\"stage\": 2",
                                     "\"stage\": 3, \"stage3_param_persistence_threshold\": 0"};
  for (size_t i = 0; i < sizeof zero / sizeof *zero; i++) {
    struct fixture one, two;
    open_job(&one, zero[i], "", NULL);
    open_job(&two, zero[i], "", &one.plan.groups[0]);
    const struct work a = work_of(&one), b = work_of(&two);
    assert_int_equal(padded(&one, 0), padded(&two, 0) + padded(&two, 1));
    assert_memory_equal(a.scattered, b.scattered, sizeof a.scattered);
    assert_memory_equal(a.summed, b.summed, sizeof a.summed);
    assert_int_equal(a.updated, b.updated);
    if (!one.plan.strategy.shard_params) assert_memory_equal(a.gathered, b.gathered, sizeof a.gathered);
    fixture_close(&one);
    fixture_close(&two);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tensors_stand_in_their_group),
      cmocka_unit_test(each_group_is_reduced_gathered_and_updated_over_its_own_ranks),
      cmocka_unit_test(a_group_of_one_rank_is_not_reduced),
      cmocka_unit_test(squares_count_once_over_all_ranks),
      cmocka_unit_test(parts_of_whole_buffers_move_with_the_place_in_their_group),
      cmocka_unit_test(pieces_are_found_by_the_place_in_their_group),
      cmocka_unit_test(a_twin_of_the_dense_group_moves_the_same_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
