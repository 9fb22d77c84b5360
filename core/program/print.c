/* A program as text, one op a line. */
#include "core/program/print.h"

static void print_operand(const struct sl_job *job, const struct sl_class *c, const struct sl_program *p,
                          const struct sl_instance *n, const struct sl_op *op, int i, int rank, FILE *out) {
  static const char *const marks[] = {"", "<", ">", "<>"};
  _Static_assert(sizeof marks / sizeof *marks == SL_READ_WRITE + 1, "a mark for each access");
  const struct sl_slice *s = &p->slices[op->slice + i];
  const struct sl_buffer *b = &c->buffers[s->buffer];
  const int place = sl_plan_group(job->plan, op->place_group, rank).index;
  fprintf(out, " %s%s", marks[s->access], b->name);
  if (b->slots > 1) fprintf(out, "#%d", sl_slice_slot(p, b, s, n));
  const int64_t offset = s->offset + place * s->shard_stride;
  if (offset != 0 || s->bytes != b->bytes) fprintf(out, "[%lld+%lld]", (long long)offset, (long long)s->bytes);
}

void sl_program_print(const struct sl_job *job, int rank, enum sl_program_kind kind, FILE *out) {
  const struct sl_class *c = &job->classes[sl_job_class_of(job, rank)];
  const struct sl_program *p = &c->programs[kind];
  fprintf(out, "# index  lane[index in lane]  action  op (shape)  operands: <read >write [byte offset + bytes]  waits: "
               "lane>=count\n");
  for (size_t i = 0; i < p->issue_count; i++) {
    const struct sl_issue *e = &p->issues[i];
    const struct sl_op *op = &p->ops[e->op];
    const struct sl_instance *n = &p->instances[e->instance];
    char action[32];
    sl_action_print(action, sizeof action, &n->action);
    fprintf(out, "%5zu  %s[%u]  %s  %s", i, sl_lane_name(op->lane), e->lane_index, action, sl_op_label(op));
    for (int d = 0; d < 5 && op->dim[d] != 0; d++) fprintf(out, "%s%lld", d == 0 ? " (" : " x ", (long long)op->dim[d]);
    if (op->dim[0] != 0) fputc(')', out);
    for (int k = 0; k < op->slice_count; k++) print_operand(job, c, p, n, op, k, rank, out);
    for (unsigned w = 0; w < e->wait_count; w++) {
      const struct sl_wait *wait = &p->waits[e->wait + w];
      fprintf(out, "%s%s>=%u", w == 0 ? "  waits " : " ", sl_lane_name((enum sl_lane)wait->lane), wait->count);
    }
    fputc('\n', out);
  }
}
