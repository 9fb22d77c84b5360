/* What offloaded states ask of a backend beside copies: updates and norms on the CPU, whatever computes the rest, and the file
 * behind the NVMe space. The same for all backends, so that a state updated here has the same bits under each. */
#pragma once

#include "backend/common/call.h"
#include "backend/common/nvme.h"

/* The ops norm, adam, adamw and sgd, on the calling thread and OpenMP's. All operands are memory that the CPU reaches: gradients
 * and states of `call`, its control block, and its scratch, of sl_op_workspace bytes. An overflow skips an update. */
enum sl_status sl_offload_norm(const struct sl_call *call);
enum sl_status sl_offload_adam(const struct sl_call *call);
enum sl_status sl_offload_sgd(const struct sl_call *call);
/* The one of them for the op, by its kind; NULL: it is none of them. */
typedef enum sl_status (*sl_offload_fn)(const struct sl_call *call);
sl_offload_fn sl_offload_update(enum sl_op_kind kind);

/* The file behind the NVMe space, of `bytes` bytes, in the folder that the plan's configuration gives. Errors: as sl_nvme_open. */
enum sl_status sl_offload_open_file(struct sl_nvme **out, const struct sl_plan *plan, int64_t bytes);
/* The copy `it`, on a lane of NVMe, as a request; its file begins where rank->arena[SL_SPACE_NVME] does. What the request names is
 * borrowed from the program. */
struct sl_nvme_request sl_offload_request(const struct sl_call_rank *rank, const struct sl_issued *it);
