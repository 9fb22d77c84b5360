/* One action of a lowered program on the lanes of a rank that has nothing else to do. */
#ifndef SL_FAST_PLAY_H
#define SL_FAST_PLAY_H

#include "core/op/work.h"
#include "core/program/program.h"

struct sl_fast_player {
  const struct sl_program *program;
  const double *seconds; /* per op */
  const double *host;    /* per op: seconds of the host for its launch; NULL: none */
  bool blocking;         /* the host waits for the device before each launch */
  double slow;           /* share of its speed that a kernel loses beside a collective */
};

/* Seconds to the end of the action, and to when its output may be sent (0: it sends none): from the moment when the device is
 * free, from that when its input has arrived (-INFINITY: it waits for none), and from that when the host comes to it (-INFINITY:
 * a host that takes no time). `host`: seconds of the host for all of it. */
struct sl_fast_played {
  double end, end_arrived, end_hosted, out, out_arrived, out_hosted, host;
  double host_arrived; /* seconds of the host from the input on */
  double least;        /* the least that `end_hosted` is by the host alone */
};

/* When the gradient of each placed tensor of a rank is written last: the start and the end of the op, in seconds. */
struct sl_fast_writes {
  const struct sl_class *rank_class;
  const struct sl_pp_rank *pp_rank;
  double *begins, *ends; /* (tensors) */
  double *hosted;        /* (tensors): `ends` from when the host comes to the action, -INFINITY as above */
};

/* Play `instance`: what came before is over. `writes` may be NULL; it speaks of a rank with whole gradients. */
enum sl_status sl_fast_play(const struct sl_fast_player *player, const struct sl_instance *instance,
                            const struct sl_fast_writes *writes, struct sl_fast_played *out);

#endif
