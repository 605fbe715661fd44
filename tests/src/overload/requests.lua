-- What wrk sends: POSTs with a body of JSON. The settings are environment variables:
--
-- STORM_KEY    the API key
-- STORM_BYTES  the size of the body, about
-- STORM_CLOSE  set, each request has a connection of its own

wrk.method = "POST"
wrk.headers["Authorization"] = "Bearer " .. os.getenv("STORM_KEY")
wrk.headers["Content-Type"] = "application/json"
if os.getenv("STORM_CLOSE") then wrk.headers["Connection"] = "close" end
wrk.body = '{"userId":"ada","externalId":"ada","unknown":"'
   .. string.rep("x", tonumber(os.getenv("STORM_BYTES"))) .. '"}'
