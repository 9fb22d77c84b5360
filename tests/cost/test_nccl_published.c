/* label: unit
   libs: cost
 * NCCL's tuning model against published measurements of its collectives (experiments/published): mean error of all rows,
 * and that the few numbers which were fitted are where the fit ends. With --fit it fits them anew, with --rows it prints
 * every row. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "cost/nccl/attained.h"
#include "cost/nccl/tables.h"
#include "tests/support/nvlink.h"

enum { MAX_COLUMNS = 20, MAX_ROWS = 200, MAX_SETUPS = 16, MIB = 1 << 20 };

/* ---- the tables ---- */

/* Cuts a line of CSV in place; a cell in quotes may hold commas. */
static int cut(char *line, char *cells[MAX_COLUMNS]) {
  int n = 0;
  for (char *at = line; at != NULL && n < MAX_COLUMNS;) {
    const bool quoted = *at == '"';
    cells[n++] = at += quoted;
    char *end = strpbrk(at, quoted ? "\"" : ",\r\n");
    if (end == NULL) break;
    const bool more = quoted ? end[1] == ',' : *end == ',';
    *end = '\0';
    at = more ? end + 1 + quoted : NULL;
  }
  return n;
}

static FILE *open_table(const char *name) {
  char path[512];
  snprintf(path, sizeof path, "%s/experiments/published/%s.csv", SL_SOURCE_DIR, name);
  FILE *file = fopen(path, "r");
  if (file == NULL) fail_msg("%s is missing", path);
  return file;
}

/* Calls `row` with the cells of every line after the first; the cells live until it returns. */
static void each_row(const char *name, int columns, void (*row)(char *cells[])) {
  FILE *file = open_table(name);
  char line[1024], *cells[MAX_COLUMNS];
  assert_non_null(fgets(line, sizeof line, file));
  while (fgets(line, sizeof line, file) != NULL) {
    if (cut(line, cells) != columns) fail_msg("%s: '%s' has not %d cells", name, line, columns);
    row(cells);
  }
  fclose(file);
}

static int number_of(const char *text, const char *const names[], int count) {
  for (int i = 0; i < count; i++)
    if (strcmp(text, names[i]) == 0) return i;
  fail_msg("'%s' is none of the known words", text);
  return -1;
}

/* A machine and tool that was measured: a row of nccl_communicators.csv. */
struct setup {
  char table[32], hardware[128];
  struct sl_nccl_comm comm; /* of one node: ranks 0 = as the row says */
  struct sl_nccl_attained attained;
  double copy; /* byte/s at which the tool copies a gathered or scattered buffer once more; 0: it does not */
  char gpu[16], machine[16]; /* setups with the same share the numbers of that */
  bool counts;               /* for the bar */
};
static struct setup setups[MAX_SETUPS];
static int n_setups;

static void read_setup(char *cells[]) {
#define X(name, text) text,
  static const char *const gpus[] = {SL_NCCL_GPU_MAP(X)}, *const cpus[] = {"intel", "amd", "other"};
#undef X
  struct setup *s = &setups[n_setups++];
  snprintf(s->table, sizeof s->table, "%s", cells[0]);
  snprintf(s->hardware, sizeof s->hardware, "%s", cells[1]);
  snprintf(s->gpu, sizeof s->gpu, "%s", cells[3]);
  snprintf(s->machine, sizeof s->machine, "%s", cells[4]);
  const enum sl_nccl_gpu gpu = number_of(cells[3], gpus, SL_NCCL_GPU_COUNT);
  s->comm = (struct sl_nccl_comm){.gpu = gpu,
                                  .cpu = number_of(cells[5], cpus, 3),
                                  .ranks = atoi(cells[2]),
                                  .nvlink = nvlink_of(gpu, atoi(cells[6])),
                                  .nics = atoi(cells[7]),
                                  .nic = atof(cells[8]) * 1e9,
                                  .nic_latency = atof(cells[9]) * 1e-6,
                                  .nvls = gpu >= SL_NCCL_HOPPER,
                                  .ll128 = atoi(cells[10])};
  s->copy = atof(cells[11]) * 1e9;
  s->attained = (struct sl_nccl_attained){.launch = atof(cells[12]) * 1e-6,
                                          .inside = atof(cells[13]),
                                          .fill = atof(cells[14]) * 1e6,
                                          .across = atof(cells[15]),
                                          .fall = atof(cells[16])};
  s->counts = strcmp(cells[17], "yes") == 0;
}

struct measured {
  const struct setup *setup;
  enum sl_nccl_coll coll;
  int ranks, nodes;
  bool nvls;
  int64_t bytes;
  double seconds;
  int turn;    /* among the rows of its setup */
  bool coarse; /* published with less than two digits */
};
static struct measured rows[MAX_ROWS];
static int n_rows;

static const struct setup *setup_of(const char *table, const char *hardware) {
  for (int i = 0; i < n_setups; i++)
    if (strcmp(setups[i].table, table) == 0 && strcmp(setups[i].hardware, hardware) == 0) return &setups[i];
  fail_msg("%s of %s is in no row of nccl_communicators.csv", hardware, table);
  return NULL;
}

/* nccl-tests: bus bandwidth = bytes / seconds x 2 (n - 1) / n for all_reduce, x (n - 1) / n for the others. */
static void add_row(struct measured row, double bus) {
  const double crossings = (row.coll == SL_NCCL_ALL_REDUCE ? 2.0 : 1.0) * (row.ranks - 1) / row.ranks;
  row.seconds = (double)row.bytes * crossings / bus;
  row.coarse = bus < 0.095e9;
  for (int i = 0; i < n_rows; i++) row.turn += rows[i].setup == row.setup;
  rows[n_rows++] = row;
}

static const char *const small_names[] = {"all_reduce", "all_gather", "reduce_scatter"};
static const char *const big_names[] = {"AllReduce", "AllGather", "ReduceScatter"};
static const enum sl_nccl_coll colls[] = {SL_NCCL_ALL_REDUCE, SL_NCCL_ALL_GATHER, SL_NCCL_REDUCE_SCATTER};

static void read_stas00(char *cells[]) {
  const struct setup *setup = setup_of("nccl_stas00", cells[1]);
  add_row((struct measured){.setup = setup,
                            .coll = colls[number_of(cells[0], small_names, 3)],
                            .ranks = setup->comm.ranks > 0 ? setup->comm.ranks : atoi(cells[2]),
                            .nodes = atoi(cells[3]),
                            .bytes = atoll(cells[4]),
                            .nvls = setup->comm.nvls && strncmp(cells[6], "Ring", 4) != 0},
          atof(cells[5]) * 1e9);
}

static void read_playbook(char *cells[]) {
  const struct setup *setup = setup_of("nccl_playbook_256mb", cells[5]);
  add_row((struct measured){.setup = setup,
                            .coll = colls[number_of(cells[0], big_names, 3)],
                            .ranks = atoi(cells[3]) * atoi(cells[4]),
                            .nodes = atoi(cells[3]),
                            .bytes = atoll(cells[1]) * MIB,
                            .nvls = setup->comm.nvls},
          atof(cells[6]) * 1e9);
}

static int read_tables(void **state) {
  (void)state;
  each_row("nccl_communicators", 18, read_setup);
  each_row("nccl_stas00", 11, read_stas00);
  each_row("nccl_playbook_256mb", 11, read_playbook);
  return 0;
}

/* ---- errors ---- */

static struct sl_nccl model_of(const struct measured *row) {
  struct sl_nccl_comm comm = row->setup->comm;
  comm.ranks = row->ranks, comm.nodes = row->nodes, comm.nvls = row->nvls;
  struct sl_nccl nccl;
  assert_int_equal(sl_nccl_open(&nccl, &comm), SL_OK);
  return nccl;
}

static double predicted(const struct measured *row) {
  const struct sl_nccl nccl = model_of(row);
  const bool copied = row->setup->copy > 0 && sl_nccl_is_gather_or_scatter(row->coll);
  const double copy = copied ? 2 * (double)row->bytes / row->setup->copy : 0;
  return sl_nccl_attain(&nccl, &row->setup->attained, row->coll, row->bytes).seconds + copy;
}

static double error_of(const struct measured *row) {
  return predicted(row) / row->seconds - 1;
}

/* Which rows a mean is over. */
struct choice_of_rows {
  const char *table;    /* all rows of it ... */
  const char *hardware; /* or of this hardware */
  int collective;       /* or of this, -1: all */
  int64_t least, most;  /* bytes */
  bool all;             /* also of setups that do not count, and coarse ones */
};

static bool belongs(const struct measured *row, const struct choice_of_rows *which) {
  if (strcmp(row->setup->table, which->table) != 0) return false;
  if (which->hardware != NULL && strcmp(row->setup->hardware, which->hardware) != 0) return false;
  if (which->collective >= 0 && row->coll != (enum sl_nccl_coll)which->collective) return false;
  if (row->bytes < which->least || row->bytes > which->most) return false;
  return which->all || (row->setup->counts && !row->coarse);
}

static double mean_error(const char *what, struct choice_of_rows which) {
  double sum = 0, worst = 0;
  int n = 0;
  for (int i = 0; i < n_rows; i++)
    if (belongs(&rows[i], &which)) {
      const double error = fabs(error_of(&rows[i]));
      sum += error, n++;
      worst = error > worst ? error : worst;
    }
  assert_true(n > 0);
  print_message("%-58s %3d rows: mean %5.1f %%, worst %5.1f %%\n", what, n, 100 * sum / n, 100 * worst);
  return sum / n;
}

static void all_reduces_above_a_mebibyte(void **state) {
  (void)state;
  struct choice_of_rows which = {.table = "nccl_stas00", .collective = -1, .least = MIB, .most = INT64_MAX};
  const double mean = mean_error("nccl_stas00 from 1 MiB, hardware stated", which);
  which.all = true;
  mean_error("  with the 4 nodes of unstated hardware", which);
  assert_true(mean <= 0.08);
}

static void all_reduces_below_a_mebibyte(void **state) {
  (void)state;
  struct choice_of_rows which = {.table = "nccl_stas00", .collective = -1, .most = MIB - 1};
  const double mean = mean_error("nccl_stas00 below 1 MiB, two digits and hardware stated", which);
  which.all = true;
  const double all = mean_error("  all rows", which);
  assert_true(mean <= 0.20 && all <= 0.20);
}

static void bandwidth_falls_with_nodes(void **state) {
  (void)state;
  struct choice_of_rows which = {.table = "nccl_playbook_256mb", .collective = -1, .most = INT64_MAX};
  assert_true(mean_error("nccl_playbook_256mb, 1 to 64 nodes", which) <= 0.15);
  for (int i = 0; i < 3; i++) {
    which.collective = (int)colls[i];
    assert_true(mean_error(small_names[i], which) <= 0.15);
  }
}

static void every_setup(void **state) {
  (void)state;
  for (int i = 0; i < n_setups; i++)
    mean_error(setups[i].hardware, (struct choice_of_rows){.table = setups[i].table,
                                                           .hardware = setups[i].hardware,
                                                           .collective = -1,
                                                           .most = INT64_MAX,
                                                           .all = true});
}

/* ---- the fit ---- */

/* A number that was fitted: of all setups with a GPU, or on a machine. */
struct fitted {
  const char *owner, *name;
  size_t offset; /* in struct setup */
  double step;   /* last digit of it in the table */
  double start;  /* without measurements */
};
#define NUMBER(owner, member, step, start)                                                                             \
  { owner, #member, offsetof(struct setup, member), step, start }
static const struct fitted numbers[] = {
    NUMBER("ampere", attained.inside, 0.01, 1),       NUMBER("ampere", attained.fill, 1e6, 0),
    NUMBER("hopper", attained.inside, 0.01, 1),       NUMBER("hopper", attained.fill, 1e6, 0),
    NUMBER("blackwell", attained.inside, 0.01, 1),    NUMBER("blackwell", attained.fill, 1e6, 0),
    NUMBER("a100", attained.launch, 1e-6, 0),         NUMBER("h200", attained.launch, 1e-6, 0),
    NUMBER("p6-b200", attained.launch, 1e-6, 0),      NUMBER("p6-b200", attained.across, 0.01, 1),
    NUMBER("p6-b200", comm.nic_latency, 1e-6, 75e-6), NUMBER("p5", attained.fall, 0.01, 0),
};
enum { N_NUMBERS = sizeof numbers / sizeof numbers[0] };

static bool has(const struct fitted *f, const struct setup *setup) {
  return strcmp(setup->gpu, f->owner) == 0 || strcmp(setup->machine, f->owner) == 0;
}

static double *member(const struct fitted *f, struct setup *setup) {
  return (double *)((char *)setup + f->offset);
}

static double get(const struct fitted *f) {
  for (int i = 0; i < n_setups; i++)
    if (has(f, &setups[i])) return *member(f, &setups[i]);
  fail_msg("a fitted number is of no setup");
  return 0;
}

static void set(const struct fitted *f, double to) {
  for (int i = 0; i < n_setups; i++)
    if (has(f, &setups[i])) *member(f, &setups[i]) = to;
}

/* Sum of |ln(predicted / measured)| over the rows that count: a row that is far off pulls no more than another. With
 * `fold` 0 or 1 only over every other row. */
static double loss(const struct fitted *f, int fold) {
  double sum = 0;
  for (int i = 0; i < n_rows; i++)
    if (has(f, rows[i].setup) && rows[i].setup->counts && !rows[i].coarse && rows[i].turn % 2 != fold)
      sum += fabs(log(1 + error_of(&rows[i])));
  return sum;
}

/* One step up or down, where that lowers the loss. */
static bool step(const struct fitted *f, int fold) {
  const double from = get(f), before = loss(f, fold);
  for (int sign = -1; sign <= 1; sign += 2) {
    set(f, fmax(0, from + sign * f->step));
    if (loss(f, fold) < before - 1e-9) return true;
  }
  set(f, from);
  return false;
}

static void descend(int fold) {
  for (int i = 0; i < N_NUMBERS; i++) set(&numbers[i], numbers[i].start);
  for (bool moved = true; moved;) {
    moved = false;
    for (int i = 0; i < N_NUMBERS; i++)
      while (step(&numbers[i], fold)) moved = true;
  }
}

/* From what would be taken without measurements the fit comes to the numbers that stand in the table. */
static void the_fit_gives_the_table(void **state) {
  (void)state;
  double published[N_NUMBERS];
  for (int i = 0; i < N_NUMBERS; i++) published[i] = get(&numbers[i]);
  descend(-1);
  for (int i = 0; i < N_NUMBERS; i++) {
    const double fitted = get(&numbers[i]);
    if (fabs(fitted - published[i]) > numbers[i].step / 2)
      fail_msg("%s %s: fitted %g, in the table %g", numbers[i].owner, numbers[i].name, fitted, published[i]);
    set(&numbers[i], published[i]);
  }
}

/* Fitted to every other row and asked for the rest, both ways round. */
static void errors_out_of_fold(void **state) {
  (void)state;
  struct setup kept[MAX_SETUPS];
  double sum = 0;
  int n = 0;
  memcpy(kept, setups, sizeof kept);
  for (int fold = 0; fold < 2; fold++) {
    descend(fold);
    for (int i = 0; i < n_rows; i++)
      if (rows[i].setup->counts && !rows[i].coarse && rows[i].turn % 2 == fold) sum += fabs(error_of(&rows[i])), n++;
    memcpy(setups, kept, sizeof kept);
  }
  print_message("out of fold, all rows that count %36d rows: mean %5.1f %%\n", n, 100 * sum / n);
  assert_true(sum / n <= 0.10);
}

/* ---- for a reader ---- */

static void print_rows(void) {
#define X(name, text) text,
  static const char *const names[] = {SL_NCCL_COLL_MAP(X)};
#undef X
  for (int i = 0; i < n_rows; i++) {
    const struct measured *row = &rows[i];
    const struct sl_nccl nccl = model_of(row);
    const struct sl_nccl_choice choice = sl_nccl_choose(&nccl, row->coll, row->bytes);
    printf("%-46.46s %-14s %3d ranks %3d nodes %12" PRId64 " B %10.1f us, NCCL %10.1f, here %10.1f (%+6.1f %%) %s %s\n",
           row->setup->hardware, names[row->coll], row->ranks, row->nodes, row->bytes, row->seconds * 1e6,
           choice.seconds * 1e6, predicted(row) * 1e6, 100 * error_of(row), sl_nccl_algo_name(choice.algo),
           sl_nccl_proto_name(choice.proto));
  }
}

static void print_fit(void) {
  descend(-1);
  for (int i = 0; i < N_NUMBERS; i++) printf("%-10s %-18s %g\n", numbers[i].owner, numbers[i].name, get(&numbers[i]));
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_reduces_above_a_mebibyte), cmocka_unit_test(all_reduces_below_a_mebibyte),
      cmocka_unit_test(bandwidth_falls_with_nodes),   cmocka_unit_test(every_setup),
      cmocka_unit_test(the_fit_gives_the_table),      cmocka_unit_test(errors_out_of_fold),
  };
  if (argc < 2) return cmocka_run_group_tests(tests, read_tables, NULL);
  read_tables(NULL);
  if (strcmp(argv[1], "--fit") == 0) print_fit();
  print_rows();
  return 0;
}
