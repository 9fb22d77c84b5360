/* shardlab show schedule: the pipeline as a grid of ticks, one row per rank, in the terminal or as SVG; or its actions
 * as PyTorch's CSV. Needs no model: --pp, --grad-accum and --schedule suffice, and a config supplies those not given.
 * The time is that of the schedule's dry run (core/schedule/action.h): F, I and W take one tick, B two, transfers
 * none. */
#include "cli/output.h"
#include "cli/show.h"
#include "core/base/checked.h"
#include "core/base/limits.h"
#include "core/base/new_file.h"
#include "core/base/printable.h"
#include "core/schedule/action.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The schedule to build: from flags, else the config, else the defaults. */
struct request {
  char name[256];
  int ranks, stages, micro_batches;
};

static enum sl_status ask_config(struct request *r, const struct sl_options *options) {
  struct sl_config config;
  struct sl_options rest = *options;
  rest.schedule = NULL; /* may be a path, which the config cannot hold */
  SL_TRY(sl_setup_config(&config, &rest));
  const int64_t replica = sl_product(sl_product(config.sl.pp, config.sl.tp), config.sl.cp);
  const int dp = (int)(options->world > replica ? options->world / replica : 1);
  enum sl_status status = sl_config_resolve_batch(&config, dp);
  const int64_t micro_batches = config.gradient_accumulation_steps;
  if (status == SL_OK && micro_batches > SL_MAX_MICRO_BATCHES)
    status = sl_json_fail(&config.doc, "gradient_accumulation_steps", "gives %lld micro-batches; expected at most %lld",
                          (long long)micro_batches, (long long)SL_MAX_MICRO_BATCHES);
  if (status == SL_OK) {
    snprintf(r->name, sizeof r->name, "%s", config.sl.schedule);
    r->ranks = config.sl.pp;
    r->stages = config.sl.virtual_stages > 1 ? config.sl.virtual_stages : 0;
    r->micro_batches = (int)micro_batches;
  }
  sl_config_free(&config);
  return status;
}

static enum sl_status ask(struct request *r, const struct sl_options *options) {
  *r = (struct request){.ranks = 1};
  /* as of a job (cli/defaults.c), which a config has asked for by itself */
  strcpy(r->name, options->virtual_stages > 1 ? "interleaved" : "1f1b");
  if (options->config != NULL || options->preset != NULL) SL_TRY(ask_config(r, options));
  if (options->schedule != NULL) snprintf(r->name, sizeof r->name, "%s", options->schedule);
  if (sl_options_given(options, "pp")) r->ranks = (int)options->pp;
  if (sl_options_given(options, "grad-accum")) r->micro_batches = (int)options->grad_accum;
  if (sl_options_given(options, "virtual-stages")) r->stages = (int)options->virtual_stages;
  struct sl_schedule_stages wanted;
  if (r->stages != 0 && !sl_schedule_deals(r->name, r->stages, &wanted))
    return sl_fail(SL_ERR_INPUT, "%s: is %d; expected %s, as schedule %s deals to a rank",
                   sl_options_given(options, "virtual-stages") ? "--virtual-stages" : "shardlab.virtual_stages",
                   r->stages, wanted.text, r->name);
  if (r->stages == 0) r->stages = sl_schedule_default_stages(r->name);
  if (r->micro_batches == 0)
    return sl_fail(SL_ERR_INPUT, "--grad-accum: is missing; expected the micro-batches of a step, or a --config");
  return SL_OK;
}

static enum sl_status load(struct sl_schedule *s, const struct sl_options *options) {
  SL_TRY(sl_schedule_load(s, options->schedule));
  const struct {
    const char *flag;
    int64_t asked;
    int has;
  } sizes[] = {{"pp", options->pp, s->ranks}, {"grad-accum", options->grad_accum, s->micro_batches}};
  for (int i = 0; i < 2; i++) {
    if (!sl_options_given(options, sizes[i].flag) || sizes[i].asked == sizes[i].has) continue;
    const int has = sizes[i].has;
    sl_schedule_free(s);
    return sl_fail(SL_ERR_INPUT, "--%s: is %lld; %s has %d", sizes[i].flag, (long long)sizes[i].asked,
                   options->schedule, has);
  }
  return SL_OK;
}

/* UNSHARD and RESHARD only if parameters are sharded; at most this many stages of a rank are unsharded at a time, as in
 * PyTorch. */
enum { MAX_ACTIVE_STAGES = 3 };

static enum sl_status lower(struct sl_schedule *s, const struct sl_options *options) {
  if (options->zero_stage == 3) SL_TRY(sl_schedule_lower_unshard(s, MAX_ACTIVE_STAGES));
  SL_TRY(sl_schedule_lower_reduce(s));
  SL_TRY(sl_schedule_lower_sends(s));
  return sl_schedule_validate(s);
}

/* What is drawn: every compute action of a rank as a bar of ticks. */
struct drawing {
  const struct sl_schedule *s;
  const struct sl_schedule_run *run;
  struct sl_schedule_costs costs;
  const char *title;
  int stages; /* the largest number of stages on a rank */
  int *local; /* of each stage, its index among those of its rank */
};

static int ticks(const struct drawing *d, enum sl_action_kind kind) {
  return kind == SL_ACTION_FORWARD          ? d->costs.forward
         : kind == SL_ACTION_BACKWARD       ? d->costs.backward
         : kind == SL_ACTION_BACKWARD_INPUT ? d->costs.input
                                            : d->costs.weight;
}

/* Numbers the stages of every rank. */
static enum sl_status number_stages(struct drawing *d) {
  const struct sl_schedule *s = d->s;
  int *counts;
  SL_TRY(sl_calloc(&counts, (size_t)s->ranks, sizeof *counts));
  enum sl_status status = sl_calloc(&d->local, (size_t)s->stages, sizeof *d->local);
  for (int stage = 0; status == SL_OK && stage < s->stages; stage++) {
    d->local[stage] = counts[s->stage_rank[stage]]++;
    if (d->local[stage] >= d->stages) d->stages = d->local[stage] + 1;
  }
  free(counts);
  return status;
}

static char letter(enum sl_action_kind kind) {
  return kind == SL_ACTION_FORWARD          ? 'F'
         : kind == SL_ACTION_BACKWARD       ? 'B'
         : kind == SL_ACTION_BACKWARD_INPUT ? 'I'
                                            : 'W';
}

/* "F3", or "F3b" for the second stage of a rank. */
static void label(char *out, size_t size, const struct drawing *d, const struct sl_action *a) {
  const int n = snprintf(out, size, "%c%d", letter(a->kind), a->micro_batch);
  if (d->stages > 1 && (size_t)n + 1 < size) snprintf(out + n, size - (size_t)n, "%c", 'a' + d->local[a->stage] % 26);
}

static const char *colour_of(enum sl_action_kind kind) {
  return kind == SL_ACTION_FORWARD          ? "\033[30;44m"
         : kind == SL_ACTION_BACKWARD       ? "\033[30;42m"
         : kind == SL_ACTION_BACKWARD_INPUT ? "\033[30;46m"
                                            : "\033[30;43m";
}

static void print_row(const struct drawing *d, int rank, int width, bool colours, FILE *out) {
  int64_t now = 0;
  fprintf(out, "rank %3d ", rank);
  for (size_t i = 0; i < d->s->counts[rank]; i++) {
    const struct sl_action *a = &d->s->actions[rank][i];
    const int64_t start = d->run->start[rank][i];
    char text[32];
    if (start < 0) continue;
    for (; now < start; now++) fprintf(out, " .%*s", width - 2, "");
    label(text, sizeof text, d, a);
    /* dashes for the columns after the first tick; with colours the length shows without them */
    const int blanks = width - 1 - (int)strlen(text), dashes = width * (ticks(d, a->kind) - 1);
    fprintf(out, " %s%s", colours ? colour_of(a->kind) : "", text);
    for (int c = 0; c < dashes; c++) fputc(colours ? ' ' : '-', out);
    fprintf(out, "%*s%s", blanks, "", colours ? "\033[0m" : "");
    now += ticks(d, a->kind);
  }
  for (; now < d->run->makespan; now++) fprintf(out, " .%*s", width - 2, "");
  fprintf(out, "\n");
}

static void print_summary(const struct drawing *d, FILE *out) {
  int most = 0;
  for (int rank = 0; rank < d->s->ranks; rank++) most = d->run->peak[rank] > most ? d->run->peak[rank] : most;
  fprintf(out, "\n%lld ticks (F %d, B %d, I %d, W %d), bubble %.2f%%; activations of at most",
          (long long)d->run->makespan, d->costs.forward, d->costs.backward, d->costs.input, d->costs.weight,
          100 * d->run->bubble);
  for (int rank = 0; rank < d->s->ranks && rank < 16; rank++) fprintf(out, " %d", d->run->peak[rank]);
  if (d->s->ranks > 16) fprintf(out, " ... (most: %d)", most);
  fprintf(out, " micro-batches%s held by rank\n", d->stages > 1 ? " x stages" : "");
}

static void print_grid(const struct drawing *d, bool colours, FILE *out) {
  char text[32];
  const struct sl_action widest = {SL_ACTION_FORWARD, 0, d->s->micro_batches - 1};
  label(text, sizeof text, d, &widest);
  fprintf(out, "%s: %d ranks, %d stages, %d micro-batches\n\n", sl_printable_of(d->title).text, d->s->ranks,
          d->s->stages, d->s->micro_batches);
  for (int rank = 0; rank < d->s->ranks; rank++) print_row(d, rank, (int)strlen(text) + 1, colours, out);
  print_summary(d, out);
}

enum { CELL_WIDTH = 26, CELL_HEIGHT = 24, LEFT = 64, TOP = 34 };

static const char *fill_of(enum sl_action_kind kind) {
  return kind == SL_ACTION_FORWARD          ? "#56b4e9"
         : kind == SL_ACTION_BACKWARD       ? "#009e73"
         : kind == SL_ACTION_BACKWARD_INPUT ? "#e69f00"
                                            : "#f0e442";
}

static void svg_row(const struct drawing *d, int rank, FILE *out) {
  const int y = TOP + rank * CELL_HEIGHT;
  fprintf(out, "<text x=\"8\" y=\"%d\">rank %d</text>\n", y + 16, rank);
  fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"%lld\" height=\"%d\" fill=\"#eeeeee\"/>\n", LEFT, y + 1,
          (long long)d->run->makespan * CELL_WIDTH, CELL_HEIGHT - 2);
  for (size_t i = 0; i < d->s->counts[rank]; i++) {
    const struct sl_action *a = &d->s->actions[rank][i];
    if (d->run->start[rank][i] < 0) continue;
    const long long x = LEFT + (long long)d->run->start[rank][i] * CELL_WIDTH;
    const int width = ticks(d, a->kind) * CELL_WIDTH;
    const double shade = d->stages > 1 ? 1 - 0.6 * d->local[a->stage] / (d->stages - 1) : 1;
    char text[32];
    sl_action_print(text, sizeof text, a);
    fprintf(out,
            "<rect x=\"%lld\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\" "
            "fill-opacity=\"%.2f\"><title>%s</title></rect>",
            x, y + 1, width - 1, CELL_HEIGHT - 2, fill_of(a->kind), shade, text);
    fprintf(out, "<text x=\"%lld\" y=\"%d\" text-anchor=\"middle\">%d</text>\n", x + width / 2, y + 16, a->micro_batch);
  }
}

/* Refuses an SVG too large for any browser, and a grid that nobody can read. */
static enum sl_status check_cells(const struct drawing *d, const struct sl_options *options) {
  int64_t actions = 0;
  for (int rank = 0; rank < d->s->ranks; rank++) actions += (int64_t)d->s->counts[rank];
  if (options->svg != NULL && actions > SL_MAX_CELLS)
    return sl_fail(SL_ERR_INPUT, "--svg: has %lld actions; expected at most %lld", (long long)actions,
                   (long long)SL_MAX_CELLS);
  const int64_t cells = sl_product(d->s->ranks, d->run->makespan);
  if (!options->csv && cells > SL_MAX_GRID)
    return sl_fail(SL_ERR_INPUT,
                   "the grid of %d ranks and %lld ticks has %lld cells; expected at most %lld; --csv lists the actions",
                   d->s->ranks, (long long)d->run->makespan, (long long)cells, (long long)SL_MAX_GRID);
  return SL_OK;
}

static enum sl_status write_svg(const struct drawing *d, const char *path) {
  static const enum sl_action_kind kinds[] = {SL_ACTION_FORWARD, SL_ACTION_BACKWARD, SL_ACTION_BACKWARD_INPUT,
                                              SL_ACTION_BACKWARD_WEIGHT};
  struct sl_new_file file;
  SL_TRY(sl_new_file_open(&file, path));
  FILE *out = file.stream;
  const long long width = LEFT + (long long)d->run->makespan * CELL_WIDTH + 8;
  const int bottom = TOP + d->s->ranks * CELL_HEIGHT;
  fprintf(out,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%lld\" height=\"%d\" font-family=\"sans-serif\" "
          "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
          width > 420 ? width : 420, bottom + 34);
  fprintf(out, "<text x=\"8\" y=\"20\" font-weight=\"bold\">%s: %d stages, %d micro-batches, bubble %.2f%%</text>\n",
          sl_schedule_is_file(d->title) ? "schedule"
                                        : d->title /* a path may contain characters that XML does not allow */,
          d->s->stages, d->s->micro_batches, 100 * d->run->bubble);
  for (int rank = 0; rank < d->s->ranks; rank++) svg_row(d, rank, out);
  for (int i = 0; i < 4; i++)
    fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" fill=\"%s\"/><text x=\"%d\" y=\"%d\">%c</text>\n",
            LEFT + 40 * i, bottom + 12, fill_of(kinds[i]), LEFT + 40 * i + 16, bottom + 22, letter(kinds[i]));
  fprintf(out, "</svg>\n");
  return sl_new_file_finish(&file);
}

static enum sl_status draw(const struct sl_schedule *s, const struct sl_options *options, const char *name, FILE *out) {
  struct sl_schedule_run run;
  const struct sl_schedule_costs costs = SL_SCHEDULE_UNIT_COSTS;
  struct drawing d = {.s = s, .run = &run, .costs = costs, .title = name, .stages = 1};
  SL_TRY(sl_schedule_dry_run(s, &costs, &run));
  enum sl_status status = check_cells(&d, options);
  if (status == SL_OK) status = number_stages(&d);
  if (status == SL_OK && options->svg != NULL) status = write_svg(&d, options->svg);
  if (status == SL_OK && options->csv) sl_schedule_print(s, out);
  if (status == SL_OK && !options->csv) print_grid(&d, sl_output_terminal(out), out);
  free(d.local);
  sl_schedule_run_free(&run);
  return status;
}

enum sl_status sl_show_schedule(const struct sl_options *options, FILE *out) {
  struct sl_schedule s;
  struct request r = {0};
  const bool from_file = options->schedule != NULL && sl_schedule_is_file(options->schedule);
  if (from_file) {
    SL_TRY(load(&s, options));
  } else {
    SL_TRY(ask(&r, options));
    SL_TRY(sl_schedule_generate(&s, r.name, r.ranks, r.stages, r.micro_batches));
  }
  enum sl_status status = sl_schedule_validate(&s);
  if (status == SL_OK && options->lowered) status = lower(&s, options);
  if (status == SL_OK) status = draw(&s, options, from_file ? options->schedule : r.name, out);
  sl_schedule_free(&s);
  return status;
}
