/* The option table and what follows from it; see options.h. An option may stand twice when its default differs between
 * commands. */
#include "cli/options.h"

#include "core/base/limits.h"
#include "core/base/nearest.h"
#include "core/base/units.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum type { TEXT, INTEGER, BYTES, REAL, FLAG, CHOICE };

enum {
  RUNS = SL_CMD_PREDICT | SL_CMD_MEASURE | SL_CMD_VALIDATE,
  JOBS = RUNS | SL_CMD_SHOW | SL_CMD_CHECK | SL_CMD_BENCH | SL_CMD_EXPORT,
  REAL_RUNS = SL_CMD_MEASURE | SL_CMD_VALIDATE
};

struct option {
  const char *name;
  enum type type;
  size_t offset;       /* of its field in sl_options */
  const char *keys;    /* of the config that it overrides, separated by |; NULL: none. See sl_options_override */
  const char *initial; /* default, as text; NULL: unset */
  const char *value;   /* usage: what stands after the flag; CHOICE: the words, separated by | */
  double low, high;    /* range of INTEGER and REAL */
  unsigned commands;   /* that take it */
  const char *help;
};

#define FIELD(name) offsetof(struct sl_options, name), NULL
#define OVERRIDES(name, keys) offsetof(struct sl_options, name), keys

static const struct option options_table[] = {
    {"model", TEXT, FIELD(model), NULL, "NAME|FILE", 0, 0, JOBS,
     "model preset, or a Hugging Face config.json (gpt2, llama)"},
    {"config", TEXT, FIELD(config), NULL, "FILE", 0, 0, JOBS, "DeepSpeed's ds_config.json (optional with --preset)"},
    {"from-megatron", TEXT, FIELD(from_megatron), NULL, "FILE|ARGS", 0, 0, JOBS,
     "in place of --config (and --model): Megatron-LM's arguments, or a script that has them"},
    {"to", CHOICE, FIELD(to), NULL, "deepspeed|megatron", 0, 0, SL_CMD_EXPORT, "whose words to write"},
    {"cluster", TEXT, FIELD(cluster), "localhost", "NAME|FILE", 0, 0, JOBS, "cluster preset, or a cluster.json"},
    {"device-memory", BYTES, FIELD(device_memory), NULL, "SIZE", 1, 1e15, RUNS | SL_CMD_CHECK,
     "refuse what needs more of a rank's device memory, and say what would fit: --device-memory 512MiB"},
    {"require-fit", FLAG, FIELD(require_fit), NULL, "", 0, 0, SL_CMD_PREDICT | SL_CMD_VALIDATE,
     "exit status 1 where the verdict is that it does not fit"},
    {"max-micro-batch", FLAG, FIELD(max_micro_batch), NULL, "", 0, 0, SL_CMD_PREDICT,
     "search the largest micro-batch that fits, and predict that"},
    {"min-world", FLAG, FIELD(min_world), NULL, "", 0, 0, SL_CMD_PREDICT,
     "search the fewest ranks that it fits on, and predict those"},
    {"max-seq", FLAG, FIELD(max_seq), NULL, "", 0, 0, SL_CMD_PREDICT,
     "search the longest sequence that fits, and predict that"},
    {"dtype", CHOICE, FIELD(dtype), NULL, "bf16|fp16|fp32", 0, 0, JOBS,
     "number type of parameters and activations: overrides bf16.enabled and fp16.enabled"},
    {"offload-optimizer", CHOICE, OVERRIDES(offload_optimizer, "zero_optimization.offload_optimizer.device"), NULL,
     "none|cpu|nvme", 0, 0, JOBS, "overrides zero_optimization.offload_optimizer.device"},
    {"offload-param", CHOICE, OVERRIDES(offload_param, "zero_optimization.offload_param.device"), NULL, "none|cpu|nvme",
     0, 0, JOBS, "overrides zero_optimization.offload_param.device"},
    {"cpu-checkpointing", FLAG, OVERRIDES(cpu_checkpointing, "activation_checkpointing.cpu_checkpointing"), NULL, "", 0,
     0, JOBS, "overrides activation_checkpointing.cpu_checkpointing: what --recompute full keeps is in host memory"},
    {"preset", TEXT, OVERRIDES(preset, "shardlab.preset"), NULL, "NAME", 0, 0, JOBS,
     "how a framework shards: ddp, fsdp, deepspeed-2 ... (shardlab show presets); makes --config optional"},
    {"world", INTEGER, FIELD(world), "1", "N", 1, SL_MAX_WORLD, JOBS, "ranks in all"},
    {"world", INTEGER, FIELD(world), NULL, "N", 1, 4096, SL_CMD_CALIBRATE,
     "most ranks to measure with (else one a core); 1, 2, 4, ... below it too"},
    {"quick", FLAG, FIELD(quick), NULL, "", 0, 0, SL_CMD_CALIBRATE, "fewer points, wider error bars"},
    {"quick", FLAG, FIELD(quick), NULL, "", 0, 0, SL_CMD_BENCH, "half a second a clock, not five"},
    {"rounds", INTEGER, FIELD(rounds), NULL, "N", 1, 1000, SL_CMD_CALIBRATE,
     "times that everything is measured (else 5 on the host, 3 on GPUs, 1 with --quick)"},
    {"add", FLAG, FIELD(add), NULL, "", 0, 0, SL_CMD_CALIBRATE,
     "keep the rounds that the profile --out was fitted to, and add these"},
    {"out", TEXT, FIELD(out), NULL, "FILE", 0, 0, SL_CMD_CALIBRATE, "the profile to write, a cluster.json"},
    {"nvme-path", TEXT, FIELD(nvme_path), NULL, "FOLDER", 0, 0, SL_CMD_CALIBRATE,
     "measure the NVMe there (default: where --out goes)"},
    {"points", TEXT, FIELD(points), NULL, "FILE", 0, 0, SL_CMD_CALIBRATE,
     "only measure, with the ranks that a launcher started; `shardlab-analyze fit` takes the file"},
    {"seq", INTEGER, OVERRIDES(seq, "shardlab.seq_len"), NULL, "TOKENS", 1, SL_MAX_ROWS, JOBS,
     "tokens per sequence (else the config's, else the model's)"},
    {"tp", INTEGER,
     OVERRIDES(
         tp,
         "shardlab.tp|tensor_parallel.autotp_size|tensor_parallel.tp.tp_size|tensor_parallel.tensor_parallel.tp_size"),
     NULL, "N", 1, SL_MAX_DEGREE, JOBS, "tensor-parallel ranks"},
    {"pp", INTEGER, OVERRIDES(pp, "shardlab.pp|pipeline.stages"), NULL, "N", 1, SL_MAX_DEGREE, JOBS, "pipeline stages"},
    {"cp", INTEGER, OVERRIDES(cp, "shardlab.cp"), NULL, "N", 1, SL_MAX_DEGREE, JOBS, "context-parallel ranks"},
    {"rank-order", CHOICE, OVERRIDES(rank_order, "shardlab.rank_order"), NULL,
     "tp-dp-pp|tp-pp-dp|dp-tp-pp|dp-pp-tp|pp-tp-dp|pp-dp-tp", 0, 0, JOBS,
     "axes of the ranks, the fastest first: who shares a node (Megatron-LM's --use-tp-pp-dp-mapping: tp-pp-dp)"},
    {"schedule", TEXT, OVERRIDES(schedule, "shardlab.schedule"), NULL, "NAME|FILE", 0, 0, JOBS,
     "gpipe, 1f1b, interleaved, looped-bfs, zb-h1, interleaved-zb, zbv, or PyTorch's CSV: --schedule zb-h1"},
    {"virtual-stages", INTEGER, OVERRIDES(virtual_stages, "shardlab.virtual_stages"), NULL, "N", 1, SL_MAX_DEGREE, JOBS,
     "pipeline stages a rank"},
    {"stages", TEXT, OVERRIDES(stages, "shardlab.stages|pipeline.partition|pipeline.partition_method"), NULL,
     "LIST|WORD", 0, 0, JOBS,
     "layers of each stage: --stages 13,13,0,9; or dealt uniform, by parameters, flops or cost"},
    {"sequence-parallel", FLAG, OVERRIDES(sequence_parallel, "shardlab.sequence_parallel"), NULL, "", 0, 0, JOBS,
     "with --tp: split norms and dropout along the sequence"},
    {"tp-comm-overlap", FLAG, OVERRIDES(tp_comm_overlap, "shardlab.tp_comm_overlap"), NULL, "", 0, 0, JOBS,
     "with --sequence-parallel: its transfers in pieces beside products (Megatron-LM's switch of the name)"},
    {"overlap-param-gather", FLAG, OVERRIDES(overlap_param_gather, "shardlab.overlap_param_gather"), NULL, "", 0, 0,
     JOBS, "preset megatron-distributed-optimizer: the next forward gathers updated parameters, bucket by bucket"},
    {"recompute", TEXT, OVERRIDES(recompute, "shardlab.recompute"), NULL, "WORD[,WORD...]", 0, 0, JOBS,
     "none, selective, selective_op or full; or one a pipeline rank: --recompute full,selective,none,none"},
    {"recompute-modules", TEXT, OVERRIDES(recompute_modules, "shardlab.recompute_modules"), NULL, "LIST", 0, 0, JOBS,
     "what selective recomputes: --recompute-modules core_attn,layernorm"},
    {"recompute-every", INTEGER, OVERRIDES(recompute_every, "shardlab.recompute_every"), NULL, "N", 1, SL_MAX_LAYERS,
     JOBS, "recompute layers 0, N, 2N ... only"},
    {"shard-size", INTEGER, OVERRIDES(shard_size, "shardlab.shard_size|zero_optimization.mics_shard_size"), NULL, "N",
     0, SL_MAX_DEGREE, JOBS, "shard inside groups of N data-parallel ranks, replicate across them; 0: all"},
    {"csv", FLAG, FIELD(csv), NULL, "", 0, 0, SL_CMD_SHOW, "`show schedule` prints PyTorch's CSV"},
    {"lowered", FLAG, FIELD(lowered), NULL, "", 0, 0, SL_CMD_SHOW,
     "`show schedule` with its sends, receives and reductions (--zero-stage 3: unshards too)"},
    {"svg", TEXT, FIELD(svg), NULL, "FILE", 0, 0, SL_CMD_SHOW, "`show schedule` draws to this file too"},
    {"attention", CHOICE, OVERRIDES(attention, "shardlab.attention"), NULL,
     "materialised|flash|flash1|flash3|cudnn|flash-on-gpu", 0, 0, JOBS,
     "keep the probabilities for backward, or form them again by FlashAttention 2 (the default on GPUs), or another "
     "kernel: only predicted"},
    {"kernels", CHOICE, OVERRIDES(kernels, "shardlab.kernels"), NULL,
     "shardlab|megatron-fused|megatron-unfused|torch-eager|torch-compile|llm-foundry|nanotron|megatron-deepspeed|"
     "aleph-alpha-scaling|torch-compile-blocks",
     0, 0, JOBS, "whose kernels to predict; a measure runs shardlab's"},
    {"make-vocab-size-divisible-by", INTEGER, OVERRIDES(vocab_multiple, "shardlab.make_vocab_size_divisible_by"), NULL,
     "N", 1, SL_MAX_DEGREE, JOBS,
     "pad the vocabulary with rows that no softmax sees (GPUs: 128 where it is no multiple of 8)"},
    {"tf32", FLAG, OVERRIDES(tf32, "shardlab.tf32"), NULL, "", 0, 0, JOBS,
     "fp32 products of factors rounded to tf32, on a GPU's matrix units"},
    {"tf32", FLAG, FIELD(tf32), NULL, "", 0, 0, SL_CMD_CALIBRATE, "with --backend cuda: products in tf32 too"},
    {"fuse-epilogues", CHOICE, OVERRIDES(fuse_epilogues, "shardlab.fuse_epilogues"), NULL, "gpu|always|never", 0, 0,
     JOBS, "GELU, its gradient and bias gradients inside matrix products (gpu: on devices of that kind)"},
    {"micro-batch", INTEGER, OVERRIDES(micro_batch, "train_micro_batch_size_per_gpu"), NULL, "N", 1, SL_MAX_TOKENS,
     JOBS, "overrides train_micro_batch_size_per_gpu"},
    {"grad-accum", INTEGER, OVERRIDES(grad_accum, "gradient_accumulation_steps"), NULL, "N", 1, SL_MAX_MICRO_BATCHES,
     JOBS, "overrides gradient_accumulation_steps"},
    {"train-batch", INTEGER, OVERRIDES(train_batch, "train_batch_size"), NULL, "N", 1, SL_MAX_BATCH, JOBS,
     "overrides train_batch_size"},
    {"zero-stage", INTEGER, OVERRIDES(zero_stage, "zero_optimization.stage"), NULL, "N", 0, 3, JOBS,
     "overrides zero_optimization.stage"},
    {"seed", INTEGER, OVERRIDES(seed, "shardlab.seed"), NULL, "N", 0, 9007199254740992.0, JOBS,
     "of initial weights, dropout and data order, and of --jitter"},
    {"nccl-algo", CHOICE, FIELD(nccl_algo), "ring", "ring|choice", 0, 0, SL_CMD_PREDICT,
     "collectives as NCCL's ring, which profiles are fitted with, or as what NCCL would choose for each size"},
    {"share-links", FLAG, FIELD(share_links), NULL, "", 0, 0, SL_CMD_PREDICT,
     "transfers of a device that overlap share its links, max-min (else each has them to itself)"},
    {"jitter", REAL, FIELD(jitter), NULL, "X", 0, 10, SL_CMD_PREDICT,
     "assume noise: seconds of each compute op vary by this standard deviation, relative; seeded by --seed"},
    {"straggler", TEXT, FIELD(stragglers), NULL, "RANK:FACTOR[,...]", 0, 0, SL_CMD_PREDICT,
     "assume slow ranks: compute of rank 3 takes half as long again: --straggler 3:1.5"},
    {"strict", FLAG, FIELD(strict), NULL, "", 0, 0, JOBS, "unknown top-level keys of the config are errors"},
    {"backend", CHOICE, FIELD(backend), "host", "host|cuda", 0, 0, REAL_RUNS | SL_CMD_CALIBRATE,
     "what runs the program"},
    {"data", TEXT, FIELD(data), NULL, "FILE", 0, 0, REAL_RUNS, "text, llm.c token shard, or random:N for an mlp"},
    {"init", TEXT, FIELD(init), NULL, "FILE", 0, 0, REAL_RUNS,
     "initial weights (else seeded): a safetensors file, or a folder of them with Hugging Face's index"},
    {"steps", INTEGER, FIELD(steps), "20", "N", 1, SL_MAX_STEPS, REAL_RUNS, "optimizer steps"},
    {"steps", INTEGER, FIELD(steps), "1", "N", 1, SL_MAX_STEPS, SL_CMD_PREDICT,
     "optimizer steps (they repeat exactly)"},
    {"epochs", INTEGER, FIELD(epochs), NULL, "N", 1, SL_MAX_STEPS, SL_CMD_MEASURE,
     "instead of --steps: passes over the data, samples / global batch steps each"},
    {"save", TEXT, FIELD(save), NULL, "FILE", 0, 0, SL_CMD_MEASURE, "write the trained weights, safetensors"},
    {"save-grads", TEXT, FIELD(save_grads), NULL, "FILE", 0, 0, SL_CMD_MEASURE,
     "write the last step's gradients, safetensors"},
    {"checkpoint", TEXT, FIELD(checkpoint), NULL, "DIR", 0, 0, SL_CMD_MEASURE,
     "folder of checkpoints of the whole training state, one behind the last step and as --save-every says"},
    {"save-every", INTEGER, FIELD(save_every), NULL, "N", 1, SL_MAX_STEPS, SL_CMD_MEASURE,
     "with --checkpoint: one every N steps, written while training goes on"},
    {"save-every", INTEGER, FIELD(save_every), NULL, "N", 1, SL_MAX_STEPS, SL_CMD_PREDICT,
     "what `measure --save-every` would write, and how long steps would wait for it"},
    {"keep", INTEGER, FIELD(keep), NULL, "N", 1, SL_MAX_STEPS, SL_CMD_MEASURE,
     "with --checkpoint: the newest N stay (else all)"},
    {"resume", TEXT, FIELD(resume), NULL, "latest|PATH", 0, 0, SL_CMD_MEASURE,
     "go on from a checkpoint, whatever plan wrote it: the latest of --checkpoint, or the one at PATH; --steps counts "
     "from "
     "the training's start"},
    {"max-restarts", INTEGER, FIELD(max_restarts), NULL, "N", 1, 1000, SL_CMD_MEASURE,
     "start the ranks again, at most N times, when one dies, a host vanishes or they wait too long: from the last good "
     "checkpoint of "
     "--checkpoint, and with those that are left where \"elasticity\" allows it"},
    {"threads", INTEGER, FIELD(threads), NULL, "N", 1, SL_MAX_THREADS, JOBS, "threads of a rank (else cores / ranks)"},
    {"as-rank", INTEGER, FIELD(as_rank), NULL, "R", 0, SL_MAX_WORLD - 1, SL_CMD_MEASURE,
     "with --of-world, on a GPU: this rank of the plan alone, its communication looped back"},
    {"of-world", INTEGER, FIELD(of_world), NULL, "N", 1, SL_MAX_WORLD, SL_CMD_MEASURE,
     "the plan's ranks: --as-rank 3 --of-world 128"},
    {"hostfile", TEXT, FIELD(hostfile), NULL, "FILE", 0, 0, REAL_RUNS,
     "hosts to run on, a line \"worker-0 slots=4\" each, one rank a slot (else /job/hostfile, else this machine)"},
    {"hosts", TEXT, FIELD(hosts), NULL, "LIST", 0, 0, REAL_RUNS,
     "instead of --hostfile, hosts with their slots: --hosts worker-0:0,1@worker-1:0,1"},
    {"include", TEXT, FIELD(include), NULL, "LIST", 0, 0, REAL_RUNS,
     "of those hosts and slots only these: --include worker-0@worker-1:0,2"},
    {"exclude", TEXT, FIELD(exclude), NULL, "LIST", 0, 0, REAL_RUNS, "all of them but these: --exclude worker-1:0"},
    {"num-nodes", INTEGER, FIELD(num_nodes), NULL, "N", 1, SL_MAX_WORLD, REAL_RUNS, "the first N hosts only"},
    {"num-gpus", INTEGER, FIELD(num_gpus), NULL, "N", 1, SL_MAX_WORLD, REAL_RUNS,
     "the first N slots of each host only"},
    {"launcher", CHOICE, FIELD(launcher), NULL, "ssh|mpirun|srun", 0, 0, REAL_RUNS,
     "what starts ranks on other hosts (else mpirun; --backend cuda: ssh)"},
    {"ssh-port", INTEGER, FIELD(ssh_port), NULL, "N", 1, 65535, REAL_RUNS, "port of ssh on the hosts"},
    {"master-addr", TEXT, FIELD(master_addr), NULL, "ADDRESS", 0, 0, REAL_RUNS,
     "--backend cuda: where rank 0 is (else what `hostname -I` says on the first host)"},
    {"master-port", INTEGER, FIELD(master_port), "29500", "N", 1, 65535, REAL_RUNS,
     "--backend cuda: the port where ranks meet (this machine alone: one that is free)"},
    {"no-ssh", FLAG, FIELD(no_ssh), NULL, "", 0, 0, SL_CMD_MEASURE,
     "--backend cuda: start the ranks of this host alone; run by hand on each, with --node-rank"},
    {"node-rank", INTEGER, FIELD(node_rank), NULL, "N", 0, SL_MAX_WORLD - 1, SL_CMD_MEASURE,
     "with --no-ssh: this host's place among the hosts, from 0"},
    {"dry-run", FLAG, FIELD(dry_run), NULL, "", 0, 0, REAL_RUNS,
     "print the commands that would start the ranks, one a line"},
    {"allow-nonfinite", FLAG, FIELD(allow_nonfinite), NULL, "", 0, 0, REAL_RUNS,
     "exit status 0 though training ended with a loss that is no finite number"},
    {"detect-anomaly", FLAG, FIELD(detect_anomaly), NULL, "", 0, 0, SL_CMD_MEASURE,
     "end at the first op whose result is not finite, and name it; looks at every result, so it is slow"},
    {"poison", FLAG, FIELD(poison), NULL, "", 0, 0, SL_CMD_MEASURE, "fill dead memory with NaN: finds use after free"},
    {"runs", INTEGER, FIELD(runs), "1", "N", 1, 1000, SL_CMD_PREDICT,
     "the interval is of the median of N measured runs at different times"},
    {"table", TEXT, FIELD(table), NULL, "FILE.csv", 0, 0, SL_CMD_PREDICT,
     "instead of a model and a config: a prediction for each row of this table"},
    {"sweep", TEXT, FIELD(sweep), NULL, "FLAG=VALUES...", 0, 0, SL_CMD_PREDICT,
     "predict every combination: --sweep tp=1,2,4 zero-stage=0..3 micro-batch=1..16"},
    {"out", TEXT, FIELD(out), NULL, "FILE.csv", 0, 0, SL_CMD_PREDICT,
     "with --table or --sweep: where the predictions go"},
    {"out", TEXT, FIELD(out), NULL, "FOLDER", 0, 0, SL_CMD_CHECKPOINT, "of export: the folder to make"},
    {"single", FLAG, FIELD(single), NULL, "", 0, 0, SL_CMD_CHECKPOINT,
     "of export: all weights in one file, whatever its size"},
    {"jobs", INTEGER, FIELD(jobs), NULL, "N", 1, 1024, SL_CMD_PREDICT,
     "with --table or --sweep: processes (else one a core)"},
    {"no-fold", FLAG, FIELD(no_fold), NULL, "", 0, 0, SL_CMD_PREDICT, "simulate every rank, not one of each kind"},
    {"per-rank", FLAG, FIELD(per_rank), NULL, "", 0, 0, SL_CMD_PREDICT,
     "a record of more than 256 ranks lists all of them, not one of each kind"},
    {"program", CHOICE, FIELD(program), "step", "init|step|compressed|save", 0, 0, SL_CMD_SHOW,
     "which program `show program` prints"},
    {"rank", INTEGER, FIELD(rank), "0", "N", 0, SL_MAX_WORLD - 1, SL_CMD_SHOW,
     "whose program or memory to show (else rank 0's program, the memory of the one that needs most)"},
    {"time-tolerance", REAL, FIELD(time_tolerance), NULL, "X", 0, 1e6, SL_CMD_COMPARE,
     "largest relative error of the step time (else it is shown, not judged)"},
    {"time-tolerance", REAL, FIELD(time_tolerance), "0.5", "X", 0, 1e6, SL_CMD_VALIDATE,
     "largest relative error of the step time"},
    {"json", TEXT, FIELD(json), NULL, "FILE", 0, 0,
     JOBS | SL_CMD_COMPARE | SL_CMD_BACKENDS | SL_CMD_CALIBRATE | SL_CMD_CHECKPOINT,
     "write the result as JSON; - is standard output"},
    {"trace", TEXT, FIELD(trace), NULL, "FILE", 0, 0, RUNS & ~SL_CMD_VALIDATE, "write a trace for ui.perfetto.dev"},
    {"trace", TEXT, FIELD(trace), NULL, "FILE", 0, 0, SL_CMD_VALIDATE,
     "write both traces, last step beside last step, for ui.perfetto.dev"},
    {"quiet", FLAG, FIELD(quiet), NULL, "", 0, 0,
     RUNS | SL_CMD_COMPARE | SL_CMD_CHECK | SL_CMD_BENCH | SL_CMD_CHECKPOINT, "errors only"},
};

enum { OPTIONS = sizeof options_table / sizeof *options_table };
_Static_assert((int)OPTIONS <= (int)SL_MAX_OPTIONS, "sl_options.given has a place for each option");

static const struct option *find(const char *name, size_t length, unsigned commands) {
  for (int i = 0; i < OPTIONS; i++)
    if (strlen(options_table[i].name) == length && strncmp(options_table[i].name, name, length) == 0 &&
        (options_table[i].commands & commands))
      return &options_table[i];
  return NULL;
}

static void *field(const struct option *option, const struct sl_options *options) {
  return (char *)(uintptr_t)options + option->offset;
}

static enum sl_status unknown_flag(const struct sl_command *command, const char *flag, size_t length) {
  const char *words[OPTIONS];
  size_t n = 0;
  char word[128];
  snprintf(word, sizeof word, "%.*s", (int)length, flag);
  if (find(flag, length, ~0u) != NULL)
    return sl_fail(SL_ERR_INPUT, "--%s: is not a flag of '%s'; 'shardlab %s --help' lists those", word, command->name,
                   command->name);
  for (int i = 0; i < OPTIONS; i++)
    if (options_table[i].commands & command->bit) words[n++] = options_table[i].name;
  const char *near = sl_nearest(word, words, n);
  if (near != NULL)
    return sl_fail(SL_ERR_INPUT, "--%s: is no flag of '%s'; did you mean --%s?", word, command->name, near);
  return sl_fail(SL_ERR_INPUT, "--%s: is no flag of '%s'; 'shardlab %s --help' lists them", word, command->name,
                 command->name);
}

static enum sl_status set_integer(const struct option *option, const char *text, struct sl_options *options) {
  char *end;
  errno = 0;
  const long long value = strtoll(text, &end, 10);
  if (end == text || *end != '\0' || errno != 0 || value < (long long)option->low || value > (long long)option->high)
    return sl_fail(SL_ERR_INPUT, "--%s: is '%s'; expected an integer from %.0f to %.0f", option->name, text,
                   option->low, option->high);
  *(int64_t *)field(option, options) = value;
  return SL_OK;
}

static enum sl_status set_bytes(const struct option *option, const char *text, struct sl_options *options) {
  double value;
  if (!sl_parse_bytes(text, &value) || value < option->low || value > option->high)
    return sl_fail(SL_ERR_INPUT, "--%s: is '%s'; expected a size, such as 512MiB or 16GB", option->name, text);
  *(int64_t *)field(option, options) = (int64_t)value;
  return SL_OK;
}

static enum sl_status set_real(const struct option *option, const char *text, struct sl_options *options) {
  char *end;
  const double value = strtod(text, &end);
  if (end == text || *end != '\0' || !isfinite(value) || value < option->low || value > option->high)
    return sl_fail(SL_ERR_INPUT, "--%s: is '%s'; expected a number from %g to %g", option->name, text, option->low,
                   option->high);
  *(double *)field(option, options) = value;
  return SL_OK;
}

static bool is_choice(const char *words, const char *text) {
  const size_t length = strlen(text);
  for (const char *at = words; at != NULL; at = strchr(at, '|') != NULL ? strchr(at, '|') + 1 : NULL)
    if (length > 0 && strcspn(at, "|") == length && strncmp(at, text, length) == 0) return true;
  return false;
}

static enum sl_status set(const struct option *option, const char *text, struct sl_options *options) {
  switch (option->type) {
  case FLAG:
    *(bool *)field(option, options) = true;
    return SL_OK;
  case INTEGER:
    return set_integer(option, text, options);
  case BYTES:
    return set_bytes(option, text, options);
  case REAL:
    return set_real(option, text, options);
  case CHOICE:
    if (!is_choice(option->value, text))
      return sl_fail(SL_ERR_INPUT, "--%s: is '%s'; expected one of %s", option->name, text, option->value);
    break;
  case TEXT:
    if (text[0] == '\0') return sl_fail(SL_ERR_INPUT, "--%s: is empty; expected %s", option->name, option->value);
    break;
  }
  *(const char **)field(option, options) = text;
  return SL_OK;
}

/* One "--name", "--name value" or "--name=value" at argv[*at]; *at moves over a value that stands apart. */
static enum sl_status parse_flag(struct sl_options *options, const struct sl_command *command, int argc, char **argv,
                                 int *at) {
  const char *flag = argv[*at] + 2;
  const size_t length = strcspn(flag, "=");
  const struct option *option = find(flag, length, command->bit);
  if (option == NULL) return unknown_flag(command, flag, length);
  const char *value = flag[length] == '=' ? flag + length + 1 : NULL;
  if (option->type == FLAG && value != NULL)
    return sl_fail(SL_ERR_INPUT, "--%s: is '%s'; expected no value", option->name, value);
  if (option->type != FLAG && value == NULL) {
    /* a word with blanks is no flag: the arguments behind --from-megatron */
    if (*at + 1 >= argc || (strncmp(argv[*at + 1], "--", 2) == 0 && strchr(argv[*at + 1], ' ') == NULL))
      return sl_fail(SL_ERR_INPUT, "--%s: has no value; expected %s", option->name, option->value);
    value = argv[++*at];
  }
  options->given[option - options_table] = true;
  return set(option, value, options);
}

enum sl_status sl_options_parse(struct sl_options *options, const struct sl_command *command, int argc, char **argv,
                                bool *help) {
  memset(options, 0, sizeof *options);
  *help = false;
  options->time_tolerance = -1;
  for (int i = 0; i < OPTIONS; i++)
    if ((options_table[i].commands & command->bit) && options_table[i].initial != NULL)
      SL_TRY(set(&options_table[i], options_table[i].initial, options));
  for (int i = 0; i < argc; i++) {
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
      *help = true;
      return SL_OK;
    }
    if (strncmp(argv[i], "--", 2) == 0) {
      SL_TRY(parse_flag(options, command, argc, argv, &i));
    } else if (argv[i][0] == '-' && argv[i][1] != '\0') {
      return sl_fail(SL_ERR_INPUT, "%s: is no flag of '%s'; flags start with --", argv[i], command->name);
    } else if (options->operand_count == command->max_operands) {
      return sl_fail(SL_ERR_INPUT, "'%s': is one argument too many; usage: shardlab %s%s%s [flags]", argv[i],
                     command->name, command->operands[0] != '\0' ? " " : "", command->operands);
    } else {
      options->operand[options->operand_count++] = argv[i];
    }
  }
  if (options->operand_count < command->min_operands)
    return sl_fail(SL_ERR_INPUT, "'%s' has %d of its arguments; usage: shardlab %s %s [flags]", command->name,
                   options->operand_count, command->name, command->operands);
  return SL_OK;
}

enum sl_status sl_options_set(struct sl_options *options, enum sl_command_bit command, const char *name,
                              const char *text) {
  const struct option *option = find(name, strlen(name), command);
  if (option == NULL) return sl_fail(SL_ERR_INTERNAL, "--%s: is no flag of this command", name);
  options->given[option - options_table] = true;
  return set(option, text, options);
}

enum sl_status sl_options_set_word(struct sl_options *options, enum sl_command_bit command, const char *name,
                                   const char *text) {
  const struct option *option = find(name, strlen(name), command);
  if (option == NULL || option->type != FLAG) return sl_options_set(options, command, name, text);
  if (strcmp(text, "off") == 0) return SL_OK;
  if (strcmp(text, "on") == 0) return sl_options_set(options, command, name, "");
  return sl_fail(SL_ERR_INPUT, "--%s: is '%s'; expected on or off", name, text);
}

bool sl_options_sweeps(const char *name) {
  static const char *const others[] = {"model", "cluster", "world", "dtype"};
  const struct option *option = find(name, strlen(name), SL_CMD_PREDICT);
  if (option == NULL) return false;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strcmp(name, others[i]) == 0) return true;
  return option->keys != NULL;
}

bool sl_options_given(const struct sl_options *options, const char *name) {
  for (int i = 0; i < OPTIONS; i++)
    if (strcmp(options_table[i].name, name) == 0 && options->given[i]) return true;
  return false;
}

const char *sl_options_beside(const struct sl_options *options, const char *const *names) {
  for (int i = 0; i < OPTIONS; i++) {
    if (!options->given[i]) continue;
    const char *const *name = names;
    while (*name != NULL && strcmp(*name, options_table[i].name) != 0) name++;
    if (*name == NULL) return options_table[i].name;
  }
  return NULL;
}

bool sl_options_text(int i, enum sl_command_bit command, struct sl_option_text *out) {
  if (i < 0 || i >= OPTIONS) return false;
  const struct option *o = &options_table[i];
  *out = (struct sl_option_text){.name = (o->commands & (unsigned)command) ? o->name : NULL,
                                 .value = o->value,
                                 .initial = o->initial,
                                 .help = o->help,
                                 .flag = o->type == FLAG,
                                 .choice = o->type == CHOICE};
  return true;
}

static json_t *value_json(const struct option *option, const struct sl_options *options) {
  switch (option->type) {
  case FLAG:
    return json_boolean(*(bool *)field(option, options));
  case INTEGER:
  case BYTES:
    return json_integer(*(int64_t *)field(option, options));
  case REAL:
    return json_real(*(double *)field(option, options));
  case TEXT:
  case CHOICE:
    break;
  }
  return json_string(*(const char **)field(option, options)); /* NULL for no text */
}

bool sl_options_override(const struct sl_options *options, int i, const char **keys, json_t **value) {
  if (i < 0 || i >= OPTIONS) return false;
  const struct option *option = &options_table[i];
  *keys = option->keys;
  *value = option->keys != NULL && options->given[i] ? value_json(option, options) : NULL;
  return true;
}

json_t *sl_options_dump(const struct sl_options *options, enum sl_command_bit command) {
  json_t *dump = json_object();
  for (int i = 0; i < OPTIONS; i++) {
    const struct option *option = &options_table[i];
    const bool set_here = options->given[i] || option->initial != NULL;
    if ((option->commands & (unsigned)command) && set_here)
      json_object_set_new(dump, option->name, value_json(option, options));
  }
  return dump;
}
