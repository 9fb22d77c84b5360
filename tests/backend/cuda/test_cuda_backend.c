/* The cuda backend's own code, run where no GPU is: on stand-ins for CUDA, cuBLASLt and NCCL (stand_in.h) and the
 * emulated kernels. One to five ranks train from PyTorch's start with every ZeRO stage and on pipelines, each run in
 * another order of streams, and get PyTorch's losses; products with an epilogue train as those without do; one rank of
 * four runs alone. (How jobs end that cannot go on: test_cuda_ends.c.) */
#include "tests/backend/cuda/trained.h"

#include <dirent.h>
#include <math.h>

static void run_well(const struct one *c) {
  int codes[RANKS];
  run_all(c, codes);
  for (int rank = 0; rank < c->world; rank++)
    if (codes[rank] != 0)
      fail_msg("%s zero %d tp %d pp %d: rank %d: %d\n%s", c->folder, c->stage, c->tp, c->pp, rank, codes[rank], err);
}

static void equals_pytorch(const struct one *c) {
  char key[64];
  run_well(c);
  snprintf(key, sizeof key, "%s_f64", c->run);
  json_t *golden = load(c->folder, "losses.json");
  const json_t *losses = json_object_get(golden, key),
               *norms = json_object_get(json_object_get(golden, "grad_norms"), key);
  for (int rank = 0; rank < c->world; rank++) {
    const struct told *t = &told[rank];
    for (size_t i = 0; i < STEPS; i++) {
      const double loss = json_number_value(json_array_get(losses, i)),
                   norm = json_number_value(json_array_get(norms, i));
      if (!(fabs(t->losses[i] / loss - 1) <= 1e-5) || !(fabs(t->norms[i] / norm - 1) <= 1e-4))
        fail_msg("%s %s, world %d, zero %d, tp %d, pp %d, rank %d, step %zu: loss %.9g, expected %.9g; norm %.9g, %.9g",
                 c->folder, c->run, c->world, c->stage, c->tp, c->pp, rank, i, t->losses[i], loss, t->norms[i], norm);
    }
    assert_int_equal(t->bad_waits, 0);
    assert_int_equal(t->arena, t->planned);
    assert_int_equal(t->functional, c->world > 1); /* the stand-in has one device */
    if (c->world > 1) assert_true(t->calls > 0 && t->bytes > 0);
  }
  json_decref(golden);
}

static void one_rank_equals_pytorch(void **state) {
  (void)state;
  equals_pytorch(&(struct one){"llama_odd", "sgd", 1, 0, 1, 1, 1, -1, -1, -1, NULL});
  equals_pytorch(&(struct one){"mlp", "adamw_clip", 1, 0, 1, 1, 1, -1, -1, -1, NULL});
}

static void every_zero_stage_equals_pytorch(void **state) {
  (void)state;
  for (int stage = 0; stage <= 3; stage++) {
    if (stage % 3 > 0) equals_pytorch(&(struct one){"gpt2_odd", "adamw_clip", 2, stage, 1, 1, 1, -1, -1, -1, NULL});
    if (stage % 3 == 0) equals_pytorch(&(struct one){"mlp", "sgd_clip", 4, stage, 1, 1, 1, -1, -1, -1, NULL});
  }
}

static void tensor_parallel_ranks_equal_pytorch(void **state) {
  (void)state;
  equals_pytorch(&(struct one){"gpt2_odd", "adamw_clip", 5, 0, 1, 5, 1, -1, -1, -1, NULL});
}

/* In every order of streams that the program's waits allow: gathers and reductions beside backward, messages both
 * ways. */
static void any_order_of_streams_equals_pytorch(void **state) {
  (void)state;
  static const char schedule[] = "{\"schedule\": \"1f1b\"}";
  equals_pytorch(&(struct one){"gpt2_odd", "adamw_clip", 4, 2, 2, 1, 2, -1, -1, -1, schedule});
  for (int round = 0; round < 4; round++)
    equals_pytorch(&(struct one){"mlp", "sgd_clip", 4, 2 + round % 2, 1, 1, 1, -1, -1, -1, NULL});
}

/* Behind each step, and training is what it is without: of GPT-2 on one rank, with ZeRO-3 and on a pipeline. The first
 * batch is that of the first step, whose loss has fallen since. */
static void evaluations_change_nothing(void **state) {
  (void)state;
  static const char own[] = "{\"eval_interval\": 1, \"eval_iters\": 1}";
  double one[STEPS];
  for (int way = 0; way < 3; way++) {
    const int world = way == 0 ? 1 : 2, stage = way == 1 ? 3 : 0, pp = way == 2 ? 2 : 1;
    equals_pytorch(&(struct one){"gpt2_odd", "adamw_clip", world, stage, way == 1 ? 1 : 2, 1, pp, -1, -1, -1, own});
    for (int i = 0; i < STEPS; i++) {
      const double loss = told->evaluated[i];
      if (way == 0) one[i] = loss;
      if (!(fabs(loss / one[i] - 1) <= 1e-5) || !(loss > 1 && loss < told->losses[0]))
        fail_msg("way %d, evaluation %d: %.9g, of one rank %.9g, behind a step of %.9g", way, i, loss, one[i],
                 told->losses[0]);
    }
    assert_true(one[1] < one[0]);
  }
}

/* 61 tokens padded to 64, to 5 x 16, where the last member has none of its own, and to 2 x 40. */
static void a_padded_vocabulary_equals_pytorch(void **state) {
  (void)state;
  static const char by_8[] = "{\"make_vocab_size_divisible_by\": 8}",
                    by_16[] = "{\"make_vocab_size_divisible_by\": 16}",
                    by_40[] = "{\"make_vocab_size_divisible_by\": 40}";
  equals_pytorch(&(struct one){"gpt2_odd", "adamw_clip", 1, 0, 1, 1, 1, -1, -1, -1, by_8});
  equals_pytorch(&(struct one){"gpt2_odd", "adamw_clip", 5, 0, 1, 5, 1, -1, -1, -1, by_16});
  equals_pytorch(&(struct one){"gpt2_odd", "adamw_clip", 2, 3, 1, 1, 1, -1, -1, -1, by_40});
  equals_pytorch(&(struct one){"llama_odd", "sgd", 1, 0, 1, 1, 1, -1, -1, -1, by_8});
}

/* Every product is one in tf32 where that is set, and none where it is not; losses then are near those of fp32, not
 * equal. */
static void tf32_is_what_the_plan_says(void **state) {
  (void)state;
  double losses[STEPS];
  struct one c = {"mlp", "sgd_clip", 1, 0, 1, 1, 1, -1, -1, -1, NULL};
  run_well(&c);
  assert_true(told->products > 0);
  assert_int_equal(told->tf32_products, 0);
  memcpy(losses, told->losses, sizeof losses);
  c.own = "{\"tf32\": true}";
  run_well(&c);
  assert_true(told->products > 0);
  assert_int_equal(told->tf32_products, told->products);
  for (size_t i = 0; i < STEPS; i++) {
    const double off = fabs(told->losses[i] / losses[i] - 1);
    if (!(off > 1e-8 && off < 1e-3)) fail_msg("step %zu: %.9g in tf32, %.9g in fp32", i, told->losses[i], losses[i]);
  }
}

/* Rank 0's losses and norms; `epilogues`: the library has them. */
static struct told trained(const struct one *c, bool epilogues) {
  int codes[RANKS];
  if (!epilogues) setenv("SHARDLAB_STAND_IN_NO_EPILOGUE", "1", 1);
  run_all(c, codes);
  unsetenv("SHARDLAB_STAND_IN_NO_EPILOGUE");
  for (int rank = 0; rank < c->world; rank++) {
    if (codes[rank] != 0) fail_msg("rank %d: %d\n%s", rank, codes[rank], err);
    assert_int_equal(told[rank].arena, told[rank].planned);
    assert_int_equal(told[rank].epilogues, epilogues ? told[rank].fused : 0);
    assert_int_equal(told[rank].fused > 0, beyond.fuse == NULL);
  }
  return told[0];
}

static void near(const struct told *a, const struct told *b, double bound, const char *what) {
  for (int i = 0; i < STEPS; i++)
    if (!(fabs(a->losses[i] / b->losses[i] - 1) <= bound) || !(fabs(a->norms[i] / b->norms[i] - 1) <= bound))
      fail_msg("%s, step %d: loss %.9g and %.9g, norm %.9g and %.9g", what, i, a->losses[i], b->losses[i], a->norms[i],
               b->norms[i]);
}

/* With epilogues, with a library that has none, and from a plan without: the same in fp32. In 16 bits GELU's argument
 * is rounded in the last two alone, which is worth a unit in the last place of single activations. */
static void epilogues_train_as_their_ops_do(void **state) {
  (void)state;
  static const struct {
    const char *precision;
    double bound;
  } types[] = {{NULL, 1e-6}, {"bf16", 4e-3}, {"fp16", 5e-4}};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    for (int world = 1; world <= (i == 0 ? 2 : 1); world++) {
      const struct one c = {"gpt2_odd", "adamw_clip", world, 0, 2, world, 1, -1, -1, -1, NULL};
      beyond.model = SL_SOURCE_DIR "/tests/backend/cuda/gpt2_even.json";
      beyond.precision = types[i].precision;
      const struct told fused = trained(&c, true), apart = trained(&c, false);
      beyond.fuse = "never";
      const struct told plain = trained(&c, true);
      near(&fused, &plain, types[i].bound, types[i].precision ? types[i].precision : "fp32");
      near(&apart, &plain, types[i].precision ? types[i].bound : 1e-7, "a library without epilogues");
      beyond.fuse = NULL;
    }
  }
  memset(&beyond, 0, sizeof beyond);
}

static void remove_folder(const char *folder) {
  DIR *d = opendir(folder);
  for (const struct dirent *e; d && (e = readdir(d)) != NULL;)
    if (e->d_name[0] != '.') unlinkat(dirfd(d), e->d_name, 0);
  if (d) closedir(d);
  assert_int_equal(rmdir(folder), 0);
}

/* A job times its epilogues against kernels of their own and then runs what is faster, as do later ones, which only read
 * what was chosen: bit by bit as with a library that has no epilogues. */
static void an_epilogue_slower_than_a_kernel_is_left_out(void **state) {
  (void)state;
  char folder[] = "/tmp/test_epilogues.XXXXXX";
  const struct one c = {"gpt2_odd", "adamw_clip", 1, 0, 2, 1, 1, -1, -1, -1, NULL};
  beyond.model = SL_SOURCE_DIR "/tests/backend/cuda/gpt2_even.json";
  beyond.precision = "bf16";
  const struct told lacking = trained(&c, false);
  assert_non_null(mkdtemp(folder));
  setenv("SHARDLAB_CACHE", folder, 1);
  for (int later = 0; later < 2; later++) {
    if (!later) setenv("SHARDLAB_STAND_IN_SLOW_EPILOGUE", "1", 1);
    run_well(&c);
    unsetenv("SHARDLAB_STAND_IN_SLOW_EPILOGUE");
    assert_int_equal(told->epilogues > 0, !later);
    assert_memory_equal(told->losses, lacking.losses, sizeof lacking.losses);
    assert_memory_equal(told->norms, lacking.norms, sizeof lacking.norms);
  }
  setenv("SHARDLAB_CACHE", "", 1);
  remove_folder(folder);
  memset(&beyond, 0, sizeof beyond);
}

/* Two ranks with two chunks each of every sequence, whose keys and values they gather, train as one with whole ones. */
static void chunks_of_sequences_train_as_whole_ones(void **state) {
  (void)state;
  beyond.model = SL_SOURCE_DIR "/tests/backend/cuda/gpt2_even.json";
  for (int way = 0; way < 3; way++) {
    struct one c = {"gpt2_odd", "adamw_clip", 1, way == 1 ? 3 : 0, 2, 1, 1, -1, -1, -1, "{\"attention\": \"flash\"}"};
    beyond.precision = way == 2 ? "bf16" : NULL; /* on tensor cores */
    run_well(&c);
    const struct told whole = told[0];
    c.world = 2, c.own = "{\"attention\": \"flash\", \"cp\": 2}";
    run_well(&c);
    near(&told[0], &whole, way == 2 ? 4e-3 : 1e-6, "chunks of sequences");
  }
  memset(&beyond, 0, sizeof beyond);
}

/* NCCL 2.30 and later have another way to put two ranks on one GPU. */
static void a_newer_nccl_shares_a_device(void **state) {
  (void)state;
  setenv("SHARDLAB_STAND_IN_NCCL_VERSION", "23004", 1);
  equals_pytorch(&(struct one){"mlp", "sgd_clip", 2, 1, 1, 1, 1, -1, -1, -1, NULL});
  unsetenv("SHARDLAB_STAND_IN_NCCL_VERSION");
}

static void one_rank_alone_runs_to_its_end(void **state) {
  (void)state;
  int codes[RANKS];
  run_all(&(struct one){"gpt2_odd", "adamw_clip", 4, 1, 2, 1, 2, 3, -1, -1, NULL}, codes);
  if (codes[0] != 0) fail_msg("%d\n%s", codes[0], err);
  assert_int_equal(told[0].calls, 0);
  assert_true(told[0].bytes > 0);
  assert_int_equal(told[0].arena, told[0].planned);
}

/* The first op whose result is not finite is named, once, and a run without one is what it was. The second stage, which
 * only gets that result, has begun later: ranks have one clock. */
static void the_first_number_that_is_not_finite_is_named(void **state) {
  (void)state;
  int codes[RANKS];
  beyond.detects = true;
  equals_pytorch(&(struct one){"gpt2_odd", "adamw_clip", 2, 3, 1, 1, 1, -1, -1, -1, NULL});
  beyond.lr = 1e30;
  beyond.late_from = 2;
  run_all(&(struct one){"gpt2_odd", "adamw_clip", 4, 2, 2, 1, 2, -1, -1, -1, "{\"schedule\": \"1f1b\"}"}, codes);
  memset(&beyond, 0, sizeof beyond);
  for (int rank = 0; rank < 4; rank++) assert_int_equal(codes[rank], 96);
  const char *told_by_one = strstr(err, "step 2, on rank ");
  if (told_by_one == NULL || strstr(told_by_one + 1, "step 2, on rank ") != NULL) fail_msg("%s", err);
  if (strstr(err, "in layer 0, action 0F0: element ") == NULL || strstr(err, "is not finite") == NULL)
    fail_msg("%s", err);
}

int main(void) {
  if (!told_begin()) return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_rank_equals_pytorch),
      cmocka_unit_test(every_zero_stage_equals_pytorch),
      cmocka_unit_test(tensor_parallel_ranks_equal_pytorch),
      cmocka_unit_test(any_order_of_streams_equals_pytorch),
      cmocka_unit_test(evaluations_change_nothing),
      cmocka_unit_test(a_padded_vocabulary_equals_pytorch),
      cmocka_unit_test(tf32_is_what_the_plan_says),
      cmocka_unit_test(epilogues_train_as_their_ops_do),
      cmocka_unit_test(an_epilogue_slower_than_a_kernel_is_left_out),
      cmocka_unit_test(chunks_of_sequences_train_as_whole_ones),
      cmocka_unit_test(a_newer_nccl_shares_a_device),
      cmocka_unit_test(one_rank_alone_runs_to_its_end),
      cmocka_unit_test(the_first_number_that_is_not_finite_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
