/* Order statistics of measured numbers: one definition of a quantile for records, calibrations and fits. */
#pragma once

#include <stddef.h>

/* Sort values[0..n) upwards, as the functions below want them. */
void sl_stats_sort(double *values, size_t n);
/* Quantile 0 <= q <= 1 of sorted values[0..n), n > 0, linear between neighbours: the value at place q (n - 1), counted from
 * 0 (type 7 of Hyndman and Fan 1996, numpy's default). */
double sl_stats_quantile(const double *sorted, size_t n, double q);
/* The middle of sorted values[0..n), n > 0; of an even number the mean of the two in the middle. */
double sl_stats_median(const double *sorted, size_t n);

/* What many times are told by: the middle, and where four of five lie. */
struct sl_stats_range {
  double low, median, high; /* 10th, 50th and 90th percentile */
};
/* Sorts `values`, n > 0. */
struct sl_stats_range sl_stats_range(double *values, size_t n);
