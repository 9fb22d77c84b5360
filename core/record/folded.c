/* Sums bytes over calls; see folded.h. */
#include "core/record/folded.h"

#include "core/op/wire.h"
#include "core/record/part.h"

#include <stdlib.h>
#include <string.h>

struct call {
  int32_t op;
  int64_t times;
};

struct sl_folded_class {
  struct call *calls[SL_PROGRAM_COUNT]; /* of the programs of steps */
  size_t count[SL_PROGRAM_COUNT];
  bool even;
};

/* For a member of the op's group. */
static int64_t wire_of(const struct sl_program *program, const struct sl_op *op, const struct sl_members *m) {
  if (sl_op_class_of(op->kind) == SL_CLASS_P2P) return op->kind == SL_OP_SEND ? sl_op_comm_bytes(op) : 0;
  return sl_op_wire_bytes(op, sl_op_slices(program, op), m->size, m->index);
}

/* The first two and the last two members suffice: shares differ at an end, or everywhere because of a bucket's
 * bounds. */
static bool is_even(const struct sl_folded *f, const struct sl_program *program, const struct sl_op *op) {
  if (sl_op_class_of(op->kind) == SL_CLASS_P2P) return true;
  const int size = sl_plan_group(f->job->plan, op->group, 0).size;
  const struct sl_slice *slices = sl_op_slices(program, op);
  if (size < 2) return true;
  const int64_t first = sl_op_wire_bytes(op, slices, size, 0);
  return !(op->flags & SL_OP_SHARE_RANGE) && first == sl_op_wire_bytes(op, slices, size, 1) &&
         first == sl_op_wire_bytes(op, slices, size, size - 1) &&
         (double)first == sl_op_most_wire_bytes(op, slices, size);
}

static enum sl_status open_program(struct sl_folded *f, int c, enum sl_program_kind kind) {
  const struct sl_program *program = &f->job->classes[c].programs[kind];
  struct sl_folded_class *class = &f->classes[c];
  int64_t *times;
  SL_TRY(sl_calloc(&times, program->op_count, sizeof *times));
  const struct sl_repetition *r = &program->repeated;
  for (size_t i = 0; i < program->issue_count - sl_issues_repeated(program); i++)
    times[program->issues[i].op] += i >= r->first && i < r->first + r->length ? 1 + (int64_t)r->times : 1;
  enum sl_status status;
  SL_GO(sl_calloc(&class->calls[kind], program->op_count, sizeof **class->calls));
  for (size_t i = 0; i < program->op_count; i++) {
    if (times[i] == 0 || !sl_op_is_comm(program->ops[i].kind)) continue;
    class->calls[kind][class->count[kind]++] = (struct call){(int32_t)i, times[i]};
    class->even = class->even && is_even(f, program, &program->ops[i]);
  }
done:
  free(times);
  return status;
}

static enum sl_status open_class(struct sl_folded *f, int c) {
  f->classes[c].even = true;
  SL_TRY(open_program(f, c, SL_PROGRAM_STEP));
  SL_TRY(open_program(f, c, SL_PROGRAM_EVAL));
  return open_program(f, c, SL_PROGRAM_COMPRESSED);
}

enum sl_status sl_folded_open(struct sl_folded *f, const struct sl_job *job) {
  enum sl_status status = SL_OK;
  *f = (struct sl_folded){.job = job};
  SL_TRY(sl_calloc(&f->classes, (size_t)job->class_count, sizeof *f->classes));
  for (int c = 0; c < job->class_count && status == SL_OK; c++) status = open_class(f, c);
  if (status != SL_OK) sl_folded_close(f);
  return status;
}

void sl_folded_close(struct sl_folded *f) {
  for (int c = 0; f->classes != NULL && c < f->job->class_count; c++)
    for (int kind = 0; kind < SL_PROGRAM_COUNT; kind++) free(f->classes[c].calls[kind]);
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

/* Are the two counted in the same row? */
static bool alike(const struct sl_op *a, const struct sl_op *b) {
  return a->group == b->group && a->kind == b->kind && a->payload == b->payload && a->dtype == b->dtype;
}

static enum sl_program_kind program_of(const json_t *row) {
  if (json_object_get(row, "step") == NULL) return SL_PROGRAM_STEP;
  return is_named(row, "step", "evaluation") ? SL_PROGRAM_EVAL : SL_PROGRAM_COMPRESSED;
}

/* Names are compared only once for consecutive calls of the same kind. */
int64_t sl_folded_wire_bytes(const struct sl_folded *f, int rank, const json_t *row) {
  const int c = sl_job_class_of(f->job, rank);
  const enum sl_program_kind kind = program_of(row);
  const struct sl_program *program = &f->job->classes[c].programs[kind];
  const struct sl_op *like = NULL, *unlike = NULL;
  struct sl_members m = {.size = 1};
  int64_t sum = 0;
  for (size_t i = 0; i < f->classes[c].count[kind]; i++) {
    const struct call *call = &f->classes[c].calls[kind][i];
    const struct sl_op *op = &program->ops[call->op];
    if (like != NULL ? !alike(op, like) : unlike != NULL && alike(op, unlike)) continue;
    if (like == NULL && !counts_in(row, op)) {
      unlike = op;
      continue;
    }
    if (like == NULL && sl_op_class_of(op->kind) != SL_CLASS_P2P) m = sl_plan_group(f->job->plan, op->group, rank);
    like = op;
    sum += call->times * wire_of(program, op, &m);
  }
  return sum;
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
