-- Who has claimed with a key, and how many.
create index if not exists assignments_by_claim on assignments (claimed_with, world, id)
    where claimed_with is not null;
