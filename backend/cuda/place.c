/* Reads the variables that launchers set; see place.h. */
#include "backend/cuda/place.h"

#include "core/base/launchers.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_PORT = 29500, LAST_PORT = 65535 };

static const char *value_of(const char *name) {
  const char *text = name ? getenv(name) : NULL;
  return text && *text ? text : NULL;
}

static enum sl_status read_number(const char *name, const char *text, int low, int high, int *out) {
  char *end;
  errno = 0;
  const long value = strtol(text, &end, 10);
  if (errno || end == text || *end || value < low || value > high)
    return sl_fail(SL_ERR_INPUT, "%s=\"%s\": expected an integer from %d to %d", name, text, low, high);
  *out = (int)value;
  return SL_OK;
}

/* --- rank and world --- */

/* The processes on node `node`, from Slurm's list of counts such as "8(x2),4". */
enum sl_status sl_cuda_place_tasks(const char *name, const char *list, int node, int *tasks) {
  const char *at = list;
  for (long seen = 0; *at;) {
    char *end;
    const long count = strtol(at, &end, 10);
    long times = 1;
    if (end == at || count < 1 || count > INT_MAX) break;
    if (strncmp(end, "(x", 2) == 0) {
      at = end + 2;
      times = strtol(at, &end, 10);
      if (end == at || times < 1 || times > INT_MAX || *end++ != ')') break;
    }
    if (node < seen + times) {
      *tasks = (int)count;
      return SL_OK;
    }
    seen += times;
    if (*end != ',') break;
    at = end + 1;
  }
  return sl_fail(SL_ERR_INPUT, "%s=\"%s\": expected the processes of each node, such as 8(x2),4, node %d among them",
                 name, list, node);
}

/* Srun sets this list even if nobody asked for a number of tasks per node. */
static enum sl_status read_slurm_tasks(struct sl_cuda_place *p) {
  const char *const lists[] = {"SLURM_STEP_TASKS_PER_NODE", sl_launchers[SL_LAUNCHER_SLURM].by_node};
  const char *node = value_of("SLURM_NODEID");
  int id = 0, tasks;
  if (node) SL_TRY(read_number("SLURM_NODEID", node, 0, INT_MAX, &id));
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    if (!value_of(lists[i])) continue;
    SL_TRY(sl_cuda_place_tasks(lists[i], value_of(lists[i]), id, &tasks));
    p->local_world = tasks < p->world ? tasks : p->world;
    return SL_OK;
  }
  return SL_OK;
}

static enum sl_status read_launcher(const struct sl_launcher *l, struct sl_cuda_place *p) {
  const char *world = value_of(l->world), *local = value_of(l->local_rank), *locals = value_of(l->local_world);
  if (!world) return sl_fail(SL_ERR_INPUT, "%s is set, but %s is not; expected both", l->rank, l->world);
  SL_TRY(read_number(l->world, world, 1, INT_MAX, &p->world));
  SL_TRY(read_number(l->rank, value_of(l->rank), 0, p->world - 1, &p->rank));
  p->local_world = p->world;
  if (locals)
    SL_TRY(read_number(l->local_world, locals, 1, p->world, &p->local_world));
  else if (l->by_node)
    SL_TRY(read_slurm_tasks(p));
  p->local_rank = p->rank % p->local_world;
  if (local) SL_TRY(read_number(l->local_rank, local, 0, p->world - 1, &p->local_rank));
  if (local && p->local_rank >= p->local_world)
    return sl_fail(SL_ERR_INPUT, "%s=\"%s\": expected less than the processes of the node, %d", l->local_rank, local,
                   p->local_world);
  return SL_OK;
}

/* --- the rendezvous address --- */

static enum sl_status bad_address(const char *what, const char *text) {
  return sl_fail(SL_ERR_INPUT, "%s=\"%s\": expected HOST:PORT, or [IPV6]:PORT", what, text);
}

enum sl_status sl_cuda_place_address(const char *what, const char *text, char *host, size_t size, int *port) {
  const bool bracket = text[0] == '[';
  const char *first = text + bracket, *end = bracket ? strchr(first, ']') : strrchr(first, ':');
  const char *colon = bracket && end ? end + 1 : end;
  if (!end || end == first || *colon != ':') return bad_address(what, text);
  const size_t length = (size_t)(end - first);
  if (length >= size || (!bracket && memchr(first, ':', length))) return bad_address(what, text);
  memcpy(host, first, length);
  host[length] = '\0';
  char *rest;
  errno = 0;
  const long value = strtol(colon + 1, &rest, 10);
  if (errno || rest == colon + 1 || *rest || value < 1 || value > LAST_PORT) return bad_address(what, text);
  *port = (int)value;
  return SL_OK;
}

enum sl_status sl_cuda_place_first_node(const char *list, char *host, size_t size) {
  const size_t stem = strcspn(list, ",[");
  size_t number = 0;
  const char *digits = list + stem + 1;
  if (list[stem] == '[') number = strspn(digits, "0123456789");
  const bool closed = list[stem] != '[' || (number > 0 && strchr(digits, ']'));
  if (stem + number == 0 || !closed || stem + number >= size)
    return sl_fail(SL_ERR_INPUT, "SLURM_JOB_NODELIST=\"%s\": expected hosts like node01,node02 or node[01-04]", list);
  snprintf(host, size, "%.*s%.*s", (int)stem, list, (int)number, number > 0 ? digits : "");
  return SL_OK;
}

static enum sl_status choose_host(struct sl_cuda_place *p) {
  const char *master = value_of("MASTER_ADDR"), *id = value_of("NCCL_COMM_ID"), *nodes = value_of("SLURM_JOB_NODELIST");
  p->port = DEFAULT_PORT;
  if (master) {
    if (strlen(master) >= sizeof p->host)
      return sl_fail(SL_ERR_INPUT, "MASTER_ADDR has %zu characters; expected a host name or an address",
                     strlen(master));
    snprintf(p->host, sizeof p->host, "%s", master);
    return SL_OK;
  }
  if (id) {
    SL_TRY(sl_cuda_place_address("NCCL_COMM_ID", id, p->host, sizeof p->host, &p->port));
    p->port = p->port < LAST_PORT ? p->port + 1 : p->port - 1;
    return SL_OK;
  }
  if (nodes && p->local_world < p->world) return sl_cuda_place_first_node(nodes, p->host, sizeof p->host);
  if (p->local_world < p->world)
    return sl_fail(SL_ERR_INPUT,
                   "MASTER_ADDR is not set, and the job's %d ranks are on several nodes; expected the "
                   "host of rank 0",
                   p->world);
  snprintf(p->host, sizeof p->host, "127.0.0.1");
  return SL_OK;
}

enum sl_status sl_cuda_place_read(struct sl_cuda_place *place) {
  const char *port = value_of("MASTER_PORT");
  *place = (struct sl_cuda_place){.rank = 0, .world = 1, .local_rank = 0, .local_world = 1};
  for (int i = 0; i < SL_LAUNCHER_COUNT; i++) {
    if (!sl_launchers[i].local_rank || sl_launcher_rank(i) == NULL) continue;
    SL_TRY(read_launcher(&sl_launchers[i], place));
    break;
  }
  if (place->world == 1) return SL_OK;
  SL_TRY(choose_host(place));
  return port ? read_number("MASTER_PORT", port, 1, LAST_PORT, &place->port) : SL_OK;
}
