/* Hostfiles and selections; see hosts.h. A selection marks slots of the pool and is then applied to all hosts at
 * once. */
#include "core/launch/hosts.h"

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/limits.h"
#include "core/base/printable.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A piece of text that is not zero-terminated. */
struct piece {
  const char *at;
  size_t size;
};

static bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static size_t word_length(struct piece p) {
  size_t n = 0;
  while (n < p.size && !is_space(p.at[n])) n++;
  return n;
}

static struct piece skip(struct piece p, size_t n) {
  return (struct piece){p.at + n, p.size - n};
}

static struct piece trim(struct piece p) {
  while (p.size > 0 && is_space(p.at[0])) p = skip(p, 1);
  while (p.size > 0 && is_space(p.at[p.size - 1])) p.size--;
  return p;
}

/* The text up to `end` or to its own end; *rest is what follows, at == NULL if nothing does. */
static struct piece cut(struct piece p, char end, struct piece *rest) {
  const char *found = p.size > 0 ? memchr(p.at, end, p.size) : NULL;
  *rest = (struct piece){NULL, 0};
  if (found == NULL) return p;
  *rest = skip(p, (size_t)(found - p.at) + 1);
  return (struct piece){p.at, (size_t)(found - p.at)};
}

/* The number in decimal digits at the start of `p`; -1: there are no digits, or it exceeds `most`. */
static int number_at(struct piece p, int most, size_t *digits) {
  int64_t value = 0;
  *digits = 0;
  while (*digits < p.size && p.at[*digits] >= '0' && p.at[*digits] <= '9') {
    value = 10 * value + (p.at[(*digits)++] - '0');
    if (value > most) return -1;
  }
  return *digits > 0 ? (int)value : -1;
}

/* A copy for messages. */
static struct sl_printable_text shown(struct piece p) {
  char text[200];
  snprintf(text, sizeof text, "%.*s", p.size < sizeof text ? (int)p.size : (int)sizeof text - 1,
           p.size > 0 ? p.at : "");
  return sl_printable_of(text);
}

static bool is_name(struct piece p) {
  for (size_t i = 0; i < p.size; i++) {
    const char c = p.at[i];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter && c != '.' && c != '_' && (c != '-' || i == 0)) return false;
  }
  return p.size > 0 && p.size < 256;
}

static struct sl_host *find(const struct sl_hosts *hosts, struct piece name) {
  for (size_t i = 0; i < hosts->count; i++)
    if (strlen(hosts->list[i].name) == name.size && memcmp(hosts->list[i].name, name.at, name.size) == 0)
      return &hosts->list[i];
  return NULL;
}

/* ---- a pool ---- */

static enum sl_status add(struct sl_hosts *hosts, struct piece name, int slots, struct sl_host **out) {
  SL_TRY(sl_grow(&hosts->list, &hosts->capacity, hosts->count + 1, sizeof *hosts->list));
  struct sl_host *host = &hosts->list[hosts->count];
  *host = (struct sl_host){.name = strndup(name.at, name.size), .count = slots};
  if (host->name == NULL) return sl_fail(SL_ERR_MEMORY, "out of memory: the name of a host");
  const enum sl_status status = sl_malloc(&host->slots, (size_t)slots, sizeof *host->slots);
  if (status != SL_OK) return free(host->name), status;
  for (int i = 0; i < slots; i++) host->slots[i] = i;
  hosts->count++;
  if (out != NULL) *out = host;
  return SL_OK;
}

static enum sl_status bad_name(const char *where, struct piece name) {
  return sl_fail(SL_ERR_INPUT,
                 "%s: host '%s': expected a name of letters, digits, '.', '_' and '-' that does not begin with '-'",
                 where, shown(name).text);
}

/* Which names are in the list, as a hash table with linear probing, since a hostfile may have a hundred thousand. */
struct names {
  size_t *host; /* one more than the index of a host; 0: free; owned */
  size_t size;  /* a power of two, at least twice the number of hosts */
};

/* The place of a name: of its host, or the free one where it belongs. */
static size_t *place_of(const struct names *names, const struct sl_hosts *hosts, struct piece name) {
  size_t *place = &names->host[sl_hash_bytes(name.at, name.size) & (names->size - 1)];
  for (; *place != 0; place = place + 1 < names->host + names->size ? place + 1 : names->host) {
    const char *known = hosts->list[*place - 1].name;
    if (strlen(known) == name.size && memcmp(known, name.at, name.size) == 0) break;
  }
  return place;
}

/* Makes room for one more name. */
static enum sl_status widen(struct names *names, const struct sl_hosts *hosts) {
  if (2 * (hosts->count + 1) <= names->size) return SL_OK;
  struct names wide = {.size = names->size > 0 ? 2 * names->size : 64};
  SL_TRY(sl_calloc(&wide.host, wide.size, sizeof *wide.host));
  for (size_t i = 0; i < hosts->count; i++)
    *place_of(&wide, hosts, (struct piece){hosts->list[i].name, strlen(hosts->list[i].name)}) = i + 1;
  free(names->host);
  *names = wide;
  return SL_OK;
}

/* Reads a line that is not empty. `total`: slots so far. */
static enum sl_status read_line(struct sl_hosts *hosts, struct names *names, const char *where, struct piece line,
                                int64_t *total) {
  static const char word[] = "slots=";
  const struct piece name = {line.at, word_length(line)};
  const struct piece rest = trim(skip(line, name.size));
  const size_t prefix = sizeof word - 1;
  size_t digits = 0;
  int slots = -1;
  if (rest.size > prefix && memcmp(rest.at, word, prefix) == 0)
    slots = number_at(skip(rest, prefix), (int)SL_MAX_WORLD, &digits);
  const struct piece behind = digits > 0 ? skip(rest, prefix + digits) : rest;
  if (slots < 0 || (behind.size > 0 && !is_space(behind.at[0])))
    return sl_fail(SL_ERR_INPUT,
                   "%s: Hostfile contains a bad entry: %s, unable to proceed with launching; expected HOST slots=N, N "
                   "at most %lld",
                   where, shown(line).text, (long long)SL_MAX_WORLD);
  if (!is_name(name)) return bad_name(where, name);
  SL_TRY(widen(names, hosts));
  size_t *place = place_of(names, hosts, name);
  if (*place != 0)
    return sl_fail(SL_ERR_INPUT, "%s: Hostfile contains multiple entries for %s, unable to proceed with launching",
                   where, shown(name).text);
  *total += slots;
  if (*total > SL_MAX_WORLD)
    return sl_fail(SL_ERR_INPUT, "%s: the hosts have %lld slots so far; expected at most %lld", where,
                   (long long)*total, (long long)SL_MAX_WORLD);
  *place = hosts->count + 1;
  return add(hosts, name, slots, NULL);
}

enum sl_status sl_hosts_parse(struct sl_hosts *hosts, const char *name, const char *text, size_t size) {
  struct piece rest = {text, size};
  struct names names = {0};
  char where[600];
  int64_t total = 0;
  enum sl_status status;
  *hosts = (struct sl_hosts){0};
  for (int number = 1; rest.at != NULL; number++) {
    const struct piece line = trim(cut(rest, '\n', &rest));
    if (line.size == 0 || line.at[0] == '#') continue;
    snprintf(where, sizeof where, "%s:%d", name, number);
    SL_GO_FAIL(read_line(hosts, &names, where, line, &total));
  }
  free(names.host);
  if (hosts->count > 0) return SL_OK;
  names.host = NULL;
  status = sl_fail(SL_ERR_INPUT,
                   "%s: Hostfile is empty or not formatted correctly, unable to proceed with launching; expected lines "
                   "like worker-0 slots=4",
                   name);
fail:
  free(names.host);
  sl_hosts_free(hosts);
  return status;
}

enum sl_status sl_hosts_load(struct sl_hosts *hosts, const char *path) {
  char *text;
  size_t size;
  *hosts = (struct sl_hosts){0};
  SL_TRY(sl_file_load(path, &text, &size));
  const enum sl_status status = sl_hosts_parse(hosts, path, text, size);
  free(text);
  return status;
}

enum sl_status sl_hosts_one(struct sl_hosts *hosts, const char *name, int slots) {
  const struct piece piece = {name, strlen(name)};
  *hosts = (struct sl_hosts){0};
  if (!is_name(piece)) return bad_name("the job", piece);
  const enum sl_status status = add(hosts, piece, slots, NULL);
  if (status != SL_OK) sl_hosts_free(hosts);
  return status;
}

/* ---- a selection ---- */

/* The slots of a host that a selection names, or the whole host. */
struct mark {
  bool *slots; /* one for each slot of the host; owned; NULL: no slot is named */
  bool whole;
};

static enum sl_status mark_slots(const char *flag, const struct sl_host *host, struct piece slots, struct mark *mark) {
  if (mark->slots == NULL) SL_TRY(sl_calloc(&mark->slots, (size_t)host->count, sizeof *mark->slots));
  while (slots.at != NULL) {
    const struct piece slot = trim(cut(slots, ',', &slots)); /* as Python's int() takes a number */
    size_t digits;
    const int number = number_at(slot, (int)SL_MAX_WORLD, &digits);
    if (slot.size == 0 || digits < slot.size)
      return sl_fail(SL_ERR_INPUT,
                     "--%s: slot '%s' of host '%s': expected numbers with commas between them, such as %s:0,2", flag,
                     shown(slot).text, host->name, host->name);
    if (number < 0 || number >= host->count)
      return sl_fail(SL_ERR_INPUT, "--%s: No slot '%s' specified on host '%s'; it has %d, from 0", flag,
                     shown(slot).text, host->name, host->count);
    mark->slots[number] = true;
  }
  return SL_OK;
}

static enum sl_status mark_all(const struct sl_hosts *hosts, const char *flag, const char *text, struct mark *marks) {
  struct piece rest = {text, strlen(text)};
  while (rest.at != NULL) {
    struct piece slots;
    const struct piece name = cut(cut(rest, '@', &rest), ':', &slots);
    const struct sl_host *host = find(hosts, name);
    if (host == NULL)
      return sl_fail(SL_ERR_INPUT, "--%s: Hostname '%s' not found in hostfile; expected HOST[:SLOT,...][@HOST...]",
                     flag, shown(name).text);
    struct mark *mark = &marks[host - hosts->list];
    if (slots.at == NULL)
      mark->whole = true;
    else
      SL_TRY(mark_slots(flag, host, slots, mark));
  }
  return SL_OK;
}

/* Keeps the marked slots, or the others; a host without slots is removed. */
static void carry_out(struct sl_hosts *hosts, const struct mark *marks, bool keep) {
  size_t kept = 0;
  for (size_t i = 0; i < hosts->count; i++) {
    struct sl_host host = hosts->list[i];
    int slots = 0;
    for (int s = 0; s < host.count; s++) {
      const bool marked = marks[i].slots != NULL ? marks[i].slots[s] : marks[i].whole;
      if (marked == keep) host.slots[slots++] = host.slots[s];
    }
    host.count = slots;
    if (slots > 0) {
      hosts->list[kept++] = host;
    } else {
      free(host.name);
      free(host.slots);
    }
  }
  hosts->count = kept;
}

enum sl_status sl_hosts_select(struct sl_hosts *hosts, const char *include, const char *exclude) {
  const char *flag = include != NULL ? "include" : "exclude", *text = include != NULL ? include : exclude;
  const size_t count = hosts->count;
  struct mark *marks;
  enum sl_status status = SL_OK;
  if (include != NULL && exclude != NULL)
    return sl_fail(SL_ERR_INPUT, "--include and --exclude are mutually exclusive; expected one of them");
  SL_TRY(sl_calloc(&marks, count, sizeof *marks));
  if (text != NULL) SL_GO(mark_all(hosts, flag, text, marks));
  carry_out(hosts, marks, include != NULL);
  if (hosts->count == 0)
    status = text == NULL
                 ? sl_fail(SL_ERR_INPUT, "--hostfile: its hosts have no slots; expected at least one")
                 : sl_fail(SL_ERR_INPUT, "--%s: is '%s', which leaves no slot; expected at least one", flag, text);
done:
  for (size_t i = 0; i < count; i++) free(marks[i].slots);
  free(marks);
  return status;
}

enum sl_status sl_hosts_first(struct sl_hosts *hosts, int nodes, int slots) {
  if (nodes > 0 && (size_t)nodes > hosts->count)
    return sl_fail(SL_ERR_INPUT, "--num-nodes: is %d; expected at most the %zu hosts that there are", nodes,
                   hosts->count);
  while (nodes > 0 && hosts->count > (size_t)nodes) {
    hosts->count--;
    free(hosts->list[hosts->count].name);
    free(hosts->list[hosts->count].slots);
  }
  for (size_t i = 0; slots > 0 && i < hosts->count; i++) {
    if (hosts->list[i].count < slots)
      return sl_fail(SL_ERR_INPUT, "--num-gpus: is %d; expected at most the %d slots of host %s", slots,
                     hosts->list[i].count, hosts->list[i].name);
    hosts->list[i].count = slots;
  }
  return SL_OK;
}

/* One HOST:SLOT,SLOT of a printed list. */
static enum sl_status read_host(struct sl_hosts *hosts, const char *flag, struct piece text, int64_t *total) {
  struct piece slots;
  const struct piece name = cut(text, ':', &slots);
  struct sl_host *host;
  int count = 1;
  if (!is_name(name) || slots.at == NULL || find(hosts, name) != NULL)
    return sl_fail(SL_ERR_INPUT, "--%s: has '%s'; expected HOST:SLOT[,SLOT...], each host once", flag,
                   shown(text).text);
  for (size_t i = 0; i < slots.size; i++) count += slots.at[i] == ',';
  *total += count;
  if (*total > SL_MAX_WORLD)
    return sl_fail(SL_ERR_INPUT, "--%s: has %lld slots; expected at most %lld", flag, (long long)*total,
                   (long long)SL_MAX_WORLD);
  SL_TRY(add(hosts, name, count, &host));
  for (int i = 0, before = -1; i < count; before = host->slots[i++]) {
    const struct piece slot = cut(slots, ',', &slots);
    size_t digits;
    host->slots[i] = number_at(slot, (int)SL_MAX_WORLD, &digits);
    if (host->slots[i] <= before || digits < slot.size)
      return sl_fail(SL_ERR_INPUT, "--%s: slot '%s' of host '%s': expected numbers that increase", flag,
                     shown(slot).text, host->name);
  }
  return SL_OK;
}

enum sl_status sl_hosts_read(struct sl_hosts *hosts, const char *flag, const char *text) {
  struct piece rest = {text, strlen(text)};
  int64_t total = 0;
  *hosts = (struct sl_hosts){0};
  while (rest.at != NULL) {
    const enum sl_status status = read_host(hosts, flag, cut(rest, '@', &rest), &total);
    if (status == SL_OK) continue;
    sl_hosts_free(hosts);
    return status;
  }
  return SL_OK;
}

/* ---- removal ---- */

static void remove_host(struct sl_hosts *hosts, size_t i) {
  free(hosts->list[i].name);
  free(hosts->list[i].slots);
  hosts->count--;
  memmove(&hosts->list[i], &hosts->list[i + 1], (hosts->count - i) * sizeof *hosts->list);
}

void sl_hosts_without(struct sl_hosts *hosts, const char *name) {
  for (size_t i = hosts->count; i > 0; i--)
    if (strcmp(hosts->list[i - 1].name, name) == 0) remove_host(hosts, i - 1);
}

void sl_hosts_without_rank(struct sl_hosts *hosts, int rank) {
  for (size_t i = 0; i < hosts->count; rank -= hosts->list[i++].count) {
    struct sl_host *host = &hosts->list[i];
    if (rank < 0 || rank >= host->count) continue;
    host->count--;
    memmove(&host->slots[rank], &host->slots[rank + 1], (size_t)(host->count - rank) * sizeof *host->slots);
    if (host->count == 0) remove_host(hosts, i);
    return;
  }
}

void sl_hosts_cut(struct sl_hosts *hosts, int ranks) {
  size_t kept = 0;
  for (; kept < hosts->count && ranks > 0; kept++) {
    if (hosts->list[kept].count > ranks) hosts->list[kept].count = ranks;
    ranks -= hosts->list[kept].count;
  }
  while (hosts->count > kept) remove_host(hosts, hosts->count - 1);
}

enum sl_status sl_hosts_copy(struct sl_hosts *out, const struct sl_hosts *hosts) {
  *out = (struct sl_hosts){0};
  if (hosts->count == 0) return SL_OK;
  char *text = sl_hosts_print(hosts);
  if (text == NULL) return sl_fail(SL_ERR_MEMORY, "out of memory: the list of hosts");
  const enum sl_status status = sl_hosts_read(out, "hosts", text);
  free(text);
  return status;
}

/* ---- queries ---- */

int sl_hosts_first_rank(const struct sl_hosts *hosts, size_t i) {
  int ranks = 0;
  for (size_t host = 0; host < i; host++) ranks += hosts->list[host].count;
  return ranks;
}

int sl_hosts_ranks(const struct sl_hosts *hosts) {
  return sl_hosts_first_rank(hosts, hosts->count);
}

static void print_slots(const struct sl_host *host, FILE *out) {
  for (int i = 0; i < host->count; i++) fprintf(out, "%s%d", i > 0 ? "," : "", host->slots[i]);
}

char *sl_host_slots(const struct sl_host *host) {
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  if (out == NULL) return NULL;
  print_slots(host, out);
  return fclose(out) == 0 ? text : NULL;
}

char *sl_hosts_print(const struct sl_hosts *hosts) {
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  if (out == NULL) return NULL;
  for (size_t i = 0; i < hosts->count; i++) {
    fprintf(out, "%s%s:", i > 0 ? "@" : "", hosts->list[i].name);
    print_slots(&hosts->list[i], out);
  }
  return fclose(out) == 0 ? text : NULL;
}

void sl_hosts_free(struct sl_hosts *hosts) {
  for (size_t i = 0; i < hosts->count; i++) {
    free(hosts->list[i].name);
    free(hosts->list[i].slots);
  }
  free(hosts->list);
  *hosts = (struct sl_hosts){0};
}
