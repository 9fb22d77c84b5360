/* What must not change a bit of losses, gradients or parameters, because it only moves bytes: storing dropout's masks
 * in place of drawing them again, a second copy of sharded parameters (hpZ), gathers without a limit or by the next
 * forward; or because it is the same kernels, called by a product for its epilogue. Pairs of configurations train side
 * by side and are compared piece by piece on every rank. The second of a pair runs with poison, so that a mask or a
 * copy that is given up too soon shows. */
#include "tests/mpi/grid.h"

enum { STEPS = 3 };

static int rank, world, failures, pairs;

static void expect(bool good, const char *what, const char *config) {
  if (good) return;
  failures++;
  fprintf(stderr, "FAIL rank %d of %d: %s\n  config %s\n", rank, world, what, config);
}

#define GPT SL_SOURCE_DIR "/tests/mpi/gpt2_dropout.json"
#define EVEN SL_SOURCE_DIR "/tests/mpi/gpt2_dropout_even.json"
#define LLAMA SL_SOURCE_DIR "/tests/mpi/llama_dropout.json"
#define MASKS ", \"store_dropout_masks\": true"
#define GATHER                                                                                                         \
  "\"stage\": 3, \"stage3_param_persistence_threshold\": 30, \"stage3_max_reuse_distance\": 0, "                       \
  "\"stage3_prefetch_bucket_size\": 3000"
/* Where an epilogue's gradient goes to a buffer of its own either way: it is added in fp32, or reduced at once. */
#define FUSE ", \"fuse_epilogues\": \"always\""
#define BF16(stage) "\"stage\": " stage "}, \"bf16\": {\"enabled\": true"
#define WIDE BF16("1") "}, \"data_types\": {\"grad_accum_dtype\": \"fp32\""
#define FP8 ", \"fp8\": true"
#define HPZ ", \"zero_hpz_partition_size\": 2"
#define MEGATRON ", \"preset\": \"megatron-distributed-optimizer\""
#define GATHERS ", \"overlap_param_gather\": true"
#define PIPE ", \"pp\": 2, \"schedule\": \"1f1b\""
#define TURNS ", \"pp\": 2, \"virtual_stages\": 2, \"schedule\": \"interleaved\", \"unshard_ahead\": 1"

/* Numbers of ranks, a model, zero_optimization and shardlab of both, and what the second has beyond the first. */
static const struct {
  int world;
  const char *model, *zero, *sl, *more_zero, *more_sl;
} cases[] = {
    {1, GPT, "\"stage\": 0", "", "", MASKS},
    {1, GPT, "\"stage\": 0", ", \"recompute\": \"full\"", "", MASKS},
    {1, GPT, "\"stage\": 0", ", \"recompute\": \"selective\"", "", MASKS},
    {1, GPT, "\"stage\": 0", ", \"recompute\": \"selective_op\"", "", MASKS},
    {1, GPT, "\"stage\": 0", "", "", ", \"recompute\": \"selective_op\""},
    {1, LLAMA, "\"stage\": 0", ", \"attention\": \"flash\"", "", ", \"recompute\": \"selective_op\""},
    {1, GPT, "\"stage\": 0", ", \"attention\": \"flash\"", "", MASKS},
    {1, LLAMA, "\"stage\": 0", "", "", MASKS},
    {1, GPT, BF16("0"), FP8, "", ", \"recompute\": \"full\""},
    {1, LLAMA, BF16("0"), FP8, "", ", \"recompute\": \"selective_op\""},
    {2, EVEN, BF16("0"), FP8 ", \"pp\": 2, \"schedule\": \"zb-h1\"", "", ", \"recompute\": \"full\""},
    {2, GPT, "\"stage\": 2", "", "", MASKS},
    {2, EVEN, "\"stage\": 0", ", \"tp\": 2", "", MASKS},
    {2, EVEN, "\"stage\": 0", ", \"tp\": 2, \"sequence_parallel\": true", "", MASKS},
    {2, EVEN, "\"stage\": 0", PIPE ", \"recompute\": \"selective\"", "", MASKS},
    {2, EVEN, "\"stage\": 0", PIPE, "", ", \"recompute\": \"selective_op\""},
    {2, EVEN, "\"stage\": 0", ", \"tp\": 2, \"sequence_parallel\": true", "", ", \"recompute\": \"selective_op\""},
    {2, EVEN, "\"stage\": 0", ", \"tp\": 2", "", ", \"recompute\": \"selective_op\""},
    {2, LLAMA, "\"stage\": 3", ", \"preset\": \"fsdp2\"", "", ", \"recompute\": \"selective_op\""},
    {2, EVEN, "\"stage\": 0", ", \"pp\": 2, \"schedule\": \"zb-h1\"", "", ", \"recompute\": \"selective_op\""},
    {2, EVEN, "\"stage\": 0", ", \"pp\": 2, \"schedule\": \"zb-h1\"", "", MASKS},
    {2, EVEN, "\"stage\": 0", ", \"pp\": 2, \"schedule\": \"zb-h1\", \"recompute\": \"full\"", "", MASKS},
    {2, GPT, GATHER, "", HPZ, ""},
    {4, EVEN, "\"stage\": 3",
     ", \"tp\": 2, \"sequence_parallel\": true, \"recompute_every\": 2, \"recompute\": \"full\"", "", MASKS},
    {4, GPT, GATHER, "", HPZ, ""},
    {4, GPT, GATHER ", \"overlap_comm\": false", "", ", \"zero_hpz_partition_size\": 4", MASKS},
    {4, EVEN, GATHER, PIPE, HPZ, ""},
    {4, EVEN, GATHER, TURNS, HPZ, MASKS},
    {4, EVEN, GATHER, ", \"tp\": 2", HPZ, ", \"limit_all_gathers\": false"},
    {4, GPT, "\"stage\": 0", ", \"preset\": \"fsdp\"", "", ", \"limit_all_gathers\": false"},
    {4, EVEN, GATHER, TURNS, "", ", \"limit_all_gathers\": false"},
    {2, GPT, "\"stage\": 0", MEGATRON, "", GATHERS},
    {2, LLAMA, BF16("0"), MEGATRON, "", GATHERS},
    {4, EVEN, "\"stage\": 0", MEGATRON ", \"tp\": 2, \"sequence_parallel\": true", "", GATHERS},
    {4, EVEN, "\"stage\": 0", MEGATRON ", \"pp\": 2, \"virtual_stages\": 2, \"schedule\": \"interleaved\"", "",
     GATHERS},
    {4, GPT, "\"stage\": 0", MEGATRON ", \"shard_size\": 2", "", GATHERS},
    {1, GPT, "\"stage\": 2", "", "", FUSE},
    {1, GPT, WIDE, ", \"recompute\": \"full\"", "", FUSE},
    {2, GPT, "\"stage\": 2", "", "", FUSE},
    {2, EVEN, "\"stage\": 2", ", \"tp\": 2", "", FUSE},
    {2, EVEN, WIDE, ", \"tp\": 2, \"sequence_parallel\": true", "", FUSE},
    {2, EVEN, WIDE, ", \"pp\": 2, \"schedule\": \"zb-h1\"", "", FUSE},
    {4, GPT, GATHER, "", "", FUSE},
    {4, EVEN, GATHER, TURNS, "", FUSE},
    {4, EVEN, WIDE, ", \"pp\": 2, \"schedule\": \"zb-h1\", \"recompute\": \"full\"", "", FUSE},
};

static void write_config(char *out, size_t size, const char *zero, const char *more_zero, const char *sl,
                         const char *more_sl) {
  snprintf(out, size,
           "{\"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": 4, \"gradient_clipping\": 0.5, "
           "\"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 0.003}}, \"zero_optimization\": {%s%s}, "
           "\"shardlab\": {\"seq_len\": 7%s%s}}",
           zero, more_zero, sl, more_sl);
}

static void train(struct grid_result *r, const struct sl_exec_ops *host, const char *model, const char *config,
                  bool poison) {
  const struct grid_run g = {model,  config, SL_SOURCE_DIR "/tests/golden/gpt2_odd/tokens.bin", NULL, STEPS,
                             poison, NULL};
  if (grid_execute(r, host, &g, world) == SL_OK) return;
  fprintf(stderr, "rank %d: %s\n  config %s\n", rank, sl_error_message(), config);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Pieces of tensor `i` that this rank holds; the second may hold less, where others have the rest. */
static void compare_pieces(struct grid_result *a, struct grid_result *b, int i, enum sl_role role, int64_t numel,
                           const char *config) {
  float *x = calloc((size_t)numel, sizeof *x), *y = calloc((size_t)numel, sizeof *y);
  const int64_t n = grid_piece(a, rank, role, i, x), m = grid_piece(b, rank, role, i, y);
  const int64_t first = sl_job_locate(&b->fixture.job, rank, role, i).first;
  expect(n >= m && memcmp(x + first, y + first, (size_t)m * sizeof *x) == 0, "a tensor differs", config);
  free(x);
  free(y);
}

static void same_bits(const struct sl_exec_ops *host, int at) {
  struct grid_result plain, other;
  char config[2][1024];
  write_config(config[0], sizeof config[0], cases[at].zero, "", cases[at].sl, "");
  write_config(config[1], sizeof config[1], cases[at].zero, cases[at].more_zero, cases[at].sl, cases[at].more_sl);
  train(&plain, host, cases[at].model, config[0], false);
  train(&other, host, cases[at].model, config[1], true);
  for (int s = 0; s < STEPS; s++) {
    const struct sl_step_result *a = &plain.run.results[s], *b = &other.run.results[s];
    expect(isfinite(a->loss) && a->loss == b->loss, "the loss differs", config[1]);
    expect(a->grad_norm == b->grad_norm, "the gradient norm differs", config[1]);
  }
  const struct sl_pp_rank *pp_rank = &plain.fixture.plan.pp_ranks[sl_plan_coord(&plain.fixture.plan, rank).pp];
  for (int i = 0; i < pp_rank->tensor_count; i++) {
    compare_pieces(&plain, &other, i, SL_ROLE_PARAM, pp_rank->tensors[i].numel, config[1]);
    compare_pieces(&plain, &other, i, SL_ROLE_GRAD, pp_rank->tensors[i].numel, config[1]);
  }
  pairs++;
  grid_close(&plain);
  grid_close(&other);
}

int main(int argc, char **argv) {
  const struct sl_exec_ops *host;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &world);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world);
  if (sl_exec_load("host", &host) != SL_OK) {
    fprintf(stderr, "%s\n", sl_error_message());
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
    if (cases[i].world == world) same_bits(host, i);
  }
  if (rank == 0) printf("world %d: %d pairs, %d failures\n", world, pairs, failures);
  MPI_Finalize();
  return failures > 0 || pairs == 0;
}
