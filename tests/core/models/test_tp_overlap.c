/* label: unit
 * tp_comm_overlap: which transfers of a block go in pieces and which in bulk, that a product waits for the piece that
 * it reads and for no later one, that a piece of a sum leaves while the next is made, and what is refused. That losses,
 * gradients, bytes and the arena are right is the equivalence grid's (tests/mpi/grid3d.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/check/rendezvous.h"
#include "tests/support/job_fixture.h"

enum { LAYERS = 3 };

static enum sl_status try_job(struct fixture *f, const char *model, int tp, const char *keys) {
  char path[256], config[512];
  snprintf(path, sizeof path, "%s/tp_overlap.json", SL_BINARY_DIR);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fprintf(file, "%s", model);
  fclose(file);
  snprintf(
      config, sizeof config,
      "{\"train_micro_batch_size_per_gpu\": 1, \"bf16\": {\"enabled\": true}, \"optimizer\": {\"type\": \"AdamW\"}, "
      "\"shardlab\": {\"tp\": %d%s}}",
      tp, keys);
  return fixture_open(f, path, config, "dgx-h100", tp, NULL);
}

#define GPT                                                                                                            \
  "{\"model_type\": \"gpt2\", \"n_layer\": 3, \"n_embd\": 64, \"n_head\": 8, \"vocab_size\": 80, \"n_positions\": 32}"
#define LLAMA                                                                                                          \
  "{\"model_type\": \"llama\", \"num_hidden_layers\": 3, \"hidden_size\": 64, \"num_attention_heads\": 8, "            \
  "\"intermediate_size\": 96, \"vocab_size\": 80, \"max_position_embeddings\": 32}"
#define PARALLEL ", \"seq_len\": 32, \"sequence_parallel\": true"
#define OVERLAP PARALLEL ", \"tp_comm_overlap\": true"

static void open_job(struct fixture *f, const char *model, int tp, const char *keys) {
  if (try_job(f, model, tp, keys) != SL_OK || sl_check(&f->job) != SL_OK) fail_msg("%s: %s", keys, sl_error_message());
}

/* Transfers of the blocks: in pieces and whole, of a phase; and their bytes. */
struct counted {
  int pieces[2], whole[2]; /* gathers, reduce-scatters */
  int products, transfers;
  int products_in_call, transfers_in_call; /* SL_OP_IN_CALL */
  int64_t elements;
};

static struct counted count(const char *model, int tp, const char *keys, enum sl_phase phase) {
  struct fixture f;
  struct counted n = {0};
  open_job(&f, model, tp, keys);
  const struct sl_program *p = fixture_step(&f);
  for (size_t i = 0; i < p->op_count; i++) {
    const struct sl_op *op = &p->ops[i];
    if (op->layer < 0 || op->layer >= LAYERS || op->phase != phase) continue;
    const int sum = op->kind == SL_OP_REDUCE_SCATTER;
    n.products += op->kind == SL_OP_GEMM;
    n.products_in_call += op->kind == SL_OP_GEMM && op->flags & SL_OP_IN_CALL;
    if (op->group != SL_GROUP_TP || (!sum && op->kind != SL_OP_ALL_GATHER)) continue;
    n.transfers++;
    n.transfers_in_call += !!(op->flags & SL_OP_IN_CALL);
    n.elements += op->dim[0];
    (op->flags & SL_OP_SHARE_RANGE ? n.pieces : n.whole)[sum]++;
  }
  fixture_close(&f);
  return n;
}

/* Forward: the inputs of qkv and fc1, the sums of proj and fc2, each in pieces. Backward: the gradients that come to
 * proj and fc2 in pieces; the inputs of qkv and fc1, and the sums of their gradients, in bulk. */
static void blocks_are_cut_as_userbuffers_cut_them(void **state) {
  (void)state;
  static const struct { int tp, pieces; } cases[] = {{2, 2}, {4, 2}, {8, 4}};
  for (int i = 0; i < 3; i++) {
    const int tp = cases[i].tp, pieces = cases[i].pieces;
    const struct counted fwd = count(GPT, tp, OVERLAP, SL_PHASE_FORWARD),
                         bwd = count(GPT, tp, OVERLAP, SL_PHASE_BACKWARD);
    for (int sum = 0; sum < 2; sum++) {
      assert_int_equal(fwd.pieces[sum], 2 * pieces * LAYERS);
      assert_int_equal(fwd.whole[sum], 0);
      assert_int_equal(bwd.pieces[sum], sum ? 0 : 2 * pieces * LAYERS);
      assert_int_equal(bwd.whole[sum], 2 * LAYERS);
    }
    assert_int_equal(fwd.products, 4 * pieces * LAYERS);
    assert_int_equal(bwd.products, (6 + 2 * pieces) * LAYERS); /* the dgrads of proj and fc2 */
    assert_int_equal(fwd.elements, count(GPT, tp, PARALLEL, SL_PHASE_FORWARD).elements);
    assert_int_equal(bwd.elements, count(GPT, tp, PARALLEL, SL_PHASE_BACKWARD).elements);
  }
  /* q, k and v, and gate and up, which are one product to Transformer Engine, are cut alike */
  assert_int_equal(count(LLAMA, 8, OVERLAP, SL_PHASE_FORWARD).products, 7 * 4 * LAYERS);
}

/* The host calls a module for the first piece of a product. C++ launches the others, and the transfers; without
 * userbuffers each transfer is a call of its own. */
static void a_product_in_pieces_is_called_once(void **state) {
  (void)state;
  for (int phase = SL_PHASE_FORWARD; phase <= SL_PHASE_BACKWARD; phase++) {
    const struct counted cut = count(GPT, 8, OVERLAP, (enum sl_phase)phase),
                         whole = count(GPT, 8, PARALLEL, (enum sl_phase)phase);
    assert_int_equal(cut.products - cut.products_in_call, whole.products);
    assert_int_equal(cut.transfers_in_call, cut.transfers);
    assert_int_equal(whole.products_in_call + whole.transfers_in_call, 0);
  }
}

/* How many ops of `lane` an issue waits for; 0: it does not. */
static uint32_t waits_for(const struct sl_program *p, const struct sl_issue *e, enum sl_lane lane) {
  for (unsigned w = 0; w < e->wait_count; w++)
    if (p->waits[e->wait + w].lane == lane) return p->waits[e->wait + w].count;
  return 0;
}

/* Of layer 1's forward: issues of its gathers, products and sums, in program order. */
static int issues_of(const struct sl_program *p, enum sl_op_kind kind, const struct sl_issue **out) {
  int n = 0;
  for (size_t i = 0; i < p->issue_count; i++) {
    const struct sl_op *op = &p->ops[p->issues[i].op];
    if (op->kind == kind && op->layer == 1 && op->phase == SL_PHASE_FORWARD) out[n++] = &p->issues[i];
  }
  return n;
}

static void pieces_run_beside_products(void **state) {
  (void)state;
  enum { PIECES = 4 };
  struct fixture f;
  const struct sl_issue *gather[64], *product[64], *sum[64];
  open_job(&f, GPT, 8, OVERLAP);
  const struct sl_program *p = fixture_step(&f);
  assert_int_equal(issues_of(p, SL_OP_ALL_GATHER, gather), 2 * PIECES);
  assert_int_equal(issues_of(p, SL_OP_GEMM, product), 4 * PIECES);
  assert_int_equal(issues_of(p, SL_OP_REDUCE_SCATTER, sum), 2 * PIECES);
  for (int i = 0; i < PIECES; i++) {
    const struct sl_op *moved = &p->ops[gather[i]->op];
    assert_int_equal(moved->dim[1], i * moved->dim[0]); /* two members' rows of the 32 */
    assert_int_equal(moved->dim[0], 2 * moved->dim[3]);
    assert_int_equal(waits_for(p, product[i], SL_LANE_TP),
                     gather[i]->lane_index + 1);                              /* its own piece, and that alone */
    if (i > 0) assert_int_equal(waits_for(p, gather[i], SL_LANE_COMPUTE), 0); /* on the way since the first one was */
    /* proj: behind its piece of the product, which waits for no sum of an earlier one */
    assert_int_equal(waits_for(p, sum[i], SL_LANE_COMPUTE), product[PIECES + i]->lane_index + 1);
    assert_int_equal(waits_for(p, product[PIECES + i], SL_LANE_TP), 0);
  }
  fixture_close(&f);
}

static void what_cannot_be_is_refused(void **state) {
  (void)state;
  static const struct {
    int tp;
    const char *model, *keys, *says;
  } cases[] = {
      {2, GPT, ", \"tp_comm_overlap\": true",
       "shardlab.tp_comm_overlap: Tensor parallel communication/GEMM overlap can happen only when sequence parallelism "
       "is "
       "enabled; tp 2, sequence_parallel false"},
      {1, GPT, OVERLAP, "only when sequence parallelism is enabled; tp 1, sequence_parallel false"},
      {2, "{\"model_type\": \"mlp\", \"dims\": [8, 16, 16, 8]}",
       ", \"sequence_parallel\": true, \"tp_comm_overlap\": true", "which model_type mlp does not read"},
      {2, LLAMA, OVERLAP ", \"kernels\": \"torch-compile\"", "expected async_tp in its place"},
      {2, GPT, OVERLAP ", \"preset\": \"nanotron\"", "the framework has no such setting: Megatron-LM's userbuffers"},
      {2, GPT, OVERLAP ", \"preset\": \"megatron-local-ddp\"", "userbuffers are of 2023"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fixture f;
    if (try_job(&f, cases[i].model, cases[i].tp, cases[i].keys) == SL_OK) fail_msg("%s", cases[i].keys);
    if (strstr(sl_error_message(), cases[i].says) == NULL) fail_msg("%s", sl_error_message());
    fixture_close(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_are_cut_as_userbuffers_cut_them),
      cmocka_unit_test(a_product_in_pieces_is_called_once),
      cmocka_unit_test(pieces_run_beside_products),
      cmocka_unit_test(what_cannot_be_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
