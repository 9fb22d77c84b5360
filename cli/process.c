/* See process.h. */
#include "cli/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Reads a process's state, a letter, and its parent. False if there is no such process. */
static bool read_stat(long pid, char *state, long *parent) {
  char path[48], text[512];
  snprintf(path, sizeof path, "/proc/%ld/stat", pid);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t n = file >= 0 ? read(file, text, sizeof text - 1) : -1;
  if (file >= 0) close(file);
  if (n <= 0) return false;
  text[n] = '\0';
  const char *name_end = strrchr(text, ')'); /* the name may contain anything, even a parenthesis */
  return name_end != NULL && sscanf(name_end + 1, " %c %ld", state, parent) == 2;
}

bool sl_process_is_stopped(pid_t pid) {
  char state;
  long parent;
  return read_stat((long)pid, &state, &parent) && state == 'T'; /* a debugger's stop has another letter, 't' */
}

/* Whether one of a thread's children, listed by the file, has not ended. */
static bool lists_child(FILE *children) {
  long child, parent;
  char state;
  while (fscanf(children, "%ld", &child) == 1)
    if (read_stat(child, &state, &parent) && state != 'Z' && state != 'X') return true;
  return false;
}

bool sl_process_has_child(pid_t pid) {
  char path[320];
  bool found = false, said = false;
  snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
  DIR *threads = opendir(path); /* not a look through all of /proc: a job that is timed is asked again and again */
  for (struct dirent *entry; threads != NULL && !found && (entry = readdir(threads)) != NULL;) {
    snprintf(path, sizeof path, "/proc/%ld/task/%s/children", (long)pid, entry->d_name);
    FILE *children = fopen(path, "re");
    if (children == NULL) continue;
    said = true;
    found = lists_child(children);
    fclose(children);
  }
  if (threads != NULL) closedir(threads);
  return found || !said;
}
