/* Training in 16 bits: the same on any number of ranks and for every way of sharding, up to its own rounding; nearer to
 * exact gradients, over all of them, than PyTorch's own 16-bit model.
 *
 * Run alone (one rank) it writes the reference; on several ranks it compares with that. usage: test_half REFERENCE
 *
 * Bounds, in u: half a unit in the last place relative to the number, 2^-9 (bf16) or 2^-12 (fp16), of the coarsest type
 * that a gradient goes through. One rank rounds each gradient once, after summing over all tokens in fp32. W ranks with
 * A micro-batches round W A partial sums, which are about sqrt(W A) times smaller than their number times the total
 * (they hardly cancel) or sqrt(W A) times larger (they do), and every addition in between again: norms of 1 to 3 u in W
 * A <= 8. 4 u are allowed. The one-rank gradient itself is 6 to 7 u from fp32's, the rounding of weights and
 * activations through the depth of the model: 10 u are allowed. Losses are sums in double and feel rounding through the
 * parameters alone: u / 2 between worlds, 2 u against fp32.
 *
 * Against PyTorch the measure is the distance of its own model in the same type (bf16, fp16) from gradients in fp64:
 * over all gradients together ours may be 1.0 times that, each single tensor 1.4 times (TENSOR_ALLOWANCE says why). */
#include "tests/mpi/half.h"

#include <jansson.h>

#include "core/io/safetensors.h"

enum { STEPS = 5 };

static const struct {
  const char *name, *config;
  double scale; /* of step 0's loss */
  enum sl_dtype type;
} precisions[] = {
    {"fp32", "\"bf16\": {\"enabled\": false}", 1, SL_F32},
    {"bf16", "\"bf16\": {\"enabled\": true}", 1, SL_BF16},
    {"fp16", "\"fp16\": {\"enabled\": true, \"loss_scale\": 1024}", 1024, SL_F16},
    {"fp16 dynamic", "\"fp16\": {\"enabled\": true, \"initial_scale_power\": 9, \"loss_scale_window\": 2}", 512,
     SL_F16},
};
enum { FP32, BF16, FP16, DYNAMIC, PRECISIONS };

/* In what gradients travel and are kept between micro-batches; "half" stands for the precision's own type, and for fp16
 * where that is fp32. */
static const struct {
  const char *wire, *kept;
} types[] = {{NULL, NULL}, {"fp32", "fp32"}, {"half", "fp32"}, {"fp32", "half"}, {"other", "half"}, {"other", "fp32"}};
enum { HALF_WIRE = 2, OTHER_WIRE = 5, TYPES = 5 /* of 16-bit parameters */, OPTIMIZERS = 2 };

struct reference {
  double losses[PRECISIONS][OPTIMIZERS][STEPS];
  int64_t numel;
  float *gradients[PRECISIONS]; /* of step 0, unscaled, all tensors one behind the other in model order */
};

/* AdamW hides a wrong gradient scale, so both. */
static const char *const optimizers[] = {
    "{\"type\": \"SGD\", \"params\": {\"lr\": 0.05, \"momentum\": 0.9, \"weight_decay\": 0.01}}",
    "{\"type\": \"AdamW\", \"params\": {\"lr\": 0.003, \"weight_decay\": 0.1}}",
};

/* One way to train. */
struct one {
  int precision, strategy, types, accumulate, optimizer;
  bool fuse; /* epilogues of products; the reference has none */
};

static int batch = BATCH;
static double worst_gradient[PRECISIONS], worst_exact[PRECISIONS], worst_loss[PRECISIONS], worst_loss32[PRECISIONS],
    worst_pytorch;

/* Over all gradients ours must be as near to fp64 as PyTorch's. One tensor has as few as 35 elements, whose rounding
 * noise has a norm uncertain by 1 / sqrt(2 x 35) = 12%; the quotient of two such norms by 17%, and the largest of 40
 * quotients lies 2.3 deviations out: 1.4. */
static const double TENSOR_ALLOWANCE = 1.4;

static void raise_to(double *worst, double value) {
  if (!(value <= *worst)) *worst = value; /* NaN stays */
}

static const char *type_text(const char *type, int precision) {
  const bool bf16 = precision == BF16;
  if (strcmp(type, "half") == 0) return bf16 ? "bf16" : "fp16";
  if (strcmp(type, "other") == 0) return bf16 ? "fp16" : "bf16";
  return type;
}

/* DeepSpeed without ZeRO refuses gradients of another type than the parameters'; DDP's program is the same. */
static const char *preset_of(const struct one *c) {
  static const char *const own[] = {[FP32] = "fp32", [BF16] = "bf16", [FP16] = "fp16", [DYNAMIC] = "fp16"};
  const char *preset = strategies[c->strategy].preset, *kept = types[c->types].kept;
  const bool replicated = preset[0] == '\0' && strstr(strategies[c->strategy].zero, "\"stage\": 0") != NULL;
  const bool other = kept != NULL && strcmp(type_text(kept, c->precision), own[c->precision]) != 0;
  return replicated && other ? "ddp" : preset;
}

static void config_text(char *out, size_t size, const struct one *c) {
  char kinds[128] = "";
  if (types[c->types].wire != NULL)
    snprintf(kinds, sizeof kinds,
             "\"communication_data_type\": \"%s\", \"data_types\": {\"grad_accum_dtype\": \"%s\"}, ",
             type_text(types[c->types].wire, c->precision), type_text(types[c->types].kept, c->precision));
  snprintf(out, size,
           "{\"train_micro_batch_size_per_gpu\": %d, \"gradient_accumulation_steps\": %d, \"gradient_clipping\": 0.5, "
           "%s, %s\"zero_allow_untested_optimizer\": true, \"optimizer\": %s, "
           "\"zero_optimization\": {%s}, \"shardlab\": {\"preset\": \"%s\", \"seq_len\": 17, \"shuffle\": false, "
           "\"fuse_epilogues\": \"%s\"}}",
           batch / world / c->accumulate, c->accumulate, precisions[c->precision].config, kinds,
           optimizers[c->optimizer], strategies[c->strategy].zero, preset_of(c), c->fuse ? "always" : "never");
}

/* All gradients in model order, whatever the plan's order is, without the loss scale. */
static float *gradients_of(struct grid_result *r, double scale, int64_t *numel) {
  const struct sl_pp_rank *s = &r->fixture.plan.pp_ranks[0];
  float *all = calloc((size_t)s->numel, sizeof *all);
  *numel = 0;
  for (int t = 0; t < r->fixture.model.tensor_count; t++) {
    grid_tensor(r, rank, SL_ROLE_GRAD, t, all + *numel);
    *numel += r->fixture.model.tensors[t].numel;
  }
  for (int64_t i = 0; i < *numel; i++) all[i] = (float)(all[i] / scale);
  return all;
}

/* ---- the reference: one rank ---- */

static void make_reference(const struct sl_exec_ops *host, struct reference *ref) {
  for (int p = 0; p < PRECISIONS; p++) {
    char config[2048];
    struct grid_result r;
    config_text(config, sizeof config, &(struct one){p, 0, 0, 1, 0, false});
    train(&r, host, config, 1, false);
    ref->gradients[p] = gradients_of(&r, precisions[p].scale, &ref->numel);
    grid_close(&r);
    for (int o = 0; o < OPTIMIZERS; o++) {
      config_text(config, sizeof config, &(struct one){p, 0, 0, 1, o, false});
      train(&r, host, config, STEPS, false);
      for (int s = 0; s < STEPS; s++) ref->losses[p][o][s] = r.run.results[s].loss;
      grid_close(&r);
    }
  }
}

static void transfer_reference(const char *path, struct reference *ref, const char *mode) {
  FILE *f = fopen(path, mode);
  const bool reads = mode[0] == 'r';
  const size_t head = offsetof(struct reference, gradients);
  size_t n = 0;
  if (f != NULL) {
    n = reads ? fread(ref, head, 1, f) : fwrite(ref, head, 1, f);
    for (int p = 0; n == 1 && p < PRECISIONS; p++) {
      const size_t bytes = sizeof(float) * (size_t)ref->numel;
      if (reads) ref->gradients[p] = calloc(1, bytes);
      n = reads ? fread(ref->gradients[p], bytes, 1, f) : fwrite(ref->gradients[p], bytes, 1, f);
    }
    fclose(f);
  }
  if (n == 1) return;
  fprintf(stderr, "%s: cannot %s the reference\n", path, reads ? "read" : "write");
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- the grid ---- */

static double unit(const struct one *c) { /* the coarsest of the types that a gradient goes through */
  const bool bf16 =
      c->precision == BF16 || (types[c->types].wire != NULL && strcmp(types[c->types].wire, "other") == 0);
  return bf16 ? 0x1p-9 : 0x1p-12;
}

static void compare_gradients(struct grid_result *r, const struct reference *ref, const struct one *c,
                              const char *config) {
  int64_t numel, at = 0;
  float *all = gradients_of(r, precisions[c->precision].scale, &numel);
  for (int t = 0; t < r->fixture.model.tensor_count; t++) {
    const struct sl_tensor *tensor = &r->fixture.model.tensors[t];
    const double d = grid_distance(all + at, ref->gradients[c->precision] + at, tensor->numel) / unit(c);
    const double exact = grid_distance(all + at, ref->gradients[FP32] + at, tensor->numel) / unit(c);
    expect(d <= 4, tensor->name, d, 4, config);
    expect(exact <= 10, tensor->name, exact, 10, config);
    raise_to(&worst_gradient[c->precision], d);
    raise_to(&worst_exact[c->precision], exact);
    at += tensor->numel;
  }
  free(all);
}

static void compare_losses(const struct grid_result *r, const struct reference *ref, const struct one *c,
                           const char *config) {
  for (int s = 0; s < STEPS; s++) {
    const double loss = r->run.results[s].loss;
    const double d = fabs(loss / ref->losses[c->precision][c->optimizer][s] - 1) / unit(c);
    const double exact = fabs(loss / ref->losses[FP32][c->optimizer][s] - 1) / unit(c);
    expect(d <= 0.5, "loss", d, 0.5, config);
    expect(exact <= 2, "loss against fp32", exact, 2, config);
    raise_to(&worst_loss32[c->precision], exact);
    expect(!r->run.results[s].skipped, "skipped", s, 0, config);
    raise_to(&worst_loss[c->precision], d);
  }
}

/* The arena that was used is the one that was predicted. */
static void compare_memory(const struct grid_result *r, const char *config) {
  const struct sl_class *c = &r->fixture.job.classes[sl_job_class_of(&r->fixture.job, rank)];
  const double used = (double)r->run.reports[0].arena_bytes[SL_SPACE_DEVICE];
  const double predicted = (double)c->memory[SL_SPACE_DEVICE].peak_bytes;
  expect(used == predicted, "arena bytes", used, predicted, config);
}

static void run_one(const struct sl_exec_ops *host, const struct reference *ref, const struct one *c, bool poison) {
  struct grid_result r;
  char config[2048];
  config_text(config, sizeof config, c);
  train(&r, host, config, 1, false);
  compare_gradients(&r, ref, c, config);
  grid_close(&r);
  train(&r, host, config, STEPS, poison);
  compare_losses(&r, ref, c, config);
  compare_memory(&r, config);
  grid_close(&r);
}

static void run_grid(const struct sl_exec_ops *host, const struct reference *ref) {
  int turn = 0;
  for (int p = BF16; p < PRECISIONS; p++) {
    for (int s = 0; s < STRATEGIES; s++) {
      for (int k = 0; k < TYPES; k++, turn++)
        if (world == 1 || __builtin_parity((unsigned)turn & 15) == world / 4) /* worlds of 2 and 4 share the grid */
          run_one(host, ref, &(struct one){p, s, k, 1 + turn % 2, turn / 2 % 2, turn / 4 % 2}, turn % 3 == 1);
    }
  }
  for (int s = 0; s < STRATEGIES; s++) /* fp32 that travels in 16 bits, without a loss scale */
    run_one(host, ref, &(struct one){FP32, s, s % 2 ? OTHER_WIRE : HALF_WIRE, 1 + s / 2 % 2, s / 4 % 2, false},
            s % 3 == 1);
  for (int p = FP32; rank == 0 && p < PRECISIONS; p++)
    printf("world %d, %s: furthest gradient tensor %.2f u from one rank's, %.2f u from fp32's; loss %.2f u, %.2f u\n",
           world, precisions[p].name, worst_gradient[p], worst_exact[p], worst_loss[p], worst_loss32[p]);
}

/* ---- PyTorch ---- */

static json_t *load_half(void) {
  json_error_t error;
  json_t *doc = json_load_file(GOLDEN "half.json", 0, &error);
  if (doc == NULL) give_up(error.text);
  return doc;
}

/* Distances from the fp64 gradients, of each tensor and of all, against those of PyTorch's model in the same type. */
static void compare_with_pytorch(struct grid_result *r, const json_t *theirs, const struct one *c, const char *config) {
  struct sl_safetensors exact;
  int64_t numel, at = 0;
  double error = 0, norm = 0;
  float *all = gradients_of(r, precisions[c->precision].scale, &numel);
  if (sl_safetensors_open(&exact, GOLDEN "grads_f64.safetensors") != SL_OK) give_up(config);
  for (int t = 0; t < r->fixture.model.tensor_count; t++) {
    const struct sl_tensor *tensor = &r->fixture.model.tensors[t];
    const struct sl_safetensors_tensor *want = sl_safetensors_find(&exact, tensor->name);
    float *golden = calloc((size_t)tensor->numel, sizeof *golden);
    if (want == NULL || sl_safetensors_read(&exact, want, 0, tensor->numel, golden) != SL_OK) give_up(tensor->name);
    const double d = grid_distance(all + at, golden, tensor->numel);
    const double bound =
        TENSOR_ALLOWANCE * json_number_value(json_object_get(json_object_get(theirs, "tensors"), tensor->name));
    expect(d <= bound, tensor->name, d, bound, config);
    raise_to(&worst_pytorch, d / bound * TENSOR_ALLOWANCE);
    for (int64_t i = 0; i < tensor->numel; i++) {
      error += pow((double)all[at + i] - (double)golden[i], 2);
      norm += pow((double)golden[i], 2);
    }
    at += tensor->numel;
    free(golden);
  }
  const double d = sqrt(error / norm), bound = json_number_value(json_object_get(theirs, "all"));
  expect(d <= bound, "all gradients against fp64", d, bound, config);
  if (rank == 0)
    printf("world %d, %s: all gradients %.4g from fp64, PyTorch's %.4g; worst tensor %.2f of PyTorch's\n", world,
           precisions[c->precision].name, d, bound, worst_pytorch);
  sl_safetensors_close(&exact);
  free(all);
}

static void run_pytorch(const struct sl_exec_ops *host) {
  json_t *theirs = load_half();
  char config[2048];
  struct grid_result r;
  batch = 8;
  for (int p = BF16; p <= FP16; p++) {
    const struct one c = {p, 2, 0, 1, 0, true};
    config_text(config, sizeof config, &c);
    train(&r, host, config, 1, false);
    worst_pytorch = 0;
    compare_with_pytorch(&r, json_object_get(theirs, precisions[p].name), &c, config);
    grid_close(&r);
  }
  batch = BATCH;
  json_decref(theirs);
}

int main(int argc, char **argv) {
  static struct reference ref;
  const struct sl_exec_ops *host = checked_open(&argc, &argv);
  if (argc != 2) {
    fprintf(stderr, "usage: test_half REFERENCE\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  if (world == 1) make_reference(host, &ref);
  transfer_reference(argv[1], &ref, world == 1 ? "wb" : "rb");
  run_grid(host, &ref);
  run_pytorch(host);
  for (int p = 0; p < PRECISIONS; p++) free(ref.gradients[p]);
  return checked_close();
}
