/* A ring of memory, filled by a few threads; see read_ahead.h. */
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
  READERS =
      4, /* beside a thread that computes, a few are on the disk while another holds what came against its checksum */
  PIECES = 8 /* of the longest there may be, that the ring has room for: half for what is used, half for the readers */
};

struct entry {
  struct sl_read_ahead_entry what;
  int64_t first, end; /* bytes of an endless ring that are its own */
  float *values;      /* NULL: it is not there yet */
};

struct sl_read_ahead {
  const struct sl_checkpoint *from;
  struct entry *entries; /* (count), owned, as the ring */
  size_t count;
  char *ring;
  int64_t ring_bytes;
  pthread_t threads[READERS];
  int thread_count;
  pthread_mutex_t lock; /* of what follows */
  pthread_cond_t moved; /* it has changed */
  size_t next;          /* the first entry that nobody has begun to read */
  size_t read;          /* all before it have been read */
  size_t kept;          /* those before it have been given up */
  bool stop;
  enum sl_status status; /* of the threads */
  char message[1024];
};

/* ---- room ---- */

static int64_t bytes_of(const struct sl_checkpoint *from, const struct sl_read_ahead_entry *what) {
  const size_t bytes = (size_t)from->manifest.pieces[what->piece].held * SL_CHECKPOINT_ELEMENT;
  return (int64_t)((sl_direct_room(bytes) + SL_MACHINE_PAGE - 1) / SL_MACHINE_PAGE * SL_MACHINE_PAGE);
}

/* Each entry's place: behind the one before, or at the ring's beginning where its end is too near. */
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
  if (posix_memalign((void **)&ahead->ring, SL_MACHINE_PAGE, (size_t)ahead->ring_bytes + 1) == 0) return SL_OK;
  ahead->ring = NULL;
  return sl_fail(SL_ERR_MEMORY, "%s: no memory for pieces of it", ahead->from->path);
}

/* Is there room for the next entry? Memory is not used again while one that was given up is still being read into it. */
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

/* Signals are the main thread's. */
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
  if (ahead->thread_count > 0) return SL_OK; /* fewer are slower */
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

/* ---- who wants them ---- */

/* The error of the threads, said in this one. */
static enum sl_status relay(const struct sl_read_ahead *ahead) {
  return ahead->status == SL_OK ? SL_OK : sl_error_relay(ahead->status, ahead->message);
}

/* Half of the ring, up to the end of `entry`, is kept; all of `entry` is. */
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
