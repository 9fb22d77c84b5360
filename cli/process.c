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

/* Its parent may not have asked yet how. */
static bool has_ended(pid_t pid) {
  char state;
  long parent;
  return !read_stat((long)pid, &state, &parent) || state == 'Z' || state == 'X';
}

int sl_process_children(pid_t pid, pid_t *children, int room) {
  char path[320];
  int count = -1;
  snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
  DIR *threads = opendir(path); /* not a look through all of /proc: a job that is timed is asked again and again */
  for (struct dirent *entry; threads != NULL && (entry = readdir(threads)) != NULL;) {
    snprintf(path, sizeof path, "/proc/%ld/task/%s/children", (long)pid, entry->d_name);
    FILE *list = fopen(path, "re");
    if (list == NULL) continue;
    if (count < 0) count = 0;
    for (long child; count < room && fscanf(list, "%ld", &child) == 1;) children[count++] = (pid_t)child;
    fclose(list);
  }
  if (threads != NULL) closedir(threads);
  return count;
}

bool sl_process_has_child(pid_t pid) {
  enum { ENOUGH = 256 };
  pid_t children[ENOUGH];
  const int count = sl_process_children(pid, children, ENOUGH);
  bool found = count < 0;
  for (int i = 0; i < count && !found; i++) found = !has_ended(children[i]);
  return found;
}
