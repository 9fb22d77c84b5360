/* See ended.h. A line for the watching process begins with a byte that no text contains. */
#include "cli/ended.h"

#include "cli/children.h"
#include "core/base/machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char mark = '\005', begun_word[] = "begun", taken_word[] = "taken ";
static const char limit_word[] = "(SHARDLAB_TIMEOUT_S sets the limit)";

void sl_ended_clear(struct sl_ended *ended) {
  *ended = (struct sl_ended){.watched = ended->watched, .again = ended->again, .rank = -1, .taken = -1};
}

/* ---- a rank ---- */

/* A single write, so that no other line can interrupt this one. */
static void say(const char *text, int length) {
  /* on failure the watching process is gone, and this rank ends with it */
  if (write(STDERR_FILENO, text, (size_t)length) < 0) return;
}

void sl_ended_say_begun(void) {
  char text[32];
  say(text, snprintf(text, sizeof text, "%c%s\n", mark, begun_word));
}

void sl_ended_say_taken(int64_t taken) {
  char text[48];
  say(text, snprintf(text, sizeof text, "%c%s%lld\n", mark, taken_word, (long long)taken));
}

/* ---- the watching process ---- */

static void set(struct sl_ended *ended, enum sl_cause cause, int rank, const char *host, const char *why) {
  ended->cause = cause;
  ended->rank = rank;
  snprintf(ended->host, sizeof ended->host, "%s", host != NULL ? host : "");
  snprintf(ended->why, sizeof ended->why, "%.*s", (int)strcspn(why, "\r\n"), why);
}

void sl_ended_tell(struct sl_ended *ended, enum sl_cause cause, int rank, const char *host, const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (!ended->watched)
    fprintf(stderr, "shardlab: %s%s; the job was ended\n", cause == SL_CAUSE_HOST ? "error: " : "", text);
  /* if a stopped rank was killed, the process that killed it has already reported why */
  const bool known = ended->cause == SL_CAUSE_TIMEOUT && ended->rank == rank && strstr(ended->why, limit_word) != NULL;
  if (ended->cause == SL_CAUSE_NONE || (ended->cause == SL_CAUSE_TIMEOUT && !known))
    set(ended, cause, rank, host, text);
}

/* The number that follows `before`, -1 if there is none. */
static int number_behind(const char *line, const char *before) {
  const char *at = strstr(line, before);
  if (at == NULL || at[strlen(before)] < '0' || at[strlen(before)] > '9') return -1;
  return atoi(at + strlen(before));
}

/* The rank that a waiting rank misses. */
static int missed_rank(const char *line) {
  const int waited = number_behind(line, "waits for rank ");
  if (waited >= 0) return waited;
  for (const char *at = line; (at = strstr(at, "rank ")) != NULL; at++) {
    char *end;
    const long rank = strtol(at + 5, &end, 10);
    if (end > at + 5 && (strncmp(end, " is gone: its", 13) == 0 || strncmp(end, " did not answer", 15) == 0 ||
                         strncmp(end, ": was stopped", 13) == 0))
      return (int)rank;
  }
  return -1;
}

/* Whether a rank reports here that another one failed. */
static bool is_of_other(const char *line) {
  static const char *const words[] = {
      limit_word,    "is gone: its connection", " did not answer ", " did not come within ", "; it waits in ", ": MPI_",
      " is given up"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strstr(line, words[i]) != NULL) return true;
  return false;
}

static void hear_mark(struct sl_ended *ended, const char *text) {
  if (strncmp(text, begun_word, sizeof begun_word - 1) == 0) ended->begun_s = sl_machine_date();
  if (strncmp(text, taken_word, sizeof taken_word - 1) == 0) ended->taken = atoll(text + sizeof taken_word - 1);
}

bool sl_ended_hear(struct sl_ended *ended, const char *line) {
  static const char own[] = "shardlab: ", error[] = "error: ", died[] = " died (signal ",
                    over[] = "; the job was ended";
  const char *at = strchr(line, mark);
  if (at != NULL) { /* text before the mark is progress that overwrites itself, without a line end */
    fprintf(stderr, "%.*s", (int)(at - line), line);
    hear_mark(ended, at + 1);
    return true;
  }
  if (strncmp(line, own, sizeof own - 1) != 0) return false;
  line += sizeof own - 1;
  const bool says_error = strncmp(line, error, sizeof error - 1) == 0;
  if (says_error) line += sizeof error - 1;
  const int speaker = strncmp(line, "rank ", 5) == 0 ? number_behind(line, "rank ") : -1;
  if (!says_error && speaker < 0) return false;
  if (speaker >= 0 && strstr(line, died) != NULL) {
    const char *end = strstr(line, over);
    char text[256];
    snprintf(text, sizeof text, "%.*s", end != NULL ? (int)(end - line) : (int)strlen(line), line);
    sl_ended_tell(ended, SL_CAUSE_DEATH, speaker, NULL, "%s", text);
    return true;
  }
  if (is_of_other(line)) {
    if (ended->cause == SL_CAUSE_NONE) set(ended, SL_CAUSE_TIMEOUT, missed_rank(line), NULL, line);
    return true;
  }
  if (ended->cause == SL_CAUSE_NONE || ended->cause == SL_CAUSE_TIMEOUT) set(ended, SL_CAUSE_ERROR, -1, NULL, line);
  return false;
}

bool sl_ended_by_fault(const struct sl_ended *ended) {
  return ended->code != 0 && ended->cause >= SL_CAUSE_DEATH && sl_children_signal() == 0;
}
