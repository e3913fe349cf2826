--[[
  Takes runs whose deadline is over, each for one caller: the others see it again after the lease.
  KEYS: 1 deadlines          ARGV: 1 now (ms), 2 now and the lease (ms), 3 most
  Returns run ids
]]
local ids = redis.call("ZRANGE", KEYS[1], "-inf", ARGV[1], "BYSCORE", "LIMIT", 0, ARGV[3])
for _, id in ipairs(ids) do redis.call("ZADD", KEYS[1], ARGV[2], id) end
return ids
