/* Reads and checks a manifest; see manifest.h. */
#include "core/checkpoint/manifest.h"

#include "core/base/checked.h"
#include "core/base/file.h"
#include "core/base/json_get.h"
#include "core/base/limits.h"
#include "core/base/new_file.h"
#include "core/checkpoint/hash.h"
#include "core/checkpoint/history.h"
#include "core/checkpoint/owner.h"
#include "core/checkpoint/pieces.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char format_name[] = "shardlab checkpoint";

/* ---- values ---- */

/* A required key. */
static enum sl_status need(const struct sl_json_object *in, const char *key, int64_t low, int64_t high, int64_t *out) {
  if (sl_json_get(in, key) == NULL)
    return sl_json_get_fail(in, key, "a whole number from %" PRId64 " to %" PRId64, low, high);
  return sl_json_get_int(in, key, low, high, out);
}

static enum sl_status need_real(const struct sl_json_object *in, const char *key, double *out) {
  if (sl_json_get(in, key) == NULL) return sl_json_get_fail(in, key, "a number");
  return sl_json_get_real(in, key, -1e300, 1e300, out);
}

static enum sl_status need_name(const struct sl_json_object *in, const char *key, const char **out) {
  *out = json_string_value(sl_json_get(in, key));
  if (*out == NULL || **out == '\0' || **out == '.' || strchr(*out, '/') != NULL || strlen(*out) > 200)
    return sl_json_get_fail(in, key, "a name, of a file in this folder or of a tensor");
  return SL_OK;
}

static enum sl_status need_hash(const struct sl_json_object *in, uint64_t *out) {
  const char *text = json_string_value(sl_json_get(in, "xxh3"));
  if (text == NULL || strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16)
    return sl_json_get_fail(in, "xxh3", "16 hexadecimal digits");
  *out = strtoull(text, NULL, 16);
  return SL_OK;
}

static enum sl_status need_list(const struct sl_json_object *in, const char *key, const json_t **out) {
  *out = sl_json_get(in, key);
  if (json_is_array(*out) && json_array_size(*out) <= INT32_MAX / 2) return SL_OK;
  return sl_json_get_fail(in, key, "a list");
}

/* ---- single values ---- */

static enum sl_status read_head(struct sl_manifest *m, const struct sl_json_object *root) {
  char text[32] = "";
  int64_t version = 0;
  const json_t *job = sl_json_get(root, "job");
  if (job != NULL && (!json_is_string(job) || !sl_owner_is_name(json_string_value(job))))
    return sl_json_get_fail(root, "job", "16 hexadecimal digits");
  SL_TRY(sl_json_get_text(root, "format", text, sizeof text));
  if (strcmp(text, format_name) != 0) return sl_json_get_fail(root, "format", "\"%s\"", format_name);
  SL_TRY(need(root, "version", 1, INT32_MAX, &version));
  if (version != SL_MANIFEST_VERSION)
    return sl_json_get_fail(root, "version", "%d, which this program reads", SL_MANIFEST_VERSION);
  if (!json_is_object(sl_json_get(root, "model"))) return sl_json_get_fail(root, "model", "an object");
  SL_TRY(sl_json_get_text(root, "optimizer", m->optimizer, sizeof m->optimizer));
  if (strcmp(m->optimizer, "adam") != 0 && strcmp(m->optimizer, "sgd") != 0)
    return sl_json_get_fail(root, "optimizer", "\"adam\" or \"sgd\"");
  SL_TRY(sl_json_get_text(root, "precision", m->precision, sizeof m->precision));
  if (m->precision[0] == '\0') return sl_json_get_fail(root, "precision", "a number type such as \"fp32\"");
  SL_TRY(need(root, "step", 0, SL_MAX_STEPS, &m->step));
  SL_TRY(need(root, "samples", 0, SL_MAX_STEPS * SL_MAX_BATCH, &m->samples));
  SL_TRY(need(root, "seed", 0, INT64_C(1) << 53, &m->seed));
  const struct sl_json_object data = {root->doc, sl_json_get(root, "data"), "data"};
  return need(&data, "samples", 0, INT64_MAX, &m->data_samples);
}

static enum sl_status read_state(struct sl_manifest *m, const struct sl_json_object *root) {
  struct sl_step_state *s = &m->state;
  const struct sl_json_object state = {root->doc, sl_json_get(root, "state"), "state"};
  if (!json_is_object(state.object)) return sl_json_get_fail(root, "state", "an object");
  s->step = m->step;
  SL_TRY(need(&state, "good_steps", 0, m->step, &s->good_steps));
  SL_TRY(need(&state, "skipped", 0, m->step, &s->skipped));
  SL_TRY(need(&state, "last_overflow", -1, m->step, &s->last_overflow));
  SL_TRY(need(&state, "hysteresis", 0, SL_MAX_STEPS, &s->hysteresis));
  SL_TRY(need(&state, "exhausted", 0, 1, &s->exhausted));
  SL_TRY(need_real(&state, "loss_scale", &s->loss_scale));
  if (!(s->loss_scale > 0)) return sl_json_get_fail(&state, "loss_scale", "a number above 0");
  SL_TRY(need_real(&state, "lr", &s->lr));
  return need_real(&state, "momentum", &s->momentum);
}

static enum sl_status read_files(struct sl_manifest *m, const struct sl_json_object *root) {
  const json_t *list, *item;
  size_t i;
  SL_TRY(need_list(root, "files", &list));
  SL_TRY(sl_calloc(&m->files, json_array_size(list), sizeof *m->files));
  json_array_foreach(list, i, item) {
    char path[64];
    struct sl_manifest_file *f = &m->files[i];
    snprintf(path, sizeof path, "files[%zu]", i);
    const struct sl_json_object in = {root->doc, item, path};
    SL_TRY(need_name(&in, "name", &f->name));
    SL_TRY(need(&in, "bytes", 0, SL_MAX_BYTES, &f->bytes));
    SL_TRY(need(&in, "hashed", 0, f->bytes, &f->hashed));
    SL_TRY(need_hash(&in, &f->hash));
    m->file_count++;
  }
  return SL_OK;
}

/* ---- tensors ---- */

static enum sl_status read_shape(struct sl_manifest_tensor *t, const struct sl_json_object *in) {
  const json_t *shape = sl_json_get(in, "shape");
  t->n_dim = (int)json_array_size(shape);
  t->numel = 1;
  bool good = t->n_dim >= 1 && t->n_dim <= 2;
  for (int d = 0; good && d < t->n_dim; d++) {
    t->shape[d] = json_integer_value(json_array_get(shape, (size_t)d));
    good = t->shape[d] > 0 && t->shape[d] <= SL_MAX_ELEMENTS;
    t->numel = good ? sl_product(t->numel, t->shape[d]) : 0;
  }
  if (good && t->numel <= SL_MAX_ELEMENTS) return SL_OK;
  return sl_json_get_fail(in, "shape", "one or two dimensions, of at most 2^57 elements");
}

static enum sl_status read_cut(struct sl_manifest_tensor *t, const struct sl_json_object *in) {
  int64_t members = 0;
  SL_TRY(need(in, "row", 1, t->numel, &t->cut.row));
  if (t->numel % t->cut.row != 0) return sl_json_get_fail(in, "row", "a divisor of %" PRId64, t->numel);
  SL_TRY(need(in, "width", 1, SL_MAX_ELEMENTS, &t->cut.width));
  SL_TRY(need(in, "members", 1, SL_MAX_DEGREE, &members));
  t->cut.members = (int)members, t->cut.lead = 1;
  if (sl_product(t->cut.width, members) < t->cut.row || sl_product(t->cut.width, members) > SL_MAX_ELEMENTS)
    return sl_json_get_fail(in, "width", "members that have a row of %" PRId64 " elements between them", t->cut.row);
  if (sl_product(t->numel / t->cut.row, t->cut.width) > SL_MAX_ELEMENTS)
    return sl_json_get_fail(in, "width", "rows of at most 2^57 elements");
  if (sl_json_get(in, "lead") == NULL) return SL_OK;
  SL_TRY(need(in, "lead", 1, t->numel / t->cut.row, &t->cut.lead));
  if (t->cut.lead == 1 || sl_product(t->cut.width, members) == t->cut.row) return SL_OK;
  return sl_json_get_fail(in, "lead", "1 where rows of %" PRId64 " elements are padded", t->cut.row);
}

/* Elements of a member's local tensor. */
static int64_t local_numel(const struct sl_manifest_tensor *t) {
  return sl_product(t->numel / t->cut.row, t->cut.width);
}

static enum sl_status read_piece(struct sl_manifest *m, const struct sl_manifest_tensor *t,
                                 const struct sl_json_object *in) {
  struct sl_manifest_piece *p = &m->pieces[m->piece_count];
  int64_t file = 0, member = 0;
  p->tensor = (int)(t - m->tensors);
  SL_TRY(need(in, "file", 0, m->file_count - 1, &file));
  SL_TRY(need(in, "member", 0, t->cut.members - 1, &member));
  p->file = (int)file, p->member = (int)member;
  SL_TRY(need(in, "first", 0, local_numel(t) - 1, &p->first));
  SL_TRY(need(in, "count", 1, local_numel(t) - p->first, &p->count));
  if (p->count > SL_PIECE_ELEMENTS) return sl_json_get_fail(in, "count", "at most %d elements", SL_PIECE_ELEMENTS);
  p->held = sl_cut_held(&t->cut, p->member, p->first + p->count) - sl_cut_held(&t->cut, p->member, p->first);
  p->offset = -1;
  if (t->role != SL_ROLE_PARAM || sl_json_get(in, "offset") != NULL)
    SL_TRY(need(in, "offset", 0, m->files[file].bytes - p->held * SL_CHECKPOINT_ELEMENT, &p->offset));
  SL_TRY(need_hash(in, &p->hash));
  m->piece_count++;
  return SL_OK;
}

static enum sl_status read_role(struct sl_manifest_tensor *t, const struct sl_json_object *in) {
  const char *role = json_string_value(sl_json_get(in, "role")), *type = json_string_value(sl_json_get(in, "type"));
  if (type == NULL || strcmp(type, "F32") != 0) return sl_json_get_fail(in, "type", "\"F32\"");
  const int state = role != NULL ? sl_checkpoint_state_named(role) : -1;
  if (state < 0)
    return sl_json_get_fail(in, "role", "\"weight\", \"moment1\", \"moment2\", \"fp8_scale\" or \"fp8_amax_history\"");
  t->role = sl_checkpoint_roles[state];
  return SL_OK;
}

static enum sl_status read_tensor(struct sl_manifest *m, const struct sl_json_object *in) {
  struct sl_manifest_tensor *t = &m->tensors[m->tensor_count];
  const json_t *list, *item;
  size_t i;
  SL_TRY(need_name(in, "name", &t->name));
  SL_TRY(read_role(t, in));
  SL_TRY(read_shape(t, in));
  SL_TRY(read_cut(t, in));
  SL_TRY(need_list(in, "pieces", &list));
  t->first_piece = m->piece_count;
  t->piece_count = (int)json_array_size(list);
  json_array_foreach(list, i, item) {
    char path[96];
    snprintf(path, sizeof path, "%s.pieces[%zu]", in->path, i);
    SL_TRY(read_piece(m, t, &(struct sl_json_object){in->doc, item, path}));
  }
  m->tensor_count++;
  return SL_OK;
}

static enum sl_status read_tensors(struct sl_manifest *m, const struct sl_json_object *root) {
  const json_t *list, *item;
  size_t i, pieces = 0;
  SL_TRY(need_list(root, "tensors", &list));
  json_array_foreach(list, i, item) pieces += json_array_size(json_object_get(item, "pieces"));
  SL_TRY(sl_calloc(&m->tensors, json_array_size(list), sizeof *m->tensors));
  SL_TRY(sl_calloc(&m->pieces, pieces, sizeof *m->pieces));
  json_array_foreach(list, i, item) {
    char path[64];
    snprintf(path, sizeof path, "tensors[%zu]", i);
    SL_TRY(read_tensor(m, &(struct sl_json_object){root->doc, item, path}));
  }
  return SL_OK;
}

/* ---- each element once ---- */

static int compare_pieces(const void *a, const void *b) {
  const struct sl_manifest_piece *p = a, *q = b;
  if (p->member != q->member) return p->member < q->member ? -1 : 1;
  return (p->first > q->first) - (p->first < q->first);
}

static enum sl_status uncovered(const struct sl_manifest *m, const struct sl_manifest_tensor *t, int member,
                                int64_t at) {
  return sl_fail(SL_ERR_INPUT,
                 "%s: tensor %s: %s: its pieces leave out or repeat element %" PRId64 " of member %d; expected each "
                 "element once",
                 m->doc.name, t->name, sl_checkpoint_role_name(t->role), at, member);
}

/* Is there nothing but padding between `from` and `to` of a member, in either order? */
static bool nothing(const struct sl_manifest_tensor *t, int member, int64_t from, int64_t to) {
  return sl_cut_held(&t->cut, member, from) == sl_cut_held(&t->cut, member, to);
}

static enum sl_status check_cover(const struct sl_manifest *m, const struct sl_manifest_tensor *t) {
  const struct sl_manifest_piece *p = &m->pieces[t->first_piece], *end = p + t->piece_count;
  for (int member = 0; member < t->cut.members; member++) {
    int64_t at = 0;
    for (; p < end && p->member == member; at = p->first + p->count, p++)
      if (!nothing(t, member, at, p->first)) return uncovered(m, t, member, at);
    if (!nothing(t, member, at, local_numel(t))) return uncovered(m, t, member, at);
  }
  return SL_OK;
}

static int compare_tensors(const void *a, const void *b) {
  const struct sl_manifest_tensor *t = a, *u = b;
  const int names = strcmp(t->name, u->name);
  return names != 0 ? names : (t->role > u->role) - (t->role < u->role);
}

static enum sl_status check_tensors(struct sl_manifest *m) {
  qsort(m->tensors, (size_t)m->tensor_count, sizeof *m->tensors, compare_tensors);
  for (int i = 0; i < m->tensor_count; i++) {
    const struct sl_manifest_tensor *t = &m->tensors[i];
    if (i > 0 && compare_tensors(t - 1, t) == 0)
      return sl_fail(SL_ERR_INPUT, "%s: tensor %s: has two entries for its %s; expected one", m->doc.name, t->name,
                     sl_checkpoint_role_name(t->role));
    qsort(&m->pieces[t->first_piece], (size_t)t->piece_count, sizeof *m->pieces, compare_pieces);
    SL_TRY(check_cover(m, t));
    for (int k = 0; k < t->piece_count; k++) m->pieces[t->first_piece + k].tensor = i;
  }
  return SL_OK;
}

/* ---- all of it ---- */

static enum sl_status read_all(struct sl_manifest *m) {
  const struct sl_json_object root = {&m->doc, m->doc.root, ""};
  SL_TRY(read_head(m, &root));
  SL_TRY(read_state(m, &root));
  m->history = sl_json_get(&root, "history");
  if (m->history != NULL) SL_TRY(sl_history_check(&(struct sl_json_object){root.doc, m->history, "history"}, m->step));
  SL_TRY(read_files(m, &root));
  SL_TRY(read_tensors(m, &root));
  return check_tensors(m);
}

enum sl_status sl_manifest_parse(struct sl_manifest *manifest, const char *name, const char *text, size_t size) {
  *manifest = (struct sl_manifest){0};
  SL_TRY(sl_json_parse(&manifest->doc, name, text, size));
  const enum sl_status status = read_all(manifest);
  if (status != SL_OK) sl_manifest_free(manifest);
  return status;
}

/* The first line is the checksum of the others. */
static enum sl_status check_hash(const char *path, const char *text, size_t size, uint64_t *hash) {
  static const char start[] = "{\"xxh3\": \"";
  const size_t line = SL_MANIFEST_LINE;
  const char *digits = text + sizeof start - 1;
  if (size <= line || strncmp(text, start, sizeof start - 1) != 0 || strncmp(text + line - 3, "\",\n", 3) != 0)
    return sl_fail(SL_ERR_INPUT, "%s:1:1: is no manifest of a checkpoint, or damaged; expected {\"xxh3\": \"HASH\",",
                   path);
  const struct sl_hash_text is = sl_hash_print(*hash = sl_hash_of(text + line, size - line));
  if (strncmp(digits, is.text, 16) == 0) return SL_OK;
  return sl_fail(SL_ERR_INPUT, "%s: is damaged: its xxHash is %s; expected %.16s", path, is.text, digits);
}

enum sl_status sl_manifest_load(struct sl_manifest *manifest, const char *path) {
  char *text;
  size_t size;
  uint64_t hash = 0;
  *manifest = (struct sl_manifest){0};
  SL_TRY(sl_file_load(path, &text, &size));
  enum sl_status status = check_hash(path, text, size, &hash);
  if (status == SL_OK) status = sl_manifest_parse(manifest, path, text, size);
  if (status == SL_OK) manifest->hash = hash;
  free(text);
  return status;
}

void sl_manifest_free(struct sl_manifest *manifest) {
  free(manifest->files);
  free(manifest->tensors);
  free(manifest->pieces);
  sl_json_free(&manifest->doc);
  *manifest = (struct sl_manifest){0};
}

const struct sl_manifest_tensor *sl_manifest_find(const struct sl_manifest *manifest, const char *name,
                                                  enum sl_role role) {
  const struct sl_manifest_tensor key = {.name = name, .role = role == SL_ROLE_MASTER ? SL_ROLE_PARAM : role};
  if (manifest->tensor_count == 0) return NULL;
  return bsearch(&key, manifest->tensors, (size_t)manifest->tensor_count, sizeof key, compare_tensors);
}

const struct sl_manifest_piece *sl_manifest_piece_at(const struct sl_manifest *manifest,
                                                     const struct sl_manifest_tensor *tensor, int member,
                                                     int64_t local) {
  const struct sl_manifest_piece *pieces = &manifest->pieces[tensor->first_piece];
  const struct sl_manifest_piece key = {.member = member, .first = local};
  int low = 0, high = tensor->piece_count; /* the last one that does not begin after it */
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (compare_pieces(&pieces[middle], &key) <= 0)
      low = middle + 1;
    else
      high = middle;
  }
  return &pieces[low - 1];
}

enum sl_status sl_manifest_save(const json_t *root, const char *path) {
  struct sl_new_file file;
  char *text = json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(17));
  if (text == NULL) return sl_fail(SL_ERR_MEMORY, "%s: no memory for its text", path);
  enum sl_status status;
  SL_GO(sl_new_file_open(&file, path));
  const struct sl_hash_text hash = sl_hash_print(sl_hash_of(text + 1, strlen(text) - 1));
  if (fprintf(file.stream, "{\"xxh3\": \"%s\",\n%s", hash.text, text + 1) < 0) {
    sl_new_file_discard(&file);
    SL_GO(sl_fail(SL_ERR_IO, "%s: cannot be written: %s", path, strerror(errno)));
  }
  status = sl_new_file_finish(&file);
done:
  free(text);
  return status;
}
