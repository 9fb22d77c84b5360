/* The built-in models as config.json texts, read by the same code as a user's file. Keys that a text leaves out have
 * Hugging Face's defaults. The parameter counts below are sl_model_numel of the preset; a test checks them.
 *
 * The GPT-3, Megatron and ZeRO papers name no Hugging Face config: these are GPT-2-shaped models of the papers' sizes,
 * with a tied LM head and GPT2Config's dropout of 0.1. */
#include "core/model/presets.h"

#include <stddef.h>

#define GPT2(layers, width, heads)                                                                                     \
  "{\"model_type\":\"gpt2\",\"n_layer\":" #layers ",\"n_embd\":" #width ",\"n_head\":" #heads "}"
#define GPT(vocab, positions, layers, width, heads)                                                                    \
  "{\"model_type\":\"gpt2\",\"vocab_size\":" #vocab ",\"n_positions\":" #positions ",\"n_layer\":" #layers             \
  ",\"n_embd\":" #width ",\"n_head\":" #heads "}"
#define TINY(layers, width, heads)                                                                                     \
  "{\"model_type\":\"gpt2\",\"vocab_size\":256,\"n_positions\":256,\"n_layer\":" #layers ",\"n_embd\":" #width         \
  ",\"n_head\":" #heads ",\"embd_pdrop\":0,\"attn_pdrop\":0,\"resid_pdrop\":0}"
#define LLAMA(vocab, positions, layers, width, inner, heads, kv_heads, theta)                                          \
  "{\"model_type\":\"llama\",\"vocab_size\":" #vocab ",\"max_position_embeddings\":" #positions                        \
  ",\"num_hidden_layers\":" #layers ",\"hidden_size\":" #width ",\"intermediate_size\":" #inner                        \
  ",\"num_attention_heads\":" #heads ",\"num_key_value_heads\":" #kv_heads                                             \
  ",\"rms_norm_eps\":1e-5,\"rope_theta\":" #theta "}"
#define NEMOTRON(layers, width, inner, heads, kv_heads)                                                                \
  "{\"model_type\":\"nemotron\",\"num_hidden_layers\":" #layers ",\"hidden_size\":" #width                             \
  ",\"intermediate_size\":" #inner ",\"num_attention_heads\":" #heads ",\"num_key_value_heads\":" #kv_heads "}"

/* clang-format off */
const struct sl_model_preset sl_model_presets[] = {
    /* Ours, for demos and tests with one token per byte, no dropout: 858,880 and 4,870,144 parameters.
     * name         family  layers width heads */
    {"gpt2-tiny",   TINY(   4,     128,  4)},
    {"gpt2-mini",   TINY(   6,     256,  8)},
    /* huggingface.co/openai-community/gpt2, -medium, -large, -xl, config.json (Radford et al. 2019, table 2):
     * 124,439,808; 354,823,168; 774,030,080; 1,557,611,200 parameters.
     * name         family  layers width heads */
    {"gpt2",        GPT2(   12,    768,  12)},
    {"gpt2-medium", GPT2(   24,    1024, 16)},
    {"gpt2-large",  GPT2(   36,    1280, 20)},
    {"gpt2-xl",     GPT2(   48,    1600, 25)},
    /* gpt3-...: Brown et al. 2020 (arXiv:2005.14165), table 2.1: layers, d_model, heads; 2048 positions, GPT-2's
     * vocabulary. The table's 24 heads of 128 do not fit d_model 2048: 1.3B has 16 here. 13B's d_model 5140 is no
     * multiple of its 40 heads of 128: 5120 here.
     * megatron-1t: Narayanan et al. 2021 (arXiv:2104.04473), table 1, the 1008.0 billion row; vocabulary 51200,
     * sequence 2048.
     * zero-7.5b: Rajbhandari et al. 2020 (arXiv:1910.02054), figure 1, speaks of "a 7.5B parameter model" only. 36
     * layers of 4096 with GPT-2's vocabulary are 7,459,729,408 parameters: our choice.
     * name         family  vocab  positions layers width  heads */
    {"gpt3-1.3b",   GPT(    50257, 2048,     24,    2048,  16)},
    {"gpt3-2.7b",   GPT(    50257, 2048,     32,    2560,  32)},
    {"gpt3-6.7b",   GPT(    50257, 2048,     32,    4096,  32)},
    {"gpt3-13b",    GPT(    50257, 2048,     40,    5120,  40)},
    {"gpt3-175b",   GPT(    50257, 2048,     96,    12288, 96)},
    {"megatron-1t", GPT(    51200, 2048,     128,   25600, 160)},
    {"zero-7.5b",   GPT(    50257, 1024,     36,    4096,  32)},
    /* llama2-...: Touvron et al. 2023 (arXiv:2307.09288), huggingface.co/meta-llama/Llama-2-{7b,13b,70b}-hf,
     * config.json.
     * llama3-...: Grattafiori et al. 2024 (arXiv:2407.21783), table 3; huggingface.co/meta-llama/Meta-Llama-3-{8B,70B}
     * and Llama-3.1-405B, config.json. The 3.1 model's rope_scaling (longer contexts) changes no shape and is left out,
     * and with it the 131072 positions: 8192, the length of its main pre-training.
     * name         family  vocab   positions layers width  inner  heads kv_heads theta */
    {"llama2-7b",   LLAMA(  32000,  4096,     32,    4096,  11008, 32,   32,      10000)},
    {"llama2-13b",  LLAMA(  32000,  4096,     40,    5120,  13824, 40,   40,      10000)},
    {"llama2-70b",  LLAMA(  32000,  4096,     80,    8192,  28672, 64,   8,       10000)},
    {"llama3-8b",   LLAMA(  128256, 8192,     32,    4096,  14336, 32,   8,       500000)},
    {"llama3-70b",  LLAMA(  128256, 8192,     80,    8192,  28672, 64,   8,       500000)},
    {"llama3-405b", LLAMA(  128256, 8192,     126,   16384, 53248, 128,  8,       500000)},
    /* nemotron4-...: Parmar et al. 2024 (arXiv:2402.16819), table 1; NVIDIA 2024 (arXiv:2406.11704), table 1. Vocabulary
     * of 256000, 4096 positions.
     * name            family     layers width  inner  heads kv_heads */
    {"nemotron4-15b",  NEMOTRON(  32,    6144,  24576, 48,   8)},
    {"nemotron4-340b", NEMOTRON(  96,    18432, 73728, 96,   8)},
    {NULL, NULL},
};
/* clang-format on */
