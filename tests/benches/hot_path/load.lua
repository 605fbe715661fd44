-- The load, for wrk: POST /api/v1/validate over kept connections, for one user after the other. Its
-- settings are environment variables, which wrk's threads share; `wrk.rs` sets them.
--
-- LOAD_NODES  addresses; each thread of wrk connects to the next one
-- LOAD_KEYS   a file of API keys, one of which is chosen at random for each request
-- LOAD_USERS  the numbers of the first user, and of the one after the last
-- LOAD_ORDER  "random", or "once", where the threads share out the users in their order
-- LOAD_SUFFIX  what follows the number in each user's id
-- LOAD_THREADS  how many threads wrk has

local threads = {}

function setup(thread)
   local nodes = {}
   for node in os.getenv("LOAD_NODES"):gmatch("%S+") do nodes[#nodes + 1] = node end
   local host, port = nodes[#threads % #nodes + 1]:match("(.+):(%d+)")
   thread.addr = wrk.lookup(host, port)[1]
   thread:set("index", #threads)
   threads[#threads + 1] = thread
end

-- What follows runs in each thread by itself.

function init()
   first, last = os.getenv("LOAD_USERS"):match("(%d+) (%d+)")
   first, last = tonumber(first), tonumber(last) - 1
   step = tonumber(os.getenv("LOAD_THREADS"))
   is_random = os.getenv("LOAD_ORDER") == "random"
   suffix = os.getenv("LOAD_SUFFIX")
   asked = 0
   heads = {}
   for key in io.lines(os.getenv("LOAD_KEYS")) do
      heads[#heads + 1] = "POST /api/v1/validate HTTP/1.1\r\nHost: licd\r\nAuthorization: Bearer "
         .. key .. "\r\nContent-Type: application/json\r\nContent-Length: " .. 26 + #suffix .. "\r\n\r\n"
   end
   math.randomseed(os.time() + index)
end

function request()
   local user = is_random and math.random(first, last)
      or math.min(first + index + asked * step, last)
   asked = asked + 1
   -- The same scattering as in `sql.rs`; the product is below 2^53, and so is exact.
   return string.format('%s{"userId":"user-%08x%s"}',
      heads[math.random(#heads)], user * 2654435761 % 4294967296, suffix)
end

-- Once, at the end. wrk counts statuses from 400 up as errors.
function done(summary, latency)
   local all, errors = 0, summary.errors
   for _, thread in ipairs(threads) do all = math.max(all, thread:get("asked")) end
   io.write(string.format(
      '{"requests":%d,"micros":%d,"bytes":%d,"p50":%d,"p99":%d,"p999":%d,"asked":%d,'
         .. '"status":%d,"connect":%d,"read":%d,"write":%d,"timeout":%d}\n',
      summary.requests, summary.duration, summary.bytes, latency:percentile(50),
      latency:percentile(99), latency:percentile(99.9), all * #threads,
      errors.status, errors.connect, errors.read, errors.write, errors.timeout))
end
