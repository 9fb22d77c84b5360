/* Prints a verdict for people; see fit_tell.h. */
#include "cli/fit_tell.h"

#include "core/base/json_get.h"
#include "core/base/printable.h"
#include "core/base/units.h"

#include <stdint.h>
#include <string.h>

struct size {
  char text[32];
};

static struct size bytes_of(const json_t *object, const char *key) {
  struct size out;
  const long long bytes = json_integer_value(json_object_get(object, key));
  sl_format_bytes(out.text, sizeof out.text, (double)bytes);
  return out;
}

static void tell_left(const json_t *space, FILE *out) {
  const bool over = json_object_get(space, "over_bytes") != NULL;
  fprintf(out, over ? "%s too much" : "%s left", bytes_of(space, over ? "over_bytes" : "left_bytes").text);
}

/* "rank 0 needs 30.1 GiB of 79.15 GiB (peak 27.8 GiB + context 2.3 GiB), 49 GiB are left" */
static void tell_device(const json_t *device, FILE *out) {
  const bool limited = json_object_get(device, "limit_bytes") != NULL;
  fprintf(out, "rank %lld needs %s of %s (peak %s + context %s + reserve %s)", sl_json_integer_at(device, "rank"),
          bytes_of(device, "need_bytes").text, limited ? bytes_of(device, "limit_bytes").text : "its device",
          bytes_of(device, "peak_bytes").text, bytes_of(device, "context_bytes").text,
          bytes_of(device, "reserve_bytes").text);
  if (!limited) return;
  fprintf(out, ", ");
  tell_left(device, out);
}

/* "; the ranks of node 0 need 200 GiB of its 2048 GiB of host memory, 1.8 TiB left" */
static void tell_node(const json_t *space, const char *what, FILE *out) {
  if (sl_json_integer_at(space, "need_bytes") == 0) return;
  fprintf(out, "; the ranks of node %lld need %s of ", sl_json_integer_at(space, "node"),
          bytes_of(space, "need_bytes").text);
  if (json_object_get(space, "limit_bytes") == NULL) {
    fprintf(out, "its %s, of which the cluster does not say how much it has", what);
    return;
  }
  fprintf(out, "its %s of %s, ", bytes_of(space, "limit_bytes").text, what);
  tell_left(space, out);
}

static void tell_holders(const json_t *device, FILE *out) {
  const json_t *held = json_object_get(device, "held_bytes");
  const char *key, *separator = "";
  json_t *value;
  fprintf(out, "  holds      in %s, at %s: ", json_string_value(json_object_get(device, "phase")),
          json_string_value(json_object_get(device, "op")));
  json_object_foreach((json_t *)(uintptr_t)held, key, value) {
    if (json_integer_value(value) == 0) continue;
    fprintf(out, "%s%s %s", separator, key, bytes_of(held, key).text);
    separator = ", ";
  }
  fprintf(out, "\n");
}

static void tell_changes(const json_t *verdict, double step_s, FILE *out) {
  const json_t *changes = json_object_get(verdict, "changes"), *change;
  size_t i;
  char time[32];
  json_array_foreach(changes, i, change) {
    const double own = json_real_value(json_object_get(change, "step_time_s"));
    sl_format_seconds(time, sizeof time, own);
    fprintf(out, "  fits with  %s: %s, a step %s", json_string_value(json_object_get(change, "flags")),
            bytes_of(change, "need_bytes").text, time);
    if (step_s > 0) fprintf(out, " (%+.0f %%)", 100 * (own / step_s - 1));
    fprintf(out, "\n");
  }
  if (json_object_get(verdict, "states_bytes") != NULL)
    fprintf(
        out,
        "  fits with  no change: parameters and optimizer states are %s, more than all ranks and their hosts have\n",
        bytes_of(verdict, "states_bytes").text);
  if (json_object_get(verdict, "least_bytes") == NULL) return;
  const json_t *device = json_object_get(verdict, "device");
  const bool enough = sl_json_integer_at(verdict, "least_bytes") <= sl_json_integer_at(device, "limit_bytes");
  fprintf(out, "  fits with  none of the changes that were tried: the least takes %s of the device%s\n",
          bytes_of(verdict, "least_bytes").text, enough ? ", and more of its node than that has" : "");
}

void sl_fit_tell(const json_t *record, bool by_default, FILE *out) {
  const json_t *verdict = json_object_get(record, "verdict");
  const json_t *device = json_object_get(verdict, "device"), *host = json_object_get(verdict, "host");
  const json_t *cluster = json_object_get(record, "cluster");
  const char *kind = json_string_value(json_object_get(json_object_get(cluster, "device"), "kind"));
  const bool fits = json_is_true(json_object_get(verdict, "fits")), gpu = kind != NULL && strcmp(kind, "gpu") == 0;
  const char *understood = json_string_value(json_object_get(verdict, "understood"));
  fprintf(out, "%s", sl_printable_of(understood).text);
  if (by_default)
    fprintf(out, ", cluster %s, as no --cluster is given", json_string_value(json_object_get(cluster, "name")));
  fprintf(out, "\n%s: ", fits ? "fits" : "does not fit");
  tell_device(device, out);
  tell_node(host, gpu ? "host memory" : "memory", out);
  tell_node(json_object_get(verdict, "nvme"), "NVMe", out);
  fprintf(out, "\n");
  if (fits) return;
  tell_holders(device, out);
  tell_changes(verdict, json_real_value(json_object_get(record, "step_time_s")), out);
}
