-- Which licenses end next, in all worlds.
create index if not exists licenses_by_end on licenses (expires_at, id) where status = 'active';
