/* The flops profiler; see flops.h. */
#include "cli/flops.h"

#include "core/base/new_file.h"
#include "core/base/units.h"
#include "sim/sim.h"

#include <stdlib.h>
#include <string.h>

enum sl_status sl_flops_open(struct sl_flops *f, const struct sl_setup *setup, bool measures) {
  *f = (struct sl_flops){.setup = setup, .on = setup->config.flops_profiler.enabled, .measures = measures};
  return f->on ? sl_module_profile_open(&f->own, &setup->job, 0) : SL_OK;
}

void sl_flops_add(struct sl_flops *f, int64_t step, const struct sl_program *program,
                  const struct sl_completion *done) {
  if (!f->on || (f->measures && step != f->setup->config.flops_profiler.profile_step)) return;
  sl_module_profile_add(&f->own, step, program, done);
}

void sl_flops_time(struct sl_flops *f, int64_t step, const struct sl_phase_times *times) {
  if (f->on && step == f->setup->config.flops_profiler.profile_step) f->times = *times;
}

/* ---- the record ---- */

static void observe(void *context, int local, int64_t step, const struct sl_program *program,
                    const struct sl_completion *done) {
  struct sl_flops *f = context;
  if (local == 0) sl_module_profile_add(&f->predicted, step, program, done);
}

/* Simulates a step of the same job, of the same kind as the measured one. */
static enum sl_status predict(struct sl_flops *f) {
  const bool grows = sl_program_compresses(&f->setup->config);
  struct sl_run run = {
      .exec = &sl_exec_sim,
      .job = &f->setup->job,
      .options = {.fold = true, .first_step = grows ? f->own.step : 0, .fail_rank = -1, .fail_step = -1},
      .steps = 1,
      .observe = observe,
      .observe_context = f};
  SL_TRY(sl_module_profile_open(&f->predicted, &f->setup->job, 0));
  SL_TRY(sl_run_execute(&run));
  sl_run_close(&run);
  return SL_OK;
}

static json_t *module_json(const struct sl_flops *f, size_t i) {
  const struct sl_module_row *r = &f->own.rows[i];
  json_t *item = json_pack("{s:s, s:i, s:I, s:I, s:I}", "name", r->name, "depth", r->depth, "parameters",
                           (json_int_t)r->parameters, "macs", (json_int_t)r->macs, "flops", (json_int_t)r->flops);
  const double predicted = f->measures ? f->predicted.rows[i].time_s : r->time_s;
  if (f->measures) json_object_set_new(item, "latency_s", json_real(r->time_s));
  json_object_set_new(item, "predicted_latency_s", json_real(predicted));
  return item;
}

enum sl_status sl_flops_put(struct sl_flops *f, json_t *record) {
  if (!f->on) return SL_OK;
  if (f->own.step < 0) {
    sl_config_warn(&f->setup->config, "flops_profiler.profile_step", "no such step was taken: there is no profile");
    return SL_OK;
  }
  if (f->measures) SL_TRY(predict(f));
  json_t *profile = json_object(), *modules = json_array();
  if (f->measures) json_object_set_new(profile, "step", json_integer(f->own.step));
  if (f->times.forward_s > 0) {
    json_object_set_new(profile, "forward_time_s", json_real(f->times.forward_s));
    json_object_set_new(profile, "backward_time_s", json_real(f->times.backward_s));
    json_object_set_new(profile, "optimizer_time_s", json_real(f->times.step_s));
  }
  for (size_t i = 0; i < f->own.count; i++) json_array_append_new(modules, module_json(f, i));
  json_object_set_new(profile, "modules", modules);
  json_object_set_new(record, "flops_profile", profile);
  return SL_OK;
}

/* ---- the table ---- */

static double number_of(const json_t *row, const char *key) {
  return json_number_value(json_object_get(row, key));
}

static const char *name_of(const json_t *row) {
  const char *name = json_string_value(json_object_get(row, "name"));
  return name[0] != '\0' ? name : "model";
}

static void print_time(FILE *out, const json_t *row, const char *key, int width) {
  char text[32] = "-";
  if (json_object_get(row, key) != NULL) sl_format_seconds(text, sizeof text, number_of(row, key));
  fprintf(out, " %*s", width, text);
}

static void print_rate(FILE *out, const char *what, double flops, double seconds) {
  char rate[32];
  sl_format_count(rate, sizeof rate, seconds > 0 ? flops / seconds : 0);
  fprintf(out, "%-70s  %sFLOPS\n", what, rate);
}

static void print_seconds(FILE *out, const char *what, double seconds) {
  char text[32];
  sl_format_seconds(text, sizeof text, seconds);
  fprintf(out, "%-70s  %s\n", what, text);
}

/* The lines about the whole step, from the clocks around its phases, which DeepSpeed prints with wall_clock_breakdown.
 * A backward counts as two forwards, plus recompute_fwd_factor. DeepSpeed's words for its flops, those of one forward,
 * are those of a step of one micro-batch only. */
static void print_phases(const struct sl_config *config, const json_t *record, double micro_flops, FILE *out) {
  const json_t *profile = json_object_get(record, "flops_profile"), *plan = json_object_get(record, "plan");
  const double fwd = number_of(profile, "forward_time_s"), bwd = number_of(profile, "backward_time_s");
  const double step = number_of(profile, "optimizer_time_s"), iter = fwd + bwd + step;
  const double micro_batches = number_of(plan, "micro_batches"), flops = micro_flops * micro_batches;
  const double factor = 2 + config->flops_profiler.recompute_fwd_factor;
  const char *counted = micro_batches > 1 ? "fwd flops of the step" : "fwd flops per GPU";
  char what[96], count[32];
  if (micro_batches > 1) {
    sl_format_count(count, sizeof count, flops);
    snprintf(what, sizeof what, "fwd flops of the step = %g * fwd flops per GPU:", micro_batches);
    fprintf(out, "%-70s  %s\n", what, count);
  }
  print_seconds(out, "fwd latency of the step:", fwd);
  snprintf(what, sizeof what, "fwd FLOPS per GPU = %s / fwd latency of the step:", counted);
  print_rate(out, what, flops, fwd);
  print_seconds(out, "bwd latency:", bwd);
  snprintf(what, sizeof what, "bwd FLOPS per GPU = %g * %s / bwd latency:", factor, counted);
  print_rate(out, what, factor * flops, bwd);
  snprintf(what, sizeof what, "fwd+bwd FLOPS per GPU = %g * %s / (fwd+bwd latency):", factor + 1, counted);
  print_rate(out, what, (factor + 1) * flops, fwd + bwd);
  print_seconds(out, "step latency:", step);
  print_seconds(out, "iter latency:", iter);
  snprintf(what, sizeof what, "FLOPS per GPU = %g * %s / iter latency:", factor + 1, counted);
  print_rate(out, what, (factor + 1) * flops, iter);
  fprintf(out, "%-70s  %.2f\n", "samples/second:", iter > 0 ? number_of(plan, "global_batch") / iter : 0);
}

static void print_summary(const struct sl_config *config, const json_t *record, const json_t *modules, FILE *out) {
  const json_t *plan = json_object_get(record, "plan"), *model = json_array_get(modules, 0);
  const json_t *step = json_object_get(json_object_get(record, "flops_profile"), "step");
  const char *key = step != NULL ? "latency_s" : "predicted_latency_s";
  char macs[32], flops[32], latency[32], rate[32], parameters[32];
  sl_format_count(parameters, sizeof parameters, number_of(model, "parameters"));
  sl_format_count(macs, sizeof macs, number_of(model, "macs"));
  sl_format_count(flops, sizeof flops, number_of(model, "flops"));
  sl_format_seconds(latency, sizeof latency, number_of(model, key));
  sl_format_count(rate, sizeof rate, number_of(model, key) > 0 ? number_of(model, "flops") / number_of(model, key) : 0);
  fputs("\n-------------------------- DeepSpeed Flops Profiler --------------------------\n", out);
  if (step != NULL)
    fprintf(out, "Profile Summary at step %lld:\n", (long long)json_integer_value(step));
  else
    fputs("Profile Summary, predicted:\n", out);
  fprintf(out, "%-70s  %lld\n", "world size:", (long long)json_integer_value(json_object_get(plan, "world")));
  fprintf(out, "%-70s  %lld\n", "data parallel size:", (long long)json_integer_value(json_object_get(plan, "dp")));
  fprintf(out, "%-70s  %lld\n", "model parallel size:", (long long)json_integer_value(json_object_get(plan, "tp")));
  fprintf(out, "%-70s  %lld\n", "batch size per GPU:", (long long)config->train_micro_batch_size_per_gpu);
  fprintf(out, "%-70s  %s\n", "params per GPU:", parameters);
  fprintf(out, "%-70s  %s\n", "fwd MACs per GPU:", macs);
  fprintf(out, "%-70s  %s\n", "fwd flops per GPU:", flops);
  fprintf(out, "%-70s  %s\n", "fwd latency:", latency);
  fprintf(out, "%-70s  %sFLOPS\n", "fwd FLOPS per GPU = fwd flops per GPU / fwd latency:", rate);
  if (json_object_get(json_object_get(record, "flops_profile"), "forward_time_s") != NULL)
    print_phases(config, record, number_of(model, "flops"), out);
}

/* The kind of a module, the same for all layers: "h.*.attn" for "h.3.attn". */
static void kind_of(char out[64], const char *name) {
  size_t n = 0;
  for (const char *c = name; *c != '\0' && n < 63;) {
    const bool starts = c == name || c[-1] == '.';
    const size_t digits = strspn(c, "0123456789");
    const bool layer = starts && digits > 0 && (c[digits] == '.' || c[digits] == '\0');
    out[n++] = layer ? '*' : *c;
    c += layer ? digits : 1;
  }
  out[n] = '\0';
}

struct sum {
  char kind[64];
  double value;
};

static int by_value(const void *a, const void *b) {
  const struct sum *x = a, *y = b;
  return (x->value < y->value) - (x->value > y->value);
}

/* Prints the `top` kinds of modules of one depth, ranked by one quantity. */
static enum sl_status print_top(const json_t *modules, int depth, const char *key, int64_t top, bool seconds,
                                FILE *out) {
  struct sum *sums;
  size_t count = 0, i, k;
  const json_t *row;
  SL_TRY(sl_calloc(&sums, json_array_size(modules), sizeof *sums));
  json_array_foreach(modules, i, row) {
    char kind[64];
    if (json_integer_value(json_object_get(row, "depth")) != depth) continue;
    kind_of(kind, name_of(row));
    for (k = 0; k < count && strcmp(sums[k].kind, kind) != 0;) k++;
    if (k == count) memcpy(sums[count++].kind, kind, sizeof kind);
    sums[k].value += number_of(row, key);
  }
  qsort(sums, count, sizeof *sums, by_value);
  for (k = 0; k < count && k < (size_t)top; k++) {
    char text[32];
    seconds ? sl_format_seconds(text, sizeof text, sums[k].value) : sl_format_count(text, sizeof text, sums[k].value);
    fprintf(out, "%s'%s': '%s'", k > 0 ? ", " : "", sums[k].kind, text);
  }
  free(sums);
  return SL_OK;
}

static enum sl_status print_aggregated(const struct sl_config *config, const json_t *modules, FILE *out) {
  const int64_t top = config->flops_profiler.top_modules;
  const char *key =
      json_object_get(json_array_get(modules, 0), "latency_s") != NULL ? "latency_s" : "predicted_latency_s";
  int deepest = 0;
  const json_t *row;
  size_t i;
  json_array_foreach(modules, i, row) {
    const int depth = (int)json_integer_value(json_object_get(row, "depth"));
    if (depth > deepest) deepest = depth;
  }
  const int64_t asked = config->flops_profiler.module_depth;
  if (asked >= 0 && asked < deepest) deepest = (int)asked;
  fputs("\n----------------------------- Aggregated Profile per GPU -----------------------------\n", out);
  fprintf(out, "Top %lld modules in terms of params, MACs or fwd latency at different model depths:\n", (long long)top);
  for (int depth = 0; depth <= deepest; depth++) {
    fprintf(out, "depth %d:\n    params      - {", depth);
    SL_TRY(print_top(modules, depth, "parameters", top, false, out));
    fputs("}\n    MACs        - {", out);
    SL_TRY(print_top(modules, depth, "macs", top, false, out));
    fputs("}\n    fwd latency - {", out);
    SL_TRY(print_top(modules, depth, key, top, true, out));
    fputs("}\n", out);
  }
  return SL_OK;
}

static void print_detailed(const struct sl_config *config, const json_t *modules, FILE *out) {
  const json_t *row, *all = json_array_get(modules, 0);
  const int64_t deepest = config->flops_profiler.module_depth;
  size_t i;
  fputs("\n------------------------------ Detailed Profile per GPU ------------------------------\n", out);
  fprintf(out, "%-32s %9s %9s %7s %9s %12s %12s\n", "module", "params", "MACs", "of all", "flops", "fwd latency",
          "predicted");
  json_array_foreach(modules, i, row) {
    char parameters[32], macs[32], flops[32];
    const int depth = (int)json_integer_value(json_object_get(row, "depth"));
    if (deepest >= 0 && depth > deepest) continue;
    sl_format_count(parameters, sizeof parameters, number_of(row, "parameters"));
    sl_format_count(macs, sizeof macs, number_of(row, "macs"));
    sl_format_count(flops, sizeof flops, number_of(row, "flops"));
    const double share = number_of(all, "macs") > 0 ? number_of(row, "macs") / number_of(all, "macs") : 0;
    fprintf(out, "%*s%-*s %9s %9s %5.1f %% %9s", 2 * depth, "", 32 - 2 * depth, name_of(row), parameters, macs,
            100 * share, flops);
    print_time(out, row, "latency_s", 12);
    print_time(out, row, "predicted_latency_s", 12);
    fputc('\n', out);
  }
}

static enum sl_status print_all(const struct sl_config *config, const json_t *record, FILE *out) {
  const json_t *modules = json_object_get(json_object_get(record, "flops_profile"), "modules");
  print_summary(config, record, modules, out);
  SL_TRY(print_aggregated(config, modules, out));
  if (config->flops_profiler.detailed) print_detailed(config, modules, out);
  fputs("------------------------------------------------------------------------------\n", out);
  return SL_OK;
}

enum sl_status sl_flops_tell(const struct sl_config *config, const json_t *record, FILE *out) {
  const char *path = config->flops_profiler.output_file;
  struct sl_new_file file;
  if (json_object_get(record, "flops_profile") == NULL) return SL_OK;
  if (path[0] == '\0') return out != NULL ? print_all(config, record, out) : SL_OK;
  SL_TRY(sl_new_file_open(&file, path));
  const enum sl_status status = print_all(config, record, file.stream);
  if (status == SL_OK) return sl_new_file_finish(&file);
  sl_new_file_discard(&file);
  return status;
}

void sl_flops_close(struct sl_flops *f) {
  sl_module_profile_free(&f->own);
  sl_module_profile_free(&f->predicted);
}
