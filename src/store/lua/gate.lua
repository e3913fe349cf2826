--[[
  The gate before a model. `until`: shut up to then; `line`: when the last of those who wait may come
  again. Times are of this server, so that workers need no common clock.
  gate(key, op, ms (close only), can wait (pass only))
    pass:  nil where there is nothing to wait for, "probe" for the first after a closing, else ms
    close: ms to wait
  The first one has so long (lease) to be answered; then the next one goes first. A run on its last
  try lets those in line behind it go first, for as long: refused once more, it would end.
]]
local function gate(key, op, ms, can_wait)
  local lease, gap = 1000, 10
  local time = redis.call("TIME")
  local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  local state = redis.call("HMGET", key, "until", "line")
  local shut, line = tonumber(state[1]), tonumber(state[2]) or 0
  if op == "pass" then
    if not shut then return nil end
    local gives_way = can_wait and line > now + gap and now < shut + lease
    if now >= shut and not gives_way then
      shut = now + lease
      redis.call("HSET", key, "until", shut, "line", math.max(shut, line))
      redis.call("PEXPIRE", key, math.max(shut, line) - now + 60000)
      return "probe"
    end
  else
    shut = math.max(shut or 0, now + tonumber(ms))
  end
  line = math.max(shut, line + gap)
  redis.call("HSET", key, "until", shut, "line", line)
  redis.call("PEXPIRE", key, line - now + 60000)
  return line - now
end
