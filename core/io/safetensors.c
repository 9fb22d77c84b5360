/* The reader of safetensors files; see safetensors.h. The writer is in safetensors_write.c. */
#include "core/io/safetensors.h"

#include "core/base/checked.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
  MAX_HEADER = 100 * 1000 * 1000, /* the limit of the reference implementation */
  HALVES = 4096                   /* half-precision numbers read at a time */
};

/* Every type the format names. Bits, because the 4- and 6-bit floats are packed. */
static const struct type {
  const char *name;
  int bits;
  bool readable;
  enum sl_dtype type;
} types[] = {
    {"F32", 32, true, SL_F32},     {"F16", 16, true, SL_F16},     {"BF16", 16, true, SL_BF16},
    {"F64", 64, false, SL_F64},    {"I64", 64, false, SL_F32},    {"I32", 32, false, SL_I32},
    {"I16", 16, false, SL_F32},    {"I8", 8, false, SL_F32},      {"U64", 64, false, SL_F32},
    {"U32", 32, false, SL_F32},    {"U16", 16, false, SL_F32},    {"U8", 8, false, SL_U8},
    {"BOOL", 8, false, SL_F32},    {"F8_E4M3", 8, false, SL_F32}, {"F8_E5M2", 8, false, SL_F32},
    {"F8_E8M0", 8, false, SL_F32}, {"F6_E2M3", 6, false, SL_F32}, {"F6_E3M2", 6, false, SL_F32},
    {"F4", 4, false, SL_F32},      {"C64", 64, false, SL_F32},
};

static const struct type *type_of(const char *name) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (strcmp(types[i].name, name) == 0) return &types[i];
  return NULL;
}

/* Hugging Face's files of a whole model have the base model's name before those of its tensors. */
static const char *bare(const char *name) {
  static const char *const bases[] = {"transformer.", "model.", "gpt_neox."};
  for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
    const size_t length = strlen(bases[i]);
    if (strncmp(name, bases[i], length) == 0) return name + length;
  }
  return name;
}

static enum sl_status read_shape(const struct sl_safetensors *file, struct sl_safetensors_tensor *tensor,
                                 const json_t *shape) {
  if (!json_is_array(shape) || json_array_size(shape) > SL_SAFETENSORS_MAX_DIMS)
    return sl_fail(SL_ERR_INPUT, "%s: tensor \"%s\": shape: expected a list of at most %d sizes", file->name,
                   tensor->name, SL_SAFETENSORS_MAX_DIMS);
  tensor->numel = 1;
  tensor->n_dim = (int)json_array_size(shape);
  for (int d = 0; d < tensor->n_dim; d++) {
    const json_t *size = json_array_get(shape, (size_t)d);
    if (!json_is_integer(size) || json_integer_value(size) < 0)
      return sl_fail(SL_ERR_INPUT, "%s: tensor \"%s\": shape[%d]: expected a size >= 0", file->name, tensor->name, d);
    tensor->shape[d] = json_integer_value(size);
    tensor->numel = sl_product(tensor->numel, tensor->shape[d]);
    if (tensor->numel == SL_HUGE)
      return sl_fail(SL_ERR_INPUT, "%s: tensor \"%s\": shape: more than 2^63 elements", file->name, tensor->name);
  }
  return SL_OK;
}

static enum sl_status read_range(const struct sl_safetensors *file, struct sl_safetensors_tensor *tensor,
                                 const json_t *offsets, int bits, int64_t data_bytes) {
  const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
  if (json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end))
    return sl_fail(SL_ERR_INPUT, "%s: tensor \"%s\": data_offsets: expected [begin, end]", file->name, tensor->name);
  const int64_t from = json_integer_value(begin), to = json_integer_value(end);
  if (from < 0 || from > to || to > data_bytes)
    return sl_fail(SL_ERR_INPUT,
                   "%s: tensor \"%s\": data_offsets: is [%" PRId64 ", %" PRId64
                   "]; expected a range within the %" PRId64 " bytes after the header",
                   file->name, tensor->name, from, to, data_bytes);
  const int64_t need = sl_product(tensor->numel, bits);
  if (need == SL_HUGE || need % 8 != 0 || need / 8 != to - from)
    return sl_fail(SL_ERR_INPUT,
                   "%s: tensor \"%s\": data_offsets: is %" PRId64 " bytes; expected %" PRId64
                   " elements of %d bits of %s",
                   file->name, tensor->name, to - from, tensor->numel, bits, tensor->type_name);
  tensor->bytes = to - from;
  tensor->first = from;
  return SL_OK;
}

static enum sl_status read_tensor(const struct sl_safetensors *file, struct sl_safetensors_tensor *tensor,
                                  const char *name, const json_t *entry, int64_t data_bytes) {
  tensor->name = name;
  const char *type_name = json_string_value(json_object_get(entry, "dtype"));
  if (type_name == NULL)
    return sl_fail(SL_ERR_INPUT,
                   "%s: tensor \"%s\": expected {\"dtype\": text, \"shape\": list, \"data_offsets\": list}", file->name,
                   name);
  const struct type *type = type_of(type_name);
  if (type == NULL)
    return sl_fail(SL_ERR_INPUT,
                   "%s: tensor \"%s\": dtype: is \"%s\"; expected F32, F16, BF16 or another safetensors type",
                   file->name, name, type_name);
  tensor->type_name = type->name;
  tensor->readable = type->readable;
  tensor->type = type->type;
  SL_TRY(read_shape(file, tensor, json_object_get(entry, "shape")));
  return read_range(file, tensor, json_object_get(entry, "data_offsets"), type->bits, data_bytes);
}

/* By position; an empty tensor before one that starts at the same byte, and ties by name so that the order is
 * unique. */
static int compare_place(const void *left, const void *right) {
  const struct sl_safetensors_tensor *a = left, *b = right;
  if (a->first != b->first) return a->first < b->first ? -1 : 1;
  if (a->bytes != b->bytes) return a->bytes < b->bytes ? -1 : 1;
  return strcmp(a->name, b->name);
}

static enum sl_status check_cover(const struct sl_safetensors *file, int64_t data_bytes) {
  int64_t at = 0;
  for (int i = 0; i < file->count; i++) {
    const struct sl_safetensors_tensor *tensor = &file->tensors[i];
    if (tensor->first < at)
      return sl_fail(SL_ERR_INPUT,
                     "%s: tensor \"%s\": data_offsets: starts at %" PRId64 ", inside \"%s\", which ends at %" PRId64,
                     file->name, tensor->name, tensor->first, file->tensors[i - 1].name, at);
    if (tensor->first > at)
      return sl_fail(SL_ERR_INPUT,
                     "%s: tensor \"%s\": data_offsets: starts at %" PRId64 "; expected %" PRId64
                     ", bytes between belong to none",
                     file->name, tensor->name, tensor->first, at);
    at += tensor->bytes;
  }
  if (at != data_bytes)
    return sl_fail(SL_ERR_INPUT, "%s: %" PRId64 " bytes follow the header; the tensors account for %" PRId64,
                   file->name, data_bytes, at);
  return SL_OK;
}

struct named {
  const char *name;
  int index;
};

static int compare_named(const void *left, const void *right) {
  const struct named *a = left, *b = right;
  return strcmp(a->name, b->name);
}

static enum sl_status index_names(struct sl_safetensors *file) {
  struct named *names;
  enum sl_status status;
  SL_TRY(sl_calloc(&names, (size_t)file->count, sizeof *names));
  SL_GO(sl_calloc(&file->by_name, (size_t)file->count, sizeof *file->by_name));
  for (int i = 0; i < file->count; i++) names[i] = (struct named){bare(file->tensors[i].name), i};
  qsort(names, (size_t)file->count, sizeof *names, compare_named);
  for (int i = 0; i < file->count; i++) {
    file->by_name[i] = names[i].index;
    if (i > 0 && strcmp(names[i].name, names[i - 1].name) == 0)
      SL_GO(sl_fail(SL_ERR_INPUT, "%s: tensors \"%s\" and \"%s\" are the same without their prefix", file->name,
                    file->tensors[names[i - 1].index].name, file->tensors[names[i].index].name));
  }
done:
  free(names);
  return status;
}

/* Parses the header's JSON; jansson refuses duplicate keys. */
static enum sl_status parse_json(struct sl_safetensors *file, const char *text, size_t length) {
  json_error_t error;
  file->header = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
  if (file->header == NULL)
    return sl_fail(SL_ERR_INPUT, "%s: header: line %d, column %d: %s", file->name, error.line, error.column,
                   error.text);
  if (!json_is_object(file->header)) return sl_fail(SL_ERR_INPUT, "%s: header: expected a JSON object", file->name);
  return SL_OK;
}

static enum sl_status read_header(struct sl_safetensors *file) {
  uint64_t length; /* little-endian, as are the machines we run on */
  const size_t size = file->file.size;
  char *text;
  if (size < sizeof length)
    return sl_fail(SL_ERR_INPUT,
                   "%s: is %zu bytes; expected a safetensors file, which starts with 8 bytes of header length",
                   file->name, size);
  SL_TRY(sl_file_read(&file->file, 0, &length, sizeof length));
  if (length > MAX_HEADER || length > size - sizeof length)
    return sl_fail(SL_ERR_INPUT,
                   "%s: header length is %" PRIu64 "; expected at most %d and the %zu bytes that follow (is this a "
                   "safetensors file?)",
                   file->name, length, MAX_HEADER, size - sizeof length);
  file->data = sizeof length + length;
  SL_TRY(sl_calloc(&text, length + 1, 1));
  enum sl_status status = sl_file_read(&file->file, sizeof length, text, length);
  if (status == SL_OK) status = parse_json(file, text, length);
  free(text);
  return status;
}

static enum sl_status validate(struct sl_safetensors *file) {
  SL_TRY(read_header(file));
  const int64_t data_bytes = (int64_t)(file->file.size - file->data);
  SL_TRY(sl_calloc(&file->tensors, json_object_size(file->header), sizeof *file->tensors));
  const char *name;
  json_t *entry;
  json_object_foreach(file->header, name, entry) {
    if (strcmp(name, "__metadata__") == 0) continue;
    SL_TRY(read_tensor(file, &file->tensors[file->count], name, entry, data_bytes));
    file->count++;
  }
  qsort(file->tensors, (size_t)file->count, sizeof *file->tensors, compare_place);
  SL_TRY(check_cover(file, data_bytes));
  return index_names(file);
}

static enum sl_status keep_name(struct sl_safetensors *file, const char *name) {
  *file = (struct sl_safetensors){.name = strdup(name)};
  return file->name != NULL ? SL_OK : sl_fail(SL_ERR_MEMORY, "out of memory: a file name");
}

enum sl_status sl_safetensors_open(struct sl_safetensors *file, const char *path) {
  enum sl_status status = SL_OK;
  SL_TRY(keep_name(file, path));
  SL_GO_FAIL(sl_file_open(&file->file, file->name));
  SL_GO_FAIL(validate(file));
  return SL_OK;
fail:
  sl_safetensors_close(file);
  return status;
}

enum sl_status sl_safetensors_open_memory(struct sl_safetensors *file, const char *name, const void *bytes,
                                          size_t size) {
  SL_TRY(keep_name(file, name));
  sl_file_borrow(&file->file, file->name, bytes, size);
  const enum sl_status status = validate(file);
  if (status != SL_OK) sl_safetensors_close(file);
  return status;
}

void sl_safetensors_close(struct sl_safetensors *file) {
  free(file->by_name);
  free(file->tensors);
  json_decref(file->header);
  sl_file_close(&file->file);
  free(file->name);
  memset(file, 0, sizeof *file);
}

const struct sl_safetensors_tensor *sl_safetensors_find(const struct sl_safetensors *file, const char *name) {
  int low = 0, high = file->count;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    const struct sl_safetensors_tensor *tensor = &file->tensors[file->by_name[middle]];
    const int order = strcmp(bare(name), bare(tensor->name));
    if (order == 0) return tensor;
    if (order < 0)
      high = middle;
    else
      low = middle + 1;
  }
  return NULL;
}

static float from_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* IEEE half to single: exact for every value, subnormals, infinities and NaNs included. */
static float from_half(uint16_t half) {
  const uint32_t sign = (uint32_t)(half & 0x8000u) << 16, exponent = half >> 10 & 0x1fu, fraction = half & 0x3ffu;
  if (exponent == 0x1f) return from_bits(sign | 0x7f800000u | fraction << 13);
  if (exponent != 0) return from_bits(sign | (exponent + 112) << 23 | fraction << 13);
  const float magnitude = (float)fraction * 0x1p-24f;
  return sign ? -magnitude : magnitude;
}

enum sl_status sl_safetensors_read(const struct sl_safetensors *file, const struct sl_safetensors_tensor *tensor,
                                   int64_t first, int64_t count, float *out) {
  if (!tensor->readable)
    return sl_fail(SL_ERR_INPUT, "%s: tensor \"%s\": dtype: is %s; expected F32, F16 or BF16", file->name, tensor->name,
                   tensor->type_name);
  if (first < 0 || count < 0 || first > tensor->numel || count > tensor->numel - first)
    return sl_fail(SL_ERR_INPUT, "%s: tensor \"%s\": elements %" PRId64 " to %" PRId64 " wanted; it has %" PRId64,
                   file->name, tensor->name, first, first + count, tensor->numel);
  const uint64_t at = file->data + (uint64_t)(tensor->first + first * sl_dtype_bytes(tensor->type));
  if (tensor->type == SL_F32) return sl_file_read(&file->file, at, out, (size_t)count * sizeof *out);
  uint16_t bits[HALVES];
  for (int64_t i = 0; i < count; i += HALVES) {
    const int64_t n = count - i < HALVES ? count - i : HALVES;
    SL_TRY(sl_file_read(&file->file, at + (uint64_t)i * sizeof *bits, bits, (size_t)n * sizeof *bits));
    for (int64_t k = 0; k < n; k++)
      out[i + k] = tensor->type == SL_F16 ? from_half(bits[k]) : from_bits((uint32_t)bits[k] << 16);
  }
  return SL_OK;
}
