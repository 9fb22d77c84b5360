/* The rates of transfers that share links: max-min fairness.
 *
 * Flow f runs at x_f of the speed that it has alone, 0 < x_f <= 1, and at x_f = 1 takes u_fr <= 1 of resource r:
 *   sum over f of u_fr x_f <= 1   for every r
 * Its share is s_f = U_f x_f, with U_f the largest u_fr of the resources that it shares with another flow. All shares
 * rise from 0 together; a flow stops when x_f = 1, or when one of its resources is full. So each of n flows that could
 * fill a link gets 1 / n of it, and what a flow cannot use because of another limit goes to the others. A flow that
 * shares no resource runs at 1. No flow is faster than alone. Source: progressive filling, Bertsekas and Gallager, Data
 * Networks (1992), section 6.5.2. */
#pragma once

struct sl_maxmin {
  int flows, resources;
  const int *first;    /* (flows + 1): flow f takes of resource[first[f] ... first[f + 1]) ... */
  const int *resource; /* ... 0 to resources - 1, each once ... */
  const double *use;   /* ... so much: from 0 to 1 */
  double *rate;        /* (flows) out: x_f */
  /* scratch */
  double *weight, *stop; /* (flows) */
  double *room, *slope;  /* (resources) */
  int *users;            /* (resources) */
};

void sl_cost_maxmin(const struct sl_maxmin *m);
