/* The residuals of a fit as tables and as a plot. */
#include "analysis/fit.h"

#include "analysis/plot.h"
#include "core/base/new_file.h"
#include "core/base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum sl_status open_file(struct sl_new_file *file, const char *folder, const char *name) {
  char path[4200];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return sl_new_file_open(file, path);
}

static enum sl_status write_csv(const struct sl_fit *fit, const char *folder) {
  struct sl_new_file file;
  SL_TRY(open_file(&file, folder, "residuals.csv"));
  FILE *out = file.stream;
  fprintf(out, "class,op,variant,dtype,ranks,source,shape,bytes,measured_s,low_s,high_s,fitted_s,error_percent\n");
  for (size_t i = 0; i < fit->count; i++) {
    const struct sl_point *p = fit->rows[i].point;
    const enum sl_op_kind kind = (enum sl_op_kind)p->kind;
    fprintf(out, "%s,%s,%s,%s,%d,%s,", sl_op_class_name(sl_op_class_of(kind)), sl_op_name(kind),
            sl_variant_name(p->variant), sl_dtype_name(p->dtype), p->ranks, p->source);
    for (int d = 0; d < 5 && p->dim[d] > 0; d++) fprintf(out, "%s%lld", d > 0 ? "x" : "", (long long)p->dim[d]);
    fprintf(out, ",%.0f,%.6g,%.6g,%.6g,%.6g,%.2f\n", p->bytes, p->median_s, p->low_s, p->high_s, fit->rows[i].fitted_s,
            100 * (fit->rows[i].fitted_s / p->median_s - 1));
  }
  return sl_new_file_finish(&file);
}

static void put_entry(const struct sl_fit *fit, int entry, double *work, FILE *out) {
  const struct sl_op_cost *c = &fit->profile.op_costs.items[entry];
  size_t n = 0;
  for (size_t i = 0; i < fit->count; i++)
    if (fit->rows[i].entry == entry) work[n++] = fabs(fit->rows[i].fitted_s / fit->rows[i].point->median_s - 1);
  if (n == 0) return;
  sl_stats_sort(work, n);
  fprintf(out, "| %s | %s | %s | %d | %zu | %.1f %% | %.1f %% | %.1f %% |", sl_op_name((enum sl_op_kind)c->kind),
          sl_variant_name(c->variant), sl_dtype_name(c->dtype), c->ranks, n, 100 * sl_stats_median(work, n),
          100 * work[n - 1], 100 * c->holdout);
  for (int t = 0; t < SL_TERM_COUNT; t++)
    if (c->seconds[t] > 0)
      fprintf(out, " %s %.4g (+- %.1f %%)", sl_term_key((enum sl_term)t),
              sl_term_number((enum sl_term)t, c->seconds[t]), 100 * c->relative_stderr[t]);
  fprintf(out, " |\n");
}

static enum sl_status write_markdown(const struct sl_fit *fit, const char *folder) {
  struct sl_new_file file;
  double *work;
  SL_TRY(sl_calloc(&work, fit->count, sizeof *work));
  enum sl_status status = open_file(&file, folder, "residuals.md");
  if (status == SL_OK) {
    const struct sl_device *d = &fit->profile.device;
    FILE *out = file.stream;
    char noise[160] = "Noise from run to run: not known, since one round has none to compare with.";
    if (d->run_noise > 0)
      snprintf(noise, sizeof noise,
               "Noise of the median of steps of 0.1 s from run to run: %.1f %%, of others by the power -%.2f of their "
               "length.",
               100 * d->run_noise, d->run_noise_slope);
    fprintf(out,
            "Between ops: %.2f us (+- %.2f). Share of communication that delays compute: %.2f (+- %.2f). %s Steps of "
            "held-out models miss by %.2f times what their ops' errors say. Held out: each model once.\n\n",
            1e6 * d->launch_latency, 1e6 * fit->gap_stderr, d->comm_cpu_share, fmax(0, fit->share_stderr), noise,
            d->error_scale);
    fprintf(
        out,
        "| op | variant | type | ranks | points | median error | largest error | held out | fit (standard error) |\n"
        "|---|---|---|---|---|---|---|---|---|\n");
    for (int e = 0; e < fit->profile.op_costs.count; e++) put_entry(fit, e, work, out);
    status = sl_new_file_finish(&file);
  }
  free(work);
  return status;
}

static const char script[] =
    "set logscale xy\n"
    "set format x '10^{%T}'\n"
    "set grid xtics ytics lt 1 lw 1 lc rgb '#e4e4e4'\n"
    "classes = 'gemm attention elementwise optimizer control collective p2p'\n"
    "colours = blue . ' ' . purple . ' ' . green . ' ' . orange . ' ' . grey . ' ' . red . ' ' . sky\n"
    "only(c, v) = strcol('class') eq word(classes, c) ? v : NaN\n"
    "draw = \"set multiplot layout 2,1; set lmargin at screen 0.09; set rmargin at screen 0.97; \" . \\\n"
    "  \"set title 'calibration: every measured point against the fit'; set ylabel 'measured (s)'; unset xlabel; \" . "
    "\\\n"
    "  \"set key inside left top; set logscale y; set format y '10^{%T}'; set yrange [*:*]; \" . \\\n"
    "  \"plot for [c = 1:7] 'residuals.csv' using (column('fitted_s')):(only(c, "
    "column('measured_s'))):(column('low_s')):(column('high_s')) with yerrorbars pt 7 ps 0.5 lc rgb word(colours, c) "
    "title word(classes, c), x with lines lc rgb 'black' title 'measured = fitted'; \" . \\\n"
    "  \"unset title; unset key; unset logscale y; set format y '%h'; set yrange [-60:60]; set ylabel 'fitted / "
    "measured - 1 (%)'; set xlabel 'fitted (s)'; \" . \\\n"
    "  \"plot for [c = 1:7] 'residuals.csv' using (column('fitted_s')):(only(c, column('error_percent'))) with points "
    "pt 7 ps 0.5 lc rgb word(colours, c), 0 with lines lc rgb 'black'; unset multiplot\"\n";

enum sl_status sl_fit_report(const struct sl_fit *fit, const char *folder) {
  SL_TRY(write_csv(fit, folder));
  SL_TRY(write_markdown(fit, folder));
  return sl_plot_draw(folder, "fit", script, 900);
}
