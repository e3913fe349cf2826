--[[
  Makes a step true: snapshot, events, indexes, inbox and (where `enqueue` is composed in) the next job
  in one write, or nothing. A waiting run whose inbox has filled meanwhile is woken here: otherwise a
  reply that came just before the save would find no job.
  KEYS: 1 run, 2 events, 3 inbox, 4 live, 5 old status index, 6 new status index, 7 deadlines,
        8 effect, 9 the customer's effects (8 and 9 are the run's where no effect is settled),
        10… the queue's
  ARGV: 1 op, 2 rev, 3 json, 4 step, 5 ended (1|0), 6 next job wanted (1|0), 7 inbox entries heard,
        8 only if all is heard (1|0), 9 now (ms), 10 run id, 11 score (created at),
        12 approval waited for ("" for none), 13 hash of its arguments, 14 until when (ms),
        15 deadline (ms; "none" to take it away, "" to leave it), 16 state of the effect ("" for none),
        17 its key, 18 number of events, 19… events, then the queue's
  Returns 1 applied, 2 this op was applied before, 0 conflict, 3 the inbox holds more,
          4 applied, and the next job is still to be added apart
]]
local run = redis.call("HMGET", KEYS[1], "rev", "op", "ended")
if run[2] == ARGV[1] then return 2 end
if run[1] ~= ARGV[2] or run[3] == "1" then return 0 end
local unheard = redis.call("LLEN", KEYS[3]) - tonumber(ARGV[7])
if ARGV[8] == "1" and unheard > 0 then return 3 end
redis.call("HSET", KEYS[1], "rev", tonumber(run[1]) + 1, "op", ARGV[1], "json", ARGV[3], "step", ARGV[4],
  "ended", ARGV[5], "claims", 0, "journal", "")
if ARGV[12] ~= "" then
  -- Apart from the snapshot: a snapshot that was tampered with cannot approve itself.
  redis.call("HSET", KEYS[1], "approval", ARGV[12], "approval_hash", ARGV[13], "approval_until", ARGV[14])
  redis.call("HDEL", KEYS[1], "excused", "faults")
else
  redis.call("HDEL", KEYS[1], "approval", "approval_hash", "approval_until", "excused", "faults")
end
if ARGV[15] == "none" then
  redis.call("ZREM", KEYS[7], ARGV[10])
elseif ARGV[15] ~= "" then
  redis.call("ZADD", KEYS[7], ARGV[15], ARGV[10])
end
if ARGV[16] ~= "" then
  redis.call("HSET", KEYS[8], "state", ARGV[16], "settled_at", ARGV[9])
  if ARGV[16] == "failed" and KEYS[9] ~= KEYS[1] then redis.call("ZREM", KEYS[9], ARGV[17]) end
end
local count = tonumber(ARGV[18])
for from = 19, 18 + count, 1000 do
  redis.call("RPUSH", KEYS[2], unpack(ARGV, from, math.min(from + 999, 18 + count)))
end
if tonumber(ARGV[7]) > 0 then redis.call("LTRIM", KEYS[3], ARGV[7], -1) end
if KEYS[5] ~= KEYS[6] then
  redis.call("ZREM", KEYS[5], ARGV[10])
  redis.call("ZADD", KEYS[6], ARGV[11], ARGV[10])
end
if ARGV[5] == "1" then
  redis.call("ZREM", KEYS[4], ARGV[10])
  redis.call("DEL", KEYS[3])
  return 1
end
redis.call("ZADD", KEYS[4], ARGV[9], ARGV[10])
if ARGV[6] == "1" or unheard > 0 then
  if not enqueue then return 4 end
  enqueue({ unpack(KEYS, 10) }, { unpack(ARGV, 19 + count) })
end
return 1
