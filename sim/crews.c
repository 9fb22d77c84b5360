/* Threads that walk over ranks of their own; see crews.h. */
#include "sim/crews.h"

#include <stdlib.h>

/* ---- news ---- */

void sl_crews_post(struct sl_crew *from, int to, struct sl_crew_news news) {
  struct sl_crews *crews = from->crews;
  struct sl_crew *crew = &crews->all[to];
  crew->news[crew->news_count++] = news;
  if (!crew->waits) return;
  crew->waits = false;
  crews->waiting--;
  pthread_cond_signal(&crew->woken);
}

/* The walk is over for all. */
static void end_walk(struct sl_crews *crews) {
  crews->over = true;
  for (int i = 0; i < crews->count; i++) pthread_cond_signal(&crews->all[i].woken);
}

/* Waits for news if there are none. */
static void await_news(struct sl_crew *crew) {
  struct sl_crews *crews = crew->crews;
  if (crew->news_count > 0 || crews->over) return;
  crew->waits = true;
  if (++crews->waiting == crews->count) end_walk(crews);
  while (crew->waits && !crews->over) pthread_cond_wait(&crew->woken, &crews->lock);
}

/* Takes news, once there are some; false: there will be none. */
static bool take_news(struct sl_crew *crew) {
  struct sl_crews *crews = crew->crews;
  if (crews->count == 1) return false;
  pthread_mutex_lock(&crews->lock);
  await_news(crew);
  const size_t count = crews->over ? 0 : crew->news_count;
  struct sl_crew_news *const taken = crew->news;
  crew->news = crew->taken;
  crew->taken = taken;
  crew->news_count = 0;
  pthread_mutex_unlock(&crews->lock);
  for (size_t i = 0; i < count; i++) crews->complete(crew, taken[i].local, taken[i].lane, taken[i].end);
  return count > 0;
}

/* ---- threads ---- */

static void work(struct sl_crew *crew) {
  do {
    while (crew->able_count > 0 && !crew->astray) crew->crews->walk(crew, crew->able[--crew->able_count]);
  } while (!crew->astray && take_news(crew));
  if (!crew->astray) return;
  pthread_mutex_lock(&crew->crews->lock);
  end_walk(crew->crews);
  pthread_mutex_unlock(&crew->crews->lock);
}

/* A thread begins when the lock is free, which is when every crew has its ranks. */
static void *begin(void *crew) {
  struct sl_crew *c = crew;
  sl_crews_lock(c);
  const bool over = c->crews->over;
  sl_crews_unlock(c);
  if (!over) work(c);
  return NULL;
}

static enum sl_status open_crew(struct sl_crew *crew, int ranks, bool alone) {
  const size_t most = alone ? 0 : (size_t)ranks * SL_LANE_COUNT;
  pthread_cond_init(&crew->woken, NULL);
  SL_TRY(sl_calloc(&crew->able, (size_t)ranks, sizeof *crew->able));
  SL_TRY(sl_malloc(&crew->news, most, sizeof *crew->news));
  return sl_malloc(&crew->taken, most, sizeof *crew->taken);
}

enum sl_status sl_crews_open(struct sl_crews *crews, int most, int ranks, sl_crew_walk_fn walk,
                             sl_crew_complete_fn complete, void *data) {
  if (most < 1) most = 1;
  *crews = (struct sl_crews){.walk = walk, .complete = complete, .lock = PTHREAD_MUTEX_INITIALIZER};
  SL_TRY(sl_calloc(&crews->all, (size_t)most, sizeof *crews->all));
  pthread_mutex_lock(&crews->lock);
  for (int i = 0; i < most; i++) {
    struct sl_crew *crew = &crews->all[crews->opened++];
    *crew = (struct sl_crew){.work = data, .index = i, .crews = crews};
    SL_TRY(open_crew(crew, ranks, most == 1)); /* the first is the caller's */
    if (i > 0 && pthread_create(&crew->thread, NULL, begin, crew) != 0) return SL_OK;
    crews->count++;
  }
  return SL_OK;
}

static void join(struct sl_crews *crews) {
  for (int i = 1; i < crews->count; i++) pthread_join(crews->all[i].thread, NULL);
  crews->joined = true;
}

bool sl_crews_run(struct sl_crews *crews, double *end) {
  bool astray = false;
  pthread_mutex_unlock(&crews->lock);
  work(&crews->all[0]);
  join(crews);
  for (int i = 0; i < crews->count; i++) {
    astray |= crews->all[i].astray;
    if (crews->all[i].end > *end) *end = crews->all[i].end;
  }
  return !astray;
}

void sl_crews_close(struct sl_crews *crews) {
  if (crews->all == NULL) return;
  if (!crews->joined) { /* a failure before the walk */
    crews->over = true;
    pthread_mutex_unlock(&crews->lock);
    join(crews);
  }
  for (int i = 0; i < crews->opened; i++) {
    struct sl_crew *crew = &crews->all[i];
    pthread_cond_destroy(&crew->woken);
    free(crew->able);
    free(crew->news);
    free(crew->taken);
  }
  pthread_mutex_destroy(&crews->lock);
  free(crews->all);
  *crews = (struct sl_crews){0};
}
