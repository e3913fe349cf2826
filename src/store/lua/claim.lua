--[[
  Takes a step for one worker: whoever claimed it before can write no more.
  KEYS: 1 run, 2 inbox          ARGV: 1 op, 2 step
  Returns {"missing"}, {"ended"}, {"elsewhere", step}
       or {"claimed", rev, claims, json, journal, inbox entries…}
]]
local run = redis.call("HMGET", KEYS[1], "rev", "op", "step", "ended", "claims", "json", "journal")
if not run[1] then return { "missing" } end
if run[4] == "1" then return { "ended" } end
if run[3] ~= ARGV[2] then return { "elsewhere", run[3] } end
local rev, claims = tonumber(run[1]), tonumber(run[5])
if run[2] ~= ARGV[1] then
  rev, claims = rev + 1, claims + 1
  redis.call("HSET", KEYS[1], "rev", rev, "op", ARGV[1], "claims", claims)
end
local inbox = redis.call("LRANGE", KEYS[2], 0, -1)
return { "claimed", rev, claims, run[6], run[7], unpack(inbox) }
