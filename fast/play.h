/* One action of a lowered program on the lanes of a rank that has nothing else to do. What it takes from the program is kept as a
 * track, so that it can be played again with other seconds when the program is gone. */
#pragma once

#include "core/program/program.h"

/* Indices into a track's `index`: `count` of them from `first`. */
struct sl_fast_range {
  int32_t first, count;
};

struct sl_fast_beat {
  int32_t work;   /* whose seconds it takes */
  int32_t before; /* the beat before it on its lane; -1: none */
  int32_t lane;
  bool kernel;                        /* on the lane of computation */
  struct sl_fast_range waits, writes; /* beats, or -1 for the input; tensors whose gradient it writes */
};

struct sl_fast_track {
  struct sl_fast_beat *beats; /* in the order of issue */
  double *ends;               /* (count), scratch of a play */
  int32_t *index;
  struct sl_fast_range sent; /* what the send of the action's output waits for */
  size_t count, index_count, index_capacity;
};

/* What it is played with: seconds of works, those of the host for their launches (NULL: none), and two numbers of the kernel set. */
struct sl_fast_beats {
  const double *seconds, *host;
  bool blocking; /* the host waits for the device before each launch */
  double slow;   /* share of its speed that a kernel loses beside a collective */
};

/* Seconds to the end of the action, and to when its output may be sent (-INFINITY: it sends none): from the moment when the
 * device is free, from that when its input has arrived (-INFINITY: it waits for none), and from that when the host comes to it
 * (-INFINITY: a host that takes no time). */
struct sl_fast_played {
  double end, end_arrived, end_hosted, out, out_arrived, out_hosted;
  double host, host_arrived; /* seconds of the host, and of that from the input on */
  double least;              /* the least that `end_hosted` is by the host alone */
};

/* When the gradient of each tensor is written last: the start and the end of the op, in seconds; `hosted`: its end from when the
 * host comes to the action. */
struct sl_fast_written {
  double begin, end, hosted;
};

/* Which tensor of the caller's a placed tensor is; -1: none that it asks for. */
struct sl_fast_wanted {
  const struct sl_class *rank_class;
  const struct sl_pp_rank *pp_rank;
  const int32_t *tensor; /* (tensors of pp_rank) */
};

/* Does a slice write gradients of a rank with whole ones? And does such a slice those of `tensor`? */
bool sl_fast_writes_gradient(const struct sl_class *rank_class, const struct sl_slice *slice);
bool sl_fast_touches(const struct sl_class *rank_class, const struct sl_slice *slice, const struct sl_placed *tensor);

/* Keep `instance`; work_of[op]: the index of its seconds. `wanted` may be NULL; it speaks of a rank with whole gradients. On
 * failure, too, *out is to be freed. */
enum sl_status sl_fast_track_take(struct sl_fast_track *out, const struct sl_program *program, const int32_t *work_of,
                                  const struct sl_instance *instance, const struct sl_fast_wanted *wanted);
void sl_fast_track_free(struct sl_fast_track *track);

/* Play it: what came before is over. `written` has the tensors of `wanted`, or is NULL. */
void sl_fast_play(struct sl_fast_track *track, const struct sl_fast_beats *beats, struct sl_fast_written *written,
                  struct sl_fast_played *out);
/* Seconds to its end alone. */
double sl_fast_play_end(struct sl_fast_track *track, const double *seconds);
