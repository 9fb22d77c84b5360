/* show memory: the contents of a rank's arena at its peak, by category and phase, and the live bytes over one step as a
 * plot of characters. */
#include "cli/show.h"
#include "core/base/units.h"
#include "core/program/memory_report.h"

#include <string.h>

enum { WIDTH = 72, HEIGHT = 14 };

static int64_t live_sum(const struct sl_memory_sample *sample) {
  int64_t sum = 0;
  for (int c = 0; c < SL_CATEGORY_COUNT; c++) sum += sample->live[c];
  return sum;
}

/* The largest sample in each column of the plot, so that peaks survive the scaling. A column without a sample repeats
 * the one before, because the live memory did not change there. */
static void columns_of(const struct sl_memory_report *report, size_t issues,
                       const struct sl_memory_sample *columns[WIDTH]) {
  const struct sl_memory_sample *last = &report->curve[0];
  size_t at = 0;
  for (size_t x = 0; x < WIDTH; x++) {
    const size_t end = (x + 1) * issues / WIDTH;
    columns[x] = last;
    for (bool first = true; at < report->curve_count && report->curve[at].issue < end; at++) {
      last = &report->curve[at];
      if (first || live_sum(last) > live_sum(columns[x])) columns[x] = last;
      first = false;
    }
  }
}

/* The mark of the category that contains the height `bytes` when the column's categories are stacked in order; ' '
 * above them. */
static char mark_at(const struct sl_memory_sample *sample, double bytes) {
  static const char marks[] = "pgoacw";
  _Static_assert(sizeof marks == SL_CATEGORY_COUNT + 1, "a letter for each category");
  double sum = 0;
  for (int c = 0; c < SL_CATEGORY_COUNT; c++) {
    sum += (double)sample->live[c];
    if (bytes < sum) return marks[c];
  }
  return ' ';
}

static void print_curve(const struct sl_memory_report *report, size_t issues, FILE *out) {
  const struct sl_memory_sample *columns[WIDTH];
  if (report->curve_count == 0 || report->live_peak_bytes == 0) return;
  columns_of(report, issues, columns);
  fprintf(out, "\nlive bytes over one step, in program order "
               "(p parameter, g gradient, o optimizer, a activation, c communication, w workspace)\n");
  for (int y = HEIGHT - 1; y >= 0; y--) {
    char label[32] = "", line[WIDTH + 1];
    if (y == HEIGHT - 1) sl_format_bytes(label, sizeof label, (double)report->live_peak_bytes);
    for (int x = 0; x < WIDTH; x++)
      line[x] = mark_at(columns[x], ((double)y + 0.5) / HEIGHT * (double)report->live_peak_bytes);
    line[WIDTH] = '\0';
    fprintf(out, "%12s |%s\n", label, line);
  }
  fprintf(out, "%12s +", "0 B");
  for (int x = 0; x < WIDTH; x++) fputc('-', out);
  fprintf(out, "\n%12s  op 0%*s%zu\n", "", WIDTH - 4, "op ", issues - 1);
}

static void print_table(const struct sl_memory_report *report, FILE *out) {
  char a[32], b[32];
  fprintf(out, "%-16s %14s %14s\n", "category", "at the peak", "at most");
  for (int c = 0; c < SL_CATEGORY_COUNT; c++) {
    if (report->category_max[c] == 0) continue;
    sl_format_bytes(a, sizeof a, (double)report->at_peak[c]);
    sl_format_bytes(b, sizeof b, (double)report->category_max[c]);
    fprintf(out, "%-16s %14s %14s\n", sl_category_name(c), a, b);
  }
  sl_format_bytes(a, sizeof a, (double)report->fragmentation);
  fprintf(out, "%-16s %14s\n", "fragmentation", a);
  sl_format_bytes(a, sizeof a, (double)report->peak_bytes);
  fprintf(out, "%-16s %14s\n\n%-16s %14s\n", "arena", a, "phase", "live at most");
  for (int p = 0; p < SL_PHASE_COUNT; p++) {
    if (report->phase_peak[p] == 0) continue;
    sl_format_bytes(a, sizeof a, (double)report->phase_peak[p]);
    fprintf(out, "%-16s %14s%s\n", sl_phase_name(p), a, p == (int)report->peak_phase ? "  <- peak" : "");
  }
}

static json_t *sample_json(const struct sl_memory_sample *sample) {
  json_t *category = json_object();
  for (int c = 0; c < SL_CATEGORY_COUNT; c++)
    if (sample->live[c] > 0) json_object_set_new(category, sl_category_name(c), json_integer(sample->live[c]));
  return json_pack("{s:I, s:I, s:o}", "op", (json_int_t)sample->issue, "live_bytes", (json_int_t)live_sum(sample),
                   "by_category", category);
}

static json_t *memory_json(const struct sl_memory_report *report, int rank) {
  json_t *category = json_object(), *phase = json_object(), *curve = json_array();
  for (int c = 0; c < SL_CATEGORY_COUNT; c++)
    json_object_set_new(category, sl_category_name(c), json_integer(report->at_peak[c]));
  for (int p = 0; p < SL_PHASE_COUNT; p++)
    json_object_set_new(phase, sl_phase_name(p), json_integer(report->phase_peak[p]));
  for (size_t i = 0; i < report->curve_count; i++) json_array_append_new(curve, sample_json(&report->curve[i]));
  return json_pack("{s:i, s:I, s:I, s:o, s:o, s:o}", "rank", rank, "peak_bytes", (json_int_t)report->peak_bytes,
                   "fragmentation", (json_int_t)report->fragmentation, "by_category", category, "by_phase", phase,
                   "curve", curve);
}

/* The first of the ranks with the largest arena. */
static int worst_rank(const struct sl_job *job) {
  int worst = 0;
  for (int i = 1; i < job->class_count; i++)
    if (job->classes[i].memory[SL_SPACE_DEVICE].peak_bytes > job->classes[worst].memory[SL_SPACE_DEVICE].peak_bytes)
      worst = i;
  return job->classes[worst].first_rank;
}

enum sl_status sl_show_memory(const struct sl_setup *setup, const struct sl_options *options, FILE *out,
                              json_t **json) {
  if (options->rank >= setup->plan.world)
    return sl_fail(SL_ERR_INPUT, "--rank: is %lld; expected 0 to %d", (long long)options->rank, setup->plan.world - 1);
  const bool given = sl_options_given(options, "rank");
  const int rank = given ? (int)options->rank : worst_rank(&setup->job);
  const struct sl_class *c = &setup->job.classes[sl_job_class_of(&setup->job, rank)];
  if (options->json != NULL) {
    *json = memory_json(c->memory, rank);
    return SL_OK;
  }
  fprintf(out, "rank %d%s, one of %d with this program\n\n", rank,
          setup->job.class_count > 1 && !given ? " (it needs the most; --rank shows another)" : "", c->rank_count);
  print_table(c->memory, out);
  print_curve(c->memory, c->programs[SL_PROGRAM_STEP].issue_count, out);
  return SL_OK;
}
