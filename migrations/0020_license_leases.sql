-- How long a lease lasts at most, copied from the plan; null: the license offers none.
alter table licenses add column max_lease_seconds integer;
