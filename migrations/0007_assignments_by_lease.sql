-- Lists the seats that have had a lease.
create index if not exists assignments_by_lease on assignments (world, id)
    where leased_until is not null and world > 0;
