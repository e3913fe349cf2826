--[[
  Gives a claimed step back by a worker that lives: its claim counts as no crash.
  KEYS: 1 run          ARGV: 1 op, 2 rev, 3 the step threw (1|0)
  Returns 1 applied, 2 this op was applied before, 0 conflict
]]
local run = redis.call("HMGET", KEYS[1], "rev", "op", "ended")
if run[2] == ARGV[1] then return 2 end
if run[1] ~= ARGV[2] or run[3] == "1" then return 0 end
redis.call("HSET", KEYS[1], "rev", tonumber(run[1]) + 1, "op", ARGV[1])
redis.call("HINCRBY", KEYS[1], "excused", 1)
if ARGV[3] == "1" then redis.call("HINCRBY", KEYS[1], "faults", 1) end
return 1
