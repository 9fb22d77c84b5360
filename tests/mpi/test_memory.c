/* Honest memory: a step whose arena is above 1 GB, and what the kernel says that the process has. The arena is one plan
 * for both, so agreement of arenas proves nothing; this does: anonymous and shared memory beyond what the process had
 * after MPI and BLAS warmed up is the predicted arena, to 2% or 48 MB. */
#include "tests/mpi/grid.h"

static int rank, world, failures;

/* Anonymous and shared memory of this process, as the kernel counts it, bytes. */
static int64_t resident(void) {
  FILE *file = fopen("/proc/self/status", "r");
  char line[256];
  long long kib, sum = 0;
  if (file == NULL) return 0;
  while (fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "RssAnon: %lld kB", &kib) == 1 || sscanf(line, "RssShmem: %lld kB", &kib) == 1) sum += kib;
  fclose(file);
  return sum * 1024;
}

static void note_memory(void *context, int64_t step, const struct sl_step_result *result) {
  (void)step;
  (void)result;
  *(int64_t *)context = resident();
}

static void give_up(void) {
  fprintf(stderr, "rank %d: %s\n", rank, sl_error_message());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void compare(const char *what, int stage, int64_t predicted, int64_t process) {
  const double error = fabs((double)(process - predicted)), bound = fmax(0.02 * (double)predicted, 48e6);
  const bool good = error <= bound;
  failures += !good;
  if (good && rank != 0) return;
  printf("%s rank %d of %d, stage %d: arena %.1f MB, %s %.1f MB (%+.2f%%)\n", good ? "ok  " : "FAIL", rank, world,
         stage, 1e-6 * (double)predicted, what, 1e-6 * (double)process,
         100 * (double)(process - predicted) / (double)predicted);
}

/* The first row's logits alone are more than the bound. The types take different buffers: 16 bits have masters and fp32
 * workspace, a wire of another type the buckets it is cast to. */
static const struct row {
  int stage, micro_batch, seq;
  const char *types;
} rows[] = {{0, 1, 256, ""},
            {3, 2, 32, "\"fp16\": {\"enabled\": true}, \"communication_data_type\": \"fp32\", "}};

static void run_row(const struct sl_exec_ops *host, const struct row *row) {
  char config[512];
  const int stage = row->stage;
  struct fixture f;
  int64_t after = 0;
  snprintf(
      config, sizeof config,
      "{%s\"train_micro_batch_size_per_gpu\": %d, \"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 1e-4}}, "
      "\"zero_optimization\": {\"stage\": %d}, \"shardlab\": {\"seq_len\": %d}}",
      row->types, row->micro_batch, stage, row->seq);
  if (fixture_open(&f, SL_SOURCE_DIR "/tests/mpi/gpt2_wide.json", config, "localhost", world, NULL) != SL_OK) give_up();
  const int64_t arena = f.job.classes[0].arena_bytes[SL_SPACE_DEVICE];
  struct sl_run run = {
      .exec = host,
      .job = &f.job,
      .steps = 1,
      .options = {.data = SL_SOURCE_DIR "/examples/corpus.txt", .threads = 1, .fail_rank = -1, .fail_step = -1},
      .progress = note_memory,
      .progress_context = &after};
  if (sl_run_execute(&run) != SL_OK) give_up();
  if (arena < 1000000000) {
    failures++;
    fprintf(stderr, "stage %d: the arena is %lld bytes; this test wants at least 1 GB\n", stage, (long long)arena);
  }
  compare("process (backend's figure)", stage, arena, run.reports[0].process_bytes);
  compare("process (seen from here)", stage, arena, after - run.reports[0].context_bytes);
  sl_run_close(&run);
  fixture_close(&f);
}

int main(int argc, char **argv) {
  const struct sl_exec_ops *host;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &world);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world);
  if (sl_exec_load("host", &host) != SL_OK) give_up();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) run_row(host, &rows[i]);
  MPI_Finalize();
  return failures > 0;
}
