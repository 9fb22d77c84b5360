/* label: unit
 * A vocabulary padded by make_vocab_size_divisible_by: its size is Megatron-LM's, every row of the model stands in one
 * place, and nothing but the tensors of the vocabulary and what is made with them changes. And one that tensor
 * parallelism does not cut, as in DeepSpeed's AutoTP and transformers: states and traffic. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/check/rendezvous.h"
#include "core/plan/cut.h"
#include "tests/support/job_fixture.h"

#include <stdlib.h>

#define GPT2_ODD SL_SOURCE_DIR "/tests/golden/gpt2_odd/config.json"

static void open_job(struct fixture *f, const char *model, int tp, int multiple) {
  char config[256];
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 1, \"optimizer\": {\"type\": \"AdamW\"}, "
           "\"shardlab\": {\"tp\": %d, \"seq_len\": 5, \"make_vocab_size_divisible_by\": %d}}",
           tp, multiple);
  if (fixture_open(f, model, config, "localhost", tp, NULL) != SL_OK) fail_msg("%s: %s", config, sl_error_message());
}

/* Megatron-LM, vocab_size_with_padding. */
static int64_t megatrons(int64_t size, int64_t multiple, int64_t tp) {
  while (size % (multiple * tp) != 0) size++;
  return size;
}

static void sizes_are_megatrons(void **state) {
  (void)state;
  static const struct {
    const char *model;
    int tp, multiple;
  } cases[] = {{"gpt2", 1, 128}, {"gpt2", 4, 128},  {"gpt2", 3, 64},
               {"gpt2", 4, 1},   {GPT2_ODD, 5, 16}, {GPT2_ODD, 1, 61}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fixture f;
    open_job(&f, cases[i].model, cases[i].tp, cases[i].multiple);
    const struct sl_tensor *wte = &f.model.tensors[0], *block = &f.model.tensors[4];
    const int64_t rows = sl_cut_local_size(&f.plan, wte, 0);
    assert_true(wte->vocabulary && !block->vocabulary);
    assert_int_equal(rows * cases[i].tp, megatrons(f.model.vocab_size, cases[i].multiple, cases[i].tp));
    assert_int_equal(f.plan.pp_ranks[0].tensors[0].numel, rows * f.model.n_embd);
    assert_int_equal(sl_cut_local_size(&f.plan, block, 1) * cases[i].tp, block->shape[1]);
    fixture_close(&f);
  }
}

/* 61 rows over five members of 16: the last of them has padding alone. */
static void every_row_stands_in_one_place(void **state) {
  (void)state;
  enum { MAX_WIDTH = 64 };
  for (int tp = 1; tp <= 5; tp += 4) {
    struct fixture f;
    bool seen[61 * MAX_WIDTH] = {false};
    int64_t padding = 0;
    open_job(&f, GPT2_ODD, tp, 16);
    const struct sl_tensor *wte = &f.model.tensors[0];
    const int64_t numel = f.plan.pp_ranks[0].tensors[0].numel;
    assert_true(wte->shape[1] <= MAX_WIDTH);
    for (int place = 0; place < tp; place++) {
      for (int64_t at = 0; at < numel;) {
        const struct sl_run_of run = sl_plan_logical_run(&f.plan, wte, place, at, numel);
        assert_true(run.local == at && run.count > 0 && at + run.count <= numel);
        for (int64_t k = 0; k < run.count && run.logical >= 0; k++) {
          assert_true(run.logical + k < wte->numel && !seen[run.logical + k]);
          seen[run.logical + k] = true;
        }
        if (run.logical < 0) padding += run.count;
        at += run.count;
      }
    }
    assert_int_equal(padding, tp * numel - wte->numel);
    for (int64_t i = 0; i < wte->numel; i++) assert_true(seen[i]);
    fixture_close(&f);
  }
}

/* The head's products are of the padded size, the softmax knows the model's. */
static void the_softmax_knows_the_models_size(void **state) {
  (void)state;
  struct fixture f;
  int products = 0, losses = 0;
  open_job(&f, GPT2_ODD, 1, 16);
  const struct sl_program *p = &f.job.classes[0].programs[SL_PROGRAM_STEP];
  for (size_t i = 0; i < p->op_count; i++) {
    const struct sl_op *op = &p->ops[i];
    for (int d = 0; d < 3 && op->kind == SL_OP_GEMM; d++) {
      assert_true(op->dim[d] != 61);
      products += op->dim[d] == 64;
    }
    if (op->kind != SL_OP_CLASSIFIER) continue;
    assert_int_equal(op->dim[1], 64);
    assert_int_equal(op->dim[2], 61);
    losses++;
  }
  assert_int_equal(products, 3); /* forward, gradient of its input, gradient of the table */
  assert_int_equal(losses, 1);
  assert_int_equal(sl_model_numel(&f.model), f.plan.pp_ranks[0].numel - 3 * f.model.n_embd);
  fixture_close(&f);
}

/* ---- ends that are not cut ---- */

#define LLAMA SL_SOURCE_DIR "/tests/mpi/grid_llama.json"
#define TIED SL_SOURCE_DIR "/tests/golden/families/gemma/config.json"
#define FAMILY(name) SL_SOURCE_DIR "/tests/golden/families/" name "/config.json"
enum { TP = 2 };
enum ends { CUT, GATHERED, TIED_GATHERED, WHOLE };

static enum sl_status open_ends(struct fixture *f, const char *model, const char *before, const char *own) {
  char config[512];
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 1, \"optimizer\": {\"type\": \"AdamW\"}, %s \"shardlab\": "
           "{\"seq_len\": 8%s}}",
           before, own);
  return fixture_open(f, model, config, "localhost", TP, NULL);
}

/* Elements of activations in calls over the tp group that are of this kind. */
static int64_t moved(const struct fixture *f, enum sl_op_kind kind) {
  const struct sl_program *p = fixture_step(f);
  int64_t sum = 0;
  for (size_t i = 0; i < p->op_count; i++)
    if (p->ops[i].kind == kind && p->ops[i].group == SL_GROUP_TP && p->ops[i].payload == SL_PAYLOAD_ACTIVATION)
      sum += p->ops[i].dim[0];
  return sum;
}

/* Of a buffer of the head's section. */
static int64_t bytes_of(const struct fixture *f, const char *name) {
  char full[64];
  snprintf(full, sizeof full, "h.%lld.%s", (long long)f->model.n_layer, name);
  return fixture_bytes_named(&f->job.classes[0], full);
}

/* The rows of the two tables on a rank, what is sent, and the logits, all from the model's sizes: two sums a block each
 * way; one more of the looked-up rows where those are cut, and one of the input's gradient where the head is. */
static void expect_ends(const struct fixture *f, enum ends ends, const char *what) {
  const struct sl_model *m = &f->model;
  const int64_t v = m->vocab_size, part = (v + TP - 1) / TP, r = 8, sums = 4 * m->n_layer;
  const int64_t head = ends == WHOLE ? v : part, embedding = ends == CUT || ends == TIED_GATHERED ? part : v;
  const bool cut = embedding == part, split = head == part;
  const struct sl_tensor *last = &m->tensors[m->tensor_count - 1];
  const bool own = !m->tied_head;
  assert_int_equal(sl_cut_local_size(&f->plan, &m->tensors[0], 0), embedding);
  assert_int_equal(f->plan.pp_ranks[0].tensors[0].numel, embedding * m->n_embd);
  assert_int_equal(f->plan.pp_ranks[0].tensors[0].replicated, !cut);
  if (own) assert_int_equal(sl_cut_local_size(&f->plan, last, 0), head);
  assert_int_equal(moved(f, SL_OP_ALL_REDUCE), (sums + cut + split) * r * m->n_embd);
  assert_int_equal(moved(f, SL_OP_ALL_GATHER), ends == CUT ? 3 * r * TP : ends == WHOLE ? 0 : r * part * TP);
  assert_int_equal(bytes_of(f, "logits"), 4 * r * head);
  assert_int_equal(bytes_of(f, "logits.all"), split && ends != CUT ? 4 * r * part * TP : 0);
  if (sl_check(&f->job) != SL_OK) fail_msg("%s: %s", what, sl_error_message());
}

static void ends_are_as_the_framework_leaves_them(void **state) {
  (void)state;
#define AUTOTP "\"tensor_parallel\": {\"autotp_size\": 2},"
  static const struct {
    const char *model, *before, *own;
    enum ends ends;
  } cases[] = {
      {LLAMA, "", ", \"tp\": 2", CUT},
      {LLAMA, "", ", \"tp\": 2, \"tp_vocab\": \"gathered\"", GATHERED},
      {LLAMA, "", ", \"tp\": 2, \"tp_vocab\": \"whole\"", WHOLE},
      {TIED, "", ", \"tp\": 2, \"tp_vocab\": \"gathered\"", TIED_GATHERED},
      {TIED, "", ", \"tp\": 2, \"tp_vocab\": \"whole\"", WHOLE},
      {LLAMA, AUTOTP, "", GATHERED},
      {LLAMA, AUTOTP, ", \"ds_version\": \"0.19.4\"", GATHERED},
      {LLAMA, AUTOTP, ", \"ds_version\": \"0.19.3\"", WHOLE},
      {TIED, AUTOTP, "", WHOLE},
      {FAMILY("qwen3"), AUTOTP, ", \"ds_version\": \"0.19.5\"", WHOLE},
      {FAMILY("qwen3"), AUTOTP, "", GATHERED},
      {FAMILY("gptj"), AUTOTP, "", WHOLE},
      {SL_SOURCE_DIR "/tests/mpi/grid_gpt2.json", AUTOTP, "", WHOLE},
      {LLAMA, AUTOTP, ", \"tp_vocab\": \"parallel\"", CUT},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fixture f;
    char what[256];
    snprintf(what, sizeof what, "%s %s %s", cases[i].model, cases[i].before, cases[i].own);
    if (open_ends(&f, cases[i].model, cases[i].before, cases[i].own) != SL_OK)
      fail_msg("%s: %s", what, sl_error_message());
    expect_ends(&f, cases[i].ends, what);
    fixture_close(&f);
  }
}

/* The outputs that torch's pipeline keeps of micro-batches are whole logits, too. */
static void a_pipeline_keeps_what_the_loss_reads(void **state) {
  (void)state;
  static const char *const words[] = {"parallel", "gathered", "whole"};
  enum { MICRO = 3 };
  for (int i = 0; i < 3; i++) {
    struct fixture f;
    char config[512];
    int64_t kept = 0;
    snprintf(config, sizeof config,
             "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": %d, \"optimizer\": {\"type\": "
             "\"AdamW\"}, \"shardlab\": {\"preset\": \"fsdp2\", \"tp\": %d, \"pp\": 2, \"seq_len\": 8, \"kernels\": "
             "\"torch-eager\", \"tp_vocab\": \"%s\"}}",
             MICRO, TP, words[i]);
    if (fixture_open(&f, LLAMA, config, "localhost", 2 * TP, NULL) != SL_OK) fail_msg("%s", sl_error_message());
    for (int c = 0; c < f.job.class_count; c++) kept += fixture_bytes_named(&f.job.classes[c], "logits.kept");
    const int64_t columns = i == 0 ? (f.model.vocab_size + TP - 1) / TP : f.model.vocab_size;
    assert_int_equal(kept, (MICRO - 1) * 8 * columns * 4);
    fixture_close(&f);
  }
}

/* Without members there is nothing to divide, and nothing pads. */
static void one_rank_knows_no_ends(void **state) {
  (void)state;
  struct fixture f;
  const char *config = "{\"train_micro_batch_size_per_gpu\": 1, \"bf16\": {\"enabled\": true}, \"shardlab\": "
                       "{\"tp\": %d, \"tp_vocab\": \"whole\"}}";
  for (int tp = 1; tp <= 2; tp++) {
    char text[256];
    snprintf(text, sizeof text, config, tp);
    assert_int_equal(fixture_open(&f, "gpt2", text, "dgx-h200", tp, NULL), SL_OK);
    assert_int_equal(f.plan.tp_vocab, tp == 1 ? SL_TP_VOCAB_PARALLEL : SL_TP_VOCAB_WHOLE);
    assert_int_equal(sl_cut_local_size(&f.plan, &f.model.tensors[0], 0), tp == 1 ? 50304 : 50257);
    fixture_close(&f);
  }
}

static void contradictions_are_refused_by_name(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {", \"sequence_parallel\": true", "beside shardlab.sequence_parallel true"},
      {", \"cross_entropy_loss_fusion\": true", "beside shardlab.cross_entropy_loss_fusion true"},
      {", \"kernels\": \"aleph-alpha-scaling\"", "beside shardlab.kernels \"aleph-alpha-scaling\""},
      {", \"preset\": \"megatron-lm\"", "beside shardlab.preset \"megatron-lm\""},
      {", \"preset\": \"nanotron\"", "beside shardlab.preset \"nanotron\""}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fixture f;
    assert_int_equal(open_ends(&f, LLAMA, AUTOTP, cases[i][0]), SL_ERR_INPUT);
    const char *said = sl_error_message();
    if (strstr(said, "tensor_parallel.autotp_size: means tp_vocab \"gathered\" for model ") == NULL ||
        strstr(said, cases[i][1]) == NULL)
      fail_msg("%s: %s", cases[i][0], said);
    fixture_close(&f);
  }
}

/* Unasked: 128 rows on GPUs where a rank's are no multiple of 8; elsewhere, and in a framework's plan, tp alone. */
static void a_gpu_pads_by_itself(void **state) {
  (void)state;
  static const struct {
    const char *model, *cluster, *own;
    int tp;
    int64_t rows;
  } cases[] = {{"gpt2", "h200x1", "", 1, 50304},
               {"gpt2", "localhost", "", 1, 50257},
               {"gpt2", "h200x1", ", \"make_vocab_size_divisible_by\": 1", 1, 50257},
               {"gpt2", "h200x1", ", \"make_vocab_size_divisible_by\": null", 1, 50304},
               {"gpt2", "h200x1", ", \"preset\": \"fsdp\"", 1, 50257},
               {"gpt2", "dgx-h200", "", 4, 12672},
               {"gpt2-tiny", "dgx-h200", "", 1, 256},
               {"gpt2-tiny", "dgx-h200", "", 4, 64},
               {"llama2-7b", "dgx-h200", "", 4, 8000}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fixture f;
    char config[256];
    snprintf(config, sizeof config,
             "{\"train_micro_batch_size_per_gpu\": 1, \"bf16\": {\"enabled\": true}, \"shardlab\": {\"tp\": %d%s}}",
             cases[i].tp, cases[i].own);
    if (fixture_open(&f, cases[i].model, config, cases[i].cluster, cases[i].tp, NULL) != SL_OK)
      fail_msg("case %zu: %s", i, sl_error_message());
    const int64_t rows = sl_cut_local_size(&f.plan, &f.model.tensors[0], 0);
    if (rows != cases[i].rows)
      fail_msg("case %zu: %lld rows, expected %lld", i, (long long)rows, (long long)cases[i].rows);
    fixture_close(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_are_megatrons),
      cmocka_unit_test(every_row_stands_in_one_place),
      cmocka_unit_test(the_softmax_knows_the_models_size),
      cmocka_unit_test(a_gpu_pads_by_itself),
      cmocka_unit_test(ends_are_as_the_framework_leaves_them),
      cmocka_unit_test(a_pipeline_keeps_what_the_loss_reads),
      cmocka_unit_test(one_rank_knows_no_ends),
      cmocka_unit_test(contradictions_are_refused_by_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
