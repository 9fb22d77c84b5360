/* .npy: a magic number, a version, the header's length, and the header: a dictionary of three keys as Python prints it.
 * See npy.h. */
#include "core/io/npy.h"

#include "core/base/checked.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC "\x93NUMPY"

enum { HEADER_MOST = 65536, DIMS_MOST = 2 };

bool sl_npy_claims(const unsigned char *bytes) {
  return memcmp(bytes, MAGIC, SL_NPY_MAGIC_BYTES) == 0;
}

/* The header's text, and the reader's position in it. */
struct scan {
  const char *name; /* of the file */
  const char *at;   /* ends with a zero byte */
  struct sl_npy *out;
  bool has_type, has_order, has_shape;
};

static void skip_blanks(struct scan *s) {
  while (*s->at == ' ' || *s->at == '\t' || *s->at == '\n') s->at++;
}

/* Consumes `text` if it comes next. */
static bool take(struct scan *s, const char *text) {
  skip_blanks(s);
  const size_t n = strlen(text);
  if (strncmp(s->at, text, n) != 0) return false;
  s->at += n;
  return true;
}

static enum sl_status expected(const struct scan *s, const char *what) {
  return sl_fail(SL_ERR_INPUT, "%s: header: expected %s, found '%.24s'", s->name, what, s->at);
}

/* Reads a quoted word into out[0..size). */
static enum sl_status take_word(struct scan *s, char *out, size_t size) {
  skip_blanks(s);
  const char quote = *s->at;
  if (quote != '\'' && quote != '"') return expected(s, "a word in quotes");
  const char *end = strchr(s->at + 1, quote);
  if (end == NULL || (size_t)(end - s->at) > size) return expected(s, "a word in quotes");
  memcpy(out, s->at + 1, (size_t)(end - s->at - 1));
  out[end - s->at - 1] = '\0';
  s->at = end + 1;
  return SL_OK;
}

static enum sl_status take_type(struct scan *s) {
  char type[16] = "";
  if (take(s, "[")) return sl_fail(SL_ERR_INPUT, "%s: descr: is a structured type; expected integers", s->name);
  SL_TRY(take_word(s, type, sizeof type));
  const bool integers = (type[1] == 'u' || type[1] == 'i') && strlen(type) == 3;
  const int bytes = integers ? type[2] - '0' : 0;
  const bool order = type[0] == '<' || (type[0] == '|' && bytes == 1);
  if (!integers || !order || (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8))
    return sl_fail(SL_ERR_INPUT,
                   "%s: descr: is '%s'; expected little-endian integers: |u1, <u2, <u4, <u8, |i1, <i2, <i4 or <i8",
                   s->name, type);
  s->out->item_bytes = bytes;
  s->out->is_signed = type[1] == 'i';
  s->has_type = true;
  return SL_OK;
}

static enum sl_status take_order(struct scan *s) {
  if (take(s, "True"))
    return sl_fail(SL_ERR_INPUT, "%s: fortran_order: is True; expected False, a row behind the other", s->name);
  if (!take(s, "False")) return expected(s, "True or False");
  s->has_order = true;
  return SL_OK;
}

static enum sl_status take_shape(struct scan *s) {
  int dims = 0;
  if (!take(s, "(")) return expected(s, "a shape in parentheses");
  s->out->count = 1;
  while (!take(s, ")")) {
    char *end;
    skip_blanks(s);
    if (*s->at < '0' || *s->at > '9') return expected(s, "a number of elements");
    const long long n = strtoll(s->at, &end, 10); /* too many digits give LLONG_MAX, which is SL_HUGE */
    s->at = end;
    s->out->count = sl_product(s->out->count, n);
    dims++;
    if (!take(s, ",") && *s->at != ')') return expected(s, "',' or ')'");
  }
  if (dims < 1 || dims > DIMS_MOST)
    return sl_fail(SL_ERR_INPUT, "%s: shape: has %d dimensions; expected one, or two: a row of tokens behind the other",
                   s->name, dims);
  s->has_shape = true;
  return SL_OK;
}

static enum sl_status take_header(struct scan *s) {
  char key[24];
  if (!take(s, "{")) return expected(s, "a dictionary {...}");
  while (!take(s, "}")) {
    SL_TRY(take_word(s, key, sizeof key));
    if (!take(s, ":")) return expected(s, "':'");
    if (strcmp(key, "descr") == 0)
      SL_TRY(take_type(s));
    else if (strcmp(key, "fortran_order") == 0)
      SL_TRY(take_order(s));
    else if (strcmp(key, "shape") == 0)
      SL_TRY(take_shape(s));
    else
      return sl_fail(SL_ERR_INPUT, "%s: header: unknown key '%s'; expected descr, fortran_order and shape", s->name,
                     key);
    skip_blanks(s);
    if (!take(s, ",") && *s->at != '}') return expected(s, "',' or '}'");
  }
  if (!s->has_type || !s->has_order || !s->has_shape)
    return sl_fail(SL_ERR_INPUT, "%s: header: has no %s", s->name,
                   !s->has_type    ? "descr"
                   : !s->has_order ? "fortran_order"
                                   : "shape");
  return SL_OK;
}

/* Finds the header's text and its length, which takes two bytes in version 1, four in 2 and 3. */
static enum sl_status find_header(const struct sl_file *file, uint64_t *first, uint32_t *bytes) {
  unsigned char head[12] = {0};
  const size_t least = 10;
  if (file->size < least)
    return sl_fail(SL_ERR_INPUT, "%s: is %zu bytes; expected the header of a .npy file", file->name, file->size);
  SL_TRY(sl_file_read(file, 0, head, file->size < sizeof head ? least : sizeof head));
  if (head[6] < 1 || head[6] > 3)
    return sl_fail(SL_ERR_INPUT, "%s: version of the .npy format is %d; expected 1, 2 or 3", file->name, head[6]);
  const int width = head[6] == 1 ? 2 : 4;
  *bytes = 0;
  for (int i = 0; i < width; i++) *bytes |= (uint32_t)head[8 + i] << (8 * i);
  *first = 8 + (uint64_t)width;
  if (*bytes > HEADER_MOST || *first + *bytes > file->size)
    return sl_fail(SL_ERR_INPUT, "%s: its header has %u bytes; expected at most %d, and no more than the file has",
                   file->name, *bytes, HEADER_MOST);
  return SL_OK;
}

static enum sl_status check_size(const struct sl_file *file, const struct sl_npy *array) {
  const uint64_t body = file->size - array->first;
  if ((uint64_t)sl_product(array->count, array->item_bytes) == body) return SL_OK;
  return sl_fail(SL_ERR_INPUT, "%s: shape: %s elements of %d bytes, but %llu bytes follow the header", file->name,
                 sl_count_text(array->count).text, array->item_bytes, (unsigned long long)body);
}

enum sl_status sl_npy_open(const struct sl_file *file, struct sl_npy *out) {
  enum sl_status status;
  uint32_t bytes = 0;
  char *text = NULL;
  *out = (struct sl_npy){0};
  SL_TRY(find_header(file, &out->first, &bytes));
  SL_GO(sl_calloc(&text, (size_t)bytes + 1, 1));
  SL_GO(sl_file_read(file, out->first, text, bytes));
  struct scan scan = {.name = file->name, .at = text, .out = out};
  SL_GO(take_header(&scan));
  out->first += bytes;
  SL_GO(check_size(file, out));
done:
  free(text);
  return status;
}

void sl_npy_write(FILE *out, const uint32_t *values, int64_t count) {
  enum { ALIGNED = 64, PREFIX = 10, MOST = 2 * ALIGNED };
  char header[MOST + 1];
  uint32_t most = 0;
  for (int64_t i = 0; i < count; i++) most = values[i] > most ? values[i] : most;
  const bool narrow = most <= UINT16_MAX;
  const int n = snprintf(header, sizeof header, "{'descr': '<u%d', 'fortran_order': False, 'shape': (%lld,), }",
                         narrow ? 2 : 4, (long long)count);
  const int padded =
      (n + 1 + PREFIX + ALIGNED - 1) / ALIGNED * ALIGNED - PREFIX; /* the data begin at a multiple of ALIGNED */
  const unsigned char length[2] = {(unsigned char)padded, 0};
  fwrite(MAGIC "\1\0", 1, SL_NPY_MAGIC_BYTES + 2, out);
  fwrite(length, 1, sizeof length, out);
  fprintf(out, "%-*s\n", padded - 1, header);
  for (int64_t i = 0; i < count && narrow; i++) fwrite(&(uint16_t){(uint16_t)values[i]}, 2, 1, out);
  if (!narrow) fwrite(values, sizeof *values, (size_t)count, out);
}
