-- SPDX-License-Identifier: MIT
--
-- Real work for a traced Lua: searching, strings, sorting, parsing, closures, coroutines,
-- metatables, garbage. Each part prints a result that depends on all of its work, so that a traced
-- run can be compared with an untraced one. `lua work.lua [SCALE]`; 1 takes about 0.15 s.

local scale = tonumber(arg and arg[1]) or 1

local function times(n)
  return math.max(1, math.floor(n * scale))
end

-- A generator of our own: the same numbers in each run.
local state = 42
local function random(n)
  state = (state * 1103515245 + 12345) % 2147483648
  return state // 65536 % n + 1
end

-- n queens: recursion, tables of booleans
local function queens(n)
  local cols, up, down, found = {}, {}, {}, 0
  local function place(row)
    if row > n then
      found = found + 1
      return
    end
    for col = 1, n do
      if not (cols[col] or up[row + col] or down[row - col]) then
        cols[col], up[row + col], down[row - col] = true, true, true
        place(row + 1)
        cols[col], up[row + col], down[row - col] = nil, nil, nil
      end
    end
  end
  place(1)
  return found
end

-- building, searching and replacing strings
local function strings(n)
  local parts = {}
  for i = 1, n do
    parts[#parts + 1] = string.format("%05d:%s", i, string.rep(string.char(97 + i % 26), i % 7))
  end
  local text = table.concat(parts, ",")
  local words = 0
  for word in text:gmatch("%d+:(%a*)") do
    words = words + #word
  end
  local upper, replaced = text:gsub("[aeiou]+", function(s) return s:upper() end)
  return #text .. " " .. words .. " " .. replaced .. " " .. #upper:reverse()
end

-- sorting with a comparison in Lua (a call back from C)
local function sorting(n)
  local t = {}
  for i = 1, n do
    t[i] = { key = random(1000000), name = "n" .. random(5000) }
  end
  table.sort(t, function(a, b)
    if a.key == b.key then
      return a.name < b.name
    end
    return a.key < b.key
  end)
  local sum = 0
  for i = 1, n, 7 do
    sum = (sum * 31 + t[i].key) % 1000000007
  end
  return sum
end

-- a JSON-like text, written and parsed back
local function encode(value)
  if type(value) == "table" then
    local out = {}
    if #value > 0 then
      for i, v in ipairs(value) do
        out[i] = encode(v)
      end
      return "[" .. table.concat(out, ",") .. "]"
    end
    local keys = {}
    for k in pairs(value) do
      keys[#keys + 1] = k
    end
    table.sort(keys)
    for i, k in ipairs(keys) do
      out[i] = string.format("%q:%s", k, encode(value[k]))
    end
    return "{" .. table.concat(out, ",") .. "}"
  end
  return type(value) == "string" and string.format("%q", value) or tostring(value)
end

local function decode(text)
  local at = 1
  local value
  local function expect(c)
    if text:sub(at, at) ~= c then
      error("expected " .. c .. " at " .. at)
    end
    at = at + 1
  end
  local function word()
    local s, e, w = text:find('^"([^"]*)"', at)
    at = e + 1
    return w
  end
  function value()
    local c = text:sub(at, at)
    if c == "{" then
      local t = {}
      at = at + 1
      while text:sub(at, at) ~= "}" do
        local k = word()
        expect(":")
        t[k] = value()
        if text:sub(at, at) == "," then
          at = at + 1
        end
      end
      at = at + 1
      return t
    elseif c == "[" then
      local t = {}
      at = at + 1
      while text:sub(at, at) ~= "]" do
        t[#t + 1] = value()
        if text:sub(at, at) == "," then
          at = at + 1
        end
      end
      at = at + 1
      return t
    elseif c == '"' then
      return word()
    end
    local s, e, n = text:find("^(-?[%d.]+)", at)
    if not s then
      error("unexpected " .. c)
    end
    at = e + 1
    return tonumber(n)
  end
  return value()
end

local function parsing(n)
  local doc = {}
  for i = 1, n do
    doc[i] = { id = i, name = "item" .. random(100), tags = { "a" .. i % 5, "b" .. i % 3 },
      size = { w = random(50), h = random(50) } }
  end
  local text = encode(doc)
  local again = encode(decode(text))
  local failed = not pcall(decode, "[1,?]")
  return #text .. " " .. tostring(text == again) .. " " .. tostring(failed)
end

-- closures and varargs
local function closures(n)
  local function compose(...)
    local fs = table.pack(...)
    return function(x)
      for i = 1, fs.n do
        x = fs[i](x)
      end
      return x
    end
  end
  local total = 0
  for i = 1, n do
    local f = compose(function(x) return x + i end, function(x) return x * 2 end, math.abs)
    total = (total + f(-i * 3)) % 1000003
  end
  return total
end

-- coroutines: a pipeline of three
local function coroutines(n)
  local function gen(limit)
    return coroutine.wrap(function()
      for i = 1, limit do
        coroutine.yield(i)
      end
    end)
  end
  local function filter(source)
    return coroutine.wrap(function()
      for v in source do
        if v % 3 ~= 0 then
          coroutine.yield(v * v)
        end
      end
    end)
  end
  local sum = 0
  for v in filter(gen(n)) do
    sum = (sum + v) % 1000003
  end
  return sum
end

-- objects with metamethods, garbage collected in between
local function objects(n)
  local vec = {}
  vec.__index = vec
  vec.__add = function(a, b) return setmetatable({ x = a.x + b.x, y = a.y + b.y }, vec) end
  vec.__eq = function(a, b) return a.x == b.x and a.y == b.y end
  function vec:len2() return self.x * self.x + self.y * self.y end
  local sum, equal = setmetatable({ x = 0, y = 0 }, vec), 0
  for i = 1, n do
    local v = setmetatable({ x = random(9) - 5, y = random(9) - 5 }, vec)
    sum = sum + v
    if v == sum then
      equal = equal + 1
    end
    if i % 5000 == 0 then
      collectgarbage()
    end
  end
  return sum:len2() .. " " .. equal
end

print("queens", queens(7))
print("strings", strings(times(20000)))
print("sorting", sorting(times(12000)))
print("parsing", parsing(times(1500)))
print("closures", closures(times(30000)))
print("coroutines", coroutines(times(60000)))
print("objects", objects(times(40000)))
