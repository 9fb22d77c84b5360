/* Byte-pair encoding; see bpe.h. The order of merges is that of `tokenizers` (models/bpe/word.rs, merge_all): the pair
 * with the lowest rank, the leftmost one in a tie. Pairs are in a heap, so a word of any length takes n log n; most
 * words are short and were seen before, and their ids come from a table. */
#include "core/tokenizer/bpe.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

enum { CACHED_BYTES = 23, CACHED_IDS = 8, CACHE_SLOTS = 1 << 16 };

struct sl_bpe_pair {
  uint32_t left, right, rank, made;
  bool used;
};

struct sl_bpe_entry {
  char word[CACHED_BYTES];
  uint8_t bytes, count; /* bytes 0: free */
  uint32_t ids[CACHED_IDS];
};

/* The symbols of a word form a list; one that was merged into its left neighbour has no bytes left. */
struct sl_bpe_symbol {
  uint32_t id;
  int64_t previous, next; /* -1: none */
  bool gone;
};

struct sl_bpe_join {
  int64_t at; /* the left one of the pair */
  uint32_t rank, made;
};

/* ---- pairs ---- */

static uint64_t hash_pair(uint32_t left, uint32_t right) {
  return ((uint64_t)left << 32 | right) * UINT64_C(0x9e3779b97f4a7c15);
}

static struct sl_bpe_pair *pair_of(const struct sl_bpe *b, uint32_t left, uint32_t right) {
  size_t at = (size_t)(hash_pair(left, right) >> 20) & (b->pair_slots - 1);
  while (b->pairs[at].used && (b->pairs[at].left != left || b->pairs[at].right != right))
    at = (at + 1) & (b->pair_slots - 1);
  return &b->pairs[at];
}

static const struct sl_bpe_pair *find_pair(const struct sl_bpe *b, uint32_t left, uint32_t right) {
  const struct sl_bpe_pair *pair = b->pair_slots > 0 ? pair_of(b, left, right) : NULL;
  return pair != NULL && pair->used ? pair : NULL;
}

/* ---- reading ---- */

/* The byte that a character of a byte-level vocabulary stands for: printable bytes stand for themselves, the others are
 * mapped to characters from U+0100 on. -1: none. Source: openai/gpt-2, src/encoder.py, bytes_to_unicode. */
static int byte_of(int32_t c) {
  if ((c >= '!' && c <= '~') || (c >= 0xa1 && c <= 0xac) || (c >= 0xae && c <= 0xff)) return c;
  const int32_t n = c - 256; /* the n-th byte that is not printable: 0 to 32, 127 to 160, 173 */
  if (n < 0 || n > 67) return -1;
  return n <= 32 ? n : n <= 66 ? n - 33 + 127 : 173;
}

/* The bytes that a token of the vocabulary stands for, in out[0..*size). False: no text can contain it. */
static bool bytes_of(const struct sl_bpe *b, const char *token, char *out, size_t *size) {
  const size_t length = strlen(token);
  *size = 0;
  if (!b->byte_level) {
    memcpy(out, token, length);
    *size = length;
    return true;
  }
  for (size_t at = 0; at < length;) {
    utf8proc_int32_t c;
    const utf8proc_ssize_t n =
        utf8proc_iterate((const utf8proc_uint8_t *)token + at, (utf8proc_ssize_t)(length - at), &c);
    const int byte = n > 0 ? byte_of(c) : -1;
    if (byte < 0) return false;
    out[(*size)++] = (char)byte;
    at += (size_t)n;
  }
  return true;
}

/* Memory for the text of a word being built. */
struct room {
  char *bytes;
  size_t capacity;
};

static enum sl_status read_vocabulary(struct sl_bpe *b, const char *name, const json_t *model, struct room *room) {
  const json_t *vocabulary = json_object_get(model, "vocab");
  const char *token;
  json_t *id;
  size_t size;
  if (!json_is_object(vocabulary))
    return sl_fail(SL_ERR_INPUT, "%s: model.vocab: expected an object of tokens and ids", name);
  json_object_foreach((json_t *)vocabulary, token, id) {
    if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) > INT32_MAX)
      return sl_fail(SL_ERR_INPUT, "%s: model.vocab: the id of '%s' is no number from 0 to %d", name, token, INT32_MAX);
    SL_TRY(sl_grow(&room->bytes, &room->capacity, strlen(token) + 1, 1));
    if (bytes_of(b, token, room->bytes, &size))
      SL_TRY(sl_token_map_put(&b->vocabulary, room->bytes, size, (uint32_t)json_integer_value(id)));
  }
  return SL_OK;
}

/* The two halves of a merge, "a b" or ["a", "b"]. The first form is split in place, in `room`. */
static enum sl_status halves_of(const char *name, size_t i, const json_t *merge, struct room *room, const char **left,
                                const char **right) {
  *left = json_string_value(json_array_get(merge, 0));
  *right = json_string_value(json_array_get(merge, 1));
  if (json_is_string(merge)) {
    const char *text = json_string_value(merge);
    SL_TRY(sl_grow(&room->bytes, &room->capacity, strlen(text) + 1, 1));
    strcpy(room->bytes, text);
    char *blank = strchr(room->bytes, ' ');
    if (blank != NULL) *blank = '\0';
    *left = room->bytes;
    *right = blank != NULL ? blank + 1 : NULL;
  }
  const bool two = json_is_array(merge) ? json_array_size(merge) == 2 : *right != NULL && strchr(*right, ' ') == NULL;
  if (two && *left != NULL && *right != NULL) return SL_OK;
  return sl_fail(SL_ERR_INPUT, "%s: model.merges[%zu]: expected two tokens, \"a b\" or [\"a\", \"b\"]", name, i);
}

static enum sl_status read_merge(struct sl_bpe *b, const char *name, size_t i, const json_t *merge,
                                 struct room room[2]) {
  const char *half[2];
  size_t size[2];
  int64_t id[3];
  SL_TRY(halves_of(name, i, merge, &room[0], &half[0], &half[1]));
  SL_TRY(sl_grow(&room[1].bytes, &room[1].capacity, strlen(half[0]) + strlen(half[1]) + 2, 1));
  const bool known =
      bytes_of(b, half[0], room[1].bytes, &size[0]) && bytes_of(b, half[1], room[1].bytes + size[0], &size[1]);
  id[0] = known ? sl_token_map_find(&b->vocabulary, room[1].bytes, size[0]) : -1;
  id[1] = known ? sl_token_map_find(&b->vocabulary, room[1].bytes + size[0], size[1]) : -1;
  id[2] = known ? sl_token_map_find(&b->vocabulary, room[1].bytes, size[0] + size[1]) : -1;
  if (id[0] < 0 || id[1] < 0 || id[2] < 0)
    return sl_fail(SL_ERR_INPUT,
                   "%s: model.merges[%zu]: '%s' and '%s': one of them, or the two as one, is not in model.vocab", name,
                   i, half[0], half[1]);
  *pair_of(b, (uint32_t)id[0], (uint32_t)id[1]) = (struct sl_bpe_pair){
      .left = (uint32_t)id[0], .right = (uint32_t)id[1], .rank = (uint32_t)i, .made = (uint32_t)id[2], .used = true};
  return SL_OK;
}

static enum sl_status read_merges(struct sl_bpe *b, const char *name, const json_t *model) {
  const json_t *merges = json_object_get(model, "merges"), *merge;
  struct room room[2] = {{0}};
  enum sl_status status = SL_OK;
  size_t i;
  if (!json_is_array(merges))
    return sl_fail(SL_ERR_INPUT, "%s: model.merges: expected a list of pairs of tokens", name);
  for (b->pair_slots = 16; b->pair_slots < 2 * json_array_size(merges);) b->pair_slots *= 2;
  SL_TRY(sl_calloc(&b->pairs, b->pair_slots, sizeof *b->pairs));
  json_array_foreach(merges, i, merge) if (status == SL_OK) status = read_merge(b, name, i, merge, room);
  free(room[0].bytes);
  free(room[1].bytes);
  return status;
}

static enum sl_status read_flag(const char *name, const json_t *model, const char *key, bool *out) {
  const json_t *value = json_object_get(model, key);
  if (value != NULL && !json_is_null(value) && !json_is_boolean(value))
    return sl_fail(SL_ERR_INPUT, "%s: model.%s: expected true or false", name, key);
  *out = json_is_true(value);
  return SL_OK;
}

/* Refuses features that would change the ids and are not modelled. */
static enum sl_status refuse(const char *name, const json_t *model) {
  static const char *const affixes[] = {"continuing_subword_prefix", "end_of_word_suffix"};
  const char *type = json_string_value(json_object_get(model, "type"));
  if (!json_is_object(model)) return sl_fail(SL_ERR_INPUT, "%s: model: expected an object", name);
  if (type != NULL && strcmp(type, "BPE") != 0)
    return sl_fail(SL_ERR_INPUT, "%s: model.type: is \"%s\"; expected \"BPE\"", name, type);
  for (size_t i = 0; i < sizeof affixes / sizeof *affixes; i++) {
    const char *affix = json_string_value(json_object_get(model, affixes[i]));
    if (affix != NULL && affix[0] != '\0')
      return sl_fail(SL_ERR_INPUT, "%s: model.%s: is \"%s\"; expected null", name, affixes[i], affix);
  }
  if (json_number_value(json_object_get(model, "dropout")) != 0)
    return sl_fail(SL_ERR_INPUT, "%s: model.dropout: is %g; expected null, the same ids every time", name,
                   json_number_value(json_object_get(model, "dropout")));
  return SL_OK;
}

/* Finds the symbols of single bytes. A byte-level model has all of them. */
static enum sl_status find_bytes(struct sl_bpe *b, const char *name) {
  bool all = true;
  for (int i = 0; i < 256; i++) {
    char text[8];
    const char one = (char)i;
    snprintf(text, sizeof text, "<0x%02X>", (unsigned)i);
    b->byte_id[i] =
        b->byte_level ? sl_token_map_find(&b->vocabulary, &one, 1) : sl_token_map_find(&b->vocabulary, text, 6);
    all = all && b->byte_id[i] >= 0;
    if (b->byte_level && b->byte_id[i] < 0 && b->unknown < 0)
      return sl_fail(SL_ERR_INPUT,
                     "%s: model.vocab: has no token for the byte 0x%02x, and model.unk_token is null; expected all 256",
                     name, (unsigned)i);
  }
  if (b->byte_fallback && !all)
    return sl_fail(SL_ERR_INPUT, "%s: model.byte_fallback: is true; expected all of <0x00> to <0xFF> in model.vocab",
                   name);
  return SL_OK;
}

enum sl_status sl_bpe_open(struct sl_bpe *b, const char *name, const json_t *model, bool byte_level) {
  struct room room = {0};
  b->byte_level = byte_level;
  b->unknown = -1;
  SL_TRY(refuse(name, model));
  SL_TRY(read_flag(name, model, "byte_fallback", &b->byte_fallback));
  SL_TRY(read_flag(name, model, "fuse_unk", &b->fuse_unknown));
  SL_TRY(read_flag(name, model, "ignore_merges", &b->ignore_merges));
  const enum sl_status read = read_vocabulary(b, name, model, &room);
  free(room.bytes);
  SL_TRY(read);
  const json_t *unknown = json_object_get(model, "unk_token");
  if (json_is_string(unknown)) {
    const json_t *id = json_object_get(json_object_get(model, "vocab"), json_string_value(unknown));
    if (id == NULL)
      return sl_fail(SL_ERR_INPUT, "%s: model.unk_token: \"%s\" is not in model.vocab", name,
                     json_string_value(unknown));
    b->unknown = json_integer_value(id);
  }
  SL_TRY(read_merges(b, name, model));
  SL_TRY(find_bytes(b, name));
  return sl_calloc(&b->cache, CACHE_SLOTS, sizeof *b->cache);
}

void sl_bpe_free(struct sl_bpe *b) {
  sl_token_map_free(&b->vocabulary);
  free(b->pairs);
  free(b->cache);
  free(b->symbols);
  free(b->joins);
}

/* ---- symbols ---- */

static size_t put_symbol(struct sl_bpe *b, size_t count, uint32_t id) {
  b->symbols[count] = (struct sl_bpe_symbol){.id = id, .previous = (int64_t)count - 1, .next = (int64_t)count + 1};
  return count + 1;
}

/* Adds the symbol for a character that is not in the vocabulary. *unknown: the symbol before it was such a character
 * too. */
static size_t put_unknown(struct sl_bpe *b, size_t count, const char *at, size_t bytes, bool *unknown) {
  if (b->byte_fallback) {
    for (size_t i = 0; i < bytes; i++) count = put_symbol(b, count, (uint32_t)b->byte_id[(unsigned char)at[i]]);
    *unknown = false;
    return count;
  }
  if (b->unknown >= 0 && !(b->fuse_unknown && *unknown)) count = put_symbol(b, count, (uint32_t)b->unknown);
  *unknown = true;
  return count;
}

/* Room for as many symbols as bytes. */
static size_t find_symbols(struct sl_bpe *b, const char *word, size_t size) {
  size_t count = 0;
  bool unknown = false;
  for (size_t at = 0, n; at < size; at += n) {
    n = b->byte_level ? 1 : (size_t)utf8proc_utf8class[(unsigned char)word[at]];
    const int64_t id =
        b->byte_level ? b->byte_id[(unsigned char)word[at]] : sl_token_map_find(&b->vocabulary, word + at, n);
    if (id >= 0) {
      count = put_symbol(b, count, (uint32_t)id);
      unknown = false;
    } else {
      count = put_unknown(b, count, word + at, n, &unknown);
    }
  }
  if (count > 0) b->symbols[count - 1].next = -1;
  return count;
}

/* ---- joins ---- */

static bool comes_first(const struct sl_bpe_join *a, const struct sl_bpe_join *b) {
  return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static void swap_joins(struct sl_bpe_join *a, struct sl_bpe_join *b) {
  const struct sl_bpe_join x = *a;
  *a = *b;
  *b = x;
}

/* Pushes the pair of symbol `at` and its successor, if it can be merged. Each merge makes at most two more possible, so
 * there is room. */
static void push_join(struct sl_bpe *b, int64_t at) {
  if (at < 0 || b->symbols[at].next < 0) return;
  const struct sl_bpe_pair *pair = find_pair(b, b->symbols[at].id, b->symbols[b->symbols[at].next].id);
  if (pair == NULL) return;
  size_t i = b->join_count++;
  b->joins[i] = (struct sl_bpe_join){.at = at, .rank = pair->rank, .made = pair->made};
  for (; i > 0 && comes_first(&b->joins[i], &b->joins[(i - 1) / 2]); i = (i - 1) / 2)
    swap_joins(&b->joins[i], &b->joins[(i - 1) / 2]);
}

static struct sl_bpe_join pop_join(struct sl_bpe *b) {
  const struct sl_bpe_join top = b->joins[0];
  b->joins[0] = b->joins[--b->join_count];
  for (size_t i = 0;;) {
    size_t least = i;
    for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < b->join_count; child++)
      if (comes_first(&b->joins[child], &b->joins[least])) least = child;
    if (least == i) return top;
    swap_joins(&b->joins[i], &b->joins[least]);
    i = least;
  }
}

static void join_symbols(struct sl_bpe *b, size_t count) {
  struct sl_bpe_symbol *s = b->symbols;
  b->join_count = 0;
  for (size_t i = 0; i < count; i++) push_join(b, (int64_t)i);
  while (b->join_count > 0) {
    const struct sl_bpe_join join = pop_join(b);
    struct sl_bpe_symbol *left = &s[join.at];
    if (left->gone || left->next < 0) continue;
    const struct sl_bpe_pair *pair = find_pair(b, left->id, s[left->next].id);
    if (pair == NULL || pair->made != join.made) continue; /* one of them has been merged meanwhile */
    s[left->next].gone = true;
    left->id = join.made;
    left->next = s[left->next].next;
    if (left->next >= 0) s[left->next].previous = join.at;
    push_join(b, left->previous);
    push_join(b, join.at);
  }
}

static enum sl_status encode_anew(struct sl_bpe *b, const char *word, size_t size, struct sl_token_list *out) {
  SL_TRY(sl_grow(&b->symbols, &b->symbol_capacity, size, sizeof *b->symbols));
  SL_TRY(sl_grow(&b->joins, &b->join_capacity, 3 * size, sizeof *b->joins));
  SL_TRY(sl_grow(&out->ids, &out->capacity, out->count + size, sizeof *out->ids));
  const int64_t whole = b->ignore_merges ? sl_token_map_find(&b->vocabulary, word, size) : -1;
  if (whole >= 0) {
    out->ids[out->count++] = (uint32_t)whole;
    return SL_OK;
  }
  const size_t count = find_symbols(b, word, size);
  join_symbols(b, count);
  for (int64_t i = count > 0 ? 0 : -1; i >= 0; i = b->symbols[i].next) out->ids[out->count++] = b->symbols[i].id;
  return SL_OK;
}

enum sl_status sl_bpe_encode(struct sl_bpe *b, const char *word, size_t size, struct sl_token_list *out) {
  if (size == 0) return SL_OK;
  if (size > CACHED_BYTES) return encode_anew(b, word, size, out);
  struct sl_bpe_entry *entry = &b->cache[sl_token_map_hash(word, size) & (CACHE_SLOTS - 1)];
  if (entry->bytes == size && memcmp(entry->word, word, size) == 0) {
    SL_TRY(sl_grow(&out->ids, &out->capacity, out->count + CACHED_IDS, sizeof *out->ids));
    memcpy(out->ids + out->count, entry->ids, sizeof entry->ids);
    out->count += entry->count;
    return SL_OK;
  }
  const size_t before = out->count;
  SL_TRY(encode_anew(b, word, size, out));
  const size_t made = out->count - before;
  if (made > CACHED_IDS) return SL_OK;
  entry->bytes = (uint8_t)size, entry->count = (uint8_t)made;
  memcpy(entry->word, word, size);
  memcpy(entry->ids, out->ids + before, made * sizeof *entry->ids);
  return SL_OK;
}
