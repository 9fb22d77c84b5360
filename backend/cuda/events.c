/* Turns a program's waits, each a lane and a number of ops, into CUDA events; see events.h. */
#include "backend/cuda/events.h"

#include <stdlib.h>
#include <string.h>

/* The issue index of each op, by lane. */
struct lanes {
  uint32_t *issue[SL_LANE_COUNT];
  uint32_t count[SL_LANE_COUNT];
  /* [lane][other lane]: how many ops of the other lane this lane's stream has waited for; a stream is a FIFO, so this
   * holds for its later ops too */
  uint32_t waited[SL_LANE_COUNT][SL_LANE_COUNT];
};

static enum sl_status open_lanes(struct lanes *lanes, const struct sl_program *p) {
  memset(lanes, 0, sizeof *lanes);
  for (int lane = 0; lane < SL_LANE_COUNT; lane++)
    SL_TRY(sl_calloc(&lanes->issue[lane], p->lane_ops[lane], sizeof(uint32_t)));
  return SL_OK;
}

static void close_lanes(struct lanes *lanes) {
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) free(lanes->issue[lane]);
}

static int32_t event_behind(struct sl_cuda_events *out, uint32_t issue) {
  if (out->event_of[issue] == SL_CUDA_NO_EVENT) out->event_of[issue] = out->event_count++;
  return out->event_of[issue];
}

static enum sl_status plan_issue(struct sl_cuda_events *out, struct lanes *lanes, const struct sl_program *p,
                                 uint32_t i) {
  const struct sl_issue *e = &p->issues[i];
  const struct sl_op *op = &p->ops[e->op];
  out->wait_first[i] = (uint32_t)out->wait_count;
  for (uint32_t w = 0; w < e->wait_count; w++) {
    const struct sl_wait *wait = &p->waits[e->wait + w];
    uint32_t *waited = &lanes->waited[op->lane][wait->lane];
    if (wait->lane == (uint32_t)op->lane || wait->count <= *waited) continue;
    if (wait->count > lanes->count[wait->lane])
      return sl_fail(SL_ERR_INTERNAL, "op #%u waits for op %u of lane %s, of which %u came before it", i, wait->count,
                     sl_lane_name((enum sl_lane)wait->lane), lanes->count[wait->lane]);
    *waited = wait->count;
    out->waits[out->wait_count++] = event_behind(out, lanes->issue[wait->lane][wait->count - 1]);
  }
  lanes->issue[op->lane][lanes->count[op->lane]++] = i;
  out->uses[op->lane] = true;
  if (sl_op_is_comm(op->kind)) event_behind(out, i);
  return SL_OK;
}

enum sl_status sl_cuda_events_plan(struct sl_cuda_events *out, const struct sl_program *p) {
  enum sl_status status;
  struct lanes lanes;
  memset(out, 0, sizeof *out);
  SL_GO(open_lanes(&lanes, p));
  SL_GO(sl_calloc(&out->event_of, p->issue_count, sizeof *out->event_of));
  SL_GO(sl_calloc(&out->wait_first, p->issue_count + 1, sizeof *out->wait_first));
  SL_GO(sl_calloc(&out->waits, p->wait_count, sizeof *out->waits));
  for (size_t i = 0; i < p->issue_count; i++) out->event_of[i] = SL_CUDA_NO_EVENT;
  for (uint32_t i = 0; i < p->issue_count; i++) SL_GO(plan_issue(out, &lanes, p, i));
  out->wait_first[p->issue_count] = (uint32_t)out->wait_count;
done:
  close_lanes(&lanes);
  if (status != SL_OK) sl_cuda_events_free(out);
  return status;
}

void sl_cuda_events_free(struct sl_cuda_events *events) {
  free(events->event_of);
  free(events->wait_first);
  free(events->waits);
  memset(events, 0, sizeof *events);
}
