/* Event files; see events.h. */
#include "core/monitor/events.h"

#include "core/base/machine.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_NAME = 255, MOST_EVENT = MOST_NAME + 64 };

uint32_t sl_crc32c(const void *data, size_t size) {
  const unsigned char *bytes = data;
  uint32_t crc = ~UINT32_C(0);
  for (size_t i = 0; i < size; i++) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (UINT32_C(0x82f63b78) & -(crc & 1));
  }
  return ~crc;
}

static uint32_t masked(const void *data, size_t size) {
  const uint32_t crc = sl_crc32c(data, size);
  return (crc >> 15 | crc << 17) + UINT32_C(0xa282ead8);
}

/* The bytes of a message being assembled. */
struct message {
  unsigned char bytes[MOST_EVENT];
  size_t size;
};

static void put_fixed(struct message *m, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; i++) m->bytes[m->size++] = (unsigned char)(value >> (8 * i));
}

static void put_varint(struct message *m, uint64_t value) {
  for (; value >= 0x80; value >>= 7) m->bytes[m->size++] = (unsigned char)(value | 0x80);
  m->bytes[m->size++] = (unsigned char)value;
}

/* A field on the wire: its number, and the encoding of its value. */
enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

static void put_key(struct message *m, int field, enum wire wire) {
  put_varint(m, (uint64_t)(field << 3 | (int)wire));
}

static void put_bytes(struct message *m, int field, const void *bytes, size_t size) {
  put_key(m, field, BYTES);
  put_varint(m, size);
  memcpy(m->bytes + m->size, bytes, size);
  m->size += size;
}

static void put_double(struct message *m, int field, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  put_key(m, field, FIXED64);
  put_fixed(m, bits, 8);
}

static enum sl_status write_record(struct sl_events *events, const struct message *event) {
  struct message head = {.size = 0}, tail = {.size = 0};
  put_fixed(&head, event->size, 8);
  put_fixed(&head, masked(head.bytes, 8), 4);
  put_fixed(&tail, masked(event->bytes, event->size), 4);
  const size_t wrote = fwrite(head.bytes, 1, head.size, events->stream) +
                       fwrite(event->bytes, 1, event->size, events->stream) +
                       fwrite(tail.bytes, 1, tail.size, events->stream);
  if (wrote == head.size + event->size + tail.size) return SL_OK;
  return sl_fail(SL_ERR_IO, "%s: %s", events->path, strerror(errno));
}

static const char stem[] = "events.out.tfevents.";

/* The current second, or one later than the newest file of the folder. */
static long long next_second(const char *folder) {
  long long at = (long long)time(NULL);
  DIR *list = opendir(folder);
  for (const struct dirent *entry; list != NULL && (entry = readdir(list)) != NULL;) {
    long long made = 0;
    if (strncmp(entry->d_name, stem, sizeof stem - 1) != 0) continue;
    if (sscanf(entry->d_name + sizeof stem - 1, "%10lld.", &made) == 1 && made >= at) at = made + 1;
  }
  if (list != NULL) closedir(list);
  return at;
}

enum sl_status sl_events_open(struct sl_events *events, const char *folder) {
  static const char version[] = "brain.Event:2";
  struct message first = {.size = 0};
  char host[128] = "localhost";
  (void)gethostname(host, sizeof host - 1);
  *events = (struct sl_events){0};
  if (asprintf(&events->path, "%s/%s%lld.%s.%ld.0", folder, stem, next_second(folder), host, (long)getpid()) < 0) {
    events->path = NULL;
    return sl_fail(SL_ERR_MEMORY, "out of memory: the name of an event file");
  }
  events->stream = fopen(events->path, "wxe");
  if (events->stream == NULL) {
    const enum sl_status status = sl_fail(SL_ERR_IO, "%s: %s", events->path, strerror(errno));
    sl_events_close(events);
    return status;
  }
  put_double(&first, 1, sl_machine_date());
  put_bytes(&first, 3, version, sizeof version - 1);
  return write_record(events, &first);
}

enum sl_status sl_events_write(struct sl_events *events, const char *name, double value, int64_t step) {
  struct message scalar = {.size = 0}, summary = {.size = 0}, event = {.size = 0};
  const float number = (float)value;
  uint32_t bits;
  if (strlen(name) > MOST_NAME)
    return sl_fail(SL_ERR_INPUT, "%s: a name of %zu bytes; expected at most %d", events->path, strlen(name),
                   (int)MOST_NAME);
  memcpy(&bits, &number, sizeof bits);
  put_bytes(&scalar, 1, name, strlen(name));
  put_key(&scalar, 2, FIXED32);
  put_fixed(&scalar, bits, 4);
  put_bytes(&summary, 1, scalar.bytes, scalar.size);
  put_double(&event, 1, sl_machine_date());
  put_key(&event, 2, VARINT);
  put_varint(&event, (uint64_t)step);
  put_bytes(&event, 5, summary.bytes, summary.size);
  return write_record(events, &event);
}

enum sl_status sl_events_purge(struct sl_events *events, int64_t step) {
  struct message log = {.size = 0}, event = {.size = 0};
  if (events->stream == NULL) return SL_OK;
  put_key(&log, 1, VARINT);
  put_varint(&log, 1); /* START */
  put_double(&event, 1, sl_machine_date());
  put_key(&event, 2, VARINT);
  put_varint(&event, (uint64_t)step);
  put_bytes(&event, 7, log.bytes, log.size);
  return write_record(events, &event);
}

enum sl_status sl_events_flush(struct sl_events *events) {
  if (events->stream == NULL || fflush(events->stream) == 0) return SL_OK;
  return sl_fail(SL_ERR_IO, "%s: %s", events->path, strerror(errno));
}

void sl_events_close(struct sl_events *events) {
  if (events->stream != NULL) fclose(events->stream);
  free(events->path);
  *events = (struct sl_events){0};
}
