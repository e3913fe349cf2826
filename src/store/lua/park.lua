--[[
  Ends a run whose snapshot or journal cannot be read: both stay as they are, nothing steps it again.
  KEYS: 1 run, 2 live, 3 failed index, 4 deadlines          ARGV: 1 op, 2 rev, 3 run id, 4 score (ms)
  Returns 1 applied, 2 this op was applied before, 0 conflict
]]
local run = redis.call("HMGET", KEYS[1], "rev", "op", "ended")
if run[2] == ARGV[1] then return 2 end
if run[1] ~= ARGV[2] or run[3] == "1" then return 0 end
redis.call("HSET", KEYS[1], "rev", tonumber(run[1]) + 1, "op", ARGV[1], "ended", 1, "parked", "unreadable_state")
redis.call("ZREM", KEYS[2], ARGV[3])
redis.call("ZREM", KEYS[4], ARGV[3])
redis.call("ZADD", KEYS[3], ARGV[4], ARGV[3])
return 1
