/* The command's part of a table: processes, progress, and the file that comes out. What a row means stands in table/inputs.h, what
 * is predicted of it in table/predict.h. Processes and not threads: a row that a bug or the lack of memory kills takes no other
 * along, and nothing is shared but the results. */
#include "cli/predict_table.h"

#include "cli/output.h"
#include "core/base/machine.h"
#include "core/base/new_file.h"
#include "table/inputs.h"
#include "table/predict.h"
#include "table/rows.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct result {
  atomic_int state; /* 0: not yet; 1: begun; 2: done */
  int worker;       /* who began it */
  struct sl_prediction prediction;
  char error[512]; /* "": there is a prediction */
};

/* In memory that all processes share. */
struct board {
  atomic_size_t next, done; /* rows */
  struct result results[];
};

struct work {
  const struct sl_table *table;
  const char *cluster; /* for all rows; NULL: each its own */
  struct board *board; /* NULL before it is mapped */
  size_t bytes;
  pid_t *workers; /* (jobs), 0 once it has ended */
  int jobs;
  double began_s;
};

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- a worker ---- */

static void forget(void *context, const char *message) {
  (void)context, (void)message;
}

static enum sl_status predict_row(struct sl_prediction *out, const struct sl_table_row *row, const char *cluster) {
  struct sl_table_inputs in;
  SL_TRY(sl_table_inputs(&in, row, cluster));
  const enum sl_status status = sl_predict_step(out, &in.model, &in.config, &in.cluster, in.world);
  if (in.memory == SL_MEMORY_LOGGED_FIRST) out->memory_bytes = out->logged_bytes;
  if (in.memory == SL_MEMORY_LOGGED_MOST) out->memory_bytes = out->most_logged_bytes;
  sl_table_inputs_free(&in);
  return status;
}

/* A message of one line. */
static void keep_error(struct result *result) {
  snprintf(result->error, sizeof result->error, "%s", sl_error_message());
  result->error[strcspn(result->error, "\r\n")] = '\0';
  sl_error_clear();
}

static void work_off(const struct work *work, int worker) {
  struct board *board = work->board;
  size_t i;
  sl_warn_set_sink(forget, NULL); /* of a configuration, which nobody wrote */
  while ((i = atomic_fetch_add(&board->next, 1)) < work->table->count) {
    struct result *result = &board->results[i];
    result->worker = worker;
    atomic_store(&result->state, 1);
    if (predict_row(&result->prediction, &work->table->rows[i], work->cluster) != SL_OK) keep_error(result);
    atomic_store(&result->state, 2);
    atomic_fetch_add(&board->done, 1);
  }
}

/* It ends with its parent, however that ends. */
static enum sl_status start_worker(struct work *work, int worker) {
  const pid_t parent = getpid(), child = fork();
  if (child < 0) return sl_fail(SL_ERR_IO, "a process for --jobs cannot be started: %s", strerror(errno));
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent) work_off(work, worker);
    _exit(0);
  }
  work->workers[worker] = child;
  return SL_OK;
}

/* ---- the parent ---- */

static void show_progress(const struct work *work) {
  const size_t done = atomic_load(&work->board->done);
  const double seconds = now_s() - work->began_s, rate = seconds > 0 ? (double)done / seconds : 0;
  fprintf(stderr, "\r\033[K%zu of %zu rows, %.1f rows/s", done, work->table->count, rate);
  if (done > 0) fprintf(stderr, ", %.0f s left", (double)(work->table->count - done) / rate);
  fflush(stderr);
}

/* The row that a worker was at when something ended it is not predicted; another worker goes on behind it. */
static enum sl_status replace_worker(struct work *work, int worker, int state) {
  for (size_t i = 0; i < work->table->count; i++) {
    struct result *result = &work->board->results[i];
    if (atomic_load(&result->state) != 1 || result->worker != worker) continue;
    snprintf(result->error, sizeof result->error, "the process that predicted it was ended by signal %d",
             WIFSIGNALED(state) ? WTERMSIG(state) : 0);
    atomic_store(&result->state, 2);
    atomic_fetch_add(&work->board->done, 1);
  }
  return start_worker(work, worker);
}

/* One worker that has ended, if any has: *left counts those that have no more rows. */
static enum sl_status reap(struct work *work, int *left, bool *any) {
  int state;
  const pid_t child = waitpid(-1, &state, WNOHANG);
  *any = child > 0;
  if (child < 0 && errno != EINTR) return sl_fail(SL_ERR_IO, "waiting for a process: %s", strerror(errno));
  for (int i = 0; child > 0 && i < work->jobs; i++) {
    if (work->workers[i] != child) continue;
    work->workers[i] = 0;
    if (!WIFEXITED(state) || WEXITSTATUS(state) != 0) return replace_worker(work, i, state);
    --*left;
  }
  return SL_OK;
}

static enum sl_status wait_for_workers(struct work *work, bool terminal) {
  static const struct timespec pause = {.tv_nsec = 10000000};
  double shown = 0;
  for (int left = work->jobs; left > 0;) {
    bool any;
    SL_TRY(reap(work, &left, &any));
    if (any) continue;
    if (terminal && now_s() - shown > 0.2) {
      show_progress(work);
      shown = now_s();
    }
    nanosleep(&pause, NULL);
  }
  return SL_OK;
}

static void stop_workers(struct work *work) {
  for (int i = 0; work->workers != NULL && i < work->jobs; i++) {
    if (work->workers[i] <= 0) continue;
    kill(work->workers[i], SIGKILL);
    waitpid(work->workers[i], NULL, 0);
  }
  free(work->workers);
  if (work->board != NULL) munmap(work->board, work->bytes);
}

static enum sl_status predict_all(struct work *work, bool terminal) {
  enum sl_status status;
  work->bytes = sizeof *work->board + work->table->count * sizeof *work->board->results;
  void *shared = mmap(NULL, work->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return sl_fail(SL_ERR_MEMORY, "out of memory: %zu bytes of results", work->bytes);
  work->board = shared;
  SL_TRY(sl_calloc(&work->workers, (size_t)work->jobs, sizeof *work->workers));
  fflush(NULL); /* what is buffered shall not be written by each child */
  work->began_s = now_s();
  for (int i = 0; i < work->jobs; i++) SL_GO(start_worker(work, i));
  SL_GO(wait_for_workers(work, terminal));
done:
  if (terminal) fprintf(stderr, "\r\033[K");
  return status;
}

/* ---- what comes out ---- */

static void put_text(FILE *out, const char *text) {
  if (strpbrk(text, ",\"\r\n") == NULL) {
    fputs(text, out);
    return;
  }
  fputc('"', out);
  for (; *text != '\0'; text++) fprintf(out, *text == '"' ? "\"\"" : "%c", *text);
  fputc('"', out);
}

static void put_row(FILE *out, const char *id, const struct result *r) {
  const struct sl_prediction *p = &r->prediction;
  put_text(out, id);
  if (r->error[0] != '\0') {
    fprintf(out, ",,,,,,,,,,,,");
    put_text(out, r->error);
    fputc('\n', out);
    return;
  }
  fprintf(out, ",%.9g,%.6f,%d", p->step_s, (double)p->memory_bytes / 1e9, p->fits);
  if (p->low_s > 0)
    fprintf(out, ",%.9g,%.9g", p->low_s, p->high_s);
  else
    fprintf(out, ",,");
  fprintf(out, ",%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,\n", p->compute_s, p->bubble_s, p->exposed_tp_s, p->exposed_dp_s,
          p->exposed_pp_s, p->optimizer_s);
}

static void put_table(FILE *out, const struct work *work) {
  fprintf(out, "id,predicted_step_time_s,predicted_mem_gb,predicted_fits,step_time_low_s,step_time_high_s,compute_s,"
               "bubble_s,exposed_tp_s,exposed_dp_s,exposed_pp_s,optimizer_s,error\n");
  for (size_t i = 0; i < work->table->count; i++) put_row(out, work->table->rows[i].id, &work->board->results[i]);
}

static enum sl_status write_file(const char *path, const struct work *work) {
  struct sl_new_file file;
  SL_TRY(sl_new_file_open(&file, path));
  put_table(file.stream, work);
  return sl_new_file_finish(&file);
}

static enum sl_status summarise(const struct work *work, const struct sl_options *options) {
  const size_t count = work->table->count;
  const double seconds = now_s() - work->began_s;
  size_t refused = 0;
  for (size_t i = 0; i < count; i++) refused += work->board->results[i].error[0] != '\0';
  if (!options->quiet)
    fprintf(sl_output_text(options), "%zu of %zu rows predicted in %.1f s, %zu refused (column error): %s\n",
            count - refused, count, seconds, refused, options->out);
  return sl_output_json(options, json_pack("{s:s, s:I, s:I, s:I, s:f}", "table", options->table, "rows",
                                           (json_int_t)count, "predicted", (json_int_t)(count - refused), "refused",
                                           (json_int_t)refused, "seconds", seconds));
}

/* Installations without a file of their own, each once. */
static void warn_of_clusters(const struct sl_table *table) {
  for (size_t i = 0; i < table->count; i++) {
    const char *name = table->rows[i].cluster;
    size_t first = 0;
    if (name[0] == '\0' || (i > 0 && strcmp(name, table->rows[i - 1].cluster) == 0) || sl_cluster_is_known(name))
      continue;
    while (strcmp(table->rows[first].cluster, name) != 0) first++;
    if (first == i)
      sl_warn("%s: cluster \"%s\" is not known; its rows take a usual cluster of their gpu", table->csv.name, name);
  }
}

static enum sl_status check_flags(const struct sl_options *options) {
  static const char *const taken[] = {"table", "out", "jobs", "cluster", "json", "quiet", NULL};
  if (options->out == NULL)
    return sl_fail(SL_ERR_INPUT, "--out: is missing; expected the file to write the predictions of --table to");
  const char *other = sl_options_beside(options, taken);
  if (other == NULL) return SL_OK;
  return sl_fail(SL_ERR_INPUT, "--%s: is not for --table, whose rows say it; expected --out, --jobs, --cluster, --json",
                 other);
}

enum sl_status sl_predict_table(const struct sl_options *options) {
  enum sl_status status;
  struct sl_table table;
  SL_TRY(check_flags(options));
  SL_TRY(sl_table_load(&table, options->table));
  struct work work = {.table = &table,
                      .cluster = sl_options_given(options, "cluster") ? options->cluster : NULL,
                      .jobs = options->jobs > 0 ? (int)options->jobs : sl_machine_cores()};
  if (work.cluster == NULL) warn_of_clusters(&table);
  SL_GO(predict_all(&work, !options->quiet && sl_output_terminal(stderr)));
  SL_GO(write_file(options->out, &work));
  SL_GO(summarise(&work, options));
done:
  stop_workers(&work);
  sl_table_free(&table);
  return status;
}
