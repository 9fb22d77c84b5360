/* See pool.h. */
#include "cli/pool.h"

#include "core/launch/hosts.h"

enum sl_status sl_pool_apply(struct sl_options *options, enum sl_command_bit command) {
  struct sl_hosts hosts;
  enum sl_status status;
  if (options->hostfile == NULL || (command & (SL_CMD_MEASURE | SL_CMD_VALIDATE))) return SL_OK;
  SL_TRY(sl_hosts_load(&hosts, options->hostfile));
  SL_GO(sl_hosts_select(&hosts, NULL, NULL)); /* drops hosts without slots */
  for (size_t i = 1; i < hosts.count; i++)
    if (hosts.list[i].count != hosts.list[0].count)
      SL_GO(sl_fail(SL_ERR_INPUT, "%s: %s: has %d slots; expected %d, as %s has: nodes are alike", options->hostfile,
                    hosts.list[i].name, hosts.list[i].count, hosts.list[0].count, hosts.list[0].name));
  const int ranks = sl_hosts_ranks(&hosts);
  if (sl_options_given(options, "world") && options->world != ranks)
    SL_GO(sl_fail(SL_ERR_INPUT, "--world: is %lld, but the hosts have %d slots; expected the same",
                  (long long)options->world, ranks));
  options->world = ranks;
  options->ranks_per_node = hosts.list[0].count;
done:
  sl_hosts_free(&hosts);
  return status;
}
