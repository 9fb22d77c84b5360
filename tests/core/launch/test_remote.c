/* label: unit
 * Commands for other hosts, and that every word comes out of the shells that read them as it went in. */
#include "core/launch/remote.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const nasty[] = {"plain",
                                    "",
                                    " ",
                                    "two words",
                                    "it's",
                                    "''",
                                    "'",
                                    "\"",
                                    "$HOME",
                                    "$(touch pwned)",
                                    "`touch pwned`",
                                    "; touch pwned",
                                    "a\nb",
                                    "\n",
                                    "\\",
                                    "\\'",
                                    "*",
                                    "~",
                                    "~root",
                                    "#",
                                    "!",
                                    "!!",
                                    "a=b",
                                    "=ls",
                                    "&& touch pwned",
                                    "| touch pwned",
                                    "> pwned",
                                    "{a,b}",
                                    "[a]",
                                    "-n",
                                    "--",
                                    "%s",
                                    "\t",
                                    "a\\\nb",
                                    "caf\xc3\xa9",
                                    "\xff\xfe",
                                    "'$(touch pwned)'",
                                    "'; touch pwned; '",
                                    "a b=c",
                                    "\001\033[31m",
                                    "^",
                                    "?",
                                    "<(ls)",
                                    "\r",
                                    "a'b'c",
                                    "x''y",
                                    "$'\\n'",
                                    "--data=a b",
                                    "@",
                                    ":",
                                    ","};
enum { NASTY = sizeof nasty / sizeof *nasty };

/* What `shell -c line` prints, which has to be want[0..size). */
static void check_shell(const char *shell, char *line, const char *want, size_t size) {
  char got[1 << 14];
  size_t n = 0;
  int ends[2], how;
  assert_int_equal(pipe(ends), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    char flag[] = "-c";
    dup2(ends[1], STDOUT_FILENO);
    execlp(shell, shell, flag, line, (char *)NULL);
    _exit(126);
  }
  close(ends[1]);
  for (ssize_t r; (r = read(ends[0], got + n, sizeof got - n)) > 0;) n += (size_t)r;
  close(ends[0]);
  waitpid(pid, &how, 0);
  if (how != 0 || n != size || memcmp(got, want, size) != 0) fail_msg("%s reads %s as %.*s", shell, line, (int)n, got);
  assert_int_not_equal(access("pwned", F_OK), 0);
}

static bool has(const char *shell) {
  char command[64];
  snprintf(command, sizeof command, "command -v %s >/dev/null", shell);
  return system(command) == 0;
}

static void in_every_shell(char *line, const char *want, size_t size) {
  static const char *const shells[] = {"sh", "bash", "dash", "zsh", "ksh"};
  for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
    if (has(shells[i])) check_shell(shells[i], line, want, size);
}

/* All of them at once, and words of random bytes. */
static void words_come_back(void **state) {
  struct sl_words words = {0};
  char want[1 << 14];
  size_t size = 0;
  uint32_t seed = 20240607;
  (void)state;
  sl_words_add(&words, "printf");
  sl_words_add(&words, "%s\\0");
  for (int i = 0; i < NASTY + 200; i++) {
    char random[24];
    for (size_t k = 0; k < sizeof random; k++) {
      seed = seed * 1664525u + 1013904223u;
      random[k] = i % 2 ? (char)(seed >> 24) : "'\"\\$` \n;a"[(seed >> 24) % 9];
      if (random[k] == '\0') random[k] = '\'';
    }
    random[(seed >> 16) % sizeof random] = '\0';
    const char *word = i < NASTY ? nasty[i] : random;
    sl_words_add(&words, word);
    memcpy(want + size, word, strlen(word) + 1);
    size += strlen(word) + 1;
  }
  assert_int_equal(sl_words_check(&words), SL_OK);
  char *line = sl_words_line(words.list);
  in_every_shell(line, want, size);
  free(line);
  sl_words_free(&words);
}

static const struct sl_remote *job(struct sl_hosts *hosts, const char *list) {
  static char *arguments[NASTY + 2], *environment[2];
  static char folder[] = "/tmp", program[] = "/usr/bin/printf", format[] = "%s\\0",
              variable[] = "SHARDLAB_A=it's $HOME\nx";
  static struct sl_remote remote;
  arguments[0] = format;
  for (int i = 0; i < NASTY; i++) arguments[i + 1] = (char *)(uintptr_t)nasty[i];
  environment[0] = variable;
  assert_int_equal(sl_hosts_read(hosts, "hosts", list), SL_OK);
  remote = (struct sl_remote){.hosts = hosts,
                              .program = program,
                              .folder = folder,
                              .arguments = arguments,
                              .environment = environment,
                              .master_addr = "10.0.0.1",
                              .master_port = 29501,
                              .ssh_port = 2222};
  return &remote;
}

/* What ssh hands to the host's shell becomes the program with these very words, the node's own behind them. */
static void a_node_hears_every_word(void **state) {
  static const char *const own[] = {"--no-ssh", "--node-rank=1", "--hosts=a:0,1@b:3", "--master-addr=10.0.0.1",
                                    "--master-port=29501"};
  struct sl_hosts hosts;
  struct sl_words words = {0};
  char want[1 << 14];
  size_t size = 0;
  (void)state;
  assert_int_equal(sl_remote_ssh(job(&hosts, "a:0,1@b:3"), 1, &words), SL_OK);
  assert_string_equal(words.list[0], "ssh");
  assert_string_equal(words.list[words.count - 2], "b");
  for (int i = 0; i < NASTY; size += strlen(nasty[i]) + 1, i++) memcpy(want + size, nasty[i], strlen(nasty[i]) + 1);
  for (size_t i = 0; i < sizeof own / sizeof *own; size += strlen(own[i]) + 1, i++)
    memcpy(want + size, own[i], strlen(own[i]) + 1);
  in_every_shell(words.list[words.count - 1], want, size);
  sl_words_free(&words);
  sl_hosts_free(&hosts);
}

static void ssh_is_told_its_port(void **state) {
  struct sl_hosts hosts;
  struct sl_words words = {0};
  (void)state;
  assert_int_equal(sl_remote_ssh_address(job(&hosts, "a:0@b:0"), &words), SL_OK);
  char *line = sl_words_line(words.list);
  assert_non_null(strstr(line, " -o BatchMode=yes "));
  assert_non_null(strstr(line, " -p 2222 a hostname -I"));
  free(line);
  sl_words_free(&words);
  sl_hosts_free(&hosts);
}

static void srun_has_slots_alike(void **state) {
  struct sl_hosts hosts;
  struct sl_words words = {0};
  (void)state;
  assert_int_equal(sl_remote_srun(job(&hosts, "a:0,1@b:0,1"), &words), SL_OK);
  char *line = sl_words_line(words.list);
  assert_non_null(strstr(line, "srun --nodes=2 --ntasks=4 --ntasks-per-node=2 --nodelist=a,b --chdir=/tmp "));
  free(line);
  sl_words_free(&words);
  sl_hosts_free(&hosts);
  assert_int_equal(sl_remote_srun(job(&hosts, "a:0,1@b:0"), &words), SL_ERR_INPUT);
  assert_non_null(strstr(sl_error_message(), "srun requires same number of slots per node; a has 2, b has 1"));
  sl_error_clear();
  sl_words_free(&words);
  sl_hosts_free(&hosts);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(words_come_back), cmocka_unit_test(a_node_hears_every_word),
                                     cmocka_unit_test(ssh_is_told_its_port), cmocka_unit_test(srun_has_slots_alike)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
