/* label: cli
 * Flags about hosts, from outside: the commands that a dry run prints, what becomes of the world, and launchers that
 * are started. */
#include "tests/support/cli_run.h"

#define JOB                                                                                                            \
  "--model gpt2-tiny --config " SL_SOURCE_DIR "/examples/ds_zero2.json --data " SL_SOURCE_DIR                          \
  "/examples/corpus.txt --seq 16 "

static void drop_file(const char *name) {
  char path[600];
  snprintf(path, sizeof path, "%s/%s", scratch, name);
  assert_int_equal(unlink(path), 0);
}

static void check_dry(const char *flags, int lines, const char *const *parts) {
  if (shardlab(scratch, "measure " JOB "--dry-run %s", flags) != 0) fail_msg("%s: %s", flags, err);
  assert_string_equal(err, "");
  assert_int_equal(lines_with(out, "\n"), lines);
  for (; *parts != NULL; parts++)
    if (strstr(out, *parts) == NULL) fail_msg("%s: no '%s' in %s", flags, *parts, out);
}

/* In a shell that has none of the variables that the launcher would have set. */
static void a_dry_command_runs_as_it_stands(void) {
  char command[1024];
  assert_int_equal(shardlab(scratch, "measure " JOB "--world 2 --quiet --dry-run"), 0);
  write_file("dry", out);
  snprintf(
      command, sizeof command,
      "cd '%s' && unset OMP_NUM_THREADS OPENBLAS_NUM_THREADS && sh dry 2>told && ! grep 'environment variable' told",
      scratch);
  if (system(command) != 0) fail_msg("%s", out);
  drop_file("dry"), drop_file("told");
}

static void a_dry_run_prints_commands(void **state) {
  (void)state;
  write_file("hosts", "# two\nworker-0 slots=2\nworker-1 slots=4\n");
  if (has_host()) {
    check_dry("--hostfile hosts", 1,
              (const char *[]){"mpirun -np 6 ", " --host worker-0:2,worker-1:4 --map-by slot ",
                               " --mca plm_rsh_agent ssh ", "bin/shardlab measure --model gpt2-tiny ", NULL});
    check_dry("--hostfile hosts --num-nodes 1 --ssh-port 2200", 1,
              (const char *[]){" --host worker-0:2 ", " -p 2200' --mca ", NULL});
    check_dry("--num-gpus 3", 1, (const char *[]){"env OMP_NUM_THREADS=", "mpirun -np 3 ", NULL});
    assert_null(strstr(out, "--host "));
    a_dry_command_runs_as_it_stands();
    assert_int_equal(shardlab(scratch, "validate " JOB "--dry-run --hostfile hosts --quiet"), 0);
    assert_non_null(strstr(out, " --host worker-0:2,worker-1:4 "));
  }
  check_dry(
      "--hostfile hosts --launcher srun --num-gpus 2", 1,
      (const char *[]){"srun --nodes=2 --ntasks=4 --ntasks-per-node=2 --nodelist=worker-0,worker-1 --chdir=", NULL});
  check_dry("--hostfile hosts --backend cuda --include worker-1:1,3@worker-0:0 --master-port 4242", 2,
            (const char *[]){"ssh -o BatchMode=yes ", " worker-0 'cd ", " worker-1 'cd ", "--no-ssh --node-rank=1 ",
                             "--hosts=worker-0:0@worker-1:1,3 --master-addr=worker-0 --master-port=4242'", NULL});
  assert_null(strstr(out, "--include"));
  assert_null(strstr(out, "--dry-run"));
  check_dry("--hosts a:1,3@b:0 --backend cuda --no-ssh --node-rank 0", 2,
            (const char *[]){"env RANK=0 LOCAL_RANK=0 WORLD_SIZE=3 LOCAL_WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=29500 "
                             "CUDA_VISIBLE_DEVICES=1,3 ",
                             "env RANK=1 LOCAL_RANK=1 WORLD_SIZE=3 ", NULL});
  drop_file("hosts");
}

/* DeepSpeed's launcher has underscores in its flags: they choose hosts, and none of them reaches a rank. */
static void flags_as_deepspeed_writes_them(void **state) {
  (void)state;
  write_file("hosts", "worker-0 slots=2\nworker-1 slots=4\nworker-2 slots=4\n");
  check_dry("--hostfile hosts --num_nodes=2 --num_gpus 2 --backend cuda --master_addr 10.0.0.5 --master_port 4242 "
            "--ssh_port 2200",
            2,
            (const char *[]){" -p 2200 worker-0 'cd ",
                             "--hosts=worker-0:0,1@worker-1:0,1 --master-addr=10.0.0.5 --master-port=4242'", NULL});
  assert_null(strstr(out, "--num_")), assert_null(strstr(out, "--master_")), assert_null(strstr(out, "--ssh_"));
  check_dry("--hostfile hosts --num_nodes 1 --backend cuda --no_ssh --node_rank 0 --master_addr a", 2,
            (const char *[]){"env RANK=0 LOCAL_RANK=0 WORLD_SIZE=2 ", NULL});
  assert_null(strstr(out, "--no_ssh")), assert_null(strstr(out, "--node_rank"));
  drop_file("hosts");
}

/* A launcher that only says what it was called with. */
static void srun_is_started(void **state) {
  char path[4096];
  const char *before = getenv("PATH");
  (void)state;
  char *kept = strdup(before);
  write_file("hosts", "worker-0 slots=2\nworker-1 slots=2\n");
  write_file("srun", "#!/bin/sh\nprintf 'srun: %s\\n' \"$@\"\nexit 5\n");
  snprintf(path, sizeof path, "chmod +x '%s/srun'", scratch);
  assert_int_equal(system(path), 0);
  snprintf(path, sizeof path, "%s:%s", scratch, before);
  setenv("PATH", path, 1);
  const int status = shardlab(scratch, "measure " JOB "--hostfile hosts --launcher srun --save 'a b.st'");
  setenv("PATH", kept, 1);
  free(kept);
  assert_int_equal(status, 1);
  assert_non_null(strstr(out, "srun: --ntasks=4\n"));
  assert_non_null(strstr(out, "srun: a b.st\n"));
  drop_file("srun");
  drop_file("hosts");
}

static void a_file_of_variables(void **state) {
  (void)state;
  write_file("hosts", "worker-0 slots=1\nworker-1 slots=1\n");
  write_file(".deepspeed_env", "# ours\nNCCL_DEBUG=INFO it's\n\n");
  check_dry("--hostfile hosts --backend cuda", 2, (const char *[]){"NCCL_DEBUG=INFO it", NULL});
  write_file(".deepspeed_env", "NCCL_DEBUG=INFO\n; rm -rf x=1\n");
  assert_int_equal(shardlab(scratch, "measure " JOB "--hostfile hosts --backend cuda --dry-run"), 2);
  assert_non_null(strstr(err, "./.deepspeed_env:2: is '; rm -rf x=1'; expected NAME=VALUE\n"));
  drop_file(".deepspeed_env");
  drop_file("hosts");
}

/* One host that is this machine needs no launcher. */
static void this_machine_as_a_host(void **state) {
  (void)state;
  if (!has_host()) skip();
  write_file("hosts", "localhost slots=4\n");
  assert_int_equal(shardlab(scratch, "measure " JOB "--hostfile hosts --exclude localhost:1,2 --steps 1 --json r.json"),
                   0);
  assert_non_null(strstr(out, "measured: world 2, "));
  drop_file("r.json");
  drop_file("hosts");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_dry_run_prints_commands),
                                     cmocka_unit_test(flags_as_deepspeed_writes_them),
                                     cmocka_unit_test(srun_is_started), cmocka_unit_test(a_file_of_variables),
                                     cmocka_unit_test(this_machine_as_a_host)};
  return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
