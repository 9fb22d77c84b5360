/* Training from PyTorch's start gives PyTorch's numbers (tests/golden): ten losses and gradient norms against fp64,
 * every gradient tensor of the first step, every weight after the last.
 *
 * One rank runs stage 0, several run stages 0 to 3, each with and without gradient accumulation, AdamW and SGD with
 * momentum, with and without clipping. Bounds: losses 1e-6 relative (against fp32 too), gradient tensors and norms 1e-5
 * in norm. */
#include "tests/mpi/grid.h"

#include <jansson.h>

#include "core/io/safetensors.h"

enum { STEPS = 10 };
#define GOLDEN SL_SOURCE_DIR "/tests/golden/"

static const char *const folders[] = {GOLDEN "gpt2_odd", GOLDEN "mlp", GOLDEN "llama_odd"};
static const char *const runs[] = {"adamw", "adamw_clip", "sgd", "sgd_clip"};
enum { FOLDERS = sizeof folders / sizeof *folders, RUNS = sizeof runs / sizeof *runs };

static int rank, world, failures, checks;
static double worst_loss, worst_gradient, worst_weight;

/* One way to run: where the golden files are, which of the runs, how. */
struct one {
  const char *folder, *run;
  int stage, accumulate;
};

static void expect(bool good, const struct one *c, const char *what, double value, double bound) {
  checks++;
  if (good) return;
  failures++;
  if (rank != 0) return;
  fprintf(stderr, "FAIL %s %s, stage %d, accumulation %d, world %d: %s is %.9g, expected %.9g\n", c->folder, c->run,
          c->stage, c->accumulate, world, what, value, bound);
}

static void raise_to(double *worst, double value) {
  if (!(value <= *worst)) *worst = value; /* NaN stays */
}

static void give_up(const char *what, const char *why) {
  fprintf(stderr, "rank %d: %s: %s\n", rank, what, why);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static json_t *load_json(const char *folder, const char *name) {
  char path[4096];
  json_error_t error;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  json_t *doc = json_load_file(path, 0, &error);
  if (doc == NULL) give_up(path, error.text);
  return doc;
}

/* The committed config, at this stage and accumulation; the caller frees it. */
static char *config_text(const struct one *c) {
  char name[64];
  snprintf(name, sizeof name, "ds_%s.json", c->run);
  json_t *doc = load_json(c->folder, name), *zero = json_object_get(doc, "zero_optimization");
  json_object_set_new(zero, "stage", json_integer(c->stage));
  json_object_set_new(zero, "reduce_bucket_size", json_integer(4001));
  json_object_set_new(zero, "overlap_comm", json_boolean(c->accumulate > 1));
  json_object_set_new(zero, "stage3_param_persistence_threshold", json_integer(c->accumulate > 1 ? 200 : 0));
  json_object_set_new(doc, "zero_allow_untested_optimizer", json_true());
  json_object_set_new(doc, "gradient_accumulation_steps", json_integer(c->accumulate));
  char *text = json_dumps(doc, 0);
  json_decref(doc);
  return text;
}

static void train(struct grid_result *r, const struct sl_exec_ops *host, const struct one *c, int steps) {
  char model[4096], init[4096], tokens[4096], *config = config_text(c);
  snprintf(model, sizeof model, "%s/config.json", c->folder);
  snprintf(init, sizeof init, "%s/init.safetensors", c->folder);
  snprintf(tokens, sizeof tokens, "%s/tokens.bin", c->folder);
  const bool mlp = strcmp(c->folder, folders[1]) == 0;
  const struct grid_run g = {model, config, mlp ? "random:80" : tokens, init, steps, false, NULL};
  if (grid_execute(r, host, &g, world) != SL_OK) give_up(config, sl_error_message());
  free(config);
}

/* Every tensor of a role against a file; elements [skip, skip_end) of `skipped` stand for nothing (see the README). */
static void compare_tensors(struct grid_result *r, const struct one *c, enum sl_role role, const char *name,
                            double bound, double *worst) {
  char path[4096];
  struct sl_safetensors golden;
  snprintf(path, sizeof path, "%s/%s", c->folder, name);
  if (sl_safetensors_open(&golden, path) != SL_OK) give_up(path, sl_error_message());
  const struct sl_pp_rank *s = &r->fixture.plan.pp_ranks[0];
  expect(golden.count == s->tensor_count, c, "tensors of the golden file", golden.count, s->tensor_count);
  for (int i = 0; i < s->tensor_count; i++) {
    const struct sl_tensor *t = &r->fixture.model.tensors[s->tensors[i].tensor];
    const struct sl_safetensors_tensor *want = sl_safetensors_find(&golden, t->name);
    if (want == NULL || want->numel != t->numel) give_up(path, t->name);
    float *ours = calloc((size_t)t->numel, sizeof *ours), *theirs = calloc((size_t)t->numel, sizeof *theirs);
    if (sl_safetensors_read(&golden, want, 0, t->numel, theirs) != SL_OK) give_up(path, sl_error_message());
    grid_tensor(r, rank, role, s->tensors[i].tensor, ours);
    if (role == SL_ROLE_PARAM && strstr(t->name, "attn.c_attn.bias") != NULL) {
      /* the keys' third: its gradient is rounding noise, which AdamW turns into full steps */
      memcpy(ours + t->numel / 3, theirs + t->numel / 3, (size_t)t->numel / 3 * sizeof *ours);
    }
    const double d = grid_distance(ours, theirs, t->numel);
    expect(d <= bound, c, t->name, d, bound);
    raise_to(worst, d);
    free(ours);
    free(theirs);
  }
  sl_safetensors_close(&golden);
}

static void compare_series(const struct grid_result *r, const struct one *c, const json_t *want, bool norms,
                           const char *what, double bound) {
  expect(json_array_size(want) == STEPS, c, what, (double)json_array_size(want), STEPS);
  for (size_t s = 0; s < STEPS; s++) {
    const double golden = json_number_value(json_array_get(want, s));
    const double got = norms ? r->run.results[s].grad_norm : r->run.results[s].loss;
    const double d = fabs(got / golden - 1);
    expect(d <= bound, c, what, got, golden);
    if (!norms) raise_to(&worst_loss, d);
  }
}

static void run_one(const struct sl_exec_ops *host, const struct one *c) {
  struct grid_result r;
  char f64[64];
  snprintf(f64, sizeof f64, "%s_f64", c->run);
  train(&r, host, c, 1);
  compare_tensors(&r, c, SL_ROLE_GRAD, "grads_f64.safetensors", 1e-5, &worst_gradient);
  grid_close(&r);

  json_t *losses = load_json(c->folder, "losses.json"), *norms = json_object_get(losses, "grad_norms");
  train(&r, host, c, STEPS);
  compare_series(&r, c, json_object_get(losses, f64), false, "loss against fp64", 1e-6);
  compare_series(&r, c, json_object_get(losses, c->run), false, "loss against fp32", 1e-6);
  compare_series(&r, c, json_object_get(norms, f64), true, "gradient norm", 1e-5);
  if (strcmp(c->run, "adamw") == 0)
    compare_tensors(&r, c, SL_ROLE_PARAM, "final_adamw.safetensors", 1e-4, &worst_weight);
  grid_close(&r);
  json_decref(losses);
}

int main(int argc, char **argv) {
  const struct sl_exec_ops *host;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &world);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world);
  if (sl_exec_load("host", &host) != SL_OK) give_up("host", sl_error_message());
  for (int f = 0; f < FOLDERS; f++) {
    for (int k = 0; k < RUNS; k++) {
      for (int stage = 0; stage <= (world > 1 ? 3 : 0); stage++) {
        for (int accumulate = 1; accumulate <= 2; accumulate++) {
          run_one(host, &(struct one){folders[f], runs[k], stage, accumulate});
        }
      }
    }
  }
  if (rank == 0) {
    printf("world %d: %d checks, %d failures; furthest loss %.2g, gradient tensor %.2g, weight tensor %.2g\n", world,
           checks, failures, worst_loss, worst_gradient, worst_weight);
  }
  MPI_Finalize();
  return failures > 0;
}
