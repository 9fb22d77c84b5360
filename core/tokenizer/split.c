/* Splits a text into words; see split.h. Patterns are those of Oniguruma, which `tokenizers` uses; PCRE2 with Unicode
 * properties accepts them unchanged, except for a few classes. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "core/tokenizer/split.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

/* GPT-2's pattern, built into ByteLevel. Source: tokenizers, pre_tokenizers/byte_level.rs. */
#define BYTE_LEVEL_PATTERN "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define META "\xe2\x96\x81" /* U+2581 */

enum { META_BYTES = 3, STACK_FIRST = 32 << 10, STACK_MOST = 64 << 20, DEPTH_MOST = 4 };

/* ---- reading ---- */

static enum sl_status add(struct sl_splitter *s, struct sl_split_step step) {
  SL_TRY(sl_grow(&s->steps, &s->capacity, s->count + 1, sizeof *s->steps));
  s->steps[s->count++] = step;
  return SL_OK;
}

/* Classes in which the two libraries differ, as Oniguruma's sets: White_Space, to which PCRE2 adds U+180E; and word
 * characters, from which PCRE2 omits marks. */
static const struct class {
  char letter;
  const char *set;
} classes[] = {{'s', "\\t-\\r\\x{85}\\p{Z}"}, {'w', "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{24b6}-\\x{24e9}"}};

enum { CLASSES = sizeof classes / sizeof *classes, SET_MOST = 64 };

/* The set of the escape \LETTER, and whether it is negated; NULL: the escape is the same in both libraries. */
static const char *set_of(char letter, bool in_set, bool *negated) {
  *negated = letter >= 'A' && letter <= 'Z';
  for (int i = 0; i < CLASSES; i++) {
    if (classes[i].letter == letter) return classes[i].set;
    if (classes[i].letter == letter + ('a' - 'A') && !in_set) return classes[i].set;
  }
  return NULL;
}

/* The pattern with these classes expanded, to be freed. */
static enum sl_status write_out(const char *pattern, char **out) {
  bool in_set = false, negated = false;
  SL_TRY(sl_malloc(out, strlen(pattern) * SET_MOST + 1, 1));
  char *to = *out;
  for (const char *at = pattern; *at != '\0'; at++) {
    const char *set = *at == '\\' && at[1] != '\0' ? set_of(at[1], in_set, &negated) : NULL;
    if (set != NULL) {
      to += sprintf(to, in_set ? "%s" : negated ? "[^%s]" : "[%s]", set);
      at++;
      continue;
    }
    if (*at == '\\' && at[1] != '\0')
      *to++ = *at++;
    else if (*at == '[' || *at == ']')
      in_set = *at == '[';
    *to++ = *at;
  }
  *to = '\0';
  return SL_OK;
}

static enum sl_status add_pattern(struct sl_splitter *s, const char *pattern, bool literal,
                                  enum sl_split_behavior behavior, bool invert) {
  int error;
  PCRE2_SIZE at;
  const uint32_t options = PCRE2_UTF | (literal ? PCRE2_LITERAL : PCRE2_UCP);
  SL_TRY(add(s, (struct sl_split_step){.kind = SL_SPLIT_PATTERN, .behavior = behavior, .invert = invert}));
  struct sl_split_step *step = &s->steps[s->count - 1];
  char *written = NULL;
  if (!literal) SL_TRY(write_out(pattern, &written));
  pcre2_code *code =
      pcre2_compile((PCRE2_SPTR)(literal ? pattern : written), PCRE2_ZERO_TERMINATED, options, &error, &at, NULL);
  free(written);
  step->code = code;
  if (code == NULL) {
    char why[160] = "";
    pcre2_get_error_message(error, (PCRE2_UCHAR *)why, sizeof why);
    return sl_fail(SL_ERR_INPUT, "%s: pre_tokenizer.pattern: character %zu of '%s': %s", s->name, (size_t)at, pattern,
                   why);
  }
  (void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); /* only makes it faster */
  step->match = pcre2_match_data_create(1, NULL);
  return step->match != NULL ? SL_OK : sl_fail(SL_ERR_MEMORY, "out of memory: a pattern");
}

/* A flag that is given or has its default. */
static bool flag(const json_t *json, const char *key, bool otherwise) {
  const json_t *value = json_object_get(json, key);
  return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

static const char *const behaviors[] = {[SL_SPLIT_ISOLATED] = "Isolated",
                                        [SL_SPLIT_REMOVED] = "Removed",
                                        [SL_SPLIT_PREVIOUS] = "MergedWithPrevious",
                                        [SL_SPLIT_NEXT] = "MergedWithNext"};
enum { BEHAVIORS = sizeof behaviors / sizeof *behaviors };

static enum sl_status read_split(struct sl_splitter *s, const json_t *json) {
  const json_t *pattern = json_object_get(json, "pattern");
  const char *regex = json_string_value(json_object_get(pattern, "Regex"));
  const char *string = json_string_value(json_object_get(pattern, "String"));
  const char *behavior = json_string_value(json_object_get(json, "behavior"));
  int known = 0;
  if (regex == NULL && (string == NULL || string[0] == '\0'))
    return sl_fail(SL_ERR_INPUT, "%s: pre_tokenizer.pattern: expected {\"Regex\": ...} or {\"String\": ...}", s->name);
  while (behavior != NULL && known < BEHAVIORS && strcmp(behavior, behaviors[known]) != 0) known++;
  if (behavior == NULL || known == BEHAVIORS)
    return sl_fail(
        SL_ERR_INPUT,
        "%s: pre_tokenizer.behavior: is %s; expected Isolated, Removed, MergedWithPrevious or MergedWithNext", s->name,
        behavior != NULL ? behavior : "missing");
  return add_pattern(s, regex != NULL ? regex : string, regex == NULL, (enum sl_split_behavior)known,
                     flag(json, "invert", false));
}

static enum sl_status read_bytes(struct sl_splitter *s, const json_t *json) {
  s->byte_level = true;
  SL_TRY(add(s, (struct sl_split_step){.kind = SL_SPLIT_BYTES, .blank = flag(json, "add_prefix_space", true)}));
  return flag(json, "use_regex", true) ? add_pattern(s, BYTE_LEVEL_PATTERN, false, SL_SPLIT_ISOLATED, false) : SL_OK;
}

static enum sl_status read_meta(struct sl_splitter *s, const json_t *json) {
  const char *replacement = json_string_value(json_object_get(json, "replacement"));
  const char *scheme = json_string_value(json_object_get(json, "prepend_scheme"));
  const bool always = scheme == NULL ? flag(json, "add_prefix_space", true) : strcmp(scheme, "always") == 0;
  const bool first = scheme != NULL && strcmp(scheme, "first") == 0;
  if (replacement == NULL || strcmp(replacement, META) != 0)
    return sl_fail(SL_ERR_INPUT, "%s: pre_tokenizer.replacement: expected \"" META "\", U+2581", s->name);
  if (scheme != NULL && !always && !first && strcmp(scheme, "never") != 0)
    return sl_fail(SL_ERR_INPUT, "%s: pre_tokenizer.prepend_scheme: is \"%s\"; expected always, first or never",
                   s->name, scheme);
  return add(s, (struct sl_split_step){.kind = SL_SPLIT_META,
                                       .prepends = always || first,
                                       .first_only = first,
                                       .cuts = flag(json, "split", true)});
}

static enum sl_status read_step(struct sl_splitter *s, const json_t *json, int depth) {
  const char *type = json_string_value(json_object_get(json, "type"));
  const json_t *one;
  size_t i;
  if (type == NULL) return sl_fail(SL_ERR_INPUT, "%s: pre_tokenizer.type: expected a string", s->name);
  if (strcmp(type, "Split") == 0) return read_split(s, json);
  if (strcmp(type, "ByteLevel") == 0) return read_bytes(s, json);
  if (strcmp(type, "Metaspace") == 0) return read_meta(s, json);
  if (strcmp(type, "Digits") == 0)
    return add_pattern(s, flag(json, "individual_digits", false) ? "\\p{N}" : "\\p{N}+", false, SL_SPLIT_ISOLATED,
                       false);
  if (strcmp(type, "Sequence") == 0 && depth < DEPTH_MOST) {
    json_array_foreach(json_object_get(json, "pretokenizers"), i, one) SL_TRY(read_step(s, one, depth + 1));
    return SL_OK;
  }
  return sl_fail(
      SL_ERR_INPUT,
      "%s: pre_tokenizer.type: is \"%s\"; expected ByteLevel, Split, Digits, Metaspace or a Sequence of them", s->name,
      type);
}

enum sl_status sl_splitter_open(struct sl_splitter *s, const char *name, const json_t *json) {
  s->name = name;
  if (json == NULL || json_is_null(json)) return SL_OK;
  SL_TRY(read_step(s, json, 0));
  for (size_t i = 0; i < s->count; i++)
    if (s->byte_level && s->steps[i].kind == SL_SPLIT_META)
      return sl_fail(SL_ERR_INPUT, "%s: pre_tokenizer: has both ByteLevel and Metaspace; expected one of them", name);
  return SL_OK;
}

void sl_splitter_free(struct sl_splitter *s) {
  for (size_t i = 0; i < s->count; i++) {
    pcre2_match_data_free(s->steps[i].match);
    pcre2_code_free(s->steps[i].code);
  }
  free(s->steps);
}

/* ---- cutting ---- */

struct walk {
  const struct sl_splitter *splitter;
  sl_split_fn each;
  void *context;
  pcre2_match_context *matching; /* with a stack that grows: a run of a million blanks is a single match */
};

static enum sl_status cut(const struct walk *w, size_t step, const char *text, size_t size, bool first);

/* The current word of a text that a pattern splits: the next piece may belong to it. */
struct pending {
  const char *text;
  size_t step, from, to; /* from == to: none */
  bool matched, first;
};

static enum sl_status give_word(const struct walk *w, struct pending *p) {
  const size_t from = p->from, to = p->to;
  p->from = p->to;
  return from < to ? cut(w, p->step + 1, p->text + from, to - from, p->first && from == 0) : SL_OK;
}

/* A piece between two matches, or a match. */
static enum sl_status take_piece(const struct walk *w, struct pending *p, size_t from, size_t to, bool matched) {
  const struct sl_split_step *s = &w->splitter->steps[p->step];
  const bool match = matched != s->invert, before = p->matched;
  if (from == to || (s->behavior == SL_SPLIT_REMOVED && match)) return SL_OK;
  const bool joins = p->from < p->to && ((s->behavior == SL_SPLIT_PREVIOUS && match && !before) ||
                                         (s->behavior == SL_SPLIT_NEXT && !match && before));
  if (!joins) {
    SL_TRY(give_word(w, p));
    p->from = from;
  }
  p->to = to;
  p->matched = match;
  return SL_OK;
}

static enum sl_status cut_pattern(const struct walk *w, size_t step, const char *text, size_t size, bool first) {
  const struct sl_split_step *s = &w->splitter->steps[step];
  struct pending p = {.text = text, .step = step, .first = first};
  size_t done = 0;
  while (done < size) {
    const int found =
        pcre2_match(s->code, (PCRE2_SPTR)text, size, done, PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, s->match, w->matching);
    if (found == PCRE2_ERROR_NOMATCH) break;
    if (found < 0)
      return sl_fail(SL_ERR_INPUT, "%s: pre_tokenizer.pattern: gives up on a text of %zu bytes (PCRE2 error %d)",
                     w->splitter->name, size, found);
    const PCRE2_SIZE *at = pcre2_get_ovector_pointer(s->match);
    const size_t begin = at[0], end = at[1];
    if (end <= done || begin < done || begin >= end) break; /* \K may move the beginning of a match */
    SL_TRY(take_piece(w, &p, done, begin, false));
    SL_TRY(take_piece(w, &p, begin, end, true));
    done = end;
  }
  SL_TRY(take_piece(w, &p, done, size, false));
  return give_word(w, &p);
}

static enum sl_status cut_bytes(const struct walk *w, size_t step, const char *text, size_t size, bool first) {
  char *blanked;
  if (!w->splitter->steps[step].blank || text[0] == ' ') return cut(w, step + 1, text, size, first);
  SL_TRY(sl_malloc(&blanked, size + 1, 1));
  blanked[0] = ' ';
  memcpy(blanked + 1, text, size);
  const enum sl_status status = cut(w, step + 1, blanked, size + 1, first);
  free(blanked);
  return status;
}

/* Words from one "▁" to the next, or the whole text at once. */
static enum sl_status cut_at_meta(const struct walk *w, size_t step, const char *text, size_t size, bool first) {
  if (!w->splitter->steps[step].cuts) return cut(w, step + 1, text, size, first);
  for (size_t from = 0; from < size;) {
    const size_t ahead = size - from > 1 ? from + 1 : size;
    const char *next = memmem(text + ahead, size - ahead, META, META_BYTES);
    const size_t to = next != NULL ? (size_t)(next - text) : size;
    SL_TRY(cut(w, step + 1, text + from, to - from, first && from == 0));
    from = to;
  }
  return SL_OK;
}

static enum sl_status cut_meta(const struct walk *w, size_t step, const char *text, size_t size, bool first) {
  const struct sl_split_step *s = &w->splitter->steps[step];
  const bool begins = text[0] == ' ' || (size >= META_BYTES && memcmp(text, META, META_BYTES) == 0);
  char *made;
  size_t n = 0;
  SL_TRY(sl_malloc(&made, META_BYTES * (size + 1), 1));
  if (s->prepends && !begins && (first || !s->first_only)) memcpy(made, META, META_BYTES), n = META_BYTES;
  for (size_t i = 0; i < size; i++) {
    if (text[i] == ' ')
      memcpy(made + n, META, META_BYTES), n += META_BYTES;
    else
      made[n++] = text[i];
  }
  const enum sl_status status = cut_at_meta(w, step, made, n, first);
  free(made);
  return status;
}

static enum sl_status cut(const struct walk *w, size_t step, const char *text, size_t size, bool first) {
  if (size == 0) return SL_OK;
  if (step == w->splitter->count) return w->each(w->context, text, size);
  switch (w->splitter->steps[step].kind) {
  case SL_SPLIT_PATTERN:
    return cut_pattern(w, step, text, size, first);
  case SL_SPLIT_BYTES:
    return cut_bytes(w, step, text, size, first);
  default:
    return cut_meta(w, step, text, size, first);
  }
}

enum sl_status sl_split(const struct sl_splitter *splitter, const char *text, size_t size, bool first, sl_split_fn each,
                        void *context) {
  pcre2_match_context *matching = pcre2_match_context_create(NULL);
  pcre2_jit_stack *stack = pcre2_jit_stack_create(STACK_FIRST, STACK_MOST, NULL);
  enum sl_status status = SL_ERR_MEMORY;
  if (matching != NULL && stack != NULL) {
    pcre2_jit_stack_assign(matching, NULL, stack);
    const struct walk walk = {splitter, each, context, matching};
    status = cut(&walk, 0, text, size, first);
  } else {
    (void)sl_fail(SL_ERR_MEMORY, "out of memory: a pattern's stack");
  }
  pcre2_jit_stack_free(stack);
  pcre2_match_context_free(matching);
  return status;
}
