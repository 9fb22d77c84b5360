# The wrong number of virtual stages is blamed on the schedule.
# file: core/plan/stages.c
# tests: test_cli
s/if (stages > 0 \&\& !sl_schedule_deals/if (false \&\& !sl_schedule_deals/
