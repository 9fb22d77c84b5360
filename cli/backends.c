/* shardlab backends: what this machine can run, and why it cannot run the rest. */
#include "cli/commands.h"
#include "cli/output.h"
#include "core/record/environment.h"
#include "core/run/executor.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct row {
  const char *name;
  bool present;
  char text[512];
};

static struct row module_row(const char *name, const char *label) {
  struct row row = {.name = label};
  const struct sl_exec_ops *ops;
  struct sl_exec_devices devices = {0};
  row.present = sl_exec_load(name, &ops) == SL_OK && (ops->probe == NULL || ops->probe(&devices) == SL_OK);
  snprintf(row.text, sizeof row.text, "%s", row.present ? "loaded" : sl_error_message());
  if (row.present && devices.count > 0)
    snprintf(row.text, sizeof row.text, "loaded: %d x %s", devices.count, devices.name);
  sl_error_clear();
  return row;
}

/* `room`: to load it, where it is not loaded yet. */
static struct row library_row(const char *name, const char *label, bool room, const char *remedy) {
  struct row row = {.name = label};
  sl_environment_library(name, room, row.text, sizeof row.text);
  if (!room) remedy = "not looked at: too little address space to load it (ulimit -v, -d)";
  row.present = row.text[0] != '\0';
  if (!row.present) snprintf(row.text, sizeof row.text, "%s", remedy);
  return row;
}

static bool on_path(const char *program) {
  const char *path = getenv("PATH");
  char file[4096];
  for (const char *at = path; at != NULL && *at != '\0';
       at += at[strcspn(at, ":")] == ':' ? strcspn(at, ":") + 1 : strcspn(at, ":")) {
    snprintf(file, sizeof file, "%.*s/%s", (int)strcspn(at, ":"), at, program);
    if (access(file, X_OK) == 0) return true;
  }
  return false;
}

static struct row program_row(const char *program, const char *remedy) {
  struct row row = {.name = program, .present = on_path(program)};
  snprintf(row.text, sizeof row.text, "%s", row.present ? "found" : remedy);
  return row;
}

static struct row gpu_row(void) {
  struct row row = {.name = "GPU"};
  int count = 0;
  DIR *folder = opendir("/proc/driver/nvidia/gpus");
  for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
    count += entry->d_name[0] != '.';
  if (folder != NULL) closedir(folder);
  row.present = count > 0;
  if (row.present)
    snprintf(row.text, sizeof row.text, "%d NVIDIA GPU%s", count, count > 1 ? "s" : "");
  else
    snprintf(row.text, sizeof row.text, "no NVIDIA driver on this machine");
  return row;
}

static enum sl_status run(const struct sl_options *options) {
  SL_TRY(sl_output_check(options));
  struct row rows[8];
  int n = 0;
  rows[n++] = (struct row){.name = "predict", .present = true, .text = "built in"};
  rows[n++] = module_row("host", "host backend");
  const bool room = rows[n - 1].present || sl_exec_check_room("host") == SL_OK;
  sl_error_clear();
  rows[n++] = module_row("cuda", "cuda backend");
  rows[n++] =
      library_row("openblas", "OpenBLAS", room, "libopenblas.so.0 cannot be loaded: install libopenblas0-openmp");
  rows[n++] =
      library_row("mpi", "MPI", room, "libmpi.so.40 cannot be loaded: install openmpi-bin (--world above 1 needs it)");
  rows[n++] = program_row("mpirun", "not on PATH: install openmpi-bin (--world above 1 needs it)");
  rows[n++] = gpu_row();
  rows[n++] = program_row("gnuplot", "not on PATH: install gnuplot-nox (only plots need it)");
  FILE *out = sl_output_text(options);
  json_t *list = json_array();
  for (int i = 0; i < n; i++) {
    fprintf(out, "%-14s %-8s %s\n", rows[i].name, rows[i].present ? "present" : "absent", rows[i].text);
    json_array_append_new(
        list, json_pack("{s:s, s:b, s:s}", "name", rows[i].name, "present", rows[i].present, "detail", rows[i].text));
  }
  return sl_output_json(options, list);
}

const struct sl_command sl_command_backends = {
    .name = "backends",
    .bit = SL_CMD_BACKENDS,
    .operands = "",
    .summary = "Say which backends and libraries are present here, and why the others are not",
    .help = "",
    .example = "shardlab backends",
    .run = run,
};
