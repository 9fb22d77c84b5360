/* Fuzz target: whole command lines. A line of flags, then a config, a model, a cluster and a schedule, each behind a
 * line "---", through everything that `shardlab predict` does, in this process: what is refused says why, and nothing
 * else comes out. Requests that are merely large are left out, and so are flags that name files. */
#include "cli/commands.h"
#include "cli/setup.h"

#include "core/base/new_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PARTS = 5, WORDS = 64, MOST_RANKS = 32, MOST_MICRO_BATCHES = 32, MOST_TENSORS = 400, MOST_STAGES = 32 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static const char *const files[PARTS] = {NULL, "config.json", "model.json", "cluster.json", "schedule.csv"};
static char folder[] = "/tmp/fuzz-command-XXXXXX";

static void clean(void) {
  char path[64];
  for (int i = 1; i < PARTS; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, files[i]);
    unlink(path);
  }
  rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  if (mkdtemp(folder) == NULL || atexit(clean) != 0) abort();
  return 0;
}

static void swallow(void *context, const char *message) {
  (void)context;
  (void)message;
}

/* Each part of the input as a file, in memory of its own up to its separator. */
static void write_parts(char *text, char *parts[PARTS]) {
  for (int i = 0; i < PARTS; i++) {
    char *end = text != NULL ? strstr(text, "\n---\n") : NULL;
    parts[i] = text;
    if (end != NULL) *end = '\0';
    text = end != NULL ? end + 5 : NULL;
    if (i == 0 || parts[i] == NULL) continue;
    char path[64];
    snprintf(path, sizeof path, "%s/%s", folder, files[i]);
    FILE *out = fopen(path, "w");
    if (out == NULL || fputs(parts[i], out) < 0 || fclose(out) != 0) abort();
  }
}

/* The words of the first part behind the names of the files that are there; 0: too many, or one that names another
 * file. */
static int words_of(char *parts[PARTS], char **words, char names[PARTS][96]) {
  static char *const flags[PARTS] = {NULL, "--config", "--model", "--cluster", "--schedule"};
  int n = 0;
  for (int i = 1; i < PARTS; i++) {
    if (parts[i] == NULL || parts[i][0] == '\0') continue;
    snprintf(names[i], sizeof names[i], "%s/%s", folder, files[i]);
    words[n++] = flags[i];
    words[n++] = names[i];
  }
  for (char *rest = NULL, *word = strtok_r(parts[0], " \n", &rest); word != NULL; word = strtok_r(NULL, " \n", &rest)) {
    if (n + 1 == WORDS || strchr(word, '/') != NULL) return 0;
    words[n++] = word;
  }
  static char quiet[] = "--quiet";
  words[n++] = quiet;
  return n;
}

/* Small enough to be predicted in no time. */
static bool is_small(const struct sl_options *o) {
  struct sl_setup setup;
  if (o->world > MOST_RANKS || o->steps > 2 || o->runs > 2 || o->table != NULL || o->json != NULL || o->trace != NULL ||
      o->out != NULL || o->jobs > 0)
    return false;
  if (sl_setup_plan(&setup, o) != SL_OK) return true; /* and it is refused */
  const bool small = setup.plan.n_micro <= MOST_MICRO_BATCHES && setup.model.tensor_count <= MOST_TENSORS &&
                     setup.plan.stage_count <= MOST_STAGES;
  sl_setup_free(&setup);
  return small;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char names[PARTS][96], *parts[PARTS], *words[WORDS], *text = strndup((const char *)data, size);
  struct sl_options options;
  bool help;
  if (text == NULL) abort();
  sl_warn_set_sink(swallow, NULL);
  sl_error_clear();
  write_parts(text, parts);
  const int n = words_of(parts, words, names);
  if (n > 0 && sl_options_parse(&options, &sl_command_predict, n, words, &help) == SL_OK && !help &&
      is_small(&options)) {
    sl_error_clear();
    options.argc = n;
    options.argv = words;
    if (sl_command_predict.run(&options) != SL_OK && sl_error_message()[0] == '\0') abort();
  }
  free(text);
  return 0;
}
