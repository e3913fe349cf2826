--[[
  Appends to the journal of the step in hand, and moves what the run holds of its tenant's day;
  for a request to a model, only if its gate lets it pass.
  KEYS: 1 run, 2 the tenant's day (the run where there is none), 3 gate (only where one is asked)
  ARGV: 1 op, 2 rev, 3 lines (each ends with a line feed), 4 account op ("" for none), 5 run id,
        6 tokens, 7 money, 8 most tokens, 9 most money, 10 ttl (ms),
        11 at the gate it can wait ("1")
  Returns 1 applied, 2 this op was applied before, 0 conflict,
          5 the day has too few tokens, 6 too little money: nothing was written,
          7 applied, and it is the first request after the gate was shut,
          {ms} the gate is shut: nothing was written
]]
local run = redis.call("HMGET", KEYS[1], "rev", "op", "journal", "ended")
if run[2] == ARGV[1] then return 2 end
if run[1] ~= ARGV[2] or run[4] == "1" then return 0 end
local passed = nil
if KEYS[3] then
  passed = gate(KEYS[3], "pass", nil, ARGV[11] == "1")
  if type(passed) == "number" then return { passed } end
end
if ARGV[4] ~= "" then
  local refused = account(KEYS[2], unpack(ARGV, 4, 10))
  if refused then return refused end
end
redis.call("HSET", KEYS[1], "rev", tonumber(run[1]) + 1, "op", ARGV[1], "journal", run[3] .. ARGV[3])
return passed and 7 or 1
