//! Names of metrics.
