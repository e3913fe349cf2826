--[[
  Adds an outside happening to a run's inbox.
  KEYS: 1 run, 2 inbox          ARGV: 1 entry, 2 most entries, 3 channel ("" for none), 4 run id
  Returns the step whose job must be there, 0 ended, -1 missing, -2 full
]]
local run = redis.call("HMGET", KEYS[1], "step", "ended")
if not run[1] then return -1 end
if run[2] == "1" then return 0 end
if redis.call("LLEN", KEYS[2]) >= tonumber(ARGV[2]) then return -2 end
redis.call("RPUSH", KEYS[2], ARGV[1])
-- A worker may have the run in hand and a call out.
if ARGV[3] ~= "" then redis.call("PUBLISH", ARGV[3], ARGV[4] .. " " .. ARGV[1]) end
return tonumber(run[1])
