--[[
  A tenant's day: what its runs have spent and hold. What is held and never settled stays held, which
  counts as spent: nobody knows what was paid for a reply that a crash lost.
  account(day key, op, run id, tokens, money, most tokens, most money, ttl (ms))
    reserve: holds tokens and money for the run, unless a most ("" for none) would be passed
    settle:  what the run holds is given back, tokens and money are spent
  Returns nil, or 5 where the tokens, 6 where the money of the day do not suffice.
]]
local function account(key, op, run, tokens, money, mostTokens, mostMoney, ttl)
  local day = redis.call("HMGET", key, "tokens", "money", "heldTokens", "heldMoney", "run:" .. run)
  local spent = { tonumber(day[1] or 0), tonumber(day[2] or 0) }
  local held = { tonumber(day[3] or 0), tonumber(day[4] or 0) }
  if op == "reserve" then
    if mostMoney ~= "" and spent[2] + held[2] + tonumber(money) > tonumber(mostMoney) then return 6 end
    if mostTokens ~= "" and spent[1] + held[1] + tonumber(tokens) > tonumber(mostTokens) then return 5 end
    redis.call("HINCRBY", key, "heldTokens", tokens)
    redis.call("HINCRBY", key, "heldMoney", money)
    redis.call("HSET", key, "run:" .. run, tokens .. " " .. money)
  elseif day[5] then
    local own, ownMoney = string.match(day[5], "^(%d+) (%d+)$")
    redis.call("HINCRBY", key, "heldTokens", "-" .. own)
    redis.call("HINCRBY", key, "heldMoney", "-" .. ownMoney)
    redis.call("HDEL", key, "run:" .. run)
    redis.call("HINCRBY", key, "tokens", tokens)
    redis.call("HINCRBY", key, "money", money)
  end
  redis.call("PEXPIRE", key, ttl)
  return nil
end
