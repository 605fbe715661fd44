-- What the names of a user read from each of their words on, in lower case and without accents: users
-- are found by how these begin. They go with their user, also if a node of an older release deletes it.
create table user_phrases (
    user_id uuid not null,
    world integer not null,
    phrase text collate binary not null,
    primary key (user_id, world, phrase),
    foreign key (user_id, world) references users (id, world) on delete cascade
) without rowid;

create index user_phrases_by_start on user_phrases (world, phrase, user_id) where world > 0;

-- These were for the search by how an external id, an email or a name begins.
drop index users_by_start;

drop index users_by_email;

drop index users_by_name;
