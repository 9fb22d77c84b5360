/* The table of families; see families.h. */
#include "core/model/families.h"

#include "core/base/nearest.h"

#include <stdio.h>
#include <string.h>

static const struct sl_family *const families[] = {
#define X(type, name) [SL_MODEL_##type] = &sl_model_##name,
    SL_FAMILY_MAP(X)
#undef X
};
enum { FAMILIES = sizeof families / sizeof *families };

bool sl_family_find(const char *name, struct sl_model *model) {
  for (int i = 0; i < FAMILIES; i++) {
    if (strcmp(name, families[i]->name) != 0) continue;
    model->type = (enum sl_model_type)i;
    model->family = families[i];
    return true;
  }
  return false;
}

const char *sl_family_names(char *text, size_t size) {
  text[0] = '\0';
  for (int i = 0; i < FAMILIES; i++) {
    const size_t used = strlen(text);
    const char *between = i == 0 ? "" : i + 1 < FAMILIES ? ", " : " or ";
    snprintf(text + used, size - used, "%s\"%s\"", between, families[i]->name);
  }
  return text;
}

/* Public families that are not modelled, and the modelled one whose blocks are most like theirs, where the name does
 * not say it. */
static const struct {
  const char *name, *nearest;
  bool experts; /* its MLPs are experts: the nearest is the family of its other layers */
} others[] = {
    {"RefinedWeb", "falcon", false},
    {"RefinedWebModel", "falcon", false},
    {"baichuan", "llama", false},
    {"codegen", "gptj", false},
    {"cohere", "llama", false},
    {"cohere2", "llama", false},
    {"dbrx", "mpt", true},
    {"deepseek_v2", "llama", true},
    {"deepseek_v3", "llama", true},
    {"ernie4_5_moe", "llama", true},
    {"exaone", "llama", false},
    {"exaone4", "llama", false},
    {"gemma3n", "gemma3_text", false},
    {"glm", "llama", false},
    {"glm4", "llama", false},
    {"glm4_moe", "llama", true},
    {"gpt_neo", "gpt2", false},
    {"gpt_oss", "llama", true},
    {"granite", "llama", false},
    {"granitemoe", "llama", true},
    {"internlm2", "llama", false},
    {"internlm3", "llama", false},
    {"jamba", "llama", true},
    {"llama4_text", "llama", true},
    {"minicpm", "llama", false},
    {"ministral3", "mistral", false},
    {"mistral3", "mistral", false},
    {"mixtral", "mistral", true},
    {"olmo", "llama", false},
    {"olmoe", "llama", true},
    {"persimmon", "gpt_neox", false},
    {"phimoe", "llama", true},
    {"qwen", "qwen2", false},
    {"qwen2_5_vl", "qwen2", false},
    {"qwen2_moe", "qwen2", true},
    {"qwen2_vl", "qwen2", false},
    {"qwen3_moe", "qwen3", true},
    {"qwen3_next", "qwen3", true},
    {"smollm3", "llama", false},
    {"stablelm_epoch", "stablelm", false},
    {"xglm", "opt", false},
};

bool sl_family_has_experts(const char *name) {
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strcmp(others[i].name, name) == 0) return others[i].experts;
  return strstr(name, "moe") != NULL;
}

const char *sl_family_nearest(const char *name) {
  const char *names[FAMILIES];
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strcmp(others[i].name, name) == 0) return others[i].nearest;
  for (int i = 0; i < FAMILIES; i++) {
    names[i] = families[i]->name;
    if (strncmp(names[i], name, strlen(name)) == 0 && names[i][strlen(name)] == '_')
      return names[i]; /* gemma3: its text */
  }
  return sl_nearest(name, names, FAMILIES);
}
