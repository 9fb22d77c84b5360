/* See shell_source.h. */
#include "core/interop/shell_source.h"

#include "core/base/file.h"
#include "core/interop/shell_path.h"
#include "core/interop/unsaid.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- which file ---- */

/* The word that names the file; NULL: the command sources none. */
static const struct sl_shell_word *sourced(const struct sl_shell_list *command) {
  size_t i = 0;
  while (i < command->count && sl_shell_leads(command->words[i].text)) i++;
  if (i + 1 >= command->count) return NULL;
  const char *name = command->words[i].text;
  return strcmp(name, "source") == 0 || strcmp(name, ".") == 0 ? &command->words[i + 1] : NULL;
}

/* Files of virtual environments, of modules and of logins: they have no say in what is trained. */
static bool sets_up_a_shell(const char *word) {
  static const char *const names[] = {"activate",      "conda.sh", "mamba.sh", "modules.sh", "profile", ".profile",
                                      ".bash_profile", ".bashrc",  "bashrc",   "setvars.sh", NULL};
  const char *slash = strrchr(word, '/');
  return sl_interop_among(names, slash != NULL ? slash + 1 : word);
}

static bool is_file(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* "FOLDER/PATH" if there is such a file, where `of` is a file in that folder. */
static bool beside(const char *of, const char *path, struct sl_shell_path *out) {
  const int n = snprintf(out->text, sizeof out->text, "%s", of);
  if (n < 0 || (size_t)n >= sizeof out->text) return false;
  out->length = (size_t)n;
  sl_shell_folder(out);
  const size_t room = sizeof out->text - out->length;
  return (size_t)snprintf(out->text + out->length, room, "/%s", path) < room && is_file(out->text);
}

/* The first of the places of a path that has a file. */
static bool find(const struct sl_shell_reader *r, const struct sl_shell_path *path, struct sl_shell_path *out) {
  const bool whole = path->text[0] == '/' || path->is_scripts;
  if (!whole && (beside(r->name, path->text, out) || beside(r->script, path->text, out))) return true;
  *out = *path;
  return is_file(out->text);
}

/* ---- reading ---- */

static bool is_open(const struct sl_shell_reader *r, const char *path) {
  for (const struct sl_shell_source *s = r->source; s != NULL; s = s->outer)
    if (strcmp(s->path, path) == 0) return true;
  char *script = realpath(r->script, NULL);
  const bool is = script != NULL && strcmp(script, path) == 0;
  free(script);
  return is;
}

static enum sl_status leave_out(struct sl_shell_reader *r, const struct sl_shell_word *word, const char *why) {
  sl_words_addf(&r->out->unread, "%.256s:%d: source %.200s (%s)", r->name, word->line, word->text, why);
  return sl_words_check(&r->out->unread);
}

/* The reader goes on in the text, and comes back to where it is now. */
static enum sl_status enter(struct sl_shell_reader *r, struct sl_shell_source *source, const char *name) {
  struct sl_words *files = &r->out->files;
  if (files->count == SL_SHELL_FILES)
    return sl_fail(SL_ERR_INPUT, "%s:%d: sources more than %d files, those of files included", r->name,
                   sl_shell_line(r), SL_SHELL_FILES);
  sl_words_add(files, name);
  SL_TRY(sl_words_check(files));
  source->outer = r->source;
  source->outer_text = r->text;
  source->at = r->at;
  source->end = r->end;
  source->name = r->name;
  source->file = r->file;
  source->line = sl_shell_line(r);
  source->counted = r->counted;
  source->conditions = r->conditions;
  r->source = source;
  r->name = r->file = files->list[files->count - 1];
  r->text = r->at = r->counted = source->text;
  r->end = r->text + strlen(r->text);
  r->line = 1;
  r->command.count = 0;
  sl_shell_conditions_enter(&r->conditions);
  return SL_OK;
}

static enum sl_status open_path(struct sl_shell_reader *r, const struct sl_shell_word *word, const char *path,
                                struct sl_shell_source *out) {
  size_t size;
  out->depth = r->source != NULL ? r->source->depth + 1 : 1;
  out->path = realpath(path, NULL);
  if (out->path == NULL) return leave_out(r, word, "there is no such file here");
  if (is_open(r, out->path)) return leave_out(r, word, "it sources itself");
  if (out->depth > SL_SHELL_SOURCES) return leave_out(r, word, "too many files source each other");
  if (sl_file_load(path, &out->text, &size) == SL_OK) return enter(r, out, path);
  out->text = NULL;
  sl_error_clear();
  return leave_out(r, word, "it cannot be read");
}

enum sl_status sl_shell_source_open(struct sl_shell_reader *r, struct sl_shell_source *out) {
  const struct sl_shell_word *word = sourced(&r->command);
  struct sl_shell_path path, found;
  out->text = out->path = NULL;
  if (word == NULL || sets_up_a_shell(word->text)) return SL_OK;
  if (!sl_shell_path(r, word->text, &path)) return leave_out(r, word, "only a shell can tell its path");
  if (!find(r, &path, &found)) return leave_out(r, word, "there is no such file here");
  const enum sl_status status = open_path(r, word, found.text, out);
  if (status == SL_OK && out->text != NULL) return SL_OK;
  free(out->text);
  free(out->path);
  out->text = out->path = NULL;
  return status;
}

void sl_shell_source_close(struct sl_shell_reader *r, struct sl_shell_source *source) {
  r->source = source->outer;
  r->text = source->outer_text;
  r->at = source->at;
  r->end = source->end;
  r->name = source->name;
  r->file = source->file;
  r->line = source->line;
  r->counted = source->counted;
  r->conditions = source->conditions;
  free(source->text);
  free(source->path);
}
