/* Blocks of a file by io_uring; see nvme.h. */
#include "backend/common/nvme.h"

#ifdef SL_HAVE_URING
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* A block on its way: bytes [lo, hi) of the file, of which `done` have arrived. */
struct slot {
  int64_t lo, hi, done;
  bool busy;
};

struct way {
  struct io_uring ring;
  bool open;
  struct slot *slots; /* depth of them; owned */
  int busy;
  int flying; /* blocks that the kernel has and has not given back */
};

struct sl_nvme {
  char path[1200];
  int file;
  char *mapped;
  int64_t bytes; /* of the file: whole pages */
  struct sl_nvme_rules rules;
  struct sl_nvme_sent sent;
  struct way ways[2];                       /* of reads, of writes */
  const struct sl_nvme_request *running[2]; /* of each way, from its first block to its last */
  uint64_t *sums; /* of each page, as it was written last; NULL before sl_nvme_checksum; owned */
};

/* ---- the file ---- */

/* Asked first: a disk is not to be filled only to find that it is too small. */
static enum sl_status take_room(const struct sl_nvme *n) {
  struct statvfs disk;
  double left = -1; /* -1: nobody knows */
  int why = 0;
  if (fstatvfs(n->file, &disk) == 0) left = (double)disk.f_bavail * (double)disk.f_frsize;
  if (left >= 0 && left < (double)n->bytes) why = ENOSPC;
  if (why == 0) why = posix_fallocate(n->file, 0, (off_t)n->bytes);
  if (why == 0) return SL_OK;
  const bool asks = why == ENOSPC && left >= 0 && left < (double)n->bytes && n->rules.owner != NULL;
  const char *first = asks ? n->rules.owner(n->rules.context, (int64_t)left) : NULL; /* that does not fit */
  return sl_fail(SL_ERR_IO, "%s: no room for %s%s%lld bytes of offloaded states: %s", n->path,
                 first != NULL ? first : "", first != NULL ? " among " : "", (long long)n->bytes, strerror(why));
}

static enum sl_status open_file(struct sl_nvme *n, const char *folder) {
  snprintf(n->path, sizeof n->path, "%s/shardlab-nvme-XXXXXX", folder);
  n->file = mkostemp(n->path, O_CLOEXEC);
  if (n->file < 0) return sl_fail(SL_ERR_IO, "%s: cannot be created: %s", n->path, strerror(errno));
  unlink(n->path);
  /* past the page cache, where the file system can; made with O_DIRECT where it cannot, the file would stay */
  const int flags = fcntl(n->file, F_GETFL);
  if (flags >= 0) (void)fcntl(n->file, F_SETFL, flags | O_DIRECT);
  SL_TRY(take_room(n));
  void *at = mmap(NULL, (size_t)n->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, n->file, 0);
  if (at == MAP_FAILED)
    return sl_fail(SL_ERR_IO, "%s: cannot map %lld bytes: %s", n->path, (long long)n->bytes, strerror(errno));
  n->mapped = at;
  return SL_OK;
}

static enum sl_status open_way(struct sl_nvme *n, struct way *way) {
  SL_TRY(sl_calloc(&way->slots, (size_t)n->rules.depth, sizeof *way->slots));
  const int said = io_uring_queue_init((unsigned)n->rules.depth, &way->ring, 0);
  if (said < 0) return sl_fail(SL_ERR_ABSENT, "%s: this machine has no io_uring: %s", n->path, strerror(-said));
  way->open = true;
  return SL_OK;
}

enum sl_status sl_nvme_open(struct sl_nvme **out, const char *folder, int64_t bytes,
                            const struct sl_nvme_rules *rules) {
  enum sl_status status;
  struct sl_nvme *n;
  SL_TRY(sl_calloc(&n, 1, sizeof *n));
  n->file = -1;
  n->bytes = (bytes + SL_MACHINE_PAGE - 1) / SL_MACHINE_PAGE * SL_MACHINE_PAGE;
  n->rules = *rules;
  SL_GO_FAIL(open_file(n, folder));
  for (int i = 0; i < 2; i++) SL_GO_FAIL(open_way(n, &n->ways[i]));
  *out = n;
  return SL_OK;
fail:
  sl_nvme_close(n);
  return status;
}

/* Waits for blocks that are still on their way, as after a failure: the kernel reads into memory, or out of it, that is
 * freed next. A disk that does not answer is not waited for. */
static void let_arrive(struct way *way) {
  struct __kernel_timespec most = {.tv_sec = 10};
  struct io_uring_cqe *cqe;
  int said = 0;
  while (way->flying > 0 && (said == 0 || said == -EINTR)) {
    said = io_uring_wait_cqe_timeout(&way->ring, &cqe, &most);
    if (said != 0) continue;
    io_uring_cqe_seen(&way->ring, cqe);
    way->flying--;
  }
}

void sl_nvme_close(struct sl_nvme *n) {
  if (n == NULL) return;
  for (int i = 0; i < 2; i++) {
    if (n->ways[i].open) let_arrive(&n->ways[i]);
    if (n->ways[i].open) io_uring_queue_exit(&n->ways[i].ring);
    free(n->ways[i].slots);
  }
  if (n->mapped != NULL) munmap(n->mapped, (size_t)n->bytes);
  if (n->file >= 0) close(n->file);
  free(n->sums);
  free(n);
}

char *sl_nvme_mapped(const struct sl_nvme *n) {
  return n->mapped;
}

struct sl_nvme_sent sl_nvme_sent(const struct sl_nvme *n) {
  return n->sent;
}

/* ---- checksums ---- */

static void keep_sums(struct sl_nvme *n, int64_t lo, int64_t hi, const char *pages) {
  for (int64_t at = lo; n->sums != NULL && at < hi; at += SL_MACHINE_PAGE)
    n->sums[at / SL_MACHINE_PAGE] = XXH3_64bits(pages + (at - lo), SL_MACHINE_PAGE);
}

enum sl_status sl_nvme_checksum(struct sl_nvme *n) {
  if (n->sums != NULL) return SL_OK;
  if (msync(n->mapped, (size_t)n->bytes, MS_SYNC) != 0) return sl_fail(SL_ERR_IO, "%s: %s", n->path, strerror(errno));
  SL_TRY(sl_calloc(&n->sums, (size_t)(n->bytes / SL_MACHINE_PAGE), sizeof *n->sums));
  keep_sums(n, 0, n->bytes, n->mapped);
  return SL_OK;
}

static enum sl_status check_sums(const struct sl_nvme *n, const struct sl_nvme_request *r, const struct slot *s,
                                 const char *pages) {
  for (int64_t at = s->lo; n->sums != NULL && at < s->hi; at += SL_MACHINE_PAGE)
    if (n->sums[at / SL_MACHINE_PAGE] != XXH3_64bits(pages + (at - s->lo), SL_MACHINE_PAGE))
      return sl_fail(SL_ERR_IO, "%s: %s: the %d bytes at %lld are not those that were written", n->path, r->what,
                     SL_MACHINE_PAGE, (long long)at);
  return SL_OK;
}

/* ---- requests ---- */

static char *memory_of(const struct sl_nvme *n, const struct sl_nvme_request *r, int slot) {
  return r->blocks + (int64_t)slot * n->rules.block;
}

/* What of a block is the request's: bytes [*lo, *hi) of the file. */
static void own(const struct sl_nvme_request *r, const struct slot *s, int64_t *lo, int64_t *hi) {
  *lo = s->lo > r->at ? s->lo : r->at;
  *hi = s->hi < r->at + r->bytes ? s->hi : r->at + r->bytes;
}

static enum sl_status failed(const struct sl_nvme *n, const struct sl_nvme_request *r, const struct slot *s, int why) {
  return sl_fail(SL_ERR_IO, "%s: %s: %s of %lld bytes at %lld: %s", n->path, r->what, r->write ? "a write" : "a read",
                 (long long)(s->hi - s->lo - s->done), (long long)(s->lo + s->done),
                 why != 0 ? strerror(why) : "the file ends before them");
}

/* A page of which the request has only a part keeps the rest. */
static enum sl_status keep_rest(const struct sl_nvme *n, const struct sl_nvme_request *r, const struct slot *s,
                                int64_t page, char *to) {
  const ssize_t got = pread(n->file, to, SL_MACHINE_PAGE, (off_t)page);
  return got == SL_MACHINE_PAGE ? SL_OK : failed(n, r, s, got < 0 ? errno : 0);
}

static enum sl_status fill_block(const struct sl_nvme *n, const struct sl_nvme_request *r, const struct slot *s,
                                 char *block) {
  int64_t lo, hi;
  own(r, s, &lo, &hi);
  if (lo > s->lo) SL_TRY(keep_rest(n, r, s, s->lo, block));
  if (hi < s->hi && (lo == s->lo || s->hi - s->lo > SL_MACHINE_PAGE))
    SL_TRY(keep_rest(n, r, s, s->hi - SL_MACHINE_PAGE, block + (s->hi - s->lo) - SL_MACHINE_PAGE));
  memcpy(block + (lo - s->lo), r->memory + (lo - r->at), (size_t)(hi - lo));
  return SL_OK;
}

/* Requests of either way that have a page in common take turns: a page is neither read nor known while it changes. */
static bool takes_turn(struct sl_nvme *n, const struct sl_nvme_request *r) {
  const struct sl_nvme_request *other = n->running[!r->write];
  if (n->running[r->write] == r) return true;
  if (other != NULL && other->first < r->end && r->first < other->end) return false;
  n->running[r->write] = r;
  return true;
}

static enum sl_status queue(struct sl_nvme *n, const struct sl_nvme_request *r, int i) {
  struct way *way = &n->ways[r->write];
  const struct slot *s = &way->slots[i];
  struct io_uring_sqe *sqe = io_uring_get_sqe(&way->ring);
  char *from = memory_of(n, r, i) + s->done;
  const unsigned left = (unsigned)(s->hi - s->lo - s->done);
  if (sqe == NULL) return sl_fail(SL_ERR_INTERNAL, "%s: more blocks on their way than asked for", n->path);
  if (r->write)
    io_uring_prep_write(sqe, n->file, from, left, (uint64_t)(s->lo + s->done));
  else
    io_uring_prep_read(sqe, n->file, from, left, (uint64_t)(s->lo + s->done));
  io_uring_sqe_set_data64(sqe, (uint64_t)i);
  return SL_OK;
}

static enum sl_status submit(struct sl_nvme *n, const struct sl_nvme_request *r) {
  const int said = io_uring_submit(&n->ways[r->write].ring);
  if (said > 0) n->ways[r->write].flying += said;
  n->sent.calls += said > 0;
  return said >= 0 || said == -EAGAIN || said == -EBUSY || said == -EINTR
             ? SL_OK
             : sl_fail(SL_ERR_IO, "%s: %s: %s", n->path, r->what, strerror(-said));
}

/* The next block of the request, in slot `i`. */
static enum sl_status send_block(struct sl_nvme *n, struct sl_nvme_request *r, int i) {
  struct slot *s = &n->ways[r->write].slots[i];
  const int64_t full = r->next + n->rules.block;
  *s = (struct slot){.lo = r->next, .hi = full < r->end ? full : r->end, .busy = true};
  if (r->write) {
    SL_TRY(fill_block(n, r, s, memory_of(n, r, i)));
    keep_sums(n, s->lo, s->hi, memory_of(n, r, i));
  }
  SL_TRY(queue(n, r, i));
  r->next = s->hi;
  n->ways[r->write].busy++;
  n->sent.blocks++;
  return n->rules.singly ? submit(n, r) : SL_OK;
}

/* As many blocks as there is room for. */
static enum sl_status send_blocks(struct sl_nvme *n, struct sl_nvme_request *r, bool *moved) {
  const struct way *way = &n->ways[r->write];
  const bool waits = n->rules.in_batches && way->busy > 0;
  for (int i = 0; i < n->rules.depth && r->next < r->end && !waits; i++) {
    if (way->slots[i].busy) continue;
    SL_TRY(send_block(n, r, i));
    *moved = true;
  }
  return submit(n, r);
}

/* A block, or a part of it, has arrived. */
static enum sl_status take(struct sl_nvme *n, const struct sl_nvme_request *r, int i, int result) {
  struct way *way = &n->ways[r->write];
  struct slot *s = &way->slots[i];
  if (result == -EINTR || result == -EAGAIN) return queue(n, r, i);
  if (result <= 0) return failed(n, r, s, -result);
  s->done += result;
  if (s->done < s->hi - s->lo) {
    s->done = s->done / SL_MACHINE_PAGE * SL_MACHINE_PAGE; /* O_DIRECT goes on at a page */
    return queue(n, r, i);
  }
  int64_t lo, hi;
  own(r, s, &lo, &hi);
  if (!r->write) SL_TRY(check_sums(n, r, s, memory_of(n, r, i)));
  if (!r->write) memcpy(r->memory + (lo - r->at), memory_of(n, r, i) + (lo - s->lo), (size_t)(hi - lo));
  s->busy = false;
  way->busy--;
  return SL_OK;
}

void sl_nvme_start(struct sl_nvme_request *r) {
  r->first = r->next = r->at / SL_MACHINE_PAGE * SL_MACHINE_PAGE;
  r->end = (r->at + r->bytes + SL_MACHINE_PAGE - 1) / SL_MACHINE_PAGE * SL_MACHINE_PAGE;
}

enum sl_status sl_nvme_drive(struct sl_nvme *n, struct sl_nvme_request *r, bool *done, bool *moved) {
  struct way *way = &n->ways[r->write];
  struct io_uring_cqe *cqe;
  *done = false;
  if (!takes_turn(n, r)) return SL_OK;
  SL_TRY(send_blocks(n, r, moved));
  while (way->busy > 0 && io_uring_peek_cqe(&way->ring, &cqe) == 0) {
    const int slot = (int)io_uring_cqe_get_data64(cqe), result = cqe->res;
    io_uring_cqe_seen(&way->ring, cqe);
    way->flying--;
    SL_TRY(take(n, r, slot, result));
    SL_TRY(send_blocks(n, r, moved));
    *moved = true;
  }
  *done = way->busy == 0 && r->next == r->end;
  if (*done) n->running[r->write] = NULL;
  return SL_OK;
}

#else /* no liburing where this was built: a plan that keeps something on NVMe ends where the file is opened */

enum sl_status sl_nvme_open(struct sl_nvme **out, const char *folder, int64_t bytes,
                            const struct sl_nvme_rules *rules) {
  (void)out, (void)rules;
  return sl_fail(SL_ERR_ABSENT, "%s: %lld bytes of states are to be kept there, and this build has no liburing", folder,
                 (long long)bytes);
}

void sl_nvme_close(struct sl_nvme *nvme) {
  (void)nvme;
}

char *sl_nvme_mapped(const struct sl_nvme *nvme) {
  (void)nvme;
  return NULL;
}

enum sl_status sl_nvme_checksum(struct sl_nvme *nvme) {
  (void)nvme;
  return SL_OK;
}

struct sl_nvme_sent sl_nvme_sent(const struct sl_nvme *nvme) {
  (void)nvme;
  return (struct sl_nvme_sent){0};
}

void sl_nvme_start(struct sl_nvme_request *request) {
  (void)request;
}

enum sl_status sl_nvme_drive(struct sl_nvme *nvme, struct sl_nvme_request *request, bool *done, bool *moved) {
  (void)nvme, (void)request, (void)moved;
  *done = true;
  return SL_OK;
}
#endif
