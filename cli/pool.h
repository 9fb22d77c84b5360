/* --hostfile of a command that runs nothing: the hosts as the cluster's nodes. */
#pragma once

#include "cli/options.h"

/* Set options->world to the slots of all hosts of options->hostfile and options->ranks_per_node to those of each, where the command is none that starts ranks
 * there; nothing without the flag. Errors: SL_ERR_INPUT: of the file (launch/hosts.h); hosts with unlike numbers of slots, of which DeepSpeed's launcher makes
 * ranks but which no description of a cluster here has; --world beside it that is another number. */
enum sl_status sl_pool_apply(struct sl_options *options, enum sl_command_bit command);
