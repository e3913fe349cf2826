--[[
  Shuts a gate.          KEYS: 1 gate          ARGV: 1 ms
  Returns the ms after which the caller may come again
]]
return gate(KEYS[1], "close", ARGV[1])
