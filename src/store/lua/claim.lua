--[[
  Takes a step for one worker: whoever claimed it before can write no more.
  KEYS: 1 run, 2 inbox          ARGV: 1 op, 2 step, 3 again (1|0): the same worker after a lost race,
                                       4 now (ms)
  Returns {"missing"}, {"ended"}, {"elsewhere", step}
       or {"claimed", rev, claims, excused, faults, since, json, journal, inbox entries…}
]]
local run = redis.call("HMGET", KEYS[1], "rev", "op", "step", "ended", "claims", "json", "journal",
  "excused", "faults", "since")
if not run[1] then return { "missing" } end
if run[4] == "1" then return { "ended" } end
if run[3] ~= ARGV[2] then return { "elsewhere", run[3] } end
local rev, claims, since = tonumber(run[1]), tonumber(run[5]), run[10]
if run[2] ~= ARGV[1] then
  -- The first claim of a step is when it began, even if its worker dies before it writes a line.
  if claims == 0 then since = ARGV[4] end
  rev = rev + 1
  if ARGV[3] ~= "1" then claims = claims + 1 end
  redis.call("HSET", KEYS[1], "rev", rev, "op", ARGV[1], "claims", claims, "since", since)
end
local inbox = redis.call("LRANGE", KEYS[2], 0, -1)
return { "claimed", rev, claims, run[8] or 0, run[9] or 0, since, run[6], run[7], unpack(inbox) }
