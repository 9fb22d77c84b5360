/* Functions on the table of options; see options.h. */
#include "cli/options.h"

#include "cli/options_table.h"
#include "core/base/nearest.h"
#include "core/base/units.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Does `flag`, a word's first `length` characters behind its dashes, name the option `name`? */
static bool names(const char *flag, size_t length, const char *name) {
  if (strlen(name) != length) return false;
  for (size_t i = 0; i < length; i++)
    if ((flag[i] == '_' ? '-' : flag[i]) != name[i]) return false; /* DeepSpeed's launcher has --num_nodes */
  return true;
}

static bool is_one_of(const char *flag, size_t length, const char *const *list) {
  while (*list != NULL && !names(flag, length, *list)) list++;
  return *list != NULL;
}

bool sl_options_among(const char *word, const char *const *valued, const char *const *bare, bool *apart) {
  *apart = false;
  if (strncmp(word, "--", 2) != 0) return false;
  const size_t length = strcspn(word + 2, "=");
  if (is_one_of(word + 2, length, bare)) return true;
  if (!is_one_of(word + 2, length, valued)) return false;
  *apart = word[2 + length] == '\0';
  return true;
}

static const struct sl_option *find(const char *name, size_t length, unsigned commands) {
  for (int i = 0; i < sl_options_count; i++)
    if (names(name, length, sl_options_table[i].name) && (sl_options_table[i].commands & commands))
      return &sl_options_table[i];
  return NULL;
}

static void *field(const struct sl_option *option, const struct sl_options *options) {
  return (char *)(uintptr_t)options + option->offset;
}

static enum sl_status unknown_flag(const struct sl_command *command, const char *flag, size_t length) {
  const char *words[SL_MAX_OPTIONS];
  size_t n = 0;
  char word[128];
  snprintf(word, sizeof word, "%.*s", (int)length, flag);
  if (find(flag, length, ~0u) != NULL)
    return sl_fail(SL_ERR_INPUT, "--%s: is not a flag of '%s'; 'shardlab %s --help' lists those", word, command->name,
                   command->name);
  for (int i = 0; i < sl_options_count; i++)
    if (sl_options_table[i].commands & command->bit) words[n++] = sl_options_table[i].name;
  const char *near = sl_nearest(word, words, n);
  if (near != NULL)
    return sl_fail(SL_ERR_INPUT, "--%s: is no flag of '%s'; did you mean --%s?", word, command->name, near);
  return sl_fail(SL_ERR_INPUT, "--%s: is no flag of '%s'; 'shardlab %s --help' lists them", word, command->name,
                 command->name);
}

static enum sl_status set_integer(const struct sl_option *option, const char *text, struct sl_options *options) {
  char *end;
  errno = 0;
  const long long value = strtoll(text, &end, 10);
  const bool blank = isspace((unsigned char)*text); /* which strtoll passes over */
  if (blank || end == text || *end != '\0' || errno != 0 || value < (long long)option->low ||
      value > (long long)option->high)
    return sl_fail(SL_ERR_INPUT, "--%s: is '%s'; expected an integer from %.0f to %.0f", option->name, text,
                   option->low, option->high);
  *(int64_t *)field(option, options) = value;
  return SL_OK;
}

static enum sl_status set_bytes(const struct sl_option *option, const char *text, struct sl_options *options) {
  double value;
  if (!sl_parse_bytes(text, &value) || value < option->low || value > option->high)
    return sl_fail(SL_ERR_INPUT, "--%s: is '%s'; expected a size, such as 512MiB or 16GB", option->name, text);
  *(int64_t *)field(option, options) = (int64_t)value;
  return SL_OK;
}

static enum sl_status set_real(const struct sl_option *option, const char *text, struct sl_options *options) {
  char *end;
  const double value = strtod(text, &end);
  if (isspace((unsigned char)*text) || end == text || *end != '\0' || !isfinite(value) || value < option->low ||
      value > option->high)
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

static enum sl_status set(const struct sl_option *option, const char *text, struct sl_options *options) {
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

/* Parses "--name", "--name value" or "--name=value" at argv[*at]; moves *at over a separate value. */
static enum sl_status parse_flag(struct sl_options *options, const struct sl_command *command, int argc, char **argv,
                                 int *at) {
  const char *flag = argv[*at] + 2;
  const size_t length = strcspn(flag, "=");
  const struct sl_option *option = find(flag, length, command->bit);
  if (option == NULL) return unknown_flag(command, flag, length);
  const char *value = flag[length] == '=' ? flag + length + 1 : NULL;
  if (option->type == FLAG && value != NULL) return sl_options_set_word(options, command->bit, option->name, value);
  if (option->type != FLAG && value == NULL) {
    /* a word with blanks is not a flag, but the value of --from-megatron */
    if (*at + 1 >= argc || (strncmp(argv[*at + 1], "--", 2) == 0 && strchr(argv[*at + 1], ' ') == NULL))
      return sl_fail(SL_ERR_INPUT, "--%s: has no value; expected %s", option->name, option->value);
    value = argv[++*at];
  }
  options->given[option - sl_options_table] = true;
  return set(option, value, options);
}

enum sl_status sl_options_parse(struct sl_options *options, const struct sl_command *command, int argc, char **argv,
                                bool *help) {
  memset(options, 0, sizeof *options);
  *help = false;
  options->time_tolerance = -1;
  for (int i = 0; i < sl_options_count; i++)
    if ((sl_options_table[i].commands & command->bit) && sl_options_table[i].initial != NULL)
      SL_TRY(set(&sl_options_table[i], sl_options_table[i].initial, options));
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
  const struct sl_option *option = find(name, strlen(name), command);
  if (option == NULL) return sl_fail(SL_ERR_INTERNAL, "--%s: is no flag of this command", name);
  options->given[option - sl_options_table] = true;
  return set(option, text, options);
}

enum sl_status sl_options_set_word(struct sl_options *options, enum sl_command_bit command, const char *name,
                                   const char *text) {
  const struct sl_option *option = find(name, strlen(name), command);
  if (option == NULL || option->type != FLAG) return sl_options_set(options, command, name, text);
  if (strcmp(text, "off") == 0) { /* also what the config has switched on */
    *(bool *)field(option, options) = false;
    options->given[option - sl_options_table] = true;
    return SL_OK;
  }
  if (strcmp(text, "on") == 0) return sl_options_set(options, command, name, "");
  return sl_fail(SL_ERR_INPUT, "--%s: is '%s'; expected on, off or no value", name, text);
}

bool sl_options_sweeps(const char *name) {
  static const char *const others[] = {"model", "cluster", "world", "dtype"};
  const struct sl_option *option = find(name, strlen(name), SL_CMD_PREDICT);
  if (option == NULL) return false;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strcmp(name, others[i]) == 0) return true;
  return option->keys != NULL;
}

bool sl_options_given(const struct sl_options *options, const char *name) {
  for (int i = 0; i < sl_options_count; i++)
    if (strcmp(sl_options_table[i].name, name) == 0 && options->given[i]) return true;
  return false;
}

bool sl_options_on_gpu(const struct sl_options *options) {
  return strcmp(options->backend, "cuda") == 0;
}

const char *sl_options_beside(const struct sl_options *options, const char *const *names) {
  for (int i = 0; i < sl_options_count; i++) {
    if (!options->given[i]) continue;
    const char *const *name = names;
    while (*name != NULL && strcmp(*name, sl_options_table[i].name) != 0) name++;
    if (*name == NULL) return sl_options_table[i].name;
  }
  return NULL;
}

bool sl_options_text(int i, enum sl_command_bit command, struct sl_option_text *out) {
  if (i < 0 || i >= sl_options_count) return false;
  const struct sl_option *o = &sl_options_table[i];
  *out = (struct sl_option_text){.name = (o->commands & (unsigned)command) ? o->name : NULL,
                                 .value = o->value,
                                 .initial = o->initial,
                                 .help = o->help,
                                 .flag = o->type == FLAG,
                                 .choice = o->type == CHOICE};
  return true;
}

static json_t *value_json(const struct sl_option *option, const struct sl_options *options) {
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

bool sl_options_override(const struct sl_options *options, int i, const char **name, const char **keys,
                         json_t **value) {
  if (i < 0 || i >= sl_options_count) return false;
  const struct sl_option *option = &sl_options_table[i];
  *name = option->name;
  *keys = option->keys;
  *value = option->keys != NULL && options->given[i] ? value_json(option, options) : NULL;
  return true;
}

json_t *sl_options_dump(const struct sl_options *options, enum sl_command_bit command) {
  json_t *dump = json_object();
  for (int i = 0; i < sl_options_count; i++) {
    const struct sl_option *option = &sl_options_table[i];
    const bool set_here = options->given[i] || option->initial != NULL;
    if ((option->commands & (unsigned)command) && set_here)
      json_object_set_new(dump, option->name, value_json(option, options));
  }
  return dump;
}
