/* Support for offloaded states beyond copies, shared by all backends: optimizer updates and norms on the CPU, and the
 * file behind the NVMe space. A state updated here has the same bits under every backend. */
#pragma once

#include "backend/common/call.h"
#include "backend/common/nvme.h"

/* Run the ops norm, adam, adamw and sgd on the calling thread and OpenMP's. All operands must be in memory that the CPU
 * can access: gradients and states of `call`, its control block, and its scratch of sl_op_workspace bytes. On overflow
 * an update is skipped. */
enum sl_status sl_offload_norm(const struct sl_call *call);
enum sl_status sl_offload_adam(const struct sl_call *call);
enum sl_status sl_offload_sgd(const struct sl_call *call);
/* The function above for an op of this kind; NULL if there is none. */
typedef enum sl_status (*sl_offload_fn)(const struct sl_call *call);
sl_offload_fn sl_offload_update(enum sl_op_kind kind);

/* Opens the file behind the NVMe space of a class in the folder that the configuration names. Errors: as sl_nvme_open;
 * a disk that is too small is told with the buffer that has no room. */
enum sl_status sl_offload_open_file(struct sl_nvme **out, const struct sl_plan *plan,
                                    const struct sl_class *rank_class);
/* The request for the copy op `it` on an NVMe lane. Offset 0 of the file is rank->arena[SL_SPACE_NVME]. The request
 * borrows from the program. */
struct sl_nvme_request sl_offload_request(const struct sl_call_rank *rank, const struct sl_issued *it);
