/* shardlab show: prints the inputs, the plan and the programs. */
#include "cli/show.h"

#include "cli/commands.h"
#include "cli/output.h"
#include "core/base/nearest.h"
#include "core/cluster/kernel_costs.h"
#include "core/plan/effective.h"
#include "core/plan/frameworks.h"
#include "core/plan/kernels.h"
#include "core/program/print.h"
#include "table/rows.h"

#include <string.h>

static json_t *names_json(const char *(*name)(int i)) {
  json_t *list = json_array();
  for (int i = 0; name(i) != NULL; i++) json_array_append_new(list, json_string(name(i)));
  return list;
}

static json_t *strategies_json(void) {
  json_t *list = json_array();
  const char *name, *description;
  for (int i = 0; sl_strategy_preset(i, &name, &description); i++)
    json_array_append_new(list, json_pack("{s:s, s:s}", "name", name, "description", description));
  return list;
}

static enum sl_status print_cluster(const char *name, FILE *out) {
  struct sl_cluster cluster;
  SL_TRY(sl_cluster_load(&cluster, name));
  if (cluster.device.kind == SL_DEVICE_CPU)
    fprintf(out, "  %-31s%s\n", name, cluster.device.name);
  else
    fprintf(out, "  %-31s%lld x %s\n", name, (long long)cluster.devices_per_node, cluster.device.name);
  sl_cluster_free(&cluster);
  return SL_OK;
}

static enum sl_status show_presets(const struct sl_options *options, FILE *out, json_t **json) {
  if (options->json != NULL) {
    *json = json_pack("{s:o, s:o, s:o}", "models", names_json(sl_model_preset_name), "clusters",
                      names_json(sl_cluster_preset_name), "strategies", strategies_json());
    return SL_OK;
  }
  fprintf(out, "models (--model):\n");
  for (int i = 0; sl_model_preset_name(i) != NULL; i++) {
    struct sl_model model;
    SL_TRY(sl_model_load(&model, sl_model_preset_name(i)));
    fprintf(out, "  %-16s %14lld parameters\n", sl_model_preset_name(i), (long long)sl_model_numel(&model));
    sl_model_free(&model);
  }
  fprintf(out, "clusters (--cluster), and the GPUs of a node:\n");
  for (int i = 0; sl_cluster_preset_name(i) != NULL; i++) SL_TRY(print_cluster(sl_cluster_preset_name(i), out));
  const char *name, *description;
  fprintf(out, "strategies (--preset):\n");
  for (int i = 0; sl_strategy_preset(i, &name, &description); i++) fprintf(out, "  %-31s%s\n", name, description);
  return SL_OK;
}

static void print_stages(FILE *out, unsigned stages) {
  char text[16] = "-";
  size_t used = 0;
  for (int s = 0; s < 4; s++)
    if (stages >> s & 1) used += (size_t)snprintf(text + used, sizeof text - used, "%s%d", used > 0 ? "," : "", s);
  fprintf(out, "  %-8s", text);
}

static json_t *stages_json(unsigned stages) {
  json_t *list = json_array();
  for (int s = 0; s < 4; s++)
    if (stages >> s & 1) json_array_append_new(list, json_integer(s));
  return list;
}

static json_t *framework_json(const struct sl_framework_support *f) {
  json_t *presets = json_array();
  for (int s = 0; s < 4; s++)
    json_array_append_new(presets, f->presets[s] != NULL ? json_string(f->presets[s]) : json_null());
  return json_pack("{s:s, s:s, s:o, s:o, s:o, s:s}", "framework", f->framework, "parallelism",
                   sl_parallelism_name(f->parallelism), "stages_2024_10", stages_json(f->then), "stages_2026_11",
                   stages_json(f->now), "presets", presets, "source", f->source);
}

/* Which ZeRO stages each framework supports with each kind of parallelism, in old and current versions. */
static void show_frameworks(const struct sl_options *options, FILE *out, json_t **json) {
  const struct sl_framework_support *f;
  if (options->json != NULL)
    *json = json_array();
  else
    fprintf(out, "%-24s  %-3s %-8s  %-8s  source\n", "framework", "", "2024-10", "2026-11");
  for (int i = 0; (f = sl_framework_support(i)) != NULL; i++) {
    if (options->json != NULL) {
      json_array_append_new(*json, framework_json(f));
      continue;
    }
    fprintf(out, "%-24s  %-2s", f->framework, sl_parallelism_name(f->parallelism));
    print_stages(out, f->then);
    print_stages(out, f->now);
    fprintf(out, "  %s\n", f->source);
  }
}

/* The columns that `predict --table` reads, which files of a source tree alone would say. */
static void show_columns(const struct sl_options *options, FILE *out, json_t **json) {
  static const struct {
    const char *name, *what;
    bool optional;
  } columns[] = {
#define X(kind, name, least, most, what) {#name, what, false},
      SL_TABLE_MAP(X)
#undef X
#define X(kind, name, least, most, what) {#name, what, true},
          SL_TABLE_OPTIONAL_MAP(X)
#undef X
  };
  if (options->json != NULL) *json = json_array();
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
    if (options->json != NULL)
      json_array_append_new(*json, json_pack("{s:s, s:b, s:s}", "column", columns[i].name, "optional",
                                             columns[i].optional, "what", columns[i].what));
    else
      fprintf(out, "%-20s  %-8s  %s\n", columns[i].name, columns[i].optional ? "optional" : "", columns[i].what);
  }
}

static enum sl_status show_model(const struct sl_options *options, json_t **json) {
  struct sl_model model;
  if (options->model == NULL) return sl_fail(SL_ERR_INPUT, "--model: is missing; expected a preset or a config.json");
  SL_TRY(sl_model_load(&model, options->model));
  *json = sl_model_to_json(&model);
  sl_model_free(&model);
  return SL_OK;
}

static enum sl_status show_cluster(const struct sl_options *options, json_t **json) {
  struct sl_cluster cluster;
  SL_TRY(sl_cluster_load(&cluster, options->cluster));
  *json = sl_cluster_to_json(&cluster);
  sl_cluster_free(&cluster);
  return SL_OK;
}

/* The costs of every kernel set beyond its kernels' work, with sources. */
static enum sl_status show_kernels(json_t **json) {
  *json = json_array();
  for (int set = 0; set < SL_KERNELS_COUNT; set++) {
    json_t *costs;
    SL_TRY(sl_kernel_costs_json(&costs, sl_kernel_set((enum sl_kernel_choice)set)->name));
    json_array_append_new(*json, costs);
  }
  return SL_OK;
}

static enum sl_program_kind program_kind(const char *name) {
  if (strcmp(name, "compressed") == 0) return SL_PROGRAM_COMPRESSED;
  if (strcmp(name, "eval") == 0) return SL_PROGRAM_EVAL;
  return strcmp(name, "init") == 0 ? SL_PROGRAM_INIT : strcmp(name, "save") == 0 ? SL_PROGRAM_SAVE : SL_PROGRAM_STEP;
}

static enum sl_status show_program(const struct sl_setup *setup, const struct sl_options *options, FILE *out) {
  if (options->rank >= setup->plan.world)
    return sl_fail(SL_ERR_INPUT, "--rank: is %lld; expected 0 to %d", (long long)options->rank, setup->plan.world - 1);
  const enum sl_program_kind kind = program_kind(options->program);
  if (kind == SL_PROGRAM_COMPRESSED && !sl_program_compresses(&setup->config))
    return sl_fail(SL_ERR_INPUT,
                   "--program: is compressed; expected optimizer.type OneBitAdam, which alone has such steps");
  if (kind == SL_PROGRAM_EVAL && setup->config.sl.eval_interval == 0)
    return sl_fail(SL_ERR_INPUT, "--program: is eval; expected --eval-interval beside it");
  sl_program_print(&setup->job, (int)options->rank, kind, out);
  return SL_OK;
}

/* Subjects that need a plan, or a plan with its programs. */
static enum sl_status show_planned(const char *what, const struct sl_options *options, FILE *out, json_t **json) {
  struct sl_setup setup;
  enum sl_status status = SL_OK;
  const bool light = strcmp(what, "config") == 0;
  SL_TRY(light ? sl_setup_plan(&setup, options) : sl_setup_job(&setup, options, SL_SETUP_PROGRAMS));
  if (strcmp(what, "config") == 0) *json = sl_effective_json(setup.plan.config);
  if (strcmp(what, "plan") == 0) status = sl_show_plan(&setup, options, out, json);
  if (strcmp(what, "program") == 0) status = show_program(&setup, options, out);
  if (strcmp(what, "memory") == 0) status = sl_show_memory(&setup, options, out, json);
  sl_setup_free(&setup);
  return status;
}

static enum sl_status find_subject(const char *what, bool *text_only) {
  static const char *const words[] = {"plan",    "schedule",  "program", "memory",     "config",  "model",
                                      "cluster", "estimator", "presets", "frameworks", "kernels", "columns"};
  enum { WORDS = sizeof words / sizeof *words };
  *text_only = strcmp(what, "schedule") == 0 || strcmp(what, "program") == 0;
  for (int i = 0; i < WORDS; i++)
    if (strcmp(words[i], what) == 0) return SL_OK;
  if (strcmp(what, "models") == 0 || strcmp(what, "clusters") == 0)
    return sl_fail(SL_ERR_INPUT, "show: '%s' is nothing to show; the built-in %s are in 'shardlab show presets'", what,
                   what);
  const char *near = sl_nearest(what, words, WORDS);
  return sl_fail(SL_ERR_INPUT,
                 "show: '%s' is nothing to show; expected plan, schedule, program, memory, config, model, cluster, "
                 "estimator, presets, frameworks, kernels or columns%s%s%s",
                 what, near != NULL ? "; did you mean '" : "", near != NULL ? near : "", near != NULL ? "'?" : "");
}

/* Lists of what there is, which belong to no job. */
static bool is_list(const char *what) {
  return strcmp(what, "presets") == 0 || strcmp(what, "frameworks") == 0 || strcmp(what, "kernels") == 0 ||
         strcmp(what, "columns") == 0;
}

/* Refuses flags that the subject does not use. One that is part of a job takes all flags of the job. */
static enum sl_status check_flags(const char *what, const struct sl_options *options) {
  static const struct {
    const char *flag, *first, *second;
  } uses[] = {{"svg", "schedule", NULL},
              {"csv", "schedule", NULL},
              {"lowered", "schedule", NULL},
              {"program", "program", NULL},
              {"rank", "program", "memory"}};
  for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
    const char *second = uses[i].second;
    if (!sl_options_given(options, uses[i].flag) || strcmp(what, uses[i].first) == 0) continue;
    if (second != NULL && strcmp(what, second) == 0) continue;
    return sl_fail(SL_ERR_INPUT, "--%s: is for 'show %s'%s%s%s; 'show %s' has no use for it", uses[i].flag,
                   uses[i].first, second != NULL ? " and 'show " : "", second != NULL ? second : "",
                   second != NULL ? "'" : "", what);
  }
  static const char *const taken[] = {"json", NULL};
  const char *other = is_list(what) ? sl_options_beside(options, taken) : NULL;
  if (other == NULL) return SL_OK;
  return sl_fail(SL_ERR_INPUT, "--%s: 'show %s' has no use for it", other, what);
}

static enum sl_status run(const struct sl_options *options) {
  const char *what = options->operand[0];
  FILE *out = sl_output_text(options);
  json_t *json = NULL;
  bool text_only;
  SL_TRY(sl_output_check(options));
  SL_TRY(find_subject(what, &text_only));
  SL_TRY(check_flags(what, options));
  if (text_only && options->json != NULL)
    return sl_fail(SL_ERR_INPUT, "--json: a %s is shown as text only; expected no --json", what);
  if (strcmp(what, "presets") == 0)
    SL_TRY(show_presets(options, out, &json));
  else if (strcmp(what, "frameworks") == 0)
    show_frameworks(options, out, &json);
  else if (strcmp(what, "columns") == 0)
    show_columns(options, out, &json);
  else if (strcmp(what, "kernels") == 0)
    SL_TRY(show_kernels(&json));
  else if (strcmp(what, "model") == 0)
    SL_TRY(show_model(options, &json));
  else if (strcmp(what, "cluster") == 0)
    SL_TRY(show_cluster(options, &json));
  else if (strcmp(what, "schedule") == 0)
    SL_TRY(sl_show_schedule(options, out));
  else if (strcmp(what, "estimator") == 0)
    SL_TRY(sl_show_estimator(options, out, &json));
  else
    SL_TRY(show_planned(what, options, out, &json));
  if (json == NULL) return SL_OK;
  if (options->json != NULL) return sl_output_json(options, json);
  const enum sl_status status = sl_json_print(json, out);
  json_decref(json);
  return status;
}

const struct sl_command sl_command_show = {
    .name = "show",
    .bit = SL_CMD_SHOW,
    .operands = "plan|schedule|program|memory|config|model|cluster|estimator|presets|frameworks|kernels|columns",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "Show what a configuration turns into",
    .help = "plan: ranks, groups, the map of pp, dp and tp, and who owns which bytes;\n"
            "schedule: the pipeline in ticks, one row a rank (needs no model: --pp, --grad-accum, --schedule NAME or\n"
            "FILE.csv; --csv, --lowered, --svg; colours on a terminal unless NO_COLOR is set);\n"
            "program: the ops of one rank; memory: the arena by category, phase and over time, of the rank that needs\n"
            "most or of --rank; config, model, cluster: after defaults;\n"
            "estimator: what DeepSpeed's memory estimators say of the model; presets: every built-in name;\n"
            "frameworks: which parallelism and ZeRO stages each of them expresses, 2024 and now;\n"
            "kernels: what each kernel set costs beside its kernels' work, and where the numbers come from;\n"
            "columns: what a row of predict --table says.\n",
    .example = "shardlab show memory --model gpt2 --config examples/ds_zero2.json --world 4",
    .run = run,
};
