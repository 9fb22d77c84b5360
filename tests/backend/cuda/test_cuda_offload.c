/* Offload on the cuda backend, where no GPU is: states in pinned memory and on NVMe, updated by the CPU between streams
 * that run in any order. Every form of it trains as without it; what each memory holds, what each link carries and the
 * order of calls are what is predicted; and what goes wrong on a disk, or a driver that lacks a call, ends the run with
 * one line. */
#include "core/check/rendezvous.h"
#include "sim/sim.h"
#include "tests/stand_ins/ranks.h"
#include "tests/support/job_fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <cmocka.h>

enum { STEPS = 3, RANKS = 4 };
#define MODEL SL_SOURCE_DIR "/tests/mpi/grid_gpt2.json"
#define OPTIMIZER ", \"offload_optimizer\": {\"device\": \"cpu\"}"
#define PARAM ", \"offload_param\": {\"device\": \"cpu\"}"
/* Sub-groups that are no whole number of pages, nor of blocks; a pool that is smaller than what is gathered ahead. */
#define NVME(more)                                                                                                     \
  ", \"sub_group_size\": 3000, \"offload_optimizer\": {\"device\": \"nvme\", \"nvme_path\": \".\"" more "}"
#define NVME_PARAM                                                                                                     \
  ", \"offload_param\": {\"device\": \"nvme\", \"nvme_path\": \".\", \"max_in_cpu\": 0, \"buffer_count\": 2}"
#define BF16 "\"bf16\": {\"enabled\": true}, \"data_types\": {\"grad_accum_dtype\": \"fp32\"}, "
#define FP16 "\"fp16\": {\"enabled\": true, \"loss_scale\": 64}, \"data_types\": {\"grad_accum_dtype\": \"fp32\"}, "
#define ADAMW "AdamW", "\"lr\": 0.003"
#define SGD "SGD", "\"lr\": 0.1, \"momentum\": 0.9"

const struct sl_exec_ops *sl_exec_module(void);

struct one {
  int world, stage, tp, pp;
  const char *optimizer, *params; /* its type, and its parameters */
  const char *offload, *type;     /* keys of zero_optimization, keys of the configuration */
  bool flips;                     /* a bit on NVMe, behind the first step */
};

struct told {
  double losses[STEPS], norms[STEPS];
  char wrong[256]; /* the first number that is not the predicted one */
  int bad_waits;
};
static struct told *told; /* RANKS of them, in shared memory */

static void config_of(const struct one *c, char *text, size_t size) {
  snprintf(text, size,
           "{\"train_batch_size\": 4, \"train_micro_batch_size_per_gpu\": 1, \"gradient_clipping\": 0.5, \"aio\": "
           "{\"block_size\": 8192, \"queue_depth\": 3}, %s\"optimizer\": {\"type\": \"%s\", \"params\": {%s}}, "
           "\"zero_force_ds_cpu_optimizer\": false, \"zero_allow_untested_optimizer\": true, "
           "\"zero_optimization\": {\"stage\": %d, \"reduce_bucket_size\": 3000, "
           "\"stage3_param_persistence_threshold\": 30%s}, \"shardlab\": {\"seq_len\": 7, \"tp\": %d, \"pp\": %d}}",
           c->type, c->optimizer, c->params, c->stage, c->offload, c->tp, c->pp);
}

/* The file has no name; it is found among this process's, and not past the page cache, as the run has it. */
static void flip(void *context, int64_t step, const struct sl_step_result *result) {
  DIR *all = opendir("/proc/self/fd");
  struct dirent *entry;
  (void)context, (void)result;
  while (step == 0 && (entry = readdir(all)) != NULL) {
    char link[64], path[512], byte;
    snprintf(link, sizeof link, "/proc/self/fd/%.20s", entry->d_name);
    const ssize_t n = readlink(link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    if (strstr(path, "shardlab-nvme-") == NULL) continue;
    const int file = open(link, O_RDWR);
    if (pread(file, &byte, 1, 5000) != 1) _exit(95);
    byte ^= 4;
    if (pwrite(file, &byte, 1, 5000) != 1 || fsync(file) != 0) _exit(95);
    close(file);
  }
  closedir(all);
}

static void differ(struct told *t, const char *what, double got, double want) {
  if (got != want && t->wrong[0] == '\0')
    snprintf(t->wrong, sizeof t->wrong, "%s: %.17g, predicted %.17g", what, got, want);
}

static const struct sl_traffic *row_like(const struct sl_exec_report *report, const struct sl_traffic *like) {
  static const struct sl_traffic none;
  for (int i = 0; i < report->traffic_count; i++) {
    const struct sl_traffic *t = &report->traffic[i];
    if (t->group == like->group && t->op == like->op && t->dtype == like->dtype && t->payload == like->payload &&
        t->link == like->link)
      return t;
  }
  return &none;
}

static void compare(struct told *t, const struct sl_exec_report *got, const struct sl_exec_report *want) {
  for (int space = 0; space < SL_SPACE_COUNT; space++)
    differ(t, sl_space_name(space), (double)got->arena_bytes[space], (double)want->arena_bytes[space]);
  differ(t, "the order of calls", got->call_hash == want->call_hash, 1);
  differ(t, "rows of traffic", got->traffic_count, want->traffic_count);
  for (int i = 0; i < want->traffic_count; i++) {
    const struct sl_traffic *row = row_like(got, &want->traffic[i]);
    differ(t, "calls", (double)row->calls, (double)want->traffic[i].calls);
    differ(t, "bytes", (double)row->bytes, (double)want->traffic[i].bytes);
    if (row->link != 0) differ(t, "a copy that takes no time", row->time_s > 0, 1);
  }
}

/* One rank, in its process; and all ranks' steps predicted. */
static int train(const void *what, int rank) {
  const struct one *c = what;
  struct told *t = &told[rank];
  struct fixture f;
  char config[1024];
  config_of(c, config, sizeof config);
  if (fixture_open(&f, MODEL, config, "dgx-h200", c->world, NULL) != SL_OK || sl_check(&f.job) != SL_OK)
    return fprintf(stderr, "rank %d: %s\n", rank, sl_error_message()), 97;
  f.cluster.device.nvme_read = f.cluster.device.nvme_write = 1e9;
  struct sl_run run = {
      .exec = sl_exec_module(),
      .job = &f.job,
      .steps = STEPS,
      .progress = c->flips ? flip : NULL,
      .options = {
          .data = SL_SOURCE_DIR "/tests/golden/gpt2_odd/tokens.bin", .threads = 1, .fail_rank = -1, .fail_step = -1}};
  struct sl_run predicted = run;
  predicted.exec = &sl_exec_sim, predicted.steps = 1, predicted.progress = NULL;
  if (sl_run_execute(&run) != SL_OK || sl_run_execute(&predicted) != SL_OK)
    return fprintf(stderr, "rank %d: %s\n", rank, sl_error_message()), 96;
  for (int i = 0; i < STEPS; i++) t->losses[i] = run.results[i].loss, t->norms[i] = run.results[i].grad_norm;
  compare(t, &run.reports[0], &predicted.reports[rank]);
  t->bad_waits = stand_in_bad_waits();
  sl_run_close(&run);
  sl_run_close(&predicted);
  fixture_close(&f);
  return 0;
}

static void run_well(const struct one *c) {
  int codes[RANKS];
  char config[1024];
  memset(told, 0, RANKS * sizeof *told);
  config_of(c, config, sizeof config);
  assert_true(ranks_run(c->world, train, c, codes) >= 0);
  for (int rank = 0; rank < c->world; rank++) {
    if (codes[rank] != 0) fail_msg("rank %d: %d\n%s\n%s", rank, codes[rank], config, ranks_said);
    if (told[rank].wrong[0] != '\0') fail_msg("rank %d: %s\n%s", rank, told[rank].wrong, config);
    assert_int_equal(told[rank].bad_waits, 0);
  }
}

/* Held against the same optimizer without offload, on one rank. */
static void trains_as_without(const struct one *cases, size_t count, double tolerance) {
  /* stage 1, where 16-bit parameters may have fp32 gradients; on one rank it shards nothing */
  static const struct one none = {.world = 1, .stage = 1, .tp = 1, .pp = 1, .offload = ""};
  struct one plain = none;
  plain.optimizer = cases[0].optimizer, plain.params = cases[0].params, plain.type = cases[0].type;
  run_well(&plain);
  const struct told want = told[0];
  for (size_t i = 0; i < count; i += SL_EVERY) {
    run_well(&cases[i]);
    for (int s = 0; s < cases[i].world * STEPS; s++) {
      const double loss = told[s / STEPS].losses[s % STEPS], norm = told[s / STEPS].norms[s % STEPS];
      if (!(fabs(loss / want.losses[s % STEPS] - 1) <= tolerance) ||
          !(fabs(norm / want.norms[s % STEPS] - 1) <= 10 * tolerance))
        fail_msg("case %zu, rank %d, step %d: loss %.9g, without offload %.9g; norm %.9g, %.9g", i, s / STEPS,
                 s % STEPS, loss, want.losses[s % STEPS], norm, want.norms[s % STEPS]);
    }
  }
}

static void every_offload_trains_as_without(void **state) {
  (void)state;
  static const struct one cases[] = {
      {1, 1, 1, 1, ADAMW, OPTIMIZER, "", false},
      {2, 2, 1, 1, ADAMW, OPTIMIZER, "", false},
      {2, 3, 1, 1, ADAMW, PARAM, "", false},
      {2, 3, 1, 1, ADAMW, OPTIMIZER PARAM, "", false},
      {4, 1, 2, 2, ADAMW, OPTIMIZER, "", false},
      {2, 3, 1, 1, ADAMW, NVME(", \"ratio\": 0.6"), "", false},
      {4, 3, 1, 1, ADAMW, NVME(""), "", false}, /* one micro-batch: gradients go to NVMe, too */
      {2, 3, 1, 1, ADAMW, NVME(", \"pipeline_read\": true, \"pipeline_write\": true") PARAM, "", false},
      {4, 3, 2, 1, ADAMW, NVME(", \"pipeline_read\": true") NVME_PARAM, "", false},
  };
  trains_as_without(cases, sizeof cases / sizeof *cases, 2e-6);
}

/* Gradients are converted on their way, and what is updated in fp32 comes back narrow. */
static void offload_of_16_bits_trains_as_without(void **state) {
  (void)state;
  static const struct one bf16[] = {{1, 2, 1, 1, ADAMW, OPTIMIZER, BF16, false},
                                    {4, 3, 1, 1, ADAMW, NVME(", \"pipeline_write\": true") NVME_PARAM, BF16, false}};
  static const struct one fp16[] = {{2, 2, 1, 1, SGD, OPTIMIZER, FP16, false}};
  trains_as_without(bf16, 2, 1e-3);
  trains_as_without(fp16, 1, 1e-3);
}

/* A bit that changes on the disk between two steps ends the run at its next read, which says whose it was; what waits
 * for it on the device runs dry first. */
static void a_flipped_bit_ends_the_run(void **state) {
  (void)state;
  for (int world = 1; world <= 2; world++) {
    const struct one c = {world, 3, 1, 1, ADAMW, NVME(", \"pipeline_read\": true") PARAM, "", true};
    int codes[RANKS];
    const double took = ranks_run(world, train, &c, codes);
    assert_int_equal(codes[0], world == 1 ? 96 : 1);
    if (strstr(ranks_said, "./shardlab-nvme-") == NULL || strstr(ranks_said, "are not those that were written") == NULL)
      fail_msg("%s", ranks_said);
    assert_true(took >= 0 && took < 30);
  }
}

static void an_old_driver_is_named(void **state) {
  (void)state;
  const struct one c = {1, 1, 1, 1, ADAMW, OPTIMIZER, "", false};
  int codes[RANKS];
  setenv("SHARDLAB_STAND_IN_NO_WORDS", "1", 1);
  assert_true(ranks_run(1, train, &c, codes) >= 0);
  unsetenv("SHARDLAB_STAND_IN_NO_WORDS");
  assert_int_equal(codes[0], 96);
  if (strstr(ranks_said, "offload needs a driver with cuStreamWaitValue32") == NULL) fail_msg("%s", ranks_said);
}

int main(void) {
  told = mmap(NULL, RANKS * sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (told == MAP_FAILED) return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_offload_trains_as_without),
      cmocka_unit_test(offload_of_16_bits_trains_as_without),
      cmocka_unit_test(a_flipped_bit_ends_the_run),
      cmocka_unit_test(an_old_driver_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
