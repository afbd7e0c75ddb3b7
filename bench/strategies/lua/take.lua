-- Takes all seats or none. Returns who has the seats that are taken, and
-- nothing when none was. KEYS: the seats; ARGV: who takes them, seconds.
local taken = {}
for _, who in ipairs(redis.call('mget', unpack(KEYS))) do
  if who then
    taken[#taken + 1] = who
  else
    taken[#taken + 1] = ''
  end
end
for _, who in ipairs(taken) do
  if who ~= '' then
    return taken
  end
end
for _, key in ipairs(KEYS) do
  redis.call('set', key, ARGV[1], 'ex', ARGV[2])
end
return {}
