--[[
  Appends to the journal of the step in hand.
  KEYS: 1 run          ARGV: 1 op, 2 rev, 3 lines (each ends with a line feed)
  Returns 1 applied, 2 this op was applied before, 0 conflict
]]
local run = redis.call("HMGET", KEYS[1], "rev", "op", "journal", "ended")
if run[2] == ARGV[1] then return 2 end
if run[1] ~= ARGV[2] or run[4] == "1" then return 0 end
redis.call("HSET", KEYS[1], "rev", tonumber(run[1]) + 1, "op", ARGV[1], "journal", run[3] .. ARGV[3])
return 1
