/* --hostfile for a command that starts no ranks: the hosts as the nodes of the cluster. */
#pragma once

#include "cli/options.h"

/* For a command that starts no ranks: sets options->world to the slots of all hosts in options->hostfile, and
 * options->ranks_per_node to those of each. Does nothing without the flag. Errors: SL_ERR_INPUT for a bad file
 * (launch/hosts.h), for a different --world, and for hosts with different numbers of slots, which DeepSpeed's launcher
 * accepts but a cluster description cannot express. */
enum sl_status sl_pool_apply(struct sl_options *options, enum sl_command_bit command);
