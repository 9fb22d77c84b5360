/* Schedules as text: one action, PyTorch's CSV, and the grid that shows the place of an error; see
 * schedule/action.h. */
#include "core/schedule/action.h"

#include "core/base/file.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char *const action_text[] = {
#define X(name, text) text,
    SL_ACTION_MAP(X)
#undef X
};

void sl_action_print(char *out, size_t size, const struct sl_action *a) {
  if (a->kind == SL_ACTION_IDLE) {
    snprintf(out, size, "%s", "");
  } else if (a->micro_batch < 0) {
    snprintf(out, size, "%d%s", a->stage, action_text[a->kind]);
  } else {
    snprintf(out, size, "%d%s%d", a->stage, action_text[a->kind], a->micro_batch);
  }
}

/* The longest action name that `text` starts with, so that "SEND_F3" is not read as "S...". */
static int match_kind(const char *text, size_t *length) {
  int best = -1;
  *length = 0;
  for (int k = 0; k < SL_ACTION_COUNT; k++) {
    const size_t n = strlen(action_text[k]);
    if (n > *length && strncmp(text, action_text[k], n) == 0) best = k, *length = n;
  }
  return best;
}

enum sl_status sl_action_parse(struct sl_action *a, const char *text) {
  char *rest;
  size_t length;
  const long stage = isdigit((unsigned char)text[0]) ? strtol(text, &rest, 10) : -1;
  const int kind = stage < 0 || stage > INT16_MAX ? -1 : match_kind(rest, &length);
  if (kind >= 0) {
    *a = (struct sl_action){(enum sl_action_kind)kind, (int)stage, -1};
    rest += length;
    if (*rest == '\0') return SL_OK;
    const long micro_batch = isdigit((unsigned char)*rest) ? strtol(rest, &rest, 10) : -1;
    if (micro_batch >= 0 && micro_batch < INT32_MAX && *rest == '\0') {
      a->micro_batch = (int)micro_batch;
      return SL_OK;
    }
  }
  return sl_fail(SL_ERR_INPUT, "action \"%s\": expected <stage><OP><micro-batch>, such as 0F3 or 1SEND_F2", text);
}

void sl_schedule_print(const struct sl_schedule *s, FILE *out) {
  char text[32];
  for (int rank = 0; rank < s->ranks; rank++) {
    for (size_t i = 0; i < s->counts[rank]; i++) {
      sl_action_print(text, sizeof text, &s->actions[rank][i]);
      fprintf(out, "%s%s", i > 0 ? "," : "", text);
    }
    fputc('\n', out);
  }
}

/* State of the reader. */
struct reader {
  const char *name, *at, *end;
  int line, column;
  struct sl_schedule *s;
};

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

/* PyTorch's ops that our schedules do not have, recognised by the text after the stage. */
static bool is_wait(const char *text) {
  while (isdigit((unsigned char)*text)) text++;
  return strncmp(text, "WAIT_SEND_F", 11) == 0 || strncmp(text, "WAIT_SEND_B", 11) == 0 ||
         strncmp(text, "WAIT_REDUCE_GRAD", 16) == 0;
}

static bool takes_micro_batch(enum sl_action_kind kind) {
  return sl_action_computes(kind) || (kind >= SL_ACTION_SEND_F && kind <= SL_ACTION_RECV_B);
}

/* Reads one cell, stripped of blanks, at r->line:r->column. */
static enum sl_status read_cell(struct reader *r, int rank, const char *cell) {
  struct sl_action a = {SL_ACTION_IDLE, 0, -1};
  if (is_wait(cell)) return SL_OK;
  if (strstr(cell, "OVERLAP_F_B") != NULL)
    return sl_fail(SL_ERR_INPUT,
                   "%s:%d:%d: \"%s\": overlapped pairs are not modelled; expected its actions in cells of "
                   "their own",
                   r->name, r->line, r->column, cell);
  if (cell[0] != '\0' && (sl_action_parse(&a, cell) != SL_OK || a.kind >= SL_ACTION_STEP)) {
    sl_error_clear();
    return sl_fail(SL_ERR_INPUT,
                   "%s:%d:%d: \"%s\": expected <stage><OP><micro-batch> with OP one of F, B, I, W, UNSHARD, RESHARD, "
                   "REDUCE_GRAD, SEND_F, RECV_F, SEND_B, RECV_B, such as 0F3, or an empty cell",
                   r->name, r->line, r->column, cell);
  }
  if (a.kind != SL_ACTION_IDLE && takes_micro_batch(a.kind) != (a.micro_batch >= 0))
    return sl_fail(SL_ERR_INPUT, "%s:%d:%d: \"%s\": expected %s micro-batch", r->name, r->line, r->column, cell,
                   a.micro_batch < 0 ? "a" : "no");
  return sl_schedule_append(r->s, rank, a);
}

/* Reads the cells of one line; r->at ends up after its newline. */
static enum sl_status read_line(struct reader *r, int rank) {
  for (const char *start = r->at;; r->at++) {
    const char *first = r->at;
    while (r->at < r->end && *r->at != ',' && *r->at != '\n') r->at++;
    const char *last = r->at;
    while (first < last && is_blank(*first)) first++;
    while (last > first && is_blank(last[-1])) last--;
    char cell[64];
    r->column = (int)(first - start) + 1;
    if (memchr(first, '\0', (size_t)(last - first)) != NULL || last - first >= (int)sizeof cell)
      return sl_fail(SL_ERR_INPUT, "%s:%d:%d: is no action; expected <stage><OP><micro-batch>, such as 0F3", r->name,
                     r->line, r->column);
    snprintf(cell, sizeof cell, "%.*s", (int)(last - first), first);
    SL_TRY(read_cell(r, rank, cell));
    if (r->at == r->end || *r->at == '\n') break;
  }
  if (r->at < r->end) r->at++;
  return SL_OK;
}

/* Stages and micro-batches are the largest numbers + 1. More than the cells could compute cannot be a schedule, and is
 * refused before anything is allocated. */
static enum sl_status count_dimensions(struct reader *r) {
  struct sl_schedule *s = r->s;
  size_t computes = 0;
  for (int rank = 0; rank < s->ranks; rank++) {
    for (size_t i = 0; i < s->counts[rank]; i++) {
      const struct sl_action *a = &s->actions[rank][i];
      if (a->kind == SL_ACTION_IDLE) continue;
      computes += sl_action_computes(a->kind);
      if (a->stage >= s->stages) s->stages = a->stage + 1;
      if (a->micro_batch >= s->micro_batches) s->micro_batches = a->micro_batch + 1;
    }
  }
  if (computes == 0) return sl_fail(SL_ERR_INPUT, "%s: has no F, B, I or W; expected a schedule", r->name);
  if ((uint64_t)s->stages * (uint64_t)s->micro_batches * 2 > computes)
    return sl_fail(SL_ERR_INPUT, "%s: %d stages x %d micro-batches need an F and a B each, %llu in all; it has %zu",
                   r->name, s->stages, s->micro_batches,
                   (unsigned long long)s->stages * (unsigned long long)s->micro_batches * 2, computes);
  return SL_OK;
}

/* A stage is on the rank of its first F, B, I or W; sl_schedule_validate checks that no other rank has any. */
static enum sl_status find_stages(struct reader *r) {
  struct sl_schedule *s = r->s;
  SL_TRY(sl_calloc(&s->stage_rank, (size_t)s->stages, sizeof *s->stage_rank));
  for (int stage = 0; stage < s->stages; stage++) s->stage_rank[stage] = -1;
  for (int rank = 0; rank < s->ranks; rank++) {
    for (size_t i = 0; i < s->counts[rank]; i++) {
      const struct sl_action *a = &s->actions[rank][i];
      if (sl_action_computes(a->kind) && s->stage_rank[a->stage] < 0) s->stage_rank[a->stage] = rank;
    }
  }
  for (int stage = 0; stage < s->stages; stage++)
    if (s->stage_rank[stage] < 0)
      return sl_fail(SL_ERR_INPUT, "%s: stage %d computes nothing; expected F and B on every stage up to %d", r->name,
                     stage, s->stages - 1);
  return SL_OK;
}

static int count_lines(const char *bytes, size_t size) {
  int lines = 0;
  for (size_t i = 0; i < size; i++) lines += bytes[i] == '\n';
  return lines + (size > 0 && bytes[size - 1] != '\n');
}

enum sl_status sl_schedule_parse(struct sl_schedule *s, const char *name, const char *bytes, size_t size) {
  enum sl_status status;
  struct reader r = {.name = name, .at = bytes, .end = bytes + size, .line = 1, .column = 1, .s = s};
  *s = (struct sl_schedule){0};
  if (size == 0 || size > INT32_MAX)
    return sl_fail(SL_ERR_INPUT, "%s: has %zu bytes; expected a schedule, one line a rank", name, size);
  const int ranks = count_lines(bytes, size);
  SL_TRY(sl_schedule_open(s, ranks, 0, 0));
  free(s->stage_rank);
  s->stage_rank = NULL;
  for (int rank = 0; rank < ranks; rank++, r.line++) SL_GO_FAIL(read_line(&r, rank));
  SL_GO_FAIL(count_dimensions(&r));
  SL_GO_FAIL(find_stages(&r));
  return SL_OK;
fail:
  sl_schedule_free(s);
  return status;
}

enum sl_status sl_schedule_load(struct sl_schedule *s, const char *path) {
  char *text;
  size_t size;
  *s = (struct sl_schedule){0};
  SL_TRY(sl_file_load(path, &text, &size));
  const enum sl_status status = sl_schedule_parse(s, path, text, size);
  free(text);
  return status;
}

/* How many steps and ranks the grid shows on each side of its place: it has to fit into a message. */
enum { GRID_STEPS = 4, GRID_RANKS = 3 };

/* Appends to out[0..size); text that does not fit is dropped. */
static void put(char *out, size_t size, size_t *used, const char *format, ...) __attribute__((format(printf, 4, 5)));
static void put(char *out, size_t size, size_t *used, const char *format, ...) {
  va_list args;
  if (*used + 1 >= size) return;
  va_start(args, format);
  const int n = vsnprintf(out + *used, size - *used, format, args);
  va_end(args);
  *used += n > 0 ? (size_t)n : 0;
  if (*used >= size) *used = size - 1;
}

static void put_cell(char *out, size_t size, size_t *used, const struct sl_schedule *s, int rank, int64_t step,
                     bool marked) {
  char text[32] = "", cell[40];
  if (step >= 0 && (size_t)step < s->counts[rank]) sl_action_print(text, sizeof text, &s->actions[rank][step]);
  snprintf(cell, sizeof cell, marked ? "[%s]" : "%s", text);
  put(out, size, used, " %-12s", cell);
}

/* Draws the steps around `step` as rows and the ranks around `rank` as columns, the step's row marked "<-- ERROR HERE"
 * and the cell in brackets, as text of at most size - 1 bytes. step -1: no mark, from the start. */
static void draw_grid(char *out, size_t size, const struct sl_schedule *s, int rank, int64_t step) {
  size_t used = 0, longest = 0;
  for (int i = 0; i < s->ranks; i++) longest = s->counts[i] > longest ? s->counts[i] : longest;
  const int64_t from = step > GRID_STEPS ? step - GRID_STEPS : 0;
  const int first = rank > GRID_RANKS ? rank - GRID_RANKS : 0;
  const int last = first + 2 * GRID_RANKS < s->ranks - 1 ? first + 2 * GRID_RANKS : s->ranks - 1;
  out[0] = '\0';
  put(out, size, &used, "%8s ", "");
  for (int i = first; i <= last; i++) put(out, size, &used, i < last ? " rank %-7d" : " rank %d", i);
  for (int64_t row = from; row <= from + 2 * GRID_STEPS && (row < (int64_t)longest || row == step); row++) {
    put(out, size, &used, "\nstep %3lld:", (long long)row);
    for (int i = first; i <= last; i++) put_cell(out, size, &used, s, i, row, i == rank && row == step);
    while (used > 0 && out[used - 1] == ' ') out[--used] = '\0';
    if (row == step) put(out, size, &used, "  <-- ERROR HERE");
  }
}

enum sl_status sl_schedule_fail(const struct sl_schedule *s, int rank, int64_t step, const char *format, ...) {
  char text[32] = "", message[512], grid[1400];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  if (step >= 0 && (size_t)step < s->counts[rank]) sl_action_print(text, sizeof text, &s->actions[rank][step]);
  draw_grid(grid, sizeof grid, s, rank, step);
  return sl_fail(SL_ERR_CHECK, "rank %d, step %lld: %s%s%s\n%s", rank, (long long)step, text,
                 text[0] != '\0' ? ": " : "", message, grid);
}
