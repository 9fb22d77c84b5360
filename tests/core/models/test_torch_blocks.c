/* label: unit
 * Blocks as torch compiles them: the casts of torchao's float8, and of Transformer Engine's, by hand,
 * gathers in 8 bits, transfers in pieces and where they stand, and what recomputation by op, gathers and pipelines
 * keep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/program/memory_report.h"
#include "tests/core/models/small_llama.h"

enum { T = 32, R = B * T };

static void open_job(struct fixture *f, int world, const char *keys) {
  small_llama_open(f, world, T, keys);
}

static int64_t bytes_of_passes(const char *keys) {
  struct fixture f;
  int64_t bytes = 0;
  open_job(&f, 1, keys);
  const struct sl_program *p = fixture_step(&f);
  for (size_t i = 0; i < p->op_count; i++) bytes += p->ops[i].kind == SL_OP_PASS ? p->ops[i].dim[0] : 0;
  fixture_close(&f);
  return bytes;
}

#define COMPILED ", \"kernels\": \"torch-compile\""
#define CORE ", \"kernels\": \"megatron-core\""
#define FOUNDRY ", \"kernels\": \"llm-foundry\""

/* What several products read is cast once, a gradient that is added to is cast anew, and the head is not. */
static void casts_are_those_of_torchao(void **state) {
  (void)state;
  const int64_t plain = bytes_of_passes(COMPILED);
  const int64_t inputs = 3 * C + INNER, gradients = 3 * C + 2 * KVS + 2 * INNER; /* of a row */
  const int64_t tensorwise = R * (3 * inputs + 2 * C) + 5 * WEIGHTS + R * (8 * gradients + 3 * inputs) + 2 * WEIGHTS;
  const int64_t scaled = R * (6 * C + INNER) + WEIGHTS;
  const int64_t rowwise = R * 3 * inputs + 3 * WEIGHTS + R * (13 * gradients + 10 * inputs) + 10 * WEIGHTS + 4 * scaled;
  assert_int_equal(bytes_of_passes(COMPILED ", \"fp8\": true"), plain + LAYERS * tensorwise);
  assert_int_equal(bytes_of_passes(COMPILED ", \"fp8\": true, \"fp8_recipe\": \"rowwise\""), plain + LAYERS * rowwise);
  const int64_t eager = bytes_of_passes(", \"kernels\": \"torch-eager\"");
  assert_int_equal(bytes_of_passes(", \"kernels\": \"torch-eager\", \"fp8\": true"), eager);
}

/* Transformer Engine casts inputs, weights and gradients of outputs, each once, into both layouts. */
static void casts_are_those_of_transformer_engine(void **state) {
  (void)state;
  const int64_t plain = bytes_of_passes(FOUNDRY);
  const int64_t cast = R * (3 * C + INNER) + WEIGHTS + R * (3 * C + 2 * KVS + 2 * INNER);
  assert_int_equal(bytes_of_passes(FOUNDRY ", \"fp8\": true"), plain + LAYERS * 4 * cast);
  assert_int_equal(bytes_of_passes(FOUNDRY ", \"fp8\": true, \"fp8_recipe\": \"rowwise\""), plain + LAYERS * 4 * cast);
}

/* Megatron-LM's casts of weights are those of a step's first micro-batch, and not counted. */
static void megatron_casts_weights_once(void **state) {
  (void)state;
  const int64_t cast = R * (3 * C + INNER) + R * (3 * C + 2 * KVS + 2 * INNER);
  assert_int_equal(bytes_of_passes(CORE ", \"fp8\": true"), bytes_of_passes(CORE) + LAYERS * 4 * cast);
}

/* C++ launches Transformer Engine's casts within the calls of its modules, and so they cost the host pieces; torchao's
 * are kernels like others. */
static void casts_within_a_call_are_pieces(void **state) {
  (void)state;
  static const char *const sets[] = {COMPILED, FOUNDRY, CORE};
  for (int s = 0; s < 3; s++) {
    int64_t launches = 0, pieces = 0;
    for (int fp8 = 0; fp8 <= 1; fp8++) { /* with casts, less those without */
      struct fixture f;
      char keys[128];
      snprintf(keys, sizeof keys, "%s, \"fp8\": %s", sets[s], fp8 ? "true" : "false");
      open_job(&f, 1, keys);
      const struct sl_program *p = fixture_step(&f);
      for (size_t i = 0; i < p->op_count; i++) {
        if (p->ops[i].kind != SL_OP_PASS || p->ops[i].layer < 0 || p->ops[i].layer >= LAYERS) continue;
        launches += (fp8 ? 1 : -1) * p->ops[i].dim[1], pieces += (fp8 ? 1 : -1) * p->ops[i].dim[2];
      }
      fixture_close(&f);
    }
    assert_true(launches > 0);
    assert_int_equal(pieces, s == 0 ? 0 : launches);
  }
}

static void the_head_is_no_product_in_fp8(void **state) {
  (void)state;
  static const char *const sets[] = {COMPILED ", \"fp8\": true", FOUNDRY ", \"fp8\": true", CORE ", \"fp8\": true"};
  for (int s = 0; s < 3; s++) {
    struct fixture f;
    open_job(&f, 1, sets[s]);
    const struct sl_program *p = fixture_step(&f);
    for (size_t i = 0; i < p->op_count; i++) {
      if (p->ops[i].kind != SL_OP_GEMM) continue;
      assert_int_equal(p->ops[i].dtype, p->ops[i].layer < LAYERS ? SL_F8 : SL_BF16);
    }
    fixture_close(&f);
  }
}

/* Beside an update of all parameters, torch's foreach AdamW moves 50 bytes of each in twelve kernels more; the fused
 * one does not. */
static void adamw_by_foreach(void **state) {
  (void)state;
  static const char *const sets[] = {"torch-compile-blocks", "torch-compile"};
  for (int i = 0; i < 2; i++) {
    struct fixture f;
    char keys[64];
    int64_t bytes = 0, launches = 0;
    snprintf(keys, sizeof keys, ", \"preset\": \"ddp\", \"kernels\": \"%s\"", sets[i]);
    open_job(&f, 1, keys);
    const struct sl_program *p = fixture_step(&f);
    for (size_t k = 0; k < p->op_count; k++) {
      if (p->ops[k].kind != SL_OP_PASS || p->ops[k].phase != SL_PHASE_STEP) continue;
      bytes += p->ops[k].dim[0], launches += p->ops[k].dim[1];
    }
    assert_int_equal(bytes, i == 0 ? 52 * f.plan.pp_ranks[0].padded : 0);
    assert_int_equal(launches, i == 0 ? 12 : 0);
    fixture_close(&f);
  }
}

/* FSDP2 copies what it has gathered, once before it is used: 4 bytes of an element, of the block 2 in fp8. */
static void gathered_blocks_are_copied(void **state) {
  (void)state;
  for (int fp8 = 0; fp8 < 2; fp8++) {
    struct fixture f;
    int64_t copied = 0, expected = 0;
    open_job(&f, 4, fp8 ? COMPILED ", \"preset\": \"fsdp2\", \"fp8\": true" : COMPILED ", \"preset\": \"fsdp2\"");
    const struct sl_program *p = fixture_step(&f);
    const struct sl_pp_rank *r = &f.plan.pp_ranks[0];
    for (int u = 0; u < r->unit_count; u++) expected += r->units[u].part * 4 * (u == 0 ? 4 : 2 * (fp8 ? 2 : 4));
    for (size_t k = 0; k < p->op_count; k++)
      if (p->ops[k].kind == SL_OP_PASS && p->ops[k].tensor < 0 && p->ops[k].layer < 0) copied += p->ops[k].dim[0];
    assert_int_equal(copied, expected);
    fixture_close(&f);
  }
}

#define PARALLEL ", \"tp\": 2, \"sequence_parallel\": true"

struct counted {
  int gathers, bytes_gathers, scatters, products;
};

static struct counted count(const char *keys) {
  struct fixture f;
  struct counted n = {0};
  open_job(&f, 2, keys);
  const struct sl_program *p = fixture_step(&f);
  for (size_t i = 0; i < p->op_count; i++) {
    const struct sl_op *op = &p->ops[i];
    if (op->layer < 0 || op->layer >= LAYERS) continue;
    n.gathers += op->kind == SL_OP_ALL_GATHER;
    n.bytes_gathers += op->kind == SL_OP_ALL_GATHER && op->dtype == SL_U8;
    n.scatters += op->kind == SL_OP_REDUCE_SCATTER;
    n.products += op->kind == SL_OP_GEMM;
  }
  fixture_close(&f);
  return n;
}

/* Four gathers of a block (two inputs, two gradients) and as many reduce-scatters, of which two are of sums of
 * products. */
static void transfers_go_in_pieces(void **state) {
  (void)state;
  const struct counted whole = count(COMPILED PARALLEL), pieces = count(COMPILED PARALLEL ", \"async_tp\": true");
  assert_int_equal(whole.gathers, 4 * LAYERS);
  assert_int_equal(whole.scatters, 4 * LAYERS);
  assert_int_equal(whole.products, 21 * LAYERS);
  assert_int_equal(pieces.gathers, 8 * LAYERS);
  assert_int_equal(pieces.scatters, 6 * LAYERS);
  assert_int_equal(pieces.products, 27 * LAYERS); /* the first behind a gather, and those before a reduce-scatter */
}

/* Copies of activations that tensor parallelism gathered or will scatter, and how many of them are of bytes. */
static void rearranged(const char *keys, int *blocks, int *bytes, int *ends) {
  struct fixture f;
  *blocks = *bytes = *ends = 0;
  open_job(&f, 2, keys);
  const struct sl_program *p = fixture_step(&f);
  for (size_t i = 0; i < p->op_count; i++) {
    const struct sl_op *op = &p->ops[i];
    const uint32_t between = SL_OP_KEEPS | SL_OP_READS_KEPT;
    if (op->kind != SL_OP_PASS || (op->flags & between) != between) continue;
    const bool in_block = op->layer >= 0 && op->layer < LAYERS, of_bytes = op->dim[0] == 2 * R * C;
    assert_true(of_bytes || op->dim[0] == 4 * R * C);
    *blocks += in_block, *ends += !in_block, *bytes += of_bytes;
  }
  fixture_close(&f);
}

/* DTensor divides tokens along dimension 1: a block copies what its four gathers bring and what its four
 * reduce-scatters send, and the embedding and the head each the one and the other. Transfers in pieces copy nothing; of a
 * block these are all but the sums of several products, and a gather that only the gradient of a weight follows. */
static void gathered_tokens_are_put_in_order(void **state) {
  (void)state;
  static const struct {
    const char *keys;
    int blocks, bytes, ends;
  } cases[] = {{COMPILED PARALLEL, 8, 0, 4},
               {", \"kernels\": \"torch-eager\"" PARALLEL, 8, 0, 4},
               {COMPILED PARALLEL ", \"fp8\": true", 8, 4, 4},
               {COMPILED PARALLEL ", \"async_tp\": true", 2, 0, 4},
               {COMPILED PARALLEL ", \"fp8\": true, \"fp8_recipe\": \"rowwise\", \"async_tp\": true", 6, 0, 4},
               {", \"kernels\": \"megatron-fused\"" PARALLEL, 0, 0, 0},
               {COMPILED ", \"tp\": 2", 0, 0, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int blocks, bytes, ends;
    rearranged(cases[i].keys, &blocks, &bytes, &ends);
    assert_int_equal(blocks, cases[i].blocks * LAYERS);
    assert_int_equal(bytes, cases[i].bytes * LAYERS);
    assert_int_equal(ends, cases[i].ends);
  }
}

static void a_scale_a_tensor_is_gathered_in_bytes(void **state) {
  (void)state;
  const struct counted n = count(COMPILED PARALLEL ", \"fp8\": true");
  assert_int_equal(n.gathers, 4 * LAYERS);
  assert_int_equal(n.bytes_gathers, 4 * LAYERS);
  const struct counted row =
      count(COMPILED PARALLEL ", \"fp8\": true, \"async_tp\": true, \"fp8_recipe\": \"rowwise\"");
  assert_int_equal(row.bytes_gathers, 0);
  assert_int_equal(row.gathers, 4 * LAYERS); /* whole: only reduce-scatters are cut */
  assert_int_equal(row.scatters, 6 * LAYERS);
}

/* So is the input of a product that no norm precedes: in OLMo 2 that of the first block is the embedding's output, which
 * is no block's. */
static void what_the_embedding_gives_is_gathered_in_bytes(void **state) {
  (void)state;
  struct fixture f;
  if (fixture_open(&f, SL_SOURCE_DIR "/tests/golden/families/olmo2/config.json",
                   "{\"train_micro_batch_size_per_gpu\": 1, \"bf16\": {\"enabled\": true}, \"optimizer\": {\"type\": "
                   "\"AdamW\"}, \"shardlab\": {\"seq_len\": 8, \"fp8\": true" COMPILED PARALLEL "}}",
                   "dgx-h100", 2, NULL) != SL_OK ||
      sl_check(&f.job) != SL_OK)
    fail_msg("%s", sl_error_message());
  const struct sl_class *c = &f.job.classes[0];
  int kept = 0;
  for (size_t i = 0; i < c->buffer_count; i++) {
    if (strcmp(c->buffers[i].name, "h.0.gathered.kept") != 0) continue;
    assert_int_equal(c->buffers[i].dtype, SL_U8);
    kept++;
  }
  assert_true(kept > 0);
  fixture_close(&f);
}

/* FSDP2 gathers a block in 8 bits where torchao has one scale for a weight, and the root as it is. */
static void blocks_are_gathered_in_fp8(void **state) {
  (void)state;
  static const char *const recipes[] = {"tensorwise", "rowwise"};
  for (int i = 0; i < 2; i++) {
    struct fixture f;
    char keys[160];
    int root = 0, blocks = 0;
    snprintf(keys, sizeof keys, COMPILED ", \"preset\": \"fsdp2\", \"fp8\": true, \"fp8_recipe\": \"%s\"", recipes[i]);
    open_job(&f, 4, keys);
    const struct sl_program *p = fixture_step(&f);
    for (size_t k = 0; k < p->op_count; k++) {
      if (p->ops[k].kind != SL_OP_ALL_GATHER) continue;
      root += p->ops[k].dtype == SL_BF16;
      blocks += p->ops[k].dtype == SL_F8;
    }
    assert_int_equal(blocks, i == 0 ? 2 * LAYERS : 0);
    assert_int_equal(root, i == 0 ? 1 : 2 * LAYERS + 1);
    fixture_close(&f);
  }
}

/* FSDP2's flat buffers, in which the two largest neighbours lie when both are on their way, here two blocks, and this
 * rank's part of the largest as it is cast; what only context parallelism shards is gathered in 16 bits. */
static void two_neighbours_are_gathered_flat(void **state) {
  (void)state;
  enum { BLOCK = WEIGHTS + 2 * C };
  static const struct {
    const char *keys;
    int64_t bytes;
  } cases[] = {{COMPILED ", \"preset\": \"fsdp2\"", 4 * BLOCK + 2 * BLOCK / 4},
               {COMPILED ", \"preset\": \"fsdp2\", \"fp8\": true", 2 * BLOCK + BLOCK / 4},
               {COMPILED ", \"preset\": \"fsdp2\", \"fp8\": true, \"cp\": 4", 4 * BLOCK + 2 * BLOCK / 4},
               {COMPILED ", \"preset\": \"fsdp2\", \"fp8\": true, \"cp\": 2", 2 * BLOCK + BLOCK / 4},
               {COMPILED ", \"preset\": \"fsdp\"", 0},
               {", \"preset\": \"fsdp2\"", 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fixture f;
    open_job(&f, 4, cases[i].keys);
    assert_int_equal(fixture_bytes_named(&f.job.classes[0], "gather.flat"), cases[i].bytes);
    fixture_close(&f);
  }
}

/* torch's pipelines keep a message in, one out, and the gradients of both for each micro-batch, and its logits. */
static void messages_are_kept(void **state) {
  (void)state;
  enum { RANKS = 3, MICRO = 5, MESSAGE = R * C * 2 };
  static const char *const sets[] = {COMPILED, ""};
  for (int s = 0; s < 2; s++) {
    struct fixture f;
    char keys[160];
    snprintf(keys, sizeof keys, "%s, \"preset\": \"fsdp2\", \"pp\": %d}, \"gradient_accumulation_steps\": %d, \"x\": {",
             sets[s], RANKS, MICRO);
    open_job(&f, 2 * RANKS, keys);
    for (int r = 0; r < RANKS; r++) {
      const struct sl_class *c = &f.job.classes[r];
      int64_t in_slots = 0;
      for (size_t i = 0; i < c->buffer_count; i++)
        if (strcmp(c->buffers[i].name, "stream") == 0 || strcmp(c->buffers[i].name, "dx") == 0)
          in_slots += c->buffers[i].slots * c->buffers[i].bytes;
      const int64_t all = MICRO * MESSAGE * (r == 0 || r == RANKS - 1 ? 2 : 4);
      assert_true(in_slots > 0 && in_slots < all);
      assert_int_equal(fixture_bytes_named(c, "messages.kept"), s == 0 ? all - in_slots : 0);
      assert_int_equal(fixture_bytes_named(c, "logits.kept"), s == 0 && r == RANKS - 1 ? (MICRO - 1) * R * V * 2 : 0);
    }
    fixture_close(&f);
  }
}

/* Every transfer of tensor parallelism is waited for where it stands, and the sum of inputs' gradients comes behind the
 * weights'. */
static void transfers_are_waited_for(void **state) {
  (void)state;
  struct fixture f;
  int scatters = 0;
  open_job(&f, 2, COMPILED PARALLEL);
  const struct sl_program *p = fixture_step(&f);
  for (size_t i = 1; i < p->op_count; i++) {
    const struct sl_op *op = &p->ops[i];
    if (op->group != SL_GROUP_TP || op->layer < 0 || op->layer >= LAYERS) continue;
    assert_true(op->flags & SL_OP_BLOCKING);
    if (op->kind != SL_OP_REDUCE_SCATTER || op->phase != SL_PHASE_BACKWARD) continue;
    while (p->ops[--i].kind != SL_OP_GEMM)
      ;
    assert_true(p->ops[i].flags & SL_OP_TRANS_A);
    i = (size_t)(op - p->ops);
    scatters++;
  }
  assert_int_equal(scatters, 2 * LAYERS);
  fixture_close(&f);
}

static double kept(const char *kernels) {
  struct fixture f;
  char keys[128];
  snprintf(keys, sizeof keys, ", \"recompute\": \"selective_op\", \"kernels\": \"%s\"", kernels);
  open_job(&f, 1, keys);
  double bytes = 0;
  const struct sl_class *c = &f.job.classes[0];
  for (size_t i = 0; i < c->buffer_count; i++)
    if (strstr(c->buffers[i].name, "mlp.out") != NULL) bytes += (double)c->buffers[i].bytes;
  fixture_close(&f);
  return bytes;
}

/* A policy that chose the block's last product keeps it, eager; the compiler sees that nothing reads it. */
static void eager_keeps_what_it_chose(void **state) {
  (void)state;
  assert_true(kept("torch-eager") == LAYERS * 2.0 * R * C);
  assert_true(kept("torch-compile-blocks") == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(casts_are_those_of_torchao),
      cmocka_unit_test(casts_within_a_call_are_pieces),
      cmocka_unit_test(casts_are_those_of_transformer_engine),
      cmocka_unit_test(megatron_casts_weights_once),
      cmocka_unit_test(the_head_is_no_product_in_fp8),
      cmocka_unit_test(transfers_go_in_pieces),
      cmocka_unit_test(gathered_tokens_are_put_in_order),
      cmocka_unit_test(a_scale_a_tensor_is_gathered_in_bytes),
      cmocka_unit_test(what_the_embedding_gives_is_gathered_in_bytes),
      cmocka_unit_test(blocks_are_gathered_in_fp8),
      cmocka_unit_test(adamw_by_foreach),
      cmocka_unit_test(gathered_blocks_are_copied),
      cmocka_unit_test(two_neighbours_are_gathered_flat),
      cmocka_unit_test(messages_are_kept),
      cmocka_unit_test(transfers_are_waited_for),
      cmocka_unit_test(eager_keeps_what_it_chose),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
