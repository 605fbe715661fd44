-- The ETag of a stored answer, for the request that is sent again.
alter table idempotency_keys add column etag text;
