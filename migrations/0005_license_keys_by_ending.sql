-- Support searches by any ending of at least four characters.
create index if not exists license_keys_by_ending
    on license_keys (world, (substr(suffix, length(suffix) - 3)), id) where world > 0;
