/* See shell_test.h. */
#include "core/interop/shell_test.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum sl_truth sl_truth_not(enum sl_truth a) {
  return (enum sl_truth)(SL_YES - a);
}

enum sl_truth sl_truth_and(enum sl_truth a, enum sl_truth b) {
  return a < b ? a : b;
}

enum sl_truth sl_truth_or(enum sl_truth a, enum sl_truth b) {
  return a > b ? a : b;
}

static enum sl_truth truth(bool is) {
  return is ? SL_YES : SL_NO;
}

/* Does a word say what it is: has it no variable or command left in it, and no condition decides of it? */
static bool is_known(const struct sl_shell_word *word) {
  return word->doubt == NULL && strpbrk(word->text, "$`") == NULL;
}

enum sl_truth sl_shell_matches(const struct sl_shell_word *word, const struct sl_shell_word *pattern) {
  if (strcmp(pattern->text, "*") == 0) return SL_YES;
  if (!is_known(word) || !is_known(pattern)) return SL_MAYBE;
  return truth(fnmatch(pattern->text, word->text, 0) == 0);
}

/* Words of a test: `count` of them, and whether patterns count, as they do between [[ and ]]. */
struct test {
  const struct sl_shell_word *words;
  size_t count;
  bool patterns;
};

static bool is(const struct test *t, size_t i, const char *text) {
  return i < t->count && strcmp(t->words[i].text, text) == 0;
}

static bool is_binary(const struct test *t, size_t i) {
  static const char *const all[] = {"=", "==", "!=", "=~", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++)
    if (is(t, i, all[k])) return true;
  return false;
}

static bool number(const char *text, int64_t *out) {
  char *end;
  errno = 0;
  *out = strtoll(text, &end, 10);
  return end != text && *end == '\0' && errno == 0;
}

static enum sl_truth compare(const struct test *t, const struct sl_shell_word *a, const char *name,
                             const struct sl_shell_word *b) {
  int64_t x, y;
  if (!is_known(a) || !is_known(b) || strcmp(name, "=~") == 0) return SL_MAYBE;
  if (name[0] != '-') {
    const enum sl_truth same = t->patterns ? sl_shell_matches(a, b) : truth(strcmp(a->text, b->text) == 0);
    return name[0] == '!' ? sl_truth_not(same) : same;
  }
  if (!number(a->text, &x) || !number(b->text, &y)) return SL_MAYBE;
  switch (name[1] << 8 | name[2]) {
  case 'e' << 8 | 'q':
    return truth(x == y);
  case 'n' << 8 | 'e':
    return truth(x != y);
  case 'l' << 8 | 't':
    return truth(x < y);
  case 'l' << 8 | 'e':
    return truth(x <= y);
  case 'g' << 8 | 't':
    return truth(x > y);
  default:
    return truth(x >= y);
  }
}

/* Without && and ||: "A = B", "-n A", "A", of which A and B may be empty, and so missing. */
static enum sl_truth primary(const struct test *t) {
  static const struct sl_shell_word empty = {.text = ""};
  if (is(t, 0, "!"))
    return sl_truth_not(primary(&(struct test){.words = t->words + 1, .count = t->count - 1, .patterns = t->patterns}));
  const size_t at = is_binary(t, 0) ? 0 : 1;
  if (is_binary(t, at) && t->count <= at + 2)
    return compare(t, at > 0 ? &t->words[0] : &empty, t->words[at].text,
                   at + 1 < t->count ? &t->words[at + 1] : &empty);
  const bool says_empty = is(t, 0, "-z"), says_text = is(t, 0, "-n");
  if (t->count == 0 || (t->count > 1 && !says_empty && !says_text)) return SL_MAYBE;
  for (size_t i = 0; i < t->count; i++)
    if (!is_known(&t->words[i])) return SL_MAYBE;
  if (t->count > 1) return truth(says_text);
  return truth(!says_text); /* "-n" and "-z" of nothing, or a text */
}

/* The words up to the next of two connectives, or all. */
static size_t up_to(const struct test *t, size_t from, const char *a, const char *b) {
  while (from < t->count && !is(t, from, a) && !is(t, from, b)) from++;
  return from;
}

static enum sl_truth conjunction(const struct test *t) {
  enum sl_truth all = SL_YES;
  for (size_t from = 0, end; from <= t->count; from = end + 1) {
    end = up_to(t, from, "&&", "-a");
    all = sl_truth_and(all,
                       primary(&(struct test){.words = t->words + from, .count = end - from, .patterns = t->patterns}));
  }
  return all;
}

static enum sl_truth disjunction(const struct test *t) {
  enum sl_truth any = SL_NO;
  for (size_t from = 0, end; from <= t->count; from = end + 1) {
    end = up_to(t, from, "||", "-o");
    any = sl_truth_or(
        any, conjunction(&(struct test){.words = t->words + from, .count = end - from, .patterns = t->patterns}));
  }
  return any;
}

enum sl_truth sl_shell_test(const struct sl_shell_list *command, size_t from) {
  struct test t = {.words = command->words + from, .count = command->count - from};
  const bool single = is(&t, 0, "["), twice = is(&t, 0, "[[");
  if (is(&t, 0, "!")) return sl_truth_not(sl_shell_test(command, from + 1));
  if (is(&t, 0, "true") || is(&t, 0, ":")) return SL_YES;
  if (is(&t, 0, "false")) return SL_NO;
  if ((single || twice) && !is(&t, t.count - 1, twice ? "]]" : "]")) return SL_MAYBE;
  if (!single && !twice && !is(&t, 0, "test")) return SL_MAYBE;
  t.patterns = twice;
  t.words++;
  t.count -= single || twice ? 2 : 1;
  return disjunction(&t);
}
