/* shardlab measure: runs the job for real. Started by a user, it checks the request and starts its ranks through a
 * launcher; started by a launcher, it is one rank. Only rank 0 prints and writes files. */
#include "cli/again.h"
#include "cli/children.h"
#include "cli/commands.h"
#include "cli/fit.h"
#include "cli/guard.h"
#include "cli/inputs.h"
#include "cli/launch.h"
#include "cli/launch_ranks.h"
#include "cli/nodes.h"
#include "cli/output.h"
#include "cli/place.h"
#include "cli/progress.h"
#include "cli/recovered.h"
#include "cli/recovery.h"
#include "cli/runner.h"
#include "cli/said.h"
#include "cli/start.h"
#include "cli/training.h"
#include "core/base/checked.h"
#include "core/base/launchers.h"
#include "core/base/limits.h"
#include "core/base/machine.h"
#include "core/base/made.h"
#include "core/base/new_file.h"
#include "core/base/printable.h"
#include "core/base/standard.h"
#include "core/base/timeout.h"
#include "core/base/units.h"
#include "core/check/rendezvous.h"
#include "core/checkpoint/history.h"
#include "core/plan/kernels.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The mean loss of each epoch; null if one of its losses is not finite. */
static void put_epochs(json_t *record, int64_t epoch_steps) {
  json_t *means = json_array(), *loss;
  const json_t *losses = json_object_get(record, "losses");
  double sum = 0;
  bool numbers = true;
  size_t i;
  json_array_foreach(losses, i, loss) {
    numbers = numbers && json_is_number(loss);
    sum += json_number_value(loss);
    if ((i + 1) % (size_t)epoch_steps != 0) continue;
    json_array_append_new(means, numbers ? json_real(sum / (double)epoch_steps) : json_null());
    sum = 0, numbers = true;
  }
  json_object_set_new(record, "epoch_losses", means);
  json_object_set_new(record, "epoch_steps", json_integer(epoch_steps));
}

/* Converts epochs to steps: an epoch is samples / global batch steps, rounded down. Samples left over begin the next
 * epoch, since the order of the data continues. */
static enum sl_status count_epochs(struct sl_options *options, const struct sl_setup *setup) {
  int64_t samples;
  if (options->epochs == 0) return SL_OK;
  if (sl_options_given(options, "steps"))
    return sl_fail(SL_ERR_INPUT, "--epochs: is given beside --steps; expected one of them");
  SL_TRY(sl_inputs_samples(options, setup, &samples));
  const int64_t steps = samples / setup->plan.global_batch;
  if (steps == 0)
    return sl_fail(SL_ERR_INPUT, "--epochs: the data has %lld samples; expected at least a global batch, %lld",
                   (long long)samples, (long long)setup->plan.global_batch);
  const int64_t all = sl_product(options->epochs, steps);
  if (all > SL_MAX_STEPS)
    return sl_fail(SL_ERR_INPUT, "--epochs: is %lld, of %lld steps each; expected at most %lld steps in all",
                   (long long)options->epochs, (long long)steps, (long long)SL_MAX_STEPS);
  options->steps = all;
  return SL_OK;
}

/* For one rank of a plan that runs alone: the world is the plan's, but there is one process. */
static enum sl_status join_alone(struct sl_options *options, bool inside) {
  const bool rank = sl_options_given(options, "as-rank"), world = sl_options_given(options, "of-world");
  if (!rank && !world) return SL_OK;
  if (!rank || !world)
    return sl_fail(SL_ERR_INPUT, "--%s: is given without --%s; expected both, such as --as-rank 3 --of-world 128",
                   rank ? "as-rank" : "of-world", rank ? "of-world" : "as-rank");
  if (!sl_options_on_gpu(options))
    return sl_fail(SL_ERR_INPUT, "--as-rank: is of the GPU; expected --backend cuda beside it");
  if (sl_options_given(options, "world") || inside)
    return sl_fail(SL_ERR_INPUT, "--as-rank: runs one rank alone; expected neither --world nor a launcher");
  if (options->as_rank >= options->of_world)
    return sl_fail(SL_ERR_INPUT, "--as-rank: is %lld; expected a rank below --of-world, %lld",
                   (long long)options->as_rank, (long long)options->of_world);
  options->world = options->of_world;
  return SL_OK;
}

/* The first of the steps at the end of the training whose losses are all not finite; 0 if the last loss is finite. */
static size_t lost_at(const json_t *record) {
  const json_t *losses = json_object_get(record, "losses");
  size_t n = json_array_size(losses);
  if (n == 0 || json_is_number(json_array_get(losses, n - 1))) return 0;
  while (n > 1 && !json_is_number(json_array_get(losses, n - 2))) n--;
  return n + (size_t)json_integer_value(json_object_get(record, "first_step"));
}

/* Every rank checks what it resumes from and would warn of the same: one rank does, or the launcher of ours has. */
static enum sl_status open_training(struct sl_training *training, const struct sl_options *options,
                                    const struct sl_setup *setup, const struct sl_place *place) {
  const bool told = sl_launch_ours() || place->rank > 0;
  if (told) sl_warn_set_sink(sl_warn_drop, NULL);
  const enum sl_status status = sl_training_open(training, options, setup);
  if (told) sl_said_once();
  return status;
}

static enum sl_status run_rank(const struct sl_options *options, const struct sl_setup *setup,
                               const struct sl_place *place) {
  const struct sl_exec_ops *exec;
  struct sl_training training;
  json_t *record;
  SL_TRY(sl_exec_load(options->backend, &exec));
  const int64_t epoch_steps = options->epochs > 0 ? options->steps / options->epochs : 0;
  struct sl_progress progress = {0};
  SL_TRY(open_training(&training, options, setup, place));
  const struct sl_step_state *from = training.resumed ? &training.from.manifest.state : NULL;
  const enum sl_status opened =
      place->rank == 0 ? sl_progress_open(&progress, options, setup, epoch_steps, from) : SL_OK;
  if (opened != SL_OK) return sl_training_close(&training), opened;
  if (epoch_steps > 0 && from != NULL) /* only for a recovered run: the losses of its epoch so far */
    progress.epoch_loss = sl_history_loss(training.from.manifest.history, from->step / epoch_steps * epoch_steps);
  const struct sl_runner runner = {.exec = exec,
                                   .setup = setup,
                                   .options = options,
                                   .command = SL_CMD_MEASURE,
                                   .trace = options->trace,
                                   .processes = options->of_world > 0 ? 1 : setup->plan.world,
                                   .process = place->rank,
                                   .progress = place->rank == 0 ? sl_progress_step : NULL,
                                   .evaluated = place->rank == 0 ? sl_progress_evaluated : NULL,
                                   .progress_context = &progress,
                                   .training = &training,
                                   .watch = place->rank == 0 && sl_progress_watches(&progress) ? sl_progress_op : NULL,
                                   .watch_context = &progress};
  const enum sl_status ran = sl_runner_run(&runner, &record);
  sl_training_close(&training);
  const enum sl_status ended = ran == SL_OK && place->rank == 0 ? sl_progress_end(&progress, record) : SL_OK;
  const enum sl_status told = sl_progress_close(&progress);
  SL_TRY(ran);
  if (ended != SL_OK) return json_decref(record), ended;
  if (told != SL_OK) return json_decref(record), told;
  if (place->rank > 0) {
    json_decref(record);
    return SL_OK;
  }
  if (epoch_steps > 0) put_epochs(record, epoch_steps);
  const enum sl_status once = sl_again_check();
  if (once != SL_OK) return json_decref(record), once;
  if (!options->quiet) sl_runner_summary(record, sl_output_text(options));
  const size_t wrong = options->allow_nonfinite ? 0 : lost_at(record);
  SL_TRY(sl_output_json(options, record));
  if (wrong == 0) return SL_OK;
  return sl_fail(SL_ERR_CHECK, "the loss is no finite number from step %zu on; --allow-nonfinite lets that pass",
                 wrong);
}

/* The world of the launcher and that of the flag must be the same. */
static enum sl_status join_world(struct sl_options *options, const struct sl_place *place) {
  if (options->recovered == NULL && sl_options_given(options, "world") && options->world != place->size)
    return sl_fail(SL_ERR_INPUT, "--world: is %lld, but the launcher started %d ranks; expected the same",
                   (long long)options->world, place->size);
  options->world = place->size;
  return SL_OK;
}

/* Whether a rank can create a file in this folder on this machine. */
static enum sl_status check_folder(const struct sl_config *config, const char *key, const char *path) {
  if (path[0] == '\0')
    return sl_json_fail(&config->doc, key, "is missing; expected a folder on the NVMe, since the device is \"nvme\"");
  if (access(path, W_OK | X_OK) == 0) return SL_OK;
  return sl_json_fail(&config->doc, key, "is \"%s\": %s; expected a folder to write to, on the NVMe", path,
                      strerror(errno));
}

static enum sl_status check_nvme(const struct sl_setup *setup) {
  const struct sl_config *config = &setup->config;
  if (setup->plan.strategy.optimizer_on_nvme)
    SL_TRY(check_folder(config, "zero_optimization.offload_optimizer.nvme_path", config->zero.optimizer_nvme_path));
  if (setup->plan.strategy.params_on_nvme)
    SL_TRY(check_folder(config, "zero_optimization.offload_param.nvme_path", config->zero.param_nvme_path));
  return SL_OK;
}

/* On the cuda backend, kernels and copy engines access the host's arena directly, so it is always pinned. */
static void warn_pinned(const struct sl_options *options, const struct sl_setup *setup) {
  const struct sl_config *c = &setup->config;
  if (!sl_options_on_gpu(options)) return;
  if (c->zero.offload_optimizer == SL_OFFLOAD_CPU && !c->zero.optimizer_pinned)
    sl_config_warn(c, "zero_optimization.offload_optimizer.pin_memory", "is false; this backend pins all host memory");
  else if (c->zero.offload_param == SL_OFFLOAD_CPU && !c->zero.param_pinned)
    sl_config_warn(c, "zero_optimization.offload_param.pin_memory", "is false; this backend pins all host memory");
}

/* Other frameworks' kernels can only be predicted. */
static enum sl_status check_kernels(const struct sl_setup *setup) {
  const struct sl_config *config = &setup->config;
  if (config->sl.kernels != SL_KERNELS_SHARDLAB)
    return sl_json_fail(&config->doc, "shardlab.kernels",
                        "\"%s\" cannot be measured, only predicted; expected \"shardlab\" (--kernels shardlab), whose "
                        "kernels a backend runs",
                        sl_kernel_set(config->sl.kernels)->name);
  if (config->sl.launch_blocking)
    return sl_json_fail(&config->doc, "shardlab.launch_blocking",
                        "true cannot be measured, only predicted; expected false");
  if (setup->plan.config->sl.attention <= SL_ATTENTION_FLASH) return SL_OK;
  return sl_json_fail(&config->doc, "shardlab.attention",
                      "this kernel cannot be measured, only predicted; expected \"materialised\" or \"flash\"");
}

/* All ranks share this machine's memory. Ranks that need more than it has would be killed by the system at some later
 * step; a GPU reports that itself before the first one. */
static enum sl_status check_memory(const struct sl_options *options, const struct sl_setup *setup) {
  struct sl_cluster here;
  char need[32], have[32];
  double bytes = 0;
  if (sl_options_on_gpu(options) || options->hostfile != NULL || options->hosts != NULL)
    return SL_OK; /* other hosts' memory is not known here */
  SL_TRY(sl_cluster_load(&here, "localhost"));
  const int64_t memory = here.device.memory;
  sl_cluster_free(&here);
  for (int rank = 0; rank < setup->plan.world; rank++)
    for (int space = SL_SPACE_DEVICE; space <= SL_SPACE_HOST; space++)
      bytes += (double)setup->job.classes[sl_job_class_of(&setup->job, rank)].arena_bytes[space];
  if (bytes <= (double)memory) return SL_OK;
  sl_format_bytes(need, sizeof need, bytes);
  sl_format_bytes(have, sizeof have, (double)memory);
  return sl_fail(SL_ERR_INPUT,
                 "--world: %d ranks of this model need %s of memory in all; expected at most the %s of this machine "
                 "(shardlab predict accepts this configuration)",
                 setup->plan.world, need, have);
}

static enum sl_status start(const struct sl_options *options, const struct sl_setup *setup,
                            const struct sl_nodes *nodes) {
  const struct sl_exec_ops *exec;
  SL_TRY(sl_training_check(options, setup));
  SL_TRY(sl_inputs_check(options, setup));
  SL_TRY(sl_output_check(options));
  if (!options->quiet) SL_TRY(sl_standard_check());
  SL_TRY(check_memory(options, setup));
  warn_pinned(options, setup);
  SL_TRY(sl_check(&setup->job));
  if (!nodes->remote && !options->dry_run) { /* a machine that only launches needs no backend */
    SL_TRY(sl_exec_load(options->backend, &exec));
    if (exec->probe != NULL) SL_TRY(exec->probe(NULL));
  }
  if (sl_output_terminal(stderr)) setenv(sl_progress_terminal, "1", 1);
  return SL_OK;
}

/* Names the files that an interrupted job may leave. */
static void name_outputs(const struct sl_options *options, int rank) {
  sl_children_name_output(options->trace, (int)options->world);
  sl_children_name_output(options->save, 1);
  sl_children_name_output(options->save_grads, 1);
  sl_children_name_output(options->json, 1);
  sl_training_name_outputs(options);
  if (rank > 0 || options->checkpoint == NULL) return;
  sl_made_name(options->checkpoint);
  sl_new_file_watch();
}

/* As sl_recovery_job.fits: the checks of a first start that depend on the number of ranks. */
static enum sl_status fits(const struct sl_options *options) {
  struct sl_setup setup;
  sl_warn_set_sink(sl_warn_drop, NULL);
  enum sl_status status = sl_setup_job(&setup, options, SL_SETUP_RANK);
  if (status == SL_OK) {
    status = sl_fit_check(options, &setup);
    if (status == SL_OK) status = check_memory(options, &setup);
    sl_setup_free(&setup);
  }
  sl_said_once();
  return status;
}

/* Starts the ranks, which print and write files themselves; they have reported their errors when they end. */
static enum sl_status launch(const struct sl_options *options, const struct sl_nodes *nodes, bool elastic) {
  const struct sl_recovery_job job = {.options = options, .nodes = nodes, .elastic = elastic, .fits = fits};
  struct sl_ended ended = {0};
  if (options->max_restarts > 0 && !options->dry_run)
    SL_TRY(sl_recovery_run(&job, &ended.code));
  else
    SL_TRY(sl_start(nodes, options, &ended));
  if (ended.code == 0) return SL_OK;
  if (ended.code == sl_exit_code(SL_ERR_DEVICE)) return sl_again_if_unknown(SL_ERR_DEVICE, options->argv);
  return ended.code == 2 ? SL_ERR_INPUT : SL_ERR_PEER;
}

/* Runs as one rank, or starts ranks where `nodes` says. */
static enum sl_status run_here(struct sl_options options, bool inside, const struct sl_nodes *nodes) {
  struct sl_setup setup;
  enum sl_status status;
  double limit_s;
  const bool gpu = sl_options_on_gpu(&options);
  const struct sl_place place = inside ? sl_place_read(gpu) : (struct sl_place){.size = 1, .local_size = 1};
  SL_TRY(sl_output_check(&options));
  SL_TRY(join_alone(&options, inside));
  if (inside) SL_TRY(join_world(&options, &place));
  if (options.poison && options.detect_anomaly)
    return sl_fail(SL_ERR_INPUT,
                   "--poison: fills dead memory with NaN, which --detect-anomaly would find; expected one");
  SL_TRY(sl_timeout_read(&limit_s));
  name_outputs(&options, place.rank);
  if (inside) {
    sl_guard_open(limit_s, place.rank);
    /* a peer or launcher on a lost host must cause a connection error, not a silent death */
    (void)signal(SIGPIPE, SIG_IGN);
  }
  /* only one rank warns: every rank reads the same config and would give the same warnings */
  if (inside && (sl_launch_ours() || place.rank > 0)) sl_warn_set_sink(sl_warn_drop, NULL);
  status = sl_setup_job(&setup, &options, SL_SETUP_RANK);
  sl_said_once();
  SL_TRY(status);
  if (place.rank == 0) SL_GO(sl_output_check_profile(&options, &setup.config));
  SL_GO(check_nvme(&setup));
  SL_GO(check_kernels(&setup));
  if (!inside || !sl_launch_ours()) SL_GO(sl_fit_check(&options, &setup));
  if (!inside) SL_GO(start(&options, &setup, nodes));
  SL_GO(count_epochs(&options, &setup));
  if (setup.config.sl.eval_interval > 0) SL_GO(sl_inputs_eval_iters(&options, &setup, &options.eval_batches));
  if (!inside && sl_nodes_start(nodes, &options)) {
    const bool elastic = sl_config_flag(&setup.config, "elasticity.enabled", false);
    sl_setup_free(&setup);
    return launch(&options, nodes, elastic);
  }
  /* the number of threads of the plan, so that the arena has the predicted size */
  if (options.threads == 0) options.threads = setup.plan.threads;
  status = run_rank(&options, &setup, &place);
  if (!inside) status = sl_again_if_unknown(status, options.argv);
  if (status == SL_OK) sl_guard_done();
done:
  sl_setup_free(&setup);
  return status;
}

/* Refuses processes started by torchrun, which are not MPI processes: each would start its own ranks. */
static enum sl_status refuse_torchrun(void) {
  const struct sl_launcher *torchrun = &sl_launchers[SL_LAUNCHER_TORCHRUN];
  const char *rank = getenv(torchrun->rank), *world = getenv(torchrun->world);
  if (rank == NULL || world == NULL || atoi(world) < 2) return SL_OK;
  return sl_fail(
      SL_ERR_INPUT,
      "%s: is %s of %s %s, as torchrun sets them; expected mpirun or srun for --backend host, whose ranks meet by "
      "MPI, or --backend cuda",
      torchrun->rank, sl_printable_of(rank).text, torchrun->world, sl_printable_of(world).text);
}

static enum sl_status run(const struct sl_options *given) {
  struct sl_options options = *given;
  struct sl_nodes nodes = {0};
  const bool inside = sl_options_on_gpu(given) ? sl_launch_ranks_inside() : sl_launch_inside();
  if (!inside && !sl_options_on_gpu(given)) SL_TRY(refuse_torchrun());
  struct sl_recovered recovered;
  bool watched = false;
  enum sl_status status;
  if (!inside) SL_TRY(sl_nodes_settle(&nodes, &options));
  if (!inside && sl_nodes_start(&nodes, &options)) SL_GO(sl_inputs_check_piped(&options));
  if (inside && sl_launch_ours()) SL_GO(sl_recovered_read(&recovered, &watched));
  if (!watched) SL_GO(sl_recovery_check(&options, &nodes, inside));
  if (watched) {
    options.recovered = &recovered;
    options.resume = recovered.from;
    if (recovered.from != NULL) options.init = NULL;
  }
  status = run_here(options, inside, &nodes);
done:
  sl_nodes_free(&nodes);
  return status;
}

const struct sl_command sl_command_measure = {
    .name = "measure",
    .bit = SL_CMD_MEASURE,
    .operands = "",
    .summary = "Train for real and record memory, traffic, step times and losses",
    .help =
        "--world N starts N ranks with mpirun (--backend cuda: by itself); under mpirun, srun or, on a GPU, torchrun\n"
        "this process joins as one rank. The world is tp x pp x the data-parallel ranks that are left:\n"
        "--world 4 --tp 2 --pp 2 --schedule zb-h1 --grad-accum 8.\n"
        "--hostfile FILE runs a rank on each slot of many hosts, reached by ssh without a password, that have this "
        "program, the\n"
        "inputs and this folder at the same paths; flags and rules are those of DeepSpeed's launcher. Rank 0, on the "
        "first host,\n"
        "writes the files.\n",
    .example =
        "shardlab measure --model gpt2-tiny --config examples/ds_zero2.json --world 2 --data examples/corpus.txt",
    .run = run,
};
