-- What a vendor notes on a license: a name, such as the customer's or the order's, and anything else.
-- Neither has a part in decisions.
alter table licenses add column name text collate binary;

alter table licenses add column metadata json;

-- The list of a license's assignments, oldest first.
create index assignments_by_age on assignments (license_id, world, id) where world > 0;

-- What a license's name reads from each of its words on, in lower case: licenses are found by how
-- these begin.
create table license_phrases (
    license_id uuid not null,
    world integer not null,
    phrase text collate binary not null,
    primary key (license_id, world, phrase),
    foreign key (license_id, world) references licenses (id, world)
);

create index license_phrases_by_start on license_phrases (world, phrase, license_id)
    where world > 0;
