-- The keys that a leaked key created, and those that they created.
create index if not exists keys_by_maker on keys (created_by, id) where created_by is not null;
