/* label: unit
 * Thousands of configurations as DeepSpeed's own code judges them (tests/peers/deepspeed_config.tsv, made by
 * deepspeed_config.py): shardlab accepts and refuses the same and gives keys the same meaning, but for what
 * tests/peers/deepspeed_differences.tsv lists with its reason. A line of that list that nothing needs fails too. */
#include "core/config/config.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MAX_DIFFERENCES = 200, COLUMNS = 5 };

/* What shardlab does where DeepSpeed does otherwise. */
static struct {
  char *line;                        /* owned */
  char *path, *text, *ours, *reason; /* patterns of fnmatch; "accepts", "refuses" or "means" */
  int used;
} differences[MAX_DIFFERENCES];
static int difference_count;

static void swallow(void *context, const char *message) {
  (void)context;
  (void)message;
}

static FILE *open_table(const char *name) {
  char path[512];
  snprintf(path, sizeof path, "%s/tests/peers/%s", SL_SOURCE_DIR, name);
  FILE *file = fopen(path, "r");
  if (file == NULL) fail_msg("%s cannot be read", path);
  return file;
}

/* Cut the line at its tabs; returns the number of columns. */
static int split(char *line, char **column, int most) {
  int n = 0;
  line[strcspn(line, "\n")] = '\0';
  for (char *at = line; at != NULL && n < most; n++) column[n] = strsep(&at, "\t");
  return n;
}

static void read_differences(void) {
  FILE *file = open_table("deepspeed_differences.tsv");
  size_t capacity = 0;
  char *line = NULL, *column[4];
  while (getline(&line, &capacity, file) > 0) {
    if (line[0] == '#') continue;
    assert_true(difference_count < MAX_DIFFERENCES);
    char *own = strdup(line);
    assert_non_null(own);
    if (split(own, column, 4) != 4)
      fail_msg("deepspeed_differences.tsv: %s: expected path, text, ours and a reason", own);
    differences[difference_count].line = own;
    differences[difference_count].path = column[0];
    differences[difference_count].text = column[1];
    differences[difference_count].ours = column[2];
    differences[difference_count++].reason = column[3];
  }
  free(line);
  fclose(file);
}

/* Does a line of the list allow it? */
static bool meant(const char *path, const char *text, const char *ours) {
  for (int i = 0; i < difference_count; i++) {
    if (strcmp(differences[i].ours, ours) != 0 || fnmatch(differences[i].path, path, 0) != 0 ||
        fnmatch(differences[i].text, text, 0) != 0)
      continue;
    differences[i].used++;
    return true;
  }
  return false;
}

/* \n, \t and \\ of the table's text. */
static void unescape(const char *text, char *out) {
  for (; *text != '\0'; text++) {
    if (*text == '\\')
      text++;
    else {
      *out++ = *text;
      continue;
    }
    *out++ = *text == 'n' ? '\n' : *text == 't' ? '\t' : *text;
  }
  *out = '\0';
}

static const json_t *value_at(const json_t *root, const char *path) {
  for (; root != NULL && *path != '\0'; path += strcspn(path, "."), path += *path == '.')
    root = json_object_getn(root, path, strcspn(path, "."));
  return root;
}

static bool same(const json_t *ours, const json_t *theirs) {
  if (json_is_boolean(ours) && json_is_number(theirs)) return json_is_true(ours) == (json_number_value(theirs) != 0);
  if (json_is_number(ours) && json_is_boolean(theirs)) return json_number_value(ours) == json_is_true(theirs);
  if (json_is_number(ours) && json_is_number(theirs)) return json_number_value(ours) == json_number_value(theirs);
  if (json_is_string(ours) && json_is_string(theirs))
    return strcasecmp(json_string_value(ours), json_string_value(theirs)) == 0;
  return json_equal(ours, theirs) != 0;
}

/* NULL, or the first key that means something else here, into `out`. */
static const char *other_meaning(const struct sl_config *config, const char *meaning, char *out, size_t size) {
  json_t *theirs = json_loads(meaning, 0, NULL), *ours = sl_config_to_json(config), *value;
  const char *key, *found = NULL;
  assert_non_null(theirs);
  json_object_foreach(theirs, key, value) {
    const json_t *own = value_at(ours, key);
    if (own == NULL || same(own, value)) continue; /* not modelled, or the same */
    char *text = json_dumps(own, JSON_ENCODE_ANY);
    snprintf(out, size, "%s is %s", key, text);
    free(text);
    found = out;
    break;
  }
  json_decref(theirs);
  json_decref(ours);
  return found;
}

/* The row holds, or the list says why not. */
static bool row_holds(char **column) {
  struct sl_config config;
  char said[2048];
  char *text = malloc(strlen(column[1]) + 1);
  assert_non_null(text);
  unescape(column[1], text);
  sl_error_clear();
  enum sl_status status = sl_config_parse(&config, "ds.json", text, strlen(text), false);
  const bool parsed = status == SL_OK;
  if (parsed) status = sl_config_resolve_batch(&config, atoi(column[2]));
  snprintf(said, sizeof said, "%s", sl_error_message());
  const char *ours = status == SL_OK ? "accepts" : "refuses", *other = NULL;
  if (status == SL_OK && strcmp(column[3], ours) == 0) other = other_meaning(&config, column[4], said, sizeof said);
  if (parsed) sl_config_free(&config);
  free(text);
  if (other != NULL) ours = "means";
  if (strcmp(column[3], ours) == 0 || meant(column[0], column[1], ours)) return true;
  print_error("%s\t%s\t%s ranks\tDeepSpeed %s %s\tshardlab %s\t%s\n", column[0], column[1], column[2], column[3],
              column[4], ours, said);
  return false;
}

static void as_deepspeed_says(void **state) {
  (void)state;
  size_t capacity = 0;
  char *line = NULL, *column[COLUMNS];
  int rows = 0, failed = 0;
  read_differences();
  sl_warn_set_sink(swallow, NULL);
  FILE *file = open_table("deepspeed_config.tsv");
  while (getline(&line, &capacity, file) > 0) {
    if (line[0] == '#') continue;
    assert_int_equal(split(line, column, COLUMNS), COLUMNS);
    failed += !row_holds(column);
    rows++;
  }
  free(line);
  fclose(file);
  sl_warn_set_sink(NULL, NULL);
  assert_true(rows > 1000);
  for (int i = 0; i < difference_count; i++) {
    if (differences[i].used == 0)
      print_error("no row needs: %s %s %s\n", differences[i].path, differences[i].text, differences[i].ours);
    failed += differences[i].used == 0;
    free(differences[i].line);
  }
  print_message("%d rows, %d kinds of difference on purpose\n", rows, difference_count);
  assert_int_equal(failed, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(as_deepspeed_says)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
