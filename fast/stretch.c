/* Inserts runs of ops again and again; see stretch.h.
 *
 * An op waits for a number of ops of a lane. With t runs inserted into each action, this count grows by the same amount
 * with every t: count(t) = count(0) + t (count(1) - count(0)), and the two depths give both terms. In the c-th copy of
 * a run it also grows with c, by the difference between the counts of the run and of the block before it. */
#include "fast/stretch.h"

#include "core/job/job.h"
#include "core/program/memory_report.h"
#include "fast/align.h"

#include <stdlib.h>
#include <string.h>

/* The step of one class at two depths, and what is derived from them. */
struct stretch {
  const struct sl_program *a, *b;
  const struct sl_fast_align *aligned;
  int64_t times;
  struct sl_program *out;
  bool fits;
};

/* The waits of an issue, NULL if it has none. */
static const struct sl_wait *waits_of(const struct sl_program *p, size_t issue) {
  return p->issues[issue].wait_count > 0 ? &p->waits[p->issues[issue].wait] : NULL;
}

/* Adds an issue of op `op` of the new program, whose waits are already at the end of its list. */
static enum sl_status add_issue(struct sl_program *out, uint32_t op, uint32_t instance, uint32_t wait_count) {
  const enum sl_lane lane = out->ops[op].lane;
  SL_TRY(sl_grow(&out->issues, &out->issue_capacity, out->issue_count + 1, sizeof *out->issues));
  struct sl_issue *issue = &out->issues[out->issue_count++];
  *issue = (struct sl_issue){.op = op, .instance = instance, .wait = (uint32_t)(out->wait_count - wait_count)};
  issue->wait_count = wait_count & 0xff;
  issue->lane_index = out->lane_ops[lane]++ & 0xffffff;
  return SL_OK;
}

static enum sl_status add_wait(struct sl_program *out, uint32_t lane, int64_t count) {
  SL_TRY(sl_grow(&out->waits, &out->wait_capacity, out->wait_count + 1, sizeof *out->waits));
  out->waits[out->wait_count++] = (struct sl_wait){lane, (uint32_t)count};
  return SL_OK;
}

/* Adds issue `i` of a, which corresponds to issue `j` of b. */
static enum sl_status add_aligned(struct stretch *s, size_t i, size_t j) {
  const struct sl_issue *x = &s->a->issues[i];
  s->fits &= sl_fast_same_lanes(s->a, i, s->b, j);
  for (uint32_t k = 0; s->fits && k < x->wait_count; k++) {
    const struct sl_wait *before = &waits_of(s->a, i)[k], *now = &waits_of(s->b, j)[k];
    SL_TRY(add_wait(s->out, before->lane,
                    (int64_t)before->count + s->times * ((int64_t)now->count - (int64_t)before->count)));
  }
  return s->fits ? add_issue(s->out, x->op, x->instance, x->wait_count) : SL_OK;
}

/* Adds copy `c` of issue `j` of b, which is in a run of `run` issues; issue `i` of a is its counterpart in the block
 * before. */
static enum sl_status add_copy(struct stretch *s, size_t i, size_t j, int32_t run, int64_t c) {
  const size_t before = j - (size_t)run;
  const struct sl_issue *x = &s->b->issues[j];
  s->fits &= sl_fast_same_lanes(s->b, j, s->b, before) && sl_fast_same_lanes(s->b, j, s->a, i);
  for (uint32_t k = 0; s->fits && k < x->wait_count; k++) {
    const int64_t own = waits_of(s->b, j)[k].count, last = waits_of(s->b, before)[k].count;
    const int64_t by_depth = last - (int64_t)waits_of(s->a, i)[k].count;
    SL_TRY(add_wait(s->out, waits_of(s->b, j)[k].lane, own + (s->times - 1) * by_depth + c * (own - last)));
  }
  return s->fits ? add_issue(s->out, x->op + (uint32_t)s->a->op_count, x->instance, x->wait_count) : SL_OK;
}

/* Adds an action, whose issues begin at `i` in a and at `j` in b. */
static enum sl_status add_action(struct stretch *s, const struct sl_fast_align *at, int32_t count, size_t i, size_t j) {
  const size_t run = (size_t)at->run;
  for (size_t k = 0; s->fits && k < (size_t)at->prefix; k++) SL_TRY(add_aligned(s, i + k, j + k));
  for (int64_t c = 0; c < s->times; c++)
    for (size_t k = (size_t)at->prefix; s->fits && k < (size_t)at->prefix + run; k++)
      SL_TRY(add_copy(s, i + k - run, j + k, at->run, c));
  for (size_t k = (size_t)at->prefix; s->fits && k < (size_t)count; k++) SL_TRY(add_aligned(s, i + k, j + k + run));
  return SL_OK;
}

/* ---- ops and their operands ---- */

/* Adds the operands that b's op has in excess of a's, `times` times. */
static enum sl_status more_operands(struct stretch *s, const struct sl_op *x, const struct sl_op *y, struct sl_op *op) {
  struct sl_program *out = s->out;
  const struct sl_slice *own = sl_op_slices(s->a, x), *deeper = sl_op_slices(s->b, y);
  const int32_t more = y->slice_count - x->slice_count;
  const size_t count = (size_t)x->slice_count + (size_t)(more * s->times), from = out->slice_count;
  int32_t same = 0;
  while (same < x->slice_count && own[same].bytes == deeper[same].bytes) same++;
  SL_TRY(sl_grow(&out->slices, &out->slice_capacity, from + count, sizeof *out->slices));
  struct sl_slice *to = &out->slices[from];
  memcpy(to, own, (size_t)same * sizeof *to);
  to += same;
  for (int64_t c = 0; c < s->times; c++, to += more) memcpy(to, &deeper[same], (size_t)more * sizeof *to);
  memcpy(to, own + same, (size_t)(x->slice_count - same) * sizeof *to);
  out->slice_count += count;
  op->slice = (int32_t)from;
  op->slice_count = (int32_t)count;
  return SL_OK;
}

/* Grows op `x` of a, which corresponds to `y` of b, to the depth of the new program. */
static enum sl_status grow_op(struct stretch *s, int32_t x, const struct sl_op *y) {
  struct sl_op *op = &s->out->ops[x];
  const struct sl_op *own = &s->a->ops[x];
  if (sl_fast_same_op(s->a, own, s->b, y)) return SL_OK;
  for (int i = 0; i < (int)(sizeof op->dim / sizeof *op->dim); i++)
    op->dim[i] = own->dim[i] + s->times * (y->dim[i] - own->dim[i]);
  s->fits &= y->slice_count >= own->slice_count;
  if (!s->fits || y->slice_count > own->slice_count) return s->fits ? more_operands(s, own, y, op) : SL_OK;
  for (int i = 0; i < own->slice_count; i++) {
    const int64_t bytes = sl_op_slices(s->a, own)[i].bytes;
    s->out->slices[own->slice + i].bytes = bytes + s->times * (sl_op_slices(s->b, y)[i].bytes - bytes);
  }
  return SL_OK;
}

/* Adds all of a's ops and, behind them, b's. */
static enum sl_status add_ops(struct stretch *s) {
  const struct sl_program *a = s->a, *b = s->b;
  struct sl_program *out = s->out;
  SL_TRY(sl_grow(&out->ops, &out->op_capacity, a->op_count + b->op_count, sizeof *out->ops));
  SL_TRY(sl_grow(&out->slices, &out->slice_capacity, a->slice_count + b->slice_count, sizeof *out->slices));
  memcpy(out->ops, a->ops, a->op_count * sizeof *out->ops);
  memcpy(out->ops + a->op_count, b->ops, b->op_count * sizeof *out->ops);
  memcpy(out->slices, a->slices, a->slice_count * sizeof *out->slices);
  memcpy(out->slices + a->slice_count, b->slices, b->slice_count * sizeof *out->slices);
  out->op_count = a->op_count + b->op_count;
  out->slice_count = a->slice_count + b->slice_count;
  for (size_t i = a->op_count; i < out->op_count; i++) out->ops[i].slice += (int32_t)a->slice_count;
  return SL_OK;
}

static enum sl_status grow_ops(struct stretch *s) {
  for (size_t n = 0; s->fits && n < s->a->instance_count; n++) {
    const struct sl_instance *m = &s->a->instances[n], *deeper = &s->b->instances[n];
    const struct sl_fast_align *at = &s->aligned[n];
    for (int32_t i = 0; s->fits && i < m->op_count; i++)
      SL_TRY(grow_op(s, m->first_op + i, &s->b->ops[deeper->first_op + i + (i < at->prefix ? 0 : at->run)]));
  }
  return SL_OK;
}

static enum sl_status stretch_program(struct stretch *s) {
  size_t i = 0, j = 0;
  s->out->kind = SL_PROGRAM_STEP;
  SL_TRY(add_ops(s));
  SL_TRY(grow_ops(s));
  SL_TRY(sl_grow(&s->out->instances, &s->out->instance_capacity, s->a->instance_count, sizeof *s->out->instances));
  memcpy(s->out->instances, s->a->instances, s->a->instance_count * sizeof *s->out->instances);
  s->out->instance_count = s->a->instance_count;
  for (size_t n = 0; s->fits && n < s->a->instance_count; n++) {
    SL_TRY(add_action(s, &s->aligned[n], s->a->instances[n].op_count, i, j));
    i += (size_t)s->a->instances[n].op_count;
    j += (size_t)s->b->instances[n].op_count;
  }
  return SL_OK;
}

static enum sl_status stretch_class(struct sl_class *out, const struct sl_class *a, const struct sl_class *b,
                                    int64_t times, bool *fits) {
  struct sl_fast_align *aligned;
  struct stretch s = {.a = &a->programs[SL_PROGRAM_STEP],
                      .b = &b->programs[SL_PROGRAM_STEP],
                      .times = times,
                      .out = &out->programs[SL_PROGRAM_STEP],
                      .fits = true};
  *out = (struct sl_class){
      .pp_rank = a->pp_rank,
      .rank_count = a->rank_count,
      .first_rank = a->first_rank,
      .last_rank = a->last_rank,
      .programs = {[SL_PROGRAM_INIT].kind = SL_PROGRAM_INIT, [SL_PROGRAM_SAVE].kind = SL_PROGRAM_SAVE}};
  SL_TRY(sl_fast_align(&aligned, s.a, s.b));
  *fits = aligned != NULL;
  if (!*fits) return SL_OK;
  s.aligned = aligned;
  const enum sl_status status = stretch_program(&s);
  *fits = s.fits;
  free(aligned);
  return status;
}

enum sl_status sl_fast_stretch(struct sl_job *out, const struct sl_job *a, const struct sl_job *b, int64_t times,
                               bool *fits) {
  *out = (struct sl_job){.plan = a->plan, .classes_per_pp_rank = a->classes_per_pp_rank};
  *fits = a->class_count == b->class_count;
  if (!*fits) return SL_OK;
  SL_TRY(sl_calloc(&out->classes, (size_t)a->class_count, sizeof *out->classes));
  out->class_count = a->class_count;
  for (int i = 0; *fits && i < a->class_count; i++)
    SL_TRY(stretch_class(&out->classes[i], &a->classes[i], &b->classes[i], times, fits));
  return SL_OK;
}

/* ---- memory ---- */

/* live[i]: the peak bytes in use at issue i of the step; owned by the caller. */
static enum sl_status live_at_issues(const struct sl_class *c, double **live) {
  const struct sl_memory_report *r = &c->memory[SL_SPACE_DEVICE];
  const size_t count = c->programs[SL_PROGRAM_STEP].issue_count;
  double now = 0;
  size_t k = 0;
  SL_TRY(sl_calloc(live, count, sizeof **live));
  for (size_t i = 0; i < count; i++) {
    double most = k < r->curve_count && r->curve[k].issue <= i ? 0 : now;
    for (; k < r->curve_count && r->curve[k].issue <= i; k++) {
      now = 0;
      for (int g = 0; g < SL_CATEGORY_COUNT; g++) now += (double)r->curve[k].live[g];
      if (now > most) most = now;
    }
    (*live)[i] = most;
  }
  return SL_OK;
}

/* Bytes in use at the issues of a step: at two depths, and, unless NULL, at a third one that is twice as much
 * deeper. */
struct lives {
  double *shallow, *deep, *third;
};

/* Extrapolation of an issue's bytes from two depths. */
struct line {
  const struct lives *lives;
  int64_t times;
  double most, beyond; /* the highest of all extrapolations; by how many bytes one exceeds the third depth, at most */
};

static void follow(struct line *l, size_t x, size_t y, size_t z) {
  const double a = l->lives->shallow[x], each = l->lives->deep[y] - a, bytes = a + (double)l->times * each;
  if (bytes > l->most) l->most = bytes;
  if (l->lives->third != NULL && a + 2 * each - l->lives->third[z] > l->beyond)
    l->beyond = a + 2 * each - l->lives->third[z];
}

/* The bytes at each issue grow by the same amount with every block. Issues of the action's first block are matched by
 * their distance from its beginning, those of its last block by their distance from its end, and those between by
 * both. */
static void follow_all(struct line *l, const struct sl_program *a, const struct sl_fast_align *aligned) {
  size_t i = 0, j = 0, h = 0;
  for (size_t n = 0; n < a->instance_count; n++) {
    const int32_t count = a->instances[n].op_count, run = aligned[n].run;
    const int32_t prefix = aligned[n].prefix, earliest = aligned[n].earliest;
    for (int32_t k = 0; k < count; k++) {
      const size_t x = i + (size_t)k, y = j + (size_t)k, z = h + (size_t)k;
      const bool first = k < prefix && (k + run < prefix || k < earliest);
      const bool last = k >= earliest && (k >= earliest + run || k + run >= prefix);
      if (first) follow(l, x, y, z);
      if (last) follow(l, x, y + (size_t)run, z + 2 * (size_t)run);
    }
    i += (size_t)count;
    j += (size_t)(count + run);
    h += (size_t)(count + 2 * run);
  }
}

enum sl_status sl_fast_stretch_live(const struct sl_job *a, const struct sl_job *b, const struct sl_job *third, int i,
                                    int64_t times, double *bytes) {
  enum sl_status status;
  const struct sl_class *x = &a->classes[i], *y = &b->classes[i];
  const struct sl_program *p = &x->programs[SL_PROGRAM_STEP], *q = &y->programs[SL_PROGRAM_STEP];
  struct sl_fast_align *aligned = NULL;
  struct lives lives = {NULL, NULL, NULL};
  struct line line = {.lives = &lives, .times = times};
  *bytes = -1;
  SL_GO(sl_fast_align(&aligned, p, q));
  if (aligned == NULL) goto done;
  SL_GO(live_at_issues(x, &lives.shallow));
  SL_GO(live_at_issues(y, &lives.deep));
  if (third != NULL) SL_GO(live_at_issues(&third->classes[i], &lives.third));
  follow_all(&line, p, aligned);
  if (line.beyond <= 1e-3 * line.most) *bytes = line.most;
done:
  free(aligned);
  free(lives.shallow);
  free(lives.deep);
  free(lives.third);
  return status;
}

/* ---- comparison of two jobs ---- */

/* Whether two sizes are equal up to rounding: shards and scratch are rounded up, so they do not grow exactly with the
 * depth. */
static bool as_large(int64_t x, int64_t y) {
  const double most = 1e-5 * (double)(x > y ? x : y), apart = (double)(x > y ? x - y : y - x);
  return apart <= most;
}

static bool same_size(const struct sl_program *p, const struct sl_op *x, const struct sl_program *q,
                      const struct sl_op *y) {
  bool same = x->kind == y->kind && x->slice_count == y->slice_count;
  for (int i = 0; i < (int)(sizeof x->dim / sizeof *x->dim); i++) same = same && as_large(x->dim[i], y->dim[i]);
  return same && as_large(sl_fast_operand_bytes(p, x), sl_fast_operand_bytes(q, y));
}

static bool same_issue(const struct sl_program *p, const struct sl_program *q, size_t i) {
  const struct sl_issue *x = &p->issues[i], *y = &q->issues[i];
  if (x->instance != y->instance || !sl_fast_same_lanes(p, i, q, i)) return false;
  if (!same_size(p, &p->ops[x->op], q, &q->ops[y->op])) return false;
  return x->wait_count == 0 || memcmp(waits_of(p, i), waits_of(q, i), x->wait_count * sizeof(struct sl_wait)) == 0;
}

bool sl_fast_same_steps(const struct sl_job *x, const struct sl_job *y) {
  if (x->class_count != y->class_count) return false;
  for (int c = 0; c < x->class_count; c++) {
    const struct sl_program *p = &x->classes[c].programs[SL_PROGRAM_STEP];
    const struct sl_program *q = &y->classes[c].programs[SL_PROGRAM_STEP];
    if (p->issue_count != q->issue_count) return false;
    for (size_t i = 0; i < p->issue_count; i++)
      if (!same_issue(p, q, i)) return false;
  }
  return true;
}
