/* Transfers that share links; see contention.h. */
#include "sim/contention.h"

#include "cost/maxmin.h"

#include <stdlib.h>

/* A running transfer; its number is the source of its event. */
struct flow {
  bool running;
  double left;  /* seconds that it would still take alone ... */
  double since; /* ... as of this time */
  double rate;
  int use, uses; /* places in contention->link and ->share */
};

/* The transfers on one link. All belong to one device's lanes, which bounds their number. */
struct link {
  uint32_t flows[SL_LANE_COUNT];
  int count;
  int number; /* in the current component */
};

struct sl_contention {
  struct flow *flows;
  struct link *links;
  int *link; /* of each use */
  double *share;
  /* the connected transfers and links that are being examined */
  uint32_t *component;
  bool *is_in, *link_is_in; /* by transfer, by link */
  int *members;             /* links of the component */
  int count, link_count;
  struct sl_maxmin system;
  int *first, *resource;
  double *use;
};

enum { WAYS = 2, OUT = 0, IN = 1 };

static int link_of(int local, int level, int way) {
  return (local * SL_MAX_LINKS + level) * WAYS + way;
}

void sl_contention_fill_ring(struct sl_sim_load *load, const struct sl_work *work, double seconds,
                             const double seconds_per_byte[SL_MAX_LINKS]) {
  for (int level = 0; level < SL_MAX_LINKS; level++) {
    const double taken = seconds > 0 ? work->bytes / seconds * seconds_per_byte[level] : 0;
    load->of[level] = taken < 1 ? taken : 1;
  }
}

void sl_contention_fill_pair(struct sl_sim_load *load, const struct sl_work *work, double seconds, int level,
                             double bandwidth) {
  double seconds_per_byte[SL_MAX_LINKS] = {0};
  seconds_per_byte[level] = 1 / bandwidth;
  sl_contention_fill_ring(load, work, seconds, seconds_per_byte);
}

/* ---- memory ---- */

/* Makes room for the uses of every possible transfer: a send with its receive, and every group. */
static int lay_out(struct sl_sim *sim, struct flow *flows) {
  int uses = 0;
  for (int i = 0; i < sim->count * SL_LANE_COUNT; i++) {
    flows[i].use = uses;
    if (i % SL_LANE_COUNT >= SL_LANE_SEND_F) uses += WAYS * SL_MAX_LINKS;
  }
  for (int g = 0; g < sim->group_count; g++) {
    flows[sl_sim_group_source(sim, g)].use = uses;
    uses += sim->groups[g].count * WAYS * SL_MAX_LINKS;
  }
  return uses;
}

static enum sl_status open_system(struct sl_contention *c, size_t flows, size_t links, size_t uses) {
  SL_TRY(sl_calloc(&c->first, flows + 1, sizeof *c->first));
  SL_TRY(sl_calloc(&c->resource, uses, sizeof *c->resource));
  SL_TRY(sl_calloc(&c->use, uses, sizeof *c->use));
  SL_TRY(sl_calloc(&c->system.rate, flows, sizeof *c->system.rate));
  SL_TRY(sl_calloc(&c->system.weight, flows, sizeof *c->system.weight));
  SL_TRY(sl_calloc(&c->system.stop, flows, sizeof *c->system.stop));
  SL_TRY(sl_calloc(&c->system.room, links, sizeof *c->system.room));
  SL_TRY(sl_calloc(&c->system.slope, links, sizeof *c->system.slope));
  return sl_calloc(&c->system.users, links, sizeof *c->system.users);
}

enum sl_status sl_contention_open(struct sl_sim *sim) {
  const size_t flows = sl_sim_group_source(sim, sim->group_count), links = (size_t)link_of(sim->count, 0, 0);
  SL_TRY(sl_calloc(&sim->contention, 1, sizeof *sim->contention));
  struct sl_contention *c = sim->contention;
  SL_TRY(sl_calloc(&c->flows, flows, sizeof *c->flows));
  const size_t uses = (size_t)lay_out(sim, c->flows);
  SL_TRY(sl_calloc(&c->links, links, sizeof *c->links));
  SL_TRY(sl_calloc(&c->link, uses, sizeof *c->link));
  SL_TRY(sl_calloc(&c->share, uses, sizeof *c->share));
  SL_TRY(sl_calloc(&c->component, flows, sizeof *c->component));
  SL_TRY(sl_calloc(&c->is_in, flows, sizeof *c->is_in));
  SL_TRY(sl_calloc(&c->link_is_in, links, sizeof *c->link_is_in));
  SL_TRY(sl_calloc(&c->members, links, sizeof *c->members));
  return open_system(c, flows, links, uses);
}

void sl_contention_close(struct sl_sim *sim) {
  struct sl_contention *c = sim->contention;
  if (c == NULL) return;
  void *const owned[] = {c->flows,        c->links,        c->link,        c->share,       c->component,
                         c->is_in,        c->link_is_in,   c->members,     c->first,       c->resource,
                         c->use,          c->system.rate,  c->system.stop, c->system.room, c->system.slope,
                         c->system.users, c->system.weight};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
  free(c);
  sim->contention = NULL;
}

/* ---- connected transfers ---- */

static void add_flow(struct sl_contention *c, uint32_t source) {
  if (c->is_in[source]) return;
  c->is_in[source] = true;
  c->component[c->count++] = source;
}

static void add_flows_of(struct sl_contention *c, int link) {
  struct link *l = &c->links[link];
  if (c->link_is_in[link]) return;
  c->link_is_in[link] = true;
  l->number = c->link_count;
  c->members[c->link_count++] = link;
  for (int i = 0; i < l->count; i++) add_flow(c, l->flows[i]);
}

/* Adds all transfers that share a link, directly or through others, with those in the component, in the order in which
 * they are found. */
static void grow(struct sl_contention *c) {
  for (int i = 0; i < c->count; i++) {
    const struct flow *f = &c->flows[c->component[i]];
    for (int u = f->use; u < f->use + f->uses; u++) add_flows_of(c, c->link[u]);
  }
}

static void forget(struct sl_contention *c) {
  for (int i = 0; i < c->count; i++) c->is_in[c->component[i]] = false;
  for (int i = 0; i < c->link_count; i++) c->link_is_in[c->members[i]] = false;
  c->count = c->link_count = 0;
}

/* ---- rates ---- */

static void solve(struct sl_contention *c) {
  int uses = 0;
  for (int i = 0; i < c->count; i++) {
    const struct flow *f = &c->flows[c->component[i]];
    c->first[i] = uses;
    for (int u = f->use; u < f->use + f->uses; u++, uses++) {
      c->resource[uses] = c->links[c->link[u]].number;
      c->use[uses] = c->share[u];
    }
  }
  c->first[c->count] = uses;
  c->system.flows = c->count, c->system.resources = c->link_count;
  c->system.first = c->first, c->system.resource = c->resource, c->system.use = c->use;
  sl_cost_maxmin(&c->system);
}

/* Transfers whose rate changes have progressed at the old rate until now; the events of the others stay. */
static void retime(struct sl_sim *sim) {
  struct sl_contention *c = sim->contention;
  grow(c);
  solve(c);
  for (int i = 0; i < c->count; i++) {
    struct flow *f = &c->flows[c->component[i]];
    if (f->rate == c->system.rate[i]) continue;
    if (sim->time > f->since) {
      f->left -= (sim->time - f->since) * f->rate;
      if (f->left < 0) f->left = 0;
      f->since = sim->time;
    }
    f->rate = c->system.rate[i];
    sl_queue_set(&sim->queue, c->component[i], f->since + f->left / f->rate);
  }
  forget(c);
}

/* ---- transfers ---- */

static void take(struct sl_contention *c, uint32_t source, int local, int way, const struct sl_sim_load *load) {
  struct flow *f = &c->flows[source];
  for (int level = 0; level < SL_MAX_LINKS; level++) {
    if (!(load->of[level] > 0)) continue;
    const int link = link_of(local, level, way);
    c->link[f->use + f->uses] = link;
    c->share[f->use + f->uses++] = load->of[level];
    c->links[link].flows[c->links[link].count++] = source;
  }
}

static void begin(struct sl_sim *sim, uint32_t source, double at, double seconds) {
  struct flow *f = &sim->contention->flows[source];
  f->running = true;
  f->left = seconds;
  f->since = at;
  f->rate = 1;
  add_flow(sim->contention, source);
  retime(sim);
}

static const struct sl_sim_load *load_of(const struct sl_sim *sim, int local, int lane) {
  const struct sl_sim_rank *rank = &sim->ranks[local];
  return &rank->loads[rank->now->program->kind][rank->lanes[lane].call];
}

void sl_contention_begin_group(struct sl_sim *sim, int group, double at, double seconds) {
  const struct sl_sim_group *g = &sim->groups[group];
  const uint32_t source = sl_sim_group_source(sim, group);
  sim->contention->flows[source].uses = 0;
  for (int i = 0; i < g->count; i++) {
    const int local = sim->members[g->first + i];
    const struct sl_sim_load *load = load_of(sim, local, g->lane);
    for (int way = OUT; way <= IN; way++) take(sim->contention, source, local, way, load);
  }
  begin(sim, source, at, seconds);
}

void sl_contention_begin_pair(struct sl_sim *sim, int sender, int lane, double seconds) {
  const uint32_t source = sl_sim_lane_source(sender, lane);
  const struct sl_sim_rank *rank = &sim->ranks[sender];
  const int receiver = rank->now_calls[rank->lanes[lane].call].partner;
  sim->contention->flows[source].uses = 0;
  take(sim->contention, source, sender, OUT, load_of(sim, sender, lane));
  take(sim->contention, source, receiver, IN, load_of(sim, receiver, sl_sim_peer_lane(lane)));
  begin(sim, source, sim->time, seconds);
}

void sl_contention_end(struct sl_sim *sim, uint32_t source) {
  struct sl_contention *c = sim->contention;
  struct flow *f = &c->flows[source];
  if (!f->running) return;
  f->running = false;
  for (int u = f->use; u < f->use + f->uses; u++) {
    struct link *l = &c->links[c->link[u]];
    int at = 0;
    while (l->flows[at] != source) at++;
    for (l->count--; at < l->count; at++) l->flows[at] = l->flows[at + 1];
    for (int i = 0; i < l->count; i++) add_flow(c, l->flows[i]);
  }
  if (c->count > 0) retime(sim);
}
