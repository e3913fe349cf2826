--[[
  Accepts a run: record, first events, indexes and (where `enqueue` is composed in) the job of its step.
  KEYS: 1 run, 2 events, 3 runs, 4 live, 5 status index, 6 ticket index, 7 deadlines, 8… the queue's
  ARGV: 1 op, 2 json, 3 now (ms), 4 run id, 5 status, 6 step (1, or where a fork goes on),
        7 approval waited for ("" for none), 8 hash of its arguments, 9 until when (ms),
        10 deadline (ms, "" for none), 11 number of events, 12… events, then the queue's
  Returns 1 created (also by an earlier sending of this op), 0 the id is taken
]]
if redis.call("EXISTS", KEYS[1]) == 1 then
  return redis.call("HGET", KEYS[1], "op") == ARGV[1] and 1 or 0
end
redis.call("HSET", KEYS[1], "rev", 1, "op", ARGV[1], "json", ARGV[2], "step", ARGV[6], "ended", 0,
  "claims", 0, "journal", "")
if ARGV[7] ~= "" then
  redis.call("HSET", KEYS[1], "approval", ARGV[7], "approval_hash", ARGV[8], "approval_until", ARGV[9])
end
local count = tonumber(ARGV[11])
for from = 12, 11 + count, 1000 do
  redis.call("RPUSH", KEYS[2], unpack(ARGV, from, math.min(from + 999, 11 + count)))
end
redis.call("ZADD", KEYS[3], ARGV[3], ARGV[4])
redis.call("ZADD", KEYS[4], ARGV[3], ARGV[4])
redis.call("ZADD", KEYS[5], ARGV[3], ARGV[4])
redis.call("ZADD", KEYS[6], ARGV[3], ARGV[4])
if ARGV[10] ~= "" then redis.call("ZADD", KEYS[7], ARGV[10], ARGV[4]) end
if enqueue then
  enqueue({ unpack(KEYS, 8) }, { unpack(ARGV, 12 + count) })
end
return 1
