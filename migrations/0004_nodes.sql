-- The nodes that serve a PostgreSQL database, with the ids of the secret keys that each can use. A row
-- is written every half minute, deleted when its node stops, and otherwise after a day.
create table nodes (
    -- Host name and address.
    node text primary key,
    -- Separated by spaces.
    secret_keys text not null,
    seen_at timestamptz not null
);
