/* The `shardlab` command: finds the subcommand, parses its flags, prints the one error line and sets the exit status (0
 * done, 1 failed or out of tolerance, 2 bad input). */
#include "cli/children.h"
#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/help.h"
#include "cli/import.h"
#include "cli/launch.h"
#include "cli/manual.h"
#include "cli/place.h"
#include "cli/pool.h"
#include "cli/progress.h"
#include "cli/said.h"
#include "core/base/nearest.h"
#include "core/base/standard.h"
#include "core/record/environment.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

static const struct sl_command *const commands[] = {
    &sl_command_predict, &sl_command_measure,    &sl_command_compare,       &sl_command_validate,
    &sl_command_show,    &sl_command_check,      &sl_command_backends,      &sl_command_calibrate,
    &sl_command_bench,   &sl_command_checkpoint, &sl_command_export_config, &sl_command_tokenize,
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static void overview(FILE *out) {
  fprintf(out, "usage: shardlab COMMAND [flags]\n\n"
               "Predict LLM training, then measure it: memory, traffic and time of one configuration.\n\ncommands:\n");
  for (int i = 0; i < COMMANDS; i++) fprintf(out, "  %-13s %s\n", commands[i]->name, commands[i]->summary);
  fprintf(out, "  %-13s %s\n\n", "help", "Flags and an example of a command: shardlab help predict");
  fprintf(out, "example:\n  %s\n", sl_command_predict.example);
}

static enum sl_status find_command(const char *name, const struct sl_command **out) {
  const char *words[COMMANDS + 1];
  for (int i = 0; i < COMMANDS; i++) {
    words[i] = commands[i]->name;
    if (strcmp(name, words[i]) == 0) {
      *out = commands[i];
      return SL_OK;
    }
  }
  words[COMMANDS] = "help";
  const char *near = sl_nearest(name, words, COMMANDS + 1);
  if (near != NULL) return sl_fail(SL_ERR_INPUT, "'%s' is no command; did you mean '%s'?", name, near);
  return sl_fail(SL_ERR_INPUT, "'%s' is no command; 'shardlab --help' lists them", name);
}

/* Part of `shardlab help`: manual pages, completion scripts and the names of commands, for packaging
 * (cmake/pages.cmake). */
static enum sl_status generate(const char *what, const char *of) {
  const struct sl_command *command = NULL;
  if (strcmp(what, "--man") == 0) {
    if (of != NULL) SL_TRY(find_command(of, &command));
    sl_manual_print(commands, COMMANDS, command, stdout);
    return SL_OK;
  }
  if (strcmp(what, "--completion") == 0) return sl_completion_print(commands, COMMANDS, of, stdout);
  for (int i = 0; i < COMMANDS; i++) printf("%s\n", commands[i]->name);
  return SL_OK;
}

/* Nothing may stand behind the first `most` of these words. */
static enum sl_status expect_end(int argc, char **argv, int most, const char *behind) {
  if (argc <= most) return SL_OK;
  return sl_fail(SL_ERR_INPUT, "%s: stands behind %s; expected nothing", argv[most],
                 most > 0 ? argv[most - 1] : behind);
}

static enum sl_status help(int argc, char **argv) {
  const struct sl_command *command;
  if (argc < 1) {
    overview(stdout);
    return SL_OK;
  }
  if (strcmp(argv[0], "--man") == 0 || strcmp(argv[0], "--completion") == 0 || strcmp(argv[0], "--commands") == 0) {
    SL_TRY(expect_end(argc, argv, strcmp(argv[0], "--commands") == 0 ? 1 : 2, NULL));
    return generate(argv[0], argc > 1 ? argv[1] : NULL);
  }
  SL_TRY(find_command(argv[0], &command));
  SL_TRY(expect_end(argc, argv, 1, NULL));
  sl_help_command(command, stdout);
  return SL_OK;
}

static enum sl_status dispatch(int argc, char **argv) {
  const struct sl_command *command;
  struct sl_options options;
  bool want_help;
  if (argc < 2) return sl_fail(SL_ERR_INPUT, "no command is given; 'shardlab --help' lists them");
  if (strcmp(argv[1], "--version") == 0) {
    SL_TRY(expect_end(argc - 2, argv + 2, 0, argv[1]));
    printf("shardlab %s\n", SL_VERSION);
    return SL_OK;
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
    SL_TRY(expect_end(argc - 2, argv + 2, 0, argv[1]));
    return help(0, NULL);
  }
  if (strcmp(argv[1], "help") == 0) return help(argc - 2, argv + 2);
  SL_TRY(find_command(argv[1], &command));
  SL_TRY(sl_options_parse(&options, command, argc - 2, argv + 2, &want_help));
  if (want_help) return help(1, argv + 1);
  if (options.quiet) sl_said_silence();
  options.argc = argc;
  options.argv = argv;
  struct sl_import texts;
  SL_TRY(sl_pool_apply(&options, command->bit));
  SL_TRY(sl_import_apply(&texts, &options, command->bit));
  sl_import_begin_words(&texts);
  const enum sl_status status = sl_import_explain(&texts, command->run(&options));
  sl_import_free(&texts);
  return status;
}

/* Prints the one line with which a failed command ends. If a child has already reported the failure, there is no
 * message. */
static void say_error(void) {
  const int rank = sl_place_read(false).rank;
  fflush(stdout); /* both may go to one file: what was said before stands before */
  if (sl_children_signal() != 0 && sl_children_of_ours()) return;
  if (sl_children_signal() != 0)
    fprintf(stderr, "shardlab: ended by SIG%s\n", sigabbrev_np(sl_children_signal()));
  else if (sl_error_message()[0] != '\0' && rank > 0)
    fprintf(stderr, "shardlab: error: rank %d: %s\n", rank, sl_error_message());
  else if (sl_error_message()[0] != '\0')
    fprintf(stderr, "shardlab: error: %s\n", sl_error_message());
}

int main(int argc, char **argv) {
  enum sl_status status = sl_standard_begin();
  sl_said_once();
  if (sl_launch_ours())
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a rank dies with its mpirun */
  else
    unsetenv(sl_progress_terminal); /* what a launcher of ours tells its ranks */
  if (status == SL_OK) status = dispatch(argc, argv);
  if (status == SL_OK) status = sl_standard_flush();
  if (status != SL_OK) say_error();
  sl_children_close();
  return status == SL_OK ? 0 : sl_exit_code(status);
}
