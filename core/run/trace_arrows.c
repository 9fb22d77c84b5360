/* Arrows; see trace_arrows.h. Format: "Trace Event Format", phases s and f. */
#include "core/run/trace_arrows.h"

#include "core/base/checked.h"

#include <inttypes.h>

/* Bits of an id for messages, pp ranks and ranks. */
enum { MESSAGE_BITS = 26, PP_BITS = 12, RANK_BITS = 24 };

/* Every process of a measurement traces its own ranks; predicted ranks are traced if they are simulated themselves. */
static bool is_traced(const struct sl_trace_slice *s, int rank) {
  if (s->trace->processes > 1) return true;
  if (s->run->exec->local_of == NULL) return false;
  return s->run->local_ranks[s->run->exec->local_of(s->run->state, rank)] == rank;
}

/* The number of earlier messages on the same lane with the same other side. */
static enum sl_status count(const struct sl_trace_slice *s, uint32_t *before) {
  const int64_t pp = s->trace->job->plan->pp, lanes = SL_LANE_RECV_B - SL_LANE_SEND_F + 1;
  if (s->of->messages == NULL)
    SL_TRY(sl_calloc(&s->of->messages, (size_t)sl_product(lanes, pp), sizeof *s->of->messages));
  *before = s->of->messages[sl_product(s->op->lane - SL_LANE_SEND_F, pp) + s->op->peer]++;
  return SL_OK;
}

static uint64_t id_of(const struct sl_trace_slice *s, int from, int to_pp, uint32_t number) {
  uint64_t id = s->trace->measured;
  id = id << 1 | (s->op->lane == SL_LANE_SEND_B || s->op->lane == SL_LANE_RECV_B);
  id = id << RANK_BITS | (uint64_t)from;
  id = id << PP_BITS | (uint64_t)to_pp;
  return id << MESSAGE_BITS | number;
}

void sl_trace_arrow(const struct sl_trace_slice *s) {
  const struct sl_plan *plan = s->trace->job->plan;
  if (sl_op_class_of(s->op->kind) != SL_CLASS_P2P) return;
  const bool sends = s->op->kind == SL_OP_SEND;
  struct sl_coord at = sl_plan_coord(plan, s->rank);
  const int own = at.pp;
  at.pp = s->op->peer;
  const int other = sl_plan_rank(plan, at);
  uint32_t number = 0;
  if (!is_traced(s, other)) return;
  s->trace->status = count(s, &number);
  if (s->trace->status != SL_OK || plan->pp > 1 << PP_BITS || number >= 1u << MESSAGE_BITS) return;
  const uint64_t id = id_of(s, sends ? s->rank : other, sends ? (int)s->op->peer : own, number);
  const int64_t latest = s->end_us - 1; /* a receive begins where it waits for its message */
  fprintf(s->trace->file,
          "{\"ph\":\"%s,\"name\":\"message\",\"cat\":\"pipeline\",\"id\":\"0x%" PRIx64
          "\",\"pid\":%d,\"tid\":%d,\"ts\":%lld},\n",
          sends ? "s\"" : "f\",\"bp\":\"e\"", id, s->of->pid, (int)s->op->lane,
          (long long)(sends ? s->begin_us : latest));
}
