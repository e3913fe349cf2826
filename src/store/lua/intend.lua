--[[
  Puts the intent of an effect on disk: in the step's journal and in the ledger, in one write. The
  permission may rest on how many effects the customer has had: where another run has added one
  since, nothing is written.
  KEYS: 1 run, 2 effect, 3 the customer's effects (only with a customer)
  ARGV: 1 op, 2 rev, 3 lines (each ends with a line feed), 4 idempotency key, 5 now (ms), 6 kept for (ms),
        7 effects that the permission knew of ("" for: not asked), 8… fields and values of the row
  Returns 1 applied, 2 this op was applied before, 0 conflict, 3 the customer's effects have changed,
          4 applied, and the ledger knew the effect before
]]
local run = redis.call("HMGET", KEYS[1], "rev", "op", "journal", "ended")
if run[2] == ARGV[1] then return 2 end
if run[1] ~= ARGV[2] or run[4] == "1" then return 0 end
local since = tonumber(ARGV[5]) - tonumber(ARGV[6])
if KEYS[3] and ARGV[7] ~= "" and redis.call("ZCOUNT", KEYS[3], since, "+inf") ~= tonumber(ARGV[7]) then
  return 3
end
redis.call("HSET", KEYS[1], "rev", tonumber(run[1]) + 1, "op", ARGV[1], "journal", run[3] .. ARGV[3])
local isKnown = redis.call("EXISTS", KEYS[2]) == 1
if not isKnown then redis.call("HSET", KEYS[2], "state", "intended", "at", ARGV[5], unpack(ARGV, 8)) end
redis.call("PEXPIRE", KEYS[2], ARGV[6])
if KEYS[3] then
  redis.call("ZREMRANGEBYSCORE", KEYS[3], "-inf", "(" .. since)
  redis.call("ZADD", KEYS[3], "NX", ARGV[5], ARGV[4])
  redis.call("PEXPIRE", KEYS[3], ARGV[6])
end
return isKnown and 4 or 1
