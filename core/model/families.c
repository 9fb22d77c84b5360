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
 * not say it. Experts: the family of the dense layers. */
static const struct {
  const char *name, *nearest;
} others[] = {
    {"RefinedWeb", "falcon"},
    {"RefinedWebModel", "falcon"},
    {"arcee", "llama"},
    {"baichuan", "llama"},
    {"codegen", "gptj"},
    {"cohere", "llama"},
    {"cohere2", "llama"},
    {"deepseek_v2", "llama"},
    {"deepseek_v3", "llama"},
    {"exaone", "llama"},
    {"exaone4", "llama"},
    {"gemma3n", "gemma3_text"},
    {"glm", "llama"},
    {"glm4", "llama"},
    {"gpt_bigcode", "gpt2"},
    {"gpt_neo", "gpt2"},
    {"gpt_oss", "llama"},
    {"granite", "llama"},
    {"granitemoe", "llama"},
    {"internlm2", "llama"},
    {"internlm3", "llama"},
    {"minicpm", "llama"},
    {"ministral3", "mistral"},
    {"mistral3", "mistral"},
    {"mixtral", "mistral"},
    {"nemotron", "starcoder2"},
    {"olmo", "llama"},
    {"olmoe", "llama"},
    {"persimmon", "gpt_neox"},
    {"phi", "gptj"},
    {"phimoe", "llama"},
    {"qwen", "qwen2"},
    {"qwen2_5_vl", "qwen2"},
    {"qwen2_moe", "qwen2"},
    {"qwen2_vl", "qwen2"},
    {"qwen3_moe", "qwen3"},
    {"qwen3_next", "qwen3"},
    {"seed_oss", "llama"},
    {"smollm3", "llama"},
    {"stablelm", "starcoder2"},
    {"stablelm_epoch", "starcoder2"},
    {"xglm", "opt"},
};

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
