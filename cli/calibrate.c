/* shardlab calibrate: measures this machine with the backend's own code, once for each number of ranks, in separate
 * processes; then runs shardlab-analyze to fit a profile. With --points this process is one of those ranks: it measures
 * and exits. */
#include "calibrate/calibration.h"

#include "cli/children.h"
#include "cli/commands.h"
#include "cli/guard.h"
#include "cli/launch.h"
#include "cli/launch_ranks.h"
#include "cli/output.h"
#include "cli/place.h"
#include "cli/progress.h"
#include "cli/said.h"
#include "core/base/machine.h"
#include "core/base/made.h"
#include "core/base/printable.h"
#include "core/base/timeout.h"
#include "core/base/was_read.h"
#include "core/cluster/provenance.h"
#include "core/record/environment.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXT_BYTES = 1 << 18, MAX_RANK_COUNTS = 12, ROUNDS = 5, GPU_ROUNDS = 3, PATH_BYTES = 4096 };

/* --- in a rank --- */

static void show(void *context, double share) {
  const struct sl_calibration *c = context;
  fprintf(stderr, "\r\033[Kcalibrating %s, %d rank%s: %.0f %%", sl_printable_of(getenv(sl_progress_terminal)).text,
          c->ranks, c->ranks > 1 ? "s" : "", 100 * share);
  fflush(stderr);
}

/* Writes random letters as text for the models to read. The file has no name that a killed rank could leave behind;
 * `path` leads to it while *file is open. */
static enum sl_status write_text(FILE **file, char *path, size_t size) {
  uint32_t state = 2463534242u;
  const int handle = memfd_create("shardlab-calibrate", MFD_CLOEXEC);
  *file = handle < 0 ? NULL : fdopen(handle, "w");
  if (*file == NULL) return sl_fail(SL_ERR_IO, "no file can be made for the models' text: %s", strerror(errno));
  snprintf(path, size, "/proc/self/fd/%d", handle);
  for (int i = 0; i < TEXT_BYTES; i++) {
    state ^= state << 13, state ^= state >> 17, state ^= state << 5; /* Marsaglia 2003, xorshift */
    fputc(' ' + (int)(state % 95), *file);
  }
  if (fflush(*file) != 0) return sl_fail(SL_ERR_IO, "the models' text cannot be written: %s", strerror(errno));
  return SL_OK;
}

/* The machine's name: its GPUs, or (NULL) its processor. */
static void name_machine(char *name, size_t size, const struct sl_exec_devices *gpus) {
  json_t *environment = sl_environment_json(0);
  const char *cpu = json_string_value(json_object_get(environment, "cpu"));
  if (gpus != NULL)
    snprintf(name, size, "%d x %s", gpus->count, gpus->name);
  else
    snprintf(name, size, "%s", cpu != NULL ? cpu : "this machine");
  json_decref(environment);
}

static enum sl_status describe_gpu(const struct sl_calibration *c, struct sl_points *points, double load) {
  struct sl_cluster cluster;
  struct sl_exec_devices devices;
  SL_TRY(c->exec->probe(&devices));
  SL_TRY(sl_calibration_gpu_cluster(&cluster, &devices));
  cluster.device.context_bytes = c->context_bytes;
  sl_annotation_set(cluster.annotations, "device.context_MiB", "the most that a measured run took beside its arena",
                    NAN);
  name_machine(points->machine, sizeof points->machine, &devices);
  points->cluster = sl_cluster_to_json(&cluster);
  sl_cluster_free(&cluster);
  points->load = load;
  return SL_OK;
}

static enum sl_status describe_machine(struct sl_points *points, double load) {
  struct sl_cluster cluster;
  const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  name_machine(points->machine, sizeof points->machine, NULL);
  SL_TRY(sl_cluster_load(&cluster, "localhost"));
  cluster.device.cache_bytes = cache > 0 ? cache : 8 << 20;
  cluster.device.cache_bandwidth = cluster.device.memory_bandwidth; /* the fit puts what was measured here */
  sl_annotation_set(cluster.annotations, "device.cache_MiB", cache > 0 ? "sysconf: level 3 cache" : "guess", NAN);
  sl_annotation_set(cluster.annotations, "device.cache_bandwidth_GBps", "guess: that of memory", NAN);
  points->cluster = sl_cluster_to_json(&cluster);
  sl_cluster_free(&cluster);
  points->load = load;
  return SL_OK;
}

static enum sl_status measure_ranks(const struct sl_options *options) {
  const bool gpu = sl_options_on_gpu(options);
  const struct sl_place place = sl_place_read(gpu);
  const int cores = sl_machine_cores();
  char text[32];
  FILE *file = NULL;
  const double load = sl_machine_load();
  struct sl_calibration c = {.ranks = place.size,
                             .rank = place.rank,
                             .threads = cores > place.local_size ? cores / place.local_size : 1,
                             .grid = gpu ? &sl_calibration_gpu : &sl_calibration_host,
                             .quick = options->quick,
                             .gpu = gpu,
                             .tf32 = options->tf32,
                             .text = text,
                             .nvme = options->nvme_path};
  enum sl_status status;
  double limit_s;
  SL_TRY(sl_output_check(options));
  SL_TRY(sl_timeout_read(&limit_s));
  if (place.size > 1) sl_guard_open(limit_s, place.rank);
  c.progress = place.rank == 0 && getenv(sl_progress_terminal) != NULL ? show : NULL;
  c.progress_context = &c;
  SL_GO(write_text(&file, text, sizeof text));
  SL_GO(sl_exec_load(options->backend, &c.exec));
  SL_GO(sl_calibration_models_run(&c)); /* first: see context_bytes */
  SL_GO(sl_calibration_bench(&c));
  SL_GO(sl_calibration_offload_run(&c));
  SL_GO(gpu ? describe_gpu(&c, &c.points, load) : describe_machine(&c.points, load));
  if (place.rank == 0) {
    json_t *json = sl_points_json(&c.points);
    status = sl_json_save(json, options->points);
    json_decref(json);
  }
done:
  if (c.progress != NULL) fputs("\r\033[K", stderr);
  if (file != NULL) fclose(file);
  sl_points_free(&c.points);
  return status;
}

/* --- the command: all numbers of ranks --- */

/* `aside`: the child's standard output goes to standard error, because ours is for JSON. */
static enum sl_status spawn(const char *program, char **arguments, const char *what, bool aside) {
  SL_TRY(sl_children_open());
  const pid_t child = sl_children_fork(SIGTERM);
  if (child < 0) return sl_fail(SL_ERR_IO, "cannot start a process: %s", strerror(errno));
  if (child == 0) {
    sl_launch_mark(); /* marks a single rank as launched, so that it does not start a launcher */
    sl_children_exec(program, arguments, aside);
  }
  return sl_children_status(sl_children_wait(child), what);
}

static enum sl_status run_ranks(const struct sl_options *options, int ranks, char *points, char *disk) {
  char name[] = "shardlab", command[] = "calibrate", flag[] = "--points", backend[] = "--backend", quick[] = "--quick",
       tf32[] = "--tf32", nvme[] = "--nvme-path";
  char *backend_name = (char *)(uintptr_t)options->backend;
  char *arguments[11] = {name, command, flag, points, backend, backend_name};
  int count = 6;
  if (options->quick) arguments[count++] = quick;
  if (options->tf32) arguments[count++] = tf32;
  arguments[count++] = nvme;
  arguments[count++] = disk;
  if (ranks == 1) return spawn("/proc/self/exe", arguments, "the measurement with one rank", false);
  struct sl_ended ended = {0};
  if (sl_options_on_gpu(options))
    SL_TRY(sl_launch_ranks(&(struct sl_ranks){.argv = arguments, .world = ranks, .here = ranks}, &ended));
  else
    SL_TRY(sl_launch_mpi(&(struct sl_mpi_job){.world = ranks, .arguments = arguments + 1}, &ended));
  if (ended.code == 0) return SL_OK;
  return ended.code == 2 ? SL_ERR_INPUT : SL_ERR_PEER;
}

/* 1, 2, 4, ... and `most`. */
static int rank_counts(int most, int out[MAX_RANK_COUNTS]) {
  int n = 0;
  for (int r = 1; r < most && n + 1 < MAX_RANK_COUNTS; r *= 2) out[n++] = r;
  out[n++] = most;
  return n;
}

static enum sl_status merge(struct sl_points *all, const char *path) {
  struct sl_json doc;
  SL_TRY(sl_json_load(&doc, path));
  const enum sl_status status = sl_points_read(all, &doc);
  sl_json_free(&doc);
  return status;
}

/* `disk`: a folder on the NVMe. */
static enum sl_status measure_count(const struct sl_options *options, int ranks, char *disk, struct sl_points *all) {
  char points[96];
  snprintf(points, sizeof points, "%s/points-XXXXXX", sl_children_folder());
  const int handle = mkstemp(points);
  if (handle < 0) return sl_fail(SL_ERR_IO, "%s: cannot be created: %s", points, strerror(errno));
  close(handle);
  enum sl_status status = run_ranks(options, ranks, points, disk);
  if (status == SL_OK) status = merge(all, points);
  unlink(points);
  return status;
}

static int rounds_of(const struct sl_options *options) {
  if (options->rounds > 0) return (int)options->rounds;
  if (options->quick) return 1;
  return sl_options_on_gpu(options) ? GPU_ROUNDS : ROUNDS;
}

/* Measures everything in rounds that are minutes apart. Disturbances by other guests of the machine last for seconds,
 * so most of them affect only some of the rounds, and the fit can tell them apart. */
static enum sl_status measure_counts(const struct sl_options *options, int most, char *disk, struct sl_points *all) {
  int counts[MAX_RANK_COUNTS];
  const int n = rank_counts(most, counts), rounds = rounds_of(options);
  char said[96];
  snprintf(said, sizeof said, "%s/said", sl_children_folder());
  sl_said_share(said); /* every round would warn of the same */
  for (int round = 0; round < rounds; round++) {
    char text[64];
    snprintf(text, sizeof text, "round %d of %d", round + 1, rounds);
    if (sl_output_terminal(stderr)) setenv(sl_progress_terminal, text, 1);
    for (int i = 0; i < n; i++) SL_TRY(measure_count(options, counts[i], disk, all));
  }
  return SL_OK;
}

/* The folder for tables and plots: "dir/profile.fit" for "dir/profile.json". */
static enum sl_status name_folder(const char *out, char *folder) {
  const size_t length = strlen(out), stem = length > 5 && strcmp(out + length - 5, ".json") == 0 ? length - 5 : length;
  if (snprintf(folder, PATH_BYTES - 16, "%.*s.fit", (int)stem, out) >= PATH_BYTES - 16)
    return sl_fail(SL_ERR_INPUT, "--out: is a path of %zu bytes; expected a shorter one", length);
  return SL_OK;
}

/* shardlab-analyze is next to this program. It can fit if GSL was available when both were built. */
static enum sl_status find_analyzer(char program[PATH_BYTES]) {
  const ssize_t length = readlink("/proc/self/exe", program, PATH_BYTES - 32);
  if (length < 0) return sl_fail(SL_ERR_IO, "/proc/self/exe: %s", strerror(errno));
  program[length] = '\0';
  strcpy(strrchr(program, '/') + 1, "shardlab-analyze");
#ifndef SL_HAVE_GSL
  return sl_fail(SL_ERR_ABSENT, "the fit needs GSL, which was absent when shardlab was built: install libgsl-dev and "
                                "build again");
#endif
  if (access(program, X_OK) == 0) return SL_OK;
  return sl_fail(SL_ERR_ABSENT, "%s: is not there, and the fit needs it; expected it beside shardlab", program);
}

static enum sl_status fit(const struct sl_options *options, char *points, char *folder) {
  char program[PATH_BYTES], name[] = "shardlab-analyze", command[] = "fit", flag[] = "--out", report[] = "--report";
  char *out = (char *)(uintptr_t)options->out;
  SL_TRY(find_analyzer(program));
  char *arguments[] = {name, command, points, flag, out, report, folder, NULL};
  return spawn(program, arguments, "shardlab-analyze", sl_output_text(options) == stderr);
}

/* Writes the profile again where --json asks for it. */
static enum sl_status show_profile(const struct sl_options *options) {
  struct sl_json doc;
  if (options->json == NULL) return SL_OK;
  SL_TRY(sl_json_load(&doc, options->out));
  const enum sl_status status = sl_output_json(options, json_incref(doc.root));
  sl_json_free(&doc);
  return status;
}

/* Reads the points of earlier rounds. Those of another machine would be averaged with this one's, so they are
 * refused. */
static enum sl_status add_earlier(struct sl_points *all, const char *path, const struct sl_exec_devices *gpus) {
  char here[sizeof all->machine];
  SL_TRY(merge(all, path));
  sl_was_read_forget(path); /* all rounds are written to this file, so it may be written again */
  name_machine(here, sizeof here, gpus);
  if (strcmp(all->machine, here) == 0) return SL_OK;
  return sl_fail(SL_ERR_INPUT, "--add: %s: was measured on '%s'; expected this machine, '%s'", path, all->machine,
                 here);
}

/* Checks what can be checked before anything is measured. *most: the largest number of ranks; `all`: the points in file
 * `points` that --add keeps. */
static enum sl_status check_request(const struct sl_options *options, int *most, struct sl_points *all,
                                    const char *points) {
  const struct sl_exec_ops *exec;
  char program[PATH_BYTES];
  struct sl_exec_devices devices = {.count = sl_machine_cores()};
  if (options->tf32 && !sl_options_on_gpu(options))
    return sl_fail(SL_ERR_INPUT, "--tf32: the host backend has no tf32; expected --backend cuda");
  if (options->nvme_path != NULL && access(options->nvme_path, W_OK | X_OK) != 0)
    return sl_fail(SL_ERR_INPUT, "--nvme-path: is \"%s\": %s; expected a folder to write to, on the NVMe",
                   options->nvme_path, strerror(errno));
  if (sl_launch_inside())
    return sl_fail(SL_ERR_INPUT, "calibrate starts its own ranks; start it without mpirun or srun, with --world");
  SL_TRY(sl_output_check(options));
  SL_TRY(sl_exec_load(options->backend, &exec));
  if (exec->probe != NULL) SL_TRY(exec->probe(&devices));
  if (options->world > devices.count)
    return sl_fail(SL_ERR_INPUT, "--world: is %lld; expected at most the %s of this machine, %d",
                   (long long)options->world, sl_options_on_gpu(options) ? "GPUs" : "cores", devices.count);
  *most = options->world > 0 ? (int)options->world : devices.count;
  if (options->add) SL_TRY(add_earlier(all, points, exec->probe != NULL ? &devices : NULL));
  return find_analyzer(program);
}

/* Call before our own ranks add to the load. */
static void warn_of_others(void) {
  const double load = sl_machine_load();
  const int cores = sl_machine_cores();
  if (sl_machine_is_busy(load, cores))
    sl_warn("the machine's load was %.1f over the last minute, on %d cores: what others run disturbs the measurement; "
            "calibrate when it is quiet, or --add rounds at other times",
            load, cores);
}

static enum sl_status run(const struct sl_options *options) {
  char folder[PATH_BYTES], points_path[PATH_BYTES + 16];
  struct sl_points all = {0};
  enum sl_status status;
  int most = 0;
  if (options->points != NULL && options->out != NULL)
    return sl_fail(SL_ERR_INPUT,
                   "--points: stands beside --out; expected one of them: points are only measured, not fitted");
  if (options->points != NULL) return measure_ranks(options);
  if (options->out == NULL)
    return sl_fail(SL_ERR_INPUT, "--out: is missing; expected the profile to write, as profile.json");
  SL_TRY(name_folder(options->out, folder));
  snprintf(points_path, sizeof points_path, "%s/points.json", folder);
  SL_GO(check_request(options, &most, &all, points_path));
  sl_made_name(folder);
  SL_GO(sl_children_open());
  if (mkdir(folder, 0777) != 0 && errno != EEXIST)
    SL_GO(sl_fail(SL_ERR_INPUT, "--out: %s: cannot be created: %s", folder, strerror(errno)));
  warn_of_others();
  char *disk = options->nvme_path != NULL ? (char *)(uintptr_t)options->nvme_path : folder;
  SL_GO(measure_counts(options, most, disk, &all));
  json_t *json = sl_points_json(&all);
  status = sl_json_save(json, points_path);
  json_decref(json);
  SL_GO(status);
  SL_GO(fit(options, points_path, folder));
  SL_GO(show_profile(options));
done:
  sl_points_free(&all);
  return status;
}

const struct sl_command sl_command_calibrate = {
    .name = "calibrate",
    .bit = SL_CMD_CALIBRATE,
    .operands = "",
    .summary = "Measure this machine and fit a profile that predictions can use",
    .help =
        "Times kernels, matrix products and collectives with 1, 2, 4, ... ranks, and writes a cluster.json for\n"
        "--cluster, with the source of each number and a standard error beside each fitted one. Residuals and a\n"
        "picture stand in NAME.fit/. Leave the machine alone meanwhile: what disturbs the measurement widens the\n"
        "error bars. On a machine that others share, --add more rounds at other times. --backend cuda: on 1, 2, 4,\n"
        "... GPUs of this machine.\n",
    .example = "shardlab calibrate --backend host --out profile.json",
    .run = run,
};
