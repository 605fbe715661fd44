-- What a vendor notes on a license: a name, such as the customer's or the order's, and anything else.
-- Neither has a part in decisions.
alter table licenses add column name text collate binary;

alter table licenses add column metadata json;

-- The list of a license's assignments, oldest first.
create index assignments_by_age on assignments (license_id, world, id) where world > 0;
