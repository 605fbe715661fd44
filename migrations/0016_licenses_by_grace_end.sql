-- Whose grace ends next, in all worlds.
create index if not exists licenses_by_grace_end on licenses (grace_ends_at, id)
    where status = 'active' and grace_ends_at is not null;
