/* Chrome trace events, one a line; see trace.h. Format: "Trace Event Format", the JSON object form, phases X and M. */
#include "core/run/trace.h"
#include "core/op/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Measured ranks stand after every possible predicted one, so both kinds can be loaded into one view. */
enum { MEASURED_PID = 1 << 24 };

static const char *kind_name(const struct sl_trace *trace) {
  return trace->measured ? "measured" : "predicted";
}

static int pid_of(const struct sl_trace *trace, int rank) {
  return rank + (trace->measured ? MEASURED_PID : 0);
}

/* All but process 0 write beside the file that it writes, under a name that it knows. */
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
  SL_GO_FAIL(sl_calloc(&trace->seen, (size_t)job->plan->world, sizeof *trace->seen));
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

void sl_trace_add(struct sl_trace *trace, int rank, int64_t step, const struct sl_program *program,
                  const struct sl_completion *done) {
  if (trace->file == NULL) return;
  const struct sl_issue *issue = &program->issues[done->index];
  const struct sl_op *op = &program->ops[issue->op];
  char name[160];
  _Static_assert(SL_LANE_COUNT < 32, "a bit of `seen` for every lane, and one for the rank");
  if (trace->seen[rank] == 0) name_rank(trace, rank);
  if (!(trace->seen[rank] >> op->lane & 1)) name_lane(trace, rank, op->lane);
  trace->seen[rank] |= 1u << 31 | 1u << op->lane;
  slice_name(name, sizeof name, trace, op, &program->instances[issue->instance]);
  fprintf(trace->file,
          "{\"ph\":\"X\",\"name\":\"%s\",\"cat\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"args\":{",
          name, sl_phase_name(op->phase), pid_of(trace, rank), (int)op->lane, done->start_s * 1e6,
          (done->end_s - done->start_s) * 1e6);
  if (sl_op_is_comm(op->kind)) {
    fprintf(trace->file, "\"bytes\":%lld,\"payload\":\"%s\"", (long long)sl_op_comm_bytes(op),
            sl_payload_name(op->payload));
    if (op->group != SL_GROUP_NONE) fprintf(trace->file, ",\"group\":\"%s\"", sl_group_name(op->group));
  } else {
    fprintf(trace->file, "\"bytes\":%.0f,\"flops\":%.0f", sl_op_bytes(op, sl_op_slices(program, op)), sl_op_flops(op));
  }
  fprintf(trace->file, ",\"step\":%lld,\"issue\":%u}},\n", (long long)step, done->index);
}

/* Append the part of process `process` and remove it. */
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

/* All processes learn whether all parts are complete. */
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
  SL_GO(agree(run, trace->processes, status));
  if (trace->process == 0) {
    for (int i = 1; i < trace->processes; i++) SL_GO(append_part(trace, i));
    fprintf(trace->file, "{\"ph\":\"M\",\"name\":\"shardlab\",\"pid\":%d,\"args\":{\"kind\":\"%s\"}}\n]}\n",
            pid_of(trace, 0), kind_name(trace));
    SL_GO(sl_new_file_finish(&trace->whole));
  }
  free(trace->part_name); /* process 0 has it now */
  trace->part_name = NULL;
done:
  sl_trace_discard(trace);
  return status;
}

void sl_trace_discard(struct sl_trace *trace) {
  sl_new_file_discard(&trace->whole);
  if (trace->part != NULL) fclose(trace->part);
  sl_new_file_drop(trace->part_name);
  free(trace->part_name);
  free(trace->seen);
  memset(trace, 0, sizeof *trace);
}
