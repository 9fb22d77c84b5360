/* Writes the profiles and tables of a fit; see write.h. */
#include "refit/write.h"

#include "core/base/new_file.h"
#include "core/base/was_read.h"
#include "core/cluster/provenance.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the layout of a file ---- */

static void put_value(FILE *out, const json_t *value, int depth);

/* The shortest text that reads back as the same number, without an exponent if possible. */
static void put_real(FILE *out, double x) {
  char text[40];
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, x);
    const bool plain = strchr(text, 'e') == NULL || fabs(x) < 1e-4 || fabs(x) >= 1e15;
    if (plain && strtod(text, NULL) == x) break;
  }
  fprintf(out, "%s%s", text, strpbrk(text, ".e") == NULL ? ".0" : "");
}

static bool is_said_of(const char *key, const char *of) {
  size_t stem;
  return sl_annotation_kind(key, &stem) != SL_ANNOTATION_NONE && strlen(of) == stem && strncmp(key, of, stem) == 0;
}

/* Puts every key on a line of its own, except for the annotations of the key before. */
static void put_object(FILE *out, const json_t *object, int depth) {
  const char *key, *of = "";
  json_t *value;
  bool first = true;
  fputc('{', out);
  json_object_foreach((json_t *)(uintptr_t)object, key, value) {
    if (!first && is_said_of(key, of))
      fputs(", ", out);
    else
      fprintf(out, "%s\n%*s", first ? "" : ",", 2 * depth + 2, ""), of = key;
    fprintf(out, "\"%s\": ", key);
    put_value(out, value, depth + 1);
    first = false;
  }
  fprintf(out, "\n%*s}", 2 * depth, "");
}

static void put_array(FILE *out, const json_t *array, int depth) {
  for (size_t i = 0; i < json_array_size(array); i++) {
    fprintf(out, "%s\n%*s", i == 0 ? "[" : ",", 2 * depth + 2, "");
    put_value(out, json_array_get(array, i), depth + 1);
  }
  fprintf(out, "\n%*s]", 2 * depth, "");
}

static void put_value(FILE *out, const json_t *value, int depth) {
  if (json_is_object(value)) {
    put_object(out, value, depth);
  } else if (json_is_array(value)) {
    put_array(out, value, depth);
  } else if (json_is_real(value)) {
    put_real(out, json_real_value(value));
  } else {
    char *text = json_dumps(value, JSON_ENCODE_ANY);
    if (text != NULL) fputs(text, out);
    free(text);
  }
}

char *sl_refit_layout(const json_t *root) {
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  if (out == NULL) return NULL;
  put_value(out, root, 0);
  fputc('\n', out);
  fclose(out);
  return text;
}

/* ---- numbers into a document ---- */

/* Rounds to four digits; with these standard errors more would mean nothing. */
static double rounded(double x) {
  char text[40];
  snprintf(text, sizeof text, "%.4g", x);
  return strtod(text, NULL);
}

/* Puts the key with its annotations where the key was, or at the end. */
static void put_number(json_t *object, const char *key, double value, double error, const char *source) {
  char name[80];
  json_t *copy = json_object();
  const char *old;
  json_t *item;
  const bool there = json_object_get(object, key) != NULL;
  json_object_foreach(object, old, item) {
    if (is_said_of(old, key)) continue;
    json_object_set(copy, old, item);
    if (strcmp(old, key) == 0) json_object_set_new(copy, key, json_real(rounded(value)));
    if (strcmp(old, key) != 0) continue;
    snprintf(name, sizeof name, "%s_source", key), json_object_set_new(copy, name, json_string(source));
    snprintf(name, sizeof name, "%s_stderr", key), json_object_set_new(copy, name, json_real(rounded(error)));
  }
  if (!there) {
    json_object_set_new(copy, key, json_real(rounded(value)));
    snprintf(name, sizeof name, "%s_source", key), json_object_set_new(copy, name, json_string(source));
    snprintf(name, sizeof name, "%s_stderr", key), json_object_set_new(copy, name, json_real(rounded(error)));
  }
  json_object_clear(object);
  json_object_update(object, copy);
  json_decref(copy);
}

/* The object of a file that contains the keys of a place. */
static json_t *object_of(json_t *root, enum sl_refit_place place, enum sl_refit_scope scope) {
  json_t *links = json_object_get(root, "links");
  const size_t count = json_array_size(links);
  if (scope == SL_REFIT_DEVICE) return json_object_get(root, "device");
  if (place == SL_REFIT_IN_NEAR_LINK) return json_array_get(links, 0);
  if (place == SL_REFIT_IN_FAR_LINK) return json_array_get(links, count > 0 ? count - 1 : 0);
  return root;
}

/* Whether a fitted run depends on the number. */
static bool is_told(const struct sl_refit_clocks *c, size_t number) {
  for (size_t i = 0; i < c->runs->count; i++) {
    const struct sl_refit_reach *reach = sl_refit_reach_of(c, i);
    for (int k = 0; k < reach->count && c->runs->items[i].weight > 0; k++)
      if (reach->number[k] == number) return true;
  }
  return false;
}

/* Does a fitted run have the device that a file describes, or only another of its kind? */
static bool has_runs(const struct sl_refit_result *r, const json_t *root) {
  const char *name = json_string_value(json_object_get(json_object_get(root, "device"), "name"));
  for (size_t i = 0; i < r->clocks->runs->count && name != NULL; i++) {
    const struct sl_refit_run *run = &r->clocks->runs->items[i];
    if (run->weight > 0 && strcmp(run->input.cluster.device.name, name) == 0) return true;
  }
  return false;
}

/* What a file says of a number by another source than this fit. */
static bool is_said_otherwise(const json_t *object, const char *key, const char *source) {
  char name[80];
  snprintf(name, sizeof name, "%s_source", key);
  const char *said = json_string_value(json_object_get(object, name));
  return said != NULL && strcmp(said, source) != 0;
}

/* A device without runs shares the numbers of its kind, but for those of which its file has a better source: an A100
 * with PCIe keeps its own rate. False if there was nothing to put. */
static bool put_numbers(json_t *root, const struct sl_refit_result *r, enum sl_refit_scope scope, const char *owner,
                        const char *source) {
  const bool shares = scope == SL_REFIT_DEVICE && !has_runs(r, root);
  const struct sl_refit_numbers *numbers = &r->clocks->numbers;
  bool put = false;
  for (size_t j = 0; j < numbers->count; j++) {
    const struct sl_refit_number *n = &numbers->items[j];
    json_t *object = object_of(root, n->key->place, n->key->scope);
    if (n->key->scope != scope || strcmp(n->owner, owner) != 0 || !json_is_object(object)) continue;
    if (sl_refit_is_pinned(&r->priors[j]) || !is_told(r->clocks, j)) continue;
    if (shares && is_said_otherwise(object, n->key->key, source)) continue;
    const double value = r->solution->values[j], error = sqrt(r->solution->covariance[j * numbers->count + j]);
    put_number(object, n->key->key, value, value * error, source);
    put = true;
  }
  return put;
}

/* The scatter of a kind of GPU, for its devices. */
static double scatter_of(const struct sl_refit_result *r, const char *owner) {
  char kind[64];
  for (size_t i = 0; i < r->clocks->runs->count; i++) {
    sl_refit_device_owner(&r->clocks->runs->items[i].input.cluster.device, kind, sizeof kind);
    if (strcmp(kind, owner) == 0) return r->outcomes[i].scatter;
  }
  return 0;
}

/* ---- files ---- */

static enum sl_status save(const char *path, const json_t *root) {
  struct sl_new_file file;
  char *text = sl_refit_layout(root);
  if (text == NULL) return sl_fail(SL_ERR_MEMORY, "out of memory: %s", path);
  sl_was_read_forget(path); /* the file is read and replaced */
  enum sl_status status = sl_new_file_open(&file, path);
  if (status == SL_OK) {
    fputs(text, file.stream); /* a failed write is reported by sl_new_file_finish */
    status = sl_new_file_finish(&file);
  }
  free(text);
  return status;
}

/* The owner that a file of this scope describes. */
static void owner_of(const json_t *root, enum sl_refit_scope scope, char *out, size_t size) {
  const json_t *name = json_object_get(root, "name"), *device = json_object_get(root, "device");
  *out = '\0';
  if (scope == SL_REFIT_DEVICE) {
    const struct sl_device d = {.compute_capability = json_number_value(json_object_get(device, "compute_capability")),
                                .sm_count = (int)json_integer_value(json_object_get(device, "sm_count"))};
    sl_refit_device_owner(&d, out, size);
  } else if (json_is_string(name)) {
    snprintf(out, size, "%s", json_string_value(name));
  }
}

static enum sl_status write_file(const struct sl_refit_result *r, const char *path, enum sl_refit_scope scope,
                                 const char *source) {
  struct sl_json doc;
  char owner[64];
  SL_TRY(sl_json_load(&doc, path));
  owner_of(doc.root, scope, owner, sizeof owner);
  json_t *before = json_deep_copy(doc.root);
  const bool put = put_numbers(doc.root, r, scope, owner, source);
  const double scatter = put && scope == SL_REFIT_DEVICE ? scatter_of(r, owner) : 0;
  if (scatter > 0) {
    json_t *device = json_object_get(doc.root, "device");
    put_number(device, "formula_scatter", scatter, 0, source);
    json_object_del(device, "formula_scatter_stderr");
    put_number(device, "installation_scatter", r->outcomes[0].away_scatter, 0, source);
    json_object_del(device, "installation_scatter_stderr");
  }
  const enum sl_status status = json_equal(before, doc.root) ? SL_OK : save(path, doc.root);
  json_decref(before);
  sl_json_free(&doc);
  return status;
}

static enum sl_status write_folder(const struct sl_refit_result *r, const char *folder, enum sl_refit_scope scope,
                                   const char *source) {
  enum sl_status status = SL_OK;
  DIR *dir = opendir(folder);
  if (dir == NULL) return sl_fail(SL_ERR_IO, "%s: cannot be read: %s", folder, strerror(errno));
  for (struct dirent *entry; status == SL_OK && (entry = readdir(dir)) != NULL;) {
    char path[4400];
    const char *dot = strrchr(entry->d_name, '.');
    if (dot == NULL || strcmp(dot, ".json") != 0) continue;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    status = write_file(r, path, scope, source);
  }
  closedir(dir);
  return status;
}

enum sl_status sl_refit_write_profiles(const struct sl_refit_result *result, const char *folder, const char *source) {
  char path[4200];
  SL_TRY(write_folder(result, folder, SL_REFIT_CLUSTER, source));
  snprintf(path, sizeof path, "%s/devices", folder);
  SL_TRY(write_folder(result, path, SL_REFIT_DEVICE, source));
  snprintf(path, sizeof path, "%s/kernels", folder);
  return write_folder(result, path, SL_REFIT_KERNELS, source);
}
