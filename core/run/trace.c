/* Writes Chrome trace events, one per line; see trace.h. Format: "Trace Event Format", the JSON object form, phases X
 * and M. */
#include "core/run/trace.h"

#include "core/op/flops.h"
#include "core/op/wire.h"
#include "core/run/trace_arrows.h"
#include "core/run/trace_counters.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Measured ranks are numbered after all possible predicted ones, so both kinds can be loaded into one view. */
enum { MEASURED_PID = 1 << 24 };

static const char *kind_name(const struct sl_trace *trace) {
  return trace->measured ? "measured" : "predicted";
}

static int pid_of(const struct sl_trace *trace, int rank) {
  return rank + (trace->measured ? MEASURED_PID : 0);
}

/* All processes but process 0 write next to its file, under names that it knows. */
static enum sl_status open_part(struct sl_trace *trace, const char *path) {
  trace->part_name = sl_new_file_hidden(path, trace->process);
  if (trace->part_name == NULL) return sl_fail(SL_ERR_MEMORY, "out of memory: the name of a file");
  const int handle = sl_new_file_create(trace->part_name);
  trace->part = handle >= 0 ? fdopen(handle, "w") : NULL;
  if (trace->part != NULL) return SL_OK;
  if (handle >= 0) close(handle);
  return sl_fail(SL_ERR_IO, "%s: cannot be created: %s", path, strerror(errno));
}

enum sl_status sl_trace_open(struct sl_trace *trace, const char *path, const struct sl_job *job, bool measured,
                             int process, int processes) {
  enum sl_status status = SL_OK;
  *trace = (struct sl_trace){.job = job, .measured = measured, .process = process, .processes = processes};
  SL_GO_FAIL(sl_calloc(&trace->ranks, (size_t)job->plan->world, sizeof *trace->ranks));
  if (process == 0) SL_GO_FAIL(sl_new_file_open(&trace->whole, path));
  if (process > 0) SL_GO_FAIL(open_part(trace, path));
  trace->file = process == 0 ? trace->whole.stream : trace->part;
  if (process == 0) fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n", trace->file);
  return SL_OK;
fail:
  sl_trace_discard(trace);
  return status;
}

static void name_rank(struct sl_trace *trace, int rank) {
  const int pid = pid_of(trace, rank);
  const struct sl_coord c = sl_plan_coord(trace->job->plan, rank);
  fprintf(trace->file,
          "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":\"%s rank %d (pp %d, dp %d, cp %d, tp "
          "%d)\"}},\n",
          pid, kind_name(trace), rank, c.pp, c.dp, c.cp, c.tp);
  fprintf(trace->file, "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%d,\"args\":{\"sort_index\":%d}},\n", pid,
          2 * rank + trace->measured);
}

static void name_lane(struct sl_trace *trace, int rank, enum sl_lane lane) {
  const int pid = pid_of(trace, rank);
  fprintf(trace->file, "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":\"%s\"}},\n",
          pid, (int)lane, sl_lane_name(lane));
  fprintf(trace->file,
          "{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":%d,\"tid\":%d,\"args\":{\"sort_index\":%d}},\n", pid,
          (int)lane, (int)lane);
}

/* "gemm h.3 0F1": op, place in the model, action. */
static void slice_name(char *out, size_t size, const struct sl_trace *trace, const struct sl_op *op,
                       const struct sl_instance *instance) {
  const int64_t layers = trace->job->plan->model->n_layer;
  char action[64], place[32] = "";
  sl_action_print(action, sizeof action, &instance->action);
  const bool of_model = op->phase == SL_PHASE_FORWARD || op->phase == SL_PHASE_BACKWARD;
  if (of_model && op->layer < 0) snprintf(place, sizeof place, " embedding");
  if (of_model && op->layer >= 0)
    snprintf(place, sizeof place, op->layer < layers || layers == 0 ? " h.%d" : " head", op->layer);
  snprintf(out, size, "%s%s %s", sl_op_label(op), place, action);
}

/* Rounds begin and end of an op to whole microseconds; see trace.h. An op of a lane does not begin before the preceding
 * one has ended. */
static void round_times(struct sl_trace_slice *s, const struct sl_completion *done) {
  const bool message = sl_op_class_of(s->op->kind) == SL_CLASS_P2P;
  int64_t *lane_end = &s->of->lane_end_us[s->op->lane];
  s->begin_us = (int64_t)floor(done->start_s * 1e6);
  s->end_us = (int64_t)floor(done->end_s * 1e6) + (s->op->kind == SL_OP_RECV);
  if (s->begin_us < *lane_end) s->begin_us = *lane_end;
  if (s->end_us < s->begin_us + message) s->end_us = s->begin_us + message;
  *lane_end = s->end_us;
  if (s->end_us > s->of->end_us) s->of->end_us = s->end_us;
}

static void put_slice(const struct sl_trace_slice *s, int64_t step, double seconds) {
  const struct sl_op *op = s->op;
  FILE *file = s->trace->file;
  char name[160];
  slice_name(name, sizeof name, s->trace, op,
             &s->program->instances[sl_issue_instance(s->program, sl_issue_find(s->program, s->index))]);
  fprintf(file,
          "{\"ph\":\"X\",\"name\":\"%s\",\"cat\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%lld,\"dur\":%lld,\"args\":{",
          name, sl_phase_name(op->phase), s->of->pid, (int)op->lane, (long long)s->begin_us,
          (long long)(s->end_us - s->begin_us));
  if (sl_op_is_comm(op->kind)) {
    fprintf(file, "\"bytes\":%lld,\"payload\":\"%s\"", (long long)sl_op_comm_bytes(op), sl_payload_name(op->payload));
    if (op->group != SL_GROUP_NONE) fprintf(file, ",\"group\":\"%s\"", sl_group_name(op->group));
  } else {
    fprintf(file, "\"bytes\":%.0f,\"flops\":%.0f", sl_op_bytes(op, sl_op_slices(s->program, op)), sl_op_flops(op));
  }
  fprintf(file, ",\"duration_ns\":%.0f,\"step\":%lld,\"issue\":%u}},\n", seconds * 1e9, (long long)step, s->index);
}

static enum sl_status begin_rank(struct sl_trace *trace, int rank) {
  SL_TRY(sl_calloc(&trace->ranks[rank], 1, sizeof **trace->ranks));
  trace->ranks[rank]->pid = pid_of(trace, rank);
  name_rank(trace, rank);
  return SL_OK;
}

void sl_trace_add(struct sl_trace *trace, const struct sl_run *run, int local, int64_t step,
                  const struct sl_program *program, const struct sl_completion *done) {
  const int rank = run->local_ranks[local];
  if (trace->file == NULL || trace->status != SL_OK) return;
  if (trace->ranks[rank] == NULL) trace->status = begin_rank(trace, rank);
  if (trace->status != SL_OK) return;
  struct sl_trace_slice s = {.trace = trace,
                             .run = run,
                             .of = trace->ranks[rank],
                             .rank = rank,
                             .rank_class = &trace->job->classes[sl_job_class_of(trace->job, rank)],
                             .program = program,
                             .op = sl_issue_op(program, done->index),
                             .index = done->index};
  _Static_assert(SL_LANE_COUNT <= 32, "a bit of `seen` for every lane");
  if (!(s.of->seen >> s.op->lane & 1)) name_lane(trace, rank, s.op->lane);
  s.of->seen |= 1u << s.op->lane;
  round_times(&s, done);
  put_slice(&s, step, done->end_s - done->start_s);
  sl_trace_arrow(&s);
  sl_trace_count_sent(&s);
  sl_trace_count_live(&s);
}

/* Appends the part of process `process` and removes it. */
static enum sl_status append_part(struct sl_trace *trace, int process) {
  char block[65536];
  char *path = sl_new_file_hidden(trace->whole.path, process);
  FILE *part = path != NULL ? fopen(path, "re") : NULL;
  size_t n;
  if (part != NULL) {
    while ((n = fread(block, 1, sizeof block, part)) > 0) fwrite(block, 1, n, trace->file);
    fclose(part);
    unlink(path);
  }
  free(path);
  return part != NULL ? SL_OK
                      : sl_fail(SL_ERR_IO, "%s: what rank %d wrote of it cannot be read: %s", trace->whole.path,
                                process, strerror(errno));
}

static enum sl_status finish_part(struct sl_trace *trace) {
  const bool bad = ferror(trace->part) != 0;
  FILE *part = trace->part;
  trace->part = NULL;
  if (fclose(part) != 0 || bad)
    return sl_fail(SL_ERR_IO, "%s: cannot be written: %s", trace->part_name, strerror(errno));
  return SL_OK;
}

/* Tells all processes whether all parts are complete. */
static enum sl_status agree(const struct sl_run *run, int processes, enum sl_status mine) {
  if (processes <= 1 || run->exec->exchange == NULL) return mine;
  int32_t word = (int32_t)mine, *all = NULL;
  enum sl_status status;
  SL_GO(sl_calloc(&all, (size_t)processes, sizeof *all));
  SL_GO(run->exec->exchange(run->state, &word, sizeof word, all));
  status = mine;
  for (int i = 0; i < processes && status == SL_OK; i++)
    if (all[i] != SL_OK) status = sl_fail(SL_ERR_PEER, "rank %d could not write its part of the trace", i);
done:
  free(all);
  return status;
}

enum sl_status sl_trace_close(struct sl_trace *trace, const struct sl_run *run) {
  if (trace->file == NULL) return SL_OK;
  enum sl_status status = trace->process > 0 ? finish_part(trace) : SL_OK;
  if (trace->status != SL_OK) status = sl_fail(trace->status, "out of memory: the trace");
  SL_GO(agree(run, trace->processes, status));
  if (trace->process == 0) {
    for (int i = 1; i < trace->processes; i++) SL_GO(append_part(trace, i));
    fprintf(trace->file, "{\"ph\":\"M\",\"name\":\"shardlab\",\"pid\":%d,\"args\":{\"kind\":\"%s\"}}\n]}\n",
            pid_of(trace, 0), kind_name(trace));
    SL_GO(sl_new_file_finish(&trace->whole));
  }
  free(trace->part_name); /* process 0 owns it now */
  trace->part_name = NULL;
done:
  sl_trace_discard(trace);
  return status;
}

static void free_rank(struct sl_trace_rank *rank) {
  if (rank == NULL) return;
  for (int i = 0; i < SL_SPACE_COUNT; i++) free(rank->live_us[i]);
  free(rank->messages);
  free(rank);
}

void sl_trace_discard(struct sl_trace *trace) {
  sl_new_file_discard(&trace->whole);
  if (trace->part != NULL) fclose(trace->part);
  sl_new_file_drop(trace->part_name);
  free(trace->part_name);
  for (int i = 0; trace->ranks != NULL && i < trace->job->plan->world; i++) free_rank(trace->ranks[i]);
  free(trace->ranks);
  memset(trace, 0, sizeof *trace);
}
