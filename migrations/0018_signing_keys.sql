-- The keys that sign leases. A world has none, or one that signs and one that is to sign next.
create table signing_keys (
    id uuid not null,
    world integer not null references worlds (id),
    state text not null check (state in ('standby', 'active', 'retired')),
    -- In plain, so that it outlives a lost secret: a point of P-256 in the 65 octets of X9.62.
    public_key bytea not null,
    -- Sealed; null once the key is retired.
    private_key bytea,
    created_at timestamptz not null,
    retired_at timestamptz,
    primary key (id, world)
);

create unique index signing_keys_by_state on signing_keys (world, state) where state <> 'retired';
create index signing_keys_by_world on signing_keys (world, id) where world > 0;
