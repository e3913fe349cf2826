--[[
  A person's decision on the approval that a run waits for; single use, whoever asks at the same time.
  KEYS: 1 run, 2 inbox, 3 approval
  ARGV: 1 approval id, 2 hash of the arguments seen, 3 entry for the inbox, 4 now (ms), 5 op
  Returns the step whose job must be there, 0 the run ended, -1 no such run, -2 decided before,
          -3 not what the run waits for, -4 other arguments, -5 too late
]]
local run = redis.call("HMGET", KEYS[1], "step", "ended", "approval", "approval_hash", "approval_until")
if not run[1] then return -1 end
local decided = redis.call("HGET", KEYS[3], "op")
-- Our own earlier sending, whose answer was lost with the connection.
if decided == ARGV[5] and run[2] ~= "1" then return tonumber(run[1]) end
if decided then return -2 end
if run[2] == "1" then return 0 end
if run[3] ~= ARGV[1] then return -3 end
if run[4] ~= ARGV[2] then return -4 end
if tonumber(run[5]) <= tonumber(ARGV[4]) then return -5 end
redis.call("HSET", KEYS[3], "op", ARGV[5], "entry", ARGV[3], "at", ARGV[4])
-- Longer than any approval is open; then nothing can ask for it any more.
redis.call("PEXPIRE", KEYS[3], 7776000000)
redis.call("RPUSH", KEYS[2], ARGV[3])
return tonumber(run[1])
