-- Moves the end of the seats that a hold still has. KEYS: the seats; ARGV: the hold, milliseconds since 1970.
for _, key in ipairs(KEYS) do
  local who = redis.call('get', key)
  if who and string.sub(who, 1, #ARGV[1]) == ARGV[1] then
    redis.call('pexpireat', key, ARGV[2])
  end
end
return 0
