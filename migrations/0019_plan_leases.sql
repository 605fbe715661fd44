-- How long a lease of licenses made from the plan lasts at most; null: they offer none.
alter table plans add column max_lease_seconds integer;
