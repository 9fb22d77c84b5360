/* Progressive filling; see maxmin.h. */
#include "cost/maxmin.h"

/* Shares that differ by less have stopped together. */
static const double same = 1 + 1e-12;

static void count_users(const struct sl_maxmin *m) {
  for (int r = 0; r < m->resources; r++) m->room[r] = 1, m->users[r] = 0;
  for (int f = 0; f < m->flows; f++)
    for (int i = m->first[f]; i < m->first[f + 1]; i++) m->users[m->resource[i]] += m->use[i] > 0;
}

static void weigh(const struct sl_maxmin *m) {
  for (int f = 0; f < m->flows; f++) {
    m->weight[f] = 0;
    for (int i = m->first[f]; i < m->first[f + 1]; i++)
      if (m->users[m->resource[i]] > 1 && m->use[i] > m->weight[f]) m->weight[f] = m->use[i];
    m->rate[f] = m->weight[f] > 0 ? 0 : 1; /* 0: still rising */
  }
}

/* The share at which resource r is full: room left by those that stopped, over what a unit of share takes of it. */
static void rising_slopes(const struct sl_maxmin *m, double *slope) {
  for (int r = 0; r < m->resources; r++) slope[r] = 0;
  for (int f = 0; f < m->flows; f++)
    for (int i = m->first[f]; m->rate[f] == 0 && i < m->first[f + 1]; i++)
      slope[m->resource[i]] += m->use[i] / m->weight[f];
}

static double full_at(const struct sl_maxmin *m, const double *slope, int r) {
  return (m->room[r] > 0 ? m->room[r] : 0) / slope[r];
}

/* The share at which the flow stops: alone, or because of a resource. */
static double stop_of(const struct sl_maxmin *m, const double *slope, int f) {
  double least = m->weight[f];
  for (int i = m->first[f]; i < m->first[f + 1]; i++) {
    const int r = m->resource[i];
    if (m->use[i] > 0 && full_at(m, slope, r) < least) least = full_at(m, slope, r);
  }
  return least;
}

void sl_cost_maxmin(const struct sl_maxmin *m) {
  double *slope = m->slope;
  count_users(m);
  weigh(m);
  for (;;) {
    double least = -1;
    rising_slopes(m, slope);
    for (int f = 0; f < m->flows; f++) {
      if (m->rate[f] != 0) continue;
      m->stop[f] = stop_of(m, slope, f);
      if (least < 0 || m->stop[f] < least) least = m->stop[f];
    }
    if (least < 0) return;
    for (int f = 0; f < m->flows; f++) {
      if (m->rate[f] != 0 || m->stop[f] > least * same) continue;
      m->rate[f] = m->stop[f] < m->weight[f] ? m->stop[f] / m->weight[f] : 1;
      for (int i = m->first[f]; i < m->first[f + 1]; i++) m->room[m->resource[i]] -= m->use[i] * m->rate[f];
    }
  }
}
