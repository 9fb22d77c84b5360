/* Crews: threads that walk over the ranks of a simulation, each over ranks of its own, so that only what ranks of
 * different crews tell each other needs a lock. Internal to sim/.
 *
 * A crew walks over its ranks until each of them waits for another. Then it takes its news, which are communications
 * that other crews have completed for ranks of its own, or waits until there are some. The walk is over once every crew
 * waits. The times that come out do not depend on the number of crews, nor on which is faster. */
#pragma once

#include "core/op/op.h"
#include "sim/state.h"

#include <pthread.h>

/* The communication that is the newest op of a lane is complete at `end`. */
struct sl_crew_news {
  int local, lane;
  double end;
};

struct sl_crews;

struct sl_crew {
  void *work; /* of the caller's functions */
  int index;
  int *able; /* stack of its ranks that may continue; room for all ranks */
  int able_count;
  double end;  /* of the last op that is complete */
  bool astray; /* ranks disagree or deadlock: set by the walk, which ends then */
  struct sl_crews *crews;
  pthread_t thread;           /* but of the first, which is the caller's */
  struct sl_crew_news *taken; /* that are being read */
  char apart[64];             /* crews write what is above all the time: never to the same cache line */
  /* under the lock */
  struct sl_crew_news *news; /* one at most for each lane of its ranks; there is room for all */
  size_t news_count;
  bool waits;
  pthread_cond_t woken;
};

typedef void (*sl_crew_walk_fn)(struct sl_crew *crew, int local);
typedef void (*sl_crew_complete_fn)(struct sl_crew *crew, int local, int lane, double end);

struct sl_crews {
  struct sl_crew *all;
  int count, opened; /* those that walk; one more may have found no thread */
  bool joined;
  sl_crew_walk_fn walk;         /* continues with a rank as far as it can */
  sl_crew_complete_fn complete; /* takes news of a rank of the crew, which may become able to continue */
  pthread_mutex_t lock;         /* held from sl_crews_open until sl_crews_run */
  int waiting;                  /* crews that wait; all: the walk is over */
  bool over;
};

/* At most `most` crews for `ranks` local ranks, and at least one: as many as the system has threads for. Close it after
 * a failure, too. Errors: SL_ERR_MEMORY. */
enum sl_status sl_crews_open(struct sl_crews *crews, int most, int ranks, sl_crew_walk_fn walk,
                             sl_crew_complete_fn complete, void *work);
/* Rank `local` is of `crew`, and can be walked over. */
static inline void sl_crews_able(struct sl_crews *crews, int crew, int local) {
  crews->all[crew].able[crews->all[crew].able_count++] = local;
}
/* Walks until no rank can continue; *end becomes the end of the last op if that is later. False: ranks went astray. */
bool sl_crews_run(struct sl_crews *crews, double *end);
/* For what ranks of several crews use. */
static inline void sl_crews_lock(struct sl_crew *crew) {
  pthread_mutex_lock(&crew->crews->lock);
}
static inline void sl_crews_unlock(struct sl_crew *crew) {
  pthread_mutex_unlock(&crew->crews->lock);
}
/* Under the lock: news for another crew. */
void sl_crews_post(struct sl_crew *from, int to, struct sl_crew_news news);
void sl_crews_close(struct sl_crews *crews);
