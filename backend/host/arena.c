/* The arenas: one mapping per memory space, laid out by core and zeroed. The NVMe space is a file
 * (backend/common/nvme.h). */
#include "backend/common/offload.h"
#include "backend/host/host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HUGE_PAGE = 2 << 20 };

static size_t pages(int64_t bytes) {
  return ((size_t)bytes + 4095) / 4096 * 4096;
}

/* Huge pages are faulted in 2 MiB at a time, so the arena starts at such a boundary; the slack around it is
 * unmapped. */
static enum sl_status map_memory(char **out, int64_t bytes) {
  size_t want = pages(bytes);
  void *at = mmap(NULL, want + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED)
    return sl_fail(SL_ERR_MEMORY, "the arena needs %lld bytes, which this machine refuses: %s", (long long)bytes,
                   strerror(errno));
  size_t ahead = (HUGE_PAGE - (uintptr_t)at % HUGE_PAGE) % HUGE_PAGE;
  if (ahead) munmap(at, ahead);
  *out = (char *)at + ahead;
  munmap(*out + want, HUGE_PAGE - ahead);
  madvise(*out, want, MADV_HUGEPAGE); /* only a hint: small pages work as well */
  return SL_OK;
}

static enum sl_status open_nvme(struct sl_host *host) {
  SL_TRY(sl_offload_open_file(&host->nvme, host->job->plan, host->rank_class));
  host->arena[SL_SPACE_NVME] = sl_nvme_mapped(host->nvme);
  return SL_OK;
}

enum sl_status sl_host_arena_open(struct sl_host *host) {
  for (enum sl_space space = 0; space < SL_SPACE_COUNT; space++) {
    int64_t bytes = host->rank_class->arena_bytes[space];
    if (bytes == 0) continue;
    if (space == SL_SPACE_NVME)
      SL_TRY(open_nvme(host));
    else
      SL_TRY(map_memory(&host->arena[space], bytes));
    host->arena_bytes[space] = bytes;
  }
  return SL_OK;
}

void sl_host_arena_close(struct sl_host *host) {
  for (enum sl_space space = 0; space < SL_SPACE_COUNT; space++)
    if (host->arena[space] && space != SL_SPACE_NVME) munmap(host->arena[space], pages(host->arena_bytes[space]));
  sl_nvme_close(host->nvme);
}

struct span {
  int64_t first, end;
};

static int span_order(const void *a, const void *b) {
  const struct span *x = a, *y = b;
  return x->first < y->first ? -1 : x->first > y->first;
}

void sl_host_arena_poison(struct sl_host *host) {
  const struct sl_class *c = host->rank_class;
  struct span *kept = calloc(c->slot_count + 1, sizeof *kept);
  size_t count = 0;
  if (!kept) return;
  for (size_t i = 0; i < c->buffer_count; i++) {
    const struct sl_buffer *b = &c->buffers[i];
    if (!b->persistent || b->space != SL_SPACE_DEVICE) continue;
    for (int slot = 0; slot < b->slots; slot++) {
      int64_t at = c->slot_offsets[b->first_slot + slot];
      kept[count++] = (struct span){at, at + b->bytes};
    }
  }
  qsort(kept, count, sizeof *kept, span_order);
  kept[count].first = kept[count].end = host->arena_bytes[SL_SPACE_DEVICE];
  int64_t at = 0;
  for (size_t i = 0; i <= count; i++) {
    if (kept[i].first > at) memset(host->arena[SL_SPACE_DEVICE] + at, 0xff, (size_t)(kept[i].first - at));
    if (kept[i].end > at) at = kept[i].end;
  }
  free(kept);
}

int64_t sl_host_process_bytes(void) {
  FILE *file = fopen("/proc/self/status", "r");
  if (!file) return 0;
  char line[256];
  long long kib, sum = 0;
  while (fgets(line, sizeof line, file))
    if (sscanf(line, "RssAnon: %lld kB", &kib) == 1 || sscanf(line, "RssShmem: %lld kB", &kib) == 1) sum += kib;
  fclose(file);
  return sum * 1024;
}
