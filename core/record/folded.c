/* Adds up bytes over calls; see folded.h. */
#include "core/record/folded.h"

#include "core/base/parallel.h"
#include "core/op/wire.h"
#include "core/record/part.h"

#include <stdlib.h>
#include <string.h>

/* A member of a group from which on the bytes of a row are others, and how much more (sum: how many). */
struct bound {
  int member;
  int64_t bytes;
};

/* What the members of a group send in all calls that are counted in one row of traffic. There may be a million members
 * and ten thousand calls, so the calls are added up once, and a member only looks for its place. */
struct row {
  enum sl_program_kind kind;
  const struct sl_op *like; /* one of the calls */
  struct bound *bounds;     /* by member; the first is of member 0 */
  size_t count, room;
  size_t at;           /* the last place found: ranks ask in turn ... */
  const json_t *asked; /* ... with the same row of a record */
};

struct sl_folded_class {
  struct row *rows; /* of all programs of steps */
  size_t row_count, room;
  bool even;
};

/* The first two and the last two members suffice: shares differ at an end, or everywhere because of a bucket's
 * bounds. */
static bool is_even(const struct sl_program *program, const struct sl_op *op, int size) {
  if (sl_op_class_of(op->kind) == SL_CLASS_P2P) return true;
  const struct sl_slice *slices = sl_op_slices(program, op);
  if (size < 2) return true;
  const int64_t first = sl_op_wire_bytes(op, slices, size, 0);
  return !(op->flags & SL_OP_SHARE_RANGE) && first == sl_op_wire_bytes(op, slices, size, 1) &&
         first == sl_op_wire_bytes(op, slices, size, size - 1) &&
         (double)first == sl_op_most_wire_bytes(op, slices, size);
}

/* Are the two counted in the same row? */
static bool alike(const struct sl_op *a, const struct sl_op *b) {
  return a->group == b->group && a->kind == b->kind && a->payload == b->payload && a->dtype == b->dtype;
}

static enum sl_status add_bound(struct row *row, int member, int64_t bytes) {
  SL_TRY(sl_grow(&row->bounds, &row->room, row->count + 1, sizeof *row->bounds));
  row->bounds[row->count++] = (struct bound){member, bytes};
  return SL_OK;
}

static int by_number(const void *a, const void *b) {
  const int x = *(const int *)a, y = *(const int *)b;
  return (x > y) - (x < y);
}

/* Adds what one part of a collective sends, by the members at which that changes. */
static enum sl_status add_part(struct row *row, const struct sl_op *op, const struct sl_slice *slices, int part,
                               int members, int64_t times) {
  int bounds[SL_WIRE_BOUNDS];
  const int count = sl_op_wire_bounds(op, slices, part, members, bounds);
  int64_t before = 0;
  qsort(bounds, (size_t)count, sizeof *bounds, by_number);
  for (int i = 0; i < count; i++) {
    const int64_t bytes = times * sl_op_part_wire_bytes(op, slices, part, members, bounds[i]);
    if (bytes != before) SL_TRY(add_bound(row, bounds[i], bytes - before));
    before = bytes;
  }
  return SL_OK;
}

static struct row *find(const struct sl_folded_class *class, enum sl_program_kind kind, const struct sl_op *op) {
  for (size_t i = 0; i < class->row_count; i++)
    if (class->rows[i].kind == kind && alike(class->rows[i].like, op)) return &class->rows[i];
  return NULL;
}

static enum sl_status add_call(struct sl_folded_class *class, const struct sl_program *program,
                               enum sl_program_kind kind, const struct sl_op *op, int members, int64_t times) {
  struct row *row = find(class, kind, op);
  if (row == NULL) {
    SL_TRY(sl_grow(&class->rows, &class->room, class->row_count + 1, sizeof *class->rows));
    row = &class->rows[class->row_count++];
    *row = (struct row){.kind = kind, .like = op};
  }
  if (sl_op_class_of(op->kind) == SL_CLASS_P2P)
    return add_bound(row, 0, op->kind == SL_OP_SEND ? times * sl_op_comm_bytes(op) : 0);
  for (int part = 0; part < sl_op_parts(op); part++)
    SL_TRY(add_part(row, op, sl_op_slices(program, op), part, members, times));
  return SL_OK;
}

static enum sl_status open_program(struct sl_folded *f, int c, enum sl_program_kind kind) {
  const struct sl_program *program = &f->job->classes[c].programs[kind];
  struct sl_folded_class *class = &f->classes[c];
  int64_t *times;
  SL_TRY(sl_calloc(&times, program->op_count, sizeof *times));
  const struct sl_repetition *r = &program->repeated;
  for (size_t i = 0; i < program->issue_count - sl_issues_repeated(program); i++)
    times[program->issues[i].op] += i >= r->first && i < r->first + r->length ? 1 + (int64_t)r->times : 1;
  enum sl_status status = SL_OK;
  for (size_t i = 0; i < program->op_count && status == SL_OK; i++) {
    const struct sl_op *op = &program->ops[i];
    if (times[i] == 0 || !sl_op_is_comm(op->kind)) continue;
    const int members = sl_plan_group(f->job->plan, op->group, f->job->classes[c].first_rank).size;
    class->even = class->even && is_even(program, op, members);
    status = add_call(class, program, kind, op, members, times[i]);
  }
  free(times);
  return status;
}

static int by_member(const void *a, const void *b) {
  return by_number(&((const struct bound *)a)->member, &((const struct bound *)b)->member);
}

/* Makes sums of the differences: one entry for each member at which the bytes change. */
static void sum_up(struct row *row) {
  size_t n = 0;
  int64_t sum = 0;
  if (row->count > 0) qsort(row->bounds, row->count, sizeof *row->bounds, by_member);
  for (size_t i = 0; i < row->count; i++) {
    sum += row->bounds[i].bytes;
    if (n == 0 || row->bounds[n - 1].member != row->bounds[i].member) n++;
    row->bounds[n - 1] = (struct bound){row->bounds[i].member, sum};
  }
  row->count = n;
}

static enum sl_status open_class(void *context, int c) {
  struct sl_folded *f = context;
  f->classes[c].even = true;
  SL_TRY(open_program(f, c, SL_PROGRAM_STEP));
  SL_TRY(open_program(f, c, SL_PROGRAM_EVAL));
  SL_TRY(open_program(f, c, SL_PROGRAM_COMPRESSED));
  for (size_t i = 0; i < f->classes[c].row_count; i++) sum_up(&f->classes[c].rows[i]);
  return SL_OK;
}

enum sl_status sl_folded_open(struct sl_folded *f, const struct sl_job *job) {
  *f = (struct sl_folded){.job = job};
  SL_TRY(sl_calloc(&f->classes, (size_t)job->class_count, sizeof *f->classes));
  const enum sl_status status = sl_parallel(job->class_count, job->threads, open_class, f);
  if (status != SL_OK) sl_folded_close(f);
  return status;
}

static void close_class(struct sl_folded_class *class) {
  for (size_t i = 0; i < class->row_count; i++) free(class->rows[i].bounds);
  free(class->rows);
}

void sl_folded_close(struct sl_folded *f) {
  for (int c = 0; f->classes != NULL && c < f->job->class_count; c++) close_class(&f->classes[c]);
  free(f->classes);
  f->classes = NULL;
}

bool sl_folded_even(const struct sl_folded *f, int rank) {
  return f->classes[sl_job_class_of(f->job, rank)].even;
}

static bool is_named(const json_t *row, const char *key, const char *name) {
  const char *text = json_string_value(json_object_get(row, key));
  return text != NULL && strcmp(text, name) == 0;
}

static bool counts_in(const json_t *row, const struct sl_op *op) {
  return is_named(row, "group", sl_group_name(op->group)) && is_named(row, "op", sl_op_name(op->kind)) &&
         is_named(row, "payload", sl_payload_name(op->payload)) && is_named(row, "dtype", sl_dtype_name(op->dtype));
}

static enum sl_program_kind program_of(const json_t *row) {
  if (json_object_get(row, "step") == NULL) return SL_PROGRAM_STEP;
  return is_named(row, "step", "evaluation") ? SL_PROGRAM_EVAL : SL_PROGRAM_COMPRESSED;
}

/* The bytes of member `index`. Ranks are asked in turn, so its place is mostly the last one found or the next. */
static int64_t bytes_of(struct row *row, int index) {
  if (row->count == 0 || index < row->bounds[0].member) return 0;
  if (index < row->bounds[row->at].member) row->at = 0;
  while (row->at + 1 < row->count && row->bounds[row->at + 1].member <= index) row->at++;
  return row->bounds[row->at].bytes;
}

/* The row that is called what `row` of a record is; NULL: there is none. */
static struct row *row_of(const struct sl_folded_class *class, const json_t *row) {
  for (size_t i = 0; i < class->row_count; i++)
    if (class->rows[i].asked == row) return &class->rows[i];
  const enum sl_program_kind kind = program_of(row);
  for (size_t i = 0; i < class->row_count; i++) {
    struct row *r = &class->rows[i];
    if (r->kind != kind || !counts_in(row, r->like)) continue;
    r->asked = row;
    return r;
  }
  return NULL;
}

int64_t sl_folded_wire_bytes(const struct sl_folded *f, int rank, const json_t *row) {
  struct row *r = row_of(&f->classes[sl_job_class_of(f->job, rank)], row);
  if (r == NULL) return 0;
  const bool alone = sl_op_class_of(r->like->kind) == SL_CLASS_P2P;
  return bytes_of(r, alone ? 0 : sl_plan_group(f->job->plan, r->like->group, rank).index);
}

/* Copies stay within a rank, and ranks of one program make the same ones. */
static bool is_copy(const json_t *row) {
  for (enum sl_lane lane = 0; lane < SL_LANE_COUNT; lane++)
    if (sl_lane_is_link(lane) && is_named(row, "group", sl_lane_name(lane))) return true;
  return false;
}

void sl_folded_put(const struct sl_folded *f, int rank, enum sl_program_kind last, json_t *entry) {
  int64_t sum = 0;
  size_t i;
  json_t *row;
  json_array_foreach(json_object_get(entry, "traffic"), i, row) {
    if (is_copy(row)) continue;
    const int64_t bytes = sl_folded_wire_bytes(f, rank, row);
    set_integer(row, "wire_bytes", bytes);
    const double seconds = json_real_value(json_object_get(row, "time_s"));
    if (seconds > 0) set_real(row, "busbw_GBps", (double)bytes / seconds * 1e-9);
    if (program_of(row) == last) sum += bytes;
  }
  set_integer(entry, "wire_bytes", sum);
}
