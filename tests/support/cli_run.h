/* Runs the shardlab command from outside, for tests, in a folder of its own, with access to its output and the files
 * that it leaves. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "test_cli_XXXXXX"; /* scratch folder, new for every run */
static char scratch[512];
static char out[1 << 20], err[1 << 16];

static inline void slurp(const char *name, char *text, size_t size) {
  char path[600];
  snprintf(path, sizeof path, "%s/%s", scratch, name);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  text[fread(text, 1, size - 1, file)] = '\0';
  fclose(file);
  unlink(path);
}

/* Writes `text` to scratch/name. */
static inline void write_file(const char *name, const char *text) {
  char path[600];
  snprintf(path, sizeof path, "%s/%s", scratch, name);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  assert_int_equal(fclose(file), 0);
}

/* Runs `shardlab arguments` in `where`; returns its exit status and fills out and err. */
static inline int shardlab(const char *where, const char *format, ...) {
  char arguments[2048], command[4096];
  va_list args;
  va_start(args, format);
  vsnprintf(arguments, sizeof arguments, format, args);
  va_end(args);
  snprintf(command, sizeof command, "cd '%s' && '%s/bin/shardlab' %s >'%s/out' 2>'%s/err' </dev/null", where,
           SL_BINARY_DIR, arguments, scratch, scratch);
  const int state = system(command);
  slurp("out", out, sizeof out);
  slurp("err", err, sizeof err);
  assert_true(WIFEXITED(state));
  return WEXITSTATUS(state);
}

/* The same in scratch, with a shell script in place of `program`. */
static inline int shardlab_with(const char *program, const char *script, const char *arguments) {
  char path[700], *old = strdup(getenv("PATH"));
  write_file(program, script);
  snprintf(path, sizeof path, "%s/%s", scratch, program);
  assert_int_equal(chmod(path, 0700), 0);
  snprintf(path, sizeof path, "%s:%s", scratch, old);
  setenv("PATH", path, 1);
  const int status = shardlab(scratch, "%s", arguments);
  setenv("PATH", old, 1);
  free(old);
  return status;
}

static inline int lines_with(const char *text, const char *word) {
  int n = 0;
  for (const char *at = text; (at = strstr(at, word)) != NULL; at += strlen(word)) n++;
  return n;
}

/* Fails unless standard error has a single line. */
static inline const char *only_line(void) {
  if (lines_with(err, "\n") != 1) fail_msg("%d lines: %s", lines_with(err, "\n"), err);
  return err;
}

static inline int files_in(const char *path) {
  DIR *dir = opendir(path);
  int n = 0;
  assert_non_null(dir);
  while (readdir(dir) != NULL) n++;
  closedir(dir);
  return n - 2; /* . and .. */
}

/* Whether the host backend can run several ranks here. */
static inline bool has_host(void) {
  return access(SL_BINARY_DIR "/lib/libshardlab_host.so", R_OK) == 0 && system("command -v mpirun >/dev/null") == 0;
}

static inline int make_scratch(void **state) {
  (void)state;
  char *here = getcwd(scratch, sizeof scratch / 2);
  if (here == NULL || mkdtemp(folder) == NULL) return -1;
  strcat(strcat(scratch, "/"), folder);
  return 0;
}

static inline int remove_scratch(void **state) {
  (void)state;
  char command[600];
  snprintf(command, sizeof command, "rm -r '%s'", scratch);
  return system(command);
}
