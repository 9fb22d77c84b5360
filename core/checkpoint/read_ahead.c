/* A ring buffer that a few threads fill; see read_ahead.h. */
#include "core/checkpoint/read_ahead.h"

#include "core/base/machine.h"
#include "core/checkpoint/pieces.h"
#include "core/checkpoint/verify.h"
#include "core/io/direct.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
  READERS = 4, /* while one thread verifies, a few others wait for the disk */
  PIECES = 8   /* of the longest pieces that fit into the ring: half for those in use, half for the readers */
};

struct entry {
  struct sl_read_ahead_entry what;
  int64_t first, end; /* its bytes, as positions in an endless ring */
  float *values;      /* NULL: not read yet */
};

struct sl_read_ahead {
  const struct sl_checkpoint *from;
  struct entry *entries; /* (count), owned, as the ring is */
  size_t count;
  char *ring;
  int64_t ring_bytes;
  pthread_t threads[READERS];
  int thread_count;
  pthread_mutex_t lock; /* protects what follows */
  pthread_cond_t moved; /* signals changes */
  size_t next;          /* the first entry that no thread has started to read */
  size_t read;          /* all entries before it have been read */
  size_t kept;          /* the entries before it have been released */
  bool stop;
  enum sl_status status; /* of the threads */
  char message[1024];
};

/* ---- room ---- */

static int64_t bytes_of(const struct sl_checkpoint *from, const struct sl_read_ahead_entry *what) {
  const size_t bytes = (size_t)from->manifest.pieces[what->piece].held * SL_CHECKPOINT_ELEMENT;
  return (int64_t)((sl_direct_room(bytes) + SL_MACHINE_PAGE - 1) / SL_MACHINE_PAGE * SL_MACHINE_PAGE);
}

/* Assigns each entry its position: after the one before, or at the ring's beginning if the end is too near. */
static enum sl_status place(struct sl_read_ahead *ahead, const struct sl_read_ahead_entry *entries) {
  int64_t total = 0, longest = 0, at = 0;
  for (size_t i = 0; i < ahead->count; i++) {
    const int64_t bytes = bytes_of(ahead->from, &entries[i]);
    if (bytes > longest) longest = bytes;
    total += bytes;
  }
  ahead->ring_bytes = total < PIECES * longest ? total : PIECES * longest;
  for (size_t i = 0; i < ahead->count; i++) {
    const int64_t bytes = bytes_of(ahead->from, &entries[i]), left = ahead->ring_bytes - at % ahead->ring_bytes;
    if (left < bytes) at += left;
    ahead->entries[i] = (struct entry){.what = entries[i], .first = at, .end = at + bytes};
    at += bytes;
  }
  ahead->ring = sl_machine_huge((size_t)ahead->ring_bytes + 1);
  if (ahead->ring != NULL) return SL_OK;
  return sl_fail(SL_ERR_MEMORY, "%s: no memory for pieces of it", ahead->from->path);
}

/* Is there room for the next entry? Memory is not reused while a released entry is still being read into it. */
static bool has_room(const struct sl_read_ahead *ahead) {
  const size_t oldest = ahead->kept < ahead->read ? ahead->kept : ahead->read;
  return ahead->entries[ahead->next].end <= ahead->entries[oldest].first + ahead->ring_bytes;
}

/* ---- readers ---- */

static void say(struct sl_read_ahead *ahead, struct entry *entry, enum sl_status status, float *values) {
  entry->values = values;
  if (status != SL_OK && ahead->status == SL_OK) {
    ahead->status = status;
    snprintf(ahead->message, sizeof ahead->message, "%s", sl_error_message());
  }
  while (ahead->read < ahead->count && ahead->entries[ahead->read].values != NULL) ahead->read++;
  pthread_cond_broadcast(&ahead->moved);
}

static void *run_reader(void *context) {
  struct sl_read_ahead *ahead = context;
  pthread_mutex_lock(&ahead->lock);
  while (!ahead->stop && ahead->status == SL_OK && ahead->next < ahead->count) {
    if (!has_room(ahead)) {
      pthread_cond_wait(&ahead->moved, &ahead->lock);
      continue;
    }
    struct entry *entry = &ahead->entries[ahead->next++];
    const struct sl_manifest_piece *piece = &ahead->from->manifest.pieces[entry->what.piece];
    float *values = NULL;
    pthread_mutex_unlock(&ahead->lock);
    const enum sl_status status =
        sl_verify_piece(ahead->from, piece, entry->what.alone, ahead->ring + entry->first % ahead->ring_bytes, &values);
    pthread_mutex_lock(&ahead->lock);
    say(ahead, entry, status, status == SL_OK ? values : NULL);
  }
  pthread_mutex_unlock(&ahead->lock);
  return NULL;
}

/* Signals are left to the main thread. */
static enum sl_status start_readers(struct sl_read_ahead *ahead) {
  sigset_t all, before;
  int error = 0;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (error == 0 && ahead->thread_count < READERS) {
    error = pthread_create(&ahead->threads[ahead->thread_count], NULL, run_reader, ahead);
    ahead->thread_count += error == 0;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (ahead->thread_count > 0) return SL_OK; /* fewer threads are only slower */
  return sl_fail(SL_ERR_MEMORY, "%s: no thread to read it: %s", ahead->from->path, strerror(error));
}

enum sl_status sl_read_ahead_start(struct sl_read_ahead **out, const struct sl_checkpoint *checkpoint,
                                   const struct sl_read_ahead_entry *entries, size_t count) {
  struct sl_read_ahead *ahead;
  enum sl_status status;
  *out = NULL;
  SL_TRY(sl_calloc(&ahead, 1, sizeof *ahead));
  pthread_mutex_init(&ahead->lock, NULL);
  pthread_cond_init(&ahead->moved, NULL);
  ahead->from = checkpoint;
  ahead->count = count;
  SL_GO_FAIL(sl_calloc(&ahead->entries, count, sizeof *ahead->entries));
  if (count > 0) SL_GO_FAIL(place(ahead, entries));
  if (count > 0) SL_GO_FAIL(start_readers(ahead));
  *out = ahead;
  return SL_OK;
fail:
  sl_read_ahead_stop(ahead);
  return status;
}

void sl_read_ahead_stop(struct sl_read_ahead *ahead) {
  if (ahead == NULL) return;
  pthread_mutex_lock(&ahead->lock);
  ahead->stop = true;
  pthread_cond_broadcast(&ahead->moved);
  pthread_mutex_unlock(&ahead->lock);
  for (int i = 0; i < ahead->thread_count; i++) pthread_join(ahead->threads[i], NULL);
  pthread_cond_destroy(&ahead->moved);
  pthread_mutex_destroy(&ahead->lock);
  free(ahead->ring);
  free(ahead->entries);
  free(ahead);
}

/* ---- consumers ---- */

/* Records the threads' error on the calling thread. */
static enum sl_status relay(const struct sl_read_ahead *ahead) {
  return ahead->status == SL_OK ? SL_OK : sl_error_relay(ahead->status, ahead->message);
}

/* Keeps half of the ring, up to the end of `entry`, and all of `entry`. */
static void keep_from(struct sl_read_ahead *ahead, size_t entry) {
  const int64_t end = ahead->entries[entry].end;
  while (ahead->kept < entry && end - ahead->entries[ahead->kept].first > ahead->ring_bytes / 2) ahead->kept++;
  pthread_cond_broadcast(&ahead->moved);
}

enum sl_status sl_read_ahead_take(struct sl_read_ahead *ahead, size_t entry, float **values) {
  pthread_mutex_lock(&ahead->lock);
  const bool gone = entry < ahead->kept;
  if (!gone) keep_from(ahead, entry);
  while (!gone && ahead->status == SL_OK && ahead->entries[entry].values == NULL)
    pthread_cond_wait(&ahead->moved, &ahead->lock);
  *values = gone ? NULL : ahead->entries[entry].values;
  const enum sl_status status = gone || *values != NULL ? SL_OK : relay(ahead);
  pthread_mutex_unlock(&ahead->lock);
  return status;
}

enum sl_status sl_read_ahead_finish(struct sl_read_ahead *ahead) {
  pthread_mutex_lock(&ahead->lock);
  ahead->kept = ahead->count;
  pthread_cond_broadcast(&ahead->moved);
  while (ahead->status == SL_OK && ahead->read < ahead->count) pthread_cond_wait(&ahead->moved, &ahead->lock);
  const enum sl_status status = relay(ahead);
  pthread_mutex_unlock(&ahead->lock);
  return status;
}
