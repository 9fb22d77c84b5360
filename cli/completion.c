/* Completion scripts; see completion.h. The table of words is written once, for bash; zsh uses it through its
 * bashcompinit. A flag is followed by the words of its choice, by the names of presets, which `shardlab show presets`
 * lists, or by files. */
#include "cli/completion.h"

#include "core/cluster/cluster.h"
#include "core/model/model.h"

#include <string.h>

/* Prints words separated by "|", with blanks instead. */
static void put_words(const char *words, FILE *out) {
  for (; *words != '\0'; words++) fputc(*words == '|' ? ' ' : *words, out);
}

static void put_flags(const struct sl_command *c, FILE *out) {
  struct sl_option_text o;
  fprintf(out, "    %s) flags='", c->name);
  for (int i = 0; sl_options_text(i, c->bit, &o); i++)
    if (o.name != NULL) fprintf(out, "--%s ", o.name);
  fputs("--help'; operands='", out);
  if (c->operands[0] >= 'a' && c->operands[0] <= 'z' && strchr(c->operands, ' ') == NULL) put_words(c->operands, out);
  fputs("' ;;\n", out);
}

/* Prints what may follow a flag of the command, as the table says: `(command:flag)`. */
static void put_values(const struct sl_command *c, FILE *out) {
  struct sl_option_text o;
  for (int i = 0; sl_options_text(i, c->bit, &o); i++) {
    if (o.name == NULL || o.flag) continue;
    if (!o.choice &&
        (strstr(o.value, "FILE") != NULL || strstr(o.value, "FOLDER") != NULL || strcmp(o.value, "DIR") == 0))
      continue;
    fprintf(out, "    %s:--%s) values='", c->name, o.name);
    if (o.choice) put_words(o.value, out);
    fputs("'; files= ;;\n", out);
  }
}

static void put_presets(FILE *out) {
  fputs("    *:--model) values='", out);
  for (int i = 0; sl_model_preset_name(i) != NULL; i++) fprintf(out, "%s ", sl_model_preset_name(i));
  fputs("' ;;\n    *:--cluster) values='", out);
  for (int i = 0; sl_cluster_preset_name(i) != NULL; i++) fprintf(out, "%s ", sl_cluster_preset_name(i));
  fputs("' ;;\n", out);
}

static void put_function(const struct sl_command *const *commands, int count, FILE *out) {
  fputs("_shardlab() {\n"
        "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}\n"
        "  local flags= operands= values= files=yes\n"
        "  COMPREPLY=()\n"
        "  if [ \"$COMP_CWORD\" -le 1 ]; then\n"
        "    COMPREPLY=($(compgen -W '",
        out);
  for (int i = 0; i < count; i++) fprintf(out, "%s ", commands[i]->name);
  fputs("help --help --version' -- \"$word\"))\n    return\n  fi\n  case $command in\n", out);
  for (int i = 0; i < count; i++) put_flags(commands[i], out);
  fputs("  esac\n  case $command:$before in\n", out);
  put_presets(out);
  for (int i = 0; i < count; i++) put_values(commands[i], out);
  fputs("    *) values=$operands ;;\n  esac\n"
        "  case $word in -*) values=$flags files= ;; esac\n"
        "  COMPREPLY=($(compgen -W \"$values\" -- \"$word\") $([ -z \"$files\" ] || compgen -f -- \"$word\"))\n"
        "}\n",
        out);
}

enum sl_status sl_completion_print(const struct sl_command *const *commands, int count, const char *shell, FILE *out) {
  const bool zsh = shell != NULL && strcmp(shell, "zsh") == 0;
  if (!zsh && (shell == NULL || strcmp(shell, "bash") != 0))
    return sl_fail(SL_ERR_INPUT, "--completion: is '%s'; expected bash or zsh", shell != NULL ? shell : "");
  if (zsh) fputs("#compdef shardlab\nautoload -U +X bashcompinit && bashcompinit\n", out);
  put_function(commands, count, out);
  fputs("complete -F _shardlab shardlab\n", out);
  /* zsh reads the file as the function's body when a word is first to be completed, and that word wants its answer */
  if (zsh) fputs("[ \"${funcstack[1]}\" != _shardlab ] || _bash_complete -F _shardlab\n", out);
  return SL_OK;
}
