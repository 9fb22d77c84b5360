/* Order statistics of measured numbers: a single definition of quantiles for records, calibrations and fits. */
#pragma once

#include <stddef.h>

/* Sorts values[0..n) in ascending order, as the functions below need them. */
void sl_stats_sort(double *values, size_t n);
/* Quantile 0 <= q <= 1 of sorted values[0..n), n > 0, by linear interpolation at position q (n - 1), counted from 0
 * (type 7 of Hyndman and Fan 1996, numpy's default). */
double sl_stats_quantile(const double *sorted, size_t n, double q);
/* The median of sorted values[0..n), n > 0; for an even number the mean of the two in the middle. */
double sl_stats_median(const double *sorted, size_t n);

/* A summary of many times: the median, and the range that contains four of five. */
struct sl_stats_range {
  double low, median, high; /* 10th, 50th and 90th percentile */
};
/* Sorts `values`, n > 0. */
struct sl_stats_range sl_stats_range(double *values, size_t n);
