/* The keys of parallelism, DeepSpeed's and ours. */
#pragma once

#include "core/config/config.h"

/* DeepSpeed's keys of AutoTP's degree (runtime/tensor_parallel/config.py; "tp" is an alias). */
#define SL_AUTOTP_SIZE "tensor_parallel.autotp_size"
#define SL_AUTOTP_TP_SIZE "tensor_parallel.tp.tp_size"
#define SL_AUTOTP_TP_SIZE_LONG "tensor_parallel.tensor_parallel.tp_size"
#define SL_AUTOTP_KEYS SL_AUTOTP_SIZE "|" SL_AUTOTP_TP_SIZE "|" SL_AUTOTP_TP_SIZE_LONG

/* Which of these asks for AutoTP in a document: an autotp_size from 1 on, or a tp_size from 2 on. NULL: none does. */
const char *sl_config_autotp_key(const json_t *root);
/* Takes over DeepSpeed's keys for what the "shardlab" section also says, and checks the parallel keys against each
 * other. Errors: SL_ERR_INPUT. */
enum sl_status sl_config_check_parallel(struct sl_config *config);
