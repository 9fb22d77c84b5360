/* shardlab bench: how fast the two clocks are, and how much they differ. */
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/setup.h"
#include "core/base/machine.h"
#include "core/job/job.h"
#include "core/program/memory_report.h"
#include "fast/fast.h"
#include "sim/sim.h"

#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* All configurations of a world: the choices, and the fast clock's predictions (0 s: no plan). */
struct grid {
  struct sl_fast_choice *choices;
  double *seconds, *bytes;
  size_t count, capacity;
};

/* Results of one clock on a grid. */
struct speed {
  size_t count;                /* configurations with a plan */
  double per_s;                /* configurations per second */
  double grown;                /* bytes by which this process has grown */
  double again;                /* the fast clock: per second when asked again */
  size_t whole;                /* configurations that were simulated as a whole step */
  double time_off, memory_off; /* the exact clock: the largest relative difference of the fast one */
};

/* Bytes that the kernel counts for this process: VmRSS, resident now, or VmHWM, the most that was. */
static double resident(const char *which) {
  char line[128];
  long long kib = 0;
  const size_t length = strlen(which);
  FILE *file = fopen("/proc/self/status", "r");
  if (file == NULL) return 0;
  while (fgets(line, sizeof line, file) != NULL)
    if (strncmp(line, which, length) == 0 && sscanf(line + length, ": %lld kB", &kib) == 1) break;
  fclose(file);
  return 1024.0 * (double)kib;
}

/* What was freed goes back to the system, and the peak is counted from here; what is resident now. */
static double begin_growth(void) {
  malloc_trim(0);
  FILE *file = fopen("/proc/self/clear_refs", "w");
  if (file != NULL) {
    fputs("5\n", file); /* proc(5): the peak becomes what is resident */
    fclose(file);
  }
  return resident("VmRSS");
}

static double growth_since(double before) {
  return fmax(0, resident("VmHWM") - before);
}

/* ---- the grid ---- */

static enum sl_status add_choice(struct grid *g, const struct sl_fast_choice *c) {
  SL_TRY(sl_grow(&g->choices, &g->capacity, g->count + 1, sizeof *g->choices));
  g->choices[g->count++] = *c;
  return SL_OK;
}

static enum sl_status add_cut(struct grid *g, struct sl_fast_choice c) {
  const int schedules = c.pp > 1 ? 2 : 1;
  for (c.micro_batch = 1; c.micro_batch <= 8; c.micro_batch *= 2)
    for (c.n_micro = 1; c.n_micro <= 256; c.n_micro += c.n_micro < 16 ? 1 : 16)
      for (int k = 0; k < 3 * schedules; k++) {
        c.recompute = (enum sl_recompute)(k % 3);
        c.schedule = k < 3 ? SL_FAST_1F1B : SL_FAST_GPIPE;
        SL_TRY(add_choice(g, &c));
      }
  return SL_OK;
}

static enum sl_status fill_grid(struct grid *g, const struct sl_setup *s, int world) {
  enum { MOST_TP = 8, MOST_PP = 16 };
  for (int tp = 1; tp <= MOST_TP; tp *= 2)
    for (int pp = 1; pp <= MOST_PP; pp *= 2)
      if (world % (tp * pp) == 0)
        SL_TRY(add_cut(g, (struct sl_fast_choice){.world = world,
                                                  .tp = tp,
                                                  .pp = pp,
                                                  .zero_stage = s->config.zero.stage,
                                                  .sequence_parallel = s->config.sl.sequence_parallel}));
  SL_TRY(sl_calloc(&g->seconds, g->count, sizeof *g->seconds));
  return sl_calloc(&g->bytes, g->count, sizeof *g->bytes);
}

static void free_grid(struct grid *g) {
  free(g->choices);
  free(g->seconds);
  free(g->bytes);
}

/* ---- the fast clock ---- */

/* Predicts choices until `limit` seconds have passed, *reached of them; choices without a plan take time, too. */
static double ask_all(struct sl_fast *fast, struct grid *g, double limit, size_t *reached, struct speed *out) {
  const double start = sl_machine_clock();
  out->count = out->whole = 0;
  for (*reached = 0; *reached < g->count; (*reached)++) {
    struct sl_fast_prediction p;
    if (*reached % 16 == 0 && sl_machine_clock() - start > limit) break;
    g->seconds[*reached] = 0;
    if (sl_fast_predict(fast, &g->choices[*reached], &p) != SL_OK) {
      sl_error_clear();
      continue;
    }
    g->seconds[*reached] = p.step_time_s;
    g->bytes[*reached] = p.memory_bytes;
    out->count++;
    out->whole += p.whole;
  }
  return sl_machine_clock() - start;
}

static enum sl_status run_fast(const struct sl_setup *s, struct grid *g, double limit, struct speed *out) {
  struct sl_fast *fast;
  size_t reached, again;
  const double before = begin_growth();
  *out = (struct speed){0};
  SL_TRY(sl_fast_open(&fast, &s->model, &s->config, &s->cluster));
  const double first = ask_all(fast, g, limit, &reached, out);
  g->count = reached;
  out->per_s = (double)out->count / first;
  const double second = ask_all(fast, g, INFINITY, &again, out);
  out->again = (double)out->count / second;
  out->grown = growth_since(before);
  sl_fast_close(fast);
  return SL_OK;
}

/* ---- the exact clock ---- */

/* The step time in seconds and the peak live bytes of a choice. */
static enum sl_status predict_exactly(const struct sl_setup *s, const struct sl_fast_choice *c, double *seconds,
                                      double *bytes) {
  enum sl_status status;
  struct sl_plan plan = {0};
  struct sl_job job = {0};
  struct sl_config config;
  struct sl_run run = {.exec = &sl_exec_sim, .job = &job, .options = {.fold = true, .fail_rank = -1}, .steps = 1};
  sl_fast_configure(&s->config, c, &config);
  *bytes = 0;
  SL_GO(sl_plan_build(&plan, &s->model, &config, &s->cluster, c->world));
  SL_GO(sl_job_build(&job, &plan, &(struct sl_build_options){.repeated = true}));
  SL_GO(sl_run_execute(&run));
  *seconds = run.results[0].end_s - run.results[0].start_s;
  for (int i = 0; i < job.class_count; i++)
    *bytes = fmax(*bytes, (double)job.classes[i].memory[SL_SPACE_DEVICE].live_peak_bytes);
done:
  sl_run_close(&run);
  sl_job_free(&job);
  sl_plan_free(&plan);
  return status;
}

/* Predicts a sample from all over the grid, until `limit` seconds have passed. */
static enum sl_status run_exact(const struct sl_setup *s, const struct grid *g, double limit, struct speed *out) {
  enum { STRIDE = 7919 }; /* a prime, so that steps of this size reach every configuration of a grid */
  const double before = begin_growth(), start = sl_machine_clock();
  double seconds, bytes;
  *out = (struct speed){0};
  for (size_t i = 0; i < g->count && (i == 0 || sl_machine_clock() - start < limit); i++) {
    const size_t k = i * STRIDE % g->count;
    if (!(g->seconds[k] > 0)) continue;
    SL_TRY(predict_exactly(s, &g->choices[k], &seconds, &bytes));
    out->count++;
    out->time_off = fmax(out->time_off, fabs(g->seconds[k] / seconds - 1));
    out->memory_off = fmax(out->memory_off, fabs(g->bytes[k] / bytes - 1));
  }
  out->per_s = (double)out->count / (sl_machine_clock() - start);
  out->grown = growth_since(before);
  return SL_OK;
}

/* ---- the command ---- */

static void say(FILE *out, const struct sl_setup *s, int world, const struct grid *g, const struct speed *fast,
                const struct speed *exact) {
  fprintf(out, "bench: %s on %d of %s, one core: %zu configurations, %zu with a plan\n", s->model.name, world,
          s->cluster.name, g->count, fast->count);
  fprintf(out, "  exact clock   %12.1f configurations/s, %.1f MB (%zu of them)\n", exact->per_s, 1e-6 * exact->grown,
          exact->count);
  fprintf(out, "  fast clock    %12.1f configurations/s, %.1f MB; %.0f/s once all is known (%zu as a whole)\n",
          fast->per_s, 1e-6 * fast->grown, fast->again, fast->whole);
  fprintf(out, "  apart at most %.4f %% in time, %.4f %% in memory\n", 100 * exact->time_off, 100 * exact->memory_off);
}

static json_t *pack(const struct sl_setup *s, int world, const struct grid *g, const struct speed *fast,
                    const struct speed *exact) {
  return json_pack("{s:s, s:s, s:i, s:I, s:{s:I, s:f, s:f}, s:{s:I, s:I, s:f, s:f, s:f}, s:{s:f, s:f}}", "model",
                   s->model.name, "cluster", s->cluster.name, "world", world, "configurations", (json_int_t)g->count,
                   "exact", "configurations", (json_int_t)exact->count, "per_s", exact->per_s, "memory_MB",
                   1e-6 * exact->grown, "fast", "configurations", (json_int_t)fast->count, "whole",
                   (json_int_t)fast->whole, "per_s", fast->per_s, "known_per_s", fast->again, "memory_MB",
                   1e-6 * fast->grown, "apart", "time", exact->time_off, "memory", exact->memory_off);
}

static enum sl_status bench(const struct sl_options *options, struct sl_setup *setup) {
  enum sl_status status;
  struct grid g = {0};
  struct speed fast, exact;
  const int world = (int)options->world;
  const double limit = options->quick ? 0.5 : 5; /* seconds per clock */
  SL_GO(fill_grid(&g, setup, world));
  SL_GO(run_fast(setup, &g, limit, &fast));
  SL_GO(run_exact(setup, &g, limit, &exact));
  if (fast.count == 0) {
    status = sl_fail(SL_ERR_INPUT, "no configuration of %s on %d ranks has a plan", setup->model.name, world);
    goto done;
  }
  if (!options->quiet) say(sl_output_text(options), setup, world, &g, &fast, &exact);
  SL_GO(sl_output_json(options, pack(setup, world, &g, &fast, &exact)));
done:
  free_grid(&g);
  return status;
}

static enum sl_status run(const struct sl_options *options) {
  struct sl_setup setup;
  if (strcmp(options->operand[0], "sim") != 0)
    return sl_fail(SL_ERR_INPUT, "bench '%s': expected sim, the clocks of a prediction", options->operand[0]);
  SL_TRY(sl_output_check(options));
  SL_TRY(sl_setup_plan(&setup, options)); /* reports errors in the inputs */
  void *context;
  const sl_warn_sink before = sl_warn_get_sink(&context);
  sl_warn_set_sink(sl_warn_drop, NULL);
  const enum sl_status status = bench(options, &setup);
  sl_warn_set_sink(before, context);
  sl_setup_free(&setup);
  return status;
}

const struct sl_command sl_command_bench = {
    .name = "bench",
    .bit = SL_CMD_BENCH,
    .operands = "sim",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "How fast predictions are: configurations a second of both clocks, and how far they are apart",
    .help =
        "Both clocks predict step time and peak memory of many configurations of one model on --world ranks: all\n"
        "layouts of tensor and pipeline parallelism, micro-batches, schedules and recomputation, each clock on one\n"
        "core for at most 5 s (--quick: 0.5 s). What a configuration's file says of anything else holds for all.\n"
        "MB is the most that the process has grown by. The fast clock is told once more what it knows already.\n",
    .example = "shardlab bench sim --model llama3-8b --cluster dgx-a100-80g --world 64",
    .run = run,
};
