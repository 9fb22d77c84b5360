/* Imports settings of other frameworks; see import.h. */
#include "cli/import.h"

#include "core/base/file.h"
#include "core/base/json_write.h"
#include "core/interop/accelerate.h"
#include "core/interop/megatron.h"
#include "core/interop/reword.h"
#include "core/interop/shell.h"
#include "core/interop/torchtitan.h"
#include "core/model/model.h"

#include <stdlib.h>
#include <string.h>

/* What is known before the file is read, and what the file says. */
struct imported {
  int64_t world, per_node, layers; /* 0: not known */
  bool is_text;                    /* arguments, no file */
  const char *start;               /* of a script: the command that starts it; NULL: by its name alone */
  bool strict;
  enum sl_megatron_seed seed;
  json_t *config, *model, *names; /* names: NULL, or of which words the keys of both were made, for reword.h */
};

static enum sl_status read_megatron(const char *name, const char *text, size_t size, struct imported *out) {
  (void)size; /* the text ends with a zero byte */
  const struct sl_megatron_source source = {.name = name,
                                            .text = text,
                                            .is_script = !out->is_text,
                                            .wants_model = out->layers == 0,
                                            .strict = out->strict,
                                            .seed = out->seed,
                                            .start = out->start};
  struct sl_megatron_made made;
  SL_TRY(sl_megatron_read(&source, &made));
  out->config = made.config;
  out->model = made.model;
  out->names = made.names;
  return SL_OK;
}

static enum sl_status read_torchtitan(const char *name, const char *text, size_t size, struct imported *out) {
  return sl_torchtitan_read(name, text, size, out->strict, out->layers, &out->world, &out->config, &out->model,
                            out->names = json_object());
}

static enum sl_status read_accelerate(const char *name, const char *text, size_t size, struct imported *out) {
  return sl_accelerate_read(name, text, size, out->strict, &out->world, &out->per_node, &out->config,
                            out->names = json_object());
}

/* Refuses a model that is wrong here, where it is known what it was made of. */
static enum sl_status check_model(const char *name, const char *text) {
  struct sl_json doc;
  struct sl_model model;
  SL_TRY(sl_json_parse_made(&doc, name, text));
  const enum sl_status status = sl_model_from_json(&model, &doc);
  if (status == SL_OK) sl_model_free(&model);
  sl_json_free(&doc);
  return status;
}

/* An import flag and its argument: a file, or, for Megatron-LM, the arguments themselves, which begin with dashes or
 * contain blanks, or the command that starts a script: "MBS=4 run.sh 7B". */
struct source {
  const char *flag, *spec;
  bool may_be_text;
  enum sl_status (*read)(const char *name, const char *text, size_t size, struct imported *out);
  const char *no_model; /* the error if neither it nor --model gives a model */
  const char *script;   /* of such a command; NULL: it is none */
};

static bool is_script(const char *word) {
  static const char *const ends[] = {".sh", ".bash", ".slurm", ".sbatch", ".job", NULL};
  const size_t length = strlen(word);
  for (const char *const *end = ends; *end != NULL; end++)
    if (length > strlen(*end) && strcmp(word + length - strlen(*end), *end) == 0) return true;
  return false;
}

/* The script that a command starts, which is its first word but for assignments and a shell or sbatch: a copy in *out,
 * NULL: it starts none. */
static enum sl_status find_script(const struct source *s, char **out) {
  static const char *const starters[] = {"bash", "sh", "sbatch", "srun", "env", NULL};
  struct sl_shell command;
  size_t at = 0;
  *out = NULL;
  if (!s->may_be_text || strpbrk(s->spec, " \t\n") == NULL || strncmp(s->spec, "--", 2) == 0) return SL_OK;
  SL_TRY(sl_shell_read(&command, s->flag, s->spec, false));
  for (const char *const *row = starters; *row != NULL && command.words.count > 1; row++)
    if (strcmp(command.words.list[0], *row) == 0) at = 1;
  while (at > 0 && at + 1 < command.words.count && !is_script(command.words.list[at])) at++; /* options of theirs */
  enum sl_status status = SL_OK;
  if (at < command.words.count && is_script(command.words.list[at])) {
    *out = strdup(command.words.list[at]);
    if (*out == NULL) status = sl_fail(SL_ERR_MEMORY, "out of memory: %s", s->flag);
  }
  sl_shell_free(&command);
  return status;
}

static bool is_text(const struct source *s) {
  return s->may_be_text && s->script == NULL && (strpbrk(s->spec, " \t\n") != NULL || strncmp(s->spec, "--", 2) == 0);
}

static enum sl_status find_source(const struct sl_options *o, struct source *out) {
  const struct source sources[] = {
      {"--from-megatron", o->from_megatron, true, read_megatron,
       "the arguments have neither --num-layers nor --vocab-size", NULL},
      {"--from-torchtitan", o->from_torchtitan, false, read_torchtitan, "the file has no model.flavor", NULL},
      {"--from-accelerate", o->from_accelerate, false, read_accelerate, "the model is the script's", NULL},
  };
  *out = (struct source){0};
  for (int i = 0; i < 3; i++) {
    if (sources[i].spec == NULL) continue;
    if (o->config != NULL || out->spec != NULL)
      return sl_fail(SL_ERR_INPUT, "%s: stands beside %s; expected one of the two",
                     o->config != NULL ? "--config" : out->flag, sources[i].flag);
    *out = sources[i];
  }
  return SL_OK;
}

static enum sl_status read_source(const struct source *source, const struct sl_options *options, struct imported *out) {
  char *text = NULL;
  size_t size;
  struct sl_model model;
  if (options->model != NULL) { /* its layers are distributed over stages */
    SL_TRY(sl_model_load(&model, options->model));
    out->layers = model.n_layer;
    sl_model_free(&model);
  }
  out->is_text = is_text(source);
  out->strict = options->strict;
  if (out->is_text) return source->read(source->flag, source->spec, strlen(source->spec), out);
  const char *path = source->script != NULL ? source->script : source->spec;
  out->start = source->script != NULL ? source->spec : NULL;
  SL_TRY(sl_file_load(path, &text, &size));
  const enum sl_status status = source->read(path, text, size, out);
  free(text);
  return status;
}

static enum sl_status take(struct sl_import *texts, struct sl_options *options, const struct source *source,
                           const struct imported *got) {
  texts->config = sl_json_text(got->config, JSON_INDENT(1));
  if (got->model != NULL) texts->model = sl_json_text(got->model, JSON_INDENT(1));
  if (texts->config == NULL || (got->model != NULL && texts->model == NULL))
    return sl_fail(SL_ERR_MEMORY, "out of memory: imported settings");
  if (options->model == NULL && texts->model == NULL)
    return sl_fail(SL_ERR_INPUT, "--model: is missing, and %s; expected a preset or a config.json", source->no_model);
  options->config = texts->config;
  texts->file = options->imported = is_text(source)         ? source->flag
                                    : texts->script != NULL ? texts->script
                                                            : source->spec;
  texts->names = json_incref(got->names);
  if (options->model == NULL) {
    SL_TRY(check_model(options->imported, texts->model));
    options->model = texts->model;
  }
  if (got->world > 0) options->world = got->world;
  if (options->ranks_per_node == 0) options->ranks_per_node = got->per_node;
  return SL_OK;
}

/* Trainings are seeded, and of predictions what --jitter assumes. */
static enum sl_megatron_seed use_of_seed(const struct sl_options *options, enum sl_command_bit command) {
  if (sl_options_given(options, "seed")) return SL_MEGATRON_SEED_OVERRULED;
  const bool draws = (command & (SL_CMD_MEASURE | SL_CMD_VALIDATE)) != 0 || options->jitter > 0;
  return draws ? SL_MEGATRON_SEED_NEEDED : SL_MEGATRON_SEED_IDLE;
}

enum sl_status sl_import_apply(struct sl_import *texts, struct sl_options *options, enum sl_command_bit command) {
  struct source source;
  struct imported got = {0};
  *texts = (struct sl_import){0};
  SL_TRY(find_source(options, &source));
  if (source.spec == NULL) return SL_OK;
  SL_TRY(find_script(&source, &texts->script));
  source.script = texts->script;
  got.seed = use_of_seed(options, command);
  if (sl_options_given(options, "world") || options->ranks_per_node > 0) got.world = options->world;
  enum sl_status status = read_source(&source, options, &got);
  if (status == SL_OK) status = take(texts, options, &source, &got);
  json_decref(got.config);
  json_decref(got.model);
  json_decref(got.names);
  sl_import_explain(texts, status);
  if (status != SL_OK) sl_import_free(texts);
  return status;
}

static void say_in_its_words(void *context, const char *message) {
  const struct sl_import *texts = context;
  char text[2048];
  const bool reworded = sl_interop_reword_text(message, texts->file, texts->names, text, sizeof text);
  texts->say(texts->say_context, reworded ? text : message);
}

void sl_import_begin_words(struct sl_import *texts) {
  if (texts->names == NULL) return;
  texts->say = sl_warn_get_sink(&texts->say_context);
  if (texts->say != NULL) sl_warn_set_sink(say_in_its_words, texts);
}

enum sl_status sl_import_explain(const struct sl_import *texts, enum sl_status status) {
  return sl_interop_reword(status, texts->file, texts->names);
}

void sl_import_free(struct sl_import *texts) {
  if (texts->say != NULL) sl_warn_set_sink(texts->say, texts->say_context);
  free(texts->config);
  free(texts->model);
  free(texts->script);
  json_decref(texts->names);
  *texts = (struct sl_import){0};
}
