# What an allocator reserves while a pipeline fills is told without the lifetimes that copies leave out.
# file: core/place/waits.c
# tests: test_repeat
s/  return reserves || plan->config/  return (void)reserves, plan->config/
