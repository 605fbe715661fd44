-- `license_keys_by_ending` replaces it.
drop index if exists license_keys_by_suffix;
