-- Texts that open a license for a user who types them. Only a hash is stored, and the last characters
-- for support. max_uses null: as many as the license has seats. A key that was reissued leaves its
-- former hash behind in a row of its own, reissued_as, so that whoever types it is told.
create table license_keys (
    id uuid not null,
    world integer not null,
    license_id uuid not null,
    suffix text collate binary not null,
    hash bytea not null,
    max_uses integer check (max_uses between 1 and 1000000),
    created_at timestamptz not null,
    expires_at timestamptz,
    revoked_at timestamptz,
    reissued_as uuid,
    primary key (id, world),
    foreign key (license_id, world) references licenses (id, world)
);

create unique index license_keys_by_hash on license_keys (hash, world);

create index license_keys_by_license on license_keys (license_id, world, id) where world > 0;

create index license_keys_by_suffix on license_keys (world, suffix, id) where world > 0;
